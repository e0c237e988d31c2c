/*
 * lane.c: which lane a capture goes to, off the inlined path: claiming, borrowing, giving back, close.
 * Longer than other files: whose a lane is, is decided here alone.
 *
 * A lane has one producer at a time. A thread claims one of the owned lanes on its first capture and gives it back when
 * it ends. A capture that finds no lane free, or for whose lane the disk has no space, or that interrupts another one
 * of its thread (a signal handler, an encoder that tracks), borrows a spare lane for itself alone.
 *
 * The orders that this rests on, each store with the load that pairs with it:
 *
 * label store                                    load                                what it guarantees
 * L1    busy = 1 (relaxed, then signal fence)    closer: busy (acquire), after a     a capture sees the closed tail, or
 *                                                membarrier after tail = closed      is seen as busy and waited for
 * L2    *tail (release), the last of a commit    drainer: *tail (acquire)            a drained record is whole
 * L3    busy = 0 (release)                       closer: busy (acquire)              no unmapping under a capture
 * L4    head (release), after the block          producer: head (acquire)            bytes are reused once in the log
 * L5    taken = 0 (release)                      claimer: compare-and-swap (acquire) the next owner sees all records
 * L6    asleep = 1 or napping = 1, membarrier,   producer: *tail stored, then asleep a commit is seen, or the drainer
 *       then tails                               or napping                          is woken
 * L7    unlaned_users + 1 (seq_cst), then        closer: state stored (seq_cst),     the unlaned counters are not
 *       state                                    then unlaned_users                  written once the ring is unmapped
 * L8    head |= CLAIMED by compare-and-swap      producer: head moved on, by         nothing is overwritten while
 *       (acquire), cleared by a release store    compare-and-swap, if not CLAIMED    copied, nor evicted and drained
 * L9    evicted_total, then evicting_to and      drainer: evicting_total and then    every evicted event is counted, by
 *       evicting_total (release), then head      evicting_to (acquire), after it     producer, drainer or recovery
 *                                                claimed, then evicted_total
 * L10   references - 1 (release), after the      the thread that counts to 0         a log's memory is freed after the
 *       last use of the log                      (acquire), before it is freed       last use
 * L11   lanes_in_play (release), after the       drainer: lanes_in_play (acquire),   lanes that are looked at have a
 *       lane has its pages; the ring's first     recovery, by program order          control page; no used one is missed
 * L12   passed (release), after the blocks of    producer: passed (acquire), then    a thread's events are in the
 *       this lane and of all lower ones          *tail of its own lane               log in their order
 * T1    slot.owner (release), after its fields   capture: slot.owner (acquire)       a found type is defined
 * T2    types_end (release), after the entries   recovery, by program order          a record's type has its definition
 * T3    log.context (release), after types_end   capture: log.context (acquire),     a record's context has its
 *       and the table of definitions             then *tail (release)                definition, for the drainer too
 */
#include "capture/lane.h"

#include <pthread.h>
#include <sched.h>

#include "capture/bell.h"
#include "capture/detach.h"
#include "capture/overflow.h"
#include "capture/overflow_lanes.h"
#include "limits/retention.h"
#include "system/invariant.h"
#include "system/system.h"

WEIR_THREAD_LOCAL weir_lane *weir_this_lane;

/*
 * A lane that this thread owns, in a log that it captured to; null log: the entry is free. A signal handler may capture
 * between any two instructions, so an entry's log is stored last and cleared first, and a claim inside another claim
 * gives up.
 */
typedef struct thread_entry {
  weir_log *log;
  weir_lane *lane;     /* the one it captures to */
  weir_lane *home;     /* the one it claimed, as long as it captures to an overflow lane; else null */
  weir_lane *previous; /* the overflow lane that it left last; null: none, or given back */
  uint64_t entered;    /* the tail of the overflow lane that it captures to, when it came there */
} thread_entry;

enum { THREAD_LOGS = 16, FIRST_LOGS = 2, THREAD_BORROWS = 8 };

/*
 * Only the first entries are here: glibc has 1.6 KB for the thread-locals of all plug-ins of a process that a signal
 * handler may use, and loads no plug-in for which too little is left. The others are in memory that the thread maps for
 * its third log. If the library is unloaded, that memory stays for threads that live on.
 */
