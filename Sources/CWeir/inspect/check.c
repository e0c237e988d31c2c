/* check.c: see check.h. */
#include "inspect/check.h"

#include <errno.h>
#include <string.h>

#include "directory/log_start.h"
#include "directory/segment_list.h"
#include "format/calibration.h"
#include "format/record.h"
#include "inspect/check_batch.h"
#include "inspect/findings.h"
#include "system/bytes.h"
#include "system/system.h"

static void allow_jumps(checker *checker) {
  for (uint32_t i = 0; i < WEIR_MAX_LANES; i++) checker->lanes[i].loose = 1;
}

int check_start(checker *checker, uint64_t base) {
  log_start_slot start;
  int found = log_start_read(checker->directory, checker->log_id, &start);
  if (log_start_problem(found)) {
    if (checker->start_reported) return 0;
    checker->start_reported = 1;
    findings_report(checker, START_NAME, 0, 0, checker->next_offset, 0, log_start_problem(found));
    return 0;
  }
  if (found <= 0) return found;
  checker->start = start;
  checker->out->removed_events = start.events;
  checker->out->bytes += sizeof start;
  uint64_t first = start.first_offset < base ? start.first_offset : base;
  if (first <= checker->next_offset) return 0;
  checker->next_offset = first;
  allow_jumps(checker); /* removed segments have drained them further */
  /* Only whole segments are removed: this one follows the last of them. */
  checker->have_previous = first == start.first_offset;
  checker->previous_salt = start.salt;
  checker->previous_base = start.base;
  checker->previous_end = start.end;
  return 0;
}

/* Reports a finding in this segment, because of which `count` offsets from the next one on are missing. */
static void report_damage(checker *checker, uint64_t from, uint64_t to, uint64_t count, const char *problem) {
  checker->damaged = 1;
  allow_jumps(checker);
  findings_report(checker, checker->name->name, from, to - from, checker->next_offset, count, problem);
  checker->next_offset += count;
}

/* Reports a broken rule where the checksums are right: no offset is missing. */
static void report_rule(checker *checker, uint64_t position, uint64_t bytes, const char *problem) {
  checker->damaged = 1;
  findings_report(checker, checker->name->name, position, bytes, checker->next_offset, 0, problem);
}

/* ---- The header -------------------------------------------------------------------------------------------------- */

/* Compares the lanes' positions in the header with those that the blocks before it drained. */
static void check_drained(checker *checker, const segment_scan *scan) {
  int same = checker->opening == scan->header.opening;
  int agrees = 1;
  for (uint32_t i = 0; i < WEIR_MAX_LANES; i++) {
    lane_progress *lane = &checker->lanes[i];
    if (!scan->header_valid || i >= scan->header.lane_count) {
      if (!same) *lane = (lane_progress){0};
      continue;
    }
    lane_mark drained = scan->drained[i];
    if (drained.position == LANE_UNKNOWN) {
      if (!same) *lane = (lane_progress){0};
      continue;
    }
    int follows = same && lane->known && !(scan->header.incompatible & SEGMENT_COLLECTED);
    if (follows && (lane->loose ? drained.position < lane->to : drained.position != lane->to)) agrees = 0;
    *lane = (lane_progress){.to = drained.position, .known = 1};
  }
  if (agrees) return;
  report_rule(checker, SEGMENT_HEADER_BYTES, 0, "lane positions in the header are not those of the blocks before");
}

