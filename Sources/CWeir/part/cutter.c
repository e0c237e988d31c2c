/*
 * cutter.c: cuts a log into parts, for other logs: see weir_cutter_next. The records are copied as they are, with the
 * checksums of their captures, into a segment in memory, which is packed as any segment is.
 *
 * How much a segment shrinks is known only once it is packed. So the cutter goes by the part before, and cuts again
 * where that was wrong.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "batch/batch.h"
#include "part/part_builder.h"
#include "read/reader.h"
#include "system/error.h"

enum { LEAST_PART_BYTES = 1024, LEAST_CUT_BYTES = 256, FIRST_RATIO = 4 };
#define MOST_PART_BYTES (UINT64_C(16) << 20)

struct weir_cutter {
  char *directory;
  weir_reader *reader;
  part_builder builder;
  batch_work work;
  uint8_t *packed;
  uint64_t packed_room;
  uint64_t most;          /* of the part before */
  uint64_t segment_bytes; /* of the segment that is packed to at most so many */
  weir_skip skip;         /* of the next call, if `skips` is 1: it comes after the part that was given */
  int skips;
  uint64_t from;          /* where the reader begins */
  weir_span spans[WEIR_MAX_LANES + 1];
};

static weir_status open_reader(weir_cutter *cutter, uint64_t from, weir_error *error) {
  weir_reader_options options;
  weir_reader_options_init(&options);
  options.from_offset = from;
  options.skip_lanes = 1;
  weir_reader_close(cutter->reader);
  cutter->reader = NULL;
  cutter->from = from;
  return weir_reader_open(cutter->directory, &options, &cutter->reader, error);
}

weir_status weir_cutter_open(const char *directory, uint64_t from_offset, weir_cutter **cutter, weir_error *error) {
  *cutter = NULL;
  weir_cutter *made = directory ? (weir_cutter *)calloc(1, sizeof *made) : NULL;
  if (made) made->directory = strdup(directory);
  weir_status status = WEIR_OK;
  if (!made || !made->directory) {
    status = fail(error, directory ? WEIR_ERROR_MEMORY : WEIR_ERROR_INVALID, 0, directory,
                  directory ? "out of memory to read %s" : "no directory was named to cut parts of", directory);
  }
  if (status == WEIR_OK) status = open_reader(made, from_offset, error);
  if (status == WEIR_OK) *cutter = made;
  else weir_cutter_close(made);
  return status;
}

void weir_cutter_close(weir_cutter *cutter) {
  if (!cutter) return;
  weir_reader_close(cutter->reader);
  part_builder_free(&cutter->builder);
  batch_work_free(&cutter->work);
  free(cutter->packed);
  free(cutter->directory);
  free(cutter);
}

/* ---- A segment --------------------------------------------------------------------------------------------------- */

static const definition *find(void *context, uint64_t opening, uint32_t number) {
  return reader_definition((weir_reader *)context, opening, number);
}

/* The salt of what is cut at an offset: the same for the same events, as far as parts are of the same size. */
static uint64_t salt_of(const segment_header *header, uint64_t offset) {
  uint64_t salt = (header->salt ^ offset) * UINT64_C(0x9e3779b97f4a7c15);
  salt ^= salt >> 32;
  return salt == 0 ? 1 : salt;
}

static int begin(weir_cutter *cutter, const record_run *run) {
  const segment_header *header = &run->scan->header;
  part_origin origin = {.log_id = header->log_id,
                        .opening = run->scan->block.opening,
                        .salt = salt_of(header, run->offset),
                        .base_offset = run->offset,
                        .created_ns = header->created_ns,
                        .lane_count = header->lane_count,
                        .flags = run->offset == header->base_offset ? header->flags & SEGMENT_AFTER_CUT : 0};
  if (header->incompatible & SEGMENT_COLLECTED) {
    origin.collected = (collected_room){header->collected_log_id, header->collected_from, header->collected_to,
                                        header->host};
  }
  memcpy(origin.boot_id, header->boot_id, sizeof origin.boot_id);
  memcpy(origin.captured_boot_id, header->captured_boot_id, sizeof origin.captured_boot_id);
  return part_builder_begin(&cutter->builder, &origin, cutter->segment_bytes);
}

/* Whether the part that is being cut can go on with a run. */
static int continues(const part_builder *builder, const record_run *run) {
  const segment_header *header = &run->scan->header;
  const part_origin *origin = &builder->origin;
  return run->offset == builder->next_offset && run->scan->block.opening == origin->opening &&
         header->log_id == origin->log_id && header->lane_count == origin->lane_count &&
         header->collected_log_id == origin->collected.log_id &&
         memcmp(&header->host, &origin->collected.host, sizeof header->host) == 0 &&
         memcmp(header->captured_boot_id, origin->captured_boot_id, sizeof origin->captured_boot_id) == 0;
}

/* The records of a run that lie below an offset. Notices go together. */
static uint32_t count_below(const record_run *run, uint64_t end_offset) {
  uint64_t left = end_offset - run->offset;
  return left < run->count && run->scan->block.kind == BLOCK_EVENTS ? (uint32_t)left : run->count;
}

/*
 * Fills a segment with records up to `end_offset`. WEIR_OK: the segment has a record. Otherwise what the reader
 * answered in place of the first record.
 */
