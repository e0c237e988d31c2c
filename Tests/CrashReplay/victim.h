/*
 * victim.h: the process that dies. It opens a log with small limits, captures from several threads, closes, opens
 * again, as its plan says, and says in a report what it does. Whoever started it kills it when it likes.
 *
 * Event n of thread t is the same bytes in every life that has the same seed, so a judge that has only the seed can
 * tell of any event whether each byte of it is right. Its size varies from nothing to the largest that the plan allows.
 * So it is with its scope, if it has one. The n-th global context that is set is the same bytes, too; which of them an
 * event may have, the report says.
 */
#ifndef WEIR_REPLAY_VICTIM_H
#define WEIR_REPLAY_VICTIM_H

#include <sys/types.h>

#include "report.h"

typedef struct victim_plan {
  const char *directory;
  const char *ring_directory; /* null: beside the segments */
  uint64_t seed;
  uint32_t threads;  /* 1 to REPORT_THREADS */
  uint32_t openings; /* how often it opens, captures and closes; 0: without end */
  uint64_t events;   /* captures of each thread in one opening; 0: until the report has no room */
  uint64_t hold;     /* captures after which a thread ends and another goes on with its events; 0: never */
  uint64_t pause_ns; /* the longest pause between two captures; 0: none */
  uint64_t sync_every;    /* captures of a thread between its calls of weir_sync; 0: never */
  uint64_t durable_every; /* captures of a thread between its calls of weir_durable; 0: never */
  uint64_t largest;       /* filler bytes of the largest event, at most max_event_bytes - VICTIM_FIXED_BYTES */
  int idle_at_end;        /* waits to be killed in place of closing for the last time */
  uint32_t contexts;      /* different global contexts, of which one is none at all; 0: none is set */
  uint64_t context_every; /* captures of a thread between its changes of the context */
  int scoped;             /* one event in four has a scope, if it fits */
  int sampled;            /* one event in eight is left out */
  uint64_t deliver_every; /* captures of a thread until it says that some more was delivered; 0: never */

  /* As in weir_options. */
  uint32_t lane_count, spare_lanes, full_policy, clock;
  uint64_t lane_bytes, overflow_bytes, segment_bytes, max_event_bytes;
  uint64_t drain_interval_ns, full_wait_ns, sync_interval_ns;
  uint64_t max_bytes, retain_bytes;
  uint32_t limit_policy, batch_threads, remove_delivered;
  uint32_t threadless;
  uint64_t drain_every; /* without threads: captures of a thread between its drains, beside those for a full lane */
} victim_plan;

enum {
  VICTIM_LEAST_LANE = 4096,        /* bytes, enough for events of 1 KiB */
  VICTIM_LEAST_SEGMENT = 135168,   /* the least that weir_open takes for events of 1 KiB, in whole pages */
  VICTIM_MAX_EVENT = 1024,
  VICTIM_FIXED_BYTES = 16 /* thread u32, number u64, filler's length u32 */
};

/* Two threads, two owned lanes and one spare of the least size, segments of the least size, until it is killed. */
victim_plan victim_plan_small(const char *directory, uint64_t seed);

/* Threads, sizes, policies, pauses, closes and syncs at random; `ring_directory` (may be null) is taken or not. */
victim_plan victim_plan_random(const char *directory, const char *ring_directory, uint64_t seed);

/* Makes it one of a log without threads: leaves out what needs one. */
void victim_leave_threads_out(victim_plan *plan, uint64_t drain_every);

/* One line that tells of the plan, for a failure's message. */
const char *victim_describe(const victim_plan *plan);

/* Opens as the plan says; enters PHASE_OPENING and notes the opening in the report (may be null). */
weir_status victim_open(const victim_plan *plan, report *report, weir_log **log, weir_recovery *recovery,
                        weir_error *error);

/* Defines the events' types; answers the first of the two. */
uint32_t victim_define(weir_log *log);

/* The fields of an event, VICTIM_FIXED_BYTES and its filler; answers how many bytes they are. */
uint64_t victim_payload(uint8_t *payload, const victim_plan *plan, uint32_t thread, uint64_t number);

/* The scope of an event: its bytes and how many they are, or UINT64_MAX if it has none. */
enum { VICTIM_MAX_SCOPE = 128, VICTIM_MAX_CONTEXT = 512 };
uint64_t victim_scope(uint8_t scope[VICTIM_MAX_SCOPE], const victim_plan *plan, uint32_t thread, uint64_t number);

/* The global context of that number in the report; answers its bytes, 0 for none. */
uint64_t victim_context(uint8_t context[VICTIM_MAX_CONTEXT], const victim_plan *plan, uint32_t number);

/* Sets the next one and notes it, unless another thread is doing so, or the room for contexts is used up. */
void victim_set_context(const victim_plan *plan, report *report, weir_log *log);

/* The type of an event: 0 the first, "replay.bytes", 1 the second, "replay.text". */
uint32_t victim_type(uint64_t seed, uint32_t thread, uint64_t number);
const char *victim_type_name(uint32_t type);

/* Captures a thread's next event and notes it; answers what the library answered. */
int32_t victim_capture(const victim_plan *plan, report *report, weir_log *log, uint32_t first_type, uint32_t thread,
                       weir_id *id);

/* Without threads: drains where it is time to, or the last capture, by its answer, found the lane full. */
void victim_work(const victim_plan *plan, report *report, weir_log *log, int32_t answer, uint64_t captures);

/* Says that some of what is in the log was delivered, as far as `state` has it; notes it before. */
void victim_deliver(report *report, weir_log *log, uint64_t *state);

/* Does all that the plan says, in this process. 0, or 1 if something failed that the plan does not allow for. */
int victim_run(const victim_plan *plan, report *report);

/* The same in a child. */
pid_t victim_start(const victim_plan *plan, report *report);

/* Waits until the victim's phase is `phase` or a later one, or the victim has ended: 0. */
int victim_wait_for(pid_t victim, const report *report, report_phase phase);

/* Kills it and waits for its end: 1 if the kill ended it, 0 if it had ended by itself. */
int victim_kill(pid_t victim, int *status);

#endif
