/* under_test_lane.c: lane.c itself, and the door to what is static in it. Compiled like the sources under test. */
#include "capture/lane.c" /* in Sources/CWeir */

#include "under_test.h"

_Static_assert(sizeof this_thread <= sizeof((thread_locals *)0)->rest, "room for the thread-local variables of lane.c");

/* Not seen by the explorer: these are not accesses of the code under test. */
#define UNSEEN __attribute__((no_sanitize("thread")))

UNSEEN void locals_save(thread_locals *locals) {
  locals->this_lane = weir_this_lane;
  __builtin_memcpy(locals->rest, &this_thread, sizeof this_thread);
}

UNSEEN void locals_load(const thread_locals *locals) {
  weir_this_lane = locals->this_lane;
  __builtin_memcpy(&this_thread, locals->rest, sizeof this_thread);
}

int32_t capture_number(weir_log *log, uint64_t number) {
  weir_record record;
  int32_t drop = weir_begin(log, &record);
  if (drop != WEIR_ACCEPTED) return drop;
  weir_put_u64(&record, number);
  return weir_commit(&record, WEIR_TYPE_DYNAMIC, NULL);
}

int32_t capture_number_in_signal(weir_log *log, uint64_t number) {
  weir_record record;
  int32_t drop = weir_begin_in_signal(log, &record);
  if (drop != WEIR_ACCEPTED) return drop;
  weir_put_u64(&record, number);
  return weir_commit(&record, WEIR_TYPE_DYNAMIC, NULL);
}

void end_thread(void) { thread_ends(&this_thread); }

void allow_claims(void) {
  if (!thread_key_made) lane_set_up_threads();
}
