/*
 * stat.c: weir_stat_directory. Sums up a directory from the seals of sealed segments, the blocks of others, and the
 * ring. Writes nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "directory/directory.h"
#include "directory/log_start.h"
#include "directory/segment_list.h"
#include "directory/sizes.h"
#include "format/calibration.h"
#include "format/notice.h"
#include "replay/orphan.h"
#include "segment/identity.h"
#include "system/crc32c.h"
#include "system/error.h"
#include "system/system.h"

typedef struct summing {
  int directory;
  uint64_t log_id;
  const char *path;
  weir_stat *stat;
  uint64_t timed; /* events whose times are in the stat */
  /* Of a live log: the ring's opening, and how many sampled-out events of each lane (last: of none) the log reports. */
  uint64_t opening;
  uint64_t reported[WEIR_MAX_LANES + 1];
} summing;

static void take_times(summing *summing, uint64_t events, int64_t first, int64_t last) {
  weir_stat *stat = summing->stat;
  if (events == 0) return;
  if (summing->timed == 0 || first < stat->first_time_ns) stat->first_time_ns = first;
  if (summing->timed == 0 || last > stat->last_time_ns) stat->last_time_ns = last;
  summing->timed += events;
}

static void reach(weir_stat *stat, uint64_t next_offset) {
  if (stat->next_offset < next_offset) stat->next_offset = next_offset;
}

/* Takes the total of a lane of the live ring from a gap record or a seal. */
static void take_reported(summing *summing, uint64_t opening, uint32_t lane, uint32_t reason, uint64_t total) {
  if (!summing->stat->live || opening != summing->opening || reason != WEIR_DROP_SAMPLED) return;
  uint64_t *reported = &summing->reported[lane < WEIR_MAX_LANES ? lane : (uint32_t)WEIR_MAX_LANES];
  if (total > *reported) *reported = total;
}

/* ---- Segments ---------------------------------------------------------------------------------------------------- */

static void take_seal(summing *summing, const segment_scan *scan) {
  weir_stat *stat = summing->stat;
  const seal_summary *seal = scan_summary(scan);
  const gap_total *totals = scan_seal_totals(scan);
  for (uint32_t i = 0; i < seal->totals; i++) {
    take_reported(summing, scan->block.opening, totals[i].lane, totals[i].reason, totals[i].total);
  }
  stat->events += seal->events;
  stat->notices += seal->notices;
  for (int reason = 1; reason < WEIR_DROP_REASONS; reason++) stat->dropped[reason] += seal->dropped[reason];
  take_times(summing, seal->events, seal->first_ns, seal->last_ns);
  reach(stat, seal->next_offset);
}

static void take_block(summing *summing, const segment_scan *scan) {
  const block_header *block = &scan->block;
  weir_stat *stat = summing->stat;
  reach(stat, block->base_offset + block->count);
  if (block->kind == BLOCK_EVENTS) {
    stat->events += block->count;
    take_times(summing, block->count, block->first_ns, block->last_ns);
  }
  if (block->kind != BLOCK_NOTICES) return;
  stat->notices += block->count;
  uint64_t at = 0;
  for (uint32_t i = 0; i < block->count; i++) {
    record_header record;
    memcpy(&record, scan->payload + at, sizeof record);
    uint32_t lane;
    int32_t reason;
    uint64_t dropped, total;
    if (record.type == WEIR_TYPE_GAP && notice_read_gap(scan->payload + at + sizeof record, record.length, &lane,
                                                        &reason, &total, &dropped)) {
      stat->dropped[reason] += dropped;
      take_reported(summing, block->opening, lane, (uint32_t)reason, total);
    }
    at += record_size(record.length);
  }
}

/* A bad block at the end of a live writer's last segment is being written: no damage. */
static int take_blocks(summing *summing, segment_scan *scan, int resync) {
  for (;;) {
    scan_damage damage;
    switch (scan_next(scan, resync, &damage)) {
      case SCAN_BLOCK:
        take_block(summing, scan);
        break;
      case SCAN_DAMAGE:
        summing->stat->damaged = 1;
        break;
      case SCAN_TAIL:
        if (damage.reason || !scan->active) summing->stat->damaged = 1;
        return 0;
      case SCAN_ERROR:
        return damage.error;
      case SCAN_SEALED:
        return 0;
    }
  }
}

