/*
 * half_way_cases.c: openings that do not get to their end, or go on where they must not. Whatever failed before, a ring
 * is replaced only after what it held is in segments that are synced: so the next opening has every event that was
 * accepted, and the right accounts.
 *
 *     half_way_cases           a sample of the calls, drawn by WEIR_SEED
 *     half_way_cases --long    every call
 */
#define _GNU_SOURCE 1
#include "system/names.h"

/* Recovery itself, under another name: what the library calls is below, and may be told to go wrong. */
#undef recover
#define recover real_recover
#include "recover/recover.c" /* in Sources/CWeir */
#undef recover
#define recover weir_core_recover

#include "capture_check.h"
#include "drainer.h"
#include "replay.h"

#include <dirent.h>
#include <sys/mman.h>

enum { DRAINED = 30, REFUSED = 5, FILLER = 30, MOST_CALLS = 2000 };

typedef enum way {
  RIGHT,
  NOTHING,   /* recovery does nothing, and says that all is well */
  REGARDLESS /* it says so whatever became of it */
} way;

static way wrong;
static weir_status truth; /* of the last recovery, whatever it said */

weir_status recover(const recovery_site *site, weir_recovery *report, recovered *recovered, weir_error *error) {
  truth = WEIR_ERROR_IO;
  if (wrong != NOTHING) truth = real_recover(site, report, recovered, error);
  return wrong == RIGHT ? truth : WEIR_OK;
}

/* ---- A log that a kill left -------------------------------------------------------------------------------------- */

static uint64_t *accepted; /* by the victim, whose death leaves this alone */

static weir_status open_tiny(const char *path, weir_log **log, weir_recovery *recovery, weir_error *error) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 2;
  options.spare_lanes = 1;
  options.lane_bytes = 8192;
  options.overflow_bytes = 0;
  options.max_event_bytes = 1024;
  options.segment_bytes = 139264;
  options.drain_interval_ns = UINT64_C(10000000000);
  return weir_open(path, &options, log, recovery, error);
}

/* Some events are in a segment, as many as fit in the lane, and some were refused. */
static void leave_dead(const char *path) {
  *accepted = 0;
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    weir_log *log;
    if (open_tiny(path, &log, NULL, NULL) != WEIR_OK) _exit(1);
    uint32_t type = define_numbered(log);
    for (uint64_t refused = 0; refused < REFUSED;) {
      if (capture_numbered(log, type, 0, *accepted, FILLER, NULL) == WEIR_ACCEPTED) ++*accepted;
      else refused++;
      if (*accepted == DRAINED) hold_drainer(log);
    }
    kill(getpid(), SIGKILL);
  }
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
}

/* An opening that nothing fails gives everything, and says that nothing is lost. */
static void check_left(const char *path) {
  weir_recovery recovery;
  weir_log *log = NULL;
  weir_error error;
  wrong = RIGHT;
  if (!CHECK_EQUAL(open_tiny(path, &log, &recovery, &error), WEIR_OK)) {
    fprintf(stderr, "%s\n", error.message);
    return;
  }
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_free(log);
  CHECK_EQUAL(recovery.missing_events + recovery.damaged_blocks + recovery.damaged_records, 0);
  CHECK(!recovery.ring_replaced && !recovery.unknown_tail);
  found_log found = read_log(path);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 0), *accepted);
  CHECK_EQUAL(found.count, *accepted);
  CHECK_EQUAL(found.gaps, REFUSED);
  found_free(&found);
  weir_verification sums;
  CHECK_EQUAL(weir_verify(path, NULL, NULL, &sums, NULL), WEIR_OK);
  CHECK_EQUAL(sums.findings, 0);
}

/* ---- A recovery that says that all is well ----------------------------------------------------------------------- */

static void nothing_done(const char *whole, const char *path) {
  test("a recovery that does nothing and says that all is well: the ring is not replaced");
  weir_log *log;
  weir_error error;
  REQUIRE(replay_copy(whole, path) == 0);
  uint64_t before = tree_checksum(path);
  wrong = NOTHING;
  weir_status status = open_tiny(path, &log, NULL, &error);
  CHECK_EQUAL(status, WEIR_ERROR_IO);
  CHECK(status == WEIR_ERROR_IO && strstr(error.message, "was not recovered"));
  CHECK_EQUAL(tree_checksum(path), before);
  check_left(path);
  remove_tree(path);
}

/* ---- Each call fails --------------------------------------------------------------------------------------------- */

/*
 * The n-th call of an opening fails, and a recovery that fails for it may be taken for one that did not. An opening
 * that may not go on does not. Answers whether there was such a call.
 */
static int fail_at(const char *whole, const char *path, const char *operation, uint64_t nth, int fault, way way) {
  REQUIRE(replay_copy(whole, path) == 0);
  uint64_t failed = checks_failed;
  weir_log *log = NULL;
  wrong = way;
  weir_fault_set(operation, nth, 1, fault);
  weir_status status = open_tiny(path, &log, NULL, NULL);
  int struck = weir_fault_count() >= nth;
  weir_fault_set("", 0, 0, 0);
  CHECK(truth == WEIR_OK || status != WEIR_OK);
  weir_free(log);
  check_left(path);
  remove_tree(path);
  if (checks_failed > failed) {
    fprintf(stderr, "  at call %" PRIu64 " of %s, %s\n", nth, operation, strerror(fault));
  }
  return struck;
}

