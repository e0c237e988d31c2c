/*
 * dead.h: what is left in the ring of a writer that died: the records that no segment has yet, in the order and with
 * the offsets that recovery will give them. Read by pread into private memory; nothing is written.
 */
#ifndef WEIR_DEAD_H
#define WEIR_DEAD_H

#include "system/names.h"

#include "directory/locator.h"
#include "format/notice.h"
#include "format/record.h"
#include "replay/handover.h"
#include "segment/definitions.h"

typedef enum dead_kind {
  DEAD_RECORD, /* an event */
  DEAD_HOLE,   /* a notice: a stretch of a lane that no checksum vouches for, or that a power cut took */
  DEAD_TAIL,   /* a notice: that events may be missing from here on */
  DEAD_GAP     /* a notice: refusals that are not in the log yet */
} dead_kind;

typedef struct dead_item {
  dead_kind kind;
  uint64_t offset;
  uint32_t lane;     /* that it is about; NOTICE_LANE for the gaps of captures that had no lane */
  uint64_t position; /* in the lane, of the record or the hole */
  uint64_t bytes;    /* its size there; of a gap 0 */
  int32_t reason;    /* of a gap */
  uint64_t dropped;
  const record_header *record; /* the event's, or the notice's. Valid until the next call */
} dead_item;

typedef struct dead_ring {
  ring_place place;
  int fd;
  uint64_t inode;
  ring_header header;
  lane_control *controls;
  calibration calibration; /* as recovery will take it */
  handover handover;
  int rebooted;     /* it is of another boot, and was not closed */
  int empty;        /* it is of another boot, and was closed */
  int tail_told;
  uint64_t start_offset;
  uint64_t known_end; /* offsets below it had been given; those from there to start_offset may have been */
  uint64_t log_end; /* by the segments alone; below start_offset where offsets are missing */
  uint8_t *bytes;   /* of one lane, read when it is needed */
  uint64_t lane_room;
  uint32_t lane;    /* the one being walked */
  int loaded;
  lane_view view;
  record_sums sums; /* of it */
  uint64_t position;
  uint64_t end;
  uint64_t records;  /* how many come before `position`, or RECORDS_UNKNOWN */
  uint64_t hole_to;  /* of a hole that is being told of */
  uint64_t hole_events;
  uint64_t next_offset;
  int32_t reason;   /* the next gap to look at, once the lanes are through */
  uint32_t gap_lane;
  uint64_t notice[NOTICE_MAX_BYTES / 8];
} dead_ring;

/*
 * Opens the ring of a directory that no writer has open. `*made` is null where there is no ring. 0, or a negative
 * errno: -EBADMSG for a damaged one, -ENOTSUP for a newer version, -ELOOP for what is no plain file, -ESTALE for one
 * that vanished from another directory, -EIDRM for one of another opening or log (see ring_owner.h), -EAGAIN if a
 * writer turned up, or was there and went, while this was reading.
 */
int dead_open(int directory, dead_ring **made);

/* What such an error says of a ring that is lost, for whoever reads the log; null for any other error. */
const char *dead_problem(int error);

/* Whether there is no ring because an opening died while it made one: it had drained the one before. */
int dead_being_made(int directory);

/* Whether there is no ring because a close removed it, and the offset after the last event of such a log. */
int dead_closed_end(int directory, uint64_t *next_offset);

/* The next item: 1; 0 at the end; or a negative errno, of which -EAGAIN says that a writer has turned up. */
int dead_next(dead_ring *ring, int directory, dead_item *item);

/*
 * Whether no writer has been at work since dead_open: the lock is free, the ring is that of the same opening. 1, 0, or
 * a negative errno if that can't be told.
 */
int dead_is_current(const dead_ring *ring, int directory);

/* The definitions in the ring of that opening, live or dead, into `table`. 0 if they can't be had, too; or -ENOMEM. */
int dead_definitions(int directory, uint64_t opening, definition_table *table);

void dead_close(dead_ring *ring);

/*
 * Reads and checks a ring's header and control pages; for a live ring they are a moment's picture. 0 or as dead_open.
 */
int dead_read_ring(dead_ring *ring, int directory);

#endif
