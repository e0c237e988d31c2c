/*
 * ring_test.c: where the ring lies. Beside the segments or in another directory, moved there and back, by openings that
 * are killed at each of their system calls or that fail at it: what was accepted is there, there is one ring, and a
 * closed log leaves nothing in memory. And a ring that vanished is never taken for one that was closed.
 */
#include "capture_check.h"

#include <dirent.h>
#include <sys/mman.h>

#include "drainer.h"
#include "format/format.h"
#include "system/system.h"

static char *folder;         /* the log's, on disk */
static char *memory;         /* where rings go: on tmpfs if there is one */
static const char *log_path; /* in folder */

/* Numbers of accepted events, in memory that a killed child leaves. */
typedef struct testimony {
  uint64_t accepted;
  uint64_t calls;
} testimony;
static testimony *told;

static char *make_memory(void) {
  char *path = malloc(64);
  REQUIRE(path);
  strcpy(path, "/dev/shm/weir-test-XXXXXX");
  if (mkdtemp(path)) return path;
  free(path);
  return scratch();
}

static void begin(const char *name) {
  test(name);
  folder = scratch();
  memory = make_memory();
  log_path = strdup(join(folder, "log"));
  memset(told, 0, sizeof *told);
}

static void end(void) {
  scratch_remove(folder);
  scratch_remove(memory);
  free((void *)log_path);
}

static const char *in_memory(const char *name) { return join(memory, name); }

static uint64_t entries(const char *directory) {
  DIR *stream = opendir(directory);
  if (!stream) return 0;
  uint64_t count = 0;
  for (struct dirent *entry; (entry = readdir(stream));) count += entry->d_name[0] != '.';
  closedir(stream);
  return count;
}

/* The one ring in a directory elsewhere. */
static const char *ring_in(const char *directory) {
  const char *found = NULL;
  DIR *stream = opendir(directory);
  REQUIRE(stream);
  for (struct dirent *entry; (entry = readdir(stream));) {
    size_t length = strlen(entry->d_name);
    if (length == 26 && strncmp(entry->d_name, "weir-", 5) == 0) found = join(directory, entry->d_name);
  }
  closedir(stream);
  return found;
}

static int there(const char *name) { return access(join(log_path, name), F_OK) == 0; }

/* Drains when asked only, but for the first event, so that later ones stay in their lane. */
static weir_status open_overflowing(const char *ring, uint64_t overflow_lanes, weir_log **log, weir_recovery *recovery,
                                    weir_error *error) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 3;
  options.lane_bytes = 65536;
  options.overflow_bytes = overflow_lanes * options.lane_bytes;
  options.max_event_bytes = 1024;
  options.segment_bytes = 1 << 18;
  options.drain_interval_ns = UINT64_C(10000000000);
  options.ring_directory = ring;
  *log = NULL;
  return weir_open(log_path, &options, log, recovery, error);
}

static weir_status open_at(const char *ring, weir_log **log, weir_recovery *recovery, weir_error *error) {
  return open_overflowing(ring, 2, log, recovery, error);
}

static weir_log *open_well(const char *ring, weir_recovery *recovery) {
  weir_log *log;
  weir_error error;
  if (!CHECK_EQUAL(open_at(ring, &log, recovery, &error), WEIR_OK)) fprintf(stderr, "%s\n", error.message);
  REQUIRE(log);
  return log;
}

static void capture(weir_log *log, uint64_t count) {
  uint32_t type = define_numbered(log);
  for (uint64_t i = 0; i < count; i++) {
    if (CHECK_EQUAL(capture_numbered(log, type, 0, told->accepted, i % 100, NULL), WEIR_ACCEPTED)) told->accepted++;
  }
}

/* A process that dies with events in segments and in a lane. */
static void die_with_events(const char *ring) {
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    checks_failed = 0;
    weir_log *log = open_well(ring, NULL);
    capture(log, 40);
    hold_drainer(log);
    capture(log, 40);
    if (checks_failed) _exit(9);
    kill(getpid(), SIGKILL);
  }
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
}

static void print_finding(void *context, const weir_finding *finding) {
  (void)context;
  fprintf(stderr, "%s: %s: %s\n", test_name, finding->file, finding->problem);
}

