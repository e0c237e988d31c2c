/* log.c: opening, closing and asking an open log. See weir.h for what each call promises. */
#define _GNU_SOURCE
#include "log/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/bell.h"
#include "capture/callers.h"
#include "capture/clock.h"
#include "capture/detach.h"
#include "capture/lane.h"
#include "capture/types.h"
#include "drain/threadless.h"
#include "format/eviction.h"
#include "limits/byte_limit.h"
#include "recover/recover.h"
#include "ring/ring.h"
#include "segment/identity.h"
#include "system/crc32c.h"
#include "system/error.h"
#include "system/forks.h"
#include "system/system.h"
#include "system/thread.h"

/* ---- Options ----------------------------------------------------------------------------------------------------- */

void weir_options_init(weir_options *options) {
  *options = (weir_options){.struct_bytes = sizeof *options,
                            .lane_count = 16,
                            .spare_lanes = 2,
                            .clock = WEIR_CLOCK_AUTO,
                            .lane_bytes = 1 << 20,
                            .overflow_bytes = 128 << 20,
                            .segment_bytes = 8 << 20,
                            .max_event_bytes = WEIR_MAX_EVENT_BYTES,
                            .drain_interval_ns = 20000000,
                            .full_wait_ns = 0,
                            .create = 1};
}

static weir_status bad_option(weir_error *error, const char *name, uint64_t value, uint64_t least, uint64_t most) {
  return fail(error, WEIR_ERROR_INVALID, 0, NULL, "the option %s is %llu; it must be %llu to %llu", name,
              (unsigned long long)value, (unsigned long long)least, (unsigned long long)most);
}

/* A log without threads refuses what only a thread could do, so that nobody waits for what never comes. */
static weir_status check_threadless(const weir_options *options, weir_error *error) {
  const struct {
    const char *name;
    int set;
    const char *reason;
  } options_of_threads[] = {
      {"full_wait_ns", options->full_wait_ns != 0,
       "nobody would make room while a capture waits; when a capture answers WEIR_DROP_FULL, call weir_drain and "
       "capture again"},
      {"sync_interval_ns", options->sync_interval_ns != 0,
       "nobody would sync once the interval has passed; call weir_sync or weir_durable"},
      {"batch_threads", options->batch_threads != 0, "call weir_batch_directory once the log is closed"},
      {"clock", options->clock == WEIR_CLOCK_TICK, "nobody would move the tick; choose another clock"},
  };
  for (size_t i = 0; i < sizeof options_of_threads / sizeof *options_of_threads && options->threadless; i++) {
    if (!options_of_threads[i].set) continue;
    return fail(error, WEIR_ERROR_INVALID, 0, NULL, "the option %s does not go with the option threadless: %s",
                options_of_threads[i].name, options_of_threads[i].reason);
  }
  return WEIR_OK;
}

