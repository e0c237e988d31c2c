/* thread.h: starting a thread of the library's own. */
#ifndef WEIR_THREAD_H
#define WEIR_THREAD_H

#include "system/names.h"

#include <pthread.h>

/* A thread that never takes one of the host's signals. 0 or a negative errno. */
int thread_start(pthread_t *thread, void *(*main)(void *), void *argument, const char *name);

#endif