static int take_segment(summing *summing, segment_name *name, int last) {
  weir_stat *stat = summing->stat;
  segment_scan scan;
  scan_damage damage;
  int error = scan_open_named(&scan, summing->directory, summing->log_id, name, &damage);
  if (error == -ELOOP) {
    stat->damaged = 1;
    return 0;
  }
  if (error != 0) return error;
  if (damage.reason && damage.to > 0) stat->damaged = 1;
  if (scan.header.salt != 0) {
    if (stat->segments++ == 0) stat->first_offset = scan.header.base_offset;
    stat->segment_bytes += scan.disk_bytes;
    reach(stat, scan.header.base_offset);
    if (scan_seal(&scan) == 0) take_seal(summing, &scan);
    else error = take_blocks(summing, &scan, !(stat->live && last && name->active));
  }
  scan_close(&scan);
  return error;
}

/* A live writer seals and renames segments meanwhile: a file that is gone has its other name. */
static int take_named(summing *summing, segment_name *name, int last) {
  int error = take_segment(summing, name, last);
  if (error != -ENOENT || !name->active) return error == -ENOENT ? 0 : error;
  name->active = 0;
  segment_list_raw_name(name->name, name->base, 0);
  error = take_segment(summing, name, 0);
  return error == -ENOENT ? 0 : error;
}

/* ---- Retention --------------------------------------------------------------------------------------------------- */

/* Takes what was removed; `*first`: where the log begins since. */
static int take_start(summing *summing, uint64_t *first) {
  log_start_slot start;
  weir_stat *stat = summing->stat;
  int found = log_start_read(summing->directory, summing->log_id, &start);
  *first = start.first_offset;
  if (log_start_problem(found)) {
    stat->damaged = 1;
    *first = 0;
    return 0;
  }
  if (found < 0) return found;
  stat->removed = start.events;
  for (int reason = 1; reason < WEIR_DROP_REASONS; reason++) {
    stat->dropped[reason] += start.dropped[reason] + start.lost[reason];
  }
  stat->first_offset = start.first_offset;
  reach(stat, start.first_offset);
  return 0;
}

/* ---- The ring ---------------------------------------------------------------------------------------------------- */

static void take_lanes(weir_stat *stat, const ring_header *header) {
  stat->lanes = header->lane_count - header->overflow_lanes;
  stat->lane_kib = (uint32_t)(header->lane_bytes >> 10);
}

static int take_orphan(summing *summing, orphan *ring) {
  weir_stat *stat = summing->stat;
  uint8_t in_use[WEIR_MAX_LANES] = {0};
  orphan_item item;
  int result;
  take_lanes(stat, &ring->header);
  if (stat->segments == 0) stat->first_offset = ring->start_offset;
  while ((result = orphan_next(ring, summing->directory, &item)) == 1) {
    if (item.kind == ORPHAN_GAP) {
      stat->dropped[item.reason] += item.dropped;
      continue;
    }
    if (item.kind == ORPHAN_TAIL) continue;
    in_use[item.lane] = 1;
    stat->lane_bytes += item.to.position - item.from.position;
    if (item.kind == ORPHAN_HOLE) {
      stat->damaged = 1;
      continue;
    }
    int64_t time = calibration_time(&ring->calibration, item.record->ticks);
    stat->lane_events++;
    take_times(summing, 1, time, time);
  }
  for (uint32_t i = 0; i < WEIR_MAX_LANES; i++) stat->lanes_in_use += in_use[i];
  reach(stat, ring->next_offset);
  return result;
}

/*
 * A live writer reports sampled-out events once a segment; the ring has the rest. Before the segments are read, this
 * notes the ring's opening and the totals that it says are reported: the segments have at least these. So events that
 * are reported meanwhile are not counted twice.
 */
static void note_reported(summing *summing) {
  orphan *ring = (orphan *)calloc(1, sizeof *ring);
  if (!ring) return;
  if (orphan_read_ring(ring, summing->directory) == 0) {
    summing->opening = ring->header.opening;
    for (uint32_t i = 0; i < ring->header.lane_count; i++) {
      summing->reported[i] = ring->controls[i].reported[WEIR_DROP_SAMPLED - 1];
    }
    summing->reported[WEIR_MAX_LANES] = ring->header.unlaned_reported[WEIR_DROP_SAMPLED];
  }
  orphan_close(ring);
}

