/*
 * follow_test.c: following a log while it is written: many processes at once, through the rolling of small segments,
 * the writer's deaths and returns, and the removal of segments; waiting for more, and what waiting costs; and that a
 * reader leaves no trace and stands in nobody's way.
 */
#include "capture_check.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "directory/segment_list.h"
#include "directory/log_start.h"
#include "system/system.h"
#include "drainer.h"

enum { READERS = 8, LIVES = 8, THREADS = 2, FILLER = 400 };

/* What writers and readers tell each other and the test, in memory that outlives them. */
typedef struct shared {
  _Atomic uint64_t accepted[LIVES][THREADS]; /* told right after a capture returned */
  _Atomic uint64_t segments;                 /* begun by all writers together, those killed left out */
  _Atomic uint64_t finished; /* the last writer has closed the log: the offset after its last event */
  struct {
    _Atomic uint32_t state;  /* 0: not ready, 1: it follows, 2: it has read to the end */
    uint64_t seen[LIVES][THREADS];
    _Atomic uint64_t waits; /* had nothing to read */
    uint64_t wrong, disorder, skips, written;
    char problem[256];
  } readers[READERS];
} shared;

static shared *share(void) {
  shared *made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(made != MAP_FAILED);
  return made;
}

/* The smallest segments there are: a few hundred events each. */
static weir_log *open_rolling(const char *path) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 4;
  options.spare_lanes = 1;
  options.lane_bytes = 8192;
  options.max_event_bytes = 1024;
  options.segment_bytes = 140000;
  options.full_wait_ns = UINT64_MAX;
  options.drain_interval_ns = 100000;
  weir_log *log = NULL;
  weir_error error;
  if (!CHECK_EQUAL(weir_open(path, &options, &log, NULL, &error), WEIR_OK)) fprintf(stderr, "%s\n", error.message);
  REQUIRE(log);
  return log;
}

static weir_reader *open_reader(const char *path) {
  weir_reader *reader = NULL;
  weir_error error;
  if (!CHECK_EQUAL(weir_reader_open(path, NULL, &reader, &error), WEIR_OK)) fprintf(stderr, "%s\n", error.message);
  REQUIRE(reader);
  return reader;
}

/* ---- Eight processes behind a writer that dies ------------------------------------------------------------------- */

typedef struct producer {
  weir_log *log;
  _Atomic uint64_t *accepted;
  uint32_t type, number;
  uint64_t events;
} producer;

static void *produce(void *context) {
  producer *self = context;
  for (uint64_t i = 0; i < self->events; i++) {
    if (capture_numbered(self->log, self->type, self->number, i, i * 37 % FILLER, NULL) != WEIR_ACCEPTED) _exit(3);
    atomic_store(self->accepted, i + 1);
  }
  return NULL;
}