/* All that was accepted is there, and nothing is wrong. A killed capture may have come to be without its answer. */
static void check_whole(void) {
  found_log found = read_log(log_path);
  check_sound(&found);
  uint64_t count = check_producer(&found, 0);
  if (count == told->accepted + 1) told->accepted++;
  CHECK_EQUAL(count, told->accepted);
  found_free(&found);
  weir_verification verification;
  weir_stat stat;
  weir_error error;
  CHECK_EQUAL(weir_verify(log_path, print_finding, NULL, &verification, &error), WEIR_OK);
  CHECK_EQUAL(verification.findings, 0);
  CHECK_EQUAL(weir_stat_directory(log_path, &stat, &error), WEIR_OK);
  CHECK_EQUAL(stat.ring_vanished, 0);
  CHECK_EQUAL(stat.damaged, 0);
  CHECK_EQUAL(stat.events + stat.lane_events, told->accepted);
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

static void opened_and_closed(void) {
  begin("a ring elsewhere is there while the log is open, and gone when it is closed");
  for (int round = 0; round < 4; round++) {
    const char *ring = round == 2 ? NULL : in_memory("rings");
    weir_recovery recovery;
    weir_log *log = open_well(ring, &recovery);
    CHECK_EQUAL(recovery.was_clean, 1);
    CHECK_EQUAL(recovery.ring_vanished + recovery.ring_replaced, 0);
    CHECK_EQUAL(there(RING_NAME), ring == NULL);
    CHECK_EQUAL(there(LOCATOR_NAME), ring != NULL);
    CHECK_EQUAL(entries(in_memory("rings")), ring ? 1 : 0);
    if (ring) {
      struct stat status;
      REQUIRE(stat(ring_in(ring), &status) == 0);
      CHECK_EQUAL(status.st_mode & 07777, 0600);
      REQUIRE(stat(ring, &status) == 0);
      CHECK_EQUAL(status.st_mode & 07777, 0700);
    }
    capture(log, 100);
    CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
    weir_stat stat;
    CHECK_EQUAL(weir_stat_directory(log_path, &stat, NULL), WEIR_OK);
    CHECK_EQUAL(stat.live + stat.lanes, 4);
    CHECK_EQUAL(stat.damaged, 0);
    close_and_free(log);
    CHECK_EQUAL(entries(in_memory("rings")), 0);
    check_whole();
  }
  end();
}

#ifdef WEIR_FAULT_INJECTION
static struct {
  ino_t directory; /* the ring's */
  int renamed, synced, announced_unsynced;
} ring_calls;

static void watch_ring(const weir_call *call, int after) {
  struct stat status;
  if (!after || call->fd < 0 || fstat(call->fd, &status) != 0) return;
  int is_rings = status.st_ino == ring_calls.directory;
  if (is_rings && strcmp(call->operation, "sys_rename") == 0) ring_calls.renamed = 1, ring_calls.synced = 0;
  if (is_rings && strcmp(call->operation, "sys_sync_directory") == 0) ring_calls.synced = ring_calls.renamed;
  if (call->name && strcmp(call->name, LOCATOR_NEW_NAME) == 0 && strcmp(call->operation, "sys_rename") == 0) {
    ring_calls.announced_unsynced |= !ring_calls.synced;
  }
}

/* Otherwise a power cut can leave a ring that was in use under its temporary name, which says that nothing was lost. */
static void named_before_announced(void) {
  begin("a ring elsewhere has its name on the disk before the log says where it is");
  const char *ring = in_memory("rings");
  struct stat status;
  REQUIRE((mkdir(ring, 0700) == 0 || errno == EEXIST) && stat(ring, &status) == 0);
  memset(&ring_calls, 0, sizeof ring_calls);
  ring_calls.directory = status.st_ino;
  for (int round = 0; round < 2; round++) {
    if (round == 1) die_with_events(ring);
    weir_fault_observe(watch_ring);
    weir_log *log = open_well(ring, NULL);
    weir_fault_observe(NULL);
    CHECK_EQUAL(ring_calls.renamed, 1);
    CHECK_EQUAL(ring_calls.announced_unsynced, 0);
    close_and_free(log);
  }
  end();
}

static struct {
  ino_t ring;
  int removed, early;
} block_calls;

static void watch_blocks(const weir_call *call, int after) {
  struct stat status;
  if (after || call->fd < 0 || fstat(call->fd, &status) != 0 || status.st_ino != block_calls.ring) return;
  block_calls.removed |= strcmp(call->operation, "sys_remove_blocks") == 0;
  if (strncmp(call->operation, "sys_allocate", strlen("sys_allocate")) == 0) block_calls.early |= !block_calls.removed;
}

/* Otherwise a full disk keeps a log from opening whose ring was made without overflow lanes. */
static void frees_before_it_allocates(void) {
  begin("a ring that was made without overflow lanes is used again, and blocks are freed before others are taken");
  weir_log *log;
  CHECK_EQUAL(open_overflowing(NULL, 0, &log, NULL, NULL), WEIR_OK);
  close_and_free(log);
  struct stat status;
  REQUIRE(stat(join(log_path, RING_NAME), &status) == 0);
  memset(&block_calls, 0, sizeof block_calls);
  block_calls.ring = status.st_ino;
  weir_fault_observe(watch_blocks);
  log = open_well(NULL, NULL);
  weir_fault_observe(NULL);
  CHECK(stat(join(log_path, RING_NAME), &status) == 0 && status.st_ino == block_calls.ring);
  CHECK(block_calls.removed);
  CHECK(!block_calls.early);
  close_and_free(log);
  end();
}
#endif

static void died(void) {
  begin("the next opening finds the ring where it is, whatever its own option says");
  const char *places[] = {in_memory("one"), in_memory("one"), in_memory("two"), NULL, in_memory("one")};
  for (int i = 0; i < 4; i++) {
    die_with_events(places[i]);
    const char *file = places[i] ? ring_in(places[i]) : NULL;
    char *before = file ? strdup(file) : NULL;
    check_whole();
    weir_recovery recovery;
    weir_log *log = open_well(places[i + 1], &recovery);
    CHECK_EQUAL(recovery.events_from_lanes, 40);
    CHECK_EQUAL(recovery.was_clean + recovery.ring_vanished + recovery.ring_replaced, 0);
    if (i == 0) CHECK(strcmp(ring_in(places[1]), before) == 0); /* the same file, used again */
    CHECK_EQUAL(entries(in_memory("one")) + entries(in_memory("two")), places[i + 1] != NULL);
    CHECK_EQUAL(there(RING_NAME), places[i + 1] == NULL);
    capture(log, 10);
    close_and_free(log);
    check_whole();
    free(before);
  }
  end();
}

static void kept_when_not_drained(void) {
  begin("a close that can't write the last events leaves the ring with them");
  weir_log *log = open_well(in_memory("rings"), NULL);
  capture(log, 100);
  weir_error error;
  weir_fault_set("sys_sync_data", 1, 1000, EIO);
  CHECK_EQUAL(weir_close(log, &error), WEIR_ERROR_IO);
  weir_fault_set("", 0, 0, 0);
  weir_free(log);
  CHECK(ring_in(in_memory("rings")));
  check_whole();
  log = open_well(in_memory("rings"), NULL);
  close_and_free(log);
  CHECK_EQUAL(entries(in_memory("rings")), 0);
  check_whole();
  end();
}

/* ---- Vanished ---------------------------------------------------------------------------------------------------- */

static uint64_t vanished_findings;

static void count_vanished(void *context, const weir_finding *finding) {
  (void)context;
  vanished_findings += strcmp(finding->file, LOCATOR_NAME) == 0 && strstr(finding->problem, "not where it was") != NULL;
}

/* Reading, verify and stat say that the ring has vanished, and so does the next opening, not the one after it. */
static void check_vanished(const char *next_ring) {
  found_log found = read_log(log_path);
  CHECK_EQUAL(found.end, WEIR_END);
  CHECK_EQUAL(found.skipped, 1);
  CHECK_EQUAL(found.count, 40);
  uint64_t left = found.count;
  found_free(&found);
  weir_verification verification;
  weir_stat stat;
  vanished_findings = 0;
  CHECK_EQUAL(weir_verify(log_path, count_vanished, NULL, &verification, NULL), WEIR_OK);
  CHECK_EQUAL(vanished_findings, 1);
  CHECK_EQUAL(verification.findings, 1);
  CHECK_EQUAL(weir_stat_directory(log_path, &stat, NULL), WEIR_OK);
  CHECK_EQUAL(stat.ring_vanished + stat.damaged, 2);
  weir_recovery recovery;
  weir_log *log = open_well(next_ring, &recovery);
  CHECK_EQUAL(recovery.ring_vanished + recovery.ring_replaced, 2);
  CHECK_EQUAL(recovery.was_clean, 0);
  CHECK(recovery.previous_opening != 0);
  close_and_free(log);
  told->accepted = left;
  check_whole();
  log = open_well(next_ring, &recovery);
  CHECK_EQUAL(recovery.was_clean, 1);
  close_and_free(log);
}

static void vanished(void) {
  for (int directory = 0; directory < 2; directory++) {
    for (int next = 0; next < 3; next++) {
      begin(directory ? "the ring's directory vanished" : "the ring's file vanished");
      die_with_events(in_memory("rings"));
      REQUIRE(unlink(ring_in(in_memory("rings"))) == 0);
      if (directory) REQUIRE(rmdir(in_memory("rings")) == 0);
      check_vanished(next == 0 ? NULL : in_memory(next == 1 ? "rings" : "others"));
      end();
    }
  }
}

static void copied(void) {
  begin("a copy of a log does not touch the ring of the original");
  die_with_events(in_memory("rings"));
  uint64_t accepted = told->accepted, before = tree_checksum(memory);
  char command[8192];
  const char *original = log_path;
  snprintf(command, sizeof command, "cp -a '%s' '%s/copy'", log_path, folder);
  REQUIRE(system(command) == 0);
  log_path = join(folder, "copy");
  check_vanished(NULL);
  CHECK_EQUAL(tree_checksum(memory), before);
  told->accepted = accepted;
  log_path = original;
  check_whole();
  REQUIRE(rename(log_path, join(folder, "moved")) == 0);
  free((void *)log_path);
  log_path = strdup(join(folder, "moved"));
  test("a renamed log finds its ring");
  check_whole();
  close_and_free(open_well(NULL, NULL));
  check_whole();
  CHECK_EQUAL(entries(in_memory("rings")), 0);
  end();
}

/* ---- Refused ----------------------------------------------------------------------------------------------------- */

static void check_refused(const char *ring, weir_status expected) {
  weir_log *log;
  weir_error error;
  uint64_t before = tree_checksum(memory);
  CHECK_EQUAL(open_at(ring, &log, NULL, &error), expected);
  CHECK(strlen(error.message) > 20);
  CHECK_EQUAL(tree_checksum(memory), before);
  if (log) weir_free(log);
}

static void refused(void) {
  begin("a directory that is not safe is refused");
  check_refused("relative/path", WEIR_ERROR_INVALID);
  check_refused("", WEIR_ERROR_INVALID);
  check_refused(in_memory("missing/rings"), WEIR_ERROR_MISSING);
  REQUIRE(mkdir(in_memory("open"), 0700) == 0 && chmod(in_memory("open"), 01777) == 0);
  check_refused(in_memory("open"), WEIR_ERROR_UNSAFE);
  REQUIRE(mkdir(in_memory("real"), 0700) == 0 && symlink(in_memory("real"), in_memory("link")) == 0);
  check_refused(in_memory("link"), WEIR_ERROR_DIRECTORY);
  if (geteuid() == 0) {
    REQUIRE(mkdir(in_memory("foreign"), 0755) == 0 && chown(in_memory("foreign"), 12345, 12345) == 0);
    check_refused(in_memory("foreign"), WEIR_ERROR_UNSAFE);
  }
  test("case 50: a link in the ring's place is refused, and not followed");
  die_with_events(in_memory("rings"));
  char *ring = strdup(ring_in(in_memory("rings"))), *aside = strdup(in_memory("aside"));
  REQUIRE(rename(ring, aside) == 0 && symlink(aside, ring) == 0);
  check_refused(in_memory("rings"), WEIR_ERROR_UNSAFE);
  check_refused(NULL, WEIR_ERROR_UNSAFE);
  REQUIRE(rename(aside, ring) == 0);
  check_whole();
  REQUIRE(chmod(in_memory("rings"), 0777) == 0);
  check_refused(NULL, WEIR_ERROR_UNSAFE);
  REQUIRE(chmod(in_memory("rings"), 0700) == 0);
  close_and_free(open_well(NULL, NULL));
  check_whole();
  free(ring);
  free(aside);
  end();
}

/* A byte of the locator changed: reading says that something is wrong, or refuses; it never says that all is well. */
static void damaged(void) {
  begin("a damaged locator is no clean log");
  die_with_events(in_memory("rings"));
  char command[8192];
  snprintf(command, sizeof command, "cp -a '%s' '%s/kept'", log_path, folder);
  for (uint64_t at = 0; at < sizeof(ring_locator); at += at < 128 ? 1 : 1 + random_below(400)) {
    int fd = open(join(log_path, LOCATOR_NAME), O_RDWR);
    uint8_t byte;
    REQUIRE(fd >= 0 && pread(fd, &byte, 1, (off_t)at) == 1);
    uint8_t other = byte ^ (uint8_t)(1u << random_below(8));
    REQUIRE(pwrite(fd, &other, 1, (off_t)at) == 1);
    weir_verification verification;
    weir_status status = weir_verify(log_path, NULL, NULL, &verification, NULL);
    if (status == WEIR_OK) CHECK(verification.findings > 0);
    else CHECK_EQUAL(status, WEIR_ERROR_VERSION);
    weir_stat stat;
    status = weir_stat_directory(log_path, &stat, NULL);
    if (status == WEIR_OK) CHECK_EQUAL(stat.damaged, 1);
    found_log found = read_log(log_path);
    CHECK(found.skipped > 0 || found.end == WEIR_ERROR_VERSION);
    found_free(&found);
    REQUIRE(pwrite(fd, &byte, 1, (off_t)at) == 1);
    close(fd);
  }
  check_whole();
  REQUIRE(truncate(join(log_path, LOCATOR_NAME), 100) == 0);
  weir_recovery recovery;
  weir_log *log = open_well(NULL, &recovery);
  CHECK_EQUAL(recovery.ring_replaced, 1);
  CHECK_EQUAL(recovery.was_clean, 0);
  close_and_free(log);
  CHECK_EQUAL(entries(join(log_path, QUARANTINE_NAME)), 2); /* and its note */
  end();

  test("a damaged ring elsewhere is quarantined");
  begin(test_name);
  die_with_events(in_memory("rings"));
  int fd = open(ring_in(in_memory("rings")), O_RDWR);
  uint8_t byte;
  REQUIRE(fd >= 0 && pread(fd, &byte, 1, 20) == 1);
  byte ^= 1; /* whatever the opening's random number has there */
  REQUIRE(pwrite(fd, &byte, 1, 20) == 1);
  close(fd);
  log = open_well(in_memory("rings"), &recovery);
  CHECK_EQUAL(recovery.ring_replaced, 1);
  CHECK_EQUAL(recovery.was_clean, 0);
  close_and_free(log);
  CHECK_EQUAL(entries(join(log_path, QUARANTINE_NAME)), 2); /* and its note */
  CHECK_EQUAL(entries(in_memory("rings")), 0);
  end();
}

/* ---- Killed, or failing, at each system call --------------------------------------------------------------------- */

/* Opens at `ring`, captures, closes; the n-th system call fails, or kills. Judged by what is there afterwards. */
static void struck(const char *ring, uint64_t nth, int error) {
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child != 0) {
    int status = wait_for(child);
    CHECK(status == 0 || (status == 1000 + SIGKILL && error == WEIR_FAULT_KILL));
    if (status != 0) told->calls = UINT64_MAX;
    return;
  }
  weir_log *log;
  weir_error problem;
  checks_failed = 0;
  weir_fault_set("any", nth, 1, error);
  if (open_at(ring, &log, NULL, &problem) == WEIR_OK) {
    uint32_t type = define_numbered(log);
    for (int i = 0; i < 20; i++) {
      if (capture_numbered(log, type, 0, told->accepted, 30, NULL) != WEIR_ACCEPTED) break;
      told->accepted++;
    }
    weir_close(log, &problem);
    weir_free(log);
  }
  told->calls = weir_fault_count();
  _exit(checks_failed != 0);
}

