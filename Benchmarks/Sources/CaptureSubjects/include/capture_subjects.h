/*
 * capture_subjects.h: the subjects of the capture benchmark that are written in C, and what its Swift side needs from
 * the system. Every subject captures the same event: an order number, a double, a small integer and a string of 20
 * bytes that the caller holds: 44 bytes of fields.
 *
 * A burst function captures `count` events with the orders `first`, `first` + 1, … on the calling thread and answers how
 * many were accepted. Nothing in it but the captures and their loop: the caller takes the time around it.
 */
#ifndef CAPTURE_SUBJECTS_H
#define CAPTURE_SUBJECTS_H

#include <stdint.h>

/* ---- floor.c: the bare copy that every other figure is held against ----------------------------------------------- */

typedef struct floor_lane floor_lane;

/* A lane of 1 MiB in a new file at `path`, mapped shared and populated. Null if that fails. */
floor_lane *floor_open(const char *path);

/* 64 bytes an event (8 of header, the time stamp counter, 48 of event), then one release store of the tail. */
uint64_t floor_burst(floor_lane *lane, uint64_t first, uint64_t count, const char coupon[20]);

/* Reads every byte captured since the last call, as a drainer would, on the calling thread. */
void floor_drain(floor_lane *lane);
void floor_close(floor_lane *lane);

/* ---- weir_c.c: Weir's C interface ---------------------------------------------------------------------------------- */

typedef struct weir_subject weir_subject;

/* Opens a log with default options and declares the event. Null if that fails: `message` says why. */
weir_subject *weir_subject_open(const char *directory, char message[1024]);

/* weir_begin, weir_put_…, weir_commit, compiled into the loop. */
uint64_t weir_subject_burst(weir_subject *subject, uint64_t first, uint64_t count, const char *coupon, uint64_t bytes);

/* The fields put together by the caller, then one call of weir_capture. */
uint64_t weir_subject_burst_call(weir_subject *subject, uint64_t first, uint64_t count, const char *coupon,
                                 uint64_t bytes);

/* Waits until the drainer has moved everything. 0, or -1. */
int weir_subject_drain(weir_subject *subject);

/* Closes; what the counters said goes to `*accepted` and `*dropped`. 0, or -1. */
int weir_subject_close(weir_subject *subject, uint64_t *accepted, uint64_t *dropped);

/* The events that a reader finds in the log, Weir's own notices left out; -1 if it passed anything over or failed. */
int64_t weir_count_events(const char *directory);

/* ---- support.c ----------------------------------------------------------------------------------------------------- */

/* CPUs that this process may run on, at most `room`; answers their number. */
int support_cpus(int32_t *cpus, int room);

/* Keeps the calling thread, and threads that it starts from here on, on these CPUs. 0, or -1. */
int support_pin(const int32_t *cpus, int count);

uint64_t support_now_ns(void);

/* Threads wait for one another, spinning: they leave within a cache miss of each other, so that their bursts overlap. */
typedef struct spin_barrier {
  uint32_t threads;
  uint32_t waiting;
  uint32_t phase;
} spin_barrier;

void spin_barrier_wait(spin_barrier *barrier);

#endif
