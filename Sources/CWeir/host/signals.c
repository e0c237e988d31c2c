/*
 * signals.c: see weir_signals.h.
 *
 * label store                                   load                              what it guarantees
 * S1    slot.process, then slot.note_to         handler: slot.note_to (acquire),  a slot that is ready is complete
 *       (release each)                          then slot.process (acquire)
 * S2    slot.came, exchanged                    the same                          of signals that come at once one is
 *                                                                                 the first
 * S3    continued + 1 (release)                 handler, and who raises a stop    a stop that came before the last
 *                                               again: continued (acquire)        SIGCONT is not raised again
 */
#define _GNU_SOURCE
#include "weir_signals.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/types.h>
#include <unistd.h>

#include "weir_capture.h"

/* What the handler writes into the pipe, whole or not at all. */
typedef struct note {
  siginfo_t info;
  uint32_t continued; /* the number of SIGCONTs so far */
} note;

static_assert(sizeof(note) <= PIPE_BUF, "a note is written in one part");

typedef struct slot {
  int note_to;              /* the pipe's write end, plus 1; 0 while nobody waits */
  pid_t process;            /* the process that made the pipe */
  int ends[2];              /* the pipe; 0 and 0 before it is made */
  int once;
  int came;                 /* with `once`: a signal has come */
  int taken;
  struct sigaction before;  /* the action before ours */
  note last;                /* the last note that was read from the pipe */
} slot;

static slot slots[WEIR_SIGNALS];
static uint32_t continued; /* how often SIGCONT came */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * This thread is passing a signal on. A handler that was installed after ours may call ours: that is not another
 * signal.
 */
static WEIR_THREAD_LOCAL int passing;

static slot *slot_of(int number) {
  if (number == SIGCONT) return &slots[0];
  if (number == SIGTSTP) return &slots[1];
  return number == SIGTERM ? &slots[2] : NULL;
}

/* ---- The handler: async-signal-safe ------------------------------------------------------------------------------ */

