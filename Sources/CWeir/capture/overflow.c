/*
 * overflow.c: what a capture does about a full lane: wait, refuse, or evict the oldest events.
 *
 * An eviction moves the lane's head as the drainer does, by a compare-and-swap that fails while the drainer has claimed
 * the lane (L8). Evicted events were accepted, so they must be counted whatever happens. The producer first stores the
 * head and the count that the eviction will lead to, then moves the head with the flag EVICTED, and only then updates
 * the count. If it is killed or stopped in between, the flag tells the drainer, or recovery, that the count is due
 * (L9).
 */
#include "capture/overflow.h"

#include <sched.h>

#include "capture/bell.h"
#include "capture/lane_pages.h"
#include "capture/overflow_lanes.h"
#include "system/system.h"

static uint64_t load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }
static void store(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELAXED); }

/* ---- Evicting ---------------------------------------------------------------------------------------------------- */

/*
 * The end of the oldest records that together have at least `bytes` from `head` on; their number goes to `*count`.
 * Returns `head` if a record's length is impossible.
 */
static uint64_t oldest(const lane_view *view, uint64_t head, uint64_t tail, uint64_t bytes, uint64_t *count) {
  uint64_t at = head;
  *count = 0;
  while (at < tail && at - head < bytes) {
    uint32_t length = ((const record_header *)(view->data + (at & (view->capacity - 1))))->length;
    uint64_t size = record_size(length);
    if (length > view->record_bytes - sizeof(record_header) || size > tail - at) return head;
    at += size;
    ++*count;
  }
  return at;
}

typedef enum eviction { EVICTED, LANE_CLAIMED, NOTHING_EVICTABLE } eviction;

/* Evicts a thirty-second of the lane, or more if a record of any size needs it. */
static eviction evict(weir_lane *producer, const lane_view *view) {
  lane_control *control = lane_of(producer)->control;
  uint64_t head = __atomic_load_n(&control->head, __ATOMIC_ACQUIRE); /* L4 */
  if (head & HEAD_CLAIMED) return LANE_CLAIMED;
  uint64_t from = head_position(head), tail = load(&control->tail), least = view->capacity / 32, count;
  uint64_t limit = lane_limit(view, from);
  if (tail <= limit) return EVICTED; /* the drainer has made room meanwhile */
  if (least < tail - limit) least = tail - limit;
  uint64_t to = oldest(view, from, tail, least, &count);
  if (to == from) return NOTHING_EVICTABLE;
  uint64_t total = load(&control->evicted_total) + count;
  __atomic_store_n(&control->evicting_to, to, __ATOMIC_RELEASE); /* L9: the previous eviction is counted */
  __atomic_store_n(&control->evicting_total, total, __ATOMIC_RELEASE); /* L9 */
  int moved = __atomic_compare_exchange_n(&control->head, &head, to | HEAD_EVICTED, 0, __ATOMIC_ACQ_REL,
                                          __ATOMIC_ACQUIRE); /* L8 */
  if (!moved) return LANE_CLAIMED;
  store(&control->evicted_to, to);
  store(&control->evicted_total, total);
  return EVICTED;
}

/* ---- Finding room ------------------------------------------------------------------------------------------------ */

static uint64_t after(uint64_t now, uint64_t ns) { return ns > UINT64_MAX - now ? UINT64_MAX : now + ns; }

/* The time to give up, given the options and what the capture waits for. */
static uint64_t deadline_of(const intake *intake, int evicts, int may_wait, uint64_t now) {
  enum { CLAIM_NS = 1000000 }; /* a drainer copies a block in a tenth of that */
  uint64_t wait = may_wait ? intake->options->full_wait_ns : 0;
  if (evicts && may_wait && wait < CLAIM_NS) wait = CLAIM_NS;
  return after(now, wait);
}

/* The reason for refusing a capture when a lane stays full. */
static int32_t full_reason(const intake *intake) {
  return intake_is_stuck(intake) ? WEIR_DROP_STORAGE : WEIR_DROP_FULL;
}

static weir_place none(int32_t reason) { return (weir_place){.drop = reason}; }

/*
 * Whether there is room, given how far the drainer has drained. The first refresh sets the fast path's limit to half
 * the room. Passing it brings the capture here, which ends the drainer's nap early; the fast path still compares with
 * one limit only. A drainer in a pass can't be woken, and may nap after the pass without having seen this capture. So
 * captures ring again after each further sixteenth of a lane. In a nearly drained overflow lane every capture comes
 * here, so that the thread leaves as soon as the lane is drained.
 */
