/*
 * disk_log.h: the small log that the checks of disks and limits use, and what it is held to. Its events are those of
 * capture_check.h.
 */
#ifndef WEIR_CRASH_REPLAY_DISK_LOG_H
#define WEIR_CRASH_REPLAY_DISK_LOG_H

#include "capture_check.h"

#include <dirent.h>

#include "format/format.h"

enum { SEGMENT_BYTES = 139264, FILLER = 300 }; /* 34 pages; some 400 events of this size */

static uint64_t full_wait; /* of the logs opened next: 0 refuses at once */

static inline weir_status open_log(const char *directory, weir_log **log, weir_recovery *recovery, weir_error *error) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 3;
  options.spare_lanes = 1;
  options.lane_bytes = 32768;
  options.max_event_bytes = 1024;
  options.segment_bytes = SEGMENT_BYTES;
  options.full_wait_ns = full_wait;
  memset(error, 0, sizeof *error);
  return weir_open(directory, &options, log, recovery, error);
}

static inline weir_log *must_open(const char *directory, weir_recovery *recovery) {
  weir_log *log = NULL;
  weir_error error;
  if (!CHECK_EQUAL(open_log(directory, &log, recovery, &error), WEIR_OK)) fprintf(stderr, "%s\n", error.message);
  REQUIRE(log);
  return log;
}

/* Captures until so many more are accepted, refusals counted; gives up after twenty seconds. */
static inline uint64_t capture_more(weir_log *log, uint32_t type, uint64_t *number, uint64_t count) {
  uint64_t refused = 0, most = *number + count, end = now_ns() + UINT64_C(120000000000);
  while (*number < most && now_ns() < end) {
    if (capture_numbered(log, type, 0, *number, FILLER, NULL) == WEIR_ACCEPTED) {
      ++*number;
    } else {
      refused++;
      sleep_ns(50000);
    }
  }
  CHECK_EQUAL(*number, most);
  return refused;
}

static inline void check_message(const weir_error *error, const char *about) {
  if (!CHECK(strstr(error->message, about) && strchr(error->message, ';'))) fprintf(stderr, "%s\n", error->message);
}

/* The whole log: every number below `number`, once, in order. Answers the refusals that it counts. */
static inline uint64_t judge_whole(const char *directory, uint64_t number) {
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 0), number);
  uint64_t gaps = found.gaps;
  found_free(&found);
  weir_verification verification;
  weir_error error;
  CHECK_EQUAL(weir_verify(directory, NULL, NULL, &verification, &error), WEIR_OK);
  CHECK_EQUAL(verification.findings, 0);
  return gaps;
}

/* Opened again without a fault, the log has everything and goes on. */
static inline void judge_and_go_on(const char *directory, uint64_t number) {
  judge_whole(directory, number);
  for (int i = 0; i < 2; i++) {
    weir_log *log = must_open(directory, NULL);
    capture_more(log, define_numbered(log), &number, 50);
    close_and_free(log);
    judge_whole(directory, number);
  }
}

/* The n-th file whose name ends like this, in the order of names, or (-1) the last; null if there are not so many. */
static inline const char *file_named(const char *directory, const char *end, int nth) {
  struct dirent **names;
  const char *found = NULL;
  int last = nth < 0;
  int count = scandir(directory, &names, NULL, alphasort);
  REQUIRE(count >= 0);
  for (int i = 0; i < count; i++) {
    size_t length = strlen(names[i]->d_name), ending = strlen(end);
    if (length >= ending && strcmp(names[i]->d_name + length - ending, end) == 0 && (last || nth-- == 0)) {
      found = join(directory, names[i]->d_name);
    }
    free(names[i]);
  }
  free(names);
  return found;
}

/* Captures until the log says that it can't grow, and why; answers the refusals until then. */
static inline uint64_t capture_till_stalled(weir_log *log, uint32_t type, uint64_t *number, weir_status status,
                                            int error_number, const char *about) {
  weir_counters counters = {0};
  weir_error error = {0};
  uint64_t refused = 0, end = now_ns() + UINT64_C(120000000000);
  for (; counters.storage == WEIR_OK && now_ns() < end; weir_count(log, &counters)) {
    if (capture_numbered(log, type, 0, *number, FILLER, NULL) == WEIR_ACCEPTED) ++*number;
    else refused++;
  }
  CHECK_EQUAL(counters.storage, status);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, &error), status);
  CHECK_EQUAL(error.system_error, error_number);
  check_message(&error, about);
  return refused;
}

#endif
