/*
 * limit_model.c: what is shared by those who remove segments and those who make room for them or need it: the words of
 * a retention. Segments that are delivered are removed though nobody says so again; each batch is taken once, whole;
 * and files never take more than the limit allows, whoever comes first.
 */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "limits/byte_limit.h"

enum { PAGE = 4096, FIRST_BASE = 0, SECOND_BASE = 50, LIMIT_PAGES = 6 };

/* A retention with two sealed segments. */
static retention *make_retention(void) {
  retention *made = world_log->intake.retention = world_allocate(64, sizeof *made);
  worker *remover = world_allocate(64, sizeof *remover);
  retained *queue = world_allocate(64, 2 * sizeof *queue);
  queue[0] = (retained){FIRST_BASE, PAGE};
  queue[1] = (retained){SECOND_BASE, PAGE};
  made->remover = remover;
  made->queue = queue;
  made->end = made->room = 2;
  made->sealed_bytes = 2 * PAGE;
  made->block_bytes = PAGE;
  made->slack_bytes = byte_limit_slack(PAGE);
  made->max_bytes = made->retain_bytes = made->retain_ns = UINT64_MAX;
  made->remove_delivered = 1;
  made->removable_at = made->covered = UINT64_MAX;
  return made;
}

static retention *bounds(void) { return world_log->intake.retention; }

static void set_up(void) {
  world_open(1, 1, WEIR_FULL_DROP_NEWEST, 0);
  make_retention();
}

/* ---- What is delivered is removed -------------------------------------------------------------------------------- */

static int seen;

static void delivers(void) { retention_deliver(bounds(), SECOND_BASE); }
static void looks(void) {
  seen = 0;
  seen = look_for_removable(bounds());
}

static void at_end_of_delivery(void) {
  if (!seen && !bounds()->delivery_waits) broken("a segment is delivered, and nobody removes it");
}

static const twin delivered_twins[] = {
    {"delivered-relaxed", "R1", TWIN_RELAX_STORE, PLACE_DELIVERED, ANY_VALUE, 0},
    {"delivered-read-relaxed", "R1", TWIN_RELAX_LOAD, PLACE_DELIVERED, ANY_VALUE, 0},
    {"removable-relaxed", "R1", TWIN_RELAX_STORE, PLACE_REMOVABLE, ANY_VALUE, 0},
    {"removable-read-relaxed", "R1", TWIN_RELAX_LOAD, PLACE_REMOVABLE, ANY_VALUE, 0},
    {0},
};

const model delivered_model = {
    .name = "delivered", .labels = "R1", .proves = "a segment that is delivered is removed", .set_up = set_up,
    .threads = {delivers, looks}, .at_end = at_end_of_delivery, .twins = delivered_twins,
};

/* ---- Batches on their way to the sealer -------------------------------------------------------------------------- */

static void gives(uint64_t base) {
  batched_segment *batched = world_allocate(16, sizeof *batched);
  seam_writes(batched, sizeof *batched);
  *batched = (batched_segment){.base = base, .bytes = PAGE / 2};
  retention_batched(bounds(), batched);
}
static void gives_first(void) { gives(FIRST_BASE); }
static void gives_second(void) { gives(SECOND_BASE); }
static void takes(void) { take_batches(bounds()); }

static void at_end_of_batches(void) {
  take_batches(bounds());
  if (bounds()->sealed_bytes != PAGE) broken("a batch was lost on its way, or counted twice");
}

static const twin batched_twins[] = {
    {"batched-relaxed", "R2", TWIN_RELAX_STORE, PLACE_BATCHED, ANY_VALUE, 0},
    {"batched-read-relaxed", "R2", TWIN_RELAX_LOAD, PLACE_BATCHED, ANY_VALUE, 0},
    {"batched-not-atomic", "R2", TWIN_SPLIT_UPDATE, PLACE_BATCHED, ANY_VALUE, 0},
    {0},
};

const model batched_model = {
    .name = "batched", .labels = "R2", .proves = "each batch is taken once, and whole", .set_up = set_up,
    .threads = {gives_first, gives_second, takes}, .at_end = at_end_of_batches, .twins = batched_twins,
};

/* ---- Bytes below the limit --------------------------------------------------------------------------------------- */

/* Of the log's files, in pages. */
#define FILES world_captured.outcome[0][0]

static void set_up_limit(void) {
  set_up();
  bounds()->max_bytes = LIMIT_PAGES * PAGE + byte_limit_slack(PAGE);
  bounds()->batch_reserve = 2 * PAGE;
  bounds()->used = 2 * PAGE;
  FILES = 2;
}

/* Files grow, or shrink, once there is room for them, or before their room is given back. */
static void change_files(int pages) {
  FILES += pages;
  remember((uint64_t)FILES);
  if (FILES > LIMIT_PAGES) broken("files of %d pages below a limit of %d", FILES, LIMIT_PAGES);
}

/* Of the preparer: a segment, which leaves room for batches, and which somebody removes later. */
static void segment_comes_and_goes(void) {
  if (!byte_limit_try(bounds(), PAGE, bounds()->batch_reserve)) return;
  change_files(1);
  change_files(-1);
  byte_limit_give(bounds(), PAGE);
}

static void two_segments(void) {
  for (int i = 0; i < 2; i++) {
    if (byte_limit_try(bounds(), PAGE, bounds()->batch_reserve)) change_files(1);
  }
}

/* Of a batcher: a batch beside its segment, then without it. */
static void batch_takes_the_place(void) {
  uint64_t taken = 2 * PAGE;
  if (byte_limit_take_batch(bounds(), &taken) != 0) return;
  change_files(1);
  change_files(-1);
  byte_limit_settle_batch(bounds(), taken, PAGE, PAGE);
}

static void at_end_of_limit(void) {
  if (bounds()->used != (uint64_t)FILES * PAGE) {
    broken("%d pages are used, and %llu bytes are counted", FILES, (unsigned long long)bounds()->used);
  }
  if (bounds()->batch_taken != 0) broken("a batch has ended, and has room still");
}

static const twin limit_twins[] = {
    {"used-not-atomic", "B1", TWIN_SPLIT_UPDATE, PLACE_USED, ANY_VALUE, 0},
    {0},
};

static const twin batches_twins[] = {
    {"batch-room-not-atomic", "B2", TWIN_SPLIT_UPDATE, PLACE_BATCH_ROOM, ANY_VALUE, 0},
    {0},
};

#define IN_BOUNDS "files never take more than the limit"

const model limit_model = {
    .name = "limit", .labels = "B1, B2", .proves = IN_BOUNDS, .set_up = set_up_limit,
    .threads = {two_segments, segment_comes_and_goes, batch_takes_the_place}, .at_end = at_end_of_limit,
    .twins = limit_twins,
};
const model limit_batches_model = {
    .name = "limit-batches", .labels = "B1, B2", .proves = IN_BOUNDS ", with two batches", .set_up = set_up_limit,
    .threads = {two_segments, batch_takes_the_place, batch_takes_the_place}, .at_end = at_end_of_limit,
    .twins = batches_twins,
};
