/*
 * collection.c: a log that is made of parts of other logs: see weir_collection in weir.h.
 *
 * The records stay as they were captured: a checksum covers opening, lane and position of each, and neither its offset
 * nor its log. So a record moves to another log by being copied, and keeps its id. Each segment has records of one
 * opening, and says in its header where they come from.
 *
 * What is kept true:
 *   - A segment gets its name once all of it is on the disk. So a kill leaves the segments up to some offset, each as a
 *     whole, and temporary files, which the next opening removes.
 *   - The segments themselves say what was collected (weir_collection_read), so nothing else has to agree with them.
 *   - The ring is closed: nobody captures here, so a recovery has nothing to drain.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "batch/batch.h"
#include "directory/directory.h"
#include "directory/log_lock.h"
#include "directory/segment_list.h"
#include "limits/byte_limit.h"
#include "limits/claim.h"
#include "limits/retention.h"
#include "part/part_builder.h"
#include "segment/scan.h"
#include "system/error.h"
#include "system/system.h"

/* Segments of one opening grow to so many bytes before they are packed. So many wait for a commit, at most. */
enum { COLLECTED_BYTES = 8 << 20, MOST_WAITING = 256 };

/* A segment that has a temporary name. */
typedef struct waiting_segment {
  int fd;
  uint64_t base;
  uint64_t bytes;
} waiting_segment;

struct weir_collection {
  log_lock held;
  weir_options options;
  struct retention *retention;
  uint64_t next_offset;
  segment_end previous;
  int failed;
  part_builder builder; /* the segment that is being filled, if it has any record */
  int begun;
  batch_work work;
  uint8_t *packed;
  uint64_t packed_room;
  waiting_segment waiting[MOST_WAITING];
  uint32_t waiting_count;
  definition_table definitions; /* of the part that is added */
};

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/* Recovers the log by an opening for captures, which leaves a closed ring. Removes nothing. */
static weir_status recover(const char *directory, const weir_options *options, weir_recovery *recovery,
                           weir_error *error) {
  weir_options unbounded = *options;
  unbounded.max_bytes = unbounded.retain_bytes = unbounded.retain_ns = 0;
  unbounded.remove_delivered = 0;
  weir_log *log;
  weir_status status = weir_open(directory, &unbounded, &log, recovery, error);
  if (status != WEIR_OK) return status;
  status = weir_close(log, error);
  weir_free(log);
  return status;
}

/* Reads what the next segment's header says of the one before it. 0 or a negative errno. */
static int read_last(weir_collection *collection) {
  segment_list list;
  int error = segment_list_read(collection->held.directory, &list);
  if (error == 0 && list.count > 0) {
    segment_name *last = &list.items[list.count - 1];
    segment_scan scan;
    scan_damage damage;
    error = scan_open_named(&scan, collection->held.directory, collection->held.log_id, last, &damage);
    if (error == 0) {
      collection->previous = (segment_end){scan.header.salt, scan.file_bytes, last->base};
      scan_close(&scan);
    }
  }
  segment_list_free(&list);
  return error;
}

static weir_status take_log(weir_collection *collection, weir_recovery *recovery, weir_error *error) {
  weir_status status = log_lock_take(&collection->held, 0, error);
  if (status != WEIR_OK) return status;
  int result = log_lock_id(collection->held.directory, &collection->held.log_id);
  if (result == 0 && collection->held.log_id == 0) result = -EIO;
  if (result == 0) result = log_lock_identify(&collection->held, collection->held.log_id);
  if (result == 0) result = read_last(collection);
  if (result != 0) return log_lock_fail(&collection->held, result, "open", error);
  uint64_t start;
  status = retention_open(&collection->held, &collection->options, &collection->retention, &start, recovery, error);
  if (collection->retention) collection->retention->covered = 0;
  return status == WEIR_OK ? retention_settle(collection->retention, error) : status;
}

