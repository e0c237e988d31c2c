/*
 * capture_subjects.h: the subjects that are written in C, and what the Swift side needs from the system.
 *
 * Every subject captures the same event: an order number, a double, a small integer, a string of 20 bytes that the
 * caller holds, and the time: 48 bytes. With another length of string the event is that string and the time.
 *
 * A burst function captures `count` events with the orders `first`, `first` + 1, … on the calling thread and answers
 * how many were accepted. Nothing in it but the captures and their loop: the caller takes the time around it. The
 * functions that end in `_timed` take the time of every single capture, in ticks; they start one every `gap` ticks.
 */
#ifndef CAPTURE_SUBJECTS_H
#define CAPTURE_SUBJECTS_H

#include <stdint.h>

#include "peer.h"

enum {
  CHECKOUT_TEXT = PEER_CHECKOUT_TEXT, /* the string's length in the standard event */
  FLOOR_LANE_BYTES = 1 << 20
};

/* ---- Ticks ------------------------------------------------------------------------------------------------------- */

/* The processor's counter, read neither before what precedes it has ended nor after what follows it has begun. */
static inline uint64_t support_ticks(void) {
#if defined(__x86_64__)
  uint32_t low, high;
  __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
  return (uint64_t)high << 32 | low;
#else
  uint64_t ticks;
  __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
  return ticks;
#endif
}

static inline void support_wait_until(uint64_t ticks) {
  while (support_ticks() < ticks) {
#if defined(__x86_64__)
    __asm__ volatile("pause");
#endif
  }
}

/* ---- floor.c: the bare copy that every other figure is held against ---------------------------------------------- */

typedef struct floor_lane floor_lane;

/* A lane of 1 MiB in a new file at `path`, mapped and populated, for strings of `text_bytes`. Null if that fails. */
floor_lane *floor_open(const char *path, uint64_t text_bytes);

/* 64 bytes for the standard event (16 of header with the time, 48 of event), then one release store of the tail. */
uint64_t floor_burst(floor_lane *lane, uint64_t first, uint64_t count, const char *text);
uint64_t floor_burst_timed(floor_lane *lane, uint64_t first, uint64_t count, const char *text, uint64_t gap,
                           uint32_t *ticks);

/* Reads every byte captured since the last call, as a drainer would, on the calling thread. */
void floor_drain(floor_lane *lane);
void floor_close(floor_lane *lane);

/* ---- weir_c.c: Weir's C interface -------------------------------------------------------------------------------- */

typedef struct weir_subject weir_subject;

typedef struct weir_setup {
  uint32_t threads;
  uint32_t clock;         /* weir_clock */
  uint64_t text_bytes;    /* CHECKOUT_TEXT: the standard event */
  uint64_t full_wait_ns;  /* as in weir_options */
} weir_setup;

/* Opens a log with a lane for each thread, else default options, and declares the event. Null: `message` says why. */
weir_subject *weir_subject_open(const char *directory, const weir_setup *setup, char message[1024]);

/* weir_begin, weir_put_…, weir_commit, compiled into the loop. */
uint64_t weir_subject_burst(weir_subject *subject, uint64_t first, uint64_t count, const char *text);
uint64_t weir_subject_burst_timed(weir_subject *subject, uint64_t first, uint64_t count, const char *text, uint64_t gap,
                                  uint32_t *ticks);

/* The fields put together by the caller, then one call of weir_capture. The standard event alone. */
uint64_t weir_subject_burst_call(weir_subject *subject, uint64_t first, uint64_t count, const char *text);

/* Waits until the drainer has moved everything. 0, or -1. */
int weir_subject_drain(weir_subject *subject);

/* Accepted so far, the drainer's wake-ups so far, and the offset that the next event will get. */
void weir_subject_count(const weir_subject *subject, uint64_t *accepted, uint64_t *wakeups, uint64_t *next_offset);

/* Closes; what the counters said goes to `*accepted` and `*dropped`. 0, or -1. */
int weir_subject_close(weir_subject *subject, uint64_t *accepted, uint64_t *dropped);

/* The events that a reader finds in the log, Weir's own notices left out; -1 if it passed anything over or failed. */
int64_t weir_count_events(const char *directory);

/*
 * Captures one event and waits, polling, until it is in the log, then until a reader has been given it: the nanoseconds
 * from the capture to each. 0; -1: it took longer than a second.
 */
int weir_subject_first_event(weir_subject *subject, const char *directory, const char *text, uint64_t *in_log_ns,
                             uint64_t *read_ns);

/* ---- files.c: the bare file operations that sustained capture is held against ------------------------------------ */

/* Fills a new file of `bytes` in pieces of `piece`. Answers the nanoseconds of the filling alone; 0: it failed. */
uint64_t files_fill_mapped(const char *path, uint64_t bytes, uint64_t piece);  /* preallocated, mapped, memcpy */
uint64_t files_fill_written(const char *path, uint64_t bytes, uint64_t piece); /* preallocated, pwrite */

/* Writes back what is dirty and, as root, drops what is clean: the same page cache for each subject. 0: not root. */
int files_settle_cache(void);

/* Starts writing the file's dirty pages out, without waiting: what makes the next store to each of them fault. */
int files_start_writeback(const char *path);

/* Writes pieces of 1 MiB into a file at `path`, at most `rate` bytes a second, until `*stop`; syncs each 64 MiB. */
void files_disturb(const char *path, uint64_t rate, const uint32_t *stop);

/* ---- crc.c ------------------------------------------------------------------------------------------------------- */

/* CRC32C of `count` bytes, by the instruction that a capture uses. */
uint32_t support_crc32c(const uint8_t *bytes, uint64_t count);

/* ---- support.c --------------------------------------------------------------------------------------------------- */

/* CPUs that this process may run on, at most `room`; answers their number. */
int support_cpus(int32_t *cpus, int room);

/* Keeps the calling thread, and threads that it starts from here on, on these CPUs. 0, or -1. */
int support_pin(const int32_t *cpus, int count);

uint64_t support_now_ns(void);

/* Of this process, all its threads: processor time in nanoseconds, and times that a thread slept of its own accord. */
void support_usage(uint64_t *processor_ns, uint64_t *sleeps);

/* Nanoseconds a tick, measured over 50 ms. */
double support_ns_a_tick(void);

/* A flag that one thread sets and others poll. */
static inline uint32_t support_flag_load(const uint32_t *flag) { return __atomic_load_n(flag, __ATOMIC_ACQUIRE); }
static inline void support_flag_raise(uint32_t *flag) { __atomic_store_n(flag, 1, __ATOMIC_RELEASE); }

/* Threads wait for one another, spinning: they leave within a cache miss of each other, so their bursts overlap. */
typedef struct spin_barrier {
  uint32_t threads;
  uint32_t spins; /* before a thread offers its processor to others */
  uint32_t waiting;
  uint32_t phase;
} spin_barrier;

void spin_barrier_wait(spin_barrier *barrier);

#endif
