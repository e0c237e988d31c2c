/* victim.c: see victim.h. */
#include "check.h"
#include "replay.h"
#include "victim.h"

#include <pthread.h>

/* ---- Plans ------------------------------------------------------------------------------------------------------- */

victim_plan victim_plan_small(const char *directory, uint64_t seed) {
  return (victim_plan){.directory = directory,
                       .seed = seed,
                       .threads = 2,
                       .openings = 1,
                       .largest = 200,
                       .idle_at_end = 1,
                       .lane_count = 3,
                       .spare_lanes = 1,
                       .clock = WEIR_CLOCK_AUTO,
                       .lane_bytes = VICTIM_LEAST_LANE,
                       .segment_bytes = VICTIM_LEAST_SEGMENT,
                       .max_event_bytes = VICTIM_MAX_EVENT,
                       .drain_interval_ns = 1000000};
}

void victim_leave_threads_out(victim_plan *plan, uint64_t drain_every) {
  plan->threadless = 1;
  plan->drain_every = drain_every;
  plan->full_wait_ns = plan->sync_interval_ns = 0;
  plan->batch_threads = 0;
  if (plan->clock == WEIR_CLOCK_TICK) plan->clock = WEIR_CLOCK_AUTO;
}

victim_plan victim_plan_random(const char *directory, const char *ring_directory, uint64_t seed) {
  uint64_t state = replay_mix(seed, 1);
  victim_plan plan = victim_plan_small(directory, seed);
  plan.threads = 1 + (uint32_t)replay_below(&state, 5);
  plan.lane_count = 2 + (uint32_t)replay_below(&state, 5);
  plan.spare_lanes = 1 + (uint32_t)replay_below(&state, plan.lane_count - 1 < 2 ? 1 : 2);
  plan.lane_bytes = (uint64_t)VICTIM_LEAST_LANE << replay_below(&state, 3);
  plan.segment_bytes = VICTIM_LEAST_SEGMENT + 4096 * replay_below(&state, 16);
  plan.largest = replay_below(&state, 2) ? 40 : 1 + replay_below(&state, VICTIM_MAX_EVENT - VICTIM_FIXED_BYTES);
  plan.drain_interval_ns = 50000 << replay_below(&state, 7);
  if (replay_below(&state, 3) == 0) plan.clock = 2 + (uint32_t)replay_below(&state, 3);
  switch (replay_below(&state, 4)) {
    case 0: break; /* a full lane refuses the newest at once */
    case 1: plan.full_wait_ns = 20000; break;
    case 2: plan.full_wait_ns = UINT64_MAX; break;
    case 3:
      plan.full_policy = WEIR_FULL_DROP_OLDEST;
      plan.full_wait_ns = replay_below(&state, 2) * 20000;
      break;
  }
  plan.openings = 1 + (uint32_t)replay_below(&state, 2) * (uint32_t)replay_below(&state, 4);
  if (plan.openings > 1) plan.events = 1 + replay_below(&state, 400);
  if (replay_below(&state, 3) == 0) plan.hold = 1 + replay_below(&state, 200);
  if (replay_below(&state, 2)) plan.pause_ns = UINT64_C(1000) << replay_below(&state, 8);
  if (replay_below(&state, 4) == 0) plan.sync_every = 1 + replay_below(&state, 300);
  if (replay_below(&state, 4) == 0) plan.durable_every = 1 + replay_below(&state, 300);
  if (replay_below(&state, 4) == 0) plan.sync_interval_ns = 1000000 + replay_below(&state, 5000000);
  plan.idle_at_end = (int)replay_below(&state, 2);
  if (ring_directory && replay_below(&state, 4) == 0) plan.ring_directory = ring_directory;
  static const uint32_t contexts[] = {0, 3, 40, 1000000};
  plan.contexts = contexts[replay_below(&state, 4)];
  plan.context_every = 1 + replay_below(&state, replay_below(&state, 2) ? 4 : 100);
  plan.scoped = (int)replay_below(&state, 2);
  plan.sampled = (int)replay_below(&state, 2);
  plan.batch_threads = (uint32_t)replay_below(&state, 3);
  plan.overflow_bytes = replay_below(&state, 3) * 2 * plan.lane_bytes;
  return plan;
}

