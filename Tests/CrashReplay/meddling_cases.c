/*
 * meddling_cases.c: what somebody else does to the files of a log while it is open: FAULTS case 36, and of 51 what
 * happens to the directory. Captures go on in each case, since a writer works through what it has open and mapped; what
 * was lost with a deleted file is reported, to the event where that can be known. (Truncating the ring or the active
 * segment is the documented limit.)
 */
#include "capture_check.h"

#include <dirent.h>

#include "format/format.h"
#include "system/system.h"

enum { BEFORE = 700, AFTER = 700, FILLER = 300, NOBODY = 65534 };

static weir_status open_log(const char *directory, weir_log **log, weir_recovery *recovery, weir_error *error) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 3;
  options.spare_lanes = 1;
  options.lane_bytes = 32768;
  options.overflow_bytes = 0; /* a ring that has room for everything has what a deleted segment had */
  options.max_event_bytes = 1024;
  options.segment_bytes = 139264;
  options.full_wait_ns = UINT64_C(120000000000); /* so that offsets are numbers: no gap record between them */
  memset(error, 0, sizeof *error);
  return weir_open(directory, &options, log, recovery, error);
}

static const char *file_named(const char *directory, const char *end) {
  const char *found = NULL;
  DIR *stream = opendir(directory);
  REQUIRE(stream);
  for (struct dirent *entry; (entry = readdir(stream));) {
    size_t length = strlen(entry->d_name), ending = strlen(end);
    if (length < ending || strcmp(entry->d_name + length - ending, end) != 0) continue;
    if (!found || strcmp(entry->d_name, strrchr(found, '/') + 1) > 0) found = join(directory, entry->d_name);
  }
  closedir(stream);
  REQUIRE(found);
  return found;
}

typedef enum target { RING, ACTIVE, SEALED, LOCK, DIRECTORY } target;
typedef enum deed { DELETED, RENAMED, FORBIDDEN, DEEDS } deed;
static const char *const target_names[] = {"ring", "active segment", "sealed segment", "lock", "directory"};
static const char *const deed_names[] = {"deleted", "renamed", "chmod-ed to 0000"};

/* A log in the middle of its use, and what somebody did to it. */
typedef struct scene {
  const char *directory;
  const char *path;         /* what was meddled with */
  const char *moved;        /* where it went if it was renamed */
  uint64_t accepted;
  uint64_t lost_from, lost; /* of a sealed segment: the offsets in it */
} scene;

static void capture_all(scene *scene, weir_log *log, uint32_t type, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    scene->accepted += capture_numbered(log, type, 0, scene->accepted, FILLER, NULL) == WEIR_ACCEPTED;
  }
}

static void meddle(scene *scene, target target, deed deed) {
  const char *names[] = {join(scene->directory, "ring"), NULL, NULL, join(scene->directory, "lock"), scene->directory};
  if (target == ACTIVE || target == SEALED) {
    names[target] = file_named(scene->directory, target == ACTIVE ? ACTIVE_SUFFIX : SEALED_SUFFIX);
  }
  if (target == SEALED) {
    scene->lost_from = strtoull(strrchr(names[target], '/') + 1, NULL, 10);
    scene->lost = strtoull(strrchr(file_named(scene->directory, ACTIVE_SUFFIX), '/') + 1, NULL, 10) - scene->lost_from;
  }
  scene->path = names[target];
  char *moved = malloc(strlen(scene->path) + 7);
  REQUIRE(moved);
  sprintf(moved, "%s.moved", scene->path);
  scene->moved = moved;
  /* The log's threads may make a file in the directory while it is removed. */
  while (deed == DELETED && access(scene->path, F_OK) == 0) remove_tree(scene->path);
  if (deed == RENAMED) REQUIRE(rename(scene->path, moved) == 0);
  if (deed == FORBIDDEN) REQUIRE(chmod(scene->path, 0) == 0);
}

/* A log with a sealed segment behind it and one begun, everything drained and sealed that will be. */
static weir_log *begin(scene *scene, const char *folder, uint32_t *type) {
  weir_log *log;
  weir_error error;
  *scene = (struct scene){.directory = join(folder, "log")};
  if (!CHECK_EQUAL(open_log(scene->directory, &log, NULL, &error), WEIR_OK)) fprintf(stderr, "%s\n", error.message);
  REQUIRE(log);
  *type = define_numbered(log);
  capture_all(scene, log, *type, BEFORE);
  REQUIRE(weir_sync(log, UINT64_MAX, NULL, NULL) == WEIR_OK);
  return log;
}

