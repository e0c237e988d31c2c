/* unsealed.c: scanning and sealing a segment that its writer left unsealed. See unsealed.h. */
#include "recover/unsealed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "directory/quarantine.h"
#include "directory/segment_list.h"
#include "format/definition.h"
#include "format/notice.h"
#include "ring/ring_owner.h"
#include "segment/scan.h"
#include "system/system.h"

static int has(const uint64_t *set, uint32_t type) { return type < MAX_TYPES && (set[type / 64] >> type % 64 & 1); }
static void add(uint64_t *set, uint32_t type) {
  if (type < MAX_TYPES) set[type / 64] |= UINT64_C(1) << type % 64;
}

/* MOST_DEFINITIONS_BYTES: the definitions that a seal has room for beside its summary and the most gap totals. */
enum {
  MOST_TOTALS = (WEIR_MAX_LANES + 1) * (WEIR_DROP_REASONS - 1),
  MOST_DEFINITIONS_BYTES =
      MAX_BLOCK_PAYLOAD_BYTES - sizeof(seal_summary) - MOST_TOTALS * sizeof(gap_total) - SEAL_POSITION_BYTES
};

/* Keeps a definition for the seal. */
static int keep_definition(unsealed *found, const definition_header *entry) {
  if (entry->type >= MAX_TYPES || has(found->defined, entry->type)) return 0;
  uint64_t total = found->definitions_bytes + entry->bytes;
  /* More than a seal can hold is more than any writer defines. */
  if (total > MOST_DEFINITIONS_BYTES) return 0;
  if (total > found->definitions_room) {
    uint8_t *grown = (uint8_t *)realloc(found->definitions, total * 2);
    if (!grown) return -ENOMEM;
    found->definitions = grown;
    found->definitions_room = total * 2;
  }
  memcpy(found->definitions + found->definitions_bytes, entry, entry->bytes);
  found->definitions_bytes = total;
  add(found->defined, entry->type);
  return 0;
}

static int take_definitions(unsealed *found, const segment_scan *scan) {
  uint64_t at = 0;
  int error = 0;
  const definition_header *entry;
  while (error == 0 && (entry = definition_next(scan->payload, scan->block.payload_bytes, &at, scan->block.opening))) {
    error = keep_definition(found, entry);
  }
  return error;
}

/*
 * Records the types and contexts that a block's records use, and what gap and hole records report. Event blocks need
 * this only after damage: without damage every definition was read, because it comes before the first record that needs
 * it.
 */
static void take_records(unsealed *found, const segment_scan *scan) {
  for (uint64_t at = 0; at + sizeof(record_header) <= scan->block.payload_bytes;) {
    record_header record;
    memcpy(&record, scan->payload + at, sizeof record);
    add(found->used, record_type(record.type));
    add(found->used, record_context(record.type));
    uint64_t size = record_size(record.length);
    if (size > scan->block.payload_bytes - at) break;
    if (scan->block.kind == BLOCK_NOTICES && record.type == WEIR_TYPE_HOLE) {
      uint64_t events = notice_read_hole(scan->payload + at + sizeof record, record.length);
      int whole_ring = scan->block.lane == NOTICE_LANE;
      found->ring_losses += whole_ring;
      found->holes += !whole_ring;
      if (!whole_ring && events != RECORDS_UNKNOWN) found->hole_events += events;
      if (events != RECORDS_UNKNOWN) found->summary.dropped[LOST_IN_HOLES] += events;
    }
    uint32_t lane;
    int32_t reason;
    uint64_t total, dropped;
    if (scan->block.kind == BLOCK_NOTICES && record.type == WEIR_TYPE_GAP &&
        notice_read_gap(scan->payload + at + sizeof record, record.length, &lane, &reason, &total, &dropped)) {
      found->summary.dropped[reason] += dropped;
    }
    at += size;
  }
}