static WEIR_THREAD_LOCAL struct {
  thread_entry first[FIRST_LOGS];
  thread_entry *others;           /* THREAD_LOGS - FIRST_LOGS of them; null: not mapped, or given back */
  lane *borrowed[THREAD_BORROWS]; /* lanes held by captures further down this thread's stack; null: none */
  uint32_t borrows;               /* number of these lanes, including those without a place in `borrowed` */
  int claiming;                   /* entries are being changed */
  int ended;                      /* the thread's clean-up has run: claim nothing any more */
  int host_calls;                 /* of a log that this thread, one of the log's, is inside of */
} this_thread;

static int entry_count(void) { return this_thread.others ? THREAD_LOGS : FIRST_LOGS; }

static thread_entry *entry_at(int i) {
  return i < FIRST_LOGS ? &this_thread.first[i] : &this_thread.others[i - FIRST_LOGS];
}

enum { OTHERS_BYTES = (THREAD_LOGS - FIRST_LOGS) * sizeof(thread_entry) };

static pthread_key_t thread_key;
static int thread_key_made;

log_state lane_log_state(const intake *intake) {
  /* A child of a bare clone has not run the fork handlers, but its lanes are wiped. */
  if (intake->lanes && !intake->lanes->producer.log) return STATE_DETACHED;
  return (log_state)__atomic_load_n(&intake->state, __ATOMIC_ACQUIRE); /* L7 */
}

static int32_t closed_reason(const intake *intake) {
  if (detach_lost_page(intake) && lane_log_state(intake) == STATE_OPEN) return WEIR_DROP_STORAGE;
  return lane_log_state(intake) == STATE_DETACHED ? WEIR_DROP_DETACHED : WEIR_DROP_CLOSED;
}

static weir_place refused(int32_t reason) { return (weir_place){.drop = reason}; }

/* ---- Refusing ---------------------------------------------------------------------------------------------------- */

void lane_begin_host_call(void) { this_thread.host_calls++; }
void lane_end_host_call(void) {
  INVARIANT(this_thread.host_calls > 0);
  this_thread.host_calls--;
}

/*
 * Makes the drainer report a refusal to the host. Call after the refusal is counted and before the drainer is woken. A
 * refusal inside of that function is not reported: there would be no end to that.
 */
static void note_refusal(intake *intake) {
  if (!this_thread.host_calls) __atomic_store_n(&intake->refused, 1, __ATOMIC_RELEASE); /* E2 */
}

/* Counts a refusal that no ring can count: the log is closed, belongs to a fork's parent, or lost a page. */
static int32_t count_after_close(intake *intake, int32_t reason) {
  __atomic_fetch_add(&intake->dropped_after_close[reason], 1, __ATOMIC_RELAXED);
  if (reason == WEIR_DROP_STORAGE) { /* after a lost page the drainer still runs */
    note_refusal(intake);
    bell_wake(intake);
  }
  return reason;
}

/*
 * Counts a refusal of a capture that holds no lane, in the ring file. Holding no lane, it announces itself in
 * `unlaned_users`, so that close does not unmap the ring under it.
 */
static int32_t count_unlaned(intake *intake, int32_t reason) {
  __atomic_add_fetch(&intake->unlaned_users, 1, __ATOMIC_SEQ_CST); /* L7 */
  int open = __atomic_load_n(&intake->state, __ATOMIC_SEQ_CST) == STATE_OPEN; /* L7 */
  if (open) {
    __atomic_fetch_add(&intake->ring.header->unlaned_dropped[reason], 1, __ATOMIC_RELAXED);
    note_refusal(intake);
    bell_wake(intake);
  }
  __atomic_sub_fetch(&intake->unlaned_users, 1, __ATOMIC_RELEASE); /* L7 */
  return open ? reason : count_after_close(intake, closed_reason(intake));
}

/* ---- Giving back ------------------------------------------------------------------------------------------------- */

/* A signal handler may run between any two of these instructions; it gives back what it borrowed before it returns. */
static void note_borrowed(lane *lane) {
  this_thread.borrows++;
  for (int i = 0; i < THREAD_BORROWS; i++) {
    if (this_thread.borrowed[i]) continue;
    this_thread.borrowed[i] = lane;
    return;
  }
}

/* Gives a lane back. If it is an overflow lane, the prefaulter, which may sleep, is to see to its memory. */
static void give_back(intake *intake, lane *lane) {
  lane_give_back(lane);
  if (lane_overflows(intake, lane)) overflow_lanes_ring(intake);
}

