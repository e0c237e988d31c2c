/* world.c: see world.h. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/clock.h"
#include "capture/types.h"
#include "drain/drainer.h"
#include "drain/preparer.h"
#include "format/notice.h"
#include "ring/ring.h"
#include "seal/sealer.h"
#include "system/crc32c.h"
#include "system/system.h"
#include "disk.h"

enum { MAX_LANES = 4, PAGE_BYTES = 4096, LANE_BYTES = 128, EVENT_BYTES = 64, TYPES_BYTES = 4096 };

event_log *world_log;
captured world_captured;
static captured kept_captured;
int world_recovering;

static disk world_disk, kept_disk;
static uint64_t used, kept; /* bytes of the arena */
static uint8_t *image;
static uint8_t dirty[ARENA_BYTES / PAGE_BYTES];
static uint32_t dirty_pages[ARENA_BYTES / PAGE_BYTES], dirty_count, restorations;
static int unmapped;

/* ---- The arena --------------------------------------------------------------------------------------------------- */

void *world_allocate(uint64_t alignment, uint64_t bytes) {
  if (world_recovering) return NULL;
  uint64_t at = (used + alignment - 1) / alignment * alignment;
  if (bytes > ARENA_BYTES - at) {
    fprintf(stderr, "models: the arena is full\n");
    exit(2);
  }
  used = at + bytes;
  world_before_store(arena + at, bytes);
  memset(arena + at, 0, bytes);
  return arena + at;
}

void world_forget(void) {
  used = dirty_count = 0;
  world_recovering = unmapped = 0;
  memset(dirty, 0, sizeof dirty);
  memset(&world_captured, 0, sizeof world_captured);
  for (uint32_t i = 0; i < MAX_PRODUCERS; i++) {
    for (uint32_t k = 0; k < MAX_NUMBERS; k++) world_captured.outcome[i][k] = NOT_YET;
  }
  disk_empty(&world_disk);
  disk_in_use = &world_disk;
  model_time_ns = 1000000000;
}

static void mark(uint64_t first, uint64_t last) {
  for (uint64_t page = first; page <= last; page++) {
    if (dirty[page]) continue;
    dirty[page] = 1;
    dirty_pages[dirty_count++] = (uint32_t)page;
  }
}

static void mark_log(void) {
  /* Its plain fields are written by sources that the explorer does not see, too. The tables in its middle are not. */
  uint64_t at = (uint64_t)((uint8_t *)world_log - arena);
  mark(at / PAGE_BYTES, (at + offsetof(event_log, intake.types)) / PAGE_BYTES);
  mark((at + offsetof(event_log, intake.callers)) / PAGE_BYTES, (at + sizeof *world_log) / PAGE_BYTES);
}

void world_keep(void) {
  free(image);
  kept = used;
  kept_disk = world_disk;
  kept_captured = world_captured;
  image = malloc(ARENA_BYTES);
  if (!image) abort();
  memcpy(image, arena, ARENA_BYTES);
  while (dirty_count > 0) dirty[dirty_pages[--dirty_count]] = 0;
}

void world_restore(void) {
  mark_log();
  while (dirty_count > 0) {
    uint32_t page = dirty_pages[--dirty_count];
    memcpy(arena + (uint64_t)page * PAGE_BYTES, image + (uint64_t)page * PAGE_BYTES, PAGE_BYTES);
    dirty[page] = 0;
  }
  if (restorations++ % 4096 == 1 && memcmp(arena, image, kept) != 0) {
    fprintf(stderr, "models: something was stored that the explorer did not see\n");
    exit(2);
  }
  used = kept;
  world_disk = kept_disk;
  disk_in_use = &world_disk;
  world_recovering = unmapped = 0;
  model_time_ns = 1000000000;
  world_captured = kept_captured;
}

