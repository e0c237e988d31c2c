/*
 * bystanders.c: threads that do, over and over, everything that may overlap with captures: count, drain, sync, define,
 * read and check the live directory, fork, and close a log half-way. None of them captures, but children of forks try.
 */
#include "stress.h"

enum { BYSTANDERS = 5, MOST_DEFINED = 300 };

typedef struct bystander {
  round_t *round;
  uint64_t random;
  pthread_t thread;
  int running;
} bystander;

struct bystanders {
  bystander all[BYSTANDERS + 1];
};

static int goes_on(bystander *self) {
  if (self->round->plan.bystander_pause_ns > 0) sleep_ns(draw(&self->random, self->round->plan.bystander_pause_ns));
  return !__atomic_load_n(&self->round->stop_bystanders, __ATOMIC_RELAXED);
}

static stressed_log *any_log(bystander *self) {
  return &self->round->logs[draw(&self->random, self->round->plan.log_count)];
}

/* Counters never run backwards, but for the dip that a close makes in those of the ring while it is let go. */
static void *count(void *context) {
  bystander *self = context;
  weir_counters before[MAX_LOGS] = {0}, now;
  while (goes_on(self)) {
    uint32_t log = (uint32_t)draw(&self->random, self->round->plan.log_count);
    weir_count(self->round->logs[log].log, &now);
    CHECK(now.accepted >= before[log].accepted);
    CHECK(now.drained >= before[log].drained);
    CHECK(now.next_offset >= before[log].next_offset);
    int may_close = self->round->plan.closes && log == 0;
    CHECK(may_close || now.overwritten >= before[log].overwritten);
    for (int i = 0; !may_close && i < WEIR_DROP_REASONS; i++) CHECK(now.dropped[i] >= before[log].dropped[i]);
    CHECK_EQUAL(now.damaged, 0);
    CHECK_EQUAL(now.storage, WEIR_OK);
    before[log] = now;
  }
  return NULL;
}

static void *drain_and_sync(void *context) {
  bystander *self = context;
  uint64_t before[MAX_LOGS] = {0}, next = 0;
  while (goes_on(self)) {
    stressed_log *log = any_log(self);
    uint64_t timeout = draw(&self->random, 3) ? UINT64_MAX : draw(&self->random, 2000000);
    int sync = draw(&self->random, 8) == 0;
    weir_status status = sync ? weir_sync(log->log, timeout, &next, NULL) : weir_drain(log->log, timeout, &next, NULL);
    CHECK(status == WEIR_OK || status == WEIR_ERROR_CLOSED || (status == WEIR_ERROR_TIMEOUT && timeout != UINT64_MAX));
    if (status != WEIR_OK) continue;
    CHECK(next >= before[log - self->round->logs]);
    before[log - self->round->logs] = next;
  }
  return NULL;
}

/* A context of one member, "a", whose value is the number; 0: none. */
static void set_context(weir_log *log, uint8_t number) {
  const uint8_t object[] = {1, 0, 0, 0, 1, 0, 0, 0, 'a', WEIR_KIND_U8, number};
  weir_status status = weir_set_context(log, object, number == 0 ? 0 : sizeof object, NULL);
  CHECK(status == WEIR_OK || status == WEIR_ERROR_LIMIT || status == WEIR_ERROR_CLOSED);
}

/* Defines types and changes the context. */
static void *define(void *context) {
  bystander *self = context;
  for (int i = 0; i < MOST_DEFINED && goes_on(self); i++) {
    char name[32];
    const weir_field fields[] = {{"a", WEIR_KIND_U64, 0}, {"b", WEIR_KIND_STRING, 1}};
    const weir_definition definition = {.name = name, .fields = fields, .field_count = (uint32_t)i % 3};
    uint32_t type;
    snprintf(name, sizeof name, "stress %d", i);
    weir_status status = weir_define(any_log(self)->log, 0, &definition, 1, &type, NULL);
    CHECK(status == WEIR_OK || status == WEIR_ERROR_LIMIT || status == WEIR_ERROR_CLOSED);
    set_context(any_log(self)->log, (uint8_t)draw(&self->random, 100));
  }
  return NULL;
}

