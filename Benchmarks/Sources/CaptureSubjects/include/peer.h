/*
 * peer.h: what a peer, another library that Weir is measured beside, offers the benchmark.
 *
 * A peer is a shared library of its own, libpeer-NAME.so, so that the benchmark builds and runs where the peer is not
 * installed. It exports one symbol, `peer_subject`, a table of functions. No function throws or exits.
 */
#ifndef PEER_H
#define PEER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  PEER_VERSION = 1,
  PEER_MESSAGE_BYTES = 512,
  PEER_CHECKOUT_TEXT = 20 /* the length of the string in the standard event */
};

/* What became of the events, counted where they end up, not where they were sent. */
typedef struct peer_delivery {
  uint64_t delivered; /* found at the end: lines, rows, events of the trace, elements taken out */
  uint64_t dropped;   /* discarded after `burst` had counted them as accepted: a peer that does not tell its caller */
} peer_delivery;

typedef struct peer_table {
  uint32_t version; /* PEER_VERSION */
  uint32_t any_size; /* 1: takes strings of any length as the whole event; 0: the standard event alone */

  /*
   * Opens in `directory`, which exists and is empty, for `threads` threads. Threads and processes that it starts keep
   * to the caller's processors. Null: cannot run here, `message` says why.
   */
  void *(*open)(const char *directory, uint32_t threads, uint32_t text_bytes, char *message);

  /*
   * Captures `count` events on the calling thread, with the orders `first`, `first` + 1, … and the string `text`;
   * answers how many were accepted. The same `thread` is always the same thread. With another length of text than
   * PEER_CHECKOUT_TEXT the event is that string and nothing else.
   */
  uint64_t (*burst)(void *peer, uint32_t thread, uint64_t first, uint64_t count, const char *text);

  /* Between bursts: waits until what was captured is out of the way of the next burst. 0, or -1. */
  int (*settle)(void *peer);

  /* Ends, counts, frees. 0, or -1 and `message`. */
  int (*finish)(void *peer, peer_delivery *delivery, char *message);
} peer_table;

#ifdef __cplusplus
}
#endif
#endif
