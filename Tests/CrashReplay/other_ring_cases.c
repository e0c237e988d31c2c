/*
 * other_ring_cases.c: a backup that is restored in part, so that the ring is that of an earlier opening, or of another
 * log. What the log's own ring held is lost and nobody knows how much: the opening, the log and its readers say so, and
 * nothing of the ring that is not the log's comes into it.
 */
#include "capture_check.h"
#include "replay.h"

#include <dirent.h>
#include <sys/mman.h>

#include "directory/segment_list.h"
#include "format/format.h"
#include "system/system.h"

enum { DRAINED = 30, IN_LANE = 10, EVENTS = DRAINED + IN_LANE, PRODUCERS = 8, MOST_CALLS = 1000 };

#define REASON "ring of another opening"

static uint64_t *reached; /* by a child that is killed: 1 when its opening returned */

/* ---- Logs -------------------------------------------------------------------------------------------------------- */

static weir_status open_tiny(const char *path, const char *rings, weir_log **log, weir_recovery *recovery) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 3;
  options.spare_lanes = 1;
  options.lane_bytes = 8192;
  options.max_event_bytes = 1024;
  options.segment_bytes = 139264;
  options.full_wait_ns = UINT64_MAX;
  options.drain_interval_ns = UINT64_C(10000000000);
  options.ring_directory = rings;
  weir_error error;
  weir_status status = weir_open(path, &options, log, recovery, &error);
  if (status != WEIR_OK && getenv("WEIR_VERBOSE")) fprintf(stderr, "  %s\n", error.message);
  return status;
}

/*
 * One opening that captures: DRAINED events of its producer that are in segments by its end, and IN_LANE that are in
 * the ring alone, unless the drainer comes once more before it naps. It is killed, or closes.
 */
typedef enum ending { KILLED, CLOSED } ending;

static void live(const char *path, const char *rings, uint64_t producer, ending ending) {
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    weir_log *log;
    if (open_tiny(path, rings, &log, NULL) != WEIR_OK) _exit(1);
    uint32_t type = define_numbered(log);
    for (uint64_t i = 0; i < EVENTS; i++) {
      if (capture_numbered(log, type, producer, i, 30, NULL) != WEIR_ACCEPTED) _exit(2);
      if (i == DRAINED - 1 && weir_drain(log, UINT64_MAX, NULL, NULL) != WEIR_OK) _exit(3);
    }
    if (ending == CLOSED) _exit(weir_close(log, NULL) == WEIR_OK ? 0 : 4);
    kill(getpid(), SIGKILL);
  }
  CHECK_EQUAL(wait_for(child), ending == KILLED ? 1000 + SIGKILL : 0);
}

/* The file of a ring that lies in a directory of its own; null where there is none. */
static const char *ring_in(const char *rings) {
  DIR *list = opendir(rings);
  REQUIRE(list);
  const char *found = NULL;
  for (struct dirent *entry; (entry = readdir(list));) {
    if (entry->d_name[0] == 'w') found = join(rings, entry->d_name);
  }
  closedir(list);
  return found;
}

static void copy_file(const char *from, const char *to) {
  static char bytes[1 << 16];
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  REQUIRE(in && out);
  for (size_t count; (count = fread(bytes, 1, sizeof bytes, in)) > 0;) REQUIRE(fwrite(bytes, 1, count, out) == count);
  fclose(in);
  REQUIRE(fclose(out) == 0);
}

/* Copies every file of a log over those of another. */
static void copy_over(const char *from, const char *to) {
  DIR *list = opendir(from);
  REQUIRE(list);
  for (struct dirent *entry; (entry = readdir(list));) {
    if (entry->d_type == DT_REG) copy_file(join(from, entry->d_name), join(to, entry->d_name));
  }
  closedir(list);
}

/* ---- What must be said ------------------------------------------------------------------------------------------- */

typedef struct seen {
  uint64_t events[PRODUCERS]; /* of each producer: 0, 1, 2, … without a gap */
  uint64_t holes;             /* notices of a whole ring */
  char reason[64];
  uint64_t skips, ring_skips; /* what a reader passed over, and of that the ring */
} seen;

static void take_hole(const weir_event *event, seen *seen) {
  uint32_t bytes, lane;
  memcpy(&bytes, event->payload, 4);
  REQUIRE(bytes < sizeof seen->reason && bytes + 8 <= event->payload_bytes);
  memcpy(&lane, event->payload + 4 + bytes, 4);
  if (lane != NOTICE_LANE) return;
  seen->holes++;
  memcpy(seen->reason, event->payload + 4, bytes);
  seen->reason[bytes] = 0;
}

