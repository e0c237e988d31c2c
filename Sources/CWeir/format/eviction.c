/* eviction.c: see eviction.h. */
#include "format/eviction.h"

static uint64_t load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }
static void store(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELAXED); }

/* Whether the noted eviction is the one that moved the head to its position; its total in `*total`. */
static int eviction_due(const lane_control *control, uint64_t head, uint64_t *total) {
  if (!(head & HEAD_EVICTED)) return 0;
  /* L9: read before evicting_to, because it is stored after it */
  *total = __atomic_load_n(&control->evicting_total, __ATOMIC_ACQUIRE);
  /* L9: acquire too, for where it tells of a later eviction, the count of this one is read from evicted_total */
  return __atomic_load_n(&control->evicting_to, __ATOMIC_ACQUIRE) == head_position(head);
}

void eviction_settle(lane_control *control, uint64_t head) {
  uint64_t total;
  if (!eviction_due(control, head, &total)) return;
  store(&control->evicted_to, head_position(head));
  store(&control->evicted_total, total);
}

uint64_t eviction_total(const lane_control *control) {
  uint64_t head = __atomic_load_n(&control->head, __ATOMIC_ACQUIRE), total; /* L9 */
  return eviction_due(control, head, &total) ? total : load(&control->evicted_total);
}