static int is_function(const struct sigaction *action) {
  return (action->sa_flags & SA_SIGINFO) || (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

static void call(const struct sigaction *action, int number, siginfo_t *info, void *context) {
  if (action->sa_flags & SA_SIGINFO) {
    action->sa_sigaction(number, info, context);
  } else {
    action->sa_handler(number);
  }
}

static int is_ours(const struct sigaction *action);

/* Takes the default action on this thread, now: the process ends, or stops and goes on. */
static void act_by_default(int number) {
  struct sigaction now, plain = {0};
  plain.sa_handler = SIG_DFL;
  int is_known = sigaction(number, &plain, &now) == 0;
  sigset_t only, before;
  sigemptyset(&only);
  sigaddset(&only, number);
  pthread_sigmask(SIG_UNBLOCK, &only, &before);
  raise(number);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  /*
   * Restore the handler that was there: the host may have replaced ours. If the signal was released meanwhile, ours
   * passes it on at once.
   */
  if (is_known) sigaction(number, &now, NULL);
}

/* Passes on a signal for which nobody waits. */
static void pass_on_at_once(slot *slot, int number, siginfo_t *info, void *context) {
  if (is_function(&slot->before)) {
    call(&slot->before, number, info, context);
  } else if (slot->before.sa_handler == SIG_DFL && number != SIGCONT) {
    act_by_default(number);
  }
}

/* With `once`, only the first signal is ours. 1: this is a later one, which goes to the former owner. */
static int is_next_one(slot *slot, int number) {
  if (!slot->once) return 0;
  if (__atomic_exchange_n(&slot->came, 1, __ATOMIC_ACQ_REL)) return 1; /* S2 */
  struct sigaction now;
  if (sigaction(number, NULL, &now) == 0 && is_ours(&now)) sigaction(number, &slot->before, NULL);
  return 0;
}

static void on_signal(int number, siginfo_t *info, void *context) {
  int saved = errno;
  slot *slot = slot_of(number);
  int note_to = slot ? __atomic_load_n(&slot->note_to, __ATOMIC_ACQUIRE) : 0; /* S1 */
  if (number == SIGCONT) __atomic_fetch_add(&continued, 1, __ATOMIC_RELEASE); /* S3 */
  if (slot && !passing) {
    if (note_to > 0 && __atomic_load_n(&slot->process, __ATOMIC_ACQUIRE) == getpid() /* S1 */
        && !is_next_one(slot, number)) {
      note note = {.info = *info, .continued = __atomic_load_n(&continued, __ATOMIC_ACQUIRE)}; /* S3 */
      /* If the pipe is full the note is dropped: the waiter has hundreds of the same to read. */
      ssize_t ignored = write(note_to - 1, &note, sizeof note);
      (void)ignored;
    } else {
      pass_on_at_once(slot, number, info, context);
    }
  }
  errno = saved;
}

/* ---- Taking and giving back -------------------------------------------------------------------------------------- */

static int is_ours(const struct sigaction *action) {
  return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_signal;
}

/* Installs our handler, and keeps the action before it. */
static int place(slot *slot, int number) {
  struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
  ours.sa_sigaction = on_signal;
  sigfillset(&ours.sa_mask);
  struct sigaction now;
  if (sigaction(number, NULL, &now) != 0) return errno;
  if (!is_ours(&now)) slot->before = now; /* stored first, because our handler may run at once */
  return sigaction(number, &ours, NULL) == 0 ? 0 : errno;
}

static int open_pipe(slot *slot) {
  if (slot->process == getpid()) return 0; /* the pipe may hold notes that nobody has passed on yet */
  if (slot->process != 0) { /* the parent's pipe, which this process must not write to */
    close(slot->ends[0]);
    close(slot->ends[1]);
  }
  __atomic_store_n(&slot->process, 0, __ATOMIC_RELEASE); /* S1 */
  if (pipe2(slot->ends, O_CLOEXEC | O_NONBLOCK) != 0) return errno;
  __atomic_store_n(&slot->process, getpid(), __ATOMIC_RELEASE); /* S1 */
  return 0;
}

int weir_signal_take(int number, int once) {
  slot *slot = slot_of(number);
  if (!slot) return -EINVAL;
  pthread_mutex_lock(&lock);
  int error = slot->taken && slot->process == getpid() ? EBUSY : 0;
  if (!error) {
    __atomic_store_n(&slot->note_to, 0, __ATOMIC_RELEASE); /* S1 */
    error = open_pipe(slot);
  }
  if (!error) {
    slot->once = once;
    __atomic_store_n(&slot->came, 0, __ATOMIC_RELEASE); /* S2 */
    __atomic_store_n(&slot->note_to, slot->ends[1] + 1, __ATOMIC_RELEASE); /* S1 */
    error = place(slot, number);
    if (error) __atomic_store_n(&slot->note_to, 0, __ATOMIC_RELEASE); /* S1 */
  }
  if (!error) slot->taken = 1;
  int end = slot->ends[0];
  pthread_mutex_unlock(&lock);
  return error ? -error : end;
}

void weir_signal_release(int number) {
  slot *slot = slot_of(number);
  if (!slot) return;
  pthread_mutex_lock(&lock);
  if (slot->taken && slot->process == getpid()) {
    struct sigaction now;
    if (sigaction(number, NULL, &now) == 0 && is_ours(&now)) sigaction(number, &slot->before, NULL);
    __atomic_store_n(&slot->note_to, 0, __ATOMIC_RELEASE); /* S1: from here on the handler passes on at once */
    slot->taken = 0;
  }
  pthread_mutex_unlock(&lock);
}

/* ---- Waiting and passing on -------------------------------------------------------------------------------------- */

int weir_signal_wait(int wake, const int *numbers, int count, int milliseconds) {
  struct pollfd waits[1 + WEIR_SIGNALS] = {{.fd = wake, .events = POLLIN}};
  if (count > WEIR_SIGNALS) count = WEIR_SIGNALS;
  for (int i = 0; i < count; i++) {
    waits[1 + i] = (struct pollfd){.fd = slot_of(numbers[i])->ends[0], .events = POLLIN};
  }
  if (poll(waits, (nfds_t)(1 + count), milliseconds) <= 0) return 0;
  uint64_t times;
  if (waits[0].revents) {
    ssize_t ignored = read(wake, &times, sizeof times);
    (void)ignored;
  }
  for (int i = 0; i < count; i++) {
    note note;
    if (waits[1 + i].revents && read(waits[1 + i].fd, &note, sizeof note) == (ssize_t)sizeof note) {
      slot_of(numbers[i])->last = note;
      return numbers[i];
    }
  }
  return 0;
}

static int is_same(const struct sigaction *one, const struct sigaction *other) {
  if ((one->sa_flags & SA_SIGINFO) != (other->sa_flags & SA_SIGINFO)) return 0;
  return one->sa_flags & SA_SIGINFO ? one->sa_sigaction == other->sa_sigaction : one->sa_handler == other->sa_handler;
}

/* Calls the host's handler, then unblocks the signal in case the handler raised it, as when a handler returns. */
static void call_here(slot *slot, int number) {
  passing = 1;
  call(&slot->before, number, &slot->last.info, NULL);
  passing = 0;
  sigset_t only, before;
  sigemptyset(&only);
  sigaddset(&only, number);
  pthread_sigmask(SIG_UNBLOCK, &only, &before);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Whether SIGCONT came since the stop's note was written, or waits for a thread that will run our handler. */
static int is_taken_back(const slot *slot) {
  sigset_t pending;
  if (sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1) return 1;
  return __atomic_load_n(&continued, __ATOMIC_ACQUIRE) != slot->last.continued; /* S3 */
}

void weir_signal_pass_on(int number) {
  slot *slot = slot_of(number);
  if (!slot) return;
  struct sigaction now;
  if (is_function(&slot->before)) {
    /*
     * The signal is released, so kill delivers it as without us: on one of the host's threads, and interrupts its wait.
     */
    int is_hosts = slot->once && sigaction(number, NULL, &now) == 0 && is_same(&now, &slot->before);
    if (!is_hosts || kill(getpid(), number) != 0) call_here(slot, number);
  } else if (slot->before.sa_handler == SIG_DFL && number != SIGCONT) {
    /*
     * SIGCONT cancels a stop that has not happened yet: the process was last told to go on, and nobody would wake it
     * from the stop.
     */
    if (number != SIGTSTP || !is_taken_back(slot)) act_by_default(number);
  }
}

/* ---- Waking ------------------------------------------------------------------------------------------------------ */

int weir_wake_open(void) {
  int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return wake >= 0 ? wake : -errno;
}

void weir_wake(int wake) {
  uint64_t one = 1;
  ssize_t ignored = write(wake, &one, sizeof one);
  (void)ignored;
}

void weir_wake_close(int wake) { close(wake); }
