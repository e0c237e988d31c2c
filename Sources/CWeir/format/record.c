/* record.c: see record.h. */
#include "format/record.h"

#include <stdlib.h>
#include <string.h>

#include "system/crc32c.h"

uint32_t record_seed(uint64_t opening, uint64_t lane) {
  return (uint32_t)weir_crc_u64(weir_crc_u64(CRC_START, opening), lane);
}

/* Takes in the header but for its checksum, as weir_commit does. */
static inline uint32_t end_checksum(uint64_t state, const record_header *header) {
  state = weir_crc_u32(state, header->length);
  state = weir_crc_u64(state, (uint64_t)header->index << 32 | header->type);
  return crc_end(weir_crc_u64(state, header->ticks));
}

static inline uint32_t checksum(uint32_t seed, uint64_t position, const record_header *header, const uint8_t *payload) {
  return end_checksum(crc_extend_inline(weir_crc_u64(seed, position), payload, header->length), header);
}

uint32_t record_checksum(uint32_t seed, uint64_t position, const uint8_t *record) {
  record_header header;
  memcpy(&header, record, sizeof header);
  return checksum(seed, position, &header, record + sizeof header);
}

/* ---- Sums over a whole lane -------------------------------------------------------------------------------------- */

enum { STATES_APART = 1024 };

static uint64_t bytes_of(const lane_view *lane) { return lane->capacity + lane->record_bytes; }

/* The state after the lane's first `count` bytes, from 0. */
static uint32_t state_at(const lane_view *lane, uint64_t count) {
  uint64_t noted = count / STATES_APART;
  const uint8_t *from = lane->data + noted * STATES_APART;
  return (uint32_t)crc_extend(lane->sums->states[noted], from, count % STATES_APART);
}

static void note_states(const lane_view *lane) {
  uint64_t count = bytes_of(lane) / STATES_APART + 1, state = 0;
  uint32_t *states = lane->sums->states = (uint32_t *)malloc(count * sizeof *states);
  for (uint64_t i = 0; states && i < count; i++) {
    states[i] = (uint32_t)state;
    if (i + 1 < count) state = crc_extend(state, lane->data + i * STATES_APART, STATES_APART);
  }
}

/* Notes bytes that were summed up in vain. */
static void note_vain(const lane_view *lane, uint64_t bytes) {
  record_sums *sums = lane->sums;
  if (!sums || sums->states) return;
  sums->in_vain += bytes;
  if (sums->in_vain < bytes_of(lane)) return;
  sums->in_vain = 0;
  note_states(lane);
}

/* As `checksum`: what a stretch makes of a state is what the lane makes of it up to its end and not up to its start. */
static inline uint32_t checksum_in(const lane_view *lane, uint64_t position, const record_header *header,
                            const uint8_t *payload) {
  if (!lane->sums || !lane->sums->states || header->length < 2 * STATES_APART) {
    return checksum(lane->seed, position, header, payload);
  }
  uint64_t from = (uint64_t)(payload - lane->data);
  uint32_t before = (uint32_t)weir_crc_u64(lane->seed, position) ^ state_at(lane, from);
  uint32_t after = crc_shift(before, header->length) ^ state_at(lane, from + header->length);
  return end_checksum(after, header);
}

void record_sums_free(record_sums *sums) {
  free(sums->states);
  *sums = (record_sums){0};
}

/* ---- One record -------------------------------------------------------------------------------------------------- */

/* Whether the last word of a record is zero from the end of its payload on. */
static inline int is_padded(const uint8_t *record, uint64_t used, uint64_t total) {
  uint64_t last;
  memcpy(&last, record + total - sizeof last, sizeof last);
  return used == total || last >> 8 * (used % sizeof last) == 0;
}

static inline const record_header *at(const lane_view *lane, uint64_t position, uint64_t end, uint64_t *size) {
  if (end - position < sizeof(record_header) || end < position) return NULL;
  const uint8_t *bytes = lane->data + (position & (lane->capacity - 1));
  /* Read the header once: a store to the mapping meanwhile must not change the length after its check. */
  record_header header;
  memcpy(&header, bytes, sizeof header);
  __asm__ volatile("" : "+m"(header)); /* keeps the compiler from reading the mapping again */
  if (header.length > lane->record_bytes - sizeof header) return NULL;
  uint64_t total = record_size(header.length);
  if (total > end - position) return NULL;
  if (!is_padded(bytes, sizeof header + header.length, total)) return NULL;
  if (checksum_in(lane, position, &header, bytes + sizeof header) != header.checksum) {
    note_vain(lane, header.length);
    return NULL;
  }
  *size = total;
  return (const record_header *)bytes;
}

