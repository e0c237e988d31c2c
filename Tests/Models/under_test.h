/*
 * under_test.h: the door to the sources under test: what of theirs is static or thread-local, and captures as users
 * make them.
 */
#ifndef WEIR_MODELS_UNDER_TEST_H
#define WEIR_MODELS_UNDER_TEST_H

#include "log/log.h"

/* A copy of the thread-local variables of lane.c: each thread of the model has its own. */
typedef struct thread_locals {
  weir_lane *this_lane;
  uint64_t rest[128]; /* lane.c asserts that this is enough */
} thread_locals;

void locals_save(thread_locals *locals);
void locals_load(const thread_locals *locals);

/* An event of one number: weir_begin, weir_put_u64, weir_commit. Answers what weir_begin or weir_commit answered. */
int32_t capture_number(weir_log *log, uint64_t number);
int32_t capture_number_in_signal(weir_log *log, uint64_t number);

void end_thread(void);          /* what the C library does when a thread ends */
void allow_claims(void);        /* as if the key for end_thread had been made */
void sleep_once(event_log *log); /* the drainer's deep sleep */
int begin_next_segment(event_log *log); /* seals the active one, as if it were full. 1: done */
void pass_once(event_log *log); /* a pass of the drainer, as in drain_main */
void seal(event_log *log);              /* the sealer's thread */
void prefault(event_log *log);          /* the prefaulter's */
int look_for_removable(retention *retention); /* 1: what could be removed is delivered already */
void take_batches(retention *retention);
int full_drain(event_log *log); /* drainer_drain. 1: complete */

#endif
