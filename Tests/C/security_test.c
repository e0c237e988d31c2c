/*
 * security_test.c: whose directories and files a log takes for its own, and what it leaves alone: modes whatever the
 * umask, links that lead elsewhere, directories of others, files that are not Weir's, many of them, and a directory
 * that is empty, read-only, or removed while the log is open.
 */
#include "capture_check.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>

#include "drainer.h"
#include "format/format.h"

static weir_options small(void) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 2;
  options.spare_lanes = 1;
  options.lane_bytes = 8192;
  options.max_event_bytes = 1024;
  options.segment_bytes = 256 << 10;
  return options;
}

/* A log with `events` events: closed, or of a process that was killed with all of them in a lane. */
static void make_log(const char *directory, const char *ring_directory, uint64_t events, int killed) {
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    checks_failed = 0; /* the parent's are its own */
    weir_options options = small();
    options.ring_directory = ring_directory;
    options.drain_interval_ns = 10000000000;
    weir_log *log = NULL;
    REQUIRE(weir_open(directory, &options, &log, NULL, NULL) == WEIR_OK);
    uint32_t type = define_numbered(log);
    if (killed) hold_drainer(log);
    for (uint64_t n = 0; n < events; n++) REQUIRE(capture_numbered(log, type, 0, n, 10, NULL) == WEIR_ACCEPTED);
    if (killed) raise(SIGKILL);
    close_and_free(log);
    _exit(checks_failed != 0);
  }
  CHECK_EQUAL(wait_for(child), killed ? 1000 + SIGKILL : 0);
}

static weir_status try_open(const char *directory, weir_error *error) {
  weir_options options = small();
  weir_log *log = NULL;
  weir_status status = weir_open(directory, &options, &log, NULL, error);
  weir_free(log);
  return status;
}

static void check_events(const char *directory, uint64_t events) {
  found_log found = read_log(directory);
  CHECK_EQUAL(found.end, WEIR_END);
  CHECK_EQUAL(found.wrong, 0);
  CHECK_EQUAL(check_producer(&found, 0), events);
  found_free(&found);
}

static void put_text(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  REQUIRE(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* Changes one byte; answers what it was. */
static void flip(const char *path, off_t at) {
  uint8_t byte;
  int fd = open(path, O_RDWR | O_CLOEXEC);
  REQUIRE(fd >= 0 && pread(fd, &byte, 1, at) == 1);
  byte ^= 0x55;
  REQUIRE(pwrite(fd, &byte, 1, at) == 1);
  close(fd);
}

/* ---- Modes ------------------------------------------------------------------------------------------------------- */

static int check_mode(const char *path, const struct stat *status, int kind, struct FTW *walk) {
  (void)walk;
  if (!CHECK_EQUAL(status->st_mode & 07777, kind == FTW_D || kind == FTW_DP ? 0700 : 0600)) {
    fprintf(stderr, "  %s\n", path);
  }
  return 0;
}

static void modes(void) {
  test("case 50: directories have mode 0700 and files 0600, whatever the umask");
  const mode_t masks[] = {0, 022, 077, 0277, 0777};
  for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
    char *folder = scratch();
    const char *directory = join(folder, "log"), *ring = join(folder, "ring");
    mode_t before = umask(masks[i]);
    make_log(directory, ring, 10, 1);
    nftw(directory, check_mode, 8, FTW_PHYS);
    nftw(ring, check_mode, 8, FTW_PHYS);
    char file[300] = "";
    DIR *entries = opendir(ring); /* damage, so that there is a quarantine/ */
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
      if (entry->d_name[0] != '.') snprintf(file, sizeof file, "%s", join(ring, entry->d_name));
    }
    if (entries) closedir(entries);
    if (CHECK(file[0])) flip(file, 4096 + 4096 + 40);
    CHECK_EQUAL(try_open(directory, NULL), WEIR_OK);
    nftw(directory, check_mode, 8, FTW_PHYS);
    CHECK(access(join(directory, QUARANTINE_NAME), F_OK) == 0);
    umask(before);
    scratch_remove(folder);
  }
}

/* ---- Links ------------------------------------------------------------------------------------------------------- */

