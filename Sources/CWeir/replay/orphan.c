/* orphan.c: see orphan.h. drained.c decides where each lane starts and ends, for recovery and for readers alike. */
#include "replay/orphan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "directory/directory.h"
#include "directory/segment_list.h"
#include "format/definition.h"
#include "format/ring_header.h"
#include "ring/ring_owner.h"
#include "system/system.h"

/* Reads all of `count` bytes; -EBADMSG if the file ends before. */
static int read_whole(int fd, void *bytes, uint64_t count, uint64_t at) {
  int64_t got = sys_read_at(fd, bytes, count, at);
  if (got < 0) return (int)got;
  return (uint64_t)got == count ? 0 : -EBADMSG;
}

/* Reads and checks the header of the ring file. */
static int read_header(orphan *ring) {
  struct stat status;
  int error = sys_status(ring->fd, &status);
  if (error == 0) error = read_whole(ring->fd, &ring->header, sizeof ring->header, 0);
  if (error == 0) error = ring_header_check(&ring->header, (uint64_t)status.st_size);
  if (error == 0) ring->inode = (uint64_t)status.st_ino;
  return error;
}

/* Holds the ring's boot against the one that is running. */
static void compare_boots(orphan *ring, const uint8_t running[16]) {
  int other = !sys_same_boot(running, ring->header.boot_id);
  ring->rebooted = other && ring->header.closed != 1;
  ring->empty = other && ring->header.closed == 1;
}

/* Opens the ring file and checks its header; the descriptor goes to ring->fd. */
static int open_ring(orphan *ring, int directory) {
  ring->fd = -1;
  int error = locator_find(directory, &ring->place);
  if (error != 0) return error;
  if (ring->place.where == RING_VANISHED) return -ESTALE;
  if (ring->place.where == RING_CLOSED) return -ENOENT;
  ring->fd = sys_open_read(ring->place.directory, ring->place.name);
  if (ring->fd < 0) return ring->fd;
  uint8_t running[16];
  error = read_header(ring);
  if (error == 0) error = sys_boot_id(running);
  if (error == -ENOENT) error = 0; /* zeros: see sys_same_boot */
  if (error == 0) compare_boots(ring, running);
  return error;
}

/*
 * The opening writes the control pages of all lanes but the overflow lanes, and syncs them. The control page of an
 * overflow lane may not have reached the disk before a power cut: then its block holds what was there before, and not
 * the number of the ring's opening. Nothing of that lane is known.
 */
static int is_lost(const orphan *ring, uint32_t lane) {
  return ring->rebooted && lane >= orphan_first_overflow(ring) &&
         ring->controls[lane].opening != ring->header.opening;
}

/*
 * How many lanes may hold something, the first ones. After a power cut all of them: the header's page may be older than
 * the pages of lanes that came into play later, and is_lost judges each lane by its own page.
 */
static uint32_t lanes_in_play(const orphan *ring) {
  return ring->rebooted ? ring->header.lane_count : ring_header_lanes(&ring->header);
}

static int read_controls(orphan *ring) {
  int error = 0;
  ring->controls = (lane_control *)calloc(ring->header.lane_count, sizeof *ring->controls);
  if (!ring->controls) return -ENOMEM;
  /* A closed ring of another boot holds nothing, whatever its pages say. */
  if (ring->empty) memset(ring->header.unlaned_dropped, 0, sizeof ring->header.unlaned_dropped);
  if (ring->empty) return 0;
  uint32_t lanes = lanes_in_play(ring);
  for (uint32_t lane = 0; error == 0 && lane < lanes; lane++) {
    error = read_whole(ring->fd, &ring->controls[lane], sizeof *ring->controls,
                       ring->header.lanes_at + lane * ring->header.lane_stride);
    if (error == 0 && is_lost(ring, lane)) memset(&ring->controls[lane], 0, sizeof *ring->controls);
  }
  return error;
}

