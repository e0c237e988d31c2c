/*
 * paced_writer.c: a program that captures the benchmarks' standard event at a steady pace, for monitor.py.
 *
 *     paced_writer DIRECTORY EVENTS_A_SECOND SECONDS [--measure]
 *
 * 0 events a second: as many as the log takes. Else each millisecond has its share, and the program sleeps in between.
 * The log keeps its last 2 GiB, so that a run of any length fits the disk. At the end a line of JSON says how many
 * events there were.
 *
 * With --measure there is a line for each second instead: when it began by the monotonic clock, and what captures took.
 * In turns the captures of a millisecond are timed as a whole, one behind the other, and each by itself, evenly spaced.
 * In between the program spins: a thread that had slept would be measured waking up.
 */
#include "../../Tests/C/check.h"
#include "../Sources/CaptureSubjects/include/capture_subjects.h"

enum { MOST_TICKS = 1 << 16, TIMER_TRIES = 1001, TURNS = 1000 };
static const uint64_t retained_bytes = UINT64_C(2) << 30;

static weir_log *event_log;
static uint32_t type;
static uint64_t events;
static double spans[TURNS / 2]; /* ticks a capture, of each millisecond that was timed as a whole */
static uint32_t ticks[MOST_TICKS]; /* how many captures took so many ticks; the last place has all that took longer */

static void check(int32_t status, const weir_error *error) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "paced_writer: %s\n", error->message);
  exit(2);
}

static void open_log(const char *path) {
  weir_options options;
  weir_options_init(&options);
  options.full_wait_ns = UINT64_MAX;
  options.retain_bytes = retained_bytes;
  weir_error error;
  check(weir_open(path, &options, &event_log, NULL, &error), &error);
  const weir_field fields[] = {{"order", WEIR_KIND_U64, 0},
                               {"total", WEIR_KIND_F64, 0},
                               {"items", WEIR_KIND_U32, 0},
                               {"coupon", WEIR_KIND_STRING, 0}};
  const weir_definition definition = {.name = "sale.completed", .fields = fields, .field_count = 4};
  check(weir_define(event_log, 0, &definition, 1, &type, &error), &error);
}

static inline void capture(void) {
  weir_record record;
  int32_t drop = weir_begin(event_log, &record);
  if (drop == WEIR_ACCEPTED) {
    weir_put_u64(&record, events);
    weir_put_f64(&record, 19.99);
    weir_put_u32(&record, 3);
    weir_put_string(&record, "SPRING-2026-DISCOUNT", 20);
    drop = weir_commit(&record, type, NULL);
  }
  if (drop != WEIR_ACCEPTED) {
    fprintf(stderr, "paced_writer: an event was refused: %s\n", weir_drop_name(drop));
    exit(2);
  }
  events++;
}

static void capture_many(uint64_t count) {
  for (uint64_t i = 0; i < count; i++) capture();
}

static void capture_each(uint64_t count, uint64_t gap) {
  uint64_t due = support_ticks();
  for (uint64_t i = 0; i < count; i++, due += gap) {
    support_wait_until(due);
    uint64_t start = support_ticks();
    capture();
    uint64_t taken = support_ticks() - start;
    ticks[taken < MOST_TICKS ? taken : MOST_TICKS - 1]++;
  }
}

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

static double median(double *values, uint64_t count) {
  qsort(values, count, sizeof *values, compare);
  return values[count / 2];
}

/* What taking the time twice takes, in ticks. */
static double timer_ticks(void) {
  static double tries[TIMER_TRIES];
  for (int i = 0; i < TIMER_TRIES; i++) {
    uint64_t start = support_ticks();
    tries[i] = (double)(support_ticks() - start);
  }
  return median(tries, TIMER_TRIES);
}

/*
 * The ticks that so many of a thousand single captures took at most. The counter may go in steps of many ticks, so what
 * lies between two steps is spread evenly.
 */
static double permille(double wanted) {
  double count = 0, passed = 0, before = 0;
  for (int i = 0; i < MOST_TICKS; i++) count += ticks[i];
  wanted *= count / 1000;
  for (int i = 0; i < MOST_TICKS; i++) {
    if (ticks[i] == 0) continue;
    if (passed + ticks[i] >= wanted) return before + (i - before) * (wanted - passed) / ticks[i];
    passed += ticks[i];
    before = i;
  }
  return before;
}

static void measure_second(uint64_t rate, double ns_a_tick, double timer) {
  uint64_t start = now_ns(), share = rate / TURNS;
  memset(ticks, 0, sizeof ticks);
  for (uint64_t turn = 0; turn < TURNS; turn++) {
    while (now_ns() < start + turn * 1000000) {}
    if (turn % 2) {
      capture_each(share, (uint64_t)(1e9 / (double)rate / ns_a_tick));
      continue;
    }
    uint64_t before = support_ticks();
    capture_many(share);
    spans[turn / 2] = ((double)(support_ticks() - before) - timer) / (double)share;
  }
  printf("{\"start\":%.9f,\"capture_ns\":%.3f,\"p50_ns\":%.2f,\"p999_ns\":%.2f}\n", (double)start / 1e9,
         median(spans, TURNS / 2) * ns_a_tick, (permille(500) - timer) * ns_a_tick,
         (permille(999) - timer) * ns_a_tick);
  fflush(stdout);
}

static void measure(uint64_t rate, uint64_t seconds) {
  uint64_t start = now_ns(), first = support_ticks();
  sleep_ns(50000000);
  double ns_a_tick = (double)(now_ns() - start) / (double)(support_ticks() - first), timer = timer_ticks();
  for (uint64_t i = 0; i < seconds; i++) measure_second(rate, ns_a_tick, timer);
}

static void capture_paced(uint64_t rate, uint64_t seconds) {
  uint64_t start = now_ns(), now = start, end = start + seconds * UINT64_C(1000000000);
  while ((now = now_ns()) < end) {
    /* What is due by now: after a wait that took too long, all of it. */
    uint64_t due = rate ? (uint64_t)((double)(now - start) * (double)rate / 1e9) + 1 : events + 1000;
    if (due > events) capture_many(due - events);
    if (rate) sleep_ns(1000000);
  }
  printf("{\"events\":%" PRIu64 "}\n", events);
}

int main(int count, char **arguments) {
  int measures = count == 5 && strcmp(arguments[4], "--measure") == 0;
  uint64_t rate = count > 3 ? strtoull(arguments[2], NULL, 10) : 0;
  uint64_t seconds = count > 3 ? strtoull(arguments[3], NULL, 10) : 0;
  if ((count != 4 && !measures) || seconds == 0 || (measures && rate < 1000)) {
    fprintf(stderr, "usage: paced_writer DIRECTORY EVENTS_A_SECOND SECONDS [--measure]\n"
                    "       with --measure at least 1000 events a second\n");
    return 64;
  }
  open_log(arguments[1]);
  if (measures) measure(rate, seconds);
  else capture_paced(rate, seconds);
  weir_error error;
  check(weir_close(event_log, &error), &error);
  return 0;
}
