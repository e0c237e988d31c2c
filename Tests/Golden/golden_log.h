/*
 * golden_log.h: makes the golden logs, or logs like them: small lanes and segments, so that positions run past a lane's
 * end, and every step on purpose: nothing depends on how threads take turns.
 */
#ifndef WEIR_TESTS_GOLDEN_LOG_H
#define WEIR_TESTS_GOLDEN_LOG_H

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "golden_events.h"

/* ---- Openings --------------------------------------------------------------------------------------------------- */

static weir_log *open_log(const char *directory, uint32_t clock) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 3;
  options.spare_lanes = 1;
  options.lane_bytes = 4096;
  options.max_event_bytes = LARGEST;
  options.segment_bytes = 131072 + 2 * (WEIR_RECORD_HEADER_BYTES + LARGEST); /* the least that is allowed */
  options.drain_interval_ns = 10000000000; /* the most: so that a kill finds events in the lanes */
  options.clock = clock;
  weir_log *log;
  weir_error error;
  if (weir_open(directory, &options, &log, NULL, &error) != WEIR_OK) require(0, error.message);
  return log;
}

static void drain(weir_log *log) {
  weir_error error;
  if (weir_drain(log, UINT64_MAX, NULL, &error) != WEIR_OK) require(0, error.message);
}

static void closed_opening(const char *directory, uint32_t clock, int full) {
  weir_log *log = open_log(directory, clock);
  types types = define(log);
  capture_all(log, &types);
  drain(log);
  capture_on_another_thread(log, &types);
  nest_captures(log, &types);
  refuse_some(log, &types);
  drain(log);
  if (full) overfill(log);
  weir_error error;
  if (weir_close(log, &error) != WEIR_OK) require(0, error.message);
  weir_free(log);
}

/* The tests, which see the log from inside, have the drainer stay away after this drain. */
#ifndef LAST_DRAIN
#define LAST_DRAIN(log) drain(log)
#endif

/* Captures and drains, captures again, tells the parent so, and waits for its death. */
static void die(const char *directory, uint32_t clock, int ready) {
  weir_log *log = open_log(directory, clock);
  types types = define(log);
  object context = make_context(3);
  set_context(log, &context); /* defined in the segment, and used in the lanes again */
  capture_options(log, types.options, 3);
  refuse_some(log, &types);
  drain(log);
  overfill(log); /* so that what is captured below runs past the lane's end, into the overhang and the second lap */
  drain(log);
  capture_nested(log, types.nested, 2);
  capture_on_another_thread(log, &types);
  LAST_DRAIN(log);
  capture_all(log, &types);
  set_context(log, &context);
  capture_on_another_thread(log, &types);
  nest_captures(log, &types);
  refuse_some(log, &types);
  alarm(600); /* should the parent die first */
  require(write(ready, "", 1) == 1, "the parent has gone");
  for (;;) pause();
}

static void killed_opening(const char *directory, uint32_t clock) {
  int ready[2];
  require(pipe(ready) == 0, "no pipe could be made");
  pid_t child = fork();
  require(child >= 0, "no process could be made");
  if (child == 0) die(directory, clock, ready[1]);
  close(ready[1]);
  char byte;
  require(read(ready[0], &byte, 1) == 1, "the process ended too early");
  close(ready[0]);
  kill(child, SIGKILL);
  require(waitpid(child, NULL, 0) == child, "the process is not ours");
}

/* ---- Damage ----------------------------------------------------------------------------------------------------- */

static uint8_t *load(const char *directory, const char *name, size_t *bytes) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *file = fopen(path, "rb");
  uint8_t *data = calloc(1, 1 << 20);
  require(file && data, path);
  *bytes = fread(data, 1, 1 << 20, file);
  fclose(file);
  return data;
}

static void store(const char *directory, const char *name, uint8_t *data, size_t bytes) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *file = fopen(path, "r+b");
  require(file && fwrite(data, 1, bytes, file) == bytes && fclose(file) == 0, path);
  free(data);
}

static uint64_t word(const uint8_t *at) {
  uint64_t value;
  memcpy(&value, at, 8);
  return value;
}

/* The last block of a segment. */
static uint8_t *last_block(uint8_t *data, size_t bytes) {
  uint8_t *found = NULL;
  for (size_t at = 0; at + 160 <= bytes; at += 8) {
    if (memcmp(data + at, "WBLK", 4) == 0 && word(data + at + 16) == at) found = data + at;
  }
  require(found != NULL, "there is no block");
  return found;
}

/*
 * What a kill in the middle of the last block would have left: half a header, the records still in their lane. The
 * offsets in what follows are those of FileFormat.md.
 */