static weir_status check_options(const weir_options *options, weir_error *error) {
  if (options->struct_bytes != sizeof *options) {
    return fail(error, WEIR_ERROR_INVALID, 0, NULL, "the options were not made by weir_options_init of this version");
  }
  uint64_t record = record_size(options->max_event_bytes);
  const struct {
    const char *name;
    uint64_t value, least, most;
  } ranges[] = {
      {"lane_count", options->lane_count, 2, WEIR_MAX_LANES},
      {"spare_lanes", options->spare_lanes, 1, options->lane_count - 1},
      {"clock", options->clock, WEIR_CLOCK_AUTO, WEIR_CLOCK_TICK},
      {"full_policy", options->full_policy, WEIR_FULL_DROP_NEWEST, WEIR_FULL_DROP_OLDEST},
      {"max_event_bytes", options->max_event_bytes, 64, 1 << 20},
      {"lane_bytes", options->lane_bytes, record + RECORD_SLACK_BYTES, MAX_LANE_BYTES},
      {"segment_bytes", options->segment_bytes, LEAST_SEGMENT_BYTES(record), UINT64_C(1) << 30},
      {"drain_interval_ns", options->drain_interval_ns, 50000, UINT64_C(10000000000)},
      {"limit_policy", options->limit_policy, WEIR_LIMIT_REFUSE, WEIR_LIMIT_DROP_OLDEST},
      {"batch_threads", options->batch_threads, 0, WEIR_MAX_BATCH_THREADS},
      {"remove_delivered", options->remove_delivered, 0, 1},
      {"threadless", options->threadless, 0, 1},
  };
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    if (ranges[i].value >= ranges[i].least && ranges[i].value <= ranges[i].most) continue;
    return bad_option(error, ranges[i].name, ranges[i].value, ranges[i].least, ranges[i].most);
  }
  weir_status bounds = retention_check(options, ring_file_bytes(options), LEAST_BLOCK_BYTES, error);
  if (bounds != WEIR_OK) return bounds;
  uint64_t interval = options->sync_interval_ns;
  if (interval != 0 && (interval < 1000000 || interval > UINT64_C(3600000000000))) {
    return bad_option(error, "sync_interval_ns", interval, 1000000, UINT64_C(3600000000000));
  }
  const char *ring = options->ring_directory;
  if (ring && (ring[0] != '/' || strlen(ring) >= sizeof((ring_locator *)0)->path)) {
    return fail(error, WEIR_ERROR_INVALID, 0, ring,
                "the option ring_directory is '%s'; it must be an absolute path of less than %zu bytes, because "
                "whoever looks for the ring later may do so from another working directory",
                ring, sizeof((ring_locator *)0)->path);
  }
  if ((options->lane_bytes & (options->lane_bytes - 1)) != 0) {
    return fail(error, WEIR_ERROR_INVALID, 0, NULL, "the option lane_bytes is %llu; it must be a power of two",
                (unsigned long long)options->lane_bytes);
  }
  return check_threadless(options, error);
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static void destroy_locks(event_log *log) {
  /* In a fork the C library still counts the parent's threads as waiters: destroying these would wait for them. */
  if (lane_log_state(&log->intake) == STATE_DETACHED) return;
  pthread_mutex_destroy(&log->close_lock);
  intake_free_locks(&log->intake);
  drainer_free(&log->drainer);
  preparer_free(&log->preparer);
  sealer_free(&log->sealer);
}

static void release(intake *intake) {
  event_log *log = (event_log *)intake;
  destroy_locks(log);
  intake_free(intake);
  batcher_free(log->batcher);
  retention_free(intake->retention);
  log_lock_free(&log->held);
  free(log);
}

static event_log *make_log(const char *directory, const weir_options *options) {
  event_log *log = (event_log *)calloc(1, sizeof *log);
  if (!log) return NULL;
  log->options = *options;
  log->options.ring_directory = NULL; /* the caller's memory */
  pthread_mutex_init(&log->close_lock, NULL);
  int error = log_lock_make(&log->held, directory);
  if (intake_make(&log->intake, &log->held, &log->options, options->ring_directory) != 0) error = -ENOMEM;
  log->intake.release = release;
  log->intake.sealer = &log->sealer;
  sealer_make(&log->sealer, &log->intake);
  preparer_make(&log->preparer, &log->sealer);
  drainer_make(&log->drainer, &log->sealer, &log->preparer, &log->prefaulter);
  log->prefaulter.intake = &log->intake;
  log->intake.drainer = &log->drainer;
  log->intake.work = options->threadless ? threadless_work : NULL;
  if (error == 0) return log;
  lane_unreference(&log->intake);
  return NULL;
}

/* The first segment is made in place, so that a full disk is an error of the opening. */
static weir_status begin_first_segment(event_log *log, weir_error *error) {
  int result;
  segment *first = preparer_take(&log->preparer, &result);
  /* At the byte limit the log opens all the same: only an open log can make room, by retention or delivery. */
  if (!first && result == -BYTE_LIMIT_REACHED) return WEIR_OK;
  if (!first) return fail_system(error, result, "make a segment in", log->held.path, NULL);
  result = drainer_begin(&log->drainer, first);
  if (result == 0) return WEIR_OK;
  byte_limit_give(log->intake.retention, segment_discard(first));
  return fail_system(error, result, "begin a segment in", log->held.path, NULL);
}

/* Stops what prepares, then what makes durable; the drainer has ended. Answers what sealer_stop answers. */
static int stop_threads(event_log *log) {
  prefaulter_stop(&log->prefaulter);
  preparer_stop(&log->preparer);
  return sealer_stop(&log->sealer);
}

