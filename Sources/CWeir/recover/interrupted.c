/*
 * interrupted.c: counts again what an interrupted recovery found. The disk was full, or the recovery was killed: nobody
 * got its report, and to the next recovery the segments that it sealed or wrote look like any others. So the next one
 * counts their damage, holes and left-out offsets again. All of it follows from the files, so it is counted once
 * however many openings fail.
 *
 * An interrupted recovery is known by this: the last sealed segments were sealed or written by a recovery, and the ring
 * is still that of their opening, or half made, or of an opening that captured nothing and was not closed. That opening
 * may have failed, or been killed, before it could report. If it did report, everything is reported twice: better than
 * never.
 */
#include <errno.h>
#include <string.h>

#include "directory/quarantine.h"
#include "format/notice.h"
#include "recover/recovery.h"
#include "segment/scan.h"
#include "system/error.h"
#include "system/system.h"

/* What a sealed segment says of itself. */
typedef struct sealed {
  int recovered; /* a recovery sealed it, or wrote it */
  int drained;   /* a recovery wrote it, from the lanes */
  int after_cut; /* offsets were left out before it */
  uint64_t opening, next_offset;
  uint8_t boot_id[16]; /* of the boot in which its events were captured */
} sealed;

static int look_at(int directory, uint64_t log_id, const segment_name *segment, sealed *found) {
  segment_name name = *segment;
  segment_scan scan;
  scan_damage damage;
  memset(found, 0, sizeof *found);
  int error = scan_open_named(&scan, directory, log_id, &name, &damage);
  if (error == -ELOOP || error == -ENOENT) return 0; /* none of ours */
  if (error != 0) return error;
  const segment_header *header = &scan.header;
  const seal_summary *seal = header->salt != 0 && scan_seal(&scan) == 0 ? scan_summary(&scan) : NULL;
  if (seal) {
    uint32_t flags = scan.header_valid ? header->flags : 0;
    found->drained = (flags & SEGMENT_RECOVERED) != 0;
    found->after_cut = (flags & SEGMENT_AFTER_CUT) != 0;
    found->recovered = found->drained || (seal->flags & SEAL_RECOVERED);
    found->opening = header->opening;
    found->next_offset = seal->next_offset;
    memcpy(found->boot_id, found->drained ? header->captured_boot_id : header->boot_id, sizeof found->boot_id);
  }
  scan_close(&scan);
  return 0;
}

/* The segments [first, end) of the list: all that the interrupted recovery sealed or wrote. */
typedef struct run {
  segment_list list;
  uint64_t first, end;
  sealed before;  /* the segment before them; zeros where there is none */
  uint64_t opening;
  int cut;        /* the power was cut before that recovery: the records' indices tell the holes */
  int ring_lost;  /* it wrote the notice of a lost ring: offsets do not say how many events are missing */
} run;

/* Whether the ring's opening captured anything, or reported a refusal. */
static int was_used(const orphan *orphan, const unsealed *found, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    if (found[i].salt != 0 && found[i].opening == orphan->header.opening && !found[i].empty) return 1;
  }
  for (uint32_t i = 0; i < orphan->header.lane_count; i++) {
    if (orphan->controls[i].tail > 0) return 1;
  }
  return 0;
}

/* Whether an interrupted recovery left the last sealed segment. Needs no listing, because most openings find none. */
static int is_left(const recovery *recovery, const unsealed *found, uint64_t count, const sealed *last) {
  const orphan *orphan = recovery->orphan;
  if (!last->recovered || recovery->closed || recovery->made.closed) return 0;
  if (!orphan) return recovery->made.there;
  if (last->opening == orphan->header.opening) return 1;
  /* After a power cut an unused ring proves nothing: the cut may have taken all that was captured. */
  return !orphan->rebooted && !was_used(orphan, found, count);
}

/* The id of the boot in which the interrupted recovery ran. */
static const uint8_t *boot_of_recovery(const recovery *recovery, uint64_t opening) {
  uint64_t ring = recovery->orphan ? recovery->orphan->header.opening : recovery->made.opening;
  if (ring == opening || ring == 0) return recovery->boot_id;
  return recovery->orphan ? recovery->orphan->header.boot_id : recovery->made.boot_id;
}

