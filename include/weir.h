/*
 * weir.h: Weir's C interface. Crash-safe event capture for Linux processes.
 *
 * A log is a directory. One process at a time opens it for writing; any number of processes read it, live or after the
 * writer's death, without writing to it. What a capture accepted survives kill -9 from the moment the capture
 * returned: it is in the mapped ring file, and the next opening moves it into the segment log.
 *
 *     weir_options options;
 *     weir_options_init(&options);
 *     weir_log *log;
 *     weir_error error;
 *     if (weir_open("events", &options, &log, NULL, &error) != WEIR_OK) { fputs(error.message, stderr); exit(2); }
 *
 *     weir_field fields[] = {
 *         {"order", WEIR_KIND_U64, 0}, {"total", WEIR_KIND_F64, 0}, {"coupon", WEIR_KIND_STRING, 0}};
 *     weir_definition definition = {.name = "checkout.completed", .fields = fields, .field_count = 3};
 *     uint32_t type;
 *     weir_define(log, 0, &definition, 1, &type, &error);
 *
 *     weir_record record;
 *     if (weir_begin(log, &record) == WEIR_ACCEPTED) {
 *         weir_put_u64(&record, 7);
 *         weir_put_f64(&record, 19.9);
 *         weir_put_string(&record, "SPRING", 6);
 *         weir_commit(&record, type, NULL);
 *     }
 *     weir_close(log, &error);
 *     weir_free(log);
 *
 * What survives what:
 *
 *     captured (weir_commit or weir_capture returned WEIR_ACCEPTED)   the death of the process, at any instruction
 *     drained  (weir_drain returned WEIR_OK)                          the same; and it has an offset, readers see it
 *     durable  (weir_durable or weir_sync returned WEIR_OK)           the same, and a power cut
 *
 * Which calls may overlap, from any threads:
 *
 *                        capture  define  drain/durable/count  close  free
 *     capture              yes     yes           yes            yes    no
 *     define, set context  yes     yes           yes            yes    no
 *     drain/durable/count  yes     yes           yes            yes    no
 *     close                yes     yes           yes            yes    no
 *     free                 no      no            no             no     no
 *
 * weir_set_delivered and weir_seal go with the third row.
 *
 * A reader belongs to one thread at a time. No function here prints, aborts, or takes or blocks a signal of the
 * caller's threads. The log's own threads block all signals: drainer, preparer, sealer and prefaulter; with
 * batch_threads the batchers. With the option threadless there are none.
 *
 * Errors: a call that can fail answers a status and, where it takes a weir_error, fills it in with the errno, the path
 * and one line that says what is wrong, where, and what to do. `error` may always be null.
 */
#ifndef WEIR_H
#define WEIR_H

#include <stddef.h>
#include <stdint.h>

#include "weir_capture.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The version of this header (Semantic Versioning 2.0), as text and as a number: 10000 times the first number, 100 times
 * the second, and the third. A program runs with every later library of the same first number.
 */
#define WEIR_VERSION "1.0.0"
#define WEIR_VERSION_NUMBER 10000

/* WEIR_VERSION of the library that the program runs with. Never null. */
const char *weir_version(void);

/* ---- Status ---------------------------------------------------------------------------------------------------- */

typedef int32_t weir_status;
enum {
  WEIR_OK = 0,
  WEIR_END = 1,              /* a reader: nothing more at present */
  WEIR_SKIPPED = 2,          /* a reader: bytes or offsets were passed over, see weir_skip; reading goes on */
  WEIR_ERROR_INVALID = 10,   /* an argument or option out of range */
  WEIR_ERROR_MISSING = 11,   /* the directory is not there, or holds no log */
  WEIR_ERROR_DIRECTORY = 12, /* the path is not a directory, or a symbolic link */
  WEIR_ERROR_ACCESS = 13,    /* no permission, or a read-only file system */
  WEIR_ERROR_UNSAFE = 14,    /* others may write to the directory, or a file in it is a link or not a plain file */
  WEIR_ERROR_LOCKED = 15,    /* another writer has the log open */
  WEIR_ERROR_VERSION = 16,   /* written by a newer Weir, or with a feature that this one does not know */
  WEIR_ERROR_NO_SPACE = 17,  /* the disk, a quota or a file size limit is reached */
  WEIR_ERROR_IO = 18,        /* the disk reported an error, or a system call failed unexpectedly */
  WEIR_ERROR_MEMORY = 19,    /* out of memory, mappings, descriptors or threads */
  WEIR_ERROR_CLOSED = 20,    /* the log is closed, or belongs to another process (fork) */
  WEIR_ERROR_PLATFORM = 21,  /* the processor or kernel lacks what Weir needs */
  WEIR_ERROR_LIMIT = 22,     /* a documented limit is reached (types, names, nesting) */
  WEIR_ERROR_TIMEOUT = 23,   /* the time given to the call has passed */
  WEIR_ERROR_LOST = 24       /* the event was accepted, and lost since: overwritten, or damaged in memory */
};

typedef struct weir_error {
  weir_status status;
  int32_t system_error; /* errno, or 0 */
  char path[512];       /* what it is about, or empty; cut at 511 bytes */
  char message[1024];   /* one line, without a newline: what, where, what to do */
} weir_error;

/* A word for a status or a drop reason, as the tools print it ("locked", "too_large"). Never null. */
const char *weir_status_name(weir_status status);
const char *weir_drop_name(int32_t reason);

/* ---- Limits ---------------------------------------------------------------------------------------------------- */

enum {
  WEIR_MAX_EVENT_BYTES = 69632,    /* default of max_event_bytes: the encoded fields of one event, 68 KiB */
  WEIR_MAX_LANES = 256,
  WEIR_TYPES_BYTES = 262144,       /* room in the ring for the definitions of one opening, of types and contexts, which
                                      take at most half of it */
  WEIR_MAX_CONTEXT_BYTES = 16384,  /* of one global context */
  WEIR_MAX_NAME_BYTES = 1024,      /* of an event type, a field */
  WEIR_MAX_FIELDS = 1024,          /* of one type or nested object */
  WEIR_MAX_DEPTH = 16              /* of nested kinds in a definition, and of nested values */
};

/* ---- Opening --------------------------------------------------------------------------------------------------- */

typedef struct weir_options {
  uint32_t struct_bytes;      /* set by weir_options_init */
  uint32_t lane_count;        /* lanes, spare ones included: 16. 2 to WEIR_MAX_LANES */
  uint32_t spare_lanes;       /* of them, for threads without a lane: 2. 1 to lane_count - 1 */
  uint32_t clock;             /* weir_clock: WEIR_CLOCK_AUTO */
  uint64_t lane_bytes;        /* a power of two, above the largest record: 1 MiB */
  uint64_t overflow_bytes;    /* overflow lanes, of lane_bytes each, for all threads together, while the drainer
                                 stands still: 128 MiB. 0: none. See below */
  uint64_t segment_bytes;     /* size of a segment file while it is active: 8 MiB. 1 MiB to 1 GiB, or less in tests. An
                                 opening's first segment has 1 MiB, each further one twice the one before up to this */
  uint64_t max_event_bytes;   /* largest event, in bytes of encoded fields: WEIR_MAX_EVENT_BYTES. 64 to 1 MiB */
  uint64_t drain_interval_ns; /* longest time from a capture to its event in the log: 20 ms. 50 us to 10 s.
                                 Half of sync_interval_ns, if that is less */
  uint64_t full_wait_ns;      /* how long a capture waits on a full lane before it does what full_policy says: 0.
                                 UINT64_MAX: for ever. A weir_begin in a signal handler would wait for what it
                                 interrupts: there use weir_begin_in_signal, which never waits */
  uint32_t create;            /* make the directory if it is missing: 1 */
  uint32_t full_policy;       /* what a capture does when its lane stays full: WEIR_FULL_DROP_NEWEST */
  const char *ring_directory; /* where the ring lies: null for beside the segments. See below */
  uint64_t sync_interval_ns;  /* the durability level: how long after its capture an event is on the disk at the latest,
                                 if that keeps up: 1 ms to 1 h. 0: only when its segment is sealed, or somebody waits
                                 for it */
  uint64_t max_bytes;         /* the byte limit: what all the log's files may take on the disk. 0: none. See Bounds */
  uint64_t retain_bytes;      /* sealed segments beyond it are removed, the oldest first. 0: all are kept */
  uint64_t retain_ns;         /* segments that were sealed longer ago are removed. 0: none is too old. See Bounds */
  uint32_t limit_policy;      /* what happens at the byte limit: WEIR_LIMIT_REFUSE */
  uint32_t batch_threads;     /* threads that turn sealed segments into batch segments: 0, none. At most
                                 WEIR_MAX_BATCH_THREADS. See Batch segments */
  uint32_t remove_delivered;  /* 1: sealed segments below weir_set_delivered are removed. 0 */
  uint32_t threadless;        /* 1: the log starts no thread: its callers do the work. 0. See Logs without threads */
} weir_options;

