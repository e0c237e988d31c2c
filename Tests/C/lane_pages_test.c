/*
 * lane_pages_test.c: what a new log takes, and that it takes more when threads come: lanes get their blocks when they
 * are used, on a full disk they refuse, counted, and neither a signal handler nor a host that closes descriptors is
 * surprised.
 */
#include "capture_check.h"

#include <pthread.h>

#include "directory/sizes.h"
#include "log/log.h"
#include "ring/ring.h"
#include "system/system.h"

enum { OWNED = 4, SPARE = 1, LANES = OWNED + SPARE };

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
  CHECK_AWAIT(is_ready(log, 1)); /* there is a lane for the second thread, too */
  CHECK_EQUAL(is_ready(log, 2), 0);
  sleep_ns(20000000); /* until all of both is populated */
  CHECK(disk_bytes(directory) <= 4 << 20);
  CHECK(resident_bytes(directory) <= 4 << 20);
  close_and_free(log);
  scratch_remove(folder);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static pthread_barrier_t captured, may_end;

typedef struct producer {
  weir_log *log;
  uint32_t type;
  uint64_t number; /* of the producer */
  uint64_t tries;
  int32_t answer; /* the last */
} producer;

/* A thread with a lane of its own until may_end. */
static void *produce(void *context) {
  producer *producer = context;
  for (uint64_t i = 0; i < producer->tries; i++) {
    producer->answer = capture_numbered(producer->log, producer->type, producer->number, i, 100, NULL);
  }
  pthread_barrier_wait(&captured);
  pthread_barrier_wait(&may_end);
  return NULL;
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
    uint64_t lane = lane_options().lane_bytes, bytes = blocks_of(directory, "ring");
    CHECK(bytes >= OWNED * lane && bytes < (OWNED + 1) * lane + lane / 2);
    CHECK_EQUAL(is_ready(log, OWNED), 0); /* the spare one */
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

/* Runs a thread that captures once or more; answers its last answer. */
static int32_t capture_beside(weir_log *log, uint32_t type, uint64_t number, uint64_t tries) {
  pthread_t thread;
  producer producer = {.log = log, .type = type, .number = number, .tries = tries};
  pthread_barrier_init(&captured, NULL, 1);
  pthread_barrier_init(&may_end, NULL, 1);
  REQUIRE(pthread_create(&thread, NULL, produce, &producer) == 0);
  pthread_join(thread, NULL);
  return producer.answer;
}

/* Takes the first lane, and keeps every other from getting blocks. */
static weir_log *open_full(const char *directory, uint32_t *type) {
  weir_log *log = open_lanes(directory);
  *type = define_numbered(log);
  CHECK_EQUAL(capture_numbered(log, *type, 0, 0, 10, NULL), WEIR_ACCEPTED);
  CHECK_AWAIT(is_ready(log, 1));
  lane_at(log, 1)->taken = 1; /* as if by a thread that captured nothing yet */
  weir_fault_set("sys_allocate_more", 1, UINT64_MAX, ENOSPC);
  return log;
}

static void no_space_for_a_lane(void) {
  test("on a full disk a thread without blocks for its lane is refused, each refusal is counted, also after a kill");
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
      CHECK_EQUAL(capture_beside(log, type, 1, 7), WEIR_DROP_STORAGE);
      CHECK_EQUAL(capture_numbered(log, type, 0, 1, 10, NULL), WEIR_ACCEPTED); /* a lane in use has its blocks */
      weir_count(log, &counters);
      CHECK_EQUAL(counters.dropped[WEIR_DROP_STORAGE], 7);
      CHECK_EQUAL(counters.accepted, 2);
      if (killed && checks_failed == 0) kill(getpid(), SIGKILL);
      weir_fault_set("", 0, 0, 0);
      CHECK_EQUAL(capture_beside(log, type, 2, 1), WEIR_ACCEPTED);
      lane_at(log, 1)->taken = 0;
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

/* A capture in a signal handler that interrupts another one of its thread. */
static void in_a_signal(void) {
  test("a signal handler's first capture to a spare lane: refused on a full disk, else accepted; errno stays");
  char *folder = scratch(), payload[NUMBERED_BYTES] = {0};
  const char *directory = join(folder, "log");
  uint32_t type;
  weir_log *log = open_full(directory, &type);
  weir_record outer;
  CHECK_EQUAL(weir_begin(log, &outer), WEIR_ACCEPTED);
  for (int full = 1; full >= 0; full--) {
    if (!full) weir_fault_set("", 0, 0, 0);
    payload[0] = 9; /* the producer */
    errno = 77;
    int32_t answer = weir_capture_in_signal(log, type, payload, sizeof payload, NULL);
    CHECK_EQUAL(errno, 77);
    CHECK_EQUAL(answer, full ? WEIR_DROP_STORAGE : WEIR_ACCEPTED);
  }
  weir_cancel(&outer);
  lane_at(log, 1)->taken = 0;
  close_and_free(log);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 9), 1);
  CHECK_EQUAL(found.gaps, 1);
  found_free(&found);
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
  CHECK_EQUAL(capture_beside(log, type, 1, 20), WEIR_ACCEPTED);
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
  for (uint64_t i = 0; i < OWNED; i++) CHECK_EQUAL(capture_beside(log, type, i, 3), WEIR_ACCEPTED);
  weir_fault_set("", 0, 0, 0);
  close_and_free(log);
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
  take_lanes();
  no_space_for_a_lane();
  in_a_signal();
  no_descriptor();
  no_fallocate();
  counts_in_full();
  return finish();
}