/* Finds the run, going back from the last sealed segment. */
static int find_run(const recovery *recovery, const sealed *last, run *run) {
  const char *name = recovery->list.items[recovery->first_unsealed - 1].name;
  int directory = recovery->log->held.directory, error = segment_list_read(directory, &run->list);
  while (run->end < run->list.count && strcmp(run->list.items[run->end].name, name) != 0) run->end++;
  if (run->end < run->list.count) run->end++;
  for (run->first = run->end; error == 0 && run->first > 0; run->first--) {
    sealed found;
    error = look_at(directory, recovery->log->held.log_id, &run->list.items[run->first - 1], &found);
    run->before = found;
    if (!found.recovered || found.opening != last->opening) break;
  }
  if (run->first == 0) memset(&run->before, 0, sizeof run->before);
  run->opening = last->opening;
  run->cut = !sys_same_boot(last->boot_id, boot_of_recovery(recovery, last->opening));
  return error;
}

/*
 * Counts what an earlier recovery found and another scan does not find. That is a hole that it drained from a lane
 * (under another boot id a gap in the indices, which is no damage), and a damaged block at the end of a segment, which
 * it cut off or began to overwrite with the seal. A copy of the block is in quarantine/ if there was room.
 */
static int count_gone(const recovery *recovery, const segment_name *name, const unsealed *found, int cut) {
  weir_recovery *report = recovery->report;
  uint64_t bytes;
  if (found->drained) report->missing_events += found->hole_events;
  if (found->drained && !cut) report->damaged_records += found->holes;
  if (found->drained || found->salt == 0 || found->end_damaged) return 0;
  int there = quarantine_has_block(recovery->log->held.directory, name, found->seal_at, &bytes);
  if (there <= 0) return there;
  report->damaged_blocks++;
  report->damaged_bytes += bytes;
  return 0;
}

/* Counts the offsets from `end` up to `next`, which no segment has, as missing events. */
static void count_between(const recovery *recovery, const run *run, uint64_t end, uint64_t next) {
  if (run->cut || run->ring_lost || end == 0) return;
  if (end < recovery->log->start_offset) end = recovery->log->start_offset;
  if (next > end) recovery->report->missing_events += next - end;
}

static int count_segment(const recovery *recovery, run *run, uint64_t index, drained *walk, uint64_t *end) {
  const segment_name *name = &run->list.items[index];
  sealed sealed;
  unsealed found = {0};
  uint64_t log_id = recovery->log->held.log_id;
  int directory = recovery->log->held.directory, error = look_at(directory, log_id, name, &sealed);
  if (error == 0) error = unsealed_scan(&found, directory, log_id, name, NULL, walk, recovery->report);
  if (error == 0) error = count_gone(recovery, name, &found, run->cut);
  run->ring_lost |= found.ring_told && !sealed.after_cut;
  if (error == 0 && !sealed.after_cut) count_between(recovery, run, *end, found.base);
  *end = sealed.next_offset;
  unsealed_free(&found);
  return error;
}

static int count_run(recovery *recovery, const sealed *last) {
  const orphan *orphan = recovery->orphan;
  run run = {0};
  drained walk;
  recovery->interrupted = 1;
  int error = find_run(recovery, last, &run);
  drained_start(&walk, run.opening, run.cut);
  if (run.before.opening == run.opening) walk.from_start = 0;
  uint64_t end = run.before.next_offset;
  for (uint64_t i = run.first; error == 0 && i < run.end; i++) error = count_segment(recovery, &run, i, &walk, &end);
  if (error == 0 && run.cut) {
    recovery->report->missing_events += walk.missing - recovery->missing_in_last; /* begin_replay adds the latter */
    recovery->report->rebooted = recovery->report->unknown_tail = 1;
  }
  /*
   * If the ring is still the interrupted opening's, its events are counted when it is drained. A newer ring's
   * base_offset is where that recovery ended: the offsets between the last segment and it are missing.
   */
  if (error == 0 && !(orphan && run.opening == orphan->header.opening)) {
    count_between(recovery, &run, end, orphan ? orphan->header.base_offset : recovery->least_offset);
  }
  segment_list_free(&run.list);
  return error;
}

weir_status recovery_count_interrupted(recovery *recovery, const unsealed *found, uint64_t count) {
  const segment_name *names = recovery->list.items + recovery->first_unsealed;
  int error = 0;
  for (uint64_t i = 0; i < count && error == 0; i++) error = count_gone(recovery, &names[i], &found[i], 0);
  sealed last = {0};
  if (error == 0 && recovery->first_unsealed > 0) {
    error = look_at(recovery->log->held.directory, recovery->log->held.log_id, names - 1, &last);
  }
  if (error == 0 && is_left(recovery, found, count, &last)) error = count_run(recovery, &last);
  return error == 0 ? WEIR_OK : fail_system(recovery->error, error, "read", recovery->log->held.path, NULL);
}
