/*
 * judge.h: reads a log by the public reader and holds it to what the victims reported. What it holds it to, for a log
 * whose writers were merely killed:
 *
 *   whatever was accepted is there, once, under its id, each byte right, its scope's too, and in a global context that
 *   was in force while it was captured; or it was counted as overwritten or removed; what is gone uncounted lay below
 *   what was said to be delivered;
 *   whatever was refused is not there, and was counted once, by its reason;
 *   of each thread at most one event a life is there of which no answer is known: the one in flight;
 *   a thread's events are in the order of their numbers (in a lane, where it had several);
 *   offsets ascend, and those of an opening begin where it said;
 *   the reader skips nothing, and weir_verify finds nothing.
 *
 * After a power cut: whatever was awaited durable is there, and every offset below the durable watermark; the rest may
 * be missing, and what is there is right.
 */
#ifndef WEIR_REPLAY_JUDGE_H
#define WEIR_REPLAY_JUDGE_H

#include "victim.h"

/* What happened to the log. */
typedef enum judge_fate {
  FATE_KILLED,   /* kill -9, any number of times: the page cache is whole */
  FATE_POWER_CUT /* what was not awaited durable may be lost */
} judge_fate;

enum { JUDGE_LANES = 257 }; /* of a log, those of more together */

/* What an event lacks: the definition of its type, or of its context. */
enum { LACKS_TYPE = 1, LACKS_CONTEXT = 2 };

/* One event as read. */
typedef struct judged_event {
  uint64_t offset;
  weir_id id;
  int64_t time_ns;
  uint32_t thread;
  uint64_t number;
  uint64_t content; /* checksum of name, fields, payload, scope, context, monotonic time and boot; of notices too */
  int notice;
  int undefined;    /* right, but lacks these definitions: after a power cut that may be, if it was not durable */
} judged_event;

/* A reading of a whole log, notices included. */
typedef struct judged_log {
  judged_event *events;
  uint64_t count, room;
  uint64_t gaps[REPORT_OPENINGS][WEIR_DROP_REASONS]; /* what gap records say was lost */
  uint64_t notices;        /* of the events */
  uint64_t holes;          /* of these, those of damage in a lane */
  uint64_t skips;          /* times that the reader passed something over */
  uint64_t skipped_events; /* offsets in them */
  uint64_t removed;        /* offsets that retention removed: no skips */
  uint64_t first_kept;     /* the first offset after those */
  weir_stat stat;          /* the log's sums, where something was removed */
  weir_status end;         /* WEIR_END, or what the reader failed with */
} judged_log;

/* What was found wrong: how often, and the first few in words. Zeros at first. */
typedef struct judge {
  uint64_t faults;
  char text[2048];
} judge;

/* What holding a log to its report came to. */
typedef struct judge_sums {
  uint64_t events;      /* delivered, without notices */
  uint64_t accepted;    /* by what the victims reported */
  uint64_t in_flight;   /* delivered without having been answered: the kill came between */
  uint64_t refused;     /* by what the victims reported */
  uint64_t overwritten; /* counted as such by the log */
  uint64_t missing;     /* accepted, and not there (overwritten, removed, or lost in a power cut) */
} judge_sums;

void judge_fault(judge *judge, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reads the log; each event's bytes are held to plan->seed. Free the result. */
void judge_read(judge *judge, const victim_plan *plan, const report *report, judged_log *log);
void judged_log_free(judged_log *log);

/* Holds a reading to the report. `sums` may be null. */
void judge_hold(judge *judge, const judged_log *log, const report *report, judge_fate fate, judge_sums *sums);

/*
 * That `later` begins with all of `earlier`, but for what was removed since: same offsets, ids, times and bytes.
 * `whole`: and has nothing more.
 */
void judge_same(judge *judge, const judged_log *earlier, const judged_log *later, int whole);

/* That weir_verify finds nothing, counts all that was read, and that no writer holds the log. */
void judge_verify(judge *judge, const char *directory, const judged_log *log);

/* Whether there is a log in the directory at all: a kill may come before. */
int judge_is_log(const char *directory);

/*
 * The whole procedure for a log whose writer was killed: read, hold, verify; recover (opens and closes, with the plan's
 * options); read, hold, verify, the same events; recover once more, and the same. Answers whether it was all right.
 */
int judge_killed(judge *judge, const victim_plan *plan, report *report, judge_sums *sums);

#endif