static int take_block(unsealed *found, const segment_scan *scan, weir_recovery *report) {
  const block_header *block = &scan->block;
  seal_summary *summary = &found->summary;
  summary->blocks++;
  found->calibration = block->calibration;
  if (block->kind == BLOCK_DEFINITIONS) return take_definitions(found, scan);
  if (found->damaged || block->kind == BLOCK_NOTICES) take_records(found, scan);
  if (block->kind == BLOCK_NOTICES) summary->notices += block->count;
  if (block->kind != BLOCK_EVENTS) return 0;
  if (summary->events == 0 || block->first_ns < summary->first_ns) summary->first_ns = block->first_ns;
  if (summary->events == 0 || block->last_ns > summary->last_ns) summary->last_ns = block->last_ns;
  summary->events += block->count;
  report->events_in_segments += block->count;
  return 0;
}

/*
 * Copies damaged bytes to quarantine/. The header of a damaged last block says which offsets it held; they are counted
 * against the ring later.
 */
static int take_damage(unsealed *found, const segment_scan *scan, int directory, const segment_name *name,
                       const scan_damage *damage, unreported *losses) {
  found->damaged = 1;
  losses->damaged_blocks++;
  losses->damaged_bytes += damage->to - damage->from;
  uint64_t end = damage->first_offset + damage->count;
  if (end > found->damaged_end) found->damaged_end = end;
  damaged_block block = {.fd = scan->source.file.fd,
                         .from = damage->from,
                         .first_offset = damage->first_offset,
                         .offsets = damage->count,
                         .reason = damage->reason};
  source_place(&scan->source, damage->from, damage->to, &block.file_from, &block.file_to);
  int result = quarantine_block(directory, name, &block);
  if (result == QUARANTINE_FULL) losses->unkept_bytes += damage->to - damage->from;
  return result < 0 ? result : 0;
}

/* Sets `*used` to the end of the bytes that are not zero. 1: the segment has its seal; 0; or a negative errno. */
static int scan_blocks(unsealed *found, segment_scan *scan, int directory, const segment_name *name, drained *drained,
                       unreported *losses, weir_recovery *report, uint64_t *used) {
  for (;;) {
    scan_damage damage;
    int error = 0;
    switch (scan_next(scan, 1, &damage)) {
      case SCAN_BLOCK:
        drained_block(drained, scan);
        error = take_block(found, scan, report);
        break;
      case SCAN_DAMAGE:
        if (!drained->rebooted) losses->missing_events += damage.count; /* else the records' indices count them */
        error = take_damage(found, scan, directory, name, &damage, losses);
        break;
      case SCAN_SEALED:
        return 1;
      case SCAN_TAIL:
        if (damage.to > damage.from) *used = damage.to;
        return damage.reason ? take_damage(found, scan, directory, name, &damage, losses) : 0;
      case SCAN_ERROR:
        return damage.error;
    }
    if (error != 0) return error;
  }
}

/* Keeps the totals that the log reports as lost so far, for the seal. */
static int keep_totals(unsealed *found, const drained *drained) {
  if (found->opening != drained->opening) return 0;
  uint64_t count = 0; /* no more than there are: recovery holds those of all unsealed segments */
  for (uint32_t row = 0; row <= WEIR_MAX_LANES; row++) {
    for (uint32_t reason = 1; reason < WEIR_DROP_REASONS; reason++) count += drained->reported[row][reason] > 0;
  }
  found->totals = (gap_total *)calloc(count + 1, sizeof *found->totals);
  if (!found->totals) return -ENOMEM;
  for (uint32_t row = 0; row <= WEIR_MAX_LANES; row++) {
    uint32_t lane = row < WEIR_MAX_LANES ? row : (uint32_t)NOTICE_LANE;
    for (uint32_t reason = 1; reason < WEIR_DROP_REASONS; reason++) {
      uint64_t total = drained->reported[row][reason];
      if (total > 0) found->totals[found->summary.totals++] = (gap_total){lane, reason, total};
    }
  }
  return 0;
}