weir_status weir_collection_open(const char *directory, const weir_options *options, weir_collection **collection,
                                 weir_recovery *recovery, weir_error *error) {
  *collection = NULL;
  weir_recovery ignored;
  if (!recovery) recovery = &ignored;
  weir_options chosen;
  weir_options_init(&chosen);
  if (options) {
    chosen.max_bytes = options->max_bytes;
    chosen.limit_policy = options->limit_policy;
    chosen.retain_bytes = options->retain_bytes;
    chosen.retain_ns = options->retain_ns;
    chosen.remove_delivered = options->remove_delivered;
    chosen.create = options->create;
  }
  chosen.threadless = 1;
  chosen.lane_count = 2;
  chosen.spare_lanes = 1;
  chosen.lane_bytes = 256 << 10;
  chosen.overflow_bytes = 0;
  weir_status status = recover(directory, &chosen, recovery, error);
  if (status != WEIR_OK) return status;
  weir_collection *made = (weir_collection *)calloc(1, sizeof *made);
  if (!made || log_lock_make(&made->held, directory) != 0) {
    if (made) log_lock_free(&made->held);
    free(made);
    return fail(error, WEIR_ERROR_MEMORY, ENOMEM, directory, "out of memory to open %s", directory);
  }
  made->options = chosen;
  made->next_offset = recovery->first_offset;
  status = take_log(made, recovery, error);
  if (status == WEIR_OK) *collection = made;
  else weir_collection_close(made);
  return status;
}

void weir_collection_close(weir_collection *collection) {
  if (!collection) return;
  for (uint32_t i = 0; i < collection->waiting_count; i++) {
    char name[64];
    batch_temporary_name(name, collection->waiting[i].base);
    sys_close(collection->waiting[i].fd);
    if (log_lock_check(&collection->held) == 0) batch_remove_temporary(collection->held.directory, name);
  }
  part_builder_free(&collection->builder);
  batch_work_free(&collection->work);
  definitions_free(&collection->definitions);
  free(collection->packed);
  retention_free(collection->retention);
  log_lock_let_go(&collection->held);
  log_lock_free(&collection->held);
  free(collection);
}

/* ---- Segments ---------------------------------------------------------------------------------------------------- */

static weir_status failure(weir_collection *collection, int result, weir_error *error) {
  collection->failed = 1;
  return log_lock_fail(&collection->held, result, "write a segment to", error);
}

/* Writes the packed segment to a file with a temporary name. 0 or a negative errno. */
static int write_file(weir_collection *collection, uint64_t count) {
  waiting_segment *made = &collection->waiting[collection->waiting_count];
  char name[64];
  *made = (waiting_segment){.base = collection->builder.origin.base_offset, .bytes = count};
  batch_temporary_name(name, made->base);
  int error = log_lock_check(&collection->held);
  if (error == 0) error = claim_bytes(collection->retention, count, 1);
  if (error != 0) return error;
  made->fd = sys_open_create(collection->held.directory, name);
  error = made->fd < 0 ? made->fd : sys_write_at(made->fd, collection->packed, count, 0);
  if (error == 0) {
    sys_start_writeback(made->fd);
    collection->waiting_count++;
    return 0;
  }
  if (made->fd >= 0) {
    sys_close(made->fd);
    sys_unlink(collection->held.directory, name);
  }
  byte_limit_give(collection->retention, count);
  return error;
}

/* Brings the waiting segments to the disk, and then their names. 0 or a negative errno. */
static int name_all(weir_collection *collection) {
  int directory = collection->held.directory, error = log_lock_check(&collection->held);
  for (uint32_t i = 0; i < collection->waiting_count && error == 0; i++) {
    error = sys_sync_data(collection->waiting[i].fd);
  }
  for (uint32_t i = 0; i < collection->waiting_count && error == 0; i++) {
    char temporary[64], name[64];
    batch_temporary_name(temporary, collection->waiting[i].base);
    segment_list_batch_name(name, collection->waiting[i].base);
    error = sys_rename_new(directory, temporary, name);
  }
  return error == 0 ? sys_sync_directory(directory) : error;
}

