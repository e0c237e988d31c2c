/*
 * process_cases.c: the faults of processes, one by one and by name: a host that crashes elsewhere, is killed for want
 * of memory, is stopped, cancels a thread, executes another program, leaves its pid to somebody else; and the opening,
 * the sealing and the recovery of a log killed at each system call.
 */
#include "check.h"
#include "judge.h"
#include "replay.h"
#include "system/system.h"

#include <dirent.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

static char *folder;
static report *told;

/* A log of its own for each test. */
static victim_plan fresh_plan(void) {
  static char directory[300];
  static uint64_t logs;
  snprintf(directory, sizeof directory, "%s/log %" PRIu64, folder, logs++);
  report_clear(told);
  victim_plan plan = victim_plan_small(directory, random_below(UINT64_MAX));
  plan.full_wait_ns = UINT64_MAX; /* on a busy machine all the events may be refused before the drainer has its turn */
  return plan;
}

static void hold(const victim_plan *plan, uint64_t least_accepted) {
  judge judge = {0};
  judge_sums sums = {0};
  judge_killed(&judge, plan, told, &sums);
  if (!CHECK(judge.faults == 0)) fprintf(stderr, "  %s\n", judge.text);
  CHECK(sums.accepted >= least_accepted);
}

/* Waits until a thread has captured so many events. */
static int wait_for_events(uint32_t thread, uint64_t events) { return AWAIT(told->threads[thread].accepted >= events); }

/* ---- Opening, sealing, recovering ------------------------------------------------------------------------------- */

/* Opens, fills a few segments, syncs, closes, and dies at the n-th system call of the log. */
static void die_at_call(const victim_plan *plan, uint64_t nth) {
  weir_fault_set("any", nth, 1, WEIR_FAULT_KILL);
  _exit(victim_run(plan, told));
}

static void killed_at_each_call(void) {
  test("case 4 and 5: killed at each system call that makes, prepares, seals, syncs or renames a segment");
  uint64_t kills = 0, nth = 1;
  for (int status = 0; nth < 3000 && checks_failed == 0; nth++) {
    victim_plan plan = fresh_plan();
    plan.threads = 1;
    plan.events = 700; /* of which a segment holds some 900: with the second opening it rolls */
    plan.openings = 2;
    plan.sync_every = 500;
    plan.idle_at_end = 0;
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) die_at_call(&plan, nth);
    status = wait_for(child);
    CHECK(status == 0 || status == 1000 + SIGKILL);
    kills += status != 0;
    hold(&plan, 0);
    remove_tree(plan.directory);
    if (status == 0) break;
  }
  CHECK(kills > 150); /* fewer calls it can't do with */
  if (getenv("WEIR_VERBOSE")) fprintf(stderr, "  %" PRIu64 " kills\n", kills);
}

/* Recovers, and dies at the n-th system call of that. */
static int recover_until(const victim_plan *plan, uint64_t nth) {
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    weir_log *log;
    weir_recovery recovery;
    weir_error error;
    weir_fault_set("any", nth, 1, WEIR_FAULT_KILL);
    _exit(victim_open(plan, NULL, &log, &recovery, &error) == WEIR_OK ? 0 : 1);
  }
  return wait_for(child);
}

static void leave_dead(const victim_plan *plan) {
  pid_t victim = victim_start(plan, told);
  CHECK(wait_for_events(0, 400));
  int status;
  CHECK(victim_kill(victim, &status));
}

