/*
 * prefaulter.c: the prefaulter, a thread that keeps page faults and allocations out of captures. That may wait for the
 * disk; nobody waits for this thread. Before Linux 5.14 it ends at once, and captures do and wait for it all.
 *
 * A new ring has the blocks of two lanes, an owned and a spare one, and the first of their pages. This thread keeps
 * twice as many lanes of each kind ready as are in use: for the next threads that capture, and for those that share
 * lanes when the disk is full (see lane_pages.c). It populates (MADV_POPULATE_WRITE) each of them, once; a spare one
 * when it is used.
 *
 * When the kernel writes a mapped page back, the kernel write-protects the page. The next store to the page faults,
 * which costs the capture that stores 1.3 to 4.6 us. So where the ring lies on a disk, and while events flow, this
 * thread has the pages made writable again that producers will store to next, and the page of each lane's tail. On
 * tmpfs there is no writeback.
 *
 * It has overflow lanes made and given back: see overflow_lanes.c.
 *
 * Then it registers for membarrier, if the opening left that: see sys_membarrier_is_cheap.
 *
 * The drainer wakes the prefaulter whenever it drains something, on tmpfs if a lane was taken in use meanwhile. The
 * prefaulter sleeps without an end once nothing moves.
 *
 * label store                               load                              what it guarantees
 * P1    who rings: stopping, or a lane's    prefaulter: bell (acquire), then  what is rung for is seen, or ends the
 *       taken, then bell + 1 (release)      the rest; then waits for bell     wait
 *
 * asleep orders nothing: a drainer that does not see it wakes the prefaulter with its next block.
 */
#include "drain/prefaulter.h"

#include <errno.h>

#include "capture/lane_pages.h"
#include "capture/overflow_lanes.h"
#include "system/system.h"
#include "system/thread.h"

enum {
  PAGE_BYTES = 4096,             /* the least there is: sys_populate takes those that the machine has */
  LEAST_AHEAD = 32 * PAGE_BYTES, /* of each lane in use; more where it moves faster */
  AHEAD_TICKS = 4,               /* times what it moved since the last look */
  LEAST_TICK_NS = 500000,        /* between looks: what a writeback may catch between two of them faults */
  MOST_TICK_NS = 16000000,
  OVERFLOW_TICK_NS = 2000000,    /* while there are overflow lanes to make or to give back */
  FIRST_TICK_NS = 4000000,       /* after a silence */
  SILENT_TICKS = 8,              /* in which nothing moved: a silence */
  MOST_SILENCE_NS = 100000000,   /* however long the drain interval is */
  PIECE_BYTES = 32 * PAGE_BYTES  /* of a lane that is populated for the first time, between two looks at all lanes */
};

/* A lane's head at the last look, and how many bytes after it are kept populated. */
typedef struct stretch {
  uint64_t filled; /* bytes of the lane's records and overhang that were populated once */
  uint64_t head;
  uint64_t ahead; /* 0: the lane is not in use */
  uint64_t still_ns; /* since a look found the head moved */
} stretch;

static uint64_t whole_pages(uint64_t bytes) { return (bytes + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1); }

/*
 * Populates the lane's control page and the records [from, from + bytes), which run into the overhang and go on at the
 * lane's start. Reads nothing that the lane's producer writes.
 */
static int populate_lane(const prefaulter *prefaulter, uint32_t number, uint64_t from, uint64_t bytes) {
  const intake *intake = prefaulter->intake;
  const ring_header *header = intake->ring.header;
  uint8_t *control = intake->ring.bytes + header->lanes_at + number * header->lane_stride;
  uint8_t *records = control + LANE_CONTROL_BYTES;
  uint64_t capacity = header->lane_bytes, room = header->lane_stride - LANE_CONTROL_BYTES;
  if (bytes > capacity) bytes = capacity;
  uint64_t start = (from & (capacity - 1)) & ~(uint64_t)(PAGE_BYTES - 1);
  uint64_t first = whole_pages(bytes);
  int error = sys_populate(control, LANE_CONTROL_BYTES);
  if (error == 0) error = sys_populate(records + start, first < room - start ? first : room - start);
  if (error == 0 && start + bytes > capacity) error = sys_populate(records, whole_pages(start + bytes - capacity));
  return error;
}

/* Makes the first `wanted` of the lanes [from, to) ready. 0 or a negative errno. */
static int make_first(intake *intake, uint32_t from, uint32_t to, uint32_t wanted) {
  int error = 0;
  for (uint32_t i = from; i < to && i - from < wanted && error == 0; i++) {
    error = lane_pages_make(intake, &intake->lanes[i], 0);
  }
  return error;
}

