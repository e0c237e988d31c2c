/*
 * sealer.c: the thread that makes the log durable. It syncs, renames and unmaps full segments, and syncs the active
 * segment for those who wait. One thread does both, because the kernel reports an error of a sync only once: the thread
 * that sees it must be the one that acts on it.
 *
 * What it keeps true: `durable` moves only past what was in the log before a sync of every file that holds it began,
 * and that sync succeeded. A file whose sync failed is never synced again, because the kernel may have dropped what it
 * could not write and would call the next sync a success: what the file held is copied to a new one, which is synced
 * and takes its name (Rebello et al., Can Applications Recover from fsync Failures?, USENIX ATC 2020). Many waiters
 * share one sync (group commit: DeWitt et al., Implementation Techniques for Main Memory Database Systems, 1984).
 *
 * The sealer also writes damaged stretches of lanes to quarantine/. The drainer hands them over as copies in memory.
 *
 * A log without threads has whoever has its work take the sealer's steps (sealer_work), at most one caller at a time.
 *
 * The mutex guards the sealer's fields, the list of waits and their results. Everything else goes by the orders below,
 * each store with the load that pairs with it. Drainer and sealer share `active`, which changes under the mutex in one
 * step with the queue: so no segment is missed between D1 and the choice of the files.
 *
 * label store                               load                              what it guarantees
 * D1    drainer: next_offset, then drained  pass: drained, then next_offset   what is vouched for is in the
 *       (release), after the block          (acquire), then the files         files before their sync begins
 * D2    durable_offset (release), after     weir_durable_offset (acquire)     an offset below it is on the
 *       the sync of every file                                                disk
 * D3    captures and wait_count, then       drainer: requests.made, then      a request covers what came before
 *       requests.made + 1 (release)         tails and wait_count (acquire)    it, and whoever waits is woken
 * D4    drainer: requests.done (release),   requests.done (acquire), then     a pass vouches for all that its
 *       after the blocks                    D1                                waits asked to have drained
 * D5    drainer: storage_errno, then        requests.failed (acquire), then   a wait that fails names that
 *       requests.failed (release)           storage_errno                     error, or a later one
 * D6    poisoned, then roll_wanted          drainer: roll_wanted (acquire)    once that is seen, a file whose
 *       (release), then the bell                                              sync failed takes no block
 * D7    stale = 0 (seq_cst), then the       drainer: its stores, then stale   the files' time is past the last
 *       touch                               + 0 (seq_cst)                     store, or a touch is asked for
 * K2    the ring's sync_failed (release),   recovery, by program order        a recovery trusts no file's sync of
 *       before the next sync                                                  an opening in which one failed
 *
 * queued, finished and stuck_error order nothing: they bound what waits for a slow disk (sealer_waiting,
 * sealer_trouble), and one that is seen late makes the drainer look again. passes is a count.
 */
#define _GNU_SOURCE
#include "seal/sealer.h"

#include <errno.h>
#include <stdlib.h>

#include "capture/bell.h"
#include "capture/detach.h"
#include "directory/quarantine.h"
#include "limits/retention.h"
#include "seal/finish.h"
#include "system/error.h"
#include "system/invariant.h"
#include "system/system.h"
#include "system/thread.h"

enum { RETRY_PAUSE_NS = 500000000, TOUCH_PAUSE_NS = 1000000000, MOST_AT_ONCE = 8 };

static uint64_t load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }

/* ---- Full segments ----------------------------------------------------------------------------------------------- */

/* Puts a full segment at the end of the queue. Under the mutex. */
static void queue(sealer *sealer, segment *done) {
  INVARIANT(done->sealed && (!sealer->last_done || sealer->last_done->number < done->number));
  done->next = NULL;
  if (sealer->last_done) sealer->last_done->next = done;
  else sealer->first_done = done;
  sealer->last_done = done;
  __atomic_store_n(&sealer->queued, sealer->queued + 1, __ATOMIC_RELAXED);
  pthread_cond_signal(&sealer->worker.wakes);
}

void sealer_change(sealer *sealer, segment *next) {
  /* In one step: a pass that sees the new one as the active one must find the old one in the queue. */
  pthread_mutex_lock(&sealer->worker.mutex);
  if (sealer->active) queue(sealer, sealer->active);
  sealer->active = next;
  pthread_mutex_unlock(&sealer->worker.mutex);
}