static void return_borrowed(lane *lane) {
  weir_log *log = lane->producer.log; /* null in a child of a bare clone */
  INVARIANT(this_thread.borrows > 0);
  for (int i = 0; i < THREAD_BORROWS; i++) {
    if (this_thread.borrowed[i] == lane) this_thread.borrowed[i] = NULL;
  }
  this_thread.borrows--;
  if (log) give_back(intake_of(log), lane);
  else lane_give_back(lane);
}

void weir_after_commit(weir_lane *producer) {
  bell_wake(intake_of(producer->log));
  if (producer->borrowed) return_borrowed(lane_of(producer));
}

/* Ends the capture: the lane is no longer busy, and a borrowed lane is given back. */
static void end_capture(weir_lane *producer) {
  __atomic_store_n(&producer->busy, 0, __ATOMIC_RELEASE); /* L3 */
  weir_after_commit(producer);
}

/* Counts a refusal in the lane that the caller holds, in the ring file, where it survives the process. */
static void count_refusal(weir_lane *producer, int32_t reason) {
  uint64_t *counter = &lane_of(producer)->control->dropped[reason - 1];
  __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
  if (reason != WEIR_DROP_SAMPLED) note_refusal(intake_of(producer->log));
}

/* As weir_cancel, but counted: the drainer has nothing to do for it, so it is not woken. */
static int32_t refuse_sampled(weir_lane *lane) {
  count_refusal(lane, WEIR_DROP_SAMPLED);
  __atomic_store_n(&lane->busy, 0, __ATOMIC_RELEASE); /* L3 */
  if (lane->borrowed) return_borrowed(lane_of(lane));
  return WEIR_DROP_SAMPLED;
}

int32_t weir_refuse_place(weir_lane *lane, int32_t reason) {
  if (!lane) return WEIR_DROP_INVALID; /* committed although weir_begin refused and counted the capture */
  intake *intake = intake_of(lane->log);
  if (intake->producer.detached) { /* a fork, or the loss of a page, came between begin and commit */
    end_capture(lane);
    return count_after_close(intake, lane_log_state(intake) == STATE_DETACHED ? WEIR_DROP_DETACHED : WEIR_DROP_STORAGE);
  }
  if (reason == WEIR_DROP_SAMPLED) return refuse_sampled(lane);
  if (reason <= WEIR_ACCEPTED || reason >= WEIR_LOST_OVERWRITTEN) reason = WEIR_DROP_INVALID;
  count_refusal(lane, reason);
  end_capture(lane);
  return reason;
}

static thread_entry *entry_of(const weir_lane *lane);
static weir_lane *go_back(intake *intake, thread_entry *entry);
static weir_lane *go_on(intake *intake, thread_entry *entry);

/*
 * Room for a record of any size in a lane that the caller marked as busy, or for a thread's own capture (`own`) in an
 * overflow lane in place of that. If there is none: the reason, and the capture is ended.
 */
static weir_place find_room(weir_lane *lane, int may_wait, int own) {
  intake *intake = intake_of(lane->log);
  thread_entry *entry = own ? entry_of(lane) : NULL;
  if (entry) lane = go_back(intake, entry);
  uint64_t since = 0;
  weir_place place = overflow_find(lane, may_wait, entry != NULL, &since);
  while (place.drop == OVERFLOW_ELSEWHERE) {
    const weir_lane *full = lane;
    lane = go_on(intake, entry);
    place = overflow_find(lane, may_wait, lane == full, &since);
  }
  if (place.lane) {
    /* The next capture comes here, too, and gives the lane back that this one left. */
    if (entry && entry->previous) place.lane->limit = __atomic_load_n(place.tail, __ATOMIC_RELAXED);
    return place;
  }
  if (place.drop != WEIR_DROP_CLOSED) count_refusal(lane, place.drop);
  end_capture(lane);
  return place.drop == WEIR_DROP_CLOSED ? refused(count_after_close(intake, closed_reason(intake))) : place;
}

void lane_unreference(intake *intake) {
  if (__atomic_sub_fetch(&intake->references, 1, __ATOMIC_ACQ_REL) == 0) intake->release(intake); /* L10 */
}

