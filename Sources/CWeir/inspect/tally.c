/*
 * tally.c: weir_count_from. Counts where the accepted events of a log are, by the seals of sealed segments, by the
 * blocks of others and of the segment that has the offset, and by the lanes. Writes nothing.
 *
 * In a live log the positions of the lanes' records are noted first. Then the segments are read, whose blocks say up to
 * which position each lane is drained. A noted record above that position counts as in its lane; one below it is in a
 * segment that was read. So an event that is drained in between is counted once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "directory/directory.h"
#include "directory/log_start.h"
#include "directory/segment_list.h"
#include "format/notice.h"
#include "replay/orphan.h"
#include "segment/identity.h"
#include "segment/scan.h"
#include "system/crc32c.h"
#include "system/error.h"
#include "system/system.h"

/* The records of a live lane, a bit for each multiple of eight from `from` on: 1 where one begins. */
typedef struct lane_picture {
  uint64_t from, to;
  struct evicted evicted;   /* the evictions after all records were noted */
  uint64_t reported; /* how many evicted events the log reports */
  uint64_t drained;  /* the position up to which the log has the lane */
  uint8_t *records;
} lane_picture;

typedef struct counting {
  int directory;
  uint64_t log_id;
  const char *path;
  uint64_t offset;
  weir_tally *tally;
  uint64_t reached;   /* offsets below it were counted */
  uint64_t opening;   /* of the live ring; 0: there is none */
  uint32_t lane_count;
  lane_picture *lanes;
  segment_name last;  /* the last segment of that opening */
  int by_seal;        /* not all blocks of `last` were read */
} counting;

/* Counts the offsets [from, to) that were not counted yet, at or above the one that was asked for and below it. */
static void split(counting *counting, uint64_t from, uint64_t to, uint64_t *above, uint64_t *below) {
  if (from < counting->reached) from = counting->reached;
  if (to <= from) return;
  uint64_t middle = counting->offset < from ? from : counting->offset > to ? to : counting->offset;
  *below += middle - from;
  *above += to - middle;
  counting->reached = to;
}

static void miss(counting *counting, uint64_t to) {
  split(counting, counting->reached, to, &counting->tally->missing, &counting->tally->below);
}

/* ---- A live ring ------------------------------------------------------------------------------------------------- */

/*
 * Reads the control page as it was at one moment: two reads in a row agree on all of it but the tail, which always
 * moves.
 */
static int read_control(const orphan *ring, uint32_t number, lane_control *control) {
  enum { TRIES = 100, STEADY = offsetof(lane_control, head) };
  uint64_t at = ring->header.lanes_at + number * ring->header.lane_stride;
  lane_control before;
  for (int i = 0; i < TRIES; i++) {
    if (i > 0) before = *control;
    int64_t got = sys_read_at(ring->fd, control, sizeof *control, at);
    if (got < (int64_t)sizeof *control) return got < 0 ? (int)got : -EBADMSG;
    const uint8_t *now = (const uint8_t *)control, *then = (const uint8_t *)&before;
    if (i > 0 && memcmp(now + STEADY, then + STEADY, sizeof *control - STEADY) == 0) break;
  }
  return 0;
}

/*
 * Marks the positions of records. A record that the producer overwrites meanwhile was drained or evicted: then the head
 * is past it.
 */
static int mark_records(const orphan *ring, uint32_t number, lane_picture *picture, const lane_view *view) {
  for (uint64_t at = picture->from; at < picture->to;) {
    uint64_t size, head, skipped;
    lane_control control;
    if (record_at(view, at, picture->to, &size)) {
      uint64_t bit = (at - picture->from) / 8;
      picture->records[bit / 8] |= (uint8_t)(1 << bit % 8);
      at += size;
      continue;
    }
    int error = read_control(ring, number, &control);
    if (error != 0) return error;
    head = head_position(control.head);
    if (head > at) at = head;
    else at = record_resync(view, at, picture->to, RECORDS_UNKNOWN, &skipped); /* damaged: the drainer reports it */
  }
  return 0;
}

