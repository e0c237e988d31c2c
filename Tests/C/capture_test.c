/*
 * capture_test.c: what a capture accepts, refuses and counts, through weir.h alone, on one thread: sizes at, below
 * and above the limit, full lanes, captures inside captures, several logs, types.
 */
#include "capture_check.h"

#include <sched.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "log/log.h"

/* In place of libc's: counts the calling thread's calls. */
static __thread uint64_t yields;

int sched_yield(void) {
  yields++;
  return (int)syscall(SYS_sched_yield);
}

/* An event of one `bytes` field whose whole payload is `payload` long. */
static int32_t capture_bytes(weir_log *log, uint32_t type, uint64_t payload, int one_call, weir_id *id) {
  static uint8_t bytes[2 << 20];
  uint32_t count = (uint32_t)(payload - 4);
  memcpy(bytes, &count, 4);
  for (uint64_t i = 4; i < payload; i++) bytes[i] = (uint8_t)(payload + i * 7);
  if (one_call) return weir_capture(log, type, bytes, payload, id);
  weir_record record;
  int32_t drop = weir_begin(log, &record);
  if (drop != WEIR_ACCEPTED) return drop;
  weir_put_string(&record, (char *)bytes + 4, count);
  return weir_commit(&record, type, id);
}

static uint32_t define_bytes(weir_log *log) {
  const weir_field field = {"bytes", WEIR_KIND_BYTES, 0};
  const weir_definition definition = {.name = "bytes", .fields = &field, .field_count = 1};
  uint32_t type = 0;
  CHECK_EQUAL(weir_define(log, 0, &definition, 1, &type, NULL), WEIR_OK);
  return type;
}

/* Reads `directory` and checks that it holds events of exactly these payload sizes, with the bytes captured. */
static void check_sizes(const char *directory, const uint64_t *sizes, uint64_t count) {
  weir_reader_options options;
  weir_reader_options_init(&options);
  weir_reader *reader;
  REQUIRE(weir_reader_open(directory, &options, &reader, NULL) == WEIR_OK);
  weir_event event;
  weir_skip skip;
  uint64_t found = 0, wrong = 0;
  while (weir_reader_next(reader, &event, &skip, NULL) == WEIR_OK) {
    if (!name_is(&event, "bytes")) continue;
    if (found >= count || event.payload_bytes != sizes[found]) {
      wrong++;
      break;
    }
    for (uint64_t i = 4; i < event.payload_bytes; i++) wrong += event.payload[i] != (uint8_t)(sizes[found] + i * 7);
    found++;
  }
  weir_reader_close(reader);
  CHECK_EQUAL(wrong, 0);
  CHECK_EQUAL(found, count);
}

/* ---- Telling the host of refusals -------------------------------------------------------------------------------- */

typedef struct told {
  weir_log *log;
  _Atomic uint64_t calls;
  _Atomic uint64_t too_large; /* counted when it was last called */
} told;

static void on_refusals(void *context) {
  told *told = context;
  weir_counters counters;
  weir_count(told->log, &counters);
  told->calls++;
  told->too_large = counters.dropped[WEIR_DROP_TOO_LARGE];
}

static void refuse_one(weir_log *log, int32_t reason) {
  weir_record record;
  if (CHECK_EQUAL(weir_begin(log, &record), WEIR_ACCEPTED)) CHECK_EQUAL(weir_refuse(&record, reason), reason);
}

static void refusals_told(void) {
  test("a host that asked for it is told of refused captures, and of nothing else");
  char *folder = scratch();
  weir_log *log = open_default(join(folder, "log"), NULL);
  if (!CHECK(log)) return;
  told told = {.log = log};
  weir_on_refused(log, on_refusals, &told);
  uint32_t type = define_bytes(log);
  CHECK_EQUAL(capture_bytes(log, type, 100, 0, NULL), WEIR_ACCEPTED);
  refuse_one(log, WEIR_DROP_SAMPLED);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  CHECK_EQUAL(told.calls, 0);
  /* Also where the drainer sleeps, and nothing else wakes it. */
  for (uint64_t i = 1; i <= 20; i++) {
    for (int waits = 0; !__atomic_load_n(&log->asleep, __ATOMIC_ACQUIRE) && waits < 60000; waits++) sleep_ns(1000000);
    refuse_one(log, WEIR_DROP_TOO_LARGE);
    for (int waits = 0; told.too_large < i && waits < 60000; waits++) sleep_ns(1000000);
    if (!CHECK_EQUAL(told.too_large, i)) break;
  }
  CHECK_EQUAL(told.calls, 20);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  CHECK_EQUAL(told.calls, 20);
  for (int i = 0; i < 50; i++) refuse_one(log, WEIR_DROP_TOO_LARGE);
  close_and_free(log);
  CHECK_EQUAL(told.too_large, 70);
  CHECK(told.calls > 20 && told.calls <= 70);
  scratch_remove(folder);
}