static void give_back_previous(intake *intake, thread_entry *entry) {
  weir_lane *previous = entry->previous;
  if (!previous) return;
  entry->previous = NULL;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  give_back(intake, lane_of(previous));
}

/* Drops a thread's entry for a log and gives its lane back. No capture may be in progress in that lane. */
static void forget(thread_entry *entry) {
  intake *intake = intake_of(entry->log);
  weir_lane *lane = entry->lane;
  __atomic_store_n(&entry->log, NULL, __ATOMIC_RELAXED);
  if (weir_this_lane == lane) __atomic_store_n(&weir_this_lane, NULL, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST); /* a signal handler must not find the lane once others may take it */
  give_back_previous(intake, entry);
  if (entry->home) give_back(intake, lane_of(entry->home));
  entry->home = NULL;
  give_back(intake, lane_of(lane));
  lane_unreference(intake);
}

static void thread_ends(void *unused) {
  (void)unused;
  this_thread.ended = 1;
  for (int i = 0; i < entry_count(); i++) {
    thread_entry *entry = entry_at(i);
    if (!entry->log) continue;
    /* A capture that the cancellation of its thread cut off never happened. */
    __atomic_store_n(&entry->lane->busy, 0, __ATOMIC_RELEASE); /* L3 */
    forget(entry);
  }
  for (int i = 0; i < THREAD_BORROWS; i++) {
    lane *lane = this_thread.borrowed[i];
    if (!lane) continue;
    __atomic_store_n(&lane->producer.busy, 0, __ATOMIC_RELEASE); /* L3 */
    return_borrowed(lane);
  }
  thread_entry *others = this_thread.others;
  if (!others) return;
  this_thread.others = NULL;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  sys_unmap((uint8_t *)others, OTHERS_BYTES);
}

void lane_set_up_threads(void) { thread_key_made = pthread_key_create(&thread_key, thread_ends) == 0; }

void lane_let_threads_go(void) {
  if (!thread_key_made) return;
  thread_key_made = 0;
  pthread_key_delete(thread_key);
}

/* ---- Finding a lane ---------------------------------------------------------------------------------------------- */

/*
 * Whether a lane that the caller has taken has blocks and room. It is marked as busy while the ring is touched, so that
 * a close does not unmap the ring under this.
 */
static int is_fit(lane *lane) {
  weir_lane *producer = &lane->producer;
  if (producer->own_tail && producer->position <= producer->limit) return 1;
  __atomic_store_n(&producer->busy, 1, __ATOMIC_RELAXED); /* L1 */
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  int fit = overflow_is_fit(producer);
  __atomic_store_n(&producer->busy, 0, __ATOMIC_RELEASE); /* L3 */
  return fit;
}

/* A choice among the lanes of a kind: owned or spare ones. */
typedef struct choice {
  lane *best;    /* taken: it has blocks and room */
  lane *full;    /* or else, taken: one that has blocks but no room */
  int contended; /* others have lanes of the kind */
} choice;

/* Takes a lane that nobody has: one that is ready, or else, if it `makes` one, one that gets its blocks now. */
static choice take_lane(intake *intake, uint32_t from, uint32_t to, int makes) {
  choice choice = {0};
  for (uint32_t pass = 0; pass <= (uint32_t)makes && !choice.best; pass++) {
    for (uint32_t i = from; i < to && !choice.best; i++) {
      lane *lane = &intake->lanes[i];
      if (lane_is_ready(lane) == (int)pass) continue;
      if (!lane_try_take(lane, HELD_BY_THREAD)) {
        choice.contended = 1;
      } else if ((pass == 1 || lane_is_ready(lane)) && is_fit(lane)) { /* an overflow lane may be ready no more */
        choice.best = lane;
      } else if (!choice.full && lane->producer.own_tail) {
        choice.full = lane;
      } else {
        lane_give_back(lane);
        if (pass == 1) return choice; /* there is no space for the next ones either */
      }
    }
  }
  if (choice.best && choice.full) lane_give_back(choice.full);
  return choice;
}

/*
 * An entry for a log that this thread has not captured to yet. The entry of a closed log is dropped only if no entry is
 * free: that may free memory, which a signal handler must not. Null if the thread has too many open logs; their entries
 * stay, because a capture that this one interrupts may be about to use one of them.
 */