/* Takes the oldest full segments off the queue, at most `most`. */
static segment *take_done(sealer *sealer, uint64_t most) {
  segment *first = sealer->first_done, *last = first;
  if (!first || most == 0) return NULL;
  for (uint64_t count = 1; last->next && count < most; count++) last = last->next;
  sealer->first_done = last->next;
  if (!sealer->first_done) sealer->last_done = NULL;
  last->next = NULL;
  return first;
}

static uint64_t length(const segment *first) {
  uint64_t count = 0;
  for (; first; first = first->next) count++;
  return count;
}

/* Finishes a list of segments, off the mutex meanwhile. Those that fail join `stuck`, and are tried again. */
static void finish_all(sealer *sealer, segment *first) {
  uint64_t count = length(first);
  pthread_mutex_unlock(&sealer->worker.mutex);
  /* A segment with a lost page is not sealed as if it were whole: the next recovery finds out what it lacks. */
  finished done = {.error = -MAPPING_LOST, .failed = first};
  if (!detach_lost_page(sealer->intake)) done = finish_segments(&sealer->finisher, first);
  pthread_mutex_lock(&sealer->worker.mutex);
  segment **last = &sealer->stuck;
  while (*last) last = &(*last)->next;
  *last = done.failed;
  sealer->retry_at = sys_monotonic_ns() + RETRY_PAUSE_NS;
  if (done.failed) __atomic_store_n(&sealer->stuck_error, done.error, __ATOMIC_RELAXED);
  else if (sealer->stuck == NULL) __atomic_store_n(&sealer->stuck_error, 0, __ATOMIC_RELAXED);
  /* A name may not be on the disk, or events of the log are gone: nothing more is reported as durable. */
  if (sealer->broken == 0) sealer->broken = done.lost > 0 ? -EIO : done.directory_error;
  __atomic_store_n(&sealer->lost, sealer->lost + done.lost, __ATOMIC_RELAXED);
  __atomic_store_n(&sealer->finished, sealer->finished + count - length(done.failed), __ATOMIC_RELAXED);
  INVARIANT(sealer->finished + length(sealer->stuck) <= sealer->queued);
}

static void retry(sealer *sealer) {
  segment *stuck = sealer->stuck;
  sealer->stuck = NULL;
  if (stuck) finish_all(sealer, stuck);
}

/* ---- Waiting for the disk ---------------------------------------------------------------------------------------- */

/* Whether the drainer has drained what a wait asked for. */
static int is_drained(const sealer *sealer, const sync_wait *wait) {
  return __atomic_load_n(&sealer->intake->requests.done, __ATOMIC_ACQUIRE) >= wait->drain; /* D4 */
}

static int could_not_drain(const sealer *sealer, const sync_wait *wait) {
  return __atomic_load_n(&sealer->intake->requests.failed, __ATOMIC_ACQUIRE) >= wait->drain; /* D5 */
}

/* The result of a wait whose lane is durable beyond the awaited event. */
static sync_result result_of(const sealer *sealer, const sync_wait *wait) {
  if (wait->lane == NOTICE_LANE) return SYNC_DURABLE;
  const lane *lane = &sealer->intake->lanes[wait->lane];
  for (uint32_t i = 0; i < lane->losses && i < LANE_LOSSES; i++) {
    const lane_loss *loss = &lane->loss[i];
    if (loss->from <= wait->position && wait->position < loss->to) return SYNC_LOST;
  }
  return wait->position < lane->losses_known_from ? SYNC_UNKNOWN : SYNC_DURABLE;
}

static int is_durable(const sealer *sealer, const sync_wait *wait) {
  return wait->lane != NOTICE_LANE && load(&sealer->intake->lanes[wait->lane].durable) > wait->position;
}

static void settle(sync_wait *wait, sync_result result, int error) {
  INVARIANT(wait->result == SYNC_PENDING && result != SYNC_PENDING);
  wait->error = error;
  wait->result = result;
}

/* Takes settled waits off the list, and calls the functions of those that have one, off the mutex. */
static void announce(sealer *sealer) {
  sync_wait *settled_waits = NULL, **at = &sealer->waits;
  while (*at) {
    sync_wait *wait = *at;
    if (wait->result == SYNC_PENDING) {
      at = &wait->next;
      continue;
    }
    *at = wait->next;
    INVARIANT(sealer->wait_count > 0);
    __atomic_store_n(&sealer->wait_count, sealer->wait_count - 1, __ATOMIC_RELAXED);
    if (!wait->announce) continue; /* on the waiter's stack: not to be touched once the mutex is free */
    wait->next = settled_waits;
    settled_waits = wait;
  }
  pthread_cond_broadcast(&sealer->worker.settled);
  if (!settled_waits) return;
  pthread_mutex_unlock(&sealer->worker.mutex);
  while (settled_waits) {
    sync_wait *next = settled_waits->next;
    settled_waits->announce(sealer->intake, settled_waits);
    settled_waits = next;
  }
  pthread_mutex_lock(&sealer->worker.mutex);
}