/* One opening that is struck at its n-th call, from a dead or a closed log. Answers whether it came to that call. */
static int strike(const char *from, int dead, const char *to, uint64_t nth, int error) {
  begin(test_name);
  static char from_path[200], to_path[200];
  snprintf(from_path, sizeof from_path, "%s/%s", memory, from ? from : "");
  snprintf(to_path, sizeof to_path, "%s/%s", memory, to ? to : "");
  if (dead) {
    die_with_events(from ? from_path : NULL);
  } else {
    weir_log *log = open_well(from ? from_path : NULL, NULL);
    capture(log, 20);
    close_and_free(log);
  }
  struck(to ? to_path : NULL, nth, error);
  int came = told->calls >= nth;
  if (error == WEIR_FAULT_KILL) check_whole();
  const char *last = random_below(2) ? NULL : random_below(2) ? from_path : to_path;
  weir_recovery recovery;
  weir_log *log = open_well(last, &recovery);
  CHECK_EQUAL(recovery.ring_vanished + recovery.ring_replaced, 0);
  CHECK_EQUAL(recovery.damaged_blocks + recovery.damaged_records + recovery.missing_events, 0);
  capture(log, 5);
  close_and_free(log);
  check_whole();
  for (int i = 0; i < 2; i++) {
    const char *path = i ? to_path : from_path;
    if (strcmp(path, memory) != 0 && strcmp(path + strlen(memory), "/") != 0) CHECK_EQUAL(entries(path), 0);
  }
  CHECK(!(there(RING_NAME) && there(LOCATOR_NAME)));
  CHECK(!there(RING_NEW_NAME) && !there(LOCATOR_NEW_NAME));
  end();
  return came;
}

