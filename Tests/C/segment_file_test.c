/* segment_file_test.c: segments that leave a log as files: sealed on demand, packed, and checked one by one. */
#include "batch_builder.h"
#include "batch_check.h"
#include "drainer.h"
#include "threadless_check.h"

#include "segment/unpack.h"

#define FIRST "00000000000000000000.weir"
#define FIRST_BATCH FIRST ".lz4"
#define PACKED "packed.weir.lz4"

/* Not by join, whose paths end after a thousand more: this is asked until it is so. */
static int is_there(const char *folder, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return access(path, F_OK) == 0;
}

/* Whether the file is whole; the first finding's problem is printed if that is not wanted. */
static int is_whole(const char *directory, const char *name, uint64_t base, weir_segment *segment) {
  weir_finding finding;
  weir_error error;
  CHECK_EQUAL(weir_verify_segment(directory, name, base, segment, &finding, &error), WEIR_OK);
  return !finding.problem;
}

static void sealed_on_demand(int threadless) {
  test(threadless ? "a log without threads seals on demand" : "what is captured is sealed on demand");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = threadless ? threadless_options() : small_options();
  weir_log *log = open_with(directory, &options, NULL);
  uint32_t type = define_numbered(log);
  uint64_t end = 99;
  CHECK_EQUAL(weir_seal(log, HANG_NS, &end, NULL), WEIR_OK);
  CHECK_EQUAL(end, 0); /* nothing to seal */
  for (uint64_t i = 0; i < 10; i++) CHECK_EQUAL(capture_numbered(log, type, 0, i, 0, NULL), WEIR_ACCEPTED);
  CHECK_EQUAL(weir_seal(log, HANG_NS, &end, NULL), WEIR_OK);
  CHECK_EQUAL(end, 10);
  if (threadless) CHECK_EQUAL(weir_drain(log, HANG_NS, NULL, NULL), WEIR_OK);
  CHECK_AWAIT(is_there(directory, FIRST));
  CHECK_EQUAL(weir_seal(log, HANG_NS, &end, NULL), WEIR_OK); /* sealed already */
  for (uint64_t i = 10; i < 15; i++) CHECK_EQUAL(capture_numbered(log, type, 0, i, 0, NULL), WEIR_ACCEPTED);
  close_and_free(log);
  weir_segment segment;
  CHECK_EQUAL(weir_read_segment(directory, FIRST, 0, 1, &segment, NULL), WEIR_OK);
  CHECK_EQUAL(segment.next_offset, 10);
  CHECK_EQUAL(segment.events, 10);
  CHECK_EQUAL(weir_read_segment(directory, "00000000000000000010.weir", 10, 1, &segment, NULL), WEIR_OK);
  CHECK_EQUAL(segment.events, 5);
  check_log(directory, 15);
  CHECK_EQUAL(weir_read_segment(directory, FIRST, 0, 0, &segment, NULL), WEIR_OK);
  CHECK_EQUAL(weir_read_segment(directory, "00000000000000000011.weir", 11, 1, &segment, NULL), WEIR_ERROR_MISSING);
  scratch_remove(folder);
}

static void closed(void) {
  test("a closed log seals nothing");
  char *folder = scratch();
  weir_options options = small_options();
  weir_log *log = open_with(join(folder, "log"), &options, NULL);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  CHECK_EQUAL(weir_seal(log, 0, NULL, NULL), WEIR_ERROR_CLOSED);
  weir_free(log);
  scratch_remove(folder);
}

static void full(void) {
  test("without room for another segment the log goes on in the present one");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = small_options();
  options.max_bytes = 1;
  weir_log *log;
  weir_error error;
  CHECK_EQUAL(weir_open(directory, &options, &log, NULL, &error), WEIR_ERROR_INVALID);
  const char *number = strpbrk(error.message, "0123456789");
  uint64_t least = 0;
  for (; number && *number; number = strpbrk(number + strspn(number, "0123456789"), "0123456789")) {
    uint64_t value = strtoull(number, NULL, 10);
    if (value > least) least = value;
  }
  options.max_bytes = least;
  log = open_with(directory, &options, NULL);
  uint32_t type = define_numbered(log);
  uint64_t accepted = 0;
  for (int i = 0; i < 100; i++) {
    accepted += capture_numbered(log, type, 0, accepted, 0, NULL) == WEIR_ACCEPTED;
    CHECK_EQUAL(weir_seal(log, HANG_NS, NULL, &error), WEIR_OK);
  }
  CHECK_EQUAL(accepted, 100); /* no capture is refused for a seal */
  close_and_free(log);
  check_log(directory, 100);
  scratch_remove(folder);
}

