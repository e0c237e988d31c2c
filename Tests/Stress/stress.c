/*
 * stress.c: the stress executable: seeded rounds of threads that do with logs whatever they may, each judged to the
 * last event. Exits 1 if a check failed, and names the seed that repeats the round.
 *
 *     stress [--seed N] [--seconds N] [--rounds N] [--full NAME]    small logs, all kinds of trouble
 *     stress --soak [--events N] [--full NAME]                      ordinary logs, N captures on each policy
 *
 * WEIR_SEED is another way to give the seed, TMPDIR says where the logs lie.
 *
 * Nothing here waits for another thread by spinning on an atomic. Under ThreadSanitizer each acquiring load takes a
 * read lock on the word's shadow, and many spinning readers keep out the writer that they wait for: a start barrier of
 * forty threads that count down and spin never opens. Rounds need none: their producers overlap for a second.
 */
#include "stress.h"

#include <getopt.h>

_Atomic uint64_t checks_passed, checks_failed;
const char *test_name = "";

typedef struct arguments {
  uint64_t seed, seconds, rounds, events;
  int soak;
  uint32_t first_full, full_count;
} arguments;

static int64_t wall_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- Rounds ------------------------------------------------------------------------------------------------------ */

static void open_logs(round_t *round, const char *folder) {
  const weir_field fields[] = {
      {"producer", WEIR_KIND_U64, 0}, {"number", WEIR_KIND_U64, 0}, {"filler", WEIR_KIND_BYTES, 0}};
  const weir_definition definition = {.name = "stressed", .fields = fields, .field_count = 3};
  for (uint32_t i = 0; i < round->plan.log_count; i++) {
    stressed_log *log = &round->logs[i];
    char name[16];
    weir_error error;
    snprintf(name, sizeof name, "log-%u", i);
    log->directory = strdup(join(folder, name));
    weir_status status = weir_open(log->directory, &round->plan.options, &log->log, NULL, &error);
    if (status == WEIR_OK) status = weir_define(log->log, 0, &definition, 1, &log->type, &error);
    if (status != WEIR_OK) fprintf(stderr, "%s\n", error.message);
    REQUIRE(status == WEIR_OK);
  }
}

/* Waits until the producers have ended, or the round's time is over and they are told to. */
static void let_run(round_t *round) {
  uint64_t began = now_ns();
  while (now_ns() - began < round->plan.run_ns) {
    int going = 0;
    for (uint32_t i = 0; i < round->producer_count && !going; i++) {
      going = __atomic_load_n(&round->producers[i].attempts, __ATOMIC_RELAXED) < round->producers[i].most;
    }
    if (!going) break;
    sleep_ns(10000000);
  }
  __atomic_store_n(&round->stop, 1, __ATOMIC_RELAXED);
}

static void run_round(plan plan, figures *figures) {
  static int late_keys;
  char *folder = scratch();
  round_t *round = calloc(1, sizeof *round);
  REQUIRE(round);
  round->plan = plan;
  round->began_ns = wall_ns();
  open_logs(round, folder);
  if (!late_keys++) producers_prepare_late();
  uint64_t began = now_ns();
  producers_start(round);
  bystanders *others = bystanders_start(round);
  let_run(round);
  producers_join(round);
  figures->capture_ns += now_ns() - began;
  __atomic_store_n(&round->stop_bystanders, 1, __ATOMIC_RELAXED);
  bystanders_join(others);
  weir_counters counters[MAX_LOGS];
  for (uint32_t i = 0; i < plan.log_count; i++) {
    weir_count(round->logs[i].log, &counters[i]);
    CHECK_EQUAL(counters[i].lanes_in_use, 0);
    close_log(round->logs[i].log);
    weir_count(round->logs[i].log, &counters[i]);
    weir_free(round->logs[i].log);
  }
  CHECK_EQUAL(round->told, round->asked); /* a close leaves nobody waiting */
  round->ended_ns = wall_ns();
  for (uint32_t i = 0; i < plan.log_count; i++) judge(round, i, &counters[i], figures);
  for (uint32_t i = 0; i < plan.log_count; i++) free(round->logs[i].directory);
  figures->rounds++;
  figures->threads += round->threads;
  figures->children += round->children;
  free(round);
  scratch_remove(folder);
}

static void run_checked(plan plan, figures *figures) {
  uint64_t failed = checks_failed;
  test(full_names[plan.full]);
  run_round(plan, figures);
  if (checks_failed == failed) return;
  fprintf(stderr, "stress: failed; repeat the round with --seed %" PRIu64 " --rounds 1 --full %s\n", plan.seed,
          full_names[plan.full]);
}

