/*
 * reader.c: iterating over the events of a directory, live or after its writer's death. Longer than other files: the
 * stages below and the wait for more share one state.
 *
 * Two stages: the segments, in order of offset; then, if no writer is alive and no segment is left, the events in a
 * dead writer's ring. If a writer turns up, the reader goes back to the segments. Recovery gives the events of the
 * second stage the same offsets, so one number, the next offset, is enough to give out each event once.
 *
 * A bad block at the end of a live log is being written: the end for now. It counts as damage only once a good block
 * follows and the segment has a successor or a seal, or the writer is dead.
 *
 * A reader that follows a log disturbs nobody. It lists the directory, which makes a writer that renames wait, only
 * after names in it changed. While it waits, it reads a block header, the directory's time of change and the lock, at
 * most fifty times a second. It is not notified: inotify does not see stores into a mapping, and a writer that rang
 * bells would have to know its readers.
 */
#include "read/reader.h"

#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "directory/directory.h"
#include "directory/log_start.h"
#include "directory/segment_list.h"
#include "format/notice.h"
#include "read/event.h"
#include "read/segment_walk.h"
#include "replay/orphan.h"
#include "segment/definitions.h"
#include "system/crc32c.h"
#include "system/error.h"
#include "system/invariant.h"
#include "system/system.h"

enum { NO_WATCH = -1, NO_WATCH_EVER = -2 };

typedef enum reader_stage { IN_SEGMENTS, IN_LANES, AT_END } reader_stage;

/*
 * The pauses of a wait, which double, up to the most while something came within SILENCE_NS or nothing can be watched,
 * and then the long pause, which a watch of the directory may end; and the age at which everything is looked through
 * again in any case. The silence is twice as long as the time between two touches of the log's files (TOUCH_PAUSE_NS in
 * sealer.c): the first event after it is followed by a touch at once.
 */
enum { LEAST_PAUSE_NS = 200000, MOST_PAUSE_NS = 20000000, LOOK_AGAIN_NS = 1000000000 };
#define SILENCE_NS UINT64_C(2000000000)
#define LONG_PAUSE_NS UINT64_C(1000000000)

/* What the reader saw before it looked through the directory and found nothing more. */
typedef struct outlook {
  struct timespec changed; /* the directory's time of change, which a new or removed name moves */
  int live;
  uint64_t taken_ns;       /* monotonic; 0: the reader has not looked yet */
} outlook;

struct weir_reader {
  int directory;
  char *path;
  int skip_lanes;
  reader_stage stage;
  uint64_t next; /* every lower offset was given out, or reported as missing, or not asked for */
  segment_walk walk;

  /* The segment being read. */
  segment_name name;
  int open;
  int complete;     /* no block will be appended any more */
  int asked_ring;   /* the ring's definitions were read for this segment */

  /* The block being given. */
  const uint8_t *record;
  uint32_t records_left;
  uint64_t position; /* of the record in its lane */
  uint64_t offset;   /* of the record */

  weir_skip skips[2]; /* to be reported: a step notes at most what was removed and what is missing after it */
  uint32_t skip_count;
  int asked_start;   /* `start` was read, before the first segment */
  outlook quiet;     /* the last look that found nothing more */
  int follows;       /* the caller has waited for more at least once */
  uint64_t pause_ns; /* the next pause of a wait; 0: an event was given out since the last */
  uint64_t news_at;  /* monotonic: the last news, as far as waits saw; 0: an event was given out since the last wait */
  int watch;         /* of the directory; -1: none; negative: none, and there can't be one */
  sys_file watched;  /* what the watch's descriptor is of */
  struct orphan *orphan;
  uint64_t ring_loss_reported; /* the damaged ring that was reported: its inode, or 1 */
  definition_table definitions;
  segment_scan scan; /* of the segment being read */
};

/* The result of one step of the machine below. */
typedef enum step { STEP_AGAIN, STEP_EVENT, STEP_END, STEP_FAILED } step;

