/*
 * recovery_cases.c: what a recovery costs (case 55), and what it does about damage: a damaged block, a ring that is
 * damaged, gone or vanished, a quarantine/ that is full. Work is counted, in calls through system.c and in bytes read,
 * so that nothing here depends on how busy the machine is.
 */
#include "capture_check.h"
#include "log_builder.h"

#include <dirent.h>
#include <sys/mman.h>

#include "directory/quarantine.h"
#include "system/system.h"

static const uint64_t no_lanes[BUILT_LANES];

/* ---- Counting ---------------------------------------------------------------------------------------------------- */

/* What one piece of work took, in a process of its own. In memory shared with it. */
typedef struct cost {
  uint64_t calls;      /* through system.c, of the operation asked for, or any */
  uint64_t bytes_read;
  uint64_t peak;       /* bytes of memory above what there was before */
  uint64_t events;
  int can_read, can_peak;
} cost;
static cost *cost_shared;

/* The number after `key` in a file of /proc; 0 where there is none. */
static uint64_t proc_value(const char *path, const char *key) {
  char line[256];
  uint64_t value = 0;
  FILE *file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file)) {
    if (strncmp(line, key, strlen(key)) == 0) value = strtoull(line + strlen(key), NULL, 10);
  }
  if (file) fclose(file);
  return value;
}

typedef void (*work)(const char *path);

static cost measure(const char *path, const char *operation, work work) {
  *cost_shared = (cost){0};
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    cost_shared->can_peak = fd >= 0 && write(fd, "5", 1) == 1;
    uint64_t before = proc_value("/proc/self/status", "VmRSS:"), read = proc_value("/proc/self/io", "rchar:");
    cost_shared->can_read = read > 0;
    weir_fault_set(operation, UINT64_MAX, 0, 0);
    work(path);
    cost_shared->calls = weir_fault_count();
    weir_fault_set(NULL, 0, 0, 0);
    cost_shared->bytes_read = proc_value("/proc/self/io", "rchar:") - read;
    uint64_t peak = proc_value("/proc/self/status", "VmHWM:");
    cost_shared->peak = peak > before ? (peak - before) * 1024 : 0;
    kill(getpid(), SIGKILL);
  }
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
  return *cost_shared;
}

/* ---- Logs -------------------------------------------------------------------------------------------------------- */

/* Writes segments of one block each, the event's value its offset; `active` from that segment on. */
static void build_segments(const char *path, uint64_t count, uint64_t active, uint64_t blocks) {
  REQUIRE(mkdir(path, 0700) == 0);
  built previous = {0}, file;
  uint64_t position = 0, offset = 0, base_before = 0;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t base = offset;
    uint64_t drained[BUILT_LANES] = {position};
    built_begin(&file, 77, base, drained, i > 0 ? &previous : NULL, base_before);
    built_define(&file);
    for (uint64_t block = 0; block < blocks; block++) {
      uint32_t events = blocks > 1 ? 50 : 1;
      built_events(&file, 0, &position, offset, events);
      offset += events;
    }
    if (i < active) built_seal(&file);
    char name[64];
    snprintf(name, sizeof name, "%020" PRIu64 ".weir%s", base, i < active ? "" : ".active");
    write_file(join(path, name), file.bytes, file.count);
    free(previous.bytes);
    previous = file;
    base_before = base;
  }
  free(previous.bytes);
}

/* Opens with everything small. */
static weir_status open_tiny(const char *path, const char *ring, uint64_t interval_ns, weir_log **log,
                             weir_recovery *recovery) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 3;
  options.spare_lanes = 1;
  options.lane_bytes = 8192;
  options.overflow_bytes = 2 * options.lane_bytes;
  options.max_event_bytes = 1024;
  options.segment_bytes = 139264;
  options.full_wait_ns = UINT64_MAX;
  options.ring_directory = ring;
  if (interval_ns > 0) options.drain_interval_ns = interval_ns;
  weir_error error;
  weir_status status = weir_open(path, &options, log, recovery, &error);
  if (status != WEIR_OK && getenv("WEIR_VERBOSE")) fprintf(stderr, "  %s\n", error.message);
  return status;
}