static void each_call(void) {
  static const struct {
    const char *from, *to;
    int dead;
  } moves[] = {{NULL, "one", 1},  {"one", "one", 1}, {"one", "two", 1},
               {"one", NULL, 1}, {"one", "one", 0}, {"one", NULL, 0}};
  static const struct {
    const char *name;
    int error;
  } strikes[] = {{"killed", WEIR_FAULT_KILL}, {"EIO", EIO}, {"ENOSPC", ENOSPC}};
  uint64_t count = 0;
  for (size_t move = 0; move < sizeof moves / sizeof *moves; move++) {
    for (int kind = 0; kind < 3; kind++) {
      uint64_t pace = kind == 0 ? 1 : 3; /* errors at a third of the calls, another third each run */
      for (uint64_t nth = 1 + random_below(pace); nth < 400; nth += pace) {
        static char name[100];
        const char *from = moves[move].from ? moves[move].from : "here", *to = moves[move].to ? moves[move].to : "here";
        snprintf(name, sizeof name, "from %s (%s) to %s: %s at call %" PRIu64, from,
                 moves[move].dead ? "dead" : "closed", to, strikes[kind].name, nth);
        test(name);
        count++;
        if (!strike(moves[move].from, moves[move].dead, moves[move].to, nth, strikes[kind].error)) break;
      }
    }
  }
  printf("ring_test: %" PRIu64 " openings struck\n", count);
}