/* One life: captures until it is killed, or, the last one, some thousand events and an orderly end. */
static void write_life(const char *path, shared *shared, uint32_t life) {
  weir_log *log = open_rolling(path);
  producer producers[THREADS];
  pthread_t threads[THREADS];
  uint32_t type = define_numbered(log);
  int last = life == LIVES - 1;
  for (uint32_t i = 0; i < THREADS; i++) {
    producers[i] = (producer){log, &shared->accepted[life][i], type, life * THREADS + i, last ? 20000 : UINT64_MAX};
    if (pthread_create(&threads[i], NULL, produce, &producers[i]) != 0) _exit(2);
  }
  for (uint32_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  weir_error error;
  weir_counters counters;
  if (weir_drain(log, UINT64_MAX, NULL, &error) != WEIR_OK) _exit(4);
  weir_count(log, &counters);
  for (int reason = 0; reason < WEIR_DROP_REASONS; reason++) {
    if (counters.dropped[reason] != 0) _exit(5);
  }
  if (counters.accepted != 40000 || counters.drained != counters.accepted) _exit(6);
  shared->segments = counters.segments;
  weir_free(log);
  atomic_store(&shared->finished, counters.next_offset);
  _exit(0);
}

/* Bytes that this process has given to write calls. */
static uint64_t bytes_written(void) {
  unsigned long long bytes = UINT64_MAX;
  char line[128];
  FILE *file = fopen("/proc/self/io", "r");
  while (file && fgets(line, sizeof line, file)) sscanf(line, "wchar: %llu", &bytes);
  if (file) fclose(file);
  return bytes;
}

static void read_life(const char *path, shared *shared, uint32_t number) {
  uint64_t written = bytes_written(), next = 0, limit = now_ns() + HANG_NS;
  weir_reader *reader = open_reader(path);
  __typeof__(&shared->readers[0]) told = &shared->readers[number];
  told->state = 1;
  for (uint64_t end = 0; now_ns() < limit;) {
    weir_event event;
    weir_skip skip;
    weir_error error;
    /* Asked before the reader is: what was captured by then it must give. */
    if (end == 0) end = atomic_load(&shared->finished);
    weir_status status = weir_reader_next(reader, &event, &skip, &error);
    if (status == WEIR_OK) {
      found_event one;
      told->disorder += event.offset < next;
      next = event.offset + 1;
      if (event.type == WEIR_TYPE_GAP) continue;
      if (!take_numbered(&event, &one) || one.producer >= LIVES * THREADS ||
          one.number != told->seen[one.producer / THREADS][one.producer % THREADS]) {
        told->wrong++; /* not whole, twice, left out, or out of order */
      } else {
        told->seen[one.producer / THREADS][one.producer % THREADS]++;
      }
    } else if (status == WEIR_SKIPPED) {
      if (told->skips++ == 0) snprintf(told->problem, sizeof told->problem, "%s: %s", skip.file, skip.reason);
    } else if (status != WEIR_END) {
      snprintf(told->problem, sizeof told->problem, "%.250s", error.message);
      break;
    } else if (end > 0) {
      told->state = 2;
      break;
    } else {
      told->waits++;
      weir_reader_wait(reader, 100000000);
    }
  }
  weir_reader_close(reader);
  told->written = bytes_written() - written;
  _exit(0);
}

/* What a process holds of a log: descriptors other than for reading, locks, and mappings. `seen` counts descriptors. */
static uint64_t count_holds(pid_t process, const char *path, uint64_t *seen) {
  char folder[64], name[512], target[4096], line[4200];
  uint64_t holds = 0;
  snprintf(folder, sizeof folder, "/proc/%d/fd", process);
  DIR *list = opendir(folder);
  for (struct dirent *entry; list && (entry = readdir(list));) {
    snprintf(name, sizeof name, "/proc/%d/fd/%s", process, entry->d_name);
    ssize_t bytes = readlink(name, target, sizeof target - 1);
    if (bytes <= 0) continue;
    target[bytes] = 0;
    if (strncmp(target, path, strlen(path)) != 0) continue;
    ++*seen;
    snprintf(name, sizeof name, "/proc/%d/fdinfo/%s", process, entry->d_name);
    FILE *file = fopen(name, "r");
    unsigned flags;
    while (file && fgets(line, sizeof line, file)) {
      if (sscanf(line, "flags: %o", &flags) == 1) holds += (flags & O_ACCMODE) != O_RDONLY;
      holds += strncmp(line, "lock:", 5) == 0;
    }
    if (file) fclose(file);
  }
  if (list) closedir(list);
  snprintf(name, sizeof name, "/proc/%d/maps", process);
  FILE *file = fopen(name, "r");
  while (file && fgets(line, sizeof line, file)) holds += strstr(line, path) != NULL;
  if (file) fclose(file);
  return holds;
}

static void test_many_followers(void) {
  test("eight processes follow a writer that rolls small segments and dies: all see every event once and in order");
  char *path = scratch();
  shared *shared = share();
  close_and_free(open_rolling(path));
  pid_t readers[READERS];
  for (uint32_t i = 0; i < READERS; i++) {
    readers[i] = fork();
    REQUIRE(readers[i] >= 0);
    if (readers[i] == 0) read_life(path, shared, i);
  }
  uint64_t holds = 0, looked_at = 0;
  for (uint32_t life = 0; life < LIVES; life++) {
    if (life == LIVES - 1) { /* by now all of them have seen a dead log's end, and what they hold has been looked at */
      for (uint32_t i = 0; i < READERS; i++) CHECK_AWAIT(shared->readers[i].waits > 0);
      CHECK_AWAIT((holds += count_holds(readers[random_below(READERS)], path, &looked_at), looked_at > 0));
    }
    pid_t writer = fork();
    REQUIRE(writer >= 0);
    if (writer == 0) write_life(path, shared, life);
    if (life == LIVES - 1) {
      CHECK_EQUAL(wait_for(writer), 0);
      break;
    }
    /* Of some lives the writer dies before its first event, of others after many segments. */
    uint64_t until = now_ns() + random_below(life % 3 == 0 ? 5000000 : 300000000);
    while (now_ns() < until) {
      holds += count_holds(readers[random_below(READERS)], path, &looked_at);
      sleep_ns(1000000);
    }
    kill(writer, SIGKILL);
    CHECK_EQUAL(wait_for(writer), 1000 + SIGKILL);
    if (life % 2 == 0) sleep_ns(random_below(100000000)); /* time to see the dead log, or none */
  }
  for (uint32_t i = 0; i < READERS; i++) CHECK_EQUAL(wait_for(readers[i]), 0);
  CHECK_EQUAL(holds, 0);
  CHECK(shared->segments > 10);
  found_log whole = read_log(path);
  check_sound(&whole);
  for (uint32_t life = 0; life < LIVES; life++) {
    for (uint32_t thread = 0; thread < THREADS; thread++) {
      uint64_t there = check_producer(&whole, life * THREADS + thread);
      CHECK(there >= shared->accepted[life][thread]);
      for (uint32_t i = 0; i < READERS; i++) CHECK_EQUAL(shared->readers[i].seen[life][thread], there);
    }
  }
  for (uint32_t i = 0; i < READERS; i++) {
    __typeof__(&shared->readers[0]) told = &shared->readers[i];
    if (!CHECK_EQUAL(told->state, 2) | !CHECK_EQUAL(told->wrong + told->disorder, 0) | !CHECK_EQUAL(told->skips, 0)) {
      fprintf(stderr, "  reader %u: %s\n", i, told->problem);
    }
    CHECK_EQUAL(told->written, 0);
  }
  found_free(&whole);
  munmap(shared, sizeof *shared);
  scratch_remove(path);
}

/* ---- A look at the end that recovery meets ----------------------------------------------------------------------- */

/* Called before each read of a file; the reads of this process are counted down to it. */
static void (*meeting)(void);
static uint64_t reads_left;
static const char *met_path;

ssize_t pread(int fd, void *bytes, size_t count, off_t at) {
  if (meeting && reads_left-- == 0) {
    void (*call)(void) = meeting;
    meeting = NULL;
    call();
  }
  return syscall(SYS_pread64, fd, bytes, count, at);
}

/* Runs `body` in a child. */
static pid_t in_child(void (*body)(void)) {
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    meeting = NULL;
    body();
    _exit(0);
  }
  return child;
}

