/*
 * recovery_bench.c: what a recovery costs, and what it depends on. `make recovery-bench`.
 *
 *   1. Opening a log of 1, 100 and 10,000 sealed segments whose writer was killed, and of 10,000 batch segments, in
 *      turns; beside it a reader's first event from the middle of the log, weir_stat, and reading all of it. Each in a
 *      process of its own, whose peak memory is printed too.
 *   2. How fast recovery scans what was not sealed, against the CRC32C of the same bytes in memory: three streams of
 *      the processor's instruction, in chunks that stay in the cache and straight from memory; and against pread of
 *      those files alone, which no scan can beat.
 *   3. Opening a log whose lanes are as full as they get.
 *
 * Nothing is asserted: the figures depend on the machine, and on what else runs on it.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../../Tests/C/check.h"

#include "directory/segment_list.h"
#include "recover/unsealed.h"
#include "segment/scan.h"
#include "system/crc32c.h"
#include "system/system.h"

typedef struct plan {
  const char *folder;
  uint64_t rounds;
  uint64_t most;      /* sealed segments of the largest log */
  uint64_t scan_bytes;
  uint64_t event_bytes;
} plan;

/* What a child process measured. */
typedef struct answer {
  uint64_t ns;
  uint64_t peak_kib;
  uint64_t extra;
} answer;

static uint64_t peak_kib(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (uint64_t)usage.ru_maxrss;
}

static void die(const weir_error *error) {
  fprintf(stderr, "%s\n", error->message);
  _exit(2);
}

/* Runs `body` in a process that is killed at its end, as a writer would be. */
static answer run(void (*body)(const plan *plan, const char *path, answer *answer), const plan *plan,
                  const char *path) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    answer answer = {0};
    body(plan, path, &answer);
    if (answer.peak_kib == 0) answer.peak_kib = peak_kib();
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

/* ---- Logs -------------------------------------------------------------------------------------------------------- */

static void small_options(weir_options *options) {
  weir_options_init(options);
  options->max_event_bytes = 4096;
  options->segment_bytes = LEAST_SEGMENT_BYTES(record_size(4096));
  options->full_wait_ns = UINT64_MAX;
}

static uint32_t define(weir_log *log) {
  weir_field field = {"text", WEIR_KIND_STRING, 0};
  weir_definition definition = {.name = "bench.event", .fields = &field, .field_count = 1};
  uint32_t type;
  weir_error error;
  if (weir_define(log, 0, &definition, 1, &type, &error) != WEIR_OK) die(&error);
  return type;
}

static void capture(weir_log *log, uint32_t type, uint64_t bytes, uint64_t value) {
  static uint8_t payload[1 << 20];
  weir_record record;
  int32_t drop = weir_begin(log, &record);
  memcpy(payload, &value, sizeof value);
  if (drop == WEIR_ACCEPTED) weir_put_string(&record, (const char *)payload, bytes);
  if (drop == WEIR_ACCEPTED) drop = weir_commit(&record, type, NULL);
  if (drop == WEIR_ACCEPTED) return;
  fprintf(stderr, "a capture was refused: %s\n", weir_drop_name(drop));
  _exit(3);
}

static uint64_t count_sealed(const char *path) {
  int directory = sys_open_directory(path);
  segment_list list;
  if (directory < 0) return 0;
  REQUIRE(segment_list_read(directory, &list) == 0);
  uint64_t count = 0;
  for (uint64_t i = 0; i < list.count; i++) count += !list.items[i].active;
  segment_list_free(&list);
  sys_close(directory);
  return count;
}

/* Fills the log with sealed segments, a little over those wanted; then its process is killed. */
static void fill(const plan *plan, const char *path, answer *answer) {
  weir_options options;
  small_options(&options);
  weir_log *log;
  weir_error error;
  if (weir_open(path, &options, &log, NULL, &error) != WEIR_OK) die(&error);
  uint32_t type = define(log);
  weir_counters counters;
  uint64_t value = 0;
  do {
    for (int i = 0; i < 16; i++) capture(log, type, 4000, value++);
    weir_count(log, &counters);
  } while (counters.segments < plan->most + 2);
  if (weir_sync(log, UINT64_MAX, NULL, &error) != WEIR_OK) die(&error);
  answer->extra = value;
}