static void linked_directory(void) {
  test("case 50: a directory that is a link is refused, also with slashes behind its name");
  char *folder = scratch();
  make_log(join(folder, "log"), NULL, 5, 0);
  REQUIRE(symlink("log", join(folder, "link")) == 0);
  static const char *const names[] = {"link", "link/", "link///"};
  for (int i = 0; i < 3; i++) {
    weir_reader *reader;
    CHECK_EQUAL(try_open(join(folder, names[i]), NULL), WEIR_ERROR_DIRECTORY);
    CHECK_EQUAL(weir_reader_open(join(folder, names[i]), NULL, &reader, NULL), WEIR_ERROR_DIRECTORY);
  }
  CHECK_EQUAL(try_open(join(folder, "log//"), NULL), WEIR_OK);
  check_events(join(folder, "log/"), 5);
  scratch_remove(folder);
}

static void linked_quarantine(void) {
  test("case 50: a link in the place of quarantine/ is not followed");
  for (int whole_ring = 0; whole_ring < 2; whole_ring++) {
    char *folder = scratch();
    const char *directory = join(folder, "log"), *elsewhere = join(folder, "elsewhere");
    make_log(directory, NULL, 10, 1);
    REQUIRE(mkdir(elsewhere, 0700) == 0 && symlink(elsewhere, join(directory, QUARANTINE_NAME)) == 0);
    flip(join(directory, RING_NAME), whole_ring ? 100 : 4096 + 4096 + 40); /* the header, or a record */
    uint64_t before = tree_checksum(elsewhere);
    weir_error error = {0};
    weir_status status = try_open(directory, &error);
    CHECK(status == WEIR_ERROR_UNSAFE || status == WEIR_ERROR_DIRECTORY);
    CHECK(strlen(error.message) > 20);
    CHECK_EQUAL(tree_checksum(elsewhere), before);
    REQUIRE(unlink(join(directory, QUARANTINE_NAME)) == 0);
    CHECK_EQUAL(try_open(directory, &error), WEIR_OK);
    scratch_remove(folder);
  }
}

static void linked_ring_directory(void) {
  test("case 50: a ring's directory that is a link is refused");
  char *folder = scratch();
  const char *directory = join(folder, "log"), *real = join(folder, "real"), *link = join(folder, "link");
  REQUIRE(mkdir(real, 0700) == 0 && symlink(real, link) == 0);
  for (int slash = 0; slash < 2; slash++) {
    weir_options options = small();
    options.ring_directory = slash ? join(folder, "link/") : link;
    weir_log *log = NULL;
    weir_error error;
    weir_status status = weir_open(directory, &options, &log, NULL, &error);
    CHECK(status == WEIR_ERROR_DIRECTORY || status == WEIR_ERROR_UNSAFE);
    weir_free(log);
  }
  scratch_remove(folder);
}

static void links_for_files(void) {
  test("case 50: no file of a log's is opened through a link");
  static const char *const names[] = {RING_NAME, LOCK_NAME, LOCATOR_NAME, LOCATOR_NEW_NAME, RING_NEW_NAME,
                                      "00000000000000000000.weir", "00000000000000000000.weir.active"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char *folder = scratch();
    const char *directory = join(folder, "log"), *target = join(folder, "target");
    make_log(directory, NULL, 10, 1);
    const char *path = join(directory, names[i]);
    if (rename(path, target) != 0) put_text(target, "somebody's file\n");
    REQUIRE(symlink(target, path) == 0);
    uint64_t before = tree_checksum(target);
    weir_verification sums;
    weir_stat stat;
    weir_error error;
    (void)try_open(directory, &error);
    (void)weir_verify(directory, NULL, NULL, &sums, &error);
    (void)weir_stat_directory(directory, &stat, &error);
    found_log found = read_log(directory);
    CHECK_EQUAL(found.wrong, 0);
    found_free(&found);
    CHECK_EQUAL(tree_checksum(target), before);
    scratch_remove(folder);
  }
}

/* ---- Owners ------------------------------------------------------------------------------------------------------ */

