/*
 * copy_on_write_test.c: case 30 on a file system that writes elsewhere what it writes again: a log on a btrfs that
 * fills up. No store to what was allocated may find the disk full (it would be SIGBUS, for the host): the process
 * lives, captures are refused and accepted again when there is space, and nothing that was accepted is lost. The ring
 * is on tmpfs, as the documentation has it for such file systems: on a full btrfs a first store to a page takes
 * seconds. Needs root, a loop device and mkfs.btrfs.
 */
#include "capture_check.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>

static char *folder;
static char ring_folder[] = "/dev/shm/weir-test-XXXXXX";

static int run(const char *format) {
  char command[16384];
  snprintf(command, sizeof command, format, folder, folder, folder);
  return system(command);
}

static int mount_image(void) {
  if (geteuid() != 0) return 0;
  return run("truncate -s 200M '%s/image' && mkfs.btrfs -q '%s/image' >/dev/null 2>&1") == 0 &&
         run("mkdir '%s/mount' && mount -o loop '%s/image' '%s/mount' 2>/dev/null") == 0;
}

/* Writes until nothing more fits, for a few seconds at most: the last pages take btrfs for ever. */
static void fill_disk(const char *path) {
  static char junk[1 << 20];
  for (size_t i = 0; i < sizeof junk; i++) junk[i] = (char)random_below(256);
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  REQUIRE(fd >= 0);
  uint64_t end = now_ns() + 5000000000u;
  for (size_t count = sizeof junk; count >= 4096 && now_ns() < end;) {
    if (write(fd, junk, count) <= 0) count /= 2;
  }
  fsync(fd);
  close(fd);
}

/* Captures until 20 are refused, or for a while: with what was prepared, and a disk that is slow when it is full. */
static uint64_t capture_until_refused(weir_log *log, uint32_t type, uint64_t from) {
  uint64_t accepted = 0, refused = 0, end = now_ns() + 4000000000u;
  while (refused < 20 && now_ns() < end) {
    int32_t answer = capture_numbered(log, type, 0, from + accepted, 1000, NULL);
    accepted += answer == WEIR_ACCEPTED;
    refused += answer == WEIR_DROP_STORAGE || answer == WEIR_DROP_FULL;
  }
  return accepted;
}

/* Captures until so many are accepted. */
static uint64_t capture_so_many(weir_log *log, uint32_t type, uint64_t from, uint64_t count) {
  uint64_t accepted = 0, end = now_ns() + HANG_NS;
  while (accepted < count && now_ns() < end) {
    if (capture_numbered(log, type, 0, from + accepted, 1000, NULL) == WEIR_ACCEPTED) accepted++;
    else sleep_ns(1000000);
  }
  return accepted;
}

static void test_full(void) {
  test("case 30: no space on a copy-on-write file system, at every phase of the lanes and segments");
  const char *directory = join(folder, "mount/log"), *filler = join(folder, "mount/filler");
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 3;
  options.lane_bytes = 1 << 18;
  options.segment_bytes = 1 << 20;
  options.ring_directory = access("/dev/shm", W_OK) == 0 ? ring_folder : NULL;
  weir_log *log;
  weir_error error = {0};
  if (!CHECK_EQUAL(weir_open(directory, &options, &log, NULL, &error), WEIR_OK)) {
    fprintf(stderr, "%s\n", error.message);
    return;
  }
  uint32_t type = define_numbered(log);
  uint64_t accepted = capture_so_many(log, type, 0, 2000);
  for (int round = 0; round < 2; round++) {
    /* Written back: what is stored next is stored anew. */
    CHECK_EQUAL(weir_sync(log, UINT64_MAX, NULL, &error), WEIR_OK);
    fill_disk(filler);
    accepted += capture_until_refused(log, type, accepted);
    REQUIRE(unlink(filler) == 0);
    sync();
    uint64_t more = capture_so_many(log, type, accepted, 500);
    CHECK_EQUAL(more, 500);
    accepted += more;
  }
  close_and_free(log);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 0), accepted);
  found_free(&found);
}

static void test_compressed(void) {
  test("a directory whose files btrfs compresses by attribute holds a log");
  const char *directory = join(folder, "mount/compressed");
  REQUIRE(mkdir(directory, 0700) == 0);
  int fd = open(directory, O_RDONLY | O_DIRECTORY), flags = 0;
  REQUIRE(fd >= 0 && ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0);
  flags |= FS_COMPR_FL;
  REQUIRE(ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0);
  close(fd);
  weir_log *log = open_small(directory, UINT64_MAX, 2, NULL);
  if (log) CHECK_EQUAL(capture_so_many(log, define_numbered(log), 0, 100), 100);
  if (log) close_and_free(log);
  remove_tree(directory);
}

int main(void) {
  random_start("copy_on_write_test");
  folder = scratch();
  REQUIRE(access("/dev/shm", W_OK) != 0 || mkdtemp(ring_folder));
  if (mount_image()) {
    test_compressed();
    test_full();
    CHECK_EQUAL(umount(join(folder, "mount")), 0);
  } else {
    printf("SKIPPED: case 30 on btrfs, because it takes root, a loop device and mkfs.btrfs\n");
  }
  scratch_remove(folder);
  remove_tree(ring_folder);
  return finish();
}
