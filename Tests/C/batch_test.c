/*
 * batch_test.c: sealed segments made batch segments, of a log that nobody has open: the same events, the same bytes
 * each time, whole for the lz4 tool; killed before any call of the system, or with any of them failing, the log is
 * whole; what is damaged stays as it is; and what a kill may leave is made good.
 */
#include "batch_check.h"

#include "format/columns.h"
#include "segment/scan.h"

/* ---- Whole ------------------------------------------------------------------------------------------------------- */

static void test_round_trip(uint64_t count, uint64_t segment_bytes, uint32_t threads) {
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_mixed(directory, count, segment_bytes);
  found_log whole = read_log(directory);
  weir_stat before = stat_of(directory);
  weir_batching batching = batch_all(directory, threads);
  CHECK(batching.segments == before.segments && batching.done == before.segments);
  CHECK(batching.input == before.segment_bytes && batching.output < batching.input);
  CHECK_EQUAL(batching.unbatched + batching.failed, 0);
  CHECK_EQUAL(batches(directory), before.segments);
  CHECK_EQUAL(raw_ones(directory) + temporaries(directory), 0);
  check_reads_as(directory, &whole);
  check_no_findings(directory);
  check_with_tool(directory);
  weir_stat after = stat_of(directory);
  CHECK(after.events == before.events && after.notices == before.notices && after.segments == before.segments);
  CHECK(after.total_bytes <= before.total_bytes && after.next_offset == before.next_offset && !after.damaged);
  weir_batching again = batch_all(directory, threads);
  CHECK_EQUAL(again.segments, 0);
  close_and_free(open_default(directory, NULL));
  check_reads_as(directory, &whole);
  found_free(&whole);
  scratch_remove(folder);
}

static void test_round_trips(void) {
  test("a log reads the same once its segments are batch segments, of one LZ4 block and of several, by many threads");
  test_round_trip(1, SEGMENT, 1);
  test_round_trip(2000, SEGMENT, 1);
  test_round_trip(12000, 3 << 20, 2);
  test_round_trip(4000, SEGMENT, WEIR_MAX_BATCH_THREADS);
}

/* What `lz4 -d` gives of a batch is a raw segment, whose payloads may be in columns. */
static void test_determinism(void) {
  test("the same segment gives the same bytes, by however many threads, and from what the lz4 tool makes of a batch");
  char *folder = scratch();
  const char *directory = join(folder, "log"), *one = join(folder, "one"), *four = join(folder, "four");
  make_mixed(directory, 20000, 1200000);
  found_log whole = read_log(directory);
  copy_log(directory, one);
  copy_log(directory, four);
  batch_all(one, 1);
  batch_all(four, 4);
  CHECK_EQUAL(run("diff -r '%s' '%s'", one, four), 0);
  if (system("command -v lz4 >/dev/null 2>&1") == 0) {
    CHECK_EQUAL(run("cd '%s' && for f in *.lz4; do lz4 -d -q $f ${f%%.lz4} && rm $f || exit 1; done %s", four, ""), 0);
    CHECK(batches(four) == 0 && raw_ones(four) > 1);
    check_reads_as(four, &whole);
    batch_all(four, 1);
    CHECK_EQUAL(run("diff -r '%s' '%s'", one, four), 0);
  }
  found_free(&whole);
  scratch_remove(folder);
}

static void test_refusals(void) {
  test("a directory that is no log, or that a writer has open, and impossible numbers of threads are refused");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_batching batching;
  weir_error error;
  CHECK_EQUAL(weir_batch_directory(directory, 1, NULL, NULL, &batching, &error), WEIR_ERROR_MISSING);
  make_mixed(directory, 10, SEGMENT);
  CHECK_EQUAL(weir_batch_directory(directory, 0, NULL, NULL, &batching, &error), WEIR_ERROR_INVALID);
  CHECK_EQUAL(weir_batch_directory(directory, WEIR_MAX_BATCH_THREADS + 1, NULL, NULL, NULL, NULL), WEIR_ERROR_INVALID);
  weir_log *log = open_default(directory, NULL);
  CHECK_EQUAL(weir_batch_directory(directory, 1, NULL, NULL, &batching, &error), WEIR_ERROR_LOCKED);
  CHECK(strstr(error.message, directory) && strchr(error.message, ';'));
  close_and_free(log);
  CHECK_EQUAL(batches(directory), 0);
  weir_options options = small_options();
  options.batch_threads = WEIR_MAX_BATCH_THREADS + 1;
  CHECK_EQUAL(weir_open(directory, &options, &log, NULL, &error), WEIR_ERROR_INVALID);
  options.batch_threads = 0;
  options.remove_delivered = 2;
  CHECK_EQUAL(weir_open(directory, &options, &log, NULL, &error), WEIR_ERROR_INVALID);
  scratch_remove(folder);
}

