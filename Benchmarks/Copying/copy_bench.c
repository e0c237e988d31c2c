/*
 * copy_bench.c: what a capture costs by the length of its string. `make copy-bench`.
 *
 * In turns, round by round, in bursts that fit into a lane, medians in nanoseconds a string:
 *
 *   memcpy    the string alone, into a mapped file of a lane's size
 *   narrow    the same, summed on the way as a processor does it that does not multiply 256 bits at once
 *   long      the same, as weir_put_string does it on this processor
 *   floor     memcpy with 16 bytes before it, the processor's counter among them, and one release store
 *   capture   weir_begin, weir_put_string, weir_commit; the log is drained between the bursts, and meanwhile
 *
 * The first four into cache lines that earlier bursts left in some cache, and again into lines that were dropped, as
 * those of a drained lane are. Last comes what a capture costs of either floor. The capturing thread has a processor of
 * its own, where there are two. Nothing is asserted: the figures depend on the machine. TMPDIR says on which file
 * system.
 *
 *     copy_bench [--rounds N]
 */
#define _GNU_SOURCE 1
#include <sched.h>
#include <sys/mman.h>

#include "../../Tests/C/check.h"

#include "system/crc32c.h"
#include "system/lines.h"

enum { LANE_BYTES = 1 << 20, LONGEST = 65536, ROOM_BYTES = LANE_BYTES + 2 * LONGEST, BURST_BYTES = 600000 };
enum { MEMCPY, NARROW, LONG, FLOOR, PLAIN_SUBJECTS, CAPTURE = PLAIN_SUBJECTS, SUBJECTS, MOST_ROUNDS = 999 };

typedef struct bench {
  uint8_t *lane;     /* of the subjects that are no log */
  uint64_t *tail;    /* in the file too */
  uint64_t position; /* in the lane */
  weir_log *log;
  uint32_t type;
  char *text;
} bench;

/* This thread and those that it starts stay off the processor; or this one stays on it. */
static void place(int cpu, int off) {
  cpu_set_t set;
  REQUIRE(sched_getaffinity(0, sizeof set, &set) == 0);
  if (off && CPU_COUNT(&set) < 2) return;
  if (off) {
    CPU_CLR(cpu, &set);
  } else {
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
  }
  REQUIRE(sched_setaffinity(0, sizeof set, &set) == 0);
}

static int last_cpu(void) {
  cpu_set_t set;
  REQUIRE(sched_getaffinity(0, sizeof set, &set) == 0);
  int last = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) last = CPU_ISSET(cpu, &set) ? cpu : last;
  return last;
}