static void slow_disk(void) {
  test("a seal that waits for the disk keeps no event from being drained");
  enum { EVENTS = 50, MANY = 1000 };
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = small_options();
  weir_log *log = open_with(directory, &options, NULL);
  uint32_t type = define_numbered(log);
  CHECK_EQUAL(capture_numbered(log, type, 0, 0, 0, NULL), WEIR_ACCEPTED);
  uint64_t *queued = &((event_log *)log)->sealer.queued; /* of which the disk has so many less */
  __atomic_add_fetch(queued, MANY, __ATOMIC_RELAXED);
  CHECK_EQUAL(weir_seal(log, 20000000, NULL, NULL), WEIR_ERROR_TIMEOUT);
  for (uint64_t i = 1; i < EVENTS; i++) CHECK_EQUAL(capture_numbered(log, type, 0, i, 0, NULL), WEIR_ACCEPTED);
  weir_counters counters;
  CHECK_AWAIT((weir_count(log, &counters), counters.drained == EVENTS));
  CHECK(!is_there(directory, FIRST));
  __atomic_sub_fetch(queued, MANY, __ATOMIC_RELAXED);
  CHECK_EQUAL(weir_seal(log, HANG_NS, NULL, NULL), WEIR_OK);
  CHECK_AWAIT(is_there(directory, FIRST));
  close_and_free(log);
  check_log(directory, EVENTS);
  scratch_remove(folder);
}

static uint32_t is_held, is_met;

static void hold_at_drained(void *context) {
  (void)context;
  __atomic_store_n(&is_met, 1, __ATOMIC_RELEASE);
  while (__atomic_load_n(&is_held, __ATOMIC_ACQUIRE)) sleep_ns(1000000);
}

static void busy_drainer(void) {
  test("a seal for which nobody has the time to wait comes all the same");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = small_options();
  weir_log *log = open_with(directory, &options, NULL);
  uint32_t type = define_numbered(log);
  is_held = 1;
  weir_on_drained(log, hold_at_drained, NULL);
  CHECK_EQUAL(capture_numbered(log, type, 0, 0, 0, NULL), WEIR_ACCEPTED);
  CHECK_AWAIT(__atomic_load_n(&is_met, __ATOMIC_ACQUIRE));
  CHECK_EQUAL(weir_seal(log, 1000000, NULL, NULL), WEIR_ERROR_TIMEOUT);
  CHECK(!is_there(directory, FIRST));
  __atomic_store_n(&is_held, 0, __ATOMIC_RELEASE);
  CHECK_AWAIT(is_there(directory, FIRST));
  close_and_free(log);
  check_log(directory, 1);
  scratch_remove(folder);
}

static void packed(void) {
  test("a packed segment is the batch segment that the log would make");
  char *folder = scratch();
  const char *directory = join(folder, "log"), *copy = join(folder, "copy");
  make_mixed(directory, 300, 1 << 20);
  copy_log(directory, copy);
  weir_segment raw, batch;
  weir_error error;
  CHECK(is_whole(directory, FIRST, 0, &raw));
  CHECK_EQUAL(weir_pack_segment(directory, 0, folder, PACKED, &error), WEIR_OK);
  CHECK(is_whole(folder, PACKED, 0, &batch));
  CHECK(batch.salt == raw.salt && batch.log_id == raw.log_id && batch.events == raw.events);
  CHECK(batch.content_bytes == raw.content_bytes && batch.file_bytes < raw.file_bytes);
  batch_all(copy, 1);
  CHECK_EQUAL(run("cmp -s '%s' '%s'", join(folder, PACKED), join(copy, FIRST_BATCH)), 0);
  CHECK(is_there(directory, FIRST)); /* it stays */
  CHECK_EQUAL(weir_read_segment(copy, FIRST_BATCH, 0, 1, &batch, NULL), WEIR_OK);
  CHECK_EQUAL(batch.salt, raw.salt);
  CHECK_EQUAL(weir_pack_segment(directory, 1, folder, "none", &error), WEIR_ERROR_MISSING);
  CHECK_EQUAL(weir_pack_segment(directory, 0, folder, PACKED, &error), WEIR_ERROR_IO); /* the name is taken */
  CHECK(is_there(folder, PACKED));
  scratch_remove(folder);
}

