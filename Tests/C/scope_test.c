/*
 * scope_test.c: what readers give with an event besides its fields: its scope, its definition's attributes, the
 * monotonic time and the boot in which it was captured.
 */
#include "context_check.h"

#include <signal.h>
#include <time.h>

#include "format/format.h"
#include "system/system.h"

/* ---- Scopes ------------------------------------------------------------------------------------------------------ */

/* Scope n is n bytes; SCOPELESS: none. The payload is n, and a filler of so many bytes. */
enum { SCOPES = 1200, SCOPELESS = 7 };

static uint8_t scope_byte(uint64_t number, uint64_t index) { return (uint8_t)(number * 3 + index * 5); }

static int32_t capture_scoped(weir_log *log, uint32_t type, uint64_t number, uint64_t filler) {
  static uint8_t zeros[2048];
  uint8_t scope[SCOPES];
  weir_record record;
  int32_t drop = weir_begin(log, &record);
  if (drop != WEIR_ACCEPTED) return drop;
  if (type == WEIR_TYPE_DYNAMIC) weir_put_string(&record, "own name", 8);
  weir_put_u64(&record, number);
  weir_put_raw(&record, zeros, filler);
  if (number % 10 == SCOPELESS) return weir_commit(&record, type, NULL);
  for (uint64_t i = 0; i < number; i++) scope[i] = scope_byte(number, i);
  weir_put_scope(&record, scope, (uint32_t)number);
  return weir_commit(&record, type | WEIR_SCOPED, NULL);
}

static void take_scoped(void *context, const weir_event *event) {
  uint64_t *wrong = context, number = 0, bad = 0;
  CHECK(event->payload_bytes >= 8);
  memcpy(&number, event->payload, 8);
  CHECK_EQUAL(event->payload_bytes, 8 + number % 9);
  CHECK(event->type != WEIR_TYPE_DYNAMIC || (event->name_bytes == 8 && memcmp(event->name, "own name", 8) == 0));
  if (number % 10 == SCOPELESS) {
    CHECK(event->scope == NULL);
    CHECK_EQUAL(event->scope_bytes, 0);
    return;
  }
  CHECK(event->scope != NULL);
  if (!CHECK_EQUAL(event->scope_bytes, number)) return;
  for (uint64_t i = 0; i < number; i++) bad += event->scope[i] != scope_byte(number, i);
  *wrong += bad;
}

/* Before and after a kill and recovery. */
static void scopes(void) {
  test("a scope is given apart from the payload, whole");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  pid_t child = fork();
  REQUIRE(child >= 0);
  uint64_t events = 0;
  for (uint64_t number = 0; number < SCOPES; number = number * 8 / 7 + 1) events += 2;
  if (child == 0) {
    weir_log *log = open_said(directory, 1, NULL);
    uint32_t type = define_said(log);
    for (uint64_t number = 0; number < SCOPES; number = number * 8 / 7 + 1) {
      int32_t large = 8 + number % 9 + number + 4 > 1024 ? WEIR_DROP_TOO_LARGE : WEIR_ACCEPTED;
      if (number % 10 == SCOPELESS) large = WEIR_ACCEPTED;
      if (capture_scoped(log, type, number, number % 9) != large) _exit(1);
      if (number < 900 && capture_scoped(log, WEIR_TYPE_DYNAMIC, number, number % 9) != WEIR_ACCEPTED) _exit(1);
      if (number == 40) weir_drain(log, UINT64_MAX, NULL, NULL);
    }
    raise(SIGKILL);
  }
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
  uint64_t wrong = 0, before = read_said(directory, take_scoped, &wrong);
  CHECK(before > events * 4 / 5);
  weir_log *log = open_said(directory, 1, NULL);
  REQUIRE(log);
  close_said(log);
  CHECK_EQUAL(read_said(directory, take_scoped, &wrong), before);
  CHECK_EQUAL(wrong, 0);
  scratch_remove(folder);
}