/* Removes the oldest sealed segments until `count` are left. */
static void keep_sealed(const char *path, uint64_t count) {
  int directory = sys_open_directory(path);
  REQUIRE(directory >= 0);
  segment_list list;
  REQUIRE(segment_list_read(directory, &list) == 0);
  uint64_t sealed = 0;
  for (uint64_t i = 0; i < list.count; i++) sealed += !list.items[i].active;
  for (uint64_t i = 0; i < list.count && sealed > count; i++) {
    if (list.items[i].active) continue;
    REQUIRE(sys_unlink(directory, list.items[i].name) == 0);
    sealed--;
  }
  segment_list_free(&list);
  sys_close(directory);
}

/* ---- 1: how many segments there are ------------------------------------------------------------------------------ */

/* Opens after the kill, and captures a little, so that the next opening has something to recover too. */
static void open_once(const plan *plan, const char *path, answer *answer) {
  (void)plan;
  weir_options options;
  small_options(&options);
  weir_log *log;
  weir_error error;
  uint64_t started = now_ns();
  weir_status status = weir_open(path, &options, &log, NULL, &error);
  answer->ns = now_ns() - started;
  answer->peak_kib = peak_kib();
  if (status != WEIR_OK) die(&error);
  uint32_t type = define(log);
  for (uint64_t i = 0; i < 100; i++) capture(log, type, 400, i);
  if (weir_drain(log, UINT64_MAX, NULL, &error) != WEIR_OK) die(&error);
  for (uint64_t i = 0; i < 10; i++) capture(log, type, 400, i);
}

static void read_first(const plan *plan, const char *path, answer *answer) {
  (void)plan;
  weir_stat stat;
  weir_error error;
  if (weir_stat_directory(path, &stat, &error) != WEIR_OK) die(&error);
  weir_reader_options options;
  weir_reader_options_init(&options);
  options.from_offset = stat.first_offset + (stat.next_offset - stat.first_offset) / 2;
  uint64_t started = now_ns();
  weir_reader *reader;
  weir_event event;
  weir_skip skip;
  if (weir_reader_open(path, &options, &reader, &error) != WEIR_OK) die(&error);
  weir_status status;
  while ((status = weir_reader_next(reader, &event, &skip, &error)) == WEIR_SKIPPED) continue;
  if (status != WEIR_OK) die(&error);
  answer->ns = now_ns() - started;
}

static void sum_up(const plan *plan, const char *path, answer *answer) {
  (void)plan;
  weir_stat stat;
  weir_error error;
  uint64_t started = now_ns();
  if (weir_stat_directory(path, &stat, &error) != WEIR_OK) die(&error);
  answer->ns = now_ns() - started;
  answer->extra = stat.segments;
}

static void read_all(const plan *plan, const char *path, answer *answer) {
  (void)plan;
  uint64_t started = now_ns();
  weir_reader *reader;
  weir_event event;
  weir_skip skip;
  weir_error error;
  if (weir_reader_open(path, NULL, &reader, &error) != WEIR_OK) die(&error);
  weir_status status;
  while ((status = weir_reader_next(reader, &event, &skip, &error)) <= WEIR_SKIPPED && status != WEIR_END) {
    answer->extra += status == WEIR_OK;
  }
  if (status != WEIR_END) die(&error);
  answer->ns = now_ns() - started;
}

static int by_ns(const void *left, const void *right) {
  const answer *a = left, *b = right;
  return a->ns < b->ns ? -1 : a->ns > b->ns;
}

/* The fields of the median one by time, in milliseconds; its memory is the largest of all. */
static answer median(answer *answers, uint64_t count) {
  qsort(answers, count, sizeof *answers, by_ns);
  answer middle = answers[count / 2];
  for (uint64_t i = 0; i < count; i++) {
    if (answers[i].peak_kib > middle.peak_kib) middle.peak_kib = answers[i].peak_kib;
  }
  return middle;
}

enum { ROWS = 4 };

typedef struct log_row {
  uint64_t count;
  int batches; /* of all that is sealed */
  const char *path;
  answer opened[100], first[100], stat[100], all;
} log_row;

static void make_batches(const log_row *row) {
  weir_error error;
  if (row->batches && weir_batch_directory(row->path, 2, NULL, NULL, NULL, &error) != WEIR_OK) die(&error);
}