static void tear(const char *directory, const char *active) {
  size_t bytes, ring_bytes;
  uint8_t *data = load(directory, active, &bytes), *ring = load(directory, "ring", &ring_bytes);
  uint8_t *block = last_block(data, bytes);
  uint32_t lane;
  memcpy(&lane, block + 56, 4);
  require(lane < 3 && block[32] == 1, "the last block is not one of events");
  uint8_t *control = ring + word(ring + 56) + lane * word(ring + 64);
  memcpy(control + 128, block + 64, 8);  /* head: back to lane_from */
  memcpy(ring + 512, block + 48, 8);     /* log_end: back to base_offset */
  memset(block + 64, 0, 96);
  /* And a flipped byte in a record of lane 0 that was never drained: in the payload of the second one. */
  control = ring + word(ring + 56);
  uint64_t position = word(control + 128);
  uint32_t length;
  memcpy(&length, control + 4096 + position % 4096 + 4, 4);
  position += (24 + length + 7) / 8 * 8;
  control[4096 + position % 4096 + 30] ^= 0x10;
  store(directory, active, data, bytes);
  store(directory, "ring", ring, ring_bytes);
}

/* Flips a byte in the first definitions, which the seal repeats, and one in the last events, which are lost. */
static void flip(const char *directory, const char *sealed) {
  size_t bytes;
  uint8_t *data = load(directory, sealed, &bytes), *definitions = NULL, *events = NULL;
  for (size_t at = 0; at + 160 <= bytes; at += 8) {
    if (memcmp(data + at, "WBLK", 4) != 0) continue;
    if (data[at + 32] == 2 && !definitions) definitions = data + at;
    if (data[at + 32] == 1) events = data + at;
  }
  require(definitions && events, "there are no such blocks");
  definitions[160 + 30] ^= 0x01;
  events[160 + 24] ^= 0x01;
  store(directory, sealed, data, bytes);
}

static void find_active(const char *directory, char *name, size_t room) {
  DIR *entries = opendir(directory);
  require(entries != NULL, "the directory can't be listed");
  *name = 0;
  for (struct dirent *entry; (entry = readdir(entries));) {
    if (strstr(entry->d_name, ".weir.active")) snprintf(name, room, "%s", entry->d_name);
  }
  closedir(entries);
  require(*name != 0, "there is no active segment");
}

/* ---- The boot --------------------------------------------------------------------------------------------------- */

static uint32_t crc_of(const uint8_t *bytes, size_t count) {
  uint32_t crc = 0xffffffff;
  for (size_t i = 0; i < count; i++) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
  }
  return ~crc;
}

/*
 * Makes the ring one of another boot, whichever kernel runs: as it is wherever a kept log is read, but for the machine
 * and the day on which it was made.
 */
static void forget_boot(const char *directory) {
  size_t bytes;
  uint8_t *ring = load(directory, "ring", &bytes);
  memset(ring + 112, 0, 16);
  uint32_t crc = crc_of(ring + 16, 496);
  memcpy(ring + 12, &crc, 4);
  store(directory, "ring", ring, bytes);
}

/* ---- The logs --------------------------------------------------------------------------------------------------- */

/* Two openings, both closed. */
static void make_closed(const char *directory) {
  closed_opening(directory, WEIR_CLOCK_AUTO, 1);
  closed_opening(directory, WEIR_CLOCK_COARSE, 0);
}

/* The second opening's process is killed: events and refusals are still in its lanes. */
static void make_killed(const char *directory) {
  closed_opening(directory, WEIR_CLOCK_AUTO, 0);
  killed_opening(directory, WEIR_CLOCK_AUTO);
}

/* Three openings: of the first a batch segment, of the second a raw one; the third one's process is killed. */
static void make_batched(const char *directory) {
  weir_error error;
  closed_opening(directory, WEIR_CLOCK_AUTO, 0);
  if (weir_batch_directory(directory, 1, NULL, NULL, NULL, &error) != WEIR_OK) require(0, error.message);
  closed_opening(directory, WEIR_CLOCK_COARSE, 0);
  killed_opening(directory, WEIR_CLOCK_AUTO);
}

/* The same as make_killed, and then: a torn tail, a damaged record in a lane, two damaged blocks in the sealed segment. */
static void make_damaged(const char *directory) {
  closed_opening(directory, WEIR_CLOCK_AUTO, 0);
  killed_opening(directory, WEIR_CLOCK_MONOTONIC);
  char active[512];
  find_active(directory, active, sizeof active);
  tear(directory, active);
  flip(directory, "00000000000000000000.weir");
}

#endif
