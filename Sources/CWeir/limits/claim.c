/* claim.c: see claim.h. */
#include "limits/claim.h"

#include "directory/sizes.h"
#include "limits/byte_limit.h"
#include "system/error.h"
#include "system/system.h"

enum { LEAST_PAUSE_NS = 1000000000 };

static uint64_t load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); /* B1, B2 */ }

/* Asks the remover for room, and waits; if no remover runs, removes segments itself. 0 or a negative errno. */
static int make_room(retention *retention, uint64_t bytes) {
  worker *remover = retention->remover;
  if (!remover) return retention_remove_due(retention, bytes);
  pthread_mutex_lock(&remover->mutex);
  if (!remover->running) {
    pthread_mutex_unlock(&remover->mutex);
    return retention->denied != 0 ? retention->denied : retention_remove_due(retention, bytes);
  }
  uint64_t ticket = ++retention->asked;
  retention->wanted = bytes;
  pthread_cond_signal(&remover->wakes);
  while (remover->running && retention->answered < ticket) pthread_cond_wait(&remover->settled, &remover->mutex);
  pthread_mutex_unlock(&remover->mutex);
  return __atomic_load_n(&retention->failure, __ATOMIC_RELAXED);
}

/* Adds the files up anew: they may take less than was counted, because somebody emptied quarantine/, say. */
static void measure(retention *retention) {
  uint64_t now = sys_monotonic_ns(), before = load(&retention->used);
  log_sizes sizes;
  if (now - retention->measured_at < LEAST_PAUSE_NS || load(&retention->batch_taken) > 0) return;
  retention->measured_at = now;
  if (sizes_of_log(retention->held->directory, &sizes) != 0) return;
  if (__atomic_load_n(&retention->overflowing, __ATOMIC_RELAXED) > 0) return; /* these count twice */
  if (load(&retention->batch_taken) > 0) return; /* a batch was begun meanwhile: its file may be in the sum */
  /* The sum counts only if nothing changed meanwhile: a segment that is being sealed may be in it twice, or not. */
  __atomic_compare_exchange_n(&retention->used, &before, sizes.claimed, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE); /* B1 */
}

int claim_bytes(retention *retention, uint64_t bytes, int urgent) {
  if (!retention || retention->max_bytes == UINT64_MAX) return 0;
  bytes = byte_limit_blocks(retention, bytes);
  uint64_t for_batches = retention->recovering ? 0 : retention->batch_reserve;
  uint64_t wanted = __atomic_load_n(&retention->copy_wanted, __ATOMIC_RELAXED);
  uint64_t reserve = plus(retention->recovering ? 0 : retention->reserve, wanted) + for_batches;
  int taken = byte_limit_try(retention, bytes, reserve), error = 0;
  if (!taken && urgent && retention->recovering) {
    error = retention_survey(retention);
    taken = byte_limit_try(retention, bytes, reserve);
  }
  /* Twice, because a copy, or a batch that is larger than its segment, may have taken the room meanwhile. */
  for (int i = 0; i < 2 && !taken && urgent && error == 0; i++) {
    wanted = __atomic_load_n(&retention->copy_wanted, __ATOMIC_RELAXED);
    error = make_room(retention, plus(bytes, wanted) + for_batches);
    taken = byte_limit_try(retention, bytes, reserve);
  }
  if (!taken && urgent) {
    measure(retention);
    taken = byte_limit_try(retention, bytes, reserve);
  }
  if (taken) return 0;
  return error != 0 ? error : -BYTE_LIMIT_REACHED;
}

int claim_copy(retention *retention, uint64_t base, uint64_t bytes) {
  retention_hold(retention, base);
  if (!retention || retention->max_bytes == UINT64_MAX) return 0;
  bytes = byte_limit_blocks(retention, bytes);
  uint64_t for_batches = retention->recovering ? 0 : retention->batch_reserve;
  int taken = byte_limit_try(retention, bytes, for_batches);
  if (!taken && retention->displaces && !retention->names_unsure) {
    retention_remove_due(retention, plus(bytes, for_batches));
    taken = byte_limit_try(retention, bytes, for_batches);
    /* Reserve what the copy lacks. Otherwise the preparer takes it first, and newer segments can't be removed. */
    __atomic_store_n(&retention->copy_wanted, taken ? 0 : bytes, __ATOMIC_RELAXED);
  } else if (taken) {
    __atomic_store_n(&retention->copy_wanted, 0, __ATOMIC_RELAXED);
  }
  return taken ? 0 : -BYTE_LIMIT_REACHED;
}