int orphan_read_ring(orphan *ring, int directory) {
  memset(ring, 0, sizeof *ring);
  int error = open_ring(ring, directory);
  return error == 0 ? read_controls(ring) : error;
}

int orphan_hold(int fd, const uint8_t running[16], orphan **made) {
  orphan *ring = *made = (orphan *)calloc(1, sizeof *ring);
  if (!ring) return -ENOMEM;
  ring->fd = fd;
  ring->held = 1;
  int error = read_header(ring);
  if (error == 0) compare_boots(ring, running);
  if (error == 0) error = read_controls(ring);
  if (error == 0) ring_header_calibration(&ring->header, &ring->calibration);
  return error;
}

int orphan_is_current(const orphan *ring, int directory) {
  if (ring->held) return 1;
  struct stat status;
  if (directory_is_live(directory)) return 0;
  const ring_place *place = &ring->place;
  int error = sys_status_at(place->directory, place->name, &status);
  if (error != 0) return error == -ENOENT ? 0 : error;
  if ((uint64_t)status.st_ino != ring->inode) return 0;
  /* A new opening may reuse the file: then it wrote its own header before anything else. */
  uint8_t fixed[RING_FIXED_BYTES];
  error = read_whole(ring->fd, fixed, sizeof fixed, 0);
  if (error != 0) return error == -EBADMSG ? 0 : error;
  return memcmp(fixed, &ring->header, sizeof fixed) == 0;
}

/* Returns `anothers` if the ring is not of the opening that wrote the newest segment. */
static int check_owner(int directory, const segment_list *list, const ring_word *word, int anothers) {
  ring_owner owner;
  int error = ring_owner_find(directory, list, 1, word, &owner);
  return error != 0 ? error : owner == RING_ANOTHERS ? anothers : 0;
}

/*
 * For a log whose locator says that a close removed the ring: -ENOENT, or -ESTALE if the locator is of another opening.
 */
static int check_closed(const orphan *ring, int directory, uint64_t log_id, const segment_list *list) {
  const ring_locator *closed = &ring->place.locator;
  const ring_word word = {log_id, closed->log_id, closed->opening, closed->next_offset, 1};
  int error = check_owner(directory, list, &word, -ESTALE);
  ring_place now;
  if (error != -ESTALE || locator_find(directory, &now) != 0) return error == 0 ? -ENOENT : error;
  int same = now.where == RING_CLOSED && memcmp(&now.locator, closed, sizeof *closed) == 0;
  locator_leave(&now);
  return same ? error : -EAGAIN;
}

static int check_orphan(orphan *ring, int directory, uint64_t log_id, const segment_list *list) {
  const ring_header *header = &ring->header;
  const ring_word word = {log_id, header->log_id, header->opening, header->base_offset, header->closed == 1};
  int error = check_owner(directory, list, &word, -EIDRM);
  if (error == 0) error = drained_read(&ring->drained, directory, log_id, list, header, ring->rebooted);
  if (error != 0 && error != -EIDRM) return error;
  /* What was read is consistent only if no writer was at work meanwhile. */
  int current = orphan_is_current(ring, directory);
  return current == 1 ? error : current < 0 ? current : -EAGAIN;
}

static int open_orphan(orphan *ring, int directory, uint64_t log_id) {
  int error = orphan_read_ring(ring, directory);
  int closed = error == -ENOENT && ring->place.where == RING_CLOSED;
  if (error != 0 && !closed) return error;
  segment_list list;
  error = segment_list_read(directory, &list);
  if (error != 0) return error;
  error = closed ? check_closed(ring, directory, log_id, &list)
                 : check_orphan(ring, directory, log_id, &list);
  segment_list_free(&list);
  if (error == 0) orphan_begin(ring);
  return error;
}