static seen look(const char *path) {
  seen seen = {0};
  weir_reader *reader;
  weir_event event;
  weir_skip skip;
  weir_error error;
  weir_status status;
  uint64_t wrong = 0, next = 0;
  REQUIRE(weir_reader_open(path, NULL, &reader, &error) == WEIR_OK);
  while ((status = weir_reader_next(reader, &event, &skip, &error)) <= WEIR_SKIPPED && status != WEIR_END) {
    if (status == WEIR_SKIPPED) {
      seen.skips++;
      seen.ring_skips += strstr(skip.reason, "the ring is of another opening") != NULL;
      continue;
    }
    wrong += event.offset < next;
    next = event.offset + 1;
    if (event.type == WEIR_TYPE_HOLE) take_hole(&event, &seen);
    found_event found;
    if (!name_is(&event, "numbered")) continue;
    if (!take_numbered(&event, &found) || found.producer >= PRODUCERS) wrong++;
    else wrong += found.number != seen.events[found.producer]++;
  }
  weir_reader_close(reader);
  CHECK_EQUAL(status, WEIR_END);
  CHECK_EQUAL(wrong, 0);
  return seen;
}

/* As many events as there are in a log whose ring is lost, or whose ring is not. */
static void check_events(const seen *seen, uint64_t producer, int whole) {
  CHECK(seen->events[producer] >= (whole ? EVENTS : DRAINED) && seen->events[producer] <= EVENTS);
}

/* Before an opening: whoever reads the log, or looks at it, is told. */
static void check_unopened(const char *path) {
  weir_verification sums;
  weir_stat stat;
  seen seen = look(path);
  CHECK_EQUAL(seen.ring_skips, 1);
  CHECK_EQUAL(weir_verify(path, NULL, NULL, &sums, NULL), WEIR_OK);
  CHECK(sums.findings > 0);
  CHECK_EQUAL(sums.lane_events, 0);
  CHECK_EQUAL(weir_stat_directory(path, &stat, NULL), WEIR_OK);
  CHECK(stat.damaged && stat.lane_events == 0);
}

static void check_told(const char *path, const char *reason) {
  seen seen = look(path);
  CHECK_EQUAL(seen.holes, 1);
  CHECK(strcmp(seen.reason, reason) == 0);
  CHECK_EQUAL(seen.skips, 0);
  weir_verification sums;
  CHECK_EQUAL(weir_verify(path, NULL, NULL, &sums, NULL), WEIR_OK);
  CHECK_EQUAL(sums.findings, 0);
}

/* The ring that is not the log's, byte for byte. */
static void check_kept(const char *path, uint64_t checksum) {
  const char *kept = join(join(path, "quarantine"), "ring-0"), *copy = join(path, "compared");
  if (!CHECK(access(kept, F_OK) == 0)) return;
  REQUIRE(mkdir(copy, 0700) == 0);
  copy_file(kept, join(copy, "ring"));
  uint64_t sum = tree_checksum(copy);
  remove_tree(copy);
  CHECK_EQUAL(sum, checksum);
}

/* What check_kept compares with, of a ring about to be put in the place of the log's. Under the same path. */
static uint64_t checksum_of(const char *ring, const char *path) {
  const char *copy = join(path, "compared");
  REQUIRE(mkdir(copy, 0700) == 0);
  copy_file(ring, join(copy, "ring"));
  uint64_t sum = tree_checksum(copy);
  remove_tree(copy);
  return sum;
}

static void check_report(const weir_recovery *recovery) {
  CHECK_EQUAL(recovery->ring_replaced, 1);
  CHECK_EQUAL(recovery->ring_vanished, 0);
  CHECK_EQUAL(recovery->was_clean, 0);
  CHECK_EQUAL(recovery->events_from_lanes, 0);
}

/* Opens and closes. */
static weir_recovery recover_it(const char *path, const char *rings) {
  weir_recovery recovery = {0};
  weir_log *log = NULL;
  if (!CHECK_EQUAL(open_tiny(path, rings, &log, &recovery), WEIR_OK)) return recovery;
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_free(log);
  return recovery;
}

/* Opens: it is told, once, and the opening after it finds a log that was closed. */
static void check_opened(const char *path, const char *rings) {
  weir_recovery recovery = recover_it(path, rings);
  check_report(&recovery);
  check_told(path, REASON);
  recovery = recover_it(path, rings);
  CHECK(recovery.was_clean && !recovery.ring_replaced);
  check_told(path, REASON);
}

