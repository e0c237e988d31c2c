/*
 * context_test.c: the global context through weir.h: every event has the one that was in force, in each segment, from
 * the lanes of a dead writer, after recovery, and with threads that change it while others capture.
 */
#include "context_check.h"
#include "drainer.h"

#include <pthread.h>
#include <signal.h>

#include "log_builder.h"

/* ---- One thread -------------------------------------------------------------------------------------------------- */

static void across_drains_and_segments(void) {
  test("each event has its context, across drains and segments");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_said(directory, 1, NULL);
  REQUIRE(log);
  uint32_t type = define_said(log);
  uint64_t events = 0, context = 0;
  weir_counters counters;
  do {
    for (int i = 0; i < 50; i++) CHECK_EQUAL(capture_said(log, type, context, events++), WEIR_ACCEPTED);
    context = random_below(60); /* none, one from before, or a new one */
    CHECK_EQUAL(set_context(log, context), WEIR_OK);
    if (random_below(3) == 0) CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
    weir_count(log, &counters);
  } while (counters.segments < 4);
  CHECK(counters.contexts >= 40 && counters.contexts < 60);
  CHECK_EQUAL(counters.types, 1);
  close_said(log);
  CHECK_EQUAL(check_said(directory), events);
  scratch_remove(folder);
}

/* The number and the definition of each event's context. */
typedef struct numbers {
  uint32_t number[8];
  uint64_t definition[8];
  uint64_t count;
} numbers;

static void take_numbers(void *context, const weir_event *event) {
  numbers *numbers = context;
  REQUIRE(numbers->count < 8);
  numbers->definition[numbers->count] = event->context_definition;
  numbers->number[numbers->count++] = event->context_number;
}

static void stored_once(void) {
  test("equal bytes are one context, are stored once, and are not in force in the next opening");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  static const uint64_t order[] = {0, 1, 2, 1, 0, 2};
  weir_log *log = open_said(directory, 0, NULL);
  REQUIRE(log);
  uint32_t type = define_said(log);
  for (int i = 0; i < 6; i++) {
    CHECK_EQUAL(set_context(log, order[i]), WEIR_OK);
    CHECK_EQUAL(capture_said(log, type, order[i], 0), WEIR_ACCEPTED);
  }
  weir_counters counters;
  weir_count(log, &counters);
  CHECK_EQUAL(counters.contexts, 2);
  close_said(log);
  log = open_said(directory, 0, NULL);
  REQUIRE(log);
  CHECK_EQUAL(capture_said(log, define_said(log), 0, 0), WEIR_ACCEPTED);
  close_said(log);
  CHECK_EQUAL(check_said(directory), 7);
  numbers found = {.count = 0};
  read_said(directory, take_numbers, &found);
  CHECK_EQUAL(found.number[0] | found.number[4] | found.number[6], 0);
  CHECK(found.number[1] != 0 && found.number[1] == found.number[3]);
  CHECK(found.number[2] != found.number[1] && found.number[2] == found.number[5]);
  CHECK(found.definition[1] != 0 && found.definition[1] == found.definition[3]);
  CHECK(found.definition[1] != found.definition[2]);
  scratch_remove(folder);
}

static weir_status set_bytes(weir_log *log, const void *bytes, uint64_t count) {
  weir_error error;
  weir_status status = weir_set_context(log, bytes, count, &error);
  if (status != WEIR_OK) CHECK(error.status == status && strlen(error.message) > 10);
  return status;
}

/* An object of one member "a", of `deep` arrays around a null. */
static uint64_t nest(uint8_t *bytes, int deep) {
  static const uint8_t head[] = {1, 0, 0, 0, 1, 0, 0, 0, 'a'};
  static const uint8_t array[] = {WEIR_KIND_ARRAY, 1, 0, 0, 0};
  memcpy(bytes, head, sizeof head);
  uint64_t at = sizeof head;
  for (int i = 0; i < deep; i++, at += sizeof array) memcpy(bytes + at, array, sizeof array);
  bytes[at] = WEIR_KIND_NULL;
  return at + 1;
}