/*
 * The ring in another directory. With the ring on tmpfs (an absolute path such as "/dev/shm/shop", a directory of the
 * program's own) a capture never waits for the writeback of its page. With the ring beside the segments a capture
 * stands still while the file system is frozen (fsfreeze, LVM snapshots, backups of a virtual machine): the first store
 * to a page waits for the thaw, whatever full_wait_ns says. On tmpfs the capture goes on.
 *
 * What was accepted survives kill -9 in both places. On tmpfs undrained events do not survive a restart of the machine
 * or the removal of the ring's file; the next opening reports their loss (weir_recovery.ring_vanished). The ring's file
 * has a name that no other log's ring has. The file `ring.at` in the log's directory says where the ring is: readers
 * and later openings follow it, whatever ring_directory they are given. weir_close removes the ring's file once
 * everything in it is in the log. With `create` a missing directory is made, with mode 0700. A directory that every
 * user may write to, or that belongs to somebody else, is refused as UNSAFE. The log's directory may be renamed while
 * the log is closed. A copy of the directory, or a move to another file system, does not take along the events in the
 * ring.
 *
 * The drainer waits for no sync, but its first store to a page of the active segment after a writeback waits while the
 * kernel writes that page or commits its journal. Beside a program that kept the disk busy the wait was half a second,
 * and two seconds where the next segment was due meanwhile (ext4 on a loop device, `dd conv=fsync` on it). A lane of
 * 1 MiB holds 5,000 events of 200 bytes; a thread that captures more in that time goes on in overflow lanes.
 *
 * Overflow lanes. If the drainer drains nothing for 5 ms although lanes are half full, captures whose lane is full go
 * on in an overflow lane, before full_wait_ns and full_policy count. There are overflow_bytes / lane_bytes of them, but
 * all lanes of a log are WEIR_MAX_LANES at most. Each takes what any lane takes: lane_bytes, the largest record and
 * 4 KiB, in whole pages; with the defaults all of them take 137.5 MiB. Events in overflow lanes are as safe as in any
 * lane, and in their thread's order; after a power cut that took blocks of the log, in the order of each lane. A signal
 * handler's capture to the thread's own lane stays in that lane. Overflow lanes take the ring's memory: page cache, or
 * tmpfs, which counts towards a container's limit. The prefaulter alone makes overflow lanes, so that no capture waits
 * for the disk: where there is no memory, or the file system does not answer the fallocate, captures are refused as
 * FULL. While the log can't grow, as on a full disk, no thread goes on in an overflow lane: full_policy counts.
 *
 * Below max_bytes an overflow lane takes its bytes twice while the lane is in use, and two segments' room beside them
 * has to be free. No segment is removed for an overflow lane: with WEIR_LIMIT_DROP_OLDEST a log that has reached its
 * limit has none.
 *
 * A drained overflow lane gives back its memory and its blocks on the disk, all but 4 KiB. A thread that stops
 * capturing keeps its present overflow lane. If its last capture had just moved it there, it keeps the lane before as
 * well. The thread gives both back once it has captured another sixteenth of a lane, or ends. After a close or a kill
 * the next opening gives back all of them. There are no overflow lanes without threads, before Linux 5.14, with any
 * limit RLIMIT_AS, or where RLIMIT_FSIZE is smaller than the ring with all of them. A host that locks all of its memory
 * should set 0.
 */

/*
 * Bounds. max_bytes bounds the allocated bytes of all the log's files, as weir_stat.total_bytes counts them, at every
 * moment: room is reserved before a file is made, in whole blocks of the file system, up to 64 KiB each, and for all of
 * the ring, however few lanes are in use. Two things are written beyond the limit, and count: copies of damaged bytes
 * in quarantine/, and 128 bytes with the counts of a recovery that found a loss. The smallest max_bytes is the ring,
 * three segments and 256 KiB; with blocks above 4 KiB each of these in whole blocks, and eight blocks and 224 KiB in
 * place of the 256 KiB. With WEIR_LIMIT_REFUSE what a recovery may need for a full ring is added. An opening with less
 * is INVALID, and its message has the number. Opening a log above its limit removes the oldest segments, or refuses, as
 * limit_policy says.
 *
 * retain_bytes counts sealed segments only. retain_ns counts from a segment's last event or later. Both are checked
 * when a segment is sealed and at the opening; retain_ns also by a timer, at most once a minute. A segment is removed
 * as a whole; the last sealed segment always stays. The sealer's thread removes: a sync of 512 bytes and an unlink for
 * each segment, no part of any capture.
 *
 * Events of the present boot are dated by the monotonic clock, which nobody sets and which stands still while the
 * machine sleeps. Older events are dated by the wall clock, as it was last set before the machine went down. Older
 * events are removed once one of these is true: the wall clock has said for an hour (or retain_ns, if shorter), without
 * being set meanwhile, that they are too old; the last event of another boot in between says so too; the log has been
 * known for retain_ns since the machine started, whatever the wall clock says.
 *
 * Readers pass over removed events with one weir_skip, whose `removed` is 1. The file `start` says what was removed,
 * and is on the disk before anything is unlinked: after a kill at any moment removed events are neither reported as
 * missing nor counted twice. An event that is removed before its delivery is counted as lost, in weir_counters and, for
 * good, in weir_stat.dropped: WEIR_LOST_EXPIRED, or WEIR_LOST_DISPLACED where the removal made room at the byte limit.
 *
 * Cost: 16 bytes of memory a sealed segment; at the opening a look at each file.
 */

/*
 * Batch segments. With batch_threads a sealed segment becomes a standard LZ4 frame, `<base>.weir.lz4`, which the lz4
 * tool reads too: a half to a fifth as large, with an index by which readers find an offset without decompressing the
 * rest. Readers cross raw and batch segments alike; offsets, ids and reports of damage stay the same. The batch is
 * written beside the raw file, which is unlinked once the batch is on the disk under its name: after a kill at any
 * moment one of the two is whole. The threads run at nice 10, and work on raw segments of earlier openings too. A close
 * waits for the batch that is being written; the rest stays raw. A segment with a damaged byte stays raw for good
 * (weir_counters.unbatched). What a full disk or the byte limit prevents is tried again, after a second at first and
 * after a minute at most.
 *
 * While a segment is compressed both files exist. So with max_bytes room is reserved below the limit: one segment per
 * thread, at most a sixteenth of max_bytes, at least one segment. Threads beyond that room wait for others. The
 * smallest max_bytes grows by one segment. Batches use no other room: no capture is refused, and no event removed, for
 * a batch.
 *
 * A file with a batch segment's name that is not of the segment stays as it is, and the segment stays raw (unbatched).
 *
 * Memory: some 3 MiB a working thread. Cost: 1 to 1.4 ms of processor time a MiB, one read of the segment, one write of
 * the batch, two syncs; no part of any capture.
 */
enum { WEIR_MAX_BATCH_THREADS = 64 };

