/*
 * empty_root_test.c: a static program in a root that has nothing but the program: no /proc, no /dev, no /sys, no C
 * library. The program captures until it is killed, and is started again in the same root to read what is there.
 *
 * The test copies itself into the root. WEIR_SEED repeats the numbers of events before each kill.
 */
#include "capture_check.h"

#include <sched.h>
#include <sys/sendfile.h>

enum { ROUNDS = 8, MOST_BEFORE_KILL = 20000, CANNOT_CHANGE_ROOT = 77 };

static void write_number(uint64_t number) {
  if (write(1, &number, sizeof number) != sizeof number) _exit(3);
}

/* ---- Inside of the root ------------------------------------------------------------------------------------------ */

static void stop_at(weir_error *error) {
  fprintf(stderr, "%s\n", error->message);
  _exit(4);
}

/* Captures from `number` on, and says so of each event that was accepted, until it is killed. */
static int capture_for_ever(uint64_t number) {
  weir_log *log;
  weir_error error;
  weir_options options;
  weir_options_init(&options);
  options.full_wait_ns = UINT64_MAX;
  if (weir_open("/log", &options, &log, NULL, &error) != WEIR_OK) stop_at(&error);
  uint32_t type = define_numbered(log);
  for (;; number++) {
    if (capture_numbered(log, type, 0, number, number % 100, NULL) != WEIR_ACCEPTED) return 5;
    write_number(number);
  }
}

/*
 * Recovers the log, and says the number of each event that is in it. Without /proc a kill can't be told from a power
 * cut: the reader says after each kill that offsets were left out.
 */
static int read_numbers(void) {
  weir_log *log;
  weir_error error;
  if (weir_open("/log", NULL, &log, NULL, &error) != WEIR_OK) stop_at(&error);
  if (weir_close(log, &error) != WEIR_OK) stop_at(&error);
  weir_free(log);
  found_log found = read_log("/log");
  CHECK_EQUAL(found.end, WEIR_END);
  CHECK_EQUAL(found.wrong, 0);
  for (uint64_t i = 0; i < found.count; i++) write_number(found.events[i].number);
  found_free(&found);
  return checks_failed != 0;
}

/* ---- Outside ----------------------------------------------------------------------------------------------------- */

static void copy_program(const char *to) {
  int from = open("/proc/self/exe", O_RDONLY), copy = open(to, O_WRONLY | O_CREAT | O_EXCL, 0700);
  struct stat status;
  REQUIRE(from >= 0 && copy >= 0 && fstat(from, &status) == 0);
  for (off_t done = 0; done < status.st_size;) {
    REQUIRE(sendfile(copy, from, &done, (size_t)(status.st_size - done)) > 0);
  }
  close(from);
  close(copy);
  printf("the program has %" PRIu64 " bytes\n", (uint64_t)status.st_size);
}

/* Starts the program in the root. `*output`: where it says its numbers. */
static pid_t start(const char *root, const char *command, uint64_t number, int *output) {
  int ends[2];
  char text[24];
  snprintf(text, sizeof text, "%" PRIu64, number);
  fflush(stdout);
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(ends[1], 1);
    if (chroot(root) != 0 && (unshare(CLONE_NEWUSER) != 0 || chroot(root) != 0)) _exit(CANNOT_CHANGE_ROOT);
    if (chdir("/") != 0) _exit(2);
    execve("/program", (char *[]){"/program", (char *)command, text, NULL}, (char *[]){NULL});
    perror("weir: the program does not start in the empty root");
    _exit(2);
  }
  close(ends[1]);
  *output = ends[0];
  return child;
}

/* The next number of those that count up from `expected`; 0: the program has ended. */
static int take_number(int output, uint64_t expected) {
  uint64_t number = 0, done = 0;
  while (done < sizeof number) {
    ssize_t n = read(output, (uint8_t *)&number + done, sizeof number - done);
    if (n == 0 && done == 0) return 0;
    if (n < 0 && errno == EINTR) continue;
    REQUIRE(n > 0);
    done += (uint64_t)n;
  }
  if (number != expected) CHECK_EQUAL(number, expected);
  return 1;
}

/* Answers how many events the log has after the round, `before` of which it had before. */
static uint64_t kill_and_read(const char *root, uint64_t before) {
  int output;
  uint64_t accepted = before, until = before + random_below(MOST_BEFORE_KILL), found = 0;
  pid_t child = start(root, "capture", before, &output);
  while (accepted < until && take_number(output, accepted)) accepted++;
  kill(child, SIGKILL);
  while (take_number(output, accepted)) accepted++;
  close(output);
  int end = wait_for(child);
  if (end == CANNOT_CHANGE_ROOT) {
    printf("skipped: a root of one's own takes the rights of root, or a user namespace\n");
    remove_tree(root);
    exit(finish());
  }
  CHECK_EQUAL(end, 1000 + SIGKILL);
  child = start(root, "read", 0, &output);
  while (take_number(output, found)) found++;
  close(output);
  CHECK_EQUAL(wait_for(child), 0);
  CHECK(found == accepted || found == accepted + 1); /* the last one may have been accepted without having said so */
  return found;
}

int main(int count, char **arguments) {
  if (count == 3) {
    return strcmp(arguments[1], "capture") == 0 ? capture_for_ever(strtoull(arguments[2], NULL, 10)) : read_numbers();
  }
  random_start("empty_root_test");
  test("kill -9 in a root that has nothing but the program: what was accepted is read there");
  char *folder = scratch();
  copy_program(join(folder, "program"));
  uint64_t events = 0;
  for (int round = 0; round < ROUNDS; round++) events = kill_and_read(folder, events);
  CHECK(events > 0);
  scratch_remove(folder);
  return finish();
}
