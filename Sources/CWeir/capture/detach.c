/*
 * detach.c: what takes an open log away from its captures: a fork, and a page of a mapped file that is lost.
 *
 * The child of a fork must not write to the parent's log, must not hold its lock, and its captures answer
 * WEIR_DROP_DETACHED until it opens a log of its own.
 *
 * fork() runs the handlers below. A bare clone system call does not: for its child the kernel wipes the lanes' memory
 * (MADV_WIPEONFORK), so the inlined path sees a lane of no log and takes the slow path, which sees why; that costs a
 * capture nothing. Linux before 4.14 can't wipe; there a bare clone that captures is beyond what is promised.
 *
 * Where a page is lost, what is stored to it from then on goes nowhere. So no capture that stored any of it may be
 * accepted, and nothing of it may be handed over.
 *
 *     label  store                                   order    pairs with
 *     G2     event_log.mapping_lost                  seq_cst  acquire load in detach_lost_page, after what was read
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

#include "capture/lane.h"
#include "system/forks.h"
#include "system/sigbus.h"
#include "system/system.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static event_log *logs; /* while forks are held */

/*
 * The child has the ring's mapping until its handler replaces it. Were there a hole instead, the handlers of others,
 * which may run before it, could map memory of their own there, and it would replace that.
 */
static void before_fork(void) {
  for (event_log *log = logs; log; log = log->next) {
    log->ring_inherited = log->ring && sys_inherit(log->ring, log->ring_bytes, 1) == 0;
  }
}

static void after_fork_in_parent(void) {
  for (event_log *log = logs; log; log = log->next) {
    if (log->ring_inherited) sys_inherit(log->ring, log->ring_bytes, 0);
  }
}

/*
 * The child has no drainer, and must not write to the ring. A capture that the forking thread was in the middle of may
 * go on in the child: it gets private memory to write to in the ring's place, and is refused when it commits.
 */
static void after_fork_in_child(void) {
  for (event_log *log = logs; log; log = log->next) {
    log->state = STATE_DETACHED;
    log->producer.detached = 1;
    log->producer.type_count = 0;
    if (log->ring_inherited) sys_map_private(log->ring, log->ring_bytes);
    /* Of a log that is just being opened the lanes may not be there yet. */
    for (uint32_t i = 0; log->lanes && i < log->lane_count; i++) {
      lane *lane = &log->lanes[i];
      lane->producer.log = &log->producer; /* all of it is wiped */
      lane->closed_tail = UINT64_MAX;
      lane->producer.tail = &lane->closed_tail;
    }
  }
}

/*
 * Refuses every capture that has not committed yet, as a fork and a close do: a lane whose tail is not its own takes
 * the slow path, and there are no types to commit with. A capture that stored to the page comes here before it commits.
 */
void detach_page_lost(void *of_log) {
  event_log *log = of_log;
  __atomic_store_n(&log->mapping_lost, 1, __ATOMIC_SEQ_CST); /* G2 */
  __atomic_store_n(&log->producer.detached, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&log->producer.type_count, 0, __ATOMIC_RELAXED);
  for (uint32_t i = 0; log->lanes && i < log->lane_count; i++) {
    lane *lane = &log->lanes[i];
    __atomic_store_n(&lane->producer.tail, &lane->closed_tail, __ATOMIC_RELAXED);
  }
}

static void set_up_process(void) {
  static fork_watch watch = {before_fork, after_fork_in_parent, after_fork_in_child, NULL};
  lane_set_up_threads();
  forks_add(&watch);
}

void detach_register(event_log *log) {
  pthread_once(&once, set_up_process);
  forks_hold();
  log->next = logs;
  logs = log;
  forks_allow();
}

void detach_unregister(event_log *log) {
  forks_hold();
  for (event_log **at = &logs; *at; at = &(*at)->next) {
    if (*at != log) continue;
    *at = log->next;
    break;
  }
  forks_allow();
}

/*
 * The library is in a plug-in that is unloaded, or the process ends. With all logs closed and freed nothing may be left
 * that calls into it: neither a thread that captured once and ends later, nor a SIGBUS. While a log is open the process
 * is ending, and its threads may go on capturing.
 */
__attribute__((destructor)) static void unload(void) {
  if (__atomic_load_n(&logs, __ATOMIC_ACQUIRE)) return;
  lane_let_threads_go();
  sigbus_uninstall();
}