static unsealed_fate fate_of(const unsealed *found, const segment_name *name, int has_seal) {
  if (!name->active) return found->salt != 0 ? FATE_KEPT : FATE_QUARANTINED;
  if (found->problem) return FATE_QUARANTINED;
  if (has_seal) return FATE_NAMED;
  return found->summary.events + found->summary.notices > 0 ? FATE_SEALED : FATE_REMOVED;
}

int unsealed_scan(unsealed *found, int directory, uint64_t log_id, const segment_name *name, const orphan *orphan,
                  drained *drained, unreported *losses, weir_recovery *report) {
  segment_scan scan;
  scan_damage damage;
  int error = scan_open(&scan, directory, log_id, name->name, name->base, name->active, &damage);
  if (error != 0) return error;
  memcpy(found->boot_id, scan.header.boot_id, sizeof found->boot_id);
  if (drained_forgets(drained, &scan)) {
    found->fate = FATE_REMOVED;
    scan_close(&scan);
    return 0;
  }
  drained_segment(drained, &scan);
  found->drained = scan.header_valid && (scan.header.flags & SEGMENT_RECOVERED);
  if (orphan) found->calibration = orphan->calibration;
  /* Without a header nobody knows what lay before the first good block. */
  found->damaged = !scan.header_valid;
  uint64_t used = damage.to; /* without a header, scan_open has searched the file up to there */
  int result = scan_blocks(found, &scan, directory, name, drained, losses, report, &used);
  found->end = scan.position;
  found->log_id = scan.header.log_id;
  found->salt = scan.header.salt;
  found->opening = scan.header.opening;
  found->base = scan.header.base_offset;
  found->next_offset = scan.next_offset;
  /* A seal says where the log ends even if the last block before it is damaged. */
  if (found->salt != 0 && drained->log_end < scan.next_offset) drained->log_end = scan.next_offset;
  report->bytes_scanned += scan.file_bytes;
  if (result == 0) {
    uint64_t from = found->summary.blocks == 0 && !scan.header_valid ? 0 : scan.position;
    uint64_t torn = used > from ? used - from : 0;
    if (from == 0 && torn > 0) found->problem = damage.reason;
    report->torn_bytes += torn;
  }
  found->fate = fate_of(found, name, result);
  scan_close(&scan);
  return result < 0 ? result : keep_totals(found, drained);
}

/* Adds from the orphaned ring the definitions that records need and no good block has. */
static int complete_definitions(unsealed *found, const orphan_types *types) {
  if (types->opening != found->opening) return 0;
  for (uint32_t type = 1; type < MAX_TYPES; type++) {
    const definition_header *entry = orphan_types_find(types, type);
    if (!entry || !has(found->used, type) || has(found->defined, type)) continue;
    int error = keep_definition(found, entry);
    if (error != 0) return error;
  }
  return 0;
}

static int write_seal(unsealed *found, int fd, const orphan_types *types) {
  int error = complete_definitions(found, types);
  if (error != 0) return error;
  found->summary.next_offset = found->next_offset;
  found->summary.flags = SEAL_RECOVERED;
  found->summary.definition_bytes = (uint32_t)found->definitions_bytes;
  uint64_t bytes = segment_seal_bytes(found->definitions_bytes, found->summary.totals);
  uint8_t *seal = (uint8_t *)calloc(1, bytes);
  if (!seal) return -ENOMEM;
  const block_owner owner = {found->log_id, found->salt, found->opening};
  segment_build_seal(seal, found->end, owner, &found->summary, found->definitions,
                     found->totals, &found->calibration);
  /* As in a mapped segment the first word is written last: a kill can cut a write short. */
  error = sys_write_at(fd, seal + 8, bytes - 8, found->end + 8);
  if (error == 0) error = sys_write_at(fd, seal, 8, found->end);
  free(seal);
  if (error == 0) found->end += bytes;
  return error;
}

/* Gives a file a sealed name that neither a raw segment nor a batch has. 0, -EEXIST or another negative errno. */
static int rename_to_free(int directory, const char *name, uint64_t base) {
  char sealed[64];
  struct stat status;
  segment_list_batch_name(sealed, base);
  int error = sys_status_at(directory, sealed, &status);
  if (error != -ENOENT) return error == 0 ? -EEXIST : error;
  segment_list_raw_name(sealed, base, 0);
  return sys_rename_new(directory, name, sealed);
}