static thread_entry *free_entry(void) {
  uint8_t *others;
  for (int i = 0; i < entry_count(); i++) {
    if (!entry_at(i)->log) return entry_at(i);
  }
  if (!this_thread.others && sys_map_zeros(OTHERS_BYTES, &others) == 0) {
    this_thread.others = (thread_entry *)(void *)others;
    return this_thread.others;
  }
  for (int i = 0; i < entry_count(); i++) {
    thread_entry *entry = entry_at(i);
    if (lane_log_state(intake_of(entry->log)) == STATE_OPEN || entry->lane->busy) continue;
    forget(entry);
    return entry;
  }
  return NULL;
}

void lane_forget(intake *intake) {
  this_thread.claiming = 1;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  for (int i = 0; i < entry_count(); i++) {
    thread_entry *entry = entry_at(i);
    if (entry->log == &intake->producer && !entry->lane->busy) forget(entry);
  }
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  this_thread.claiming = 0;
}

/*
 * A lane that is full is waited for, unless the log can't grow: then the thread borrows spare lanes, as long as one of
 * them has room.
 */
static weir_lane *claim_lane(intake *intake) {
  /* Without the clean-up at the thread's end the lane would stay taken for ever. */
  if (!thread_key_made || pthread_setspecific(thread_key, &this_thread) != 0) return NULL;
  thread_entry *entry = free_entry();
  if (!entry) return NULL;
  choice choice = take_lane(intake, 0, intake->owned_lanes, 1);
  lane *lane = choice.best ? choice.best : choice.full;
  if (!lane) return NULL;
  if (!choice.best && intake_is_stuck(intake)) {
    lane_give_back(lane);
    return NULL;
  }
  __atomic_add_fetch(&intake->references, 1, __ATOMIC_RELAXED);
  entry->lane = &lane->producer;
  entry->home = entry->previous = NULL;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n(&entry->log, &intake->producer, __ATOMIC_RELAXED);
  return &lane->producer;
}

static weir_lane *find_lane(const intake *intake) {
  for (int i = 0; i < entry_count(); i++) {
    const thread_entry *entry = entry_at(i);
    if (__atomic_load_n(&entry->log, __ATOMIC_RELAXED) == &intake->producer) return entry->lane;
  }
  return NULL;
}