/* Whether the ring is this log's, of another boot and not closed, and the segment is one that drained_forgets. */
static int is_forgotten(orphan *ring, int directory, uint64_t log_id, const segment_scan *scan) {
  const ring_header *header = &ring->header;
  segment_list list;
  drained drained;
  if (open_ring(ring, directory) != 0 || !ring->rebooted) return 0;
  const ring_word word = {log_id, header->log_id, header->opening, header->base_offset, 0};
  drained_start(&drained, header, 1);
  if (!drained_forgets(&drained, scan) || segment_list_read(directory, &list) != 0) return 0;
  int own = check_owner(directory, &list, &word, -EIDRM) == 0;
  segment_list_free(&list);
  return own;
}

int orphan_forgets(int directory, uint64_t log_id, const segment_scan *scan) {
  const segment_header *header = &scan->header;
  if (!scan->active || !scan->header_valid || !(header->flags & SEGMENT_RECOVERED)) return 0;
  if (header->flags & SEGMENT_AFTER_CUT) return 0;
  orphan *ring = (orphan *)calloc(1, sizeof *ring);
  if (!ring) return -ENOMEM;
  int forgets = is_forgotten(ring, directory, log_id, scan);
  orphan_close(ring);
  return forgets;
}

void orphan_begin(orphan *ring) {
  ring->calibration = drained_calibration(&ring->drained, &ring->header);
  ring->log_end = ring->drained.log_end;
  ring->start_offset = drained_start_offset(&ring->drained, ring_header_end(&ring->header));
  ring->known_end = ring->start_offset - (ring->rebooted && !ring->drained.after_cut ? OFFSETS_LEFT_OUT : 0);
  ring->tail_reported = !ring->rebooted || ring->drained.after_cut;
  ring->next_offset = ring->start_offset;
  /* No lane uses the bytes after its overhang, however large the header's lane_stride is. */
  ring->lane_room = ring->header.lane_bytes + ring->header.record_bytes + RECORD_SLACK_BYTES;
  ring->viewed = ring->header.lane_count;
  ring->reason = 1;
}

int orphan_open(int directory, uint64_t log_id, orphan **made) {
  *made = NULL;
  orphan *ring = (orphan *)malloc(sizeof *ring);
  if (!ring) return -ENOMEM;
  int error = open_orphan(ring, directory, log_id);
  if (error == 0) {
    *made = ring;
    return 0;
  }
  /* A writer that is at work by now may have moved the ring meanwhile. */
  if (error == -ESTALE && directory_is_live(directory)) error = -EAGAIN;
  orphan_close(ring);
  return error == -ENOENT ? 0 : error;
}

const char *orphan_problem(int error) {
  if (error == -EBADMSG || error == -ELOOP) return "the ring is damaged: events that no segment had yet can't be read";
  if (error == -ESTALE) {
    return "the ring is not where it was: events that no segment had yet are lost, and how many is not known";
  }
  if (error == -EIDRM) {
    return "the ring is of another opening, or another log: events that no segment had yet are lost, unless the log's "
           "own ring is put back before it is opened";
  }
  return NULL;
}

int orphan_being_made(int directory) {
  ring_place place;
  struct stat status;
  if (locator_find(directory, &place) != 0) return 0;
  int there = sys_status_at(place.directory, place.new_name, &status) == 0;
  locator_leave(&place);
  return there;
}

int orphan_closed_end(int directory, uint64_t *next_offset) {
  ring_place place;
  if (locator_find(directory, &place) != 0) return 0;
  *next_offset = place.locator.next_offset;
  int closed = place.where == RING_CLOSED;
  locator_leave(&place);
  return closed;
}

/* Turns `view` to a lane, whose bytes are not read yet. */
static void view_lane(orphan *ring, uint32_t lane) {
  if (ring->viewed == lane) return;
  record_sums_free(&ring->sums);
  ring->viewed = lane;
  ring->viewed_bytes = 0;
  ring->view = (lane_view){.data = ring->bytes,
                           .capacity = ring->header.lane_bytes,
                           .record_bytes = ring->header.record_bytes,
                           .seed = record_seed(ring->header.opening, lane),
                           .rebooted = ring->rebooted,
                           .sums = &ring->sums};
}

/*
 * Reads the bytes of [from, to) of the lane in `view`. A stretch past the lane's end goes on in the overhang with its
 * last record, then at the lane's start.
 */