static void too_large(void) {
  test("an event that grows too large by its scope is refused as a whole");
  char *folder = scratch();
  weir_log *log = open_said(join(folder, "log"), 0, NULL);
  REQUIRE(log);
  uint32_t type = define_said(log);
  CHECK_EQUAL(capture_scoped(log, type, 1000, 12), WEIR_ACCEPTED); /* 8 + 12 + 1000 + 4 is the largest */
  CHECK_EQUAL(capture_scoped(log, type, 1000, 13), WEIR_DROP_TOO_LARGE);
  CHECK_EQUAL(capture_scoped(log, type, 1000, 1100), WEIR_DROP_TOO_LARGE);
  CHECK_EQUAL(capture_scoped(log, type, 0, 1012), WEIR_ACCEPTED);
  CHECK_EQUAL(capture_scoped(log, type, 0, 1013), WEIR_DROP_TOO_LARGE);
  weir_counters counters;
  weir_count(log, &counters);
  CHECK_EQUAL(counters.accepted, 2);
  CHECK_EQUAL(counters.dropped[WEIR_DROP_TOO_LARGE], 3);
  close_said(log);
  scratch_remove(folder);
}

static void take_unfit(void *context, const weir_event *event) {
  const uint64_t lengths[] = {0, 3, 4, 12, 0, 4};
  uint64_t number = (*(uint64_t *)context)++;
  CHECK_EQUAL(event->payload_bytes, lengths[number]);
  CHECK_EQUAL(event->scope != NULL, number >= 4);
  CHECK_EQUAL(event->scope_bytes, number == 5 ? 4 : 0);
}

/* These bytes as a payload that is said to end in a scope. */
static int32_t capture_flagged(weir_log *log, uint32_t type, const void *payload, uint64_t bytes) {
  weir_record record;
  int32_t drop = weir_begin(log, &record);
  if (drop != WEIR_ACCEPTED) return drop;
  weir_put_raw(&record, payload, bytes);
  return weir_commit(&record, type | WEIR_SCOPED, NULL);
}

static void unfit(void) {
  test("where a scope's count can't be, the payload is given as it is");
  char *folder = scratch();
  weir_log *log = open_said(join(folder, "log"), 0, NULL);
  REQUIRE(log);
  uint32_t type = define_said(log);
  static const uint32_t words[] = {1, 9, UINT32_MAX};
  CHECK_EQUAL(capture_flagged(log, type, NULL, 0), WEIR_ACCEPTED);
  CHECK_EQUAL(capture_flagged(log, type, words, 3), WEIR_ACCEPTED);
  CHECK_EQUAL(capture_flagged(log, type, words, 4), WEIR_ACCEPTED);
  CHECK_EQUAL(capture_flagged(log, type, words, 12), WEIR_ACCEPTED);
  static const uint32_t fit[] = {0, 4, 4};
  CHECK_EQUAL(capture_flagged(log, type, fit, 4), WEIR_ACCEPTED);
  CHECK_EQUAL(capture_flagged(log, type, fit, 12), WEIR_ACCEPTED);
  close_said(log);
  uint64_t count = 0;
  CHECK_EQUAL(read_said(join(folder, "log"), take_unfit, &count), 6);
  scratch_remove(folder);
}

static void bound(void) {
  test("whether a scope was ever bound is known to the whole process");
  CHECK_EQUAL(weir_scopes_bound(), 0);
  weir_bind_scopes();
  CHECK_EQUAL(weir_scopes_bound(), 1);
  weir_bind_scopes();
  CHECK_EQUAL(weir_scopes_bound(), 1);
}

/* ---- Attributes -------------------------------------------------------------------------------------------------- */

typedef struct attributed {
  const uint8_t *wanted[4];
  uint64_t bytes[4];
  uint64_t definition[4];
  uint64_t count;
} attributed;

static void take_attributed(void *context, const weir_event *event) {
  attributed *all = context;
  uint64_t i = all->count++;
  REQUIRE(i < 4);
  all->definition[i] = event->definition;
  CHECK_EQUAL(event->field_count, 2);
  if (!CHECK_EQUAL(event->attributes_bytes, all->bytes[i])) return;
  CHECK(all->bytes[i] == 0 ? event->attributes == NULL : memcmp(event->attributes, all->wanted[i], all->bytes[i]) == 0);
}

