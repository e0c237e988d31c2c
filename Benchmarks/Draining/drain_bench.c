/*
 * drain_bench.c: what follows a capture costs. `make drain-bench`.
 *
 * Threads capture records of 72 bytes as fast as the log takes them, and wait where a lane is full. Then the log is
 * drained and closed. Printed are the events accepted a second, and the processor time of all that the process did
 * beside those threads, by event, user and system, with the share of each of the log's threads, and the process's peak
 * memory, which includes pages of mapped files. Beside it, in turns: write() of the same bytes in pieces of 256 KiB,
 * and, with --peer, another library of Benchmarks/Peers, which discards what it has no room for: its events a second
 * are those that it kept, its processor time is divided by those, and its daemons are included. Each run is a process
 * of its own, in an empty directory.
 *
 * Nothing is asserted: the figures depend on the machine, and on what else runs on it.
 *
 *     drain_bench [--events N] [--rounds N] [--threads 1,2,…] [--peer NAME=LIBRARY] [--daemons PREFIX] [--bench NAME]
 *                 [--results FILE]
 *
 * --daemons: processes of the peer, by the beginning of their names. Results are appended to the file, as rows of the
 * bench of that name.
 */
#define _GNU_SOURCE 1
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../../Tests/C/check.h"
#include "../Sources/CaptureSubjects/include/peer.h"

enum {
  RECORD_BYTES = 72,
  PIECE_BYTES = 256 << 10,
  MOST_THREADS = 64,
  MOST_ROUNDS = 99,
  MOST_VARIANTS = 32,
  PEER_BURST = 500,
  NAMES = 5
};

static const char *const names[NAMES] = {"weir-drain", "weir-prepare", "weir-seal", "weir-prefault", "weir-batch"};

/* What a child process measured, in nanoseconds and KiB. */
typedef struct answer {
  double wall;
  double behind;
  double kept; /* events */
  double memory;
  double thread[NAMES];
} answer;

/* A number of threads, of Weir or of the peer. */
typedef struct variant {
  uint64_t threads; /* 0: write() */
  int is_peer;
} variant;

static const char *peer_name, *peer_library, *daemons, *bench = "draining";

typedef struct producer {
  pthread_t thread;
  weir_log *log;
  const peer_table *table;
  void *peer;
  uint32_t type, number;
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

static uint64_t peak_kib(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (uint64_t)usage.ru_maxrss;
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
  answer->kept = (double)(events / threads * threads);
  answer->memory = (double)peak_kib();
}

/* ---- The peer ---------------------------------------------------------------------------------------------------- */

/* Adds up a line of a file of /proc: the number at its begin, or after `name`. */
static double number_in(const char *path, const char *name) {
  char line[256];
  double value = 0;
  FILE *file = fopen(path, "re");
  while (file && fgets(line, sizeof line, file)) {
    if (strncmp(line, name, strlen(name)) == 0) value = strtod(line + strlen(name), NULL);
    if (!*name) break;
  }
  if (file) fclose(file);
  return value;
}

/* The processor time of the peer's daemons so far, in nanoseconds, and their peak memory. */
static double look_at_daemons(double *memory_kib) {
  double ran = 0;
  DIR *all = daemons ? opendir("/proc") : NULL;
  for (struct dirent *process; all && (process = readdir(all));) {
    char path[600], name[32] = "";
    snprintf(path, sizeof path, "/proc/%s/comm", process->d_name);
    FILE *file = fopen(path, "re");
    if (!file) continue;
    if (fscanf(file, "%31s", name) != 1) name[0] = 0;
    fclose(file);
    if (strncmp(name, daemons, strlen(daemons)) != 0) continue;
    snprintf(path, sizeof path, "/proc/%s/status", process->d_name);
    *memory_kib += number_in(path, "VmHWM:");
    snprintf(path, sizeof path, "/proc/%s/task", process->d_name);
    DIR *tasks = opendir(path);
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
      snprintf(path, sizeof path, "/proc/%.40s/task/%.40s/schedstat", process->d_name, task->d_name);
      ran += number_in(path, "");
    }
    if (tasks) closedir(tasks);
  }
  if (all) closedir(all);
  return ran;
}

