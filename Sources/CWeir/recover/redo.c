/*
 * redo.c: see redo.h.
 *
 * What redo keeps true: a block is appended before the segment is sealed, and the ring says how far the segment goes
 * before its seal does. So after a kill at any instruction either the blocks of an unsealed segment say how far each
 * lane was drained, or the heads do.
 */
#include "recover/redo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "directory/quarantine.h"
#include "format/calibration.h"
#include "limits/byte_limit.h"
#include "limits/claim.h"
#include "seal/finish.h"
#include "system/error.h"
#include "system/invariant.h"
#include "system/sigbus.h"
#include "system/system.h"

enum { NO_DIRECTORY = -1 }; /* a ring that is held is not looked for again */

/* ---- The ring ---------------------------------------------------------------------------------------------------- */

/*
 * Stores how far the log accounts for each lane, and where its offsets end. The words of a lane are one page, so a kill
 * leaves the old ones or the new ones.
 */
static int note_in_ring(redo *redo) {
  orphan *ring = redo->ring;
  const ring_header *header = &ring->header;
  if (ring->rebooted || ring->empty) return 0; /* only the log counts, and each attempt begins with the same ring */
  int error = 0;
  for (uint32_t i = 0; i < header->lane_count && error == 0; i++) {
    lane_control *control = &ring->controls[i], before = *control;
    evicted evicted = drained_evicted(control);
    uint64_t drained = redo->drained[i].position;
    control->head = drained > ring->from[i] ? drained : ring->from[i];
    control->tail = ring->to[i];
    control->evicted_to = evicted.to;
    control->evicted_total = evicted.total;
    if (memcmp(control, &before, sizeof before) == 0) continue;
    error = sys_write_at(ring->fd, control, sizeof *control, header->lanes_at + i * header->lane_stride);
  }
  const uint64_t end = redo->next_offset;
  return error == 0 ? sys_write_at(ring->fd, &end, sizeof end, offsetof(ring_header, log_end)) : error;
}

int redo_begin(redo *redo) {
  orphan *ring = redo->ring;
  const drained *drained = &ring->drained;
  redo->next_offset = ring->next_offset;
  /* Segments just large enough, because the disk may be full; but any record of this ring fits into each. */
  uint64_t bytes = LEAST_RECOVERED_BYTES(ring->header.record_bytes) + 2 * ring->header.types_bytes;
  for (uint32_t i = 0; i < ring->header.lane_count; i++) {
    int error = orphan_settle(ring, NO_DIRECTORY, i);
    if (error != 0) return error;
    redo->drained[i] = (lane_mark){drained_accounted(drained, i, ring->from[i]), drained_records(drained, i)};
    uint64_t left = ring->to[i] - ring->from[i];
    bytes += left < ring->header.lane_bytes ? left : ring->header.lane_bytes;
  }
  bytes = byte_limit_round(bytes, LEAST_BLOCK_BYTES);
  redo->segment_bytes = LEAST_RECOVERED_BYTES(ring->header.record_bytes);
  const weir_options *options = redo->site->options;
  if (redo->segment_bytes < options->segment_bytes) redo->segment_bytes = options->segment_bytes;
  if (redo->segment_bytes > bytes) redo->segment_bytes = bytes;
  for (int32_t reason = 1; reason < WEIR_DROP_REASONS; reason++) {
    for (uint32_t i = 0; i < ring->header.lane_count; i++) {
      redo->reported[i][reason] = drained_reported(drained, i, reason, ring->controls[i].reported[reason - 1]);
    }
    redo->reported[WEIR_MAX_LANES][reason] =
        drained_reported(drained, WEIR_MAX_LANES, reason, ring->header.unlaned_reported[reason]);
  }
  return note_in_ring(redo);
}

/* ---- Segments ---------------------------------------------------------------------------------------------------- */

