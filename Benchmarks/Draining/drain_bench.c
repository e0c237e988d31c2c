/*
 * drain_bench.c: what follows a capture costs. `make drain-bench`.
 *
 * Threads capture records of 72 bytes as fast as the log takes them, and wait where a lane is full. Then the log is
 * drained and closed. Printed are the events accepted a second, and the processor time of all that the process did
 * beside those threads, by event, user and system, with the share of each of the log's threads. Beside it, in turns:
 * write() of the same bytes in pieces of 256 KiB. Each run is a process of its own, in an empty directory.
 *
 * Nothing is asserted: the figures depend on the machine, and on what else runs on it.
 */
#define _GNU_SOURCE 1
#include <dirent.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../../Tests/C/check.h"

enum { RECORD_BYTES = 72, PIECE_BYTES = 256 << 10, MOST_THREADS = 64, MOST_ROUNDS = 99, NAMES = 5 };

static const char *const names[NAMES] = {"weir-drain", "weir-prepare", "weir-seal", "weir-prefault", "weir-batch"};

/* What a child process measured, in nanoseconds. */
typedef struct answer {
  double wall;
  double behind;
  double thread[NAMES];
} answer;

typedef struct producer {
  pthread_t thread;
  weir_log *log;
  uint32_t type;
  uint64_t events;
  uint64_t cpu_ns;
} producer;

static uint64_t clock_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void die(const char *what, const weir_error *error) {
  fprintf(stderr, "%s: %s\n", what, error ? error->message : strerror(errno));
  _exit(2);
}

static void *produce(void *argument) {
  producer *producer = argument;
  for (uint64_t i = 0; i < producer->events; i++) {
    weir_record record;
    int32_t drop = weir_begin(producer->log, &record);
    if (drop == WEIR_ACCEPTED) {
      for (uint64_t field = 0; field < (RECORD_BYTES - WEIR_RECORD_HEADER_BYTES) / 8; field++) {
        weir_put_u64(&record, i + field);
      }
      drop = weir_commit(&record, producer->type, NULL);
    }
    if (drop != WEIR_ACCEPTED) {
      fprintf(stderr, "a capture was refused: %s\n", weir_drop_name(drop));
      _exit(3);
    }
  }
  producer->cpu_ns = clock_of(CLOCK_THREAD_CPUTIME_ID);
  return NULL;
}

/* The processor time of each of the log's threads. */
static void look_at_threads(answer *answer) {
  DIR *tasks = opendir("/proc/self/task");
  for (struct dirent *task; tasks && (task = readdir(tasks));) {
    char path[320], name[32] = "";
    double ran = 0;
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
    FILE *file = fopen(path, "re");
    if (!file) continue;
    if (fscanf(file, "%31s", name) != 1) name[0] = 0;
    fclose(file);
    snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", task->d_name);
    if (!(file = fopen(path, "re"))) continue;
    if (fscanf(file, "%lf", &ran) != 1) ran = 0;
    fclose(file);
    for (int i = 0; i < NAMES; i++) answer->thread[i] += strcmp(name, names[i]) == 0 ? ran : 0;
  }
  if (tasks) closedir(tasks);
}

static void capture(const char *path, uint64_t threads, uint64_t events, answer *answer) {
  weir_options options;
  weir_options_init(&options);
  options.full_wait_ns = UINT64_MAX;
  weir_log *log;
  weir_error error;
  if (weir_open(path, &options, &log, NULL, &error) != WEIR_OK) die("open", &error);
  weir_field fields[(RECORD_BYTES - WEIR_RECORD_HEADER_BYTES) / 8];
  char field_names[sizeof fields / sizeof *fields][8];
  for (uint64_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    snprintf(field_names[i], sizeof field_names[i], "f%d", (int)i);
    fields[i] = (weir_field){field_names[i], WEIR_KIND_U64, 0};
  }
  weir_definition definition = {.name = "bench.event", .fields = fields, .field_count = sizeof fields / sizeof *fields};
  uint32_t type;
  if (weir_define(log, 0, &definition, 1, &type, &error) != WEIR_OK) die("define", &error);
  static producer producers[MOST_THREADS];
  uint64_t cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID), wall = clock_of(CLOCK_MONOTONIC), producing = 0;
  for (uint64_t i = 0; i < threads; i++) {
    producers[i] = (producer){.log = log, .type = type, .events = events / threads};
    REQUIRE(pthread_create(&producers[i].thread, NULL, produce, &producers[i]) == 0);
  }
  for (uint64_t i = 0; i < threads; i++) {
    pthread_join(producers[i].thread, NULL);
    producing += producers[i].cpu_ns;
  }
  answer->wall = (double)(clock_of(CLOCK_MONOTONIC) - wall);
  if (weir_drain(log, UINT64_MAX, NULL, &error) != WEIR_OK) die("drain", &error);
  look_at_threads(answer);
  if (weir_close(log, &error) != WEIR_OK) die("close", &error);
  answer->behind = (double)(clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu - producing);
}

