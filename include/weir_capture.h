/*
 * weir_capture.h: the part of Weir that runs for every event.
 *
 * Everything here is `static inline`, so that a capture compiles into the caller's own code, in C, C++ and Swift alike:
 * a call would cost a third of what the capture itself does. Include "weir.h"; it includes this file.
 * The members of the structures are not part of the interface: use the functions.
 *
 * One capture is: weir_begin, any number of weir_put_…, then weir_commit or weir_cancel, all on one thread.
 *
 *     weir_record record;
 *     int32_t drop = weir_begin(log, &record);
 *     if (drop == WEIR_ACCEPTED) {
 *         weir_put_u64(&record, order);
 *         weir_put_string(&record, coupon, coupon_bytes);
 *         drop = weir_commit(&record, type, &id);
 *     }
 *
 * Each event carries the number of the global context in force (weir_set_context), and may end in a scope of its own:
 *
 *     weir_put_scope(&record, scope, scope_bytes);
 *     drop = weir_commit(&record, type | WEIR_SCOPED, &id);
 *
 * Cost: no allocation, no lock, no system call; one release store publishes the event. A process killed before that
 * store never captured the event; a process killed after it has it in the ring file, whatever happens next.
 *
 * Order of stores (labels are those of the barrier table in Sources/CWeir/capture/lane.c):
 *   busy (L1) ... payload and header ... tail, release (L2) ... busy cleared, release (L3).
 */
#ifndef WEIR_CAPTURE_H
#define WEIR_CAPTURE_H

#include <stdint.h>
#include <string.h>

#if defined(__aarch64__)
#elif !defined(__x86_64__)
#error "Weir supports 64-bit x86 and 64-bit ARM"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_LIKELY(x) __builtin_expect(!!(x), 1)
#define WEIR_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Left to itself the compiler keeps some of these out of line, which costs a capture from Swift a quarter. */
#define WEIR_INLINE static inline __attribute__((always_inline))

/*
 * A thread-local variable that a signal handler may use. glibc takes memory for a plug-in's other thread-locals from
 * malloc at a thread's first use. musl takes the memory while it loads the plug-in, and loads none with initial-exec.
 */
#ifdef __GLIBC__
#define WEIR_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) __thread
#else
#define WEIR_THREAD_LOCAL __thread
#endif

typedef struct weir_log weir_log;
typedef struct weir_lane weir_lane;

/* What a capture answers: accepted, or the reason why the event was refused. Every refusal is counted. */
enum {
  WEIR_ACCEPTED = 0,
  WEIR_DROP_FULL = 1,      /* the lane was full, for as long as the options said to wait */
  WEIR_DROP_NO_LANE = 2,   /* every lane was taken, the spare ones too */
  WEIR_DROP_TOO_LARGE = 3, /* the event is larger than max_event_bytes */
  WEIR_DROP_CLOSED = 4,    /* the log is closed */
  WEIR_DROP_DETACHED = 5,  /* this process is a fork of the one that opened the log */
  WEIR_DROP_STORAGE = 6,   /* the lane is full and the log cannot grow: no space, or an error of the disk; or there is
                              no space for a lane, and none to share */
  WEIR_DROP_INVALID = 7,   /* an undefined type, or fields that are not those of the type's definition */
  /* No answers of a capture: events that were accepted, and are lost for one of these reasons. */
  WEIR_LOST_OVERWRITTEN = 8, /* overwritten before it was in the log: WEIR_FULL_DROP_OLDEST */
  WEIR_LOST_EXPIRED = 9,     /* removed before it was delivered, because of its age or the bytes to be kept */
  WEIR_LOST_DISPLACED = 10,  /* removed before it was delivered, to make room at the byte limit */
  /* An answer again. */
  WEIR_DROP_SAMPLED = 11     /* left out on purpose, by the caller: weir_refuse */
};

/* Number of reasons that have a counter; reasons are below it. */
enum { WEIR_DROP_REASONS = 16 };