static void write_and_die(void) {
  weir_log *log = open_rolling(met_path);
  weir_error error;
  uint32_t type = define_numbered(log);
  for (uint64_t i = 0; i < 20; i++) capture_numbered(log, type, 0, i, 0, NULL);
  if (weir_drain(log, UINT64_MAX, NULL, &error) == WEIR_OK) kill(getpid(), SIGKILL);
}

static void reopen(void) { close_and_free(open_rolling(met_path)); }

static void recover_meanwhile(void) { CHECK_EQUAL(wait_for(in_child(reopen)), 0); }

/* Reads on to the end, from this number on; returns the number after the last one. Nothing may be passed over. */
static uint64_t read_in_order(weir_reader *reader, uint64_t next) {
  weir_event event;
  weir_skip skip;
  weir_error error;
  weir_status status;
  while ((status = weir_reader_next(reader, &event, &skip, &error)) != WEIR_END) {
    found_event one;
    if (!CHECK_EQUAL(status, WEIR_OK)) {
      fprintf(stderr, "%s\n", status == WEIR_SKIPPED ? skip.reason : error.message);
      if (status != WEIR_SKIPPED) break;
    } else if (event.type >= WEIR_TYPE_FIRST) {
      CHECK(take_numbered(&event, &one) && one.number == next++);
    }
  }
  return next;
}