static weir_status start_threads(event_log *log, weir_error *error) {
  int result = sealer_start(&log->sealer);
  if (result == 0) result = preparer_start(&log->preparer);
  if (result == 0) result = prefaulter_start(&log->prefaulter);
  if (result == 0) result = drainer_start(&log->drainer);
  if (result == 0) return WEIR_OK;
  stop_threads(log);
  return fail_system(error, result, "start the threads of", log->held.path, NULL);
}

/*
 * Before start_threads: if a batch thread can't be started, no other thread runs yet. The batch threads work while the
 * opening goes on.
 */
static weir_status start_batcher(event_log *log, weir_error *error) {
  uint32_t threads = log->options.batch_threads;
  if (threads == 0) return WEIR_OK;
  log->batcher = batcher_make(&log->held, log->intake.retention, threads, log->drainer.next_offset);
  log->sealer.finisher.batcher = log->batcher;
  int result = log->batcher ? batcher_start(log->batcher) : -ENOMEM;
  return result == 0 ? WEIR_OK : fail_system(error, result, "start the threads of", log->held.path, NULL);
}

static weir_status make_ring(event_log *log, const recovered *recovered, weir_error *error) {
  const ring_start start = {recovered->spent, recovered->next_offset, &log->drainer.clock.calibration};
  return ring_create(&log->intake, &start, error);
}

/* The log's id: the one that its files have, or a new one. */
static weir_status identify(event_log *log, weir_error *error) {
  uint64_t log_id;
  int result = identity_find(log->held.directory, &log_id);
  if (result == 0) result = log_lock_identify(&log->held, log_id);
  return result == 0 ? WEIR_OK : fail_system(error, result, "find the id of", log->held.path, NULL);
}

/* Recovers what an earlier opening left. */
static weir_status recover_log(event_log *log, weir_recovery *recovery, recovered *recovered, weir_error *error) {
  recovery_site site = {.held = &log->held, .options = &log->options, .next_prepared = &log->preparer.next_prepared};
  weir_status status = retention_open(&log->held, &log->options, &log->intake.retention, &site.start_offset, recovery,
                                      error);
  site.retention = log->intake.retention;
  if (status == WEIR_OK && site.retention && site.retention->block_bytes > LEAST_BLOCK_BYTES) {
    status = retention_check(&log->options, ring_file_bytes(&log->options), site.retention->block_bytes, error);
  }
  return status == WEIR_OK ? recover(&site, recovery, recovered, error) : status;
}

/* Begins where the log ends, with a new ring. */
static weir_status begin(event_log *log, const recovered *recovered, weir_error *error) {
  intake *intake = &log->intake;
  int result = sys_random(&intake->producer.opening, sizeof intake->producer.opening);
  if (result != 0) return fail_system(error, result, "get random bytes for", log->held.path, NULL);
  clock_measure(&log->drainer.clock, clock_resolve(log->options.clock));
  weir_status status = make_ring(log, recovered, error);
  if (status == WEIR_OK) status = retention_settle(intake->retention, error);
  if (status != WEIR_OK) return status;
  log->drainer.previous = recovered->previous;
  log->drainer.next_offset = log->sealer.next_offset = log->sealer.durable_offset = recovered->next_offset;
  log->sealer.finisher = (finisher){.retention = intake->retention,
                                    .next_prepared = &log->preparer.next_prepared,
                                    .sync_failed = ring_sync_failed(intake),
                                    .named = batcher_add};
  if (intake->retention) intake->retention->remover = &log->sealer.worker;
  types_load(intake);
  /* Else the prefaulter does it beside what follows. */
  int now = log->options.threadless || sys_membarrier_is_cheap();
  if (now) intake->membarrier = sys_membarrier_register() == 0;
  status = begin_first_segment(log, error);
  if (status == WEIR_OK) status = start_batcher(log, error);
  if (status == WEIR_OK) status = start_threads(log, error);
  if (status != WEIR_OK) batcher_stop(log->batcher);
  return status;
}

