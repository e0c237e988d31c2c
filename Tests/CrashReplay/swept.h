/* swept.h: the small parts that the sweeps' programs are made of. They run in the stepped process. */
#ifndef WEIR_REPLAY_SWEPT_H
#define WEIR_REPLAY_SWEPT_H

#include "victim.h"

enum { SWEPT_EVENT = 64, SWEPT_LANE = 2048 }; /* the largest event and the lanes, where a sweep says nothing else */

/* What a sweep's program works with. */
typedef struct swept {
  const victim_plan *plan;
  report *report;
  weir_log *log;
  uint32_t first_type;
} swept;

/* Opens the log and defines the events' types. */
void swept_open(swept *swept);

/* Captures a thread's next event. */
int32_t swept_capture(swept *swept, uint32_t thread);

/*
 * The marked capture of one event whose fields are ready: nothing but the library's own work between the reports.
 * `bytes` 0: as many as it has.
 */
void swept_capture_marked(swept *swept, uint32_t thread, uint64_t bytes, uint32_t type);

/* The type of a thread's next event. */
uint32_t swept_next_type(const swept *swept, uint32_t thread);

void swept_drain(swept *swept);

/* Captures and drains until the active segment has room for a few blocks more. */
void swept_nearly_fill(swept *swept);

/* The same until the next segment is begun. */
void swept_roll_over(swept *swept);

/* Fails the sweep unless `good`. */
void swept_expect(swept *swept, int good, const char *what);

/* Runs `main` with a log of its own in a child that is killed at the end of it. */
void swept_die_after(const victim_plan *plan, report *report, void (*main)(swept *));

#endif