/* Puts right what can be, so that the log can be looked at. */
static void mend(const scene *scene, target target, deed deed) {
  char path[4096];
  snprintf(path, sizeof path, "%s", scene->path);
  /* Sealed by now, and called so. */
  if (target == ACTIVE) path[strlen(path) - strlen(ACTIVE_SUFFIX) + strlen(SEALED_SUFFIX)] = 0;
  if (deed == FORBIDDEN) CHECK_EQUAL(chmod(path, target == DIRECTORY ? 0700 : 0600), 0);
  if (deed == RENAMED && target == DIRECTORY) CHECK_EQUAL(rename(scene->moved, scene->path), 0);
}

/* Every event is there but for the `lost` ones, whose offsets the reader reports, neither more nor less. */
static void judge(const scene *scene, uint64_t lost) {
  weir_reader *reader;
  weir_event event;
  weir_skip skip;
  weir_error error;
  weir_status status;
  found_event found;
  uint64_t next = 0, missing = 0, notices = 0;
  REQUIRE(weir_reader_open(scene->directory, NULL, &reader, &error) == WEIR_OK);
  while ((status = weir_reader_next(reader, &event, &skip, &error)) == WEIR_OK || status == WEIR_SKIPPED) {
    if (status == WEIR_SKIPPED) {
      CHECK_EQUAL(skip.first_offset, next);
      missing += skip.count;
      next += skip.count;
      continue;
    }
    if (name_is(&event, "numbered")) CHECK(take_numbered(&event, &found) && found.number == next);
    else notices++;
    CHECK_EQUAL(event.offset, next);
    next = event.offset + 1;
  }
  weir_reader_close(reader);
  CHECK_EQUAL(status, WEIR_END);
  CHECK_EQUAL(missing, lost);
  CHECK_EQUAL(next, scene->accepted + notices);
}

static void check_message(const weir_error *error, const char *about) {
  if (!CHECK(strstr(error->message, about) && strchr(error->message, ';'))) fprintf(stderr, "%s\n", error->message);
}

static void end(scene *scene) {
  free((char *)scene->moved);
  remove_tree(scene->directory);
}

static const char *name_of(const char *number, target target, deed deed, const char *then) {
  static char name[200];
  snprintf(name, sizeof name, "%s: the %s is %s while open%s", number, target_names[target], deed_names[deed], then);
  return name;
}

/* ---- 36 ---------------------------------------------------------------------------------------------------------- */

/* What the next opening must say, given what was done to what. */
static void check_next_opening(const scene *scene, target target, deed deed) {
  weir_log *log;
  weir_error error;
  weir_recovery recovery;
  weir_status status = open_log(scene->directory, &log, &recovery, &error);
  if (deed == FORBIDDEN && (target == RING || target == LOCK)) {
    CHECK_EQUAL(status, WEIR_ERROR_ACCESS);
    check_message(&error, scene->path);
    mend(scene, target, deed);
    status = open_log(scene->directory, &log, &recovery, &error);
  } else if (target != DIRECTORY) {
    mend(scene, target, deed);
  }
  if (!CHECK_EQUAL(status, WEIR_OK)) {
    fprintf(stderr, "%s\n", error.message);
    return;
  }
  /* Of a ring that is gone nobody knows that it held nothing, though this one was closed. */
  int ring_lost = target == RING && deed != FORBIDDEN;
  CHECK_EQUAL(recovery.ring_replaced, ring_lost);
  CHECK_EQUAL(recovery.was_clean, !ring_lost);
  CHECK_EQUAL(recovery.missing_events, 0);
  CHECK_EQUAL(recovery.first_offset, scene->accepted + (uint64_t)ring_lost); /* the log has a notice of that */
  close_and_free(log);
}

static void closed_after(const char *folder, target target, deed deed) {
  test(name_of("case 36", target, deed, ", then closed"));
  uint32_t type;
  scene scene;
  weir_log *log = begin(&scene, folder, &type);
  meddle(&scene, target, deed);
  capture_all(&scene, log, type, AFTER);
  CHECK_EQUAL(scene.accepted, BEFORE + AFTER);
  weir_error error;
  CHECK_EQUAL(weir_sync(log, UINT64_C(120000000000), NULL, &error), WEIR_OK);
  close_and_free(log);
  if (target == DIRECTORY) mend(&scene, target, deed);
  check_next_opening(&scene, target, deed);
  judge(&scene, target == SEALED && deed != FORBIDDEN ? scene.lost : 0);
  end(&scene);
}