static void *produce_to_peer(void *argument) {
  producer *producer = argument;
  for (uint64_t first = 0; first < producer->events; first += PEER_BURST) {
    producer->table->burst(producer->peer, producer->number, first, PEER_BURST, "SPRING-2026-DISCOUNT");
  }
  producer->cpu_ns = clock_of(CLOCK_THREAD_CPUTIME_ID);
  return NULL;
}

static void capture_by_peer(const char *path, uint64_t threads, uint64_t events, answer *answer) {
  char message[PEER_MESSAGE_BYTES] = "";
  void *library = dlopen(peer_library, RTLD_NOW | RTLD_LOCAL);
  const peer_table *table = library ? dlsym(library, "peer_subject") : NULL;
  if (!table || table->version != PEER_VERSION) {
    fprintf(stderr, "%s: %s\n", peer_library, library ? "no table of this version" : dlerror());
    exit(2);
  }
  mkdir(path, 0700);
  void *peer = table->open(path, (uint32_t)threads, PEER_CHECKOUT_TEXT, message);
  if (!peer) {
    fprintf(stderr, "%s: %s\n", peer_library, message);
    exit(2);
  }
  static producer producers[MOST_THREADS];
  double unused = 0, daemon_ns = look_at_daemons(&unused);
  uint64_t cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID), wall = clock_of(CLOCK_MONOTONIC), producing = 0;
  for (uint64_t i = 0; i < threads; i++) {
    producers[i] = (producer){.table = table, .peer = peer, .number = (uint32_t)i, .events = events / threads};
    REQUIRE(pthread_create(&producers[i].thread, NULL, produce_to_peer, &producers[i]) == 0);
  }
  for (uint64_t i = 0; i < threads; i++) {
    pthread_join(producers[i].thread, NULL);
    producing += producers[i].cpu_ns;
  }
  answer->wall = (double)(clock_of(CLOCK_MONOTONIC) - wall);
  usleep(300000); /* the daemons empty the buffers */
  uint64_t own = clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu - producing;
  answer->memory = (double)peak_kib();
  answer->behind = look_at_daemons(&answer->memory) - daemon_ns + (double)own;
  peer_delivery delivery = {0};
  if (table->finish(peer, &delivery, message) != 0) {
    fprintf(stderr, "%s: %s\n", peer_library, message);
    exit(2);
  }
  answer->kept = (double)delivery.delivered;
}

/* ---- write() ----------------------------------------------------------------------------------------------------- */

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
  answer->kept = (double)events;
  answer->memory = (double)peak_kib();
  close(file);
}

/* Runs one measurement in a process and a directory of its own. Returns 0 if the peer failed, and has said why. */
static int run(const variant *variant, uint64_t events, answer *result) {
  char *path = scratch();
  char file[4096];
  snprintf(file, sizeof file, "%s/%s", path, variant->threads ? "log" : "file");
  mkdir(path, 0700);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    answer answer = {0};
    if (variant->is_peer) capture_by_peer(file, variant->threads, events, &answer);
    else if (variant->threads) capture(file, variant->threads, events, &answer);
    else write_pieces(file, events, &answer);
    /* exit and not _exit: a peer ends the daemons that it started. */
    exit(write(ends[1], &answer, sizeof answer) == sizeof answer ? 0 : 2);
  }
  close(ends[1]);
  int is_whole = read(ends[0], result, sizeof *result) == sizeof *result;
  REQUIRE(is_whole || variant->is_peer);
  close(ends[0]);
  if (is_whole) wait_for(child);
  else waitpid(child, NULL, 0);
  scratch_remove(path);
  return is_whole;
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

static const char *name_of(const variant *variant) {
  return variant->is_peer ? peer_name : variant->threads ? "weir-c" : "write";
}

