/* power_run.c: see power_run.h. */
#include "check.h"
#include "power_run.h"
#include "replay.h"

#include "directory/segment_list.h"
#include "log/log.h"
#include "segment/scan.h"
#include "system/system.h"

const uint8_t power_boot_id[16] = "the next boot..";

/* ---- The run ----------------------------------------------------------------------------------------------------- */

victim_plan power_plan(const char *directory, uint64_t seed) {
  victim_plan plan = victim_plan_random(directory, NULL, seed);
  uint64_t state = replay_mix(seed, 21);
  plan.threads = 1 + (uint32_t)replay_below(&state, POWER_THREADS);
  plan.lane_count = plan.threads + 1 + (uint32_t)replay_below(&state, 2); /* so that each thread has a lane */
  plan.spare_lanes = 1;
  plan.lane_bytes = (uint64_t)VICTIM_LEAST_LANE << replay_below(&state, 2);
  plan.segment_bytes = VICTIM_LEAST_SEGMENT;
  plan.openings = 1 + (uint32_t)replay_below(&state, 3);
  plan.events = 1 + replay_below(&state, replay_below(&state, 2) ? 500 : 60);
  plan.largest = replay_below(&state, 2) ? 40 : VICTIM_MAX_EVENT - VICTIM_FIXED_BYTES;
  plan.hold = 0;
  plan.pause_ns = replay_below(&state, 2) ? 200000 : 0;
  plan.sync_every = replay_below(&state, 2) ? 5 + replay_below(&state, 100) : 0;
  plan.durable_every = replay_below(&state, 2) ? 5 + replay_below(&state, 100) : 0;
  if (plan.full_wait_ns == UINT64_MAX) plan.full_wait_ns = 1000000;
  plan.drain_interval_ns = UINT64_C(50000) << replay_below(&state, 9);
  plan.idle_at_end = 0;
  plan.remove_delivered = replay_below(&state, 3) == 0;
  if (plan.remove_delivered) {
    plan.largest = VICTIM_MAX_EVENT - VICTIM_FIXED_BYTES; /* so that there are segments to go */
    plan.events = 200 + replay_below(&state, 300);
    if (plan.full_policy == WEIR_FULL_DROP_OLDEST) plan.full_policy = WEIR_FULL_DROP_NEWEST; /* its word may go, too */
    plan.full_wait_ns = 100000000;
  }
  if (replay_below(&state, 4) == 0) victim_leave_threads_out(&plan, 1 + replay_below(&state, 100));
  return plan;
}

static struct {
  power_run *run;
  weir_log *log;
  uint64_t closed, last_offset, watermark;
} live;

static void mark(void *context, uint64_t marks[MOST_MARKS]) {
  const power_run *run = context;
  const report *report = run->report;
  marks[MARK_OPENINGS] = report->openings;
  marks[MARK_CLOSED] = live.closed;
  const event_log *log = (const event_log *)live.log;
  if (log) {
    live.last_offset = __atomic_load_n(&log->sealer.next_offset, __ATOMIC_RELAXED);
    live.watermark = weir_durable_offset(live.log);
  }
  marks[MARK_OFFSET] = live.last_offset;
  marks[MARK_WATERMARK] = live.watermark;
  marks[MARK_DELIVERED] = report->delivered;
  for (int t = 0; t < POWER_THREADS; t++) {
    marks[MARK_DURABLE + t] = report->threads[t].durable;
    marks[MARK_BEGAN + t] = report->threads[t].began;
    marks[MARK_RETURNED + t] = report->threads[t].returned;
  }
}

/* A thread keeps its lane for a whole opening: one in its place might have another, which is drained out of turn. */
typedef struct producer {
  power_run *run;
  uint32_t thread, first_type;
  uint64_t events, state;
  pthread_barrier_t *half; /* all wait there twice when half is captured, and who opened the log too; null: nobody */
} producer;

