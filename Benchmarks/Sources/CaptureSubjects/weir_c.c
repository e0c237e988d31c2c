/* weir_c.c: Weir's C interface as a subject: the inlined form and the one-call form. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_subjects.h"
#include "weir.h"

struct weir_subject {
  weir_log *log;
  uint32_t type;
  uint64_t text_bytes;
};

static weir_status open_log(weir_subject *subject, const char *directory, const weir_setup *setup, weir_error *error) {
  static const weir_field fields[] = {{"order", WEIR_KIND_U64, 0},
                                      {"total", WEIR_KIND_F64, 0},
                                      {"items", WEIR_KIND_I32, 0},
                                      {"coupon", WEIR_KIND_STRING, 0}};
  int is_checkout = setup->text_bytes == CHECKOUT_TEXT;
  weir_definition definition = {.name = "checkout.completed",
                                .fields = is_checkout ? fields : fields + 3,
                                .field_count = is_checkout ? 4 : 1};
  weir_options options;
  weir_options_init(&options);
  options.clock = setup->clock;
  options.full_wait_ns = setup->full_wait_ns;
  uint32_t lanes = setup->threads + options.spare_lanes;
  if (options.lane_count < lanes) options.lane_count = lanes;
  weir_status status = weir_open(directory, &options, &subject->log, NULL, error);
  if (status == WEIR_OK) status = weir_define(subject->log, 0, &definition, 1, &subject->type, error);
  return status;
}

weir_subject *weir_subject_open(const char *directory, const weir_setup *setup, char message[1024]) {
  weir_error error;
  weir_subject *subject = calloc(1, sizeof *subject);
  if (!subject) return NULL;
  subject->text_bytes = setup->text_bytes;
  if (open_log(subject, directory, setup, &error) != WEIR_OK) {
    snprintf(message, 1024, "%s", error.message);
    weir_free(subject->log);
    free(subject);
    return NULL;
  }
  return subject;
}

/* One event of the standard kind, as a program would write it. */
WEIR_INLINE int capture_checkout(weir_log *log, uint32_t type, uint64_t order, const char *coupon, uint64_t bytes) {
  weir_record record;
  if (weir_begin(log, &record) != WEIR_ACCEPTED) return 0;
  weir_put_u64(&record, order);
  weir_put_f64(&record, 19.99);
  weir_put_u32(&record, 3);
  weir_put_string(&record, coupon, bytes);
  return weir_commit(&record, type, NULL) == WEIR_ACCEPTED;
}

static uint64_t burst_texts(weir_subject *subject, uint64_t count, const char *text) {
  weir_log *log = subject->log;
  uint64_t accepted = 0;
  for (uint64_t i = 0; i < count; i++) {
    weir_record record;
    if (weir_begin(log, &record) != WEIR_ACCEPTED) continue;
    weir_put_string(&record, text, subject->text_bytes);
    accepted += weir_commit(&record, subject->type, NULL) == WEIR_ACCEPTED;
  }
  return accepted;
}

uint64_t weir_subject_burst(weir_subject *subject, uint64_t first, uint64_t count, const char *text) {
  weir_log *log = subject->log;
  uint32_t type = subject->type;
  uint64_t accepted = 0, bytes = subject->text_bytes;
  if (bytes != CHECKOUT_TEXT) return burst_texts(subject, count, text);
  for (uint64_t order = first; order < first + count; order++) {
    accepted += capture_checkout(log, type, order, text, bytes);
  }
  return accepted;
}

uint64_t weir_subject_burst_timed(weir_subject *subject, uint64_t first, uint64_t count, const char *text, uint64_t gap,
                                  uint32_t *ticks) {
  uint64_t accepted = 0, bytes = subject->text_bytes, next = support_ticks();
  for (uint64_t i = 0; i < count; i++, next += gap) {
    support_wait_until(next);
    uint64_t start = support_ticks();
    accepted += capture_checkout(subject->log, subject->type, first + i, text, bytes);
    uint64_t took = support_ticks() - start;
    ticks[i] = took > UINT32_MAX ? UINT32_MAX : (uint32_t)took;
  }
  return accepted;
}