static void recovery_killed(void) {
  test("case 8: recovery killed at each of its system calls, one after the other, and ten times over in a row");
  victim_plan plan = fresh_plan();
  leave_dead(&plan);
  judge judge = {0};
  judged_log before, now;
  judge_read(&judge, &plan, told, &before);
  uint64_t nth = 1;
  for (int status = 1; status != 0 && nth < 2000 && judge.faults == 0; nth++) {
    status = recover_until(&plan, nth);
    CHECK(status == 0 || status == 1000 + SIGKILL);
    judge_read(&judge, &plan, told, &now);
    judge_same(&judge, &before, &now, 1);
    judged_log_free(&now);
  }
  CHECK(nth > 60);
  hold(&plan, 400);
  plan = fresh_plan();
  judged_log_free(&before);
  leave_dead(&plan);
  judge_read(&judge, &plan, told, &before);
  for (int i = 0; i < 10; i++) recover_until(&plan, 1 + random_below(60));
  judge_read(&judge, &plan, told, &now);
  judge_same(&judge, &before, &now, 1);
  if (!CHECK(judge.faults == 0)) fprintf(stderr, "  %s\n", judge.text);
  hold(&plan, 400);
  judged_log_free(&before);
  judged_log_free(&now);
}

/* ---- Hosts that crash -------------------------------------------------------------------------------------------- */

/* In the host: something else goes wrong once it has captured for a while. */
static void *die_later(void *how) {
  CHECK(wait_for_events(0, 300));
  ((void (*)(void))how)();
  return NULL;
}

/* Captures without end, until `how` ends the process; answers the signal that did. */
static int crash(const victim_plan *plan, void (*how)(void)) {
  fflush(stdout);
  pid_t host = fork();
  REQUIRE(host >= 0);
  if (host == 0) {
    prctl(PR_SET_DUMPABLE, 0); /* no core of it */
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, die_later, (void *)how) == 0);
    _exit(victim_run(plan, told));
  }
  return wait_for(host) - 1000;
}

static void read_nowhere(void) {
  volatile int *volatile nowhere = NULL; /* volatile twice, or compilers see through it */
  *nowhere = 1;
}

static void divide_by_zero(void) { raise(SIGFPE); }

static void host_crashes(void) {
  static const struct {
    const char *name;
    void (*how)(void);
    int signal;
  } crashes[] = {{"case 11: a SIGSEGV elsewhere in the host", read_nowhere, SIGSEGV},
                 {"case 11: abort elsewhere in the host", abort, SIGABRT},
                 {"case 11: a SIGFPE elsewhere in the host", divide_by_zero, SIGFPE}};
  for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) {
    test(crashes[i].name);
    victim_plan plan = fresh_plan();
    CHECK_EQUAL(crash(&plan, crashes[i].how), crashes[i].signal);
    hold(&plan, 300);
  }
}

/* ---- The OOM killer ---------------------------------------------------------------------------------------------- */

