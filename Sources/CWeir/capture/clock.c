/*
 * clock.c: how a capture takes the time, and how ticks become wall time.
 *
 * Records carry ticks; every block carries the calibration in force when it was written, so the time of an event never
 * changes between two readings, whatever the wall clock does later. (Only an event that a lane still holds when its
 * block was damaged is read by another calibration, the ring's.) The rate is measured against CLOCK_MONOTONIC over the
 * whole life of the opening, at least one millisecond, so it becomes more exact; the base is measured anew each time.
 *
 * label store                                   load                              what it guarantees
 * K4    a slot's crc (release), after its       recovery, by program order        a slot that is half written fails its
 *       value; the other slot is whole then                                       checksum, and the other one counts
 */
#include "capture/clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "format/calibration.h"
#include "system/system.h"

enum { FIRST_BASELINE_NS = 1000000 };

uint64_t weir_ticks_slow(uint32_t clock) {
  return clock == WEIR_CLOCK_COARSE ? sys_coarse_ns() : sys_monotonic_ns(); /* WEIR_CLOCK_TICK: monotonic too */
}

/* Whether the counter runs at one rate in all states of the processor, and the kernel itself keeps time by it. */
static int counter_is_invariant(void) {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & 1u << 8)) return 0;
  return sys_clock_source_is("tsc");
#else
  return 1; /* the generic timer of ARMv8 counts at a fixed rate */
#endif
}

uint32_t clock_resolve(uint32_t wanted) {
  if (wanted >= WEIR_CLOCK_MONOTONIC) return wanted;
  return counter_is_invariant() ? WEIR_CLOCK_TSC : WEIR_CLOCK_MONOTONIC;
}

/*
 * Reads ticks and both clocks at one instant: of several tries, the one that took least time counts. The coarse clock
 * is the monotonic clock as of some milliseconds ago, so the monotonic one is read instead. Otherwise each calibration
 * would be off by another part of these milliseconds, and times would go back from block to block.
 */
static void sample(uint32_t clock, uint64_t *ticks, uint64_t *monotonic, int64_t *wall) {
  uint64_t best = UINT64_MAX;
  if (clock == WEIR_CLOCK_COARSE) clock = WEIR_CLOCK_MONOTONIC;
  for (int i = 0; i < 5; i++) {
    uint64_t before = weir_ticks(clock);
    uint64_t monotonic_now = sys_monotonic_ns();
    int64_t wall_now = sys_wall_ns();
    uint64_t after = weir_ticks(clock);
    if (after - before >= best) continue;
    best = after - before;
    *ticks = before + (after - before) / 2;
    *monotonic = monotonic_now;
    *wall = wall_now;
  }
}

/* Stores the calibration in the ring so that a kill at any instruction leaves one whole slot. */
static void persist(ring_header *header, const calibration *value) {
  int newer = (int32_t)(header->calibration[1].sequence - header->calibration[0].sequence) > 0;
  uint32_t sequence = header->calibration[newer].sequence + 1;
  calibration_slot *slot = &header->calibration[!newer];
  calibration_slot made = calibration_in_slot(value, sequence == 0 ? 1 : sequence);
  slot->crc = ~made.crc;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  slot->value = made.value;
  slot->sequence = made.sequence;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n(&slot->crc, made.crc, __ATOMIC_RELEASE); /* K4 */
}

void clock_start(event_clock *clock, uint32_t wanted) {
  int64_t wall;
  sample(clock_resolve(wanted), &clock->start_ticks, &clock->start_ns, &wall);
  clock->time_offset = sys_time_offset();
}

int clock_measure(event_clock *clock, uint32_t source) {
  uint64_t ticks, now;
  int64_t wall;
  for (;;) {
    sample(source, &ticks, &now, &wall);
    if (source != WEIR_CLOCK_TSC || now - clock->start_ns >= FIRST_BASELINE_NS) break;
    sys_sleep_ns(FIRST_BASELINE_NS / 10);
  }
  /* Often at first, while the rate still grows more exact, then once a second. */
  uint64_t age = now - clock->start_ns;
  clock->measure_at = now + (age < 1000000000 ? age : 1000000000);
  uint64_t multiplier = UINT64_C(1) << 32;
  if (source == WEIR_CLOCK_TSC) {
    uint64_t elapsed = ticks - clock->start_ticks;
    if (elapsed == 0 || (int64_t)elapsed < 0) return 0; /* keep the present calibration */
    multiplier = (uint64_t)(((unsigned __int128)(now - clock->start_ns) << 32) / elapsed);
  }
  clock->calibration = (calibration){.base_ticks = ticks, .wall_ns = wall, .multiplier = multiplier,
                                     .monotonic_ns = (int64_t)now - clock->time_offset};
  return 1;
}

void clock_calibrate(event_clock *clock, ring_header *header) {
  if (clock_measure(clock, header->clock)) persist(header, &clock->calibration);
}
