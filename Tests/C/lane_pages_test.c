/*
 * lane_pages_test.c: what a new log takes, and that it takes more when threads come: lanes get their blocks when they
 * are used; on a full disk threads share the lanes that are ready; and neither a signal handler nor a host that closes
 * descriptors is surprised.
 */
#include "capture_check.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>

#include "capture/lane_pages.h"
#include "directory/sizes.h"
#include "log/log.h"
#include "ring/ring.h"
#include "system/system.h"
#include "weir_failing.h"

enum { OWNED = 4, SPARE = 2, LANES = OWNED + SPARE };

static weir_options lane_options(void) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = LANES;
  options.spare_lanes = SPARE;
  return options;
}

static weir_log *open_lanes(const char *directory) {
  weir_options options = lane_options();
  weir_log *log = NULL;
  weir_error error;
  if (!CHECK_EQUAL(weir_open(directory, &options, &log, NULL, &error), WEIR_OK)) fprintf(stderr, "%s\n", error.message);
  REQUIRE(log);
  return log;
}

static lane *lane_at(weir_log *log, int index) { return &((event_log *)log)->intake.lanes[index]; }
static uint32_t is_ready(weir_log *log, int index) {
  return __atomic_load_n(&lane_at(log, index)->ready, __ATOMIC_RELAXED);
}

static uint64_t blocks_of(const char *directory, const char *name) {
  struct stat status;
  REQUIRE(stat(join(directory, name), &status) == 0);
  return (uint64_t)status.st_blocks * 512;
}

/* What the log's files take on the disk. */
static uint64_t disk_bytes(const char *directory) {
  char command[4200];
  snprintf(command, sizeof command, "du -s --block-size=1 '%s'", directory);
  FILE *output = popen(command, "r");
  uint64_t bytes = 0;
  REQUIRE(output && fscanf(output, "%" SCNu64, &bytes) == 1);
  pclose(output);
  return bytes;
}

/* What this process has of them in memory. */
static uint64_t resident_bytes(const char *directory) {
  FILE *maps = fopen("/proc/self/smaps", "r");
  REQUIRE(maps);
  char line[5000];
  uint64_t from, kib, bytes = 0;
  int ours = 0;
  while (fgets(line, sizeof line, maps)) {
    if (sscanf(line, "%" SCNx64 "-%*x %*s", &from) == 1 && strchr(line, '-')) ours = strstr(line, directory) != NULL;
    if (ours && sscanf(line, "Rss: %" SCNu64, &kib) == 1) bytes += kib * 1024;
  }
  fclose(maps);
  return bytes;
}