const record_header *record_at(const lane_view *lane, uint64_t position, uint64_t end, uint64_t *size) {
  return at(lane, position, end, size);
}

const record_header *record_next(const lane_view *lane, uint64_t position, uint64_t end, uint64_t records,
                                 uint64_t *size) {
  enum { CANCELLED = 16 }; /* a thread cancelled within a commit leaves a number that no record has */
  const record_header *record = at(lane, position, end, size);
  if (!record || !lane->rebooted || records == RECORDS_UNKNOWN) return record;
  return record_number(records, record->index) - records <= CANCELLED ? record : NULL;
}

/* Whether so many bytes of a lane can be so many records. */
static int is_plausible(const lane_view *lane, uint64_t bytes, uint64_t records) {
  return records > 0 && records <= bytes / sizeof(record_header) && records >= bytes / align8(lane->record_bytes);
}

/* The first record that starts in [from, to) and whose index is possible there, given the records before `position`. */
static uint64_t find(const lane_view *lane, uint64_t from, uint64_t to, uint64_t end, uint64_t position,
                     uint64_t records, uint64_t *skipped) {
  uint64_t size;
  for (uint64_t at = from; at < to; at += 8) {
    const record_header *record = record_at(lane, at, end, &size);
    if (!record) continue;
    *skipped = RECORDS_UNKNOWN;
    if (records == RECORDS_UNKNOWN) return at;
    uint64_t between = record_number(records, record->index) - records;
    if (is_plausible(lane, at - position, between)) *skipped = between;
    else if (lane->rebooted) continue;
    return at;
  }
  *skipped = RECORDS_UNKNOWN;
  return UINT64_MAX;
}

uint64_t record_resync(const lane_view *lane, uint64_t position, uint64_t end, uint64_t records, uint64_t *skipped) {
  uint64_t near = end - position > lane->capacity ? position + lane->capacity : end;
  uint64_t found = find(lane, position + 8, near, end, position, records, skipped);
  if (found == UINT64_MAX && near < end) {
    uint64_t far = end - near > lane->capacity ? end - lane->capacity : near;
    found = find(lane, far, end, end, position, records, skipped);
  }
  return found == UINT64_MAX ? end : found;
}

/* The bounds of a walk through laps. */
typedef struct search_bound {
  uint64_t searched; /* bytes */
  uint64_t most;
} search_bound;

/* The first record in the lap from `from` on, its number in `*number`. Null, also once too much was searched. */
static uint64_t find_in_lap(const lane_view *lane, uint64_t from, uint64_t position, uint64_t records,
                            search_bound *bound, uint64_t *number) {
  *number = RECORDS_UNKNOWN;
  if (bound->searched >= bound->most) return UINT64_MAX;
  uint64_t skipped, end = from + 2 * lane->capacity;
  uint64_t found = find(lane, from, from + lane->capacity, end, position, records, &skipped);
  bound->searched += found == UINT64_MAX ? lane->capacity : found - from;
  if (records != RECORDS_UNKNOWN && skipped != RECORDS_UNKNOWN) *number = records + skipped;
  return found;
}

uint64_t record_last(const lane_view *lane, uint64_t position, uint64_t records, uint64_t hint) {
  if (position > UINT64_MAX / 2) return position;
  search_bound bound = {.most = RECORD_MOST_LAPS * lane->capacity};
  for (;;) {
    uint64_t size, end = position + 2 * lane->capacity, number;
    const record_header *record = record_next(lane, position, end, records, &size);
    if (record) {
      position += size;
      records = record_number(records, record->index) + 1;
      continue;
    }
    uint64_t found = find_in_lap(lane, position + 8, position, records, &bound, &number);
    if (found == UINT64_MAX && hint % 8 == 0 && hint < UINT64_MAX / 2 && hint > position + lane->capacity) {
      found = find_in_lap(lane, hint - lane->capacity, position, records, &bound, &number);
      hint = 0;
    }
    if (found == UINT64_MAX) return position;
    position = found;
    records = number;
  }
}
