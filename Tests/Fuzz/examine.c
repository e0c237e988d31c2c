/* examine.c: see examine.h. */
#include "examine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/format.h"
#include "system/crc32c.h"

/* More than any of the small directories can give: each event takes 24 bytes, each skip something too. */
enum { MOST_CALLS = 500000 };

/* A problem, with what the library says of it. Good until the next one. */
static const char *told(const char *problem, const weir_error *error) {
  static char text[sizeof error->message + 64];
  snprintf(text, sizeof text, "%s: %s", problem, error->message);
  return text;
}

/* 0 where the boot is not known, because the header that says it is damaged. */
static uint32_t boot_crc(const uint8_t boot_id[16]) {
  static const uint8_t unknown[16];
  return memcmp(boot_id, unknown, sizeof unknown) == 0 ? 0 : crc32c(boot_id, 16);
}

static const char *take_event(seen_log *seen, const weir_event *event, uint64_t *next) {
  if (event->offset < *next) return "an offset is given twice, or out of order";
  if (event->payload_bytes > MAX_BLOCK_PAYLOAD_BYTES) return "an event is larger than a block";
  *next = event->offset + 1;
  /* Looks at every byte that the reader says is the event's. */
  uint64_t definition = crc_extend(CRC_START, event->name, event->name_bytes);
  if (event->fields) definition = crc_extend(definition, event->fields, event->fields_bytes);
  if (event->attributes) definition = crc_extend(definition, event->attributes, event->attributes_bytes);
  if (event->context && event->context_number == 0) return "an event has a context without a number";
  uint64_t own = crc_extend(CRC_START, event->payload, event->payload_bytes);
  if (event->scope) own = crc_extend(own, event->scope, event->scope_bytes);
  seen_event one = {.offset = event->offset,
                    .id = event->id,
                    .time_ns = event->time_ns,
                    .type = event->type,
                    .monotonic_ns = event->monotonic_ns,
                    .context_number = event->context_number,
                    .own_crc = crc_end(own),
                    .boot_crc = boot_crc(event->boot_id),
                    .context_crc = event->context ? crc32c(event->context, event->context_bytes) : 0,
                    .in_context = event->context != NULL,
                    .definition_crc = crc_end(definition),
                    .defined = event->fields != NULL};
  if (seen->count < SEEN_EVENTS) seen->events[seen->count] = one;
  seen->count++;
  return NULL;
}

static const char *take_skip(seen_log *seen, const weir_skip *skip, uint64_t *next) {
  seen->skips++;
  seen->missing += skip->count;
  if (!skip->reason || !memchr(skip->file, 0, sizeof skip->file)) return "a skip without a reason or a file";
  seen->ring_loss_reported |= strncmp(skip->file, RING_NAME, strlen(RING_NAME)) == 0;
  if (skip->count == 0) return NULL;
  if (skip->first_offset < *next) return "offsets are said to be missing that were given, or said to be before";
  if (skip->count > UINT64_MAX - skip->first_offset) return "a skip goes past the last offset";
  *next = skip->first_offset + skip->count;
  return NULL;
}

const char *examine_read(const char *directory, uint64_t from, int skip_lanes, seen_log *seen) {
  weir_reader_options options;
  weir_reader_options_init(&options);
  options.from_offset = from;
  options.skip_lanes = (uint32_t)skip_lanes;
  seen->count = seen->skips = seen->missing = 0;
  seen->ring_loss_reported = 0;
  weir_reader *reader;
  seen->end = weir_reader_open(directory, &options, &reader, NULL);
  if (seen->end != WEIR_OK) return NULL;
  const char *problem = NULL;
  uint64_t next = from;
  weir_event event;
  weir_skip skip;
  weir_error error = {0};
  int calls = 0;
  for (; !problem; calls++) {
    if (calls == MOST_CALLS) problem = "the reader does not come to an end";
    seen->end = weir_reader_next(reader, &event, &skip, &error);
    if (seen->end == WEIR_OK) problem = take_event(seen, &event, &next);
    else if (seen->end == WEIR_SKIPPED) problem = take_skip(seen, &skip, &next);
    else break;
  }
  if (!problem && seen->end == WEIR_END && weir_reader_next(reader, &event, &skip, NULL) != WEIR_END) {
    problem = "the reader came to an end, and then did not";
  }
  weir_reader_close(reader);
  if (!problem && seen->end != WEIR_END && seen->end != WEIR_ERROR_VERSION) problem = told("the reader fails", &error);
  return problem;
}

