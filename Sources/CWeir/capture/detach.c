/*
 * detach.c: ends the captures to an open log after a fork, or when a page of a mapped file is lost.
 *
 * The child of a fork must not write to the parent's log, must not hold its lock, and its captures answer
 * WEIR_DROP_DETACHED until it opens a log of its own.
 *
 * fork() runs the handlers below. A bare clone system call does not: for its child the kernel wipes the lanes' memory
 * (MADV_WIPEONFORK), so the inlined path sees a lane of no log and takes the slow path, which finds the reason; that
 * costs a capture nothing. Linux before 4.14 can't wipe; there a bare clone that captures is not supported.
 *
 * Stores to a lost page go nowhere. So no capture that stored to the page may be accepted, and nothing in the page may
 * be drained.
 *
 * label store                                   load                              what it guarantees
 * G2    handler: intake.mapping_lost, or a      mapping_lost, or the flag         what came from a lost page is neither
 *       recovery's flag (seq_cst), then the     (acquire), after the bytes        drained nor reported as durable
 *       page is replaced                        were copied
 */
#include <pthread.h>

#include "capture/lane.h"
#include "system/forks.h"
#include "system/system.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static intake *logs; /* changed only while forks are held */

/*
 * The child keeps the ring's mapping until our handler there replaces it. If the range were unmapped instead, the fork
 * handlers of others, which may run before ours, could map their own memory there, and ours would replace it.
 */
static void before_fork(void) {
  for (intake *intake = logs; intake; intake = intake->next) {
    intake->ring.inherited = intake->ring.bytes && sys_inherit(intake->ring.bytes, intake->ring.size, 1) == 0;
  }
}

static void after_fork_in_parent(void) {
  for (intake *intake = logs; intake; intake = intake->next) {
    if (intake->ring.inherited) sys_inherit(intake->ring.bytes, intake->ring.size, 0);
  }
}

/*
 * The child has no drainer, and must not write to the ring. A capture in progress on the forking thread may go on in
 * the child: it writes to private memory in the ring's place, and is refused when it commits.
 */
static void after_fork_in_child(void) {
  for (intake *intake = logs; intake; intake = intake->next) {
    intake->state = STATE_DETACHED;
    intake->producer.detached = 1;
    intake->producer.type_count = 0;
    if (intake->ring.inherited) sys_map_private(intake->ring.bytes, intake->ring.size);
    sys_close_file(intake->ring.fd, &intake->ring.file);
    intake->ring.fd = -1;
    /* A log that is just being opened may have no lanes yet. */
    for (uint32_t i = 0; intake->lanes && i < intake->lane_count; i++) {
      lane *lane = &intake->lanes[i];
      lane->producer.log = &intake->producer; /* the kernel may have wiped the lane */
      lane->closed_tail = UINT64_MAX;
      lane->producer.tail = &lane->closed_tail;
    }
  }
}

/*
 * Refuses every capture that has not committed yet, as a fork and a close do: a lane whose tail is not its own takes
 * the slow path, and a commit finds no types. A capture that stored to the lost page runs this before it commits.
 */
void detach_page_lost(void *of_log) {
  intake *intake = (struct intake *)of_log;
  __atomic_store_n(&intake->mapping_lost, 1, __ATOMIC_SEQ_CST); /* G2 */
  __atomic_store_n(&intake->producer.detached, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&intake->producer.type_count, 0, __ATOMIC_RELAXED);
  for (uint32_t i = 0; intake->lanes && i < intake->lane_count; i++) {
    lane *lane = &intake->lanes[i];
    __atomic_store_n(&lane->producer.tail, &lane->closed_tail, __ATOMIC_RELAXED);
  }
}

static void set_up_process(void) {
  static fork_watch watch = {before_fork, after_fork_in_parent, after_fork_in_child, NULL};
  lane_set_up_threads();
  forks_add(&watch);
}

void detach_register(intake *intake) {
  pthread_once(&once, set_up_process);
  forks_hold();
  intake->next = logs;
  logs = intake;
  forks_allow();
}

void detach_unregister(intake *intake) {
  forks_hold();
  for (struct intake **at = &logs; *at; at = &(*at)->next) {
    if (*at != intake) continue;
    *at = intake->next;
    break;
  }
  forks_allow();
}

/*
 * Runs when a plug-in with the library is unloaded, or the process ends. If all logs are closed and freed, nothing may
 * call into the library afterwards, and no thread that captured once and ends later does. If a log is open the process
 * is ending, and its threads may go on capturing.
 */
__attribute__((destructor)) static void unload(void) {
  if (__atomic_load_n(&logs, __ATOMIC_RELAXED)) return;
  lane_let_threads_go();
}
