/*
 * guard.c: see guard.h.
 *
 * The handler may run on any thread, between any two instructions. It looks for the address in a table of fixed size,
 * puts a private page of zeros in the place of the one that is lost, so that the instruction can be repeated, and stops
 * the log: what is stored from then on goes nowhere, so no capture that stored any of it may be accepted, and nothing
 * of it may be handed over. It makes one system call, mmap, and touches no memory of the log's files.
 *
 *     label  store                                   order    pairs with
 *     G1     guarded.version odd, the rest, even     release  acquire loads in find: version, the rest, version
 *     G2     event_log.mapping_lost                  seq_cst  acquire load in guard_tripped, after what was read
 */
#define _GNU_SOURCE
#include "capture/guard.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "log/log.h"
#include "system/system.h"

/* A mapping. A version that is odd, or changes while it is read, says that the rest is being changed. */
typedef struct guarded {
  uint64_t version;
  uintptr_t from, to;
  event_log *log;
} guarded;

static guarded table[GUARD_RANGES];
static struct sigaction before_us;
static int installed;
static uintptr_t page_bytes;

/* ---- The table --------------------------------------------------------------------------------------------------- */

/* Sets a range that is free, or frees one. 0: somebody else has it, or it is not as expected. */
static int change(guarded *range, uintptr_t expected, uintptr_t from, uintptr_t to, event_log *log) {
  uint64_t version = __atomic_load_n(&range->version, __ATOMIC_ACQUIRE);
  if (version % 2 != 0 || __atomic_load_n(&range->from, __ATOMIC_RELAXED) != expected) return 0;
  if (!__atomic_compare_exchange_n(&range->version, &version, version + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    return 0;
  }
  __atomic_store_n(&range->from, from, __ATOMIC_RELEASE); /* G1: after the odd version */
  __atomic_store_n(&range->to, to, __ATOMIC_RELEASE);     /* G1 */
  __atomic_store_n(&range->log, log, __ATOMIC_RELEASE);   /* G1 */
  __atomic_store_n(&range->version, version + 2, __ATOMIC_RELEASE); /* G1 */
  return 1;
}

void guard_add(event_log *log, const uint8_t *address, uint64_t bytes) {
  uintptr_t from = (uintptr_t)address;
  for (int i = 0; i < GUARD_RANGES; i++) {
    if (change(&table[i], 0, from, from + bytes, log)) return;
  }
}

void guard_remove(const uint8_t *address) {
  if (!address) return;
  for (int i = 0; i < GUARD_RANGES; i++) {
    if (change(&table[i], (uintptr_t)address, 0, 0, NULL)) return;
  }
}

static event_log *find(uintptr_t address) {
  for (int i = 0; i < GUARD_RANGES; i++) {
    const guarded *range = &table[i];
    uint64_t version = __atomic_load_n(&range->version, __ATOMIC_ACQUIRE); /* G1 */
    uintptr_t from = __atomic_load_n(&range->from, __ATOMIC_ACQUIRE); /* G1: before the second look at the version */
    uintptr_t to = __atomic_load_n(&range->to, __ATOMIC_ACQUIRE);     /* G1 */
    event_log *log = __atomic_load_n(&range->log, __ATOMIC_ACQUIRE);  /* G1 */
    if (version % 2 != 0 || version != __atomic_load_n(&range->version, __ATOMIC_RELAXED)) continue;
    if (from <= address && address < to) return log;
  }
  return NULL;
}

/* ---- The handler ------------------------------------------------------------------------------------------------- */

/*
 * Refuses every capture that has not committed yet, as a fork and a close do: a lane whose tail is not its own takes
 * the slow path, and there are no types to commit with. A capture that stored to the page comes here before it commits.
 */
static void stop(event_log *log) {
  __atomic_store_n(&log->mapping_lost, 1, __ATOMIC_SEQ_CST); /* G2 */
  __atomic_store_n(&log->producer.detached, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&log->producer.type_count, 0, __ATOMIC_RELAXED);
  for (uint32_t i = 0; log->lanes && i < log->lane_count; i++) {
    lane *lane = &log->lanes[i];
    __atomic_store_n(&lane->producer.tail, &lane->closed_tail, __ATOMIC_RELAXED);
  }
}

/* What would have happened without us. By the default action the process ends: the instruction is repeated without a
 * handler. */
static void pass_on(int signal, siginfo_t *info, void *context) {
  if (before_us.sa_flags & SA_SIGINFO) {
    before_us.sa_sigaction(signal, info, context);
  } else if (before_us.sa_handler != SIG_DFL && before_us.sa_handler != SIG_IGN) {
    before_us.sa_handler(signal);
  } else if (before_us.sa_handler == SIG_DFL || info->si_code > 0) { /* a fault can't be ignored */
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigaction(signal, &plain, NULL);
    if (info->si_code <= 0) raise(signal); /* sent by somebody: there is no instruction that would repeat it */
  }
}

static void on_bus_error(int signal, siginfo_t *info, void *context) {
  uintptr_t address = (uintptr_t)info->si_addr;
  event_log *log = info->si_code > 0 ? find(address) : NULL;
  if (log) {
    stop(log); /* before the page is there: whoever stores to it finds the log stopped when it commits */
    if (sys_map_private((uint8_t *)(address & ~(page_bytes - 1)), page_bytes) == 0) return;
  }
  pass_on(signal, info, context);
}

static void install(void) {
  struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
  ours.sa_sigaction = on_bus_error;
  sigemptyset(&ours.sa_mask);
  page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
  sigaction(SIGBUS, NULL, &before_us); /* first: ours may run at once */
  sigaction(SIGBUS, &ours, NULL);
  __atomic_store_n(&installed, 1, __ATOMIC_RELEASE);
}

void weir_guard_install(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install);
}

void guard_uninstall(void) {
  struct sigaction now;
  if (!guard_is_installed() || sigaction(SIGBUS, NULL, &now) != 0) return;
  if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_bus_error) sigaction(SIGBUS, &before_us, NULL);
}

int guard_is_installed(void) { return __atomic_load_n(&installed, __ATOMIC_ACQUIRE); }

int guard_tripped(const event_log *log) { return __atomic_load_n(&log->mapping_lost, __ATOMIC_ACQUIRE); /* G2 */ }