/* ---- An earlier opening's ring ----------------------------------------------------------------------------------- */

/* Two openings, and the ring of the first in the place of the second's; in a directory of its own, or beside. */
static void older_ring(const char *folder, ending first, ending second, int elsewhere) {
  static char name[160];
  static const char *const words[] = {"was killed", "closed"};
  snprintf(name, sizeof name, "the ring of an opening that %s is put over that of one that %s%s", words[first],
           words[second], elsewhere ? ", elsewhere" : "");
  test(name);
  const char *path = join(folder, "log"), *rings = elsewhere ? join(folder, "rings") : NULL;
  const char *old = join(folder, "old"), *place = join(path, "ring");
  live(path, rings, 0, first);
  if (rings) place = ring_in(rings);
  REQUIRE(place);
  copy_file(place, old);
  live(path, rings, 1, second);
  if (rings) place = ring_in(rings);
  REQUIRE(place);
  uint64_t checksum = checksum_of(old, path);
  copy_file(old, place);
  check_unopened(path);
  check_opened(path, rings);
  seen seen = look(path);
  check_events(&seen, 0, 1);
  check_events(&seen, 1, second == CLOSED);
  check_kept(path, checksum);
  remove_tree(path);
  if (rings) remove_tree(rings);
}

/* The file of the one sealed segment that has the event of a producer. */
static const char *segment_of(const char *path, uint64_t producer) {
  segment_list list;
  int directory = open(path, O_RDONLY | O_DIRECTORY);
  REQUIRE(directory >= 0 && segment_list_read(directory, &list) == 0);
  weir_reader *reader;
  weir_event event;
  weir_skip skip;
  uint64_t offset = UINT64_MAX;
  REQUIRE(weir_reader_open(path, NULL, &reader, NULL) == WEIR_OK);
  for (weir_status status; (status = weir_reader_next(reader, &event, &skip, NULL)) <= WEIR_SKIPPED;) {
    if (status == WEIR_END) break;
    found_event found;
    int numbered = status == WEIR_OK && name_is(&event, "numbered") && take_numbered(&event, &found);
    if (numbered && found.producer == producer && offset == UINT64_MAX) offset = event.offset;
  }
  weir_reader_close(reader);
  const char *file = NULL;
  for (uint64_t i = 0; i < list.count; i++) {
    if (list.items[i].base <= offset) file = join(path, list.items[i].name);
  }
  segment_list_free(&list);
  close(directory);
  REQUIRE(file);
  return file;
}

/*
 * An older ring is put back, and the first segment of the next opening is gone or damaged too, so that nothing says
 * that the ring's opening is over. What the ring's own segments have is drained no second time.
 */
static void older_ring_without_successor(const char *folder, int gone) {
  test(gone ? "an older ring is put back, and the segment after its last one is gone"
            : "an older ring is put back, and the segment after its last one is damaged");
  const char *path = join(folder, "log"), *old = join(folder, "old");
  live(path, NULL, 0, KILLED);
  copy_file(join(path, "ring"), old);
  live(path, NULL, 1, CLOSED);
  live(path, NULL, 2, KILLED);
  const char *successor = segment_of(path, 1);
  copy_file(old, join(path, "ring"));
  if (gone) {
    REQUIRE(unlink(successor) == 0);
  } else {
    int file = open(successor, O_RDWR);
    uint8_t byte = 1;
    REQUIRE(file >= 0 && pwrite(file, &byte, 1, 480) == 1); /* in its header */
    close(file);
  }
  seen before = look(path);
  CHECK_EQUAL(before.events[0], EVENTS);
  recover_it(path, NULL);
  seen after = look(path);
  CHECK_EQUAL(after.events[0], EVENTS);
  check_events(&after, 2, 0);
  remove_tree(path);
}

/* As far as the segments can tell nothing is wrong, nor is anything lost. */
static void older_ring_of_nothing(const char *folder) {
  test("the ring of an opening that was killed is put over that of one that captured nothing and closed");
  const char *path = join(folder, "log"), *old = join(folder, "old");
  live(path, NULL, 0, KILLED);
  copy_file(join(path, "ring"), old);
  recover_it(path, NULL);
  copy_file(old, join(path, "ring"));
  recover_it(path, NULL);
  seen seen = look(path);
  check_events(&seen, 0, 1);
  CHECK_EQUAL(seen.skips, 0);
  remove_tree(path);
}