static int stop_at_two(void *context, const weir_batching *so_far) {
  (void)context;
  return so_far->done == 2;
}

static void test_stop(void) {
  test("a report that answers other than 0 ends it, and what was not begun stays raw");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_mixed(directory, 3000, SEGMENT);
  uint64_t segments = raw_ones(directory);
  weir_batching batching;
  weir_error error;
  CHECK_EQUAL(weir_batch_directory(directory, 1, stop_at_two, NULL, &batching, &error), WEIR_OK);
  CHECK(batching.done == 2 && batching.segments == segments && segments > 3);
  CHECK(batches(directory) == 2 && raw_ones(directory) == segments - 2);
  scratch_remove(folder);
}

/* ---- Killed, failing --------------------------------------------------------------------------------------------- */

static void test_kills(void) {
  test("killed before any call of the system, the log is whole, and the next try makes the rest");
  char *folder = scratch();
  const char *made = join(folder, "made"), *directory = join(folder, "log");
  make_mixed(made, 900, SEGMENT);
  found_log whole = read_log(made);
  uint64_t segments = raw_ones(made);
  REQUIRE(segments > 1);
  for (uint64_t nth = 1;; nth++) {
    copy_log(made, directory);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      weir_fault_set("any", nth, 1, WEIR_FAULT_KILL);
      _exit(weir_batch_directory(directory, 1, NULL, NULL, NULL, NULL) != WEIR_OK);
    }
    int ended = wait_for(child);
    check_reads_as(directory, &whole);
    if (ended == 0) {
      CHECK_EQUAL(batches(directory), segments);
      remove_tree(directory);
      CHECK(nth > 50);
      break;
    }
    CHECK_EQUAL(ended, 1000 + SIGKILL);
    CHECK(raw_ones(directory) + batches(directory) >= segments && temporaries(directory) <= 1);
    if (nth % 2) close_and_free(open_default(directory, NULL)); /* which removes what was being made */
    if (nth % 2) CHECK_EQUAL(temporaries(directory), 0);
    batch_all(directory, 1);
    CHECK_EQUAL(raw_ones(directory) + temporaries(directory), 0);
    check_reads_as(directory, &whole);
    remove_tree(directory);
  }
  found_free(&whole);
  scratch_remove(folder);
}

static uint64_t descriptors(void) {
  uint64_t count = 0;
  for (int i = 0; i < 1024; i++) count += fcntl(i, F_GETFD) >= 0;
  return count;
}

/* `lasts`: every call from the n-th on. Answers whether there were so many. */
static int one_failure(const char *made, const char *directory, const found_log *whole, uint64_t nth, int lasts,
                       int error_number) {
  copy_log(made, directory);
  uint64_t segments = raw_ones(directory), open_before = descriptors();
  weir_batching batching;
  weir_error error = {0};
  weir_fault_set("any", nth, lasts ? UINT64_MAX : 1, error_number);
  weir_status status = weir_batch_directory(directory, 1, NULL, NULL, &batching, &error);
  int happened = weir_fault_count() >= nth;
  weir_fault_set("", 0, 0, 0);
  CHECK_EQUAL(descriptors(), open_before);
  if (status != WEIR_OK) {
    CHECK(error.status == status && strstr(error.message, directory) && strchr(error.message, ';'));
  }
  CHECK(batching.done + batching.failed + batching.unbatched <= batching.segments);
  CHECK(status != WEIR_OK || batching.done + batching.unbatched == batching.segments);
  CHECK(raw_ones(directory) + batches(directory) >= segments);
  check_reads_as(directory, whole);
  batch_all(directory, 1);
  CHECK_EQUAL(batches(directory), segments);
  CHECK_EQUAL(raw_ones(directory) + temporaries(directory), 0);
  check_reads_as(directory, whole);
  remove_tree(directory);
  return happened;
}

static void test_failures(void) {
  test("with any call of the system failing, once or from then on, nothing is lost, and the next try makes the rest");
  static const int errors[] = {ENOSPC, EIO, ENOMEM, EMFILE};
  char *folder = scratch();
  const char *made = join(folder, "made"), *directory = join(folder, "log");
  make_mixed(made, 900, SEGMENT);
  found_log whole = read_log(made);
  uint64_t nth = 1;
  while (one_failure(made, directory, &whole, nth, nth % 2, errors[nth / 2 % 4]) && nth < 1000) nth++;
  CHECK(nth > 50 && nth < 1000);
  found_free(&whole);
  scratch_remove(folder);
}