void world_before_store(const volatile void *address, uint64_t bytes) {
  if (address && in_arena(address)) {
    uint64_t at = (uint64_t)((const volatile uint8_t *)address - arena);
    mark(at / PAGE_BYTES, (at + bytes - 1) / PAGE_BYTES);
  }
  if (!exploring || !exploring->before_store) return;
  if (!address || disk_file_at(disk_in_use, address)) exploring->before_store();
}

/* The disk is in the arena; so what differs from the kept image lies in dirty pages. */
void world_hash_disk(uint64_t hash[2]) {
  uint64_t sum[2] = {0, 0};
  for (uint32_t i = 0; i < dirty_count; i++) {
    const uint8_t *page = arena + (uint64_t)dirty_pages[i] * PAGE_BYTES;
    if (!disk_file_at(&world_disk, page)) continue;
    uint64_t of_page[2] = {dirty_pages[i], 1};
    for (uint64_t at = 0; at < PAGE_BYTES; at += 8) {
      uint64_t word;
      memcpy(&word, page + at, 8);
      if (word != 0) mix(of_page, word + at * 31);
    }
    sum[0] += of_page[0];
    sum[1] += of_page[1];
  }
  mix(hash, sum[0]);
  mix(hash, sum[1]);
  for (uint32_t i = 0; i < world_disk.count; i++) {
    mix(hash, world_disk.files[i].size);
    for (const char *c = world_disk.files[i].name; *c; c++) mix(hash, (uint64_t)*c);
  }
  world_hash_captured(hash);
}

void world_hash_captured(uint64_t hash[2]) {
  for (uint32_t i = 0; i < MAX_PRODUCERS * MAX_NUMBERS; i++) {
    mix(hash, (uint64_t)world_captured.outcome[i / MAX_NUMBERS][i % MAX_NUMBERS]);
  }
}

/* ---- The log ----------------------------------------------------------------------------------------------------- */

static void must(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "models: cannot %s\n", what);
  exit(2);
}

/* As weir_open does it, without threads. */
static void open_log(uint32_t owned, uint32_t spare, uint32_t overflow, uint32_t full_policy) {
  event_log *log = world_log = world_allocate(128, sizeof *world_log);
  weir_options_init(&log->options);
  log->options.lane_count = owned + spare;
  log->options.spare_lanes = spare;
  log->options.clock = WEIR_CLOCK_MONOTONIC;
  log->options.lane_bytes = LANE_BYTES;
  log->options.overflow_bytes = overflow * LANE_BYTES;
  log->options.max_event_bytes = EVENT_BYTES;
  log->options.segment_bytes = 135168;
  log->options.full_policy = full_policy;
  log->held.path = "log";
  log->held.directory = sys_open_directory(log->held.path);
  intake *intake = &log->intake;
  intake->held = &log->held;
  intake->options = &log->options;
  intake->sealer = &log->sealer;
  intake->references = 1;
  intake->membarrier = 1;
  log->sealer.intake = intake;
  log->preparer.intake = intake;
  log->preparer.sealer = &log->sealer;
  log->drainer.intake = intake;
  log->drainer.sealer = &log->sealer;
  log->drainer.preparer = &log->preparer;
  log->drainer.prefaulter = &log->prefaulter;
  must(sys_random(&intake->producer.opening, sizeof intake->producer.opening) == 0, "get random bytes");
  clock_start(&log->drainer.clock, WEIR_CLOCK_MONOTONIC);
  clock_measure(&log->drainer.clock, WEIR_CLOCK_MONOTONIC);
  weir_error error = {0};
  const ring_start start = {.spent.certain = 1, .calibration = &log->drainer.clock.calibration}; /* no ring before */
  must(ring_create(intake, &start, &error) == WEIR_OK, error.message);
  /* A smaller region for types: a disk that is copied at every step should be small. */
  ring_header *header = intake->ring.header;
  header->types_bytes = TYPES_BYTES;
  header->file_bytes = header->types_at + TYPES_BYTES;
  header->header_crc = crc32c((const uint8_t *)header + 16, RING_FIXED_BYTES - 16);
  must(sys_truncate(sys_open_write(log->held.directory, RING_NAME), header->file_bytes) == 0, "shorten the ring");
  types_load(intake);
  allow_claims();
}