const char *victim_describe(const victim_plan *plan) {
  static char text[512];
  snprintf(text, sizeof text,
           "%u threads, %u openings, %" PRIu64 " events each, hold %" PRIu64 ", pause %" PRIu64 " ns, sync every "
           "%" PRIu64 ", durable every %" PRIu64 ", synced each %" PRIu64 " ns, largest %" PRIu64 ", lanes %u "
           "(%u spare) of %" PRIu64 ", segments of %" PRIu64 ", interval %" PRIu64 " ns, policy %u, wait %" PRIu64
           " ns, clock %u, ring %s, %u contexts, each for %" PRIu64 "%s%s%s, %u batchers, delivered every %" PRIu64,
           plan->threads, plan->openings, plan->events, plan->hold, plan->pause_ns, plan->sync_every,
           plan->durable_every, plan->sync_interval_ns, plan->largest, plan->lane_count, plan->spare_lanes,
           plan->lane_bytes, plan->segment_bytes, plan->drain_interval_ns, plan->full_policy, plan->full_wait_ns,
           plan->clock, plan->ring_directory ? "elsewhere" : "here", plan->contexts, plan->context_every,
           plan->scoped ? ", scoped" : "", plan->sampled ? ", sampled" : "",
           plan->threadless ? ", without threads" : "", plan->batch_threads,
           plan->remove_delivered ? plan->deliver_every : 0);
  return text;
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

static uint64_t event_seed(uint64_t seed, uint32_t thread, uint64_t number) {
  return replay_mix(replay_mix(seed, thread + 7), number);
}

uint32_t victim_type(uint64_t seed, uint32_t thread, uint64_t number) {
  return event_seed(seed, thread, number) >> 61 == 0;
}

const char *victim_type_name(uint32_t type) { return type == 0 ? "replay.bytes" : "replay.text"; }

uint64_t victim_payload(uint8_t *payload, const victim_plan *plan, uint32_t thread, uint64_t number) {
  uint64_t state = event_seed(plan->seed, thread, number);
  uint32_t filler = (uint32_t)replay_below(&state, plan->largest + 1);
  memcpy(payload, &thread, 4);
  memcpy(payload + 4, &number, 8);
  memcpy(payload + 12, &filler, 4);
  for (uint32_t at = 0; at < filler; at += 8) {
    uint64_t word = replay_random(&state) & UINT64_C(0x7f7f7f7f7f7f7f7f); /* ASCII: text must be UTF-8 */
    memcpy(payload + VICTIM_FIXED_BYTES + at, &word, filler - at < 8 ? filler - at : 8);
  }
  return VICTIM_FIXED_BYTES + filler;
}

/* ---- Contexts and scopes ----------------------------------------------------------------------------------------- */

static uint64_t put_bytes(uint8_t *to, uint64_t at, const void *bytes, uint64_t count) {
  memcpy(to + at, bytes, count);
  return at + count;
}

/* The tagged object {"number": number, "filler": filler bytes at random}. */
static uint64_t put_object(uint8_t *to, uint64_t number, uint32_t filler, uint64_t state) {
  static const uint8_t head[] = {2, 0, 0, 0, 6, 0, 0, 0, 'n', 'u', 'm', 'b', 'e', 'r', WEIR_KIND_U64};
  static const uint8_t name[] = {6, 0, 0, 0, 'f', 'i', 'l', 'l', 'e', 'r', WEIR_KIND_BYTES};
  uint64_t at = put_bytes(to, 0, head, sizeof head);
  at = put_bytes(to, at, &number, 8);
  at = put_bytes(to, at, name, sizeof name);
  at = put_bytes(to, at, &filler, 4);
  for (uint32_t i = 0; i < filler; i++) to[at + i] = (uint8_t)replay_random(&state);
  return at + filler;
}

uint64_t victim_scope(uint8_t scope[VICTIM_MAX_SCOPE], const victim_plan *plan, uint32_t thread, uint64_t number) {
  uint8_t payload[VICTIM_FIXED_BYTES + 4096];
  uint64_t state = replay_mix(event_seed(plan->seed, thread, number), 3);
  if (!plan->scoped || replay_below(&state, 4) != 0) return UINT64_MAX;
  uint32_t filler = (uint32_t)replay_below(&state, 64);
  uint64_t bytes = filler < 16 ? 0 : put_object(scope, number, filler, state);
  uint64_t all = victim_payload(payload, plan, thread, number) + bytes + 4;
  return all <= plan->max_event_bytes ? bytes : UINT64_MAX;
}

uint64_t victim_context(uint8_t context[VICTIM_MAX_CONTEXT], const victim_plan *plan, uint32_t number) {
  uint64_t content = plan->contexts ? replay_mix(plan->seed, UINT64_C(900000000) + number) % plan->contexts : 0;
  if (content == 0) return 0;
  uint64_t state = replay_mix(replay_mix(plan->seed, 5), content);
  return put_object(context, content, (uint32_t)replay_below(&state, replay_below(&state, 4) ? 30 : 400), state);
}

void victim_set_context(const victim_plan *plan, report *report, weir_log *log) {
  static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
  if (pthread_mutex_trylock(&one_at_a_time) != 0) return;
  uint8_t context[VICTIM_MAX_CONTEXT];
  weir_error error;
  uint32_t number = report_context_begin(report);
  uint64_t bytes = victim_context(context, plan, number);
  weir_status status = weir_set_context(log, context, bytes, &error);
  if (status == WEIR_OK) report_context_set(report, number);
  else if (status != WEIR_ERROR_LIMIT && status != WEIR_ERROR_CLOSED) {
    report_failure(report, "weir_set_context", &error);
  }
  pthread_mutex_unlock(&one_at_a_time);
}

static int is_sampled_out(const victim_plan *plan, uint32_t thread, uint64_t number) {
  return plan->sampled && replay_mix(event_seed(plan->seed, thread, number), 4) % 8 == 0;
}

/* ---- Capturing --------------------------------------------------------------------------------------------------- */

uint32_t victim_define(weir_log *log) {
  const weir_field bytes[] = {
      {"thread", WEIR_KIND_U32, 0}, {"number", WEIR_KIND_U64, 0}, {"filler", WEIR_KIND_BYTES, 0}};
  const weir_field text[] = {
      {"thread", WEIR_KIND_U32, 0}, {"number", WEIR_KIND_U64, 0}, {"filler", WEIR_KIND_STRING, 0}};
  const weir_definition definitions[] = {{.name = victim_type_name(0), .fields = bytes, .field_count = 3},
                                         {.name = victim_type_name(1), .fields = text, .field_count = 3}};
  uint32_t first = 0;
  weir_error error;
  if (weir_define(log, 0, definitions, 2, &first, &error) != WEIR_OK) fprintf(stderr, "victim: %s\n", error.message);
  return first;
}

static int32_t capture_scoped(weir_log *log, uint32_t type, const uint8_t *payload, uint64_t bytes,
                              const uint8_t *scope, uint64_t scope_bytes, int sampled_out, weir_id *id) {
  weir_record record;
  int32_t answer = weir_begin(log, &record);
  if (answer != WEIR_ACCEPTED) return answer;
  if (sampled_out) return weir_refuse(&record, WEIR_DROP_SAMPLED);
  weir_put_raw(&record, payload, bytes);
  weir_put_scope(&record, scope, (uint32_t)scope_bytes);
  return weir_commit(&record, type | WEIR_SCOPED, id);
}

int32_t victim_capture(const victim_plan *plan, report *report, weir_log *log, uint32_t first_type, uint32_t thread,
                       weir_id *id) {
  uint8_t payload[VICTIM_FIXED_BYTES + 4096];
  uint64_t number = report_begin(report, thread);
  uint64_t bytes = victim_payload(payload, plan, thread, number);
  uint32_t type = first_type + victim_type(plan->seed, thread, number);
  uint8_t scope[VICTIM_MAX_SCOPE];
  uint64_t scope_bytes = victim_scope(scope, plan, thread, number);
  int sampled_out = is_sampled_out(plan, thread, number);
  int32_t answer;
  if (scope_bytes == UINT64_MAX && !sampled_out) {
    answer = weir_capture(log, type, payload, bytes, id);
  } else {
    answer = capture_scoped(log, type, payload, bytes, scope, scope_bytes, sampled_out, id);
  }
  report_return(report, thread, number, answer, id);
  return answer;
}

/* ---- The process ------------------------------------------------------------------------------------------------- */

/* One thread of one opening. */
typedef struct producer {
  const victim_plan *plan;
  report *report;
  weir_log *log;
  uint32_t first_type;
  uint32_t thread;
  uint64_t captures; /* in this opening, over those that held its place */
  uint64_t state;    /* of its random choices */
} producer;

static int is_over(const producer *producer) {
  const victim_plan *plan = producer->plan;
  if (plan->events > 0 && producer->captures >= plan->events) return 1;
  return !report_has_room(producer->report, producer->thread);
}

/* Waits until all that this thread has captured is on the disk. */
static void wait_for_disk(producer *producer) {
  report_thread *own = &producer->report->threads[producer->thread];
  uint64_t end = own->began;
  weir_error error;
  own->syncing = 1;
  if (weir_sync(producer->log, UINT64_MAX, NULL, &error) == WEIR_OK) {
    report_durable(producer->report, producer->thread, end);
  } else {
    report_failure(producer->report, "weir_sync", &error);
  }
  own->syncing = 0;
}

/* The same for one event. Where it was overwritten nobody can have it. */
static void wait_for_event(producer *producer, weir_id id) {
  report_thread *own = &producer->report->threads[producer->thread];
  weir_error error;
  own->syncing = 1;
  weir_status status = weir_durable(producer->log, id, UINT64_MAX, &error);
  if (status == WEIR_OK) report_durable_event(producer->report, producer->thread, own->began - 1);
  else if (status != WEIR_ERROR_LOST) report_failure(producer->report, "weir_durable", &error);
  own->syncing = 0;
}

void victim_deliver(report *report, weir_log *log, uint64_t *state) {
  weir_counters counters;
  weir_count(log, &counters);
  if (counters.next_offset <= report->delivered) return;
  uint64_t offset = report->delivered + replay_below(state, counters.next_offset - report->delivered + 1);
  report_delivered(report, offset);
  weir_set_delivered(log, offset);
}

void victim_work(const victim_plan *plan, report *report, weir_log *log, int32_t answer, uint64_t captures) {
  weir_error error;
  if (!plan->threadless || (answer != WEIR_DROP_FULL && captures % plan->drain_every != 0)) return;
  if (weir_drain(log, UINT64_MAX, NULL, &error) != WEIR_OK) report_failure(report, "weir_drain", &error);
}

static void *produce(void *context) {
  producer *producer = context;
  const victim_plan *plan = producer->plan;
  for (uint64_t held = 0; !is_over(producer) && (plan->hold == 0 || held < plan->hold); held++) {
    weir_id id;
    int32_t answer =
        victim_capture(plan, producer->report, producer->log, producer->first_type, producer->thread, &id);
    producer->captures++;
    if (plan->contexts > 0 && producer->captures % plan->context_every == 0) {
      victim_set_context(plan, producer->report, producer->log);
    }
    victim_work(plan, producer->report, producer->log, answer, producer->captures);
    report_watermark(producer->report, weir_durable_offset(producer->log));
    if (plan->durable_every > 0 && producer->captures % plan->durable_every == 0 && answer == WEIR_ACCEPTED) {
      wait_for_event(producer, id);
    }
    if (plan->sync_every > 0 && producer->captures % plan->sync_every == 0) wait_for_disk(producer);
    if (plan->remove_delivered && producer->captures % plan->deliver_every == 0) {
      victim_deliver(producer->report, producer->log, &producer->state);
    }
    if (plan->pause_ns > 0 && replay_below(&producer->state, 8) == 0) {
      sleep_ns(replay_below(&producer->state, plan->pause_ns));
    }
  }
  return NULL;
}

/* Captures from all threads until their events are used up. A thread that ends before has a successor. */
static void capture_all(const victim_plan *plan, report *report, weir_log *log, uint32_t first_type) {
  producer producers[REPORT_THREADS];
  pthread_t threads[REPORT_THREADS];
  int running[REPORT_THREADS] = {0}, any = 1;
  for (uint32_t i = 0; i < plan->threads; i++) {
    producers[i] = (producer){plan, report, log, first_type, i, 0, replay_mix(plan->seed, 100 + i)};
  }
  while (any) {
    any = 0;
    for (uint32_t i = 0; i < plan->threads; i++) {
      running[i] = !is_over(&producers[i]);
      if (running[i]) REQUIRE(pthread_create(&threads[i], NULL, produce, &producers[i]) == 0);
    }
    for (uint32_t i = 0; i < plan->threads; i++) {
      if (running[i]) REQUIRE(pthread_join(threads[i], NULL) == 0);
      any |= running[i];
    }
  }
}

weir_status victim_open(const victim_plan *plan, report *report, weir_log **log, weir_recovery *recovery,
                        weir_error *error) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = plan->lane_count;
  options.spare_lanes = plan->spare_lanes;
  options.clock = plan->clock;
  options.lane_bytes = plan->lane_bytes;
  options.overflow_bytes = plan->overflow_bytes;
  options.segment_bytes = plan->segment_bytes;
  options.max_event_bytes = plan->max_event_bytes;
  options.drain_interval_ns = plan->drain_interval_ns;
  options.full_wait_ns = plan->full_wait_ns;
  options.full_policy = plan->full_policy;
  options.ring_directory = plan->ring_directory;
  options.sync_interval_ns = plan->sync_interval_ns;
  options.max_bytes = plan->max_bytes;
  options.retain_bytes = plan->retain_bytes;
  options.limit_policy = plan->limit_policy;
  options.batch_threads = plan->batch_threads;
  options.remove_delivered = plan->remove_delivered;
  options.threadless = plan->threadless;
  if (report) report_enter(report, PHASE_OPENING);
  weir_status status = weir_open(plan->directory, &options, log, recovery, error);
  if (status == WEIR_OK && report) report_opened(report, recovery);
  return status;
}