/* Opens and closes. */
static weir_recovery recover_it(const char *path) {
  weir_recovery recovery = {0};
  weir_log *log = NULL;
  if (CHECK_EQUAL(open_tiny(path, NULL, 0, &log, &recovery), WEIR_OK)) weir_free(log);
  return recovery;
}

static void open_it(const char *path) {
  weir_recovery recovery;
  weir_log *log;
  if (open_tiny(path, NULL, 0, &log, &recovery) != WEIR_OK) _exit(1);
  cost_shared->events = recovery.events_in_segments + recovery.events_from_lanes;
}

/* A writer that captures a little, some of it drained, and is killed. */
static void write_and_die(const char *path) {
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    weir_log *log;
    weir_error error;
    if (open_tiny(path, NULL, 0, &log, NULL) != WEIR_OK) _exit(1);
    uint32_t type = define_numbered(log);
    for (uint64_t i = 0; i < 200; i++) capture_numbered(log, type, 0, i, 30, NULL);
    if (weir_drain(log, UINT64_MAX, NULL, &error) != WEIR_OK) _exit(2);
    for (uint64_t i = 200; i < 210; i++) capture_numbered(log, type, 0, i, 30, NULL);
    kill(getpid(), SIGKILL);
  }
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
}

/* ---- Case 55 ----------------------------------------------------------------------------------------------------- */

static uint64_t wanted_offset;

static void read_one(const char *path) {
  weir_reader_options options;
  weir_reader_options_init(&options);
  options.from_offset = wanted_offset;
  weir_reader *reader;
  weir_event event;
  weir_skip skip;
  weir_error error;
  if (weir_reader_open(path, &options, &reader, &error) != WEIR_OK) _exit(1);
  if (weir_reader_next(reader, &event, &skip, &error) != WEIR_OK || event.offset != wanted_offset) _exit(2);
}

static void read_all(const char *path) {
  weir_reader *reader;
  weir_event event;
  weir_skip skip;
  weir_error error;
  weir_status status;
  if (weir_reader_open(path, NULL, &reader, &error) != WEIR_OK) _exit(1);
  while ((status = weir_reader_next(reader, &event, &skip, &error)) == WEIR_OK) cost_shared->events++;
  if (status != WEIR_END) _exit(2);
}

static void sum_up(const char *path) {
  weir_stat stat;
  weir_error error;
  if (weir_stat_directory(path, &stat, &error) != WEIR_OK || stat.damaged) _exit(1);
  cost_shared->events = stat.events;
}

/* `most` is the most that `cost` may have above `least`. */
static void check_cost(const cost *cost, const struct cost *least, uint64_t calls, uint64_t bytes, uint64_t memory) {
  CHECK(cost->calls <= least->calls + calls);
  if (cost->can_read) CHECK(cost->bytes_read <= least->bytes_read + bytes);
  if (cost->can_peak) CHECK(cost->peak <= least->peak + memory);
  if (getenv("WEIR_VERBOSE")) {
    fprintf(stderr, "  %" PRIu64 " calls, %" PRIu64 " bytes read, %" PRIu64 " KiB at the peak; the least %" PRIu64
            ", %" PRIu64 ", %" PRIu64 "\n", cost->calls, cost->bytes_read, cost->peak >> 10, least->calls,
            least->bytes_read, least->peak >> 10);
  }
}