static void refused(void) {
  test("what is no tagged object is refused, and the context before stays");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_said(directory, 0, NULL);
  REQUIRE(log);
  uint32_t type = define_said(log);
  CHECK_EQUAL(set_context(log, 5), WEIR_OK);
  static uint8_t bytes[2 * CONTEXT_ROOM], many[CONTEXT_ROOM];
  static const uint8_t whole[] = {3, 0, 0, 0, 1, 0, 0, 0, 'b', WEIR_KIND_BOOL, 1, 1, 0, 0, 0, 'o', WEIR_KIND_OBJECT,
                                  1, 0, 0, 0, 0, 0, 0, 0, WEIR_KIND_UUID, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
                                  14, 15, 16, 1, 0, 0, 0, 's', WEIR_KIND_STRING, 2, 0, 0, 0, 0xff, 0xfe};
  for (uint64_t count = 1; count < sizeof whole; count++) {
    CHECK_EQUAL(set_bytes(log, whole, count), WEIR_ERROR_INVALID);
  }
  for (uint64_t at = 0; at < sizeof whole; at++) { /* no flipped byte does harm; these make it no object any more */
    memcpy(bytes, whole, sizeof whole);
    bytes[at] ^= 0x80;
    weir_status status = set_bytes(log, bytes, sizeof whole);
    CHECK(status == WEIR_OK || status == WEIR_ERROR_INVALID);
    if (at < 4 || at == 8 || at == 10 || at == 9) CHECK_EQUAL(status, WEIR_ERROR_INVALID);
  }
  CHECK_EQUAL(set_bytes(log, bytes, nest(bytes, 17)), WEIR_ERROR_INVALID);
  CHECK_EQUAL(set_bytes(log, bytes, nest(bytes, 16)), WEIR_OK);
  CHECK_EQUAL(set_bytes(log, NULL, 4), WEIR_ERROR_INVALID);
  memset(bytes, 0xff, sizeof bytes);
  CHECK_EQUAL(set_bytes(log, bytes, 100), WEIR_ERROR_INVALID);
  CHECK_EQUAL(set_context(log, 5), WEIR_OK);
  CHECK_EQUAL(set_bytes(log, bytes, make_context(bytes, 1, CONTEXT_ROOM - LEAST_CONTEXT + 1)), WEIR_ERROR_INVALID);
  CHECK_EQUAL(capture_said(log, type, 5, 0), WEIR_ACCEPTED);
  CHECK_EQUAL(set_bytes(log, many, make_context(many, 1, CONTEXT_ROOM - LEAST_CONTEXT)), WEIR_OK); /* the largest */
  CHECK_EQUAL(set_context(log, 6), WEIR_OK);
  CHECK_EQUAL(set_bytes(log, whole, sizeof whole), WEIR_OK); /* a text need not be UTF-8 */
  CHECK_EQUAL(set_context(log, 6), WEIR_OK);
  CHECK_EQUAL(capture_said(log, type, 6, 1), WEIR_ACCEPTED);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  CHECK_EQUAL(set_context(log, 7), WEIR_ERROR_CLOSED);
  weir_free(log);
  CHECK_EQUAL(check_said(directory), 2);
  scratch_remove(folder);
}