/* What the host captures when it is told: more than a lane holds. */
enum { AT_ONCE = 2000 };

typedef struct capturing {
  weir_log *log;
  uint32_t type;
  _Atomic uint64_t calls, refused, ended;
} capturing;

static void capture_too_much(void *context) {
  capturing *host = context;
  if (host->calls++ > 0) return;
  for (uint64_t i = 0; i < AT_ONCE; i++) host->refused += capture_bytes(host->log, host->type, 100, 0, NULL) != 0;
  host->ended = 1;
}

static void on_durable(void *context, weir_status status, const weir_error *error) {
  (void)status;
  (void)error;
  capture_too_much(context);
}

static void captures_of_who_is_told(void) {
  test("captures in a function that a log's thread calls never wait for that thread, and have nothing called again");
  static const char *const names[] = {"on_drained", "on_refused", "durable_notify"};
  for (int kind = 0; kind < 3; kind++) {
    char *folder = scratch();
    weir_options options;
    weir_options_init(&options);
    options.lane_bytes = 4096;
    options.max_event_bytes = 1000;
    options.lane_count = 2; /* this thread's, and one to borrow */
    options.spare_lanes = 1;
    options.full_wait_ns = UINT64_MAX;
    weir_log *log;
    if (!CHECK_EQUAL(weir_open(join(folder, "log"), &options, &log, NULL, NULL), WEIR_OK)) return;
    capturing host = {.log = log, .type = define_bytes(log)};
    if (kind == 0) weir_on_drained(log, capture_too_much, &host);
    if (kind == 1) weir_on_refused(log, capture_too_much, &host);
    weir_id id;
    CHECK_EQUAL(capture_bytes(log, host.type, 100, 0, &id), WEIR_ACCEPTED);
    if (kind == 1) refuse_one(log, WEIR_DROP_TOO_LARGE);
    if (kind == 2) CHECK_EQUAL(weir_durable_notify(log, id, on_durable, &host, NULL), WEIR_OK);
    CHECK_AWAIT(host.ended);
    if (kind != 2) CHECK(host.refused > 0); /* the drainer calls it; beside the sealer the drainer may keep up */
    if (!CHECK_EQUAL(weir_drain(log, UINT64_C(60000000000), NULL, NULL), WEIR_OK)) fprintf(stderr, "%s\n", names[kind]);
    if (kind == 1) CHECK_EQUAL(host.calls, 1);
    close_and_free(log);
    if (kind == 1) CHECK_EQUAL(host.calls, 1);
    scratch_remove(folder);
  }
}

static void sizes(void) {
  test("case 47: events up to max_event_bytes are accepted whole, larger ones are refused and counted");
  static const struct limit { uint64_t max, lane; } limits[] = {
      {64, 4096}, {1000, 4096}, {WEIR_MAX_EVENT_BYTES, 1 << 20}, {1 << 20, 4 << 20}};
  for (int i = 0; i < 4; i++) {
    char *folder = scratch();
    const char *directory = join(folder, "log");
    weir_options options;
    weir_options_init(&options);
    options.max_event_bytes = limits[i].max;
    options.lane_bytes = limits[i].lane;
    options.full_wait_ns = UINT64_MAX;
    options.lane_count = 4;
    weir_log *log = NULL;
    if (CHECK_EQUAL(weir_open(directory, &options, &log, NULL, NULL), WEIR_OK)) {
      uint32_t type = define_bytes(log);
      uint64_t accepted[256], count = 0, refused = 0;
      for (int one_call = 0; one_call < 2; one_call++) {
        for (uint64_t size = 4; size < 60; size++) accepted[count++] = size;
        for (uint64_t k = 0; k < 18; k++) accepted[count++] = limits[i].max - 17 + k;
      }
      for (uint64_t k = 0; k < count; k++) {
        CHECK_EQUAL(capture_bytes(log, type, accepted[k], k >= count / 2, NULL), WEIR_ACCEPTED);
      }
      for (uint64_t above = 1; above < 70; above++, refused++) {
        CHECK_EQUAL(capture_bytes(log, type, limits[i].max + above, above & 1, NULL), WEIR_DROP_TOO_LARGE);
      }
      weir_record record;
      CHECK_EQUAL(weir_begin(log, &record), WEIR_ACCEPTED);
      weir_put_string(&record, "text", UINT64_MAX); /* a length that would wrap any sum */
      weir_put_u64(&record, 1);
      CHECK_EQUAL(weir_commit(&record, type, NULL), WEIR_DROP_TOO_LARGE);
      refused++;
      weir_counters counters;
      weir_count(log, &counters);
      CHECK_EQUAL(counters.accepted, count);
      CHECK_EQUAL(counters.dropped[WEIR_DROP_TOO_LARGE], refused);
      close_and_free(log);
      check_sizes(directory, accepted, count);
      found_log found = read_log(directory);
      CHECK_EQUAL(found.gaps, refused);
      found_free(&found);
    }
    scratch_remove(folder);
  }
}

