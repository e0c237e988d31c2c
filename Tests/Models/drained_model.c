/*
 * drained_model.c: the process is killed before every single store to the ring or to a segment, and before every
 * change of the directory, in every interleaving of a capture with the drainer; what is left is recovered by
 * recover.c, twice. Every accepted event is then in the log once, in order, or counted as overwritten; an event whose
 * capture was cut off may be there or not. In the -again model, the recovery is killed in the same way, too.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disk.h"
#include "world.h"
#include "recover/recover.h"
#include "system/system.h"

/* ---- Recovering a copy of the disk ------------------------------------------------------------------------------- */

/* The opening that recovers. */
static struct {
  log_lock held;
  uint64_t next_prepared;
} opening;

static int recover_disk(weir_error *error) {
  memset(&opening, 0, sizeof opening);
  opening.held.path = "log";
  opening.held.directory = sys_open_directory(opening.held.path);
  weir_recovery report = {0};
  recovered recovered;
  const recovery_site site = {.held = &opening.held,
                              .options = &world_log->options,
                              .next_prepared = &opening.next_prepared};
  return recover(&site, &report, &recovered, error) == WEIR_OK;
}

static void read_segment(contents *found, const segment_name *name) {
  segment_scan scan;
  scan_damage damage;
  if (scan_open(&scan, opening.held.directory, 0, name->name, name->base, name->active, &damage) != 0) return;
  while (scan_next(&scan, 0, &damage) == SCAN_BLOCK) world_read_records(found, &scan.block, scan.payload);
  scan_close(&scan);
}

/* Recovers a disk and reads its log. Null, or what is wrong. */
static const char *recover_and_check(disk *disk, int cut_off) {
  static weir_error error;
  contents found[2];
  memset(found, 0, sizeof found);
  disk_in_use = disk;
  for (int again = 0; again < 2; again++) {
    if (!recover_disk(&error)) return error.message;
    segment_list list;
    if (segment_list_read(opening.held.directory, &list) != 0) return "the directory can't be listed";
    for (uint64_t i = 0; i < list.count; i++) read_segment(&found[again], &list.items[i]);
    segment_list_free(&list);
  }
  const char *problem = world_problem(&found[0], cut_off);
  if (!problem && memcmp(&found[0], &found[1], sizeof *found) != 0) problem = "a second recovery changes the log";
  return problem;
}

/* ---- Kills ------------------------------------------------------------------------------------------------------- */

/* Disks that were recovered already: many executions come past the same one. */
static struct {
  uint64_t hashes[1 << 20][2];
  uint64_t count, kills, kills_of_recovery;
} disks_seen;

static int is_new_disk(const uint64_t hash[2]) {
  uint64_t room = sizeof disks_seen.hashes / sizeof *disks_seen.hashes, at = hash[0] & (room - 1);
  for (; disks_seen.hashes[at][0] | disks_seen.hashes[at][1]; at = (at + 1) & (room - 1)) {
    if (disks_seen.hashes[at][0] == hash[0] && disks_seen.hashes[at][1] == hash[1]) return 0;
  }
  if (++disks_seen.count > room / 2) broken("more disks than there is room to remember");
  disks_seen.hashes[at][0] = hash[0];
  disks_seen.hashes[at][1] = hash[1];
  return 1;
}

static int kills_recoveries, at_the_end;
static void before_any_store(void);

/* Kills the recovery that is running, and recovers what it leaves. */
static void kill_recovery(void) {
  static disk left;
  uint64_t hash[2] = {3, 4};
  disk_hash(disk_in_use, hash);
  world_hash_captured(hash);
  if (!is_new_disk(hash)) return;
  disks_seen.kills_of_recovery++;
  disk *interrupted = disk_in_use;
  int directory = opening.held.directory;
  uint64_t next_prepared = opening.next_prepared;
  disk_copy(&left, interrupted);
  kills_recoveries = 0;
  const char *problem = recover_and_check(&left, !at_the_end);
  kills_recoveries = 1;
  disk_free(&left);
  opening.held.directory = directory;
  opening.next_prepared = next_prepared;
  disk_in_use = interrupted;
  if (problem) broken("killed while it captured, and again while it recovered: %s", problem);
}

static void kill_now(int cut_off) {
  static disk left;
  uint64_t hash[2] = {5, 6};
  world_hash_disk(hash);
  if (!is_new_disk(hash)) return;
  disks_seen.kills++;
  int before = current;
  disk *running = disk_in_use;
  current = NO_THREAD;
  world_recovering = 1;
  disk_copy(&left, running);
  at_the_end = !cut_off;
  kills_recoveries = exploring->before_store == before_any_store;
  const char *problem = recover_and_check(&left, cut_off);
  kills_recoveries = 0;
  disk_free(&left);
  disk_in_use = running;
  world_recovering = 0;
  current = before;
  if (!problem) return;
  told("is killed here");
  broken("after a kill: %s", problem);
}