static int read_records(const orphan *ring, uint32_t number, lane_picture *picture, uint8_t **bytes) {
  const lane_control *control = &ring->controls[number];
  uint64_t head = head_position(control->head), room = ring->header.lane_bytes + ring->header.record_bytes;
  picture->from = picture->to = picture->drained = head;
  picture->reported = control->reported[WEIR_LOST_OVERWRITTEN - 1];
  if (head == control->tail || !drained_plausible(head, control->tail, ring->header.lane_bytes)) return 0;
  room += RECORD_SLACK_BYTES;
  if (!*bytes) *bytes = (uint8_t *)malloc(room);
  picture->records = (uint8_t *)calloc(1, (control->tail - head) / 64 + 1);
  if (!*bytes || !picture->records) return -ENOMEM;
  int64_t got = sys_read_at(ring->fd, *bytes, room,
                            ring->header.lanes_at + number * ring->header.lane_stride + LANE_CONTROL_BYTES);
  if (got < (int64_t)room) return got < 0 ? (int)got : -EBADMSG;
  picture->to = control->tail;
  record_sums sums = {0};
  lane_view view = {.data = *bytes,
                    .capacity = ring->header.lane_bytes,
                    .record_bytes = ring->header.record_bytes,
                    .seed = record_seed(ring->header.opening, number),
                    .sums = &sums};
  int error = mark_records(ring, number, picture, &view);
  record_sums_free(&sums);
  return error;
}

static int picture_lane(const orphan *ring, uint32_t number, lane_picture *picture, uint8_t **bytes) {
  lane_control control;
  int error = read_records(ring, number, picture, bytes);
  if (error == 0) error = read_control(ring, number, &control);
  if (error == 0) picture->evicted = drained_evicted(&control);
  return error;
}

/* 0, also if there is no ring yet, or this process does not see its directory; or a negative errno. */
static int picture_lanes(counting *counting) {
  orphan *ring = (orphan *)calloc(1, sizeof *ring);
  if (!ring) return -ENOMEM;
  int error = orphan_read_ring(ring, counting->directory);
  uint8_t *bytes = NULL;
  if (error == 0) {
    counting->lanes = (lane_picture *)calloc(ring->header.lane_count, sizeof *counting->lanes);
    if (!counting->lanes) error = -ENOMEM;
    if (error == 0) counting->opening = ring->header.opening;
    if (error == 0) counting->lane_count = ring->header.lane_count;
    for (uint32_t i = 0; i < counting->lane_count && error == 0; i++) {
      error = picture_lane(ring, i, &counting->lanes[i], &bytes);
    }
  }
  free(bytes);
  orphan_close(ring);
  return error == -ENOENT || error == -ESTALE || error == -EBADMSG ? 0 : error;
}

static void advance_head(counting *counting, uint64_t opening, uint32_t lane, uint64_t position) {
  if (opening != counting->opening || lane >= counting->lane_count) return;
  if (counting->lanes[lane].drained < position) counting->lanes[lane].drained = position;
}

static void tell(counting *counting, uint64_t opening, uint32_t lane, int32_t reason, uint64_t total) {
  if (opening != counting->opening || lane >= counting->lane_count || reason != WEIR_LOST_OVERWRITTEN) return;
  if (counting->lanes[lane].reported < total) counting->lanes[lane].reported = total;
}

static void take_pictures(counting *counting) {
  for (uint32_t i = 0; i < counting->lane_count; i++) {
    const lane_picture *lane = &counting->lanes[i];
    uint64_t from = lane->drained > lane->evicted.to ? lane->drained : lane->evicted.to;
    for (uint64_t at = from; lane->records && at < lane->to; at += 8) {
      uint64_t bit = (at - lane->from) / 8;
      counting->tally->in_lanes += lane->records[bit / 8] >> bit % 8 & 1;
    }
    if (lane->evicted.total > lane->reported) counting->tally->overwritten += lane->evicted.total - lane->reported;
  }
}

