/*
 * batch_names_test.c: what somebody else has put where batch segments go stays as it is, whoever makes batches, opens
 * the log or removes what is old; and holds up neither the opening nor retention.
 */
#include "batch_check.h"

static weir_counters counters_of(const weir_log *log) {
  weir_counters counters;
  weir_count(log, &counters);
  return counters;
}

enum kind { TEXT, EMPTY, LINK, DANGLING, FIFO, DIRECTORY, KINDS };
static const char *const kinds[KINDS] = {"a text", "an empty file", "a link", "a dangling link", "a fifo",
                                         "a directory"};

static void put(const char *path, enum kind kind) {
  FILE *file;
  switch (kind) {
    case TEXT:
      REQUIRE((file = fopen(path, "w")) && fputs("my only notes\n", file) >= 0 && fclose(file) == 0);
      break;
    case EMPTY: REQUIRE((file = fopen(path, "w")) && fclose(file) == 0); break;
    case LINK: REQUIRE(symlink("/etc/passwd", path) == 0); break;
    case DANGLING: REQUIRE(symlink("/nowhere/at/all", path) == 0); break;
    case FIFO: REQUIRE(mkfifo(path, 0600) == 0); break;
    default: REQUIRE(mkdir(path, 0700) == 0);
  }
}

static void check_untouched(const char *path, enum kind kind, const struct stat *before) {
  struct stat now = {0};
  char text[64] = "";
  int there = lstat(path, &now) == 0 && now.st_ino == before->st_ino && now.st_size == before->st_size;
  if (there && kind == TEXT) {
    FILE *file = fopen(path, "r");
    REQUIRE(file);
    there = fgets(text, sizeof text, file) && strcmp(text, "my only notes\n") == 0;
    fclose(file);
  }
  if (!CHECK(there)) fprintf(stderr, "  %s\n", kinds[kind]);
}

static void test_batch_name(enum kind kind) {
  test("somebody's file with the name of a batch segment stays, and so does the raw segment, until retention has it");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_mixed(directory, 2000, SEGMENT);
  uint64_t segments = raw_ones(directory);
  char path[600];
  snprintf(path, sizeof path, "%s.lz4", join(directory, segment_at(directory, 0).name));
  put(path, kind);
  struct stat before;
  REQUIRE(lstat(path, &before) == 0);
  weir_batching batching = batch_all(directory, 2);
  CHECK(batching.done == segments - 1 && batching.unbatched == 1 && batching.failed == 0);
  check_untouched(path, kind, &before);
  weir_options options = small_options();
  options.batch_threads = 2;
  weir_log *log = open_with(directory, &options, NULL);
  CHECK_AWAIT(counters_of(log).unbatched > 0);
  CHECK(counters_of(log).unbatched == 1 && counters_of(log).batch_failures == 0);
  close_and_free(log);
  check_untouched(path, kind, &before);
  CHECK_EQUAL(raw_ones(directory), 1);
  reading reading = read_from(directory, 0);
  CHECK(reading.events == 2000 && reading.missing + reading.wrong + reading.disorder == 0);
  /* Retention takes the segment, and not the file. */
  options.remove_delivered = 1;
  log = open_with(directory, &options, NULL);
  weir_set_delivered(log, 2000);
  CHECK_AWAIT(raw_ones(directory) == 0);
  close_and_free(log);
  check_untouched(path, kind, &before);
  close_and_free(open_with(directory, &options, NULL));
  check_untouched(path, kind, &before);
  weir_stat stat = stat_of(directory);
  CHECK(stat.events + stat.removed == 2000 && stat.removed > 0);
  reading = read_from(directory, 0);
  CHECK(reading.events == stat.events && reading.removed == stat.removed && reading.missing + reading.disorder == 0);
  scratch_remove(folder);
}

static void test_temporary_name(void) {
  test("somebody's directory with the name of a batch in the making stays, the log opens, and its segment stays raw");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_mixed(directory, 2000, SEGMENT);
  uint64_t segments = raw_ones(directory);
  char mine[64], stray[64];
  batch_temporary_name(mine, segment_at(directory, 1).base);
  batch_temporary_name(stray, 12345678901234);
  struct stat before[2];
  REQUIRE(mkdir(join(directory, mine), 0700) == 0 && mkdir(join(directory, stray), 0700) == 0);
  REQUIRE(lstat(join(directory, mine), &before[0]) == 0 && lstat(join(directory, stray), &before[1]) == 0);
  weir_batching batching = batch_all(directory, 2);
  CHECK(batching.done == segments - 1 && batching.unbatched == 1 && batching.failed == 0);
  weir_options options = small_options();
  options.batch_threads = 1;
  weir_log *log = open_with(directory, &options, NULL);
  CHECK_AWAIT(counters_of(log).unbatched > 0);
  CHECK(counters_of(log).unbatched == 1 && counters_of(log).batch_failures == 0);
  close_and_free(log);
  check_untouched(join(directory, mine), DIRECTORY, &before[0]);
  check_untouched(join(directory, stray), DIRECTORY, &before[1]);
  check_conserved(directory, 2000, 0);
  /* An empty one goes by hand, and then its segment is made a batch like any other. */
  REQUIRE(rmdir(join(directory, mine)) == 0);
  CHECK_EQUAL(batch_all(directory, 1).done, 1);
  CHECK_EQUAL(raw_ones(directory), 0);
  scratch_remove(folder);
}

int main(void) {
  random_start("batch_names_test");
  for (int kind = 0; kind < KINDS; kind++) test_batch_name((enum kind)kind);
  test_temporary_name();
  return finish();
}
