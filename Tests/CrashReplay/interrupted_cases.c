/*
 * interrupted_cases.c: cases 8 and 30, a recovery that finds damage and does not get to its end: it is killed at each
 * call of the system, or the disk is full there. Nobody had its report, so the next opening, which gets through, has to
 * tell of all the damage, as exactly as if nothing had come in between, and the one after it of none any more.
 *
 *     interrupted_cases           a sample of the calls, drawn by WEIR_SEED
 *     interrupted_cases --long    every call
 */
#include "capture_check.h"
#include "drainer.h"
#include "replay.h"

#include <sys/mman.h>

#include "directory/quarantine.h"
#include "directory/segment_list.h"
#include "format/format.h"
#include "system/crc32c.h"
#include "system/system.h"

enum { FILLER = 100, DRAINED = 200, IN_LANE = 20, EACH = 40, MOST_CALLS = 1000 };

typedef enum damage { MIDDLE_BLOCK, LAST_BLOCK, LANE, DAMAGES } damage;
static const char *const damage_names[] = {"a block in the middle", "the last block", "a record in a lane"};

/* What one opening came to. In memory that a killed child leaves behind. */
typedef struct told {
  weir_recovery recovery;
  weir_status status;
  int returned;
  int struck; /* the call was made that was to fail */
} told;
static told *opened;
static uint64_t struck_call; /* for what is said of a failure */

static weir_status open_tiny(const char *path, weir_log **log, weir_recovery *recovery) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 2;
  options.spare_lanes = 1;
  options.lane_bytes = 8192;
  options.max_event_bytes = 1024;
  options.segment_bytes = 139264;
  options.full_wait_ns = UINT64_MAX;
  options.drain_interval_ns = 10000000000;
  return weir_open(path, &options, log, recovery, NULL);
}

/* Somebody captures DRAINED events, EACH to a block, and IN_LANE that stay in the lane, and is killed. */
static void leave_dead(const char *path) {
  remove_tree(path);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    weir_log *log;
    if (open_tiny(path, &log, NULL) != WEIR_OK) _exit(1);
    uint32_t type = define_numbered(log);
    for (uint64_t i = 0; i < DRAINED + IN_LANE; i++) {
      if (capture_numbered(log, type, 0, i, FILLER, NULL) != WEIR_ACCEPTED) _exit(2);
      if (i < DRAINED && i % EACH == EACH - 1) hold_drainer(log);
    }
    kill(getpid(), SIGKILL);
  }
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
  weir_stat stat;
  REQUIRE(weir_stat_directory(path, &stat, NULL) == WEIR_OK && stat.lane_events == IN_LANE);
}

static void flip(const char *path, uint64_t at) {
  int fd = open(path, O_RDWR | O_CLOEXEC);
  uint8_t byte;
  REQUIRE(fd >= 0 && pread(fd, &byte, 1, (off_t)at) == 1);
  byte ^= 0x40;
  REQUIRE(pwrite(fd, &byte, 1, (off_t)at) == 1);
  close(fd);
}

/* A byte in the payload of the block that is the n-th last of those with events, in the only segment. */
static void flip_block(const char *path, uint64_t nth_last) {
  int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  segment_list list;
  REQUIRE(directory >= 0 && segment_list_read(directory, &list) == 0 && list.count == 1);
  const char *file = join(path, list.items[0].name);
  int fd = open(file, O_RDONLY | O_CLOEXEC);
  static uint8_t bytes[139264];
  uint64_t at[64], count = 0;
  ssize_t got = read(fd, bytes, sizeof bytes);
  for (ssize_t i = 0; i + (ssize_t)sizeof(block_header) <= got; i += 8) {
    block_header header;
    memcpy(&header, bytes + i, sizeof header);
    if (header.magic != BLOCK_MAGIC || header.position != (uint64_t)i || header.kind != BLOCK_EVENTS) continue;
    REQUIRE(count < 64);
    at[count++] = (uint64_t)i;
  }
  close(fd);
  close(directory);
  segment_list_free(&list);
  REQUIRE(count >= nth_last);
  flip(file, at[count - nth_last] + sizeof(block_header) + 100);
}

/* A record of the lane, by the number of its event. */
static void flip_lane(const char *path, uint64_t event) {
  uint64_t record = (sizeof(record_header) + NUMBERED_BYTES + FILLER + 7) & ~UINT64_C(7);
  flip(join(path, RING_NAME), RING_HEADER_BYTES + LANE_CONTROL_BYTES + event * record % 8192 + sizeof(record_header));
}