/*
 * Logs without threads. With threadless the log starts no thread: whoever calls does the work. It is for a log that is
 * written to now and then, such as a program's notes on its own doings, where four threads cost more than the log.
 * Captures are the same, and accept what a full lane has room for, whether anybody works or not: a capture never works.
 * weir_drain, weir_seal, weir_sync, weir_durable and weir_close work on the calling thread: they drain the lanes, seal
 * full segments, remove what is due, make the next segment, sync for whoever waits, and call the host's functions. Any
 * thread may call them. One works at a time; a timeout bounds the wait for the others, and not the caller's own work.
 *
 *     options.threadless = 1;
 *     ...
 *     int32_t drop = weir_capture(log, type, payload, length, NULL);
 *     if (drop == WEIR_DROP_FULL && weir_drain(log, UINT64_MAX, NULL, &error) == WEIR_OK) {
 *         drop = weir_capture(log, type, payload, length, NULL);
 *     }
 *
 * What survives what is the same: an accepted event survives kill -9 in the ring, drained or not, and the next opening,
 * with threads or without, has it. In the life of the process other readers see an event once somebody has drained it;
 * its time is the time of its capture, by the wall clock as it was set at the drain.
 *
 * What a thread would do by itself is done by the next call that works: segments older than retain_ns or below
 * weir_set_delivered are removed, weir_on_drained's and weir_on_refused's functions are called, and so is that of
 * weir_durable_notify, for which any of these calls syncs. What nobody would come back for is INVALID, with a message
 * that says what to do: full_wait_ns, sync_interval_ns, batch_threads, WEIR_CLOCK_TICK. drain_interval_ns has no
 * meaning. Under WEIR_FULL_DROP_OLDEST captures make room themselves, as ever.
 *
 * Cost: a capture and a drain take 0.5 us and the system calls that give the ring and the segment their time, 5 us; a
 * drain that fills a segment also makes the next one and waits until the disk has the full one. The calls take up to
 * 64 KiB of the caller's stack. A page of the ring that was written back faults at the next capture: there is no
 * prefaulter.
 */

/* What happens when the log's next segment would take it beyond max_bytes. */
enum {
  WEIR_LIMIT_REFUSE = 0,     /* the log does not grow: lanes fill, then captures are refused with WEIR_DROP_STORAGE, and
                                weir_drain and its like answer NO_SPACE with a message that names the limit, not the
                                disk. Captures are accepted again once retention has made room, or after an opening with
                                a higher limit. A log opened at its limit, without room to recover a full ring, refuses
                                from the start */
  WEIR_LIMIT_DROP_OLDEST = 1 /* the oldest sealed segments are removed, and their undelivered events counted as lost */
};

/* What a capture does about a full lane. Nothing is lost silently: both are counted in the ring and in gap records. */
enum {
  WEIR_FULL_DROP_NEWEST = 0, /* it is refused with WEIR_DROP_FULL or WEIR_DROP_STORAGE. Before a capture answers FULL,
                                outside of signal handlers, it lets other threads run (sched_yield), so that threads at
                                full speed don't keep the processor from the drainer; while the drainer stands still, at
                                most 32 times a lane */
  WEIR_FULL_DROP_OLDEST = 1  /* it overwrites the oldest undrained events of its lane, a thirty-second of the lane at a
                                time. While the drainer copies from the lane, the capture waits, at most a millisecond
                                or full_wait_ns, and is then refused with WEIR_DROP_FULL. With full_wait_ns the capture
                                waits that long before it overwrites; with UINT64_MAX it never overwrites */
};

/* Fills in the defaults, which the members name above. Call it before anything is set. */
void weir_options_init(weir_options *options);

/* What an opening found. The numbers are of this opening alone. */
typedef struct weir_recovery {
  uint64_t previous_opening;   /* the opening that the ring belonged to; 0 where there was none */
  uint64_t opening;            /* the new opening's random number */
  uint64_t segments_scanned;   /* files: those not sealed, and all after the first of them */
  uint64_t bytes_scanned;
  uint64_t events_in_segments; /* events found in them */
  uint64_t lanes_drained;      /* lanes that held events not yet in a segment */
  uint64_t events_from_lanes;  /* events moved from them into the log */
  uint64_t torn_bytes;         /* cut from the ends of unsealed segments: a block half written when the process died,
                                  or what a power cut left of later blocks */
  uint64_t damaged_blocks;     /* in unsealed segments; their bytes were copied to quarantine/ */
  uint64_t damaged_bytes;
  uint64_t damaged_records;    /* stretches of a lane that no checksum vouches for; copied to quarantine/ */
  uint64_t unkept_bytes;       /* of these damaged bytes, those that were not copied, because quarantine/ is full: it
                                  holds 256 MiB of damaged bytes, in 512 files, and whole files that are none of the
                                  log's besides. Remove quarantine/ once you have examined it */
  uint64_t missing_events;     /* events that were captured and are gone: exact where an event captured after them is
                                  there. Of damage in a segment: the offsets */
  uint64_t dropped;            /* refusals by the dead process that were not yet in the log; now they are */
  uint64_t sampled;            /* the same of events that sampling left out, which are not in `dropped` */
  uint64_t overwritten;        /* events that the dead process accepted and overwrote, and whose loss was not yet in the
                                  log; now it is */
  uint64_t first_offset;       /* the first offset that this opening gives */
  uint64_t duration_ns;
  uint32_t was_clean;          /* the log was new, or had been closed */
  uint32_t ring_replaced;      /* the ring was missing, unreadable, or that of another opening or log, which is then in
                                  quarantine/: what the log's own ring held is an unknown loss */
  uint32_t ring_vanished;      /* the ring was missing from the other directory in which it lay */
  uint32_t rebooted;           /* the machine was started anew since: what the disk had is all there is. Without /proc
                                  this is 1, because nobody can tell */
  uint32_t unknown_tail;       /* events above the durable watermark may have been lost without a trace after the last
                                  events that are there. Always 1 if `rebooted`, unless the log had been closed */
  uint32_t start_damaged;      /* the file `start` was unreadable or of another log, and is in quarantine/: what
                                  retention had removed counts as missing until more is removed */
} weir_recovery;

/*
 * What follows from what, for a log that was not closed:
 *
 *     the process was killed   nothing is missing; torn_bytes are of a block whose events are in a lane still
 *     a clean reboot           the kernel wrote every page before: nothing is missing, but nothing on the disk proves
 *                              that, so unknown_tail is 1
 *     a power cut              missing_events counts the holes between events of a lane that are there, and the log has
 *                              a weir.hole for each; unknown_tail is 1, and the log has a weir.hole that says so.
 *                              Refusals that had been counted are reported at most once
 *
 * After a reboot and after a power cut the log leaves out 2^32 offsets, so that no offset is ever given twice.
 *
 * Nobody gets the report of an opening that fails or is killed before it returns. So the next opening reports the
 * losses that such an opening found, although they are sealed in the log by then: damaged_blocks, damaged_bytes,
 * damaged_records and missing_events are as if no opening had come in between. The losses are reported twice after an
 * opening that returned, captured nothing and was not closed. Where a damaged last block found no room in quarantine/,
 * its missing events are reported, and its bytes are not.
 */

/*
 * Opens a log for writing: locks the directory, recovers what a dead writer left, prepares the ring and the first
 * segment, starts the threads. Blocks for the recovery. On success `*log` is to be given to weir_close and weir_free.
 * `options` may be null, for the defaults; `recovery` may be null. After a kill at any instruction the next call
 * recovers the same events with the same offsets and ids.
 *
 * Memory and disk: less than 4 MiB with the defaults until the first event. Lanes get their blocks and pages as
 * threads come: twice as many lanes (each of lane_bytes + the largest record) as are in use, up to lane_count. If the
 * disk is full by then, threads without a lane share the spare lanes that are ready, at least one, until these are
 * full. Two segments are mapped; four once the drainer had to wait for one. With all lanes in use some 35 MB, with
 * the defaults, and the overflow lanes while the drainer stands still. Four threads besides batch_threads; none with
 * threadless.
 *
 * Call it after the process has dropped privileges (setuid) and closed descriptors (closefrom, as a daemon does): a log
 * that loses the right to its directory, or its descriptors, stops growing and answers ACCESS or IO. LOCKED is answered
 * after a tenth of a second: a process that was being forked when the log was closed drops its copy of the lock in that
 * time. Errors: DIRECTORY, MISSING, ACCESS, UNSAFE, LOCKED, VERSION, NO_SPACE, IO, MEMORY, PLATFORM, INVALID.
 */