/* ---- Segments ---------------------------------------------------------------------------------------------------- */

static void take_notices(counting *counting, const segment_scan *scan) {
  uint64_t at = 0;
  for (uint32_t i = 0; i < scan->block.count; i++) {
    record_header record;
    uint32_t lane;
    int32_t reason;
    uint64_t total, dropped;
    const uint8_t *bytes = scan->payload + at;
    memcpy(&record, bytes, sizeof record);
    at += record_size(record.length);
    if (record.type == WEIR_TYPE_HOLE) {
      uint64_t events = notice_read_hole(bytes + sizeof record, record.length);
      if (events != RECORDS_UNKNOWN) counting->tally->in_holes += events;
    }
    if (record.type != WEIR_TYPE_GAP) continue;
    if (!notice_read_gap(bytes + sizeof record, record.length, &lane, &reason, &total, &dropped)) continue;
    if (reason == WEIR_LOST_OVERWRITTEN) counting->tally->overwritten += dropped;
    tell(counting, scan->block.opening, lane, reason, total);
  }
}

static void take_block(counting *counting, const segment_scan *scan) {
  const block_header *block = &scan->block;
  uint64_t end = block->base_offset + block->count;
  advance_head(counting, block->opening, block->lane, block->lane_to);
  if (end <= counting->reached) return; /* a copy, or a block without offsets */
  miss(counting, block->base_offset);
  if (block->kind == BLOCK_EVENTS) {
    split(counting, block->base_offset, end, &counting->tally->in_segments, &counting->tally->below);
  } else if (block->kind == BLOCK_NOTICES) {
    take_notices(counting, scan);
    counting->reached = end;
  }
}

/* Counts all blocks of a segment without a seal. A bad end is no damage if a live writer is at it. */
static int take_blocks(counting *counting, segment_scan *scan, int resync) {
  for (;;) {
    scan_damage damage;
    switch (scan_next(scan, resync, &damage)) {
      case SCAN_BLOCK: take_block(counting, scan); break;
      case SCAN_DAMAGE: break; /* the next block's offset says how many are missing */
      case SCAN_ERROR: return damage.error;
      case SCAN_TAIL:
        if (damage.reason && damage.count > 0) miss(counting, damage.first_offset + damage.count);
        return 0;
      case SCAN_SEALED: return 0;
    }
  }
}

/* Counts the events at or above the offset in the sealed segment that has the offset, and those that are damaged. */
static int take_part(counting *counting, segment_scan *scan, const seal_summary *seal, uint64_t base) {
  uint64_t above = 0, missing = 0, ignored = 0, end = seal->next_offset;
  scan_rewind(scan);
  scan_seek(scan, counting->offset);
  counting->reached = counting->offset;
  for (;;) {
    scan_damage damage;
    scan_result result = scan_next(scan, 1, &damage);
    if (result == SCAN_ERROR) return damage.error;
    uint64_t to = result == SCAN_BLOCK ? scan->block.base_offset : end;
    if (result == SCAN_DAMAGE) continue;
    split(counting, counting->reached, to, &missing, &ignored);
    if (result != SCAN_BLOCK) break;
    uint64_t after = to + scan->block.count;
    advance_head(counting, scan->block.opening, scan->block.lane, scan->block.lane_to);
    if (scan->block.kind == BLOCK_EVENTS) split(counting, to, after, &above, &ignored);
    else if (counting->reached < after) counting->reached = after;
  }
  uint64_t all = seal->events + scan_seal_missing(seal, base, end);
  if (above > seal->events) above = seal->events;
  if (missing > all - above) missing = all - above; /* the others were notices */
  counting->tally->in_segments += above;
  counting->tally->missing += missing;
  counting->tally->below += all - above - missing;
  return 0;
}