/*
 * Built-in types, defined in every log. The first two are Weir's own notices: only WEIR_TYPE_DYNAMIC can be captured.
 * The name of a dynamic event must have 1 to 1024 bytes of UTF-8 and must not begin with "weir.". The caller checks the
 * name: names that begin so are read as Weir's own, withheld from providers, or taken as a change of the user.
 */
enum {
  WEIR_TYPE_GAP = 1,     /* weir.gap: captures of a lane that were refused */
  WEIR_TYPE_HOLE = 2,    /* weir.hole: a damaged stretch of a lane */
  WEIR_TYPE_DYNAMIC = 3, /* the event's own name (as a string), then a tagged object: no definition needed */
  WEIR_TYPE_FIRST = 16   /* the first number that weir_define gives */
};

/*
 * With the type given to weir_commit: the payload ends in a scope, which weir_put_scope put. (No enumerator: those of
 * C11 are ints.)
 */
#define WEIR_SCOPED 0x80000000u

/*
 * The identity of an event, known when its capture returns and never given twice. `opening` is the random number of the
 * opening that captured it; `sequence` is the lane in the top 16 bits and an eighth of the position in the lower 48.
 * Within one opening a lane would give them again after 2 PiB of records: after 26 days at a GB/s.
 */
typedef struct weir_id {
  uint64_t opening;
  uint64_t sequence;
} weir_id;

/* Private: maps the owner of a group of types (any pointer) to the first type's number. Written once, under a lock. */
typedef struct weir_type_slot {
  uint64_t owner;
  uint32_t first;
  uint32_t count;
  const uint64_t *signatures;
} weir_type_slot;

enum { WEIR_TYPE_SLOTS = 4096 };

/* Private: the signature of types whose events carry the names and kinds of their fields: no encoder has it that puts
 * fields of declared kinds. An enum can't hold it, and Swift does not see UINT64_C. */
#define WEIR_TAGGED_SIGNATURE 0x9d7e6f3a5b2c4181ull

/* Private: the head of an open log, the fields that a capture reads. */
struct weir_log {
  uint64_t opening;
  weir_type_slot *slots;
  uint64_t tick;       /* WEIR_CLOCK_TICK: the time as of the drainer's last pass; 0 while it sleeps */
  uint32_t asleep;     /* the drainer sleeps until woken */
  uint32_t type_count; /* types defined so far: WEIR_TYPE_FIRST and the numbers after it */
  uint32_t detached;   /* this process is a fork: a capture that the fork cut in two is refused when it commits */
  uint32_t context;    /* the global context in force: its number << 16, as an event's type word has it; 0: none */
};

/* Private: one lane as its producer sees it. Written by the thread that holds it; `tail` also by close and fork. */
struct weir_lane {
  uint8_t *data;         /* the lane's bytes in the mapped ring file */
  uint64_t mask;         /* capacity - 1 */
  uint64_t *tail;        /* in the ring file: the end of what is committed. Closed: a word that holds UINT64_MAX */
  uint64_t limit;        /* at or below this position a record of any size fits */
  uint64_t id_bits;      /* lane number << 48 */
  uint32_t seed;         /* CRC32C state after the opening and the lane number */
  uint32_t record_bytes; /* the largest record, header included */
  uint32_t busy;         /* a capture is in progress: a second one (signal, re-entry) takes another lane */
  uint32_t borrowed;     /* a spare lane: give it back after this capture */
  uint32_t clock;        /* how this log takes the time: WEIR_CLOCK_TSC and so on */
  uint64_t position;     /* a private copy of *own_tail: the drainer reads *own_tail, so a load by the producer would
                            cost 0.1 to 0.3 us */
  uint64_t *own_tail;    /* what `tail` is until the log is closed */
  uint64_t accepted;     /* events committed by this opening */
  weir_log *log;
};

/*
 * Private: this thread's lane in the log it used last, or null. One word, because a signal handler may change it
 * between any two instructions; the lane says which log it is of.
 */
extern WEIR_THREAD_LOCAL weir_lane *weir_this_lane;