static void empty_event(void) {
  test("case 47: an event without fields is an event; a cancelled one is none; a refused one is counted");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_default(directory, NULL);
  REQUIRE(log);
  const weir_definition definition = {.name = "empty"};
  uint32_t type = 0;
  CHECK_EQUAL(weir_define(log, 0, &definition, 1, &type, NULL), WEIR_OK);
  weir_id ids[3];
  weir_record record;
  CHECK_EQUAL(weir_capture(log, type, NULL, 0, &ids[0]), WEIR_ACCEPTED);
  CHECK_EQUAL(weir_begin(log, &record), WEIR_ACCEPTED);
  weir_put_u64(&record, 7);
  weir_cancel(&record);
  CHECK_EQUAL(weir_begin(log, &record), WEIR_ACCEPTED);
  CHECK_EQUAL(weir_refuse(&record, WEIR_DROP_INVALID), WEIR_DROP_INVALID);
  CHECK_EQUAL(weir_begin(log, &record), WEIR_ACCEPTED);
  CHECK_EQUAL(weir_commit(&record, type, &ids[1]), WEIR_ACCEPTED);
  CHECK_EQUAL(weir_capture(log, 9999, NULL, 0, &ids[2]), WEIR_DROP_INVALID);
  CHECK_EQUAL(ids[1].sequence - ids[0].sequence, WEIR_RECORD_HEADER_BYTES / 8); /* the cancelled one left no trace */
  weir_counters counters;
  weir_count(log, &counters);
  CHECK_EQUAL(counters.accepted, 2);
  CHECK_EQUAL(counters.dropped[WEIR_DROP_INVALID], 2);
  close_and_free(log);

  weir_reader_options options;
  weir_reader_options_init(&options);
  weir_reader *reader;
  REQUIRE(weir_reader_open(directory, &options, &reader, NULL) == WEIR_OK);
  weir_event event;
  weir_skip skip;
  uint64_t found = 0, gaps = 0;
  while (weir_reader_next(reader, &event, &skip, NULL) == WEIR_OK) {
    if (name_is(&event, "weir.gap")) gaps += take_gap(&event);
    if (!name_is(&event, "empty")) continue;
    CHECK(found < 2 && compare_ids(&event.id, &ids[found]) == 0 && event.payload_bytes == 0);
    found++;
  }
  weir_reader_close(reader);
  CHECK_EQUAL(gaps, 2); /* in one record, or in two with an event between */
  CHECK_EQUAL(found, 2);
  scratch_remove(folder);
}

/* Captures as fast as it can into lanes of 8 KiB. Everything accepted must be there, everything else counted. */
static void ended_though_refused(void) {
  test("a capture that was refused may be put to, cancelled, refused and committed all the same: nothing happens");
  char *folder = scratch();
  weir_log *log = open_default(join(folder, "log"), NULL);
  REQUIRE(log);
  uint32_t type = define_numbered(log);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_record record;
  CHECK_EQUAL(weir_begin(log, &record), WEIR_DROP_CLOSED);
  weir_put_u64(&record, 7);
  weir_put_string(&record, "text", 4);
  weir_cancel(&record);
  CHECK_EQUAL(weir_refuse(&record, WEIR_DROP_SAMPLED), WEIR_DROP_INVALID);
  CHECK_EQUAL(weir_commit(&record, type, NULL), WEIR_DROP_INVALID);
  weir_counters counters;
  weir_count(log, &counters);
  CHECK_EQUAL(counters.dropped[WEIR_DROP_CLOSED], 1);
  CHECK_EQUAL(counters.dropped[WEIR_DROP_INVALID] + counters.dropped[WEIR_DROP_SAMPLED] + counters.accepted, 0);
  weir_free(log);
  scratch_remove(folder);
}

