/* ring_header.c: see ring_header.h. */
#include "format/ring_header.h"

#include <errno.h>

#include "system/crc32c.h"

/* Whether `count` items of `each` bytes from `at` on lie within `total`, without overflow. */
static int fits(uint64_t at, uint64_t count, uint64_t each, uint64_t total) {
  uint64_t bytes;
  return !__builtin_mul_overflow(count, each, &bytes) && at <= total && bytes <= total - at;
}

int ring_header_check(const ring_header *header, uint64_t file_bytes) {
  if (header->magic != RING_MAGIC) return -EBADMSG;
  int intact = header->header_crc == crc32c((const uint8_t *)header + 16, RING_FIXED_BYTES - 16);
  /* No single flipped bit makes version 1 the next one. For other numbers the checksum decides. */
  if (header->major == FORMAT_MAJOR + 1 || (header->major > FORMAT_MAJOR && !intact)) return -ENOTSUP;
  if (!intact) return -EBADMSG;
  if (header->incompatible != 0) return -ENOTSUP;
  uint64_t record = header->record_bytes, lane = header->lane_bytes;
  if (header->lane_count < 1 || header->lane_count > WEIR_MAX_LANES || header->spare_lanes > header->lane_count ||
      header->overflow_lanes > header->spare_lanes || header->overflow_lanes == header->lane_count) {
    return -EBADMSG;
  }
  if (record < WEIR_RECORD_HEADER_BYTES || record > MAX_RECORD_BYTES) return -EBADMSG;
  if (lane == 0 || (lane & (lane - 1)) != 0 || lane < record || lane > MAX_LANE_BYTES) return -EBADMSG;
  if (header->lane_stride < LANE_CONTROL_BYTES + lane + record + RECORD_SLACK_BYTES) return -EBADMSG;
  if (header->lane_stride % 4096 != 0 || header->lanes_at % 4096 != 0 || header->types_at % 8 != 0) return -EBADMSG;
  if (header->lanes_at < RING_HEADER_BYTES || header->types_at < RING_HEADER_BYTES) return -EBADMSG;
  if (header->file_bytes > file_bytes) return -EBADMSG;
  if (!fits(header->lanes_at, header->lane_count, header->lane_stride, header->file_bytes)) return -EBADMSG;
  if (!fits(header->types_at, 1, header->types_bytes, header->file_bytes)) return -EBADMSG;
  if (header->types_bytes > UINT64_C(64) << 20 || header->base_offset > MAX_OFFSET) return -EBADMSG;
  return 0;
}

uint32_t ring_header_lanes(const ring_header *header) {
  uint32_t lanes = (uint32_t)header->lanes_in_play, least = header->lane_count - header->overflow_lanes;
  int good = header->lanes_in_play == lanes_word(lanes) && lanes >= least && lanes <= header->lane_count;
  return good ? lanes : header->lane_count;
}

int ring_header_calibration(const ring_header *header, calibration *value) {
  const calibration_slot *best = NULL;
  for (int i = 0; i < 2; i++) {
    const calibration_slot *slot = &header->calibration[i];
    if (slot->crc != crc32c(slot, offsetof(calibration_slot, crc)) || slot->sequence == 0) continue;
    if (!best || (int32_t)(slot->sequence - best->sequence) > 0) best = slot;
  }
  if (!best) return 0;
  *value = best->value;
  return 1;
}