/* On a machine with pages of 16 or 64 KiB most of a ring's control pages begin within one. */
static void populated(void) {
  test("pages are populated that what is asked for begins or ends within");
  enum { PAGES = 4 };
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  uint8_t *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  int whole = sys_populate(memory + 2 * page, page);
  if (whole == -EINVAL) printf("skipped: %s, this kernel can't\n", test_name);
  else CHECK_EQUAL(sys_populate(memory + page / 4, page), 0);
  uint8_t there[PAGES];
  REQUIRE(mincore(memory, PAGES * page, there) == 0);
  if (whole == 0) CHECK((there[0] & 1) && (there[1] & 1) && (there[2] & 1) && !(there[3] & 1));
  munmap(memory, PAGES * page);
}

static void removed_pages(void) {
  test("pages are removed that lie whole in what is asked for, and no others");
  enum { PAGES = 4 };
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  uint8_t *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  const struct { uint64_t from, bytes; int first, end; } cases[] = {
      {0, 2 * page, 0, 2}, {page / 4, 2 * page, 1, 2}, {0, page + 8, 0, 1}, {page, page - 8, 0, 0}, {8, page, 0, 0}};
  for (uint64_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    memset(memory, 1, PAGES * page);
    int none = cases[i].first == cases[i].end;
    CHECK_EQUAL(sys_remove_pages(memory + cases[i].from, cases[i].bytes), none ? -EINVAL : 0);
    for (int k = 0; k < PAGES; k++) {
      int removed = k >= cases[i].first && k < cases[i].end;
      CHECK_EQUAL(memory[(uint64_t)k * page], !removed);
      CHECK_EQUAL(memory[(uint64_t)(k + 1) * page - 1], !removed);
    }
  }
  munmap(memory, PAGES * page);
}

int main(void) {
  random_start("ring_test");
  told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(told != MAP_FAILED);
  populated();
  removed_pages();
  opened_and_closed();
#ifdef WEIR_FAULT_INJECTION
  named_before_announced();
  frees_before_it_allocates();
#endif
  died();
  kept_when_not_drained();
  vanished();
  copied();
  refused();
  damaged();
  each_call();
  return finish();
}
