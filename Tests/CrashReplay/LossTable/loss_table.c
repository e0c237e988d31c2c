/*
 * loss_table.c: what a kill -9 loses, side by side: the same events at the same rate, killed at the same moments, kept
 * by what programs use today and by Weir. Each is killed, opened again, read, and held to what it had acknowledged.
 *
 *     loss_table [--kills N] [--seed N] [--only NAME] [--markdown]     the table
 *     loss_table --check                                               a few kills, for make test
 *
 * An event is acknowledged when the call returned: the thread then counts it in a shared page that outlives the process
 * (a kill between the two is to the store's advantage). Lost is what was acknowledged and is not there; what was never
 * acknowledged may be there or not. Stores lie under TMPDIR. Of a Weir log that lost something, the directory is kept.
 */
#include "check.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include "subject.h"

enum { MAX_KILLS = 1000, SUBJECTS = 7, SCHEDULES = 2 };

static const subject *const subjects[SUBJECTS] = {&memory_queue,   &lines_buffered, &lines_flushed,   &sqlite_insert,
                                                  &sqlite_commit, &sqlite_one,     &weir_log_subject};

/* When events come, and when the kill does: at a moment after the store is open that is drawn from the range. */
typedef struct schedule {
  const char *title;
  uint64_t pace_ns; /* between two events of a thread; 0: as fast as they are taken */
  uint64_t kill_from_ns;
  uint64_t kill_to_ns;
} schedule;

static const schedule schedules[SCHEDULES] = {
    {"an event a millisecond from each of 2 threads, killed after 0.1 to 2.1 s", 1000000, 100000000, 2100000000},
    {"2 threads at full speed, killed after 5 to 250 ms", 0, 5000000, 250000000}};

typedef enum state { PENDING, RUNS, NOT_RUN, FAILED } state;

/* One row's figures, in a shared page: each row is measured by a process of its own. */
typedef struct row {
  state state;
  uint32_t kills;
  uint64_t acknowledged, lost, lost_most, duplicated, damaged, run_ns;
  uint64_t reopen_ns[MAX_KILLS];
  char message[MESSAGE_BYTES];
} row;

typedef struct plan {
  uint64_t seed;
  uint32_t kills;
  const char *only;
  int markdown;
  int check;
  row (*rows)[SUBJECTS]; /* by schedule */
} plan;

/* ---- Orders ------------------------------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t z) {
  z += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

void order_make(order *order, uint64_t seed, uint32_t thread, uint64_t number) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  uint64_t low = mix(seed ^ mix(number * LOSS_THREADS + thread)), high = mix(low);
  memset(order, 0, sizeof *order);
  order->thread = thread;
  order->number = number;
  order->total = (double)(low % 1000000) / 100;
  order->items = (int32_t)(high % 100);
  for (int i = 0; i < COUPON_BYTES; i++) {
    order->coupon[i] = letters[(i < 10 ? low >> 5 * i : high >> 5 * (i - 10)) & 31];
  }
}

/* ---- The victim -------------------------------------------------------------------------------------------------- */

typedef struct producer {
  const subject *subject;
  const schedule *schedule;
  void *store;
  ledger *ledger;
  uint64_t seed;
  uint32_t thread;
} producer;

static void *produce(void *argument) {
  producer *self = argument;
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  for (uint64_t number = 0;; number++) {
    order order;
    order_make(&order, self->seed, self->thread, number);
    __atomic_store_n(&self->ledger->threads[self->thread].began, number + 1, __ATOMIC_RELEASE);
    answer answer;
    while ((answer = self->subject->append(self->store, &order)) == REFUSED) sched_yield();
    if (answer == ACKNOWLEDGED) {
      __atomic_store_n(&self->ledger->threads[self->thread].acknowledged, number + 1, __ATOMIC_RELEASE);
    }
    if (self->schedule->pace_ns == 0) continue;
    uint64_t ns = (uint64_t)next.tv_nsec + self->schedule->pace_ns;
    next.tv_sec += (time_t)(ns / 1000000000);
    next.tv_nsec = (long)(ns % 1000000000);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
  }
  return NULL;
}