/* A whole older copy over the log: segments, one of which has been sealed since, and the ring. */
static void older_copy(const char *folder) {
  test("an older copy of the log is put over it, both left by a kill");
  const char *path = join(folder, "log"), *old = join(folder, "copy");
  live(path, NULL, 0, KILLED);
  REQUIRE(replay_copy(path, old) == 0);
  live(path, NULL, 1, KILLED);
  live(path, NULL, 2, KILLED);
  copy_over(old, path);
  weir_recovery recovery = recover_it(path, NULL);
  check_report(&recovery);
  check_told(path, REASON);
  seen seen = look(path);
  check_events(&seen, 0, 1);
  check_events(&seen, 1, 1);
  check_events(&seen, 2, 0);
  remove_tree(path);
  remove_tree(old);
}

/* The locator of an opening that closed says that there is no ring; a later one left one elsewhere. */
static void older_locator(const char *folder) {
  test("the locator of an opening that closed is put over that of one that was killed");
  const char *path = join(folder, "log"), *rings = join(folder, "rings"), *old = join(folder, "old");
  live(path, rings, 0, CLOSED);
  copy_file(join(path, "ring.at"), old);
  live(path, rings, 1, KILLED);
  const char *ring = ring_in(rings);
  REQUIRE(ring);
  copy_file(old, join(path, "ring.at"));
  weir_verification sums;
  CHECK_EQUAL(weir_verify(path, NULL, NULL, &sums, NULL), WEIR_OK);
  CHECK(sums.findings > 0);
  check_opened(path, rings);
  CHECK(access(ring, F_OK) == 0); /* no locator says whose it is: it is not removed */
  seen seen = look(path);
  check_events(&seen, 0, 1);
  check_events(&seen, 1, 0);
  remove_tree(path);
  remove_tree(rings);
}

/* ---- Another log's ring ------------------------------------------------------------------------------------------ */

/* So many openings before the last, in each of the two logs: then their offsets differ. */
static void swapped_rings(const char *folder, uint64_t before_one, uint64_t before_two) {
  static char name[160];
  snprintf(name, sizeof name, "the rings of two logs are swapped, of %" PRIu64 " and %" PRIu64 " openings",
           before_one + 1, before_two + 1);
  test(name);
  const char *paths[] = {join(folder, "one"), join(folder, "two")}, *aside = join(folder, "aside");
  const uint64_t before[] = {before_one, before_two};
  for (uint64_t log = 0; log < 2; log++) {
    for (uint64_t i = 0; i < before[log]; i++) live(paths[log], NULL, 2 + log, CLOSED);
    live(paths[log], NULL, log, KILLED);
  }
  REQUIRE(rename(join(paths[0], "ring"), aside) == 0);
  REQUIRE(rename(join(paths[1], "ring"), join(paths[0], "ring")) == 0);
  REQUIRE(rename(aside, join(paths[1], "ring")) == 0);
  for (uint64_t log = 0; log < 2; log++) {
    uint64_t checksum = checksum_of(join(paths[log], "ring"), paths[log]);
    weir_recovery recovery = recover_it(paths[log], NULL);
    check_report(&recovery);
    check_kept(paths[log], checksum);
  }
  for (uint64_t log = 0; log < 2; log++) {
    weir_reader *reader;
    weir_event event;
    weir_skip skip;
    uint64_t own = 0, others = 0;
    REQUIRE(weir_reader_open(paths[log], NULL, &reader, NULL) == WEIR_OK);
    while (weir_reader_next(reader, &event, &skip, NULL) == WEIR_OK) {
      found_event found;
      if (!name_is(&event, "numbered") || !CHECK(take_numbered(&event, &found))) continue;
      own += found.producer == log;
      others += found.producer == 1 - log;
    }
    weir_reader_close(reader);
    CHECK(own >= DRAINED && own <= EVENTS);
    CHECK_EQUAL(others, 0);
    remove_tree(paths[log]);
  }
}