static weir_status open_parts(event_log *log, weir_recovery *recovery, weir_error *error) {
  recovered recovered = {0};
  weir_status status = log_lock_take(&log->held, (int)log->options.create, error);
  clock_start(&log->drainer.clock, log->options.clock);
  if (status == WEIR_OK) status = identify(log, error);
  if (status == WEIR_OK) status = recover_log(log, recovery, &recovered, error);
  if (status == WEIR_OK) status = begin(log, &recovered, error);
  if (status != WEIR_OK) return status;
  recovery->opening = log->intake.producer.opening;
  recovery->first_offset = recovered.next_offset;
  return WEIR_OK;
}

/* Releases everything but the handle. The log on disk stays as it is. */
static void release_parts(event_log *log) {
  drainer_abandon(&log->drainer);
  ring_detach(&log->intake);
  detach_unregister(&log->intake);
  log_lock_let_go(&log->held);
}

weir_status weir_open(const char *directory, const weir_options *options, weir_log **opened, weir_recovery *recovery,
                      weir_error *error) {
  *opened = NULL;
  weir_recovery ignored;
  if (!recovery) recovery = &ignored;
  *recovery = (weir_recovery){0};
  if (!directory || !*directory) {
    return fail(error, WEIR_ERROR_INVALID, 0, NULL, "no directory was named to open a log in");
  }
  if (!crc_available()) {
    return fail(error, WEIR_ERROR_PLATFORM, 0, directory,
                "cannot open %s: this processor has no CRC32C instruction (SSE 4.2 or ARMv8.1), which Weir needs",
                directory);
  }
  weir_options defaults;
  weir_options_init(&defaults);
  if (!options) options = &defaults;
  weir_status status = check_options(options, error);
  if (status != WEIR_OK) return status;
  if (options->clock == WEIR_CLOCK_TSC && clock_resolve(options->clock) != WEIR_CLOCK_TSC) {
    return fail(error, WEIR_ERROR_PLATFORM, 0, directory,
                "cannot open %s with the processor's counter as its clock: the counter's rate varies, or the kernel "
                "does not trust it; choose the automatic or the monotonic clock",
                directory);
  }
  event_log *log = make_log(directory, options);
  if (!log) return fail(error, WEIR_ERROR_MEMORY, ENOMEM, directory, "out of memory to open %s", directory);
  uint64_t started = sys_monotonic_ns();
  detach_register(&log->intake);
  status = open_parts(log, recovery, error);
  if (status != WEIR_OK) {
    log->intake.state = STATE_CLOSED;
    release_parts(log);
    lane_unreference(&log->intake);
    return status;
  }
  recovery->duration_ns = sys_monotonic_ns() - started;
  *opened = &log->intake.producer;
  return WEIR_OK;
}

/* ---- Closing ----------------------------------------------------------------------------------------------------- */

static weir_status storage_failure(const intake *intake, const char *action, weir_error *error) {
  return log_lock_fail(intake->held, -__atomic_load_n(&intake->storage_errno, __ATOMIC_RELAXED), action, error);
}

/*
 * Copies the ring's counters to memory before the ring is unmapped. weir_count reads each counter from exactly one of
 * the two places.
 */
static void keep_counters(intake *intake) {
  uint32_t lanes = lanes_in_play(intake);
  pthread_mutex_lock(&intake->callers.lock);
  callers_await(intake);
  for (int reason = 1; reason < WEIR_DROP_REASONS && !intake->counters_kept; reason++) {
    uint64_t sum = intake->ring.header->unlaned_dropped[reason];
    for (uint32_t i = 0; i < lanes; i++) sum += intake->lanes[i].control->dropped[reason - 1];
    __atomic_add_fetch(&intake->dropped_after_close[reason], sum, __ATOMIC_RELAXED);
  }
  uint64_t overwritten = 0;
  for (uint32_t i = 0; i < lanes; i++) overwritten += eviction_total(intake->lanes[i].control);
  __atomic_store_n(&intake->kept_overwritten, overwritten, __ATOMIC_RELAXED);
  intake->counters_kept = 1;
  pthread_mutex_unlock(&intake->callers.lock);
}

