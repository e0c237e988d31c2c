/*
 * copy.c: a plug-in that brings a copy of Weir of its own, for two_copies.c. Compiled together with weir.c, with
 * -fvisibility=hidden or without.
 */
#include "weir.h"

#define SEEN __attribute__((visibility("default")))

SEEN weir_status copy_open(const char *directory, weir_error *error);
SEEN int32_t copy_capture(uint64_t number);
SEEN weir_status copy_close(weir_error *error);
SEEN const void *copy_lane(void);

static weir_log *opened;

weir_status copy_open(const char *directory, weir_error *error) {
  return weir_open(directory, NULL, &opened, NULL, error);
}

int32_t copy_capture(uint64_t number) {
  weir_record record;
  int32_t drop = weir_begin(opened, &record);
  if (drop != WEIR_ACCEPTED) return drop;
  weir_put_string(&record, "copy", 4);
  weir_put_u32(&record, 1);
  weir_put_string(&record, "n", 1);
  weir_put_u8(&record, WEIR_KIND_U64);
  weir_put_u64(&record, number);
  return weir_commit(&record, WEIR_TYPE_DYNAMIC, NULL);
}

weir_status copy_close(weir_error *error) {
  weir_status status = weir_close(opened, error);
  weir_free(opened);
  opened = NULL;
  return status;
}

/* Where the calling thread's lane is kept: two copies of Weir have two such places. */
const void *copy_lane(void) { return &weir_this_lane; }