/* Settles waits whose events can't be drained. 1: there were some, and the mutex may have been free meanwhile. */
static int settle_undrained(sealer *sealer) {
  int settled = 0;
  for (sync_wait *wait = sealer->waits; wait; wait = wait->next) {
    if (is_drained(sealer, wait) || !could_not_drain(sealer, wait)) continue;
    settle(wait, SYNC_NOT_DRAINED, -__atomic_load_n(&sealer->intake->storage_errno, __ATOMIC_RELAXED));
    settled = 1;
  }
  if (settled) announce(sealer);
  return settled;
}

static int has_drained_wait(const sealer *sealer) {
  const sync_wait *wait = sealer->waits;
  while (wait && !is_drained(sealer, wait)) wait = wait->next;
  return wait != NULL;
}

/* ---- A pass ------------------------------------------------------------------------------------------------------ */

/* Syncs the active segment and its name, off the mutex meanwhile. 0 or a negative errno. */
static int sync_active(sealer *sealer, segment *active) {
  if (!segment_has_files(active)) sealer->broken = -DESCRIPTOR_LOST;
  if (sealer->broken == -DESCRIPTOR_LOST) return sealer->broken;
  if (!active->poisoned) {
    pthread_mutex_unlock(&sealer->worker.mutex);
    int error = sys_sync_data(active->fd), unnamed = 0;
    active->poisoned = error != 0;
    if (error != 0) __atomic_store_n(sealer->finisher.sync_failed, 1, __ATOMIC_RELEASE); /* K2 */
    if (error == 0 && !active->named) unnamed = sys_sync_directory(active->directory);
    active->named |= error == 0 && unnamed == 0;
    pthread_mutex_lock(&sealer->worker.mutex);
    /* A directory can't be copied to another: a later sync that succeeds would prove nothing. */
    if (unnamed != 0 && sealer->broken == 0) sealer->broken = unnamed;
    if (!active->poisoned) return unnamed;
  }
  /* Ask the drainer to end this segment early. The segment then arrives in the queue as a full one, and is copied. */
  __atomic_store_n(&sealer->roll_wanted, active->number, __ATOMIC_RELEASE); /* D6 */
  bell_ring(sealer->intake);
  return -EIO;
}

/* Syncs every file that holds an offset below `offset`. Under the mutex, but not all the time. */
static int sync_files(sealer *sealer, uint64_t offset) {
  segment *active = sealer->active; /* only this thread frees one that has been active */
  uint64_t target = sealer->queued;
  retry(sealer);
  for (uint64_t left; (left = target - sealer->finished - length(sealer->stuck)) > 0;) {
    finish_all(sealer, take_done(sealer, left < MOST_AT_ONCE ? left : (uint32_t)MOST_AT_ONCE));
  }
  int error = sealer->stuck ? sealer->stuck_error : 0;
  if (error == 0 && active && active->base_offset < offset) error = sync_active(sealer, active);
  if (detach_lost_page(sealer->intake)) sealer->broken = -MAPPING_LOST; /* for good, even if the syncs succeeded */
  return error == 0 ? sealer->broken : error;
}

/*
 * Makes durable what the log has when the pass begins, and settles the waits. Under the mutex, which is free meanwhile.
 * The order matters: first the log's end, then the files below it, then their syncs.
 */
static int make_durable(sealer *sealer) {
  const intake *intake = sealer->intake;
  uint64_t number = sealer->passes + 1, drained[WEIR_MAX_LANES];
  __atomic_store_n(&sealer->passes, number, __ATOMIC_RELAXED);
  for (sync_wait *wait = sealer->waits; wait; wait = wait->next) {
    if (is_drained(sealer, wait)) wait->pass = number;
  }
  /* D1: the offset after the positions, so that nothing drained is above it. */
  for (uint32_t i = 0; i < intake->lane_count; i++) {
    drained[i] = __atomic_load_n(&intake->lanes[i].drained, __ATOMIC_ACQUIRE); /* D1 */
  }
  uint64_t offset = __atomic_load_n(&sealer->next_offset, __ATOMIC_ACQUIRE); /* D1 */
  int error = sync_files(sealer, offset);
  INVARIANT(offset >= sealer->durable_offset);
  for (uint32_t i = 0; error == 0 && i < intake->lane_count; i++) {
    INVARIANT(drained[i] >= intake->lanes[i].durable);
    __atomic_store_n(&intake->lanes[i].durable, drained[i], __ATOMIC_RELAXED);
  }
  if (error == 0) __atomic_store_n(&sealer->durable_offset, offset, __ATOMIC_RELEASE); /* D2 */
  for (sync_wait *wait = sealer->waits; wait; wait = wait->next) {
    if (wait->pass == number) settle(wait, error == 0 ? result_of(sealer, wait) : SYNC_FAILED, error);
  }
  announce(sealer);
  return error;
}