static void limited(void) {
  test("with the room for definitions used up the context before stays in force, and events are accepted");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_said(directory, 0, NULL);
  REQUIRE(log);
  uint32_t type = define_said(log), other;
  uint64_t number = 1, events = 0;
  while (set_context(log, number) == WEIR_OK) CHECK_EQUAL(capture_said(log, type, number++, events++), WEIR_ACCEPTED);
  CHECK(number > 1000 && number < 4096);
  CHECK_EQUAL(set_context(log, number), WEIR_ERROR_LIMIT);
  CHECK_EQUAL(capture_said(log, type, number - 1, events++), WEIR_ACCEPTED);
  CHECK_EQUAL(set_context(log, 1), WEIR_OK); /* it is there */
  CHECK_EQUAL(capture_said(log, type, 1, events++), WEIR_ACCEPTED);
  char name[WEIR_MAX_NAME_BYTES + 1];
  snprintf(name, sizeof name, "%01000d", 1);
  const weir_definition late = {.name = name};
  uint32_t defined = 0;
  while (weir_define(log, 0, &late, 1, &other, NULL) == WEIR_OK) defined++; /* half of the room is theirs */
  CHECK(defined >= WEIR_TYPES_BYTES / 2 / 1032 - 2);
  CHECK_EQUAL(weir_define(log, 0, &late, 1, &other, NULL), WEIR_ERROR_LIMIT);
  CHECK_EQUAL(set_context(log, 2), WEIR_OK);
  CHECK_EQUAL(capture_said(log, type, 2, events++), WEIR_ACCEPTED);
  CHECK_EQUAL(set_context(log, 0), WEIR_OK);
  CHECK_EQUAL(capture_said(log, type, 0, events++), WEIR_ACCEPTED);
  close_said(log);
  CHECK_EQUAL(check_said(directory), events);
  scratch_remove(folder);
}

/* The smallest contexts, and then the smallest types: as many numbers as there are. */
static void all_numbers(void) {
  test("contexts take half of the room at most, and types the rest, whatever their numbers");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_said(directory, 0, NULL);
  REQUIRE(log);
  uint32_t said = define_said(log), type = 0;
  uint8_t bytes[CONTEXT_ROOM];
  const weir_definition many = {.name = "t"};
  uint64_t contexts = 0, types = 1;
  CHECK_EQUAL(capture_said(log, said, 0, 0), WEIR_ACCEPTED);
  for (weir_status status = WEIR_OK; status == WEIR_OK; contexts += status == WEIR_OK) {
    status = weir_set_context(log, bytes, make_context(bytes, contexts + 1, 0), NULL);
  }
  while (weir_define(log, 0, &many, 1, &type, NULL) == WEIR_OK) types++;
  weir_counters counters;
  weir_count(log, &counters);
  CHECK_EQUAL(counters.contexts, contexts);
  CHECK_EQUAL(counters.types, types);
  CHECK_EQUAL(contexts, WEIR_TYPES_BYTES / 2 / 64);
  CHECK_EQUAL(set_context(log, 0), WEIR_OK);
  CHECK_EQUAL(capture_said(log, type, 0, 1), WEIR_ACCEPTED);
  CHECK(types > 3000);
  CHECK_EQUAL(type, WEIR_TYPE_FIRST + types - 1);
  CHECK(type < 8192 - contexts);
  close_said(log);
  CHECK_EQUAL(check_said(directory), 2);
  scratch_remove(folder);
}

typedef struct counting {
  weir_log *log;
  int done; /* atomic */
} counting;

static void *set_many(void *context) {
  counting *counting = context;
  for (uint64_t i = 1; set_context(counting->log, i) == WEIR_OK;) i++;
  __atomic_store_n(&counting->done, 1, __ATOMIC_RELEASE);
  return NULL;
}

static void counted(void) {
  test("the count of types is exact while contexts are set");
  for (int round = 0; round < 5; round++) {
    char *folder = scratch();
    counting counting = {.log = open_said(join(folder, "log"), 0, NULL)};
    REQUIRE(counting.log);
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, set_many, &counting) == 0);
    uint64_t wrong = 0;
    while (!__atomic_load_n(&counting.done, __ATOMIC_ACQUIRE)) {
      weir_counters counters;
      weir_count(counting.log, &counters);
      wrong += counters.types != 0;
    }
    CHECK_EQUAL(wrong, 0);
    pthread_join(thread, NULL);
    close_said(counting.log);
    scratch_remove(folder);
  }
}

