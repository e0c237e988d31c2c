/*
 * dead.h: the replay of what is left in the ring of a writer that died: the records that no segment has yet, and the
 * notices of what is lost, in their order and with their offsets. Recovery writes these items into segments, readers
 * give them out, and both get them here. Everything is read by pread into private memory; nothing is written.
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
  DEAD_GAP     /* a notice: refusals, or evicted events, that the log does not report yet */
} dead_kind;

typedef struct dead_item {
  dead_kind kind;
  uint64_t offset;
  uint32_t lane;      /* the item's lane; NOTICE_LANE for a DEAD_TAIL, and for gaps of captures without a lane */
  lane_mark from, to; /* the stretch of the lane that the item stands for; zeros for a DEAD_TAIL and for refusals */
  int32_t reason;     /* of a gap */
  uint64_t dropped;   /* events of a gap or a hole; RECORDS_UNKNOWN if a hole may have had any number */
  int joined;         /* a gap that is part of the next item's stretch: no log has the one without the other */
  const record_header *record; /* the event's, or the notice's. Valid until the next call */
} dead_item;

typedef struct dead_ring {
  ring_place place;
  int fd;
  int held;         /* the caller has the lock of the log: no writer is at work meanwhile */
  uint64_t inode;
  ring_header header;
  lane_control *controls;
  calibration calibration; /* the one that recovery will use */
  handover handover;
  int rebooted;     /* it is of another boot, and was not closed */
  int empty;        /* it is of another boot, and was closed */
  int tail_told;
  uint64_t start_offset;
  uint64_t known_end; /* lower offsets were given to events; those from here to start_offset may have been */
  uint64_t log_end; /* the log's end by the segments alone; below start_offset if offsets are missing */
  uint64_t from[WEIR_MAX_LANES], to[WEIR_MAX_LANES]; /* what of each lane is replayed, once it is settled */
  uint8_t settled[WEIR_MAX_LANES];
  uint8_t *bytes;   /* of the lane `viewed`, read when needed */
  uint64_t lane_room;
  uint32_t lane;    /* the one being walked */
  int loaded;
  uint32_t viewed;  /* the lane that `view` is of */
  int viewed_bytes; /* and whether its bytes were read */
  lane_view view;
  record_sums sums; /* checksum states of `view` */
  uint64_t position;
  uint64_t end;
  uint64_t records;  /* how many come before `position`, or RECORDS_UNKNOWN */
  uint64_t hole_to;  /* end of the hole whose notices are being returned; 0: none */
  uint64_t hole_events;
  uint64_t next_offset;
  int32_t reason;   /* the next gap to look at, after all lanes */
  uint32_t gap_lane;
  uint64_t notice[NOTICE_MAX_BYTES / 8];
} dead_ring;

/*
 * Opens the ring of a directory that no writer has open. `*made` is null if there is no ring. 0, or a negative errno.
 * -EBADMSG: the ring is damaged. -ENOTSUP: a newer version. -ELOOP: not a plain file. -ESTALE: the ring vanished from
 * another directory. -EIDRM: it is of another opening or log (see ring_owner.h). -EAGAIN: a writer was at work during
 * this call.
 */
int dead_open(int directory, uint64_t log_id, dead_ring **made);

/* The message for readers if such an error means that a ring is lost; null for any other error. */
const char *dead_problem(int error);

/* Whether the ring is missing because an opening died while it made a new one: it had drained the one before. */
int dead_being_made(int directory);

/*
 * Whether the ring is missing because a close removed it. If so, `*next_offset` is the offset after the log's last
 * event.
 */
int dead_closed_end(int directory, uint64_t *next_offset);

/* The next item: 1; 0 at the end; or a negative errno. -EAGAIN: a writer has opened the log. */
int dead_next(dead_ring *ring, int directory, dead_item *item);

/*
 * For recovery, which has the log's lock. dead_hold reads the ring of an open file, whose header is good, and keeps the
 * descriptor; dead_begin begins the replay once `handover` is known; dead_settle sets `from` and `to` of one lane ahead
 * of its turn. 0 or a negative errno.
 */
int dead_hold(int fd, dead_ring **made);
void dead_begin(dead_ring *ring);
int dead_settle(dead_ring *ring, int directory, uint32_t lane);

/*
 * Whether no writer has been at work since dead_open: the lock is free, and the ring is of the same opening. 1, 0, or a
 * negative errno if the check failed.
 */
int dead_is_current(const dead_ring *ring, int directory);

/*
 * The region of definitions in a ring: `*bytes` of them in memory that the caller frees. Of a ring of another boot all
 * of it, because its end may be older than its pages. 0 or a negative errno.
 */
int dead_types_region(const dead_ring *ring, uint8_t **region, uint64_t *bytes);

/*
 * Reads the definitions in the ring of `opening`, live or dead, into `table`. 0, also if they can't be read; or
 * -ENOMEM.
 */
int dead_definitions(int directory, uint64_t opening, definition_table *table);

void dead_close(dead_ring *ring);

/* Reads and checks a ring's header and control pages; for a live ring this is a snapshot. Errors as dead_open. */
int dead_read_ring(dead_ring *ring, int directory);

#endif
