/*
 * seam.h: included ahead of the sources under test. They are compiled with -fsanitize=thread, but linked with seam.c
 * in place of the sanitizer's library: so every access to memory, plain or atomic, is a call that the explorer sees.
 * What the compiler does not turn into such a call is turned into one here.
 */
#ifndef WEIR_MODELS_SEAM_H
#define WEIR_MODELS_SEAM_H

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

void *seam_copy(void *to, const void *from, size_t count);
void *seam_fill(void *to, int byte, size_t count);
void *seam_allocate(size_t count, size_t each);
void *seam_allocate_aligned(size_t alignment, size_t bytes);
void *seam_reallocate(void *address, size_t bytes);
void seam_free(void *address);
int seam_yield(void);
int seam_lock(pthread_mutex_t *mutex);
int seam_unlock(pthread_mutex_t *mutex);
int seam_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int seam_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until);
int seam_wake(pthread_cond_t *condition);

#define memcpy(to, from, count) seam_copy(to, from, count)
#define memset(to, byte, count) seam_fill(to, byte, count)
#define calloc(count, each) seam_allocate(count, each)
#define malloc(bytes) seam_allocate(1, bytes)
#define aligned_alloc(alignment, bytes) seam_allocate_aligned(alignment, bytes)
#define realloc(address, bytes) seam_reallocate(address, bytes)
#define free(address) seam_free(address)
#define sched_yield() seam_yield()
#define pthread_mutex_lock(mutex) seam_lock(mutex)
#define pthread_mutex_unlock(mutex) seam_unlock(mutex)
#define pthread_cond_wait(condition, mutex) seam_wait(condition, mutex)
#define pthread_cond_timedwait(condition, mutex, until) seam_wait_until(condition, mutex, until)
#define pthread_cond_signal(condition) seam_wake(condition)
#define pthread_cond_broadcast(condition) seam_wake(condition)

#endif
