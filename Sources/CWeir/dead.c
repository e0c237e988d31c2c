/* dead.c: see dead.h. Where each lane starts and ends is decided in handover.c, for recovery and for this alike. */
#include "dead.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "system.h"

/* All of `count` bytes, or -EBADMSG where the file ends before. */
static int read_whole(int fd, void *bytes, uint64_t count, uint64_t at) {
  int64_t got = sys_read_at(fd, bytes, count, at);
  if (got < 0) return (int)got;
  return (uint64_t)got == count ? 0 : -EBADMSG;
}

/* Opens the ring file and checks its header; the descriptor goes to ring->fd. */
static int open_ring(dead_ring *ring, int directory) {
  ring->fd = -1;
  int error = locator_find(directory, &ring->place);
  if (error != 0) return error;
  if (ring->place.where == RING_VANISHED) return -ESTALE;
  if (ring->place.where == RING_CLOSED) return -ENOENT;
  ring->fd = sys_open_read(ring->place.directory, ring->place.name);
  if (ring->fd < 0) return ring->fd;
  struct stat status;
  error = sys_status(ring->fd, &status);
  if (error == 0) error = read_whole(ring->fd, &ring->header, sizeof ring->header, 0);
  if (error == 0) error = ring_check_header(&ring->header, (uint64_t)status.st_size);
  if (error == 0) ring->inode = (uint64_t)status.st_ino;
  return error;
}

int dead_read_ring(dead_ring *ring, int directory) {
  memset(ring, 0, sizeof *ring);
  int error = open_ring(ring, directory);
  if (error != 0) return error;
  ring->controls = calloc(ring->header.lane_count, sizeof *ring->controls);
  if (!ring->controls) return -ENOMEM;
  for (uint32_t lane = 0; error == 0 && lane < ring->header.lane_count; lane++) {
    error = read_whole(ring->fd, &ring->controls[lane], sizeof *ring->controls,
                       ring->header.lanes_at + lane * ring->header.lane_stride);
  }
  return error;
}

int dead_is_current(const dead_ring *ring, int directory) {
  struct stat status;
  if (directory_is_live(directory)) return 0;
  const ring_place *place = &ring->place;
  int error = sys_status_at(place->directory, place->name, &status);
  if (error != 0) return error == -ENOENT ? 0 : error;
  if ((uint64_t)status.st_ino != ring->inode) return 0;
  /* A new opening may use the file again: then it has written its own header before anything else. */
  uint8_t fixed[RING_FIXED_BYTES];
  error = read_whole(ring->fd, fixed, sizeof fixed, 0);
  if (error != 0) return error == -EBADMSG ? 0 : error;
  return memcmp(fixed, &ring->header, sizeof fixed) == 0;
}

static int open_dead(dead_ring *ring, int directory) {
  int error = dead_read_ring(ring, directory);
  if (error != 0) return error;
  segment_list list;
  error = segment_list_read(directory, &list);
  if (error != 0) return error;
  error = handover_read(&ring->handover, directory, &list, ring->header.opening);
  segment_list_free(&list);
  if (error != 0) return error;
  /* What was read is of one state only if no writer was at work in the meantime. */
  int current = dead_is_current(ring, directory);
  if (current != 1) return current < 0 ? current : -EAGAIN;
  ring->calibration = handover_calibration(&ring->handover, &ring->header);
  ring->log_end = ring->handover.log_end;
  ring->start_offset = ring->log_end;
  if (ring->start_offset < ring_end(&ring->header)) ring->start_offset = ring_end(&ring->header);
  ring->next_offset = ring->start_offset;
  /* What is behind a lane's overhang is nobody's, however long the header says that it is. */
  ring->lane_room = ring->header.lane_bytes + ring->header.record_bytes + RECORD_SLACK_BYTES;
  ring->reason = 1;
  return 0;
}

int dead_open(int directory, dead_ring **made) {
  *made = NULL;
  dead_ring *ring = malloc(sizeof *ring);
  if (!ring) return -ENOMEM;
  int error = open_dead(ring, directory);
  if (error == 0) {
    *made = ring;
    return 0;
  }
  /* A writer that came and went may have moved it in between. */
  if (error == -ESTALE && directory_is_live(directory)) error = -EAGAIN;
  dead_close(ring);
  return error == -ENOENT ? 0 : error;
}

int dead_being_made(int directory) {
  ring_place place;
  struct stat status;
  if (locator_find(directory, &place) != 0) return 0;
  int there = sys_status_at(place.directory, place.new_name, &status) == 0;
  locator_leave(&place);
  return there;
}

int dead_closed_end(int directory, uint64_t *next_offset) {
  ring_place place;
  if (locator_find(directory, &place) != 0) return 0;
  *next_offset = place.locator.next_offset;
  int closed = place.where == RING_CLOSED;
  locator_leave(&place);
  return closed;
}

/* Reads the lane's bytes, if it has any to give; sets where the walk begins and ends. */
static int load_lane(dead_ring *ring, int directory) {
  const lane_control *control = &ring->controls[ring->lane];
  uint64_t capacity = ring->header.lane_bytes;
  ring->view = (lane_view){.data = ring->bytes,
                           .capacity = capacity,
                           .record_bytes = ring->header.record_bytes,
                           .seed = record_seed(ring->header.opening, ring->lane)};
  int plausible = handover_plausible(head_position(control->head), control->tail, capacity);
  if (plausible) {
    handover_lane(&ring->handover, &ring->view, ring->lane, control, &ring->position, &ring->end);
    if (ring->position == ring->end) return 0;
  }
  if (!ring->bytes) ring->bytes = malloc(ring->lane_room);
  if (!ring->bytes) return -ENOMEM;
  ring->view.data = ring->bytes;
  uint64_t at = ring->header.lanes_at + ring->lane * ring->header.lane_stride + LANE_CONTROL_BYTES;
  int error = read_whole(ring->fd, ring->bytes, ring->lane_room, at);
  if (error != 0) return error;
  int current = dead_is_current(ring, directory);
  if (current != 1) return current < 0 ? current : -EAGAIN;
  handover_lane(&ring->handover, &ring->view, ring->lane, control, &ring->position, &ring->end);
  return 0;
}

