/*
 * threadless_check.h: small logs without threads, whose test captures and drains in turns, and what must hold of them.
 */
#ifndef WEIR_TESTS_THREADLESS_CHECK_H
#define WEIR_TESTS_THREADLESS_CHECK_H

#include "retention_check.h"

static inline weir_options threadless_options(void) {
  weir_options options = small_options();
  options.full_wait_ns = 0;
  options.threadless = 1;
  return options;
}

static inline weir_log *open_threadless(const char *directory, weir_recovery *recovery) {
  weir_options options = threadless_options();
  return open_with(directory, &options, recovery);
}

static inline weir_counters counters_of(const weir_log *log) {
  weir_counters counters;
  weir_count(log, &counters);
  return counters;
}

/* Captures; where the lane is full, drains and captures again. Answers the drop reason of the last try. */
static inline int32_t capture_or_drain(weir_log *log, uint32_t type, uint64_t producer, uint64_t number, uint64_t filler,
                                weir_id *id) {
  int32_t answer = capture_numbered(log, type, producer, number, filler, id);
  if (answer != WEIR_DROP_FULL) return answer;
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  return capture_numbered(log, type, producer, number, filler, id);
}

/* Captures until it is refused; answers the next number. */
static inline uint64_t fill(weir_log *log, uint32_t type, uint64_t number, uint64_t filler, int32_t reason) {
  int32_t answer;
  while ((answer = capture_numbered(log, type, 0, number, filler, NULL)) == WEIR_ACCEPTED) number++;
  CHECK_EQUAL(answer, reason);
  return number;
}

/* Captures and drains until a drain fails; answers the next number. */
static inline uint64_t use_up(weir_log *log, uint32_t type, uint64_t number, weir_status wanted, weir_error *error) {
  weir_status status = WEIR_OK;
  for (uint64_t end = number + 100000; status == WEIR_OK && number < end;) {
    number = fill(log, type, number, FILLER, WEIR_DROP_FULL);
    status = weir_drain(log, UINT64_MAX, NULL, error);
  }
  CHECK_EQUAL(status, wanted);
  return fill(log, type, number, FILLER, WEIR_DROP_STORAGE);
}

/* A log that nobody has open has so many events of producer 0, whole and in order. */
static inline void check_log(const char *directory, uint64_t count) {
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 0), count);
  CHECK_EQUAL(found.count, count);
  found_free(&found);
  weir_verification verification;
  weir_error error;
  CHECK_EQUAL(weir_verify(directory, print_finding, (void *)directory, &verification, &error), WEIR_OK);
  CHECK_EQUAL(verification.findings, 0);
}

#endif
