/* weir_c.c: Weir's C interface as a subject: the inlined form and the one-call form. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_subjects.h"
#include "weir.h"

struct weir_subject {
  weir_log *log;
  uint32_t type;
};

weir_subject *weir_subject_open(const char *directory, char message[1024]) {
  weir_options options;
  weir_options_init(&options);
  weir_error error;
  weir_subject *subject = calloc(1, sizeof *subject);
  if (!subject) return NULL;
  const weir_field fields[] = {{"order", WEIR_KIND_U64, 0},
                               {"total", WEIR_KIND_F64, 0},
                               {"items", WEIR_KIND_I32, 0},
                               {"coupon", WEIR_KIND_STRING, 0}};
  const weir_definition definition = {"checkout.completed", fields, 4, NULL, 0, 0};
  if (weir_open(directory, &options, &subject->log, NULL, &error) != WEIR_OK ||
      weir_define(subject->log, 0, &definition, 1, &subject->type, &error) != WEIR_OK) {
    snprintf(message, 1024, "%s", error.message);
    weir_free(subject->log);
    free(subject);
    return NULL;
  }
  return subject;
}

uint64_t weir_subject_burst(weir_subject *subject, uint64_t first, uint64_t count, const char *coupon, uint64_t bytes) {
  weir_log *log = subject->log;
  uint32_t type = subject->type;
  uint64_t accepted = 0;
  for (uint64_t order = first; order < first + count; order++) {
    weir_record record;
    if (weir_begin(log, &record) != WEIR_ACCEPTED) continue;
    weir_put_u64(&record, order);
    weir_put_f64(&record, 19.99);
    weir_put_u32(&record, 3);
    weir_put_string(&record, coupon, bytes);
    accepted += weir_commit(&record, type, NULL) == WEIR_ACCEPTED;
  }
  return accepted;
}

uint64_t weir_subject_burst_call(weir_subject *subject, uint64_t first, uint64_t count, const char *coupon,
                                 uint64_t bytes) {
  uint8_t payload[64];
  double total = 19.99;
  uint32_t items = 3, length = (uint32_t)bytes;
  uint64_t accepted = 0;
  if (bytes > sizeof payload - 24) return 0;
  for (uint64_t order = first; order < first + count; order++) {
    memcpy(payload, &order, 8);
    memcpy(payload + 8, &total, 8);
    memcpy(payload + 16, &items, 4);
    memcpy(payload + 20, &length, 4);
    memcpy(payload + 24, coupon, bytes);
    accepted += weir_capture(subject->log, subject->type, payload, 24 + bytes, NULL) == WEIR_ACCEPTED;
  }
  return accepted;
}

int weir_subject_drain(weir_subject *subject) {
  return weir_drain(subject->log, UINT64_MAX, NULL, NULL) == WEIR_OK ? 0 : -1;
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

int64_t weir_count_events(const char *directory) {
  weir_reader_options options;
  weir_reader_options_init(&options);
  weir_reader *reader;
  if (weir_reader_open(directory, &options, &reader, NULL) != WEIR_OK) return -1;
  weir_event event;
  weir_skip skip;
  weir_status status;
  int64_t count = 0;
  while ((status = weir_reader_next(reader, &event, &skip, NULL)) == WEIR_OK) count += event.type >= WEIR_TYPE_FIRST;
  weir_reader_close(reader);
  return status == WEIR_END ? count : -1;
}
