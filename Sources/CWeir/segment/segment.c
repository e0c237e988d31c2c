/*
 * segment.c: see segment.h. Everything here runs off the capture path.
 *
 * label store                                   load                              what it guarantees
 * K3    a block's first word (release), after   recovery, by program order; a     a block is whole, or begins with
 *       the rest of it                          reader beside it, by checksums    zeros
 */
#include "segment/segment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "directory/segment_list.h"
#include "system/crc32c.h"
#include "system/error.h"
#include "system/invariant.h"
#include "system/sigbus.h"
#include "system/system.h"

segment *segment_prepare(int directory, uint64_t number, uint64_t capacity, int *error) {
  segment *made = (segment *)calloc(1, sizeof *made);
  if (!made) {
    *error = -ENOMEM;
    return NULL;
  }
  made->directory = directory;
  made->capacity = capacity;
  snprintf(made->name, sizeof made->name, PREPARED_PREFIX "%llu", (unsigned long long)number);
  made->fd = sys_open_create(directory, made->name);
  if (made->fd < 0) {
    *error = made->fd;
    free(made);
    return NULL;
  }
  made->home = sys_directory_of(directory);
  *error = sys_file_of(made->fd, directory, made->name, &made->file);
  if (*error == 0) *error = sys_allocate(made->fd, capacity);
  if (*error == 0) sys_gather_pages(made->fd, capacity);
  if (*error == 0) *error = sys_map(made->fd, capacity, &made->map);
  if (*error == 0 && !segment_has_files(made)) *error = -DESCRIPTOR_LOST; /* and what was mapped may be another's */
  if (*error != 0) {
    segment_discard(made);
    return NULL;
  }
  return made;
}

int segment_begin(segment *segment, const segment_origin *origin, uint64_t base_offset, const segment_end *previous,
                  const lane_mark *drained, uint32_t lane_count, uint32_t flags) {
  uint64_t salt = 0;
  while (salt == 0) {
    int error = sys_random(&salt, sizeof salt);
    if (error != 0) return error;
  }
  segment_header *header = (segment_header *)segment->map;
  uint32_t bytes = SEGMENT_HEADER_BYTES + (uint32_t)sizeof *drained * lane_count;
  memset(header, 0, bytes);
  header->magic = SEGMENT_MAGIC;
  header->major = FORMAT_MAJOR;
  header->minor = FORMAT_MINOR;
  header->header_bytes = bytes;
  header->flags = flags;
  header->salt = salt;
  header->opening = origin->opening;
  header->log_id = origin->log_id;
  header->base_offset = base_offset;
  header->created_ns = sys_wall_ns();
  header->previous_salt = previous->salt;
  header->previous_end = previous->end;
  header->previous_base = previous->base;
  header->capacity = segment->capacity;
  header->lane_count = lane_count;
  memcpy(segment->map + SEGMENT_HEADER_BYTES, drained, sizeof *drained * lane_count);
  int error = sys_boot_id(header->boot_id);
  if (error != 0 && error != -ENOENT) return error;
  memcpy(header->captured_boot_id, origin->boot_id, sizeof header->captured_boot_id);
  header->header_crc = crc32c(segment->map + 20, bytes - 20);

  char name[64];
  segment_list_raw_name(name, base_offset, 1);
  error = segment_has_files(segment) ? sys_rename_new(segment->directory, segment->name, name) : -DESCRIPTOR_LOST;
  if (error != 0) return error;
  memcpy(segment->name, name, sizeof name);
  segment->at = bytes;
  segment->log_id = origin->log_id;
  segment->salt = salt;
  segment->opening = origin->opening;
  segment->base_offset = base_offset;
  segment->recovers = (flags & SEGMENT_RECOVERED) != 0;
  return 0;
}

uint64_t segment_seal_bytes(uint64_t definitions_bytes, uint32_t totals) {
  return sizeof(block_header) + sizeof(seal_summary) + definitions_bytes + totals * sizeof(gap_total) +
         SEAL_POSITION_BYTES;
}

uint64_t segment_room(const segment *segment) {
  uint64_t used = segment->at + segment_seal_bytes(segment->definitions_bytes, segment->totals) + sizeof(block_header);
  return used < segment->capacity ? segment->capacity - used : 0;
}

uint8_t *segment_payload(segment *segment) { return segment->map + segment->at + sizeof(block_header); }

static block_owner owner_of(const segment *segment) {
  return (block_owner){.log_id = segment->log_id, .salt = segment->salt, .opening = segment->opening};
}

/* Fills in the common fields of a block's header, the checksums last. */
static void complete(block_header *header, const uint8_t *payload, uint64_t position, block_owner owner) {
  header->magic = BLOCK_MAGIC;
  header->salt = owner.salt;
  header->position = position;
  header->opening = owner.opening;
  header->log_id = owner.log_id;
  header->payload_crc = crc32c(payload, header->payload_bytes);
  header->header_crc = crc32c((const uint8_t *)header + 8, sizeof *header - 8);
}

/*
 * Stores a header after its payload, and the header's first word last. A kill in between leaves neither magic nor
 * checksum, which no single damaged byte explains: so a half-written block differs from a damaged one.
 */