/* ---- Opening and closing ---------------------------------------------------------------------------------------- */

void weir_reader_options_init(weir_reader_options *options) {
  memset(options, 0, sizeof *options);
  options->struct_bytes = sizeof *options;
}

weir_status weir_reader_open(const char *directory, const weir_reader_options *options, weir_reader **reader,
                             weir_error *error) {
  *reader = NULL;
  if (options && options->struct_bytes != sizeof *options) {
    return fail(error, WEIR_ERROR_INVALID, 0, directory,
                "the options were not made by weir_reader_options_init of this version");
  }
  int fd;
  weir_status status = directory_open_read(directory, &fd, error);
  if (status != WEIR_OK) return status;
  weir_reader *made = (weir_reader *)calloc(1, sizeof *made);
  char *path = strdup(directory);
  if (!made || !path) {
    free(made);
    free(path);
    sys_close(fd);
    return fail(error, WEIR_ERROR_MEMORY, ENOMEM, directory, "out of memory to read %s", directory);
  }
  made->directory = made->walk.directory = fd;
  made->path = path;
  made->watch = NO_WATCH;
  if (options) {
    made->skip_lanes = options->skip_lanes != 0;
    made->next = options->from_offset;
  }
  *reader = made;
  return WEIR_OK;
}

int32_t weir_reader_is_live(const weir_reader *reader) { return directory_is_live(reader->directory); }

void weir_reader_close(weir_reader *reader) {
  if (!reader) return;
  if (reader->open) scan_close(&reader->scan);
  orphan_close(reader->orphan);
  definitions_free(&reader->definitions);
  segment_walk_free(&reader->walk);
  sys_close(reader->directory);
  sys_close_file(reader->watch, &reader->watched);
  free(reader->path);
  free(reader);
}

/* ---- What is passed over ----------------------------------------------------------------------------------------- */

static step failed(weir_reader *reader, int error, const char *name, weir_error *out) {
  if (error == -ENOTSUP) {
    fail_newer(out, reader->path, name);
  } else if (error == -EAGAIN) {
    fail_unsettled(out, "read", reader->path);
  } else {
    fail_system(out, error, "read", reader->path, name);
  }
  return STEP_FAILED;
}

/* Notes bytes or offsets that were passed over, unless they lie before what was asked for, or were reported already. */
static void pass_over(weir_reader *reader, const char *file, const scan_damage *damage, const char *reason) {
  uint64_t first = damage->first_offset, count = damage->count;
  if (count > 0 && first + count <= reader->next) return;
  if (count == 0 && first < reader->next) return;
  if (count > 0 && first < reader->next) {
    count -= reader->next - first;
    first = reader->next;
  }
  if (count > 0) reader->next = first + count;
  if (reader->skip_count == sizeof reader->skips / sizeof reader->skips[0]) return;
  weir_skip *skip = &reader->skips[reader->skip_count++];
  memset(skip, 0, sizeof *skip);
  skip->first_offset = first;
  skip->count = count;
  skip->position = damage->from;
  skip->bytes = damage->to - damage->from;
  snprintf(skip->file, sizeof skip->file, "%s", file);
  skip->reason = reason;
}

/* Notes what retention or the byte limit removed below `base`, as removed and not as damage. */
static void pass_over_removed(weir_reader *reader, uint64_t base) {
  log_start_slot start;
  if (base <= reader->next || log_start_read(reader->directory, reader->walk.log_id, &start) != 1) return;
  uint64_t end = start.first_offset < base ? start.first_offset : base;
  if (end <= reader->next) return;
  scan_damage removed = {.first_offset = reader->next, .count = end - reader->next};
  pass_over(reader, START_NAME, &removed, "removed by retention or the byte limit");
  reader->skips[reader->skip_count - 1].removed = 1;
}