/* Gives the waiting segments their names, once they are on the disk. 0 or a negative errno. */
static int end_waiting(weir_collection *collection) {
  int error = collection->waiting_count > 0 ? name_all(collection) : 0;
  for (uint32_t i = 0; i < collection->waiting_count && error == 0; i++) {
    struct stat status;
    const waiting_segment *each = &collection->waiting[i];
    uint64_t bytes = sys_status(each->fd, &status) == 0 ? (uint64_t)status.st_blocks * 512 : each->bytes;
    retention_sealed(collection->retention, each->base, each->bytes, bytes);
    sys_close(each->fd);
  }
  if (error == 0) collection->waiting_count = 0;
  return error;
}

/* Ends the segment that is being filled. 0 or a negative errno. */
static int end_segment(weir_collection *collection) {
  part_builder *builder = &collection->builder;
  if (!collection->begun) return 0;
  collection->begun = 0;
  uint64_t count;
  const uint8_t *segment = part_builder_seal(builder, &count);
  uint64_t most = batch_most_bytes(count);
  if (most > collection->packed_room) {
    free(collection->packed);
    collection->packed = (uint8_t *)malloc(most);
    collection->packed_room = collection->packed ? most : 0;
  }
  if (!collection->packed) return -ENOMEM;
  int64_t packed = batch_pack(segment, count, collection->packed, &collection->work);
  int error = packed < 0 ? (int)packed : write_file(collection, (uint64_t)packed);
  if (error != 0) return error;
  collection->previous = (segment_end){builder->origin.salt, count, builder->origin.base_offset};
  collection->next_offset = builder->next_offset;
  return 0;
}

/* Begins a segment for the events of a part that had offsets from `from` on. 0 or a negative errno. */
static int begin_segment(weir_collection *collection, const segment_scan *scan, const char *host, uint64_t from) {
  const segment_header *header = &scan->header;
  int is_again = (header->incompatible & SEGMENT_COLLECTED) != 0; /* collected from a log that collects itself */
  part_origin origin = {.log_id = collection->held.log_id,
                        .opening = header->opening,
                        .base_offset = collection->next_offset,
                        .created_ns = sys_wall_ns(),
                        .lane_count = header->lane_count,
                        .previous = collection->previous,
                        .collected = {.log_id = header->log_id, .from = from, .to = from}};
  if (is_again) origin.collected.host = header->host;
  else memcpy(origin.collected.host.utf8, host, strnlen(host, sizeof origin.collected.host.utf8));
  memcpy(origin.captured_boot_id, header->captured_boot_id, sizeof origin.captured_boot_id);
  int error = sys_boot_id(origin.boot_id);
  if (error != 0 && error != -ENOENT) return error;
  while (origin.salt == 0) {
    error = sys_random(&origin.salt, sizeof origin.salt);
    if (error != 0) return error;
  }
  error = part_builder_begin(&collection->builder, &origin, COLLECTED_BYTES);
  collection->begun = error == 0;
  return error;
}

/* Whether the segment that is being filled can go on with the events of a part. */
static int continues(const weir_collection *collection, const segment_scan *scan, const char *host) {
  const part_origin *origin = &collection->builder.origin;
  const segment_header *header = &scan->header;
  const char *name = header->incompatible & SEGMENT_COLLECTED ? (const char *)header->host.utf8 : host;
  return origin->opening == header->opening && origin->collected.log_id == header->log_id &&
         origin->collected.to == header->base_offset && origin->lane_count == header->lane_count &&
         strncmp((const char *)origin->collected.host.utf8, name, sizeof origin->collected.host.utf8) == 0 &&
         memcmp(origin->captured_boot_id, header->captured_boot_id, sizeof origin->captured_boot_id) == 0;
}