/* A group with a limit on its memory, if this machine lets us make one. */
static int make_group(char *path, size_t room, uint64_t bytes) {
  static const struct {
    const char *root, *limit;
  } kinds[] = {{"/sys/fs/cgroup", "memory.max"}, {"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}};
  for (size_t i = 0; i < 2; i++) {
    snprintf(path, room, "%s/weir-test-%d", kinds[i].root, getpid());
    if (mkdir(path, 0755) != 0) continue;
    FILE *limit = fopen(join(path, kinds[i].limit), "r+");
    int good = limit && fprintf(limit, "%" PRIu64 "\n", bytes) > 0;
    if (limit) good &= fclose(limit) == 0;
    FILE *swap = fopen(join(path, "memory.swap.max"), "r+");
    if (swap) fprintf(swap, "0\n"), fclose(swap);
    if (good) return 1;
    rmdir(path);
  }
  return 0;
}

static int enter_group(const char *path) {
  FILE *members = fopen(join(path, "cgroup.procs"), "r+");
  return members && fprintf(members, "%d\n", getpid()) > 0 && fclose(members) == 0;
}

static void use_up_memory(void) {
  for (;;) {
    char *more = malloc(1 << 20);
    if (more) memset(more, 1, 1 << 20);
  }
}

static void out_of_memory(void) {
  test("case 11: the OOM killer, under a cgroup's limit");
  char group[200];
  if (!make_group(group, sizeof group, 48 << 20)) {
    printf("SKIPPED: %s, because no cgroup with a memory limit can be made here\n", test_name);
    return;
  }
  victim_plan plan = fresh_plan();
  fflush(stdout);
  pid_t host = fork();
  REQUIRE(host >= 0);
  if (host == 0) {
    pthread_t thread;
    if (!enter_group(group)) _exit(77);
    REQUIRE(pthread_create(&thread, NULL, die_later, (void *)use_up_memory) == 0);
    _exit(victim_run(&plan, told));
  }
  int status = wait_for(host);
  if (status == 77) {
    printf("SKIPPED: %s, because the cgroup can't be entered\n", test_name);
  } else {
    CHECK_EQUAL(status, 1000 + SIGKILL);
    hold(&plan, 300);
  }
  for (int i = 0; i < 100 && rmdir(group) != 0; i++) sleep_ns(10000000);
}

/* ---- Stopped ----------------------------------------------------------------------------------------------------- */

/* A thread of the victim that captures: neither its first one nor one of the log's. */
static pid_t find_producer(pid_t victim) {
  char path[300], name[32];
  snprintf(path, sizeof path, "/proc/%d/task", victim);
  DIR *tasks = opendir(path);
  REQUIRE(tasks);
  pid_t found = 0;
  for (struct dirent *entry; (entry = readdir(tasks)) && !found;) {
    pid_t id = atoi(entry->d_name);
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", victim, id);
    FILE *comm = id > 0 && id != victim ? fopen(path, "r") : NULL;
    if (!comm) continue;
    if (fgets(name, sizeof name, comm) && strncmp(name, "weir-", 5) != 0) found = id;
    fclose(comm);
  }
  closedir(tasks);
  return found;
}

static uint64_t events_in_log(const victim_plan *plan) {
  weir_stat stat = {0};
  weir_stat_directory(plan->directory, &stat, NULL);
  return stat.events;
}

/* One producer stands still at whatever instruction, for long; the other one goes on, and the drainer with it. */
static void producer_stopped(int again) {
  victim_plan plan = fresh_plan();
  plan.pause_ns = 20000;
  plan.drain_interval_ns = 50000;
  pid_t victim = victim_start(&plan, told);
  CHECK(wait_for_events(0, 100) && wait_for_events(1, 100));
  pid_t producer = find_producer(victim);
  REQUIRE(producer > 0);
  int traced = ptrace(PTRACE_SEIZE, producer, NULL, NULL) == 0;
  if (!traced) {
    printf("SKIPPED: %s, because there is no ptrace here\n", test_name);
  } else {
    int status;
    REQUIRE(ptrace(PTRACE_INTERRUPT, producer, NULL, NULL) == 0);
    REQUIRE(waitpid(producer, &status, __WALL) == producer && WIFSTOPPED(status));
    uint64_t before[2] = {told->threads[0].accepted, told->threads[1].accepted}, drained = events_in_log(&plan);
    uint32_t other = 0;
    for (uint64_t end = now_ns() + 120000000000u; now_ns() < end; sleep_ns(100000)) {
      other = told->threads[0].accepted == before[0];
      if (told->threads[other].accepted > before[other] + 500 && events_in_log(&plan) > drained + 300) break;
    }
    CHECK(told->threads[other].accepted > before[other] + 500);
    CHECK(events_in_log(&plan) > drained + 300); /* it was drained meanwhile */
    CHECK(told->threads[!other].accepted <= before[!other] + 1);
    if (again) {
      REQUIRE(ptrace(PTRACE_DETACH, producer, NULL, NULL) == 0);
      CHECK(wait_for_events(!other, before[!other] + 50));
    }
  }
  int status;
  REQUIRE(kill(victim, SIGKILL) == 0);
  if (traced && !again) waitpid(producer, &status, __WALL); /* or its process is never seen to end */
  CHECK_EQUAL(wait_for(victim), 1000 + SIGKILL);
  hold(&plan, 600);
}

static void process_stopped(void) {
  test("case 12: SIGSTOP and SIGCONT, again and again, then SIGKILL while stopped");
  victim_plan plan = fresh_plan();
  plan.pause_ns = 5000;
  pid_t victim = victim_start(&plan, told);
  CHECK(wait_for_events(0, 100));
  for (int i = 0; i < 20; i++) {
    REQUIRE(kill(victim, SIGSTOP) == 0);
    sleep_ns(random_below(2000000));
    REQUIRE(kill(victim, SIGCONT) == 0);
    CHECK(wait_for_events(0, told->threads[0].accepted + 20));
  }
  REQUIRE(kill(victim, SIGSTOP) == 0);
  int status;
  CHECK(victim_kill(victim, &status));
  hold(&plan, 100);
}

/* ---- Threads that end -------------------------------------------------------------------------------------------- */

typedef struct cancelled {
  const victim_plan *plan;
  weir_log *log;
  uint32_t first_type;
} cancelled;

static void *capture_until_cancelled(void *context) {
  cancelled *own = context;
  for (int i = 0; i < 5; i++) {
    weir_id id;
    victim_capture(own->plan, told, own->log, own->first_type, 0, &id);
  }
  for (;;) pause(); /* where it is cancelled */
  return NULL;
}

static void cancel_one(cancelled *own) {
  pthread_t thread;
  uint64_t returned = told->threads[0].returned;
  REQUIRE(pthread_create(&thread, NULL, capture_until_cancelled, own) == 0);
  while (told->threads[0].returned < returned + 5) sleep_ns(1000);
  REQUIRE(pthread_cancel(thread) == 0 && pthread_join(thread, NULL) == 0);
}

static void threads_cancelled(void) {
  test("case 13: threads that are cancelled with undrained lanes, which others then have; killed after that");
  victim_plan plan = fresh_plan();
  plan.drain_interval_ns = UINT64_C(10000000000);
  plan.full_wait_ns = 0; /* cancelled between captures, not within one that waits */
  fflush(stdout);
  pid_t victim = fork();
  REQUIRE(victim >= 0);
  if (victim == 0) {
    cancelled own = {.plan = &plan};
    weir_recovery recovery;
    if (victim_open(&plan, told, &own.log, &recovery, NULL) != WEIR_OK) _exit(1);
    own.first_type = victim_define(own.log);
    for (int i = 0; i < 30; i++) cancel_one(&own);
    weir_drain(own.log, UINT64_MAX, NULL, NULL);
    cancel_one(&own); /* whose events are in its lane alone */
    weir_counters counters;
    weir_count(own.log, &counters);
    if (counters.lanes_in_use != 0) _exit(2);
    raise(SIGKILL);
  }
  CHECK_EQUAL(wait_for(victim), 1000 + SIGKILL);
  CHECK_EQUAL(told->threads[0].began, 155);
  hold(&plan, 10);
}

/* ---- exec, pids, locks ------------------------------------------------------------------------------------------- */

static int begun[2]; /* a pipe: the program that the host executes has begun to run */

static void become_another(void) {
  if (dup2(begun[1], STDOUT_FILENO) < 0) _exit(1);
  execlp("sh", "sh", "-c", "echo; exec sleep 1000", (char *)NULL);
}

/* The kernel lets go of locks as the new program begins: /proc names it a moment before. */

static void exec_while_capturing(void) {
  test("case 16: a host that executes another program leaves what it captured, and the log unlocked");
  victim_plan plan = fresh_plan();
  fflush(stdout);
  REQUIRE(pipe(begun) == 0);
  pid_t host = fork();
  REQUIRE(host >= 0);
  if (host == 0) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, die_later, (void *)become_another) == 0);
    _exit(victim_run(&plan, told));
  }
  char byte;
  close(begun[1]);
  CHECK_EQUAL(read(begun[0], &byte, 1), 1);
  close(begun[0]);
  hold(&plan, 300); /* the process lives */
  int status;
  CHECK(victim_kill(host, &status));
}