static void bounded_work(const char *folder) {
  static const uint64_t counts[] = {1, 100, 10000};
  cost opened[3], first[3], summed[3];
  for (int i = 0; i < 3; i++) {
    char name[32];
    snprintf(name, sizeof name, "log-%" PRIu64, counts[i]);
    char *path = strdup(join(folder, name));
    build_segments(path, counts[i], counts[i], 1);
    write_and_die(path); /* the first opening, which also says that there is no ring */

    test("case 55: a reader finds its segment among 1, 100 and 10,000 without opening them");
    wanted_offset = counts[i] / 2;
    first[i] = measure(path, "sys_open_read", read_one);
    check_cost(&first[i], &first[0], 4, 65536, (256 << 10) + counts[i] * 200);

    test("case 55: reading all of 1, 100 and 10,000 segments lists them now and then, not at each");
    cost all = measure(path, "sys_list", read_all);
    CHECK(all.events >= counts[i] + 210);
    CHECK(all.calls <= counts[i] / 256 + 16);

    test("case 55: summing up 1, 100 and 10,000 segments opens each once, and holds no more than their names");
    summed[i] = measure(path, "sys_open_read", sum_up);
    CHECK_EQUAL(summed[i].events, counts[i] + 200);
    check_cost(&summed[i], &summed[0], counts[i] + 16, counts[i] * 8192, (256 << 10) + counts[i] * 200);

    test("case 55: reopening with 1, 100 and 10,000 segments takes the same calls, bytes and memory");
    opened[i] = measure(path, "any", open_it);
    CHECK_EQUAL(opened[i].events, 210);
    if (!opened[i].can_read) printf("SKIPPED: the bytes read, because /proc/self/io does not tell them\n");
    if (!opened[i].can_peak) printf("SKIPPED: the peak of memory, because /proc/self/clear_refs can't reset it\n");
    /* Calls by the log's own threads may or may not be over; one that looked into each segment makes thousands. */
    check_cost(&opened[i], &opened[0], 24, 65536, 256 << 10);
    remove_tree(path);
    free(path);
  }
}

static void bounded_memory(const char *folder) {
  test("case 55: recovering 64 segments that were not sealed takes the memory of recovering 2");
  cost costs[2];
  for (int i = 0; i < 2; i++) {
    uint64_t count = i == 0 ? 2 : 64;
    char *path = strdup(join(folder, i == 0 ? "few" : "many"));
    build_segments(path, count, 0, 100);
    costs[i] = measure(path, "any", open_it);
    CHECK_EQUAL(costs[i].events, count * 100 * 50);
    remove_tree(path);
    free(path);
  }
  if (!costs[0].can_peak) printf("SKIPPED: the peak of memory, because /proc/self/clear_refs can't reset it\n");
  /* 4 KiB a segment: its sums and the definitions for its seal. */
  check_cost(&costs[1], &costs[0], 62 * 32, UINT64_MAX / 2, 512 << 10);
}

/* ---- Damage ------------------------------------------------------------------------------------------------------ */

static uint64_t entries(const char *path) {
  DIR *list = opendir(path);
  uint64_t count = 0;
  for (struct dirent *entry; list && (entry = readdir(list));) count += entry->d_name[0] != '.';
  if (list) closedir(list);
  return count;
}

/* A whole small file, as text. */
static void read_text(const char *path, char *text, uint64_t room) {
  memset(text, 0, room);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (!CHECK(fd >= 0)) return;
  CHECK(read(fd, text, room - 1) > 0);
  close(fd);
}

enum { BLOCKS = 5, DAMAGED = 2 };
static uint64_t block_at, block_bytes;

/* One unsealed segment of BLOCKS blocks of 50 events, one of which has a flipped bit in its payload. */
static void build_damaged(const char *path) {
  remove_tree(path);
  REQUIRE(mkdir(path, 0700) == 0);
  built file;
  uint64_t position = 0;
  built_begin(&file, 77, 0, no_lanes, NULL, 0);
  built_define(&file);
  for (uint64_t block = 0; block < BLOCKS; block++) {
    uint64_t at = file.count;
    built_events(&file, 0, &position, block * 50, 50);
    if (block != DAMAGED) continue;
    block_at = at;
    block_bytes = file.count - at;
    file.bytes[at + 1000] ^= 4;
  }
  write_file(join(path, "00000000000000000000.weir.active"), file.bytes, file.count);
  built_free(&file);
}