/* Notes offsets below `base` that no block has. */
static void pass_over_hole(weir_reader *reader, const char *file, uint64_t base, uint64_t position,
                           const char *reason, int left_out) {
  if (base <= reader->next) return;
  if (left_out) { /* on purpose: a notice says so, and how many of the offsets were events' */
    scan_damage none = {.from = position, .to = position, .first_offset = reader->next};
    pass_over(reader, file, &none, "offsets left out after a power cut");
    reader->next = base;
    return;
  }
  scan_damage hole = {
      .from = position, .to = position, .first_offset = reader->next, .count = base - reader->next};
  pass_over(reader, file, &hole, reason);
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

/* Takes the definitions from the seal of a segment that is not renamed yet: a lost block may have had some. */
static void ask_seal(weir_reader *reader) {
  segment_scan walk = scan_again(&reader->scan);
  scan_damage damage;
  scan_result result;
  do result = scan_next(&walk, 1, &damage);
  while (result == SCAN_BLOCK || result == SCAN_DAMAGE);
  if (result == SCAN_SEALED && scan_summary(&walk)) {
    definitions_take(&reader->definitions, walk.block.opening, scan_seal_definitions(&walk),
                     scan_summary(&walk)->definition_bytes);
  }
  scan_again_close(&walk);
}

/*
 * The definition of a type or context: from the segment, or from the ring, or if it is built in from this library.
 */
static const definition *find_definition(weir_reader *reader, uint64_t opening, uint32_t number) {
  const definition *found = definitions_find(&reader->definitions, opening, number);
  if (!found && !reader->asked_ring) {
    reader->asked_ring = 1;
    orphan_definitions(reader->directory, opening, &reader->definitions);
    if (reader->open && reader->name.active) ask_seal(reader);
    found = definitions_find(&reader->definitions, opening, number);
  }
  if (!found && number < WEIR_TYPE_FIRST) {
    alignas(8) uint8_t entries[1024];
    definitions_take(&reader->definitions, opening, entries, notice_definitions(entries, opening));
    found = definitions_find(&reader->definitions, opening, number);
  }
  return found;
}

static void fill_event(weir_reader *reader, weir_event *event, uint64_t offset, weir_id id,
                       const calibration *calibration, const uint8_t boot_id[16], const uint8_t *record) {
  uint32_t word;
  memcpy(&word, record + offsetof(record_header, type), sizeof word);
  uint32_t context = record_context(word);
  const definition *type = find_definition(reader, id.opening, record_type(word));
  event_fill(event, calibration, record, type, context ? find_definition(reader, id.opening, context) : NULL);
  memcpy(event->boot_id, boot_id, sizeof event->boot_id);
  event->offset = offset;
  event->id = id;
  reader->next = offset + 1;
}

static weir_id id_of(uint64_t opening, uint64_t lane, uint64_t position) {
  return (weir_id){.opening = opening, .sequence = lane << 48 | (position >> 3 & ((UINT64_C(1) << 48) - 1))};
}

static void pass_records(weir_reader *reader, uint32_t count, uint64_t bytes) {
  reader->record += bytes;
  reader->position += bytes;
  reader->offset += count;
  reader->records_left -= count;
}

static uint64_t size_of(const uint8_t *record) {
  uint32_t length;
  memcpy(&length, record + offsetof(record_header, length), sizeof length);
  return record_size(length);
}

/* Goes to the block's next record that was asked for: 1, or 0 if there is none. */
static int next_of_block(weir_reader *reader, weir_event *event) {
  const block_header *block = &reader->scan.block;
  while (reader->records_left > 0) {
    const uint8_t *record = reader->record;
    uint64_t position = reader->position, offset = reader->offset;
    pass_records(reader, 1, size_of(record));
    if (offset < reader->next) continue;
    weir_id id = block->kind == BLOCK_NOTICES ? id_of(block->opening, NOTICE_LANE, offset << 3)
                                              : id_of(block->opening, block->lane, position);
    const segment_header *header = &reader->scan.header;
    fill_event(reader, event, offset, id, &block->calibration, header->captured_boot_id, record);
    if (header->incompatible & SEGMENT_COLLECTED) {
      event->host = (const char *)header->host.utf8;
      event->host_bytes = strnlen(event->host, sizeof header->host.utf8);
    }
    return 1;
  }
  return 0;
}

/* Goes to the block's first record that was asked for: 1, or 0 if there is none. */
static int rest_of_block(weir_reader *reader) {
  while (reader->records_left > 0 && reader->offset < reader->next) pass_records(reader, 1, size_of(reader->record));
  return reader->records_left > 0;
}

/* ---- Whether there may be more ----------------------------------------------------------------------------------- */

/* Call before the directory is looked through: any later change is then a difference. */
static outlook take_outlook(const weir_reader *reader) {
  struct stat status;
  outlook now = {.live = directory_is_live(reader->directory), .taken_ns = sys_monotonic_ns()};
  if (sys_status(reader->directory, &status) != 0) return (outlook){.live = now.live};
  now.changed = status.st_mtim;
  return now;
}

/*
 * Whether nothing has changed since the last look. On older kernels two changes within a tick of the clock have the
 * same time of change, so an equal time is believed only for a while.
 */
static int is_quiet(const weir_reader *reader, const outlook *now) {
  const outlook *before = &reader->quiet;
  return before->taken_ns != 0 && now->taken_ns != 0 && now->taken_ns - before->taken_ns < LOOK_AGAIN_NS &&
         before->live == now->live && before->changed.tv_sec == now->changed.tv_sec &&
         before->changed.tv_nsec == now->changed.tv_nsec;
}

/* ---- Segments ---------------------------------------------------------------------------------------------------- */

static int take_block(weir_reader *reader) {
  const segment_scan *scan = &reader->scan;
  const block_header *block = &scan->block;
  pass_over_hole(reader, reader->name.name, block->base_offset, block->position, "no block holds these offsets", 0);
  if (block->kind == BLOCK_DEFINITIONS) {
    return definitions_take(&reader->definitions, block->opening, scan->payload, block->payload_bytes);
  }
  if (block->kind == BLOCK_SEAL) return 0;
  reader->record = scan->payload;
  reader->records_left = block->count;
  reader->position = block->lane_from;
  reader->offset = block->base_offset;
  return 0;
}

/* Begins with a segment. Takes the definitions in its seal, so that a damaged block of definitions costs nothing. */
static step begin_segment(weir_reader *reader, const scan_damage *damage, weir_error *error) {
  segment_scan *scan = &reader->scan;
  reader->open = 1;
  reader->complete = !reader->name.active;
  reader->asked_ring = 0;
  reader->records_left = 0;
  definitions_trim(&reader->definitions, scan->header.opening);
  pass_over_removed(reader, scan->header.base_offset);
  if (!scan->header_valid) {
    scan_damage header = *damage;
    if (scan->header.base_offset > reader->next) { /* one skip reports the bytes and the offsets */
      header.first_offset = reader->next;
      header.count = scan->header.base_offset - reader->next;
    }
    pass_over(reader, reader->name.name, &header, damage->reason);
  } else {
    pass_over_hole(reader, reader->name.name, scan->header.base_offset, 0, "no segment holds these offsets",
                   scan->header.flags & SEGMENT_AFTER_CUT);
  }
  int result = 0;
  if (scan_seal(scan) == 0) {
    const seal_summary *summary = scan_summary(scan);
    result = definitions_take(&reader->definitions, scan->block.opening, scan_seal_definitions(scan),
                              summary->definition_bytes);
    scan_rewind(scan);
    scan_seek(scan, reader->next); /* with every definition in hand, the blocks before are not needed */
  }
  return result == 0 ? STEP_AGAIN : failed(reader, result, reader->name.name, error);
}

/* No segment is left: goes on with a dead writer's lanes, or ends for now. */
static step after_segments(weir_reader *reader, const outlook *before) {
  reader->quiet = *before;
  if (directory_is_live(reader->directory)) return STEP_END;
  reader->stage = reader->skip_lanes ? AT_END : IN_LANES;
  return reader->skip_lanes ? STEP_END : STEP_AGAIN;
}

/*
 * Reads `start` before the first segment: one below it is a leftover, which the next opening removes. A file that is
 * damaged, or another log's, is reported, and counts as absent.
 */
static step ask_start(weir_reader *reader, weir_error *error) {
  log_start_slot start;
  reader->asked_start = 1;
  segment_walk_log_changed(&reader->walk); /* whose `start` it must be */
  int result = log_start_read(reader->directory, reader->walk.log_id, &start);
  const char *problem = log_start_problem(result);
  if (result < 0 && !problem) return failed(reader, result, START_NAME, error);
  scan_damage unknown = {.first_offset = reader->next};
  if (problem) pass_over(reader, START_NAME, &unknown, problem);
  pass_over_removed(reader, UINT64_MAX);
  return STEP_AGAIN;
}

static step open_segment(weir_reader *reader, weir_error *error) {
  scan_damage damage;
  if (!reader->asked_start) return ask_start(reader, error);
  outlook before = take_outlook(reader);
  switch (segment_walk_next(&reader->walk, reader->next, &reader->scan, &reader->name, &damage)) {
    case WALK_OPENED: {
      int forgets = orphan_forgets(reader->directory, reader->walk.log_id, &reader->scan);
      if (forgets == 0) return begin_segment(reader, &damage, error);
      scan_close(&reader->scan);
      return forgets > 0 ? STEP_AGAIN : failed(reader, forgets, reader->name.name, error);
    }
    case WALK_FOREIGN: {
      /* Anyone may have named the file, so the offset in its name proves no missing offsets. */
      scan_damage file = {.to = damage.to, .first_offset = reader->next};
      pass_over(reader, reader->name.name, &file, damage.reason);
      return STEP_AGAIN;
    }
    case WALK_NONE:
      return after_segments(reader, &before);
    default:
      return failed(reader, damage.error, reader->name.name[0] ? reader->name.name : NULL, error);
  }
}

static void end_segment(weir_reader *reader) {
  scan_close(&reader->scan);
  reader->open = 0;
}

/* At the end of the segment's blocks so far. */
static step at_tail(weir_reader *reader, scan_damage *damage, weir_error *error) {
  if (reader->complete) {
    if (!reader->name.active && !damage->reason) damage->reason = "sealed segment has no seal";
    /*
     * Which offsets a damaged last block had is for the next segment or the ring to say: its events may be in a lane.
     */
    if (reader->name.active) damage->count = 0;
    if (damage->reason) pass_over(reader, reader->name.name, damage, damage->reason);
    end_segment(reader);
    return STEP_AGAIN;
  }
  /* Taken before the listing: a writer that is dead by now has written nothing after it. */
  outlook before = take_outlook(reader);
  if (before.live && is_quiet(reader, &before)) return STEP_END;
  int goes_on = segment_walk_goes_on(&reader->walk);
  if (goes_on == -ENOTSUP) goes_on = 1; /* a newer version's: refused once this segment is read */
  if (goes_on < 0) return failed(reader, goes_on, NULL, error);
  if (before.live && !goes_on) {
    reader->quiet = before;
    return STEP_END;
  }
  reader->complete = 1; /* blocks may have come since the last read: read once more to the end */
  return STEP_AGAIN;
}

static step read_segments(weir_reader *reader, weir_error *error) {
  if (!reader->open) return open_segment(reader, error);
  block_header header; /* blocks below the wanted offset are passed over by their headers */
  while (reader->scan.next_offset < reader->next && scan_peek(&reader->scan, &header) == 1 && header.count > 0 &&
         header.base_offset + header.count <= reader->next) {
    scan_pass(&reader->scan, &header);
  }
  scan_damage damage;
  switch (scan_next(&reader->scan, reader->complete, &damage)) {
    case SCAN_BLOCK: {
      int result = take_block(reader);
      return result == 0 ? STEP_AGAIN : failed(reader, result, reader->name.name, error);
    }
    case SCAN_SEALED: {
      /* Keep the segment's definitions for the ring's records: the ring's own may be lost with their pages. */
      const segment_scan *scan = &reader->scan;
      int result = definitions_take(&reader->definitions, scan->block.opening, scan_seal_definitions(scan),
                                    scan_summary(scan)->definition_bytes);
      if (result == 0) result = take_block(reader);
      if (result != 0) return failed(reader, result, reader->name.name, error);
      end_segment(reader);
      return STEP_AGAIN;
    }
    case SCAN_DAMAGE:
      pass_over(reader, reader->name.name, &damage, damage.reason);
      return STEP_AGAIN;
    case SCAN_TAIL:
      return at_tail(reader, &damage, error);
    default:
      return failed(reader, damage.error, reader->name.name, error);
  }
}

/* ---- Lanes ------------------------------------------------------------------------------------------------------- */

static step back_to_segments(weir_reader *reader) {
  orphan_close(reader->orphan);
  reader->orphan = NULL;
  reader->stage = IN_SEGMENTS;
  return STEP_AGAIN;
}

/* A ring that can't be read is reported once; the log then ends with its segments. */
static step ring_failed(weir_reader *reader, int result, weir_error *error) {
  if (result == -EAGAIN) return back_to_segments(reader);
  const char *problem = orphan_problem(result), *name = result == -ESTALE ? LOCATOR_NAME : RING_NAME;
  if (!problem) return failed(reader, result, RING_NAME, error);
  struct stat status;
  uint64_t inode = sys_status_at(reader->directory, name, &status) == 0 ? (uint64_t)status.st_ino : 1;
  if (reader->ring_loss_reported != inode) {
    scan_damage unknown = {.first_offset = reader->next};
    pass_over(reader, name, &unknown, problem);
    reader->ring_loss_reported = inode;
  }
  orphan_close(reader->orphan);
  reader->orphan = NULL;
  reader->stage = AT_END;
  return STEP_AGAIN;
}

#define LOST_OFFSETS "these offsets had been given, but no block holds their events"

/*
 * There is no ring, nor a word that a close removed it. So its events are lost, unless the directory is a copy of
 * segments alone, or the writer died while it made the ring. Reported once.
 */
static step end_without_ring(weir_reader *reader) {
  int lost = reader->walk.started && directory_was_opened(reader->directory) && !orphan_being_made(reader->directory);
  if (lost && directory_is_live(reader->directory)) return back_to_segments(reader);
  reader->stage = AT_END;
  if (!lost || reader->ring_loss_reported != 0) return STEP_END;
  scan_damage unknown = {.first_offset = reader->next};
  pass_over(reader, RING_NAME, &unknown, "the ring is missing: events that no segment had yet are lost");
  reader->ring_loss_reported = 1;
  return STEP_AGAIN;
}

static step open_lanes(weir_reader *reader, weir_error *error) {
  reader->quiet = take_outlook(reader);
  int result = orphan_open(reader->directory, reader->walk.log_id, &reader->orphan);
  if (result == -EIDRM && segment_walk_log_changed(&reader->walk)) return back_to_segments(reader);
  if (result != 0) return ring_failed(reader, result, error);
  uint64_t end = 0;
  int closed = !reader->orphan && orphan_closed_end(reader->directory, &end);
  if (closed && end <= reader->next) {
    reader->stage = AT_END;
    return STEP_END;
  }
  /* A writer may have lived between the last look at the segments and the ring: then there are new segments. */
  int goes_on = segment_walk_goes_on(&reader->walk);
  if (goes_on != 0) {
    step again = back_to_segments(reader); /* after a failure too: the next call looks once more */
    return goes_on < 0 ? failed(reader, goes_on, NULL, error) : again;
  }
  if (!reader->orphan && !closed) return end_without_ring(reader);
  if (!reader->orphan) {
    pass_over_removed(reader, end);
    pass_over_hole(reader, LOCATOR_NAME, end, 0, LOST_OFFSETS, 0);
    reader->stage = AT_END;
    return STEP_AGAIN;
  }
  reader->asked_ring = 0;
  definitions_trim(&reader->definitions, reader->orphan->header.opening);
  pass_over_removed(reader, reader->orphan->start_offset);
  const orphan *orphan = reader->orphan;
  pass_over_hole(reader, RING_NAME, orphan->start_offset, 0, LOST_OFFSETS, orphan->start_offset > orphan->known_end);
  return STEP_AGAIN;
}

static step read_lanes(weir_reader *reader, weir_event *event, weir_error *error) {
  if (!reader->orphan) return open_lanes(reader, error);
  orphan_item item;
  int result;
  do result = orphan_next(reader->orphan, reader->directory, &item);
  while (result == 1 && item.offset < reader->next);
  if (result < 0) return ring_failed(reader, result, error);
  if (result == 0) {
    reader->stage = AT_END;
    return STEP_END;
  }
  weir_id id = item.kind == ORPHAN_RECORD ? id_of(reader->orphan->header.opening, item.lane, item.from.position)
                                        : id_of(reader->orphan->header.opening, NOTICE_LANE, item.offset << 3);
  const orphan *orphan = reader->orphan;
  fill_event(reader, event, item.offset, id, &orphan->calibration, orphan->header.boot_id,
             (const uint8_t *)item.record);
  return STEP_EVENT;
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

/*
 * Ends for now. Fails if the directory was removed, because no name will ever come into it again: who follows it would
 * wait without an end.
 */
static weir_status at_end(const weir_reader *reader, weir_error *error) {
  struct stat status;
  if (!reader->follows || sys_status(reader->directory, &status) != 0 || status.st_nlink > 0) return WEIR_END;
  return fail(error, WEIR_ERROR_MISSING, 0, reader->path,
              "the directory %s was removed while it was followed; if a log is there again, follow it anew",
              reader->path);
}

/* ---- The machine ------------------------------------------------------------------------------------------------- */

/* Null for `event`: the reader gives out runs. */
static step take_step(weir_reader *reader, weir_event *event, weir_error *error) {
  if (reader->records_left > 0 && (event ? next_of_block(reader, event) : rest_of_block(reader))) return STEP_EVENT;
  if (reader->stage == IN_SEGMENTS) return read_segments(reader, error);
  if (reader->stage == IN_LANES) return read_lanes(reader, event, error);
  return STEP_END;
}

static weir_status go_on(weir_reader *reader, weir_event *event, weir_skip *skip, weir_error *error) {
  weir_error unwanted;
  if (!error) error = &unwanted;
  if (reader->stage == AT_END) {
    outlook before = take_outlook(reader);
    if (reader->orphan && orphan_is_current(reader->orphan, reader->directory) == 1) reader->quiet = before;
    else back_to_segments(reader); /* there may be more now */
  }
  for (;;) {
    if (reader->skip_count > 0) {
      reader->pause_ns = reader->news_at = 0;
      if (skip) *skip = reader->skips[0];
      reader->skips[0] = reader->skips[1];
      reader->skip_count--;
      return WEIR_SKIPPED;
    }
    switch (take_step(reader, event, error)) {
      case STEP_AGAIN: break;
      case STEP_EVENT: reader->pause_ns = reader->news_at = 0; return WEIR_OK;
      case STEP_END: return at_end(reader, error);
      case STEP_FAILED: return error->status;
    }
  }
}

weir_status weir_reader_next(weir_reader *reader, weir_event *event, weir_skip *skip, weir_error *error) {
  return go_on(reader, event, skip, error);
}

weir_status reader_run(weir_reader *reader, record_run *run, weir_skip *skip, weir_error *error) {
  INVARIANT(reader->skip_lanes);
  weir_status status = go_on(reader, NULL, skip, error);
  *run = (record_run){.scan = &reader->scan,
                      .records = reader->record,
                      .count = reader->records_left,
                      .position = reader->position,
                      .offset = reader->offset};
  return status;
}

void reader_take(weir_reader *reader, uint32_t count, uint64_t bytes) {
  INVARIANT(count <= reader->records_left);
  pass_records(reader, count, bytes);
  reader->next = reader->offset;
}

const definition *reader_definition(weir_reader *reader, uint64_t opening, uint32_t number) {
  return find_definition(reader, opening, number);
}

void weir_reader_place(const weir_reader *reader, weir_event_place *place) {
  int in_lanes = reader->stage == IN_LANES && reader->orphan;
  memset(place, 0, sizeof *place);
  snprintf(place->file, sizeof place->file, "%s", in_lanes ? RING_NAME : reader->name.name);
  place->block = in_lanes ? 0 : reader->scan.block.position;
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

static int has_news(weir_reader *reader) {
  /* Before the look: what happens after it is reported anew. */
  int told = reader->watch >= 0 ? sys_watch_take(reader->watch, &reader->watched) : 0;
  if (told < 0) reader->watch = NO_WATCH_EVER; /* the host has closed it */
  else if (told > 0) reader->news_at = sys_monotonic_ns();
  if (reader->records_left > 0 || reader->skip_count > 0) return 1;
  outlook now = take_outlook(reader);
  if (!is_quiet(reader, &now)) return 1;
  block_header header;
  return reader->open && scan_peek(&reader->scan, &header) != 0;
}

/*
 * The pause before the next look: the long one once the log was silent and is watched. Begins to watch the directory
 * after the silence: what happened before is for one more look to find, without a pause.
 */
static uint64_t next_pause(weir_reader *reader, uint64_t now) {
  if (reader->news_at == 0) reader->news_at = now;
  if (now - reader->news_at < SILENCE_NS) return reader->pause_ns;
  if (reader->watch == NO_WATCH_EVER) return reader->pause_ns;
  if (reader->watch >= 0) return LONG_PAUSE_NS;
  int watch = sys_watch(reader->directory, &reader->watched);
  reader->watch = watch >= 0 ? watch : NO_WATCH_EVER;
  return watch >= 0 ? 0 : reader->pause_ns;
}

static void lengthen_pause(weir_reader *reader) {
  reader->pause_ns = reader->pause_ns == 0 ? (uint64_t)LEAST_PAUSE_NS : reader->pause_ns * 2;
  if (reader->pause_ns > MOST_PAUSE_NS) reader->pause_ns = MOST_PAUSE_NS;
}

weir_status weir_reader_wait(weir_reader *reader, uint64_t timeout_ns) {
  reader->follows = 1;
  uint64_t began = sys_monotonic_ns(), now = began;
  for (;;) {
    uint64_t left = now - began < timeout_ns ? timeout_ns - (now - began) : 0;
    /* Pause first if the last wait found only a half-written block. */
    uint64_t pause = left > 0 ? next_pause(reader, now) : 0;
    if (pause > left) pause = left;
    if (pause > 0 && reader->watch >= 0) {
      sys_watch_wait(reader->watch, pause);
    } else if (pause > 0) {
      sys_sleep_ns(pause);
    }
    lengthen_pause(reader);
    if (has_news(reader)) return WEIR_OK;
    now = sys_monotonic_ns();
    if (left == 0 || now - began >= timeout_ns) return WEIR_ERROR_TIMEOUT;
  }
}

int32_t weir_reader_descriptor(weir_reader *reader, uint64_t *pause_ns) {
  reader->follows = 1;
  *pause_ns = next_pause(reader, sys_monotonic_ns());
  return reader->watch >= 0 ? reader->watch : -1;
}
