/*
 * producers.c: threads that capture in every way there is, and keep a tally of what they were told.
 *
 * A thread's captures go to any of the round's logs; some are nested in another (the inner one borrows a spare lane),
 * some are cancelled, refused, too large or of a type that is not defined. Passing threads also capture from
 * destructors of thread keys: one made before Weir's own key and one made after it, in several passes of the C library
 * over them, so that Weir's own clean-up runs before, between and after.
 */
#include "stress.h"

enum { MOST_NESTED = 4, DESTRUCTOR_PASSES = 3, MOST_CHILDREN = 30, UNDEFINED_TYPE = 60000, CANCELLED = -1 };

static pthread_key_t early_key, late_key;
static __thread int passes_left;

uint8_t stress_filler(uint64_t producer, uint64_t number, uint64_t index) {
  return (uint8_t)(producer * 131 + number * 31 + index * 7);
}

/* ---- One capture ------------------------------------------------------------------------------------------------- */

static void capture_any(producer *self, int depth);

/* Puts what follows the producer's number, and commits. `filler` may be more than an event can hold. */
static int32_t finish_event(producer *self, uint32_t log, weir_record *record, uint32_t type, uint64_t filler) {
  uint8_t bytes[4096];
  uint64_t number = self->tallies[log].accepted;
  for (uint64_t i = 0; i < filler; i++) bytes[i] = stress_filler(self->number, number, i);
  weir_put_u64(record, number);
  weir_put_string(record, (const char *)bytes, filler);
  weir_id id;
  int32_t answer = weir_commit(record, type, &id);
  if (answer == WEIR_ACCEPTED) self->last[log] = id;
  return answer;
}

/* Forks while the record is half-way. The child's commit must be refused; the parent goes on with its own. */
static void fork_within(producer *self, uint32_t log, const weir_record *record) {
  if (!self->round->plan.forks) return;
  if (__atomic_add_fetch(&self->round->children, 1, __ATOMIC_RELAXED) > MOST_CHILDREN) return;
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    weir_record copy = *record;
    _exit(finish_event(self, log, &copy, self->round->logs[log].type, 3) != WEIR_DROP_DETACHED);
  }
  CHECK_EQUAL(wait_for(child), 0);
}

/* A capture that is not ordinary. Answers what the caller is told, or CANCELLED. */
static int32_t capture_oddly(producer *self, uint32_t log, weir_record *record, int depth) {
  const plan *plan = &self->round->plan;
  uint32_t type = self->round->logs[log].type;
  switch (draw(&self->random, 8)) {
    case 0: weir_cancel(record); return CANCELLED;
    case 1: return weir_refuse(record, WEIR_DROP_INVALID);
    case 2: return finish_event(self, log, record, UNDEFINED_TYPE, 5);
    case 3: return finish_event(self, log, record, type, plan->options.max_event_bytes);
    case 4:
      if (draw(&self->random, 50) == 0) fork_within(self, log, record);
      return finish_event(self, log, record, type, 0);
    default:
      for (uint64_t i = draw(&self->random, 3); depth < MOST_NESTED && i < 3; i++) capture_any(self, depth + 1);
      return finish_event(self, log, record, type, draw(&self->random, plan->filler + 1));
  }
}

/* Read by the main thread meanwhile. */
static void count_attempt(producer *self) { __atomic_store_n(&self->attempts, self->attempts + 1, __ATOMIC_RELAXED); }

/* One attempt at a log drawn at random, its answer noted. */
static void capture_any(producer *self, int depth) {
  const plan *plan = &self->round->plan;
  uint32_t log = plan->log_count == 1 ? 0 : (uint32_t)draw(&self->random, plan->log_count);
  tally *tally = &self->tallies[log];
  weir_record record;
  tally->attempted++;
  count_attempt(self);
  int32_t answer = weir_begin(self->round->logs[log].log, &record);
  if (answer == WEIR_ACCEPTED) {
    weir_put_u64(&record, self->number);
    if (draw(&self->random, plan->odd_in) == 0) answer = capture_oddly(self, log, &record, depth);
    else answer = finish_event(self, log, &record, self->round->logs[log].type, draw(&self->random, plan->filler + 1));
  }
  if (answer == CANCELLED) tally->cancelled++;
  else if (answer == WEIR_ACCEPTED) tally->accepted++;
  else if (CHECK(answer > 0 && answer < WEIR_DROP_REASONS)) tally->refused[answer]++;
}

