/* preparer_test.c: how large the segments are that a log makes, one after the other. */
#include "capture_check.h"

#include "directory/segment_list.h"
#include "drain/preparer.h"
#include "system/system.h"

/* As capacities(), or -ENOENT: a segment was sealed meanwhile, and has another name. */
static int64_t try_capacities(int at, uint64_t *bytes, uint64_t most) {
  segment_list list;
  REQUIRE(segment_list_read(at, &list) == 0);
  int64_t count = 0;
  for (uint64_t i = 0; i < list.count && i < most && count >= 0; i++) {
    segment_header header;
    int fd = sys_open_read(at, list.items[i].name);
    if (fd < 0) {
      REQUIRE(fd == -ENOENT);
      count = fd;
      continue;
    }
    REQUIRE(sys_read_at(fd, &header, sizeof header, 0) == sizeof header);
    bytes[count++] = header.capacity;
    sys_close(fd);
  }
  segment_list_free(&list);
  return count;
}

/* The capacities of the log's raw segments, as their headers say, oldest first. Answers how many. */
static uint64_t capacities(const char *directory, uint64_t *bytes, uint64_t most) {
  int at = sys_open_directory(directory);
  REQUIRE(at >= 0);
  int64_t count;
  do count = try_capacities(at, bytes, most);
  while (count < 0);
  sys_close(at);
  return (uint64_t)count;
}

static void check_sizes(uint64_t segment_bytes, uint64_t max_event_bytes, const uint64_t *expected, uint64_t count) {
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options;
  weir_options_init(&options);
  options.segment_bytes = segment_bytes;
  options.max_event_bytes = max_event_bytes;
  options.lane_bytes = 4 << 20;
  options.full_wait_ns = UINT64_MAX;
  weir_log *log = NULL;
  weir_error error;
  if (!CHECK_EQUAL(weir_open(directory, &options, &log, NULL, &error), WEIR_OK)) fprintf(stderr, "%s\n", error.message);
  REQUIRE(log);
  uint32_t type = define_numbered(log);
  weir_counters counters = {0};
  for (uint64_t i = 0; counters.segments < count; i++) {
    CHECK_EQUAL(capture_numbered(log, type, 0, i, 4000, NULL), WEIR_ACCEPTED);
    weir_count(log, &counters);
  }
  uint64_t bytes[8];
  CHECK(capacities(directory, bytes, count) == count);
  for (uint64_t i = 0; i < count; i++) CHECK_EQUAL(bytes[i], expected[i]);
  close_and_free(log);
  scratch_remove(folder);
}

int main(void) {
  enum { MIB = 1 << 20 };
  setvbuf(stdout, NULL, _IOLBF, 0);
  test("the first segment has 1 MiB, each further one twice the one before, up to the option");
  check_sizes(3 * MIB, 65536, (uint64_t[]){MIB, 2 * MIB, 3 * MIB, 3 * MIB}, 4);
  check_sizes(8 * MIB, 65536, (uint64_t[]){MIB, 2 * MIB, 4 * MIB, 8 * MIB, 8 * MIB}, 5);
  test("with a smaller option all are as small");
  check_sizes(300000, 8192, (uint64_t[]){300000, 300000, 300000}, 3);
  test("the first segment holds an event of any size");
  uint64_t least = LEAST_SEGMENT_BYTES(record_size(MIB));
  check_sizes(8 * MIB, MIB, (uint64_t[]){least, 2 * least, 8 * MIB}, 3);
  return finish();
}