/* Flips a bit of a byte. */
static void flip(const char *path, uint64_t at) {
  int fd = open(path, O_RDWR | O_CLOEXEC);
  uint8_t byte;
  REQUIRE(fd >= 0 && pread(fd, &byte, 1, (off_t)at) == 1);
  byte ^= 1 << (at % 8);
  REQUIRE(pwrite(fd, &byte, 1, (off_t)at) == 1);
  close(fd);
}

static void check_flips(const char *folder, const char *name, uint64_t bytes) {
  char *path = strdup(join(folder, name));
  for (uint64_t at = 0; at < bytes; at++) {
    weir_segment segment;
    weir_finding finding;
    flip(path, at);
    weir_status status = weir_verify_segment(folder, name, 0, &segment, &finding, NULL);
    if (!CHECK(status != WEIR_OK || finding.problem)) fprintf(stderr, "  byte %" PRIu64 " of %s\n", at, name);
    flip(path, at);
  }
  free(path);
}

static void damaged(void) {
  test("a flipped bit anywhere is found, as are a wrong base and an end that is missing");
  char *folder = scratch(), *directory = strdup(join(folder, "log"));
  make_mixed(directory, 30, 1 << 20);
  weir_segment raw, batch;
  CHECK_EQUAL(weir_pack_segment(directory, 0, folder, PACKED, NULL), WEIR_OK);
  CHECK(is_whole(folder, PACKED, 0, &batch) && is_whole(directory, FIRST, 0, &raw));
  check_flips(folder, PACKED, batch.file_bytes);
  check_flips(directory, FIRST, raw.file_bytes);
  CHECK(is_whole(folder, PACKED, 0, &batch));
  weir_segment none;
  CHECK(!is_whole(folder, PACKED, 1, &none));
  REQUIRE(truncate(join(folder, PACKED), (off_t)batch.file_bytes - 1) == 0);
  CHECK(!is_whole(folder, PACKED, 0, &none));
  REQUIRE(truncate(join(folder, PACKED), 0) == 0);
  CHECK(!is_whole(folder, PACKED, 0, &none));
  flip(join(directory, FIRST), raw.file_bytes / 2);
  CHECK_EQUAL(weir_pack_segment(directory, 0, folder, "other", NULL), WEIR_ERROR_INVALID);
  CHECK(!is_there(folder, "other"));
  free(directory);
  scratch_remove(folder);
}