static void new_log(void) {
  test("with the defaults, a log takes at most 4 MiB of disk and of memory before its first event");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_default(directory, NULL);
  REQUIRE(log);
  weir_options options;
  weir_options_init(&options);
  int first_spare = (int)(options.lane_count - options.spare_lanes);
  sleep_ns(20000000); /* until all is populated */
  for (int i = 0; i < (int)options.lane_count; i++) CHECK_EQUAL(is_ready(log, i), i == 0 || i == first_spare);
  CHECK(disk_bytes(directory) <= 4 << 20);
  CHECK(resident_bytes(directory) <= 4 << 20);
  close_and_free(log);
  scratch_remove(folder);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static pthread_barrier_t captured, may_end;

#define UNTIL_FULL UINT64_MAX /* until the log can't grow and a lane is full */

typedef struct producer {
  weir_log *log;
  uint32_t type;
  uint64_t number; /* of the producer */
  uint64_t tries;  /* or UNTIL_FULL */
  uint64_t accepted;
  int32_t answer; /* the last */
} producer;

static int32_t capture_next(producer *producer) {
  int32_t answer = capture_numbered(producer->log, producer->type, producer->number, producer->accepted, 1000, NULL);
  producer->accepted += answer == WEIR_ACCEPTED;
  return producer->answer = answer;
}

/* A thread that captures, and lives until may_end. */
static void *produce(void *context) {
  producer *producer = context;
  for (uint64_t i = 0; i < producer->tries; i++) {
    int32_t answer = capture_next(producer);
    if (producer->tries != UNTIL_FULL || answer == WEIR_ACCEPTED) continue;
    if (answer == WEIR_DROP_STORAGE) break;
    sleep_ns(100000);
  }
  pthread_barrier_wait(&captured);
  pthread_barrier_wait(&may_end);
  return NULL;
}

static void twice_as_many(void) {
  test("twice as many lanes of each kind are ready as are in use");
  char *folder = scratch();
  weir_log *log = open_lanes(join(folder, "log"));
  CHECK_EQUAL(capture_numbered(log, define_numbered(log), 0, 0, 10, NULL), WEIR_ACCEPTED);
  CHECK_AWAIT(is_ready(log, 1) && is_ready(log, OWNED + 1));
  sleep_ns(20000000);
  CHECK_EQUAL(is_ready(log, 2), 0);
  close_and_free(log);
  scratch_remove(folder);
}

static void take_lanes(void) {
  test("a ring grows by the lanes that threads take, and holds what they capture after a kill");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    checks_failed = 0;
    weir_log *log = open_lanes(directory);
    pthread_t threads[OWNED];
    producer producers[OWNED];
    uint32_t type = define_numbered(log);
    pthread_barrier_init(&captured, NULL, OWNED + 1);
    pthread_barrier_init(&may_end, NULL, OWNED + 1);
    for (int i = 0; i < OWNED; i++) {
      producers[i] = (producer){.log = log, .type = type, .number = (uint64_t)i, .tries = 50};
      REQUIRE(pthread_create(&threads[i], NULL, produce, &producers[i]) == 0);
    }
    pthread_barrier_wait(&captured);
    for (int i = 0; i < OWNED; i++) CHECK_EQUAL(producers[i].answer, WEIR_ACCEPTED);
    CHECK(blocks_of(directory, "ring") >= (OWNED + 1) * lane_options().lane_bytes);
    if (checks_failed) _exit(1);
    kill(getpid(), SIGKILL);
  }
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
  for (int again = 0; again < 2; again++) {
    found_log found = read_log(directory);
    check_sound(&found);
    for (int i = 0; i < OWNED; i++) CHECK_EQUAL(check_producer(&found, (uint64_t)i), 50);
    found_free(&found);
    close_and_free(open_lanes(directory)); /* with the old ring's file, which has blocks and old records */
  }
  scratch_remove(folder);
}

/* ---- No space ---------------------------------------------------------------------------------------------------- */

/* Runs a thread that captures once or more. */
static producer capture_beside(weir_log *log, uint32_t type, uint64_t number, uint64_t tries) {
  pthread_t thread;
  producer producer = {.log = log, .type = type, .number = number, .tries = tries};
  pthread_barrier_init(&captured, NULL, 1);
  pthread_barrier_init(&may_end, NULL, 1);
  REQUIRE(pthread_create(&thread, NULL, produce, &producer) == 0);
  pthread_join(thread, NULL);
  return producer;
}

/* Takes the first lane, and keeps every other but the first spare one from getting blocks. */
static weir_log *open_full(const char *directory, uint32_t *type) {
  weir_log *log = open_lanes(directory);
  weir_fault_set("sys_allocate_more", 1, UINT64_MAX, ENOSPC);
  *type = define_numbered(log);
  CHECK_EQUAL(capture_numbered(log, *type, 0, 0, 10, NULL), WEIR_ACCEPTED);
  return log;
}

enum { SHARERS = 2 * OWNED };

/* Threads that live until all of them have captured so often. The numbers of their events go on where they stopped. */
static void start_threads(weir_log *log, uint32_t type, uint64_t tries, producer producers[SHARERS],
                          pthread_t threads[SHARERS]) {
  pthread_barrier_init(&captured, NULL, SHARERS + 1);
  pthread_barrier_init(&may_end, NULL, SHARERS + 1);
  for (int i = 0; i < SHARERS; i++) {
    producers[i].log = log;
    producers[i].type = type;
    producers[i].number = 1 + (uint64_t)i;
    producers[i].tries = tries;
    REQUIRE(pthread_create(&threads[i], NULL, produce, &producers[i]) == 0);
  }
  pthread_barrier_wait(&captured);
}