/* Makes the lanes ready that the next threads to capture will take, spare ones first. 0 or a negative errno. */
static int make_lanes(intake *intake) {
  uint32_t wanted = 2 * __atomic_load_n(&intake->lanes_used, __ATOMIC_RELAXED);
  int error = make_first(intake, intake->owned_lanes, intake->first_overflow, wanted);
  return error != 0 ? error : make_first(intake, 0, intake->owned_lanes, wanted);
}

/* Whether the prefaulter populates the whole lane. */
static int is_to_fill(const intake *intake, uint32_t number) {
  const lane *lane = &intake->lanes[number];
  const uint32_t *needed = number < intake->owned_lanes ? &lane->ready : &lane->used;
  return __atomic_load_n(needed, __ATOMIC_RELAXED) != 0;
}

/*
 * Makes the next lanes ready, and populates the next piece of each lane that is, of what never was. Sets `*more` if
 * there is more to populate. 0 or a negative errno.
 */
static int fill_lanes(prefaulter *prefaulter, stretch *stretches, int *more) {
  intake *intake = prefaulter->intake;
  const ring_header *header = intake->ring.header;
  uint64_t room = header->lane_stride - LANE_CONTROL_BYTES;
  int error = make_lanes(intake);
  if (error == -EINVAL) return error;
  error = *more = 0; /* a full disk: who takes a lane tries again */
  for (uint32_t i = 0; i < intake->first_overflow && error != -EINVAL; i++) {
    uint64_t *filled = &stretches[i].filled;
    if (*filled >= room || !is_to_fill(intake, i)) continue;
    uint8_t *records = intake->ring.bytes + header->lanes_at + i * header->lane_stride + LANE_CONTROL_BYTES;
    uint64_t bytes = room - *filled < PIECE_BYTES ? room - *filled : (uint64_t)PIECE_BYTES;
    error = sys_populate(records + *filled, bytes);
    *filled += bytes; /* also after an error: it is of one range, and captures take the faults */
    if (*filled < room) *more = 1;
  }
  return error;
}

/* How long nothing moves before no events come. Nothing moves in a nap of the drainer either, which is shorter. */
static uint64_t silence_ns(const intake *intake, uint64_t tick) {
  uint64_t interval = intake->options->drain_interval_ns, ticks = SILENT_TICKS * tick;
  if (interval > MOST_SILENCE_NS) interval = MOST_SILENCE_NS;
  return interval > ticks ? interval : ticks;
}

/*
 * Looks at every lane once. Adds up in `*moved` what was drained since the last look. It goes by the heads, which
 * the drainer moves: to read a tail takes its cache line from the processor that captures, and costs the next capture
 * there 0.1 to 0.3 us. Between two passes of the drainer it asks for the same pages again, because a writeback may have
 * come in between. `waited`: ns since the last look. A lane that has been still for `silence` ns is out of use.
 * 0 or a negative errno.
 */
static int populate_once(prefaulter *prefaulter, stretch *stretches, uint64_t waited, uint64_t silence,
                         uint64_t *moved) {
  const intake *intake = prefaulter->intake;
  uint32_t lanes = lanes_in_play(intake);
  *moved = 0;
  for (uint32_t i = 0; i < lanes; i++) {
    stretch *stretch = &stretches[i];
    const lane *lane = &intake->lanes[i];
    if (!__atomic_load_n(&lane->used, __ATOMIC_RELAXED) || !lane_is_ready(lane)) continue;
    uint64_t head = head_position(__atomic_load_n(&lane->control->head, __ATOMIC_RELAXED));
    uint64_t step = head - stretch->head, ahead = AHEAD_TICKS * step;
    if (step > 0) {
      *stretch = (struct stretch){stretch->filled, head, ahead < LEAST_AHEAD ? (uint64_t)LEAST_AHEAD : ahead, 0};
    } else if ((stretch->still_ns += waited) > silence) stretch->ahead = 0;
    if (stretch->ahead == 0) continue;
    *moved += step;
    int error = populate_lane(prefaulter, i, head, stretch->ahead);
    if (error != 0) return error;
  }
  return 0;
}

/*
 * Halves the tick while lanes are fast, so that they do not overtake the prefaulter; doubles it while they are slow.
 * The drainer moves heads in steps: what moved in the `ns` since the last look that found a move is held against the
 * tick.
 */
static uint64_t next_tick(uint64_t tick, uint64_t moved, uint64_t ns) {
  double each = (double)moved * (double)tick / (double)(ns + 1);
  if (each > LEAST_AHEAD / 4) tick /= 2;
  else if (each < LEAST_AHEAD / 8) tick *= 2;
  if (tick < LEAST_TICK_NS) return LEAST_TICK_NS;
  return tick > MOST_TICK_NS ? (uint64_t)MOST_TICK_NS : tick;
}

