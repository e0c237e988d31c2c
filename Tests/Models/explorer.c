/* explorer.c: see explorer.h. The walk over executions, the coroutines, and the set of states seen. */
#define _GNU_SOURCE
#include "explorer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "disk.h"
#include "under_test.h"
#include "world.h"

enum { MAX_CHOICES = 20000, MAX_STEPS = 100000 };

typedef enum thread_status { THREAD_READY, THREAD_WAITS_FOR_STORE, THREAD_ASLEEP, THREAD_ENDED } thread_status;

/* A thread of the model. `locals` is what the code under test keeps in thread-local variables. */
typedef struct model_thread {
  thread_status status;
  int begun;
  int impatient;         /* its yields wait for nothing any more */
  int woke_early;        /* one of its sleeps was over before another thread did anything */
  const uint32_t *word;  /* that it sleeps on */
  uint64_t learned[2];   /* a hash of all that it read: with the code, this is its state */
  jmp_buf base, resume;
  thread_locals locals;
  uint8_t *stack;
} model_thread;

const model *exploring;
const twin *exploring_twin;
int tracing;
int current = NO_THREAD;

static model_thread threads[MAX_THREADS];
static int thread_count;
static jmp_buf home;
enum { ENDED = 1, SEEN = 2, BROKEN = 3 };

static struct {
  uint8_t chosen[MAX_CHOICES], count[MAX_CHOICES];
  uint32_t at, prefix, length;
  uint32_t steps, switches;
} path;

static verdict found;

/* ---- States seen ------------------------------------------------------------------------------------------------- */

static struct {
  uint64_t (*entries)[2];
  uint64_t room, count;
} seen;

static int insert(uint64_t (*entries)[2], uint64_t room, const uint64_t hash[2]) {
  uint64_t at = hash[0] & (room - 1);
  while (entries[at][0] | entries[at][1]) {
    if (entries[at][0] == hash[0] && entries[at][1] == hash[1]) return 0;
    at = (at + 1) & (room - 1);
  }
  entries[at][0] = hash[0];
  entries[at][1] = hash[1];
  return 1;
}

static void *allocate(uint64_t count, uint64_t each) {
  void *made = calloc(count, each);
  if (!made) {
    fprintf(stderr, "models: out of memory\n");
    exit(2);
  }
  return made;
}

static int is_new_state(void) {
  uint64_t hash[2] = {1, 2};
  for (int i = 0; i < thread_count; i++) {
    mix(hash, threads[i].learned[0]);
    mix(hash, threads[i].learned[1]);
    const int flags[] = {threads[i].begun, threads[i].impatient, threads[i].woke_early};
    mix(hash, (uint64_t)threads[i].status << 3 | (uint64_t)(flags[0] << 2 | flags[1] << 1 | flags[2]));
  }
  mix(hash, model_time_ns);
  mix(hash, exploring->switches ? path.switches : 0);
  memory_hash(hash);
  if (seen.count * 2 >= seen.room) {
    uint64_t room = seen.room ? seen.room * 2 : 1 << 16;
    uint64_t(*grown)[2] = allocate(room, sizeof *grown);
    for (uint64_t i = 0; i < seen.room; i++) {
      if (seen.entries[i][0] | seen.entries[i][1]) insert(grown, room, seen.entries[i]);
    }
    free(seen.entries);
    seen.entries = grown;
    seen.room = room;
  }
  int is_new = insert(seen.entries, seen.room, hash);
  seen.count += (uint64_t)is_new;
  return is_new;
}

static void forget_states(void) {
  free(seen.entries);
  memset(&seen, 0, sizeof seen);
}

/* ---- Choices ----------------------------------------------------------------------------------------------------- */

int is_new_ground(void) { return path.at >= path.prefix; }

