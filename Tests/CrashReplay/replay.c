/* replay.c: see replay.h. */
#include "check.h"
#include "replay.h"

#include <getopt.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

/* Those of check.h, for the whole program. */
_Atomic uint64_t checks_passed, checks_failed;
const char *test_name = "";

typedef struct counter {
  char name[88];
  _Atomic uint64_t value;
} counter;

/* What the jobs share. */
typedef struct replay_shared {
  _Atomic uint64_t next; /* rounds begun */
  _Atomic uint64_t done;
  _Atomic uint32_t failed;
  _Atomic uint32_t counters_lock;
  uint64_t until_ns; /* 0: no end */
  counter counters[REPLAY_COUNTERS];
  _Atomic uint64_t doing[256]; /* the round of each job */
} replay_shared;

/* ---- Options ----------------------------------------------------------------------------------------------------- */

static void usage(const char *program, int status) {
  fprintf(status ? stderr : stdout,
          "usage: %s [--rounds N] [--seconds N] [--seed N] [--first N] [--repeat N] [--only NAME] [--jobs N]"
          " [--keep DIR]\n",
          program);
  exit(status);
}

static uint64_t number_of(const char *program, const char *text) {
  char *end;
  errno = 0;
  uint64_t value = strtoull(text, &end, 10);
  if (errno != 0 || end == text || *end) usage(program, 2);
  return value;
}

replay replay_start(int argc, char **argv, uint64_t rounds) {
  static const struct option options[] = {
      {"rounds", 1, NULL, 'r'}, {"seconds", 1, NULL, 's'}, {"seed", 1, NULL, 'x'},
      {"first", 1, NULL, 'f'},  {"repeat", 1, NULL, 'e'},  {"only", 1, NULL, 'o'},
      {"jobs", 1, NULL, 'j'},   {"keep", 1, NULL, 'k'},    {"help", 0, NULL, 'h'},
      {NULL, 0, NULL, 0}};
  const char *given = getenv("WEIR_SEED"), *program = argv[0];
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  replay replay = {.program = program, .rounds = rounds, .repeat = 1, .keep = ".build/crash-artifacts"};
  replay.seed = given ? number_of(program, given) : (uint64_t)now.tv_sec * 1000003 + (uint64_t)now.tv_nsec / 1000;
  replay.jobs = (uint32_t)get_nprocs();
  for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    if (option == 'h') usage(program, 0);
    if (option == '?') usage(program, 2);
    if (option == 'o') replay.only = optarg;
    if (option == 'k') replay.keep = optarg;
    if (option == 'r') replay.rounds = number_of(program, optarg);
    if (option == 's') replay.seconds = number_of(program, optarg);
    if (option == 'x') replay.seed = number_of(program, optarg);
    if (option == 'e') replay.repeat = number_of(program, optarg);
    if (option == 'f') replay.first = number_of(program, optarg);
    if (option == 'j') replay.jobs = (uint32_t)number_of(program, optarg);
  }
  if (optind != argc) usage(program, 2);
  if (replay.jobs < 1) replay.jobs = 1;
  if (replay.repeat < 1) replay.repeat = 1;
  if (replay.jobs > 256) replay.jobs = 256;
  replay.round = replay.first;
  replay.shared = mmap(NULL, sizeof(replay_shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(replay.shared != MAP_FAILED);
  if (replay.seconds > 0) replay.shared->until_ns = now_ns() + replay.seconds * 1000000000u;
  printf("%s: seed %" PRIu64 "\n", program, replay.seed);
  fflush(stdout);
  return replay;
}

int replay_wants(const replay *replay, const char *name) { return !replay->only || strstr(name, replay->only) != NULL; }

/* ---- Random numbers ---------------------------------------------------------------------------------------------- */

uint64_t replay_random(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

uint64_t replay_below(uint64_t *state, uint64_t limit) { return replay_random(state) % limit; }

uint64_t replay_mix(uint64_t a, uint64_t b) {
  uint64_t state = a ^ b * UINT64_C(0xd6e8feb86659fd93);
  return replay_random(&state);
}

/* ---- Counters ---------------------------------------------------------------------------------------------------- */

static counter *find_counter(replay_shared *shared, const char *name) {
  for (int i = 0; i < REPLAY_COUNTERS; i++) {
    counter *counter = &shared->counters[i];
    if (!counter->name[0]) {
      while (atomic_exchange(&shared->counters_lock, 1)) {}
      if (!counter->name[0]) snprintf(counter->name, sizeof counter->name, "%s", name);
      atomic_store(&shared->counters_lock, 0);
    }
    if (strncmp(counter->name, name, sizeof counter->name - 1) == 0) return counter;
  }
  fprintf(stderr, "there is room for %d counters\n", REPLAY_COUNTERS);
  abort();
}

void replay_count(replay *replay, const char *name, uint64_t by) { find_counter(replay->shared, name)->value += by; }

uint64_t replay_counted(const replay *replay, const char *name) { return find_counter(replay->shared, name)->value; }

/* ---- Failures ---------------------------------------------------------------------------------------------------- */

int replay_copy(const char *from, const char *to) {
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    execlp("cp", "cp", "-a", "--", from, to, (char *)NULL);
    _exit(127);
  }
  if (wait_for(child) == 0) return 0;
  fprintf(stderr, "could not copy %s to %s\n", from, to);
  return -1;
}

/* Makes `path` and the folders above it. */
static void make_folders(const char *path) {
  char copy[1024];
  snprintf(copy, sizeof copy, "%s", path);
  for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(copy, 0755);
    *slash = '/';
  }
  mkdir(copy, 0755);
}