/* Each thread has a lane of its own, so what it awaits covers all that it captured before. */
static void await(producer *producer, const weir_id *id) {
  report *report = producer->run->report;
  uint64_t end = report->threads[producer->thread].began;
  weir_error error;
  weir_status status = id ? weir_durable(live.log, *id, UINT64_MAX, &error)
                          : weir_sync(live.log, UINT64_MAX, NULL, &error);
  if (status == WEIR_OK) report_durable(report, producer->thread, end);
  else if (status != WEIR_ERROR_LOST) report_failure(report, "waiting for the disk", &error);
}

static void *produce(void *context) {
  producer *producer = context;
  const victim_plan *plan = &producer->run->plan;
  for (uint64_t i = 1; i <= producer->events; i++) {
    weir_id id;
    int32_t answer =
        victim_capture(plan, producer->run->report, live.log, producer->first_type, producer->thread, &id);
    victim_work(plan, producer->run->report, live.log, answer, i);
    if (plan->contexts > 0 && i % plan->context_every == 0) {
      victim_set_context(plan, producer->run->report, live.log);
    }
    if (plan->durable_every > 0 && i % plan->durable_every == 0 && answer == WEIR_ACCEPTED) await(producer, &id);
    if (plan->sync_every > 0 && i % plan->sync_every == 0) await(producer, NULL);
    if (plan->pause_ns > 0 && replay_below(&producer->state, 8) == 0) {
      sleep_ns(replay_below(&producer->state, plan->pause_ns));
    }
    if (producer->half && i == producer->events / 2) {
      pthread_barrier_wait(producer->half);
      pthread_barrier_wait(producer->half);
    }
  }
  return NULL;
}

/* The recorder asks the log for its offset: it must not be asking while the log goes. */
static void set_log(power_run *run, weir_log *log) {
  pthread_mutex_lock(&run->recording->mutex);
  live.log = log;
  pthread_mutex_unlock(&run->recording->mutex);
}

/* Reads what is there, and keeps what was not there before: what is removed later is known by this alone. */
static void read_on(power_run *run) {
  judged_log now, *whole = &run->whole;
  judge_read(&run->judge, &run->plan, run->report, &now);
  uint64_t known = 0, next = whole->count > 0 ? whole->events[whole->count - 1].offset + 1 : 0;
  while (known < now.count && now.events[known].offset < next) known++;
  whole->events = realloc(whole->events, (whole->count + now.count + 1) * sizeof *whole->events);
  REQUIRE(whole->events);
  memcpy(whole->events + whole->count, now.events + known, (now.count - known) * sizeof *now.events);
  whole->count += now.count - known;
  for (uint64_t i = 0; i < now.count; i++) {
    const judged_event *event = &now.events[i];
    if (event->notice || event->thread >= POWER_THREADS || event->number >= REPORT_EVENTS) continue;
    run->offset[event->thread * (uint64_t)REPORT_EVENTS + event->number] = event->offset + 1;
  }
  judged_log_free(&now);
}

/* Only what was read is said to be delivered: a reader does not see what is still in a lane of a live log. */
static void deliver(power_run *run, weir_log *log) {
  uint64_t state = replay_mix(run->plan.seed, 400 + live.closed);
  read_on(run);
  if (run->whole.count == 0) return;
  uint64_t end = run->whole.events[run->whole.count - 1].offset + 1;
  uint64_t offset = end - replay_below(&state, replay_below(&state, 2) ? 10 : end);
  report_delivered(run->report, offset);
  weir_set_delivered(log, offset);
}

/* Where there is delivery, half of the captures come before it, half while what was delivered is removed. */
static void capture_all(power_run *run, weir_log *log, uint32_t first_type) {
  producer producers[POWER_THREADS];
  pthread_t threads[POWER_THREADS];
  pthread_barrier_t half;
  int delivers = run->plan.remove_delivered && run->plan.events >= 2;
  REQUIRE(pthread_barrier_init(&half, NULL, run->plan.threads + 1) == 0);
  for (uint32_t t = 0; t < run->plan.threads; t++) {
    producers[t] = (producer){run, t, first_type, run->plan.events, replay_mix(run->plan.seed, 300 + t),
                              delivers ? &half : NULL};
    REQUIRE(pthread_create(&threads[t], NULL, produce, &producers[t]) == 0);
  }
  if (delivers) {
    pthread_barrier_wait(&half);
    deliver(run, log);
    pthread_barrier_wait(&half);
  }
  for (uint32_t t = 0; t < run->plan.threads; t++) pthread_join(threads[t], NULL);
  pthread_barrier_destroy(&half);
}