static void each_call(const char *whole, const char *path, const char *operation, uint64_t least, way way, int all) {
  static const int faults[] = {EIO, ENOSPC, EEXIST, ENOENT};
  static char name[200];
  snprintf(name, sizeof name, "%s fails at each of its calls%s: the next opening has everything",
           strcmp(operation, "any") == 0 ? "an opening" : operation, way == REGARDLESS ? ", and it goes on" : "");
  test(name);
  uint64_t nth = 1;
  while (nth < MOST_CALLS && fail_at(whole, path, operation, nth, faults[nth % 4], way)) {
    nth += all ? 1 : 1 + random_below(7);
  }
  CHECK(nth > least && nth < MOST_CALLS);
}

/* ---- File exists ------------------------------------------------------------------------------------------------- */

static char taken[4096]; /* the name that the first segment is to have */

/* Takes the name as soon as the new ring has its own. */
static void take_name(const weir_call *call, int after) {
  if (!after || strcmp(call->operation, "sys_rename") != 0 || !call->name || !taken[0]) return;
  if (strncmp(call->name, RING_NEW_NAME, strlen(RING_NEW_NAME)) != 0) return;
  int fd = open(taken, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd);
}

static void name_taken(const char *whole, const char *path) {
  test("the name of the first segment is taken when the ring has been replaced: File exists");
  weir_log *log;
  weir_error error = {0};
  REQUIRE(replay_copy(whole, path) == 0);
  /* The offset after the events that were accepted, and the notice of those that were not. */
  snprintf(taken, sizeof taken, "%s/%020" PRIu64 ACTIVE_SUFFIX, path, *accepted + 1);
  wrong = RIGHT;
  weir_fault_observe(take_name);
  weir_status status = open_tiny(path, &log, NULL, &error);
  weir_fault_observe(NULL);
  CHECK_EQUAL(status, WEIR_ERROR_IO);
  if (!CHECK(strstr(error.message, "File exists"))) fprintf(stderr, "%s\n", error.message);
  CHECK_EQUAL(unlink(taken), 0);
  check_left(path);
  remove_tree(path);
}

/* ---- What recovery wrote is lost by the disk --------------------------------------------------------------------- */

static uint64_t spoiled;

/*
 * When the segment with what was in the lanes is cut to its length: zeros take the place of a page of its events, and
 * the sync of it fails.
 */
static void spoil(const weir_call *call, int after) {
  static uint8_t bytes[139264];
  const segment_header *header = (const segment_header *)(void *)bytes;
  if (!after || strcmp(call->operation, "sys_truncate") != 0 || spoiled > 0) return;
  ssize_t count = pread(call->fd, bytes, sizeof bytes, 0);
  if (count < 4096 || header->magic != SEGMENT_MAGIC || !(header->flags & SEGMENT_RECOVERED)) return;
  for (ssize_t at = 0; at + (ssize_t)sizeof(block_header) <= count; at += 8) {
    block_header block;
    memcpy(&block, bytes + at, sizeof block);
    if (block.magic != BLOCK_MAGIC || block.position != (uint64_t)at || block.kind != BLOCK_EVENTS) continue;
    memset(bytes, 0, sizeof bytes);
    REQUIRE(pwrite(call->fd, bytes, block.payload_bytes, at + (ssize_t)sizeof block) == (ssize_t)block.payload_bytes);
    spoiled += block.count;
  }
  if (spoiled > 0) weir_fault_set("sys_sync_data", 1, 1, EIO);
}

static void events_lost_by_the_disk(const char *whole, const char *path) {
  test("the disk fails to sync what was in the lanes, and has lost some of it: the ring has it still");
  weir_log *log;
  REQUIRE(replay_copy(whole, path) == 0);
  wrong = RIGHT;
  spoiled = 0;
  weir_fault_observe(spoil);
  weir_status status = open_tiny(path, &log, NULL, NULL);
  weir_fault_observe(NULL);
  weir_fault_set("", 0, 0, 0);
  CHECK(spoiled > 0);
  CHECK_EQUAL(status, WEIR_ERROR_IO);
  check_left(path);
  remove_tree(path);
}

int main(int count, char **arguments) {
  int all = count > 1 && strcmp(arguments[1], "--long") == 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  random_start("half_way_cases");
  accepted = mmap(NULL, sizeof *accepted, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(accepted != MAP_FAILED);
  char *folder = scratch();
  const char *whole = strdup(join(folder, "whole")), *path = strdup(join(folder, "log"));
  leave_dead(whole);
  CHECK(*accepted > DRAINED);
  nothing_done(whole, path);
  each_call(whole, path, "any", 60, REGARDLESS, all);
  each_call(whole, path, "any", 60, RIGHT, all);
  static const char *const making[] = {"sys_rename", "sys_rename_new", "sys_open_create", "sys_unlink",
                                       "sys_sync_data", "sys_sync_directory"};
  for (int i = 0; i < 6; i++) each_call(whole, path, making[i], 1, RIGHT, 1);
  name_taken(whole, path);
  events_lost_by_the_disk(whole, path);
  free((char *)whole);
  free((char *)path);
  scratch_remove(folder);
  return finish();
}