static void open_with(uint32_t owned, uint32_t spare, uint32_t overflow, uint32_t full_policy, uint64_t position) {
  open_log(owned, spare, overflow, full_policy);
  intake *intake = &world_log->intake;
  for (uint32_t i = 0; i < intake->first_overflow; i++) {
    lane *lane = &intake->lanes[i];
    lane_view view = ring_lane_view(intake, i);
    lane->control->head = lane->control->tail = lane->drained = position;
    lane->producer.limit = lane_limit(&view, position);
    lane->producer.position = position;
    lane->producer.own_tail = &lane->control->tail; /* as after a first capture */
    lane->ready = lane->used = 1;
  }
  int error;
  segment *first = preparer_take(&world_log->preparer, &error);
  must(first && drainer_begin(&world_log->drainer, first) == 0, "begin a segment");
}

void world_open(uint32_t owned, uint32_t spare, uint32_t full_policy, uint64_t position) {
  open_with(owned, spare, 0, full_policy, position);
}

void world_open_overflowing(uint32_t overflow) {
  open_with(1, 1, overflow, WEIR_FULL_DROP_NEWEST, 0);
  intake *intake = &world_log->intake;
  intake->tender = &world_log->prefaulter.bell;
  intake->seen_at = 1;
  intake->seen_end = intake->ring.header->log_end;
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

/* Where an address lies, and in which lane. */
static place_kind locate(const volatile void *address, uint32_t *number) {
  const event_log *log = world_log;
  const volatile uint8_t *at = address;
  *number = 0;
  if (!log) return PLACE_OTHER;
  const intake *intake = &log->intake;
  const mapped_ring *ring = &intake->ring;
  if (address == &intake->producer.asleep) return PLACE_ASLEEP;
  if (address == &intake->bell) return PLACE_BELL;
  if (address == &intake->state) return PLACE_STATE;
  if (address == &intake->unlaned_users) return PLACE_VISITORS;
  uint64_t in_lanes = (uint64_t)(at - (const uint8_t *)intake->lanes);
  if (in_lanes < intake->lane_count * sizeof(lane)) {
    lane *lane = &intake->lanes[*number = (uint32_t)(in_lanes / sizeof *lane)];
    if (address == &lane->taken) return PLACE_TAKEN;
    if (address == &lane->producer.busy) return PLACE_BUSY;
    if (address == &lane->producer.tail) return PLACE_TAIL_POINTER;
    if (address == &lane->drained) return PLACE_DRAINED;
    return PLACE_OTHER;
  }
  if (ring->bytes && (uint64_t)(at - ring->bytes) < ring->size) {
    uint64_t in_ring = (uint64_t)(at - ring->bytes), lanes = ring->header->lanes_at;
    uint64_t stride = ring->header->lane_stride;
    if (in_ring < offsetof(ring_header, unlaned_dropped)) return PLACE_OTHER;
    if (in_ring < RING_HEADER_BYTES) return PLACE_UNLANED;
    *number = (uint32_t)((in_ring - lanes) / stride);
    if (*number >= intake->lane_count) return PLACE_OTHER;
    uint64_t in_lane = (in_ring - lanes) % stride;
    if (in_lane >= LANE_CONTROL_BYTES) return PLACE_RECORD;
    if (in_lane == offsetof(lane_control, tail)) return PLACE_TAIL;
    return in_lane == offsetof(lane_control, head) ? PLACE_HEAD : PLACE_CONTROL;
  }
  const retention *retention = intake->retention;
  if (address == &log->sealer.next_offset) return PLACE_END;
  if (address == &log->sealer.wait_count) return PLACE_WAIT_COUNT;
  if (address == &log->sealer.stale) return PLACE_STALE;
  if (address == &intake->requests.made) return PLACE_REQUESTED;
  if (address == &intake->requests.done) return PLACE_ANSWERED;
  if (address == &intake->requests.failed) return PLACE_FAILED;
  if (address == &log->sealer.roll_wanted) return PLACE_ROLL;
  if (address == &log->prefaulter.stopping) return PLACE_PREFAULT_STOP;
  if (address == &log->prefaulter.bell) return PLACE_PREFAULT_BELL;
  if (retention && address == &retention->delivered) return PLACE_DELIVERED;
  if (retention && address == &retention->removable_at) return PLACE_REMOVABLE;
  if (retention && address == &retention->batched) return PLACE_BATCHED;
  if (retention && address == &retention->used) return PLACE_USED;
  if (retention && address == &retention->batch_taken) return PLACE_BATCH_ROOM;
  const segment *active = log->sealer.active;
  if (active && (uint64_t)(at - active->map) < active->capacity) return PLACE_BLOCK;
  return PLACE_OTHER;
}

place_kind place_of(const volatile void *address) {
  uint32_t number;
  return locate(address, &number);
}

const char *place_name(const volatile void *address) {
  static const char *const names[] = {[PLACE_OTHER] = "other memory",
                                      [PLACE_TAIL] = "tail",
                                      [PLACE_HEAD] = "head",
                                      [PLACE_TAKEN] = "taken",
                                      [PLACE_BUSY] = "busy",
                                      [PLACE_TAIL_POINTER] = "where its tail is",
                                      [PLACE_ASLEEP] = "asleep",
                                      [PLACE_BELL] = "the bell",
                                      [PLACE_STATE] = "the log's state",
                                      [PLACE_VISITORS] = "unlaned_users",
                                      [PLACE_UNLANED] = "the counters of refusals without a lane",
                                      [PLACE_CONTROL] = "control page",
                                      [PLACE_RECORD] = "records",
                                      [PLACE_BLOCK] = "block bytes",
                                      [PLACE_END] = "the log's end",
                                      [PLACE_DRAINED] = "drained",
                                      [PLACE_REQUESTED] = "requests.made",
                                      [PLACE_ANSWERED] = "requests.done",
                                      [PLACE_WAIT_COUNT] = "wait_count",
                                      [PLACE_STALE] = "stale",
                                      [PLACE_DELIVERED] = "delivered",
                                      [PLACE_REMOVABLE] = "removable_at",
                                      [PLACE_BATCHED] = "batched",
                                      [PLACE_USED] = "used",
                                      [PLACE_BATCH_ROOM] = "batch_taken",
                                      [PLACE_ROLL] = "roll_wanted",
                                      [PLACE_FAILED] = "requests.failed",
                                      [PLACE_PREFAULT_STOP] = "the prefaulter's stopping",
                                      [PLACE_PREFAULT_BELL] = "the prefaulter's bell"};
  static char text[96];
  uint32_t number;
  place_kind kind = locate(address, &number);
  const volatile uint8_t *at = address;
  const lane *lane = &world_log->intake.lanes[number];
  uint64_t in_lane = (uint64_t)(at - (const uint8_t *)lane), in_log = (uint64_t)(at - (const uint8_t *)world_log);
  uint64_t in_control = (uint64_t)(at - (const uint8_t *)lane->control);
  if (kind == PLACE_OTHER && in_lane < sizeof *lane) {
    snprintf(text, sizeof text, "lane %u's memory, byte %u", number, (unsigned)in_lane);
  } else if (kind == PLACE_OTHER && in_log < sizeof *world_log) {
    snprintf(text, sizeof text, "the log's memory, byte %u", (unsigned)in_log);
  } else if (kind == PLACE_CONTROL || kind == PLACE_RECORD) {
    unsigned byte = (unsigned)(kind == PLACE_RECORD ? in_control - LANE_CONTROL_BYTES : in_control);
    snprintf(text, sizeof text, "lane %u's %s, byte %u", number, names[kind], byte);
  } else if (kind >= PLACE_TAIL && kind <= PLACE_TAIL_POINTER) {
    snprintf(text, sizeof text, "lane %u's %s", number, names[kind]);
  } else {
    return names[kind];
  }
  return text;
}

/* ---- Captures ---------------------------------------------------------------------------------------------------- */

static void capture(uint32_t producer, uint32_t number, int32_t (*how)(weir_log *, uint64_t)) {
  int32_t *outcome = &world_captured.outcome[producer][number];
  *outcome = PENDING;
  told("captures event %u.%u", producer, number);
  *outcome = how(&world_log->intake.producer, producer * 1000 + number);
  told("capture of event %u.%u answers %s", producer, number,
       *outcome == WEIR_ACCEPTED ? "accepted" : weir_drop_name(*outcome));
}

void produce(uint32_t producer, uint32_t number) { capture(producer, number, capture_number); }
void produce_in_signal(uint32_t producer, uint32_t number) { capture(producer, number, capture_number_in_signal); }

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

void world_read_records(contents *found, const block_header *block, const uint8_t *payload) {
  if (block->kind != BLOCK_EVENTS && block->kind != BLOCK_NOTICES) return;
  for (uint64_t at = 0; at < block->payload_bytes;) {
    record_header record;
    memcpy(&record, payload + at, sizeof record);
    const uint8_t *bytes = payload + at + sizeof record;
    uint32_t lane;
    int32_t reason;
    uint64_t total, lost;
    if (block->kind == BLOCK_EVENTS && found->count < MAX_EVENTS) {
      found->lanes[found->count] = block->lane;
      memcpy(&found->events[found->count++], bytes, 8);
    }
    if (record.type == WEIR_TYPE_GAP && notice_read_gap(bytes, record.length, &lane, &reason, &total, &lost)) {
      *(reason == WEIR_LOST_OVERWRITTEN ? &found->overwritten : &found->refused) += lost;
    }
    if (record.type == WEIR_TYPE_HOLE) found->count = MAX_EVENTS + 1; /* damage: nothing of that here */
    at += record_size(record.length);
  }
}

void world_touched(void) {
  world_captured.touched_end = world_log->drainer.next_offset;
  remember(world_captured.touched_end);
  told("gives the files the present time");
}

void world_synced(const uint8_t *bytes) {
  segment_header header;
  memcpy(&header, bytes, sizeof header);
  for (uint64_t at = header.header_bytes;;) {
    block_header block;
    memcpy(&block, bytes + at, sizeof block);
    uint64_t size = sizeof block + block.payload_bytes;
    /* Whatever comes behind a block that may not be there is not counted on either. */
    if (block.magic != BLOCK_MAGIC || !memory_is_known(bytes + at, size)) break;
    contents found = {0};
    world_read_records(&found, &block, bytes + at + sizeof block);
    for (uint32_t i = 0; i < found.count; i++) {
      world_captured.synced[found.events[i] / 1000][found.events[i] % 1000] = 1;
    }
    uint64_t end = block.base_offset + block.count;
    if (world_captured.synced_end >= block.base_offset && world_captured.synced_end < end) {
      world_captured.synced_end = end;
    }
    at += size;
  }
  remember(world_captured.synced_end);
  told("syncs a segment: the disk has all events below %llu", (unsigned long long)world_captured.synced_end);
}

static uint64_t outcomes(int32_t least, int32_t most) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < MAX_PRODUCERS * MAX_NUMBERS; i++) {
    int32_t outcome = world_captured.outcome[i / MAX_NUMBERS][i % MAX_NUMBERS];
    sum += outcome >= least && outcome <= most;
  }
  return sum;
}