static void do_opening(power_run *run) {
  weir_log *log;
  weir_error error;
  weir_recovery recovery;
  if (victim_open(&run->plan, run->report, &log, &recovery, &error) != WEIR_OK) {
    report_failure(run->report, "weir_open", &error);
    return;
  }
  set_log(run, log);
  uint32_t first_type = victim_define(log);
  capture_all(run, log, first_type);
  if (weir_close(log, &error) != WEIR_OK) report_failure(run->report, "weir_close", &error);
  live.closed++;
  set_log(run, NULL);
  weir_free(log);
}

void power_run_do(power_run *run, const victim_plan *plan, report *report) {
  memset(run, 0, sizeof *run);
  memset(&live, 0, sizeof live);
  run->plan = *plan;
  run->report = report;
  live.run = run;
  run->offset = calloc((uint64_t)POWER_THREADS * REPORT_EVENTS, sizeof *run->offset);
  REQUIRE(run->offset);
  REQUIRE(mkdir(plan->directory, 0700) == 0);
  run->recording = recording_start(plan->directory, replay_mix(plan->seed, 5), mark, run);
  for (uint32_t i = 0; i < plan->openings; i++) do_opening(run);
  recording_stop(run->recording);
  read_on(run);
  if (report->failed) judge_fault(&run->judge, "the run: %s", report->message);
}

void power_run_free(power_run *run) {
  recording_free(run->recording);
  judged_log_free(&run->whole);
  free(run->offset);
}

/* ---- Holding an image to it -------------------------------------------------------------------------------------- */

enum { POWER_LANES = 64, LANE_SHIFT = 48 };

typedef struct holding {
  judge *judge;
  power_run *run;
  const uint64_t *least; /* the marks of the moment: what had happened for sure */
  const uint64_t *most;  /* those of the next one: what can have happened */
  const image_plan *image;
  uint64_t (*drained)[POWER_LANES]; /* of each opening's lanes, the position that a header in the image vouches for */
  uint64_t offsets;      /* below it, all had been given by the run */
  uint64_t first_kept;   /* what the log says that it begins with */
  int dead;              /* the number of the opening whose ring was there, or -1 */
  uint8_t *seen;         /* [thread][number] */
} holding;

static int opening_of(const report *report, uint64_t opening) {
  for (uint64_t i = 0; i < report->openings; i++) {
    if (report->opening[i] == opening) return (int)i;
  }
  return -1;
}

static uint8_t *seen_of(const holding *holding, uint32_t thread, uint64_t number) {
  return &holding->seen[thread * (uint64_t)REPORT_EVENTS + number];
}

/* Whatever is there was captured by then, is there once, under its id. */
static void hold_event(const holding *holding, const judged_event *event) {
  const report *report = holding->run->report;
  int opening = opening_of(report, event->id.opening);
  if (event->thread >= REPORT_THREADS || event->number >= report->threads[event->thread].began || opening < 0) {
    judge_fault(holding->judge, "offset %" PRIu64 ": an event that nobody captured", event->offset);
    return;
  }
  const report_event *said = &report->threads[event->thread].events[event->number];
  if (event->thread < POWER_THREADS && event->number >= holding->most[MARK_BEGAN + event->thread]) {
    judge_fault(holding->judge, "offset %" PRIu64 ": event %" PRIu64 " of thread %u had not been captured by then",
                event->offset, event->number, event->thread);
  }
  if (said->answer != ANSWER_ACCEPTED || said->sequence != event->id.sequence || said->opening != opening) {
    judge_fault(holding->judge, "offset %" PRIu64 ": event %" PRIu64 " of thread %u was refused, or has another id",
                event->offset, event->number, event->thread);
  }
  uint8_t *seen = seen_of(holding, event->thread, event->number);
  if (*seen) judge_fault(holding->judge, "event %" PRIu64 " of thread %u is there twice", event->number, event->thread);
  *seen = 1;
}