/* Collects the totals that gap records report, at most `most`. Null: only counts them. */
static uint32_t collect_totals(const redo *redo, gap_total *totals, uint32_t most) {
  uint32_t count = 0;
  for (uint32_t row = 0; row <= WEIR_MAX_LANES; row++) {
    for (uint32_t reason = 1; reason < WEIR_DROP_REASONS && count < most; reason++) {
      uint64_t total = redo->reported[row][reason];
      if (total == 0) continue;
      uint32_t lane = row < WEIR_MAX_LANES ? row : (uint32_t)NOTICE_LANE;
      if (totals) totals[count] = (gap_total){lane, reason, total};
      count++;
    }
  }
  return count;
}

static int begin_segment(redo *redo) {
  const recovery_site *site = redo->site;
  const ring_header *header = &redo->ring->header;
  int error = claim_bytes(site->retention, redo->segment_bytes, 1);
  if (error != 0) return error;
  uint64_t number = __atomic_fetch_add(site->next_prepared, 1, __ATOMIC_RELAXED);
  segment *made = segment_prepare(site->held->directory, number, redo->segment_bytes, &error);
  if (!made) {
    byte_limit_give(site->retention, redo->segment_bytes);
    return error;
  }
  made->taken = redo->segment_bytes;
  sigbus_watch(made->map, made->capacity, sigbus_note, redo->page_lost);
  const segment_origin origin = {site->held->log_id, header->opening, header->boot_id};
  uint32_t flags = SEGMENT_RECOVERED | (redo->ring->rebooted ? SEGMENT_AFTER_CUT : 0);
  error = segment_begin(made, &origin, redo->next_offset, &redo->previous, redo->drained, header->lane_count, flags);
  if (error != 0) {
    byte_limit_give(site->retention, segment_discard(made));
    return error;
  }
  made->totals = collect_totals(redo, NULL, segment_most_totals(made->capacity));
  redo->active = made;
  redo->before = *redo->found;
  redo->segments++;
  return 0;
}

/* Appends the block that is being filled. */
static int end_block(redo *redo) {
  block_header *block = &redo->block;
  if (block->count == 0) return 0;
  block->first_ns = calibration_time(&redo->ring->calibration, redo->first_ticks);
  block->last_ns = calibration_time(&redo->ring->calibration, redo->last_ticks);
  block->calibration = redo->ring->calibration;
  segment_append(redo->active, block);
  *block = (block_header){0};
  return __atomic_load_n(redo->page_lost, __ATOMIC_ACQUIRE) ? -MAPPING_LOST : 0; /* G2 */
}

/* Seals the active segment and brings it to the disk. */
static int end_segment(redo *redo) {
  int error = end_block(redo);
  if (error == 0) error = note_in_ring(redo);
  if (error == 0) error = unreported_store(redo->site->held, redo->found, redo->next_offset);
  if (error != 0) return error;
  segment *full = redo->active;
  gap_total *totals = (gap_total *)malloc(full->totals * sizeof *totals + 1);
  if (!totals) return -ENOMEM;
  uint32_t count = collect_totals(redo, totals, full->totals);
  segment_seal(full, redo->next_offset, totals, count, &redo->ring->calibration);
  free(totals);
  redo->previous = (segment_end){.salt = full->salt, .end = full->at, .base = full->base_offset};
  redo->active = NULL;
  const finisher finisher = {.retention = redo->site->retention,
                             .next_prepared = redo->site->next_prepared,
                             .sync_failed = redo->sync_failed};
  finished finished = finish_segments(&finisher, full);
  error = finished.error;
  if (!finished.failed) return error;
  /* What the disk has lost of it is in the ring still. The next opening gives the same offsets to the same events. */
  if (finished.failed->lost > 0) {
    redo->next_offset = finished.failed->lost_from;
    note_in_ring(redo);
    *redo->found = redo->before;
    redo->found->magic = RECOVERY_MAGIC; /* the file is there, and says too much */
    unreported_store(redo->site->held, redo->found, 0);
  }
  segment_abandon(finished.failed);
  return error;
}

/* Which of two numbers the active segment does not define yet; answers how many, and their bytes together. */
static uint32_t find_undefined(const redo *redo, const uint32_t needed[2], uint32_t found[2], uint64_t *bytes) {
  uint32_t count = 0;
  *bytes = 0;
  for (int i = 0; i < 2; i++) {
    const definition_header *entry = orphan_types_find(redo->types, needed[i]);
    if (!entry || redo->defined_in[needed[i]] == redo->segments) continue; /* lost with its page, or there already */
    found[count++] = needed[i];
    *bytes += entry->bytes;
  }
  return count;
}

