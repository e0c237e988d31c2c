/* thread.c: see thread.h. */
#define _GNU_SOURCE
#include "system/thread.h"

#include <errno.h>
#include <signal.h>

#include "system/sigbus.h"

/*
 * The process's default, but no less than our threads and the functions that weir_durable_notify calls need: a host may
 * have made the default tiny for threads of its own (ulimit -s, pthread_setattr_default_np).
 */
static void choose_stack(pthread_attr_t *attributes) {
  enum { LEAST_BYTES = 1 << 20 };
  size_t bytes;
  if (pthread_attr_getstacksize(attributes, &bytes) == 0 && bytes >= LEAST_BYTES) return;
  pthread_attr_setstacksize(attributes, LEAST_BYTES);
}

int thread_start(pthread_t *thread, void *(*main)(void *), void *argument, const char *name) {
  sigset_t all, before;
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error != 0) return -error;
  choose_stack(&attributes);
  sigfillset(&all);
  /* A page that is lost under one of ours: blocked, the signal would end the process without asking the handler. */
  if (sigbus_is_installed()) sigdelset(&all, SIGBUS);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  error = pthread_create(thread, &attributes, main, argument);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  if (error == 0) pthread_setname_np(*thread, name);
  return error == EAGAIN ? -ENOMEM : -error; /* no more threads: nothing that another writer could end */
}

/* With a clock of its own: musl has no pthread_cond_clockwait. */
void thread_condition_make(pthread_cond_t *condition) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(condition, &attributes);
  pthread_condattr_destroy(&attributes);
}

int thread_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t deadline) {
  if (deadline == UINT64_MAX) return pthread_cond_wait(condition, mutex), 0;
  struct timespec until = {.tv_sec = (time_t)(deadline / 1000000000), .tv_nsec = (long)(deadline % 1000000000)};
  return pthread_cond_timedwait(condition, mutex, &until) == ETIMEDOUT;
}

void worker_make(worker *worker) {
  pthread_mutex_init(&worker->mutex, NULL);
  thread_condition_make(&worker->wakes);
  thread_condition_make(&worker->settled);
}

void worker_free(worker *worker) {
  pthread_mutex_destroy(&worker->mutex);
  pthread_cond_destroy(&worker->wakes);
  pthread_cond_destroy(&worker->settled);
}

int worker_start(worker *worker, void *(*main)(void *), void *argument, const char *name) {
  worker->running = 1;
  int error = thread_start(&worker->thread, main, argument, name);
  if (error != 0) worker->running = 0;
  return error;
}

void worker_stop(worker *worker) {
  pthread_mutex_lock(&worker->mutex);
  int running = worker->running;
  worker->stopping = 1;
  pthread_cond_signal(&worker->wakes);
  pthread_mutex_unlock(&worker->mutex);
  if (running) pthread_join(worker->thread, NULL);
  worker->running = 0;
}