/* An offset that the run had given by then is that of the same event. */
static void hold_offset(const holding *holding, const judged_event *event) {
  const judged_log *whole = &holding->run->whole;
  if (event->offset >= holding->offsets) return;
  uint64_t low = 0, high = whole->count;
  while (low < high) {
    uint64_t middle = (low + high) / 2;
    if (whole->events[middle].offset < event->offset) low = middle + 1;
    else high = middle;
  }
  if (low == whole->count || whole->events[low].offset != event->offset) return;
  const weir_id *had = &whole->events[low].id;
  if (had->opening == event->id.opening && had->sequence == event->id.sequence) return;
  judge_fault(holding->judge, "offset %" PRIu64 " had been given to another event", event->offset);
}

/* The number that a thread's next event has at least: of any lane, as long as no offset is missing, and of each lane. */
typedef struct after {
  uint64_t any, lanes[JUDGE_LANES];
} after;

/*
 * A thread's events ascend within each lane. Between lanes they ascend, too, as long as no offset is missing: where the
 * power cut took blocks of a lane, what the ring has of that lane comes after what the log kept of later lanes. With
 * overflow lanes, to which threads go and from which they come back, also where no block was taken for sure: blocks that
 * are taken from the log's end leave no gap, and what they had comes from the ring, in the order of the lanes.
 */
static void hold_order(const holding *holding, const judged_event *event, after *after) {
  const image_plan *image = holding->image;
  int whole = image->contents == CONTENTS_NEW && image->names == NAMES_NEW && !image->old_sizes;
  if (holding->run->plan.overflow_bytes > 0 && !whole) after->any = 0;
  uint64_t lane = event->id.sequence >> 48, *of_lane = &after->lanes[lane < JUDGE_LANES ? lane : JUDGE_LANES - 1];
  if (event->number < after->any || event->number < *of_lane) {
    judge_fault(holding->judge, "event %" PRIu64 " of thread %u is out of order", event->number, event->thread);
  }
  after->any = *of_lane = event->number + 1;
}

static void hold_events(const holding *holding, const judged_log *log) {
  after after[POWER_THREADS] = {0};
  for (uint64_t i = 0; i < log->count; i++) {
    const judged_event *event = &log->events[i];
    if (i > 0 && event->offset <= log->events[i - 1].offset) {
      judge_fault(holding->judge, "offset %" PRIu64 " comes after %" PRIu64, event->offset, log->events[i - 1].offset);
    }
    int follows = i > 0 && event->offset == log->events[i - 1].offset + 1;
    for (uint32_t thread = 0; thread < POWER_THREADS && !follows; thread++) after[thread].any = 0;
    hold_offset(holding, event);
    if (event->notice) continue;
    hold_event(holding, event);
    if (event->thread < POWER_THREADS) hold_order(holding, event, &after[event->thread]);
  }
}

/* Whatever the run gave an offset below the durable watermark, notices too, is there under it. */
static void hold_watermark(const holding *holding, const judged_log *log) {
  const judged_log *whole = &holding->run->whole;
  uint64_t watermark = holding->least[MARK_WATERMARK], at = 0;
  for (uint64_t i = 0; i < whole->count && whole->events[i].offset < watermark; i++) {
    if (whole->events[i].offset < holding->first_kept) continue;
    while (at < log->count && log->events[at].offset < whole->events[i].offset) at++;
    if (at < log->count && log->events[at].offset == whole->events[i].offset) continue;
    judge_fault(holding->judge, "offset %" PRIu64 " is missing, and %" PRIu64 " was the durable watermark",
                whole->events[i].offset, watermark);
    return;
  }
}

/*
 * Events that are missing: all of an opening, and of them those whose captures had returned by then, those that had to
 * be there, those before a survivor of their lane.
 */
typedef struct absent {
  uint64_t accepted, missing, all, owed, known;
} absent;

/*
 * A look takes a while, so an image of all that it saw may have what a lane was overwritten with, and not yet the word
 * of it: with the policy that overwrites, only what was durable is owed in it, too.
 */