/* After the drainer has ended: seals and syncs the last segment. */
static int end_segments(event_log *log) {
  batcher_ask_to_stop(log->batcher);
  drainer_end(&log->drainer);
  int stopped = stop_threads(log);
  batcher_stop(log->batcher); /* after the sealer, which tells it of segments */
  return stopped;
}

/*
 * Releases ring and lock, the last step of a close. Fails while a capture is in progress, because its thread is stopped
 * or its caller slow: the capture may still commit, and its answer must be true. The log then stays locked, so that no
 * opening, by this process or another, can recover it before that commit.
 */
static weir_status let_go(event_log *log, weir_error *error) {
  intake *intake = &log->intake;
  if (!lane_all_quiet(intake)) {
    return fail(error, WEIR_ERROR_TIMEOUT, 0, log->held.path,
                "a capture to %s that began before it was closed has not ended, so the log stays locked; end it by "
                "weir_commit or weir_cancel, then close again", log->held.path);
  }
  keep_counters(intake);
  weir_status status = WEIR_OK;
  if (log->ended_well && ring_is_drained(intake)) {
    ring_mark_closed(intake);
    if (!intake->ring.elsewhere) sys_touch_at(log->held.directory, RING_NAME); /* see touch in sealer.c */
    if (intake->ring.elsewhere) status = ring_remove(intake, error);
  }
  release_parts(log);
  return status;
}

/* Ends intake, drains, seals, stops the threads, and waits until all callers have left. Under close_lock. */
static weir_status end(event_log *log, weir_error *error) {
  intake *intake = &log->intake;
  pthread_mutex_lock(&intake->types.lock); /* so that no definition is half-way when the ring is unmapped */
  lane_close_all(intake);
  pthread_mutex_unlock(&intake->types.lock);

  if (intake->work) threadless_end(&log->drainer);
  else drainer_stop(&log->drainer);
  weir_status status = WEIR_OK;
  if (__atomic_load_n(&intake->storage, __ATOMIC_ACQUIRE) != WEIR_OK) { /* E1 */
    status = storage_failure(intake, "write the last events (they stay in the ring for the next opening) to", error);
  }
  int result = end_segments(log);
  if (result != 0 && status == WEIR_OK) {
    status = log_lock_fail(&log->held, result, "seal the last segment of", error);
  }
  log->ended_well = status == WEIR_OK;
  pthread_mutex_lock(&intake->callers.lock);
  pthread_cond_broadcast(&intake->callers.settled);
  callers_await(intake);
  pthread_mutex_unlock(&intake->callers.lock);
  return status;
}

weir_status weir_close(weir_log *producer, weir_error *error) {
  event_log *log = (event_log *)producer;
  /* In a fork the lock may be held for ever, by a thread that does not exist there. */
  if (lane_log_state(&log->intake) == STATE_DETACHED) return WEIR_OK;
  weir_status status = WEIR_OK;
  pthread_mutex_lock(&log->close_lock);
  if (lane_log_state(&log->intake) == STATE_OPEN) status = end(log, error);
  if (log->intake.ring.bytes) {
    weir_status last = let_go(log, status == WEIR_OK ? error : NULL);
    if (status == WEIR_OK) status = last;
  }
  pthread_mutex_unlock(&log->close_lock);
  return status;
}

void weir_free(weir_log *producer) {
  if (!producer) return;
  event_log *log = (event_log *)producer;
  weir_close(producer, NULL);
  int detached = lane_log_state(&log->intake) == STATE_DETACHED;
  /* A capture that never ends keeps everything: the ring that it writes to, the lanes, and the lock. */
  if (log->intake.ring.bytes && !detached) return;
  detach_unregister(&log->intake);
  log_lock_let_go(&log->held);
  lane_forget(&log->intake);
  lane_unreference(&log->intake);
}

/* ---- Waiting for the drainer ------------------------------------------------------------------------------------- */