static void do_damage(const char *path, damage damage) {
  if (damage == MIDDLE_BLOCK) flip_block(path, 4);
  if (damage == LAST_BLOCK) flip_block(path, 1);
  if (damage == LANE) flip_lane(path, DRAINED + IN_LANE / 2);
}

/* Opens in a child whose n-th call of the system is struck, and which is killed after that. */
static told open_struck(const char *path, uint64_t nth, int fault) {
  memset(opened, 0, sizeof *opened);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    weir_log *log;
    weir_fault_set("any", nth, 1, fault);
    opened->struck = 1; /* unless it is still to come */
    opened->status = open_tiny(path, &log, &opened->recovery);
    opened->returned = 1;
    opened->struck = weir_fault_count() >= nth;
    kill(getpid(), SIGKILL);
  }
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
  return *opened;
}

static void check_same(const weir_recovery *told, const weir_recovery *wanted) {
  uint64_t failed = checks_failed;
  CHECK_EQUAL(told->damaged_blocks, wanted->damaged_blocks);
  CHECK_EQUAL(told->damaged_bytes, wanted->damaged_bytes);
  CHECK_EQUAL(told->damaged_records, wanted->damaged_records);
  CHECK_EQUAL(told->missing_events, wanted->missing_events);
  CHECK(!told->was_clean && !told->rebooted && !told->unknown_tail);
  if (checks_failed > failed) fprintf(stderr, "  at call %" PRIu64 "\n", struck_call);
}

/* What a reader finds: as many events whatever came in between. */
static uint64_t count_events(const char *path) {
  found_log found = read_log(path);
  CHECK_EQUAL(found.end, WEIR_END);
  CHECK_EQUAL(found.wrong, 0);
  uint64_t count = found.count;
  found_free(&found);
  return count;
}

/*
 * Strikes the n-th call of one opening, or of two in a row; answers whether there was one. The next opening tells of
 * it all, unless the one that was struck got to its end, which tells of it itself.
 */
static int strike(const char *whole, const char *path, uint64_t nth, uint64_t times, int fault,
                  const weir_recovery *wanted, uint64_t events) {
  REQUIRE(replay_copy(whole, path) == 0);
  struck_call = nth;
  told told = {0};
  for (uint64_t i = 0; i < times && !(told.returned && told.status == WEIR_OK); i++) {
    told = open_struck(path, nth, fault);
  }
  if (told.returned && told.status == WEIR_OK) {
    check_same(&told.recovery, wanted);
    CHECK_EQUAL(count_events(path), events);
    remove_tree(path);
    return told.struck;
  }
  weir_log *log;
  weir_recovery recovery;
  if (CHECK_EQUAL(open_tiny(path, &log, &recovery), WEIR_OK)) {
    weir_free(log);
    check_same(&recovery, wanted);
    CHECK_EQUAL(count_events(path), events);
    CHECK_EQUAL(open_tiny(path, &log, &recovery), WEIR_OK);
    weir_free(log);
    CHECK(recovery.was_clean && recovery.damaged_blocks + recovery.damaged_records + recovery.missing_events == 0);
  }
  remove_tree(path);
  return 1;
}

static void interrupted(const char *folder, damage damage, int everything) {
  static char name[160];
  char *whole = strdup(join(folder, "whole")), *path = strdup(join(folder, "struck"));
  static const char *const fates[] = {"case 8: %s is damaged, and recovery is killed at each of its calls%s",
                                      "case 30: %s is damaged, and recovery has no space at each of its calls%s"};
  static const int faults[] = {WEIR_FAULT_KILL, ENOSPC};
  leave_dead(whole);
  do_damage(whole, damage);
  REQUIRE(replay_copy(whole, path) == 0);
  snprintf(name, sizeof name, "case 8: %s is damaged, and recovery gets through", damage_names[damage]);
  test(name);
  weir_log *log;
  weir_recovery wanted;
  REQUIRE(open_tiny(path, &log, &wanted) == WEIR_OK);
  weir_free(log);
  uint64_t events = count_events(path);
  CHECK_EQUAL(wanted.damaged_blocks, damage != LANE);
  CHECK_EQUAL(wanted.damaged_records, damage == LANE);
  CHECK(wanted.missing_events > 0); /* a block that ends where the lane does is a small one */
  /* The last block's events are in the lane still: they are there under other offsets. */
  CHECK_EQUAL(events, DRAINED + IN_LANE - (damage == LAST_BLOCK ? 0 : wanted.missing_events));
  remove_tree(path);
  for (int fate = 0; fate < 2; fate++) {
    for (uint64_t times = 1; times <= 2; times++) {
      snprintf(name, sizeof name, fates[fate], damage_names[damage], times > 1 ? ", twice" : "");
      test(name);
      uint64_t nth = 1;
      while (nth < MOST_CALLS && strike(whole, path, nth, times, faults[fate], &wanted, events)) {
        nth += everything ? 1 : 1 + random_below(80);
      }
      CHECK(nth > 40 && nth < MOST_CALLS);
    }
  }
  remove_tree(whole);
  free(whole);
  free(path);
}