/* Never returns: it is killed, or ends because the store can't be opened. */
static void be_victim(const subject *subject, const schedule *schedule, const char *path, uint64_t seed,
                      ledger *ledger) {
  void *store = subject->open(path, ledger, ledger->message);
  if (!store) _exit(1);
  static producer producers[LOSS_THREADS];
  for (uint32_t i = 0; i < LOSS_THREADS; i++) {
    producers[i] = (producer){subject, schedule, store, ledger, seed, i};
    pthread_t thread;
    if (pthread_create(&thread, NULL, produce, &producers[i]) != 0) _exit(1);
  }
  __atomic_store_n(&ledger->ready, 1, __ATOMIC_RELEASE);
  for (;;) pause();
}

/* ---- The judge --------------------------------------------------------------------------------------------------- */

struct judge {
  uint64_t seed;
  uint8_t *seen[LOSS_THREADS];
  uint64_t began[LOSS_THREADS], next[LOSS_THREADS];
  uint64_t duplicated, damaged;
};

void judge_damage(judge *judge) { judge->damaged++; }

void judge_order(judge *judge, const order *found) {
  order wanted;
  if (found->thread >= LOSS_THREADS || found->number >= judge->began[found->thread]) {
    judge->damaged++; /* nobody captured it */
    return;
  }
  order_make(&wanted, judge->seed, found->thread, found->number);
  if (memcmp(&wanted, found, sizeof wanted) != 0) {
    judge->damaged++;
    return;
  }
  uint8_t *seen = &judge->seen[found->thread][found->number];
  if (*seen) judge->duplicated++;
  else if (found->number < judge->next[found->thread]) judge->damaged++; /* out of the thread's order */
  else judge->next[found->thread] = found->number + 1;
  *seen = 1;
}

/* Opens what the kill left, closes it, reads it, and adds what is wrong to the row. 0, or -1 and the row's message. */
static int hold(const subject *subject, const char *path, uint64_t seed, ledger *ledger, row *row) {
  uint64_t before = now_ns();
  void *store = subject->open(path, ledger, row->message);
  if (!store) return -1;
  row->reopen_ns[row->kills] = now_ns() - before;
  subject->close(store);
  judge judge = {.seed = seed};
  uint64_t acknowledged[LOSS_THREADS], lost = 0;
  for (uint32_t i = 0; i < LOSS_THREADS; i++) {
    judge.began[i] = ledger->threads[i].began;
    acknowledged[i] = ledger->threads[i].acknowledged;
    REQUIRE(judge.seen[i] = calloc(1, judge.began[i] + 1));
  }
  int result = subject->read(path, &judge, row->message);
  for (uint32_t i = 0; i < LOSS_THREADS; i++) {
    for (uint64_t number = 0; number < acknowledged[i]; number++) lost += !judge.seen[i][number];
    row->acknowledged += acknowledged[i];
    free(judge.seen[i]);
  }
  row->lost += lost;
  if (lost > row->lost_most) row->lost_most = lost;
  row->duplicated += judge.duplicated;
  row->damaged += judge.damaged;
  return result;
}

/* ---- Kills ------------------------------------------------------------------------------------------------------- */

/* One life and one death. 0, or -1 and the row's message. */
static int kill_once(const subject *subject, const schedule *schedule, uint64_t seed, uint64_t moment_ns, row *row) {
  ledger *told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(told != MAP_FAILED);
  char *path = scratch();
  pid_t victim = fork();
  REQUIRE(victim >= 0);
  if (victim == 0) be_victim(subject, schedule, path, seed, told);
  int ended = 0, status;
  while (!__atomic_load_n(&told->ready, __ATOMIC_ACQUIRE) && !ended) {
    ended = waitpid(victim, &status, WNOHANG) == victim;
    sleep_ns(50000);
  }
  int result = -1;
  if (ended) {
    snprintf(row->message, MESSAGE_BYTES, "%.*s", MESSAGE_BYTES - 1, told->message);
  } else {
    uint64_t began = now_ns();
    sleep_ns(moment_ns);
    kill(victim, SIGKILL);
    uint64_t ran = now_ns() - began;
    /* A victim that ended by itself proves nothing. */
    if (wait_for(victim) != 1000 + SIGKILL) snprintf(row->message, MESSAGE_BYTES, "it ended before it was killed");
    else {
      row->run_ns += ran;
      result = hold(subject, path, seed, told, row);
    }
  }
  munmap(told, sizeof *told);
  if (subject->is_weir && (result != 0 || row->lost + row->duplicated + row->damaged > 0)) {
    fprintf(stderr, "\nkept: %s\n", path);
    free(path);
  } else {
    scratch_remove(path);
  }
  return result;
}