/* A process with this pid, which somebody else had before. -1: not here. */
static pid_t fork_with_pid(pid_t wanted) {
  struct clone_args how = {.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&wanted, .set_tid_size = 1};
  pid_t child = (pid_t)syscall(SYS_clone3, &how, sizeof how);
  if (child == 0) {
    for (;;) pause();
  }
  return child;
}

static void pid_reused(void) {
  test("case 18: a dead owner whose pid a live process has now is dead all the same");
  victim_plan plan = fresh_plan();
  pid_t victim = victim_start(&plan, told);
  CHECK(wait_for_events(0, 300));
  int status;
  CHECK(victim_kill(victim, &status));
  pid_t other = fork_with_pid(victim);
  if (other != victim) {
    printf("SKIPPED: %s, because no process can be given a pid here\n", test_name);
  }
  hold(&plan, 300);
  if (other > 0) {
    CHECK(kill(other, 0) == 0); /* it lived all the time */
    CHECK(victim_kill(other, &status));
  }
}

enum { COMPETITORS = 5, OPENINGS = 60 };

/* Opens the log as often as it can, and captures a few events each time, until all together have done so often. */
static int compete(const victim_plan *plan, uint32_t number, _Atomic uint32_t *inside) {
  int wrong = 0;
  for (uint64_t until = now_ns() + HANG_NS; told->openings < OPENINGS && now_ns() < until;) {
    weir_log *log;
    weir_recovery recovery;
    weir_error error;
    weir_status status = victim_open(plan, NULL, &log, &recovery, &error);
    if (status == WEIR_ERROR_LOCKED) continue;
    if (status != WEIR_OK) return 2;
    wrong |= atomic_fetch_add(inside, 1) != 0;
    if (told->openings < REPORT_OPENINGS) {
      report_opened(told, &recovery);
      uint32_t type = victim_define(log);
      for (int i = 0; i < 5 && report_has_room(told, number); i++) {
        weir_id id;
        wrong |= victim_capture(plan, told, log, type, number, &id) != WEIR_ACCEPTED;
      }
    }
    atomic_fetch_sub(inside, 1);
    wrong |= weir_close(log, NULL) != WEIR_OK;
    weir_free(log);
  }
  return wrong;
}