weir_status weir_open(const char *directory, const weir_options *options, weir_log **log, weir_recovery *recovery,
                      weir_error *error);

/*
 * Ends intake (later captures answer WEIR_DROP_CLOSED), drains every lane, seals the segment, stops the threads and
 * unlocks the directory. Captures in progress end first. What can't be drained for lack of space stays in the ring, for
 * the next opening, and the error says so. A second call answers WEIR_OK and does nothing. The handle stays valid.
 * TIMEOUT: a capture in progress has not ended for a second. The capture may still end, and its event survives; the log
 * stays locked until the capture has ended and weir_close is called again.
 */
weir_status weir_close(weir_log *log, weir_error *error);

/*
 * Frees the handle; closes it first if need be. No other call may be in progress or follow. Null is allowed. A plug-in
 * with the library inside may be unloaded (dlclose) once all its logs are freed; after weir_guard_install the plug-in
 * stays in memory all the same.
 */
void weir_free(weir_log *log);

/* ---- Types ----------------------------------------------------------------------------------------------------- */

/* Kinds of values. The numbers are those in the file. */
enum {
  WEIR_KIND_NULL = 0, /* in tagged values only */
  WEIR_KIND_BOOL = 1,
  WEIR_KIND_I8 = 2,
  WEIR_KIND_I16 = 3,
  WEIR_KIND_I32 = 4,
  WEIR_KIND_I64 = 5,
  WEIR_KIND_U8 = 6,
  WEIR_KIND_U16 = 7,
  WEIR_KIND_U32 = 8,
  WEIR_KIND_U64 = 9,
  WEIR_KIND_F32 = 10,
  WEIR_KIND_F64 = 11,
  WEIR_KIND_STRING = 12, /* u32 byte count, then UTF-8 */
  WEIR_KIND_BYTES = 13,  /* u32 byte count, then bytes */
  WEIR_KIND_UUID = 14,   /* 16 bytes, in the order they are written */
  WEIR_KIND_DATE = 15,   /* f64, seconds since 2001-01-01T00:00:00Z */
  WEIR_KIND_OPTIONAL = 16, /* u8, 0 or 1, then the value if 1 */
  WEIR_KIND_ARRAY = 17,    /* u32 count, then the values */
  WEIR_KIND_OBJECT = 18,   /* packed: the fields in order. tagged: u32 count, then name and tagged value each */
  WEIR_KIND_TAGGED = 19    /* u8 kind, then a value of that kind, whose own elements are tagged too */
};

/* A field of a scalar, string or bytes kind. */
typedef struct weir_field {
  const char *name;
  int32_t kind;
  int32_t optional;
} weir_field;

/*
 * An event type. Either `fields`, or, for nested kinds, `encoded`: the bytes of the fields as FileFormat describes them
 * (u16 name length, name, kind descriptor; repeated), of which there are `field_count`. With `tagged`, there are no
 * declared fields and each event carries a tagged object. `attributes`, if not null, is a tagged object that readers
 * get with the definition; Weir does not look into it. Leave out what is not needed:
 *
 *     weir_definition definition = {.name = "page.viewed", .fields = fields, .field_count = 2};
 */
typedef struct weir_definition {
  const char *name;
  const weir_field *fields;
  uint32_t field_count;
  const uint8_t *encoded;
  uint32_t encoded_bytes;
  uint32_t tagged;
  const uint8_t *attributes; /* u32 count, then a string (the name) and a tagged value each; null: none */
  uint32_t attributes_bytes;
  uint32_t sampled; /* 1: the caller samples events of the type. The signature in weir_type_slot is then inverted, so
                       that no encoder matches it: each event takes the slow path, which decides about sampling */
} weir_definition;

/*
 * Defines `count` types with consecutive numbers, the first of which goes to `*first_type`. The definitions are in the
 * ring before the call returns, and in every segment that needs them. `owner`, if not 0, is any number that stands for
 * the group (weir_find_owner, weir_find_type); a group that is already defined for it is not defined again. Takes a
 * lock. Errors: INVALID (a name is empty, too long, not UTF-8 or begins with "weir."; an unknown kind; attributes that
 * are no tagged object), LIMIT (WEIR_TYPES_BYTES used up, or one definition of over 32 KiB), CLOSED.
 */
weir_status weir_define(weir_log *log, uint64_t owner, const weir_definition *definitions, uint32_t count,
                        uint32_t *first_type, weir_error *error);

/* The type named `name` that was defined for `owner` with weir_define_named, or 0. Lock-free, a hash look-up. */
uint32_t weir_find_type(const weir_log *log, uint64_t owner, const char *name, uint64_t name_bytes);

/* Defines one type that weir_find_type finds by owner and `key` (several may share an owner). Takes a lock. */
weir_status weir_define_named(weir_log *log, uint64_t owner, const char *key, uint64_t key_bytes,
                              const weir_definition *definition, uint32_t *type, weir_error *error);

/* ---- Context ---------------------------------------------------------------------------------------------------- */

/*
 * The global context: what holds for every event of the process, such as the application's version, the host, the
 * session, the user. It is stored once and not in each event, which carries its number only: readers join the two. From
 * the return of this call on, every capture by this thread has the new context, and so has every capture that comes
 * after it by any other order between threads; a capture at the same moment has the one or the other.
 *
 *     const uint8_t context[] = {1, 0, 0, 0,                                    one member:
 *                                3, 0, 0, 0, 'a', 'p', 'p',                     "app", which is
 *                                WEIR_KIND_STRING, 4, 0, 0, 0, 's', 'h', 'o', 'p'};
 *     weir_set_context(log, context, sizeof context, &error);
 *
 * `bytes` is a tagged object, as FileFormat has it: u32 count, then a string (the name) and a tagged value each. With
 * `count` 0 there is no context from now on, as after weir_open. Weir does not look into the members. The context is in
 * the ring before the call returns and survives what an event survives; each segment that needs the context repeats it.
 * Bytes that were set before in this opening are not stored again. Takes a lock; cost: a comparison with each context
 * so far. May overlap with captures.
 *
 * Errors: INVALID (over WEIR_MAX_CONTEXT_BYTES, or no tagged object: a wrong count, a name that is not UTF-8, nesting
 * over WEIR_MAX_DEPTH), LIMIT (contexts have at most half of WEIR_TYPES_BYTES, less where types have more than the
 * other half), IO (a page of the ring is lost), CLOSED. After an error the context before stays in force, and nothing
 * else has changed.
 */
weir_status weir_set_context(weir_log *log, const void *bytes, uint64_t count, weir_error *error);

/*
 * A context of one event alone, its scope, is for the caller to keep, and to put with the event: weir_put_scope.
 */

/* ---- Capturing: see also weir_capture.h ------------------------------------------------------------------------- */

/*
 * The one-call form: captures `length` bytes of encoded fields as an event of `type`, in the global context, without a
 * scope: with WEIR_SCOPED it answers WEIR_DROP_INVALID. Answers WEIR_ACCEPTED or a drop reason. `payload` may be null
 * when `length` is 0; `id` may be null.
 */
int32_t weir_capture(weir_log *log, uint32_t type, const void *payload, uint64_t length, weir_id *id);

/* The same for signal handlers: see weir_begin_in_signal. Async-signal-safe. */
int32_t weir_capture_in_signal(weir_log *log, uint32_t type, const void *payload, uint64_t length, weir_id *id);

/*
 * Waits until everything captured before the call is in the segment log, at most `timeout_ns` (UINT64_MAX: for ever).
 * Cost: two lock operations and a wake-up of the drainer, some tens of microseconds if it has little to do; without
 * threads the work itself.
 * On return `*next_offset` (may be null) is the offset after the last event drained.
 * Errors: TIMEOUT, CLOSED, NO_SPACE and IO (the log cannot grow; nothing is lost, the events stay in the ring).
 */
