/* byte_limit.c: see byte_limit.h. */
#include "limits/byte_limit.h"

#include "system/error.h"
#include "system/invariant.h"

static uint64_t load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); /* B1, B2 */ }

int byte_limit_is_short(const retention *retention, uint64_t needed, uint64_t freed) {
  return plus(plus(load(&retention->used), needed), retention->slack_bytes) > plus(retention->max_bytes, freed);
}

int byte_limit_try(retention *retention, uint64_t bytes, uint64_t reserve) {
  uint64_t used = load(&retention->used);
  do {
    uint64_t after = plus(plus(used, bytes), plus(reserve, retention->slack_bytes));
    if (after > retention->max_bytes) return 0;
    /* B1 */
  } while (!__atomic_compare_exchange_n(&retention->used, &used, used + bytes, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  return 1;
}

void byte_limit_change(retention *retention, uint64_t more, uint64_t less) {
  uint64_t used = load(&retention->used), after;
  do after = plus(used, more) > less ? plus(used, more) - less : 0;
  while (!__atomic_compare_exchange_n(&retention->used, &used, after, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)); /* B1 */
}

int byte_limit_take_batch(retention *retention, uint64_t *bytes) {
  if (!retention || retention->max_bytes == UINT64_MAX) return 0;
  *bytes = byte_limit_blocks(retention, *bytes);
  if (*bytes > retention->batch_reserve) *bytes = retention->batch_reserve;
  uint64_t taken = load(&retention->batch_taken), after;
  do {
    after = taken + *bytes;
    if (after > retention->batch_reserve) return -BYTE_LIMIT_REACHED;
    /* The log may be above its limit, which was lowered. Where it is not, others leave this room: it stays true. */
    uint64_t needed = plus(plus(load(&retention->used), after), retention->slack_bytes);
    if (needed > retention->max_bytes) return -BYTE_LIMIT_REACHED;
    /* B2 */
  } while (!__atomic_compare_exchange_n(&retention->batch_taken, &taken, after, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  return 0;
}

void byte_limit_settle_batch(retention *retention, uint64_t taken, uint64_t allocated, uint64_t unlinked) {
  if (!retention) return;
  /* In this order: for a moment it counts twice, and never not at all. */
  byte_limit_change(retention, byte_limit_blocks(retention, allocated), byte_limit_blocks(retention, unlinked));
  if (retention->max_bytes == UINT64_MAX) return;
  uint64_t before = __atomic_fetch_sub(&retention->batch_taken, taken, __ATOMIC_ACQ_REL); /* B2 */
  INVARIANT(before >= taken);
}

void byte_limit_give(retention *retention, uint64_t bytes) {
  if (retention) byte_limit_change(retention, 0, byte_limit_blocks(retention, bytes));
}