static weir_status wait_for_drain(intake *intake, uint64_t deadline, weir_error *error) {
  callers *callers = &intake->callers;
  const drain_requests *requests = &intake->requests;
  uint64_t wanted = __atomic_add_fetch(&intake->requests.made, 1, __ATOMIC_ACQ_REL); /* D3 */
  if (intake->work) callers_work(intake, deadline);
  else bell_ring(intake);
  weir_status status = WEIR_OK;
  pthread_mutex_lock(&callers->lock);
  while (__atomic_load_n(&requests->done, __ATOMIC_ACQUIRE) < wanted && status == WEIR_OK) { /* D4 */
    if (__atomic_load_n(&requests->failed, __ATOMIC_ACQUIRE) >= wanted) { /* D5 */
      status = storage_failure(intake, "write events (they stay in the ring) to", error);
    } else if (lane_log_state(intake) != STATE_OPEN) {
      status = callers_closed(intake, error);
    } else if (thread_wait(&callers->settled, &callers->lock, deadline)) {
      status = fail(error, WEIR_ERROR_TIMEOUT, 0, intake->held->path,
                    "the events of %s were not drained within the time given; they are safe in the ring, ask again "
                    "later",
                    intake->held->path);
    }
  }
  pthread_mutex_unlock(&callers->lock);
  return status;
}

weir_status weir_drain(weir_log *producer, uint64_t timeout_ns, uint64_t *next_offset, weir_error *error) {
  event_log *log = (event_log *)producer;
  if (!callers_enter(&log->intake)) return callers_closed(&log->intake, error);
  weir_status status = wait_for_drain(&log->intake, sys_deadline(timeout_ns), error);
  if (next_offset) *next_offset = __atomic_load_n(&log->sealer.next_offset, __ATOMIC_RELAXED);
  callers_leave(&log->intake);
  return status;
}

/* Has the segments that hold offsets below `offset` sealed by the next pass of the drainer. */
static void order_seal(event_log *log, uint64_t offset) {
  pthread_mutex_lock(&log->intake.callers.lock);
  uint64_t *below = &log->drainer.seal_below;
  if (__atomic_load_n(below, __ATOMIC_RELAXED) < offset) __atomic_store_n(below, offset, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&log->intake.callers.lock);
}

weir_status weir_seal(weir_log *producer, uint64_t timeout_ns, uint64_t *next_offset, weir_error *error) {
  event_log *log = (event_log *)producer;
  if (!callers_enter(&log->intake)) return callers_closed(&log->intake, error);
  uint64_t deadline = sys_deadline(timeout_ns);
  weir_status status = wait_for_drain(&log->intake, deadline, error);
  uint64_t end = __atomic_load_n(&log->sealer.next_offset, __ATOMIC_RELAXED);
  /* Without more time, too: a later pass seals what is in the log by now. */
  if (status == WEIR_OK || status == WEIR_ERROR_TIMEOUT) order_seal(log, end);
  if (status == WEIR_ERROR_TIMEOUT) bell_ring(&log->intake); /* the drainer may sleep by now */
  if (status == WEIR_OK) status = wait_for_drain(&log->intake, deadline, error);
  if (next_offset) *next_offset = end;
  callers_leave(&log->intake);
  return status;
}

static void set_host_call(event_log *log, host_call *host, void (*call)(void *context), void *context) {
  /* In a fork the lock may be held by a thread that does not exist there. */
  if (lane_log_state(&log->intake) == STATE_DETACHED) return;
  pthread_mutex_lock(&log->drainer.host_lock);
  __atomic_store_n(&host->call, call, __ATOMIC_RELAXED);
  host->context = context;
  pthread_mutex_unlock(&log->drainer.host_lock);
}

void weir_on_drained(weir_log *producer, void (*drained)(void *context), void *context) {
  event_log *log = (event_log *)producer;
  set_host_call(log, &log->drainer.on_drained, drained, context);
}

void weir_on_refused(weir_log *producer, void (*refused)(void *context), void *context) {
  event_log *log = (event_log *)producer;
  set_host_call(log, &log->drainer.on_refused, refused, context);
}

