/*
 * host_test.c: what a host does to its own process with a log open: threads with tiny stacks, descriptors closed that
 * it did not open, privileges dropped, signals without end, the directory removed.
 *
 * Runs without the sanitizers, which need more of a stack than these threads have.
 */
#include "capture_check.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "batch/batcher.h"
#include "log/log.h"

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

/* ---- Descriptors ------------------------------------------------------------------------------------------------- */

enum { VICTIMS = 16, VICTIM_BYTES = 3 << 20 };

typedef struct victim {
  const char *path;
  int fd;
} victim;

/* Files and a directory of the host's own, which get the numbers that were the log's. */
static void make_victims(const char *folder, victim victims[VICTIMS]) {
  for (int i = 0; i < VICTIMS; i++) {
    char name[32];
    snprintf(name, sizeof name, "victim-%d", i);
    victims[i].path = join(folder, name);
    if (i == 0) {
      REQUIRE(mkdir(victims[i].path, 0700) == 0);
      victims[i].fd = open(victims[i].path, O_RDONLY | O_DIRECTORY);
    } else {
      victims[i].fd = open(victims[i].path, O_RDWR | O_CREAT, 0600);
      REQUIRE(write(victims[i].fd, "the host's", 10) == 10 && ftruncate(victims[i].fd, VICTIM_BYTES) == 0);
    }
    REQUIRE(victims[i].fd >= 0);
  }
}

static void check_victims(const victim victims[VICTIMS]) {
  for (int i = 0; i < VICTIMS; i++) {
    struct stat opened, named;
    CHECK(fstat(victims[i].fd, &opened) == 0 && stat(victims[i].path, &named) == 0 && opened.st_ino == named.st_ino);
    char text[11] = "";
    if (i == 0) CHECK(rmdir(victims[i].path) == 0 || errno != ENOTEMPTY); /* nothing was put there */
    else CHECK(named.st_size == VICTIM_BYTES && pread(victims[i].fd, text, 10, 0) == 10 && !strcmp(text, "the host's"));
  }
}

static void check_cut_off(weir_status status, const weir_error *error) {
  CHECK_EQUAL(status, WEIR_ERROR_IO);
  if (!CHECK(strstr(error->message, "closefrom"))) fprintf(stderr, "%s\n", error->message);
}

/* Captures until the log refuses, for want of a disk to write to. Answers how many were accepted. */
static uint64_t capture_until_refused(weir_log *log, uint32_t type, uint64_t from) {
  uint64_t accepted = 0, refused = 0;
  for (uint64_t i = 0; i < 200000 && refused == 0; i++) {
    int32_t drop = capture_numbered(log, type, 0, from + accepted, 1000, NULL);
    accepted += drop == WEIR_ACCEPTED;
    refused += drop == WEIR_DROP_STORAGE;
    if (drop == WEIR_DROP_FULL) sleep_ns(1000000);
  }
  CHECK_EQUAL(refused, 1);
  return accepted;
}

static weir_log *open_host(const char *directory, uint32_t batch_threads) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 2;
  options.spare_lanes = 1;
  options.lane_bytes = 1 << 17;
  options.segment_bytes = 1 << 20;
  options.batch_threads = batch_threads;
  weir_log *log = NULL;
  weir_error error = {0};
  if (!CHECK_EQUAL(weir_open(directory, &options, &log, NULL, &error), WEIR_OK)) fprintf(stderr, "%s\n", error.message);
  REQUIRE(log);
  return log;
}

/* What a child was told, in memory that it shares. */
static _Atomic uint64_t *accepted;

static void check_all_there(const char *directory) {
  weir_log *log = open_default(directory, NULL);
  if (log) close_and_free(log);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 0), *accepted);
  found_free(&found);
}

/* Until none of the log's threads works with a file: between its look at a descriptor and its use nobody can help it. */
static void wait_until_idle(weir_log *producer) {
  event_log *log = (event_log *)producer;
  for (int busy = 1; busy;) {
    pthread_mutex_lock(&log->preparer.worker.mutex);
    busy = log->preparer.ready_count < log->preparer.depth || log->preparer.wanted;
    pthread_mutex_unlock(&log->preparer.worker.mutex);
    pthread_mutex_lock(&log->sealer.worker.mutex);
    busy |= log->sealer.first_done || log->sealer.stale;
    pthread_mutex_unlock(&log->sealer.worker.mutex);
    pthread_mutex_lock(&log->batcher->mutex);
    busy |= !log->batcher->listed || log->batcher->first || log->batcher->working > 0;
    pthread_mutex_unlock(&log->batcher->mutex);
    if (busy) sleep_ns(1000000);
  }
}