/* Reads a live log from some offset on: events in their order, and nothing missing that was there. */
static void read_some(const char *directory, uint64_t from) {
  weir_reader_options options;
  weir_reader_options_init(&options);
  options.from_offset = from;
  weir_reader *reader;
  weir_error error;
  if (!CHECK_EQUAL(weir_reader_open(directory, &options, &reader, &error), WEIR_OK)) {
    fprintf(stderr, "reading %s: %s\n", directory, error.message);
    return;
  }
  weir_event event;
  weir_skip skip;
  uint64_t next = from;
  weir_status status;
  while ((status = weir_reader_next(reader, &event, &skip, &error)) == WEIR_OK) {
    CHECK_EQUAL(event.offset, next++);
    CHECK(event.context_number == 0 || event.context_bytes == 11);
  }
  if (status == WEIR_SKIPPED) fprintf(stderr, "%s: skipped in %s: %s\n", directory, skip.file, skip.reason);
  CHECK_EQUAL(status, WEIR_END);
  weir_reader_close(reader);
}

static void *read_live(void *context) {
  bystander *self = context;
  while (goes_on(self)) {
    stressed_log *log = any_log(self);
    weir_counters counters;
    weir_stat stat;
    weir_count(log->log, &counters);
    uint64_t last = counters.next_offset < 20000 ? 0 : counters.next_offset - 20000;
    read_some(log->directory, draw(&self->random, 4) ? last : draw(&self->random, last + 1));
    CHECK_EQUAL(weir_stat_directory(log->directory, &stat, NULL), WEIR_OK);
    CHECK(stat.next_offset >= counters.next_offset);
  }
  return NULL;
}

/* In the child. A log that was closed before the fork says so; any other is detached. */
static int child_is_refused(const round_t *round) {
  int wrong = 0;
  for (uint32_t i = 0; i < round->plan.log_count; i++) {
    weir_log *log = round->logs[i].log;
    for (int tries = 0; tries < 3; tries++) {
      int32_t drop = weir_capture(log, round->logs[i].type, NULL, 0, NULL);
      wrong |= drop != WEIR_DROP_DETACHED && !(round->plan.closes && i == 0 && drop == WEIR_DROP_CLOSED);
    }
    wrong |= (weir_drain(log, UINT64_MAX, NULL, NULL) != WEIR_ERROR_CLOSED) << 1;
    wrong |= (weir_close(log, NULL) != WEIR_OK) << 2;
  }
  return wrong;
}

static void *fork_again(void *context) {
  bystander *self = context;
  while (goes_on(self)) {
    sleep_ns(10000000 + draw(&self->random, 40000000));
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) _exit(child_is_refused(self->round));
    CHECK_EQUAL(wait_for(child), 0);
    __atomic_fetch_add(&self->round->children, 1, __ATOMIC_RELAXED);
  }
  return NULL;
}

void close_log(weir_log *log) {
  weir_error error = {0};
  weir_status status;
  /* TIMEOUT: a capture was half-way for a second, as may be where many threads share few processors. */
  for (int tries = 0; (status = weir_close(log, &error)) == WEIR_ERROR_TIMEOUT && tries < 100; tries++) {
    sleep_ns(10000000);
  }
  if (!CHECK_EQUAL(status, WEIR_OK)) fprintf(stderr, "%s\n", error.message);
}

static void *close_half_way(void *context) {
  bystander *self = context;
  sleep_ns(draw(&self->random, self->round->plan.run_ns));
  close_log(self->round->logs[0].log);
  return NULL;
}

bystanders *bystanders_start(round_t *round) {
  static void *(*const mains[BYSTANDERS])(void *) = {count, drain_and_sync, define, read_live, fork_again};
  bystanders *all = calloc(1, sizeof *all);
  REQUIRE(all);
  for (uint32_t i = 0; i <= BYSTANDERS; i++) {
    bystander *self = &all->all[i];
    if ((i == BYSTANDERS && !round->plan.closes) || (i == BYSTANDERS - 1 && !round->plan.forks)) continue;
    *self = (bystander){.round = round, .random = ~round->plan.seed ^ i, .running = 1};
    REQUIRE(pthread_create(&self->thread, NULL, i == BYSTANDERS ? close_half_way : mains[i], self) == 0);
  }
  return all;
}

void bystanders_join(bystanders *all) {
  for (uint32_t i = 0; i <= BYSTANDERS; i++) {
    if (all->all[i].running) REQUIRE(pthread_join(all->all[i].thread, NULL) == 0);
  }
  free(all);
}
