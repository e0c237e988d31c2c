/*
 * batch_check.h: logs of sealed segments, raw and as batches: making, copying, comparing them. A batch segment holds
 * the same events under the same offsets, ids and times, or something is wrong.
 */
#ifndef WEIR_TESTS_BATCH_CHECK_H
#define WEIR_TESTS_BATCH_CHECK_H

#include "retention_check.h"

#include "batch/batch.h"

/* A closed log: every fourth event is large, so that some blocks go in columns and some do not. */
static inline void make_mixed(const char *directory, uint64_t count, uint64_t segment_bytes) {
  weir_options options = small_options();
  options.segment_bytes = segment_bytes;
  weir_log *log = open_with(directory, &options, NULL);
  uint32_t type = define_numbered(log);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t filler = i / 400 % 2 ? i % 7 : i % 4 == 0 ? 900 : 20;
    CHECK_EQUAL(capture_numbered(log, type, 0, i, filler, NULL), WEIR_ACCEPTED);
  }
  close_and_free(log);
}

static inline int run(const char *format, const char *a, const char *b) {
  char command[4096];
  snprintf(command, sizeof command, format, a, b);
  int status = system(command);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline void copy_log(const char *from, const char *to) { REQUIRE(run("cp -a '%s' '%s'", from, to) == 0); }

static inline weir_batching batch_all(const char *directory, uint32_t threads) {
  weir_batching batching;
  weir_error error;
  if (!CHECK_EQUAL(weir_batch_directory(directory, threads, NULL, NULL, &batching, &error), WEIR_OK)) {
    fprintf(stderr, "%s\n", error.message);
  }
  return batching;
}

static inline int open_dir(const char *directory) {
  int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  REQUIRE(fd >= 0);
  return fd;
}

/* How many names in a directory end in `suffix`, or begin with it where it ends in a dash. */
typedef struct counted {
  const char *text;
  uint64_t count;
} counted;

static inline int count_name(void *context, const char *name) {
  counted *counted = context;
  uint64_t length = strlen(counted->text), all = strlen(name);
  int begins = counted->text[length - 1] == '-';
  if (begins) counted->count += strncmp(name, counted->text, length) == 0;
  else counted->count += all >= length && strcmp(name + all - length, counted->text) == 0;
  return 0;
}

static inline uint64_t count_names(const char *directory, const char *text) {
  counted counted = {text, 0};
  int fd = open_dir(directory);
  REQUIRE(sys_list(fd, count_name, &counted) == 0);
  close(fd);
  return counted.count;
}

static inline uint64_t raw_ones(const char *directory) { return count_names(directory, SEALED_SUFFIX); }
static inline uint64_t batches(const char *directory) { return count_names(directory, BATCH_SUFFIX); }
static inline uint64_t temporaries(const char *directory) { return count_names(directory, BATCH_PREFIX); }

/* Whether a file is a batch segment in the making. By its name: a thread has its own only a while after it began. */
static inline int is_batch_file(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t bytes = readlink(link, path, sizeof path - 1);
  path[bytes < 0 ? 0 : bytes] = 0;
  const char *name = strrchr(path, '/');
  return name && strncmp(name + 1, BATCH_PREFIX, strlen(BATCH_PREFIX)) == 0;
}

/* The name of the n-th segment. */
static inline segment_name segment_at(const char *directory, uint64_t index) {
  segment_list list;
  int fd = open_dir(directory);
  REQUIRE(segment_list_read(fd, &list) == 0 && index < list.count);
  segment_name name = list.items[index];
  segment_list_free(&list);
  close(fd);
  return name;
}

/* Whether a log reads as another did: the same events, under the same offsets, ids and times, none missing. */
static inline void check_reads_as(const char *directory, const found_log *whole) {
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(found.count, whole->count);
  CHECK_EQUAL(found.notices, whole->notices);
  uint64_t moved = 0;
  for (uint64_t i = 0; i < found.count && i < whole->count; i++) {
    const found_event *a = &found.events[i], *b = &whole->events[i];
    moved += a->offset != b->offset || compare_ids(&a->id, &b->id) != 0 || a->time_ns != b->time_ns ||
             a->number != b->number;
  }
  CHECK_EQUAL(moved, 0);
  found_free(&found);
}

static inline void check_no_findings(const char *directory) {
  weir_verification verification;
  weir_error error;
  CHECK_EQUAL(weir_verify(directory, print_finding, (void *)directory, &verification, &error), WEIR_OK);
  CHECK_EQUAL(verification.findings, 0);
}

/* As the lz4 tool sees it; without the tool that is left out, aloud, once. */
static inline void check_with_tool(const char *directory) {
  static int there = -1;
  if (there < 0) {
    there = system("command -v lz4 >/dev/null 2>&1") == 0;
    if (!there) printf("skipped: what the lz4 tool says of batch segments, for want of it\n");
  }
  if (there) {
    CHECK_EQUAL(run("cd '%s' && for f in *.lz4; do lz4 -t -q \"$f\" >/dev/null 2>&1 || exit 1; done %s", directory, ""),
                0);
  }
}

#endif