static void close_all(const char *folder, const char *directory) {
  weir_error error;
  victim victims[VICTIMS];
  weir_log *log = open_host(directory, 1);
  uint32_t type = define_numbered(log);
  for (*accepted = 0; *accepted < 20; ++*accepted) {
    CHECK_EQUAL(capture_numbered(log, type, 0, *accepted, 1000, NULL), WEIR_ACCEPTED);
  }
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, &error), WEIR_OK);
  wait_until_idle(log);
  for (int fd = 3; fd < 1024; fd++) close(fd);
  make_victims(folder, victims);
  *accepted += capture_until_refused(log, type, *accepted);
  check_cut_off(weir_drain(log, UINT64_MAX, NULL, &error), &error);
  check_cut_off(weir_sync(log, UINT64_MAX, NULL, &error), &error);
  check_cut_off(weir_close(log, &error), &error);
  weir_free(log);
  check_victims(victims);
}

static void descriptors_closed(void) {
  test("a host that closes the log's descriptors, and opens files of its own, finds these as they were");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  fflush(stdout);
  pid_t host = fork();
  REQUIRE(host >= 0);
  if (host == 0) {
    uint64_t failed = checks_failed;
    close_all(folder, directory);
    _exit(checks_failed > failed);
  }
  CHECK_EQUAL(wait_for(host), 0);
  check_all_there(directory);
  scratch_remove(folder);
}

/* ---- Privileges -------------------------------------------------------------------------------------------------- */

enum { NOBODY = 65534 };

static void check_other_user(weir_status status, const weir_error *error) {
  CHECK_EQUAL(status, WEIR_ERROR_ACCESS);
  if (!CHECK(strstr(error->message, "open logs after dropping privileges"))) fprintf(stderr, "%s\n", error->message);
}

static void drop_privileges(const char *directory) {
  weir_error error;
  weir_log *log = open_host(directory, 0);
  uint32_t type = define_numbered(log);
  REQUIRE(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
  *accepted = capture_until_refused(log, type, 0);
  check_other_user(weir_drain(log, UINT64_MAX, NULL, &error), &error);
  check_other_user(weir_sync(log, UINT64_MAX, NULL, &error), &error);
  check_other_user(weir_close(log, &error), &error);
  weir_free(log);
}

static void privileges_dropped(void) {
  test("a log that was opened before privileges were dropped says so when it can't grow any more");
  if (geteuid() != 0) {
    printf("skipped: %s, there are none to drop\n", test_name);
    return;
  }
  char *folder = scratch();
  const char *directory = join(folder, "log");
  fflush(stdout);
  pid_t host = fork();
  REQUIRE(host >= 0);
  if (host == 0) {
    uint64_t failed = checks_failed;
    drop_privileges(directory);
    _exit(checks_failed > failed);
  }
  CHECK_EQUAL(wait_for(host), 0);
  check_all_there(directory);
  scratch_remove(folder);
}

/* ---- Signals ----------------------------------------------------------------------------------------------------- */

static _Atomic int interrupts; /* each allocation of more than so many bytes; 0: none */

/* As tmpfs before Linux 6.9 under a profiler's timer: what takes long gives up, and has done nothing. */
int fallocate(int fd, int mode, off_t at, off_t bytes) {
  if (interrupts && bytes > interrupts) {
    errno = EINTR;
    return -1;
  }
  return (int)syscall(SYS_fallocate, fd, mode, at, bytes);
}

static void allocation_interrupted(void) {
  test("an opening ends though every long allocation is interrupted by a signal");
  char *folder = scratch();
  fflush(stdout);
  pid_t host = fork();
  REQUIRE(host >= 0);
  if (host == 0) {
    alarm(120);
    interrupts = 100000;
    weir_log *log = open_default(join(folder, "log"), NULL);
    _exit(!log || weir_close(log, NULL) != WEIR_OK);
  }
  CHECK_EQUAL(wait_for(host), 0);
  scratch_remove(folder);
}

/* ---- The directory ----------------------------------------------------------------------------------------------- */

static void directory_removed(void) {
  test("a log whose directory is removed says so, and not that anything stays");
  char *folder = scratch();
  weir_error error;
  weir_log *log = open_host(join(folder, "log"), 0);
  uint32_t type = define_numbered(log);
  remove_tree(join(folder, "log"));
  capture_until_refused(log, type, 0);
  CHECK(weir_drain(log, UINT64_MAX, NULL, &error) != WEIR_OK);
  CHECK(strstr(error.message, "was removed") && !strstr(error.message, "stay in the ring"));
  CHECK(weir_close(log, &error) != WEIR_OK);
  if (!CHECK(strstr(error.message, "was removed"))) fprintf(stderr, "%s\n", error.message);
  weir_free(log);
  scratch_remove(folder);
}

int main(void) {
  random_start("host_test");
  accepted = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(accepted != MAP_FAILED);
  small_stacks();
  descriptors_closed();
  privileges_dropped();
  allocation_interrupted();
  directory_removed();
  return finish();
}
