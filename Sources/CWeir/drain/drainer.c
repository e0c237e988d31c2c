/*
 * drainer.c: the drainer. Moves committed records from the lanes into blocks of the active segment, begins the next
 * segment when one is full, writes gap records, and sleeps when there is nothing to do. Longer than other files: a
 * pass and the sleep after it share one state, and the orders below are those of both.
 *
 * What it keeps true: a block is appended before the lane's head moves, and both before the segment is sealed. So after
 * a kill at any instruction the log's word about a lane is at or past its head, and nothing is drained twice.
 *
 * The orders between captures and the drainer are in lane.c, those between the drainer and the sealer in sealer.c. What
 * else the drainer shares:
 *
 * label store                               load                              what it guarantees
 * E1    storage_errno, then storage         captures, callers: storage        whoever sees that the log cannot grow
 *       (release)                           (acquire), then storage_errno     finds a reason
 * E2    capture: the count of refusals,     drainer: refused exchanged        what is reported to the host is counted
 *       then refused = 1 (release)          (acquire), then its function
 * E3    closer: the closed lanes, then      drainer: stopping (acquire),      all that was captured is drained before
 *       stopping = 1 (release)              then the tails                    the drainer ends
 * E4    who rings: what it rings for, then  drainer: bell (acquire), then     what is rung for is seen, or ends the
 *       bell + 1 (release)                  the rest; then waits for bell     wait
 * K1    log_end, reported, closed           recovery, by program order        the ring never says more than the log has
 *       (release), after the block
 */
#include "drain/drainer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/bell.h"
#include "capture/clock.h"
#include "capture/detach.h"
#include "capture/lane.h"
#include "directory/quarantine.h"
#include "format/calibration.h"
#include "format/eviction.h"
#include "format/notice.h"
#include "limits/byte_limit.h"
#include "limits/retention.h"
#include "ring/ring.h"
#include "seal/sealer.h"
#include "system/error.h"
#include "system/invariant.h"
#include "system/lines.h"
#include "system/system.h"
#include "system/thread.h"

static uint64_t load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }
static void store(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELAXED); }

/* The time for captures that take it from a word. */
static void refresh_tick(drainer *drainer) {
  intake *intake = drainer->intake;
  if (intake->ring.header->clock == WEIR_CLOCK_TICK) store(&intake->producer.tick, sys_monotonic_ns());
}

/* ---- Segments ---------------------------------------------------------------------------------------------------- */

/* Publishes why the log cannot grow, for captures and for callers of drain. 0: the log can grow again. */
static void set_storage(drainer *drainer, int negative_errno) {
  intake *intake = drainer->intake;
  drainer->stall_error = negative_errno;
  /* A status of OK leaves the errno: a capture that saw the failure before still finds its reason. */
  if (negative_errno != 0) __atomic_store_n(&intake->storage_errno, -negative_errno, __ATOMIC_RELAXED); /* E1 */
  int32_t status = negative_errno == 0 ? WEIR_OK : status_of(negative_errno);
  __atomic_store_n(&intake->storage, status, __ATOMIC_RELEASE); /* E1 */
}

/* Gathers the totals that gap records of the log report, at most `most`. Null: only counts them. */
static uint32_t collect_totals(const drainer *drainer, gap_total *totals, uint32_t most) {
  const intake *intake = drainer->intake;
  uint32_t count = 0, lanes = lanes_in_play(intake);
  for (uint32_t lane = 0; lane <= lanes; lane++) {
    int unlaned = lane == lanes;
    for (uint32_t reason = 1; reason < WEIR_DROP_REASONS && count < most; reason++) {
      const uint64_t *reported = unlaned ? &intake->ring.header->unlaned_reported[reason]
                                         : &intake->lanes[lane].control->reported[reason - 1];
      uint64_t total = load(reported);
      if (total == 0) continue;
      if (totals) totals[count] = (gap_total){unlaned ? (uint32_t)NOTICE_LANE : lane, reason, total};
      count++;
    }
  }
  return count;
}

/* Begins a segment: header and name. 0 or a negative errno. */
static int begin_segment(drainer *drainer, segment *fresh) {
  const intake *intake = drainer->intake;
  lane_mark drained[WEIR_MAX_LANES];
  for (uint32_t i = 0; i < intake->lane_count; i++) {
    drained[i] = (lane_mark){intake->lanes[i].drained, intake->lanes[i].records};
  }
  const segment_origin origin = {intake->held->log_id, intake->ring.header->opening, intake->ring.header->boot_id};
  int error = segment_begin(fresh, &origin, drainer->next_offset, &drainer->previous, drained, intake->lane_count, 0);
  if (error != 0) return error;
  fresh->number = ++drainer->segment_number;
  fresh->totals = collect_totals(drainer, NULL, segment_most_totals(fresh->capacity));
  store(&drainer->counters.segments, drainer->counters.segments + 1);
  return 0;
}