const char *world_problem(const contents *found, int cut_off) {
  static char text[200];
  uint64_t times[MAX_PRODUCERS][MAX_NUMBERS] = {{0}}, missing = 0;
  uint64_t next[MAX_PRODUCERS][MAX_LANES] = {{0}};
  if (found->count > MAX_EVENTS) return "the log has a hole, or more events than were ever captured";
  for (uint32_t i = 0; i < found->count; i++) {
    uint64_t producer = found->events[i] / 1000, number = found->events[i] % 1000;
    if (producer >= MAX_PRODUCERS || number >= MAX_NUMBERS) return "an event that nobody captured is in the log";
    /* Between lanes there is no order, but of a thread that goes on in an overflow lane. */
    uint32_t lane = world_log->options.overflow_bytes > 0 ? 0 : found->lanes[i] % MAX_LANES;
    if (number < next[producer][lane]) return "a producer's events are out of order in the log";
    next[producer][lane] = number;
    times[producer][number]++;
    int32_t outcome = world_captured.outcome[producer][number];
    if (outcome == WEIR_ACCEPTED || (outcome == PENDING && cut_off)) continue;
    snprintf(text, sizeof text, "event %u.%u is in the log, but was not accepted (%d)", (unsigned)producer,
             (unsigned)number, outcome);
    return text;
  }
  for (uint32_t p = 0; p < MAX_PRODUCERS; p++) {
    for (uint32_t n = 0; n < MAX_NUMBERS; n++) {
      if (times[p][n] > 1) {
        snprintf(text, sizeof text, "event %u.%u is in the log %llu times", p, n, (unsigned long long)times[p][n]);
        return text;
      }
      missing += world_captured.outcome[p][n] == WEIR_ACCEPTED && times[p][n] == 0;
    }
  }
  /* An eviction by a capture that a kill cut off is counted as soon as it has happened. */
  if (missing == found->overwritten) return NULL;
  snprintf(text, sizeof text, "%llu accepted events are not in the log, and it counts %llu as overwritten",
           (unsigned long long)missing, (unsigned long long)found->overwritten);
  return text;
}