static void place_header(uint8_t *at, const block_header *header) {
  uint64_t first;
  memcpy(&first, header, sizeof first);
  memcpy(at + sizeof first, (const uint8_t *)header + sizeof first, sizeof *header - sizeof first);
  __atomic_store_n((uint64_t *)(void *)at, first, __ATOMIC_RELEASE); /* K3 */
}

/* Adds the block's events to the seal's sums. */
static void sum_up(seal_summary *summary, const block_header *header) {
  summary->blocks++;
  if (header->kind == BLOCK_NOTICES) summary->notices += header->count;
  if (header->kind != BLOCK_EVENTS) return;
  if (summary->events == 0 || header->first_ns < summary->first_ns) summary->first_ns = header->first_ns;
  if (summary->events == 0 || header->last_ns > summary->last_ns) summary->last_ns = header->last_ns;
  summary->events += header->count;
}

/* The offset after the segment's last event or notice. */
static uint64_t end_offset(const struct segment *segment) {
  return segment->base_offset + segment->summary.events + segment->summary.notices;
}

void segment_append(segment *segment, block_header *header) {
  INVARIANT(segment->map && !segment->sealed);
  INVARIANT(header->payload_bytes % 8 == 0 && header->base_offset == end_offset(segment));
  INVARIANT(header->payload_bytes + sizeof *header <= segment->capacity - segment->at);
  INVARIANT(header->kind != BLOCK_EVENTS || header->lane_to - header->lane_from == header->payload_bytes);
  complete(header, segment_payload(segment), segment->at, owner_of(segment));
  place_header(segment->map + segment->at, header);
  sum_up(&segment->summary, header);
  segment->at += sizeof *header + header->payload_bytes;
}

int segment_append_definitions(segment *segment, const uint8_t *entries, uint64_t bytes, uint64_t next_offset,
                               const calibration *calibration) {
  uint64_t total = segment->definitions_bytes + bytes;
  if (total > segment->definitions_room) {
    uint64_t room = total * 2;
    uint8_t *grown = (uint8_t *)realloc(segment->definitions, room);
    if (!grown) return -ENOMEM;
    segment->definitions = grown;
    segment->definitions_room = room;
  }
  memcpy(segment->definitions + segment->definitions_bytes, entries, bytes);
  segment->definitions_bytes = total;
  memcpy(segment_payload(segment), entries, bytes);
  block_header header = {.kind = BLOCK_DEFINITIONS,
                         .payload_bytes = (uint32_t)bytes,
                         .base_offset = next_offset,
                         .lane = NOTICE_LANE,
                         .calibration = *calibration};
  segment_append(segment, &header);
  return 0;
}

void segment_build_seal(uint8_t *bytes, uint64_t position, block_owner owner, const seal_summary *summary,
                        const uint8_t *definitions, const gap_total *totals, const calibration *calibration) {
  uint8_t *payload = bytes + sizeof(block_header);
  memcpy(payload, summary, sizeof *summary);
  if (summary->definition_bytes) memcpy(payload + sizeof *summary, definitions, summary->definition_bytes);
  uint64_t used = sizeof *summary + summary->definition_bytes, totals_bytes = summary->totals * sizeof *totals;
  if (totals_bytes) memcpy(payload + used, totals, totals_bytes);
  memcpy(payload + used + totals_bytes, &position, SEAL_POSITION_BYTES);
  uint64_t whole = segment_seal_bytes(summary->definition_bytes, summary->totals);
  block_header header = {
      .kind = BLOCK_SEAL,
      .payload_bytes = (uint32_t)(whole - sizeof(block_header)),
      .base_offset = summary->next_offset,
      .lane = NOTICE_LANE,
      .first_ns = summary->first_ns,
      .last_ns = summary->last_ns,
      .calibration = *calibration};
  complete(&header, payload, position, owner);
  place_header(bytes, &header);
}

void segment_seal(segment *segment, uint64_t next_offset, const gap_total *totals, uint32_t count,
                  const calibration *calibration) {
  INVARIANT(segment->map && !segment->sealed && next_offset == end_offset(segment));
  INVARIANT(segment_seal_bytes(segment->definitions_bytes, count) <= segment->capacity - segment->at);
  segment->summary.next_offset = next_offset;
  segment->summary.definition_bytes = (uint32_t)segment->definitions_bytes;
  segment->summary.totals = count;
  segment_build_seal(segment->map + segment->at, segment->at, owner_of(segment), &segment->summary,
                     segment->definitions, totals, calibration);
  segment->at += segment_seal_bytes(segment->definitions_bytes, count);
  segment->sealed = 1;
}

/* Frees the memory; the file stays. */
void segment_abandon(segment *segment) {
  sigbus_forget(segment->map);
  if (segment->map) sys_unmap(segment->map, segment->capacity);
  sys_close_file(segment->fd, &segment->file);
  free(segment->definitions);
  free(segment->kept);
  free(segment);
}

uint64_t segment_discard(segment *segment) {
  int gone = segment_has_files(segment) && sys_unlink(segment->directory, segment->name) == 0;
  uint64_t free = gone ? segment->taken : 0;
  segment_abandon(segment);
  return free;
}