static void test_recovery_meets_reader(void) {
  test("a reader that is at a dead log's end while that is recovered, at each of its reads, sees every event once");
  uint64_t reads = 0;
  for (uint64_t met = 1; met; reads++) {
    char *path = scratch();
    met_path = path;
    CHECK_EQUAL(wait_for(in_child(write_and_die)), 1000 + SIGKILL);
    weir_reader *reader = open_reader(path);
    meeting = recover_meanwhile;
    reads_left = reads;
    uint64_t next = read_in_order(reader, 0);
    met = !meeting;
    meeting = NULL;
    CHECK_EQUAL(read_in_order(reader, next), 20);
    weir_reader_close(reader);
    scratch_remove(path);
  }
  CHECK(reads > 5);
}

/* ---- Alone ------------------------------------------------------------------------------------------------------- */

/* Reads on to the end: how many events of ours there were, and what was passed over in `*missing`. */
static uint64_t read_on(weir_reader *reader, uint64_t most, uint64_t *missing) {
  weir_event event;
  weir_skip skip;
  weir_error error;
  uint64_t events = 0;
  *missing = 0;
  while (events < most) {
    weir_status status = weir_reader_next(reader, &event, &skip, &error);
    if (status == WEIR_OK) events += event.type >= WEIR_TYPE_FIRST;
    else if (status == WEIR_SKIPPED) *missing += skip.count;
    else {
      if (!CHECK_EQUAL(status, WEIR_END)) fprintf(stderr, "%s\n", error.message);
      break;
    }
  }
  return events;
}

static void capture_some(weir_log *log, uint32_t type, uint64_t first, uint64_t count) {
  for (uint64_t i = first; i < first + count; i++) {
    CHECK_EQUAL(capture_numbered(log, type, 0, i, FILLER, NULL), WEIR_ACCEPTED);
  }
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
}

/* Waits until a writer has begun a segment; a dead one's, which may be there already, goes when it is recovered. */
static void await_segment(const char *path) {
  const char *active = join(path, "00000000000000000000.weir.active");
  int lock = open(join(path, "lock"), O_RDONLY | O_CLOEXEC);
  REQUIRE(lock >= 0);
  struct stat status;
  while (!sys_is_locked(lock)) sleep_ns(100000);
  ino_t before = stat(active, &status) == 0 ? status.st_ino : 0;
  for (int i = 0; i < 100 && (stat(active, &status) != 0 || status.st_ino == before); i++) sleep_ns(100000);
  while (stat(active, &status) != 0) sleep_ns(100000);
  close(lock);
}

static void test_idle_deaths(void) {
  test("a writer that opens and dies many times without an event is followed to its next one");
  char *path = scratch();
  close_and_free(open_rolling(path));
  weir_reader *reader = open_reader(path);
  uint64_t missing;
  for (int i = 0; i < 40; i++) {
    pid_t writer = fork();
    REQUIRE(writer >= 0);
    if (writer == 0) {
      open_rolling(path);
      for (;;) pause();
    }
    await_segment(path);
    CHECK_EQUAL(read_on(reader, UINT64_MAX, &missing), 0); /* it visits the segment, which is empty */
    if (i % 2 == 0) weir_reader_wait(reader, 0);
    kill(writer, SIGKILL);
    CHECK_EQUAL(wait_for(writer), 1000 + SIGKILL);
    if (i % 3 == 0) CHECK_EQUAL(read_on(reader, UINT64_MAX, &missing), 0);
  }
  weir_log *log = open_rolling(path);
  capture_some(log, define_numbered(log), 0, 5);
  CHECK_EQUAL(read_on(reader, UINT64_MAX, &missing), 5);
  CHECK_EQUAL(missing, 0);
  weir_reader_close(reader);
  close_and_free(log);
  scratch_remove(path);
}