static void measure(const plan *plan, uint32_t schedule, const subject *subject, row *row) {
  const struct schedule *when = &schedules[schedule];
  for (; row->kills < plan->kills; row->kills++) {
    /* The same for every subject: the moment, and the events. */
    uint64_t seed = mix(plan->seed ^ mix((uint64_t)schedule << 32 | row->kills));
    uint64_t moment = when->kill_from_ns + mix(seed) % (when->kill_to_ns - when->kill_from_ns);
    if (kill_once(subject, when, seed, moment, row) != 0) {
      row->state = FAILED;
      _exit(1);
    }
  }
  _exit(0);
}

static int wanted(const plan *plan, const subject *subject) {
  return !plan->only || strcmp(plan->only, subject->name) == 0;
}

/* Of the schedule's kills, those that were done; `of`: all that its rows will have. */
static uint64_t kills_done(const plan *plan, uint32_t schedule, uint64_t *of) {
  uint64_t kills = 0;
  *of = 0;
  for (uint32_t i = 0; i < SUBJECTS; i++) {
    int runs = wanted(plan, subjects[i]) && subjects[i]->open;
    kills += runs ? plan->rows[schedule][i].kills : 0;
    *of += runs ? plan->kills : 0;
  }
  return kills;
}

/* Waits for the measuring processes and says how far they are: on a terminal all the time, elsewhere now and then. */
static void wait_and_tell(const plan *plan, uint32_t schedule, pid_t *children, uint32_t count) {
  static uint64_t told;
  uint64_t of, first = kills_done(plan, schedule, &of), began = now_ns();
  if (told == 0) told = began;
  for (uint32_t left = count; left > 0;) {
    sleep_ns(20000000);
    if (now_ns() - told > (isatty(2) ? 100000000u : 10000000000u)) {
      uint64_t kills = kills_done(plan, schedule, &of);
      told = now_ns();
      fprintf(stderr, "%s%s: %" PRIu64 " of %" PRIu64 " kills, %.1f a second%s", isatty(2) ? "\r" : "",
              schedules[schedule].title, kills, of, (double)(kills - first) * 1e9 / (double)(told - began),
              isatty(2) ? " " : "\n");
    }
    left = 0;
    for (uint32_t i = 0; i < count; i++) {
      if (children[i] > 0 && waitpid(children[i], NULL, WNOHANG) == children[i]) children[i] = 0;
      left += children[i] > 0;
    }
  }
}