static void full_lane(uint64_t wait_ns, uint64_t attempts) {
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_small(directory, wait_ns, 4, NULL);
  REQUIRE(log);
  uint32_t type = define_numbered(log);
  uint64_t accepted = 0, full = 0, until = now_ns() + HANG_NS;
  /* Sooner or later the lane fills up before the drainer is awake. */
  for (uint64_t i = 0; i < attempts || (wait_ns == 0 && full == 0 && now_ns() < until); i++) {
    int32_t drop = capture_numbered(log, type, 0, accepted, random_below(200), NULL);
    accepted += drop == WEIR_ACCEPTED;
    full += drop == WEIR_DROP_FULL;
  }
  CHECK(accepted + full >= attempts);
  if (wait_ns == UINT64_MAX) CHECK_EQUAL(full, 0);
  if (wait_ns == 0) CHECK(full > 0);
  weir_error error;
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, &error), WEIR_OK);
  weir_counters counters;
  weir_count(log, &counters);
  CHECK_EQUAL(counters.accepted, accepted);
  CHECK_EQUAL(counters.drained, accepted);
  CHECK_EQUAL(counters.dropped[WEIR_DROP_FULL], full);
  close_and_free(log);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 0), accepted);
  CHECK_EQUAL(found.gaps, full);
  weir_stat stat;
  CHECK_EQUAL(weir_stat_directory(directory, &stat, &error), WEIR_OK);
  CHECK_EQUAL(stat.events, accepted);
  CHECK_EQUAL(stat.dropped[WEIR_DROP_FULL], full);
  found_free(&found);
  scratch_remove(folder);
}

/* The host's function that the drainer calls: the drainer stands still in it while `held` is set. */
typedef struct hold {
  _Atomic uint32_t held, inside;
} hold;

static void stand_still(void *context) {
  hold *hold = context;
  while (hold->held) {
    hold->inside = 1;
    usleep(1000);
  }
  hold->inside = 0;
}

typedef int32_t capture_call(weir_log *log, uint32_t type, const void *payload, uint64_t length, weir_id *id);

/* Captures until `count` captures were refused; the answer: how often these captures let other threads run. */
static uint64_t yields_of_refused(weir_log *log, uint32_t type, uint64_t count, capture_call *capture) {
  const uint32_t payload[2] = {4}; /* a field of 4 bytes */
  uint64_t before = yields, refused = 0;
  while (refused < count) refused += capture(log, type, payload, sizeof payload, NULL) == WEIR_DROP_FULL;
  return yields - before;
}

static void refused_captures_yield(void) {
  test("a refused capture lets other threads run, but not again and again while the drainer stands still");
  enum { REFUSED = 1000 };
  char *folder = scratch();
  weir_log *log = open_small(join(folder, "log"), 0, 4, NULL);
  REQUIRE(log);
  uint32_t type = define_bytes(log);
  hold hold = {0};
  weir_on_drained(log, stand_still, &hold);
  for (int round = 0; round < 2; round++) {
    hold.held = 1;
    CHECK_EQUAL(capture_bytes(log, type, 100, 1, NULL), WEIR_ACCEPTED);
    while (!hold.inside) usleep(1000);
    CHECK_EQUAL(yields_of_refused(log, type, REFUSED, weir_capture_in_signal), 0);
    uint64_t of_first = yields_of_refused(log, type, REFUSED, weir_capture);
    CHECK(of_first > 0 && of_first < REFUSED / 10);
    CHECK_EQUAL(yields_of_refused(log, type, REFUSED, weir_capture), 0);
    hold.held = 0;
    CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
    while (hold.inside) usleep(1000);
  }
  weir_counters counters;
  weir_count(log, &counters);
  CHECK_EQUAL(counters.drained, counters.accepted);
  CHECK_EQUAL(counters.dropped[WEIR_DROP_FULL], 6 * REFUSED);
  close_and_free(log);
  scratch_remove(folder);
}

