/*
 * under_test_prefault.c: prefaulter.c itself, and the door to what is static in it. Compiled like the sources under
 * test.
 */
#include <pthread.h>

#define pthread_join(thread, result) ((void)(thread)) /* the model's threads are none of the system's */
#include "drain/prefaulter.c" /* in Sources/CWeir */

#include "under_test.h"

void prefault(event_log *log) { populate_main(&log->prefaulter); }