/* Where events are paced the rows run side by side, which takes no longer than one; at full speed one after another. */
static void run(const plan *plan, uint32_t schedule) {
  pid_t children[SUBJECTS];
  uint32_t count = 0;
  for (uint32_t i = 0; i < SUBJECTS; i++) {
    row *row = &plan->rows[schedule][i];
    row->state = !wanted(plan, subjects[i]) ? PENDING : subjects[i]->open ? RUNS : NOT_RUN;
    if (row->state != RUNS) continue;
    fflush(NULL);
    children[count] = fork();
    REQUIRE(children[count] >= 0);
    if (children[count] == 0) measure(plan, schedule, subjects[i], row);
    count++;
    if (schedules[schedule].pace_ns == 0) {
      wait_and_tell(plan, schedule, children, count);
      count = 0;
    }
  }
  if (count > 0) wait_and_tell(plan, schedule, children, count);
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

/* With commas between thousands. In one of a few buffers, so that a line can have several. */
static const char *number(uint64_t value) {
  static char texts[8][32];
  static unsigned next;
  char *at = texts[next++ % 8] + 31;
  *at = 0;
  int digits = 0;
  do {
    if (digits > 0 && digits % 3 == 0) *--at = ',';
    *--at = (char)('0' + value % 10);
    digits++;
    value /= 10;
  } while (value > 0);
  return at;
}

static int by_size(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

enum { COLUMNS = 8, CELL_BYTES = 64 };

static const char *const headings[COLUMNS] = {"",           "acknowledged", "a second",   "lost",
                                              "worst kill", "duplicated",   "damaged",    "open again, ms"};

/* `bold`: what is wrong stands out in Markdown. */
static void count_cell(char *cell, uint64_t count, int bold) {
  bold = bold && count > 0;
  snprintf(cell, CELL_BYTES, "%s%s%s", bold ? "**" : "", number(count), bold ? "**" : "");
}

static void fill_row(const subject *subject, row *row, int markdown, char cells[COLUMNS][CELL_BYTES]) {
  snprintf(cells[0], CELL_BYTES, "%s", subject->title);
  for (int i = 1; i < COLUMNS; i++) snprintf(cells[i], CELL_BYTES, "%s", row->state == NOT_RUN ? "not run" : "failed");
  if (row->state != RUNS || row->kills == 0) return;
  qsort(row->reopen_ns, row->kills, sizeof row->reopen_ns[0], by_size);
  count_cell(cells[1], row->acknowledged, 0);
  count_cell(cells[2], (uint64_t)((double)row->acknowledged * 1e9 / (double)row->run_ns + 0.5), 0);
  count_cell(cells[3], row->lost, markdown);
  count_cell(cells[4], row->lost_most, 0);
  count_cell(cells[5], row->duplicated, markdown);
  count_cell(cells[6], row->damaged, markdown);
  snprintf(cells[7], CELL_BYTES, "%.1f, at most %.1f", (double)row->reopen_ns[row->kills / 2] / 1e6,
           (double)row->reopen_ns[row->kills - 1] / 1e6);
}

static void print_rows(const plan *plan, uint32_t schedule) {
  char cells[SUBJECTS][COLUMNS][CELL_BYTES];
  int widths[COLUMNS];
  for (int c = 0; c < COLUMNS; c++) widths[c] = (int)strlen(headings[c]);
  for (uint32_t i = 0; i < SUBJECTS; i++) {
    fill_row(subjects[i], &plan->rows[schedule][i], plan->markdown, cells[i]);
    for (int c = 0; wanted(plan, subjects[i]) && c < COLUMNS; c++) {
      if ((int)strlen(cells[i][c]) > widths[c]) widths[c] = (int)strlen(cells[i][c]);
    }
  }
  if (plan->markdown) printf("| %s |", schedules[schedule].title);
  else printf("\n%s\n%*s", schedules[schedule].title, widths[0], "");
  for (int c = 1; c < COLUMNS; c++) {
    if (plan->markdown) printf(" %s |", headings[c]);
    else printf("  %*s", widths[c], headings[c]);
  }
  printf("%s\n", plan->markdown ? "\n|---|---|---|---|---|---|---|---|" : "");
  for (uint32_t i = 0; i < SUBJECTS; i++) {
    if (!wanted(plan, subjects[i])) continue;
    for (int c = 0; c < COLUMNS; c++) {
      if (plan->markdown) printf("%s%s |", c == 0 ? "| " : " ", cells[i][c]);
      else printf(c == 0 ? "%-*s" : "  %*s", widths[c], cells[i][c]);
    }
    printf("\n");
  }
  if (plan->markdown) printf("\n");
}

/* Of each row: how it is used, and what would make it lose nothing. */
static void print_settings(const plan *plan) {
  if (plan->markdown) printf("| | how it is used | what it needs to lose nothing in a kill |\n|---|---|---|\n");
  else printf("\n");
  for (uint32_t i = 0; i < SUBJECTS; i++) {
    const subject *subject = subjects[i];
    if (!wanted(plan, subject)) continue;
    if (plan->markdown) printf("| %s | %s | %s |\n", subject->title, subject->settings, subject->as_safe);
    else printf("%s: %s.\n    To lose nothing in a kill it needs %s.\n", subject->title, subject->settings,
                subject->as_safe);
  }
}

/* The line of a file that begins with `key`, after its colon. */
static void line_of(const char *path, const char *key, char *text, size_t room) {
  char line[256];
  FILE *file = fopen(path, "r");
  snprintf(text, room, "unknown");
  while (file && fgets(line, sizeof line, file)) {
    char *colon = strchr(line, ':');
    if (strncmp(line, key, strlen(key)) != 0 || !colon) continue;
    line[strcspn(line, "\n")] = 0;
    snprintf(text, room, "%s", colon + 2);
    break;
  }
  if (file) fclose(file);
}

/* A figure without its machine says nothing. */
static void print_source(const plan *plan) {
  char processor[128], date[32];
  struct sysinfo memory;
  struct utsname kernel;
  double load[3] = {0};
  time_t now = time(NULL);
  line_of("/proc/cpuinfo", "model name", processor, sizeof processor);
  sysinfo(&memory);
  uname(&kernel);
  getloadavg(load, 3);
  strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
  printf("%s`make loss-table` on %s: %" PRIu32 " kills a row, seed %" PRIu64 "; %s, %ld processors, %.0f GB, Linux %s; "
         "load average at the end %.2f %.2f %.2f.\n",
         plan->markdown ? "\n" : "\n", date, plan->kills, plan->seed, processor, sysconf(_SC_NPROCESSORS_ONLN),
         (double)memory.totalram * memory.mem_unit / 1e9, kernel.release, load[0], load[1], load[2]);
}

/* ---- What must hold ---------------------------------------------------------------------------------------------- */

static void check(const plan *plan) {
  test("case 56: the same kill schedule loses nothing of Weir's, and what users run today loses what it has in memory");
  for (uint32_t i = 0; i < SUBJECTS; i++) {
    uint64_t lost = 0, acknowledged = 0;
    for (uint32_t s = 0; s < SCHEDULES; s++) {
      const row *row = &plan->rows[s][i];
      if (row->state == PENDING) continue;
      if (row->state == NOT_RUN) {
        printf("SKIPPED: case 56: %s, because its library is not installed\n", subjects[i]->title);
        continue;
      }
      if (!CHECK_EQUAL(row->kills, plan->kills)) fprintf(stderr, "  %s: %s\n", subjects[i]->name, row->message);
      acknowledged += row->acknowledged;
      lost += row->lost;
      if (!subjects[i]->loses) CHECK_EQUAL(row->lost, 0);
      if (!subjects[i]->is_weir) continue;
      CHECK_EQUAL(row->duplicated, 0);
      CHECK_EQUAL(row->damaged, 0);
    }
    /* Of both schedules: an early kill of a quiet program may come before the first 1,000 events are committed. */
    if (plan->rows[0][i].state == RUNS) CHECK(acknowledged > 0);
    if (subjects[i]->loses && plan->rows[0][i].state == RUNS && !CHECK(lost > 0)) {
      fprintf(stderr, "  %s lost nothing: the kills did not come while it ran\n", subjects[i]->name);
    }
  }
  if (checks_failed == 0) return;
  printf("To repeat the schedule: loss_table --kills %" PRIu32 " --seed %" PRIu64 "\n", plan->kills, plan->seed);
}

static int usage(void) {
  fprintf(stderr, "usage: loss_table [--kills N] [--seed N] [--only NAME] [--markdown] [--check]\nnames:");
  for (uint32_t i = 0; i < SUBJECTS; i++) fprintf(stderr, " %s", subjects[i]->name);
  fprintf(stderr, "\n");
  return 2;
}

static int take_options(plan *plan, int count, char **words) {
  for (int i = 1; i < count; i++) {
    const char *next = i + 1 < count ? words[i + 1] : NULL;
    if (strcmp(words[i], "--markdown") == 0) plan->markdown = 1;
    else if (strcmp(words[i], "--check") == 0) plan->check = 1;
    else if (!next) return 0;
    else if (strcmp(words[i], "--kills") == 0) plan->kills = (uint32_t)strtoul(words[++i], NULL, 10);
    else if (strcmp(words[i], "--seed") == 0) plan->seed = strtoull(words[++i], NULL, 10);
    else if (strcmp(words[i], "--only") == 0) plan->only = words[++i];
    else return 0;
  }
  int known = !plan->only;
  for (uint32_t i = 0; i < SUBJECTS; i++) known |= wanted(plan, subjects[i]);
  if (plan->kills == 0) plan->kills = plan->check ? 2 : 40;
  return known && plan->kills <= MAX_KILLS;
}

int main(int count, char **words) {
  random_start("loss_table");
  plan plan = {.seed = random_state};
  if (!take_options(&plan, count, words)) return usage();
  if (plan.seed != random_state) printf("seed %" PRIu64 "\n", plan.seed);
  size_t bytes = SCHEDULES * sizeof *plan.rows;
  plan.rows = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(plan.rows != MAP_FAILED);
  for (uint32_t schedule = 0; schedule < SCHEDULES; schedule++) run(&plan, schedule);
  for (uint32_t schedule = 0; schedule < SCHEDULES; schedule++) print_rows(&plan, schedule);
  if (!plan.check) {
    print_settings(&plan);
    print_source(&plan);
  }
  check(&plan);
  return finish();
}