/* A record being written. On the caller's stack; valid from weir_begin to weir_commit or weir_cancel. */
typedef struct weir_record {
  uint8_t *start;
  uint8_t *cursor;
  uint8_t *end; /* equal to start once the event has grown too large */
  weir_lane *lane;
  uint64_t *tail;
  uint64_t position;
  uint64_t checksum;
  uint64_t signature;
} weir_record;

enum { WEIR_RECORD_HEADER_BYTES = 24 };

/* How the time of an event is taken. */
enum {
  WEIR_CLOCK_AUTO = 0,      /* TSC where it is invariant and the kernel trusts it, else MONOTONIC */
  WEIR_CLOCK_TSC = 1,       /* the processor's counter, calibrated; weir_open fails where it is not to be trusted */
  WEIR_CLOCK_MONOTONIC = 2, /* clock_gettime(CLOCK_MONOTONIC) */
  WEIR_CLOCK_COARSE = 3,    /* clock_gettime(CLOCK_MONOTONIC_COARSE): 1 to 4 ms of resolution, half the cost */
  WEIR_CLOCK_TICK = 4       /* one load: a word that the drainer refreshes in each of its passes, each millisecond
                               while events flow, so behind by up to that and what the scheduler adds. MONOTONIC while
                               the drainer naps longer, or sleeps */
};

/*
 * Private: a lane with room that the caller holds for one capture, or null and the reason. By value, so that no
 * record's address leaves the inlined code and a record's members stay in registers.
 */
typedef struct weir_place {
  weir_lane *lane;
  uint64_t *tail;
  int32_t drop;
} weir_place;

/*
 * Private: the version of the structures above, on which the inlined code rests. Each capture begins with one of two
 * functions whose symbols have it in their names, so that a program that was built with another version of this header
 * does not link with the library. It changes whenever one of the structures does.
 */
#define WEIR_ABI(function) __asm__(#function "_abi2")

/* Private, out of line: the paths that are not taken in steady state. */
weir_place weir_find_place(weir_log *log) WEIR_ABI(weir_find_place); /* no lane of this thread is at hand */
weir_place weir_find_place_in_signal(weir_log *log) WEIR_ABI(weir_find_place_in_signal);
weir_place weir_make_room(weir_lane *lane); /* the lane, marked as busy, is full or closed */
int32_t weir_refuse_place(weir_lane *lane, int32_t reason);
void weir_after_commit(weir_lane *lane);
uint64_t weir_ticks_slow(uint32_t clock);

/*
 * Private, out of line: copies `count` bytes, each read once, and answers the CRC32C state after them, which is worth
 * the call from WEIR_LONG_BYTES on. Folds by carry-less multiplication of 256 bits, or of 128 if the processor has no
 * other. Async-signal-safe. (Sources/CWeir/system/crc32c.c has the sources.)
 */
uint64_t weir_copy_long(uint8_t *to, const uint8_t *from, uint64_t count, uint64_t crc);
enum { WEIR_LONG_BYTES = 192 };

/* CRC32C (Castagnoli) in one instruction a word. Written as assembly because a function-level target attribute would
 * keep these from inlining into callers built for the baseline processor; weir_open refuses processors without it. */
