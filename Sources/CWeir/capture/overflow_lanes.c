/*
 * overflow_lanes.c: see overflow_lanes.h.
 *
 * The ring's last lanes are overflow lanes: holes in its file, until the drainer stands still because the disk does. A
 * thread whose lane is full then goes on in one of them, and in the next when that is full. Once its lane is drained to
 * the end, it goes back to its own lane. Overflow lanes are lanes like others: each has one producer at a time, which
 * owns it by `taken` (L5), its own control page and positions. So recovery, readers and the drainer know nothing more
 * of them than these two rules, which keep the order of a thread's events in the log:
 *
 *   1. A thread goes on only to a lane of a higher number than the one it is in, and back to its own lane only when a
 *      pass has drained its last event in the lane that it leaves. So at any moment what is not drained of a thread's
 *      events is in the order of its lanes' numbers.
 *   2. Lanes are drained in the order of their numbers, as recovery does, and in a pass the tail of a lane is read
 *      before those of lower ones (drainer_drain). So a pass that drains an event drains what its thread captured
 *      before, too.
 *
 * The drainer stands still if the end of the log was the same at two looks, 5 ms apart, of captures that found their
 * lanes half full: a drainer that is only slower than the captures moves it with each block. It is looked at where a
 * capture leaves the inlined path anyway.
 *
 * The prefaulter makes lanes ready ahead of the threads, and gives their memory back. It takes a lane as a thread
 * does, so that nobody captures to it meanwhile; if all in it is drained, its records' blocks and pages are removed
 * from the file. The control page stays: positions in a lane never go back. A capture never makes one: it could wait
 * for the disk, or for the prefaulter.
 *
 * Below a byte limit, each lane counts twice: for its blocks, and for what a recovery would write of it. Two segments'
 * room stays free: the drainer may stand still for want of one.
 */
#include "capture/overflow_lanes.h"

#include "capture/lane_pages.h"
#include "system/system.h"

enum {
  STANDSTILL_NS = 5000000, /* a pass of a drainer that works publishes blocks more often */
  LEAST_READY = 4          /* lanes that nobody has, while the drainer stands still or is far behind */
};

static uint64_t load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }
static void store(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELAXED); }

uint32_t overflow_lanes_count(const weir_options *options) {
  if (options->threadless) return 0; /* nobody would give them back */
  uint64_t count = options->overflow_bytes / options->lane_bytes, most = WEIR_MAX_LANES - options->lane_count;
  return (uint32_t)(count < most ? count : most);
}

/* ---- Whether the drainer stands still ---------------------------------------------------------------------------- */

/* Null once the prefaulter has ended: nobody would give a lane back. */
static uint32_t *tender_of(const intake *intake) { return __atomic_load_n(&intake->tender, __ATOMIC_RELAXED); }

static int has_any(const intake *intake) {
  return intake->first_overflow < intake->lane_count && tender_of(intake) != NULL;
}

void overflow_lanes_ring(const intake *intake) {
  uint32_t *bell = tender_of(intake);
  if (!bell) return;
  __atomic_fetch_add(bell, 1, __ATOMIC_RELEASE); /* P1 */
  sys_futex_wake(bell);
}

/* No order between these words is needed: at worst a lane is made ready too early or too late. */
void overflow_lanes_watch(intake *intake) {
  if (!has_any(intake)) return;
  uint64_t end = load(&intake->ring.header->log_end), now = sys_monotonic_ns();
  if (load(&intake->seen_at) == 0 || end != load(&intake->seen_end)) {
    store(&intake->seen_at, now);
    store(&intake->seen_end, end);
  } else if (now - load(&intake->seen_at) >= STANDSTILL_NS) {
    overflow_lanes_ring(intake);
  }
}

int overflow_lanes_wanted(const intake *intake) {
  if (!has_any(intake) || intake_is_stuck(intake)) return 0;
  uint64_t seen_at = load(&intake->seen_at);
  return seen_at != 0 && load(&intake->ring.header->log_end) == load(&intake->seen_end) &&
         sys_monotonic_ns() - seen_at >= STANDSTILL_NS;
}

/* ---- Their memory ------------------------------------------------------------------------------------------------ */

