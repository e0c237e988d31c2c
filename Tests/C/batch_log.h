/*
 * batch_log.h: logs for the tests of reading batch segments: of several sealed segments, each of several LZ4 blocks;
 * and what a reader gives of a log, so that two readings can be compared event by event.
 */
#ifndef WEIR_TESTS_BATCH_LOG_H
#define WEIR_TESTS_BATCH_LOG_H

#include "batch_builder.h"

#include <dirent.h>

/* An event as a reader gave it. */
typedef struct given {
  uint64_t offset;
  weir_id id;
  int64_t time_ns;
  uint32_t crc;      /* of the payload */
  uint32_t type_crc; /* of name and fields; 0: the definition is lost */
} given;

/* All that a reader gave. */
typedef struct seen {
  given *events;
  uint64_t count, room;
  uint64_t undefined;  /* events whose definition is lost */
  uint64_t skips;
  uint64_t compressed; /* of them, those that tell of LZ4 */
  uint64_t missing;    /* offsets told to be missing */
  uint64_t disorder;   /* offsets that come twice, late, or neither as an event nor as missing */
  const char *reason;  /* of the last skip */
  char file[64];       /* and its file */
  weir_status end;
} seen;

static inline void seen_free(seen *seen) {
  free(seen->events);
  memset(seen, 0, sizeof *seen);
}

static inline void seen_take(seen *seen, const weir_event *event) {
  if (seen->count == seen->room) {
    seen->room = seen->room ? seen->room * 2 : 4096;
    seen->events = realloc(seen->events, seen->room * sizeof *seen->events);
    REQUIRE(seen->events);
  }
  uint64_t state = crc_extend(CRC_START, event->name, event->name_bytes);
  if (event->fields) state = crc_extend(state, event->fields, event->fields_bytes);
  seen->undefined += !event->fields;
  seen->events[seen->count++] = (given){.offset = event->offset,
                                        .id = event->id,
                                        .time_ns = event->time_ns,
                                        .crc = crc32c(event->payload, event->payload_bytes),
                                        .type_crc = event->fields ? crc_end(state) : 0};
}

/* Reads on to the end for now. `*next`: the offset that is to come. */
static inline void seen_read_on(seen *seen, weir_reader *reader, uint64_t *next) {
  weir_event event;
  weir_skip skip;
  weir_error error;
  for (;;) {
    seen->end = weir_reader_next(reader, &event, &skip, &error);
    if (seen->end == WEIR_OK) {
      seen->disorder += event.offset != *next;
      *next = event.offset + 1;
      seen_take(seen, &event);
    } else if (seen->end == WEIR_SKIPPED) {
      seen->skips++;
      seen->missing += skip.count;
      seen->reason = skip.reason;
      seen->compressed += strstr(skip.reason, "LZ4") != NULL;
      snprintf(seen->file, sizeof seen->file, "%s", skip.file);
      if (skip.count == 0) continue;
      seen->disorder += skip.first_offset != *next;
      *next = skip.first_offset + skip.count;
    } else {
      if (seen->end != WEIR_END) fprintf(stderr, "  %s\n", error.message);
      return;
    }
  }
}

static inline seen see_from(const char *directory, uint64_t from) {
  seen seen = {0};
  weir_reader_options options;
  weir_reader_options_init(&options);
  options.from_offset = from;
  weir_reader *reader;
  weir_error error;
  seen.end = weir_reader_open(directory, &options, &reader, &error);
  if (!CHECK_EQUAL(seen.end, WEIR_OK)) return seen;
  uint64_t next = from;
  seen_read_on(&seen, reader, &next);
  weir_reader_close(reader);
  return seen;
}

static inline seen see(const char *directory) { return see_from(directory, 0); }

static inline int same_given(const given *left, const given *right) {
  return left->offset == right->offset && left->id.opening == right->id.opening &&
         left->id.sequence == right->id.sequence && left->time_ns == right->time_ns && left->crc == right->crc &&
         (left->type_crc == right->type_crc || left->type_crc == 0);
}

/* Whether `some` are events of `all`, in order, and each other one of `all` from `from` on is told to be missing. */
static inline int seen_agrees(const seen *some, const seen *all, uint64_t from) {
  uint64_t at = 0, absent = 0;
  for (uint64_t i = 0; i < some->count; i++) {
    for (; at < all->count && !same_given(&some->events[i], &all->events[at]); at++) {
      absent += all->events[at].offset >= from;
    }
    if (at == all->count) return 0;
    at++;
  }
  while (at < all->count) absent += all->events[at++].offset >= from;
  return some->end == WEIR_END && some->disorder == 0 && absent == some->missing;
}

/* ---- A log ------------------------------------------------------------------------------------------------------- */

enum { LOG_SEGMENT_BYTES = 5 << 19, MOST_SEGMENTS = 64, DRAIN_EACH = 1000 };

