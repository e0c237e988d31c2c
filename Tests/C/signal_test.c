/*
 * signal_test.c: captures in signal handlers. A storm of signals interrupts threads that capture, at random
 * instructions; and one thread is stepped through captures by ptrace and interrupted at each instruction in turn.
 * Every capture, of the threads and of the handlers, is whole in the log, or was refused and is counted.
 */
#include "capture_check.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#if defined(__GLIBC__) && !defined(sigev_notify_thread_id)
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { WORKERS = 4, HANDLED = 3, STORM = 50000, TIMER_STORM = 20000, MOST_NUMBERS = 1 << 22 };

/* One line of captures: a thread's own, or those of one signal's handler on that thread. */
typedef struct line {
  uint64_t number;
  uint64_t attempted, accepted, refused[WEIR_DROP_REASONS];
} line;

static weir_log *storm_log;
static uint32_t storm_type;
static int plain_in_handlers; /* weir_capture in place of weir_capture_in_signal */
static _Atomic uint64_t errno_changed, handled;
static const int signals[HANDLED] = {SIGUSR1, SIGUSR2, SIGALRM};

typedef struct worker {
  line own, handlers[HANDLED];
  pthread_t thread;
} worker;

static worker workers[WORKERS + 1];
static __thread worker *this_worker;
static _Atomic int storm_ends;

static void note(line *line, int32_t answer) {
  line->attempted++;
  if (answer == WEIR_ACCEPTED) line->accepted++;
  else line->refused[answer & (WEIR_DROP_REASONS - 1)]++;
}

/* The payload of a numbered event with eight bytes of filler. */
static uint64_t make_payload(uint8_t payload[28], uint64_t producer, uint64_t number) {
  uint32_t filler = 8;
  memcpy(payload, &producer, 8);
  memcpy(payload + 8, &number, 8);
  memcpy(payload + 16, &filler, 4);
  for (uint64_t i = 0; i < filler; i++) payload[20 + i] = filler_byte(producer, number, i);
  return 28;
}

/* In handlers of different signals, which interrupt each other too. */
static void handle(int signal) {
  worker *self = this_worker;
  if (!self) return;
  errno = 4711;
  int index = 0;
  while (signals[index] != signal) index++;
  line *line = &self->handlers[index];
  uint8_t payload[28];
  uint64_t bytes = make_payload(payload, line->number, line->accepted);
  note(line, plain_in_handlers ? weir_capture(storm_log, storm_type, payload, bytes, NULL)
                               : weir_capture_in_signal(storm_log, storm_type, payload, bytes, NULL));
  if (errno != 4711) errno_changed++;
  handled++;
}

static void install_handlers(void) {
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < HANDLED; i++) REQUIRE(sigaction(signals[i], &action, NULL) == 0);
}

static void number_lines(void) {
  memset(workers, 0, sizeof workers);
  for (uint64_t i = 0; i <= WORKERS; i++) {
    workers[i].own.number = i * (HANDLED + 1);
    for (uint64_t k = 0; k < HANDLED; k++) workers[i].handlers[k].number = i * (HANDLED + 1) + 1 + k;
  }
}

static line *line_of(uint64_t number) {
  if (number >= (WORKERS + 1) * (HANDLED + 1)) return NULL;
  worker *worker = &workers[number / (HANDLED + 1)];
  return number % (HANDLED + 1) ? &worker->handlers[number % (HANDLED + 1) - 1] : &worker->own;
}

/* ---- Judging ----------------------------------------------------------------------------------------------------- */