#if defined(__x86_64__)
static inline uint64_t weir_crc_u64(uint64_t crc, uint64_t value) {
  __asm__("crc32q %1, %0" : "+r"(crc) : "r"(value));
  return crc;
}
static inline uint64_t weir_crc_u32(uint64_t crc, uint32_t value) {
  uint32_t low = (uint32_t)crc;
  __asm__("crc32l %1, %0" : "+r"(low) : "r"(value));
  return low;
}
static inline uint64_t weir_crc_u16(uint64_t crc, uint16_t value) {
  uint32_t low = (uint32_t)crc;
  __asm__("crc32w %1, %0" : "+r"(low) : "r"(value));
  return low;
}
static inline uint64_t weir_crc_u8(uint64_t crc, uint8_t value) {
  uint32_t low = (uint32_t)crc;
  __asm__("crc32b %1, %0" : "+r"(low) : "q"(value));
  return low;
}
#else
#define WEIR_ARM_CRC ".arch_extension crc\n\t"
static inline uint64_t weir_crc_u64(uint64_t crc, uint64_t value) {
  uint32_t low = (uint32_t)crc;
  __asm__(WEIR_ARM_CRC "crc32cx %w0, %w0, %x1" : "+r"(low) : "r"(value));
  return low;
}
static inline uint64_t weir_crc_u32(uint64_t crc, uint32_t value) {
  uint32_t low = (uint32_t)crc;
  __asm__(WEIR_ARM_CRC "crc32cw %w0, %w0, %w1" : "+r"(low) : "r"(value));
  return low;
}
static inline uint64_t weir_crc_u16(uint64_t crc, uint16_t value) {
  uint32_t low = (uint32_t)crc;
  __asm__(WEIR_ARM_CRC "crc32ch %w0, %w0, %w1" : "+r"(low) : "r"((uint32_t)value));
  return low;
}
static inline uint64_t weir_crc_u8(uint64_t crc, uint8_t value) {
  uint32_t low = (uint32_t)crc;
  __asm__(WEIR_ARM_CRC "crc32cb %w0, %w0, %w1" : "+r"(low) : "r"((uint32_t)value));
  return low;
}
#undef WEIR_ARM_CRC
#endif

/* The time in ticks of the log's clock. */
WEIR_INLINE uint64_t weir_ticks(uint32_t clock) {
  if (WEIR_LIKELY(clock == WEIR_CLOCK_TSC)) {
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
#else
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
  }
  return weir_ticks_slow(clock);
}

/* Private: the time of a capture to this lane. */
WEIR_INLINE uint64_t weir_lane_ticks(const weir_lane *lane) {
  if (lane->clock == WEIR_CLOCK_TICK) {
    uint64_t tick = __atomic_load_n(&lane->log->tick, __ATOMIC_RELAXED);
    if (WEIR_LIKELY(tick)) return tick;
  }
  return weir_ticks(lane->clock);
}

/*
 * Private: prefetches, for writing, a cache line of a later capture. The drainer has read the line, perhaps on a
 * distant processor; the prefetch hides the transfer.
 */
static inline void weir_fetch_ahead(const uint8_t *address) {
#if defined(__x86_64__)
  __asm__ volatile("prefetchw %0" : : "m"(*address));
#else
  __asm__ volatile("prfm pstl1keep, %0" : : "Q"(*address));
#endif
}

/* Private: a refused record is all zeros, not whatever the stack held. */
static inline int32_t weir_begin_nothing(weir_record *record, int32_t drop) {
  memset(record, 0, sizeof *record);
  return drop;
}

/* Private: prepares a record in a lane with room that the caller holds. */
WEIR_INLINE int32_t weir_begin_at(weir_record *record, weir_lane *lane, uint64_t *tail, uint64_t position) {
  enum { AHEAD_BYTES = 1024 };
  record->lane = lane;
  record->tail = tail;
  record->position = position;
  record->start = lane->data + (position & lane->mask);
  weir_fetch_ahead(record->start + AHEAD_BYTES);
  record->cursor = record->start + WEIR_RECORD_HEADER_BYTES;
  record->end = record->start + lane->record_bytes;
  record->checksum = weir_crc_u64(lane->seed, position);
  record->signature = 0;
  return WEIR_ACCEPTED;
}

/*
 * Begins an event on the calling thread. Answers WEIR_ACCEPTED and prepares `record`, or answers why not (counted).
 * After WEIR_ACCEPTED, call weir_commit, weir_refuse or weir_cancel exactly once. The first call of a thread claims a
 * lane (one compare-and-swap); later ones do not. A thread has lanes in 16 open logs at most: captures to a further one
 * borrow a spare lane each. May overlap with every other call of the library except weir_free.
 * For signal handlers there is weir_begin_in_signal. What begins must end: until it does, weir_close keeps the log
 * locked.
 */
