/* forks.c: see forks.h. */
#include "system/forks.h"

#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static fork_watch *watches;

void forks_hold(void) { pthread_mutex_lock(&lock); }
void forks_allow(void) { pthread_mutex_unlock(&lock); }

static void before_fork(void) {
  forks_hold();
  for (fork_watch *watch = watches; watch; watch = watch->next) {
    if (watch->before) watch->before();
  }
}

static void after_fork_in_parent(void) {
  for (fork_watch *watch = watches; watch; watch = watch->next) {
    if (watch->in_parent) watch->in_parent();
  }
  forks_allow();
}

static void after_fork_in_child(void) {
  for (fork_watch *watch = watches; watch; watch = watch->next) {
    if (watch->in_child) watch->in_child();
  }
  forks_allow();
}

static void set_up_process(void) { pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); }

void forks_add(fork_watch *watch) {
  pthread_once(&once, set_up_process);
  forks_hold();
  watch->next = watches;
  watches = watch;
  forks_allow();
}