static void compare_counts(const plan *plan) {
  static log_row rows[ROWS];
  uint64_t counts[ROWS] = {1, plan->most < 100 ? plan->most : 100, plan->most, plan->most};
  for (int i = 0; i < ROWS; i++) {
    char name[32];
    snprintf(name, sizeof name, "log-%d", i);
    rows[i] = (log_row){.count = counts[i], .batches = i == ROWS - 1, .path = strdup(join(plan->folder, name))};
    struct plan wanted = *plan;
    wanted.most = counts[i];
    uint64_t started = now_ns();
    run(fill, &wanted, rows[i].path);
    fprintf(stderr, "made a log of %" PRIu64 " segments in %.1f s\n", count_sealed(rows[i].path),
            (double)(now_ns() - started) / 1e9);
    run(open_once, plan, rows[i].path);
  }
  for (uint64_t round = 0; round < plan->rounds; round++) {
    for (int i = 0; i < ROWS; i++) {
      keep_sealed(rows[i].path, rows[i].count);
      make_batches(&rows[i]);
      rows[i].opened[round] = run(open_once, plan, rows[i].path);
      rows[i].first[round] = run(read_first, plan, rows[i].path);
      rows[i].stat[round] = run(sum_up, plan, rows[i].path);
    }
  }
  printf("sealed    weir_open    of the     first event  weir_stat    memory of open, first, stat\n"
         "segments  after kill   smallest   mid-log                   (peak, KiB)\n");
  double least = 0;
  for (int i = 0; i < ROWS; i++) {
    log_row *row = &rows[i];
    answer opened = median(row->opened, plan->rounds), first = median(row->first, plan->rounds),
           stat = median(row->stat, plan->rounds);
    if (i == 0) least = (double)opened.ns;
    printf("%-8" PRIu64 "%s %7.2f ms   %5.2f x    %7.2f ms   %7.2f ms   %" PRIu64 ", %" PRIu64 ", %" PRIu64 "\n",
           row->count, row->batches ? "*" : " ", (double)opened.ns / 1e6, (double)opened.ns / least,
           (double)first.ns / 1e6, (double)stat.ns / 1e6, opened.peak_kib, first.peak_kib, stat.peak_kib);
  }
  printf("* batch segments\n");
  for (int i = 0; i < ROWS; i++) {
    answer all = run(read_all, plan, rows[i].path);
    printf("reading all %" PRIu64 " events of %" PRIu64 "%s segments: %.1f ms, %" PRIu64 " KiB\n", all.extra,
           rows[i].count, rows[i].batches ? " batch" : "", (double)all.ns / 1e6, all.peak_kib);
    remove_tree(rows[i].path);
  }
}

/* ---- 2: how fast it scans ---------------------------------------------------------------------------------------- */

static void fill_large(const plan *plan, const char *path, answer *answer) {
  (void)answer;
  weir_options options;
  weir_options_init(&options);
  options.full_wait_ns = UINT64_MAX;
  weir_log *log;
  weir_error error;
  if (weir_open(path, &options, &log, NULL, &error) != WEIR_OK) die(&error);
  uint32_t type = define(log);
  for (uint64_t bytes = 0, i = 0; bytes < plan->scan_bytes; bytes += record_size(plan->event_bytes + 4), i++) {
    capture(log, type, plan->event_bytes, i);
  }
  if (weir_sync(log, UINT64_MAX, NULL, &error) != WEIR_OK) die(&error);
}

/* Gives every sealed segment the name of one that is not: killed after its seal, before it was renamed. */
static uint64_t unseal(const char *path) {
  int directory = sys_open_directory(path);
  segment_list list;
  REQUIRE(directory >= 0 && segment_list_read(directory, &list) == 0);
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < list.count; i++) {
    char name[64];
    struct stat status;
    segment_list_raw_name(name, list.items[i].base, 1);
    if (!list.items[i].active) REQUIRE(sys_rename(directory, list.items[i].name, name) == 0);
    REQUIRE(sys_status_at(directory, name, &status) == 0);
    bytes += (uint64_t)status.st_size;
  }
  segment_list_free(&list);
  sys_close(directory);
  return bytes;
}

