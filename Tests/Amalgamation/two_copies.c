/*
 * two_copies.c: a program with Weir in it that loads a plug-in with another copy of Weir. Both open logs and capture on
 * the same threads; the process forks; the plug-in is unloaded. Nothing of one copy shows in the other.
 *
 *     two_copies PLUGIN apart    the plug-in's names are hidden: two copies
 *     two_copies PLUGIN shared   the program exports its names: the plug-in uses the program's copy
 */
#include "check.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

enum { EVENTS = 500 }; /* of each thread and copy */

typedef struct plugin {
  void *handle;
  weir_status (*open)(const char *directory, weir_error *error);
  int32_t (*capture)(uint64_t number);
  weir_status (*close)(weir_error *error);
  const void *(*lane)(void);
} plugin;

static plugin load(const char *path) {
  plugin plugin = {.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
  if (!plugin.handle) fprintf(stderr, "%s\n", dlerror());
  REQUIRE(plugin.handle);
  *(void **)&plugin.open = dlsym(plugin.handle, "copy_open");
  *(void **)&plugin.capture = dlsym(plugin.handle, "copy_capture");
  *(void **)&plugin.close = dlsym(plugin.handle, "copy_close");
  *(void **)&plugin.lane = dlsym(plugin.handle, "copy_lane");
  REQUIRE(plugin.open && plugin.capture && plugin.close && plugin.lane);
  return plugin;
}

static plugin copy;
static weir_log *opened;
static uint32_t type;

static int32_t capture(uint64_t number) {
  weir_record record;
  int32_t drop = weir_begin(opened, &record);
  if (drop != WEIR_ACCEPTED) return drop;
  weir_put_u64(&record, number);
  return weir_commit(&record, type, NULL);
}

static void capture_in_turns(uint64_t from) {
  for (uint64_t number = from; number < from + EVENTS; number++) {
    CHECK_EQUAL(capture(number), WEIR_ACCEPTED);
    CHECK_EQUAL(copy.capture(number), WEIR_ACCEPTED);
  }
}

static sem_t captured, unloaded;

static void *capture_and_wait(void *context) {
  (void)context;
  capture_in_turns(EVENTS);
  sem_post(&captured);
  sem_wait(&unloaded);
  CHECK_EQUAL(capture(2 * EVENTS), WEIR_ACCEPTED);
  return NULL;
}

/* Each number from 0 on once, in events of this name and no other. */
static void check_log(const char *directory, const char *name, uint64_t count, uint64_t number_at) {
  uint8_t found[2 * EVENTS + 1] = {0};
  uint64_t events = 0;
  weir_reader *reader;
  weir_event event;
  weir_skip skip;
  REQUIRE(weir_reader_open(directory, NULL, &reader, NULL) == WEIR_OK);
  while (weir_reader_next(reader, &event, &skip, NULL) == WEIR_OK) {
    uint64_t number = UINT64_MAX;
    CHECK(event.name_bytes == strlen(name) && memcmp(event.name, name, event.name_bytes) == 0);
    if (event.payload_bytes >= number_at + 8) memcpy(&number, event.payload + number_at, 8);
    if (CHECK(number < count)) CHECK_EQUAL(found[number]++, 0);
    events++;
  }
  CHECK_EQUAL(events, count);
  weir_reader_close(reader);
}

int main(int argument_count, char **arguments) {
  REQUIRE(argument_count == 3);
  int apart = strcmp(arguments[2], "apart") == 0;
  char *folder = scratch();
  const char *ours = join(folder, "ours"), *theirs = join(folder, "theirs");
  weir_error error;
  const weir_field fields[] = {{"number", WEIR_KIND_U64, 0}};
  const weir_definition definition = {.name = "program", .fields = fields, .field_count = 1};
  weir_guard_install();
  REQUIRE(weir_open(ours, NULL, &opened, NULL, &error) == WEIR_OK);
  REQUIRE(weir_define(opened, 0, &definition, 1, &type, &error) == WEIR_OK);
  sem_init(&captured, 0, 0);
  sem_init(&unloaded, 0, 0);

  test("the plug-in has a copy of its own, or the program's");
  copy = load(arguments[1]);
  CHECK_EQUAL(copy.lane() != (const void *)&weir_this_lane, apart);

  test("two copies do not write to one directory: the second is told what is wrong, where and what to do");
  CHECK_EQUAL(copy.open(ours, &error), WEIR_ERROR_LOCKED);
  CHECK(strstr(error.message, ours) && strstr(error.message, "use another directory"));
  CHECK(strcmp(error.path, ours) == 0);

  test("two copies write to two directories, on the same threads");
  CHECK_EQUAL(copy.open(theirs, &error), WEIR_OK);
  capture_in_turns(0);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, capture_and_wait, NULL) == 0);
  sem_wait(&captured);

  test("in a forked child both refuse");
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) _exit(capture(0) == WEIR_DROP_DETACHED && copy.capture(0) == WEIR_DROP_DETACHED ? 0 : 1);
  CHECK_EQUAL(wait_for(child), 0);

  test("one copy is unloaded; the other goes on, and so does a thread that captured to both");
  CHECK_EQUAL(copy.close(&error), WEIR_OK);
  CHECK_EQUAL(dlclose(copy.handle), 0);
  CHECK(!dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD));
  sem_post(&unloaded);
  pthread_join(thread, NULL);
  CHECK_EQUAL(weir_close(opened, &error), WEIR_OK);
  weir_free(opened);

  test("each log has its own events");
  check_log(ours, "program", 2 * EVENTS + 1, 0);
  check_log(theirs, "copy", 2 * EVENTS, 4 + 4 + 1 + 1);
  scratch_remove(folder);
  return finish();
}
