/*
 * fault_test.c: the n-th call of any operation of the system fails, once or from then on, for every n until what is
 * done gets through: opening a log that a kill left, capturing, draining, rolling, syncing, closing, reading. Whatever
 * fails, and whenever: the process lives, an error is one line that says what failed, where, and what to do, no
 * descriptor stays open, captures are accepted again once the fault is gone, and the next opening without one has
 * everything that was accepted, under the offsets that a reader had seen before it.
 *
 *     fault_test           the first twenty n and a sample of the rest, each with one of the errors
 *     fault_test --long    each n with each of them, of every operation by itself too
 */
#include "capture_check.h"

#include <dirent.h>
#include <sys/resource.h>

#include "system/system.h"

static uint64_t descriptors(void) {
  uint64_t count = 0;
  DIR *stream = opendir("/proc/self/fd");
  REQUIRE(stream);
  while (readdir(stream)) count++;
  closedir(stream);
  return count;
}

/* Small segments, so that a few hundred events roll several times. */
static weir_status open_rolling(const char *directory, weir_log **log, weir_error *error) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 4;
  options.lane_bytes = 16384;
  options.overflow_bytes = 2 * options.lane_bytes; /* each lane is one more call to fail */
  options.max_event_bytes = 2048;
  options.segment_bytes = 1 << 18;
  memset(error, 0, sizeof *error);
  *log = NULL;
  return weir_open(directory, &options, log, NULL, error);
}

/* What failed, where, and, after a semicolon, what to do. */
static void check_message(const char *directory, weir_status status, const weir_error *error) {
  if (status == WEIR_OK) return;
  CHECK_EQUAL(error->status, status);
  if (!CHECK(strstr(error->message, directory) && strchr(error->message, ';') && error->path[0] == '/')) {
    fprintf(stderr, "%s (%s)\n", error->message, error->path);
  }
}

/* Captures until so many are accepted, or until one is refused as the log cannot grow. Answers the next number. */
static uint64_t capture_some(weir_log *log, uint32_t type, uint64_t from, uint64_t count) {
  uint64_t number = from, end = now_ns() + HANG_NS;
  for (int32_t answer = WEIR_ACCEPTED; number < from + count && answer != WEIR_DROP_STORAGE && now_ns() < end;) {
    answer = capture_numbered(log, type, 0, number, 400, NULL);
    if (answer == WEIR_ACCEPTED) number++;
    else sleep_ns(20000);
  }
  return number;
}

/* What is to fail. */
typedef struct plan {
  const char *operation; /* a function of system.h, or "any" */
  uint64_t nth;
  int lasts; /* every call from the n-th on fails, until the fault is mended */
  int error;
} plan;

static int fault_happened; /* since begin_fault */

static void begin_fault(const plan *plan) {
  fault_happened = 0;
  weir_fault_set(plan->operation, plan->nth, plan->lasts ? UINT64_MAX : 1, plan->error);
}

/* Answers whether there was one, so far. */
static int end_fault(const plan *plan) {
  fault_happened |= weir_fault_count() >= plan->nth;
  weir_fault_set("", 0, 0, 0);
  return fault_happened;
}

/* Captures, rolls, syncs and drains with the fault in it; then, if it lasted, mends it and sees captures accepted. */
static uint64_t use(weir_log *log, uint64_t number, const plan *plan, int *happened) {
  const char *directory = weir_directory(log);
  weir_error problem;
  if (!plan->lasts) begin_fault(plan);
  uint32_t type = define_numbered(log);
  if (plan->lasts) begin_fault(plan);
  number = capture_some(log, type, number, 1000);
  check_message(directory, weir_sync(log, 20000000, NULL, &problem), &problem);
  number = capture_some(log, type, number, 1000);
  check_message(directory, weir_drain(log, 20000000, NULL, &problem), &problem);
  *happened = end_fault(plan);
  uint64_t before = number;
  CHECK_AWAIT((number = capture_some(log, type, number, 1)) > before);
  CHECK_AWAIT(weir_drain(log, HANG_NS, NULL, &problem) == WEIR_OK);
  return number;
}