/*
 * Gives the file its sealed name. If another segment already has that name, the file gets the next free one, which
 * keeps its place in the readers' order. If the file is a copy of that segment, it is quarantined. `*base` is set to
 * the base in the name.
 */
static int name_sealed(const unsealed *found, int directory, const segment_name *name, uint64_t *base) {
  enum { TRIES = 1000 };
  for (*base = name->base; *base < name->base + TRIES; ++*base) {
    int error = rename_to_free(directory, name->name, *base);
    if (error != -EEXIST) return error;
    int already = scan_is_sealed(directory, found->log_id, *base, found->salt);
    if (already < 0 && already != -ELOOP) return already;
    if (already == 1) return quarantine_file(directory, name->name, "a copy of a segment that is sealed", 0);
  }
  return -EEXIST;
}

int unsealed_seal(unsealed *found, int directory, const segment_name *name, const orphan_types *types) {
  if (found->fate == FATE_KEPT) return 0;
  if (found->fate == FATE_REMOVED) return sys_unlink(directory, name->name);
  if (found->fate == FATE_QUARANTINED) { /* not left there: its name may be needed */
    const char *problem = found->problem ? found->problem : "segment file holds only zeros";
    return quarantine_file(directory, name->name, problem, 0);
  }
  int fd = sys_open_write(directory, name->name);
  if (fd < 0) return fd;
  int error = found->fate == FATE_SEALED ? write_seal(found, fd, types) : 0;
  if (error == 0) error = sys_truncate(fd, found->end);
  if (error == 0) sys_start_writeback(fd);
  sys_close(fd);
  return error;
}

static int copy_bytes(int from, int to, uint64_t bytes) {
  enum { CHUNK = 1 << 18 };
  uint8_t *chunk = (uint8_t *)malloc(CHUNK);
  int64_t count = chunk ? 1 : -ENOMEM;
  for (uint64_t at = 0; at < bytes && count > 0; at += (uint64_t)count) {
    count = sys_read_at(from, chunk, bytes - at < CHUNK ? bytes - at : (uint64_t)CHUNK, at);
    int error = count > 0 ? sys_write_at(to, chunk, (uint64_t)count, at) : 0;
    if (error != 0) count = error;
  }
  free(chunk);
  return count > 0 ? 0 : count == 0 ? -EIO : (int)count;
}

/* Replaces a sealed file by a synced copy under the same name. */
static int renew(const unsealed *found, int directory, const char *name, int fd) {
  static const char copy[] = PREPARED_PREFIX "0"; /* a leftover's name: the next opening removes what a kill leaves */
  int made = sys_open_create(directory, copy);
  if (made < 0) return made;
  int error = copy_bytes(fd, made, found->end);
  if (error == 0) error = sys_sync_data(made);
  if (error == 0) error = sys_rename(directory, copy, name);
  if (error != 0) sys_unlink(directory, copy);
  sys_close(made);
  return error;
}

int unsealed_finish(const unsealed *found, int directory, const segment_name *name, uint64_t *sync_failed,
                    segment_end *last) {
  if (found->fate == FATE_REMOVED || found->fate == FATE_QUARANTINED) return 0;
  *last = (segment_end){.salt = found->salt, .end = found->end, .base = name->base};
  if (found->fate == FATE_KEPT) return 0;
  int fd = sys_open_write(directory, name->name);
  if (fd < 0) return fd;
  int error;
  if (!sync_failed || *sync_failed) {
    error = renew(found, directory, name->name, fd);
  } else {
    error = sys_sync_data(fd);
    if (error != 0) __atomic_store_n(sync_failed, 1, __ATOMIC_RELEASE); /* K2 */
  }
  sys_close(fd);
  if (error == 0) error = name_sealed(found, directory, name, &last->base);
  return error;
}

void unsealed_free(unsealed *found) {
  free(found->definitions);
  free(found->totals);
}