weir_status weir_drain(weir_log *log, uint64_t timeout_ns, uint64_t *next_offset, weir_error *error);

/*
 * Has the segment that is being filled sealed before it is full, so that everything captured before the call can leave
 * as a sealed segment: for whoever passes on segments as files. Drains first, as weir_drain. On return the log fills
 * the next segment, and the sealer brings the one before to the disk and gives it its name, some milliseconds later.
 * `*next_offset` (may be null): everything below it was drained. Does nothing if nothing was captured since the last
 * seal. Until the next segment is ready, and where there is no room for one, the log fills the present one further; in
 * the second case the call answers WEIR_OK all the same.
 * Cost: two drains, a seal of some hundred bytes, three syncs in the background; no part of any capture.
 * Errors: as weir_drain. After TIMEOUT what was in the log by then is sealed all the same, later.
 */
weir_status weir_seal(weir_log *log, uint64_t timeout_ns, uint64_t *next_offset, weir_error *error);

/*
 * Has `drained` called, with `context`, after each pass of the drainer that moved events into the log, and before
 * weir_drain returns for that pass. So a follower in this process sleeps while nothing comes, and does not poll.
 * `drained` runs on the drainer's thread (without threads on that of a call that works), must not block, and may call
 * nothing of this log but weir_count and captures; a capture there never waits for room, whatever full_wait_ns says.
 * The child of a fork made in `drained` must not return from it. A log has one such function: a later call replaces it,
 * null removes it. When weir_on_drained returns, the function before is neither running nor called again. In the child
 * of a fork the call does nothing. Cost: a lock.
 */
void weir_on_drained(weir_log *log, void (*drained)(void *context), void *context);

/*
 * Has `refused` called, with `context`, by the drainer after captures were refused for any reason but SAMPLED, CLOSED
 * and DETACHED, so that a host can report refusals while they happen: one call for all refusals since the last call,
 * until weir_close returns; later than usual while the drainer waits for the disk. Captures that are refused in
 * `refused` are counted, and cause no further call. Otherwise as weir_on_drained. An accepted capture pays nothing for
 * it.
 */
void weir_on_refused(weir_log *log, void (*refused)(void *context), void *context);

/*
 * Durability: what a power cut leaves. Without the calls and the option below, that is what the kernel had written by
 * then: all sealed segments, which are synced, and some of the rest. With sync_interval_ns a growing log is synced at
 * that interval, off the captures' threads. Whoever needs to know waits for an event: all waiters share one sync (group
 * commit).
 *
 * A file whose sync failed is not synced again, because the kernel may have dropped what it could not write. The file's
 * blocks are copied, by their checksums, to a new file, which is synced and takes its place. A failed copy is tried
 * again twice a second; with four such segments captures are refused with WEIR_DROP_STORAGE. Those who waited for the
 * failed sync get IO, and may ask again. If events were lost with the file (weir_counters.lost), or the directory could
 * not be synced, nothing more is reported as durable in this opening.
 */

/*
 * Waits until the event `id` is on the disk, and with it everything captured before it in its lane, thus by the same
 * thread. At most `timeout_ns` (UINT64_MAX: for ever). Cost: a load and a lock if the event is durable already,
 * otherwise a drain and a sync of what was written since the last sync, shared with all other waiters. After a close
 * that answered WEIR_OK every event is durable. Errors: INVALID (no such event in this opening), TIMEOUT, IO, NO_SPACE
 * (the event can't be drained, and stays in the ring), LOST (overwritten under WEIR_FULL_DROP_OLDEST, or damaged in
 * memory; also where that is no longer known, 32 such losses of its lane later), CLOSED.
 */
weir_status weir_durable(weir_log *log, weir_id id, uint64_t timeout_ns, weir_error *error);

/*
 * The same without waiting: `notify` is called exactly once, with `context`, the status and, if that is not OK, an
 * error that is valid until `notify` returns. `notify` runs on a thread of the log (without threads on that of a call
 * that works), or on the calling thread before weir_durable_notify returns, and must not block; captures are allowed in
 * it, as in weir_on_drained. `notify` is not called if the answer is not OK: INVALID (also without a function), CLOSED,
 * MEMORY.
 */
weir_status weir_durable_notify(weir_log *log, weir_id id,
                                void (*notify)(void *context, weir_status status, const weir_error *error),
                                void *context, weir_error *error);

/* The durable watermark: the disk has every event with an offset below it. Only grows. A load. */
uint64_t weir_durable_offset(const weir_log *log);

/*
 * Waits until the disk has everything that was captured before the call; shares its sync with all others who wait.
 * `*next_offset` (may be null) is the durable watermark then. Cost and errors as of weir_durable, without INVALID,
 * LOST.
 */
weir_status weir_sync(weir_log *log, uint64_t timeout_ns, uint64_t *next_offset, weir_error *error);

/*
 * Says that every event with an offset below `offset` was delivered everywhere: the removal of these events is no loss.
 * With the option remove_delivered, sealed segments that lie below `offset` as a whole are removed soon after, as under
 * Bounds, and not counted as lost; the last sealed segment stays. The caller must have the delivery on the disk before
 * the call: removed events can't be read again. Weir does not store `offset`: say it again after each opening; until
 * then nothing is removed for it. `offset` only grows: a lower one does nothing. An offset beyond the log's end counts
 * as the end. From any thread, beside any other call but weir_free; after the close the call does nothing. Cost: a
 * store, and a wake-up of the sealer where there is something to remove.
 */
void weir_set_delivered(weir_log *log, uint64_t offset);

typedef struct weir_counters {
  uint64_t accepted;    /* events that captures of this opening accepted: drained and in the lanes */
  uint64_t drained;     /* of them, in the segment log */
  uint64_t next_offset; /* the offset after the last event of the log */
  uint64_t blocks;      /* blocks written by this opening */
  uint64_t segments;    /* segments begun by this opening */
  uint64_t wakeups;     /* times the drainer woke up */
  uint64_t syncs;       /* times that the log was synced up to its end */
  uint64_t damaged;     /* stretches of a lane whose checksum failed when drained, and impossible positions of a lane:
                           memory was overwritten */
  uint64_t overwritten; /* accepted events that later ones overwrote: WEIR_FULL_DROP_OLDEST */
  uint64_t expired;     /* events, of this and earlier openings, that retention removed before they were delivered */
  uint64_t displaced;   /* the same, removed to make room at the byte limit */
  uint64_t lost;        /* events that a failing disk lost before they were synced; readers miss their offsets */
  uint64_t durable_offset; /* weir_durable_offset */
  uint64_t dropped[WEIR_DROP_REASONS]; /* captures refused, by reason */
  uint32_t lanes_in_use; /* lanes that threads have */
  uint32_t types;       /* defined by this opening */
  weir_status storage;  /* WEIR_OK, or why the log can't grow at present */
  uint32_t contexts;    /* different ones set by this opening */
  uint64_t batched;      /* segments that this opening turned into batch segments */
  uint64_t batch_input;  /* bytes of these segments before, */
  uint64_t batch_output; /* and after */
  uint64_t batch_waiting; /* sealed segments that wait to become batch segments */
  uint64_t unbatched;    /* segments that stay raw: a byte is damaged (weir_verify says which), or a file that is not
                            theirs has their batch's name */
  uint64_t batch_failures; /* attempts that failed: a full disk, the byte limit, an error of the disk. Tried again */
  weir_status batching;  /* WEIR_OK, or why the last attempt failed */
  uint32_t reserved;
  uint64_t delivered_removed; /* events that were removed after their delivery: weir_set_delivered */
} weir_counters;

/*
 * Counters of this opening: each is exact, but they are not read at one instant. Reads a few words a lane. Takes a lock
 * that is held for moments only: not for signal handlers.
 */
void weir_count(const weir_log *log, weir_counters *counters);