/* The same, but the writer is killed: with a removed file go the events that were nowhere else. That is reported. */
static void killed_after(const char *folder, target target, deed deed) {
  test(name_of("case 36", target, deed, ", then killed"));
  uint32_t type;
  scene scene = {.directory = join(folder, "log")};
  int told[2];
  REQUIRE(pipe(told) == 0);
  fflush(stdout);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    weir_log *log = begin(&scene, folder, &type);
    uint64_t synced = scene.accepted;
    meddle(&scene, target, deed);
    capture_all(&scene, log, type, 100);
    uint64_t numbers[2] = {synced, scene.accepted};
    REQUIRE(write(told[1], numbers, sizeof numbers) == sizeof numbers);
    kill(getpid(), SIGKILL);
  }
  uint64_t numbers[2] = {0, 0};
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
  REQUIRE(read(told[0], numbers, sizeof numbers) == sizeof numbers);
  close(told[0]), close(told[1]);
  weir_log *log;
  weir_error error;
  weir_recovery recovery;
  if (!CHECK_EQUAL(open_log(scene.directory, &log, &recovery, &error), WEIR_OK)) fprintf(stderr, "%s\n", error.message);
  else close_and_free(log);
  /* The offsets that are known of, be they lost or not, but for that of the notice of a lost ring. */
  scene.accepted = recovery.first_offset - recovery.ring_replaced;
  if (target == RING) {
    CHECK_EQUAL(recovery.ring_replaced, 1); /* an unknown loss: what was in the lanes */
    CHECK(scene.accepted >= numbers[0] && scene.accepted <= numbers[1]);
    judge(&scene, 0);
  } else {
    CHECK(recovery.missing_events > 0 && recovery.was_clean == 0);
    CHECK_EQUAL(scene.accepted, numbers[1]);
    judge(&scene, recovery.missing_events);
  }
  end(&scene);
}

/* Stops the sealer before it seals anything, which needs a sync of a segment under its active name. */
static void never_seal(const weir_call *call, int after) {
  char link[64], name[4096];
  if (after || strcmp(call->operation, "sys_sync_data") != 0) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", call->fd);
  ssize_t bytes = readlink(link, name, sizeof name - 1);
  REQUIRE(bytes > 0);
  name[bytes] = 0;
  while (strstr(name, ACTIVE_SUFFIX)) pause();
}

/* A killed log whose last segments were still to be sealed, and one between the others is not there any more. */
static void queued_segment(const char *folder, deed deed) {
  char name[100];
  snprintf(name, sizeof name, "case 36: a segment between two that are not sealed, %s", deed_names[deed]);
  test(name);
  scene scene = {.directory = join(folder, "log")};
  fflush(stdout);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    weir_log *log;
    weir_error error;
    weir_fault_observe(never_seal);
    REQUIRE(open_log(scene.directory, &log, NULL, &error) == WEIR_OK);
    capture_all(&scene, log, define_numbered(log), 2 * BEFORE);
    REQUIRE(weir_drain(log, UINT64_MAX, NULL, NULL) == WEIR_OK);
    kill(getpid(), SIGKILL);
  }
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
  uint64_t bases[64], count = 0;
  DIR *stream = opendir(scene.directory);
  REQUIRE(stream);
  for (struct dirent *entry; (entry = readdir(stream));) {
    if (strstr(entry->d_name, ACTIVE_SUFFIX) && count < 64) bases[count++] = strtoull(entry->d_name, NULL, 10);
  }
  closedir(stream);
  REQUIRE(count >= 3);
  uint64_t middle = UINT64_MAX, after = UINT64_MAX; /* the second one, and the third */
  for (uint64_t i = 0; i < count; i++) {
    if (bases[i] > 0 && bases[i] < middle) after = middle, middle = bases[i];
    else if (bases[i] > 0 && bases[i] < after) after = bases[i];
  }
  char path[4096];
  snprintf(path, sizeof path, "%s/%020" PRIu64 ACTIVE_SUFFIX, scene.directory, middle);
  scene.path = path;
  if (deed == DELETED) CHECK_EQUAL(unlink(path), 0);
  else CHECK_EQUAL(rename(path, join(scene.directory, "moved")), 0);
  weir_log *log;
  weir_error error;
  weir_recovery recovery = {0};
  if (CHECK_EQUAL(open_log(scene.directory, &log, &recovery, &error), WEIR_OK)) close_and_free(log);
  CHECK_EQUAL(recovery.missing_events, after - middle);
  CHECK_EQUAL(recovery.was_clean, 0);
  scene.accepted = 2 * BEFORE;
  judge(&scene, recovery.missing_events);
  if (CHECK_EQUAL(open_log(scene.directory, &log, &recovery, &error), WEIR_OK)) close_and_free(log);
  CHECK_EQUAL(recovery.missing_events, 0);
  CHECK_EQUAL(recovery.was_clean, 1);
  end(&scene);
}