/*
 * Whether so many bytes fit behind the block that is being filled, and before them `definitions` blocks of `bytes`
 * together. Definitions end that block, so that what follows has a block of its own; the seal has each definition once
 * more. segment_room leaves room for one block header and the seal.
 */
static int fits(const redo *redo, uint64_t more, uint32_t definitions, uint64_t bytes) {
  uint32_t headers = definitions + (definitions > 0 && redo->block.count > 0);
  return redo->block.payload_bytes + more + headers * sizeof(block_header) + 2 * bytes <= segment_room(redo->active);
}

/*
 * Makes room for so many bytes behind the block that is being filled, and defines the two numbers. If that needs
 * another segment, or a definition, the block is appended as it is.
 */
static int make_room(redo *redo, uint64_t bytes, const uint32_t needed[2]) {
  uint32_t undefined[2], count = 0;
  uint64_t definitions = 0;
  for (int fresh = 0;; fresh = 1) {
    int error = redo->active ? 0 : begin_segment(redo);
    if (error != 0) return error;
    count = find_undefined(redo, needed, undefined, &definitions);
    if (fits(redo, bytes, count, definitions)) break;
    if (fresh) return -EMSGSIZE; /* no record of any ring is: see LEAST_RECOVERED_BYTES */
    error = end_segment(redo);
    if (error != 0) return error;
  }
  int error = count > 0 ? end_block(redo) : 0;
  for (uint32_t i = 0; i < count && error == 0; i++) {
    const definition_header *entry = orphan_types_find(redo->types, undefined[i]);
    error = segment_append_definitions(redo->active, (const uint8_t *)entry, entry->bytes, redo->next_offset,
                                       &redo->ring->calibration);
    redo->defined_in[undefined[i]] = redo->segments;
  }
  return error;
}

/* ---- Items ------------------------------------------------------------------------------------------------------- */

/* Adds a record to the block that is being filled, if it goes on there; else begins a block with it. */
static int write_record(redo *redo, const orphan_item *item) {
  block_header *block = &redo->block;
  const record_header *record = item->record;
  const uint32_t needed[2] = {record_type(record->type), record_context(record->type)};
  uint64_t bytes = item->to.position - item->from.position;
  int goes_on = block->count > 0 && block->lane == item->lane && block->lane_to == item->from.position &&
                block->payload_bytes + bytes <= DRAIN_BLOCK_BYTES;
  int error = goes_on ? 0 : end_block(redo);
  if (error == 0) error = make_room(redo, bytes, needed);
  if (error != 0) return error;
  if (block->count == 0) {
    *block = (block_header){.kind = BLOCK_EVENTS,
                            .base_offset = item->offset,
                            .lane = item->lane,
                            .lane_from = item->from.position};
    redo->first_ticks = redo->last_ticks = record->ticks;
  }
  memcpy(segment_payload(redo->active) + block->payload_bytes, record, bytes);
  if (record->ticks < redo->first_ticks) redo->first_ticks = record->ticks;
  if (record->ticks > redo->last_ticks) redo->last_ticks = record->ticks;
  block->payload_bytes += (uint32_t)bytes;
  block->lane_to = item->to.position;
  block->count++;
  redo->events++;
  return 0;
}

/* Copies the bytes of a hole to quarantine/, before they are passed over. */
static int keep_damaged(redo *redo, const orphan_item *item) {
  const damaged_lane damaged = {.view = redo->ring->view,
                                .opening = redo->ring->header.opening,
                                .lane = item->lane,
                                .from = item->from.position,
                                .to = item->to.position,
                                .first_offset = item->offset};
  int result = quarantine_lane(redo->site->held->directory, &damaged);
  if (result == QUARANTINE_FULL && item->offset >= redo->counted_to) {
    redo->found->unkept_bytes += damaged.to - damaged.from;
  }
  return result < 0 ? result : 0;
}