/*
 * Opt-in, for hosts that want to survive the loss of a page of an open log's files. A page is lost when somebody cuts
 * the file short (truncate on the live ring, or on a segment that is being written), when the disk can't read the page
 * back, or when the disk is full while the file shares its blocks with a copy (`cp` on XFS, unless with
 * --reflink=never) or a snapshot. The kernel then sends SIGBUS to the thread that touches the page, which by default
 * ends the process.
 *
 * Installs a handler of SIGBUS for the process. A fault in a file of a log stops that log: the capture in progress and
 * every later capture is refused with WEIR_DROP_STORAGE, weir_drain and all waits for the disk answer IO with a message
 * that says so, nothing more is reported as durable, and nothing that may have come from a lost page is written.
 * weir_close answers IO. The next opening recovers what the files still have, the ring's remaining pages included, and
 * reports an unknown loss (ring_replaced). Every other SIGBUS goes to the handler before, or has its default effect.
 *
 * Call it before the first weir_open, because the log's own threads block the signal otherwise, and after other code
 * that installs a handler of SIGBUS. A second call does nothing. The library then stays in memory until the process
 * ends, because a handler that is installed later may call this one. A constructor of a library must not call
 * weir_guard_install. A thread that blocks SIGBUS is not protected. The handler is async-signal-safe. One event can't be
 * saved: that of a capture whose lane's first page is cut off between the capture's last two stores.
 */
void weir_guard_install(void);

/* The directory, as an absolute path, links and all; the opening's number. Valid until weir_free. */
const char *weir_directory(const weir_log *log);
uint64_t weir_opening(const weir_log *log);

/* ---- Reading --------------------------------------------------------------------------------------------------- */

typedef struct weir_reader weir_reader;

/* An event as read. Pointers are valid until the next call on the same reader. */
typedef struct weir_event {
  uint64_t offset;
  weir_id id;
  int64_t time_ns;       /* since 1970-01-01T00:00:00Z, in nanoseconds */
  uint32_t type;         /* number within the opening that captured it */
  uint32_t type_tagged;  /* the payload is a tagged object */
  uint32_t field_count;
  uint32_t name_bytes;
  const char *name;      /* not terminated. Of WEIR_TYPE_DYNAMIC the event's own; empty if the definition is lost */
  const uint8_t *fields; /* the definition's fields, encoded; null if the definition is lost */
  uint64_t fields_bytes;
  const uint8_t *payload;
  uint64_t payload_bytes;
  uint64_t definition;   /* a key to cache by, within this reader: equal only for events with the same definition. After
                            4 MiB of other definitions a definition may get another key */
  const uint8_t *attributes; /* the definition's, a tagged object; null without any */
  uint64_t attributes_bytes;
  const uint8_t *context;    /* the global context at the capture, a tagged object; null without a context, or where its
                                definition is lost: context_number is not 0 then */
  uint64_t context_bytes;
  uint64_t context_definition; /* as `definition`, of the context; 0 where `context` is null */
  uint32_t context_number;     /* within the opening; 0: there was none */
  uint32_t scope_bytes;
  const uint8_t *scope;  /* the event's own context, cut off the end of the payload; null without a scope. Last bytes
                            that can't be a scope stay in the payload, which then does not fit its definition */
  int64_t monotonic_ns;  /* the machine's CLOCK_MONOTONIC at the capture, in the boot `boot_id`, whatever the writer's
                            time namespace; INT64_MIN where it is not known */
  uint8_t boot_id[16];   /* of the kernel's boot in which it was captured; zeros where it is not known */
  const char *host;      /* not terminated: the host of an event that was collected from there; null of the log's own */
  uint64_t host_bytes;
} weir_event;

/* What was passed over when weir_reader_next answered WEIR_SKIPPED. */
typedef struct weir_skip {
  uint64_t first_offset;  /* the first offset missing */
  uint64_t count;         /* how many offsets are missing; 0 where none is, or none is known */
  uint64_t position;      /* in the file; of a batch segment in the segment, as `lz4 -dc` gives it */
  uint64_t bytes;
  char file[64];          /* name in the directory */
  const char *reason;     /* one phrase, static */
  uint32_t removed;       /* 1: retention removed them, or the byte limit. It is no damage */
  uint32_t reserved;
} weir_skip;

/* Where an event lies. */
typedef struct weir_event_place {
  char file[64];   /* name in the directory: a segment, or "ring" for an event in a lane of a dead writer */
  uint64_t block;  /* position of the block's header in the file; of a batch segment in the segment, as `lz4 -dc` gives
                      it; 0 in the ring */
} weir_event_place;

typedef struct weir_reader_options {
  uint32_t struct_bytes;
  uint32_t skip_lanes;    /* leave out the lanes of a dead writer: 0 */
  uint64_t from_offset;   /* the first offset wanted: 0 */
} weir_reader_options;

void weir_reader_options_init(weir_reader_options *options);

/*
 * Opens a directory for reading. Writes nothing, takes no lock. Memory: one block (at most 2 MiB), the definitions of
 * types and contexts so far (at most 4 MiB, and those of one opening: 256 KiB, or what a forged file holds), 16 bytes
 * for each segment, and at a dead writer's lanes one lane. Errors: MISSING, DIRECTORY, ACCESS, VERSION, IO, MEMORY.
 */
weir_status weir_reader_open(const char *directory, const weir_reader_options *options, weir_reader **reader,
                             weir_error *error);

/*
 * The next event: WEIR_OK. WEIR_END: nothing more now; with a live writer a later call may find more. WEIR_SKIPPED: see
 * `skip`; call again. A live writer's events are read once they are drained; a dead writer's also from the lanes, with
 * the offsets that the next opening will give them. Errors: as weir_reader_open; TIMEOUT where files of the log came
 * and went during each of a thousand tries; a later call may succeed. After a call of weir_reader_wait: MISSING in
 * place of WEIR_END where the directory was removed, also if another directory has its path by now.
 */
weir_status weir_reader_next(weir_reader *reader, weir_event *event, weir_skip *skip, weir_error *error);

/* Tells where the event lies that the last call of weir_reader_next gave. Without such an event it is meaningless. */
void weir_reader_place(const weir_reader *reader, weir_event_place *place);

/*
 * Waits until there may be more, at most `timeout_ns` (UINT64_MAX: for ever; 0: just looks): WEIR_OK, and
 * weir_reader_next is to be called, which may still answer WEIR_END; or WEIR_ERROR_TIMEOUT. For use after WEIR_END:
 *
 *     for (;;) {
 *         weir_status status = weir_reader_next(reader, &event, &skip, &error);
 *         if (status == WEIR_OK) take(&event);
 *         else if (status == WEIR_END) weir_reader_wait(reader, UINT64_MAX);
 *         else if (status != WEIR_SKIPPED) break;
 *     }
 *
 * So any number of processes follow a log, through the sealing, beginning and removal of segments, the writer's death
 * and its return. The writer knows nothing of its followers: they write nothing, take no lock and wake nobody. Events
 * are stores into mapped memory, which Linux reports to nobody. So the call polls: at once after an event was read,
 * then at intervals that double from 0.2 to 20 ms, five system calls each. After two seconds of silence it polls once a
 * second, and watches the directory (inotify): the writer touches a file there right after the first event that follows
 * a silence, so that the event is read within a millisecond. Where the directory can't be watched (all instances of
 * inotify are in use), it goes on polling every 20 ms. Where inotify reports nothing (another machine writes the
 * files), the first event after a silence may be read a second late. The call sleeps in between; a signal does not end
 * the sleep.
 */
weir_status weir_reader_wait(weir_reader *reader, uint64_t timeout_ns);

/*
 * For a program that waits for other things too, in place of the sleep in weir_reader_wait. Sets how long to sleep at
 * most before the next weir_reader_wait(reader, 0). Answers a descriptor that is readable as soon as that call is worth
 * while, for poll or epoll alone: it is the reader's, who reads from it and closes it. -1: sleep the whole time.
 *
 *     uint64_t pause_ns;
 *     int fd = weir_reader_descriptor(reader, &pause_ns);
 *     struct timespec pause = {pause_ns / 1000000000, pause_ns % 1000000000};
 *     struct pollfd events[] = {{fd, POLLIN, 0}, {mine, POLLIN, 0}};
 *     ppoll(events, 2, &pause, NULL);
 *     if (weir_reader_wait(reader, 0) == WEIR_OK) status = weir_reader_next(reader, &event, &skip, &error);
 */
