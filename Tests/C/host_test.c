/*
 * host_test.c: what a host does to its own process with a log open: threads with tiny stacks.
 *
 * Runs without the sanitizers, which need more of a stack than these threads have.
 */
#include "capture_check.h"

#include <pthread.h>

/* Opens, fills some segments and closes. */
static void *live(void *directory) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = WEIR_MAX_LANES;
  options.lane_bytes = 1 << 12;
  options.max_event_bytes = 2048;
  options.segment_bytes = 1 << 20;
  options.full_wait_ns = UINT64_MAX;
  weir_log *log;
  weir_error error;
  if (weir_open(directory, &options, &log, NULL, &error) != WEIR_OK) {
    fprintf(stderr, "%s\n", error.message);
    _exit(2);
  }
  uint32_t type = define_numbered(log);
  for (uint64_t i = 0; i < 3000; i++) {
    if (capture_numbered(log, type, 0, i, 1000, NULL) != WEIR_ACCEPTED) _exit(3);
  }
  if (weir_close(log, &error) != WEIR_OK) _exit(4);
  weir_free(log);
  return NULL;
}

static void small_stacks(void) {
  test("a process whose threads have stacks of 64 KiB by default, the one that opens and closes among them");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  fflush(stdout);
  pid_t host = fork();
  REQUIRE(host >= 0);
  if (host == 0) {
    pthread_attr_t small;
    pthread_t thread;
    if (pthread_attr_init(&small) || pthread_attr_setstacksize(&small, 65536)) _exit(5);
    if (pthread_setattr_default_np(&small) || pthread_create(&thread, NULL, live, (void *)directory)) _exit(6);
    pthread_join(thread, NULL);
    _exit(0);
  }
  CHECK_EQUAL(wait_for(host), 0);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 0), 3000);
  found_free(&found);
  scratch_remove(folder);
}

int main(void) {
  random_start("host_test");
  small_stacks();
  return finish();
}