static void end_threads(pthread_t threads[SHARERS]) {
  pthread_barrier_wait(&may_end);
  for (int i = 0; i < SHARERS; i++) pthread_join(threads[i], NULL);
}

static void threads_share(void) {
  test("on a full disk threads without blocks for their lane share a spare lane; a kill loses nothing of it");
  for (int killed = 0; killed < 2; killed++) {
    char *folder = scratch();
    const char *directory = join(folder, "log");
    pid_t child = killed ? fork() : 0;
    REQUIRE(child >= 0);
    if (child == 0) {
      if (killed) checks_failed = 0;
      uint32_t type;
      producer producers[SHARERS] = {0};
      pthread_t threads[SHARERS];
      weir_log *log = open_full(directory, &type);
      start_threads(log, type, 50, producers, threads);
      for (int i = 0; i < SHARERS; i++) CHECK_EQUAL(producers[i].accepted, 50);
      for (int i = 1; i < LANES; i++) CHECK_EQUAL(is_ready(log, i), i == OWNED);
      if (killed) {
        if (checks_failed == 0) kill(getpid(), SIGKILL);
        _exit(1);
      }
      weir_fault_set("", 0, 0, 0); /* from now on there is space */
      end_threads(threads);
      sleep_ns(2 * LANE_RETRY_NS);
      CHECK_EQUAL(capture_numbered(log, type, 0, 1, 10, NULL), WEIR_ACCEPTED);
      CHECK_EQUAL(capture_beside(log, type, SHARERS + 1, 10).accepted, 10);
      CHECK_EQUAL(is_ready(log, 1), 1);
      close_and_free(log);
    }
    if (killed) CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
    if (killed) close_and_free(open_lanes(directory));
    found_log found = read_log(directory);
    check_sound(&found);
    CHECK_EQUAL(found.gaps, 0);
    for (int i = 1; i <= SHARERS; i++) CHECK_EQUAL(check_producer(&found, (uint64_t)i), 50);
    CHECK_EQUAL(found.count, SHARERS * 50 + (killed ? 1 : 12));
    found_free(&found);
    scratch_remove(folder);
  }
}

/* From now on no file of the log is made or grows. */
static int fill_simulated(const char *directory) {
  int fault = weir_fail_begin(directory, WEIR_FAIL_GROW | WEIR_FAIL_CREATE, 0, UINT64_MAX, ENOSPC);
  REQUIRE(fault > 0);
  return fault;
}

static void mend_and_close(weir_log *log, int fault) {
  weir_fail_end(fault);
  CHECK_EQUAL(weir_drain(log, UINT64_C(60000000000), NULL, NULL), WEIR_OK);
  close_and_free(log);
}

static void until_all_are_full(void) {
  test("when the log can't grow either, captures are accepted until every lane that is ready is full");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_lanes(directory);
  producer here = {.log = log, .type = define_numbered(log)}, producers[SHARERS] = {0};
  pthread_t threads[SHARERS];
  CHECK_EQUAL(capture_next(&here), WEIR_ACCEPTED);
  CHECK_AWAIT(is_ready(log, 1) && is_ready(log, OWNED + 1)); /* no more than these, and what is in use */
  int fault = fill_simulated(directory);
  while (capture_next(&here) != WEIR_DROP_STORAGE) continue;
  start_threads(log, here.type, UNTIL_FULL, producers, threads);
  const weir_options options = lane_options(); /* a lane is full when the largest record has no room */
  uint64_t accepted = 0, lane_holds = (options.lane_bytes - options.max_event_bytes) / (1000 + NUMBERED_BYTES + 32);
  for (int i = 0; i < SHARERS; i++) accepted += producers[i].accepted;
  CHECK(here.accepted >= lane_holds);
  CHECK(accepted >= (1 + SPARE) * lane_holds);
  CHECK_EQUAL(is_ready(log, 2) + is_ready(log, 3), 0);
  end_threads(threads);
  mend_and_close(log, fault);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 0), here.accepted);
  CHECK_EQUAL(found.count, here.accepted + accepted);
  found_free(&found);
  scratch_remove(folder);
}