WEIR_INLINE int32_t weir_begin(weir_log *log, weir_record *record) {
  weir_lane *lane = __atomic_load_n(&weir_this_lane, __ATOMIC_RELAXED);
  uint64_t *tail, position;
  if (WEIR_LIKELY(lane && lane->log == log && !__atomic_load_n(&lane->busy, __ATOMIC_RELAXED))) {
    __atomic_store_n(&lane->busy, 1, __ATOMIC_RELAXED); /* L1: before `tail` is read */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    tail = __atomic_load_n(&lane->tail, __ATOMIC_RELAXED);
    position = lane->position;
    if (WEIR_UNLIKELY(tail != lane->own_tail || position > lane->limit)) {
      weir_place place = weir_make_room(lane);
      if (place.drop != WEIR_ACCEPTED) return weir_begin_nothing(record, place.drop);
      lane = place.lane; /* perhaps another one: see overflow_lanes.h */
      tail = place.tail;
      lane->position = position = __atomic_load_n(tail, __ATOMIC_RELAXED);
    }
  } else {
    weir_place place = weir_find_place(log);
    if (place.drop != WEIR_ACCEPTED) return weir_begin_nothing(record, place.drop);
    lane = place.lane;
    tail = place.tail;
    /* A new owner sets it too: its predecessor may have been cancelled between its stores of `position` and `tail`. */
    lane->position = position = __atomic_load_n(tail, __ATOMIC_RELAXED);
  }
  return weir_begin_at(record, lane, tail, position);
}

/*
 * weir_begin for signal handlers: async-signal-safe on any thread, whatever it was doing, a capture to the same log
 * included. Takes the lane that the thread has, or borrows a spare one for this capture; never claims one, never waits:
 * without a lane it answers WEIR_DROP_NO_LANE, on a full one WEIR_DROP_FULL (or overwrites, as the options say).
 */
static inline int32_t weir_begin_in_signal(weir_log *log, weir_record *record) {
  weir_place place = weir_find_place_in_signal(log);
  if (place.drop != WEIR_ACCEPTED) return weir_begin_nothing(record, place.drop);
  return weir_begin_at(record, place.lane, place.tail, __atomic_load_n(place.tail, __ATOMIC_RELAXED));
}

/* Private: room for `bytes` more, or else the event is marked as too large. */
WEIR_INLINE int weir_has_room(weir_record *record, uint64_t bytes) {
  if (WEIR_LIKELY(record->end - record->cursor >= (int64_t)bytes)) return 1;
  record->end = record->start;
  return 0;
}

/*
 * Private: a running signature of the kinds put so far, compared at commit with that of the type's definition. With
 * constant kinds the compiler folds it to one constant.
 */
WEIR_INLINE void weir_sign(weir_record *record, uint64_t kind) {
  record->signature = (record->signature << 5 | record->signature >> 59) ^ kind;
}

/*
 * Appends one value, little endian, with no padding. Cost: a bounds check, a store and a CRC32C step. An event that
 * grows past max_event_bytes is refused as a whole by weir_commit; the calls after that point do nothing.
 */
WEIR_INLINE void weir_put_u64(weir_record *record, uint64_t value) {
  if (!weir_has_room(record, 8)) return;
  memcpy(record->cursor, &value, 8);
  record->cursor += 8;
  record->checksum = weir_crc_u64(record->checksum, value);
}
WEIR_INLINE void weir_put_u32(weir_record *record, uint32_t value) {
  if (!weir_has_room(record, 4)) return;
  memcpy(record->cursor, &value, 4);
  record->cursor += 4;
  record->checksum = weir_crc_u32(record->checksum, value);
}
WEIR_INLINE void weir_put_u16(weir_record *record, uint16_t value) {
  if (!weir_has_room(record, 2)) return;
  memcpy(record->cursor, &value, 2);
  record->cursor += 2;
  record->checksum = weir_crc_u16(record->checksum, value);
}
WEIR_INLINE void weir_put_u8(weir_record *record, uint8_t value) {
  if (!weir_has_room(record, 1)) return;
  *record->cursor = value;
  record->cursor += 1;
  record->checksum = weir_crc_u8(record->checksum, value);
}
WEIR_INLINE void weir_put_f64(weir_record *record, double value) {
  uint64_t bits;
  memcpy(&bits, &value, 8);
  weir_put_u64(record, bits);
}
WEIR_INLINE void weir_put_f32(weir_record *record, float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  weir_put_u32(record, bits);
}

