/*
 * copy_test.c: copies of a log that is being written. Whoever copies what has changed since the last time, by size and
 * time of modification, as rsync and most backups do, has every event of a log that falls idle; and a log that goes on
 * pays for that once a second.
 */
#include "capture_check.h"

#include <dirent.h>
#include <sys/syscall.h>

#include "log/log.h"

/* ---- A copier ---------------------------------------------------------------------------------------------------- */

enum { MOST_FILES = 16 };

typedef struct copier {
  const char *from, *to;
  char names[MOST_FILES][256];
  struct stat copied[MOST_FILES];
  int count;
} copier;

static void copy_file(const char *from, const char *to) {
  static uint8_t bytes[1 << 16];
  int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  REQUIRE(in >= 0 && out >= 0);
  ssize_t count;
  while ((count = read(in, bytes, sizeof bytes)) > 0) REQUIRE(write(out, bytes, (size_t)count) == count);
  close(in);
  close(out);
}

static int is_as_copied(const copier *copier, const char *name, const struct stat *status) {
  for (int i = 0; i < copier->count; i++) {
    const struct stat *copied = &copier->copied[i];
    if (strcmp(copier->names[i], name) != 0) continue;
    return copied->st_size == status->st_size && copied->st_mtim.tv_sec == status->st_mtim.tv_sec &&
           copied->st_mtim.tv_nsec == status->st_mtim.tv_nsec;
  }
  return 0;
}

static void note_copied(copier *copier, const char *name, const struct stat *status) {
  int at = 0;
  while (at < copier->count && strcmp(copier->names[at], name) != 0) at++;
  REQUIRE(at < MOST_FILES);
  snprintf(copier->names[at], sizeof copier->names[at], "%s", name);
  copier->copied[at] = *status;
  if (at == copier->count) copier->count++;
}

/* One incremental copy. Answers how many files it copied. */
static int copy_changed(copier *copier) {
  DIR *directory = opendir(copier->from);
  int count = 0;
  REQUIRE(directory);
  for (struct dirent *entry; (entry = readdir(directory));) {
    struct stat status;
    const char *name = entry->d_name, *path = join(copier->from, name);
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || is_as_copied(copier, name, &status)) continue;
    copy_file(path, join(copier->to, name));
    note_copied(copier, name, &status);
    count++;
  }
  closedir(directory);
  return count;
}

static uint64_t events_in(const char *directory) {
  found_log found = read_log(directory);
  uint64_t count = found.count;
  CHECK_EQUAL(found.wrong, 0);
  found_free(&found);
  return count;
}

/* ---- What it must have ------------------------------------------------------------------------------------------- */

static weir_log *open_smallish(const char *directory) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 2;
  options.spare_lanes = 1;
  options.lane_bytes = 131072;
  options.segment_bytes = 1 << 20;
  options.drain_interval_ns = 1000000; /* the drainer falls asleep after eight naps */
  weir_log *log = NULL;
  weir_error error;
  if (!CHECK_EQUAL(weir_open(directory, &options, &log, NULL, &error), WEIR_OK)) fprintf(stderr, "%s\n", error.message);
  return log;
}

static void test_idle(void) {
  test("an incremental copy of a log that falls idle has every event, without another one coming");
  enum { EVENTS = 100, ROUNDS = 3, PATIENCE = 1200 };
  char *folder = scratch();
  copier copier = {.from = join(folder, "log"), .to = join(folder, "copy")};
  REQUIRE(mkdir(copier.to, 0700) == 0);
  weir_log *log = open_smallish(copier.from);
  if (!log) return;
  uint32_t type = define_numbered(log);
  for (uint64_t round = 0, number = 0; round < ROUNDS; round++) {
    copy_changed(&copier); /* its pages are dirty now: what is stored next changes no time */
    for (int i = 0; i < EVENTS; i++, number++) {
      CHECK_EQUAL(capture_numbered(log, type, 0, number, 10, NULL), WEIR_ACCEPTED);
    }
    CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
    int tries = 0;
    while (events_in(copier.to) < number && tries++ < PATIENCE) {
      if (copy_changed(&copier) == 0) sleep_ns(100000000);
    }
    if (!CHECK_EQUAL(events_in(copier.to), number)) break;
  }
  close_and_free(log);
  /* And closed it is a copy of a closed log. */
  while (copy_changed(&copier) > 0) {}
  weir_recovery recovery;
  log = open_default(copier.to, &recovery);
  if (log) CHECK_EQUAL(recovery.was_clean, 1);
  if (log) close_and_free(log);
  scratch_remove(folder);
}

static _Atomic uint64_t touches;

int futimens(int fd, const struct timespec times[2]) {
  touches++;
  return (int)syscall(SYS_utimensat, fd, NULL, times, 0);
}

static void test_rate(void) {
  test("a log that falls asleep over and over touches its files once a second at most");
  enum { ROUNDS = 200 };
  char *folder = scratch();
  weir_log *log = open_smallish(join(folder, "log"));
  if (!log) return;
  uint32_t type = define_numbered(log);
  uint64_t begin = now_ns();
  touches = 0;
  for (uint64_t i = 0; i < ROUNDS; i++) {
    CHECK_EQUAL(capture_numbered(log, type, 0, i, 10, NULL), WEIR_ACCEPTED);
    CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
    while (!__atomic_load_n(&((event_log *)log)->intake.producer.asleep, __ATOMIC_RELAXED)) sleep_ns(100000);
  }
  uint64_t touched = touches; /* first: a touch may come at any time */
  uint64_t seconds = (now_ns() - begin) / 1000000000;
  CHECK(touched <= seconds + 1);
  close_and_free(log);
  scratch_remove(folder);
}

int main(void) {
  random_start("copy_test");
  test_idle();
  test_rate();
  return finish();
}