static void owners(void) {
  test("case 50: a directory of another user's is refused, unless that is root");
  enum { NOBODY = 65534, SOMEBODY = 65533 };
  if (geteuid() != 0) {
    printf("SKIPPED: directories of other users, because only root can make them\n");
    return;
  }
  char *folder = scratch();
  REQUIRE(chmod(folder, 0755) == 0);
  const char *theirs = join(folder, "theirs"), *ours = join(folder, "ours"), *roots = join(folder, "roots");
  REQUIRE(mkdir(theirs, 0700) == 0 && chown(theirs, SOMEBODY, NOBODY) == 0 && chmod(theirs, 0770) == 0);
  REQUIRE(mkdir(ours, 0700) == 0 && chown(ours, NOBODY, NOBODY) == 0);
  REQUIRE(mkdir(roots, 0700) == 0 && chown(roots, 0, NOBODY) == 0 && chmod(roots, 0770) == 0);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    checks_failed = 0; /* the parent's are its own */
    REQUIRE(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
    weir_error error;
    CHECK_EQUAL(try_open(theirs, &error), WEIR_ERROR_UNSAFE);
    CHECK(strstr(error.message, "another user") != NULL);
    CHECK_EQUAL(try_open(ours, &error), WEIR_OK);
    CHECK_EQUAL(try_open(roots, &error), WEIR_OK);
    _exit(checks_failed != 0);
  }
  CHECK_EQUAL(wait_for(child), 0);
  CHECK_EQUAL(try_open(ours, NULL), WEIR_OK); /* root may look after anybody's */
  scratch_remove(folder);
}

/* ---- Files of others --------------------------------------------------------------------------------------------- */

static void stray_files(void) {
  test("case 50: files that are not Weir's stay, and wrong digits make no segment");
  static const char *const names[] = {"notes.txt", "prepared-notes.txt", "prepared-", "prepared-7b", "5.weir",
                                      "0000000000000000000.weir", "000000000000000000000.weir",
                                      "99999999999999999999.weir", "18446744073709551615.weir.active",
                                      "9223372036854775809.weir", "-0000000000000000001.weir",
                                      "0000000000000000000x.weir", "00000000000000000000.weir.bak", "start.old",
                                      "weir-0123456789abcdef.ring"};
  char *folder = scratch();
  const char *directory = join(folder, "log");
  make_log(directory, NULL, 10, 1);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) put_text(join(directory, names[i]), names[i]);
  REQUIRE(mkdir(join(directory, "folder"), 0700) == 0);
  const char *fifo = join(directory, "00000000000000000300.weir");
  const char *hub = join(directory, "00000000000000000400.weir");
  REQUIRE(mknod(fifo, S_IFIFO | 0600, 0) == 0 && mknod(hub, S_IFSOCK | 0600, 0) == 0);
  for (int round = 0; round < 2; round++) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
      char text[64] = "";
      FILE *file = fopen(join(directory, names[i]), "r");
      if (!CHECK(file && fgets(text, sizeof text, file) && strcmp(text, names[i]) == 0)) {
        fprintf(stderr, "  %s is gone or changed\n", names[i]);
      }
      if (file) fclose(file);
    }
    check_events(directory, 10);
    weir_error error;
    if (round == 0) {
      CHECK_EQUAL(try_open(directory, &error), WEIR_ERROR_UNSAFE); /* a FIFO that calls itself a segment */
      REQUIRE(unlink(fifo) == 0);
      CHECK_EQUAL(try_open(directory, &error), WEIR_ERROR_UNSAFE); /* a socket */
      REQUIRE(unlink(hub) == 0);
      CHECK_EQUAL(try_open(directory, &error), WEIR_OK);
    }
  }
  scratch_remove(folder);
}

enum { FOREIGN_FILES = 400 };

/* On a stack as small as some runtimes give their threads. */
static void *open_among_foreigners(void *directory) {
  check_events(directory, 10);
  CHECK_EQUAL(try_open(directory, NULL), WEIR_OK);
  check_events(directory, 10);
  return NULL;
}