static void print_row(const variant *variant, const answer *answers, uint64_t rounds, uint64_t wanted, double written,
                      FILE *results) {
  if (rounds == 0) {
    printf("\n%-10s %7d   left out: it failed in each round", name_of(variant), (int)variant->threads);
    return;
  }
  double events = median(answers, rounds, offsetof(answer, kept));
  double each = median(answers, rounds, offsetof(answer, behind)) / events;
  double rate = events / median(answers, rounds, offsetof(answer, wall)) * 1e9;
  double memory = median(answers, rounds, offsetof(answer, memory)) / 1024;
  printf("\n%-10s %7d %14.0f %8.1f %8.2f %7.0f", name_of(variant), (int)variant->threads, rate, each, each / written,
         memory);
  for (uint64_t i = 0; variant->threads && !variant->is_peer && i < NAMES; i++) {
    printf(" %13.1f", median(answers, rounds, offsetof(answer, thread) + i * sizeof(double)) / events);
  }
  fflush(stdout);
  if (!results) return;
  fprintf(results,
          "{\"bench\":\"%s\",\"subject\":\"%s\",\"threads\":%d,\"events\":%llu,\"kept\":%.0f,"
          "\"events_per_second\":%.0f,\"cpu_ns\":%.2f,\"of_write\":%.3f,\"memory_mib\":%.1f}\n",
          bench, name_of(variant), (int)variant->threads, (unsigned long long)wanted, events, rate, each,
          each / written, memory);
}

/* Threads as "0,1,2": write() first, which the others are held against. */
static uint64_t read_threads(char *list, variant *variants) {
  uint64_t count = 0;
  variants[count++] = (variant){0, 0};
  for (char *rest, *text = strtok_r(list, ",", &rest); text; text = strtok_r(NULL, ",", &rest)) {
    if (strcmp(text, "0") == 0) continue;
    uint64_t threads = number(text, MOST_THREADS);
    if (count + 2 > MOST_VARIANTS) exit(64);
    variants[count++] = (variant){threads, 0};
    if (peer_library) variants[count++] = (variant){threads, 1};
  }
  return count;
}

int main(int count, char **arguments) {
  static answer answers[MOST_VARIANTS][MOST_ROUNDS];
  static variant variants[MOST_VARIANTS];
  static uint64_t done[MOST_VARIANTS]; /* rounds, of each variant: those in which a peer failed are left out */
  char standard[] = "1,2,3,16,64", *threads = standard;
  uint64_t events = 8000000, rounds = 5;
  FILE *results = NULL;
  for (int i = 1; i + 1 < count; i += 2) {
    char *value = arguments[i + 1], *equals = strchr(value, '=');
    if (strcmp(arguments[i], "--events") == 0) events = number(value, UINT64_MAX / RECORD_BYTES);
    else if (strcmp(arguments[i], "--rounds") == 0) rounds = number(value, MOST_ROUNDS);
    else if (strcmp(arguments[i], "--threads") == 0) threads = value;
    else if (strcmp(arguments[i], "--daemons") == 0) daemons = value;
    else if (strcmp(arguments[i], "--bench") == 0) bench = value;
    else if (strcmp(arguments[i], "--peer") == 0 && equals) *equals = 0, peer_name = value, peer_library = equals + 1;
    else if (strcmp(arguments[i], "--results") != 0 || !(results = fopen(value, "ae"))) count = 0;
  }
  if (count % 2 == 0) {
    fprintf(stderr, "usage: drain_bench [--events N] [--rounds N] [--threads 1,2,…] [--peer NAME=LIBRARY]"
                    " [--daemons PREFIX] [--bench NAME] [--results FILE]\n");
    return 64;
  }
  uint64_t variant_count = read_threads(threads, variants);
  for (uint64_t round = 0; round < rounds; round++) {
    for (uint64_t i = 0; i < variant_count; i++) {
      done[i] += (uint64_t)run(&variants[i], events, &answers[i][done[i]]);
    }
  }
  printf("%llu events of %d bytes, medians of %llu rounds, ns of processor time an event, MiB of memory\n\n",
         (unsigned long long)events, RECORD_BYTES, (unsigned long long)rounds);
  printf("%-10s %7s %14s %8s %8s %7s", "", "threads", "events/s", "behind", "of write", "memory");
  for (int i = 0; i < NAMES; i++) printf(" %13s", names[i]);
  double written = median(answers[0], rounds, offsetof(answer, behind)) / (double)events;
  for (uint64_t i = 0; i < variant_count; i++) print_row(&variants[i], answers[i], done[i], events, written, results);
  printf("\n");
  return results && fclose(results) != 0;
}