static int is_owed(const holding *holding, uint32_t thread, uint64_t number, int opening) {
  const image_plan *image = holding->image;
  int overwrites = holding->run->plan.full_policy == WEIR_FULL_DROP_OLDEST;
  if (!overwrites && image->contents == CONTENTS_NEW && image->names == NAMES_NEW && !image->old_sizes) {
    return number < holding->least[MARK_RETURNED + thread];
  }
  return number < holding->least[MARK_DURABLE + thread] || (uint64_t)opening < holding->least[MARK_CLOSED];
}

/* Delivered, and removed by the log's own word. */
static int is_removed(const holding *holding, uint32_t thread, uint64_t number) {
  uint64_t offset = holding->run->offset[thread * (uint64_t)REPORT_EVENTS + number];
  return offset > 0 && offset - 1 < holding->first_kept;
}

static absent count_absent(const holding *holding, int opening) {
  const report *report = holding->run->report;
  uint64_t last[POWER_LANES]; /* of each lane the last survivor, or how far a segment's header says that it had come */
  absent absent = {0};
  for (uint64_t i = 0; i < POWER_LANES; i++) last[i] = i << LANE_SHIFT | holding->drained[opening][i] / 8;
  for (uint32_t t = 0; t < POWER_THREADS; t++) {
    const report_thread *thread = &report->threads[t];
    uint64_t count = holding->most[MARK_BEGAN + t];
    for (uint64_t n = 0; n < count; n++) {
      const report_event *event = &thread->events[n];
      if (event->opening != opening || !*seen_of(holding, t, n)) continue;
      uint64_t *its = &last[event->sequence >> LANE_SHIFT];
      if (*its < event->sequence) *its = event->sequence;
    }
  }
  for (uint32_t t = 0; t < POWER_THREADS; t++) {
    const report_thread *thread = &report->threads[t];
    uint64_t count = holding->most[MARK_BEGAN + t];
    for (uint64_t n = 0; n < count; n++) {
      const report_event *event = &thread->events[n];
      if (event->opening != opening || event->answer != ANSWER_ACCEPTED) continue;
      absent.accepted++;
      if (*seen_of(holding, t, n) || is_removed(holding, t, n)) continue;
      absent.missing++;
      absent.all += n < holding->least[MARK_RETURNED + t];
      absent.owed += (uint64_t)is_owed(holding, t, n, opening);
      absent.known += event->sequence < last[event->sequence >> LANE_SHIFT];
    }
  }
  return absent;
}

static void hold_refusals(const holding *holding, const judged_log *log, int opening) {
  const report *report = holding->run->report;
  for (int32_t reason = 1; reason < WEIR_DROP_REASONS; reason++) {
    if (reason == WEIR_LOST_OVERWRITTEN) continue;
    uint64_t refused = 0;
    for (uint32_t t = 0; t < POWER_THREADS; t++) {
      for (uint64_t n = 0; n < holding->most[MARK_BEGAN + t]; n++) {
        const report_event *event = &report->threads[t].events[n];
        refused += event->opening == opening && event->answer == ANSWER_REFUSED + (uint32_t)reason;
      }
    }
    if (log->gaps[opening][reason] > refused) {
      judge_fault(holding->judge, "%" PRIu64 " refusals (%s) of opening %d, and the log counts %" PRIu64, refused,
                  weir_drop_name(reason), opening, log->gaps[opening][reason]);
    }
  }
}