/*
 * A definition that is damaged where it is first needed may be known from elsewhere or not, depending on what was read
 * before; but it is never another one. So it is with a context.
 */
static int same_event(const seen_event *left, const seen_event *right) {
  return left->offset == right->offset && left->id.opening == right->id.opening &&
         left->id.sequence == right->id.sequence && left->time_ns == right->time_ns && left->type == right->type &&
         left->own_crc == right->own_crc && left->monotonic_ns == right->monotonic_ns &&
         left->context_number == right->context_number &&
         (left->boot_crc == right->boot_crc || left->boot_crc == 0 || right->boot_crc == 0) &&
         (left->context_crc == right->context_crc || !left->in_context || !right->in_context) &&
         (left->definition_crc == right->definition_crc || !left->defined || !right->defined);
}

static const char *differ(const char *problem, const seen_event *left, const seen_event *right, uint64_t count) {
  static char text[256];
  for (uint64_t i = 0; i < count; i++) {
    const seen_event *a = &left[i], *b = &right[i];
    if (same_event(a, b)) continue;
    snprintf(text, sizeof text,
             "%s: offset %" PRIu64 " id %" PRIx64 "-%" PRIx64 " time %" PRId64 ", then offset %" PRIu64 " id %" PRIx64
             "-%" PRIx64 " time %" PRId64, problem, a->offset, a->id.opening, a->id.sequence, a->time_ns,
             b->offset, b->id.opening, b->id.sequence, b->time_ns);
    return text;
  }
  return NULL;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

/* What a reader from `from` on gives is the rest of what one from the start gave. */
static const char *read_from(const char *directory, uint64_t from, const seen_log *all, int honest) {
  static seen_log rest;
  const char *problem = examine_read(directory, from, 0, &rest);
  if (problem || !honest || all->end != WEIR_END || all->count > SEEN_EVENTS) return problem;
  uint64_t before = 0;
  while (before < all->count && all->events[before].offset < from) before++;
  if (rest.count != all->count - before) return "a reader from the middle gives other events";
  return differ("a reader from the middle gives events otherwise", all->events + before, rest.events, rest.count);
}

static void count_finding(void *context, const weir_finding *finding) {
  uint64_t *findings = context;
  *findings += memchr(finding->file, 0, sizeof finding->file) && finding->problem && finding->problem[0];
}

static const char *look_at(const char *directory) {
  weir_verification sums;
  weir_stat stat;
  weir_error error;
  uint64_t findings = 0;
  weir_status status = weir_verify(directory, count_finding, &findings, &sums, &error);
  if (status != WEIR_OK && status != WEIR_ERROR_VERSION) return told("verify fails", &error);
  if (findings != sums.findings) return "verify counts other findings than it tells of";
  status = weir_stat_directory(directory, &stat, &error);
  return status == WEIR_OK || status == WEIR_ERROR_VERSION ? NULL : told("stat fails", &error);
}

static const char *read_everything(const char *directory, int honest, seen_log *all) {
  static seen_log other;
  const char *problem = examine_read(directory, 0, 0, all);
  if (!problem) problem = examine_read(directory, 0, 1, &other);
  if (!problem) problem = look_at(directory);
  if (problem || all->count == 0) return problem;
  uint64_t last = all->count < SEEN_EVENTS ? all->count - 1 : SEEN_EVENTS - 1;
  const uint64_t froms[] = {all->events[last / 2].offset, all->events[last].offset, all->events[last].offset + 1,
                            UINT64_MAX};
  for (int i = 0; i < 4 && !problem; i++) problem = read_from(directory, froms[i], all, honest);
  return problem;
}

/* ---- Recovering -------------------------------------------------------------------------------------------------- */

static weir_status open_small(const char *directory, weir_log **log, weir_error *error) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 2;
  options.spare_lanes = 1;
  options.lane_bytes = 4096;
  options.max_event_bytes = 1024;
  options.segment_bytes = 136 << 10; /* hardly more than the least */
  options.create = 0;
  options.clock = WEIR_CLOCK_MONOTONIC; /* the counter's rate takes a millisecond to measure */
  return weir_open(directory, &options, log, NULL, error);
}