static int read_bytes(orphan *ring, int directory, uint64_t from, uint64_t to) {
  if (ring->viewed_bytes) return 0;
  if (!ring->bytes) ring->bytes = (uint8_t *)malloc(ring->lane_room);
  if (!ring->bytes) return -ENOMEM;
  ring->view.data = ring->bytes;
  uint64_t lane = ring->header.lanes_at + ring->viewed * ring->header.lane_stride + LANE_CONTROL_BYTES;
  uint64_t capacity = ring->view.capacity, start = from & (capacity - 1), end = start + (to - from);
  uint64_t first_end = end < ring->lane_room ? end : ring->lane_room;
  int error = read_whole(ring->fd, ring->bytes + start, first_end - start, lane + start);
  if (error == 0 && start > 0 && end > capacity) error = read_whole(ring->fd, ring->bytes, end - capacity, lane);
  if (error != 0) return error;
  int current = orphan_is_current(ring, directory);
  if (current != 1) return current < 0 ? current : -EAGAIN;
  ring->viewed_bytes = 1;
  return 0;
}

/*
 * Whether no record was ever stored to a lane. After a power cut a search through the whole lane would tell, too; most
 * overflow lanes are holes.
 */
static int is_unused(const orphan *ring, uint32_t lane) {
  uint64_t records = ring->header.lanes_at + lane * ring->header.lane_stride + LANE_CONTROL_BYTES;
  return lane >= lanes_in_play(ring) || (ring->rebooted && sys_is_hole(ring->fd, records, ring->lane_room));
}

int orphan_settle(orphan *ring, int directory, uint32_t lane) {
  if (ring->settled[lane]) return 0;
  if (is_unused(ring, lane)) {
    ring->from[lane] = ring->to[lane] = ring->drained.known[lane] ? ring->drained.position[lane] : 0;
    ring->settled[lane] = 1;
    return 0;
  }
  const lane_control *control = &ring->controls[lane];
  view_lane(ring, lane);
  int plausible = drained_plausible(head_position(control->head), control->tail, ring->view.capacity);
  if (ring->rebooted || !plausible) {
    /* All of it, overhang included. */
    int error = read_bytes(ring, directory, 0, ring->lane_room);
    if (error != 0) return error;
  }
  drained_lane(&ring->drained, &ring->view, lane, control, &ring->from[lane], &ring->to[lane]);
  ring->settled[lane] = 1;
  return 0;
}

/* Begins the walk through a lane. */
static int load_lane(orphan *ring, int directory) {
  int error = orphan_settle(ring, directory, ring->lane);
  ring->position = ring->from[ring->lane];
  ring->end = ring->to[ring->lane];
  ring->records = drained_records(&ring->drained, ring->lane);
  ring->hole_to = 0;
  view_lane(ring, ring->lane);
  if (error != 0 || ring->position >= ring->end) return error;
  /* Of more than one lap, which only damage makes, all of it. */
  if (ring->end - ring->position > ring->view.capacity) return read_bytes(ring, directory, 0, ring->lane_room);
  return read_bytes(ring, directory, ring->position, ring->end);

}

/* Where the walk is in its lane. */
static lane_mark here(const orphan *ring) { return (lane_mark){ring->position, ring->records}; }

static void take_record(orphan *ring, const record_header *record, uint64_t size, orphan_item *item) {
  *item = (orphan_item){.kind = ORPHAN_RECORD,
                      .offset = ring->next_offset++,
                      .lane = ring->lane,
                      .from = here(ring),
                      .record = record};
  ring->position += size;
  ring->records = record_number(ring->records, record->index) + 1;
  item->to = here(ring);
}