/* Of all openings of the run: what is missing, and whether it is told. */
static void hold_absent(const holding *holding, const judged_log *log, int again, power_sums *sums) {
  const weir_recovery *found = &sums->found;
  uint64_t missing = 0, told_in_all = found->missing_events;
  for (int opening = 0; opening < (int)holding->most[MARK_OPENINGS]; opening++) {
    absent absent = count_absent(holding, opening);
    uint64_t overwritten = log->gaps[opening][WEIR_LOST_OVERWRITTEN];
    sums->accepted += absent.accepted;
    sums->missing += absent.all;
    missing += absent.missing;
    told_in_all += overwritten;
    if (absent.owed > overwritten) {
      judge_fault(holding->judge, "%" PRIu64 " events of opening %d were owed, are missing and not overwritten",
                  absent.owed - overwritten, opening);
    }
    hold_refusals(holding, log, opening);
    uint64_t told = overwritten + (opening == holding->dead ? found->missing_events : 0);
    if (!again && absent.known != told) {
      judge_fault(holding->judge, "opening %d: %" PRIu64 " events missing before survivors, and %" PRIu64
                  " told (%" PRIu64 " overwritten)", opening, absent.known, told, overwritten);
    }
    int silent = !found->unknown_tail && opening == holding->dead;
    if (!again && silent && absent.all > told) {
      judge_fault(holding->judge, "%" PRIu64 " events are missing, and no unknown tail is told of", absent.all - told);
    }
  }
  /*
   * What the recovery before found is told of once more, as far as that is known. A recovery of the same boot counts by
   * offsets: also those of a damaged block whose lane has no later survivor.
   */
  if (again && told_in_all > missing) {
    judge_fault(holding->judge, "%" PRIu64 " events missing, and %" PRIu64 " told", missing, told_in_all);
  }
}

static void raise_handed(holding *holding, int opening, uint32_t lane, uint64_t position) {
  if (opening < 0 || lane >= POWER_LANES) return;
  uint64_t *drained = &holding->drained[opening][lane];
  if (*drained < position) *drained = position;
}

/* The positions in the image's segments: proof that so much was captured, whatever is left of it. */
static void take_positions(holding *holding, const char *directory, uint64_t *batches) {
  int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  segment_list list;
  REQUIRE(fd >= 0 && segment_list_read(fd, &list) == 0);
  for (uint64_t i = 0; i < list.count; i++) {
    segment_scan scan;
    scan_damage damage;
    const segment_name *name = &list.items[i];
    *batches += name->batch;
    if (scan_open(&scan, fd, 0, name->name, name->base, name->active, &damage) != 0) continue;
    int opening = opening_of(holding->run->report, scan.header.opening);
    /* It is synced before it gets that name. */
    segment_scan again = scan_again(&scan);
    if (!name->active && scan_seal(&again) != 0) judge_fault(holding->judge, "%s: it has no seal", name->name);
    scan_again_close(&again);
    for (uint32_t lane = 0; lane < scan.header.lane_count && scan.header_valid; lane++) {
      raise_handed(holding, opening, lane, scan.drained[lane].position);
    }
    scan_result result;
    while ((result = scan_next(&scan, 1, &damage)) == SCAN_BLOCK || result == SCAN_DAMAGE) {
      if (result == SCAN_BLOCK) raise_handed(holding, opening, scan.block.lane, scan.block.lane_to);
    }
    scan_close(&scan);
  }
  segment_list_free(&list);
  close(fd);
}

/* ---- Recovering it ----------------------------------------------------------------------------------------------- */

/* Captures a little to the recovered log, as a thread of its own in the report. */
static void capture_on(holding *holding, const victim_plan *plan, weir_log *log) {
  enum { EVENTS = 5, THREAD = REPORT_THREADS - 1 };
  uint32_t first_type = victim_define(log);
  for (int i = 0; i < EVENTS; i++) {
    weir_id id;
    if (victim_capture(plan, holding->run->report, log, first_type, THREAD, &id) != WEIR_ACCEPTED) {
      judge_fault(holding->judge, "a recovered log refuses events");
    }
  }
}

static int reopen(holding *holding, const victim_plan *plan, int capture, weir_recovery *found) {
  weir_log *log;
  weir_error error;
  if (victim_open(plan, capture ? holding->run->report : NULL, &log, found, &error) != WEIR_OK) {
    judge_fault(holding->judge, "recovery: %s", error.message);
    return 0;
  }
  if (capture && found->first_offset < holding->offsets) {
    judge_fault(holding->judge, "offsets go on at %" PRIu64 ", and %" PRIu64 " had been given", found->first_offset,
                holding->offsets);
  }
  if (capture) capture_on(holding, plan, log);
  if (weir_close(log, &error) != WEIR_OK) judge_fault(holding->judge, "closing: %s", error.message);
  weir_free(log);
  return 1;
}