/* Everything but the damaged block's events is there, and its bytes are in quarantine/, with a note. */
static void check_damaged(const char *path) {
  weir_reader *reader;
  weir_event event;
  weir_skip skip;
  weir_error error;
  weir_status status;
  uint64_t events = 0, missing = 0;
  REQUIRE(weir_reader_open(path, NULL, &reader, &error) == WEIR_OK);
  while ((status = weir_reader_next(reader, &event, &skip, &error)) <= WEIR_SKIPPED && status != WEIR_END) {
    if (status == WEIR_OK) events += event.type == BUILT_TYPE;
    if (status == WEIR_SKIPPED && skip.count > 0) {
      CHECK_EQUAL(skip.first_offset, DAMAGED * 50);
      missing += skip.count;
    }
  }
  weir_reader_close(reader);
  CHECK_EQUAL(status, WEIR_END);
  CHECK_EQUAL(events, (BLOCKS - 1) * 50);
  CHECK_EQUAL(missing, 50);
  const char *quarantine = join(path, QUARANTINE_NAME);
  CHECK_EQUAL(entries(quarantine), 2);
  char name[100], text[1024], wanted[300];
  snprintf(name, sizeof name, "block-%020d-%" PRIu64, 0, block_at);
  struct stat status_of_copy;
  CHECK(stat(join(quarantine, name), &status_of_copy) == 0);
  CHECK_EQUAL(status_of_copy.st_size, block_bytes);
  strcat(name, ".json");
  read_text(join(quarantine, name), text, sizeof text);
  snprintf(wanted, sizeof wanted,
           "{\n  \"file\": \"00000000000000000000.weir.active\",\n  \"position\": %" PRIu64 ",\n  \"bytes\": %" PRIu64
           ",\n  \"first_missing_offset\": %d,\n  \"missing_offsets\": 50,\n"
           "  \"reason\": \"block checksum does not match\",\n  \"time_ns\": ", block_at, block_bytes, DAMAGED * 50);
  CHECK(strncmp(text, wanted, strlen(wanted)) == 0);
}

/* Opens in a child whose n-th call of the system is struck. Answers whether it got to the end without that. */
static int open_struck(const char *path, const char *ring, uint64_t nth, int fault, weir_status *status) {
  cost_shared->events = 0;
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    weir_log *log;
    weir_fault_set("any", nth, 1, fault);
    cost_shared->calls = (uint64_t)open_tiny(path, ring, 0, &log, NULL);
    cost_shared->events = weir_fault_count() < nth;
    kill(getpid(), SIGKILL);
  }
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
  if (status) *status = (weir_status)cost_shared->calls;
  return cost_shared->events != 0;
}

static void damage_in_the_middle(const char *folder) {
  const char *path = strdup(join(folder, "damaged"));
  test("damage in the middle costs its block, whose bytes quarantine/ keeps with the reason");
  build_damaged(path);
  weir_recovery recovery = recover_it(path);
  CHECK_EQUAL(recovery.damaged_blocks, 1);
  CHECK_EQUAL(recovery.damaged_bytes, block_bytes);
  CHECK_EQUAL(recovery.missing_events, 50);
  CHECK_EQUAL(recovery.unkept_bytes, 0);
  CHECK_EQUAL(recovery.events_in_segments, (BLOCKS - 1) * 50);
  check_damaged(path);

  test("the same, killed at each call of the system");
  int over = 0;
  for (uint64_t nth = 1; !over && nth < 1000; nth++) {
    build_damaged(path);
    over = open_struck(path, NULL, nth, WEIR_FAULT_KILL, NULL);
    recover_it(path);
    check_damaged(path);
  }
  CHECK(over);

  test("the same, the disk full at each call of the system");
  over = 0;
  for (uint64_t nth = 1; !over && nth < 1000; nth++) {
    build_damaged(path);
    weir_status status;
    over = open_struck(path, NULL, nth, ENOSPC, &status);
    /* Where memory is asked for, the error that is injected says that there is none. */
    CHECK(status == WEIR_OK || status == WEIR_ERROR_NO_SPACE || status == WEIR_ERROR_MEMORY);
    recover_it(path);
    check_damaged(path);
  }
  CHECK(over);
  remove_tree(path);
}