/* Closes, and holds log and counters against what the lines were told. */
static void check_conserved(weir_log *log, const char *directory) {
  line sum = {0};
  weir_counters counters;
  uint64_t refused = 0, strange = 0;
  static uint8_t seen[(WORKERS + 1) * (HANDLED + 1)][MOST_NUMBERS / 8];
  memset(seen, 0, sizeof seen);
  for (uint64_t i = 0; i < (WORKERS + 1) * (HANDLED + 1); i++) {
    const line *line = line_of(i);
    sum.attempted += line->attempted;
    sum.accepted += line->accepted;
    for (int reason = 0; reason < WEIR_DROP_REASONS; reason++) sum.refused[reason] += line->refused[reason];
  }
  weir_count(log, &counters);
  CHECK_EQUAL(counters.accepted, sum.accepted);
  for (int reason = 0; reason < WEIR_DROP_REASONS; reason++) {
    CHECK_EQUAL(counters.dropped[reason], sum.refused[reason]);
    refused += sum.refused[reason];
  }
  CHECK_EQUAL(sum.accepted + refused, sum.attempted);
  close_and_free(log);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(found.count + counters.overwritten, sum.accepted);
  CHECK_EQUAL(found.gaps, refused + counters.overwritten);
  for (uint64_t i = 0; i < found.count; i++) {
    const found_event *event = &found.events[i];
    const line *line = line_of(event->producer);
    if (!line || event->number >= line->accepted || event->number >= MOST_NUMBERS) {
      strange++;
      continue;
    }
    uint8_t *byte = &seen[event->producer][event->number / 8], bit = (uint8_t)(1u << event->number % 8);
    strange += (*byte & bit) != 0;
    *byte |= bit;
  }
  CHECK_EQUAL(strange, 0);
  found_free(&found);
}

/* ---- The storm --------------------------------------------------------------------------------------------------- */

/* A child of a storm: its captures, in and out of handlers, are refused. */
static int child_is_refused(weir_record *half_way) {
  int wrong = 0;
  if (half_way && weir_commit(half_way, storm_type, NULL) != WEIR_DROP_DETACHED) wrong |= 1;
  if (capture_numbered(storm_log, storm_type, 0, 0, 8, NULL) != WEIR_DROP_DETACHED) wrong |= 2;
  for (int i = 0; i < HANDLED; i++) {
    uint64_t before = this_worker->handlers[i].refused[WEIR_DROP_DETACHED];
    raise(signals[i]);
    if (this_worker->handlers[i].refused[WEIR_DROP_DETACHED] != before + 1) wrong |= 4;
  }
  return wrong;
}

static void fork_in_storm(weir_record *half_way) {
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(child_is_refused(half_way));
  CHECK_EQUAL(wait_for(child), 0);
}

static void capture_own(worker *self) {
  note(&self->own, capture_numbered(storm_log, storm_type, self->own.number, self->own.accepted, 8, NULL));
}

/* Captures until the storm ends; now and then within a capture, and with a fork between its begin and its commit. */
static void *weather(void *context) {
  worker *self = context;
  capture_own(self);
  this_worker = self;
  for (uint64_t i = 1; !storm_ends; i++) {
    if (self->own.accepted > MOST_NUMBERS - 3) { /* as many as the judge counts */
      sleep_ns(1000000);
      continue;
    }
    uint8_t payload[28];
    weir_record record;
    int32_t answer = weir_begin(storm_log, &record);
    if (answer == WEIR_ACCEPTED) {
      if (i % 64 == 0) capture_own(self);
      if (i % 20000 == 0) fork_in_storm(&record);
      weir_put_raw(&record, payload, make_payload(payload, self->own.number, self->own.accepted));
      answer = weir_commit(&record, storm_type, NULL);
    }
    note(&self->own, answer);
    if (i % 100 == 0) sleep_ns(100000); /* so that the drainer sleeps too, now and then */
  }
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  this_worker = NULL;
  return NULL;
}

static weir_log *open_storm(const char *directory, uint32_t full_policy, uint64_t wait_ns) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 8;
  options.spare_lanes = 4;
  options.lane_bytes = 16384;
  options.max_event_bytes = 1024;
  options.full_policy = full_policy;
  options.full_wait_ns = wait_ns;
  weir_log *log = NULL;
  weir_error error;
  if (!CHECK_EQUAL(weir_open(directory, &options, &log, NULL, &error), WEIR_OK)) fprintf(stderr, "%s\n", error.message);
  REQUIRE(log);
  return log;
}