/* Segments that somebody brought from a longer log say nothing of this log's ring. */
static void segments_of_another_log(const char *folder) {
  test("the segments of a longer log are put among those of a log that was killed: its ring is its own");
  const char *path = join(folder, "log"), *other = join(folder, "other");
  for (uint64_t i = 0; i < 3; i++) live(other, NULL, 2 + i, CLOSED);
  live(other, NULL, 5, KILLED);
  live(path, NULL, 1, KILLED);
  DIR *list = opendir(other);
  REQUIRE(list);
  uint64_t brought = 0;
  for (struct dirent *entry; (entry = readdir(list));) {
    /* Of segments alone, and not the first, whose name is taken. */
    if (!strstr(entry->d_name, ".weir") || strtoull(entry->d_name, NULL, 10) == 0) continue;
    copy_file(join(other, entry->d_name), join(path, entry->d_name));
    brought++;
  }
  closedir(list);
  CHECK_EQUAL(brought, 3);
  weir_recovery recovery = recover_it(path, NULL);
  CHECK_EQUAL(recovery.ring_replaced, 0);
  seen seen = look(path);
  CHECK_EQUAL(seen.holes, 0);
  check_events(&seen, 1, 1);
  for (uint64_t i = 2; i < PRODUCERS; i++) CHECK_EQUAL(seen.events[i], 0);
  remove_tree(path);
  remove_tree(other);
}

/* ---- Killed on the way ------------------------------------------------------------------------------------------- */

/* Opens in a child that is killed at the n-th call. Whether there was one before the opening returned. */
static int kill_at(const char *path, uint64_t nth) {
  *reached = 0;
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    weir_log *log;
    weir_fault_set("any", nth, 1, WEIR_FAULT_KILL);
    open_tiny(path, NULL, &log, NULL);
    *reached = weir_fault_count() < nth;
    kill(getpid(), SIGKILL);
  }
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
  return !*reached;
}

static void killed_on_the_way(const char *folder, const char *whole, const char *what) {
  static char name[160];
  snprintf(name, sizeof name, "%s, and the opening is killed at each of its calls", what);
  test(name);
  const char *path = join(folder, "struck");
  uint64_t nth = 1, missing = 0;
  for (; nth < MOST_CALLS; nth += 1 + random_below(10)) {
    REQUIRE(replay_copy(whole, path) == 0);
    uint64_t failed = checks_failed;
    int struck = kill_at(path, nth);
    recover_it(path, NULL);
    seen seen = look(path);
    CHECK_EQUAL(seen.holes, 1);
    missing += strcmp(seen.reason, "ring missing") == 0; /* the ring was put away, and the notice not yet written */
    CHECK(strcmp(seen.reason, REASON) == 0 || strcmp(seen.reason, "ring missing") == 0);
    CHECK_EQUAL(seen.skips, 0);
    check_events(&seen, 1, 0);
    CHECK_EQUAL(seen.events[0] % EVENTS, 0);
    CHECK(access(join(join(path, "quarantine"), "ring-0"), F_OK) == 0);
    remove_tree(path);
    if (checks_failed > failed) fprintf(stderr, "  at call %" PRIu64 "\n", nth);
    if (!struck) break;
  }
  CHECK(nth > 40 && nth < MOST_CALLS && missing > 0);
}

static void killed(const char *folder) {
  const char *whole = join(folder, "whole"), *old = join(folder, "old"), *other = join(folder, "other");
  live(whole, NULL, 0, KILLED);
  copy_file(join(whole, "ring"), old);
  live(whole, NULL, 1, KILLED);
  copy_file(old, join(whole, "ring"));
  killed_on_the_way(folder, whole, "the ring of an earlier opening is put over the log's");
  remove_tree(whole);
  for (int i = 0; i < 3; i++) live(other, NULL, 2, CLOSED);
  live(other, NULL, 0, KILLED);
  live(whole, NULL, 1, KILLED);
  copy_file(join(other, "ring"), join(whole, "ring"));
  killed_on_the_way(folder, whole, "the ring of a longer log is put over the log's");
  remove_tree(whole);
  remove_tree(other);
}

int main(void) {
  random_start("other_ring_cases");
  reached = mmap(NULL, sizeof *reached, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(reached != MAP_FAILED);
  char *folder = scratch();
  for (int first = 0; first < 2; first++) {
    for (int second = 0; second < 2; second++) older_ring(folder, (ending)first, (ending)second, 0);
  }
  older_ring(folder, KILLED, KILLED, 1);
  older_ring_without_successor(folder, 0);
  older_ring_without_successor(folder, 1);
  older_ring_of_nothing(folder);
  older_copy(folder);
  older_locator(folder);
  swapped_rings(folder, 0, 0);
  swapped_rings(folder, 0, 2);
  swapped_rings(folder, 3, 1);
  segments_of_another_log(folder);
  killed(folder);
  scratch_remove(folder);
  return finish();
}