/* The bytes of all segments, one after the other. */
static uint8_t *load(const char *path, uint64_t bytes) {
  uint8_t *memory = malloc(bytes);
  int directory = sys_open_directory(path);
  segment_list list;
  REQUIRE(memory && directory >= 0 && segment_list_read(directory, &list) == 0);
  uint64_t at = 0;
  for (uint64_t i = 0; i < list.count; i++) {
    int fd = sys_open_read(directory, list.items[i].name);
    int64_t count = sys_read_at(fd, memory + at, bytes - at, 0);
    REQUIRE(count >= 0);
    at += (uint64_t)count;
    sys_close(fd);
  }
  segment_list_free(&list);
  sys_close(directory);
  return memory;
}

typedef uint64_t (*extender)(uint64_t state, const void *bytes, uint64_t count);

/* Gigabytes a second of one CRC over all the bytes; `chunk` at a time each summed often enough to stay in the cache. */
static double crc_rate(extender extend, const uint8_t *memory, uint64_t bytes, uint64_t chunk) {
  volatile uint64_t sum = 0;
  uint64_t started = now_ns(), done = 0;
  if (chunk == 0) {
    sum += extend(CRC_START, memory, bytes);
    done = bytes;
  }
  for (; done < bytes; done += chunk) sum += extend(CRC_START, memory, chunk);
  return (double)done / (double)(now_ns() - started);
}

/* What recovery does with each segment that is not sealed. */
static double scan_rate(const char *path, uint64_t *bytes) {
  int directory = sys_open_directory(path);
  segment_list list;
  drained *drained = malloc(sizeof *drained);
  REQUIRE(drained && directory >= 0 && segment_list_read(directory, &list) == 0);
  weir_recovery report = {0};
  unreported losses = {0};
  uint64_t started = now_ns();
  drained_start(drained, 0, 0);
  for (uint64_t i = 0; i < list.count; i++) {
    unsealed found = {0};
    REQUIRE(unsealed_scan(&found, directory, 0, &list.items[i], NULL, drained, &losses, &report) == 0);
    unsealed_free(&found);
  }
  uint64_t took = now_ns() - started;
  *bytes = report.bytes_scanned;
  segment_list_free(&list);
  sys_close(directory);
  free(drained);
  return (double)*bytes / (double)took;
}

/* Reading the same files in pieces of 256 KiB, and nothing else. */
static double pread_rate(const char *path) {
  static uint8_t piece[1 << 18];
  int directory = sys_open_directory(path);
  segment_list list;
  REQUIRE(directory >= 0 && segment_list_read(directory, &list) == 0);
  uint64_t bytes = 0, started = now_ns();
  for (uint64_t i = 0; i < list.count; i++) {
    int fd = sys_open_read(directory, list.items[i].name);
    REQUIRE(fd >= 0);
    uint64_t at = 0;
    for (int64_t count; (count = sys_read_at(fd, piece, sizeof piece, at)) > 0;) at += (uint64_t)count;
    bytes += at;
    sys_close(fd);
  }
  uint64_t took = now_ns() - started;
  segment_list_free(&list);
  sys_close(directory);
  return (double)bytes / (double)took;
}

static int by_value(const void *left, const void *right) {
  const double *a = left, *b = right;
  return *a < *b ? -1 : *a > *b;
}

static void compare_rates(const plan *plan, uint64_t event_bytes) {
  struct plan wanted = *plan;
  wanted.event_bytes = event_bytes;
  const char *path = strdup(join(plan->folder, "large"));
  run(fill_large, &wanted, path);
  uint64_t bytes = unseal(path), scanned = 0;
  uint8_t *memory = load(path, bytes);
  double rates[6][100];
  for (uint64_t round = 0; round < plan->rounds; round++) {
    rates[0][round] = crc_rate(crc_extend_plain, memory, bytes, 0);
    rates[1][round] = crc_rate(crc_extend_plain, memory, bytes, 1 << 18);
    rates[2][round] = crc_rate(crc_extend, memory, bytes, 0);
    rates[3][round] = crc_rate(crc_extend, memory, bytes, 1 << 18);
    rates[4][round] = scan_rate(path, &scanned);
    rates[5][round] = pread_rate(path);
  }
  free(memory);
  for (int i = 0; i < 6; i++) qsort(rates[i], plan->rounds, sizeof(double), by_value);
  uint64_t middle = plan->rounds / 2;
  double scan = rates[4][middle];
  static const char *const names[] = {"three streams, from memory", "three streams, from the cache",
                                      "crc_extend, from memory", "crc_extend, from the cache"};
  printf("scanning %.0f MB of segments that were not sealed, events of %" PRIu64 " bytes: %.2f GB/s\n",
         (double)scanned / 1e6, event_bytes, scan);
  for (int i = 0; i < 4; i++) {
    printf("  %.2f of CRC32C of the same bytes by %s: %.2f GB/s\n", scan / rates[i][middle], names[i],
           rates[i][middle]);
  }
  printf("  %.2f of pread of these files in pieces of 256 KiB, without looking at a byte: %.2f GB/s\n",
         scan / rates[5][middle], rates[5][middle]);
  answer opened = run(open_once, &wanted, path);
  printf("  weir_open of that log: %.1f ms, %.2f GB/s with sealing and all the rest\n", (double)opened.ns / 1e6,
         (double)scanned / (double)opened.ns);
  remove_tree(path);
}