/* Whether the host has closed the log's directory or lock. Then nothing more is reported as durable, or removed. */
static int is_cut_off(sealer *sealer) {
  if (log_lock_check(sealer->intake->held) == 0) return 0;
  sealer->broken = -DESCRIPTOR_LOST;
  return 1;
}

/* ---- The files' times -------------------------------------------------------------------------------------------- */

/* `stale` is set under the mutex. sealer_expect reads it off the mutex, by an addition of 0. */
static int is_stale(const sealer *sealer) { return __atomic_load_n(&sealer->stale, __ATOMIC_RELAXED) != 0; }

/* Without a thread at once: nobody would come back for it. */
static uint64_t touch_due(const sealer *sealer) {
  if (!is_stale(sealer)) return UINT64_MAX;
  return sealer->touched_at + (sealer->intake->options->threadless ? 0 : TOUCH_PAUSE_NS);
}

/*
 * Gives ring and active segment the present time. A store into a mapping changes the file's time only if its page was
 * clean, so the last stores may never change it, and programs that copy by size and time (rsync, backups) would pass
 * over them. The files are touched after the log has grown, at most once a TOUCH_PAUSE_NS; without a thread after each
 * growth. After a quiet time the first growth is followed by a touch at once: that wakes who follows the log, in any
 * process, since inotify reports a touch of a file in the directory, and no store. Off the mutex meanwhile: only this
 * thread frees a segment that has been active.
 */
static void touch(sealer *sealer) {
  segment *active = sealer->active;
  __atomic_store_n(&sealer->stale, 0, __ATOMIC_SEQ_CST); /* D7: what is stored from now on asks for another */
  sealer->touched_at = sys_monotonic_ns();
  if (is_cut_off(sealer)) return;
  pthread_mutex_unlock(&sealer->worker.mutex);
  if (!sealer->intake->ring.elsewhere) sys_touch_at(sealer->intake->held->directory, RING_NAME);
  if (active && segment_has_files(active)) sys_touch(active->fd);
  pthread_mutex_lock(&sealer->worker.mutex);
}

/* ---- Damaged stretches of lanes ---------------------------------------------------------------------------------- */

/* Counts damaged bytes that never get to quarantine/. */
static void count_unkept(sealer *sealer, uint64_t bytes) {
  __atomic_store_n(&sealer->unkept_bytes, sealer->unkept_bytes + bytes, __ATOMIC_RELAXED);
}

/* Writes the oldest stretch to quarantine/, off the mutex meanwhile. After a failure it stays, unless `last_time`. */
static void copy_damaged(sealer *sealer, int last_time) {
  damaged_stretch *stretch = sealer->damaged;
  uint64_t bytes = quarantine_bytes(&stretch->of);
  pthread_mutex_unlock(&sealer->worker.mutex);
  int error = quarantine_stretch(sealer->intake->held->directory, stretch);
  pthread_mutex_lock(&sealer->worker.mutex);
  if (error < 0 && !last_time) {
    sealer->copy_at = sys_monotonic_ns() + RETRY_PAUSE_NS;
    return;
  }
  if (error != 0) count_unkept(sealer, bytes);
  sealer->damaged = stretch->next;
  sealer->damaged_bytes -= bytes;
  free(stretch);
}

void sealer_quarantine(sealer *sealer, const damaged_lane *lane) {
  uint64_t bytes = quarantine_bytes(lane);
  pthread_mutex_lock(&sealer->worker.mutex);
  int room = bytes <= MAX_DAMAGED_BYTES - sealer->damaged_bytes; /* only the drainer adds to damaged_bytes */
  pthread_mutex_unlock(&sealer->worker.mutex);
  damaged_stretch *stretch = room ? quarantine_take(lane) : NULL;
  pthread_mutex_lock(&sealer->worker.mutex);
  if (stretch) {
    damaged_stretch **last = &sealer->damaged;
    while (*last) last = &(*last)->next;
    *last = stretch;
    sealer->damaged_bytes += bytes;
    pthread_cond_signal(&sealer->worker.wakes);
  } else {
    count_unkept(sealer, bytes);
  }
  pthread_mutex_unlock(&sealer->worker.mutex);
}

