/*
 * golden_test.c: reads the golden logs, which were made once for each version of the format, and holds what it finds
 * against what was found then; and holds two readers against one another, this library's and the one in Python, which
 * was made from the format's documentation: on the golden logs, on logs made just now, before and after recovery. Run
 * from the top of the source tree; WEIR_GOLDEN names the folder otherwise. Needs python3.
 */
#include "check.h"

#include <dirent.h>

#include "drainer.h"
#define LAST_DRAIN(log) hold_drainer(log)
#include "../Golden/golden_log.h"
#include "../Golden/print_event.h"
#include "system/system.h"

static const char *golden_root(void) {
  const char *given = getenv("WEIR_GOLDEN");
  return given ? given : "Tests/Golden";
}

/* ---- Files ------------------------------------------------------------------------------------------------------ */

static void copy_file(const char *from, const char *to) {
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  REQUIRE(in && out);
  static char bytes[1 << 16];
  size_t count;
  while ((count = fread(bytes, 1, sizeof bytes, in)) > 0) REQUIRE(fwrite(bytes, 1, count, out) == count);
  fclose(in);
  REQUIRE(fclose(out) == 0);
}

/* A copy that may be recovered; what is in the source tree is only read. */
static void copy_log(const char *from, const char *to) {
  REQUIRE(mkdir(to, 0700) == 0);
  DIR *entries = opendir(from);
  REQUIRE(entries);
  for (struct dirent *entry; (entry = readdir(entries));) {
    if (entry->d_name[0] != '.') copy_file(join(from, entry->d_name), join(to, entry->d_name));
  }
  closedir(entries);
}

/* ---- The two readers --------------------------------------------------------------------------------------------- */

