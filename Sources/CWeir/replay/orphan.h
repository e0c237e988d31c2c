/*
 * orphan.h: the replay of what is left in the ring of a writer that died: the records that no segment has yet, and the
 * notices of what is lost, in their order and with their offsets. Recovery writes these items into segments, readers
 * give them out, and both get them here. Everything is read by pread into private memory; nothing is written.
 */
#ifndef WEIR_ORPHAN_H
#define WEIR_ORPHAN_H

#include "system/names.h"

#include "directory/locator.h"
#include "format/notice.h"
#include "format/record.h"
#include "replay/drained.h"
#include "segment/definitions.h"

typedef enum orphan_kind {
  ORPHAN_RECORD, /* an event */
  ORPHAN_HOLE,   /* a notice: a stretch of a lane that no checksum vouches for, or that a power cut took */
  ORPHAN_TAIL,   /* a notice: that events may be missing from here on */
  ORPHAN_GAP     /* a notice: refusals, or evicted events, that the log does not report yet */
} orphan_kind;

typedef struct orphan_item {
  orphan_kind kind;
  uint64_t offset;
  uint32_t lane;      /* the item's lane; NOTICE_LANE for an ORPHAN_TAIL, and for gaps of captures without a lane */
  lane_mark from, to; /* the stretch of the lane that the item stands for; zeros for an ORPHAN_TAIL and for refusals */
  int32_t reason;     /* of a gap */
  uint64_t dropped;   /* events of a gap or a hole; RECORDS_UNKNOWN if a hole may have had any number */
  int joined;         /* a gap that is part of the next item's stretch: no log has the one without the other */
  const record_header *record; /* the event's, or the notice's. Valid until the next call */
} orphan_item;

typedef struct orphan {
  ring_place place;
  int fd;
  int held;         /* the caller has the lock of the log: no writer is at work meanwhile */
  uint64_t inode;
  ring_header header;
  lane_control *controls;
  struct calibration calibration; /* the one that recovery will use */
  struct drained drained;
  int rebooted;     /* it is of another boot, and was not closed */
  int empty;        /* it is of another boot, and was closed */
  int tail_reported;
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
} orphan;

/*
 * Opens the ring of a directory that no writer has open. `*made` is null if there is no ring. 0, or a negative errno.
 * -EBADMSG: the ring is damaged. -ENOTSUP: a newer version. -ELOOP: not a plain file. -ESTALE: the ring vanished from
 * another directory. -EIDRM: it is of another opening or log (see ring_owner.h). -EAGAIN: a writer was at work during
 * this call.
 */
int orphan_open(int directory, uint64_t log_id, orphan **made);

/* The message for readers if such an error means that a ring is lost; null for any other error. */
const char *orphan_problem(int error);

/* Whether the ring is missing because an opening died while it made a new one: it had drained the one before. */
int orphan_being_made(int directory);

/*
 * Whether the ring is missing because a close removed it. If so, `*next_offset` is the offset after the log's last
 * event.
 */
int orphan_closed_end(int directory, uint64_t *next_offset);

/*
 * Whether a reader passes over an unsealed segment: a recovery under the ring's boot wrote it, and the machine went
 * down before the seal. The ring has its events still, and the replay gives them with other offsets. What a recovery under
 * another boot wrote needs no such care, for it has the offsets of the replay. 1, 0, or -ENOMEM.
 */
int orphan_forgets(int directory, uint64_t log_id, const segment_scan *scan);

/* The next item: 1; 0 at the end; or a negative errno. -EAGAIN: a writer has opened the log. */
int orphan_next(orphan *ring, int directory, orphan_item *item);

/*
 * For recovery, which has the log's lock. orphan_hold reads the ring of an open file, whose header is good, and keeps
 * the descriptor; orphan_begin begins the replay once `drained` is known; orphan_settle sets `from` and `to` of one
 * lane ahead of its turn. 0 or a negative errno.
 */
int orphan_hold(int fd, const uint8_t running[16], orphan **made); /* `running`: the kernel's boot */
void orphan_begin(orphan *ring);
int orphan_settle(orphan *ring, int directory, uint32_t lane);

/*
 * Whether no writer has been at work since orphan_open: the lock is free, and the ring is of the same opening. 1, 0, or
 * a negative errno if the check failed.
 */
int orphan_is_current(const orphan *ring, int directory);

/*
 * The region of definitions in a ring: `*bytes` of them in memory that the caller frees. Of a ring of another boot all
 * of it, because its end may be older than its pages. 0 or a negative errno.
 */
int orphan_types_region(const orphan *ring, uint8_t **region, uint64_t *bytes);

/*
 * Reads the definitions in the ring of `opening`, live or dead, into `table`. 0, also if they can't be read; or
 * -ENOMEM.
 */
int orphan_definitions(int directory, uint64_t opening, definition_table *table);

void orphan_close(orphan *ring);

/* Reads and checks a ring's header and control pages; for a live ring this is a snapshot. Errors as orphan_open. */
int orphan_read_ring(orphan *ring, int directory);

/* The number of the ring's first overflow lane, or how many lanes there are. */
static inline uint32_t orphan_first_overflow(const orphan *ring) {
  return ring->header.lane_count - ring->header.overflow_lanes;
}

#endif
