/*
 * opening_bench.c: what opening costs, from the call of weir_open to the first event that is accepted. `make
 * opening-bench`.
 *
 *   new    a new log in an empty directory, and what the log takes on disk before the first event
 *   killed a log whose writer was killed at full speed; beside it reading, with pread, the
 *          files that were not sealed; and writing as many bytes to a new file, and a sync of it, because what is
 *          recovered is on the disk before the opening returns
 *
 * Each in a process of its own, in turns. Before each the disk has all of what earlier ones wrote and removed, or an
 * opening would wait for their commit of the file system's journal. Nothing is asserted. TMPDIR says on which file
 * system.
 *
 *     opening_bench [--rounds N] [--events N] [--results FILE]   results are appended
 */
#define _GNU_SOURCE 1
#include <dirent.h>

#include "../../Tests/C/check.h"

enum { MOST_ROUNDS = 199 };

static uint64_t events = 2000000;

typedef struct answer {
  double ns, kib;
} answer;

static void die(const weir_error *error) {
  fprintf(stderr, "opening_bench: %s\n", error->message);
  _exit(2);
}

static uint32_t define(weir_log *log) {
  const weir_field fields[] = {{"order", WEIR_KIND_U64, 0}, {"total", WEIR_KIND_F64, 0}, {"note", WEIR_KIND_STRING, 0}};
  const weir_definition definition = {.name = "bench.event", .fields = fields, .field_count = 3};
  weir_error error;
  uint32_t type;
  if (weir_define(log, 0, &definition, 1, &type, &error) != WEIR_OK) die(&error);
  return type;
}

static void capture(weir_log *log, uint32_t type, uint64_t order) {
  weir_record record;
  REQUIRE(weir_begin(log, &record) == WEIR_ACCEPTED);
  weir_put_u64(&record, order);
  weir_put_f64(&record, (double)order);
  weir_put_string(&record, "SPRING-2026-DISCOUNT", 20);
  REQUIRE(weir_commit(&record, type, NULL) == WEIR_ACCEPTED);
}

/* What the files of a directory take on disk, in KiB. */
static double kib_of(const char *path) {
  double blocks = 0;
  DIR *folder = opendir(path);
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    char name[4352];
    struct stat stat;
    snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
    if (lstat(name, &stat) == 0 && S_ISREG(stat.st_mode)) blocks += (double)stat.st_blocks;
  }
  if (folder) closedir(folder);
  return blocks / 2;
}

static weir_log *opened(const char *path) {
  weir_options options;
  weir_options_init(&options);
  options.full_wait_ns = UINT64_MAX;
  weir_log *log;
  weir_error error;
  if (weir_open(path, &options, &log, NULL, &error) != WEIR_OK) die(&error);
  return log;
}

/* From the call of weir_open to the first event that is accepted. */
static void open_once(const char *path, answer *answer) {
  uint64_t start = now_ns();
  weir_log *log = opened(path);
  capture(log, define(log), 0);
  answer->ns = (double)(now_ns() - start);
  weir_error error;
  if (weir_close(log, &error) != WEIR_OK) die(&error);
}

/* What an opening puts on the disk before there is an event. */
static void open_and_look(const char *path, answer *answer) {
  weir_log *log = opened(path);
  answer->kib = kib_of(path);
  weir_error error;
  if (weir_close(log, &error) != WEIR_OK) die(&error);
}

static void fill_and_die(const char *path, answer *answer) {
  weir_log *log = opened(path);
  uint32_t type = define(log);
  for (uint64_t i = 0; i < events; i++) capture(log, type, i);
  (void)answer;
}

/* Reads what is written of the file, in pieces of 256 KiB. */
static uint64_t read_file(const char *path) {
  static uint8_t piece[256 << 10];
  uint64_t bytes = 0;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  for (off_t at = 0, hole; file >= 0 && (at = lseek(file, at, SEEK_DATA)) >= 0; at = hole) {
    hole = lseek(file, at, SEEK_HOLE);
    while (at < hole) {
      ssize_t count = pread(file, piece, (uint64_t)(hole - at) < sizeof piece ? (size_t)(hole - at) : sizeof piece, at);
      if (count <= 0) break;
      at += count;
      bytes += (uint64_t)count;
    }
  }
  if (file >= 0) close(file);
  return bytes;
}

/* Reads the files that a recovery reads: the ring, and the segments that were not sealed. */
static void read_unsealed(const char *path, answer *answer) {
  uint64_t start = now_ns();
  uint64_t bytes = 0;
  DIR *folder = opendir(path);
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    char name[4352];
    size_t length = strlen(entry->d_name);
    int isUnsealed = length > 7 && strcmp(entry->d_name + length - 7, ".active") == 0;
    if (!isUnsealed && strncmp(entry->d_name, "ring", 4) != 0) continue;
    snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
    bytes += read_file(name);
  }
  if (folder) closedir(folder);
  answer->ns = (double)(now_ns() - start);
  answer->kib = (double)bytes / 1024;
}