/*
 * What was there before recovery is there after it, the same; but recovery may have found definitions of an event in
 * another segment that was not sealed either: that of its type, that of its context, or both.
 */
static void hold_same(const holding *holding, judged_log *before, judged_log *after) {
  for (uint64_t i = 0; i < before->count && i < after->count; i++) {
    int lacked = before->events[i].undefined, lacks = after->events[i].undefined;
    if (lacks != lacked && (lacks & ~lacked) == 0) before->events[i].content = after->events[i].content;
  }
  judge_same(holding->judge, before, after, 0);
}

static void recover_and_hold(holding *holding, const victim_plan *plan, int again, power_sums *sums) {
  power_run *run = holding->run;
  judged_log before = {0}, after, later;
  if (sums->was_log) judge_read(holding->judge, plan, run->report, &before);
  if (reopen(holding, plan, 1, &sums->found)) {
    holding->dead = opening_of(run->report, sums->found.previous_opening);
    judge_read(holding->judge, plan, run->report, &after);
    if (!again) hold_same(holding, &before, &after);
    holding->first_kept = after.first_kept;
    if (after.first_kept > holding->most[MARK_DELIVERED]) {
      judge_fault(holding->judge, "offset %" PRIu64 " is the first that is kept, and %" PRIu64 " was delivered",
                  after.first_kept, holding->most[MARK_DELIVERED]);
    }
    hold_events(holding, &after);
    hold_watermark(holding, &after);
    hold_absent(holding, &after, again, sums);
    sums->events = after.count - after.notices;
    sums->holes = after.holes;
    sums->first_kept = after.first_kept;
    if (sums->found.previous_opening != 0 && !sums->found.rebooted) {
      judge_fault(holding->judge, "it does not say that the machine was started anew");
    }
    weir_recovery second;
    if (reopen(holding, plan, 0, &second)) {
      judge_read(holding->judge, plan, run->report, &later);
      judge_same(holding->judge, &after, &later, 1);
      judged_log_free(&later);
      if (!second.was_clean) judge_fault(holding->judge, "a second opening finds something to recover");
    }
    judged_log_free(&after);
  }
  judged_log_free(&before);
}

void power_hold(judge *judge, power_run *run, const image_plan *image, const char *directory, power_again again,
                power_sums *sums) {
  const recording *recording = run->recording;
  uint32_t next = image->moment + 1 < recording->moments ? image->moment + 1 : image->moment;
  holding holding = {.judge = judge,
                     .run = run,
                     .least = recording->marks[image->moment],
                     .most = recording->marks[next],
                     .image = image,
                     .dead = -1};
  /* Where the run went on and a process that was killed did not, recovery gives offsets too. */
  holding.offsets = again == AGAIN_KILLED ? holding.least[MARK_OFFSET] : holding.most[MARK_OFFSET];
  memset(sums, 0, sizeof *sums);
  sums->was_log = judge_is_log(directory);
  victim_plan plan = run->plan;
  plan.directory = directory;
  plan.remove_delivered = 0;
  plan.sampled = 0; /* what it captures is to be taken */
  plan.sync_interval_ns = 0;
  plan.full_policy = WEIR_FULL_DROP_NEWEST;
  plan.full_wait_ns = UINT64_MAX;
  plan.threadless = 0;
  holding.seen = calloc(REPORT_THREADS, REPORT_EVENTS);
  holding.drained = calloc(REPORT_OPENINGS, sizeof *holding.drained);
  REQUIRE(holding.seen && holding.drained);
  take_positions(&holding, directory, &sums->batches);
  report *report = run->report;
  uint64_t openings = report->openings;
  weir_fault_boot_id(power_boot_id);
  recover_and_hold(&holding, &plan, again, sums);
  weir_fault_boot_id(NULL);
  report->openings = openings;
  report_thread *own = &report->threads[REPORT_THREADS - 1];
  memset(own->events, 0, own->began * sizeof *own->events);
  own->began = own->returned = own->accepted = 0;
  free(holding.seen);
  free(holding.drained);
}
