/*
 * release_test.c: weir_set_delivered and the option remove_delivered: whole sealed segments below go, raw or batch,
 * uncounted as lost, the last one stays, and nothing that was not said to be delivered goes.
 */
#include "batch_check.h"

static weir_counters counters_of(const weir_log *log) {
  weir_counters counters;
  weir_count(log, &counters);
  return counters;
}

static void capture_all(weir_log *log, uint32_t type, uint64_t from, uint64_t count) {
  weir_error error;
  uint64_t refused = 0;
  for (uint64_t i = from; i < from + count; i++) refused += capture_numbered(log, type, 0, i, FILLER, NULL) != 0;
  CHECK_EQUAL(refused, 0);
  CHECK_EQUAL(weir_sync(log, HANG_NS, NULL, &error), WEIR_OK);
}

/* Until the log begins at or above `offset`. */
static uint64_t await_start(const char *directory, uint64_t offset) {
  uint64_t first = 0;
  CHECK_AWAIT((first = stat_of(directory).first_offset) >= offset);
  return first;
}

/* The base of the last segment that begins at or below `offset`: where the log is to begin once it is delivered. */
static uint64_t base_below(const char *directory, uint64_t offset) {
  segment_list list;
  int fd = open_dir(directory);
  REQUIRE(segment_list_read(fd, &list) == 0);
  uint64_t base = 0;
  for (uint64_t i = 0; i < list.count; i++) {
    if (list.items[i].base <= offset) base = list.items[i].base;
  }
  segment_list_free(&list);
  close(fd);
  return base;
}

static void test_removal(uint32_t batch_threads) {
  test("what is delivered goes, segment by segment, without other bounds, and is not counted as lost");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = small_options();
  options.remove_delivered = 1;
  options.batch_threads = batch_threads;
  weir_log *log = open_with(directory, &options, NULL);
  uint32_t type = define_numbered(log);
  capture_all(log, type, 0, 3000);
  CHECK_EQUAL(stat_of(directory).removed, 0);
  for (uint64_t delivered = 250; delivered < 2700; delivered += 250) {
    uint64_t base = base_below(directory, delivered);
    weir_set_delivered(log, delivered);
    weir_set_delivered(log, delivered / 2); /* a lower one does nothing */
    CHECK_EQUAL(await_start(directory, base), base);
    reading reading = read_from(directory, 0);
    CHECK(reading.events == 3000 - base && reading.removed == base && reading.missing + reading.disorder == 0);
    CHECK_AWAIT(counters_of(log).delivered_removed >= base);
    weir_counters counters = counters_of(log);
    CHECK(counters.delivered_removed == base && counters.expired + counters.displaced == 0);
  }
  close_and_free(log);
  weir_stat stat = stat_of(directory);
  CHECK(stat.removed > 2000 && stat.dropped[WEIR_LOST_EXPIRED] + stat.dropped[WEIR_LOST_DISPLACED] == 0);
  check_no_findings(directory);
  /* Nothing is kept of what was said. */
  uint64_t first = stat.first_offset;
  log = open_with(directory, &options, NULL);
  capture_all(log, define_numbered(log), 3000, 500);
  CHECK_EQUAL(stat_of(directory).first_offset, first);
  weir_set_delivered(log, 3000);
  await_start(directory, first + 1);
  close_and_free(log);
  CHECK_EQUAL(stat_of(directory).dropped[WEIR_LOST_EXPIRED], 0);
  scratch_remove(folder);
}

static void test_beyond_the_end(void) {
  test("an offset beyond the end says nothing of events to come, and the last sealed segment stays");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = small_options();
  options.remove_delivered = 1;
  make_log(directory, 1000);
  weir_log *log = open_with(directory, &options, NULL);
  uint64_t sealed = segment_at(directory, stat_of(directory).segments - 1).base;
  weir_set_delivered(log, UINT64_MAX);
  await_start(directory, 1);
  capture_all(log, define_numbered(log), 1000, 2000);
  close_and_free(log); /* serves every removal that is due */
  check_no_findings(directory);
  weir_stat stat = stat_of(directory);
  CHECK(stat.removed <= 1000 && stat.first_offset >= sealed && stat.first_offset <= 1000);
  CHECK_EQUAL(stat.dropped[WEIR_LOST_EXPIRED] + stat.dropped[WEIR_LOST_DISPLACED], 0);
  scratch_remove(folder);
}

static void test_without_the_option(void) {
  test("without the option nothing goes for it; but what retention removes then is no loss");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_log(directory, 2000);
  weir_options options = small_options();
  weir_log *log = open_with(directory, &options, NULL);
  weir_set_delivered(log, 1500);
  capture_all(log, define_numbered(log), 2000, 500);
  CHECK_EQUAL(stat_of(directory).removed, 0);
  close_and_free(log);
  weir_set_delivered(log = open_with(directory, &options, NULL), 0);
  close_and_free(log);
  options.retain_bytes = UINT64_C(1) << 40;
  log = open_with(directory, &options, NULL);
  weir_set_delivered(log, 1500);
  ((event_log *)log)->intake.retention->retain_bytes = 1;
  capture_all(log, define_numbered(log), 2500, 500);
  weir_close(log, NULL);
  weir_set_delivered(log, 3000); /* after the close: nothing */
  weir_free(log);
  weir_stat stat = stat_of(directory);
  CHECK(stat.removed > 1500 && stat.dropped[WEIR_LOST_EXPIRED] == stat.removed - 1500);
  scratch_remove(folder);
}