/* What an opening may answer about damage and forgeries; it must not fail for other reasons. */
static int is_refusal(weir_status status) { return status == WEIR_ERROR_VERSION || status == WEIR_ERROR_LIMIT; }

/* Opens, captures `captured` events, closes. 0: refused. */
static const char *open_and_close(const char *directory, int captured, int *opened) {
  weir_log *log;
  weir_error error;
  *opened = 0;
  weir_status status = open_small(directory, &log, &error);
  if (status != WEIR_OK) return is_refusal(status) ? NULL : told("the opening fails", &error);
  *opened = 1;
  const char *problem = NULL;
  for (int i = 0; i < captured; i++) {
    if (weir_capture(log, WEIR_TYPE_DYNAMIC, "\1\0\0\0a\0\0\0\0", 9, NULL) != WEIR_ACCEPTED) {
      problem = "a capture after recovery is refused";
    }
  }
  if (weir_close(log, &error) != WEIR_OK && !problem) problem = told("the close after a recovery fails", &error);
  weir_free(log);
  return problem;
}

static int is_notice(const seen_event *event) { return event->id.sequence >> 48 == NOTICE_LANE; }

/*
 * The events of `before`, all of them, then `more` others; what recovery has to tell of the ring comes between. Of a
 * ring that a reader told it can't read, recovery may still find events.
 */
static const char *compare(const seen_log *before, const seen_log *after, uint64_t more) {
  if (before->count > SEEN_EVENTS || after->count > SEEN_EVENTS) return NULL;
  if (after->end != WEIR_END) return "what was recovered can't be read to its end";
  uint64_t count = before->count < after->count ? before->count : after->count;
  const char *problem = differ("recovery changes an event", before->events, after->events, count);
  if (problem) return problem;
  if (after->count < before->count) return "recovery loses events";
  uint64_t others = 0;
  for (uint64_t i = before->count; i < after->count; i++) others += !is_notice(&after->events[i]);
  if (others < more) return "an event that was captured after recovery is not there";
  return others == more || before->ring_loss_reported ? NULL : "recovery makes events up";
}

static const char *recover_twice(const char *directory, int honest, const seen_log *before) {
  static seen_log once, twice;
  int opened;
  const char *problem = open_and_close(directory, 1, &opened);
  if (problem || !opened) return problem;
  problem = read_everything(directory, honest, &once);
  if (!problem && honest && before->end == WEIR_END) problem = compare(before, &once, 1);
  if (problem || once.end != WEIR_END) return problem; /* of a newer version, where no opening looks */
  problem = open_and_close(directory, 0, &opened);
  if (problem) return problem;
  if (!opened) return "a second opening is refused";
  problem = examine_read(directory, 0, 0, &twice);
  return problem ? problem : compare(&once, &twice, 0);
}

const char *examine(const char *directory, int honest, seen_log *before) {
  const char *problem = read_everything(directory, honest, before);
  return problem ? problem : recover_twice(directory, honest, before);
}