int32_t weir_reader_descriptor(weir_reader *reader, uint64_t *pause_ns);

/* Whether a writer has the log open now. */
int32_t weir_reader_is_live(const weir_reader *reader);

void weir_reader_close(weir_reader *reader);

/* ---- Looking at a whole directory ------------------------------------------------------------------------------- */

/* One finding of weir_verify. */
typedef struct weir_finding {
  char file[64];
  uint64_t position;     /* in the file; of a batch segment's blocks in the segment, as `lz4 -dc` gives it */
  uint64_t bytes;
  uint64_t first_offset; /* of the events that are not readable for it */
  uint64_t count;
  const char *problem;   /* one phrase, static: "block checksum does not match" */
} weir_finding;

typedef struct weir_verification {
  uint64_t segments;
  uint64_t blocks;
  uint64_t events;
  uint64_t bytes;          /* bytes that a checksum or a rule was held against */
  uint64_t torn_bytes;     /* after the last block of an unsealed segment: no damage, the next opening cuts them */
  uint64_t lane_events;    /* events of a dead writer that are still in its lanes */
  uint64_t findings;
  uint64_t missing_events;
  uint64_t removed_events; /* that retention removed: they are not missing */
  uint32_t live;
  uint32_t reserved;
} weir_verification;

/*
 * Checks every byte of segments, batch segments and the ring that a checksum or a rule covers, and what `start` and the
 * locator say; not the files `lock` and `recovery`, which hold no events and are made anew by the next opening. Calls
 * `report` (may be null) for each finding. WEIR_OK means that the check ran: look at `findings`. Of a live log the
 * drained part is checked. Writes nothing.
 */
weir_status weir_verify(const char *directory, void (*report)(void *context, const weir_finding *finding),
                        void *context, weir_verification *verification, weir_error *error);

typedef struct weir_stat {
  uint64_t segments;       /* raw and batch segments */
  uint64_t segment_bytes;  /* of their files */
  uint64_t total_bytes;    /* of all files, as the file system counts them (allocated blocks) */
  uint64_t first_offset;
  uint64_t next_offset;    /* after the last event, a dead writer's lanes included */
  uint64_t events;         /* accepted events in segments, without Weir's own notices */
  uint64_t notices;
  uint64_t lane_events;    /* accepted events still in the lanes */
  uint64_t lane_bytes;
  uint64_t removed;        /* accepted events that retention removed; those of them that had not been delivered are in
                              dropped[WEIR_LOST_EXPIRED] and dropped[WEIR_LOST_DISPLACED] too */
  uint64_t dropped[WEIR_DROP_REASONS]; /* over all openings of the log, removed segments included. What was sampled
                              out is in it up to now; where a live writer's ring can't be read, up to its segment */
  int64_t first_time_ns;   /* 0 where there is no event */
  int64_t last_time_ns;
  uint32_t lanes;
  uint32_t lanes_in_use;   /* lanes that hold undrained events */
  uint32_t live;
  uint32_t damaged;        /* 1: something could not be read; weir_verify says what */
  uint32_t ring_vanished;  /* 1: the ring lay in another directory and is not there: what was in it, an unknown number
                              of events, is lost. Then `damaged` is 1 too */
  uint32_t lane_kib;       /* what a lane of the ring holds, in KiB; 0 without a ring */
} weir_stat;

/* Sums up a directory from headers and seals; reads blocks only of what is not sealed. Writes nothing. */
weir_status weir_stat_directory(const char *directory, weir_stat *stat, weir_error *error);

/* Where the accepted events of a log are, those of Weir's own notices left out. */
typedef struct weir_tally {
  uint64_t in_segments;   /* with an offset at or above the one asked for, in segments */
  uint64_t missing;       /* the same, but unreadable: damage or a lost file took them. Counted by seals and offsets;
                             without a seal, offsets of notices count as events. A sealed segment at or above the
                             offset is counted by its seal: its damaged events are in in_segments until the offset is
                             in that segment */
  uint64_t in_lanes;      /* in the lanes: they have no offset yet, or will have one at or above it */
  uint64_t removed;       /* with an offset below or above, removed by retention, by the byte limit or after their
                             delivery; events of the same segments that damage had taken before are included */
  uint64_t removed_above; /* offsets at or above the one asked for that belong to removed segments, notices included */
  uint64_t overwritten;   /* accepted, and overwritten in their lane before they had an offset: WEIR_FULL_DROP_OLDEST */
  uint64_t in_holes;      /* accepted, and lost in their lane before they had an offset, by damage or a power cut: the
                             sum of the weir.hole events. A hole of unknown size is in no sum */
  uint64_t below;         /* with an offset below the one asked for, in segments or missing from them */
  uint64_t accepted;      /* by all openings of the log: in_segments + missing + in_lanes + removed + overwritten +
                             in_holes + below */
  uint64_t next_offset;   /* after the last event that has an offset, a dead writer's lanes included */
  uint64_t first_offset;  /* the first that is not removed */
  uint32_t live;          /* a writer has the log open */
  uint32_t reserved;
} weir_tally;

/*
 * Counts the events at or above `offset`, wherever they are: what is pending for a follower that has come to `offset`.
 * The events are counted, not found by subtraction. In a live log every event accepted before the call is counted once,
 * also if it is drained meanwhile; events accepted since may be counted. Sealed segments above or below `offset` as a
 * whole are counted by their seals. Blocks are read of the segment that `offset` lies in and of unsealed segments.
 * Writes nothing, takes no lock. Memory: a 64th of what the lanes hold. Errors: as weir_stat_directory; TIMEOUT where
 * files of the log came and went during each of ten tries.
 *
 *     weir_tally tally;
 *     if (weir_count_from("events", cursor, &tally, &error) == WEIR_OK) {
 *       printf("%llu to deliver\n", (unsigned long long)(tally.in_segments + tally.in_lanes));
 *     }
 */
weir_status weir_count_from(const char *directory, uint64_t offset, weir_tally *tally, weir_error *error);

/* ---- Batch segments of a log that nobody has open --------------------------------------------------------------- */

typedef struct weir_batching {
  uint64_t segments;   /* that were raw, sealed ones */
  uint64_t done;       /* of them, those that are batch segments now */
  uint64_t input;      /* bytes of these before, */
  uint64_t output;     /* and after */
  uint64_t unbatched;  /* of them, those that stay raw: a byte is damaged, or the batch's name is not free */
  uint64_t failed;     /* of them, those that a system error kept raw; the first such error is the call's */
} weir_batching;

/*
 * Turns every sealed raw segment of a log into a batch segment, with up to `threads` threads (1 to
 * WEIR_MAX_BATCH_THREADS), as batch_threads does for an open log. Holds the writer's lock during the call. Recovers
 * nothing: unsealed segments stay as they are for the next opening. `report` (may be null) is called after each
 * segment, from any of the threads but one at a time, with the sums so far; if `report` answers other than 0, no
 * further segment is begun, and the call answers WEIR_OK. After a kill at any moment the log is whole. Memory and cost
 * as of batch_threads.
 *
 * Errors: LOCKED (a writer has the log open, whose own batch_threads do this), INVALID (threads), and as weir_open; a
 * segment's error, after all others were tried.
 */
weir_status weir_batch_directory(const char *directory, uint32_t threads,
                                 int (*report)(void *context, const weir_batching *so_far), void *context,
                                 weir_batching *batching, weir_error *error);

/* ---- Segments as files ------------------------------------------------------------------------------------------ */

/* What a sealed segment says of itself. */
typedef struct weir_segment {
  uint64_t log_id;
  uint64_t opening;
  uint64_t salt;          /* random: no two segments have the same */
  uint64_t first_offset;
  uint64_t next_offset;   /* after its last event */
  uint64_t events;        /* without notices */
  uint64_t notices;
  uint64_t overwritten;   /* accepted events without an offset that its notices tell of, by what became of them */
  uint64_t in_holes;
  uint64_t content_bytes; /* of the segment, as `lz4 -dc` gives it */
  uint64_t file_bytes;    /* of the file: fewer for a batch segment */
  int64_t first_ns;       /* the earliest and the latest time of its events; 0 where there is none */
  int64_t last_ns;
} weir_segment;

