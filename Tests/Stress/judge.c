/*
 * judge.c: what a closed log must hold, held against what the callers were told.
 *
 * For each log: attempted = accepted + refused + cancelled, by the callers' tally; the log's counters and its gap
 * records give the same numbers by reason; every accepted event is in the log once and whole, or counted as
 * overwritten; offsets have no hole; within a lane positions and each producer's numbers rise; nothing is left in the
 * ring.
 */
#include "stress.h"

/* What a reading of the log gave. */
typedef struct reading {
  const round_t *round;
  tally tally;
  uint64_t events, next_offset, skipped;
  uint64_t foreign;    /* events that nobody captured, or not so */
  uint64_t twice;
  uint64_t disorder;   /* positions or numbers that do not rise, offsets that do not follow each other */
  uint64_t mistimed;
  uint64_t gaps[WEIR_DROP_REASONS];
  uint64_t holes;      /* weir.hole: stretches that no checksum vouches for */
  uint8_t *seen[MAX_PRODUCERS]; /* a bit for each number that was accepted */
  uint64_t last_position[WEIR_MAX_LANES];                /* + 1 */
  uint64_t last_number[WEIR_MAX_LANES][MAX_PRODUCERS];   /* + 1 */
} reading;

static uint64_t accepted_by(const reading *reading, uint32_t producer, uint32_t log) {
  return reading->round->producers[producer].tallies[log].accepted;
}

tally tally_of(const round_t *round, uint32_t index) {
  tally sum = {0};
  for (uint32_t i = 0; i < round->producer_count; i++) {
    const tally *one = &round->producers[i].tallies[index];
    sum.attempted += one->attempted;
    sum.accepted += one->accepted;
    sum.cancelled += one->cancelled;
    for (int reason = 0; reason < WEIR_DROP_REASONS; reason++) sum.refused[reason] += one->refused[reason];
  }
  return sum;
}

/* ---- One event --------------------------------------------------------------------------------------------------- */

static int name_is(const weir_event *event, const char *name) {
  return event->name_bytes == strlen(name) && memcmp(event->name, name, event->name_bytes) == 0;
}

/* weir.gap: lane u32, reason string, dropped u64, total u64. */
static void take_gap(reading *reading, const weir_event *event) {
  uint32_t bytes = 0;
  if (event->payload_bytes >= 24) memcpy(&bytes, event->payload + 4, 4);
  if (event->payload_bytes != 24 + (uint64_t)bytes) {
    reading->foreign++;
    return;
  }
  for (int reason = 1; reason < WEIR_DROP_REASONS; reason++) {
    const char *name = weir_drop_name(reason);
    uint64_t dropped;
    if (strlen(name) != bytes || memcmp(name, event->payload + 8, bytes) != 0) continue;
    memcpy(&dropped, event->payload + 8 + bytes, 8);
    reading->gaps[reason] += dropped;
    return;
  }
  reading->foreign++;
}

static int is_whole(const weir_event *event, uint64_t *producer, uint64_t *number) {
  uint32_t filler;
  if (event->payload_bytes < 20 || !name_is(event, "stressed")) return 0;
  memcpy(producer, event->payload, 8);
  memcpy(number, event->payload + 8, 8);
  memcpy(&filler, event->payload + 16, 4);
  if (event->payload_bytes != 20 + (uint64_t)filler) return 0;
  for (uint32_t i = 0; i < filler; i++) {
    if (event->payload[20 + i] != stress_filler(*producer, *number, i)) return 0;
  }
  return 1;
}

static void take_captured(reading *reading, const weir_event *event, uint32_t log) {
  uint64_t producer, number;
  if (!is_whole(event, &producer, &number) || producer >= reading->round->producer_count ||
      number >= accepted_by(reading, (uint32_t)producer, log)) {
    reading->foreign++;
    return;
  }
  uint8_t *seen = &reading->seen[producer][number / 8], bit = (uint8_t)(1u << number % 8);
  reading->twice += (*seen & bit) != 0;
  *seen |= bit;
  reading->events++;
  uint64_t lane = event->id.sequence >> 48, position = (event->id.sequence << 16 >> 16) + 1;
  if (lane >= WEIR_MAX_LANES) { /* overflow lanes come after those of the options */
    reading->foreign++;
    return;
  }
  reading->disorder += position <= reading->last_position[lane] || number < reading->last_number[lane][producer];
  reading->last_position[lane] = position;
  reading->last_number[lane][producer] = number + 1;
}

static void take(reading *reading, const weir_event *event, uint32_t log) {
  enum { SLACK_NS = 100000000 }; /* the coarsest clock, and what adjusts the wall clock */
  reading->disorder += event->offset != reading->next_offset;
  reading->next_offset = event->offset + 1;
  reading->mistimed += event->time_ns < reading->round->began_ns - SLACK_NS ||
                       event->time_ns > reading->round->ended_ns + SLACK_NS;
  if (name_is(event, "weir.gap")) take_gap(reading, event);
  else if (name_is(event, "weir.hole")) reading->holes++;
  else take_captured(reading, event, log);
}