static void full_quarantine(const char *folder) {
  test("a full quarantine/ takes no more copies: counted, and the log opens");
  const char *path = strdup(join(folder, "full")), *quarantine = strdup(join(path, QUARANTINE_NAME));
  build_damaged(path);
  REQUIRE(mkdir(quarantine, 0700) == 0);
  for (int i = 0; i < QUARANTINE_MOST_ENTRIES - 1; i++) {
    char name[32];
    snprintf(name, sizeof name, "old-%d", i);
    write_file(join(quarantine, name), "x", 1);
  }
  write_file(join(path, "00000000000000009000.weir"), "somebody's", 10);
  write_file(join(path, "ring"), "damaged", 7);
  weir_recovery recovery = recover_it(path);
  CHECK_EQUAL(recovery.damaged_bytes, block_bytes);
  CHECK_EQUAL(recovery.unkept_bytes, block_bytes + 7);
  CHECK_EQUAL(recovery.ring_replaced, 1);
  /* Somebody else's file is moved all the same, with a note: its name is needed, and moving takes no space. */
  CHECK_EQUAL(entries(quarantine), QUARANTINE_MOST_ENTRIES - 1 + 2);
  char text[300];
  read_text(join(quarantine, "00000000000000009000.weir-0"), text, sizeof text);
  CHECK(strcmp(text, "somebody's") == 0);

  test("one entry less, and there is room");
  build_damaged(path);
  REQUIRE(mkdir(quarantine, 0700) == 0);
  for (int i = 0; i < QUARANTINE_MOST_ENTRIES - 2; i++) {
    char name[32];
    snprintf(name, sizeof name, "old-%d", i);
    write_file(join(quarantine, name), "x", 1);
  }
  recovery = recover_it(path);
  CHECK_EQUAL(recovery.unkept_bytes, 0);
  CHECK_EQUAL(entries(quarantine), QUARANTINE_MOST_ENTRIES);
  remove_tree(path);
}

/* ---- Rings that are lost ----------------------------------------------------------------------------------------- */

typedef struct notices {
  uint64_t holes;    /* of a ring as a whole */
  uint64_t events;
  uint64_t skips;
  char reason[64];
} notices;

static notices read_notices(const char *path) {
  notices found = {0};
  weir_reader *reader;
  weir_event event;
  weir_skip skip;
  weir_error error;
  weir_status status;
  REQUIRE(weir_reader_open(path, NULL, &reader, &error) == WEIR_OK);
  while ((status = weir_reader_next(reader, &event, &skip, &error)) <= WEIR_SKIPPED && status != WEIR_END) {
    found.skips += status == WEIR_SKIPPED;
    if (status != WEIR_OK) continue;
    found.events += event.type >= WEIR_TYPE_FIRST;
    uint32_t bytes, lane;
    if (event.type != WEIR_TYPE_HOLE) continue;
    memcpy(&bytes, event.payload, 4);
    CHECK(bytes < sizeof found.reason && bytes + 8 <= event.payload_bytes);
    memcpy(&lane, event.payload + 4 + bytes, 4);
    if (lane != NOTICE_LANE) continue;
    found.holes++;
    memcpy(found.reason, event.payload + 4, bytes);
    found.reason[bytes] = 0;
  }
  CHECK_EQUAL(status, WEIR_END);
  weir_reader_close(reader);
  return found;
}

typedef enum loss { DAMAGED_RING, MISSING_RING, DAMAGED_ELSEWHERE, VANISHED_RING, DAMAGED_LOCATOR, LOSSES } loss;
static const char *const reasons[] = {"ring damaged", "ring missing", "ring damaged", "ring vanished", "ring damaged"};

static const char *named_ring(const char *directory) {
  DIR *list = opendir(directory);
  REQUIRE(list);
  const char *found = NULL;
  for (struct dirent *entry; (entry = readdir(list));) {
    if (entry->d_name[0] == 'w') found = join(directory, entry->d_name);
  }
  closedir(list);
  REQUIRE(found);
  return found;
}

static void flip(const char *path) {
  uint8_t byte;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  REQUIRE(fd >= 0 && pread(fd, &byte, 1, 40) == 1);
  close(fd);
  byte ^= 'x';
  overwrite(path, 40, &byte, 1);
}

