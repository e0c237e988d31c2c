/* unloaded.c: a plug-in with the library inside, for unload_test.c. */
#include <stdio.h>

#include "weir.h"

static weir_log *log_;

int plugin_open(const char *directory, int has_guard) {
  weir_error error;
  if (has_guard) weir_guard_install();
  weir_status status = weir_open(directory, NULL, &log_, NULL, &error);
  if (status != WEIR_OK) fprintf(stderr, "%s\n", error.message);
  return status;
}

int plugin_capture(void) {
  weir_record record;
  int32_t drop = weir_begin(log_, &record);
  if (drop != WEIR_ACCEPTED) return drop;
  weir_put_string(&record, "n", 1);
  weir_put_u32(&record, 0);
  return weir_commit(&record, WEIR_TYPE_DYNAMIC, NULL);
}

int plugin_close(void) {
  weir_status status = weir_close(log_, NULL);
  weir_free(log_);
  return status;
}