uint64_t weir_subject_burst_call(weir_subject *subject, uint64_t first, uint64_t count, const char *text) {
  uint8_t payload[24 + CHECKOUT_TEXT];
  double total = 19.99;
  uint32_t items = 3, length = CHECKOUT_TEXT;
  uint64_t accepted = 0;
  for (uint64_t order = first; order < first + count; order++) {
    memcpy(payload, &order, 8);
    memcpy(payload + 8, &total, 8);
    memcpy(payload + 16, &items, 4);
    memcpy(payload + 20, &length, 4);
    memcpy(payload + 24, text, CHECKOUT_TEXT);
    accepted += weir_capture(subject->log, subject->type, payload, sizeof payload, NULL) == WEIR_ACCEPTED;
  }
  return accepted;
}

int weir_subject_drain(weir_subject *subject) {
  return weir_drain(subject->log, UINT64_MAX, NULL, NULL) == WEIR_OK ? 0 : -1;
}

void weir_subject_count(const weir_subject *subject, uint64_t *accepted, uint64_t *wakeups, uint64_t *next_offset) {
  weir_counters counters;
  weir_count(subject->log, &counters);
  *accepted = counters.accepted;
  *wakeups = counters.wakeups;
  *next_offset = counters.next_offset;
}

int weir_subject_close(weir_subject *subject, uint64_t *accepted, uint64_t *dropped) {
  weir_status status = weir_close(subject->log, NULL);
  weir_counters counters;
  weir_count(subject->log, &counters);
  *accepted = counters.accepted;
  *dropped = 0;
  for (int i = 0; i < WEIR_DROP_REASONS; i++) *dropped += counters.dropped[i];
  weir_free(subject->log);
  free(subject);
  return status == WEIR_OK ? 0 : -1;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

static weir_reader *open_reader(const char *directory, uint64_t from_offset) {
  weir_reader_options options;
  weir_reader_options_init(&options);
  options.from_offset = from_offset;
  weir_reader *reader;
  return weir_reader_open(directory, &options, &reader, NULL) == WEIR_OK ? reader : NULL;
}

int64_t weir_count_events(const char *directory) {
  weir_reader *reader = open_reader(directory, 0);
  if (!reader) return -1;
  weir_event event;
  weir_skip skip;
  weir_status status;
  int64_t count = 0;
  while ((status = weir_reader_next(reader, &event, &skip, NULL)) == WEIR_OK) count += event.type >= WEIR_TYPE_FIRST;
  weir_reader_close(reader);
  return status == WEIR_END ? count : -1;
}

int weir_subject_first_event(weir_subject *subject, const char *directory, const char *text, uint64_t *in_log_ns,
                             uint64_t *read_ns) {
  enum { SECOND = 1000000000 };
  uint64_t accepted, wakeups, offset, next;
  weir_subject_count(subject, &accepted, &wakeups, &offset);
  weir_reader *reader = open_reader(directory, offset);
  if (!reader) return -1;
  weir_event event;
  weir_skip skip;
  *in_log_ns = *read_ns = 0;
  uint64_t start = support_now_ns();
  if (!capture_checkout(subject->log, subject->type, accepted, text, CHECKOUT_TEXT)) *in_log_ns = SECOND;
  do {
    weir_subject_count(subject, &accepted, &wakeups, &next);
    *in_log_ns = support_now_ns() - start;
  } while (next == offset && *in_log_ns < SECOND);
  while (*in_log_ns < SECOND && *read_ns < SECOND) {
    weir_status status = weir_reader_next(reader, &event, &skip, NULL);
    *read_ns = support_now_ns() - start;
    if (status == WEIR_OK && event.type >= WEIR_TYPE_FIRST) break;
  }
  weir_reader_close(reader);
  return *in_log_ns < SECOND && *read_ns < SECOND ? 0 : -1;
}
