/* record.c: see record.h. */
#include "record.h"

#include <string.h>

#include "crc32c.h"

uint32_t record_seed(uint64_t opening, uint64_t lane) {
  return (uint32_t)weir_crc_u64(weir_crc_u64(CRC_START, opening), lane);
}

uint32_t record_checksum(uint32_t seed, uint64_t position, const uint8_t *record) {
  record_header header;
  memcpy(&header, record, sizeof header);
  uint64_t state = weir_crc_u64(seed, position);
  state = crc_extend(state, record + sizeof header, header.length);
  return crc_end(crc_extend(state, record + 4, sizeof header - 4));
}

static int zero_padding(const uint8_t *record, uint64_t from, uint64_t to) {
  uint8_t any = 0;
  for (uint64_t i = from; i < to; i++) any |= record[i];
  return any == 0;
}

const record_header *record_at(const lane_view *lane, uint64_t position, uint64_t end, uint64_t *size) {
  if (end - position < sizeof(record_header) || end < position) return NULL;
  const uint8_t *bytes = lane->data + (position & (lane->capacity - 1));
  record_header header;
  memcpy(&header, bytes, sizeof header);
  if (header.length > lane->record_bytes - sizeof header || header.reserved != 0) return NULL;
  uint64_t total = record_size(header.length);
  if (total > end - position) return NULL;
  if (!zero_padding(bytes, sizeof header + header.length, total)) return NULL;
  if (record_checksum(lane->seed, position, bytes) != header.checksum) return NULL;
  *size = total;
  return (const record_header *)bytes;
}

uint64_t record_resync(const lane_view *lane, uint64_t position, uint64_t end) {
  uint64_t size;
  for (uint64_t at = position + 8; at < end; at += 8) {
    if (record_at(lane, at, end, &size)) return at;
  }
  return end;
}
