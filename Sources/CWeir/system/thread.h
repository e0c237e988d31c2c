/* thread.h: starting a thread of the library's own. */
#ifndef WEIR_THREAD_H
#define WEIR_THREAD_H

#include "system/names.h"

#include <pthread.h>
#include <stdint.h>

/* A thread of the library, with the mutex and the conditions that its callers share. */
typedef struct worker {
  pthread_mutex_t mutex;
  pthread_cond_t wakes;   /* there is something to do, or the thread is to end */
  pthread_cond_t settled; /* something is done that others wait for */
  int running;
  int stopping;
  pthread_t thread;
} worker;

/* A thread that never takes one of the host's signals. 0 or a negative errno. */
int thread_start(pthread_t *thread, void *(*main)(void *), void *argument, const char *name);

/* pthread_cond_init, for thread_wait. */
void thread_condition_make(pthread_cond_t *condition);

/* As pthread_cond_wait, until `deadline` on the monotonic clock at most; UINT64_MAX: for ever. 1: it has passed. */
int thread_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t deadline);

void worker_make(worker *worker); /* in memory that is zeros; worker_free undoes it */
void worker_free(worker *worker);
int worker_start(worker *worker, void *(*main)(void *), void *argument, const char *name); /* as thread_start */
void worker_stop(worker *worker); /* asks the thread to end and waits for it; without one, only sets `stopping` */

#endif