/* Appends bytes without a length. `bytes` may be null when `count` is 0. */
static inline void weir_put_raw(weir_record *record, const void *bytes, uint64_t count) {
  const uint8_t *from = (const uint8_t *)bytes;
  uint8_t *to = record->cursor;
  uint64_t crc = record->checksum;
  if (WEIR_UNLIKELY(count >= WEIR_LONG_BYTES)) {
    if (count > INT64_MAX || !weir_has_room(record, count)) {
      record->end = record->start;
      return;
    }
    record->cursor = to + count;
    record->checksum = weir_copy_long(to, from, count, crc);
    return;
  }
  if (!weir_has_room(record, count)) return;
  record->cursor = to + count;
  for (; count >= 8; count -= 8, from += 8, to += 8) {
    uint64_t word;
    memcpy(&word, from, 8);
    memcpy(to, &word, 8);
    crc = weir_crc_u64(crc, word);
  }
  if (count & 4) {
    uint32_t word;
    memcpy(&word, from, 4);
    memcpy(to, &word, 4);
    crc = weir_crc_u32(crc, word);
    from += 4;
    to += 4;
  }
  if (count & 2) {
    uint16_t word;
    memcpy(&word, from, 2);
    memcpy(to, &word, 2);
    crc = weir_crc_u16(crc, word);
    from += 2;
    to += 2;
  }
  if (count & 1) {
    *to = *from;
    crc = weir_crc_u8(crc, *from);
  }
  record->checksum = crc;
}

/* Appends a string or a byte array: its length in 32 bits, then its bytes. */
static inline void weir_put_string(weir_record *record, const char *bytes, uint64_t count) {
  weir_put_u32(record, (uint32_t)count);
  weir_put_raw(record, bytes, count);
}

/*
 * Appends the event's scope, the last thing before weir_commit with WEIR_SCOPED: its bytes, a tagged object, then their
 * count. Readers give it apart from the payload. The bytes are not looked at. Cost: that of weir_put_raw and
 * weir_put_u32. An event that grows too large with it is refused as a whole.
 */
WEIR_INLINE void weir_put_scope(weir_record *record, const void *bytes, uint32_t count) {
  weir_put_raw(record, bytes, count);
  weir_put_u32(record, count);
}

/*
 * Private: 1 once this process has bound a scope. To look for the caller's scope may cost more than the capture, so a
 * process without scopes does not look. Never goes back to 0.
 */
extern uint32_t weir_scopes;

/* Whether weir_bind_scopes was ever called in this process. One load. */
WEIR_INLINE int weir_scopes_bound(void) { return __atomic_load_n(&weir_scopes, __ATOMIC_RELAXED) != 0; }

/* From now on weir_scopes_bound answers 1, on this thread at once. Call it before the first scope is in force. */
void weir_bind_scopes(void);

/*
 * Ends a capture that weir_begin began as refused for a reason that the caller found (WEIR_DROP_INVALID,
 * WEIR_DROP_TOO_LARGE, WEIR_DROP_SAMPLED): nothing was captured, the refusal is counted. Answers the reason. What was
 * sampled out wakes nobody: see weir_stat.dropped for when its count is in the log.
 */
static inline int32_t weir_refuse(weir_record *record, int32_t reason) {
  return weir_refuse_place(record->lane, reason);
}

/* Ends a capture without an event: nothing was captured, nothing is counted. Of one that was refused: does nothing. */
static inline void weir_cancel(weir_record *record) {
  weir_lane *lane = record->lane;
  if (WEIR_UNLIKELY(!lane)) return;
  __atomic_store_n(&lane->busy, 0, __ATOMIC_RELEASE); /* L3 */
  if (WEIR_UNLIKELY(lane->borrowed)) weir_after_commit(lane);
}

