/* forks.c: see forks.h. */
#include "system/forks.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void (*call_before)(void), (*call_in_parent)(void), (*call_in_child)(void);

void forks_hold(void) { pthread_mutex_lock(&lock); }
void forks_allow(void) { pthread_mutex_unlock(&lock); }

static void before_fork(void) {
  forks_hold();
  call_before();
}

static void after_fork_in_parent(void) {
  call_in_parent();
  forks_allow();
}

static void after_fork_in_child(void) {
  call_in_child();
  forks_allow();
}

void forks_watch(void (*before)(void), void (*in_parent)(void), void (*in_child)(void)) {
  call_before = before;
  call_in_parent = in_parent;
  call_in_child = in_child;
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}