/*
 * Reads what the file `name` in a directory says of itself: header and seal, no event. `name` has at most 63 bytes, and
 * ends in `.lz4` for a batch segment, and only then. `base` is the segment's first offset, as its name has it in a log.
 * With `of_log` the directory is a log's, and a segment of another log is INVALID. Writes nothing. Errors: INVALID
 * (also without a good header and a good seal), MISSING, and as weir_verify.
 */
weir_status weir_read_segment(const char *directory, const char *name, uint64_t base, int32_t of_log,
                              weir_segment *segment, weir_error *error);

/*
 * Checks every byte of one sealed segment's file, of any log, in any directory: whatever weir_verify checks, but for
 * what other files say. WEIR_OK: the check ran; `finding->problem` is null if the segment is whole, and `segment` then
 * says what it is. Otherwise `finding` is the first problem. Writes nothing. Cost: the file is read twice, and
 * decompressed once. Memory: as of a reader.
 */
weir_status weir_verify_segment(const char *directory, const char *name, uint64_t base, weir_segment *segment,
                                weir_finding *finding, weir_error *error);

/*
 * Writes the batch segment of a sealed raw segment to a new file `to_name` in `to_directory`: the same bytes as
 * batch_threads and weir_batch_directory write. The log stays as it is. No lock is needed: a sealed segment never
 * changes. The file is not synced. If `to_name` exists, the call fails (IO) and leaves that file as it is. After any
 * other error there is no file. Errors: INVALID (a byte of the segment is damaged), MISSING (there is no such
 * directory, or no such raw segment), DIRECTORY, ACCESS, VERSION, NO_SPACE, IO, MEMORY, PLATFORM. Cost and memory as of
 * batch_threads.
 */
weir_status weir_pack_segment(const char *directory, uint64_t base, const char *to_directory, const char *to_name,
                              weir_error *error);

/* ---- Parts of a log, for another log ----------------------------------------------------------------------------- */

/*
 * What a part has of one lane of its opening: every position from `from` to `to`. The lane 65535 is that of the log's
 * notices, where a position is eight times an offset: there the span is that of all offsets of the part.
 */
typedef struct weir_span {
  uint64_t from;
  uint64_t to;
  uint64_t events;
  uint32_t lane;
  uint32_t reserved;
} weir_span;

/*
 * Consecutive events of a log, of one opening, with all that belongs to them: a batch segment as FileFormat.md
 * describes it, in memory. The same events make the same bytes. Pointers are valid until the next call that gives a
 * part.
 */
typedef struct weir_part {
  const uint8_t *bytes;
  uint64_t byte_count;
  weir_segment segment;   /* what the part says of itself */
  const weir_span *spans; /* by lane, each once; the last one is that of the offsets */
  uint32_t span_count;
  uint32_t reserved;
} weir_part;

typedef struct weir_cutter weir_cutter;

/*
 * Opens a log to cut parts of it, from an offset on: while its writer lives, or after. The lanes of a dead writer are
 * left out: an opening recovers them. Writes nothing. Belongs to one thread at a time. Memory: as of a reader, and five
 * times the size of a part, at least 8 MiB. Errors: as of weir_reader_open.
 */
weir_status weir_cutter_open(const char *directory, uint64_t from_offset, weir_cutter **cutter, weir_error *error);

/*
 * The next part: WEIR_OK. It has events below `end_offset`, at most `most_bytes` (at least 1024), but at least one
 * event, however large that is. WEIR_END: there is none at present. WEIR_SKIPPED: see `skip`; call again. Errors: as of
 * weir_reader_next, and INVALID for the arguments. Cost: every event is copied, checked and compressed once.
 */
weir_status weir_cutter_next(weir_cutter *cutter, uint64_t end_offset, uint64_t most_bytes, weir_part *part,
                             weir_skip *skip, weir_error *error);

void weir_cutter_close(weir_cutter *cutter);

/*
 * Checks every byte of a part that came from elsewhere, down to the checksum of each capture, and says what it has:
 * `spans` has room for WEIR_MAX_LANES + 1. WEIR_OK: the check ran; `finding->problem` is null if the part is whole. Any
 * bytes may be given. Errors: INVALID, VERSION, MEMORY, PLATFORM. Cost: the part is decompressed once.
 */
weir_status weir_check_part(const uint8_t *bytes, uint64_t byte_count, weir_segment *segment, weir_span *spans,
                            uint32_t *span_count, weir_finding *finding, weir_error *error);

/* ---- A log that is made of parts of other logs ------------------------------------------------------------------- */

/*
 * A log that collects: its events come from other logs, in parts, and keep their ids, times, contexts and checksums.
 * Only their offsets are new. Everything that reads a log reads this one. It takes no captures.
 */
typedef struct weir_collection weir_collection;

/*
 * Opens a log to collect in, or makes one; recovers what was left. Of the options max_bytes, limit_policy,
 * retain_bytes, retain_ns, remove_delivered and create count. Belongs to one thread at a time, and starts none. Errors:
 * as of weir_open.
 */
weir_status weir_collection_open(const char *directory, const weir_options *options, weir_collection **collection,
                                 weir_recovery *recovery, weir_error *error);

/*
 * Adds a part, without what the `known` spans say is known already: by lane, in ascending order, any number for a lane.
 * `host`: where the events were captured, at most 64 bytes of UTF-8, without a zero. The part's events are in the log
 * for its readers, and survive a power cut, once weir_collection_commit has answered WEIR_OK. A kill before that leaves
 * the first ones of them, or none. `*added`: how many events. A part must be whole: see weir_check_part.
 *
 * Errors: INVALID (the bytes do not begin as a part does) and VERSION, after which the collection goes on; INVALID (a
 * part that is damaged within), NO_SPACE (the disk, or the byte limit), IO, MEMORY. After one of these, or after an
 * error of weir_collection_commit, the collection takes nothing more: close it, and open it again.
 */
weir_status weir_collection_add(weir_collection *collection, const uint8_t *bytes, uint64_t byte_count,
                                const char *host, const weir_span *known, uint32_t known_count, uint64_t *added,
                                weir_error *error);

/* Brings what was added to the disk and to readers. `*next_offset`: after the last event. Waits for the disk. */
weir_status weir_collection_commit(weir_collection *collection, uint64_t *next_offset, weir_error *error);

/*
 * Says that the caller keeps what the segments below the offset say of what was collected, on the disk: for a removed
 * segment, weir_collection_read tells nothing. Only these segments are removed, by whatever bound; 0 at the opening.
 * Where max_bytes leaves no room otherwise, an addition answers NO_SPACE.
 */
void weir_collection_set_covered(weir_collection *collection, uint64_t offset);

/* As weir_set_delivered: removal follows with the next commit. */
void weir_collection_set_delivered(weir_collection *collection, uint64_t offset);

/* Gives up the log. What was not committed is not in it. */
void weir_collection_close(weir_collection *collection);

/* What a segment of a log that collects says of itself. */
typedef struct weir_collected {
  uint64_t first_offset;  /* in this log */
  uint64_t next_offset;
  uint64_t log_id;        /* of the log that the events come from */
  uint64_t opening;
  uint64_t from;          /* the offsets that they had there, those of known events that were left out included */
  uint64_t to;
  const weir_span *spans; /* what it has, by lane; a lane may come more than once. Without the offsets */
  uint32_t span_count;
  char host[65];
} weir_collected;

/*
 * Tells of each segment with events at or above `from_offset` what was collected, in their order; of segments that were
 * captured here it tells nothing. Reads every block's header, and no event. Writes nothing. `report` may answer other
 * than 0 to end. Errors: as of weir_stat_directory; INVALID where a segment is damaged: what it has is not known.
 */
weir_status weir_collection_read(const char *directory, uint64_t from_offset,
                                 int (*report)(void *context, const weir_collected *collected), void *context,
                                 weir_error *error);

#ifdef __cplusplus
}
#endif
#endif