static void numbered_apart(void) {
  test("a context's number is no type, and types are numbered one after the other");
  char *folder = scratch();
  weir_log *log = open_said(join(folder, "log"), 0, NULL);
  REQUIRE(log);
  uint32_t first = define_said(log);
  CHECK_EQUAL(set_context(log, 1), WEIR_OK);
  uint32_t second = define_said(log);
  CHECK_EQUAL(second, first + 1);
  CHECK_EQUAL(capture_said(log, second, 1, 0), WEIR_ACCEPTED);
  CHECK_EQUAL(capture_said(log, second + 1, 1, 1), WEIR_DROP_INVALID);
  CHECK_EQUAL(capture_said(log, second | 1 << 16, 1, 1), WEIR_DROP_INVALID);
  CHECK_EQUAL(capture_said(log, second | WEIR_SCOPED, 1, 1), WEIR_DROP_INVALID); /* there is none in the payload */
  for (uint32_t number = 0; number < 65536; number++) {
    if (number == WEIR_TYPE_DYNAMIC || number == first || number == second) continue;
    if (capture_said(log, number, 1, 1) != WEIR_DROP_INVALID) CHECK_EQUAL(number, 0);
  }
  close_said(log);
  numbers found = {.count = 0};
  read_said(join(folder, "log"), take_numbers, &found);
  CHECK_EQUAL(found.count, 1);
  CHECK_EQUAL(found.number[0], 8191);
  CHECK_EQUAL(check_said(join(folder, "log")), 1);
  scratch_remove(folder);
}

/* ---- Death ------------------------------------------------------------------------------------------------------- */

/* Events in contexts, some drained, some in the lanes, and then its death. */
static void live_and_die(const char *directory, uint64_t seed) {
  weir_log *log = open_said(directory, 1, NULL);
  uint32_t type = define_said(log);
  uint64_t context = 0;
  for (uint64_t i = 0; i < 600; i++) {
    capture_said(log, type, context, i);
    if (i % 3 == 0) set_context(log, context = (i * seed) % 40);
    if (i == 400) hold_drainer(log);
  }
  raise(SIGKILL);
}

static void killed(void) {
  test("contexts are found in a dead writer's lanes, and recovered again and again");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  for (uint64_t life = 1; life <= 3; life++) {
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) live_and_die(directory, life * 7);
    CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
    CHECK_EQUAL(check_said(directory), 600 * life);
  }
  weir_recovery recovery;
  for (int again = 0; again < 2; again++) {
    weir_log *log = open_said(directory, 1, &recovery);
    REQUIRE(log);
    CHECK_EQUAL(recovery.events_from_lanes > 0, again == 0);
    close_said(log);
    CHECK_EQUAL(check_said(directory), 1800);
  }
  scratch_remove(folder);
}

static void count_said(void *count, const weir_event *event) {
  uint64_t said[2];
  memcpy(said, event->payload, sizeof said);
  *(uint64_t *)count += said[1] == *(uint64_t *)count && event->context_number != 0;
}

/* A context for every other event: where a segment of the recovery ends, a block that is being filled is cut in two. */
static void many_recovered(void) {
  test("a ring with hundreds of contexts is recovered, and no segment takes more than it has room for");
  enum { CONTEXTS = 700, EVENTS = 2 * CONTEXTS };
  for (uint64_t round = 0; round < 12; round++) {
    char *directory = scratch();
    weir_options options;
    weir_options_init(&options);
    options.lane_count = 2;
    options.spare_lanes = 1;
    options.max_event_bytes = 1024;
    options.segment_bytes = 139264;
    options.drain_interval_ns = UINT64_C(10000000000);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      weir_log *log;
      uint8_t bytes[CONTEXT_ROOM];
      if (weir_open(directory, &options, &log, NULL, NULL) != WEIR_OK) _exit(1);
      uint32_t type = define_said(log);
      for (uint64_t i = 0; i < EVENTS; i++) {
        uint64_t count = make_context(bytes, 1 + i / 2, 8 * (round + i % 3));
        if (i % 2 == 0 && weir_set_context(log, bytes, count, NULL) != WEIR_OK) _exit(2);
        if (capture_said(log, type, 1 + i / 2, i) != WEIR_ACCEPTED) _exit(3);
      }
      kill(getpid(), SIGKILL);
    }
    CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
    weir_log *log = NULL;
    weir_recovery recovery;
    CHECK_EQUAL(weir_open(directory, &options, &log, &recovery, NULL), WEIR_OK);
    REQUIRE(log);
    CHECK_EQUAL(recovery.missing_events + recovery.damaged_blocks, 0);
    close_said(log);
    uint64_t said = 0;
    CHECK_EQUAL(read_said(directory, count_said, &said), EVENTS);
    CHECK_EQUAL(said, EVENTS);
    scratch_remove(directory);
  }
}