static void take_record(dead_ring *ring, const record_header *record, uint64_t size, dead_item *item) {
  *item = (dead_item){.kind = DEAD_RECORD,
                      .offset = ring->next_offset++,
                      .lane = ring->lane,
                      .position = ring->position,
                      .bytes = size,
                      .record = record};
  ring->position += size;
}

static void take_hole(dead_ring *ring, dead_item *item) {
  uint64_t to = record_resync(&ring->view, ring->position, ring->end);
  *item = (dead_item){.kind = DEAD_HOLE,
                      .offset = ring->next_offset++,
                      .lane = ring->lane,
                      .position = ring->position,
                      .bytes = to - ring->position,
                      .record = (const record_header *)ring->notice};
  notice_hole((uint8_t *)ring->notice, ring->header.opening, item->offset, ring->calibration.base_ticks, HOLE_DAMAGED,
              ring->lane, item->bytes);
  ring->position = to;
}

/* A notice of what a lane or all of them lost for `reason`: `total` in all, of which the log says `reported`. */
static void take_gap(dead_ring *ring, uint32_t lane, int32_t reason, uint64_t total, uint64_t reported,
                     dead_item *item) {
  *item = (dead_item){.kind = DEAD_GAP,
                      .offset = ring->next_offset++,
                      .lane = lane,
                      .reason = reason,
                      .dropped = total - reported,
                      .record = (const record_header *)ring->notice};
  notice_gap((uint8_t *)ring->notice, ring->header.opening, item->offset, ring->calibration.base_ticks, lane, reason,
             item->dropped, total);
}

/* What the lane's later events overwrote, if the log does not say so yet: 1, or 0. */
static int evicted_gap(dead_ring *ring, dead_item *item) {
  const lane_control *control = &ring->controls[ring->lane];
  uint64_t total = handover_evicted(control).total;
  uint64_t reported = handover_reported(&ring->handover, ring->lane, WEIR_LOST_OVERWRITTEN,
                                        control->reported[WEIR_LOST_OVERWRITTEN - 1]);
  if (total <= reported) return 0;
  take_gap(ring, ring->lane, WEIR_LOST_OVERWRITTEN, total, reported, item);
  return 1;
}

/* Of the lane's refusals (lane_count: those without a lane) the next reason that is due: 1, or 0. */
static int next_gap(dead_ring *ring, dead_item *item) {
  int unlaned = ring->gap_lane == ring->header.lane_count;
  const lane_control *control = unlaned ? NULL : &ring->controls[ring->gap_lane];
  while (ring->reason < WEIR_DROP_REASONS) {
    int32_t reason = ring->reason++;
    if (!unlaned && reason == WEIR_LOST_OVERWRITTEN) continue; /* no refusal: see evicted_gap */
    uint64_t total = unlaned ? ring->header.unlaned_dropped[reason] : control->dropped[reason - 1];
    uint64_t in_ring = unlaned ? ring->header.unlaned_reported[reason] : control->reported[reason - 1];
    uint64_t row = unlaned ? WEIR_MAX_LANES : ring->gap_lane;
    uint64_t reported = handover_reported(&ring->handover, (uint32_t)row, reason, in_ring);
    if (total <= reported) continue;
    take_gap(ring, unlaned ? NOTICE_LANE : ring->gap_lane, reason, total, reported, item);
    return 1;
  }
  return 0;
}

int dead_next(dead_ring *ring, int directory, dead_item *item) {
  for (; ring->lane < ring->header.lane_count; ring->lane++, ring->loaded = 0) {
    if (!ring->loaded) {
      int error = load_lane(ring, directory);
      if (error != 0) return error;
      ring->loaded = 1;
      if (evicted_gap(ring, item)) return 1;
    }
    if (ring->position >= ring->end) continue;
    uint64_t size;
    const record_header *record = record_at(&ring->view, ring->position, ring->end, &size);
    if (record) take_record(ring, record, size, item);
    else take_hole(ring, item);
    return 1;
  }
  for (; ring->gap_lane <= ring->header.lane_count; ring->gap_lane++, ring->reason = 1) {
    if (next_gap(ring, item)) return 1;
  }
  return 0;
}

int dead_definitions(int directory, uint64_t opening, definition_table *table) {
  dead_ring *ring = calloc(1, sizeof *ring);
  if (!ring) return -ENOMEM;
  int error = 0;
  if (open_ring(ring, directory) == 0 && ring->header.opening == opening) {
    uint64_t bytes = ring->header.types_end;
    if (bytes > ring->header.types_bytes) bytes = ring->header.types_bytes;
    ring->bytes = malloc(bytes + 8);
    if (!ring->bytes) error = -ENOMEM;
    else if (read_whole(ring->fd, ring->bytes, bytes, ring->header.types_at) == 0) {
      error = definitions_take(table, opening, ring->bytes, bytes);
    }
  }
  dead_close(ring);
  return error;
}

void dead_close(dead_ring *ring) {
  if (!ring) return;
  if (ring->fd >= 0) sys_close(ring->fd);
  locator_leave(&ring->place);
  free(ring->controls);
  free(ring->bytes);
  free(ring);
}