/* A log whose writer was killed, and whose ring then came to harm. `drained`: some of its events are in a segment. */
static void lose(const char *path, const char *rings, loss loss, int drained) {
  remove_tree(path);
  remove_tree(rings);
  int elsewhere = loss >= DAMAGED_ELSEWHERE;
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    weir_log *log;
    weir_error error;
    if (open_tiny(path, elsewhere ? rings : NULL, UINT64_C(10000000000), &log, NULL) != WEIR_OK) _exit(1);
    uint32_t type = define_numbered(log);
    for (uint64_t i = 0; drained && i < 20; i++) capture_numbered(log, type, 0, i, 30, NULL);
    if (drained && weir_drain(log, UINT64_MAX, NULL, &error) != WEIR_OK) _exit(2);
    for (uint64_t i = 20; i < 30; i++) capture_numbered(log, type, 0, i, 30, NULL);
    kill(getpid(), SIGKILL);
  }
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
  switch (loss) {
    case DAMAGED_RING: flip(join(path, "ring")); break;
    case MISSING_RING: REQUIRE(unlink(join(path, "ring")) == 0); break;
    case DAMAGED_ELSEWHERE: flip(named_ring(rings)); break;
    case VANISHED_RING: REQUIRE(unlink(named_ring(rings)) == 0); break;
    default: flip(join(path, "ring.at")); break;
  }
}

static void check_told(const char *path, loss loss, int drained) {
  notices found = read_notices(path);
  if (!drained && loss == MISSING_RING && found.holes == 0) return; /* nothing says that there ever was one */
  CHECK_EQUAL(found.holes, 1);
  CHECK(strcmp(found.reason, reasons[loss]) == 0);
  uint64_t least = drained ? 20 : 0;
  CHECK(found.events >= least && found.events <= least + 10); /* there may be a pass before the drainer's first nap */
  CHECK_EQUAL(found.skips, 0);
  weir_verification sums;
  weir_error error;
  CHECK_EQUAL(weir_verify(path, NULL, NULL, &sums, &error), WEIR_OK);
  CHECK_EQUAL(sums.findings, 0);
}

/* What the next opening reports after one that was struck at its n-th call. Answers whether that came to its end. */
static int lose_and_strike(const char *path, const char *rings, loss loss, int drained, uint64_t nth) {
  lose(path, rings, loss, drained);
  const char *ring = loss >= DAMAGED_ELSEWHERE ? rings : NULL;
  int over = open_struck(path, ring, nth, WEIR_FAULT_KILL, NULL);
  weir_recovery recovery = recover_it(path);
  check_told(path, loss, drained);
  /* Where the struck opening had its own ring in force, the log alone tells of the loss. */
  int new_ring = recovery.previous_opening != 0 && !recovery.ring_vanished;
  int nothing = !drained && loss == MISSING_RING;
  CHECK(recovery.ring_replaced || new_ring || nothing);
  return over;
}

static void lost_rings(const char *folder) {
  const char *path = strdup(join(folder, "lost")), *rings = strdup(join(folder, "rings"));
  for (int loss = 0; loss < LOSSES; loss++) {
    for (int drained = 0; drained < 2; drained++) {
      static char name[100];
      snprintf(name, sizeof name, "%s (%d): the log says so once, whichever call of the recovery is the last",
               reasons[loss], drained);
      test(name);
      int over = 0;
      for (uint64_t nth = 1; !over && nth < 1000; nth++) over = lose_and_strike(path, rings, loss, drained, nth);
      CHECK(over);
    }
  }
  remove_tree(path);
  remove_tree(rings);
}

int main(void) {
  random_start("recovery_cases");
  cost_shared = mmap(NULL, sizeof *cost_shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(cost_shared != MAP_FAILED);
  char *folder = scratch();
  bounded_work(folder);
  bounded_memory(folder);
  damage_in_the_middle(folder);
  full_quarantine(folder);
  lost_rings(folder);
  scratch_remove(folder);
  return finish();
}