/* Writes as many bytes as read_unsealed read, and syncs them: what the disk itself needs. */
static void write_as_many(const char *path, answer *answer) {
  read_unsealed(path, answer);
  static uint8_t piece[256 << 10];
  memset(piece, 'w', sizeof piece);
  char name[4352];
  snprintf(name, sizeof name, "%s/written", path);
  uint64_t start = now_ns();
  int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  REQUIRE(file >= 0);
  for (double kib = 0; kib < answer->kib; kib += sizeof piece >> 10) {
    REQUIRE(write(file, piece, sizeof piece) == (ssize_t)sizeof piece);
  }
  REQUIRE(fdatasync(file) == 0);
  answer->ns = (double)(now_ns() - start);
  unlink(name);
}

/* Removes a log, and waits until the disk has no work left of it. */
static void remove_settled(const char *path) {
  remove_tree(path);
  sync();
}

/* Runs `body` in a process that is killed at its end, as a writer would be. */
static answer run(void (*body)(const char *path, answer *answer), const char *path) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    answer answer = {0};
    body(path, &answer);
    if (write(ends[1], &answer, sizeof answer) != sizeof answer) _exit(2);
    kill(getpid(), SIGKILL);
  }
  close(ends[1]);
  answer answer;
  REQUIRE(read(ends[0], &answer, sizeof answer) == sizeof answer);
  close(ends[0]);
  wait_for(child);
  return answer;
}

static int by_value(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

static double of_sorted(double *values, uint64_t rounds, double fraction) {
  qsort(values, rounds, sizeof *values, by_value);
  return values[(uint64_t)((double)(rounds - 1) * fraction)];
}

int main(int count, char **arguments) {
  static double fresh[MOST_ROUNDS], kib[MOST_ROUNDS], killed[MOST_ROUNDS], reading[MOST_ROUNDS], read_kib[MOST_ROUNDS];
  static double writing[MOST_ROUNDS];
  uint64_t rounds = 21;
  FILE *results = NULL;
  for (int i = 1; i < count; i += 2) {
    uint64_t value = i + 1 < count ? strtoull(arguments[i + 1], NULL, 10) : 0;
    if (strcmp(arguments[i], "--rounds") == 0 && value > 0 && value <= MOST_ROUNDS) rounds = value;
    else if (strcmp(arguments[i], "--events") == 0 && value > 0) events = value;
    else if (strcmp(arguments[i], "--results") != 0 || i + 1 == count || !(results = fopen(arguments[i + 1], "ae"))) {
      fprintf(stderr, "usage: opening_bench [--rounds 1 to %d] [--events N] [--results FILE]\n", MOST_ROUNDS);
      return 64;
    }
  }
  char *folder = scratch();
  for (uint64_t i = 0; i < rounds; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/new", folder);
    fresh[i] = run(open_once, path).ns / 1e6;
    remove_settled(path);
    kib[i] = run(open_and_look, path).kib;
    remove_settled(path);
    snprintf(path, sizeof path, "%s/killed", folder);
    run(fill_and_die, path);
    answer read = run(read_unsealed, path);
    reading[i] = read.ns / 1e6;
    read_kib[i] = read.kib;
    killed[i] = run(open_once, path).ns / 1e6;
    remove_settled(path);
    run(fill_and_die, path);
    writing[i] = run(write_as_many, path).ns / 1e6;
    remove_settled(path);
  }
  scratch_remove(folder);
  struct row {
    const char *subject, *unit;
    double *values;
  } rows[] = {{"first event in a new log", "ms", fresh},
              {"a new log before its first event", "KiB on disk", kib},
              {"first event after a kill", "ms", killed},
              {"reading what was not sealed", "ms", reading},
              {"writing and syncing as many bytes", "ms", writing},
              {"what was not sealed", "KiB", read_kib}};
  printf("%-34s %10s %10s\n", "opening", "median", "p90");
  for (uint64_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    double p50 = of_sorted(rows[i].values, rounds, 0.5), p90 = of_sorted(rows[i].values, rounds, 0.9);
    printf("%-34s %10.2f %10.2f %s\n", rows[i].subject, p50, p90, rows[i].unit);
    if (results) {
      fprintf(results, "{\"bench\":\"opening\",\"subject\":\"%s\",\"unit\":\"%s\",\"p50\":%.3f,\"p90\":%.3f}\n",
              rows[i].subject, rows[i].unit, p50, p90);
    }
  }
  return results && fclose(results) != 0;
}
