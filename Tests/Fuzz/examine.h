/*
 * examine.h: runs everything that reads a log's directory over one, and holds each against the others: the reader from
 * several offsets, with and without the lanes; verify; stat; an opening, which recovers; the reader again; a second
 * opening. Whatever lies there, nothing may crash, read outside of what it has, or go on for ever.
 */
#ifndef WEIR_FUZZ_EXAMINE_H
#define WEIR_FUZZ_EXAMINE_H

#include <stdint.h>

#include "weir.h"

typedef struct seen_event {
  uint64_t offset;
  weir_id id;
  int64_t time_ns;
  int64_t monotonic_ns;
  uint32_t type;
  uint32_t own_crc;        /* of payload and scope */
  uint32_t boot_crc;       /* 0: it is not known */
  uint32_t definition_crc; /* of name, fields and attributes */
  uint32_t defined;        /* they are known */
  uint32_t context_number;
  uint32_t context_crc;
  uint32_t in_context;     /* it is known */
} seen_event;

enum { SEEN_EVENTS = 20000 };

typedef struct seen_log {
  uint64_t count;
  uint64_t skips;
  uint64_t missing; /* offsets that skips tell of */
  int ring_loss_reported;    /* a skip tells of a ring that can't be read, or not whole */
  weir_status end;
  seen_event events[SEEN_EVENTS];
} seen_log;

/* Reads it all. Answers null, or what is wrong with what the reader did. */
const char *examine_read(const char *directory, uint64_t from, int skip_lanes, seen_log *seen);

/*
 * All of the above. Answers null, or what is wrong. `honest`: no checksum was repaired after a change, so a reader from
 * the middle must give what one from the start gives, and recovery what both did. Of forged files only that what
 * recovery made is read the same ever after. `before` is what the reader gave of the directory as it was.
 */
const char *examine(const char *directory, int honest, seen_log *before);

#endif