static void room_first(void) {
  test("a thread takes a lane with room before one that an ended thread left full");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_lanes(directory);
  uint32_t type = define_numbered(log);
  CHECK_EQUAL(capture_beside(log, type, 0, 1).accepted, 1);
  CHECK_AWAIT(is_ready(log, 1));
  int fault = fill_simulated(directory);
  producer filled = capture_beside(log, type, 1, UNTIL_FULL);
  CHECK_EQUAL(capture_beside(log, type, 2, 7).accepted, 7);
  mend_and_close(log, fault);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 1), filled.accepted);
  CHECK_EQUAL(check_producer(&found, 2), 7);
  found_free(&found);
  scratch_remove(folder);
}

static void nothing_to_share(void) {
  test("where a full disk leaves no lane to share, captures are refused; refusals are counted, also after a kill");
  for (int killed = 0; killed < 2; killed++) {
    char *folder = scratch();
    const char *directory = join(folder, "log");
    pid_t child = killed ? fork() : 0;
    REQUIRE(child >= 0);
    if (child == 0) {
      if (killed) checks_failed = 0;
      uint32_t type;
      weir_counters counters;
      weir_log *log = open_full(directory, &type);
      lane_at(log, OWNED)->taken = 1; /* as if by a capture that takes long */
      producer refused = capture_beside(log, type, 1, 7);
      CHECK_EQUAL(refused.answer, WEIR_DROP_STORAGE);
      CHECK_EQUAL(refused.accepted, 0);
      CHECK_EQUAL(capture_numbered(log, type, 0, 1, 10, NULL), WEIR_ACCEPTED); /* a lane in use has its blocks */
      weir_count(log, &counters);
      CHECK_EQUAL(counters.dropped[WEIR_DROP_STORAGE], 7);
      CHECK_EQUAL(counters.accepted, 2);
      if (killed && checks_failed == 0) kill(getpid(), SIGKILL);
      lane_at(log, OWNED)->taken = 0;
      CHECK_EQUAL(capture_beside(log, type, 2, 1).answer, WEIR_ACCEPTED);
      weir_fault_set("", 0, 0, 0);
      close_and_free(log);
      if (killed) _exit(1);
    }
    if (killed) CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
    if (killed) close_and_free(open_lanes(directory));
    found_log found = read_log(directory);
    check_sound(&found);
    CHECK_EQUAL(found.gaps, 7);
    CHECK_EQUAL(check_producer(&found, 0), 2);
    CHECK_EQUAL(found.count, killed ? 2 : 3);
    found_free(&found);
    scratch_remove(folder);
  }
}

/* A capture in a signal handler that interrupts two others of its thread. */
static void in_a_signal(void) {
  test("a signal handler's first capture to a spare lane: refused on a full disk, else accepted; errno stays");
  char *folder = scratch(), payload[NUMBERED_BYTES] = {0};
  const char *directory = join(folder, "log");
  uint32_t type;
  weir_log *log = open_full(directory, &type);
  weir_record outer, inner;
  CHECK_EQUAL(weir_begin(log, &outer), WEIR_ACCEPTED);
  CHECK_EQUAL(weir_begin_in_signal(log, &inner), WEIR_ACCEPTED);
  for (int full = 1; full >= 0; full--) {
    if (!full) weir_fault_set("", 0, 0, 0);
    if (!full) sleep_ns(2 * LANE_RETRY_NS);
    payload[0] = 9; /* the producer */
    errno = 77;
    int32_t answer = weir_capture_in_signal(log, type, payload, sizeof payload, NULL);
    CHECK_EQUAL(errno, 77);
    CHECK_EQUAL(answer, full ? WEIR_DROP_STORAGE : WEIR_ACCEPTED);
  }
  weir_cancel(&inner);
  weir_cancel(&outer);
  close_and_free(log);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 9), 1);
  CHECK_EQUAL(found.gaps, 1);
  found_free(&found);
  scratch_remove(folder);
}

