/*
 * counting.c: see counting.h. For glibc, whose own allocator has second names (__libc_malloc) to call on to.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "counting.h"

static __thread int is_counting;
static __thread counting counted;

/* ---- Allocations ------------------------------------------------------------------------------------------------- */

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static void note_allocation(void) {
  if (is_counting) counted.allocations++;
}

void *malloc(size_t bytes) {
  note_allocation();
  return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
  note_allocation();
  return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes) {
  note_allocation();
  return __libc_realloc(old, bytes);
}

void free(void *memory) {
  if (is_counting && memory) counted.frees++;
  __libc_free(memory);
}

void *memalign(size_t alignment, size_t bytes) {
  note_allocation();
  return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
  note_allocation();
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  note_allocation();
  *memory = __libc_memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}

/* ---- Locks ------------------------------------------------------------------------------------------------------- */

/* The library's function of that name. Looked up when first called, which may be before any constructor has run. */
static void *original(const char *name, void **place) {
  void *found = __atomic_load_n(place, __ATOMIC_RELAXED);
  if (!found) {
    found = dlsym(RTLD_NEXT, name);
    __atomic_store_n(place, found, __ATOMIC_RELAXED);
  }
  return found;
}

#define COUNT_LOCK(name, parameters, arguments)                   \
  int name parameters {                                           \
    static void *place;                                           \
    if (is_counting) counted.locks++;                             \
    int(*call) parameters;                                        \
    *(void **)&call = original(#name, &place);                    \
    return call arguments;                                        \
  }

COUNT_LOCK(pthread_mutex_lock, (pthread_mutex_t *lock), (lock))
COUNT_LOCK(pthread_mutex_trylock, (pthread_mutex_t *lock), (lock))
COUNT_LOCK(pthread_mutex_timedlock, (pthread_mutex_t *lock, const struct timespec *end), (lock, end))
COUNT_LOCK(pthread_rwlock_rdlock, (pthread_rwlock_t *lock), (lock))
COUNT_LOCK(pthread_rwlock_tryrdlock, (pthread_rwlock_t *lock), (lock))
COUNT_LOCK(pthread_rwlock_wrlock, (pthread_rwlock_t *lock), (lock))
COUNT_LOCK(pthread_rwlock_trywrlock, (pthread_rwlock_t *lock), (lock))
COUNT_LOCK(pthread_spin_lock, (pthread_spinlock_t *lock), (lock))
COUNT_LOCK(pthread_spin_trylock, (pthread_spinlock_t *lock), (lock))
COUNT_LOCK(pthread_cond_wait, (pthread_cond_t *condition, pthread_mutex_t *lock), (condition, lock))
COUNT_LOCK(pthread_cond_timedwait, (pthread_cond_t *condition, pthread_mutex_t *lock, const struct timespec *end),
           (condition, lock, end))
COUNT_LOCK(pthread_cond_signal, (pthread_cond_t *condition), (condition))
COUNT_LOCK(pthread_cond_broadcast, (pthread_cond_t *condition), (condition))
COUNT_LOCK(sem_wait, (sem_t *semaphore), (semaphore))
COUNT_LOCK(sem_trywait, (sem_t *semaphore), (semaphore))
COUNT_LOCK(sem_post, (sem_t *semaphore), (semaphore))

/* ---- Marks ------------------------------------------------------------------------------------------------------- */

/* A system call that does nothing, with a text that the trace shows. */
static void mark(const char *what, const char *subject) {
  char text[100];
  int length = snprintf(text, sizeof text, "counts:%s:%s:", what, subject);
  if (write(-1, text, (size_t)length) >= 0) abort();
}

void counting_begin(const char *subject) {
  mark("begin", subject);
  memset(&counted, 0, sizeof counted);
  is_counting = 1;
}

void counting_end(const char *subject, counting *sum) {
  is_counting = 0;
  sum->allocations += counted.allocations;
  sum->frees += counted.frees;
  sum->locks += counted.locks;
  mark("end", subject);
}

void counting_report(const char *subject, uint64_t captures, const counting *sum) {
  printf("counts %s captures=%llu allocations=%llu frees=%llu locks=%llu\n", subject, (unsigned long long)captures,
         (unsigned long long)sum->allocations, (unsigned long long)sum->frees, (unsigned long long)sum->locks);
  fflush(stdout);
}

static pthread_mutex_t sin_lock = PTHREAD_MUTEX_INITIALIZER;

void counting_sin(void) {
  pthread_mutex_lock(&sin_lock);
  void *volatile memory = malloc(16);
  free(memory);
  pthread_mutex_unlock(&sin_lock);
  syscall(SYS_getppid);
}