/* ---- 51 ---------------------------------------------------------------------------------------------------------- */

/* No file can be made in it any more: the log stops growing, says so, and refuses events once its lanes are full. */
static void lost_directory(const char *folder, deed deed) {
  test(name_of("case 51", DIRECTORY, deed, ""));
  uint32_t type;
  scene scene;
  weir_log *log = begin(&scene, folder, &type);
  meddle(&scene, DIRECTORY, deed);
  weir_counters counters = {0};
  uint64_t refused = 0;
  while (counters.dropped[WEIR_DROP_STORAGE] < 3 && scene.accepted < 5000) {
    if (capture_numbered(log, type, 0, scene.accepted, FILLER, NULL) == WEIR_ACCEPTED) scene.accepted++;
    else refused++;
    weir_count(log, &counters);
  }
  weir_status status = deed == DELETED ? WEIR_ERROR_MISSING : WEIR_ERROR_ACCESS;
  weir_error error;
  CHECK_EQUAL(counters.storage, status);
  CHECK_EQUAL(counters.dropped[WEIR_DROP_STORAGE], refused);
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, &error), status);
  check_message(&error, scene.directory);
  if (deed == DELETED) {
    CHECK(weir_close(log, &error) != WEIR_OK);
    check_message(&error, scene.directory);
    weir_free(log);
    REQUIRE(open_log(scene.directory, &log, NULL, &error) == WEIR_OK); /* a new log, in a new directory */
    scene.accepted = 0;
    close_and_free(log);
    judge(&scene, 0);
  } else {
    mend(&scene, DIRECTORY, deed);
    CHECK_AWAIT(weir_drain(log, HANG_NS, NULL, &error) == WEIR_OK); /* what failed before is told of once more */
    capture_all(&scene, log, type, 100);
    close_and_free(log);
    found_log found = read_log(scene.directory);
    check_sound(&found);
    CHECK_EQUAL(check_producer(&found, 0), scene.accepted);
    CHECK_EQUAL(found.gaps, refused);
    found_free(&found);
  }
  end(&scene);
}

/* A directory that is there and can't be written to, for a log that is new and for one that is not. */
static void read_only_directory(const char *folder) {
  test("case 51: a directory that may not be written to");
  uint32_t type;
  scene scene;
  weir_error error;
  weir_log *log = begin(&scene, folder, &type);
  close_and_free(log);
  REQUIRE(chmod(scene.directory, 0500) == 0);
  CHECK_EQUAL(open_log(scene.directory, &log, NULL, &error), WEIR_ERROR_ACCESS);
  check_message(&error, scene.directory);
  judge(&scene, 0); /* reading needs no more than that */
  REQUIRE(chmod(scene.directory, 0700) == 0);
  end(&scene);
  REQUIRE(mkdir(scene.directory, 0500) == 0);
  CHECK_EQUAL(open_log(scene.directory, &log, NULL, &error), WEIR_ERROR_ACCESS);
  check_message(&error, scene.directory);
  CHECK_EQUAL(rmdir(scene.directory), 0);
}

int main(void) {
  random_start("meddling_cases");
  char *folder = scratch();
  /* Root may read and write whatever the modes say. */
  if (geteuid() == 0) REQUIRE(chown(folder, NOBODY, NOBODY) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
  for (target target = RING; target <= LOCK; target++) {
    for (deed deed = DELETED; deed < DEEDS; deed++) closed_after(folder, target, deed);
  }
  closed_after(folder, DIRECTORY, RENAMED);
  for (deed deed = DELETED; deed <= RENAMED; deed++) {
    killed_after(folder, RING, deed);
    killed_after(folder, ACTIVE, deed);
  }
  queued_segment(folder, DELETED);
  queued_segment(folder, RENAMED);
  lost_directory(folder, DELETED);
  lost_directory(folder, FORBIDDEN);
  read_only_directory(folder);
  remove_tree(folder);
  free(folder);
  return finish();
}