/* ---- Adding ------------------------------------------------------------------------------------------------------ */

typedef struct addition {
  weir_collection *collection;
  const segment_scan *scan;
  const char *host;
  const weir_span *known;
  uint32_t known_count;
  uint64_t added;
} addition;

static const definition *find(void *context, uint64_t opening, uint32_t number) {
  return definitions_find((const definition_table *)context, opening, number);
}

/* Adds all of a run that is not known. 0 or a negative errno. */
static int add_run(addition *addition, part_run run, uint64_t offset) {
  weir_collection *collection = addition->collection;
  int fresh = 0;
  while (run.count > 0) {
    int error = 0;
    if (!collection->begun) {
      if (collection->waiting_count == MOST_WAITING) error = end_waiting(collection);
      if (error == 0) error = begin_segment(collection, addition->scan, addition->host, offset);
      fresh = 1;
    }
    if (error != 0) return error;
    uint64_t bytes;
    int64_t taken = part_builder_add(&collection->builder, &run, &bytes);
    if (taken < 0) return (int)taken;
    if (run.block->kind == BLOCK_EVENTS) addition->added += (uint64_t)taken;
    run.records += bytes;
    run.count -= (uint32_t)taken;
    run.position += bytes;
    offset += (uint64_t)taken;
    collection->builder.origin.collected.to = offset;
    if (taken == 0 && fresh) return -EMSGSIZE;
    if (run.count > 0) {
      error = end_segment(collection);
      if (error != 0) return error;
    }
    fresh = 0;
  }
  return 0;
}

/* Where the known span ends that holds a position of a lane, and where the next one begins. */
static uint64_t known_to(const addition *addition, uint32_t lane, uint64_t position, uint64_t *next) {
  uint64_t end = position;
  *next = UINT64_MAX;
  for (uint32_t i = 0; i < addition->known_count; i++) {
    const weir_span *span = &addition->known[i];
    if (span->lane != lane) continue;
    if (span->from <= end && span->to > end) end = span->to;
    if (span->from > end && span->from < *next) *next = span->from;
  }
  return end;
}

/* Adds the events of a block. 0 or a negative errno. */
static int add_events(addition *addition) {
  const block_header *block = &addition->scan->block;
  const uint8_t *records = addition->scan->payload;
  uint64_t at = 0, offset = block->base_offset;
  for (uint32_t done = 0; done < block->count;) {
    uint64_t next, known = known_to(addition, block->lane, block->lane_from + at, &next), from = at;
    uint32_t count = 0;
    int passes = known > block->lane_from + at;
    /* Passes over, or takes, the records up to the next border. */
    while (done + count < block->count && (passes ? block->lane_from + at < known : block->lane_from + at < next)) {
      uint32_t length;
      memcpy(&length, records + at + offsetof(record_header, length), sizeof length);
      at += record_size(length);
      count++;
    }
    if (!passes) {
      part_run run = {.block = block,
                      .records = records + from,
                      .count = count,
                      .position = block->lane_from + from,
                      .find = find,
                      .context = &addition->collection->definitions};
      int error = add_run(addition, run, offset);
      if (error != 0) return error;
    }
    done += count;
    offset += count;
  }
  return 0;
}

/* Adds the notices of a block, unless they are known. 0 or a negative errno. */
static int add_notices(addition *addition) {
  const block_header *block = &addition->scan->block;
  uint64_t next, position = block->base_offset << 3;
  if (known_to(addition, NOTICE_LANE, position, &next) > position) return 0;
  part_run run = {.block = block,
                  .records = addition->scan->payload,
                  .count = block->count,
                  .position = position,
                  .find = find,
                  .context = &addition->collection->definitions};
  return add_run(addition, run, block->base_offset);
}

