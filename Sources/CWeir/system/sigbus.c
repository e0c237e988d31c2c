/*
 * sigbus.c: see sigbus.h.
 *
 * The handler may run on any thread, between any two instructions. The handler finds the address in a table of fixed
 * size, calls the owner's `lost`, and maps a private page of zeros over the lost one, so that the instruction can be
 * repeated. It makes one system call, mmap, and touches no memory of the mapped files.
 *
 * label store                                   load                              what it guarantees
 * G1    a range's version + 1, then the rest    handler: version (acquire), then  the handler acts on a whole range, or
 *       (release each), then version + 1        the rest (acquire each), then     on none
 *       (release)                               version
 */
#define _GNU_SOURCE
#include "system/sigbus.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "system/system.h"

/* Weak: before glibc 2.34 both functions are in libdl, and a program without plug-ins may not link with libdl. */
#pragma weak dladdr
#pragma weak dlsym

/* A mapping. A version that is odd, or changes while it is read, says that the rest is being changed. */
typedef struct watched {
  uint64_t version;
  uintptr_t from, to;
  void (*lost)(void *owner);
  void *owner;
} watched;

static watched table[SIGBUS_RANGES];
static struct sigaction before_us;
static int installed;
static uintptr_t page_bytes;

/* ---- The table --------------------------------------------------------------------------------------------------- */

/* Fills or frees a range whose `from` is `expected`. 0: another thread is changing it, or `from` differs. */
static int change(watched *range, uintptr_t expected, uintptr_t from, uintptr_t to, void (*lost)(void *owner),
                  void *owner) {
  uint64_t version = __atomic_load_n(&range->version, __ATOMIC_ACQUIRE); /* G1 */
  if (version % 2 != 0 || __atomic_load_n(&range->from, __ATOMIC_RELAXED) != expected) return 0;
  /* G1 */
  if (!__atomic_compare_exchange_n(&range->version, &version, version + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    return 0;
  }
  __atomic_store_n(&range->from, from, __ATOMIC_RELEASE); /* G1: after the odd version */
  __atomic_store_n(&range->to, to, __ATOMIC_RELEASE);     /* G1 */
  __atomic_store_n(&range->lost, lost, __ATOMIC_RELEASE); /* G1 */
  __atomic_store_n(&range->owner, owner, __ATOMIC_RELEASE); /* G1 */
  __atomic_store_n(&range->version, version + 2, __ATOMIC_RELEASE); /* G1 */
  return 1;
}

void sigbus_watch(const uint8_t *address, uint64_t bytes, void (*lost)(void *owner), void *owner) {
  uintptr_t from = (uintptr_t)address;
  for (int i = 0; i < SIGBUS_RANGES; i++) {
    if (change(&table[i], 0, from, from + bytes, lost, owner)) return;
  }
}

void sigbus_forget(const uint8_t *address) {
  if (!address) return;
  for (int i = 0; i < SIGBUS_RANGES; i++) {
    if (change(&table[i], (uintptr_t)address, 0, 0, NULL, NULL)) return;
  }
}

void sigbus_note(void *flag) { __atomic_store_n((int *)flag, 1, __ATOMIC_SEQ_CST); /* G2 */ }

/* The mapping that the address is in: 1 and whom to tell, or 0. */
static int find(uintptr_t address, watched *found) {
  for (int i = 0; i < SIGBUS_RANGES; i++) {
    const watched *range = &table[i];
    uint64_t version = __atomic_load_n(&range->version, __ATOMIC_ACQUIRE); /* G1 */
    found->from = __atomic_load_n(&range->from, __ATOMIC_ACQUIRE); /* G1: before the second look at the version */
    found->to = __atomic_load_n(&range->to, __ATOMIC_ACQUIRE);     /* G1 */
    found->lost = __atomic_load_n(&range->lost, __ATOMIC_ACQUIRE); /* G1 */
    found->owner = __atomic_load_n(&range->owner, __ATOMIC_ACQUIRE); /* G1 */
    if (version % 2 != 0 || version != __atomic_load_n(&range->version, __ATOMIC_RELAXED)) continue;
    if (found->from <= address && address < found->to) return 1;
  }
  return 0;
}

/* ---- The handler ------------------------------------------------------------------------------------------------- */

/* Calls the handler that was there before. Without one it restores the default action: the instruction repeats, and the
 * process ends. */
static void pass_on(int signal, siginfo_t *info, void *context) {
  if (before_us.sa_flags & SA_SIGINFO) {
    before_us.sa_sigaction(signal, info, context);
  } else if (before_us.sa_handler != SIG_DFL && before_us.sa_handler != SIG_IGN) {
    before_us.sa_handler(signal);
  } else if (before_us.sa_handler == SIG_DFL || info->si_code > 0) { /* a fault can't be ignored */
    struct sigaction plain = {0};
    plain.sa_handler = SIG_DFL;
    sigaction(signal, &plain, NULL);
    if (info->si_code <= 0) raise(signal); /* sent by somebody: there is no instruction that would repeat it */
  }
}

static void on_bus_error(int signal, siginfo_t *info, void *context) {
  uintptr_t address = (uintptr_t)info->si_addr;
  watched range;
  if (info->si_code > 0 && find(address, &range)) {
    range.lost(range.owner); /* before the page is there: whoever stores to it finds out when it commits */
    if (sys_map_private((uint8_t *)(address & ~(page_bytes - 1)), page_bytes) == 0) return;
  }
  pass_on(signal, info, context);
}

/*
 * Keeps the library in memory. A handler that is installed later calls ours, even after the plug-in was unloaded. The
 * address of dlopen is looked up, because the linker warns where a static program names dlopen.
 */
static void stay(void) {
  Dl_info library;
  void *(*load)(const char *name, int flags) = NULL;
  if (!dladdr || !dlsym || !dladdr((void *)table, &library) || !library.dli_fname) return;
  *(void **)&load = dlsym(RTLD_DEFAULT, "dlopen");
  if (load) load(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

static void install(void) {
  struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
  ours.sa_sigaction = on_bus_error;
  sigemptyset(&ours.sa_mask);
  page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
  stay();
  sigaction(SIGBUS, NULL, &before_us); /* first: ours may run at once */
  sigaction(SIGBUS, &ours, NULL);
  __atomic_store_n(&installed, 1, __ATOMIC_RELAXED);
}

void weir_guard_install(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install);
}

int sigbus_is_installed(void) { return __atomic_load_n(&installed, __ATOMIC_RELAXED); }