/* ---- The log ----------------------------------------------------------------------------------------------------- */

static reading *read_all(const round_t *round, uint32_t index) {
  reading *reading = calloc(1, sizeof *reading);
  REQUIRE(reading);
  reading->round = round;
  reading->tally = tally_of(round, index);
  for (uint32_t i = 0; i < round->producer_count; i++) {
    reading->seen[i] = calloc(accepted_by(reading, i, index) / 8 + 1, 1);
    REQUIRE(reading->seen[i]);
  }
  weir_reader_options options;
  weir_reader_options_init(&options);
  weir_reader *reader;
  weir_event event;
  weir_skip skip;
  weir_error error;
  weir_status status;
  REQUIRE(weir_reader_open(round->logs[index].directory, &options, &reader, &error) == WEIR_OK);
  while ((status = weir_reader_next(reader, &event, &skip, &error)) == WEIR_OK || status == WEIR_SKIPPED) {
    if (status == WEIR_OK) take(reading, &event, index);
    else reading->skipped++;
  }
  CHECK_EQUAL(status, WEIR_END);
  weir_reader_close(reader);
  return reading;
}

static void check_reading(const reading *reading, const weir_counters *counters) {
  CHECK_EQUAL(reading->foreign, 0);
  CHECK_EQUAL(reading->twice, 0);
  CHECK_EQUAL(reading->disorder, 0);
  CHECK_EQUAL(reading->mistimed, 0);
  CHECK_EQUAL(reading->skipped, 0);
  CHECK_EQUAL(reading->holes, 0);
  CHECK_EQUAL(reading->events + counters->overwritten, reading->tally.accepted);
  CHECK_EQUAL(reading->gaps[WEIR_LOST_OVERWRITTEN], counters->overwritten);
  CHECK_EQUAL(reading->next_offset, counters->next_offset);
}

static void check_counters(const tally *tally, const weir_counters *counters, const reading *reading) {
  uint64_t refused = 0;
  for (int reason = 1; reason < WEIR_DROP_REASONS; reason++) {
    refused += tally->refused[reason];
    CHECK_EQUAL(counters->dropped[reason], tally->refused[reason]);
    if (reason == WEIR_LOST_OVERWRITTEN) continue; /* no answer of a capture */
    /* A refusal by a closed log comes after its last block: it is counted in memory alone. */
    if (reason == WEIR_DROP_CLOSED) CHECK_EQUAL(reading->gaps[reason], 0);
    else CHECK_EQUAL(reading->gaps[reason], tally->refused[reason]);
  }
  CHECK_EQUAL(tally->accepted + refused + tally->cancelled, tally->attempted);
  CHECK_EQUAL(counters->accepted, tally->accepted);
  CHECK_EQUAL(counters->drained + counters->overwritten, tally->accepted);
  CHECK_EQUAL(counters->lanes_in_use, 0); /* all threads have ended */
  CHECK_EQUAL(counters->damaged, 0);
  CHECK_EQUAL(tally->refused[WEIR_DROP_STORAGE], 0);
  CHECK_EQUAL(tally->refused[WEIR_DROP_DETACHED], 0);
}

/* Nothing is left in the ring: the directory says so, and the next opening finds it so. */
static void check_left(const char *directory, const reading *reading) {
  weir_stat stat;
  CHECK_EQUAL(weir_stat_directory(directory, &stat, NULL), WEIR_OK);
  CHECK_EQUAL(stat.lane_events, 0);
  CHECK_EQUAL(stat.lanes_in_use, 0);
  CHECK_EQUAL(stat.damaged, 0);
  CHECK_EQUAL(stat.events, reading->events);
  weir_recovery recovery;
  weir_log *again = NULL;
  weir_error error;
  if (!CHECK_EQUAL(weir_open(directory, NULL, &again, &recovery, &error), WEIR_OK)) {
    fprintf(stderr, "%s\n", error.message);
    return;
  }
  CHECK_EQUAL(recovery.was_clean, 1);
  CHECK_EQUAL(recovery.events_from_lanes, 0);
  CHECK_EQUAL(recovery.first_offset, reading->next_offset);
  close_log(again);
  weir_free(again);
}

void judge(round_t *round, uint32_t index, const weir_counters *counters, figures *figures) {
  reading *reading = read_all(round, index);
  check_reading(reading, counters);
  check_counters(&reading->tally, counters, reading);
  check_left(round->logs[index].directory, reading);
  figures->sum.attempted += reading->tally.attempted;
  figures->sum.accepted += reading->tally.accepted;
  figures->sum.cancelled += reading->tally.cancelled;
  for (int i = 0; i < WEIR_DROP_REASONS; i++) figures->sum.refused[i] += reading->tally.refused[i];
  figures->overwritten += counters->overwritten;
  figures->delivered += reading->events;
  for (uint32_t i = 0; i < round->producer_count; i++) free(reading->seen[i]);
  free(reading);
}