static int add_block(addition *addition) {
  const segment_scan *scan = addition->scan;
  switch (scan->block.kind) {
    case BLOCK_DEFINITIONS:
      return definitions_take(&addition->collection->definitions, scan->block.opening, scan->payload,
                              scan->block.payload_bytes);
    case BLOCK_EVENTS: return add_events(addition);
    case BLOCK_NOTICES: return add_notices(addition);
    default: return 0;
  }
}

/* 0; -EBADMSG: the part is damaged, which may show only after some of it was added; or another negative errno. */
static int add_part(addition *addition, segment_scan *scan) {
  for (;;) {
    scan_damage damage;
    scan_result result = scan_next(scan, 0, &damage);
    if (result == SCAN_ERROR) return damage.error;
    if (result == SCAN_SEALED) return 0;
    if (result != SCAN_BLOCK) return -EBADMSG;
    int error = add_block(addition);
    if (error != 0) return error;
  }
}

static weir_status check_addition(const weir_collection *collection, const uint8_t *bytes, const char *host,
                                  weir_error *error) {
  if (collection->failed) {
    return fail(error, WEIR_ERROR_CLOSED, 0, collection->held.path,
                "the collection %s has failed before, and takes nothing more; close it, and open it again",
                collection->held.path);
  }
  if (bytes && host && strnlen(host, 65) <= 64) return WEIR_OK;
  return fail(error, WEIR_ERROR_INVALID, 0, collection->held.path,
              "a part needs its bytes, and a host of at most 64 bytes; give both");
}

weir_status weir_collection_add(weir_collection *collection, const uint8_t *bytes, uint64_t byte_count,
                                const char *host, const weir_span *known, uint32_t known_count, uint64_t *added,
                                weir_error *error) {
  uint64_t ignored;
  if (!added) added = &ignored;
  *added = 0;
  weir_status status = check_addition(collection, bytes, host, error);
  if (status != WEIR_OK) return status;
  segment_scan scan;
  scan_damage damage;
  int result = scan_open_memory(&scan, bytes, byte_count, 1, &damage);
  if (result == -ENOTSUP) {
    return fail(error, WEIR_ERROR_VERSION, 0, collection->held.path,
                "a part was written by a newer Weir; collect it with one that is as new");
  }
  if (result != 0) return failure(collection, result, error);
  if (!scan.header_valid || damage.reason) {
    scan_close(&scan);
    return fail(error, WEIR_ERROR_INVALID, 0, collection->held.path, "the bytes are no part of a log, or damaged");
  }
  addition addition = {collection, &scan, host, known, known_count, 0};
  definitions_trim(&collection->definitions, scan.header.opening);
  if (collection->begun && !continues(collection, &scan, host)) result = end_segment(collection);
  if (result == 0) result = add_part(&addition, &scan);
  uint64_t end = scan.next_offset;
  scan_close(&scan);
  *added = addition.added;
  if (result == -EBADMSG) {
    collection->failed = 1;
    return fail(error, WEIR_ERROR_INVALID, 0, collection->held.path,
                "a part is damaged within: check it before, with weir_check_part");
  }
  if (result != 0) return failure(collection, result, error);
  /* What was left out at its end is known, too: so the next part goes on here. */
  if (collection->begun && end > collection->builder.origin.collected.to) collection->builder.origin.collected.to = end;
  return WEIR_OK;
}

/* ---- Committing -------------------------------------------------------------------------------------------------- */

weir_status weir_collection_commit(weir_collection *collection, uint64_t *next_offset, weir_error *error) {
  if (collection->failed) return check_addition(collection, NULL, NULL, error);
  int result = end_segment(collection);
  if (result == 0) result = end_waiting(collection);
  if (result != 0) return failure(collection, result, error);
  /* A segment that can't be removed only takes room. */
  if (collection->retention) retention_remove_due(collection->retention, 0);
  if (next_offset) *next_offset = collection->next_offset;
  return WEIR_OK;
}

