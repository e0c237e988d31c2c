/*
 * fork.c: the child of a fork. It must not write to the parent's log, must not hold its lock, and its captures answer
 * WEIR_DROP_DETACHED until it opens a log of its own.
 *
 * fork() runs the handlers below. A bare clone system call does not: for its child the kernel wipes the lanes' memory
 * (MADV_WIPEONFORK), so the inlined path sees a lane of no log and takes the slow path, which sees why; that costs a
 * capture nothing. Linux before 4.14 can't wipe; there a bare clone that captures is beyond what is promised.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

#include "capture/guard.h"
#include "capture/lane.h"
#include "system/system.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t logs_lock = PTHREAD_MUTEX_INITIALIZER;
static event_log *logs;

/*
 * The child has the ring's mapping until its handler replaces it. Were there a hole instead, the handlers of others,
 * which may run before it, could map memory of their own there, and it would replace that.
 */
static void before_fork(void) {
  pthread_mutex_lock(&logs_lock);
  for (event_log *log = logs; log; log = log->next) {
    log->ring_inherited = log->ring && sys_inherit(log->ring, log->ring_bytes, 1) == 0;
  }
}

static void after_fork_in_parent(void) {
  for (event_log *log = logs; log; log = log->next) {
    if (log->ring_inherited) sys_inherit(log->ring, log->ring_bytes, 0);
  }
  pthread_mutex_unlock(&logs_lock);
}

static void close_descriptors(event_log *log) {
  sys_close_file(log->directory, &log->home);
  sys_close_file(log->lock, &log->lock_file);
  log->directory = log->lock = -1;
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
    close_descriptors(log);
    if (log->ring_inherited) sys_map_private(log->ring, log->ring_bytes);
    /* Of a log that is just being opened the lanes may not be there yet. */
    for (uint32_t i = 0; log->lanes && i < log->lane_count; i++) {
      lane *lane = &log->lanes[i];
      lane->producer.log = &log->producer; /* all of it is wiped */
      lane->closed_tail = UINT64_MAX;
      lane->producer.tail = &lane->closed_tail;
    }
  }
  pthread_mutex_unlock(&logs_lock);
}

static void set_up_process(void) {
  lane_set_up_threads();
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void log_register(event_log *log) {
  pthread_once(&once, set_up_process);
  pthread_mutex_lock(&logs_lock);
  log->next = logs;
  logs = log;
  pthread_mutex_unlock(&logs_lock);
}

void log_unregister(event_log *log) {
  pthread_mutex_lock(&logs_lock);
  for (event_log **at = &logs; *at; at = &(*at)->next) {
    if (*at != log) continue;
    *at = log->next;
    break;
  }
  /*
   * A program that another thread is just starting has a copy of the descriptor until it runs, and with it the lock,
   * unless that is given up by name.
   */
  if (log->locked_by == (int)getpid() && sys_is_file(log->lock, &log->lock_file)) sys_unlock(log->lock);
  close_descriptors(log); /* under the lock: a child forked after this has no copy, one forked before closes its own */
  pthread_mutex_unlock(&logs_lock);
}

/*
 * The library is in a plug-in that is unloaded, or the process ends. With all logs closed and freed nothing may be left
 * that calls into it: neither a thread that captured once and ends later, nor a SIGBUS. While a log is open the process
 * is ending, and its threads may go on capturing.
 */
__attribute__((destructor)) static void unload(void) {
  if (__atomic_load_n(&logs, __ATOMIC_ACQUIRE)) return;
  lane_let_threads_go();
  guard_uninstall();
}

void log_hold_forks(void) { pthread_mutex_lock(&logs_lock); }
void log_allow_forks(void) { pthread_mutex_unlock(&logs_lock); }
