/*
 * context_check.h: events that say in which context and scope they were captured, and what a log must hold of them.
 * Context n is a tagged object that holds n and some filler; an event of it carries n in its payload, too.
 */
#ifndef WEIR_TESTS_CONTEXT_CHECK_H
#define WEIR_TESTS_CONTEXT_CHECK_H

#include "check.h"

enum { CONTEXT_ROOM = WEIR_MAX_CONTEXT_BYTES, LEAST_CONTEXT = 29 };

/* The tagged object {"n": number, "filler": bytes}, LEAST_CONTEXT and `filler` bytes long. Answers its bytes. */
static inline uint64_t make_context(uint8_t bytes[CONTEXT_ROOM], uint64_t number, uint64_t filler) {
  static const uint8_t head[] = {2, 0, 0, 0, 1, 0, 0, 0, 'n', WEIR_KIND_U64};
  static const uint8_t name[] = {2, 0, 0, 0, 'f', 'i', WEIR_KIND_BYTES};
  uint32_t count = (uint32_t)filler;
  memcpy(bytes, head, sizeof head);
  memcpy(bytes + 10, &number, 8);
  memcpy(bytes + 18, name, sizeof name);
  memcpy(bytes + 25, &count, 4);
  for (uint64_t i = 0; i < filler; i++) bytes[LEAST_CONTEXT + i] = (uint8_t)(number * 7 + i);
  return LEAST_CONTEXT + filler;
}

/* Filler that follows from the number, so that some contexts differ in length and some do not. */
static inline uint64_t filler_of(uint64_t number) { return number * 13 % 7; }

static inline weir_status set_context(weir_log *log, uint64_t number) {
  uint8_t bytes[CONTEXT_ROOM];
  weir_error error;
  uint64_t count = number == 0 ? 0 : make_context(bytes, number, filler_of(number));
  weir_status status = weir_set_context(log, bytes, count, &error);
  if (status != WEIR_OK) CHECK(error.status == status && strlen(error.message) > 10 && !strchr(error.message, '\n'));
  return status;
}

/* The number in a context, if each of its bytes is right; 0 for none; UINT64_MAX for anything else. */
static inline uint64_t context_of(const weir_event *event) {
  uint8_t wanted[CONTEXT_ROOM];
  uint64_t number;
  if (!event->context) return event->context_number == 0 && event->context_bytes == 0 ? 0 : UINT64_MAX;
  if (event->context_bytes < LEAST_CONTEXT || event->context_definition == 0) return UINT64_MAX;
  memcpy(&number, event->context + 10, 8);
  uint64_t bytes = make_context(wanted, number, event->context_bytes - LEAST_CONTEXT);
  return memcmp(wanted, event->context, bytes) == 0 && event->context_bytes == LEAST_CONTEXT + filler_of(number)
             ? number
             : UINT64_MAX;
}

static inline uint32_t define_said(weir_log *log) {
  const weir_field fields[] = {{"context", WEIR_KIND_U64, 0}, {"number", WEIR_KIND_U64, 0}};
  const weir_definition definition = {.name = "said", .fields = fields, .field_count = 2};
  uint32_t type = 0;
  CHECK_EQUAL(weir_define(log, 0, &definition, 1, &type, NULL), WEIR_OK);
  return type;
}

static inline int32_t capture_said(weir_log *log, uint32_t type, uint64_t context, uint64_t number) {
  const uint64_t payload[2] = {context, number};
  return weir_capture(log, type, payload, sizeof payload, NULL);
}

/* Gives each event of a log that is no notice to `take`. Answers how many there are; a skip is a failed check. */
static inline uint64_t read_said_with(const char *directory, const weir_reader_options *options,
                                      void (*take)(void *context, const weir_event *event), void *context) {
  weir_reader *reader;
  weir_event event;
  weir_error error;
  weir_status status;
  uint64_t count = 0;
  if (!CHECK_EQUAL(weir_reader_open(directory, options, &reader, &error), WEIR_OK)) return 0;
  while ((status = weir_reader_next(reader, &event, NULL, &error)) == WEIR_OK || status == WEIR_SKIPPED) {
    if (!CHECK_EQUAL(status, WEIR_OK)) continue;
    if (event.name_bytes >= 5 && memcmp(event.name, "weir.", 5) == 0) continue;
    count++;
    take(context, &event);
  }
  CHECK_EQUAL(status, WEIR_END);
  weir_reader_close(reader);
  return count;
}

static inline uint64_t read_said(const char *directory, void (*take)(void *context, const weir_event *event),
                                 void *context) {
  return read_said_with(directory, NULL, take, context);
}

/* That each event has the context that it says it has; `wrong` counts those that have not. */
static inline void take_said(void *wrong, const weir_event *event) {
  uint64_t said[2];
  int good = event->payload_bytes == sizeof said && event->scope == NULL;
  if (good) {
    memcpy(said, event->payload, sizeof said);
    good = context_of(event) == said[0];
  }
  *(uint64_t *)wrong += !good;
}

/* Answers how many events there are, each in the context that it says. */
static inline uint64_t check_said(const char *directory) {
  uint64_t wrong = 0, count = read_said(directory, take_said, &wrong);
  CHECK_EQUAL(wrong, 0);
  weir_verification verification;
  CHECK_EQUAL(weir_verify(directory, NULL, NULL, &verification, NULL), WEIR_OK);
  CHECK_EQUAL(verification.findings, 0);
  return count;
}

/* A log whose lanes are drained only when asked to, with segments of the least size if `small`. */
static inline weir_log *open_said(const char *directory, int small, weir_recovery *recovery) {
  weir_options options;
  weir_options_init(&options);
  options.max_event_bytes = 1024;
  options.lane_bytes = small ? 16384 : 1 << 20;
  options.overflow_bytes = 0;
  options.full_wait_ns = UINT64_MAX;
  options.drain_interval_ns = UINT64_C(10000000000);
  if (small) options.segment_bytes = 131072 + 2 * (WEIR_RECORD_HEADER_BYTES + 1024);
  weir_log *log = NULL;
  weir_error error;
  if (!CHECK_EQUAL(weir_open(directory, &options, &log, recovery, &error), WEIR_OK)) {
    fprintf(stderr, "%s\n", error.message);
  }
  return log;
}

static inline void close_said(weir_log *log) {
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_free(log);
}

#endif