static void attributes(void) {
  test("a definition's attributes are given back, and tell definitions apart");
  char *folder = scratch();
  weir_log *log = open_said(join(folder, "log"), 0, NULL);
  REQUIRE(log);
  static uint8_t small[CONTEXT_ROOM], large[CONTEXT_ROOM];
  attributed all = {.wanted = {small, large, NULL, small}};
  all.bytes[0] = all.bytes[3] = make_context(small, 7, 0);
  all.bytes[1] = make_context(large, 7, CONTEXT_ROOM - LEAST_CONTEXT);
  const weir_field fields[] = {{"context", WEIR_KIND_U64, 0}, {"number", WEIR_KIND_U64, 0}};
  for (int i = 0; i < 4; i++) {
    weir_definition definition = {.name = "said",
                                  .fields = fields,
                                  .field_count = 2,
                                  .attributes = all.wanted[i],
                                  .attributes_bytes = (uint32_t)all.bytes[i]};
    uint32_t type;
    CHECK_EQUAL(weir_define(log, 0, &definition, 1, &type, NULL), WEIR_OK);
    CHECK_EQUAL(capture_said(log, type, 0, 0), WEIR_ACCEPTED);
    if (i != 0) continue;
    for (uint32_t bytes = 1; bytes < definition.attributes_bytes; bytes++) {
      weir_definition cut = definition;
      cut.attributes_bytes = bytes;
      CHECK_EQUAL(weir_define(log, 0, &cut, 1, &type, NULL), WEIR_ERROR_INVALID);
    }
    static uint8_t huge[2 * CONTEXT_ROOM];
    definition.attributes = huge;
    definition.attributes_bytes = sizeof huge;
    CHECK_EQUAL(weir_define(log, 0, &definition, 1, &type, NULL), WEIR_ERROR_LIMIT);
  }
  close_said(log);
  CHECK_EQUAL(read_said(join(folder, "log"), take_attributed, &all), 4);
  CHECK(all.definition[0] == all.definition[3]);
  CHECK(all.definition[0] != all.definition[1] && all.definition[1] != all.definition[2] &&
        all.definition[0] != all.definition[2]);
  scratch_remove(folder);
}

/* ---- Time -------------------------------------------------------------------------------------------------------- */

typedef struct span {
  int64_t from, to, slack;
  uint8_t boot_id[16];
} span;

static void take_time(void *context, const weir_event *event) {
  const span *span = context;
  CHECK(event->monotonic_ns >= span->from - span->slack && event->monotonic_ns <= span->to + span->slack);
  CHECK(memcmp(event->boot_id, span->boot_id, sizeof event->boot_id) == 0);
}

static int64_t monotonic_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Events in the log and in the lanes of a process that is killed, with each clock; then recovered. */
static void monotonic(void) {
  test("the monotonic time of an event is that of its capture, and the boot is this one");
  static const uint32_t clocks[] = {WEIR_CLOCK_AUTO, WEIR_CLOCK_MONOTONIC, WEIR_CLOCK_COARSE, WEIR_CLOCK_TICK};
  for (int i = 0; i < 4; i++) {
    char *folder = scratch();
    const char *directory = join(folder, "log");
    span span = {.from = monotonic_now(), .slack = clocks[i] == WEIR_CLOCK_COARSE ? 20000000 : 1000000};
    if (clocks[i] == WEIR_CLOCK_TICK) span.slack = INT64_C(1000000000);
    REQUIRE(sys_boot_id(span.boot_id) == 0);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      weir_options options;
      weir_options_init(&options);
      options.clock = clocks[i];
      weir_log *log;
      if (weir_open(directory, &options, &log, NULL, NULL) != WEIR_OK) _exit(1);
      uint32_t type = define_said(log);
      for (int n = 0; n < 20; n++) {
        capture_said(log, type, 0, 0);
        if (n == 10) weir_drain(log, UINT64_MAX, NULL, NULL);
        sleep_ns(200000);
      }
      raise(SIGKILL);
    }
    CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
    span.to = monotonic_now();
    CHECK_EQUAL(read_said(directory, take_time, &span), 20);
    weir_log *log = open_said(directory, 0, NULL);
    REQUIRE(log);
    close_said(log);
    CHECK_EQUAL(read_said(directory, take_time, &span), 20);
    scratch_remove(folder);
  }
}

int main(void) {
  random_start("scope_test");
  bound();
  scopes();
  too_large();
  unfit();
  attributes();
  monotonic();
  return finish();
}