/* Timers of the threads' own send one of the signals, another thread the other two, so that handlers nest. */
static void storm(uint32_t full_policy, uint64_t wait_ns) {
  char *folder = scratch();
  const char *directory = join(folder, "log");
  storm_log = open_storm(directory, full_policy, wait_ns);
  storm_type = define_numbered(storm_log);
  number_lines();
  storm_ends = handled = 0;
  for (int i = 0; i < WORKERS; i++) REQUIRE(pthread_create(&workers[i].thread, NULL, weather, &workers[i]) == 0);
  while (handled < STORM) {
    REQUIRE(pthread_kill(workers[random_below(WORKERS)].thread, signals[random_below(HANDLED)]) == 0);
    for (volatile uint64_t pause = random_below(300); pause > 0;) pause--;
  }
  storm_ends = 1;
  for (int i = 0; i < WORKERS; i++) {
    REQUIRE(pthread_join(workers[i].thread, NULL) == 0);
    /* Only handlers are refused while the others wait, but for a capture within a capture that finds no lane. */
    if (wait_ns == UINT64_MAX) CHECK_EQUAL(workers[i].own.refused[WEIR_DROP_FULL], 0);
  }
  CHECK_EQUAL(errno_changed, 0);
  weir_counters counters;
  weir_count(storm_log, &counters);
  CHECK_EQUAL(counters.lanes_in_use, 0);
  check_conserved(storm_log, directory);
  scratch_remove(folder);
}

/* ---- Timers ------------------------------------------------------------------------------------------------------ */

/* Each worker has a timer that signals it every so often, at whatever instruction it then is. */
static void *weather_with_timer(void *context) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
  event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
  timer_t timer;
  struct itimerspec period = {{0, 100000}, {0, 100000 + (long)((worker *)context)->own.number * 777}};
  REQUIRE(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  REQUIRE(timer_settime(timer, 0, &period, NULL) == 0);
  weather(context);
  timer_delete(timer);
  return NULL;
}

static void timer_storm(void) {
  char *folder = scratch();
  const char *directory = join(folder, "log");
  storm_log = open_storm(directory, WEIR_FULL_DROP_NEWEST, 0);
  storm_type = define_numbered(storm_log);
  number_lines();
  storm_ends = handled = 0;
  for (int i = 0; i < WORKERS; i++) {
    REQUIRE(pthread_create(&workers[i].thread, NULL, weather_with_timer, &workers[i]) == 0);
  }
  while (handled < TIMER_STORM) sleep_ns(1000000);
  storm_ends = 1;
  for (int i = 0; i < WORKERS; i++) REQUIRE(pthread_join(workers[i].thread, NULL) == 0);
  check_conserved(storm_log, directory);
  scratch_remove(folder);
}

/* ---- A thread without a lane ------------------------------------------------------------------------------------- */

static void *only_handles(void *context) {
  this_worker = context;
  for (int i = 0; i < 100; i++) raise(signals[i % HANDLED]);
  weir_counters counters;
  weir_count(storm_log, &counters);
  CHECK_EQUAL(counters.lanes_in_use, 0);
  this_worker = NULL;
  return NULL;
}

static void handler_claims_nothing(void) {
  test("case 17: a handler on a thread that has no lane borrows one and leaves none behind");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  storm_log = open_storm(directory, WEIR_FULL_DROP_NEWEST, 0);
  storm_type = define_numbered(storm_log);
  number_lines();
  plain_in_handlers = 0;
  REQUIRE(pthread_create(&workers[0].thread, NULL, only_handles, &workers[0]) == 0);
  REQUIRE(pthread_join(workers[0].thread, NULL) == 0);
  CHECK_EQUAL(workers[0].handlers[0].accepted + workers[0].handlers[1].accepted + workers[0].handlers[2].accepted, 100);
  check_conserved(storm_log, directory);
  scratch_remove(folder);
}