/* Counts what a notice says, in the active segment's seal and for the report. */
static void count_notice(redo *redo, const orphan_item *item) {
  segment *active = redo->active;
  if (item->kind == ORPHAN_GAP) {
    uint32_t row = item->lane < WEIR_MAX_LANES ? item->lane : (uint32_t)WEIR_MAX_LANES;
    uint64_t *reported = &redo->reported[row][item->reason];
    if (*reported == 0 && active->totals < segment_most_totals(active->capacity)) active->totals++;
    *reported += item->dropped;
    redo->dropped[item->reason] += item->dropped;
    active->summary.dropped[item->reason] += item->dropped;
  } else if (item->kind == ORPHAN_HOLE) {
    uint64_t missing = item->dropped == RECORDS_UNKNOWN ? 0 : item->dropped;
    active->summary.dropped[LOST_IN_HOLES] += missing;
    if (item->offset < redo->counted_to) return;
    redo->found->missing_events += missing;
    redo->found->damaged_records += !redo->ring->rebooted;
  }
}

/*
 * Writes a notice as a block of its own. A joined gap is kept back for the block of the notice that follows, so that no
 * segment has the one without the other.
 */
static int write_notice(redo *redo, const orphan_item *item) {
  static const uint32_t needed[2] = {WEIR_TYPE_GAP, WEIR_TYPE_HOLE};
  block_header *block = &redo->block;
  int joins = block->kind == BLOCK_NOTICES; /* the one before was kept back */
  int error = joins ? 0 : end_block(redo);
  if (error == 0 && item->kind == ORPHAN_HOLE && !redo->ring->rebooted) error = keep_damaged(redo, item);
  if (error == 0 && !joins) error = make_room(redo, 2 * NOTICE_MAX_BYTES, needed); /* a joined gap and its hole */
  if (error != 0) return error;
  uint64_t bytes = record_size(item->record->length);
  if (!joins) {
    *block = (block_header){.kind = BLOCK_NOTICES, .base_offset = item->offset, .lane = NOTICE_LANE};
    if (item->joined || item->to.position > item->from.position) {
      block->index = item->from.records == RECORDS_UNKNOWN ? INDEX_UNKNOWN : (uint32_t)item->from.records;
    }
    redo->first_ticks = redo->last_ticks = item->record->ticks;
  }
  memcpy(segment_payload(redo->active) + block->payload_bytes, item->record, bytes);
  block->payload_bytes += (uint32_t)bytes;
  block->count++;
  if (item->to.position > item->from.position) {
    block->lane = item->lane;
    block->lane_from = item->from.position;
    block->lane_to = item->to.position;
  }
  count_notice(redo, item);
  return 0;
}

static int write_item(redo *redo, const orphan_item *item) {
  INVARIANT(item->offset == redo->next_offset);
  int error = item->kind == ORPHAN_RECORD ? write_record(redo, item) : write_notice(redo, item);
  if (error != 0) return error;
  redo->next_offset = item->offset + 1;
  int of_lane = item->lane < redo->ring->header.lane_count;
  int is_refusal = item->kind == ORPHAN_GAP && item->reason != WEIR_LOST_OVERWRITTEN;
  if (of_lane && !is_refusal) redo->drained[item->lane] = item->to;
  return item->kind == ORPHAN_RECORD || item->joined ? 0 : end_block(redo);
}

int redo_run(redo *redo, const segment_end *previous) {
  orphan *ring = redo->ring;
  redo->previous = *previous;
  redo->next_offset = ring->next_offset;
  orphan_item item;
  int result;
  while ((result = orphan_next(ring, NO_DIRECTORY, &item)) == 1) {
    int error = write_item(redo, &item);
    if (error != 0) return error;
  }
  if (result == 0 && redo->active) result = end_segment(redo);
  redo->complete = result == 0;
  return result;
}

void redo_free(redo *redo) {
  if (!redo->active) return;
  if (redo->active->summary.blocks > 0) segment_abandon(redo->active);
  else byte_limit_give(redo->site->retention, segment_discard(redo->active));
}