void weir_collection_set_covered(weir_collection *collection, uint64_t offset) {
  if (!collection->retention || offset > collection->next_offset) return;
  if (collection->retention->covered < offset) collection->retention->covered = offset;
}

void weir_collection_set_delivered(weir_collection *collection, uint64_t offset) {
  if (!collection->retention || offset > collection->next_offset) return;
  if (collection->retention->delivered < offset) collection->retention->delivered = offset;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

/* Adds a stretch of a lane to the spans, of which there is room for `most`: 0 if there is none. */
static int note_span(weir_span *spans, uint32_t *count, uint32_t most, const block_header *block) {
  for (uint32_t i = *count; i-- > 0;) {
    if (spans[i].lane != block->lane) continue;
    if (spans[i].to != block->lane_from) break;
    spans[i].to = block->lane_to;
    spans[i].events += block->kind == BLOCK_EVENTS ? block->count : 0;
    return 1;
  }
  if (*count == most) return 0;
  spans[(*count)++] = (weir_span){.from = block->lane_from,
                                  .to = block->lane_to,
                                  .events = block->kind == BLOCK_EVENTS ? block->count : 0,
                                  .lane = block->lane};
  return 1;
}

enum { MOST_SPANS = 4096 };

/* Reads what a segment has. 0 or a negative errno. */
static int read_spans(segment_scan *scan, weir_span *spans, weir_collected *collected) {
  for (;;) {
    scan_damage damage;
    switch (scan_next(scan, 1, &damage)) {
      case SCAN_BLOCK:
        if (scan->block.lane >= WEIR_MAX_LANES) break;
        if (!note_span(spans, &collected->span_count, MOST_SPANS, &scan->block)) return -ENOBUFS;
        break;
      case SCAN_DAMAGE: break; /* what damage took was not collected, and may come again */
      case SCAN_ERROR: return damage.error;
      default: collected->next_offset = scan->next_offset; return 0;
    }
  }
}

weir_status weir_collection_read(const char *directory, uint64_t from_offset,
                                 int (*report)(void *context, const weir_collected *collected), void *context,
                                 weir_error *error) {
  int fd;
  weir_status status = directory_open_read(directory, &fd, error);
  if (status != WEIR_OK) return status;
  segment_list list = {0};
  weir_span *spans = (weir_span *)malloc(MOST_SPANS * sizeof *spans);
  int result = spans ? segment_list_settled(fd, &list) : -ENOMEM, ended = 0;
  const char *at = NULL;
  for (uint64_t i = 0; i < list.count && result == 0 && !ended; i++) {
    if (i + 1 < list.count && list.items[i + 1].base <= from_offset) continue;
    segment_scan scan;
    scan_damage damage;
    at = list.items[i].name;
    result = scan_open_named(&scan, fd, 0, &list.items[i], &damage);
    if (result == -ENOENT || result == -ELOOP) { /* removed meanwhile, or nobody's segment */
      result = 0;
      continue;
    }
    if (result != 0) break;
    const segment_header *header = &scan.header;
    if (scan.header_valid && (header->incompatible & SEGMENT_COLLECTED)) {
      weir_collected collected = {.first_offset = header->base_offset,
                                  .log_id = header->collected_log_id,
                                  .opening = header->opening,
                                  .from = header->collected_from,
                                  .to = header->collected_to,
                                  .spans = spans};
      memcpy(collected.host, header->host.utf8, sizeof header->host.utf8);
      result = read_spans(&scan, spans, &collected);
      if (result == 0 && collected.next_offset > from_offset) ended = report(context, &collected) != 0;
    }
    scan_close(&scan);
  }
  if (result == -ENOTSUP) status = fail_newer(error, directory, at);
  else if (result != 0) status = fail_system(error, result, "read", directory, at);
  segment_list_free(&list);
  free(spans);
  sys_close(fd);
  return status;
}