static void test_data_sync(void) {
  test("a batch that can't be synced does not get its name, and its raw segment stays");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_mixed(directory, 3000, SEGMENT);
  uint64_t segments = raw_ones(directory);
  weir_batching batching;
  weir_error error;
  weir_fault_set("sys_sync_data", 2, 1, EIO); /* that of the second segment */
  weir_status status = weir_batch_directory(directory, 1, NULL, NULL, &batching, &error);
  weir_fault_set("", 0, 0, 0);
  CHECK_EQUAL(status, WEIR_ERROR_IO);
  CHECK(segments > 3 && batching.failed == 1 && batching.done == segments - 1);
  CHECK(raw_ones(directory) == 1 && batches(directory) == segments - 1 && temporaries(directory) == 0);
  scratch_remove(folder);
}

static void test_directory_sync(void) {
  test("where the directory can't be synced, no raw segment goes, and nothing more is begun");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_mixed(directory, 3000, SEGMENT);
  uint64_t segments = raw_ones(directory);
  weir_batching batching;
  weir_error error;
  weir_fault_set("sys_sync_directory", 2, 1, EIO); /* the first is that of the first segment */
  weir_status status = weir_batch_directory(directory, 1, NULL, NULL, &batching, &error);
  weir_fault_set("", 0, 0, 0);
  CHECK_EQUAL(status, WEIR_ERROR_IO);
  CHECK(segments > 3 && batching.failed == 1 && batching.done == 1);
  CHECK(raw_ones(directory) == segments - 1 && batches(directory) == 2);
  scratch_remove(folder);
}

/* ---- Damage ------------------------------------------------------------------------------------------------------ */

static void flip(const char *path, uint64_t at) {
  int fd = open(path, O_RDWR);
  uint8_t byte;
  REQUIRE(fd >= 0 && pread(fd, &byte, 1, (off_t)at) == 1);
  byte ^= 0x10;
  REQUIRE(pwrite(fd, &byte, 1, (off_t)at) == 1);
  close(fd);
}

static uint64_t size_of(const char *path) {
  struct stat status;
  REQUIRE(stat(path, &status) == 0);
  return (uint64_t)status.st_size;
}

static void test_damage(void) {
  test("a segment in which any byte is wrong, or that is longer or shorter than it was, stays raw, as it is");
  char *folder = scratch();
  const char *made = join(folder, "made"), *directory = join(folder, "log");
  make_mixed(made, 900, SEGMENT);
  uint64_t segments = raw_ones(made);
  segment_name name = segment_at(made, 0);
  uint64_t bytes = size_of(join(made, name.name));
  for (uint64_t i = 0; i < 300; i++) {
    uint64_t at = i < 200 ? i : i < 280 ? random_below(bytes) : bytes - 1 - (i - 280);
    copy_log(made, directory);
    const char *path = join(directory, name.name);
    if (i % 100 == 50) REQUIRE(truncate(path, (off_t)(bytes - 8)) == 0);
    else if (i % 100 == 51) REQUIRE(truncate(path, (off_t)(bytes + 8)) == 0);
    else flip(path, at);
    REQUIRE(run("cp '%s' '%s'", path, join(folder, "kept")) == 0);
    weir_batching batching = batch_all(directory, 1);
    if (!CHECK(batching.unbatched == 1 && batching.done == segments - 1)) fprintf(stderr, "byte %" PRIu64 "\n", at);
    CHECK_EQUAL(run("cmp '%s' '%s'", path, join(folder, "kept")), 0);
    CHECK_EQUAL(raw_ones(directory), 1);
    remove_tree(directory);
  }
  scratch_remove(folder);
}

/* ---- What a kill leaves ------------------------------------------------------------------------------------------ */

/* Both files of the first segment: the raw one from `made`. */
static segment_name put_raw_back(const char *made, const char *directory) {
  segment_name name = segment_at(made, 0);
  REQUIRE(run("cp -a '%s' '%s'", join(made, name.name), join(directory, name.name)) == 0);
  return name;
}