/* ---- The thread -------------------------------------------------------------------------------------------------- */

/* Half the interval, so that events captured during a pass are on the disk within a whole interval. */
static uint64_t interval_due(const sealer *sealer) {
  return sealer->fresh ? sealer->fresh_since + sealer->intake->options->sync_interval_ns / 2 : UINT64_MAX;
}

/* Does one thing that is due: 0. Or answers when something will be due; the mutex was not free then. */
static uint64_t take_step(sealer *sealer) {
  intake *intake = sealer->intake;
  uint64_t bounds_due = retention_due(intake->retention);
  int timed = sealer->stuck || sealer->fresh || is_stale(sealer) || sealer->damaged || bounds_due != UINT64_MAX;
  uint64_t now = timed ? sys_monotonic_ns() : 0;
  if (settle_undrained(sealer)) return 0; /* the mutex was free: look at everything anew, a stop included */
  if (sealer->broken != 0) retention_deny(intake->retention, sealer->broken);
  if (now >= touch_due(sealer)) {
    touch(sealer);
  } else if (bounds_due <= now && !sealer->first_done && sealer->broken == 0) {
    /* After all full segments are sealed: only sealed ones can be removed. */
    if (!is_cut_off(sealer)) retention_serve(intake->retention);
  } else if (has_drained_wait(sealer) || now >= interval_due(sealer)) {
    __atomic_store_n(&sealer->fresh, 0, __ATOMIC_RELAXED);
    if (make_durable(sealer) == 0 || intake->options->sync_interval_ns == 0) return 0;
    __atomic_store_n(&sealer->fresh, 1, __ATOMIC_RELAXED);
    sealer->fresh_since = now;
  } else if (sealer->first_done) {
    finish_all(sealer, take_done(sealer, MOST_AT_ONCE));
  } else if (sealer->stuck && now >= sealer->retry_at) {
    retry(sealer);
  } else if (sealer->damaged && now >= sealer->copy_at) {
    copy_damaged(sealer, 0);
  } else {
    uint64_t due = interval_due(sealer);
    if (bounds_due < due && sealer->broken == 0) due = bounds_due;
    if (touch_due(sealer) < due) due = touch_due(sealer);
    if (sealer->damaged && sealer->copy_at < due) due = sealer->copy_at;
    if (sealer->stuck && sealer->retry_at < due) due = sealer->retry_at;
    return due;
  }
  return 0;
}

void sealer_work(sealer *sealer) {
  pthread_mutex_lock(&sealer->worker.mutex);
  while (take_step(sealer) == 0) continue;
  pthread_mutex_unlock(&sealer->worker.mutex);
}

/* After the drainer has ended, and no segment is active: only the queue is left. Under the mutex. */
static void finish_work(sealer *sealer) {
  make_durable(sealer);
  while (sealer->damaged) copy_damaged(sealer, 1);
  int due = retention_due(sealer->intake->retention) <= sys_monotonic_ns();
  if (due && sealer->broken == 0 && !is_cut_off(sealer)) retention_serve(sealer->intake->retention);
  sealer->serves = 0;
  for (sync_wait *wait = sealer->waits; wait; wait = wait->next) {
    settle(wait, is_durable(sealer, wait) ? result_of(sealer, wait) : SYNC_CLOSED, 0);
  }
  announce(sealer);
}

static void *sealer_main(void *argument) {
  sealer *sealer = (struct sealer *)argument;
  pthread_mutex_lock(&sealer->worker.mutex);
  while (!sealer->worker.stopping) {
    uint64_t due = take_step(sealer);
    if (due != 0) thread_wait(&sealer->worker.wakes, &sealer->worker.mutex, due);
  }
  finish_work(sealer);
  pthread_mutex_unlock(&sealer->worker.mutex);
  return NULL;
}

void sealer_make(sealer *sealer, intake *intake) {
  sealer->intake = intake;
  worker_make(&sealer->worker);
}

void sealer_free(sealer *sealer) { worker_free(&sealer->worker); }