static void check_all_there(const char *directory, const found_log *before, uint64_t number) {
  weir_log *log;
  weir_error error;
  if (!CHECK_EQUAL(open_rolling(directory, &log, &error), WEIR_OK)) {
    fprintf(stderr, "%s\n", error.message);
    return;
  }
  close_and_free(log);
  found_log after = read_log(directory);
  check_sound(&after);
  CHECK_EQUAL(check_producer(&after, 0), number);
  uint64_t moved = 0;
  for (uint64_t i = 0; i < before->count && i < after.count; i++) {
    moved += before->events[i].offset != after.events[i].offset;
    moved += compare_ids(&before->events[i].id, &after.events[i].id) != 0;
  }
  CHECK_EQUAL(moved, 0);
  CHECK(after.count >= before->count);
  weir_verification verification;
  CHECK_EQUAL(weir_verify(directory, NULL, NULL, &verification, &error), WEIR_OK);
  CHECK_EQUAL(verification.findings, 0);
  found_free(&after);
}

/*
 * Reads a dead log through with one reader, which goes on after each failure: everything is there, once, in its place.
 */
static void read_with_fault(const char *directory, const found_log *whole, const plan *plan) {
  weir_reader *reader;
  weir_error error;
  weir_event event;
  weir_status status;
  found_log found = {0};
  uint64_t failures = 0, moved = 0;
  while ((status = weir_reader_open(directory, NULL, &reader, &error)) != WEIR_OK && failures++ < 3) {
    check_message(directory, status, &error);
    if (plan->lasts) end_fault(plan);
  }
  if (!CHECK_EQUAL(status, WEIR_OK)) return;
  while ((status = weir_reader_next(reader, &event, NULL, &error)) != WEIR_END) {
    if (status == WEIR_OK) {
      take_event(&found, &event);
    } else if (status == WEIR_SKIPPED) {
      found.skipped++;
    } else {
      check_message(directory, status, &error);
      if (!CHECK(failures++ < 5)) break;
      if (plan->lasts) end_fault(plan);
    }
  }
  weir_reader_close(reader);
  found.end = WEIR_END;
  check_sound(&found);
  CHECK_EQUAL(found.count, whole->count);
  for (uint64_t i = 0; i < found.count && i < whole->count; i++) {
    moved += found.events[i].offset != whole->events[i].offset || found.events[i].number != whole->events[i].number;
  }
  CHECK_EQUAL(moved, 0);
  found_free(&found);
}

/* A check or a sum of a directory is right, or fails, or says that something could not be read. */
static void look_with_fault(const char *directory, const found_log *whole) {
  weir_error error;
  weir_verification verification;
  weir_status status = weir_verify(directory, NULL, NULL, &verification, &error);
  check_message(directory, status, &error);
  if (status == WEIR_OK && verification.findings == 0) {
    CHECK_EQUAL(verification.events + verification.lane_events, whole->count);
  }
  weir_stat stat;
  status = weir_stat_directory(directory, &stat, &error);
  check_message(directory, status, &error);
  if (status == WEIR_OK && !stat.damaged) CHECK_EQUAL(stat.events + stat.lane_events, whole->count);
}

typedef enum phase { IN_OPENING, IN_USE, IN_CLOSE, IN_READING, IN_LOOKING, PHASES } phase;
static const char *const phase_names[PHASES] = {"opening", "capturing, rolling, syncing", "closing", "reading",
                                                "looking"};

/* One log, dead with events in its lanes, and one fault. Answers whether it came to it. */
static int one_fault(const plan *plan, phase phase) {
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log;
  weir_error problem;
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (open_rolling(directory, &log, &problem) == WEIR_OK) capture_some(log, define_numbered(log), 0, 300);
    kill(getpid(), SIGKILL);
  }
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
  found_log before = read_log(directory);
  uint64_t number = before.count, open_before = descriptors();
  int happened = 0;
  if (phase != IN_USE && phase != IN_CLOSE) begin_fault(plan);
  if (phase == IN_READING) read_with_fault(directory, &before, plan);
  if (phase == IN_LOOKING) look_with_fault(directory, &before);
  if (phase == IN_READING || phase == IN_LOOKING) happened = end_fault(plan);
  weir_status status = open_rolling(directory, &log, &problem);
  check_message(directory, status, &problem);
  if (phase == IN_OPENING) happened = end_fault(plan);
  if (status == WEIR_OK) {
    if (phase == IN_USE) number = use(log, number, plan, &happened);
    if (phase == IN_CLOSE) number = capture_some(log, define_numbered(log), number, 300);
    if (phase == IN_CLOSE) begin_fault(plan);
    check_message(directory, weir_close(log, &problem), &problem);
    weir_free(log);
    if (phase == IN_CLOSE) happened = end_fault(plan);
  }
  CHECK_EQUAL(descriptors(), open_before);
  check_all_there(directory, &before, number);
  found_free(&before);
  scratch_remove(folder);
  return happened;
}