static void run_short(const arguments *arguments, figures figures[FULL_POLICIES]) {
  uint64_t began = now_ns();
  for (uint64_t i = 0; i < arguments->rounds; i++) {
    if (i >= arguments->full_count && now_ns() - began >= arguments->seconds * UINT64_C(1000000000)) break;
    uint32_t full = arguments->first_full + (uint32_t)(i % arguments->full_count);
    run_checked(plan_of(arguments->seed + i, full), &figures[full]);
  }
}

static void run_soak(const arguments *arguments, figures figures[FULL_POLICIES]) {
  for (uint32_t i = 0; i < arguments->full_count; i++) {
    struct figures *sum = &figures[arguments->first_full + i];
    for (uint64_t round = 0; sum->sum.attempted < arguments->events; round++) {
      run_checked(soak_plan_of(arguments->seed + round, arguments->first_full + i), sum);
      fprintf(stderr, "%s: %" PRIu64 " of %" PRIu64 " million captures\n", full_names[arguments->first_full + i],
              sum->sum.attempted / 1000000, arguments->events / 1000000);
    }
  }
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

static void print_row(const char *name, const figures *row) {
  const uint64_t *refused = row->sum.refused;
  uint64_t other = 0;
  for (int i = 0; i < WEIR_DROP_REASONS; i++) other += refused[i];
  other -= refused[WEIR_DROP_FULL] + refused[WEIR_DROP_NO_LANE] + refused[WEIR_DROP_CLOSED];
  printf("%-16s %6" PRIu64 " %7" PRIu64 " %8" PRIu64 " %11" PRIu64 " %11" PRIu64 " %10" PRIu64 " %9" PRIu64 " %9" PRIu64
         " %9" PRIu64 " %9" PRIu64 " %11" PRIu64 " %11" PRIu64 " %6.2f\n",
         name, row->rounds, row->threads, row->children, row->sum.attempted, row->sum.accepted, refused[WEIR_DROP_FULL],
         refused[WEIR_DROP_NO_LANE], refused[WEIR_DROP_CLOSED], other, row->sum.cancelled, row->overwritten,
         row->delivered, row->capture_ns ? (double)row->sum.attempted * 1e3 / (double)row->capture_ns : 0);
}

static void print_table(const arguments *arguments, const figures figures[FULL_POLICIES]) {
  printf("%-16s %6s %7s %8s %11s %11s %10s %9s %9s %9s %9s %11s %11s %6s\n",
         "full lane", "rounds", "threads", "children", "attempted", "accepted", "full", "no lane", "closed", "other",
         "cancelled", "overwritten", "delivered", "M/s");
  for (uint32_t i = 0; i < arguments->full_count; i++) {
    print_row(full_names[arguments->first_full + i], &figures[arguments->first_full + i]);
  }
}

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

static int take_full(arguments *arguments, const char *name) {
  for (uint32_t i = 0; i < FULL_POLICIES; i++) {
    if (strcmp(full_names[i], name) != 0) continue;
    arguments->first_full = i;
    arguments->full_count = 1;
    return 1;
  }
  fprintf(stderr, "stress: there is no policy %s; there are drop-newest, block-then-drop, block, drop-oldest\n", name);
  return 0;
}

static int take_arguments(arguments *arguments, int count, char **values) {
  static const struct option options[] = {
      {"seed", required_argument, NULL, 's'},  {"seconds", required_argument, NULL, 't'},
      {"rounds", required_argument, NULL, 'r'}, {"events", required_argument, NULL, 'e'},
      {"full", required_argument, NULL, 'f'},  {"soak", no_argument, NULL, 'k'}, {0}};
  for (int option; (option = getopt_long(count, values, "", options, NULL)) != -1;) {
    uint64_t number = optarg ? strtoull(optarg, NULL, 10) : 0;
    switch (option) {
      case 's': arguments->seed = number; break;
      case 't': arguments->seconds = number; break;
      case 'r': arguments->rounds = number; break;
      case 'e': arguments->events = number; break;
      case 'k': arguments->soak = 1; break;
      case 'f':
        if (!take_full(arguments, optarg)) return 0;
        break;
      default: return 0;
    }
  }
  return optind == count;
}

int main(int count, char **values) {
  const char *given = getenv("WEIR_SEED");
  arguments arguments = {.seed = given ? strtoull(given, NULL, 10) : (uint64_t)wall_ns() / 1000 % 1000000000,
                         .seconds = 10,
                         .rounds = UINT64_MAX,
                         .events = 100000000,
                         .full_count = FULL_POLICIES};
  if (!take_arguments(&arguments, count, values)) return 2;
  printf("stress: WEIR_SEED=%" PRIu64 "\n", arguments.seed);
  fflush(stdout);
  producers_prepare();
  static figures figures[FULL_POLICIES];
  if (arguments.soak) run_soak(&arguments, figures);
  else run_short(&arguments, figures);
  print_table(&arguments, figures);
  return finish();
}