/* All pages of a lane that has its blocks, or captures fault. */
static void populate(const intake *intake, const lane *lane) {
  sys_populate((uint8_t *)lane->control, intake->ring.header->lane_stride);
}

/* Gives a lane that the caller has taken its blocks and its pages. 0 or a negative errno. */
static int make(intake *intake, lane *lane) {
  int error = lane_pages_make(intake, lane, 0);
  if (error == 0) populate(intake, lane);
  return error;
}

/* How many bytes of a ready lane are not drained. */
static uint64_t left_in(const lane *lane) {
  const lane_control *control = lane->control;
  return load(&control->tail) - head_position(load(&control->head));
}

/* Half of a lane's room, in bytes. */
static uint64_t half_of(const intake *intake) {
  const ring_header *header = intake->ring.header;
  lane_view view = {.capacity = header->lane_bytes, .record_bytes = header->record_bytes};
  return lane_half(&view);
}

/* What the overflow lanes are used for. */
typedef struct use {
  uint32_t next; /* one above the last lane that holds events or is taken; the first overflow lane if that was the
                    ring's last */
  int behind;    /* the drainer has a good part of a lane to drain still, and threads go on beyond */
} use;

static use look(const intake *intake) {
  use use = {.next = intake->first_overflow};
  uint32_t in_play = lanes_in_play(intake);
  for (uint32_t i = intake->first_overflow; i < in_play; i++) {
    const lane *lane = &intake->lanes[i];
    if (!lane_is_ready(lane)) continue;
    uint64_t left = left_in(lane);
    if (left > 0 || lane_is_taken(lane)) use.next = i + 1;
    use.behind |= left > half_of(intake);
  }
  if (use.next == intake->lane_count) use.next = intake->first_overflow;
  return use;
}

/*
 * Keeps `ahead` lanes ready from the number `next` on, where threads go on to, and gives the memory of all other lanes
 * back that are drained. With `wraps`, goes on at the first one where there are fewer: threads that are in their own
 * lanes can go on to that. Whether there are lanes that nobody has, and that are kept or not drained yet.
 */
static int tend(intake *intake, uint32_t next, uint32_t ahead, int wraps) {
  uint32_t first = intake->first_overflow, count = intake->lane_count - first, kept = 0;
  int error = 0, more = 0;
  for (uint32_t n = 0; n < count; n++) {
    uint32_t i = first + (next - first + n) % count;
    lane *lane = &intake->lanes[i];
    int keeps = (i >= next || wraps) && kept < ahead, ready = lane_is_ready(lane);
    if (keeps ? ready ? left_in(lane) > 0 : error != 0 : !ready) continue;
    if (keeps && ready) { /* not taken: a thread that came meanwhile would find no lane */
      if (lane_is_taken(lane)) continue;
      if (!intake->ring.in_memory) populate(intake, lane); /* its pages may have been written back since */
      kept++;
      more = 1;
      continue;
    }
    if (!lane_try_take(lane, HELD_BY_PREFAULTER)) continue;
    if (keeps) error = make(intake, lane);
    else lane_pages_release(intake, lane);
    kept += keeps && error == 0;
    more |= lane_is_ready(lane) && (keeps || left_in(lane) > 0);
    lane_give_back(lane);
  }
  return more;
}

/* How many lanes are kept ready: one for each thread that has a lane, because all of them may be full at once. */
static uint32_t kept_ready(const intake *intake) {
  uint32_t threads = 0;
  if (intake->owned_lanes <= LEAST_READY) return LEAST_READY; /* a look costs the next capture a cache miss */
  for (uint32_t i = 0; i < intake->owned_lanes; i++) threads += lane_holder(&intake->lanes[i]) == HELD_BY_THREAD;
  return threads > LEAST_READY ? threads : (uint32_t)LEAST_READY;
}

int overflow_lanes_tend(intake *intake) {
  if (intake->first_overflow == intake->lane_count) return 0;
  int wanted = overflow_lanes_wanted(intake);
  use use = look(intake);
  int more = tend(intake, use.next, wanted || use.behind ? kept_ready(intake) : 0, wanted);
  return wanted || (more && !intake_is_stuck(intake)); /* what is drained wakes the prefaulter, too */
}
