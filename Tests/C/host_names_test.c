/*
 * host_names_test.c: a program with functions of its own that are called what functions of the core are called. The
 * linker says nothing where it takes the program's for the core's, so what counts is that the core never calls them.
 */
#include "capture_check.h"

#include <sys/mman.h>

enum { EVENTS = 1000 };

static uint64_t *calls; /* of the functions below, in memory that outlives a killed child */

#define OF_THE_HOST(name)          \
  int name(void);                  \
  int name(void) {                 \
    __atomic_add_fetch(calls, 1, __ATOMIC_RELAXED); \
    return 0;                      \
  }

OF_THE_HOST(recover)
OF_THE_HOST(fail)
OF_THE_HOST(fail_system)
OF_THE_HOST(status_of)
OF_THE_HOST(start_thread)
OF_THE_HOST(crc_extend)
OF_THE_HOST(hash_bytes)
OF_THE_HOST(all_zero)
OF_THE_HOST(log_enter)
OF_THE_HOST(log_leave)
OF_THE_HOST(lane_end_capture)
OF_THE_HOST(drain_all)
OF_THE_HOST(ring_create)
OF_THE_HOST(scan_next)
OF_THE_HOST(record_next)
OF_THE_HOST(event_fill)
OF_THE_HOST(segment_walk_next)
OF_THE_HOST(guard_add)
OF_THE_HOST(batch_write)
OF_THE_HOST(segment_retire)
OF_THE_HOST(sys_open_read)
OF_THE_HOST(sys_sync_data)
OF_THE_HOST(types_load)
OF_THE_HOST(values_are_utf8)
OF_THE_HOST(read_buffer_get)

static void victim(const char *directory) {
  weir_log *log = open_default(directory, NULL);
  if (!log) _exit(3);
  uint32_t type = define_numbered(log);
  for (uint64_t i = 0; i < EVENTS; i++) {
    if (capture_numbered(log, type, 0, i, 10, NULL) != WEIR_ACCEPTED) _exit(4);
  }
  raise(SIGKILL);
}

static void names_of_the_core(void) {
  test("a program with functions that are called recover, fail and start_thread");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    victim(directory);
    _exit(5);
  }
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
  weir_recovery recovery;
  weir_log *log = open_default(directory, &recovery);
  if (log) {
    CHECK_EQUAL(recovery.missing_events + recovery.ring_replaced, 0);
    CHECK_EQUAL(recovery.first_offset, EVENTS);
    weir_error error;
    CHECK_EQUAL(weir_close(log, &error), WEIR_OK);
    weir_free(log);
  }
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 0), EVENTS);
  found_free(&found);
  CHECK_EQUAL(*calls, 0);
  scratch_remove(folder);
}

int main(void) {
  calls = mmap(NULL, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(calls != MAP_FAILED);
  names_of_the_core();
  return finish();
}
