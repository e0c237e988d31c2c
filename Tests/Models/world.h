/*
 * world.h: what the models share: a small log in the arena, made by the real code; what was captured; and the check
 * that the log holds just that.
 */
#ifndef WEIR_MODELS_WORLD_H
#define WEIR_MODELS_WORLD_H

#include "explorer.h"
#include "under_test.h"

enum { MAX_PRODUCERS = 4, MAX_NUMBERS = 8, RECORD_BYTES = 32 /* of a captured number */ };

/* What came of a producer's event. Reasons of refusals are above PENDING. */
enum { NOT_YET = -2, PENDING = -1 };

typedef struct captured {
  int32_t outcome[MAX_PRODUCERS][MAX_NUMBERS]; /* NOT_YET, PENDING, WEIR_ACCEPTED or the reason of the refusal */
  uint8_t synced[MAX_PRODUCERS][MAX_NUMBERS];  /* the disk has it */
  uint64_t synced_end;                         /* and all with a lower offset */
  uint64_t touched_end;                        /* the log's end when its files last got the present time */
  int told;                                    /* whoever waited for the disk waits no more */
  uint32_t failing_syncs;                      /* how many of the next syncs fail */
  int full;                                    /* the disk has no room for another file */
} captured;

extern event_log *world_log;
extern captured world_captured;

/* What a log holds: events in the order of the log, and what its gap records count. */
enum { MAX_EVENTS = 32 };
typedef struct contents {
  uint64_t events[MAX_EVENTS];
  uint32_t lanes[MAX_EVENTS];
  uint32_t count;
  uint64_t refused;     /* by gap records */
  uint64_t overwritten; /* by gap records */
} contents;

/* ---- For models: set-up ---- */

/*
 * A log of `owned` and `spare` lanes of 128 bytes, which hold two or three events each, with one segment. All lanes
 * start at `position`.
 */
void world_open(uint32_t owned, uint32_t spare, uint32_t full_policy, uint64_t position);

/*
 * The same with one owned, one spare and so many overflow lanes, of a ring in memory, whose drainer has stood still for
 * a second. A producer's events are then in order whatever their lanes.
 */
void world_open_overflowing(uint32_t overflow);

/* ---- For models: threads ---- */

/* Captures an event that says whose it is, and notes what came of it. */
void produce(uint32_t producer, uint32_t number);
void produce_in_signal(uint32_t producer, uint32_t number);

/* The sources under test sync a file, whose bytes these are: notes which events the disk has from now on. */
void world_synced(const uint8_t *bytes);
void world_touched(void); /* or give one the present time */

/* ---- For models: checks ---- */

/*
 * Drains what is left, then checks that the log holds exactly what was accepted, each producer's events in order
 * within a lane.
 */
void world_check_delivered(void);

/*
 * Checks contents against what was captured; with `cut_off`, a pending event may be there or not. Null, or what is
 * wrong.
 */
const char *world_problem(const contents *found, int cut_off);

void world_read_records(contents *found, const block_header *block, const uint8_t *payload);

/*
 * The ring is gone: whoever still accesses it afterwards, or did so before without an order between, breaks the
 * model.
 */
void world_unmap_ring(void);
int world_is_unmapped(void);

/* A hash of the disk and of what was captured so far. */
void world_hash_disk(uint64_t hash[2]);
void world_hash_captured(uint64_t hash[2]);

/* ---- For the explorer and the seam ---- */

void world_forget(void);  /* the arena is empty */
void world_keep(void);    /* as the arena is now, each execution finds it */
void world_restore(void);
void *world_allocate(uint64_t alignment, uint64_t bytes); /* in the arena; null while a recovery is being checked */
void world_before_store(const volatile void *address, uint64_t bytes);
place_kind place_of(const volatile void *address);
const char *place_name(const volatile void *address);
void world_check_mapped(const volatile void *address);
void seam_begin(void);
void seam_thread_ends(void);
void seam_reads(const void *address, uint64_t bytes);
void seam_writes(const void *address, uint64_t bytes);

/* Recoveries run on a copy of the disk, in memory that is not the arena's. */
extern int world_recovering;

#endif