/* Writes into a file until the file system is full. */
static void fill_disk(const char *path) {
  static const char zeros[65536];
  int fd = open(path, O_WRONLY | O_CREAT, 0600);
  REQUIRE(fd >= 0);
  for (size_t piece = sizeof zeros; piece >= 512; piece /= 2) {
    while (write(fd, zeros, piece) > 0) continue;
  }
  close(fd);
}

/* Whether the log has a producer's events 0 to `count` - 1, once each: who shares lanes has no order. */
static int has_all(const found_log *found, uint64_t producer, uint64_t count) {
  uint8_t *there = calloc(count + 1, 1);
  uint64_t wrong = 0, seen = 0;
  REQUIRE(there);
  for (uint64_t i = 0; i < found->count; i++) {
    const found_event *event = &found->events[i];
    if (event->producer != producer) continue;
    seen++;
    wrong += event->number >= count || there[event->number]++ > 0;
  }
  free(there);
  return wrong == 0 && seen == count;
}

/* Captures with a full disk below the log. Is killed then, or captures with space again, and closes. */
static void capture_on_full(const char *directory, const char *filling, int killed, uint64_t *told) {
  enum { EACH = 20 };
  weir_log *log = open_lanes(directory);
  uint32_t type = define_numbered(log);
  producer producers[SHARERS] = {0};
  pthread_t threads[SHARERS];
  fill_disk(filling);
  start_threads(log, type, EACH, producers, threads);
  end_threads(threads);
  for (int i = 0; i < SHARERS; i++) CHECK_EQUAL(producers[i].accepted, EACH);
  start_threads(log, type, UNTIL_FULL, producers, threads);
  for (int i = 0; i < SHARERS; i++) told[i] = producers[i].accepted;
  if (killed && checks_failed == 0) kill(getpid(), SIGKILL);
  CHECK_EQUAL(unlink(filling), 0);
  end_threads(threads);
  CHECK_EQUAL(weir_drain(log, UINT64_C(60000000000), NULL, NULL), WEIR_OK);
  CHECK_EQUAL(capture_beside(log, type, SHARERS + 1, 10).accepted, 10);
  close_and_free(log);
}

static void full_file_system(void) {
  test("a tmpfs that fills up right after the opening: every thread captures until the lanes are full");
  char *folder = scratch();
  uint64_t *told = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(told != MAP_FAILED);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    checks_failed = 0;
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("weir", folder, "tmpfs", 0, "mode=0700,size=32m") != 0) {
      printf("SKIPPED: a full tmpfs, because mounting one takes privileges: %s\n", strerror(errno));
      _exit(0);
    }
    for (int killed = 0; killed < 2; killed++) {
      const char *directory = join(folder, killed ? "killed" : "closed"), *filling = join(folder, "filling");
      pid_t host = fork();
      REQUIRE(host >= 0);
      if (host == 0) {
        checks_failed = 0;
        capture_on_full(directory, filling, killed, told);
        _exit(checks_failed != 0);
      }
      CHECK_EQUAL(wait_for(host), killed ? 1000 + SIGKILL : 0);
      unlink(filling);
      if (killed) close_and_free(open_lanes(directory));
      found_log found = read_log(directory);
      check_sound(&found);
      for (int i = 0; i < SHARERS; i++) CHECK(has_all(&found, 1 + (uint64_t)i, told[i]));
      found_free(&found);
    }
    _exit(checks_failed != 0); /* the mount goes with its namespace */
  }
  CHECK_EQUAL(wait_for(child), 0);
  munmap(told, 4096);
  scratch_remove(folder);
}