/* The names of the sealed segments, in order. */
static uint64_t sealed(const char *path, segment_name *names, uint64_t most) {
  int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  segment_list list;
  REQUIRE(directory >= 0 && segment_list_settled(directory, &list) == 0);
  uint64_t count = 0;
  for (uint64_t i = 0; i < list.count && count < most; i++) {
    if (!list.items[i].active) names[count++] = list.items[i];
  }
  segment_list_free(&list);
  close(directory);
  return count;
}

/* Holds that the reader, at `from`, is told that retention removed all below `middle`, and what misses below `to`. */
static void check_told(weir_reader *reader, uint64_t from, uint64_t middle, uint64_t to) {
  weir_event event;
  weir_skip skip;
  CHECK_EQUAL(weir_reader_next(reader, &event, &skip, NULL), WEIR_SKIPPED);
  CHECK(skip.first_offset == from && skip.count == middle - from && skip.removed == 1);
  CHECK(strcmp(skip.file, START_NAME) == 0 && strstr(skip.reason, "retention") != NULL);
  CHECK_EQUAL(weir_reader_next(reader, &event, &skip, NULL), WEIR_SKIPPED);
  CHECK(skip.first_offset == middle && skip.count == to - middle && skip.removed == 0);
  uint64_t missing;
  CHECK_EQUAL(read_on(reader, UINT64_MAX, &missing), 2000 - to);
  CHECK_EQUAL(missing, 0);
}