/* ---- At one moment ----------------------------------------------------------------------------------------------- */

static weir_log *looked_log;
static _Atomic int looked;

/* On the sealer's thread, when it has looked at what is delivered and is about to say when to be woken for more. */
static void deliver_all(void) {
  const retention *retention = ((event_log *)looked_log)->intake.retention;
  if (looked || retention->end - retention->first < 2) return;
  weir_set_delivered(looked_log, UINT64_MAX);
  looked = 1;
}

static void test_missed_look(void) {
  test("what is delivered while the sealer looks is removed, though nobody says anything any more");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = small_options();
  options.remove_delivered = 1;
  weir_log *log = looked_log = open_with(directory, &options, NULL);
  uint32_t type = define_numbered(log);
  looked = 0;
  retention_looked = deliver_all;
  /* A few at a time, so that it looks at two sealed segments, and after them at no third. */
  for (uint64_t i = 0; i < 2000 && raw_ones(directory) < 2; i += 5) {
    capture_all(log, type, i, 5);
    sleep_ns(1000000);
  }
  CHECK_AWAIT(looked);
  CHECK_AWAIT(counters_of(log).delivered_removed > 0);
  close_and_free(log);
  retention_looked = NULL;
  check_no_findings(directory);
  scratch_remove(folder);
}

/* ---- Beside a verification --------------------------------------------------------------------------------------- */

typedef struct meanwhile {
  weir_log *log;
  const char *directory;
  uint64_t findings, others;
} meanwhile;

/* While verify is between two segments: what follows goes, all but the last. */
static void remove_meanwhile(void *context, const weir_finding *finding) {
  meanwhile *self = context;
  self->findings++;
  if (strcmp(finding->problem, "not a plain file") != 0) {
    self->others++;
    print_finding((void *)self->directory, finding);
    return;
  }
  weir_set_delivered(self->log, UINT64_MAX);
  CHECK_AWAIT(raw_ones(self->directory) <= 2);
}

static void test_beside_verify(void) {
  test("what is removed while a live log is verified is no finding");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = small_options();
  options.remove_delivered = 1;
  weir_log *log = open_with(directory, &options, NULL);
  uint32_t type = define_numbered(log);
  capture_all(log, type, 0, 1200);
  CHECK_AWAIT(raw_ones(directory) >= 4);
  /* A file that is none of the log's, between its first segment and its second, of which verify tells. */
  char name[64];
  segment_list_raw_name(name, segment_at(directory, 0).base + 1, 0);
  REQUIRE(symlink("/etc/passwd", join(directory, name)) == 0);
  meanwhile meanwhile = {.log = log, .directory = directory};
  weir_verification verification;
  weir_error error;
  CHECK_EQUAL(weir_verify(directory, remove_meanwhile, &meanwhile, &verification, &error), WEIR_OK);
  CHECK_EQUAL(verification.findings, 1);
  CHECK_EQUAL(meanwhile.others + verification.missing_events, 0);
  CHECK(stat_of(directory).removed > 0);
  REQUIRE(unlink(join(directory, name)) == 0);
  close_and_free(log);
  check_no_findings(directory);
  scratch_remove(folder);
}

/* ---- Kills ------------------------------------------------------------------------------------------------------- */

/* A kill at any call of the opening that removes, or at any moment of it. */
static void test_kills(void) {
  test("killed while delivered segments are removed, none is missing, and none is counted twice or as lost");
  char *folder = scratch();
  const char *made = join(folder, "made"), *directory = join(folder, "log");
  make_log(made, 2000);
  weir_options options = small_options();
  options.remove_delivered = 1;
  options.batch_threads = 1;
  for (int round = 0; round < 40; round++) {
    copy_log(made, directory);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      weir_log *log;
      if (weir_open(directory, &options, &log, NULL, NULL) != WEIR_OK) _exit(3);
      weir_fault_set("any", 1 + random_below(60), 1, WEIR_FAULT_KILL);
      weir_set_delivered(log, 1700);
      sleep_ns(30000000);
      kill(getpid(), SIGKILL);
    }
    CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
    for (int again = 0; again < 2; again++) {
      weir_stat stat = stat_of(directory);
      reading reading = read_from(directory, 0);
      CHECK(reading.events + stat.removed == 2000 && reading.missing + reading.disorder + reading.wrong == 0);
      CHECK(stat.removed <= 1700 && stat.dropped[WEIR_LOST_EXPIRED] == 0);
      close_and_free(open_with(directory, &options, NULL));
    }
    check_no_findings(directory);
    remove_tree(directory);
  }
  scratch_remove(folder);
}

int main(void) {
  random_start("release_test");
  test_removal(0);
  test_removal(2);
  test_beyond_the_end();
  test_without_the_option();
  test_missed_look();
  test_beside_verify();
  test_kills();
  return finish();
}