/* ---- At each instruction ----------------------------------------------------------------------------------------- */

/* What the stepped child does between its two marks. */
typedef enum subject { INLINED, ONE_CALL, FIRST_OF_A_LOG, FULL_NEWEST, FULL_OLDEST } subject;

enum { STEPPED_LANE = 4096, MOST_STEPS = 20000, MARK = SIGURG };

/* Tells the tracer where the steps begin and end, by a signal that the child never gets. */
static void mark(void) { syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), MARK); }

static weir_log *open_stepped(const char *directory, subject subject) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 4;
  options.lane_bytes = STEPPED_LANE;
  options.max_event_bytes = 256;
  options.segment_bytes = 160 << 10;
  options.clock = WEIR_CLOCK_MONOTONIC;
  /* Full lanes stay full while nothing is drained. */
  if (subject == FULL_NEWEST || subject == FULL_OLDEST) options.drain_interval_ns = UINT64_C(10000000000);
  options.full_policy = subject == FULL_OLDEST ? WEIR_FULL_DROP_OLDEST : WEIR_FULL_DROP_NEWEST;
  weir_log *log = NULL;
  return weir_open(directory, &options, &log, NULL, NULL) == WEIR_OK ? log : NULL;
}

static void capture_stepped(subject subject) {
  line *line = &this_worker->own;
  uint8_t payload[28];
  uint64_t bytes = make_payload(payload, line->number, line->accepted);
  int32_t answer;
  mark();
  if (subject == INLINED) {
    weir_record record;
    answer = weir_begin(storm_log, &record);
    if (answer == WEIR_ACCEPTED) {
      weir_put_raw(&record, payload, bytes);
      answer = weir_commit(&record, storm_type, NULL);
    }
  } else {
    answer = weir_capture(storm_log, storm_type, payload, bytes, NULL);
  }
  mark();
  note(line, answer);
}

/* Between the tracer and its child. */
typedef struct shared {
  int finished;     /* the tracer has been through all instructions */
  uint64_t handled; /* captures that the child's handlers attempted */
} shared;

/* The child: captures, each time between two marks. For the first capture of a log it opens a new one each time. */
static int be_stepped(subject subject, const char *folder, volatile shared *shared) {
  const char *directory = join(folder, "log");
  REQUIRE(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
  number_lines();
  this_worker = &workers[0];
  storm_log = NULL;
  for (uint64_t runs = 0; !shared->finished && runs < MOST_STEPS; runs++) {
    if (!storm_log) {
      storm_log = open_stepped(directory, subject);
      REQUIRE(storm_log);
      storm_type = define_numbered(storm_log);
      if (subject != FIRST_OF_A_LOG) note(&this_worker->own, capture_numbered(storm_log, storm_type, 0, 0, 8, NULL));
    }
    capture_stepped(subject);
    if (subject == INLINED || subject == ONE_CALL) weir_drain(storm_log, UINT64_MAX, NULL, NULL);
    if (subject != FIRST_OF_A_LOG) continue;
    shared->handled += this_worker->handlers[0].attempted;
    check_conserved(storm_log, directory);
    remove_tree(directory);
    number_lines();
    storm_log = NULL;
  }
  CHECK(shared->finished);
  shared->handled += this_worker->handlers[0].attempted;
  if (storm_log) check_conserved(storm_log, directory);
  return checks_failed > 0;
}

/* Lets the child run to its next mark. 0: it has ended, or is stopped by something else. */
static int run_to_mark(pid_t child, int signal, int *status) {
  REQUIRE(ptrace(PTRACE_CONT, child, NULL, (void *)(intptr_t)signal) == 0);
  REQUIRE(waitpid(child, status, 0) == child);
  return WIFSTOPPED(*status) && WSTOPSIG(*status) == MARK;
}

/* From a capture's first mark `steps` instructions on. 0 if its second mark comes before. */
static int step(pid_t child, uint64_t steps, int *status) {
  for (uint64_t i = 0; i < steps; i++) {
    REQUIRE(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0);
    REQUIRE(waitpid(child, status, 0) == child && WIFSTOPPED(*status));
    if (WSTOPSIG(*status) == MARK) return 0;
    REQUIRE(WSTOPSIG(*status) == SIGTRAP);
  }
  return 1;
}

/* Tracer and child on one processor: a step then costs half as much. */
static void stay_here(void) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
}