void weir_set_delivered(weir_log *producer, uint64_t offset) {
  event_log *log = (event_log *)producer;
  /* In a fork the lock may be held for ever, by a thread that does not exist there. */
  if (!log->intake.retention || lane_log_state(&log->intake) != STATE_OPEN) return;
  /* Offsets beyond the log's end belong to later events, which nobody was given yet. */
  uint64_t end = __atomic_load_n(&log->sealer.next_offset, __ATOMIC_ACQUIRE); /* D1 */
  retention_deliver(log->intake.retention, offset < end ? offset : end);
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */

static void count_batches(const batcher *batcher, weir_counters *counters) {
  counters->batch_waiting = __atomic_load_n(&batcher->waiting, __ATOMIC_ACQUIRE); /* B3 */
  counters->batched = __atomic_load_n(&batcher->done, __ATOMIC_RELAXED);
  counters->batch_input = __atomic_load_n(&batcher->input, __ATOMIC_RELAXED);
  counters->batch_output = __atomic_load_n(&batcher->output, __ATOMIC_RELAXED);
  counters->unbatched = __atomic_load_n(&batcher->unbatched, __ATOMIC_RELAXED);
  counters->batch_failures = __atomic_load_n(&batcher->failures, __ATOMIC_RELAXED);
  counters->batching = __atomic_load_n(&batcher->status, __ATOMIC_RELAXED);
}

void weir_count(const weir_log *producer, weir_counters *counters) {
  event_log *log = (event_log *)producer;
  intake *intake = &log->intake;
  *counters = (weir_counters){0};
  int mapped = callers_enter_counters(intake);
  const weir_counters *from = &log->drainer.counters;
  counters->drained = __atomic_load_n(&from->drained, __ATOMIC_RELAXED);
  counters->next_offset = __atomic_load_n(&log->sealer.next_offset, __ATOMIC_RELAXED);
  counters->blocks = __atomic_load_n(&from->blocks, __ATOMIC_RELAXED);
  counters->segments = __atomic_load_n(&from->segments, __ATOMIC_RELAXED);
  counters->wakeups = __atomic_load_n(&from->wakeups, __ATOMIC_RELAXED);
  counters->syncs = __atomic_load_n(&log->sealer.passes, __ATOMIC_RELAXED);
  counters->damaged = __atomic_load_n(&from->damaged, __ATOMIC_RELAXED);
  if (intake->retention) {
    counters->expired = __atomic_load_n(&intake->retention->expired, __ATOMIC_RELAXED);
    counters->displaced = __atomic_load_n(&intake->retention->displaced, __ATOMIC_RELAXED);
    counters->delivered_removed = __atomic_load_n(&intake->retention->delivered_removed, __ATOMIC_RELAXED);
  }
  if (log->batcher) count_batches(log->batcher, counters);
  counters->lost = __atomic_load_n(&log->sealer.lost, __ATOMIC_RELAXED);
  counters->durable_offset = weir_durable_offset(producer);
  counters->storage = __atomic_load_n(&intake->storage, __ATOMIC_RELAXED);
  counters->contexts = __atomic_load_n(&intake->types.contexts, __ATOMIC_RELAXED);
  counters->types = __atomic_load_n(&producer->type_count, __ATOMIC_RELAXED);
  for (int reason = 1; reason < WEIR_DROP_REASONS; reason++) {
    counters->dropped[reason] = __atomic_load_n(&intake->dropped_after_close[reason], __ATOMIC_RELAXED);
  }
  counters->overwritten = __atomic_load_n(&intake->kept_overwritten, __ATOMIC_RELAXED);
  uint32_t lanes = lanes_in_play(intake);
  for (uint32_t i = 0; i < lanes; i++) {
    const lane *lane = &intake->lanes[i];
    counters->accepted += __atomic_load_n(&lane->producer.accepted, __ATOMIC_RELAXED);
    counters->lanes_in_use += lane_holder(lane) == HELD_BY_THREAD;
    if (mapped) counters->overwritten += eviction_total(lane->control);
    for (int reason = 1; mapped && reason < WEIR_DROP_REASONS; reason++) {
      counters->dropped[reason] += __atomic_load_n(&lane->control->dropped[reason - 1], __ATOMIC_RELAXED);
    }
  }
  for (int reason = 1; mapped && reason < WEIR_DROP_REASONS; reason++) {
    counters->dropped[reason] += __atomic_load_n(&intake->ring.header->unlaned_dropped[reason], __ATOMIC_RELAXED);
  }
  if (mapped) callers_leave(intake);
}

const char *weir_directory(const weir_log *log) { return ((const event_log *)log)->held.absolute; }
uint64_t weir_opening(const weir_log *log) { return log->opening; }