/* A notice of `bytes` of a lane, or of the unknown tail. */
static void take_hole_notice(orphan *ring, orphan_kind kind, uint32_t lane, uint64_t bytes, const char *reason,
                             uint64_t events, orphan_item *item) {
  *item = (orphan_item){.kind = kind,
                      .offset = ring->next_offset++,
                      .lane = lane,
                      .dropped = events,
                      .record = (const record_header *)ring->notice};
  notice_hole((uint8_t *)ring->notice, ring->header.opening, item->offset, ring->calibration.base_ticks, reason, lane,
              bytes, events);
}

/*
 * A notice of what a lane, or captures without a lane, lost for `reason`: `total` in all, of which the log reports
 * `reported`.
 */
static void take_gap(orphan *ring, uint32_t lane, int32_t reason, uint64_t total, uint64_t reported,
                     orphan_item *item) {
  *item = (orphan_item){.kind = ORPHAN_GAP,
                      .offset = ring->next_offset++,
                      .lane = lane,
                      .reason = reason,
                      .dropped = total - reported,
                      .record = (const record_header *)ring->notice};
  notice_gap((uint8_t *)ring->notice, ring->header.opening, item->offset, ring->calibration.base_ticks, lane, reason,
             item->dropped, total);
}

/*
 * A stretch without a record: one notice, or two if part of it had been overwritten before a power cut took the rest.
 */
static void take_hole(orphan *ring, orphan_item *item) {
  const lane_mark from = here(ring);
  uint64_t overwritten = 0;
  int begins = ring->hole_to == 0;
  if (begins) {
    const lane_control *control = &ring->controls[ring->lane];
    ring->hole_to = record_resync(&ring->view, ring->position, ring->end, ring->records, &ring->hole_events);
    if (ring->rebooted) {
      overwritten = drained_overwritten(&ring->drained, ring->lane, control, ring->position, ring->hole_to,
                                         ring->hole_events);
    }
  }
  if (overwritten > 0) {
    const lane_control *control = &ring->controls[ring->lane];
    uint64_t reported = drained_reported(&ring->drained, ring->lane, WEIR_LOST_OVERWRITTEN,
                                          control->reported[WEIR_LOST_OVERWRITTEN - 1]);
    take_gap(ring, ring->lane, WEIR_LOST_OVERWRITTEN, reported + overwritten, reported, item);
    ring->hole_events -= overwritten;
    ring->records += overwritten;
    item->from = item->to = from;
    item->joined = ring->hole_events > 0;
    if (item->joined) return;
  } else {
    take_hole_notice(ring, ORPHAN_HOLE, ring->lane, ring->hole_to - ring->position,
                     ring->rebooted ? HOLE_LOST : HOLE_DAMAGED, ring->hole_events, item);
    ring->records = ring->hole_events == RECORDS_UNKNOWN ? RECORDS_UNKNOWN : ring->records + ring->hole_events;
    item->from = from;
  }
  ring->position = ring->hole_to;
  ring->hole_to = 0;
  item->to = here(ring);
}

/* The notice of events that the lane's later ones overwrote, if the log does not report them yet: 1, or 0. */
static int evicted_gap(orphan *ring, orphan_item *item) {
  if (ring->rebooted) return 0; /* see take_hole */
  const lane_control *control = &ring->controls[ring->lane];
  uint64_t total = drained_evicted(control).total;
  uint64_t reported = drained_reported(&ring->drained, ring->lane, WEIR_LOST_OVERWRITTEN,
                                        control->reported[WEIR_LOST_OVERWRITTEN - 1]);
  if (total <= reported) return 0;
  take_gap(ring, ring->lane, WEIR_LOST_OVERWRITTEN, total, reported, item);
  item->from = (lane_mark){drained_accounted(&ring->drained, ring->lane, ring->position), ring->records};
  if (ring->records != RECORDS_UNKNOWN) ring->records += total - reported;
  item->to = here(ring);
  return 1;
}