static int take_sealed(counting *counting, segment_scan *scan, uint64_t base, int *by_seal) {
  /* The seal's payload is not kept: copy it. */
  seal_summary seal = *scan_summary(scan);
  uint64_t opening = scan->header.opening;
  const gap_total *totals = scan_seal_totals(scan);
  for (uint32_t i = 0; i < seal.totals; i++) {
    tell(counting, opening, totals[i].lane, (int32_t)totals[i].reason, totals[i].total);
  }
  counting->tally->overwritten += seal.dropped[WEIR_LOST_OVERWRITTEN];
  counting->tally->in_holes += seal.dropped[LOST_IN_HOLES];
  *by_seal = 1;
  if (base < counting->offset && counting->offset < seal.next_offset) return take_part(counting, scan, &seal, base);
  uint64_t missing = scan_seal_missing(&seal, base, seal.next_offset);
  if (base >= counting->offset) {
    counting->tally->in_segments += seal.events;
    counting->tally->missing += missing;
  } else {
    counting->tally->below += seal.events + missing;
  }
  if (counting->reached < seal.next_offset) counting->reached = seal.next_offset;
  return 0;
}

/* Opens a segment of the listing, which may have been sealed since. -EAGAIN: it was removed. */
static int open_segment(const counting *counting, segment_name *name, segment_scan *scan) {
  scan_damage damage;
  int error = scan_open_named(scan, counting->directory, counting->log_id, name, &damage);
  if (error == -ENOENT && name->active) {
    name->active = 0;
    segment_list_raw_name(name->name, name->base, 0);
    error = scan_open_named(scan, counting->directory, counting->log_id, name, &damage);
  }
  return error == -ENOENT ? -EAGAIN : error;
}

static int take_segment(counting *counting, segment_name *name, int live_end) {
  segment_scan scan;
  int error = open_segment(counting, name, &scan);
  if (error == -ELOOP) return 0; /* not ours */
  if (error != 0) return error;
  const segment_header *header = &scan.header;
  if (header->salt != 0) {
    uint64_t base = scan_base(&scan, name->base), reached = counting->reached;
    if (counting->tally->first_offset == UINT64_MAX) counting->tally->first_offset = base;
    /* The offsets before this segment are missing, unless they were left out. */
    if (base > reached && scan_gap_left_out(scan.header_valid, header->flags, base - reached)) counting->reached = base;
    int of_lanes = scan.header_valid && !(header->incompatible & SEGMENT_COLLECTED);
    for (uint32_t i = 0; of_lanes && i < header->lane_count; i++) {
      advance_head(counting, header->opening, i, scan.drained[i].position);
    }
    int repeats = base < counting->reached;
    if (!repeats) miss(counting, base);
    int sealed = !repeats && scan_seal(&scan) == 0, by_seal = 0;
    error = sealed ? take_sealed(counting, &scan, base, &by_seal) : take_blocks(counting, &scan, !live_end);
    if (header->opening == counting->opening) {
      counting->last = *name;
      counting->by_seal = by_seal;
    }
  }
  scan_close(&scan);
  return error;
}

/* Reads the lanes' drained positions from the last segment of the live ring's opening, unless that was read already. */
static int take_positions(counting *counting) {
  segment_scan scan;
  scan_damage damage;
  int error = open_segment(counting, &counting->last, &scan);
  if (error != 0) return error;
  scan_result result;
  while ((result = scan_next(&scan, 1, &damage)) == SCAN_BLOCK || result == SCAN_DAMAGE) {
    const block_header *block = &scan.block;
    if (result == SCAN_BLOCK) advance_head(counting, block->opening, block->lane, block->lane_to);
  }
  scan_close(&scan);
  return result == SCAN_ERROR ? damage.error : 0;
}

/* ---- An orphaned ring -------------------------------------------------------------------------------------------- */