/* A capture inside a capture, three deep: each takes a lane of its own, none disturbs another. */
static void nested(void) {
  test("captures inside captures are all kept");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 6;
  options.spare_lanes = 4;
  weir_log *log = NULL;
  REQUIRE(weir_open(directory, &options, &log, NULL, NULL) == WEIR_OK);
  uint32_t type = define_numbered(log);
  uint64_t none = 0;
  for (uint64_t n = 0; n < 1000; n++) {
    weir_record outer, middle;
    CHECK_EQUAL(weir_begin(log, &outer), WEIR_ACCEPTED);
    weir_put_u64(&outer, 0);
    CHECK_EQUAL(weir_begin(log, &middle), WEIR_ACCEPTED);
    weir_put_u64(&middle, 1);
    CHECK_EQUAL(capture_numbered(log, type, 2, n, 20, NULL), WEIR_ACCEPTED);
    weir_put_u64(&middle, n);
    weir_put_u64(&outer, n);
    weir_put_string(&middle, NULL, none);
    CHECK_EQUAL(weir_commit(&middle, type, NULL), WEIR_ACCEPTED);
    weir_put_string(&outer, NULL, none);
    CHECK_EQUAL(weir_commit(&outer, type, NULL), WEIR_ACCEPTED);
  }
  close_and_free(log);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(found.count, 3000); /* order is kept within a lane, so it is checked of the thread's own lane alone */
  CHECK_EQUAL(check_producer(&found, 0), 1000);
  found_free(&found);
  scratch_remove(folder);
}

static weir_log *signal_log;
static uint32_t signal_type;
static volatile uint64_t signal_accepted, signal_refused;
enum { SIGNALS = 2000 };

static void on_signal(int number) {
  (void)number;
  int32_t drop = capture_numbered(signal_log, signal_type, 1, signal_accepted, 16, NULL);
  if (drop == WEIR_ACCEPTED) signal_accepted = signal_accepted + 1;
  else signal_refused = signal_refused + 1;
}

static void from_signal_handlers(void) {
  test("case 17: captures from a signal handler that interrupts captures are all kept or counted");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  signal_log = open_small(directory, 0, 4, NULL);
  REQUIRE(signal_log);
  signal_type = define_numbered(signal_log);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  struct itimerval every = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &every, NULL);
  uint64_t accepted = 0, refused = 0, until = now_ns() + HANG_NS;
  while (signal_accepted < SIGNALS && now_ns() < until) {
    for (int i = 0; i < 100; i++) {
      if (capture_numbered(signal_log, signal_type, 0, accepted, 16, NULL) == WEIR_ACCEPTED) accepted++;
      else refused++;
    }
  }
  setitimer(ITIMER_REAL, &never, NULL);
  signal(SIGALRM, SIG_DFL);
  CHECK(signal_accepted >= SIGNALS);
  close_and_free(signal_log);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 0), accepted);
  CHECK_EQUAL(found.count, accepted + signal_accepted);
  CHECK_EQUAL(found.gaps, refused + signal_refused);
  found_free(&found);
  scratch_remove(folder);
}

static void two_logs(void) {
  test("two logs in one thread, in turns and one inside the other");
  char *folder = scratch();
  const char *directories[2] = {join(folder, "one"), join(folder, "two")};
  weir_log *logs[2];
  uint32_t types[2];
  for (int i = 0; i < 2; i++) {
    logs[i] = open_default(directories[i], NULL);
    REQUIRE(logs[i]);
    types[i] = define_numbered(logs[i]);
  }
  uint64_t counts[2] = {0, 0};
  for (int n = 0; n < 2000; n++) {
    uint64_t which = random_below(2);
    weir_record record;
    CHECK_EQUAL(weir_begin(logs[which], &record), WEIR_ACCEPTED);
    weir_put_u64(&record, 0);
    weir_put_u64(&record, counts[which]++);
    weir_put_string(&record, NULL, 0);
    if (n % 3 == 0) {
      CHECK_EQUAL(capture_numbered(logs[!which], types[!which], 0, counts[!which]++, 3, NULL), WEIR_ACCEPTED);
    }
    CHECK_EQUAL(weir_commit(&record, types[which], NULL), WEIR_ACCEPTED);
  }
  for (int i = 0; i < 2; i++) {
    close_and_free(logs[i]);
    found_log found = read_log(directories[i]);
    check_sound(&found);
    CHECK_EQUAL(check_producer(&found, 0), counts[i]);
    found_free(&found);
  }
  scratch_remove(folder);
}

