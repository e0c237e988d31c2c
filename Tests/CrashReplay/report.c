/* report.c: see report.h. */
#define _GNU_SOURCE
#include "report.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static report *map(int fd, int flags) {
  void *memory = mmap(NULL, sizeof(report), PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, 0);
  if (fd >= 0) close(fd);
  if (memory == MAP_FAILED) {
    perror("cannot map a report");
    exit(2);
  }
  return memory;
}

report *report_make(const char *path) {
  if (!path) return map(-1, MAP_ANONYMOUS);
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(report)) != 0) {
    perror(path);
    exit(2);
  }
  return map(fd, 0);
}

report *report_map(const char *path) {
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    perror(path);
    exit(2);
  }
  return map(fd, 0);
}

void report_free(report *report) { munmap(report, sizeof *report); }

void report_clear(report *report) {
  for (uint32_t i = 0; i < REPORT_THREADS; i++) {
    report_thread *thread = &report->threads[i];
    uint64_t used = thread->began < REPORT_EVENTS ? thread->began : REPORT_EVENTS;
    memset((void *)thread->events, 0, used * sizeof *thread->events);
    memset((void *)thread, 0, offsetof(report_thread, events));
  }
  memset((void *)report, 0, offsetof(struct report, threads));
}

uint64_t report_begin(report *report, uint32_t thread) {
  report_thread *own = &report->threads[thread];
  uint64_t number = atomic_load_explicit(&own->began, memory_order_relaxed);
  report_event *event = &own->events[number];
  event->opening = (uint16_t)(atomic_load_explicit(&report->openings, memory_order_relaxed) - 1);
  event->context_least = atomic_load_explicit(&report->context_set, memory_order_acquire);
  atomic_store_explicit(&event->answer, ANSWER_BEGAN, memory_order_release);
  atomic_store_explicit(&own->began, number + 1, memory_order_release);
  return number;
}

void report_return(report *report, uint32_t thread, uint64_t number, int32_t answer, const weir_id *id) {
  report_thread *own = &report->threads[thread];
  report_event *event = &own->events[number];
  if (answer == WEIR_ACCEPTED) event->sequence = id->sequence;
  event->context_most = atomic_load_explicit(&report->context_begun, memory_order_acquire);
  uint32_t word = answer == WEIR_ACCEPTED ? ANSWER_ACCEPTED : ANSWER_REFUSED + (uint32_t)answer;
  atomic_store_explicit(&event->answer, word, memory_order_release);
  atomic_fetch_add_explicit(&own->returned, 1, memory_order_release);
  if (answer == WEIR_ACCEPTED) atomic_fetch_add_explicit(&own->accepted, 1, memory_order_release);
}

void report_opened(report *report, const weir_recovery *recovery) {
  uint64_t number = report->openings;
  if (number == REPORT_OPENINGS) {
    fprintf(stderr, "a report has room for %d openings\n", REPORT_OPENINGS);
    abort();
  }
  report->opening[number] = recovery->opening;
  report->first_offset[number] = recovery->first_offset;
  report->context_first[number] = report->context_begun;
  report_context_set(report, report->context_begun);
  atomic_store_explicit(&report->openings, number + 1, memory_order_release);
}

uint32_t report_context_begin(report *report) {
  return atomic_fetch_add_explicit(&report->context_begun, 1, memory_order_acq_rel) + 1;
}

void report_context_set(report *report, uint32_t number) {
  atomic_store_explicit(&report->context_set, number, memory_order_release);
}

uint32_t report_last_context(const report *report, uint64_t opening) {
  return opening + 1 < report->openings ? report->context_first[opening + 1] : report->context_begun;
}

void report_durable(report *report, uint32_t thread, uint64_t end) {
  _Atomic uint64_t *durable = &report->threads[thread].durable;
  if (atomic_load_explicit(durable, memory_order_relaxed) < end) {
    atomic_store_explicit(durable, end, memory_order_release);
  }
}

void report_durable_event(report *report, uint32_t thread, uint64_t number) {
  report_event *events = report->threads[thread].events, *last = &events[number];
  for (uint64_t n = number + 1; n-- > 0 && events[n].opening == last->opening;) {
    if (events[n].answer != ANSWER_ACCEPTED || events[n].sequence >> 48 != last->sequence >> 48) continue;
    if (atomic_exchange_explicit(&events[n].durable, 1, memory_order_release)) return;
  }
}

void report_watermark(report *report, uint64_t offset) {
  uint64_t known = atomic_load_explicit(&report->watermark, memory_order_relaxed);
  while (known < offset && !atomic_compare_exchange_weak(&report->watermark, &known, offset)) continue;
}

void report_delivered(report *report, uint64_t offset) {
  uint64_t known = atomic_load_explicit(&report->delivered, memory_order_relaxed);
  while (known < offset && !atomic_compare_exchange_weak(&report->delivered, &known, offset)) continue;
}

void report_enter(report *report, report_phase phase) {
  atomic_store_explicit(&report->phase, (uint32_t)phase, memory_order_release);
}

void report_failure(report *report, const char *what, const weir_error *error) {
  if (atomic_exchange(&report->failed, 1)) return;
  snprintf(report->message, sizeof report->message, "%s: %.900s", what, error ? error->message : "failed");
}

const char *report_phase_name(uint32_t phase) {
  static const char *const names[PHASES] = {"starting", "opening", "capturing", "closing", "between", "idle", "ended"};
  return phase < PHASES ? names[phase] : "?";
}