static inline weir_log *open_log(const char *directory, uint64_t segment_bytes) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 4;
  options.lane_bytes = 1 << 20;
  options.overflow_bytes = 0;
  options.max_event_bytes = 4096;
  options.segment_bytes = segment_bytes;
  weir_log *log = NULL;
  weir_error error;
  if (!CHECK_EQUAL(weir_open(directory, &options, &log, NULL, &error), WEIR_OK)) fprintf(stderr, "%s\n", error.message);
  return log;
}

/* One event: its number and text that compresses about as real ones do, mostly small. */
static inline void capture_some(weir_log *log, uint32_t type, uint64_t number) {
  static const char *const words[] = {"checkout", "page.view", "GET /index.html", "sv_SE",
                                      "Mozilla/5.0", "null",   "200"};
  char text[1024];
  uint64_t length = 0, wanted = number % 50 == 0 ? 900 : number / 3000 % 2 ? 200 : 12;
  while (length < wanted) {
    length += (uint64_t)snprintf(text + length, sizeof text - length, "%s;%" PRIu64 ";", words[random_below(7)],
                                 random_below(1000));
  }
  weir_record record;
  REQUIRE(weir_begin(log, &record) == WEIR_ACCEPTED);
  weir_put_u64(&record, number);
  weir_put_string(&record, text, length);
  REQUIRE(weir_commit(&record, type, NULL) == WEIR_ACCEPTED);
  /* So that the lane is never full: a refusal would take an offset. */
  if (number % DRAIN_EACH == DRAIN_EACH - 1) REQUIRE(weir_drain(log, UINT64_MAX, NULL, NULL) == WEIR_OK);
}

static inline uint32_t define_some(weir_log *log) {
  const weir_field fields[] = {{"number", WEIR_KIND_U64, 0}, {"text", WEIR_KIND_STRING, 0}};
  const weir_definition definition = {.name = "some", .fields = fields, .field_count = 2};
  uint32_t type = 0;
  REQUIRE(weir_define(log, 0, &definition, 1, &type, NULL) == WEIR_OK);
  return type;
}

/* Captures `count` events and closes the log. */
static inline void fill_log(const char *directory, uint64_t count) {
  weir_log *log = open_log(directory, LOG_SEGMENT_BYTES);
  uint32_t type = define_some(log);
  for (uint64_t i = 0; i < count; i++) capture_some(log, type, i);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_free(log);
}

typedef struct sealed_files {
  char paths[MOST_SEGMENTS][512];
  uint32_t count;
} sealed_files;

static inline int by_path(const void *left, const void *right) { return strcmp(left, right); }

/* The raw sealed segments, or the batches, in order. */
static inline sealed_files find_sealed(const char *directory, const char *suffix) {
  sealed_files found = {.count = 0};
  DIR *entries = opendir(directory);
  REQUIRE(entries);
  for (struct dirent *entry; (entry = readdir(entries));) {
    uint64_t length = strlen(entry->d_name);
    if (length != 20 + strlen(suffix) || strcmp(entry->d_name + 20, suffix) != 0) continue;
    REQUIRE(found.count < MOST_SEGMENTS);
    snprintf(found.paths[found.count++], sizeof found.paths[0], "%s/%s", directory, entry->d_name);
  }
  closedir(entries);
  qsort(found.paths, found.count, sizeof found.paths[0], by_path);
  return found;
}

static inline void copy_log(const char *from, const char *to) {
  remove_tree(to);
  REQUIRE(mkdir(to, 0700) == 0);
  DIR *entries = opendir(from);
  REQUIRE(entries);
  for (struct dirent *entry; (entry = readdir(entries));) {
    if (entry->d_name[0] == '.') continue;
    struct stat status;
    REQUIRE(stat(join(from, entry->d_name), &status) == 0);
    if (!S_ISREG(status.st_mode)) continue;
    bytes file = read_bytes(join(from, entry->d_name));
    write_bytes(join(to, entry->d_name), &file);
    free(file.at);
  }
  closedir(entries);
}

/* ---- What verify says -------------------------------------------------------------------------------------------- */

typedef struct verified {
  weir_verification sums;
  char problem[160]; /* the last finding's */
} verified;

static inline void take_problem(void *context, const weir_finding *finding) {
  verified *verified = context;
  snprintf(verified->problem, sizeof verified->problem, "%s: %s", finding->file, finding->problem);
}

static inline verified verify_log(const char *directory) {
  verified verified = {.problem = ""};
  weir_error error;
  if (!CHECK_EQUAL(weir_verify(directory, take_problem, &verified, &verified.sums, &error), WEIR_OK)) {
    fprintf(stderr, "  %s\n", error.message);
  }
  return verified;
}

static inline void check_sound(const char *directory) {
  verified verified = verify_log(directory);
  if (!CHECK_EQUAL(verified.sums.findings, 0)) fprintf(stderr, "  %s\n", verified.problem);
}

#endif