/* After the segments were read, adds the events that they do not report. */
static void take_unreported(summing *summing, const orphan *ring) {
  if (ring->header.opening != summing->opening) return; /* another opening meanwhile: it has just begun */
  uint64_t *sampled = &summing->stat->dropped[WEIR_DROP_SAMPLED];
  for (uint32_t i = 0; i < ring->header.lane_count; i++) {
    uint64_t dropped = ring->controls[i].dropped[WEIR_DROP_SAMPLED - 1];
    if (dropped > summing->reported[i]) *sampled += dropped - summing->reported[i];
  }
  uint64_t unlaned = ring->header.unlaned_dropped[WEIR_DROP_SAMPLED];
  if (unlaned > summing->reported[WEIR_MAX_LANES]) *sampled += unlaned - summing->reported[WEIR_MAX_LANES];
}

/* Takes from a live writer's ring which lanes are in use and how much they hold, without a look at the records. */
static int take_live(summing *summing) {
  weir_stat *stat = summing->stat;
  orphan *ring = (orphan *)calloc(1, sizeof *ring);
  if (!ring) return -ENOMEM;
  int error = orphan_read_ring(ring, summing->directory);
  if (error == 0) {
    take_lanes(stat, &ring->header);
    take_unreported(summing, ring);
    for (uint32_t i = 0; i < ring->header.lane_count; i++) {
      const lane_control *control = &ring->controls[i];
      stat->lanes_in_use += control->tail != head_position(control->head);
      uint64_t head = head_position(control->head);
      if (control->tail > head) stat->lane_bytes += control->tail - head;
    }
  }
  orphan_close(ring);
  return error == -ENOENT || error == -ESTALE ? 0 : error; /* this process may not see the ring's directory */
}

static int take_ring(summing *summing) {
  if (summing->stat->live) return take_live(summing);
  orphan *ring;
  int error = orphan_open(summing->directory, summing->log_id, &ring);
  if (error == 0 && ring) error = take_orphan(summing, ring);
  uint64_t end;
  if (error == 0 && !ring && orphan_closed_end(summing->directory, &end)) reach(summing->stat, end);
  else if (error == 0 && !ring && summing->stat->segments > 0 && directory_was_opened(summing->directory) &&
           !orphan_being_made(summing->directory)) {
    summing->stat->damaged = 1;
  }
  orphan_close(ring);
  if (error == -ESTALE) summing->stat->ring_vanished = 1;
  return error;
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

static weir_status failure(const summing *summing, int result, const char *name, weir_error *error) {
  if (result == -ENOTSUP) return fail_newer(error, summing->path, name);
  return fail_system(error, result, "sum up", summing->path, name);
}

static weir_status sum_up(summing *summing, weir_error *error) {
  segment_list list;
  summing->stat->live = (uint32_t)directory_is_live(summing->directory);
  if (summing->stat->live) note_reported(summing);
  int result = segment_list_settled(summing->directory, &list);
  if (result != 0) return failure(summing, result, NULL, error);
  weir_status status = WEIR_OK;
  uint64_t first;
  result = take_start(summing, &first);
  if (result != 0) status = failure(summing, result, START_NAME, error);
  for (uint64_t i = 0; i < list.count && status == WEIR_OK; i++) {
    if (list.items[i].base < first && !list.items[i].active) continue; /* a leftover, which was counted as removed */
    result = take_named(summing, &list.items[i], i + 1 == list.count);
    if (result != 0) status = failure(summing, result, list.items[i].name, error);
  }
  segment_list_free(&list);
  if (status != WEIR_OK) return status;
  result = take_ring(summing);
  if (orphan_problem(result)) {
    summing->stat->damaged = 1;
    result = 0;
  } else if (result == -EAGAIN) { /* a writer opened the log meanwhile: take its ring, without the dead one's lanes */
    summing->stat->live = 1;
    result = 0;
  }
  if (result != 0) return failure(summing, result, RING_NAME, error);
  log_sizes sizes = {0};
  result = sizes_of_log(summing->directory, &sizes);
  summing->stat->total_bytes = sizes.allocated;
  return result == 0 ? WEIR_OK : failure(summing, result, NULL, error);
}

weir_status weir_stat_directory(const char *directory, weir_stat *stat, weir_error *error) {
  memset(stat, 0, sizeof *stat);
  summing summing = {.directory = -1, .path = directory, .stat = stat};
  weir_status status = directory_open_read(directory, &summing.directory, error);
  if (status != WEIR_OK) return status;
  int result = identity_find(summing.directory, &summing.log_id);
  if (result != 0) status = failure(&summing, result, NULL, error);
  else status = sum_up(&summing, error);
  sys_close(summing.directory);
  return status;
}