static weir_log *turn_logs[2];
static uint32_t turn_types[2];
static volatile uint64_t turn_counts[2];

/* Captures to both logs, so that whichever one it interrupts, the thread's last log is another one afterwards. */
static void on_signal_both(int number) {
  (void)number;
  uint64_t turn = turn_counts[0] + turn_counts[1];
  for (uint64_t i = 0; i < 1 + turn % 2; i++) {
    uint64_t which = (turn / 2 + i) % 2;
    int32_t drop = capture_numbered(turn_logs[which], turn_types[which], 3 + which, turn_counts[which], 5, NULL);
    if (drop == WEIR_ACCEPTED) turn_counts[which] = turn_counts[which] + 1;
  }
}

static void two_logs_and_signals(void) {
  test("a signal handler that captures to another log than the capture that it interrupts");
  char *folder = scratch();
  const char *directories[2] = {join(folder, "one"), join(folder, "two")};
  for (int i = 0; i < 2; i++) {
    turn_logs[i] = open_default(directories[i], NULL);
    REQUIRE(turn_logs[i]);
    turn_types[i] = define_numbered(turn_logs[i]);
  }
  struct sigaction action = {.sa_handler = on_signal_both, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  struct itimerval every = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &every, NULL);
  uint64_t counts[2] = {0, 0};
  uint64_t until = now_ns() + HANG_NS;
  for (uint64_t n = 0; (turn_counts[0] < SIGNALS || turn_counts[1] < SIGNALS) && now_ns() < until; n++) {
    for (int i = 0; i < 50; i++) { /* alternating, and runs of one log: both leave the handler windows */
      uint64_t which = n % 2 ? (uint64_t)i % 2 : n / 2 % 2;
      if (capture_numbered(turn_logs[which], turn_types[which], which, counts[which], 5, NULL) == WEIR_ACCEPTED) {
        counts[which]++;
      }
    }
  }
  setitimer(ITIMER_REAL, &never, NULL);
  signal(SIGALRM, SIG_DFL);
  CHECK(turn_counts[0] >= SIGNALS && turn_counts[1] >= SIGNALS);
  for (uint64_t i = 0; i < 2; i++) {
    close_and_free(turn_logs[i]);
    found_log found = read_log(directories[i]);
    check_sound(&found);
    CHECK_EQUAL(check_producer(&found, i), counts[i]);
    CHECK_EQUAL(found.count, counts[i] + turn_counts[i]); /* nothing of the other log */
    found_free(&found);
  }
  scratch_remove(folder);
}

/* An id has 48 bits for the position. Past them it must stay within its lane, and be the one that readers give. */
static void ids_past_their_bits(void) {
  test("case 48: captures past 2 PiB of one lane: the ids that readers give");
  enum { EVENTS = 100 };
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_small(directory, UINT64_MAX, 4, NULL);
  REQUIRE(log);
  uint32_t type = define_numbered(log);
  lane *first = &((event_log *)log)->intake.lanes[0];
  uint64_t start = (UINT64_C(1) << 51) - 1024;
  first->drained = start;
  first->producer.limit = start;
  __atomic_store_n(&first->control->head, start, __ATOMIC_SEQ_CST);
  __atomic_store_n(&first->control->tail, start, __ATOMIC_SEQ_CST);
  weir_id ids[EVENTS];
  for (uint64_t i = 0; i < EVENTS; i++) CHECK_EQUAL(capture_numbered(log, type, 0, i, 10, &ids[i]), WEIR_ACCEPTED);
  close_and_free(log);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 0), EVENTS);
  uint64_t other = 0;
  for (uint64_t i = 0; i < found.count && i < EVENTS; i++) other += compare_ids(&found.events[i].id, &ids[i]) != 0;
  CHECK_EQUAL(other, 0);
  found_free(&found);
  scratch_remove(folder);
}

int main(void) {
  random_start("capture_test");
  ids_past_their_bits();
  refusals_told();
  captures_of_who_is_told();
  sizes();
  empty_event();
  ended_though_refused();
  test("full lane, drop at once: accepted and refused add up, and the log says how many were refused");
  full_lane(0, 200000);
  test("full lane, wait 20 microseconds, then drop");
  full_lane(20000, 50000);
  test("full lane, wait for ever: nothing is lost");
  full_lane(UINT64_MAX, 200000);
  refused_captures_yield();
  nested();
  from_signal_handlers();
  two_logs();
  two_logs_and_signals();
  return finish();
}
