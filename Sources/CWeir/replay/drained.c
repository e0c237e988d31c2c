/* drained.c: see drained.h. */
#include "replay/drained.h"

#include <errno.h>
#include <string.h>

#include "directory/segment_list.h"
#include "format/notice.h"
#include "format/record.h"
#include "format/ring_header.h"

static void raise_to(uint64_t *value, uint64_t least) {
  if (*value < least) *value = least;
}

void drained_start(drained *drained, const ring_header *ring, int rebooted) {
  memset(drained, 0, sizeof *drained);
  drained->opening = ring ? ring->opening : 0;
  drained->base_offset = ring ? ring->base_offset : 0;
  drained->rebooted = rebooted;
  drained->totals_known = 1; /* unless a seal that has them can't be read */
  drained->from_start = rebooted; /* unless a segment of the opening was sealed */
}

int drained_settles(const drained *drained, const segment_scan *scan) {
  const segment_header *header = &scan->header;
  int settles = header->opening == drained->opening && scan->header_valid; /* a lost header states no positions */
  /* Before a segment is collected the ring is closed, and all of it is in segments. */
  settles |= (header->incompatible & SEGMENT_COLLECTED) != 0;
  return drained->opening == 0 || settles || header->base_offset < drained->base_offset;
}

uint64_t drained_records(const drained *drained, uint32_t lane) {
  if (drained->known[lane]) return drained->records[lane];
  return drained->from_start ? 0 : RECORDS_UNKNOWN;
}

/*
 * Notes that the log accounts for a lane up to `mark`. `first` records come before the stretch that ends there: those
 * between the known records and `first` are missing. `offset` is that of the block or segment that says so.
 */
static void advance(drained *drained, uint64_t offset, uint32_t lane, uint64_t first, lane_mark mark) {
  if (drained->known[lane] && mark.position <= drained->position[lane]) return;
  uint64_t before = drained_records(drained, lane);
  int is_gap = before != RECORDS_UNKNOWN && first != RECORDS_UNKNOWN && first > before;
  if (is_gap && offset >= drained->counted_to) drained->missing += first - before;
  drained->position[lane] = mark.position;
  drained->records[lane] = mark.records;
  drained->known[lane] = 1;
}

static void take_header(drained *drained, const segment_scan *scan) {
  /* A file with neither a good header nor a good block says nothing; its name may be anyone's. */
  if (scan->header.salt == 0) return;
  raise_to(&drained->log_end, scan->header.base_offset);
  /*
   * New offsets start above the name of every segment that stays: one that somebody renamed, or copied under another
   * name, must not have the name of a new segment.
   */
  if (!scan->active || scan->name_base != scan->header.base_offset) raise_to(&drained->log_end, scan->name_base + 1);
  if (scan->header.opening != drained->opening || !scan->header_valid) return;
  for (uint32_t lane = 0; lane < scan->header.lane_count; lane++) {
    if (scan->drained[lane].position % 8 != 0) continue; /* every lane position is a multiple of eight */
    advance(drained, scan->header.base_offset, lane, scan->drained[lane].records, scan->drained[lane]);
  }
  drained->after_cut |= (scan->header.flags & SEGMENT_AFTER_CUT) != 0;
}

void drained_segment(drained *drained, const segment_scan *scan) {
  take_header(drained, scan);
  if (scan->header.salt != 0 && scan->header.opening == drained->opening) drained->unsealed = 1;
}

int drained_forgets(const drained *drained, const segment_scan *scan) {
  return drained->rebooted && scan->active && scan->header_valid && scan->header.opening == drained->opening &&
         (scan->header.flags & SEGMENT_RECOVERED);
}

/*
 * Takes in the totals of the gap records in a block of notices. Returns how many records of a lane the block stands
 * for, or RECORDS_UNKNOWN.
 */