static void forked(void) {
  test("a fork can't set the context of its parent's log");
  char *folder = scratch();
  weir_log *log = open_said(join(folder, "log"), 0, NULL);
  REQUIRE(log);
  CHECK_EQUAL(set_context(log, 1), WEIR_OK);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(set_context(log, 2) == WEIR_ERROR_CLOSED ? 0 : 1);
  CHECK_EQUAL(wait_for(child), 0);
  CHECK_EQUAL(capture_said(log, define_said(log), 1, 0), WEIR_ACCEPTED);
  close_said(log);
  CHECK_EQUAL(check_said(join(folder, "log")), 1);
  scratch_remove(folder);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

enum { THREADS = 64, EACH = 200 };

/* One thread sets contexts 1, 2, 3, …; the others note which ones an event of theirs may have. */
typedef struct race {
  weir_log *log;
  uint32_t type;
  uint64_t begun, set; /* atomics */
  uint64_t least[THREADS][EACH], most[THREADS][EACH];
  uint64_t running;    /* atomic */
  uint64_t wrong, seen;
} race;

typedef struct racer {
  race *race;
  uint64_t number;
} racer;

static void *capture_in_race(void *context) {
  racer *racer = context;
  race *race = racer->race;
  for (uint64_t i = 0; i < EACH; i++) {
    race->least[racer->number][i] = __atomic_load_n(&race->set, __ATOMIC_ACQUIRE);
    CHECK_EQUAL(capture_said(race->log, race->type, racer->number, i), WEIR_ACCEPTED);
    race->most[racer->number][i] = __atomic_load_n(&race->begun, __ATOMIC_ACQUIRE);
  }
  __atomic_fetch_sub(&race->running, 1, __ATOMIC_RELEASE);
  return NULL;
}

static void *change_in_race(void *context) {
  race *race = context;
  for (uint64_t number = 1; number < 1500 && __atomic_load_n(&race->running, __ATOMIC_ACQUIRE) > 0; number++) {
    __atomic_store_n(&race->begun, number, __ATOMIC_RELEASE);
    CHECK_EQUAL(set_context(race->log, number), WEIR_OK);
    __atomic_store_n(&race->set, number, __ATOMIC_RELEASE);
  }
  return NULL;
}

static void take_raced(void *context, const weir_event *event) {
  race *race = context;
  uint64_t said[2], found = context_of(event);
  race->seen++;
  if (event->payload_bytes != sizeof said) {
    race->wrong++;
    return;
  }
  memcpy(said, event->payload, sizeof said);
  int known = said[0] < THREADS && said[1] < EACH;
  race->wrong += !known || found < race->least[said[0]][said[1]] || found > race->most[said[0]][said[1]];
}

static void raced(void) {
  test("64 threads capture while another changes the context");
  char *folder = scratch();
  static race race;
  static racer racers[THREADS];
  pthread_t threads[THREADS], changer;
  weir_options options;
  weir_options_init(&options);
  options.lane_count = THREADS + 2;
  options.lane_bytes = 16384;
  options.max_event_bytes = 1024;
  options.segment_bytes = 1 << 20;
  options.full_wait_ns = UINT64_MAX;
  REQUIRE(weir_open(join(folder, "log"), &options, &race.log, NULL, NULL) == WEIR_OK);
  race.type = define_said(race.log);
  race.running = THREADS;
  for (uint64_t i = 0; i < THREADS; i++) {
    racers[i] = (racer){&race, i};
    REQUIRE(pthread_create(&threads[i], NULL, capture_in_race, &racers[i]) == 0);
  }
  REQUIRE(pthread_create(&changer, NULL, change_in_race, &race) == 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  pthread_join(changer, NULL);
  close_said(race.log);
  read_said(join(folder, "log"), take_raced, &race);
  CHECK_EQUAL(race.seen, THREADS * EACH);
  CHECK_EQUAL(race.wrong, 0);
  scratch_remove(folder);
}

/* ---- Logs that no writer leaves ---------------------------------------------------------------------------------- */

typedef struct odd {
  uint32_t words[3];
  uint64_t count;
  const char *problem;
} odd;

static void take_odd(void *context, const weir_event *event) {
  odd *odd = context;
  uint32_t word = odd->words[odd->count++];
  CHECK_EQUAL(event->type, word & 0xffff);
  CHECK_EQUAL(event->context_number, word >> 16 & 0x7fff);
  CHECK(event->context == NULL && event->context_bytes == 0 && event->context_definition == 0);
  CHECK_EQUAL(event->name_bytes > 0, (word & 0xffff) == BUILT_TYPE);
}

static void take_problem(void *context, const weir_finding *finding) {
  odd *odd = context;
  if (!odd->problem) odd->problem = finding->problem;
}

/* A log of three events, with these type words. */
static void build_odd(const char *directory, const odd *odd) {
  static const uint64_t drained[BUILT_LANES];
  built file;
  uint8_t payload[512];
  uint64_t bytes = 0;
  built_begin(&file, 7, 0, drained, NULL, 0);
  built_define(&file);
  for (uint64_t i = 0; i < 3; i++) {
    uint8_t *record = payload + bytes;
    uint64_t size = built_record(record, 7, 1, bytes, i);
    memcpy(record + 8, &odd->words[i], 4);
    uint32_t checksum = record_checksum(record_seed(7, 1), bytes, record);
    memcpy(record, &checksum, 4);
    bytes += size;
  }
  block_header header = {.kind = BLOCK_EVENTS, .count = 3, .lane = 1, .lane_to = bytes};
  header.first_ns = built_time(0);
  header.last_ns = built_time(2);
  file.sums.events = 3;
  file.sums.first_ns = header.first_ns;
  file.sums.last_ns = header.last_ns;
  built_block(&file, &header, payload, bytes);
  built_seal(&file);
  REQUIRE(mkdir(directory, 0700) == 0);
  write_file(join(directory, "lock"), "", 0);
  write_file(join(directory, "00000000000000000000.weir"), file.bytes, file.count);
  built_free(&file);
}

static void check_odd(const char *folder, odd odd, const char *problem) {
  const char *directory = join(folder, "odd");
  weir_verification verification;
  weir_reader_options segments_alone; /* the log has no ring, which is told */
  weir_reader_options_init(&segments_alone);
  segments_alone.skip_lanes = 1;
  build_odd(directory, &odd);
  CHECK_EQUAL(read_said_with(directory, &segments_alone, take_odd, &odd), 3);
  CHECK_EQUAL(weir_verify(directory, take_problem, &odd, &verification, NULL), WEIR_OK);
  CHECK(odd.problem && strcmp(odd.problem, problem) == 0);
  remove_tree(directory);
}

static void undefined(void) {
  test("an event whose type or context nobody defined is given without it, and told of");
  char *folder = scratch();
  const uint32_t good = BUILT_TYPE;
  const char *no_context = "event's context is not defined before it";
  const char *no_type = "event's type is not defined before it";
  const char *nothing = "the ring is missing: events that no segment had yet are lost"; /* there is no ring */
  check_odd(folder, (odd){.words = {good, good, good}}, nothing);
  check_odd(folder, (odd){.words = {good, good | 20 << 16, good}}, no_context);
  check_odd(folder, (odd){.words = {good, good, good | 0x7fff << 16}}, no_context);
  check_odd(folder, (odd){.words = {good | good << 16, good, good}}, no_context); /* what is defined is a type */
  check_odd(folder, (odd){.words = {good, 8191, good}}, no_type);
  check_odd(folder, (odd){.words = {good, 65535, good}}, no_type);
  scratch_remove(folder);
}

int main(void) {
  random_start("context_test");
  across_drains_and_segments();
  stored_once();
  refused();
  limited();
  all_numbers();
  counted();
  numbered_apart();
  killed();
  many_recovered();
  forked();
  raced();
  undefined();
  return finish();
}