/* ---- 3: lanes ---------------------------------------------------------------------------------------------------- */

enum { LANES = 14, LANE_FILL = 384 << 10 }; /* at the half of the lane the drainer would come */

static uint32_t lane_type;
static pthread_barrier_t lanes_filled; /* a lane that is given back would be claimed again */

static void *fill_lane(void *context) {
  for (uint64_t bytes = 0, i = 0; bytes < LANE_FILL; bytes += 72, i++) capture(context, lane_type, 44, i);
  pthread_barrier_wait(&lanes_filled);
  return NULL;
}

static void fill_lanes(const plan *plan, const char *path, answer *answer) {
  (void)plan;
  weir_options options;
  weir_options_init(&options);
  options.drain_interval_ns = UINT64_C(10000000000);
  weir_log *log;
  weir_error error;
  if (weir_open(path, &options, &log, NULL, &error) != WEIR_OK) die(&error);
  lane_type = define(log);
  REQUIRE(pthread_barrier_init(&lanes_filled, NULL, LANES) == 0);
  pthread_t threads[LANES];
  for (int i = 0; i < LANES; i++) REQUIRE(pthread_create(&threads[i], NULL, fill_lane, log) == 0);
  for (int i = 0; i < LANES; i++) pthread_join(threads[i], NULL);
  weir_counters counters;
  weir_count(log, &counters);
  answer->extra = counters.accepted - counters.drained;
}

static void open_default(const plan *plan, const char *path, answer *answer) {
  (void)plan;
  weir_log *log;
  weir_error error;
  weir_recovery recovery;
  if (weir_open(path, NULL, &log, &recovery, &error) != WEIR_OK) die(&error);
  answer->ns = recovery.duration_ns;
  answer->extra = recovery.events_from_lanes;
}

static void compare_lanes(const plan *plan) {
  static answer full[100], empty[100];
  const char *path = strdup(join(plan->folder, "lanes"));
  run(open_default, plan, path);
  for (uint64_t round = 0; round < plan->rounds; round++) {
    run(fill_lanes, plan, path);
    full[round] = run(open_default, plan, path);
    empty[round] = run(open_default, plan, path);
  }
  answer with = median(full, plan->rounds), without = median(empty, plan->rounds);
  printf("opening with %" PRIu64 " events of 72 bytes in %d lanes: %.1f ms; with none: %.1f ms\n", with.extra, LANES,
         (double)with.ns / 1e6, (double)without.ns / 1e6);
  remove_tree(path);
}

int main(int argc, char **argv) {
  plan plan = {.rounds = 11, .most = 10000, .scan_bytes = UINT64_C(256) << 20};
  const char *only = "";
  for (int i = 1; i < argc; i++) {
    uint64_t value = i + 1 < argc ? strtoull(argv[i + 1], NULL, 10) : 0;
    if (strcmp(argv[i], "--rounds") == 0 && value > 0 && value <= 100) plan.rounds = value;
    else if (strcmp(argv[i], "--segments") == 0 && value > 0) plan.most = value;
    else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) only = argv[i + 1];
    else {
      fprintf(stderr, "usage: recovery_bench [--rounds 1 to 100] [--segments N] [--only open|scan|lanes]\n");
      return 2;
    }
    i++;
  }
  char *folder = scratch();
  plan.folder = folder;
  if (!*only || strcmp(only, "open") == 0) compare_counts(&plan);
  if (!*only || strcmp(only, "scan") == 0) {
    compare_rates(&plan, 44);
    compare_rates(&plan, 1000);
  }
  if (!*only || strcmp(only, "lanes") == 0) compare_lanes(&plan);
  scratch_remove(folder);
  return 0;
}