static void test_both_there(void) {
  test("where both files of a segment are there, the good one stays: a damaged batch is made anew, a damaged raw goes");
  char *folder = scratch();
  const char *made = join(folder, "made"), *batched = join(folder, "batched"), *directory = join(folder, "log");
  make_mixed(made, 900, SEGMENT);
  found_log whole = read_log(made);
  copy_log(made, batched);
  batch_all(batched, 1);
  segment_name name = segment_at(made, 0);
  char batch[64];
  segment_list_batch_name(batch, name.base);
  enum { BOTH_GOOD, BATCH_CUT, BATCH_FLIPPED, RAW_FLIPPED, BOTH_FLIPPED, ANOTHERS, CASES };
  for (int which = 0; which < CASES; which++) {
    copy_log(batched, directory);
    put_raw_back(made, directory);
    const char *raw_path = join(directory, name.name), *batch_path = join(directory, batch);
    if (which == BATCH_CUT) REQUIRE(truncate(batch_path, (off_t)size_of(batch_path) / 2) == 0);
    if (which == BATCH_FLIPPED || which == BOTH_FLIPPED) flip(batch_path, size_of(batch_path) / 3);
    if (which == RAW_FLIPPED || which == BOTH_FLIPPED) flip(raw_path, size_of(raw_path) / 2);
    if (which == ANOTHERS) {
      char next[64];
      segment_list_batch_name(next, segment_at(made, 1).base);
      REQUIRE(run("cp -a '%s' '%s'", join(batched, next), batch_path) == 0);
    }
    weir_batching batching = batch_all(directory, 1);
    int left = which == BOTH_FLIPPED || which == ANOTHERS;
    CHECK(batching.segments == 1 && batching.done == !left && batching.unbatched == (uint64_t)left);
    CHECK_EQUAL(raw_ones(directory), left);
    CHECK_EQUAL(access(batch_path, F_OK), 0);
    if (which != BOTH_FLIPPED) check_reads_as(directory, &whole);
    if (!left) CHECK_EQUAL(run("diff -r '%s' '%s'", directory, batched), 0);
    remove_tree(directory);
  }
  found_free(&whole);
  scratch_remove(folder);
}

static void test_temporaries(void) {
  test("a batch segment that was in the making is removed by the next opening, and no other file with such a name");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_mixed(directory, 100, SEGMENT);
  const char *names[] = {"batch-00000000000000000000", "batch-18446744073709551615", "batch-0000",
                         "batch-0000000000000000000x", "batch-000000000000000000000"};
  for (int i = 0; i < 5; i++) close(open(join(directory, names[i]), O_CREAT | O_WRONLY, 0600));
  close_and_free(open_default(directory, NULL));
  for (int i = 0; i < 5; i++) CHECK_EQUAL(access(join(directory, names[i]), F_OK) == 0, i > 1);
  scratch_remove(folder);
}

/* ---- Columns ----------------------------------------------------------------------------------------------------- */

enum { PAYLOAD = 1 << 16 };

/* Records of a few types, of which some vary in size. */
static uint32_t fill(uint8_t *rows, uint64_t *bytes, uint32_t types) {
  uint32_t count = 0;
  for (*bytes = 0; *bytes < PAYLOAD - 256; count++) {
    uint32_t type = (uint32_t)random_below(types), length = type % 3 == 0 ? (uint32_t)random_below(200) : type % 90;
    record_header header = {.length = length, .type = WEIR_TYPE_FIRST + type, .index = count, .ticks = random_below(9)};
    if (random_below(50) == 0) header.type = 60000; /* no log's, but a file may say so */
    memcpy(rows + *bytes, &header, sizeof header);
    for (uint64_t i = sizeof header; i < record_size(length); i++) rows[*bytes + i] = (uint8_t)random_below(256);
    *bytes += record_size(length);
  }
  return count;
}

static void test_columns(void) {
  test("columns are the same bytes in another order, and back; of any bytes nothing is believed");
  uint8_t *rows = malloc(PAYLOAD), *columns = malloc(PAYLOAD), *back = malloc(PAYLOAD);
  uint64_t restored = 0;
  for (int round = 0; round < 300; round++) {
    uint64_t bytes;
    uint32_t count = fill(rows, &bytes, round % 3 == 0 ? 1 : round % 3 == 1 ? 10 : 300);
    void *scratch = malloc(columns_scratch_bytes(count));
    CHECK(columns_permute(rows, bytes, count, columns, scratch));
    memset(back, 0xaa, PAYLOAD);
    CHECK(columns_restore(columns, bytes, count, back, scratch) && memcmp(rows, back, bytes) == 0);
    CHECK(memcmp(rows, columns, bytes) != 0);
    scratch = realloc(scratch, columns_scratch_bytes(count + 1));
    CHECK(!columns_permute(rows, bytes, count + 1, columns, scratch));
    CHECK(!columns_permute(rows, bytes - 8, count, columns, scratch));
    for (int i = 0; i < 20; i++) {
      uint32_t other = 1 + (uint32_t)random_below(bytes / sizeof(record_header));
      scratch = realloc(scratch, columns_scratch_bytes(other));
      columns[random_below(bytes)] ^= (uint8_t)(1 + random_below(255));
      if (i % 2 == 0 && other > count) other = count;
      restored += (uint64_t)columns_restore(columns, bytes, other, back, scratch);
    }
    free(scratch);
  }
  CHECK(restored < 6000);
  free(rows);
  free(columns);
  free(back);
}

int main(void) {
  random_start("batch_test");
  test_round_trips();
  test_determinism();
  test_refusals();
  test_stop();
  test_kills();
  test_failures();
  test_data_sync();
  test_directory_sync();
  test_damage();
  test_both_there();
  test_temporaries();
  test_columns();
  return finish();
}