static int take_orphan(counting *counting) {
  orphan *ring;
  orphan_item item;
  weir_tally *tally = counting->tally;
  int result = orphan_open(counting->directory, counting->log_id, &ring);
  if (result == 0 && ring) {
    miss(counting, ring->known_end);
    if (counting->reached < ring->start_offset) counting->reached = ring->start_offset;
    while ((result = orphan_next(ring, counting->directory, &item)) == 1) {
      counting->reached = item.offset + 1;
      if (item.kind == ORPHAN_RECORD) ++*(item.offset >= counting->offset ? &tally->in_lanes : &tally->below);
      if (item.kind == ORPHAN_HOLE && item.dropped != RECORDS_UNKNOWN) tally->in_holes += item.dropped;
      if (item.kind == ORPHAN_GAP && item.reason == WEIR_LOST_OVERWRITTEN) tally->overwritten += item.dropped;
    }
  }
  uint64_t end;
  if (result == 0 && !ring && orphan_closed_end(counting->directory, &end)) miss(counting, end);
  orphan_close(ring);
  /* weir_stat and weir_verify report what can't be read of it. */
  return orphan_problem(result) ? 0 : result;
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

/* Takes what was removed: its offsets are not missing. */
static int take_start(counting *counting) {
  log_start_slot start;
  int found = log_start_read(counting->directory, counting->log_id, &start);
  if (found != 1) return log_start_problem(found) ? 0 : found;
  weir_tally *tally = counting->tally;
  tally->removed = start.events + start.missing;
  tally->overwritten += start.dropped[WEIR_LOST_OVERWRITTEN];
  tally->in_holes += start.dropped[LOST_IN_HOLES];
  if (start.first_offset > counting->offset) tally->removed_above = start.first_offset - counting->offset;
  counting->reached = tally->first_offset = start.first_offset;
  return 0;
}

/* 0 or a negative errno; -EAGAIN if a writer turned up meanwhile. */
static int count_all(counting *counting) {
  weir_tally *tally = counting->tally;
  segment_list list = {0};
  memset(tally, 0, sizeof *tally);
  tally->first_offset = UINT64_MAX;
  tally->live = (uint32_t)directory_is_live(counting->directory);
  int error = tally->live ? picture_lanes(counting) : 0;
  if (error == 0) error = segment_list_settled(counting->directory, &list);
  if (error == 0) error = take_start(counting);
  uint64_t first = counting->reached;
  for (uint64_t i = 0; i < list.count && error == 0; i++) {
    segment_name *name = &list.items[i];
    if (name->base < first && !name->active) continue; /* a leftover, which was counted as removed */
    error = take_segment(counting, name, tally->live && name->active && i + 1 == list.count);
  }
  segment_list_free(&list);
  if (error == 0 && counting->by_seal) error = take_positions(counting);
  if (error == 0 && tally->live) take_pictures(counting);
  else if (error == 0) error = take_orphan(counting);
  for (uint32_t i = 0; i < counting->lane_count; i++) free(counting->lanes[i].records);
  free(counting->lanes);
  if (tally->first_offset == UINT64_MAX) tally->first_offset = 0;
  tally->next_offset = counting->reached;
  tally->accepted = tally->in_segments + tally->missing + tally->in_lanes + tally->removed + tally->overwritten +
                    tally->in_holes + tally->below;
  return error;
}

weir_status weir_count_from(const char *directory, uint64_t offset, weir_tally *tally, weir_error *error) {
  enum { TRIES = 10 };
  memset(tally, 0, sizeof *tally);
  int fd;
  weir_status status = directory_open_read(directory, &fd, error);
  if (status != WEIR_OK) return status;
  int result = -EAGAIN;
  for (int i = 0; i < TRIES && result == -EAGAIN; i++) {
    counting counting = {.directory = fd, .path = directory, .offset = offset, .tally = tally};
    result = identity_find(fd, &counting.log_id);
    if (result == 0) result = count_all(&counting);
  }
  sys_close(fd);
  if (result == 0) return WEIR_OK;
  if (result == -ENOTSUP) return fail_newer(error, directory, NULL);
  if (result == -EAGAIN) return fail_unsettled(error, "count the events of", directory);
  return fail_system(error, result, "count the events of", directory, NULL);
}