static const int errors[] = {ENOSPC, EIO, ENOMEM, EMFILE, EINTR};
enum { ERRORS = 5 };

/* Every n from 1 on, until a phase has fewer calls than that; each with `each` of the errors. */
static uint64_t each_fault(const char *operation, uint64_t limit, int each) {
  static char name[200];
  uint64_t faults = 0;
  for (int phase = 0; phase < PHASES; phase++) {
    uint64_t nth = 1, last = 0;
    for (int happened = 1; happened && nth <= limit; nth += each > 1 || nth < 20 ? 1 : 1 + random_below(8)) {
      happened = 0;
      for (int i = 0; i < 2 * each; i++) {
        plan plan = {operation, nth, i % 2, errors[(nth + (uint64_t)i / 2) % ERRORS]};
        if (each == 1 && i == 0 && random_below(2) == 0) continue; /* lasting or not: one of the two */
        snprintf(name, sizeof name, "way F: %s %" PRIu64 " %s with %s while %s", operation, nth,
                 plan.lasts ? "and later ones fail" : "fails", strerror(plan.error), phase_names[phase]);
        test(name);
        happened |= one_fault(&plan, (enum phase)phase);
        faults++;
        if (each == 1) break;
      }
      if (happened) last = nth;
    }
    if (strcmp(operation, "any") == 0) printf("%s: the last call that failed was number %" PRIu64 "\n",
                                              phase_names[phase], last);
  }
  return faults;
}

/* The kernel answers a file that grows past the limit by a signal, which would end the host. */
static void file_size_limit(void) {
  test("a limit on file sizes is an error, not a signal");
  for (uint64_t limit = 1 << 12; limit <= UINT64_C(1) << 22; limit <<= 2) {
    char *folder = scratch();
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      struct rlimit size = {limit, limit};
      setrlimit(RLIMIT_FSIZE, &size);
      weir_log *log;
      weir_error error;
      weir_status status = weir_open(join(folder, "log"), NULL, &log, NULL, &error);
      _exit(status == WEIR_ERROR_NO_SPACE ? 0 : 1);
    }
    CHECK_EQUAL(wait_for(child), 0);
    scratch_remove(folder);
  }
}

/* Each operation by itself, which goes on where "any" ends: at the last of them that a phase comes to. */
static uint64_t each_operation(void) {
  static const char *const operations[] = {
      "sys_open_directory", "sys_make_directory", "sys_open_read",   "sys_open_create",    "sys_open_write",
      "sys_open_or_create", "sys_read_at",        "sys_write_at",    "sys_allocate",       "sys_allocate_more",
      "sys_truncate",       "sys_map",            "sys_map_lazily",  "sys_map_wiped",      "sys_map_zeros",
      "sys_sync_mapped",
      "sys_sync_data",      "sys_sync_directory", "sys_rename",      "sys_rename_new",     "sys_unlink",
      "sys_status",         "sys_status_at",      "sys_identity",    "sys_lock",           "sys_random",
      "sys_duplicate",      "sys_list",           "sys_membarrier"};
  uint64_t faults = 0;
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) faults += each_fault(operations[i], 1000, ERRORS);
  return faults;
}

int main(int count, char **arguments) {
  int everything = count > 1 && strcmp(arguments[1], "--long") == 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  random_start("fault_test");
  file_size_limit();
  static const char *const retiring[] = {"sys_truncate", "sys_sync_data", "sys_rename_new", "sys_sync_directory"};
  uint64_t faults = 0;
  for (int i = 0; i < 4 && !everything; i++) faults += each_fault(retiring[i], 12, 1);
  if (everything) faults += each_operation();
  faults += each_fault("any", 5000, everything ? ERRORS : 1);
  printf("%" PRIu64 " faults\n", faults);
  return finish();
}