static void keep_evidence(replay *replay) {
  const char *base = strrchr(replay->program, '/');
  char path[1024];
  make_folders(replay->keep);
  snprintf(path, sizeof path, "%s/%s-%" PRIu64 "-%" PRIu64, replay->keep, base ? base + 1 : replay->program,
           replay->seed, replay->round);
  remove_tree(path);
  if (access(replay->folder, F_OK) == 0 && replay_copy(replay->folder, path) == 0) {
    fprintf(stderr, "  evidence: %s\n", path);
  }
  if (access(replay->disk, F_OK) == 0) replay_copy(replay->disk, join(path, "disk"));
  fprintf(stderr, "  to repeat: %s --seed %" PRIu64 " --first %" PRIu64 " --rounds 1%s\n", replay->program,
          replay->seed, replay->round, replay->by_chance ? " --repeat 1000" : " --jobs 1");
}

void replay_fail(replay *replay, const char *format, ...) {
  char text[4096];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  int first = atomic_exchange(&replay->shared->failed, 1) == 0;
  fprintf(stderr, "\nround %" PRIu64 " failed: %s\n", replay->round, text);
  if (first) keep_evidence(replay);
}

int replay_failed(const replay *replay) { return (int)replay->shared->failed; }

/* ---- Rounds ------------------------------------------------------------------------------------------------------ */

static int is_over(const replay *replay) {
  const replay_shared *shared = replay->shared;
  return shared->failed || (shared->until_ns > 0 && now_ns() >= shared->until_ns);
}

/* The job's own folders for its round. */
static void name_folders(replay *replay, uint32_t job, char *const bases[2]) {
  snprintf(replay->folder, sizeof replay->folder, "%s/%u", bases[0], job);
  snprintf(replay->disk, sizeof replay->disk, "%s/%u", bases[1], job);
}

/* One job: takes rounds until there are none. In a process of its own. */
static void work(replay *replay, void (*round)(struct replay *, uint64_t), uint32_t job, char *const bases[2]) {
  while (!is_over(replay)) {
    uint64_t taken = replay->shared->next++;
    if (taken >= replay->rounds * replay->repeat) break;
    replay->round = replay->first + taken / replay->repeat;
    replay->shared->doing[job] = replay->round;
    name_folders(replay, job, bases);
    REQUIRE(mkdir(replay->folder, 0700) == 0);
    REQUIRE(mkdir(replay->disk, 0700) == 0);
    alarm(REPLAY_ROUND_SECONDS); /* a round that hangs ends by SIGALRM, which is a failure */
    round(replay, replay_mix(replay->seed, replay->round));
    alarm(0);
    remove_tree(replay->folder);
    remove_tree(replay->disk);
    replay->shared->done++;
  }
}

/* On one line of a terminal; elsewhere a line every half a minute. */
static void show_progress(const replay *replay, uint64_t began, int last) {
  enum { QUIET_SECONDS = 30 };
  static uint64_t shown;
  double seconds = (double)(now_ns() - began) / 1e9;
  uint64_t done = replay->shared->done;
  int terminal = isatty(STDOUT_FILENO);
  if (!terminal && !last && (uint64_t)seconds / QUIET_SECONDS == shown) return;
  shown = (uint64_t)seconds / QUIET_SECONDS;
  printf("%s%s: %" PRIu64 " of %" PRIu64 " rounds, %.1f s, %.0f a second%s", terminal ? "\r" : "", replay->program,
         done, replay->rounds * replay->repeat, seconds, seconds > 0 ? (double)done / seconds : 0.0,
         terminal && !last ? "   " : "\n");
  fflush(stdout);
}

/* Waits for one job to end. A job that died took its round with it: that round failed. */
static void reap(replay *replay, const pid_t *jobs, uint32_t *left, char *const bases[2], int options) {
  int status;
  pid_t ended = waitpid(-1, &status, options);
  if (ended <= 0) return;
  for (uint32_t job = 0; job < replay->jobs; job++) {
    if (jobs[job] != ended) continue;
    --*left;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    replay->round = replay->shared->doing[job];
    name_folders(replay, job, bases);
    if (WIFSIGNALED(status)) {
      replay_fail(replay, "%s", WTERMSIG(status) == SIGALRM ? "it hangs" : strsignal(WTERMSIG(status)));
    } else {
      replay_fail(replay, "its process ended with status %d", WEXITSTATUS(status));
    }
    return;
  }
}

static void show_counters(const replay *replay) {
  for (int i = 0; i < REPLAY_COUNTERS && replay->shared->counters[i].name[0]; i++) {
    printf("  %12" PRIu64 " %s\n", (uint64_t)replay->shared->counters[i].value, replay->shared->counters[i].name);
  }
}

int replay_run(replay *replay, void (*round)(struct replay *, uint64_t)) {
  /* Thousands of logs are made and synced, and a SIGKILL leaves the page cache alone: memory will do for most. */
  char *disk = scratch();
  if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 0);
  char *const bases[2] = {scratch(), disk};
  pid_t jobs[256] = {0};
  uint64_t began = now_ns();
  uint32_t left = 0;
  uint64_t rounds = replay->rounds * replay->repeat;
  if (replay->jobs > rounds) replay->jobs = rounds > 0 ? (uint32_t)rounds : 1;
  for (uint32_t job = 0; job < replay->jobs; job++) {
    jobs[job] = fork();
    REQUIRE(jobs[job] >= 0);
    if (jobs[job] == 0) {
      work(replay, round, job, bases);
      exit(0);
    }
    left++;
  }
  while (left > 0) {
    reap(replay, jobs, &left, bases, WNOHANG);
    show_progress(replay, began, 0);
    if (left > 0) sleep_ns(20000000);
  }
  show_progress(replay, began, 1);
  show_counters(replay);
  scratch_remove(bases[0]);
  scratch_remove(bases[1]);
  return replay->shared->failed ? 1 : 0;
}