/* Runs the reader in Python on `log`, its lines into `lines`; answers its exit status. */
static int read_in_python(const char *log, const char *lines) {
  char command[16384];
  snprintf(command, sizeof command,
           "PYTHONPATH='%s/../../Languages/Python' python3 -B -m weir --raw '%s' >'%s' 2>/dev/null", golden_root(), log,
           lines);
  int status = system(command);
  return status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* What a line of that reader says of the event before and after its fields, whose form as JSON is not compared. */
static void describe(const weir_event *event, char **before, char **after) {
  size_t bytes;
  FILE *text = open_memstream(before, &bytes);
  fprintf(text, "{\"offset\":%" PRIu64 ",\"id\":\"%016" PRIx64 "%016" PRIx64 "\",", event->offset, event->id.opening,
          event->id.sequence);
  fprintf(text, "\"time_ns\":%" PRId64 ",\"event\":\"%.*s\",\"fields\":{", event->time_ns, (int)event->name_bytes,
          event->name);
  fclose(text);
  text = open_memstream(after, &bytes);
  fputs("},", text);
  print_bytes(text, event);
  fclose(text);
}

static void check_line(const weir_event *event, const char *line) {
  char *before, *after;
  describe(event, &before, &after);
  size_t all = strlen(line), tail = strlen(after);
  int same = strncmp(line, before, strlen(before)) == 0 && all >= tail && strcmp(line + all - tail, after) == 0;
  if (!CHECK(same)) fprintf(stderr, "expected: %sread:     %s...%s", line, before, after);
  free(before);
  free(after);
}

/* Whether the C reader finds in `log` what `lines` has, event for event, and tells of every offset that is missing. */
static void check_lines(const char *log, const char *lines) {
  FILE *expected = fopen(lines, "rb");
  weir_reader *reader;
  weir_error error;
  REQUIRE(expected && weir_reader_open(log, NULL, &reader, &error) == WEIR_OK);
  char *line = NULL;
  size_t room = 0;
  weir_event event;
  weir_skip skip;
  weir_status status;
  uint64_t count = 0, told = 0, next = 0, missing = 0, left_out = 0;
  while ((status = weir_reader_next(reader, &event, &skip, &error)) == WEIR_OK || status == WEIR_SKIPPED) {
    if (status == WEIR_SKIPPED) {
      told += skip.count;
      if (strstr(skip.reason, "left out")) left_out = 1;
      continue;
    }
    if (!CHECK(getline(&line, &room, expected) > 0)) break;
    check_line(&event, line);
    if (left_out) CHECK(event.offset - next == UINT64_C(1) << 32);
    else missing += event.offset - next;
    left_out = 0;
    next = event.offset + 1;
    count++;
  }
  CHECK_EQUAL(status, WEIR_END);
  CHECK(getline(&line, &room, expected) < 0);
  CHECK(count > 40);
  CHECK_EQUAL(told, missing);
  free(line);
  fclose(expected);
  weir_reader_close(reader);
}

static void check_same_file(const char *a, const char *b) {
  FILE *left = fopen(a, "rb"), *right = fopen(b, "rb");
  REQUIRE(left && right);
  int of_left, of_right;
  do {
    of_left = getc(left);
    of_right = getc(right);
  } while (of_left == of_right && of_left != EOF);
  CHECK_EQUAL(of_left, of_right);
  fclose(left);
  fclose(right);
}

/* ---- What must hold of a log ------------------------------------------------------------------------------------- */

static void check_verify(const char *log, int damaged) {
  weir_verification verification;
  weir_error error;
  CHECK_EQUAL(weir_verify(log, NULL, NULL, &verification, &error), WEIR_OK);
  CHECK_EQUAL(verification.findings > 0, damaged);
}

static void recover_log(const char *log, int killed) {
  weir_log *opened;
  weir_recovery recovery;
  weir_error error;
  weir_options options;
  weir_options_init(&options);
  options.segment_bytes = 1 << 20;
  REQUIRE(weir_open(log, &options, &opened, &recovery, &error) == WEIR_OK);
  CHECK_EQUAL(recovery.was_clean, !killed);
  CHECK_EQUAL(recovery.events_from_lanes > 0, killed);
  CHECK_EQUAL(recovery.dropped, killed ? 4 : 0);
  /* 2 of the 4 may be in the log: what was sampled out before a segment filled up is told of then. */
  CHECK(killed ? recovery.sampled == 4 || recovery.sampled == 2 : recovery.sampled == 0);
  CHECK_EQUAL(weir_close(opened, &error), WEIR_OK);
  weir_free(opened);
}

/* Both readers, before and after recovery, find what `lines` has in `log`; so does verify in what is wrong with it. */
static void check_log(const char *log, const char *lines, const char *scratch_lines, int killed, int damaged) {
  for (int recovered = 0; recovered < 2; recovered++) {
    check_lines(log, lines);
    CHECK_EQUAL(read_in_python(log, scratch_lines), damaged);
    check_same_file(lines, scratch_lines);
    check_verify(log, damaged);
    if (!recovered) recover_log(log, killed);
  }
}

static void check_golden(const char *folder, const char *name, int killed, int damaged) {
  test(name);
  char *kept = strdup(join(golden_root(), name));
  char *log = strdup(join(folder, name)), *lines = strdup(join(folder, "lines"));
  uint64_t sum = tree_checksum(kept);
  check_lines(join(kept, "log"), join(kept, "expected.jsonl"));
  copy_log(join(kept, "log"), log);
  check_log(log, join(kept, "expected.jsonl"), lines, killed, damaged);
  CHECK_EQUAL(tree_checksum(kept), sum);
  free(kept);
  free(log);
  free(lines);
}

static void check_made_now(const char *folder, const char *name, void (*make)(const char *), int killed, int damaged) {
  test(name);
  char *log = strdup(join(folder, name));
  char *found = strdup(join(folder, "found")), *lines = strdup(join(folder, "lines"));
  make(log);
  CHECK_EQUAL(read_in_python(log, found), damaged);
  check_log(log, found, lines, killed, damaged);
  free(log);
  free(found);
  free(lines);
}

/* Of three openings retention removed the first one's segment, but for the unlinking, which a kill cut short. */
static void make_retained(const char *directory) {
  closed_opening(directory, WEIR_CLOCK_AUTO, 1);
  const char *first = join(directory, "00000000000000000000.weir"), *aside = join(directory, "aside");
  copy_file(first, aside);
  closed_opening(directory, WEIR_CLOCK_COARSE, 0);
  weir_options options;
  weir_options_init(&options);
  options.retain_bytes = 1;
  weir_log *log;
  REQUIRE(weir_open(directory, &options, &log, NULL, NULL) == WEIR_OK);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_free(log);
  CHECK(access(first, F_OK) != 0 && access(join(directory, "start"), F_OK) == 0);
  killed_opening(directory, WEIR_CLOCK_AUTO);
  REQUIRE(rename(aside, first) == 0);
}

/* A killed one, found by another boot of the machine. */
static void make_killed_before(const char *directory) {
  make_killed(directory);
  forget_boot(directory);
}

static void make_damaged_before(const char *directory) {
  make_damaged(directory);
  forget_boot(directory);
}

/* A log of a process that was killed after it overwrote events, because no segment could be made any more. */
static void make_overwritten(const char *directory) {
  pid_t child = fork();
  if (child == 0) {
    weir_options options;
    weir_options_init(&options);
    options.lane_count = 4;
    options.lane_bytes = 16384;
    options.max_event_bytes = 1024;
    options.segment_bytes = 1 << 18;
    options.full_policy = WEIR_FULL_DROP_OLDEST;
    weir_log *log;
    if (weir_open(directory, &options, &log, NULL, NULL) != WEIR_OK) _exit(1);
    const weir_field field = {"number", WEIR_KIND_U64, 0};
    const weir_definition definition = {.name = "numbered", .fields = &field, .field_count = 1};
    uint32_t type;
    if (weir_define(log, 0, &definition, 1, &type, NULL) != WEIR_OK) _exit(1);
    weir_fault_set("sys_allocate", 1, UINT64_MAX, ENOSPC);
    for (uint64_t number = 0; number < 20000; number++) weir_capture(log, type, &number, 8, NULL);
    raise(SIGKILL);
  }
  int status;
  REQUIRE(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
}

static void check_overwritten(const char *folder, int rebooted) {
  test(rebooted ? "overwritten, another boot" : "overwritten");
  char *log = strdup(join(folder, "overwritten"));
  char *found = strdup(join(folder, "found")), *lines = strdup(join(folder, "lines"));
  make_overwritten(log);
  if (rebooted) forget_boot(log);
  CHECK_EQUAL(read_in_python(log, found), 0);
  check_lines(log, found);
  weir_log *opened;
  REQUIRE(weir_open(log, NULL, &opened, NULL, NULL) == WEIR_OK);
  CHECK_EQUAL(weir_close(opened, NULL), WEIR_OK);
  weir_free(opened);
  check_lines(log, found);
  CHECK_EQUAL(read_in_python(log, lines), 0);
  check_same_file(found, lines);
  check_verify(log, 0);
  remove_tree(log);
  free(log);
  free(found);
  free(lines);
}

int main(void) {
  char *folder = scratch();
  check_golden(folder, "v1-closed", 0, 0);
  check_golden(folder, "v1-killed", 1, 0);
  check_golden(folder, "v1-damaged", 1, 1);
  check_golden(folder, "v1-batched", 1, 0);
  check_made_now(folder, "closed", make_closed, 0, 0);
  check_made_now(folder, "killed", make_killed, 1, 0);
  check_made_now(folder, "damaged", make_damaged, 1, 1);
  check_made_now(folder, "batched", make_batched, 1, 0);
  check_made_now(folder, "retained", make_retained, 1, 0);
  check_made_now(folder, "killed, another boot", make_killed_before, 1, 0);
  check_made_now(folder, "damaged, another boot", make_damaged_before, 1, 1);
  check_overwritten(folder, 0);
  check_overwritten(folder, 1);
  scratch_remove(folder);
  return finish();
}