/* What the opening left to be done beside it, because it takes 10 to 20 ms. */
static void register_membarrier(intake *intake) {
  if (__atomic_load_n(&intake->membarrier, __ATOMIC_RELAXED)) return;
  __atomic_store_n(&intake->membarrier, sys_membarrier_register() == 0, __ATOMIC_RELAXED);
}

static void *populate_main(void *argument) {
  prefaulter *prefaulter = (struct prefaulter *)argument;
  intake *intake = prefaulter->intake;
  int keeps_writable = !intake->ring.in_memory;
  stretch stretches[WEIR_MAX_LANES] = {0};
  uint64_t tick = FIRST_TICK_NS, waited = 0, still_ns = 0, moved_at = sys_monotonic_ns();
  for (;;) {
    uint32_t bell = __atomic_load_n(&prefaulter->bell, __ATOMIC_ACQUIRE); /* P1: before `stopping` */
    if (__atomic_load_n(&prefaulter->stopping, __ATOMIC_RELAXED)) break;  /* P1 */
    uint64_t moved = 0;
    int more = 0;
    __atomic_store_n(&prefaulter->seen, __atomic_load_n(&intake->lanes_used, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    int soon = overflow_lanes_tend(intake);
    /* Any other error than -EINVAL is of one range, or passes: the capture takes the fault. */
    int error = fill_lanes(prefaulter, stretches, &more);
    uint64_t silence = silence_ns(intake, tick);
    if (error != -EINVAL && keeps_writable) error = populate_once(prefaulter, stretches, waited, silence, &moved);
    still_ns = moved > 0 ? 0 : still_ns + waited;
    waited = 0;
    if (error != -EINVAL && more) continue;
    register_membarrier(intake);
    if (error == -EINVAL) {
      __atomic_store_n(&intake->tender, NULL, __ATOMIC_RELAXED);
      return NULL;
    }
    if (moved > 0) {
      uint64_t now = sys_monotonic_ns();
      tick = next_tick(tick, moved, now - moved_at);
      moved_at = now;
    }
    uint64_t wait = soon ? (uint64_t)OVERFLOW_TICK_NS : UINT64_MAX;
    if (still_ns < silence && keeps_writable && tick < wait) wait = tick;
    if (wait != UINT64_MAX) {
      sys_futex_wait(&prefaulter->bell, bell, wait);
      waited = wait;
      continue;
    }
    __atomic_store_n(&prefaulter->asleep, 1, __ATOMIC_RELAXED);
    sys_futex_wait(&prefaulter->bell, bell, UINT64_MAX);
    __atomic_store_n(&prefaulter->asleep, 0, __ATOMIC_RELAXED);
    still_ns = 0;
    tick = FIRST_TICK_NS; /* a silence says nothing of the rate */
    moved_at = sys_monotonic_ns();
  }
  return NULL;
}

static void ring(prefaulter *prefaulter) {
  __atomic_store_n(&prefaulter->asleep, 0, __ATOMIC_RELAXED);
  __atomic_fetch_add(&prefaulter->bell, 1, __ATOMIC_RELEASE); /* P1 */
  sys_futex_wake(&prefaulter->bell);
}

void prefaulter_wake(prefaulter *prefaulter) {
  const intake *intake = prefaulter->intake;
  if (!__atomic_load_n(&prefaulter->asleep, __ATOMIC_RELAXED)) return;
  uint32_t seen = __atomic_load_n(&prefaulter->seen, __ATOMIC_RELAXED);
  int overflows = __atomic_load_n(&intake->overflow_ready, __ATOMIC_RELAXED) > 0;
  int news = overflows || seen != __atomic_load_n(&intake->lanes_used, __ATOMIC_RELAXED);
  if (intake->ring.in_memory && !news) return;
  ring(prefaulter);
}

int prefaulter_start(prefaulter *prefaulter) {
  intake *intake = prefaulter->intake;
  if (intake->options->threadless) return 0;
  __atomic_store_n(&intake->tender, &prefaulter->bell, __ATOMIC_RELAXED);
  int error = thread_start(&prefaulter->thread, populate_main, prefaulter, "weir-prefault");
  prefaulter->runs = error == 0;
  if (error != 0) __atomic_store_n(&intake->tender, NULL, __ATOMIC_RELAXED);
  return error;
}

void prefaulter_stop(prefaulter *prefaulter) {
  if (!prefaulter->runs) return;
  __atomic_store_n(&prefaulter->stopping, 1, __ATOMIC_RELAXED); /* P1 */
  ring(prefaulter);
  pthread_join(prefaulter->thread, NULL);
  prefaulter->runs = 0;
}