static void processes_compete(void) {
  test("case 19: processes that open one directory at the same time: one has it, the others are told");
  victim_plan plan = fresh_plan();
  _Atomic uint32_t *inside = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(inside != MAP_FAILED);
  pid_t children[COMPETITORS];
  fflush(stdout);
  for (uint32_t i = 0; i < COMPETITORS; i++) {
    children[i] = fork();
    REQUIRE(children[i] >= 0);
    if (children[i] == 0) _exit(compete(&plan, i, inside));
  }
  for (uint32_t i = 0; i < COMPETITORS; i++) CHECK_EQUAL(wait_for(children[i]), 0);
  CHECK(told->openings >= OPENINGS);
  hold(&plan, 5 * OPENINGS);
  munmap((void *)inside, 4096);
}

int main(void) {
  random_start("process_cases");
  if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 0);
  folder = scratch();
  told = report_make(NULL);
  killed_at_each_call();
  recovery_killed();
  host_crashes();
  out_of_memory();
  test("case 12: a producer stopped for long while the drainer runs, then killed");
  producer_stopped(0);
  test("case 12: a producer stopped for long while the drainer runs, that goes on after it");
  producer_stopped(1);
  process_stopped();
  threads_cancelled();
  exec_while_capturing();
  pid_reused();
  processes_compete();
  report_free(told);
  scratch_remove(folder);
  return finish();
}
