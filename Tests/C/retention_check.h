/*
 * retention_check.h: small logs with bounds, and what must hold of each: whatever was accepted is there or was removed
 * and counted, to the event.
 */
#ifndef WEIR_TESTS_RETENTION_CHECK_H
#define WEIR_TESTS_RETENTION_CHECK_H

#include "capture_check.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include "directory/segment_list.h"
#include "directory/log_start.h"
#include "limits/retention.h"
#include "log/log.h"
#include "ring/ring.h"
#include "system/system.h"

enum { SEGMENT = 147456, LANES = 3, LANE = 8192, FILLER = 700 };

static inline weir_options small_options(void) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = LANES;
  options.spare_lanes = 1;
  options.lane_bytes = LANE;
  options.overflow_bytes = 0;
  options.max_event_bytes = 1024;
  options.segment_bytes = SEGMENT;
  options.full_wait_ns = UINT64_MAX;
  return options;
}

static inline uint64_t ring_bytes(void) {
  weir_options options = small_options();
  return ring_file_bytes(&options);
}

static inline weir_log *open_with(const char *directory, const weir_options *options, weir_recovery *recovery) {
  weir_log *log = NULL;
  weir_error error;
  if (!CHECK_EQUAL(weir_open(directory, options, &log, recovery, &error), WEIR_OK)) {
    fprintf(stderr, "%s: %s\n", test_name, error.message);
    exit(1);
  }
  return log;
}

static inline weir_stat stat_of(const char *directory) {
  weir_stat stat;
  weir_error error;
  if (!CHECK_EQUAL(weir_stat_directory(directory, &stat, &error), WEIR_OK)) fprintf(stderr, "%s\n", error.message);
  return stat;
}

static inline void print_finding(void *context, const weir_finding *finding) {
  fprintf(stderr, "%s: %s: %s at %" PRIu64 ": %s, %" PRIu64 " from %" PRIu64 "\n", test_name, (const char *)context,
          finding->file, finding->position, finding->problem, finding->count, finding->first_offset);
}

/* What a reader from the first offset finds, and what it was told. */
typedef struct reading {
  uint64_t events, notices, first, next;
  uint64_t removed, missing; /* offsets in skips */
  uint64_t wrong, disorder;
  uint64_t numbers_from;     /* of producer 0 */
} reading;

static inline void take(reading *reading, const weir_event *event) {
  found_event found;
  reading->disorder += event->offset < reading->next;
  reading->next = event->offset + 1;
  if (event->name_bytes >= 5 && memcmp(event->name, "weir.", 5) == 0) {
    reading->notices++;
    return;
  }
  reading->wrong += !name_is(event, "numbered") || !take_numbered(event, &found);
  if (reading->events++ == 0) reading->numbers_from = found.number;
}

static inline reading read_from(const char *directory, uint64_t offset) {
  reading reading = {.next = offset};
  weir_reader_options options;
  weir_reader_options_init(&options);
  options.from_offset = offset;
  weir_reader *reader;
  weir_error error;
  weir_event event;
  weir_skip skip;
  weir_status status;
  REQUIRE(weir_reader_open(directory, &options, &reader, &error) == WEIR_OK);
  while ((status = weir_reader_next(reader, &event, &skip, &error)) == WEIR_OK || status == WEIR_SKIPPED) {
    if (status == WEIR_OK) take(&reading, &event);
    else if (skip.removed) reading.removed += skip.count;
    else reading.missing += skip.count;
    if (status == WEIR_SKIPPED && skip.count > 0) reading.next = skip.first_offset + skip.count;
  }
  CHECK_EQUAL(status, WEIR_END);
  weir_reader_close(reader);
  return reading;
}

/* A log that nobody has open holds or has removed `accepted` events, nothing else, and no offset is unaccounted for. */
static inline weir_stat check_conserved(const char *directory, uint64_t accepted, uint64_t in_flight) {
  weir_stat stat = stat_of(directory);
  reading reading = read_from(directory, 0);
  uint64_t there = stat.events + stat.lane_events + stat.removed;
  CHECK(there >= accepted && there <= accepted + in_flight);
  if (there < accepted || there > accepted + in_flight) {
    fprintf(stderr, "%s: accepted %" PRIu64 ", there %" PRIu64 ", in the lanes %" PRIu64 ", removed %" PRIu64 "\n",
            test_name, accepted, stat.events, stat.lane_events, stat.removed);
  }
  CHECK_EQUAL(reading.events, stat.events + stat.lane_events);
  CHECK_EQUAL(reading.removed + reading.missing, reading.next - reading.events - reading.notices);
  CHECK_EQUAL(reading.missing + reading.wrong + reading.disorder, 0);
  CHECK_EQUAL(stat.dropped[WEIR_LOST_EXPIRED] + stat.dropped[WEIR_LOST_DISPLACED], stat.removed);
  CHECK_EQUAL(stat.damaged, 0);
  weir_verification verification;
  weir_error error;
  CHECK_EQUAL(weir_verify(directory, print_finding, (void *)directory, &verification, &error), WEIR_OK);
  CHECK_EQUAL(verification.findings, 0);
  CHECK_EQUAL(verification.removed_events, stat.removed);
  return stat;
}

/* Captures `count` events, looking at the size all the while. Answers how many were accepted. */
static inline uint64_t capture_watched(weir_log *log, uint32_t type, uint64_t from, uint64_t count, uint64_t limit) {
  uint64_t accepted = 0, above = 0;
  for (uint64_t i = 0; i < count; i++) {
    if (capture_numbered(log, type, 0, from + accepted, FILLER, NULL) == WEIR_ACCEPTED) accepted++;
    if (limit && i % 50 == 0) above += stat_of(weir_directory(log)).total_bytes > limit;
  }
  CHECK_EQUAL(above, 0);
  return accepted;
}

static inline uint64_t least_limit(uint32_t policy) {
  weir_options options = small_options();
  options.limit_policy = policy;
  options.max_bytes = 1;
  weir_log *log;
  weir_error error;
  CHECK_EQUAL(weir_open("/nowhere", &options, &log, NULL, &error), WEIR_ERROR_INVALID);
  const char *number = strstr(error.message, "at least ");
  REQUIRE(number);
  return strtoull(number + 9, NULL, 10);
}

/* Makes a closed log of `count` events without bounds. */
static inline void make_log(const char *directory, uint64_t count) {
  weir_options options = small_options();
  weir_log *log = open_with(directory, &options, NULL);
  CHECK_EQUAL(capture_watched(log, define_numbered(log), 0, count, 0), count);
  close_and_free(log);
}

#endif