/* The lane that this thread owns in the log, claimed now if it has none. Null if all are taken. */
static weir_lane *own_lane(intake *intake) {
  int outermost = !this_thread.claiming;
  this_thread.claiming = 1;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  weir_lane *lane = find_lane(intake);
  if (!lane && outermost && !this_thread.ended) lane = claim_lane(intake);
  if (lane) __atomic_store_n(&weir_this_lane, lane, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (outermost) this_thread.claiming = 0;
  return lane;
}

/* An overflow lane with room that is ready, from the number `from` on; null: there is none. */
static lane *take_overflow(intake *intake, uint32_t from) {
  choice choice = take_lane(intake, from, intake->lane_count, 0);
  if (choice.best) return choice.best;
  if (choice.full) give_back(intake, choice.full);
  return NULL;
}

/*
 * Whether a capture that holds no lane is to try an overflow lane. As in count_unlaned, it announces itself, so that
 * close does not unmap the ring under it.
 */
static int may_overflow(intake *intake) {
  if (intake->first_overflow == intake->lane_count) return 0;
  __atomic_add_fetch(&intake->unlaned_users, 1, __ATOMIC_SEQ_CST); /* L7 */
  int open = __atomic_load_n(&intake->state, __ATOMIC_SEQ_CST) == STATE_OPEN; /* L7 */
  int may = open && overflow_lanes_wanted(intake);
  __atomic_sub_fetch(&intake->unlaned_users, 1, __ATOMIC_RELEASE); /* L7 */
  return may;
}

/*
 * A spare lane, or an overflow lane while the drainer stands still. `has_room`: not a full one, while others have lanes
 * that may have room.
 */
static weir_lane *try_borrow(intake *intake, int has_room) {
  choice choice = take_lane(intake, intake->owned_lanes, intake->first_overflow, 1);
  lane *lane = choice.best ? choice.best : choice.full;
  if (!choice.best && may_overflow(intake)) {
    struct lane *other = take_overflow(intake, intake->first_overflow);
    if (other && lane) lane_give_back(lane);
    if (other) lane = choice.best = other;
  }
  if (!lane) return NULL;
  if (!choice.best && choice.contended && has_room) {
    lane_give_back(lane);
    return NULL;
  }
  lane->producer.borrowed = 1;
  note_borrowed(lane);
  return &lane->producer;
}

/*
 * A spare lane for one capture. Waits for one as long as full_wait_ns. A capture that interrupts one with a borrowed
 * lane never waits: it could wait for its own thread. Nor does a capture on a thread of the log's, for which others
 * wait.
 */
static weir_lane *borrow_lane(intake *intake) {
  enum { SPINS = 64, YIELDS = 1000 };
  uint64_t wait = intake->options->full_wait_ns, deadline = 0;
  int waits = this_thread.borrows == 0 && !this_thread.host_calls;
  for (uint32_t tries = 0;; tries++) {
    weir_lane *lane = try_borrow(intake, waits && tries < SPINS);
    if (lane || !waits || lane_log_state(intake) != STATE_OPEN) return lane;
    if (tries < SPINS) continue;
    if (tries < SPINS + YIELDS) {
      sched_yield();
      continue;
    }
    uint64_t now = sys_monotonic_ns();
    if (deadline == 0) deadline = wait > UINT64_MAX - now ? UINT64_MAX : now + wait;
    if (now >= deadline) return NULL;
    sys_sleep_ns(50000);
  }
}

/* ---- Going on in another lane ------------------------------------------------------------------------------------ */

/* The entry of a lane that this thread captures to; null for a borrowed lane. */
static thread_entry *entry_of(const weir_lane *lane) {
  for (int i = 0; i < entry_count(); i++) {
    if (entry_at(i)->log == lane->log && entry_at(i)->lane == lane) return entry_at(i);
  }
  return NULL;
}

/*
 * Has the thread capture to a lane that it holds, in place of the one that it has marked as busy. A signal handler
 * finds either of them, busy. The overflow lane that it leaves stays its own until the thread's next capture off the
 * inlined path: a capture that it interrupted may be about to use it.
 */
static weir_lane *change_lane(thread_entry *entry, weir_lane *to) {
  weir_lane *from = entry->lane;
  __atomic_store_n(&to->busy, 1, __ATOMIC_RELAXED); /* L1 */
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n(&entry->lane, to, __ATOMIC_RELAXED);
  __atomic_store_n(&weir_this_lane, to, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n(&from->busy, 0, __ATOMIC_RELEASE); /* L3 */
  return from;
}

/* Moves the thread back to its own lane once all its events are drained. Returns the lane that the thread has then. */
static weir_lane *go_back(intake *intake, thread_entry *entry) {
  give_back_previous(intake, entry);
  if (!entry->home || !overflow_is_drained(entry->lane, entry->entered)) return entry->lane;
  weir_lane *home = entry->home;
  entry->previous = change_lane(entry, home);
  entry->home = NULL;
  return home;
}

/* Moves the thread to an overflow lane if one is free. Returns the lane that the thread has then. */
static weir_lane *go_on(intake *intake, thread_entry *entry) {
  enum { STAY_NS = 1000000 };
  lane *full = lane_of(entry->lane);
  lane *next = take_overflow(intake, entry->home ? full->number + 1 : intake->first_overflow);
  if (!next) {
    full->stay_until = sys_monotonic_ns() + STAY_NS;
    return entry->lane;
  }
  next->producer.borrowed = 0;
  entry->entered = __atomic_load_n(&next->control->tail, __ATOMIC_RELAXED);
  weir_lane *from = change_lane(entry, &next->producer);
  if (entry->home) entry->previous = from;
  else entry->home = from;
  return entry->lane;
}

/* The reason for refusing a capture that found no lane: nobody has one of the spare ones, which gets no blocks. */
static int32_t no_lane_reason(const intake *intake) {
  for (uint32_t i = intake->owned_lanes; i < intake->first_overflow; i++) {
    if (!lane_is_taken(&intake->lanes[i]) && !lane_is_ready(&intake->lanes[i])) return WEIR_DROP_STORAGE;
  }
  return WEIR_DROP_NO_LANE;
}

static weir_place begin_in(intake *intake, weir_lane *lane, int may_wait, int own) {
  if (!lane) return refused(count_unlaned(intake, no_lane_reason(intake)));
  __atomic_store_n(&lane->busy, 1, __ATOMIC_RELAXED); /* L1 */
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  return find_room(lane, may_wait, own);
}

/*
 * Whether the byte limit leaves no room to recover a full ring. `limited` is set only while a log is opened, so only
 * captures without a lane need to check it.
 */
static int is_limited(const intake *intake) {
  return intake->retention && __atomic_load_n(&intake->retention->limited, __ATOMIC_RELAXED);
}

weir_place weir_find_place(weir_log *producer) {
  intake *intake = intake_of(producer);
  if (lane_log_state(intake) != STATE_OPEN) return refused(count_after_close(intake, closed_reason(intake)));
  if (is_limited(intake)) return refused(count_unlaned(intake, WEIR_DROP_STORAGE));
  weir_lane *lane = own_lane(intake);
  int own = lane && !lane->busy;
  if (!own) lane = borrow_lane(intake);
  return begin_in(intake, lane, !this_thread.host_calls, own);
}

weir_place weir_find_place_in_signal(weir_log *producer) {
  intake *intake = intake_of(producer);
  if (lane_log_state(intake) != STATE_OPEN) return refused(count_after_close(intake, closed_reason(intake)));
  if (is_limited(intake)) return refused(count_unlaned(intake, WEIR_DROP_STORAGE));
  weir_lane *lane = find_lane(intake);
  if (!lane || lane->busy) lane = try_borrow(intake, 0);
  return begin_in(intake, lane, 0, 0);
}

weir_place weir_make_room(weir_lane *lane) { return find_room(lane, !this_thread.host_calls, 1); }

/* The payload is fields only. If the type had the flag of a scope, readers would cut off the end of the fields. */
static int32_t put_and_commit(weir_record *record, uint32_t type, const void *payload, uint64_t length, weir_id *id) {
  if (type & WEIR_SCOPED) return weir_refuse(record, WEIR_DROP_INVALID);
  weir_put_raw(record, payload, length);
  return weir_commit(record, type, id);
}

int32_t weir_capture(weir_log *log, uint32_t type, const void *payload, uint64_t length, weir_id *id) {
  weir_record record;
  int32_t drop = weir_begin(log, &record);
  return drop == WEIR_ACCEPTED ? put_and_commit(&record, type, payload, length, id) : drop;
}

int32_t weir_capture_in_signal(weir_log *log, uint32_t type, const void *payload, uint64_t length, weir_id *id) {
  weir_record record;
  int32_t drop = weir_begin_in_signal(log, &record);
  return drop == WEIR_ACCEPTED ? put_and_commit(&record, type, payload, length, id) : drop;
}

/* ---- Close ------------------------------------------------------------------------------------------------------- */

void lane_close_all(intake *intake) {
  __atomic_store_n(&intake->state, STATE_CLOSED, __ATOMIC_SEQ_CST); /* L7 */
  for (uint32_t i = 0; i < intake->lane_count; i++) {
    lane *lane = &intake->lanes[i];
    __atomic_store_n(&lane->producer.tail, &lane->closed_tail, __ATOMIC_RELAXED);
  }
  /* L1: from here on a capture either reads the closed tail, or its busy flag is visible below. */
  int ordered = __atomic_load_n(&intake->membarrier, __ATOMIC_RELAXED) && sys_membarrier() == 0;
  if (!ordered) sys_sleep_ns(20000000);
  /* A capture takes nanoseconds, unless its thread is stopped: then the ring stays mapped for it, see weir_close. */
  for (int i = 0; i < 2000 && !lane_all_quiet(intake); i++) sys_sleep_ns(i < 1000 ? 10000 : 1000000);
}

/*
 * A lane that was quiet once after the close counts as quiet for good: a capture that begins later finds the log
 * closed, and is busy only until it is refused. Otherwise threads that go on capturing would keep a close from ending.
 */
int lane_all_quiet(intake *intake) {
  if (!intake->unlaned_users_gone && __atomic_load_n(&intake->unlaned_users, __ATOMIC_SEQ_CST) != 0) return 0; /* L7 */
  intake->unlaned_users_gone = 1;
  for (uint32_t i = 0; i < intake->lane_count; i++) {
    lane *lane = &intake->lanes[i];
    if (!lane->quiet && __atomic_load_n(&lane->producer.busy, __ATOMIC_ACQUIRE)) return 0; /* L1, L3 */
    lane->quiet = 1;
  }
  return 1;
}