/* ---- The file with the counts ------------------------------------------------------------------------------------ */

/* A log whose recovery was killed after it had stored its counts. */
static void leave_stored(const char *path) {
  const char *file = strdup(join(path, RECOVERY_NAME));
  remove_tree(path);
  for (uint64_t nth = 40; access(file, F_OK) != 0; nth++) {
    REQUIRE(nth < MOST_CALLS);
    leave_dead(path);
    do_damage(path, LAST_BLOCK);
    open_struck(path, nth, WEIR_FAULT_KILL);
  }
  free((char *)file);
}

/* Opens and closes; answers how much the opening says is lost. */
static uint64_t recovered(const char *path, weir_status wanted) {
  weir_log *log = NULL;
  weir_recovery recovery = {0};
  CHECK_EQUAL(open_tiny(path, &log, &recovery), wanted);
  if (log) weir_free(log);
  return recovery.damaged_blocks + recovery.damaged_records + recovery.missing_events;
}

/* Changes the file as its writer would: with the right checksum. */
static void change_stored(const char *file, void (*change)(unreported *)) {
  unreported stored;
  int fd = open(file, O_RDWR | O_CLOEXEC);
  REQUIRE(fd >= 0 && read(fd, &stored, sizeof stored) == sizeof stored);
  change(&stored);
  uint64_t state = crc_extend(CRC_START, &stored, offsetof(unreported, crc));
  stored.crc = crc_end(crc_extend(state, &stored.log_id, sizeof stored - offsetof(unreported, log_id)));
  REQUIRE(pwrite(fd, &stored, sizeof stored, 0) == sizeof stored);
  close(fd);
}

static void of_another_log(unreported *stored) { stored->log_id++; }
static void newer(unreported *stored) { stored->major = FORMAT_MAJOR + 1; }
static void with_a_feature(unreported *stored) { stored->incompatible = 1; }
static void unchanged(unreported *stored) { (void)stored; }

static void stored_counts(const char *folder) {
  test("the counts that a killed recovery stored: as they are, damaged, another log's, a newer version's");
  char *whole = strdup(join(folder, "whole")), *path = strdup(join(folder, "stored"));
  char *file = strdup(join(path, RECOVERY_NAME));
  leave_stored(whole);
  REQUIRE(replay_copy(whole, path) == 0);
  change_stored(file, unchanged);
  CHECK(recovered(path, WEIR_OK) > 1);
  /* That opening was closed: whoever comes next is told of nothing, and the file is gone. */
  CHECK_EQUAL(recovered(path, WEIR_OK), 0);
  CHECK(access(file, F_OK) != 0);
  remove_tree(path);
  for (int i = 0; i < 2; i++) {
    REQUIRE(replay_copy(whole, path) == 0);
    change_stored(file, i ? with_a_feature : newer);
    uint64_t before = tree_checksum(path);
    recovered(path, WEIR_ERROR_VERSION);
    CHECK_EQUAL(tree_checksum(path), before);
    remove_tree(path);
  }
  /* One that does not count is as good as none: nothing is made up, and every event is there. */
  for (uint64_t at = 0; at <= sizeof(unreported); at += 1 + random_below(9)) {
    REQUIRE(replay_copy(whole, path) == 0);
    if (at < sizeof(unreported)) flip(file, at);
    else change_stored(file, of_another_log);
    recovered(path, WEIR_OK);
    CHECK_EQUAL(recovered(path, WEIR_OK), 0);
    CHECK_EQUAL(count_events(path), DRAINED + IN_LANE);
    remove_tree(path);
  }
  remove_tree(whole);
  free(whole);
  free(path);
  free(file);
}

int main(int count, char **arguments) {
  int everything = count > 1 && strcmp(arguments[1], "--long") == 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  random_start("interrupted_cases");
  opened = mmap(NULL, sizeof *opened, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(opened != MAP_FAILED);
  char *folder = scratch();
  for (int damage = 0; damage < DAMAGES; damage++) interrupted(folder, (enum damage)damage, everything);
  stored_counts(folder);
  scratch_remove(folder);
  return finish();
}
