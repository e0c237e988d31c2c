/*
 * subject.h: what the loss table asks of each way to keep events, and what it tells of itself. A subject appends the
 * events of several threads to a store in a directory of its own, is killed, and is opened again; `judge_event` takes
 * whatever the store then gives.
 */
#ifndef WEIR_LOSS_SUBJECT_H
#define WEIR_LOSS_SUBJECT_H

#include <stdint.h>

enum { LOSS_THREADS = 2, COUPON_BYTES = 20, MESSAGE_BYTES = 256 };

/* What all of them keep: an order. Everything in it follows from the seed, the thread and the number. */
typedef struct order {
  uint32_t thread;
  uint64_t number; /* of the thread, from 0 */
  double total;
  int32_t items;
  char coupon[COUPON_BYTES + 1];
} order;

void order_make(order *order, uint64_t seed, uint32_t thread, uint64_t number);

/*
 * What the victim tells, in a shared page outside of the store, which outlives it: of each thread, how many of its
 * orders were begun, and how many were acknowledged. Written with release stores. (Counts suffice where a thread's
 * orders are acknowledged in their order, so there is no end to how many there may be, as there is to report.h's.)
 */
typedef struct ledger {
  uint32_t ready; /* the store is open, the threads begin */
  char message[MESSAGE_BYTES]; /* why it is not */
  struct {
    _Alignas(128) uint64_t began;
    uint64_t acknowledged;
  } threads[LOSS_THREADS];
} ledger;

typedef enum answer {
  REFUSED,      /* not taken: the thread tries again */
  ACKNOWLEDGED, /* the call returned, and with it the promise */
  LATER         /* taken, but acknowledged by the subject itself, in the ledger */
} answer;

typedef struct judge judge;

typedef struct subject {
  const char *name;     /* short, for --only */
  const char *title;    /* the table's row */
  const char *settings; /* as its documentation recommends, or as people use it */
  const char *as_safe;  /* what it would take to lose nothing to a kill, and what that costs */
  int is_weir;
  int loses;            /* by its nature: a run in which it loses nothing was no test */
  /* Opens or makes the store, and brings it in order after a kill. Null: `message` says why. The function itself is
   * null where the subject can't run. */
  void *(*open)(const char *directory, ledger *ledger, char *message);
  answer (*append)(void *store, const order *order); /* from each thread, in the order of its numbers */
  void (*close)(void *store);                        /* in order */
  int (*read)(const char *directory, judge *judge, char *message); /* all that is there, in its order; 0, or -1 */
} subject;

/* An order that the store gives as whole; the judge looks at every field. */
void judge_order(judge *judge, const order *order);
/* Something that is no order: a torn line, a block that fails its checksum. */
void judge_damage(judge *judge);

extern const subject sqlite_one, sqlite_insert, sqlite_commit, lines_buffered, lines_flushed, memory_queue,
    weir_log_subject;

/* ---- JSON Lines, for those who write them ------------------------------------------------------------------------ */

enum { LINE_BYTES = 160 };

uint32_t line_make(char line[LINE_BYTES], const order *order); /* its bytes, newline included */
/* Reads a file of them; whatever is not byte for byte a line is damage. 0, or -1 and the message. */
int lines_read(const char *path, judge *judge, char *message);

#endif