static int can_step(void) {
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0);
  return wait_for(child) == 0;
}

/* Interrupts one capture after its first instruction, the next after its second, and so on until all of a row are over
 * sooner: they are not all of one length. */
static void at_each_instruction(subject subject, const char *name) {
  enum { ROW = 20 };
  test(name);
  char *folder = scratch();
  volatile shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(be_stepped(subject, folder, shared));
  int status, over = 0, alive = 1;
  uint64_t interrupted = 0, steps = 0;
  REQUIRE(waitpid(child, &status, 0) == child); /* stopped at the first mark, the first thing that stops it */
  while (alive && WIFSTOPPED(status) && WSTOPSIG(status) == MARK && over < ROW) {
    int within = step(child, steps, &status);
    if (within) alive = run_to_mark(child, SIGUSR1, &status);
    interrupted += (uint64_t)within;
    steps += (uint64_t)within;
    over = within ? 0 : over + 1;
    if (over == ROW) shared->finished = 1;
    else alive = alive && run_to_mark(child, 0, &status);
  }
  if (CHECK(alive && over == ROW)) {
    REQUIRE(ptrace(PTRACE_DETACH, child, NULL, NULL) == 0);
    CHECK_EQUAL(wait_for(child), 0);
  }
  CHECK_EQUAL(shared->handled, interrupted);
  CHECK(interrupted > 50); /* fewer instructions no capture has */
  if (getenv("WEIR_VERBOSE")) fprintf(stderr, "  %" PRIu64 " instructions\n", interrupted);
  munmap((void *)shared, sizeof *shared);
  scratch_remove(folder);
}

int main(void) {
  random_start("signal_test");
  /* Hundreds of logs are opened and closed, which a disk takes its time to sync, and nothing here depends on one. */
  if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 0);
  install_handlers();
  handler_claims_nothing();
  test("case 17: a storm of signals, lanes dropping the newest");
  storm(WEIR_FULL_DROP_NEWEST, 0);
  test("case 17: a storm of signals, lanes waited for without end");
  storm(WEIR_FULL_DROP_NEWEST, UINT64_MAX);
  test("case 17: a storm of signals, lanes dropping the oldest");
  storm(WEIR_FULL_DROP_OLDEST, 0);
  test("case 17: a storm of timers");
  timer_storm();
  plain_in_handlers = 1;
  test("case 17: a storm of signals whose handlers capture as ordinary code does");
  storm(WEIR_FULL_DROP_NEWEST, 0);
  if (!can_step()) printf("skipped: a signal at each instruction, for want of ptrace\n");
  stay_here();
  for (plain_in_handlers = 0; plain_in_handlers < 2 && can_step(); plain_in_handlers++) {
    at_each_instruction(INLINED, "case 17: a signal at each instruction of a capture that is inlined");
    at_each_instruction(ONE_CALL, "case 17: a signal at each instruction of weir_capture");
    at_each_instruction(FULL_NEWEST, "case 17: a signal at each instruction of captures to a lane that is full");
    at_each_instruction(FULL_OLDEST, "case 17: a signal at each instruction of captures that overwrite the oldest");
    at_each_instruction(FIRST_OF_A_LOG, "case 17: a signal at each instruction of a thread's first capture to a log");
  }
  return finish();
}
