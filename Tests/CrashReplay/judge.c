/* judge.c: see judge.h. */
#include "check.h"
#include "judge.h"

#include <stdarg.h>

void judge_fault(judge *judge, const char *format, ...) {
  size_t used = strlen(judge->text);
  judge->faults++;
  if (judge->faults > 12 || used + 2 >= sizeof judge->text) return;
  used += (size_t)snprintf(judge->text + used, sizeof judge->text - used, "%s", used ? "; " : "");
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(judge->text + used, sizeof judge->text - used, format, arguments);
  va_end(arguments);
}

int judge_is_log(const char *directory) {
  return access(join(directory, "lock"), F_OK) == 0;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

static uint64_t hash(uint64_t sum, const void *bytes, uint64_t count) {
  const uint8_t *from = bytes;
  for (uint64_t i = 0; i < count; i++) sum = (sum ^ from[i]) * UINT64_C(0x100000001b3);
  return sum;
}

/* The number in the report of an opening, or -1. */
static int opening_index(const report *report, uint64_t opening) {
  for (uint64_t i = 0; i < report->openings; i++) {
    if (report->opening[i] == opening) return (int)i;
  }
  return -1;
}

static int32_t reason_of(const char *name, uint32_t bytes) {
  for (int32_t reason = 1; reason < WEIR_DROP_REASONS; reason++) {
    const char *word = weir_drop_name(reason);
    if (strlen(word) == bytes && memcmp(word, name, bytes) == 0) return reason;
  }
  return 0;
}

/* weir.gap: lane u32, reason string, dropped u64, total u64. */
static void take_gap(judge *judge, const report *report, judged_log *log, const weir_event *event) {
  uint32_t bytes;
  uint64_t lost;
  memcpy(&bytes, event->payload + 4, 4);
  int opening = opening_index(report, event->id.opening);
  int32_t reason = bytes + 24 == event->payload_bytes ? reason_of((const char *)event->payload + 8, bytes) : 0;
  if (reason == 0 || opening < 0) {
    judge_fault(judge, "offset %" PRIu64 ": a gap record of no known reason or opening", event->offset);
    return;
  }
  memcpy(&lost, event->payload + 8 + bytes, 8);
  log->gaps[opening][reason] += lost;
}

/* Whether the context is the one of that number; the one that an opening begins with is none. */
static int is_context(const victim_plan *plan, const report *report, uint64_t opening, uint32_t number,
                      const weir_event *event) {
  uint8_t wanted[VICTIM_MAX_CONTEXT];
  uint64_t bytes = number == report->context_first[opening] ? 0 : victim_context(wanted, plan, number);
  if (bytes == 0) return event->context_number == 0 && event->context == NULL;
  return event->context && event->context_bytes == bytes && memcmp(event->context, wanted, bytes) == 0;
}

/* The context is one that was in force at a moment of the capture. One whose definition is lost is none to speak of. */
static void take_context(judge *judge, const victim_plan *plan, const report *report, judged_event *one,
                         const weir_event *event) {
  int opening = opening_index(report, event->id.opening);
  if (opening < 0 || one->thread >= REPORT_THREADS || one->number >= report->threads[one->thread].began) return;
  const report_event *said = &report->threads[one->thread].events[one->number];
  if (event->context_number != 0 && !event->context) {
    one->undefined |= LACKS_CONTEXT;
    return;
  }
  uint32_t most = said->answer == ANSWER_BEGAN ? report_last_context(report, (uint64_t)opening) : said->context_most;
  for (uint32_t number = said->context_least; number <= most; number++) {
    if (is_context(plan, report, (uint64_t)opening, number, event)) return;
  }
  judge_fault(judge, "offset %" PRIu64 ": the context of event %" PRIu64 " of thread %u was not in force",
              event->offset, one->number, one->thread);
}

static void take_scope(judge *judge, const victim_plan *plan, const judged_event *one, const weir_event *event) {
  uint8_t wanted[VICTIM_MAX_SCOPE];
  uint64_t bytes = victim_scope(wanted, plan, one->thread, one->number);
  int same = bytes == UINT64_MAX ? event->scope == NULL && event->scope_bytes == 0
                                 : event->scope != NULL && event->scope_bytes == bytes;
  if (same && event->scope_bytes > 0) same = memcmp(event->scope, wanted, bytes) == 0;
  if (same) return;
  judge_fault(judge, "offset %" PRIu64 ": the scope of event %" PRIu64 " of thread %u is not what was captured",
              event->offset, one->number, one->thread);
}

static void take_event(judge *judge, const victim_plan *plan, const report *report, judged_event *one,
                       const weir_event *event) {
  uint8_t wanted[VICTIM_FIXED_BYTES + 4096];
  if (event->payload_bytes < VICTIM_FIXED_BYTES) {
    judge_fault(judge, "offset %" PRIu64 ": an event that nobody captured", event->offset);
    return;
  }
  memcpy(&one->thread, event->payload, 4);
  memcpy(&one->number, event->payload + 4, 8);
  const char *name = victim_type_name(victim_type(plan->seed, one->thread, one->number));
  uint64_t bytes = victim_payload(wanted, plan, one->thread, one->number);
  if (event->name_bytes == 0 && event->fields == NULL && event->definition == 0) one->undefined = LACKS_TYPE;
  int named = event->field_count == 3 && event->name_bytes == strlen(name) && event->name &&
              memcmp(name, event->name, event->name_bytes) == 0;
  if (bytes != event->payload_bytes || memcmp(wanted, event->payload, bytes) != 0 || !(named || one->undefined)) {
    judge_fault(judge, "offset %" PRIu64 ": event %" PRIu64 " of thread %u is not what was captured", event->offset,
                one->number, one->thread);
  }
  take_scope(judge, plan, one, event);
  take_context(judge, plan, report, one, event);
}

static judged_event *next_slot(judged_log *log) {
  if (log->count == log->room) {
    log->room = log->room ? log->room * 2 : 1024;
    log->events = realloc(log->events, log->room * sizeof *log->events);
    REQUIRE(log->events);
  }
  judged_event *slot = &log->events[log->count++];
  *slot = (judged_event){0};
  return slot;
}

static void take(judge *judge, const victim_plan *plan, const report *report, judged_log *log,
                 const weir_event *event) {
  judged_event *one = next_slot(log);
  one->offset = event->offset;
  one->id = event->id;
  one->time_ns = event->time_ns;
  one->content = hash(UINT64_C(0xcbf29ce484222325), event->name, event->name_bytes);
  one->content = hash(one->content, event->fields, event->fields_bytes);
  one->content = hash(one->content, event->payload, event->payload_bytes);
  one->content = hash(one->content, event->scope, event->scope_bytes);
  one->content = hash(one->content, event->context, event->context_bytes);
  one->content = hash(one->content, &event->monotonic_ns, sizeof event->monotonic_ns);
  one->content = hash(one->content, event->boot_id, sizeof event->boot_id);
  one->notice = event->name_bytes >= 5 && memcmp(event->name, "weir.", 5) == 0;
  log->notices += (uint64_t)one->notice;
  if (!one->notice) take_event(judge, plan, report, one, event);
  else if (event->name_bytes == 8 && memcmp(event->name, "weir.gap", 8) == 0) take_gap(judge, report, log, event);
  else log->holes++;
}

void judge_read(judge *judge, const victim_plan *plan, const report *report, judged_log *log) {
  *log = (judged_log){0};
  weir_reader_options options;
  weir_reader_options_init(&options);
  weir_reader *reader;
  weir_error error;
  log->end = weir_reader_open(plan->directory, &options, &reader, &error);
  if (log->end != WEIR_OK) {
    judge_fault(judge, "the log can't be read: %s", error.message);
    return;
  }
  weir_event event;
  weir_skip skip;
  while ((log->end = weir_reader_next(reader, &event, &skip, &error)) == WEIR_OK || log->end == WEIR_SKIPPED) {
    if (log->end == WEIR_OK) {
      take(judge, plan, report, log, &event);
      continue;
    }
    if (skip.removed) {
      log->removed += skip.count;
      log->first_kept = skip.first_offset + skip.count;
      continue;
    }
    log->skips++;
    log->skipped_events += skip.count;
  }
  if (log->end != WEIR_END) judge_fault(judge, "reading ended early: %s", error.message);
  weir_reader_close(reader);
  if (log->removed > 0 && weir_stat_directory(plan->directory, &log->stat, &error) != WEIR_OK) {
    judge_fault(judge, "the log can't be summed up: %s", error.message);
  }
}

void judged_log_free(judged_log *log) {
  free(log->events);
  *log = (judged_log){0};
}

/* ---- Holding it to the report ------------------------------------------------------------------------------------ */

/* What goes on while the events are gone through in the order of their offsets. */
typedef struct holding {
  judge *judge;
  const judged_log *log;
  const report *report;
  judge_fate fate;
  judge_sums sums;
  uint8_t *seen;                                   /* [thread][number] */
  uint64_t after[REPORT_THREADS][JUDGE_LANES];     /* the least number that this lane may have next */
  uint64_t least[REPORT_THREADS];                  /* above all numbers of earlier openings */
  uint64_t most[REPORT_THREADS];                   /* above all numbers so far */
  int opening;                                     /* of the event before */
  uint64_t missing[REPORT_OPENINGS];
  uint64_t unanswered[REPORT_OPENINGS];            /* captures in flight that are not in the log */
  uint64_t refused[REPORT_OPENINGS][WEIR_DROP_REASONS];
} holding;

/* An opening's events come after those of the openings before it, from the offset on that it gave first. */
static void hold_opening(holding *holding, const judged_event *event) {
  const report *report = holding->report;
  int opening = opening_index(report, event->id.opening);
  if (opening < 0) {
    /* A victim may be killed in weir_open, after its ring was made: nothing can have been captured to it. */
    judge_fault(holding->judge, "offset %" PRIu64 ": an event of no known opening", event->offset);
    return;
  }
  if (opening < holding->opening) judge_fault(holding->judge, "offset %" PRIu64 ": openings mixed", event->offset);
  if (event->offset < report->first_offset[opening] ||
      ((uint64_t)opening + 1 < report->openings && event->offset >= report->first_offset[opening + 1])) {
    judge_fault(holding->judge, "offset %" PRIu64 " is not one of opening %d", event->offset, opening);
  }
  if (opening == holding->opening) return;
  holding->opening = opening;
  memcpy(holding->least, holding->most, sizeof holding->least);
  memset(holding->after, 0, sizeof holding->after);
}

/* Within a lane a thread's events ascend; between lanes the order is by time, and their offsets may cross. */
static void hold_order(holding *holding, const judged_event *event) {
  uint64_t lane = event->id.sequence >> 48;
  uint64_t *after = &holding->after[event->thread][lane < JUDGE_LANES ? lane : JUDGE_LANES - 1];
  if (event->number < *after || event->number < holding->least[event->thread]) {
    judge_fault(holding->judge, "offset %" PRIu64 ": event %" PRIu64 " of thread %u is out of order", event->offset,
                event->number, event->thread);
  }
  *after = event->number + 1;
  if (holding->most[event->thread] <= event->number) holding->most[event->thread] = event->number + 1;
}

static void hold_event(holding *holding, const judged_event *event) {
  const report *report = holding->report;
  if (event->thread >= REPORT_THREADS || event->number >= report->threads[event->thread].began) {
    judge_fault(holding->judge, "offset %" PRIu64 ": event %" PRIu64 " of thread %u was never captured", event->offset,
                event->number, event->thread);
    return;
  }
  const report_event *said = &report->threads[event->thread].events[event->number];
  uint8_t *seen = &holding->seen[event->thread * (uint64_t)REPORT_EVENTS + event->number];
  if (*seen) {
    judge_fault(holding->judge, "offset %" PRIu64 ": event %" PRIu64 " of thread %u is there twice", event->offset,
                event->number, event->thread);
  }
  *seen = 1;
  holding->sums.events++;
  if (event->undefined &&
      (holding->fate != FATE_POWER_CUT || report_is_durable(report, event->thread, event->number))) {
    judge_fault(holding->judge, "offset %" PRIu64 ": the definition of its event is lost", event->offset);
  }
  if (said->answer == ANSWER_BEGAN) {
    holding->sums.in_flight++;
  } else if (said->answer != ANSWER_ACCEPTED) {
    judge_fault(holding->judge, "offset %" PRIu64 ": event %" PRIu64 " of thread %u was refused (%s)", event->offset,
                event->number, event->thread, weir_drop_name((int32_t)(said->answer - ANSWER_REFUSED)));
  } else if (said->sequence != event->id.sequence || report->opening[said->opening] != event->id.opening) {
    judge_fault(holding->judge, "offset %" PRIu64 ": event %" PRIu64 " of thread %u has another id", event->offset,
                event->number, event->thread);
  }
  hold_order(holding, event);
}

/* Goes through what the victims reported: what is missing, what was refused. */
static void hold_reported(holding *holding) {
  const report *report = holding->report;
  for (uint32_t t = 0; t < REPORT_THREADS; t++) {
    const report_thread *thread = &report->threads[t];
    for (uint64_t n = 0; n < thread->began; n++) {
      const report_event *said = &thread->events[n];
      int there = holding->seen[t * (uint64_t)REPORT_EVENTS + n];
      if (said->answer >= ANSWER_REFUSED) {
        holding->sums.refused++;
        holding->refused[said->opening][said->answer - ANSWER_REFUSED]++;
      } else if (said->answer == ANSWER_BEGAN) {
        holding->unanswered[said->opening] += !there;
      } else {
        holding->sums.accepted++;
        if (there) continue;
        holding->sums.missing++;
        holding->missing[said->opening]++;
        if (holding->fate == FATE_POWER_CUT && report_is_durable(report, t, n)) {
          judge_fault(holding->judge, "event %" PRIu64 " of thread %u was durable and is lost", n, t);
        }
      }
    }
  }
}

/* The counts of an opening: what was refused or overwritten, no more and no less but for captures in flight. */
static void hold_counts(holding *holding, uint64_t opening) {
  const uint64_t *gaps = holding->log->gaps[opening], *refused = holding->refused[opening];
  uint64_t flight = holding->unanswered[opening], spare = 0;
  for (int reason = 1; reason < WEIR_DROP_REASONS; reason++) {
    uint64_t told = reason == WEIR_LOST_OVERWRITTEN ? holding->missing[opening] : refused[reason];
    if (reason == WEIR_DROP_CLOSED && gaps[reason] < told) continue; /* those after its last block */
    if (gaps[reason] > told) spare += gaps[reason] - told;
    if (holding->fate == FATE_POWER_CUT ? gaps[reason] <= told + flight || reason == WEIR_LOST_OVERWRITTEN
                                        : gaps[reason] >= told && gaps[reason] - told <= flight) {
      continue;
    }
    judge_fault(holding->judge, "opening %" PRIu64 ": %" PRIu64 " events %s, and the log counts %" PRIu64, opening,
                told, weir_drop_name(reason), gaps[reason]);
  }
  holding->sums.overwritten += gaps[WEIR_LOST_OVERWRITTEN];
  if (holding->fate == FATE_KILLED && spare > flight) {
    judge_fault(holding->judge, "opening %" PRIu64 ": %" PRIu64 " losses counted too much", opening, spare - flight);
  }
}

/* The counts of a log of which something was removed, gap records too: its sums have them all. */
static void hold_totals(holding *holding) {
  const uint64_t *counted = holding->log->stat.dropped;
  uint64_t undelivered = counted[WEIR_LOST_EXPIRED] + counted[WEIR_LOST_DISPLACED];
  uint64_t removed = holding->log->stat.removed, delivered = holding->report->delivered;
  uint64_t lost = counted[WEIR_LOST_OVERWRITTEN] + removed, missing = holding->sums.missing, flight = 0;
  if (undelivered > removed || removed - undelivered > delivered) {
    judge_fault(holding->judge, "%" PRIu64 " events were removed, %" PRIu64 " of them undelivered, and %" PRIu64
                " offsets were delivered", removed, undelivered, delivered);
  }
  if (undelivered == 0 && holding->log->first_kept > delivered) {
    judge_fault(holding->judge, "offset %" PRIu64 " is the first that is kept, and %" PRIu64 " was delivered",
                holding->log->first_kept, delivered);
  }
  for (uint64_t i = 0; i < holding->report->openings; i++) flight += holding->unanswered[i];
  if (lost < missing || lost - missing > flight) {
    judge_fault(holding->judge, "%" PRIu64 " events are not there, and the log counts %" PRIu64 " lost", missing, lost);
  }
  for (int reason = 1; reason < WEIR_DROP_REASONS; reason++) {
    uint64_t told = 0;
    if (reason >= WEIR_LOST_OVERWRITTEN && reason <= WEIR_LOST_DISPLACED) continue;
    for (uint64_t i = 0; i < holding->report->openings; i++) told += holding->refused[i][reason];
    if (reason == WEIR_DROP_CLOSED ? counted[reason] <= told + flight
                                   : counted[reason] >= told && counted[reason] - told <= flight) {
      continue;
    }
    judge_fault(holding->judge, "%" PRIu64 " events %s, and the log counts %" PRIu64, told, weir_drop_name(reason),
                counted[reason]);
  }
}

/* Every offset below the durable watermark, those of notices too. What retention removed is no loss. */
static void hold_watermark(const holding *holding) {
  const judged_log *log = holding->log;
  uint64_t next = log->first_kept, watermark = holding->report->watermark;
  for (uint64_t i = 0; i <= log->count && next < watermark; i++) {
    uint64_t offset = i < log->count ? log->events[i].offset : watermark;
    if (offset > next) {
      judge_fault(holding->judge, "offset %" PRIu64 " is missing, and %" PRIu64 " was the durable watermark", next,
                  watermark);
      return;
    }
    next = offset + 1;
  }
}

void judge_hold(judge *judge, const judged_log *log, const report *report, judge_fate fate, judge_sums *sums) {
  holding *holding = calloc(1, sizeof *holding);
  REQUIRE(holding);
  holding->judge = judge;
  holding->log = log;
  holding->report = report;
  holding->fate = fate;
  holding->opening = -1;
  holding->seen = calloc(REPORT_THREADS, REPORT_EVENTS);
  REQUIRE(holding->seen);
  if (report->failed) judge_fault(judge, "the victim: %s", report->message);
  for (uint64_t i = 0; i < log->count; i++) {
    const judged_event *event = &log->events[i];
    if (i > 0 && event->offset <= log->events[i - 1].offset) {
      judge_fault(judge, "offset %" PRIu64 " comes after %" PRIu64, event->offset, log->events[i - 1].offset);
    }
    hold_opening(holding, event);
    if (!event->notice) hold_event(holding, event);
  }
  hold_reported(holding);
  if (fate == FATE_POWER_CUT) hold_watermark(holding);
  for (uint64_t i = 0; i < report->openings && log->removed == 0; i++) hold_counts(holding, i);
  if (log->removed > 0 && fate == FATE_KILLED) hold_totals(holding);
  if (fate == FATE_KILLED && log->skips + log->holes > 0) {
    judge_fault(judge, "%" PRIu64 " skips (%" PRIu64 " events) and %" PRIu64 " holes after a mere kill", log->skips,
                log->skipped_events, log->holes);
  }
  if (sums) *sums = holding->sums;
  free(holding->seen);
  free(holding);
}

/* ---- Before and after -------------------------------------------------------------------------------------------- */

void judge_same(judge *judge, const judged_log *earlier, const judged_log *later, int whole) {
  uint64_t gone = 0;
  while (gone < earlier->count && earlier->events[gone].offset < later->first_kept) gone++;
  uint64_t count = earlier->count - gone;
  if (later->count < count || (whole && later->count > count)) {
    judge_fault(judge, "%" PRIu64 " events were there, and now %" PRIu64, count, later->count);
  }
  for (uint64_t i = 0; i < count && i < later->count; i++) {
    const judged_event *a = &earlier->events[gone + i], *b = &later->events[i];
    const char *other = a->offset != b->offset                                               ? "offset"
                        : a->id.opening != b->id.opening || a->id.sequence != b->id.sequence ? "id"
                        : a->time_ns != b->time_ns                                           ? "time"
                        : a->content != b->content                                           ? "content"
                                                                                             : NULL;
    if (!other) continue;
    judge_fault(judge, "the event at offset %" PRIu64 " has another %s (offset %" PRIu64 ", %" PRId64 " ns later)",
                a->offset, other, b->offset, b->time_ns - a->time_ns);
    return;
  }
}

static void take_finding(void *context, const weir_finding *finding) {
  judge_fault(context, "verify: %s at %" PRIu64 ": %s", finding->file, finding->position, finding->problem);
}

void judge_verify(judge *judge, const char *directory, const judged_log *log) {
  weir_verification sums;
  weir_error error;
  if (weir_verify(directory, take_finding, judge, &sums, &error) != WEIR_OK) {
    judge_fault(judge, "verify: %s", error.message);
    return;
  }
  if (sums.live) judge_fault(judge, "a writer holds the log");
  if (sums.events + sums.lane_events != log->count - log->notices) {
    judge_fault(judge, "verify counts %" PRIu64 " events and %" PRIu64 " in lanes of %" PRIu64, sums.events,
                sums.lane_events, log->count - log->notices);
  }
}

/* Opens and closes; the report of the opening is held to what a mere kill may leave. */
static void recover(judge *judge, const victim_plan *plan, const judged_log *before) {
  weir_log *log;
  weir_recovery found;
  weir_error error;
  if (victim_open(plan, NULL, &log, &found, &error) != WEIR_OK) {
    judge_fault(judge, "recovery: %s", error.message);
    return;
  }
  if (found.damaged_blocks + found.damaged_records + found.missing_events + found.ring_replaced > 0) {
    judge_fault(judge, "recovery reports damage after a mere kill");
  }
  if (before->count > 0 && found.first_offset <= before->events[before->count - 1].offset) {
    judge_fault(judge, "recovery gives the offset %" PRIu64 " again", found.first_offset);
  }
  if (weir_close(log, &error) != WEIR_OK) judge_fault(judge, "closing after recovery: %s", error.message);
  weir_free(log);
}

int judge_killed(judge *judge, const victim_plan *plan, report *report, judge_sums *sums) {
  if (!judge_is_log(plan->directory)) return judge->faults == 0;
  judged_log before, after;
  judge_read(judge, plan, report, &before);
  judge_hold(judge, &before, report, FATE_KILLED, sums);
  judge_verify(judge, plan->directory, &before);
  for (int i = 0; i < 2 && judge->faults == 0; i++) {
    recover(judge, plan, &before);
    judge_read(judge, plan, report, &after);
    judge_same(judge, &before, &after, 1);
    judge_hold(judge, &after, report, FATE_KILLED, NULL);
    judge_verify(judge, plan->directory, &after);
    judged_log_free(&after);
  }
  judged_log_free(&before);
  return judge->faults == 0;
}
