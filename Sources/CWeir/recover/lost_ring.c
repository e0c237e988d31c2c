/* lost_ring.c: see lost_ring.h. */
#include "recover/lost_ring.h"

#include <assert.h>
#include <stdalign.h>
#include <string.h>

#include "format/notice.h"
#include "seal/finish.h"
#include "system/error.h"
#include "system/sigbus.h"
#include "system/system.h"

enum { NOTICE_SEGMENT_BYTES = 16 << 10 };

static_assert(SEGMENT_HEADER_BYTES + sizeof(lane_mark) * WEIR_MAX_LANES + 3 * sizeof(block_header) + 2 * 1024 +
                       NOTICE_MAX_BYTES + sizeof(seal_summary) + SEAL_POSITION_BYTES <= NOTICE_SEGMENT_BYTES,
               "a segment of one notice, with the built-in definitions twice");

static int append(segment *segment, const char *reason, uint64_t offset) {
  /* The clock of the ring that is lost is lost with it: the time is that of the recovery. */
  const calibration now = {.wall_ns = sys_wall_ns()};
  alignas(8) uint8_t definitions[1024];
  uint64_t bytes = notice_definitions(definitions, segment->opening);
  int error = segment_append_definitions(segment, definitions, bytes, offset, &now);
  if (error != 0) return error;
  uint64_t size = notice_hole(segment_payload(segment), segment->opening, offset, 0, reason, NOTICE_LANE, 0,
                              RECORDS_UNKNOWN);
  block_header header = {.kind = BLOCK_NOTICES,
                         .payload_bytes = (uint32_t)size,
                         .count = 1,
                         .base_offset = offset,
                         .lane = NOTICE_LANE,
                         .first_ns = now.wall_ns,
                         .last_ns = now.wall_ns,
                         .calibration = now};
  segment_append(segment, &header);
  segment_seal(segment, offset + 1, NULL, 0, &now);
  return 0;
}

int lost_ring_report(const recovery_site *site, const redo *redo, const char *reason, uint64_t offset, uint32_t flags,
                     int *page_lost, segment_end *last) {
  const ring_header *orphan = redo ? &redo->ring->header : NULL;
  static const lane_mark none[WEIR_MAX_LANES] = {0};
  uint64_t opening;
  int error = sys_random(&opening, sizeof opening);
  if (error != 0) return error;
  uint32_t lanes = orphan ? orphan->lane_count : site->options->lane_count;
  if (orphan) opening = orphan->opening;
  uint64_t number = __atomic_fetch_add(site->next_prepared, 1, __ATOMIC_RELAXED);
  segment *made = segment_prepare(site->held->directory, number, NOTICE_SEGMENT_BYTES, &error);
  if (!made) return error;
  sigbus_watch(made->map, made->capacity, sigbus_note, page_lost);
  const uint8_t unknown[16] = {0};
  const segment_origin origin = {site->held->log_id, opening, orphan ? orphan->boot_id : unknown};
  error = segment_begin(made, &origin, offset, last, redo ? redo->drained : none, lanes, SEGMENT_RECOVERED | flags);
  if (error == 0) error = append(made, reason, offset);
  if (error == 0 && __atomic_load_n(page_lost, __ATOMIC_ACQUIRE)) error = -MAPPING_LOST; /* G2 */
  if (error != 0) {
    segment_discard(made);
    return error;
  }
  segment_end end = {.salt = made->salt, .end = made->at, .base = offset};
  finisher finisher = {.next_prepared = site->next_prepared};
  finished finished = finish_segments(&finisher, made);
  if (finished.failed) segment_abandon(finished.failed);
  if (finished.error == 0) *last = end;
  return finished.error;
}

int lost_ring_is_reported(const segment_scan *scan) {
  const seal_summary *summary = scan_summary(scan);
  if (!summary || summary->events != 0 || summary->notices != 1) return 0;
  segment_scan walk = scan_again(scan);
  scan_damage damage;
  scan_result result;
  int found = 0;
  while ((result = scan_next(&walk, 1, &damage)) == SCAN_BLOCK || result == SCAN_DAMAGE) {
    if (result != SCAN_BLOCK || walk.block.kind != BLOCK_NOTICES || walk.block.lane != NOTICE_LANE) continue;
    record_header record;
    memcpy(&record, walk.payload, sizeof record);
    found = record.type == WEIR_TYPE_HOLE;
  }
  scan_again_close(&walk);
  return result == SCAN_ERROR ? damage.error : found;
}