static int has_room(weir_lane *lane, const lane_view *view, const uint64_t *tail) {
  if (*tail <= lane->limit) return 1;
  uint64_t head = head_position(__atomic_load_n(&lane_of(lane)->control->head, __ATOMIC_ACQUIRE)); /* L4 */
  uint64_t full = lane_limit(view, head), half = head + lane_half(view);
  intake *intake = intake_of(lane->log);
  int overflows = lane_overflows(intake, lane_of(lane));
  if (*tail <= half && !overflows) {
    lane->limit = half;
  } else {
    uint64_t step = view->capacity / 16, again = overflows && *tail - head <= step ? *tail : *tail + step;
    lane->limit = again < full ? again : full;
    bell_end_nap(intake);
    if (*tail > half) overflow_lanes_watch(intake);
  }
  return *tail <= full;
}

static lane_view view_of(const weir_lane *lane) {
  return (lane_view){.data = lane->data, .capacity = lane->mask + 1, .record_bytes = lane->record_bytes};
}

/* Before the first capture ever of a lane: sees to its blocks and pages. 0: there is no space on the disk. */
static int begin_use(weir_lane *producer) {
  intake *intake = intake_of(producer->log);
  lane *lane = lane_of(producer);
  if (lane_pages_make(intake, lane, 1) != 0) return 0;
  producer->own_tail = &lane->control->tail;
  __atomic_store_n(&lane->used, 1, __ATOMIC_RELAXED);
  if (!lane_overflows(intake, lane)) __atomic_fetch_add(&intake->lanes_used, 1, __ATOMIC_RELAXED);
  return 1;
}

int overflow_is_fit(weir_lane *lane) {
  lane_view view = view_of(lane);
  uint64_t *tail = __atomic_load_n(&lane->tail, __ATOMIC_RELAXED);
  if (tail == &lane_of(lane)->closed_tail) return 0;
  return lane->own_tail ? has_room(lane, &view, tail) : begin_use(lane);
}

/*
 * Lets other threads run, the drainer among them. A thread that is refused one capture after the other would keep the
 * processor from the drainer, which makes room. While the head of the lane stands still the drainer wants something
 * else than a processor: then the thread does so no more than FRUITLESS times.
 */
static void let_drainer_run(lane *lane) {
  enum { FRUITLESS = 32 };
  uint64_t head = load(&lane->control->head);
  if (lane->refused_at != head) {
    lane->refused_at = head;
    lane->yields = 0;
  }
  if (lane->yields == FRUITLESS) return;
  lane->yields++;
  sched_yield();
}

/*
 * The head does not tell: an eviction moves it as well. Nor does a tail that was passed before the thread came: events
 * of the thread may be in lanes before.
 */
int overflow_is_drained(const weir_lane *lane, uint64_t entered) {
  const uint64_t *tail = __atomic_load_n(&lane->tail, __ATOMIC_RELAXED);
  if (tail != lane->own_tail) return 0;
  uint64_t end = load(tail), passed = __atomic_load_n(&((const struct lane *)lane)->passed, __ATOMIC_ACQUIRE); /* L12 */
  return end > entered && passed == end;
}

/* Whether a capture whose lane is full is to try an overflow lane: also a thread in such a lane, which may go on. */
static int may_go_on(const intake *intake, const lane *lane, uint64_t now) {
  if (now < lane->stay_until) return 0;
  if (lane_overflows(intake, lane)) return !intake_is_stuck(intake);
  return overflow_lanes_wanted(intake);
}

weir_place overflow_find(weir_lane *lane, int may_wait, int may_leave, uint64_t *since) {
  intake *intake = intake_of(lane->log);
  lane_view view = view_of(lane);
  int evicts = intake->options->full_policy == WEIR_FULL_DROP_OLDEST;
  uint64_t pause = evicts ? 5000 : *since == 0 ? 20000 : 1000000;
  for (;;) {
    uint64_t *tail = __atomic_load_n(&lane->tail, __ATOMIC_RELAXED);
    if (tail == &lane_of(lane)->closed_tail) return none(WEIR_DROP_CLOSED);
    if (has_room(lane, &view, tail)) return (weir_place){.lane = lane, .tail = tail};
    uint64_t now = sys_monotonic_ns();
    if (*since == 0) *since = now;
    if (may_leave && may_go_on(intake, lane_of(lane), now)) return none(OVERFLOW_ELSEWHERE);
    uint64_t deadline = deadline_of(intake, evicts, may_wait, *since);
    uint64_t evict_at = after(*since, may_wait ? intake->options->full_wait_ns : 0);
    int32_t reason = full_reason(intake);
    if (evicts && (now >= evict_at || reason == WEIR_DROP_STORAGE)) {
      eviction result = evict(lane, &view);
      if (result == EVICTED) continue;
      if (result == NOTHING_EVICTABLE) return none(reason);
    } else if (reason == WEIR_DROP_STORAGE) {
      return none(reason);
    }
    if (now >= deadline) {
      if (may_wait && reason == WEIR_DROP_FULL) let_drainer_run(lane_of(lane));
      return none(reason);
    }
    bell_wake(intake);
    sys_sleep_ns(pause);
    if (pause < 1000000) pause *= 2;
  }
}
