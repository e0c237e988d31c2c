/*
 * report.h: what a victim says about itself, in memory that outlives it: a mapped file outside of the log. A victim
 * writes down that a capture begins before it calls the library, and what the library answered as soon as it returned.
 * So whatever instruction kills it, the judge knows of each event whether it was accepted, refused, or in flight.
 *
 * A report runs on over the lives of a log: each opening (of whatever process) takes the next number, each thread's
 * events are numbered on. All words are plain atomics; a report is written by one process at a time.
 */
#ifndef WEIR_REPLAY_REPORT_H
#define WEIR_REPLAY_REPORT_H

#include <stdatomic.h>
#include <stdint.h>

#include "weir.h"

enum {
  REPORT_THREADS = 12,   /* threads that a victim may have */
  REPORT_EVENTS = 65536, /* captures of one thread, over all lives */
  REPORT_OPENINGS = 1024
};

/* What the victim is doing, for the statistics of kills and for drivers that wait for a moment. */
typedef enum report_phase {
  PHASE_STARTING,
  PHASE_OPENING, /* in weir_open: recovery too */
  PHASE_CAPTURING,
  PHASE_CLOSING,
  PHASE_BETWEEN, /* closed, to be opened again */
  PHASE_IDLE,    /* everything captured, waiting to be killed */
  PHASE_ENDED,   /* it did all that its plan says */
  PHASES
} report_phase;

/* One capture. */
typedef enum report_answer {
  ANSWER_NONE,     /* never began */
  ANSWER_BEGAN,    /* began: it may be in the log, or not */
  ANSWER_ACCEPTED, /* returned: it must be in the log, or have been counted as overwritten */
  ANSWER_REFUSED   /* plus the reason: it must not be in the log, and was counted */
} report_answer;

typedef struct report_event {
  _Atomic uint32_t answer;
  uint16_t opening;          /* number in the report */
  _Atomic uint16_t durable;  /* it was awaited durable by its id */
  uint64_t sequence;         /* of its id, if accepted */
  /* The contexts that it may have, by their numbers in the report. */
  uint32_t context_least;    /* the last that was set, as its capture began */
  uint32_t context_most;     /* the last that somebody had begun to set, as it returned */
} report_event;

typedef struct report_thread {
  _Atomic uint64_t began;    /* captures that began; the number of the next one */
  _Atomic uint64_t returned; /* captures that were answered */
  _Atomic uint64_t accepted; /* of these, those accepted */
  _Atomic uint64_t durable;  /* events numbered below it, if accepted, were awaited durable: they survive power cuts */
  _Atomic uint32_t syncing;  /* it is waiting for the disk */
  uint32_t reserved;
  report_event events[REPORT_EVENTS];
} report_thread;

typedef struct report {
  _Atomic uint32_t phase;    /* report_phase */
  _Atomic uint32_t failed;   /* a call of the library failed in a way that the plan does not allow for; see `message` */
  _Atomic uint64_t openings; /* that returned */
  _Atomic uint64_t watermark; /* weir_durable_offset as last seen: offsets below it survive power cuts */
  _Atomic uint64_t delivered; /* the most that weir_set_delivered was told: what is below it may be removed uncounted */
  uint64_t opening[REPORT_OPENINGS]; /* the random number of each */
  uint64_t first_offset[REPORT_OPENINGS];
  _Atomic uint32_t context_begun; /* the number of the last global context that a victim began to set, of all lives */
  _Atomic uint32_t context_set;   /* the number of the last that was set */
  uint32_t context_first[REPORT_OPENINGS]; /* what they were as the opening began; stands for its having none yet */
  char message[1024];
  report_thread threads[REPORT_THREADS];
} report;

/* Makes an empty report: at `path`, for other programs to map, or (null) in memory shared with children alone. */
report *report_make(const char *path);
report *report_map(const char *path); /* an existing one */
void report_free(report *report);

/* Empties a report for the next log. */
void report_clear(report *report);

/* Room for another capture of this thread. */
static inline int report_has_room(const report *report, uint32_t thread) {
  return atomic_load_explicit(&report->threads[thread].began, memory_order_relaxed) < REPORT_EVENTS;
}

/* Notes that a global context is about to be set; answers its number. And that it is set. One at a time. */
uint32_t report_context_begin(report *report);
void report_context_set(report *report, uint32_t number);

/* The last context that an event of that opening can have: it was set in it. */
uint32_t report_last_context(const report *report, uint64_t opening);

/* Notes that a thread's next capture begins, in the report's last opening; answers its number. */
uint64_t report_begin(report *report, uint32_t thread);

/* Notes what weir_begin, weir_commit or weir_capture answered. */
void report_return(report *report, uint32_t thread, uint64_t number, int32_t answer, const weir_id *id);

/* Notes that the log was opened. */
void report_opened(report *report, const weir_recovery *recovery);

/* Notes that all that a thread had captured before its event `end` is durable. */
void report_durable(report *report, uint32_t thread, uint64_t end);

/* Notes that a thread's event was awaited by its id: so is what it captured before it to its lane in this opening. */
void report_durable_event(report *report, uint32_t thread, uint64_t number);

/* Whether an accepted event has to survive a power cut. */
static inline int report_is_durable(const report *report, uint32_t thread, uint64_t number) {
  const report_thread *own = &report->threads[thread];
  return number < own->durable || own->events[number].durable;
}

/* Notes the log's durable watermark. */
void report_watermark(report *report, uint64_t offset);

/* Notes what weir_set_delivered is about to be told. */
void report_delivered(report *report, uint64_t offset);

void report_enter(report *report, report_phase phase);
void report_failure(report *report, const char *what, const weir_error *error);
const char *report_phase_name(uint32_t phase);

#endif