/* Three segments go, and `start` says so of the first two only: of each offset it is told which it is. */
static void test_retention(void) {
  test("what retention removed is told apart from what is missing, from the start and to a reader on its way");
  char *path = scratch();
  weir_log *log = open_rolling(path);
  capture_some(log, define_numbered(log), 0, 2000);
  CHECK_EQUAL(weir_sync(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  segment_name names[16];
  REQUIRE(sealed(path, names, 16) >= 4);
  weir_reader *early = open_reader(path);
  uint64_t missing;
  CHECK_EQUAL(read_on(early, 10, &missing), 10);
  int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  log_start_slot start = {.first_offset = names[2].base};
  REQUIRE(directory >= 0 && log_lock_id(directory, &start.log_id) == 0 && log_start_write(directory, &start) == 0);
  close(directory);
  for (int i = 0; i < 3; i++) REQUIRE(unlink(join(path, names[i].name)) == 0);
  CHECK_EQUAL(read_on(early, names[1].base - 10, &missing), names[1].base - 10);
  check_told(early, names[1].base, names[2].base, names[3].base);
  weir_reader *late = open_reader(path);
  check_told(late, 0, names[2].base, names[3].base);
  weir_reader_close(early);
  weir_reader_close(late);
  close_and_free(log);
  scratch_remove(path);
}

static void test_removal(void) {
  test("a segment that is removed while it is read is read to its end, and those after it that are gone are reported");
  char *path = scratch();
  weir_log *log = open_rolling(path);
  uint32_t type = define_numbered(log);
  capture_some(log, type, 0, 2000);
  CHECK_EQUAL(weir_sync(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  segment_name names[16];
  REQUIRE(sealed(path, names, 16) >= 4);
  weir_reader *reader = open_reader(path);
  uint64_t missing, first = read_on(reader, 10, &missing);
  CHECK_EQUAL(first + missing, 10);
  for (int i = 0; i < 3; i++) REQUIRE(unlink(join(path, names[i].name)) == 0);
  first += read_on(reader, names[1].base - 10, &missing);
  CHECK_EQUAL(first, names[1].base);
  CHECK_EQUAL(missing, 0);
  uint64_t rest = read_on(reader, UINT64_MAX, &missing);
  CHECK_EQUAL(missing, names[3].base - names[1].base);
  CHECK_EQUAL(rest, 2000 - names[3].base);
  capture_some(log, type, 2000, 3);
  CHECK_EQUAL(read_on(reader, UINT64_MAX, &missing), 3);
  CHECK_EQUAL(missing, 0);
  weir_reader_close(reader);
  close_and_free(log);
  scratch_remove(path);
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

/* Waits until `wanted` events came, however often it is told in vain; answers how many did. */
static uint64_t wait_and_read(weir_reader *reader, uint64_t wanted) {
  uint64_t events = 0, missing;
  for (int i = 0; i < 10000 && events < wanted; i++) {
    if (weir_reader_wait(reader, HANG_NS) != WEIR_OK) break;
    events += read_on(reader, UINT64_MAX, &missing);
    CHECK_EQUAL(missing, 0);
  }
  return events;
}

static void *capture_later(void *context) {
  weir_log *log = context;
  sleep_ns(30000000);
  CHECK_EQUAL(capture_numbered(log, WEIR_TYPE_FIRST, 0, 0, 0, NULL), WEIR_ACCEPTED);
  return NULL;
}

static void test_wait(void) {
  test("waiting ends with the next event, the writer's death, and its return");
  char *path = scratch();
  weir_log *log = open_rolling(path);
  weir_reader *reader = open_reader(path);
  CHECK_EQUAL(define_numbered(log), WEIR_TYPE_FIRST);
  uint64_t missing;
  CHECK_EQUAL(read_on(reader, UINT64_MAX, &missing), 0);
  int in_vain = 0; /* now and then it is told to look again, in vain */
  while (in_vain < 1000 && weir_reader_wait(reader, 0) == WEIR_OK) in_vain += 1 + (int)read_on(reader, 1, &missing);
  CHECK(in_vain < 1000);
  in_vain = 0;
  while (in_vain < 1000 && weir_reader_wait(reader, 3000000) == WEIR_OK) {
    in_vain += 1 + (int)read_on(reader, 1, &missing);
  }
  CHECK(in_vain < 1000);
  for (uint64_t i = 0; i < 20; i++) { /* drained: a look finds it, although no name has changed */
    capture_some(log, WEIR_TYPE_FIRST, i, 1);
    CHECK_EQUAL(weir_reader_wait(reader, 0), WEIR_OK);
    CHECK_EQUAL(read_on(reader, UINT64_MAX, &missing), 1);
  }
  pthread_t later;
  REQUIRE(pthread_create(&later, NULL, capture_later, log) == 0);
  CHECK_EQUAL(wait_and_read(reader, 1), 1);
  pthread_join(later, NULL);
  close_and_free(log);
  for (int life = 0; life < 3; life++) {
    /* Captured and not drained when it dies: what is in the lanes comes with the death. */
    pid_t writer = fork();
    REQUIRE(writer >= 0);
    if (writer == 0) {
      log = open_rolling(path);
      uint32_t type = define_numbered(log);
      for (uint64_t i = 0; i < 100; i++) capture_numbered(log, type, 0, i, FILLER / 2, NULL);
      kill(getpid(), SIGKILL);
    }
    CHECK_EQUAL(wait_and_read(reader, 100), 100);
    CHECK_EQUAL(wait_for(writer), 1000 + SIGKILL);
  }
  log = open_rolling(path);
  capture_some(log, define_numbered(log), 0, 1);
  CHECK_EQUAL(wait_and_read(reader, 1), 1);
  weir_reader_close(reader);
  close_and_free(log);
  scratch_remove(path);
}

/* Waits in vain until the reader has a descriptor to sleep on for long; -1 if it has none after `most` waits. */
static int32_t wait_for_silence(weir_reader *reader, int most, uint64_t *pause_ns) {
  uint64_t missing;
  for (int i = 0; i < most; i++) {
    int32_t fd = weir_reader_descriptor(reader, pause_ns);
    if (*pause_ns > 20000000) return fd;
    sleep_ns(*pause_ns);
    if (weir_reader_wait(reader, 0) == WEIR_OK) CHECK_EQUAL(read_on(reader, UINT64_MAX, &missing), 0);
  }
  return -1;
}

static int is_rung(int32_t fd) {
  struct pollfd event = {.fd = fd, .events = POLLIN};
  return poll(&event, 1, HANG_SECONDS * 1000) == 1;
}

static void test_silence(void) {
  test("after a silence the first event wakes who sleeps on the reader's descriptor; so does the next after another");
  char *path = scratch();
  weir_log *log = open_rolling(path);
  uint32_t type = define_numbered(log);
  weir_reader *reader = open_reader(path);
  uint64_t pause_ns;
  for (uint64_t i = 0; i < 2; i++) {
    int32_t fd = wait_for_silence(reader, 10000, &pause_ns);
    REQUIRE(fd >= 0);
    CHECK_EQUAL(pause_ns, 1000000000);
    CHECK_EQUAL(capture_numbered(log, type, 0, i, 0, NULL), WEIR_ACCEPTED);
    CHECK(is_rung(fd));
    CHECK_EQUAL(wait_and_read(reader, 1), 1);
    /* Read, nothing rings on: the pauses are short again, for two seconds. */
    uint64_t read_ns = now_ns();
    weir_reader_wait(reader, 0);
    weir_reader_descriptor(reader, &pause_ns);
    CHECK(pause_ns <= 20000000 || now_ns() - read_ns > 1500000000);
  }
  close_and_free(log);
  weir_reader_close(reader);
  scratch_remove(path);
}

/* The host has closed the descriptor, and the end of a pipe has its number. Closes the reader. */
static void check_descriptor_is_anothers(weir_reader *reader, int32_t fd, const int ends[2]) {
  char byte;
  REQUIRE(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 && dup2(ends[0], fd) == fd && write(ends[1], "x", 1) == 1);
  uint64_t pause_ns;
  CHECK_EQUAL(weir_reader_wait(reader, 0), WEIR_ERROR_TIMEOUT);
  CHECK_EQUAL(weir_reader_descriptor(reader, &pause_ns), -1);
  CHECK_EQUAL(weir_reader_wait(reader, 1000000), WEIR_ERROR_TIMEOUT);
  weir_reader_close(reader);
  CHECK_EQUAL(read(fd, &byte, 1), 1);
  close(fd);
}

static void test_silent_death(void) {
  test("after a silence the death of a writer that has drained nothing wakes, and its events are there. What has the "
       "number of the descriptor afterwards is neither read nor closed");
  char *path = scratch();
  int opened[2], go[2];
  char byte;
  REQUIRE(pipe(opened) == 0 && pipe(go) == 0);
  pid_t writer = fork();
  REQUIRE(writer >= 0);
  if (writer == 0) {
    weir_log *log = open_rolling(path);
    uint32_t type = define_numbered(log);
    if (write(opened[1], "", 1) != 1 || read(go[0], &byte, 1) != 1) _exit(1);
    for (uint64_t i = 0; i < 100; i++) capture_numbered(log, type, 0, i, FILLER / 2, NULL);
    kill(getpid(), SIGKILL);
  }
  REQUIRE(read(opened[0], &byte, 1) == 1);
  weir_reader *reader = open_reader(path);
  uint64_t pause_ns;
  int32_t fd = wait_for_silence(reader, 10000, &pause_ns);
  REQUIRE(fd >= 0);
  REQUIRE(write(go[1], "", 1) == 1);
  CHECK(is_rung(fd));
  CHECK_EQUAL(wait_and_read(reader, 100), 100);
  CHECK_EQUAL(wait_for(writer), 1000 + SIGKILL);
  /* Of a writer that had drained them all the death is news of its own. */
  uint64_t missing;
  for (int i = 0; i < 1000 && weir_reader_wait(reader, 0) == WEIR_OK; i++) {
    CHECK_EQUAL(read_on(reader, UINT64_MAX, &missing), 0);
  }
  check_descriptor_is_anothers(reader, fd, opened);
  for (int i = 0; i < 2; i++) {
    close(opened[i]);
    close(go[i]);
  }
  scratch_remove(path);
}

static void test_silence_unwatched(void) {
#ifdef WEIR_FAULT_INJECTION
  test("where nothing can be watched, a reader of a silent log looks as often as before");
  char *path = scratch();
  weir_log *log = open_rolling(path);
  uint32_t type = define_numbered(log);
  weir_reader *reader = open_reader(path);
  uint64_t pause_ns;
  weir_fault_set("sys_watch", 1, 1, EMFILE);
  CHECK_EQUAL(wait_for_silence(reader, 150, &pause_ns), -1);
  CHECK_EQUAL(weir_fault_count() > 0, 1);
  CHECK_EQUAL(pause_ns, 20000000);
  weir_fault_set("any", 0, 0, 0);
  CHECK_EQUAL(capture_numbered(log, type, 0, 0, 0, NULL), WEIR_ACCEPTED);
  CHECK_EQUAL(wait_and_read(reader, 1), 1);
  close_and_free(log);
  weir_reader_close(reader);
  scratch_remove(path);
#endif
}

static weir_status read_to_end(weir_reader *reader, weir_error *error) {
  weir_event event;
  weir_skip skip;
  weir_status status;
  do status = weir_reader_next(reader, &event, &skip, error);
  while (status == WEIR_OK || status == WEIR_SKIPPED);
  return status;
}

static void test_removed_directory(void) {
  test("following a directory that is removed ends with an error that says so, also where another has its path");
  char *path = scratch();
  weir_log *log = open_rolling(path);
  capture_some(log, define_numbered(log), 0, 3);
  close_and_free(log);
  weir_reader *follower = open_reader(path), *reader = open_reader(path);
  weir_error error = {0};
  CHECK_EQUAL(read_to_end(follower, &error), WEIR_END);
  weir_reader_wait(follower, 0);
  CHECK_EQUAL(read_to_end(follower, &error), WEIR_END);
  remove_tree(path);
  log = open_rolling(path);
  capture_some(log, define_numbered(log), 0, 1);
  CHECK_EQUAL(weir_reader_wait(follower, 0), WEIR_OK);
  CHECK_EQUAL(read_to_end(follower, &error), WEIR_ERROR_MISSING);
  CHECK(strstr(error.message, path) && strstr(error.message, "was removed"));
  CHECK_EQUAL(read_to_end(follower, &error), WEIR_ERROR_MISSING);
  /* One that reads what is there, and follows nothing, comes to its end. */
  CHECK_EQUAL(read_to_end(reader, &error), WEIR_END);
  weir_reader_close(follower);
  weir_reader_close(reader);
  close_and_free(log);
  scratch_remove(path);
}

static void test_cost(void) {
#ifdef WEIR_FAULT_INJECTION
  test("waiting makes a bounded number of system calls, and following lists the directory only when names change");
  char *path = scratch();
  weir_log *log = open_rolling(path);
  uint32_t type = define_numbered(log);
  capture_some(log, type, 0, 1);
  weir_reader *reader = open_reader(path);
  uint64_t missing, blocks = 0;
  CHECK_EQUAL(read_on(reader, UINT64_MAX, &missing), 1);
  CHECK_AWAIT(preparer_rests(log));
  weir_fault_set("sys_list", UINT64_MAX, 0, 0);
  uint64_t began = now_ns();
  for (; blocks < 50; blocks++) {
    CHECK_EQUAL(capture_numbered(log, type, 0, blocks, 8, NULL), WEIR_ACCEPTED);
    CHECK_EQUAL(wait_and_read(reader, 1), 1);
  }
  /* One for what the writer prepared, and one a second: on a machine that is busy these may be many. */
  CHECK(weir_fault_count() <= 4 + 2 * ((now_ns() - began) / 1000000000));
  CHECK_EQUAL(read_on(reader, UINT64_MAX, &missing), 0);
  weir_fault_set("any", UINT64_MAX, 0, 0);
  began = now_ns();
  int rounds = 0;
  while (weir_reader_wait(reader, 500000000) == WEIR_OK && rounds++ < 20) read_on(reader, UINT64_MAX, &missing);
  /* The back-off's 7 steps, then one every 20 ms for two seconds, then one a second; 8 calls with those that a second
     look makes. A writer's touch, which may come late, has it look for two seconds more. */
  uint64_t looks = 8 + 2 * 100 + (now_ns() - began) / 1000000000;
  CHECK(weir_fault_count() <= 8 * looks + 100);
  weir_fault_set("any", 0, 0, 0);
  weir_reader_close(reader);
  close_and_free(log);
  scratch_remove(path);
#endif
}

int main(void) {
  random_start("follow_test");
  test_many_followers();
  test_recovery_meets_reader();
  test_idle_deaths();
  test_removal();
  test_retention();
  test_wait();
  test_silence();
  test_silent_death();
  test_silence_unwatched();
  test_removed_directory();
  test_cost();
  return finish();
}