static void open_all(bench *bench, const char *folder) {
  int fd = open(join(folder, "lane"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(fd >= 0 && posix_fallocate(fd, 0, 4096 + ROOM_BYTES) == 0);
  uint8_t *map = mmap(NULL, 4096 + ROOM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  REQUIRE(map != MAP_FAILED);
  close(fd);
  memset(map, 1, 4096 + ROOM_BYTES);
  bench->tail = (uint64_t *)map;
  bench->lane = map + 4096;
  bench->text = malloc(LONGEST);
  REQUIRE(bench->text);
  for (int i = 0; i < LONGEST; i++) bench->text[i] = (char)('a' + random_below(26));
  weir_options options;
  weir_options_init(&options);
  options.max_event_bytes = LONGEST + 64;
  weir_error error;
  static const weir_field fields[] = {{"text", WEIR_KIND_STRING, 0}};
  const weir_definition definition = {.name = "text.copied", .fields = fields, .field_count = 1};
  if (weir_open(join(folder, "log"), &options, &bench->log, NULL, &error) != WEIR_OK ||
      weir_define(bench->log, 0, &definition, 1, &bench->type, &error) != WEIR_OK) {
    fprintf(stderr, "copy_bench: %s\n", error.message);
    exit(2);
  }
}

/* One string of a subject that is no log. */
static inline void put(bench *bench, int subject, uint64_t bytes) {
  uint8_t *to = bench->lane + (bench->position & (LANE_BYTES - 1));
  const uint8_t *text = (const uint8_t *)bench->text;
  if (subject == MEMCPY) {
    memcpy(to + 28, text, bytes);
  } else if (subject == FLOOR) {
    uint64_t ticks = weir_ticks(WEIR_CLOCK_TSC);
    memcpy(to, &bytes, 8);
    memcpy(to + 8, &ticks, 8);
    memcpy(to + 16, text, bytes);
  } else {
    uint64_t state = bench->position, crc = subject == LONG ? weir_copy_long(to + 28, text, bytes, state)
                                                            : crc_copy_narrow(to + 28, text, bytes, state);
    memcpy(to, &crc, 8);
  }
  bench->position += (bytes + 35) & ~UINT64_C(7);
  if (subject == FLOOR) __atomic_store_n(bench->tail, bench->position, __ATOMIC_RELEASE);
}

static uint64_t capture(bench *bench, uint64_t bytes) {
  weir_record record;
  if (weir_begin(bench->log, &record) != WEIR_ACCEPTED) return 0;
  weir_put_string(&record, bench->text, bytes);
  return weir_commit(&record, bench->type, NULL) == WEIR_ACCEPTED;
}

static double burst_of_captures(bench *bench, uint64_t bytes, uint64_t count) {
  uint64_t accepted = capture(bench, 0); /* wakes the drainer, which is a system call */
  uint64_t start = now_ns();
  for (uint64_t i = 0; i < count; i++) accepted += capture(bench, bytes);
  uint64_t took = now_ns() - start;
  REQUIRE(accepted == count + 1);
  REQUIRE(weir_drain(bench->log, UINT64_MAX, NULL, NULL) == WEIR_OK);
  return (double)took / (double)count;
}

static double burst(bench *bench, int subject, int dropped, uint64_t bytes) {
  uint64_t count = BURST_BYTES / (bytes + 40);
  if (subject == CAPTURE) return burst_of_captures(bench, bytes, count);
  if (dropped && lines_can_be_released()) {
    lines_release(bench->lane, ROOM_BYTES);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
  }
  uint64_t start = now_ns();
  for (uint64_t i = 0; i < count; i++) put(bench, subject, bytes);
  return (double)(now_ns() - start) / (double)count;
}

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

/* Medians of all subjects, the dropped lines second. Two bursts bring the whole lane into a cache before the third. */
static void measure(bench *bench, uint64_t bytes, uint64_t rounds, double medians[2][SUBJECTS]) {
  static double took[2][SUBJECTS][MOST_ROUNDS];
  for (uint64_t round = 0; round < rounds; round++) {
    for (uint64_t turn = 0; turn < SUBJECTS; turn++) {
      int subject = (int)((turn + round) % SUBJECTS);
      for (int dropped = 0; dropped < 2; dropped++) {
        for (int i = 0; i < 2; i++) burst(bench, subject, 0, bytes);
        took[dropped][subject][round] = burst(bench, subject, dropped, bytes);
      }
    }
  }
  for (int i = 0; i < 2 * SUBJECTS; i++) {
    double *values = took[i / SUBJECTS][i % SUBJECTS];
    qsort(values, rounds, sizeof *values, compare);
    medians[i / SUBJECTS][i % SUBJECTS] = values[rounds / 2];
  }
}

int main(int count, char **arguments) {
  static const uint64_t lengths[] = {64, 128, 192, 256, 512, 1024, 4096, 16384, 65536};
  char *end = NULL;
  uint64_t rounds = count == 3 && strcmp(arguments[1], "--rounds") == 0 ? strtoull(arguments[2], &end, 10) : 99;
  if ((count != 1 && count != 3) || (end && *end) || rounds == 0 || rounds > MOST_ROUNDS) {
    fprintf(stderr, "usage: copy_bench [--rounds N], N from 1 to %d\n", MOST_ROUNDS);
    return 64;
  }
  random_start("copy_bench");
  int cpu = last_cpu();
  char *folder = scratch();
  bench bench = {0};
  place(cpu, 1);
  open_all(&bench, folder);
  place(cpu, 0);
  printf("ns, medians of %d rounds; this processor %s 256 bits at once\n\n", (int)rounds,
         crc_folds_wide() ? "multiplies" : "does not multiply");
  printf("%7s | %34s | %34s |\n%7s", "", "lines in a cache", "lines dropped", "bytes");
  for (int i = 0; i < 2; i++) printf(" | %7s %8s %8s %8s", "memcpy", "narrow", "long", "floor");
  printf(" | %8s %9s\n", "capture", "of floors");
  for (uint64_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    double medians[2][SUBJECTS];
    measure(&bench, lengths[i], rounds, medians);
    printf("%7d", (int)lengths[i]);
    for (int j = 0; j < 2; j++) {
      const double *m = medians[j];
      printf(" | %7.1f %8.1f %8.1f %8.1f", m[MEMCPY], m[NARROW], m[LONG], m[FLOOR]);
    }
    double captured = medians[0][CAPTURE];
    printf(" | %8.1f %4.2f %4.2f\n", captured, captured / medians[0][FLOOR], captured / medians[1][FLOOR]);
  }
  weir_close(bench.log, NULL);
  weir_free(bench.log);
  scratch_remove(folder);
  return 0;
}