static void be_told(void *context, weir_status status, const weir_error *error) {
  CHECK((status == WEIR_OK) == (error == NULL));
  __atomic_fetch_add((uint64_t *)context, 1, __ATOMIC_RELAXED);
}

/* Waits for the last event of some log to be on the disk, or has itself told. It may be overwritten, or the log closed. */
static void wait_for_disk(producer *self) {
  const plan *plan = &self->round->plan;
  uint32_t log = (uint32_t)draw(&self->random, plan->log_count);
  if (self->tallies[log].accepted == 0) return;
  weir_log *waited = self->round->logs[log].log;
  uint64_t timeout = draw(&self->random, 3) ? UINT64_MAX : draw(&self->random, 1000000);
  int told = draw(&self->random, 3) == 0;
  if (told) __atomic_fetch_add(&self->round->asked, 1, __ATOMIC_RELAXED);
  weir_status status = told ? weir_durable_notify(waited, self->last[log], be_told, &self->round->told, NULL)
                            : weir_durable(waited, self->last[log], timeout, NULL);
  if (told) CHECK_EQUAL(status, WEIR_OK);
  else CHECK(status == WEIR_OK || (status == WEIR_ERROR_CLOSED && plan->closes) ||
             (status == WEIR_ERROR_LOST && plan->full == DROP_OLDEST) ||
             (status == WEIR_ERROR_TIMEOUT && timeout != UINT64_MAX));
}

static int goes_on(const producer *self) {
  return !__atomic_load_n(&self->round->stop, __ATOMIC_RELAXED) && self->attempts < self->most;
}

static void pause_sometimes(producer *self) {
  uint64_t most = self->round->plan.pause_ns;
  if (most > 0 && draw(&self->random, 100) == 0) sleep_ns(draw(&self->random, most));
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static void *steady(void *context) {
  producer *self = context;
  while (goes_on(self)) {
    capture_any(self, 0);
    uint32_t waits_in = self->round->plan.waits_in;
    if (waits_in > 0 && draw(&self->random, waits_in) == 0) wait_for_disk(self);
    pause_sometimes(self);
  }
  return NULL;
}

/* Runs at a thread's end, several times: a destructor that sets its key again is called again. */
static void capture_at_end(void *context) {
  producer *self = context;
  capture_any(self, 0);
  if (passes_left-- > 0) pthread_setspecific(draw(&self->random, 2) ? early_key : late_key, self);
}

void producers_prepare(void) { REQUIRE(pthread_key_create(&early_key, capture_at_end) == 0); }
void producers_prepare_late(void) { REQUIRE(pthread_key_create(&late_key, capture_at_end) == 0); }

static void *pass(void *context) {
  producer *self = context;
  passes_left = (int)draw(&self->random, DESTRUCTOR_PASSES);
  if (draw(&self->random, 2)) pthread_setspecific(early_key, self);
  if (draw(&self->random, 2)) pthread_setspecific(late_key, self);
  for (uint64_t i = draw(&self->random, 20); i > 0 && goes_on(self); i--) capture_any(self, 0);
  return NULL;
}

static void *passing(void *context) {
  producer *self = context;
  while (goes_on(self)) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, pass, self) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    __atomic_fetch_add(&self->round->threads, 1, __ATOMIC_RELAXED);
    count_attempt(self); /* so that threads that happen to capture nothing come to an end too */
  }
  return NULL;
}

void producers_start(round_t *round) {
  round->producer_count = round->plan.steady + round->plan.passing;
  for (uint32_t i = 0; i < round->producer_count; i++) {
    producer *self = &round->producers[i];
    int is_steady = i < round->plan.steady;
    *self = (producer){.round = round,
                       .number = i,
                       .random = round->plan.seed ^ (i + 1) * UINT64_C(0x9e3779b97f4a7c15),
                       .most = is_steady ? round->plan.most_attempts : round->plan.most_passing};
    REQUIRE(pthread_create(&self->thread, NULL, is_steady ? steady : passing, self) == 0);
  }
  __atomic_fetch_add(&round->threads, round->plan.steady, __ATOMIC_RELAXED);
}

void producers_join(round_t *round) {
  for (uint32_t i = 0; i < round->producer_count; i++) REQUIRE(pthread_join(round->producers[i].thread, NULL) == 0);
}