static void before_store(void) {
  if (world_recovering) {
    if (kills_recoveries) kill_recovery();
  } else if (current != NO_THREAD) {
    /*
     * What a kill leaves shows how far each thread was; so here each of these stores is one that others could notice.
     */
    remember(1);
    scheduling_point();
    remember(2); /* the store itself may be a scheduling point, too: not to be taken for this one, seen before */
    if (is_new_ground() || tracing) kill_now(1);
  }
}

/* Of a recovery's, too. */
static void before_any_store(void) { before_store(); }

/* ---- The models -------------------------------------------------------------------------------------------------- */

static void forget_disks(void) {
  mallopt(M_MMAP_THRESHOLD, 1 << 30); /* or each recovery would map and clear its memory anew */
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  memset(&disks_seen, 0, sizeof disks_seen);
}

/* With the segment's first definition written, so that the next block is one of events. */
static void open_world(uint32_t full_policy, uint64_t position) {
  forget_disks();
  world_open(1, 1, full_policy, position);
  produce(3, 7);
  if (!full_drain(world_log)) broken("the first drain stalls");
  end_thread();
}

static void set_up(void) { open_world(WEIR_FULL_DROP_NEWEST, 0); }
static void set_up_at_32(void) { open_world(WEIR_FULL_DROP_NEWEST, (UINT64_C(1) << 32) - 96); }
static void set_up_at_63(void) { open_world(WEIR_FULL_DROP_NEWEST, (UINT64_C(1) << 63) - 96); }
static void set_up_evicting(void) { open_world(WEIR_FULL_DROP_OLDEST, 0); }

static void two(void) {
  produce(0, 0);
  produce(0, 1);
}
static void three(void) {
  two();
  produce(0, 2);
}
static void four(void) {
  three();
  produce(0, 3);
}
static void drain_once(void) { full_drain(world_log); }
static void drain_and_roll(void) {
  full_drain(world_log);
  if (!begin_next_segment(world_log)) broken("no next segment");
  full_drain(world_log);
}

static void at_end(void) { kill_now(0); }

static void done(void) {
  printf("  %llu kills recovered", (unsigned long long)disks_seen.kills);
  unsigned long long of_recovery = disks_seen.kills_of_recovery;
  if (of_recovery) printf(", and %llu of recoveries", of_recovery);
  printf("\n");
}

static const twin twins[] = {
    {"head-before-block", "L4", TWIN_DELAY_STORE, PLACE_BLOCK, ANY_VALUE, 12},
    {0},
};
static const twin evict_twins[] = {
    {"eviction-noted-late", "L9", TWIN_DELAY_STORE, PLACE_CONTROL, ANY_VALUE, 2},
    {0},
};
static const twin no_twins[] = {{0}};

#define PROVES "a kill at any store: each accepted event is recovered once"

const model drained_model = {
    .name = "drained", .labels = "L4", .proves = PROVES, .set_up = set_up, .threads = {four, drain_once},
    .at_end = at_end, .before_store = before_store, .done = done, .twins = twins,
};
const model drained_32_model = {
    .name = "drained-2^32", .labels = "L4", .proves = PROVES, .set_up = set_up_at_32, .threads = {four, drain_once},
    .at_end = at_end, .before_store = before_store, .done = done, .twins = twins,
};
const model drained_63_model = {
    .name = "drained-2^63", .labels = "L4", .proves = PROVES, .set_up = set_up_at_63, .threads = {four, drain_once},
    .at_end = at_end, .before_store = before_store, .done = done, .twins = twins,
};
const model drained_roll_model = {
    .name = "drained-roll", .labels = "L4", .proves = PROVES ", over a change of segments", .set_up = set_up,
    .threads = {two, drain_and_roll}, .at_end = at_end, .before_store = before_store, .done = done, .twins = no_twins,
};
const model drained_evict_model = {
    .name = "drained-evict", .labels = "L8, L9", .proves = PROVES " or counted as overwritten",
    .set_up = set_up_evicting, .threads = {three, drain_once}, .at_end = at_end, .sleeps_run_out = 1,
    .before_store = before_store, .done = done, .twins = evict_twins,
};
const model drained_evict_again_model = {
    .name = "drained-evict-again", .labels = "L8, L9",
    .proves = PROVES " or counted as overwritten, the recovery's own included", .set_up = set_up_evicting,
    .threads = {three, drain_once}, .at_end = at_end, .before_store = before_any_store, .done = done,
    .twins = no_twins,
};
const model drained_again_model = {
    .name = "drained-again", .labels = "L4", .proves = PROVES ", the recovery's own included", .set_up = set_up,
    .threads = {four, drain_once}, .at_end = at_end, .before_store = before_any_store, .done = done,
    .twins = no_twins,
};