static weir_status fill(weir_cutter *cutter, uint64_t end_offset, weir_skip *skip, weir_error *error) {
  part_builder *builder = &cutter->builder;
  int begun = 0;
  for (;;) {
    record_run run;
    weir_status status = reader_run(cutter->reader, &run, &cutter->skip, error);
    if (status == WEIR_SKIPPED) {
      cutter->skips = 1;
      if (begun) return WEIR_OK;
      *skip = cutter->skip;
      cutter->skips = 0;
      return status;
    }
    if (status != WEIR_OK) return begun ? WEIR_OK : status; /* an error comes again */
    if (run.offset >= end_offset) return begun ? WEIR_OK : WEIR_END;
    if (begun && !continues(builder, &run)) return WEIR_OK;
    if (!begun && begin(cutter, &run) != 0) {
      return fail(error, WEIR_ERROR_MEMORY, ENOMEM, cutter->directory, "out of memory for a part of %s",
                  cutter->directory);
    }
    begun = 1;
    part_run records = {.block = &run.scan->block,
                        .records = run.records,
                        .count = count_below(&run, end_offset),
                        .position = run.scan->block.kind == BLOCK_NOTICES ? run.offset * 8 : run.position,
                        .find = find,
                        .context = cutter->reader};
    uint64_t bytes;
    int64_t taken = part_builder_add(builder, &records, &bytes);
    if (taken < 0) return fail_system(error, (int)taken, "cut a part of", cutter->directory, NULL);
    if (taken == 0) return WEIR_OK;
    reader_take(cutter->reader, (uint32_t)taken, bytes);
    if (taken < records.count) return WEIR_OK;
  }
}

/* ---- A part ------------------------------------------------------------------------------------------------------ */

/* Packs the segment: how many bytes, or a negative errno. */
static int64_t pack(weir_cutter *cutter) {
  uint64_t count;
  const uint8_t *segment = part_builder_seal(&cutter->builder, &count);
  uint64_t most = batch_most_bytes(count);
  if (most > cutter->packed_room) {
    free(cutter->packed);
    cutter->packed = (uint8_t *)malloc(most);
    cutter->packed_room = cutter->packed ? most : 0;
  }
  return cutter->packed ? batch_pack(segment, count, cutter->packed, &cutter->work) : -ENOMEM;
}

/* After a segment of so many bytes was packed to `packed`: how large the next one may be. */
static void learn(weir_cutter *cutter, uint64_t bytes, uint64_t packed, uint64_t most) {
  uint64_t largest = most * 16, next = cutter->segment_bytes;
  if (packed > most) {
    /* Smaller in any case: what the segment has beside its records counts in `bytes`, and not in the next size. */
    double fitting = (double)bytes * (double)most / (double)packed * 0.9, smaller = (double)next * 0.9;
    next = (uint64_t)(fitting < smaller ? fitting : smaller);
  }
  /* A part that was cut short by the log's end says little. */
  int full = bytes + bytes / 8 >= cutter->segment_bytes;
  if (packed <= most && full && packed < most - most / 8) next = cutter->segment_bytes + cutter->segment_bytes / 8;
  if (next > largest) next = largest;
  cutter->segment_bytes = next < LEAST_CUT_BYTES ? (uint64_t)LEAST_CUT_BYTES : next;
}

static weir_segment summary_of(const part_builder *builder, uint64_t packed) {
  const seal_summary *seal = &builder->segment.summary;
  return (weir_segment){.log_id = builder->origin.log_id,
                        .opening = builder->origin.opening,
                        .salt = builder->origin.salt,
                        .first_offset = builder->origin.base_offset,
                        .next_offset = builder->next_offset,
                        .events = seal->events,
                        .notices = seal->notices,
                        .overwritten = seal->dropped[WEIR_LOST_OVERWRITTEN],
                        .in_holes = seal->dropped[LOST_IN_HOLES],
                        .content_bytes = builder->segment.at,
                        .file_bytes = packed,
                        .first_ns = seal->first_ns,
                        .last_ns = seal->last_ns};
}

weir_status weir_cutter_next(weir_cutter *cutter, uint64_t end_offset, uint64_t most_bytes, weir_part *part,
                             weir_skip *skip, weir_error *error) {
  weir_skip ignored;
  if (!skip) skip = &ignored;
  *part = (weir_part){0};
  if (most_bytes < LEAST_PART_BYTES || most_bytes > MOST_PART_BYTES) {
    return fail(error, WEIR_ERROR_INVALID, 0, cutter->directory, "a part may have %d to %llu bytes, and not %llu",
                LEAST_PART_BYTES, (unsigned long long)MOST_PART_BYTES, (unsigned long long)most_bytes);
  }
  if (cutter->most != most_bytes) cutter->segment_bytes = most_bytes * FIRST_RATIO;
  cutter->most = most_bytes;
  if (cutter->skips) {
    cutter->skips = 0;
    *skip = cutter->skip;
    return WEIR_SKIPPED;
  }
  for (;;) {
    weir_status status = cutter->reader ? WEIR_OK : open_reader(cutter, cutter->from, error);
    if (status == WEIR_OK) status = fill(cutter, end_offset, skip, error);
    if (status != WEIR_OK) return status;
    int64_t packed = pack(cutter);
    if (packed < 0) return fail_system(error, (int)packed, "pack a part of", cutter->directory, NULL);
    const part_builder *builder = &cutter->builder;
    int is_least = cutter->segment_bytes == LEAST_CUT_BYTES;
    learn(cutter, builder->segment.at, (uint64_t)packed, most_bytes);
    uint64_t records = builder->next_offset - builder->origin.base_offset;
    if ((uint64_t)packed <= most_bytes || records == 1 || is_least) {
      part->bytes = cutter->packed;
      part->byte_count = (uint64_t)packed;
      part->segment = summary_of(builder, (uint64_t)packed);
      part->spans = cutter->spans;
      part->span_count = part_builder_spans(builder, cutter->spans);
      return WEIR_OK;
    }
    cutter->skips = 0;
    weir_reader_close(cutter->reader);
    cutter->reader = NULL;
    cutter->from = builder->origin.base_offset;
  }
}
