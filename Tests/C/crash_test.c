/*
 * crash_test.c: kill -9, through weir.h alone. A child captures on several threads and notes the id of every accepted
 * event in shared memory, which outlives it; it is killed at a random moment, its recovery too, and the log is judged:
 *
 *   what was acknowledged is there, under its id, before recovery (a reader of the dead log) and after it;
 *   both readings are equal: the same events with the same offsets, ids and times;
 *   each thread's events are 0, 1, 2, … without a gap, at most one more than it had acknowledged;
 *   nothing is there twice, nothing that nobody captured, and what earlier rounds found is still there.
 */
#include "capture_check.h"

#include <pthread.h>
#include <sys/mman.h>

enum { KILLS = 30, THREADS = 3, ROOM = 60000 };

/* What a child says, in memory that its death leaves alone. */
typedef struct testimony {
  _Atomic uint64_t accepted[THREADS]; /* ids[thread][0 ..< accepted] are those of its events */
  _Atomic uint64_t refused;
  _Atomic int capturing;
  weir_id ids[THREADS][ROOM];
} testimony;

typedef struct scenario {
  const char *name;
  uint64_t lane_bytes;
  uint64_t segment_bytes;
  uint64_t wait_ns;
  uint64_t filler; /* largest */
  int same_directory;
} scenario;

static testimony *told;
static const scenario *current;
static weir_log *victim_log;
static uint32_t victim_type;
static uint64_t victim_round;

static weir_status open_as(const char *directory, weir_log **log, weir_recovery *recovery) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 6;
  options.lane_bytes = current->lane_bytes;
  options.segment_bytes = current->segment_bytes;
  options.max_event_bytes = 2048;
  options.full_wait_ns = current->wait_ns;
  weir_error error;
  weir_status status = weir_open(directory, &options, log, recovery, &error);
  if (status != WEIR_OK) fprintf(stderr, "%s: %s\n", test_name, error.message);
  return status;
}

static void *victim_thread(void *context) {
  uint64_t thread = (uint64_t)(uintptr_t)context;
  for (uint64_t n = 0; n < ROOM;) {
    weir_id id;
    uint64_t filler = (n * 2654435761u >> 7) % (current->filler + 1);
    if (capture_numbered(victim_log, victim_type, victim_round * THREADS + thread, n, filler, &id) == WEIR_ACCEPTED) {
      told->ids[thread][n++] = id;
      told->accepted[thread] = n;
    } else {
      told->refused++;
    }
  }
  return NULL;
}

static void victim(const char *directory) {
  if (open_as(directory, &victim_log, NULL) != WEIR_OK) _exit(3);
  victim_type = define_numbered(victim_log);
  told->capturing = 1;
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++) REQUIRE(pthread_create(&threads[i], NULL, victim_thread, (void *)i) == 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (;;) pause(); /* everything captured: wait for the end all the same */
}

static void kill_after(pid_t child, uint64_t ns) {
  sleep_ns(ns);
  kill(child, SIGKILL);
  int status = wait_for(child);
  CHECK_EQUAL(status, 1000 + SIGKILL);
}

static void kill_victim(const char *directory, uint64_t round) {
  memset((void *)told, 0, offsetof(testimony, ids));
  victim_round = round;
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    victim(directory);
    _exit(4);
  }
  if (random_below(8) != 0) { /* else it is killed while it opens */
    CHECK_AWAIT(told->capturing);
  }
  kill_after(child, random_below(15000000));
}

/* Recovery dies too: up to three times, at random moments. */
static void kill_recoveries(const char *directory) {
  for (uint64_t kills = random_below(4); kills > 0; kills--) {
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      weir_log *log;
      open_as(directory, &log, NULL);
      for (;;) pause();
    }
    kill_after(child, random_below(12000000));
  }
}

/* The events of this round against what its threads acknowledged. Works before and after recovery alike. */
static void judge(const found_log *found, uint64_t round) {
  check_sound(found);
  uint64_t next[THREADS] = {0}, other_order = 0, other_id = 0;
  for (uint64_t i = 0; i < found->count; i++) {
    const found_event *event = &found->events[i];
    if (event->producer / THREADS != round) continue;
    uint64_t thread = event->producer % THREADS;
    other_order += event->number != next[thread]++;
    if (event->number < told->accepted[thread]) {
      other_id += compare_ids(&event->id, &told->ids[thread][event->number]) != 0;
    }
  }
  CHECK_EQUAL(other_order, 0);
  CHECK_EQUAL(other_id, 0);
  for (int i = 0; i < THREADS; i++) {
    CHECK(next[i] >= told->accepted[i]);
    CHECK(next[i] <= told->accepted[i] + 1);
  }
}