/* The notice for the next reason with unreported refusals in gap_lane (lane_count: without a lane): 1, or 0. */
static int next_gap(orphan *ring, orphan_item *item) {
  int unlaned = ring->gap_lane == ring->header.lane_count;
  const lane_control *control = unlaned ? NULL : &ring->controls[ring->gap_lane];
  while (ring->reason < WEIR_DROP_REASONS) {
    int32_t reason = ring->reason++;
    if (!unlaned && reason == WEIR_LOST_OVERWRITTEN) continue; /* no refusal: see evicted_gap */
    uint64_t total = unlaned ? ring->header.unlaned_dropped[reason] : control->dropped[reason - 1];
    uint64_t in_ring = unlaned ? ring->header.unlaned_reported[reason] : control->reported[reason - 1];
    uint64_t row = unlaned ? (uint32_t)WEIR_MAX_LANES : ring->gap_lane;
    uint64_t reported = drained_reported(&ring->drained, (uint32_t)row, reason, in_ring);
    if (total <= reported) continue;
    take_gap(ring, unlaned ? (uint32_t)NOTICE_LANE : ring->gap_lane, reason, total, reported, item);
    return 1;
  }
  return 0;
}

int orphan_next(orphan *ring, int directory, orphan_item *item) {
  if (!ring->tail_reported) {
    ring->tail_reported = 1;
    take_hole_notice(ring, ORPHAN_TAIL, NOTICE_LANE, 0, HOLE_TAIL, RECORDS_UNKNOWN, item);
    return 1;
  }
  for (; ring->lane < ring->header.lane_count; ring->lane++, ring->loaded = 0) {
    if (!ring->loaded) {
      int error = load_lane(ring, directory);
      if (error != 0) return error;
      ring->loaded = 1;
      if (evicted_gap(ring, item)) return 1;
    }
    if (ring->position >= ring->end) continue;
    uint64_t size;
    const record_header *record =
        ring->hole_to == 0 ? record_next(&ring->view, ring->position, ring->end, ring->records, &size) : NULL;
    if (record) take_record(ring, record, size, item);
    else take_hole(ring, item);
    return 1;
  }
  for (; ring->gap_lane <= ring->header.lane_count; ring->gap_lane++, ring->reason = 1) {
    if (next_gap(ring, item)) return 1;
  }
  return 0;
}

int orphan_types_region(const orphan *ring, uint8_t **region, uint64_t *bytes) {
  const ring_header *header = &ring->header;
  *bytes = ring->rebooted || header->types_end > header->types_bytes ? header->types_bytes : header->types_end;
  *bytes -= *bytes % 8; /* entries are multiples of eight; a damaged end is not */
  *region = (uint8_t *)malloc(*bytes + 8);
  if (!*region) return -ENOMEM;
  int error = read_whole(ring->fd, *region, *bytes, header->types_at);
  if (error == 0) return 0;
  free(*region);
  *region = NULL;
  return error;
}

/* Takes the definitions in a region, also those after damage, or after pages that never reached the disk. */
static int take_definitions(definition_table *table, uint64_t opening, const uint8_t *region, uint64_t bytes) {
  int error = 0;
  for (uint64_t at = 0; error == 0 && at < bytes;) {
    uint64_t from = at;
    const definition_header *entry = definition_next(region, bytes, &at, opening);
    if (entry) error = definitions_take(table, opening, region + from, at - from);
    else at += 8;
  }
  return error;
}

int orphan_definitions(int directory, uint64_t opening, definition_table *table) {
  orphan *ring = (orphan *)calloc(1, sizeof *ring);
  if (!ring) return -ENOMEM;
  int error = 0;
  if (open_ring(ring, directory) == 0 && ring->header.opening == opening) {
    uint8_t *region = NULL;
    uint64_t bytes;
    error = orphan_types_region(ring, &region, &bytes);
    if (region) error = take_definitions(table, opening, region, bytes);
    else if (error != -ENOMEM) error = 0;
    free(region);
  }
  orphan_close(ring);
  return error;
}

void orphan_close(orphan *ring) {
  if (!ring) return;
  if (ring->fd >= 0) sys_close(ring->fd);
  locator_leave(&ring->place);
  record_sums_free(&ring->sums);
  free(ring->controls);
  free(ring->bytes);
  free(ring);
}