static void seal_active(drainer *drainer) {
  segment *full = drainer->active;
  /* The totals take up to 64 KiB, too much for a stack. Without memory refusals may be reported twice. */
  gap_total *totals = (gap_total *)malloc(full->totals * sizeof *totals);
  uint32_t count = totals ? collect_totals(drainer, totals, full->totals) : 0;
  if (!full->sealed) segment_seal(full, drainer->next_offset, totals, count, &drainer->clock.calibration);
  free(totals);
  drainer->previous = (segment_end){.salt = full->salt, .end = full->at, .base = full->base_offset};
}

/* Fills `next` from now on; what was active goes to the sealer. */
static void change(drainer *drainer, segment *next) {
  sealer_change(drainer->sealer, next);
  drainer->active = next;
}

int drainer_begin(drainer *drainer, segment *fresh) {
  int error = begin_segment(drainer, fresh);
  if (error == 0) change(drainer, fresh);
  return error;
}

/* Begins the next segment and gives the full one to the sealer. 0: there is no segment, the pass stalls. */
static int roll(drainer *drainer) {
  int error;
  segment *fresh = preparer_take(drainer->preparer, &error);
  if (!fresh) {
    drainer->stalled_for = drainer->preparer->failed_for;
    if (error != 0) set_storage(drainer, error);
    return 0;
  }
  segment *full = drainer->active;
  if (full) seal_active(drainer);
  error = begin_segment(drainer, fresh);
  if (error != 0) {
    byte_limit_give(drainer->intake->retention, segment_discard(fresh));
    set_storage(drainer, error);
    return 0;
  }
  if (full) drainer->sampled_due = 1;
  change(drainer, fresh);
  set_storage(drainer, 0);
  return 1;
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

/* A stretch of a lane that goes into one block. */
typedef struct batch {
  uint64_t from, to;
  uint32_t count;
  uint32_t types; /* and contexts, not yet defined in the segment */
  uint32_t type[64];
  uint64_t definitions_bytes;
  uint64_t first_ticks, last_ticks;
  uint64_t records; /* how many come before `to` */
  int damaged; /* ends before a record that no checksum vouches for */
} batch;

/* Whether a block of records and the definitions of so many types fit into a segment's room, seal included. */
static int fits(uint64_t room, uint64_t records, uint32_t types, uint64_t definitions) {
  /* A definition goes into a block of its own, and into the seal. */
  return records + types * sizeof(block_header) + 2 * definitions <= room;
}

/* Whether the segment has the definition of a type or context, or the stretch will bring it. */
static int is_defined(const drainer *drainer, const batch *batch, uint32_t type) {
  const intake *intake = drainer->intake;
  if (type >= MAX_TYPES || intake->types.entries[type].bytes == 0) return 1; /* there is no definition to write */
  if (intake->types.entries[type].defined_in == drainer->segment_number) return 1;
  for (uint32_t i = 0; i < batch->types; i++) {
    if (batch->type[i] == type) return 1;
  }
  return 0;
}

/* Finds the definitions that a record needs and the segment lacks. Answers how many; `*bytes`: of all together. */
static uint32_t find_undefined(const drainer *drainer, const batch *batch, const record_header *record,
                               uint32_t found[2], uint64_t *bytes) {
  const uint32_t needed[2] = {record_type(record->type), record_context(record->type)};
  uint32_t count = 0;
  *bytes = 0;
  for (int i = 0; i < 2; i++) {
    if (is_defined(drainer, batch, needed[i])) continue;
    found[count++] = needed[i];
    *bytes += drainer->intake->types.entries[needed[i]].bytes;
  }
  return count;
}

/* Gathers records from `from` on for one block. Ends at the lane's physical end, so that one copy is enough. */
static void collect(const drainer *drainer, const lane *lane, const lane_view *view, uint64_t from, uint64_t tail,
                    batch *batch) {
  *batch = (struct batch){.from = from, .to = from, .first_ticks = UINT64_MAX, .records = lane->records};
  uint64_t room = segment_room(drainer->active), lap_end = (from | (view->capacity - 1)) + 1;
  uint32_t defined = 0; /* a type word whose definitions the segment or the stretch has; 0 is no event's */
  while (batch->to < tail && batch->to < lap_end) {
    uint64_t size;
    const record_header *record = record_next(view, batch->to, tail, batch->records, &size);
    if (!record) {
      batch->damaged = 1;
      return;
    }
    uint32_t undefined[2], count = 0;
    uint64_t definitions = 0, records = batch->to - from + size;
    if (record->type != defined) count = find_undefined(drainer, batch, record, undefined, &definitions);
    uint32_t types = batch->types + count;
    if (batch->count > 0 && records > DRAIN_BLOCK_BYTES) return;
    if (types > sizeof batch->type / sizeof *batch->type) return;
    if (!fits(room, records, types, batch->definitions_bytes + definitions)) return;
    defined = record->type;
    memcpy(batch->type + batch->types, undefined, count * sizeof *undefined);
    batch->types = types;
    batch->definitions_bytes += definitions;
    if (record->ticks < batch->first_ticks) batch->first_ticks = record->ticks;
    if (record->ticks > batch->last_ticks) batch->last_ticks = record->ticks;
    batch->count++;
    batch->records = record_number(batch->records, record->index) + 1;
    batch->to += size;
  }
}

/* Appends a block of definitions for each type that the segment lacks. */
static int append_definitions(drainer *drainer, const uint32_t *types, uint32_t count) {
  intake *intake = drainer->intake;
  const uint8_t *region = intake->ring.bytes + intake->ring.header->types_at;
  uint8_t entries[MAX_DEFINITION_BYTES];
  for (uint32_t i = 0; i < count; i++) {
    type_entry *type = &intake->types.entries[types[i]];
    memcpy(entries, region + type->at, type->bytes);
    int error = segment_append_definitions(drainer->active, entries, type->bytes, drainer->next_offset,
                                           &drainer->clock.calibration);
    if (error != 0) return error;
    type->defined_in = drainer->segment_number;
  }
  return 0;
}

/* Publishes an appended block: the log's end first, then the lane's head, which frees the lane's bytes. */
static void publish(drainer *drainer, uint32_t events) {
  refresh_tick(drainer);
  drainer->next_offset += events;
  __atomic_store_n(&drainer->intake->ring.header->log_end, drainer->next_offset, __ATOMIC_RELEASE); /* K1 */
  __atomic_store_n(&drainer->sealer->next_offset, drainer->next_offset, __ATOMIC_RELEASE); /* D1, as `drained` */
  store(&drainer->counters.blocks, drainer->counters.blocks + 1);
  prefaulter_wake(drainer->prefaulter);
  preparer_want(drainer->preparer);
}

/* The lane's bytes up to `to` are in the log: producers may use them again. Also ends the claim. */
static void advance_head(lane *lane, uint64_t to) {
  INVARIANT(to >= lane->drained);
  __atomic_store_n(&lane->drained, to, __ATOMIC_RELEASE);        /* D1, after the block */
  __atomic_store_n(&lane->control->head, to, __ATOMIC_RELEASE); /* L4 */
}

/* Whether a page was lost, from which or to which the copy went: then the lane keeps its events. */
static int is_lost(drainer *drainer) {
  if (!detach_lost_page(drainer->intake)) return 0;
  set_storage(drainer, -MAPPING_LOST);
  return 1;
}

/* 0: stalled. */
static int append_records(drainer *drainer, lane *lane, const lane_view *view, const batch *batch) {
  uint64_t bytes = batch->to - batch->from;
  INVARIANT(batch->count > 0 && bytes <= segment_room(drainer->active));
  INVARIANT(bytes <= view->capacity + view->record_bytes && batch->from == lane->drained);
  const uint8_t *records = view->data + (batch->from & (view->capacity - 1));
  memcpy(segment_payload(drainer->active), records, bytes);
  if (drainer->can_flush_lines) lines_release(records, bytes);
  if (is_lost(drainer)) return 0;
  block_header header = {.kind = BLOCK_EVENTS,
                         .payload_bytes = (uint32_t)bytes,
                         .count = batch->count,
                         .base_offset = drainer->next_offset,
                         .lane = lane->number,
                         .lane_from = batch->from,
                         .lane_to = batch->to,
                         .first_ns = calibration_time(&drainer->clock.calibration, batch->first_ticks),
                         .last_ns = calibration_time(&drainer->clock.calibration, batch->last_ticks),
                         .calibration = drainer->clock.calibration};
  segment_append(drainer->active, &header);
  if (is_lost(drainer)) return 0;
  publish(drainer, batch->count);
  store(&drainer->counters.drained, drainer->counters.drained + batch->count);
  lane->records = batch->records;
  advance_head(lane, batch->to);
  return 1;
}

/* ---- Notices ----------------------------------------------------------------------------------------------------- */

/* Makes room for one notice and its definition. 0: stalled. */
static int prepare_notice(drainer *drainer, uint32_t type) {
  const segment *active = drainer->active;
  if (!active || active->sealed || !fits(segment_room(active), NOTICE_MAX_BYTES, 1, NOTICE_MAX_BYTES)) {
    if (!roll(drainer)) return 0;
  }
  if (drainer->intake->types.entries[type].defined_in == drainer->segment_number) return 1;
  int error = append_definitions(drainer, &type, 1);
  if (error != 0) set_storage(drainer, error);
  return error == 0;
}

/* Appends a block of `count` notices, `size` bytes together. */
static void append_notices(drainer *drainer, const uint8_t *records, uint64_t size, uint32_t count, uint32_t lane,
                           uint64_t from, uint64_t to, uint64_t ticks) {
  intake *intake = drainer->intake;
  memcpy(segment_payload(drainer->active), records, size);
  int64_t time = calibration_time(&drainer->clock.calibration, ticks);
  uint64_t before = lane < intake->lane_count ? intake->lanes[lane].records : 0;
  block_header header = {.kind = BLOCK_NOTICES,
                         .payload_bytes = (uint32_t)size,
                         .count = count,
                         .base_offset = drainer->next_offset,
                         .lane = lane,
                         .index = before == RECORDS_UNKNOWN ? INDEX_UNKNOWN : (uint32_t)before,
                         .lane_from = from,
                         .lane_to = to,
                         .first_ns = time,
                         .last_ns = time,
                         .calibration = drainer->clock.calibration};
  segment_append(drainer->active, &header);
  publish(drainer, count);
}

/* Notes the total that the log now reports as lost of a lane for a reason. */
static void note_reported(drainer *drainer, uint64_t *reported, int32_t reason, uint64_t total) {
  segment *active = drainer->active;
  uint64_t before = load(reported);
  active->summary.dropped[reason] += total - before;
  if (before == 0 && active->totals < segment_most_totals(active->capacity)) active->totals++;
  __atomic_store_n(reported, total, __ATOMIC_RELEASE); /* K1 */
}

/* Has damaged bytes copied aside by the sealer. */
static void keep_damaged(drainer *drainer, uint32_t lane, uint64_t from, uint64_t to) {
  damaged_lane damaged = {.view = ring_lane_view(drainer->intake, lane),
                          .opening = drainer->intake->producer.opening,
                          .lane = lane,
                          .from = from,
                          .to = to,
                          .first_offset = drainer->next_offset};
  sealer_quarantine(drainer->sealer, &damaged);
}

/*
 * Drains a damaged stretch of a lane as a hole. The hole's block has the lane's positions, as a block of events has, so
 * the hole is reported once.
 */
static int drain_hole(drainer *drainer, lane *lane, const lane_view *view, uint64_t from, uint64_t tail) {
  intake *intake = drainer->intake;
  uint64_t skipped, to = record_resync(view, from, tail, lane->records, &skipped);
  if (!prepare_notice(drainer, WEIR_TYPE_HOLE)) return 0;
  keep_damaged(drainer, lane->number, from, to);
  uint8_t record[NOTICE_MAX_BYTES];
  uint64_t ticks = weir_ticks(intake->ring.header->clock);
  uint64_t size = notice_hole(record, intake->producer.opening, drainer->next_offset, ticks, HOLE_DAMAGED,
                              lane->number, to - from, skipped);
  append_notices(drainer, record, size, 1, lane->number, from, to, ticks);
  store(&drainer->counters.damaged, drainer->counters.damaged + 1);
  if (skipped != RECORDS_UNKNOWN) drainer->active->summary.dropped[LOST_IN_HOLES] += skipped;
  lane->records = skipped == RECORDS_UNKNOWN ? RECORDS_UNKNOWN : lane->records + skipped;
  sealer_lose(drainer->sealer, lane, from, to);
  advance_head(lane, to);
  return 1;
}

/*
 * Appends a gap record for the losses by `reason` that the log does not report yet, and drains [from, to), which may be
 * empty. 0: stalled.
 */
static int append_gap(drainer *drainer, uint32_t lane, int32_t reason, uint64_t total, uint64_t *reported,
                      uint64_t from, uint64_t to) {
  intake *intake = drainer->intake;
  if (!prepare_notice(drainer, WEIR_TYPE_GAP)) return 0;
  uint8_t record[NOTICE_MAX_BYTES];
  uint64_t ticks = weir_ticks(intake->ring.header->clock), lost = total - load(reported);
  uint64_t size = notice_gap(record, intake->producer.opening, drainer->next_offset, ticks, lane, reason, lost, total);
  if (from < to) append_notices(drainer, record, size, 1, lane, from, to, ticks);
  else append_notices(drainer, record, size, 1, NOTICE_LANE, 0, 0, ticks);
  note_reported(drainer, reported, reason, total);
  return 1;
}

static int report_refusals(drainer *drainer, uint32_t lane, int32_t reason, uint64_t *dropped, uint64_t *reported) {
  uint64_t total = load(dropped);
  if (total <= load(reported)) return 1; /* below: after a power cut the ring may be older than the log */
  return append_gap(drainer, lane, reason, total, reported, 0, 0);
}

/*
 * Sampled-out events may be the most of all, so they are reported once a segment and at the close, not in each pass.
 * Until then the ring has their count, which a recovery reports.
 */
static int report_all_refusals(drainer *drainer) {
  intake *intake = drainer->intake;
  int sampled = drainer->sampled_due || __atomic_load_n(&drainer->stopping, __ATOMIC_ACQUIRE); /* E3 */
  uint32_t lanes = lanes_in_play(intake);
  for (uint32_t i = 0; i < lanes; i++) {
    lane_control *control = intake->lanes[i].control;
    for (int32_t reason = 1; reason < WEIR_DROP_REASONS; reason++) {
      if (reason == WEIR_LOST_OVERWRITTEN) continue; /* no refusal: see drain_evicted */
      if (reason == WEIR_DROP_SAMPLED && !sampled) continue;
      if (!report_refusals(drainer, i, reason, &control->dropped[reason - 1], &control->reported[reason - 1])) return 0;
    }
  }
  ring_header *header = intake->ring.header;
  for (int32_t reason = 1; reason < WEIR_DROP_REASONS; reason++) {
    uint64_t *dropped = &header->unlaned_dropped[reason], *reported = &header->unlaned_reported[reason];
    if (!report_refusals(drainer, NOTICE_LANE, reason, dropped, reported)) return 0;
  }
  if (sampled) drainer->sampled_due = 0;
  return 1;
}

/* ---- Lanes ------------------------------------------------------------------------------------------------------- */

static int has_unreported_eviction(const lane *lane) {
  const lane_control *control = lane->control;
  return eviction_total(control) > load(&control->reported[WEIR_LOST_OVERWRITTEN - 1]);
}

/*
 * Claims the events of a lane, so that none is evicted until advance_head or unclaim. Answers the position of the
 * first. Counts evictions that came before: their producer may have been stopped before it counted them. The head lies
 * in the ring, where a stray pointer may have hit it: between two claims only an eviction moves it, forward and not
 * past the tail. Any other head is replaced by the drainer's own position.
 */
static uint64_t claim(drainer *drainer, lane *lane) {
  lane_control *control = lane->control;
  uint64_t head = load(&control->head);
  /* L8 */
  while (!__atomic_compare_exchange_n(&control->head, &head, head | HEAD_CLAIMED, 0, __ATOMIC_ACQUIRE,
                                      __ATOMIC_RELAXED)) {
    continue;
  }
  eviction_settle(control, head);
  uint64_t position = head_position(head);
  if (position == lane->drained) return position;
  int moved = position > lane->drained && position <= __atomic_load_n(&control->tail, __ATOMIC_ACQUIRE); /* L2 */
  if (moved && has_unreported_eviction(lane)) return position;
  store(&drainer->counters.damaged, drainer->counters.damaged + 1);
  return lane->drained;
}

static void unclaim(lane *lane, uint64_t head) {
  __atomic_store_n(&lane->control->head, head, __ATOMIC_RELEASE); /* L8 */
}

/*
 * Reports the events that were evicted before `head`, by a gap record with their positions: so the log accounts for
 * every position of the lane, in order.
 */
static int drain_evicted(drainer *drainer, lane *lane, uint64_t head) {
  if (!has_unreported_eviction(lane)) return 1;
  uint64_t *reported = &lane->control->reported[WEIR_LOST_OVERWRITTEN - 1];
  uint64_t total = eviction_total(lane->control), lost = total - load(reported);
  if (!append_gap(drainer, lane->number, WEIR_LOST_OVERWRITTEN, total, reported, lane->drained, head)) return 0;
  sealer_lose(drainer->sealer, lane, lane->drained, head);
  if (lane->records != RECORDS_UNKNOWN) lane->records += lost;
  __atomic_store_n(&lane->drained, head, __ATOMIC_RELEASE); /* D1 */
  return 1;
}

/* Drains at most one block of what a claimed lane holds between `head` and `tail`. 0: stalled, the claim stands. */
static int drain_block(drainer *drainer, lane *lane, const lane_view *view, uint64_t head, uint64_t tail) {
  if ((!drainer->active || drainer->active->sealed) && !roll(drainer)) return 0;
  batch batch;
  collect(drainer, lane, view, head, tail, &batch);
  if (batch.count > 0) {
    int error = append_definitions(drainer, batch.type, batch.types);
    if (error != 0) {
      set_storage(drainer, error);
      return 0;
    }
    return append_records(drainer, lane, view, &batch);
  }
  if (batch.damaged) return drain_hole(drainer, lane, view, head, tail);
  /* The next record does not fit. If this segment is empty, the next one would not help: do not roll for ever. */
  if (drainer->active->summary.blocks > 0) return roll(drainer);
  set_storage(drainer, -EMSGSIZE);
  return 0;
}

static int drain_view(drainer *drainer, lane *lane, const lane_view *view, uint64_t tail) {
  for (;;) {
    uint64_t head = claim(drainer, lane);
    int going = drain_evicted(drainer, lane, head);
    /* Evictions have moved the head past this tail: leave, or their producer would keep the drainer at this lane. */
    if (!going || head >= tail) {
      unclaim(lane, head);
      return going;
    }
    if (!drain_block(drainer, lane, view, head, tail)) {
      unclaim(lane, head);
      return 0;
    }
    if (lane->drained >= tail) return 1;
  }
}

/* Drains one lane up to `tail`. 0: stalled. */
static int drain_lane(drainer *drainer, lane *lane, uint64_t tail) {
  lane_view view = ring_lane_view(drainer->intake, lane->number);
  int done = lane->drained == tail && load(&lane->control->head) == tail;
  if (done && !has_unreported_eviction(lane)) return 1;
  return drain_view(drainer, lane, &view, tail);
}

/* Whether the active segment's file can't be synced any more, and holds events. */
static int is_poisoned(const drainer *drainer) {
  const segment *active = drainer->active;
  if (!active || active->number > __atomic_load_n(&drainer->sealer->roll_wanted, __ATOMIC_ACQUIRE)) return 0; /* D6 */
  return drainer->next_offset > active->base_offset;
}

/* Whether somebody wants what the active segment holds to be sealed: weir_seal. */
static int is_seal_wanted(const drainer *drainer) {
  const segment *active = drainer->active;
  return active && active->base_offset < load(&drainer->seal_below) && drainer->next_offset > active->base_offset;
}

/*
 * Seals the active segment if weir_seal ordered that. 0: the next segment is not ready, and a later pass seals; the
 * lanes do not wait for that, and the active segment is filled further. If the disk has no room for another segment,
 * the order is dropped.
 */
static int seal_on_demand(drainer *drainer) {
  if (!is_seal_wanted(drainer) || roll(drainer)) return 1;
  drainer->stalled_for = UINT64_MAX;
  if (drainer->stall_error == 0) return 0;
  store(&drainer->seal_below, 0);
  set_storage(drainer, 0);
  return 1;
}

void drainer_set_goal(const drainer *drainer, drain_goal *goal) {
  const intake *intake = drainer->intake;
  goal->requested = __atomic_load_n(&intake->requests.made, __ATOMIC_ACQUIRE); /* D3 */
  goal->lanes = lanes_in_play(intake);
  for (uint32_t i = goal->lanes; i-- > 0;) {
    goal->tails[i] = __atomic_load_n(&intake->lanes[i].control->tail, __ATOMIC_ACQUIRE); /* L2 */
  }
}

/*
 * Notes the tails of the overflow lanes before any lane is drained, from the last lane down (overflow_lanes.c says
 * why). Returns the number of lanes in play.
 */
static uint32_t note_overflow(const intake *intake, uint64_t *tails) {
  uint32_t lanes = lanes_in_play(intake);
  for (uint32_t i = lanes; i-- > intake->first_overflow;) {
    tails[i] = __atomic_load_n(&intake->lanes[i].control->tail, __ATOMIC_ACQUIRE); /* L2 */
  }
  return lanes;
}

drain_result drainer_drain(drainer *drainer, const drain_goal *goal, uint64_t *moved) {
  intake *intake = drainer->intake;
  uint64_t before = 0, after = 0, overflow[WEIR_MAX_LANES];
  uint32_t lanes = goal ? goal->lanes : note_overflow(intake, overflow);
  drainer->stall_error = 0;
  drainer->stalled_for = UINT64_MAX;
  int complete = !is_lost(drainer) && (!is_poisoned(drainer) || roll(drainer)); /* the sealer copies what is left */
  int sealed = !complete || seal_on_demand(drainer);
  for (uint32_t i = 0; i < lanes && complete; i++) {
    lane *lane = &intake->lanes[i];
    uint64_t tail = goal                          ? goal->tails[i]
                    : i >= intake->first_overflow ? overflow[i]
                                                  : __atomic_load_n(&lane->control->tail, __ATOMIC_ACQUIRE); /* L2 */
    uint64_t drained = lane->drained;
    before += drained;
    complete = drain_lane(drainer, lane, tail);
    if (lane->drained - drained > drainer->most_moved) drainer->most_moved = lane->drained - drained;
    if (complete && lane_overflows(intake, lane) && tail > lane->passed) {
      __atomic_store_n(&lane->passed, tail, __ATOMIC_RELEASE); /* L12 */
    }
    after += lane->drained;
  }
  if (complete) complete = report_all_refusals(drainer) && sealed;
  *moved = after - before;
  return complete ? DRAIN_COMPLETE : DRAIN_STALLED;
}

/* ---- The thread -------------------------------------------------------------------------------------------------- */

enum {
  BUSY_BYTES = 64 << 10,     /* a pass that moved this much is followed by the next one at once */
  IDLE_PASSES = 8,           /* passes without work before the deep sleep */
  STALLED_PAUSE_NS = 10000000,
  UNREADY_PAUSE_NS = 100000, /* the next segment is being prepared */
};

static int anything_to_do(const drainer *drainer) {
  const intake *intake = drainer->intake;
  uint32_t lanes = lanes_in_play(intake);
  for (uint32_t i = 0; i < lanes; i++) {
    const lane_control *control = intake->lanes[i].control;
    if (__atomic_load_n(&control->tail, __ATOMIC_ACQUIRE) > head_position(load(&control->head))) return 1; /* L6 */
  }
  return is_poisoned(drainer) || is_seal_wanted(drainer) ||          /* D6, E4 */
         __atomic_load_n(&drainer->stopping, __ATOMIC_ACQUIRE) ||    /* E3 */
         __atomic_load_n(&intake->refused, __ATOMIC_ACQUIRE) ||      /* E2 */
         __atomic_load_n(&intake->requests.made, __ATOMIC_ACQUIRE) != load(&intake->requests.done); /* D3 */
}

enum {
  SHORT_NAP_NS = 1000000,
  LEAST_NAP_NS = 500000, /* to which naps become shorter while much comes */
};

/* Sleeps for a while, or until the bell rings. A tick that would be older than a short nap is taken back. */
static void nap(drainer *drainer, uint32_t bell, uint64_t ns) {
  intake *intake = drainer->intake;
  if (ns > SHORT_NAP_NS) store(&intake->producer.tick, 0);
  sys_futex_wait(&intake->bell, bell, ns);
}

static int any_lane_half_full(const drainer *drainer) {
  const intake *intake = drainer->intake;
  const lane_view view = ring_lane_view(intake, 0);
  uint64_t half = lane_half(&view);
  uint32_t lanes = lanes_in_play(intake);
  for (uint32_t i = 0; i < lanes; i++) {
    const lane_control *control = intake->lanes[i].control;
    uint64_t head = head_position(load(&control->head));
    if (load(&control->tail) - head > half) return 1; /* L6 */
  }
  return 0;
}

/*
 * Half the drain interval, so that a pass that is late still ends within it. The sealer syncs half the sync interval
 * after a pass: of the other half, one half is for the nap, and one for what is late, and for the sync.
 */
static uint64_t most_nap_ns(const drainer *drainer) {
  const weir_options *options = drainer->intake->options;
  uint64_t ns = options->drain_interval_ns / 2, sync_ns = options->sync_interval_ns;
  return sync_ns != 0 && sync_ns / 4 < ns ? sync_ns / 4 : ns;
}

/* Less than the most while lanes fill up in that time. */
static uint64_t nap_ns(const drainer *drainer) {
  uint64_t most = most_nap_ns(drainer), ns = most >> drainer->shorter;
  if (ns >= LEAST_NAP_NS) return ns;
  return most < LEAST_NAP_NS ? most : (uint64_t)LEAST_NAP_NS;
}

/*
 * Halves the naps if more than half a lane came during the last nap, because a producer whose lane gets half full has
 * to ring, which costs 10 to 20 us. Doubles them if an eighth came at most, in a nap that nobody ended.
 */
static void pace_naps(drainer *drainer, int rung) {
  const lane_view view = ring_lane_view(drainer->intake, 0);
  uint64_t half = lane_half(&view), moved = drainer->most_moved;
  drainer->most_moved = 0;
  if (moved > half && nap_ns(drainer) > LEAST_NAP_NS) drainer->shorter++;
  else if (moved <= half / 4 && !rung && drainer->shorter > 0) drainer->shorter--;
}

/*
 * Gives producers time to fill a block. A producer whose lane gets half full ends a nap that it sees; one that got
 * there during the last pass saw none. Before a short nap that is let be: the next pass is soon enough, and a look at a
 * tail takes its cache line from its producer. While events flow, a tick is refreshed after a short nap.
 */
static void wait_for_interval(drainer *drainer, uint32_t bell, int flows) {
  intake *intake = drainer->intake;
  uint64_t ns = nap_ns(drainer);
  if (flows && intake->ring.header->clock == WEIR_CLOCK_TICK && ns > SHORT_NAP_NS) ns = SHORT_NAP_NS;
  __atomic_store_n(&intake->napping, 1, __ATOMIC_SEQ_CST); /* L6 */
  if (ns > SHORT_NAP_NS && __atomic_load_n(&intake->membarrier, __ATOMIC_RELAXED)) sys_membarrier();
  if (ns <= SHORT_NAP_NS || !any_lane_half_full(drainer)) nap(drainer, bell, ns);
  __atomic_store_n(&intake->napping, 0, __ATOMIC_RELAXED);
}

/* Sleeps until a producer or a caller rings the bell. */
static void sleep_deep(drainer *drainer) {
  intake *intake = drainer->intake;
  store(&intake->producer.tick, 0);
  uint32_t bell = __atomic_load_n(&intake->bell, __ATOMIC_ACQUIRE); /* E4 */
  __atomic_store_n(&intake->producer.asleep, 1, __ATOMIC_SEQ_CST); /* L6 */
  int ordered = __atomic_load_n(&intake->membarrier, __ATOMIC_RELAXED) && sys_membarrier() == 0;
  /* Where the kernel has no membarrier a commit may be missed: then the sleep has an end. */
  if (!anything_to_do(drainer)) sys_futex_wait(&intake->bell, bell, ordered ? UINT64_MAX : 50000000);
  __atomic_store_n(&intake->producer.asleep, 0, __ATOMIC_RELAXED);
}

static void finish_requests(drainer *drainer, uint64_t requested) {
  intake *intake = drainer->intake;
  pthread_mutex_lock(&intake->callers.lock);
  __atomic_store_n(&intake->requests.done, requested, __ATOMIC_RELEASE); /* D4 */
  pthread_cond_broadcast(&intake->callers.settled);
  pthread_mutex_unlock(&intake->callers.lock);
  sealer_drained(drainer->sealer);
}

/*
 * Fails the requests that were made before the failed try began; the storage status has the reason. Later requests wait
 * for the next pass: the disk may have been mended before they were made.
 */
static void fail_requests(drainer *drainer, uint64_t requested) {
  intake *intake = drainer->intake;
  if (requested > drainer->stalled_for) requested = drainer->stalled_for;
  if (requested <= load(&intake->requests.failed)) return;
  pthread_mutex_lock(&intake->callers.lock);
  __atomic_store_n(&intake->requests.failed, requested, __ATOMIC_RELEASE); /* D5 */
  pthread_cond_broadcast(&intake->callers.settled);
  pthread_mutex_unlock(&intake->callers.lock);
  sealer_drained(drainer->sealer);
}

/* Calls a function of the host's, if there is one. */
static void call_host(drainer *drainer, const host_call *host) {
  if (!__atomic_load_n(&host->call, __ATOMIC_RELAXED)) return;
  pthread_mutex_lock(&drainer->host_lock);
  lane_begin_host_call();
  if (host->call) host->call(host->context);
  lane_end_host_call();
  pthread_mutex_unlock(&drainer->host_lock);
}

/* Reports to the host that captures were refused, if any were since the last report. */
static void report_refused(drainer *drainer) {
  intake *intake = drainer->intake;
  if (!__atomic_load_n(&intake->refused, __ATOMIC_RELAXED)) return;
  /* What is counted from here on is reported the next time. */
  __atomic_exchange_n(&intake->refused, 0, __ATOMIC_ACQUIRE); /* E2 */
  call_host(drainer, &drainer->on_refused);
}

drain_result drainer_pass(drainer *drainer, const drain_goal *goal, uint64_t *moved) {
  intake *intake = drainer->intake;
  uint64_t requested = goal ? goal->requested : __atomic_load_n(&intake->requests.made, __ATOMIC_ACQUIRE); /* D3 */
  uint64_t end = drainer->next_offset;
  drain_result result = drainer_drain(drainer, goal, moved);
  if (*moved > 0 || drainer->next_offset != end) {
    sealer_expect(drainer->sealer);
    call_host(drainer, &drainer->on_drained);
  }
  report_refused(drainer);
  if (result == DRAIN_COMPLETE) {
    /* Whatever it was, everything is in the log. */
    if (__atomic_load_n(&intake->storage, __ATOMIC_RELAXED) != WEIR_OK) set_storage(drainer, 0);
    if (requested != load(&intake->requests.done)) finish_requests(drainer, requested);
  } else if (drainer->stall_error != 0) {
    fail_requests(drainer, requested);
  }
  return result;
}

void drainer_wake(drainer *drainer) {
  store(&drainer->counters.wakeups, drainer->counters.wakeups + 1);
  if (sys_monotonic_ns() >= drainer->clock.measure_at) clock_calibrate(&drainer->clock, drainer->intake->ring.header);
  refresh_tick(drainer);
}

static void *drain_main(void *argument) {
  drainer *drainer = (struct drainer *)argument;
  intake *intake = drainer->intake;
  drainer->can_flush_lines = lines_can_be_released();
  uint32_t idle = 0, bell_before = 0; /* of the last nap */
  for (;;) {
    drainer_wake(drainer);
    uint32_t bell = __atomic_load_n(&intake->bell, __ATOMIC_ACQUIRE); /* E4 */
    int stopping = (int)__atomic_load_n(&drainer->stopping, __ATOMIC_ACQUIRE); /* E3 */
    uint64_t moved;
    if (drainer_pass(drainer, NULL, &moved) != DRAIN_COMPLETE) {
      int failed = drainer->stall_error != 0;
      if (stopping && failed) return NULL; /* what is left stays in the ring */
      nap(drainer, bell, failed ? STALLED_PAUSE_NS : UNREADY_PAUSE_NS);
      continue;
    }
    if (stopping) return NULL;
    idle = moved > 0 ? 0 : idle + 1;
    if (moved >= BUSY_BYTES) continue;
    pace_naps(drainer, bell != bell_before);
    bell_before = bell;
    if (idle >= IDLE_PASSES) sleep_deep(drainer);
    else wait_for_interval(drainer, bell, moved > 0);
  }
}

void drainer_make(drainer *drainer, sealer *sealer, preparer *preparer, prefaulter *prefaulter) {
  drainer->intake = sealer->intake;
  drainer->sealer = sealer;
  drainer->preparer = preparer;
  drainer->prefaulter = prefaulter;
  pthread_mutex_init(&drainer->host_lock, NULL);
}

void drainer_free(drainer *drainer) { pthread_mutex_destroy(&drainer->host_lock); }

int drainer_start(drainer *drainer) {
  if (drainer->intake->options->threadless) return 0;
  int error = thread_start(&drainer->thread, drain_main, drainer, "weir-drain");
  drainer->runs = error == 0;
  return error;
}

void drainer_stop(drainer *drainer) {
  __atomic_store_n(&drainer->stopping, 1, __ATOMIC_RELEASE); /* E3 */
  if (!drainer->runs) return;
  bell_ring(drainer->intake);
  pthread_join(drainer->thread, NULL);
}

void drainer_end(drainer *drainer) {
  const segment *active = drainer->active;
  if (!active || active->summary.blocks == 0 || detach_lost_page(drainer->intake)) return;
  seal_active(drainer);
  change(drainer, NULL);
}

void drainer_abandon(drainer *drainer) {
  segment *active = drainer->active;
  drainer->active = NULL;
  if (!active) return;
  if (active->summary.blocks == 0) byte_limit_give(drainer->intake->retention, segment_discard(active));
  else segment_abandon(active);
}