static void write_pieces(const char *path, uint64_t events, answer *answer) {
  static uint8_t piece[PIECE_BYTES];
  memset(piece, 0x5a, sizeof piece);
  int file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) die(path, NULL);
  uint64_t cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID), wall = clock_of(CLOCK_MONOTONIC);
  for (uint64_t left = events * RECORD_BYTES; left > 0;) {
    uint64_t bytes = left < sizeof piece ? left : sizeof piece;
    if (write(file, piece, bytes) != (ssize_t)bytes) die("write", NULL);
    left -= bytes;
  }
  answer->wall = (double)(clock_of(CLOCK_MONOTONIC) - wall);
  answer->behind = (double)(clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu);
  close(file);
}

/* Runs one measurement in a process and a directory of its own. `threads` 0: write(). */
static answer run(uint64_t threads, uint64_t events) {
  char *path = scratch();
  char file[4096];
  snprintf(file, sizeof file, "%s/%s", path, threads ? "log" : "file");
  mkdir(path, 0700);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    answer answer = {0};
    if (threads) capture(file, threads, events, &answer);
    else write_pieces(file, events, &answer);
    _exit(write(ends[1], &answer, sizeof answer) == sizeof answer ? 0 : 2);
  }
  close(ends[1]);
  answer answer;
  REQUIRE(read(ends[0], &answer, sizeof answer) == sizeof answer);
  close(ends[0]);
  wait_for(child);
  scratch_remove(path);
  return answer;
}

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

/* The median of a member of the answers, which are `stride` bytes apart. */
static double median(const answer *answers, uint64_t count, uint64_t at) {
  double values[MOST_ROUNDS];
  for (uint64_t i = 0; i < count; i++) values[i] = *(const double *)(const void *)((const char *)&answers[i] + at);
  qsort(values, count, sizeof *values, compare);
  return values[count / 2];
}

static uint64_t number(const char *text, uint64_t most) {
  char *end;
  uint64_t value = strtoull(text, &end, 10);
  if (*end == 0 && value > 0 && value <= most) return value;
  fprintf(stderr, "drain_bench: %s is no number from 1 to %llu\n", text, (unsigned long long)most);
  exit(64);
}

int main(int count, char **arguments) {
  enum { VARIANTS = 6 };
  static const uint64_t threads[VARIANTS] = {0, 1, 2, 3, 16, 64};
  static answer answers[VARIANTS][MOST_ROUNDS];
  uint64_t events = 8000000, rounds = 5;
  for (int i = 1; i + 1 < count; i += 2) {
    if (strcmp(arguments[i], "--events") == 0) events = number(arguments[i + 1], UINT64_MAX / RECORD_BYTES);
    else if (strcmp(arguments[i], "--rounds") == 0) rounds = number(arguments[i + 1], MOST_ROUNDS);
    else count = 0;
  }
  if (count % 2 == 0) {
    fprintf(stderr, "usage: drain_bench [--events N] [--rounds N]\n");
    return 64;
  }
  for (uint64_t round = 0; round < rounds; round++) {
    for (int i = 0; i < VARIANTS; i++) answers[i][round] = run(threads[i], events);
  }
  printf("%llu events of %d bytes, medians of %llu rounds, ns of processor time an event\n\n",
         (unsigned long long)events, RECORD_BYTES, (unsigned long long)rounds);
  printf("%-12s %14s %8s %8s", "threads", "events/s", "behind", "of write");
  for (int i = 0; i < NAMES; i++) printf(" %13s", names[i]);
  double written = median(answers[0], rounds, offsetof(answer, behind)) / (double)events;
  for (int i = 0; i < VARIANTS; i++) {
    double each = median(answers[i], rounds, offsetof(answer, behind)) / (double)events;
    double rate = (double)events / median(answers[i], rounds, offsetof(answer, wall)) * 1e9;
    char name[16] = "write";
    if (threads[i]) snprintf(name, sizeof name, "%d", (int)threads[i]);
    printf("\n%-12s %14.0f %8.1f %8.2f", name, rate, each, each / written);
    for (uint64_t j = 0; threads[i] && j < NAMES; j++) {
      uint64_t at = offsetof(answer, thread) + j * sizeof(double);
      printf(" %13.1f", median(answers[i], rounds, at) / (double)events);
    }
  }
  printf("\n");
  return 0;
}