static uint64_t take_notices(drained *drained, const segment_scan *scan) {
  uint64_t at = 0, records = 0;
  for (uint32_t i = 0; i < scan->block.count; i++) {
    record_header record;
    memcpy(&record, scan->payload + at, sizeof record);
    uint32_t lane;
    int32_t reason;
    uint64_t total, dropped;
    if (record.type == WEIR_TYPE_GAP &&
        notice_read_gap(scan->payload + at + sizeof record, record.length, &lane, &reason, &total, &dropped)) {
      uint32_t row = lane < WEIR_MAX_LANES ? lane : (uint32_t)WEIR_MAX_LANES;
      raise_to(&drained->reported[row][reason], total);
      if (records != RECORDS_UNKNOWN && reason == WEIR_LOST_OVERWRITTEN) records += dropped;
    } else if (record.type == WEIR_TYPE_HOLE && records != RECORDS_UNKNOWN) {
      uint64_t events = notice_read_hole(scan->payload + at + sizeof record, record.length);
      records = events == RECORDS_UNKNOWN ? RECORDS_UNKNOWN : records + events;
    }
    at += record_size(record.length);
  }
  return records;
}

/* The indices of a block's first and last record. */
static void take_indices(const segment_scan *scan, uint32_t *first, uint32_t *last) {
  uint64_t at = 0;
  for (uint32_t i = 0; i < scan->block.count; i++) {
    record_header record;
    memcpy(&record, scan->payload + at, sizeof record);
    if (i == 0) *first = record.index;
    *last = record.index;
    at += record_size(record.length);
  }
}

void drained_block(drained *drained, const segment_scan *scan) {
  const block_header *block = &scan->block;
  raise_to(&drained->log_end, block->base_offset + block->count);
  if (block->opening != drained->opening) return;
  drained->calibration = block->calibration;
  uint64_t stands_for = block->kind == BLOCK_NOTICES ? take_notices(drained, scan) : 0;
  if (block->lane >= WEIR_MAX_LANES) return;
  uint64_t before = drained_records(drained, block->lane);
  if (block->kind == BLOCK_NOTICES) { /* drains a hole, or what was overwritten */
    uint64_t first = block->index == INDEX_UNKNOWN ? before : record_number(before, block->index);
    uint64_t after = first == RECORDS_UNKNOWN || stands_for == RECORDS_UNKNOWN ? RECORDS_UNKNOWN : first + stands_for;
    advance(drained, block->base_offset, block->lane, first, (lane_mark){block->lane_to, after});
  } else if (block->count > 0) {
    uint32_t first = 0, last = 0;
    take_indices(scan, &first, &last);
    uint64_t number = record_number(before, first);
    const lane_mark mark = {block->lane_to, record_number(number, last) + 1};
    advance(drained, block->base_offset, block->lane, number, mark);
  }
}

int drained_sealed(drained *drained, const segment_scan *scan) {
  if (scan->header.opening == drained->opening) drained->from_start = 0;
  take_header(drained, scan);
  if (scan->header.salt == 0) return 0;
  raise_to(&drained->log_end, scan->next_offset);
  if (scan->header.opening != drained->opening) return 0;
  const seal_summary *seal = scan_summary(scan);
  if (seal) {
    const gap_total *totals = scan_seal_totals(scan);
    for (uint32_t i = 0; i < seal->totals; i++) {
      if (totals[i].reason >= WEIR_DROP_REASONS) continue;
      uint32_t row = totals[i].lane < WEIR_MAX_LANES ? totals[i].lane : (uint32_t)WEIR_MAX_LANES;
      raise_to(&drained->reported[row][totals[i].reason], totals[i].total);
    }
  } else {
    drained->totals_known = 0;
  }
  /*
   * A second scan, so that `scan` stays as it is. Only whole blocks count, as they did before the segment was sealed.
   */
  segment_scan walk = scan_again(scan);
  scan_result result;
  scan_damage damage;
  do {
    result = scan_next(&walk, 1, &damage);
    if (result == SCAN_BLOCK) drained_block(drained, &walk);
  } while (result == SCAN_BLOCK || result == SCAN_DAMAGE);
  scan_again_close(&walk);
  return result == SCAN_ERROR ? damage.error : 0;
}