static void check_header(checker *checker, const segment_scan *scan, const scan_damage *damage) {
  const segment_header *header = &scan->header;
  if (damage->reason) {
    uint64_t count = header->base_offset > checker->next_offset && !scan->header_valid
                         ? header->base_offset - checker->next_offset
                         : 0;
    checker->damaged = 1;
    findings_report(checker, checker->name->name, damage->from, damage->to - damage->from, checker->next_offset, count,
               damage->reason);
    checker->next_offset += count;
  }
  if (header->base_offset < checker->next_offset) {
    report_rule(checker, 0, 0, "segment begins below the offset where the one before it ended");
  }
  if (header->base_offset > checker->next_offset) allow_jumps(checker);
  int missing = header->base_offset > checker->next_offset;
  if (scan->header_valid && (header->flags & SEGMENT_AFTER_CUT)) checker->next_offset = header->base_offset;
  findings_hole(checker, checker->name->name, 0, header->base_offset, "offsets missing before this segment");
  check_drained(checker, scan);
  if (!scan->header_valid) return;
  if (header->flags & ~(uint32_t)(SEGMENT_RECOVERED | SEGMENT_AFTER_CUT)) {
    report_rule(checker, 20, 4, "segment header has unknown flags");
  }
  /* If offsets are missing, the previous segment may be the one that is missing. */
  if (missing || (!checker->have_previous && header->base_offset > 0)) return;
  uint64_t salt = checker->have_previous ? checker->previous_salt : 0;
  if (header->previous_salt != salt) {
    report_rule(checker, offsetof(segment_header, previous_salt), 8,
                "the segment before is not the one that was there");
  } else if (checker->have_previous && (header->previous_base != checker->previous_base ||
                                        (checker->previous_end && header->previous_end != checker->previous_end))) {
    report_rule(checker, offsetof(segment_header, previous_end), 16,
                "the segment before has not the length that it had");
  }
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

/* The problem of a record in a block whose checksum is right; null: none. */
static const char *record_problem(const block_header *block, uint32_t seed, uint64_t position, const uint8_t *bytes) {
  record_header record;
  memcpy(&record, bytes, sizeof record);
  uint64_t used = sizeof record + record.length;
  if (!bytes_are_zero(bytes + used, record_size(record.length) - used)) return "padding of a record is not zero";
  if (record_checksum(seed, position, bytes) != record.checksum) return "record checksum does not match";
  int notice = record.type == WEIR_TYPE_GAP || record.type == WEIR_TYPE_HOLE;
  if (block->kind == BLOCK_NOTICES && !notice) return "record has a type that is no notice's";
  return NULL;
}

static void check_times(checker *checker, const block_header *block, int64_t first, int64_t last) {
  if (block->first_ns != first || block->last_ns != last) {
    report_rule(checker, block->position, sizeof *block, "block's times are not those of its records");
  }
}

/* Whether a record's type, and its context if it has one, were defined before it. */
static const char *definition_problem(const checker *checker, uint64_t opening, const record_header *record) {
  uint32_t type = record_type(record->type), context = record_context(record->type);
  if (type >= WEIR_TYPE_FIRST && !definitions_type(&checker->defined, opening, type)) {
    return "event's type is not defined before it";
  }
  if (context != 0 && !definitions_context(&checker->defined, opening, context)) {
    return "event's context is not defined before it";
  }
  return NULL;
}

/*
 * Checks every record of a block. `defined`: the type of the last record whose definitions were found; equal types have
 * equal definitions, and no definition is added within a block.
 */
static void check_records(checker *checker, const segment_scan *scan) {
  const block_header *block = &scan->block;
  int notices = block->kind == BLOCK_NOTICES;
  uint32_t seed = record_seed(block->opening, notices ? (uint32_t)NOTICE_LANE : block->lane);
  uint64_t at = 0;
  uint32_t index = 0, defined = 0;
  int64_t first = 0, last = 0;
  for (uint32_t i = 0; i < block->count; i++) {
    const uint8_t *bytes = scan->payload + at;
    record_header record;
    memcpy(&record, bytes, sizeof record);
    uint64_t position = notices ? (block->base_offset + i) * 8 : block->lane_from + at;
    uint64_t size = record_size(record.length);
    const char *problem = record_problem(block, seed, position, bytes);
    uint32_t step = record.index - index;
    index = record.index;
    if (!problem && i > 0 && !notices && (step == 0 || step > INT32_MAX)) problem = "records are not numbered upwards";
    if (problem) report_rule(checker, block->position + sizeof *block + at, size, problem);
    int64_t time = calibration_time(&block->calibration, record.ticks);
    if (i == 0 || time < first) first = time;
    if (i == 0 || time > last) last = time;
    if (record.type != defined && !checker->damaged && !checker->undefined_reported) {
      problem = definition_problem(checker, block->opening, &record);
      checker->undefined_reported = problem != NULL;
      if (problem) report_rule(checker, block->position + sizeof *block + at, size, problem);
      else defined = record.type;
    }
    at += size;
  }
  check_times(checker, block, first, last);
}

/* Checks that a lane's blocks follow on one another, but for blocks that damage took. */
static void check_lane(checker *checker, const block_header *block) {
  lane_progress *lane = &checker->lanes[block->lane];
  if (lane->known && (lane->loose ? block->lane_from < lane->to : block->lane_from != lane->to)) {
    report_rule(checker, block->position, sizeof *block, "lane positions do not follow on from the block before");
  }
  *lane = (lane_progress){.to = block->lane_to, .known = 1};
}

static void take_lost(checker *checker, const segment_scan *scan) {
  uint64_t at = 0;
  for (uint32_t i = 0; i < scan->block.count; i++) {
    record_header record;
    memcpy(&record, scan->payload + at, sizeof record);
    int32_t reason;
    uint64_t dropped;
    if (scan_lost(scan->payload + at, &reason, &dropped)) checker->sums.dropped[reason] += dropped;
    at += record_size(record.length);
  }
}

static int check_block(checker *checker, const segment_scan *scan) {
  const block_header *block = &scan->block;
  seal_summary *sums = &checker->sums;
  checker->out->blocks++;
  checker->out->bytes += sizeof *block + block->payload_bytes;
  sums->blocks++;
  if (block->base_offset < checker->next_offset) {
    report_rule(checker, block->position, sizeof *block, "block's offsets are below those before it");
  }
  if (block->base_offset > checker->next_offset) allow_jumps(checker);
  findings_hole(checker, checker->name->name, block->position, block->base_offset, "offsets missing before this block");
  if (block->lane < WEIR_MAX_LANES) check_lane(checker, block);
  if (block->kind == BLOCK_DEFINITIONS) {
    check_times(checker, block, 0, 0);
    return definitions_take(&checker->defined, block->opening, scan->payload, block->payload_bytes);
  }
  check_records(checker, scan);
  if (block->kind == BLOCK_NOTICES) {
    sums->notices += block->count;
    take_lost(checker, scan);
  } else {
    if (sums->events == 0 || block->first_ns < sums->first_ns) sums->first_ns = block->first_ns;
    if (sums->events == 0 || block->last_ns > sums->last_ns) sums->last_ns = block->last_ns;
    sums->events += block->count;
    checker->out->events += block->count;
  }
  uint64_t end = block->base_offset + block->count;
  if (end > checker->next_offset) checker->next_offset = end;
  return 0;
}

/* ---- The seal ---------------------------------------------------------------------------------------------------- */

/* Whether the seal repeats every definition of the segment's blocks. */
static int seal_has_definitions(checker *checker, const segment_scan *scan, const seal_summary *seal, int *error) {
  definition_table table = {0};
  *error = definitions_take(&table, scan->block.opening, scan_seal_definitions(scan), seal->definition_bytes);
  int all = 1;
  for (uint64_t i = 0; i < checker->defined.slot_room && checker->defined.opening == scan->block.opening; i++) {
    const definition_slot *slot = &checker->defined.slots[i];
    if (slot->definition && !definitions_find(&table, scan->block.opening, slot->number)) all = 0;
  }
  definitions_free(&table);
  return all;
}

static int check_sums(checker *checker, const segment_scan *scan) {
  const seal_summary *seal = scan_summary(scan), *sums = &checker->sums;
  uint64_t at = scan->block.position, size = sizeof scan->block + scan->block.payload_bytes;
  int error;
  if (seal->next_offset != scan->block.base_offset || seal->next_offset != checker->next_offset) {
    report_rule(checker, at, size, "seal's next offset is not the segment's");
  }
  if (seal->events != sums->events || seal->notices != sums->notices || seal->blocks != sums->blocks) {
    report_rule(checker, at, size, "seal's counts are not the segment's");
  }
  if (seal->first_ns != sums->first_ns || seal->last_ns != sums->last_ns || scan->block.first_ns != seal->first_ns ||
      scan->block.last_ns != seal->last_ns) {
    report_rule(checker, at, size, "seal's times are not the segment's");
  }
  /* Early logs have 0 here. */
  uint64_t in_holes = seal->dropped[LOST_IN_HOLES];
  if (memcmp(seal->dropped + 1, sums->dropped + 1, sizeof seal->dropped - sizeof in_holes) != 0 ||
      (in_holes != 0 && in_holes != sums->dropped[LOST_IN_HOLES])) {
    report_rule(checker, at, size, "seal's refusals are not those of the segment's gap and hole records");
  }
  if (seal->flags & ~(uint32_t)SEAL_RECOVERED) report_rule(checker, at, size, "seal has unknown flags");
  if (!seal_has_definitions(checker, scan, seal, &error)) {
    report_rule(checker, at, size, "seal lacks a definition of the segment");
  }
  return error;
}

/*
 * Checks the bytes after the seal: none, or zeros if the writer has not cut the file yet. A recovery that was killed
 * before it cut the file leaves the end of a half-written block.
 */
static int check_after_seal(checker *checker, const segment_scan *scan) {
  if (scan->file_bytes <= scan->position) return 0;
  uint64_t rest = scan->file_bytes - scan->position;
  if (!scan->active) {
    report_rule(checker, scan->position, rest, "bytes after the seal");
    return 0;
  }
  const seal_summary *seal = scan_summary(scan);
  if (seal && seal->flags & SEAL_RECOVERED) return 0;
  uint8_t bytes[4096];
  for (uint64_t at = scan->position; at < scan->file_bytes;) {
    int64_t got = source_read(&scan->source, bytes, sizeof bytes, at);
    if (got < 0) return (int)got;
    if (got == 0) break;
    if (!bytes_are_zero(bytes, (uint64_t)got)) {
      report_rule(checker, at, (uint64_t)got, "bytes after the seal are not zero");
      break;
    }
    at += (uint64_t)got;
  }
  return 0;
}

/* ---- A segment --------------------------------------------------------------------------------------------------- */

static void check_tail(checker *checker, const segment_scan *scan, const scan_damage *damage, int resync) {
  if (!resync) return; /* a live writer's last segment: the next block is being written */
  if (damage->reason || !scan->active) {
    uint64_t end = damage->first_offset + damage->count;
    uint64_t count = damage->count > 0 && end > checker->next_offset ? end - checker->next_offset : 0;
    uint64_t to = scan->active ? damage->to : scan->file_bytes;
    report_damage(checker, damage->from, to, count, damage->reason ? damage->reason : "sealed segment has no seal");
  } else {
    checker->out->torn_bytes += damage->to - damage->from;
  }
}

static int check_blocks(checker *checker, segment_scan *scan, int resync) {
  for (;;) {
    scan_damage damage;
    int error = 0;
    switch (scan_next(scan, resync, &damage)) {
      case SCAN_BLOCK:
        error = check_batch_block(checker, scan);
        if (error == 0) error = check_block(checker, scan);
        break;
      case SCAN_DAMAGE: {
        uint64_t end = damage.first_offset + damage.count;
        report_damage(checker, damage.from, damage.to, end > checker->next_offset ? end - checker->next_offset : 0,
                    damage.reason);
        break;
      }
      case SCAN_SEALED:
        checker->out->blocks++;
        checker->out->bytes += sizeof scan->block + scan->block.payload_bytes;
        if (scan->block.base_offset > checker->next_offset) {
          findings_hole(checker, checker->name->name, scan->block.position, scan->block.base_offset,
                     "offsets missing before the seal");
          checker->damaged = 1;
          allow_jumps(checker);
        }
        error = check_batch_block(checker, scan);
        if (error == 0 && !checker->damaged) error = check_sums(checker, scan);
        return error == 0 ? check_after_seal(checker, scan) : error;
      case SCAN_TAIL:
        check_tail(checker, scan, &damage, resync);
        return 0;
      case SCAN_ERROR:
        return damage.error;
    }
    if (error != 0) return error;
  }
}

static void check_no_segment(checker *checker, const scan_damage *damage, int last) {
  int blank = damage->to == 0;
  if (blank && last && checker->name->active) return; /* the segment was being begun */
  findings_report(checker, checker->name->name, 0, damage->to, checker->next_offset, 0,
             blank ? "segment file holds only zeros" : damage->reason);
}

int check_scan(checker *checker, const segment_name *name, segment_scan *scan, const scan_damage *damage, int last) {
  int error = 0;
  checker->name = name;
  checker->damaged = 0;
  checker->undefined_reported = 0;
  memset(&checker->sums, 0, sizeof checker->sums);
  checker->headers.count = 0;
  checker->headers.columns_wrong = 0;
  checker->out->segments++;
  if (scan->header.salt == 0) {
    check_no_segment(checker, damage, last);
    return 0;
  }
  /* A live log may have removed the file since the listing. */
  if (checker->live && scan->header.base_offset > checker->next_offset) {
    error = check_start(checker, scan->header.base_offset);
  }
  check_header(checker, scan, damage);
  checker->opening = scan->header.opening;
  uint64_t bytes = checker->out->bytes;
  checker->out->bytes += scan->start;
  definitions_free(&checker->defined);
  if (error == 0) error = check_blocks(checker, scan, !(checker->live && last && name->active));
  if (scan->source.batch) {
    checker->out->bytes = bytes + scan->disk_bytes;
    if (error == 0) error = check_batch(checker, scan, scan->next_offset);
  }
  if (error == 0 && checker->scanned) checker->scanned(checker->context, scan);
  checker->have_previous = 1;
  checker->previous_salt = scan->header.salt;
  checker->previous_base = name->base;
  checker->previous_end = scan->sealed ? scan->position : name->active ? 0 : scan->file_bytes;
  memcpy(checker->last_name, name->name, sizeof checker->last_name);
  checker->last_end = scan->position;
  checker->last_active = name->active && !scan->sealed;
  definitions_free(&checker->defined);
  return error;
}

int check_segment(checker *checker, segment_name *name, int last) {
  segment_scan scan;
  scan_damage damage;
  int error = scan_open_named(&scan, checker->directory, checker->log_id, name, &damage);
  if (error == -ELOOP) {
    findings_report(checker, name->name, 0, 0, checker->next_offset, 0, "not a plain file");
    return 0;
  }
  if (error != 0) return error;
  error = check_scan(checker, name, &scan, &damage, last);
  scan_close(&scan);
  return error;
}