void world_check_delivered(void) {
  if (!full_drain(world_log)) broken("the last drain stalls");
  contents found = {0};
  const segment *segment = world_log->sealer.active;
  for (uint64_t at = ((const segment_header *)(const void *)segment->map)->header_bytes; at < segment->at;) {
    block_header block;
    memcpy(&block, segment->map + at, sizeof block);
    world_read_records(&found, &block, segment->map + at + sizeof block);
    at += sizeof block + block.payload_bytes;
  }
  const char *problem = world_problem(&found, 0);
  if (problem) broken("%s", problem);
  uint64_t refused = outcomes(WEIR_ACCEPTED + 1, WEIR_DROP_REASONS);
  const uint64_t *dropped = world_log->intake.dropped_after_close;
  for (int reason = 0; reason < WEIR_DROP_REASONS; reason++) found.refused += dropped[reason];
  if (refused != found.refused) {
    broken("%u captures were refused, %u are counted", (unsigned)refused, (unsigned)found.refused);
  }
}

/* ---- Unmapping --------------------------------------------------------------------------------------------------- */

void world_unmap_ring(void) {
  const intake *intake = &world_log->intake;
  ring_header *header = intake->ring.header;
  seam_writes(header->unlaned_dropped, sizeof header->unlaned_dropped);
  for (uint32_t i = 0; i < intake->lane_count; i++) {
    lane_control *control = intake->lanes[i].control;
    seam_writes(control, offsetof(lane_control, reserved2));
    seam_writes((uint8_t *)control + LANE_CONTROL_BYTES, LANE_BYTES + RECORD_BYTES);
  }
  unmapped = 1;
}

int world_is_unmapped(void) { return unmapped; }

void world_check_mapped(const volatile void *address) {
  const mapped_ring *ring = &world_log->intake.ring;
  if (!unmapped || (uint64_t)((const volatile uint8_t *)address - ring->bytes) >= ring->size) return;
  broken("thread %d accesses the ring, which is unmapped: %s", current, place_name(address));
}