/*
 * Takes in one segment. Sets `*settled` if earlier segments say nothing more: its file name agrees with its header, so
 * that they cannot move the end of the log, and drained_settles.
 */
static int take_segment(drained *drained, int directory, uint64_t log_id, const segment_name *name, int sealed,
                        int *settled) {
  segment_name found = *name;
  segment_scan scan;
  scan_damage damage;
  int error = scan_open_named(&scan, directory, log_id, &found, &damage);
  if (error == -ENOENT) return -EAGAIN;
  if (error == -ELOOP) return 0; /* not a plain file, so not ours: readers and verify report it */
  if (error != 0) return error;
  *settled = scan.header.salt != 0 && scan.header.base_offset == name->base && drained_settles(drained, &scan);
  if (!sealed && drained_forgets(drained, &scan)) {
    scan_close(&scan);
    return 0;
  }
  if (!sealed) drained_segment(drained, &scan);
  scan_result result = SCAN_SEALED;
  if (!sealed || scan_seal(&scan) != 0) {
    do {
      result = scan_next(&scan, 1, &damage);
      if (!sealed && result == SCAN_BLOCK) drained_block(drained, &scan);
    } while (result == SCAN_BLOCK || result == SCAN_DAMAGE);
    if (result == SCAN_ERROR) error = damage.error;
  }
  if (error == 0 && sealed) error = drained_sealed(drained, &scan);
  if (scan.header.salt != 0) raise_to(&drained->log_end, scan.next_offset);
  scan_close(&scan);
  return error;
}

int drained_read(drained *drained, int directory, uint64_t log_id, const segment_list *list, const ring_header *ring,
                 int rebooted) {
  drained_start(drained, ring, rebooted);
  uint64_t unsealed = 0;
  while (unsealed < list->count && !list->items[unsealed].active) unsealed++;
  int error = 0, settled = 0;
  for (uint64_t left = unsealed; error == 0 && left > 0 && !settled; left--) {
    error = take_segment(drained, directory, log_id, &list->items[left - 1], 1, &settled);
  }
  for (uint64_t i = unsealed; error == 0 && i < list->count; i++) {
    error = take_segment(drained, directory, log_id, &list->items[i], 0, &settled);
  }
  return error;
}

/*
 * Where draining `lane` has to start, given its head and tail in the ring. With an unsealed segment the log's position
 * counts, even below the head: records that a damaged block held are drained again if they are still in the lane.
 * Otherwise the higher of head and log counts. Never below tail - capacity.
 */
static uint64_t from_of(const drained *drained, uint32_t lane, uint64_t head, uint64_t tail, uint64_t capacity) {
  uint64_t from = head;
  if (drained->known[lane] && (drained->unsealed || drained->position[lane] > head)) from = drained->position[lane];
  if (from > tail) return tail; /* the ring is older than the log: all of it has been drained */
  return tail - from > capacity ? tail - capacity : from;
}

int drained_plausible(uint64_t head, uint64_t tail, uint64_t capacity) {
  return head % 8 == 0 && tail % 8 == 0 && head <= tail && tail - head <= capacity;
}

evicted drained_evicted(const lane_control *control) {
  if ((control->head & HEAD_EVICTED) && control->evicting_to == head_position(control->head)) {
    return (evicted){control->evicting_to, control->evicting_total};
  }
  return (evicted){control->evicted_to, control->evicted_total};
}

uint64_t drained_accounted(const drained *drained, uint32_t lane, uint64_t from) {
  uint64_t accounted = drained->known[lane] ? drained->position[lane] : from;
  return accounted < from ? accounted : from;
}