uint32_t choose(uint32_t count) {
  if (count <= 1) return 0;
  if (path.at == MAX_CHOICES || count > 255) broken("more than %d choices in one execution", MAX_CHOICES);
  if (path.at >= path.prefix) {
    path.chosen[path.at] = 0;
    path.count[path.at] = (uint8_t)count;
    path.length = path.at + 1;
  } else if (tracing) {
    path.count[path.at] = (uint8_t)count;
    if (path.chosen[path.at] >= count) broken("the path to repeat does not fit this build: choice %u", path.at);
  } else if (path.count[path.at] != count) {
    broken("the model is not deterministic: choice %u had %u ways, now %u", path.at, path.count[path.at], count);
  }
  return path.chosen[path.at++];
}

/* The next path, depth first. 0 if there is none. */
static int next_path(void) {
  uint32_t length = path.at;
  while (length > 0 && path.chosen[length - 1] + 1 == path.count[length - 1]) length--;
  if (length == 0) return 0;
  path.chosen[length - 1]++;
  path.prefix = length;
  return 1;
}

void tell(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (current == NO_THREAD) printf("  end     ");
  else printf("  thread %d ", current);
  vprintf(format, arguments);
  va_end(arguments);
  putchar('\n');
}

void broken(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(found.message, sizeof found.message, format, arguments);
  va_end(arguments);
  found.failed = 1;
  _longjmp(home, BROKEN);
}

/* ---- Coroutines -------------------------------------------------------------------------------------------------- */

static int starting;
static ucontext_t made_by;

static void run_thread(void) {
  int self = starting;
  if (_setjmp(threads[self].base) == 0) swapcontext(&(ucontext_t){0}, &made_by);
  /* Each execution jumps to `base`; the one before may have left the thread anywhere. */
  exploring->threads[current]();
  seam_thread_ends();
  threads[current].status = THREAD_ENDED;
  told("ends");
  scheduling_point();
  abort(); /* an ended thread is never chosen */
}

/* Runs a new thread up to its base, where each execution begins. */
static void make_thread(int number) {
  static ucontext_t contexts[MAX_THREADS];
  ucontext_t *context = &contexts[number];
  threads[number].stack = allocate(1, STACK_BYTES);
  getcontext(context);
  context->uc_stack.ss_sp = threads[number].stack;
  context->uc_stack.ss_size = STACK_BYTES;
  context->uc_link = NULL;
  makecontext(context, run_thread, 0);
  starting = number;
  swapcontext(&made_by, context);
}

static void go_on_with(int next) {
  int before = current;
  if (before == next) return;
  if (before != NO_THREAD) locals_save(&threads[before].locals);
  locals_load(&threads[next].locals);
  current = next;
  if (before != NO_THREAD && _setjmp(threads[before].resume) != 0) return;
  if (threads[next].begun) _longjmp(threads[next].resume, 1);
  threads[next].begun = 1;
  _longjmp(threads[next].base, 1);
}

/*
 * Before each access that another thread could notice: any thread that is ready may be the next. The running one
 * comes first, so that the first execution of a subtree is the one without switches.
 */
void scheduling_point(void) {
  if (++path.steps > MAX_STEPS) broken("an execution does not end: a livelock, or the model is too large");
  if (is_new_ground() && !tracing && !is_new_state()) _longjmp(home, SEEN);
  int ready[MAX_THREADS], count = 0;
  int goes_on = current != NO_THREAD && threads[current].status == THREAD_READY;
  if (goes_on) ready[count++] = current;
  int bound = goes_on && exploring->switches && path.switches == exploring->switches;
  for (int i = 0; i < thread_count && !bound; i++) {
    if (i != current && threads[i].status == THREAD_READY) ready[count++] = i;
  }
  /* With nobody to wait for, time alone goes on. */
  for (int i = 0; count == 0 && i < thread_count; i++) {
    if (threads[i].status != THREAD_WAITS_FOR_STORE) continue;
    threads[i].status = THREAD_READY;
    ready[count++] = i;
  }
  if (count == 0) _longjmp(home, ENDED);
  int next = ready[choose((uint32_t)count)];
  path.switches += goes_on && next != current;
  go_on_with(next);
}

void remember(uint64_t what) { mix(threads[current].learned, what); }