int sealer_start(sealer *sealer) {
  sealer->serves = 1;
  if (sealer->intake->options->threadless) return 0;
  int error = worker_start(&sealer->worker, sealer_main, sealer, "weir-seal");
  if (error != 0) sealer->serves = 0;
  return error;
}

int sealer_stop(sealer *sealer) {
  worker_stop(&sealer->worker);
  pthread_mutex_lock(&sealer->worker.mutex);
  if (sealer->serves) finish_work(sealer); /* there was no thread to do it */
  pthread_mutex_unlock(&sealer->worker.mutex);
  int error = sealer->stuck ? sealer->stuck_error : sealer->broken;
  while (sealer->stuck) {
    segment *next = sealer->stuck->next;
    segment_abandon(sealer->stuck);
    sealer->stuck = next;
  }
  return error;
}

int sealer_trouble(const sealer *sealer) { return __atomic_load_n(&sealer->stuck_error, __ATOMIC_RELAXED); }

uint64_t sealer_waiting(const sealer *sealer) {
  return load(&sealer->queued) - load(&sealer->finished);
}

/* ---- Calls from other threads ------------------------------------------------------------------------------------ */

void sealer_expect(sealer *sealer) {
  int fresh = sealer->intake->options->sync_interval_ns == 0 || __atomic_load_n(&sealer->fresh, __ATOMIC_RELAXED);
  /* D7: either touch() has cleared `stale`, or the stores so far come before the files are touched. */
  int stale = __atomic_fetch_add(&sealer->stale, 0, __ATOMIC_SEQ_CST); /* D7 */
  if (fresh && stale) return;
  pthread_mutex_lock(&sealer->worker.mutex);
  if (!fresh) sealer->fresh_since = sys_monotonic_ns();
  if (!fresh) __atomic_store_n(&sealer->fresh, 1, __ATOMIC_RELAXED);
  if (!stale) __atomic_store_n(&sealer->stale, 1, __ATOMIC_RELAXED);
  pthread_cond_signal(&sealer->worker.wakes);
  pthread_mutex_unlock(&sealer->worker.mutex);
}

void sealer_drained(sealer *sealer) {
  if (__atomic_load_n(&sealer->wait_count, __ATOMIC_ACQUIRE) == 0) return; /* D3 */
  pthread_mutex_lock(&sealer->worker.mutex);
  pthread_cond_signal(&sealer->worker.wakes);
  pthread_mutex_unlock(&sealer->worker.mutex);
}

void sealer_lose(sealer *sealer, lane *lane, uint64_t from, uint64_t to) {
  pthread_mutex_lock(&sealer->worker.mutex);
  lane_loss *oldest = &lane->loss[lane->losses % LANE_LOSSES];
  if (lane->losses >= LANE_LOSSES) lane->losses_known_from = oldest->to;
  *oldest = (lane_loss){.from = from, .to = to};
  lane->losses++;
  pthread_mutex_unlock(&sealer->worker.mutex);
}

int sealer_add(sealer *sealer, sync_wait *wait) {
  int pending = 0;
  pthread_mutex_lock(&sealer->worker.mutex);
  if (is_durable(sealer, wait)) {
    settle(wait, result_of(sealer, wait), 0);
  } else if (!sealer->serves) {
    settle(wait, SYNC_CLOSED, 0);
  } else {
    wait->next = sealer->waits;
    sealer->waits = wait;
    pending = 1;
    /*
     * D3: counted before the request is made. A drainer that is awake may be done with the request before the next
     * instruction. If it saw no wait then, it would wake nobody.
     */
    __atomic_store_n(&sealer->wait_count, sealer->wait_count + 1, __ATOMIC_RELEASE); /* D3 */
    wait->drain = __atomic_add_fetch(&sealer->intake->requests.made, 1, __ATOMIC_ACQ_REL); /* D3 */
  }
  pthread_mutex_unlock(&sealer->worker.mutex);
  if (pending) bell_ring(sealer->intake); /* `wait` is not read any more: the wait may be over */
  return !pending;
}

sync_result sealer_await(sealer *sealer, sync_wait *wait, uint64_t deadline) {
  worker *worker = &sealer->worker;
  pthread_mutex_lock(&worker->mutex);
  while (wait->result == SYNC_PENDING) {
    int passed = thread_wait(&worker->settled, &worker->mutex, deadline);
    if (!passed || wait->result != SYNC_PENDING) continue;
    settle(wait, SYNC_TIMEOUT, 0);
    announce(sealer);
  }
  pthread_mutex_unlock(&worker->mutex);
  return wait->result;
}