/* The end of an eviction that the log does not report yet, or 0. One flipped bit does not make an eviction. */
static uint64_t evicted_unknown_to_log(const drained *drained, uint32_t lane, const lane_control *control) {
  evicted evicted = drained_evicted(control);
  uint64_t in_ring = control->reported[WEIR_LOST_OVERWRITTEN - 1];
  uint64_t reported = drained_reported(drained, lane, WEIR_LOST_OVERWRITTEN, in_ring);
  return evicted.to % 8 == 0 && evicted.total > reported ? evicted.to : 0;
}

/*
 * Under another boot id. Each page of the ring is from some moment before the machine went down, and no two need be
 * from the same moment. A word may also be older than the ring. So head and tail are only hints: from the log's
 * position on, the checksums and indices of the records decide.
 */
static void lane_survivors(const drained *drained, const lane_view *view, uint32_t lane, const lane_control *control,
                           uint64_t *from, uint64_t *to) {
  uint64_t records = drained_records(drained, lane);
  *from = drained->known[lane] ? drained->position[lane] : 0;
  *to = record_last(view, *from, records, control->tail);
  if (*to == *from) *to = record_last(view, *from, records, head_position(control->head));
}

void drained_lane(const drained *drained, const lane_view *view, uint32_t lane, const lane_control *control,
                   uint64_t *from, uint64_t *to) {
  if (view->rebooted) {
    lane_survivors(drained, view, lane, control, from, to);
    return;
  }
  uint64_t head = head_position(control->head), tail = control->tail, size;
  uint64_t evicted = evicted_unknown_to_log(drained, lane, control);
  if (drained_plausible(head, tail, view->capacity)) {
    *from = from_of(drained, lane, head, tail, view->capacity);
    *to = tail;
    if (evicted <= head) raise_to(from, evicted);
    return;
  }
  *from = drained->known[lane] ? drained->position[lane] : head & ~UINT64_C(7);
  /*
   * The records after the drained position were evicted. If a valid record starts where the eviction ended, resume
   * there.
   */
  if (evicted > *from && evicted <= UINT64_MAX - view->capacity &&
      record_at(view, evicted, evicted + view->capacity, &size)) {
    *from = evicted;
  }
  *to = tail;
  if (tail % 8 == 0 && tail >= *from && tail - *from <= view->capacity) return;
  *to = *from;
  if (*from > UINT64_MAX - view->capacity) return;
  uint64_t end = *from + view->capacity;
  while (*to < end && record_at(view, *to, end, &size)) *to += size;
}

calibration drained_calibration(const drained *drained, const ring_header *ring) {
  calibration value;
  return ring_header_calibration(ring, &value) ? value : drained->calibration;
}

uint64_t drained_reported(const drained *drained, uint32_t lane, int32_t reason, uint64_t in_ring) {
  uint64_t in_log = drained->reported[lane][reason];
  /* Under another boot id the ring may count gap records that never reached the disk. */
  if (drained->rebooted && drained->totals_known) return in_log;
  return in_log > in_ring ? in_log : in_ring;
}

uint64_t drained_overwritten(const drained *drained, uint32_t lane, const lane_control *control, uint64_t from,
                              uint64_t to, uint64_t skipped) {
  evicted evicted = drained_evicted(control);
  uint64_t reported =
      drained_reported(drained, lane, WEIR_LOST_OVERWRITTEN, control->reported[WEIR_LOST_OVERWRITTEN - 1]);
  if (skipped == RECORDS_UNKNOWN || evicted.to <= from || evicted.to > to || evicted.total <= reported) return 0;
  return evicted.total - reported < skipped ? evicted.total - reported : skipped;
}

uint64_t drained_start_offset(const drained *drained, uint64_t ring_end) {
  uint64_t end = drained->log_end > ring_end ? drained->log_end : ring_end;
  return drained->rebooted && !drained->after_cut ? end + OFFSETS_LEFT_OUT : end;
}