/* All of `earlier` must be at the start of `later`, unchanged. */
static void check_kept(const found_log *earlier, const found_log *later, int all) {
  uint64_t different = 0;
  CHECK(all ? later->count == earlier->count : later->count >= earlier->count);
  for (uint64_t i = 0; i < earlier->count && i < later->count; i++) {
    const found_event *a = &earlier->events[i], *b = &later->events[i];
    different += a->offset != b->offset || compare_ids(&a->id, &b->id) != 0 || a->producer != b->producer ||
                 a->number != b->number || a->time_ns != b->time_ns;
  }
  CHECK_EQUAL(different, 0);
}

static void print_finding(void *context, const weir_finding *finding) {
  fprintf(stderr, "%s: %s: %s at %" PRIu64 ": %s\n", test_name, (const char *)context, finding->file, finding->position,
          finding->problem);
}

static void check_intact(const char *directory, uint64_t events) {
  weir_verification verification;
  weir_error error;
  if (!CHECK_EQUAL(weir_verify(directory, print_finding, (void *)directory, &verification, &error), WEIR_OK)) return;
  CHECK_EQUAL(verification.findings, 0);
  CHECK_EQUAL(verification.live, 0);
  CHECK(verification.events + verification.lane_events >= events);
}

static int holds_log(const char *directory) {
  return access(join(directory, "ring"), F_OK) == 0;
}

/* Recovers, closes, and answers what the log then holds. */
static found_log recover(const char *directory, const found_log *before) {
  weir_log *log = NULL;
  weir_recovery recovery;
  if (CHECK_EQUAL(open_as(directory, &log, &recovery), WEIR_OK)) {
    CHECK_EQUAL(recovery.damaged_blocks + recovery.damaged_records + recovery.missing_events, 0);
    CHECK_EQUAL(recovery.ring_replaced, 0);
    CHECK(before->count == 0 || recovery.first_offset > before->events[before->count - 1].offset);
    close_and_free(log);
  }
  return read_log(directory);
}

static void run(const scenario *scenario) {
  current = scenario;
  test(scenario->name);
  uint64_t failed_before = checks_failed, accepted = 0, killed_in_open = 0;
  char *folder = scratch();
  char directory[4200];
  found_log last = {0};
  for (uint64_t round = 0; round < KILLS && checks_failed == failed_before; round++) {
    snprintf(directory, sizeof directory, "%s/log %u", folder, scenario->same_directory ? 0 : (unsigned)round);
    kill_victim(directory, round);
    killed_in_open += !told->capturing;
    if (!holds_log(directory)) continue; /* killed before there was a log */
    found_log before = read_log(directory);
    judge(&before, round);
    if (scenario->same_directory) check_kept(&last, &before, 0);
    check_intact(directory, before.count);
    kill_recoveries(directory);
    found_log between = read_log(directory);
    check_kept(&before, &between, 1);
    found_log after = recover(directory, &before);
    judge(&after, round);
    check_kept(&before, &after, 1);
    CHECK_EQUAL(before.gaps, after.gaps);
    if (!scenario->same_directory) CHECK(after.gaps >= told->refused && after.gaps <= told->refused + THREADS);
    check_intact(directory, after.count);
    for (int i = 0; i < THREADS; i++) accepted += told->accepted[i];
    found_free(&before);
    found_free(&between);
    found_free(&last);
    last = after;
  }
  found_free(&last);
  if (checks_failed != failed_before) {
    printf("%s: kept for a look: %s\n", scenario->name, directory);
    free(folder);
  } else {
    scratch_remove(folder);
  }
  printf("%s: %d kills, %" PRIu64 " of them before the first capture, %" PRIu64 " events acknowledged\n",
         scenario->name, KILLS, killed_in_open, accepted);
}

int main(void) {
  random_start("crash_test");
  told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(told != MAP_FAILED);
  static const scenario scenarios[] = {
      {"a new log each time, default sizes", 1 << 20, 8 << 20, UINT64_MAX, 200, 0},
      {"the same log again and again, small lanes and segments", 8192, 1 << 20, UINT64_MAX, 1000, 1},
      {"a new log each time, small lanes, dropping", 8192, 1 << 20, 0, 100, 0},
  };
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) run(&scenarios[i]);
  return finish();
}
