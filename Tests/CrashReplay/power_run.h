/*
 * power_run.h: a recorded run of a log, and what an image of it is held to. Everything happens in this process: the run
 * captures from threads of its own, waits for durability now and then, closes and opens again; an image is recovered
 * here too, under another boot id, and captured to.
 *
 * What recovery of an image is held to:
 *
 *   every event that had been awaited durable when the power went is there, every offset below the durable watermark,
 *   and all of openings that were closed by then; a segment with a sealed name has its seal;
 *   whatever is there is right, once, under its id, in its lane's order, and had been captured by then;
 *   holes are exact: of each lane, the events before its last survivor that are not there are as many as the recovery's
 *   missing_events and the log's gap records of overwritten ones say; and unknown_tail is 1 unless nothing is missing;
 *   no offset that had been given is given to another event, none that a reader may have seen to a new one;
 *   what was removed because it was delivered lay below what had been said to be, and `start` says so;
 *   refusals are counted at most once; reading before recovery, after it and after a second one gives the same.
 */
#ifndef WEIR_REPLAY_POWER_RUN_H
#define WEIR_REPLAY_POWER_RUN_H

#include "images.h"
#include "judge.h"

enum { POWER_THREADS = 3 };

/* What is noted of each moment. */
typedef enum power_mark {
  MARK_OPENINGS,
  MARK_CLOSED, /* openings that were closed */
  MARK_OFFSET, /* offsets given so far are below it */
  MARK_WATERMARK, /* weir_durable_offset: offsets below it are on the disk */
  MARK_DELIVERED, /* offsets below it were said to be delivered */
  MARK_DURABLE, /* and the next ones: of each thread, as in the report */
  MARK_BEGAN = MARK_DURABLE + POWER_THREADS,
  MARK_RETURNED = MARK_BEGAN + POWER_THREADS
} power_mark;

typedef struct power_run {
  victim_plan plan;
  report *report;
  recording *recording;
  judged_log whole; /* what the log held in the end, and what was removed before */
  uint64_t *offset; /* [thread][number]: one more than the offset of the event in `whole`; 0: not there */
  judge judge;
} power_run;

/* The choices of a run, for a seed. */
victim_plan power_plan(const char *directory, uint64_t seed);

/* Does and records a run in plan->directory, which must not be there. What failed is in the judge. */
void power_run_do(power_run *run, const victim_plan *plan, report *report);
void power_run_free(power_run *run);

/* What recovering an image came to. */
typedef struct power_sums {
  weir_recovery found;
  uint64_t events, accepted, missing, holes;
  uint64_t first_kept; /* what lies below it was removed, because it was delivered */
  uint64_t batches; /* batch segments in the image */
  int was_log; /* there was a log in it at all */
} power_sums;

/* What became of an image before it is recovered to be looked at. */
typedef enum power_again {
  AGAIN_NONE,
  AGAIN_CUT,   /* it was recovered, and the power was cut in that, too */
  AGAIN_KILLED /* the process was killed, the log recovered under the same boot; and then the power was cut */
} power_again;

/*
 * Recovers the image in `directory` twice, captures to it, and holds it to the run. Of one that was recovered before,
 * what the first recovery reported may be gone: no more is told than is missing, and exactness is not held.
 */
void power_hold(judge *judge, power_run *run, const image_plan *image, const char *directory, power_again again,
                power_sums *sums);

/*
 * Makes the image in `directory`, opens and closes it twice, records that, cuts the power in it too, and makes the
 * image of that in `to`. AGAIN_KILLED takes only the moment of `image`: the disk had what was synced, the page cache
 * all. Answers whether the cut came when the first of these openings had been closed: then all that is read in
 * `directory` has to be there.
 */
int power_cut_recovery(power_run *run, const image_plan *image, power_again again, const char *directory, uint64_t seed,
                       const char *to);

/* The boot under which images are recovered. */
extern const uint8_t power_boot_id[16];

#endif