/* ---- Without the call -------------------------------------------------------------------------------------------- */

/* By populating, where Linux can. */
static void no_descriptor(void) {
  test("after the host closed the ring's descriptor, lanes get their blocks all the same, and its own file gets none");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_lanes(directory);
  uint32_t type = define_numbered(log);
  CHECK_EQUAL(capture_numbered(log, type, 0, 0, 10, NULL), WEIR_ACCEPTED);
  CHECK_AWAIT(is_ready(log, 1));
  lane_at(log, 1)->taken = 1;
  int number = ((event_log *)log)->intake.ring.fd, victim = open(join(folder, "victim"), O_RDWR | O_CREAT, 0600);
  REQUIRE(victim >= 0 && dup2(victim, number) == number);
  CHECK_EQUAL(capture_beside(log, type, 1, 20).accepted, 20);
  struct stat status;
  REQUIRE(fstat(victim, &status) == 0);
  CHECK(status.st_size == 0 && status.st_blocks == 0);
  lane_at(log, 1)->taken = 0;
  close_and_free(log);
  CHECK(fstat(number, &status) == 0); /* it is the host's, and stays open */
  close(number);
  close(victim);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 1), 20);
  found_free(&found);
  scratch_remove(folder);
}

static void no_fallocate(void) {
  test("where a file can't be allocated in parts, the opening allocates the whole ring");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_fault_set("sys_allocate_more", 1, UINT64_MAX, EOPNOTSUPP);
  weir_log *log = open_lanes(directory);
  weir_options options = lane_options();
  CHECK(blocks_of(directory, "ring") >= ring_file_bytes(&options));
  uint32_t type = define_numbered(log);
  for (uint64_t i = 0; i < OWNED; i++) CHECK_EQUAL(capture_beside(log, type, i, 3).accepted, 3);
  weir_fault_set("", 0, 0, 0);
  close_and_free(log);
  scratch_remove(folder);
}

static void unreadable_ring(void) {
  test("a log's size is an error, and no guess, where its ring can't be opened or read");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = lane_options();
  options.overflow_bytes = 64 * options.lane_bytes;
  weir_log *log = NULL;
  REQUIRE(weir_open(directory, &options, &log, NULL, NULL) == WEIR_OK);
  close_and_free(log);
  int at = open(directory, O_RDONLY | O_DIRECTORY);
  REQUIRE(at >= 0);
  log_sizes sizes;
  CHECK_EQUAL(sizes_of_log(at, &sizes), 0);
  CHECK(sizes.claimed < ring_file_bytes(&options) + options.overflow_bytes);
  static const struct {
    const char *operation;
    int error;
  } failures[] = {{"sys_open_read", EMFILE}, {"sys_read_at", EIO}};
  for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
    weir_fault_set(failures[i].operation, 1, UINT64_MAX, failures[i].error);
    CHECK_EQUAL(sizes_of_log(at, &sizes), -failures[i].error);
    weir_fault_set("", 0, 0, 0);
  }
  close(at);
  scratch_remove(folder);
}

static void counts_in_full(void) {
  test("a ring counts in full below the byte limit, whatever it takes yet");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = lane_options();
  log_sizes sizes;
  weir_log *log = open_lanes(directory);
  int at = open(directory, O_RDONLY | O_DIRECTORY);
  REQUIRE(at >= 0);
  CHECK(blocks_of(directory, "ring") < ring_file_bytes(&options));
  CHECK_EQUAL(sizes_of_log(at, &sizes), 0);
  CHECK(sizes.claimed >= ring_file_bytes(&options) && sizes.allocated < sizes.claimed);
  close(at);
  close_and_free(log);
  scratch_remove(folder);
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  new_log();
  twice_as_many();
  take_lanes();
  threads_share();
  until_all_are_full();
  room_first();
  nothing_to_share();
  in_a_signal();
  full_file_system();
  no_descriptor();
  no_fallocate();
  counts_in_full();
  unreadable_ring();
  return finish();
}
