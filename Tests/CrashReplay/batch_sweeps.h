/* batch_sweeps.h: the programs of the sweeps of batching, and of the removal of what was delivered. See sweeps.h. */
#ifndef WEIR_REPLAY_BATCH_SWEEPS_H
#define WEIR_REPLAY_BATCH_SWEEPS_H

#include "swept.h"

/* Plans with a batcher, with removal once delivered, and with both. */
void batch_shape(victim_plan *plan);
void batch_shape_removing(victim_plan *plan);
void batch_shape_both(victim_plan *plan);

/* A closed log of one sealed raw segment, or of three. */
void batch_one_raw(const victim_plan *plan, report *report);
void batch_three_raw(const victim_plan *plan, report *report);

/* The same, whose batcher was killed when the batch segment had its name and the raw one was still there. */
void batch_both_there(const victim_plan *plan, report *report);

/* The same, whose batcher was killed over the temporary file. */
void batch_in_the_making(const victim_plan *plan, report *report);

/* A log of three segments, killed when the word of a removal was on the disk and one of two segments unlinked. */
void batch_removal_begun(const victim_plan *plan, report *report);

/* Opens and waits until all that was there is batch segments. */
void batch_taken_up(swept *swept);

/* Fills a segment, which is sealed and then made a batch segment. */
void batch_rolled(swept *swept);

/* Says that two of three segments were delivered, and waits until they are gone. */
void batch_delivered(swept *swept);

/* The same right after the opening, while they are being made batch segments. */
void batch_delivered_meanwhile(swept *swept);

#endif