/* Whether each single bit of [from, to) of the file is found when it is wrong. */
static void check_bits(const char *folder, uint64_t base, bytes *file, uint64_t from, uint64_t to) {
  for (uint64_t bit = 8 * from; bit < 8 * to; bit++) {
    weir_segment segment;
    file->at[bit / 8] ^= (uint8_t)(1 << bit % 8);
    write_bytes(join(folder, PACKED), file);
    if (!CHECK(!is_whole(folder, PACKED, base, &segment))) fprintf(stderr, "  bit %" PRIu64 "\n", bit);
    file->at[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
}

static void several_blocks(void) {
  test("a batch segment is decompressed once, and each LZ4 block's size, bytes and checksum are checked");
  enum { SIZE = 4, CHECKSUM = 4 };
  char *folder = scratch(), *directory = strdup(join(folder, "log"));
  make_mixed(directory, 24000, 4 << 20);
  weir_segment segment = {0};
  uint64_t base;
  char name[64];
  do { /* the first segments are small */
    base = segment.next_offset;
    snprintf(name, sizeof name, "%020" PRIu64 ".weir", base);
    REQUIRE(weir_read_segment(directory, name, base, 1, &segment, NULL) == WEIR_OK);
  } while (segment.content_bytes <= BATCH_BLOCK_BYTES);
  CHECK_EQUAL(weir_pack_segment(directory, base, folder, PACKED, NULL), WEIR_OK);
  bytes file = read_bytes(join(folder, PACKED));
  batch_end end;
  batch_index index;
  memcpy(&end, file.at + file.count - sizeof end, sizeof end);
  uint8_t *at = file.at + file.count - end.index_bytes;
  memcpy(&index, at, sizeof index);
  REQUIRE(index.block_count >= 2);
  uint64_t before = unpack_count();
  CHECK(is_whole(folder, PACKED, base, &segment));
  CHECK_EQUAL(unpack_count() - before, index.block_count);
  for (uint32_t i = 0; i < index.block_count; i++) {
    batch_block block;
    uint32_t size;
    memcpy(&block, at + sizeof index + i * sizeof block, sizeof block);
    memcpy(&size, file.at + block.position, sizeof size);
    uint64_t first = block.position + SIZE, last = first + size;
    check_bits(folder, base, &file, block.position, first);
    uint64_t some = first + random_below(size);
    check_bits(folder, base, &file, some, some + 1);
    check_bits(folder, base, &file, last, last + CHECKSUM);
  }
  write_bytes(join(folder, PACKED), &file);
  CHECK(is_whole(folder, PACKED, base, &segment));
  free(file.at);
  free(directory);
  scratch_remove(folder);
}

static void odd_arguments(void) {
  test("arguments that are missing or odd are an error with words");
  char *folder = scratch(), *directory = strdup(join(folder, "log"));
  make_mixed(directory, 30, 1 << 20);
  const char *long_name = "a-name-that-is-longer-than-the-names-of-segments-in-a-log-ever-are.weir";
  const char *const names[] = {NULL, "", "log/" FIRST, long_name};
  weir_segment segment;
  weir_finding finding;
  weir_error error;
  for (int i = 0; i < 4; i++) {
    CHECK_EQUAL(weir_read_segment(directory, names[i], 0, 0, &segment, &error), WEIR_ERROR_INVALID);
    CHECK_EQUAL(weir_verify_segment(directory, names[i], 0, &segment, &finding, &error), WEIR_ERROR_INVALID);
    if (i < 3) CHECK_EQUAL(weir_pack_segment(directory, 0, folder, names[i], &error), WEIR_ERROR_INVALID);
    CHECK(error.message[0]);
  }
  CHECK_EQUAL(weir_read_segment(NULL, FIRST, 0, 0, &segment, NULL), WEIR_ERROR_INVALID);
  CHECK_EQUAL(weir_read_segment(directory, FIRST, 0, 0, NULL, NULL), WEIR_ERROR_INVALID);
  CHECK_EQUAL(weir_verify_segment(NULL, FIRST, 0, &segment, &finding, NULL), WEIR_ERROR_INVALID);
  CHECK_EQUAL(weir_verify_segment(directory, FIRST, 0, NULL, &finding, NULL), WEIR_ERROR_INVALID);
  CHECK_EQUAL(weir_verify_segment(directory, FIRST, 0, &segment, NULL, NULL), WEIR_ERROR_INVALID);
  CHECK_EQUAL(weir_pack_segment(directory, 0, NULL, PACKED, NULL), WEIR_ERROR_INVALID);
  flip(join(directory, FIRST), 1000); /* of which a file with another name says nothing */
  CHECK_EQUAL(weir_verify_segment(directory, PACKED, 0, &segment, &finding, NULL), WEIR_ERROR_MISSING);
  free(directory);
  scratch_remove(folder);
}

static void copied(void) {
  test("a directory of segments alone is a log, and nothing is missing from it");
  char *folder = scratch();
  const char *directory = join(folder, "log"), *copy = join(folder, "copy");
  make_mixed(directory, 3000, 256 << 10);
  REQUIRE(mkdir(copy, 0700) == 0 && run("cp '%s'/*.weir '%s'", directory, copy) == 0);
  check_log(copy, 3000);
  weir_stat stat;
  CHECK_EQUAL(weir_stat_directory(copy, &stat, NULL), WEIR_OK);
  CHECK(stat.events == 3000 && !stat.damaged && stat.segments > 1);
  scratch_remove(folder);
}

int main(void) {
  random_start("segment_file_test");
  sealed_on_demand(0);
  sealed_on_demand(1);
  closed();
  full();
  slow_disk();
  busy_drainer();
  packed();
  damaged();
  several_blocks();
  odd_arguments();
  copied();
  return finish();
}