int victim_run(const victim_plan *plan, report *report) {
  for (uint32_t i = 0; plan->openings == 0 || i < plan->openings; i++) {
    weir_log *log;
    weir_error error;
    weir_recovery recovery;
    if (victim_open(plan, report, &log, &recovery, &error) != WEIR_OK) {
      report_failure(report, "weir_open", &error);
      return 1;
    }
    uint32_t first_type = victim_define(log);
    report_enter(report, PHASE_CAPTURING);
    capture_all(plan, report, log, first_type);
    if (plan->idle_at_end && i + 1 == plan->openings) {
      report_enter(report, PHASE_IDLE);
      for (;;) pause();
    }
    report_enter(report, PHASE_CLOSING);
    if (weir_close(log, &error) != WEIR_OK) {
      report_failure(report, "weir_close", &error);
      return 1;
    }
    report_watermark(report, weir_durable_offset(log));
    weir_free(log);
    report_enter(report, PHASE_BETWEEN);
  }
  report_enter(report, PHASE_ENDED);
  return 0;
}

pid_t victim_start(const victim_plan *plan, report *report) {
  report_enter(report, PHASE_STARTING);
  fflush(stdout);
  pid_t victim = fork();
  REQUIRE(victim >= 0);
  if (victim == 0) {
    alarm(0);
    _exit(victim_run(plan, report));
  }
  return victim;
}

int victim_wait_for(pid_t victim, const report *report, report_phase phase) {
  for (uint64_t end = now_ns() + HANG_NS; now_ns() < end;) {
    if (report->phase >= (uint32_t)phase) return 1;
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)victim, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == victim) return 0;
    sleep_ns(20000);
  }
  return 0;
}

int victim_kill(pid_t victim, int *status) {
  kill(victim, SIGKILL);
  *status = wait_for(victim);
  return *status == 1000 + SIGKILL;
}