void wait_for_store(void) {
  threads[current].status = THREAD_WAITS_FOR_STORE;
  scheduling_point();
}

int give_up_waiting(void) {
  model_thread *thread = &threads[current];
  if (!thread->impatient && choose(2)) {
    thread->impatient = 1;
    told("is not made to wait any more");
  }
  return thread->impatient;
}

int wake_early(void) {
  model_thread *thread = &threads[current];
  if (thread->woke_early || !choose(2)) return 0;
  thread->woke_early = 1;
  told("sleeps, and nothing happens meanwhile");
  return 1;
}

/* Called by memory.c at each store that others may read. */
void stored_something(void) {
  for (int i = 0; i < thread_count; i++) {
    if (i != current && threads[i].status == THREAD_WAITS_FOR_STORE) threads[i].status = THREAD_READY;
  }
}

void sleep_on(const uint32_t *word) {
  threads[current].status = THREAD_ASLEEP;
  threads[current].word = word;
  scheduling_point();
}

void wake_sleepers(const uint32_t *word) {
  for (int i = 0; i < thread_count; i++) {
    if (threads[i].status == THREAD_ASLEEP && threads[i].word == word) threads[i].status = THREAD_READY;
  }
}

int ended_asleep(int thread) { return threads[thread].status == THREAD_ASLEEP; }

/* ---- The walk ---------------------------------------------------------------------------------------------------- */

static void begin_execution(void) {
  for (int i = 0; i < MAX_THREADS; i++) {
    model_thread *thread = &threads[i];
    thread->status = THREAD_READY;
    thread->begun = thread->impatient = thread->woke_early = 0;
    thread->word = NULL;
    thread->learned[0] = thread->learned[1] = (uint64_t)i + 1;
    memset(&thread->locals, 0, sizeof thread->locals);
  }
  path.at = 0;
  path.steps = path.switches = 0;
  world_restore();
  memory_begin();
  seam_begin();
}

/* One execution. Answers how it ended. */
static int execute(void) {
  begin_execution();
  int result = _setjmp(home);
  if (result == 0) scheduling_point();
  if (result == ENDED) {
    current = NO_THREAD;
    result = _setjmp(home);
    if (result == 0) {
      exploring->at_end();
      result = ENDED;
    }
  }
  current = NO_THREAD;
  return result;
}

static void walk(uint64_t limit) {
  for (;;) {
    int result = execute();
    found.executions++;
    if (memory_found_contention()) { /* accesses that seemed to concern one thread alone were not choices so far */
      forget_states();
      path.prefix = path.length = 0;
      found.failed = 0;
      continue;
    }
    if (result == BROKEN) return;
    if (!next_path()) return;
    if (found.executions >= limit) {
      found.incomplete = 1;
      return;
    }
  }
}

/*
 * Runs one path again and prints it. The walk before it found the contended places, so the choices are the same
 * again.
 */
static void trace(const uint8_t *chosen, uint32_t choices) {
  if (chosen) {
    memcpy(path.chosen, chosen, choices);
    path.prefix = choices;
  } else {
    path.prefix = path.at;
  }
  found.failed = 0;
  tracing = 1;
  execute();
  tracing = 0;
}

verdict explore(const model *model, const twin *twin, uint64_t limit, int print, const uint8_t *chosen,
                uint32_t choices) {
  memset(&found, 0, sizeof found);
  memset(&path, 0, sizeof path);
  exploring = model;
  exploring_twin = twin;
  for (thread_count = 0; thread_count < MAX_THREADS && model->threads[thread_count];) thread_count++;
  world_forget();
  locals_load(&(thread_locals){0}); /* the set-up is a thread that has not captured yet */
  model->set_up();
  world_keep();
  for (int i = 0; i < MAX_THREADS; i++) {
    if (!threads[i].stack) make_thread(i);
  }
  forget_states();
  memory_forget_contention();
  walk(limit);
  if (!found.failed && model->done) model->done();
  if (print) trace(chosen, choices);
  found.states = seen.count;
  found.choices = path.at;
  found.path = path.chosen;
  return found;
}