/*
 * Publishes the event: after this call returned WEIR_ACCEPTED it survives the death of the process. `type` is a number
 * from weir_define, or WEIR_TYPE_DYNAMIC; with WEIR_SCOPED if weir_put_scope came last. The event has the global
 * context that is in force now (T3: its definition is in the ring). `id` receives the event's identity and may be null.
 * Otherwise answers WEIR_DROP_TOO_LARGE or WEIR_DROP_INVALID, and nothing was captured.
 */
WEIR_INLINE int32_t weir_commit(weir_record *record, uint32_t type, weir_id *id) {
  weir_lane *lane = record->lane;
  if (WEIR_UNLIKELY(record->end == record->start)) return weir_refuse(record, WEIR_DROP_TOO_LARGE);
  weir_log *log = lane->log;
  uint32_t number = type & ~WEIR_SCOPED;
  if (WEIR_UNLIKELY(number - WEIR_TYPE_FIRST >= __atomic_load_n(&log->type_count, __ATOMIC_RELAXED)) &&
      (number != WEIR_TYPE_DYNAMIC || log->detached)) {
    return weir_refuse(record, WEIR_DROP_INVALID);
  }
  type |= __atomic_load_n(&log->context, __ATOMIC_ACQUIRE); /* T3 */
  uint64_t length = (uint64_t)(record->cursor - record->start) - WEIR_RECORD_HEADER_BYTES;
  uint64_t zero = 0;
  memcpy(record->cursor, &zero, 8); /* the padding; a record's room has eight bytes to spare */
  uint64_t time = weir_lane_ticks(lane), accepted = lane->accepted;
  uint64_t type_word = accepted << 32 | type; /* with how many came before: a power cut's holes are counted by it */
  uint64_t checksum = weir_crc_u32(record->checksum, (uint32_t)length);
  checksum = weir_crc_u64(checksum, type_word);
  checksum = weir_crc_u64(checksum, time);
  uint64_t word = length << 32 | (uint32_t)~checksum;
  memcpy(record->start, &word, 8);
  memcpy(record->start + 8, &type_word, 8);
  memcpy(record->start + 16, &time, 8);
  if (id) {
    id->opening = log->opening;
    id->sequence = lane->id_bits | (record->position >> 3 & ((UINT64_C(1) << 48) - 1));
  }
  uint64_t size = (WEIR_RECORD_HEADER_BYTES + length + 7) & ~(uint64_t)7;
  __atomic_store_n(&lane->accepted, accepted + 1, __ATOMIC_RELAXED);
  lane->position = record->position + size; /* nobody else looks while it is busy */
  __atomic_store_n(record->tail, record->position + size, __ATOMIC_RELEASE); /* L2: the event exists from here on */
  __atomic_store_n(&lane->busy, 0, __ATOMIC_RELEASE);                        /* L3 */
  __atomic_signal_fence(__ATOMIC_SEQ_CST);                                   /* L6: then `asleep` is read */
  if (WEIR_UNLIKELY(lane->borrowed | __atomic_load_n(&log->asleep, __ATOMIC_RELAXED))) weir_after_commit(lane);
  return WEIR_ACCEPTED;
}

/* Private, out of line: weir_find_owner where the first slot is another owner's. */
const weir_type_slot *weir_find_owner_slow(const weir_log *log, uint64_t owner);

/*
 * The group of types that `owner` defined (see weir_define), or null. Lock-free; about one load where it hits.
 * Valid until weir_free.
 */
WEIR_INLINE const weir_type_slot *weir_find_owner(const weir_log *log, uint64_t owner) {
  const weir_type_slot *slot = log->slots + ((owner >> 4 ^ owner >> 14) & (WEIR_TYPE_SLOTS - 1));
  if (WEIR_LIKELY(__atomic_load_n(&slot->owner, __ATOMIC_ACQUIRE) == owner)) return slot; /* T1 */
  return weir_find_owner_slow(log, owner);
}

#ifdef __cplusplus
}
#endif
#endif