static void many_foreign_files(void) {
  test("case 50: hundreds of files that only have a segment's name, on a small stack");
  char *folder = scratch();
  char *directory = strdup(join(folder, "log")); /* join keeps a thousand names, no more */
  make_log(directory, NULL, 10, 1);
  for (int i = 0; i < FOREIGN_FILES; i++) {
    char name[64];
    snprintf(name, sizeof name, "%020d.weir", 1000 + i);
    put_text(join(directory, name), "not a segment");
  }
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  alarm(HANG_SECONDS);
  REQUIRE(pthread_create(&thread, &attributes, open_among_foreigners, directory) == 0);
  pthread_join(thread, NULL);
  alarm(0);
  pthread_attr_destroy(&attributes);
  free(directory);
  scratch_remove(folder);
}

/* ---- Directories that are not as they should be ------------------------------------------------------------------ */

static void empty_directory(void) {
  test("case 51: a directory that is empty holds no log, and becomes one");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  REQUIRE(mkdir(directory, 0700) == 0);
  weir_reader *reader;
  weir_stat stat;
  CHECK_EQUAL(weir_reader_open(directory, NULL, &reader, NULL), WEIR_ERROR_MISSING);
  CHECK_EQUAL(weir_verify(directory, NULL, NULL, NULL, NULL), WEIR_ERROR_MISSING);
  CHECK_EQUAL(weir_stat_directory(directory, &stat, NULL), WEIR_ERROR_MISSING);
  make_log(directory, NULL, 5, 0);
  check_events(directory, 5);
  scratch_remove(folder);
}

static void removed_while_open(void) {
  test("case 51: a directory that is removed while the log is open: captures go on, the end is told");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options = small();
  weir_log *log = NULL;
  REQUIRE(weir_open(directory, &options, &log, NULL, NULL) == WEIR_OK);
  uint32_t type = define_numbered(log);
  uint64_t accepted = 0;
  for (uint64_t n = 0; n < 4000; n++) {
    if (n == 1000) {
      /* A segment that is made meanwhile keeps the directory for another round. */
      for (int i = 0; i < 1000 && access(directory, F_OK) == 0; i++) remove_tree(directory);
      REQUIRE(access(directory, F_OK) != 0);
    }
    int32_t answer = capture_numbered(log, type, 0, n, 500, NULL);
    CHECK(answer == WEIR_ACCEPTED || answer == WEIR_DROP_FULL || answer == WEIR_DROP_STORAGE);
    accepted += answer == WEIR_ACCEPTED;
  }
  CHECK(accepted >= 1);
  weir_error error = {0};
  weir_status drained = weir_drain(log, HANG_NS, NULL, &error);
  CHECK(drained != WEIR_ERROR_TIMEOUT);
  CHECK(drained == WEIR_OK || strlen(error.message) > 20);
  weir_status closed = weir_close(log, &error);
  CHECK(closed != WEIR_OK && strlen(error.message) > 20); /* what has no name can't be sealed */
  weir_free(log);
  CHECK(access(directory, F_OK) != 0);
  make_log(directory, NULL, 5, 0);
  check_events(directory, 5);
  scratch_remove(folder);
}

static void read_only(void) {
  test("case 51: a read-only file system: readers read, an opening is refused");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    checks_failed = 0; /* the parent's are its own */
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("weir", folder, "tmpfs", 0, "mode=0700") != 0) {
      printf("SKIPPED: a read-only file system, because mounting one takes privileges: %s\n", strerror(errno));
      _exit(0);
    }
    make_log(directory, NULL, 10, 1);
    REQUIRE(mount(NULL, folder, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0);
    weir_error error;
    CHECK_EQUAL(try_open(directory, &error), WEIR_ERROR_ACCESS);
    CHECK(error.system_error == EROFS);
    check_events(directory, 10);
    CHECK_EQUAL(weir_verify(directory, NULL, NULL, NULL, NULL), WEIR_OK);
    REQUIRE(mount(NULL, folder, NULL, MS_REMOUNT, NULL) == 0);
    CHECK_EQUAL(try_open(directory, &error), WEIR_OK);
    check_events(directory, 10);
    _exit(checks_failed != 0); /* the mount goes with its namespace */
  }
  CHECK_EQUAL(wait_for(child), 0);
  scratch_remove(folder);
}

int main(void) {
  random_start("security_test");
  modes();
  linked_directory();
  linked_quarantine();
  linked_ring_directory();
  links_for_files();
  owners();
  stray_files();
  many_foreign_files();
  empty_directory();
  removed_while_open();
  read_only();
  return finish();
}
