/* context_sweeps.h: programs for the table in sweeps.c: contexts, scopes, and what is sampled out. */
#ifndef WEIR_REPLAY_CONTEXT_SWEEPS_H
#define WEIR_REPLAY_CONTEXT_SWEEPS_H

#include "swept.h"

void context_shape(victim_plan *plan); /* each context another one, some events in scopes, and room for both */
void context_shape_two_lanes(victim_plan *plan);

void context_change(swept *swept);         /* a context, an event in it, and another context */
void context_capture_scoped(swept *swept); /* field by field, as it is inlined into a caller */
void context_race(swept *swept);           /* one thread changes the context, another captures */
void context_sample_out(swept *swept);

/* What was sampled out is told of once the next segment has begun, and at the close. */
void context_roll_sampled(swept *swept);
void context_close_sampled(swept *swept);

/* Leaves events in several contexts and scopes, some of them drained, and some that were sampled out. */
void context_dead(const victim_plan *plan, report *report);

#endif
