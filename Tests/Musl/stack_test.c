/*
 * stack_test.c: what the calls of weir.h need of their caller's stack. A thread of musl has 128 KiB unless it asks for
 * more; each call runs on a stack that was painted before, and prints how much of the paint is gone.
 */
#include "capture_check.h"

#include <pthread.h>
#include <sys/mman.h>

/* Half of a thread's 128 KiB is the caller's. */
enum { STACK_BYTES = 1 << 20, MOST_BYTES = 64 << 10, PAINT = 0xa5, EVENTS = 20000, SEGMENT_BYTES = 1 << 20 };

static const char *folder, *directory, *collected;
static weir_log *log_;
static uint32_t type;
static weir_error error;

#define GOOD(call) check_good((call), #call, __LINE__)

static void check_good(weir_status status, const char *call, int line) {
  if (!check_at(status == WEIR_OK, call, __FILE__, line)) fprintf(stderr, "%s\n", error.message);
}

/* Of a thread that runs `main` on a stack of its own. */
static void run(const char *name, void *(*main)(void *)) {
  pthread_t thread;
  pthread_attr_t attributes;
  uint8_t *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(stack != MAP_FAILED);
  memset(stack, PAINT, STACK_BYTES);
  REQUIRE(pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, stack, STACK_BYTES) == 0);
  REQUIRE(pthread_create(&thread, &attributes, main, NULL) == 0 && pthread_join(thread, NULL) == 0);
  uint64_t unused = 0;
  while (unused < STACK_BYTES && stack[unused] == PAINT) unused++;
  uint64_t used = STACK_BYTES - unused;
  printf("%-8s %6" PRIu64 " bytes\n", name, used);
  CHECK(used <= MOST_BYTES);
  munmap(stack, STACK_BYTES);
}

static void options_for(weir_options *options) {
  weir_options_init(options);
  options->segment_bytes = SEGMENT_BYTES;
  options->lane_count = WEIR_MAX_LANES;
  options->full_wait_ns = UINT64_MAX;
}

static void *open_log(void *none) {
  weir_options options;
  options_for(&options);
  GOOD(weir_open(directory, &options, &log_, NULL, &error));
  return none;
}

/* A log whose writer was killed, with more events than a segment has room for and with events in its lanes. */
static void make_killed(void) {
  fflush(stdout);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    open_log(NULL);
    if (!log_) _exit(1);
    type = define_numbered(log_);
    for (uint64_t i = 0; i < EVENTS; i++) capture_numbered(log_, type, 0, i, 100, NULL);
    kill(getpid(), SIGKILL);
  }
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
}

static void *capture(void *none) {
  weir_id id;
  type = define_numbered(log_);
  for (uint64_t i = 0; i < EVENTS; i++) CHECK(capture_numbered(log_, type, 1, i, 100, &id) == WEIR_ACCEPTED);
  return none;
}

static void *sync_log(void *none) {
  uint64_t next;
  GOOD(weir_drain(log_, UINT64_MAX, &next, &error));
  GOOD(weir_sync(log_, UINT64_MAX, &next, &error));
  GOOD(weir_seal(log_, UINT64_MAX, &next, &error));
  return none;
}

static void *close_log(void *none) {
  GOOD(weir_close(log_, &error));
  weir_free(log_);
  return none;
}

static void *read_events(void *none) {
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(found.count, 2 * EVENTS);
  found_free(&found);
  return none;
}

static void *verify(void *none) {
  weir_verification verification;
  GOOD(weir_verify(directory, NULL, NULL, &verification, &error));
  CHECK_EQUAL(verification.findings, 0);
  return none;
}

static void *take_stock(void *none) {
  weir_stat stat;
  weir_tally tally;
  GOOD(weir_stat_directory(directory, &stat, &error));
  GOOD(weir_count_from(directory, 0, &tally, &error));
  return none;
}

static void *pack(void *none) {
  GOOD(weir_pack_segment(directory, 0, folder, "00000000000000000000.weir.lz4", &error));
  return none;
}

static void *batch(void *none) {
  weir_batching batching;
  GOOD(weir_batch_directory(directory, 1, NULL, NULL, &batching, &error));
  CHECK(batching.done > 0);
  return none;
}

/* Cuts the log to parts, and collects them. */
static void *collect(void *none) {
  weir_cutter *cutter;
  weir_collection *collection;
  weir_part part;
  weir_options options;
  uint64_t added, next;
  weir_options_init(&options);
  GOOD(weir_cutter_open(directory, 0, &cutter, &error));
  GOOD(weir_collection_open(collected, &options, &collection, NULL, &error));
  while (weir_cutter_next(cutter, UINT64_MAX, 64 << 10, &part, NULL, &error) == WEIR_OK) {
    weir_segment segment;
    weir_span spans[WEIR_MAX_LANES + 1];
    uint32_t count;
    weir_finding finding;
    GOOD(weir_check_part(part.bytes, part.byte_count, &segment, spans, &count, &finding, &error));
    GOOD(weir_collection_add(collection, part.bytes, part.byte_count, "host", NULL, 0, &added, &error));
    GOOD(weir_collection_commit(collection, &next, &error));
  }
  weir_cutter_close(cutter);
  weir_collection_close(collection);
  return none;
}

static int report(void *context, const weir_collected *part) {
  *(uint64_t *)context += part->next_offset - part->first_offset;
  return 0;
}

static void *read_collected(void *none) {
  uint64_t offsets = 0;
  GOOD(weir_collection_read(collected, 0, report, &offsets, &error));
  CHECK(offsets >= 2 * EVENTS);
  return none;
}

int main(void) {
  test("no call needs more of the caller's stack than a thread of musl can give");
  char *made = scratch();
  folder = made;
  directory = join(folder, "log");
  collected = join(folder, "collected");
  make_killed();
  run("recover", open_log);
  run("capture", capture);
  run("sync", sync_log);
  run("close", close_log);
  run("read", read_events);
  run("verify", verify);
  run("stat", take_stock);
  run("pack", pack);
  run("batch", batch);
  run("read lz4", read_events);
  run("collect", collect);
  run("parts", read_collected);
  scratch_remove(made);
  return finish();
}
