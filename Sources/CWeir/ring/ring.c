/* ring.c: see ring.h. */
#include "ring/ring.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "capture/clock.h"
#include "capture/detach.h"
#include "capture/lane_pages.h"
#include "capture/overflow_lanes.h"
#include "directory/sizes.h"
#include "format/calibration.h"
#include "format/eviction.h"
#include "format/notice.h"
#include "limits/claim.h"
#include "system/crc32c.h"
#include "system/error.h"
#include "system/forks.h"
#include "system/sigbus.h"
#include "system/system.h"

static uint64_t align4096(uint64_t n) { return (n + 4095) & ~UINT64_C(4095); }

uint64_t *ring_sync_failed(const intake *intake) { return &((ring_header *)(void *)intake->ring.bytes)->sync_failed; }

lane_view ring_lane_view(const intake *intake, uint32_t number) {
  const ring_header *header = intake->ring.header;
  return (lane_view){.data = intake->ring.bytes + header->lanes_at + number * header->lane_stride + LANE_CONTROL_BYTES,
                     .capacity = header->lane_bytes,
                     .record_bytes = header->record_bytes,
                     .seed = record_seed(header->opening, number)};
}

/*
 * Makes the log's lanes point into the mapped ring, which is new: their positions are 0. Reads nothing of a lane, whose
 * pages are not there yet.
 */
static weir_status point_lanes(intake *intake, weir_error *error) {
  const ring_header *header = intake->ring.header;
  intake->lane_count = header->lane_count;
  intake->owned_lanes = header->lane_count - header->spare_lanes;
  intake->first_overflow = intake->lanes_in_play = header->lane_count - header->overflow_lanes;
  uint8_t *memory = NULL;
  int result = sys_map_wiped(intake->lane_count * sizeof(lane), &memory);
  if (result != 0) {
    return fail(error, WEIR_ERROR_MEMORY, ENOMEM, intake->held->path,
                "out of memory for %u lanes of %s; raise the limits on memory", intake->lane_count, intake->held->path);
  }
  intake->lanes = (lane *)memory;
  for (uint32_t i = 0; i < intake->lane_count; i++) {
    lane *lane = &intake->lanes[i];
    lane_view view = ring_lane_view(intake, i);
    lane->number = i;
    lane->control = (lane_control *)(intake->ring.bytes + header->lanes_at + i * header->lane_stride);
    lane->closed_tail = UINT64_MAX;
    lane->producer = (weir_lane){.data = (uint8_t *)view.data,
                                 .mask = view.capacity - 1,
                                 .tail = &lane->control->tail,
                                 .limit = 0, /* for one record, then overflow_find */
                                 .id_bits = (uint64_t)i << 48,
                                 .seed = view.seed,
                                 .record_bytes = (uint32_t)view.record_bytes,
                                 .borrowed = i >= intake->owned_lanes,
                                 .clock = header->clock,
                                 .own_tail = NULL, /* see overflow.c */
                                 .log = &intake->producer};
  }
  return WEIR_OK;
}

/* Maps the ring that was just made. */
static weir_status attach(intake *intake, const ring_place *place, weir_error *error) {
  struct stat status;
  mapped_ring *ring = &intake->ring;
  int result = sys_file_of(ring->fd, place->directory, place->name, &ring->file);
  if (result == 0) result = sys_status(ring->fd, &status);
  if (result == 0) result = sys_map_lazily(ring->fd, (uint64_t)status.st_size, &ring->bytes);
  if (result != 0) return fail_system(error, result, "map", intake->held->path, RING_NAME);
  sigbus_watch(ring->bytes, (uint64_t)status.st_size, detach_page_lost, intake);
  ring->in_memory = sys_is_memory(ring->fd);
  ring->size = (uint64_t)status.st_size;
  ring->header = (ring_header *)ring->bytes;
  intake->producer.opening = ring->header->opening;
  weir_status made = point_lanes(intake, error);
  if (made != WEIR_OK) return made;
  /* What the first event needs. The header has its block: before Linux 5.14 the first store faults, and that is all. */
  result = sys_populate(ring->bytes, RING_HEADER_BYTES);
  if (result == 0 || result == -EINVAL) result = lane_pages_make(intake, &intake->lanes[0], 1);
  if (result == 0) result = lane_pages_make(intake, &intake->lanes[intake->owned_lanes], 1); /* to be shared */
  return result == 0 ? WEIR_OK : fail_system(error, result, "map", intake->held->path, RING_NAME);
}

void ring_detach(intake *intake) {
  sigbus_forget(intake->ring.bytes);
  forks_hold(); /* a forked child maps private memory over the ring, and closes its file */
  sys_close_file(intake->ring.fd, &intake->ring.file);
  intake->ring.fd = -1;
  if (intake->ring.bytes) sys_unmap(intake->ring.bytes, intake->ring.size);
  intake->ring.bytes = NULL;
  intake->ring.header = NULL;
  forks_allow();
}

static uint64_t lane_stride(const weir_options *options) {
  uint64_t record = record_size(options->max_event_bytes);
  return LANE_CONTROL_BYTES + align4096(options->lane_bytes + record + RECORD_SLACK_BYTES);
}

uint64_t ring_file_bytes(const weir_options *options) {
  return RING_HEADER_BYTES + options->lane_count * lane_stride(options) + WEIR_TYPES_BYTES;
}

/* Gives a header so many overflow lanes, which come after the options' lanes. */
static void set_lanes(ring_header *header, const weir_options *options, uint32_t overflow_lanes) {
  header->lane_count = options->lane_count + overflow_lanes;
  header->spare_lanes = options->spare_lanes + overflow_lanes;
  header->overflow_lanes = overflow_lanes;
  header->lanes_in_play = lanes_word(options->lane_count);
  header->types_at = header->lanes_at + header->lane_count * header->lane_stride;
  header->file_bytes = header->types_at + WEIR_TYPES_BYTES;
  header->header_crc = crc32c((uint8_t *)header + 16, RING_FIXED_BYTES - 16);
}

/*
 * The header of a new ring, from the options. Without overflow lanes where the process could not have a file, or a
 * mapping, that is so large.
 */
static void fill_header(ring_header *header, const intake *intake, const ring_start *start, uint32_t clock) {
  const weir_options *options = intake->options;
  uint64_t record = record_size(options->max_event_bytes);
  uint64_t stride = lane_stride(options);
  header->magic = RING_MAGIC;
  header->major = FORMAT_MAJOR;
  header->minor = FORMAT_MINOR;
  header->opening = intake->producer.opening;
  header->log_id = intake->held->log_id;
  header->lane_bytes = options->lane_bytes;
  header->record_bytes = record;
  header->lanes_at = RING_HEADER_BYTES;
  header->lane_stride = stride;
  header->types_bytes = WEIR_TYPES_BYTES;
  header->base_offset = start->base_offset;
  header->log_end = start->base_offset;
  header->clock = clock;
  /* From its first moment on the ring has a good calibration: of two slots, at most one is being replaced. */
  header->calibration[0] = calibration_in_slot(start->calibration, 1);
  set_lanes(header, options, overflow_lanes_count(options));
  if (header->overflow_lanes > 0 && !sys_is_unbounded(header->file_bytes)) set_lanes(header, options, 0);
}

/*
 * Removes the blocks that a file which is used again has where the new ring has overflow lanes: those of an opening
 * that was killed, or the definitions of a ring without such lanes. Before anything is allocated: a full disk may have
 * no other blocks. 0; -EOPNOTSUPP: they stay; or another negative errno.
 */
static int remove_overflow(int fd, const ring_header *header) {
  uint32_t first = header->lane_count - header->overflow_lanes;
  uint64_t bytes = header->overflow_lanes * header->lane_stride;
  return bytes > 0 ? sys_remove_blocks(fd, header->lanes_at + first * header->lane_stride, bytes) : 0;
}

/*
 * Writes everything of an empty ring except its lanes' records: old bytes there carry another opening's checksums. The
 * definitions do, too: of a file that is `fresh` the end is written alone, which gives the file its size. The control
 * pages of overflow lanes are zeros already if these are `holes`.
 */
static int write_empty(int fd, int fresh, int holes, const ring_header *header, const uint8_t *definitions) {
  int error = sys_write_at(fd, header, sizeof *header, 0);
  static const uint8_t zeros[LANE_CONTROL_BYTES] = {0};
  uint32_t lanes = holes ? header->lane_count - header->overflow_lanes : header->lane_count;
  for (uint32_t i = 0; i < lanes && error == 0; i++) {
    error = sys_write_at(fd, zeros, sizeof zeros, header->lanes_at + i * header->lane_stride);
  }
  for (uint64_t at = fresh ? header->types_bytes - sizeof zeros : 0; at < header->types_bytes && error == 0;
       at += sizeof zeros) {
    error = sys_write_at(fd, zeros, sizeof zeros, header->types_at + at);
  }
  if (error == 0) error = sys_write_at(fd, definitions, header->types_end, header->types_at);
  return error == 0 ? sys_sync_data(fd) : error;
}
static_assert(WEIR_TYPES_BYTES % LANE_CONTROL_BYTES == 0, "whole pages of zeros");

/*
 * Opens the file that becomes the ring, under its temporary name. A drained ring of the same size, or of the size
 * without overflow lanes, is reused: it has the blocks that the new one needs, so a full disk does not keep the log
 * from opening. A half-made ring of an earlier opening is reused too, so that at any moment there is either a ring or
 * one being made. The directory is synced before the file changes: otherwise a power cut could leave a ring with parts
 * of both. What of the file does not count as used below the byte limit yet is claimed: a file elsewhere counts under
 * the ring's name alone.
 */
static int open_new(const intake *intake, const ring_place *place, uint64_t bytes) {
  struct stat status;
  uint64_t used = 0;
  int error = sys_status_at(place->directory, place->name, &status), exists = error == 0;
  uint64_t counted = ring_file_bytes(intake->options);
  if (exists && ((uint64_t)status.st_size == bytes || (uint64_t)status.st_size == counted)) {
    used = counted;
    error = sys_rename(place->directory, place->name, place->new_name);
  } else if (error == -ENOENT) {
    error = sys_status_at(place->directory, place->new_name, &status);
    if (error == 0 && place->where == RING_HERE) {
      error = sizes_of_ring(place->directory, place->new_name, &status, &used);
    }
  }
  if (error != 0 && error != -ENOENT) return error;
  error = used < counted ? claim_bytes(intake->retention, counted - used, 1) : 0;
  if (error != 0) return error;
  int fd = exists && used == 0 ? -ENOENT : sys_open_write(place->directory, place->new_name);
  if (fd == -ENOENT) return sys_open_create(place->directory, place->new_name);
  if (fd < 0) return fd;
  error = sys_sync_directory(place->directory);
  if (error == 0) return fd;
  sys_close(fd);
  return error;
}

/* ---- Where it goes ----------------------------------------------------------------------------------------------- */

static weir_status open_ring_directory(const intake *intake, int *directory, weir_error *error) {
  const char *path = intake->ring.path;
  *directory = sys_open_directory(path);
  if (*directory == -ENOENT && intake->options->create) {
    int result = sys_make_directory(AT_WORKING_DIRECTORY, path);
    if (result != 0 && result != -EEXIST) return fail_system(error, result, "make the ring's directory", path, NULL);
    *directory = sys_open_directory(path);
  }
  if (*directory < 0) return fail_system(error, *directory, "open the ring's directory", path, NULL);
  int safe = locator_is_safe(intake->held->directory, *directory);
  if (safe == 1) return WEIR_OK;
  sys_close(*directory);
  if (safe < 0) return fail_system(error, safe, "look at", path, NULL);
  return fail(error, WEIR_ERROR_UNSAFE, 0, path,
              "the ring's directory %s belongs to another user, or every user may write to it, and could then forge or "
              "remove events; name one of your own, such as a new one below it",
              path);
}

/*
 * Chooses where the new ring goes. A drained ring that lies elsewhere and is not reused is removed first, so that there
 * are never two.
 */
static weir_status choose_place(const intake *intake, ring_place *old, uint64_t base_offset, ring_place *place,
                                weir_error *error) {
  int directory = -1;
  *place = locator_here(intake->held->directory);
  if (intake->ring.path[0]) {
    weir_status status = open_ring_directory(intake, &directory, error);
    if (status != WEIR_OK) return status;
    int result = locator_choose(intake->held->directory, old, directory, intake->ring.path, place);
    if (result != 0) {
      sys_close(directory);
      return fail_system(error, result, "choose a file for the ring in", intake->ring.path, NULL);
    }
    place->locator.log_id = intake->held->log_id;
    place->locator.opening = intake->producer.opening;
    place->locator.next_offset = base_offset;
    result = sys_boot_id(place->locator.boot_id);
    if (result != 0 && result != -ENOENT) {
      locator_leave(place);
      return fail_system(error, result, "ask for the boot that is to be noted in", intake->held->path, LOCATOR_NAME);
    }
  }
  int again = place->where == RING_ELSEWHERE && place->locator.number == old->locator.number;
  if (old->where == RING_ELSEWHERE && !again) {
    int result = locator_close(intake->held->directory, old, base_offset);
    if (result != 0) {
      locator_leave(place);
      return fail_system(error, result, "remove", old->locator.path, old->name);
    }
  }
  return WEIR_OK;
}

/*
 * Makes the complete file the log's ring. From here on captures may be in it. A ring elsewhere has its name on the disk
 * before the locator does: under its temporary name a ring says that nothing was in it.
 */
static int put_in_force(const intake *intake, const ring_place *place) {
  int error = sys_rename(place->directory, place->new_name, place->name);
  if (error != 0) return error;
  if (place->where == RING_ELSEWHERE) {
    error = sys_sync_directory(place->directory);
    if (error == 0) error = locator_commit(intake->held->directory);
    return error == 0 ? locator_clear(intake->held->directory, place, 1) : error;
  }
  error = sys_unlink(intake->held->directory, LOCATOR_NAME);
  return error == 0 || error == -ENOENT ? sys_sync_directory(intake->held->directory) : error;
}

/*
 * After a failure: removes a file elsewhere that did not become the ring, which would stay in memory until the next
 * opening.
 */
static void take_back(const intake *intake) {
  ring_place place;
  if (locator_find(intake->held->directory, &place) != 0) return;
  locator_clear(intake->held->directory, &place, 0);
  locator_leave(&place);
}

void ring_mark_closed(intake *intake) {
  __atomic_store_n(&intake->ring.header->closed, 1, __ATOMIC_RELEASE); /* K1 */
  /* After a reboot only a synced header can tell that the ring was closed. If this sync fails, nothing else is lost. */
  sys_sync_mapped(intake->ring.bytes, RING_HEADER_BYTES);
}

int ring_is_drained(const intake *intake) {
  uint32_t lanes = lanes_in_play(intake);
  for (uint32_t i = 0; i < lanes; i++) {
    const lane_control *control = intake->lanes[i].control;
    if (head_position(control->head) != control->tail) return 0;
    if (eviction_total(control) > control->reported[WEIR_LOST_OVERWRITTEN - 1]) return 0;
    for (int reason = 1; reason < WEIR_DROP_REASONS; reason++) {
      if (control->dropped[reason - 1] > control->reported[reason - 1]) return 0;
    }
  }
  for (int reason = 1; reason < WEIR_DROP_REASONS; reason++) {
    if (intake->ring.header->unlaned_dropped[reason] > intake->ring.header->unlaned_reported[reason]) return 0;
  }
  return 1;
}

weir_status ring_remove(intake *intake, weir_error *error) {
  ring_place place;
  int result = locator_find(intake->held->directory, &place);
  if (result != 0) return fail_system(error, result, "read", intake->held->path, LOCATOR_NAME);
  if (place.where == RING_ELSEWHERE) {
    result = locator_close(intake->held->directory, &place, intake->ring.header->log_end);
  }
  weir_status status = WEIR_OK;
  if (result != 0) {
    status = fail_system(error, result, "remove the ring (every event is in the log's segments)", place.locator.path,
                         place.name);
  }
  locator_leave(&place);
  return status;
}

/*
 * Whether the existing ring may be replaced: this opening's recovery says that its ring is spent, and the file is still
 * that ring. 1, 0, or a negative errno.
 */
static int is_spent(spent_ring spent, const ring_place *old) {
  if (!spent.certain) return 0;
  if (old->where != RING_HERE && old->where != RING_ELSEWHERE) return 1;
  int fd = sys_open_read(old->directory, old->name);
  if (fd < 0) return fd == -ENOENT ? 1 : fd;
  uint64_t opening;
  int64_t count = sys_read_at(fd, &opening, sizeof opening, offsetof(ring_header, opening));
  sys_close(fd);
  return count < 0 ? (int)count : count == sizeof opening && opening == spent.opening;
}

static weir_status check_spent(const intake *intake, spent_ring ring, const ring_place *old, weir_error *error) {
  int spent = is_spent(ring, old);
  const char *path = locator_path(old, intake->held->path);
  if (spent == 1) return WEIR_OK;
  if (spent < 0) return fail_system(error, spent, "look at", path, old->name);
  return fail(error, WEIR_ERROR_IO, 0, path,
              "the ring %s/%s was not recovered, so it is left as it is and %s was not opened; open it again", path,
              old->name, intake->held->path);
}

/* ---- Making it --------------------------------------------------------------------------------------------------- */

/*
 * Allocates what every log needs: the header, the first lane, the first spare one, the definitions. The other lanes
 * stay holes until they are used, see lane_pages.c; where the file system can't allocate parts of a file, all of it. 0
 * or a negative errno.
 */
static int allocate(int fd, ring_header *header, const weir_options *options, int *whole) {
  uint64_t lane = header->lane_stride, spare = header->lanes_at + (header->lane_count - header->spare_lanes) * lane;
  int error = sys_allocate(fd, header->lanes_at + lane);
  if (error == 0) error = sys_allocate_more(fd, spare, lane);
  if (error == 0) error = sys_allocate_more(fd, header->types_at, header->types_bytes);
  *whole = error == -EOPNOTSUPP;
  if (!*whole) return error;
  set_lanes(header, options, 0);
  return sys_allocate(fd, header->file_bytes);
}

/* Answers the descriptor of the new ring's file, or a negative errno. Sets `*whole` if the file has all its blocks. */
static int make_file(const intake *intake, const ring_place *place, ring_header *header,
                     const uint8_t *definitions, int *whole) {
  int fd = open_new(intake, place, header->file_bytes);
  if (fd < 0) return fd;
  struct stat status;
  int error = sys_status(fd, &status), fresh = error == 0 && status.st_size == 0, holes = 1;
  if (error == 0 && !fresh) error = remove_overflow(fd, header);
  if (error == -EOPNOTSUPP) holes = error = 0;
  if (error == 0) error = allocate(fd, header, intake->options, whole);
  if (error == 0) error = write_empty(fd, fresh, holes, header, definitions);
  if (error == 0) return fd;
  sys_close(fd);
  return error;
}

/* Makes the ring and maps it. `old` says where the previous ring was. */
static weir_status create_at(intake *intake, const ring_start *start, ring_header *header,
                             const uint8_t *definitions, ring_place *old, weir_error *error) {
  ring_place place;
  weir_status status = check_spent(intake, start->spent, old, error);
  if (status == WEIR_OK) status = choose_place(intake, old, header->base_offset, &place, error);
  if (status != WEIR_OK) return status;
  int elsewhere = place.where == RING_ELSEWHERE, fd = -1;
  int result = elsewhere ? locator_announce(intake->held->directory, &place) : 0;
  if (result != 0) {
    status = fail_system(error, result, "write", intake->held->path, LOCATOR_NEW_NAME);
  } else if ((fd = make_file(intake, &place, header, definitions, &intake->ring.whole)) < 0) {
    status = fail_system(error, fd, "make", locator_path(&place, intake->held->path), place.name);
  }
  intake->ring.elsewhere = elsewhere;
  intake->ring.fd = fd;
  if (status == WEIR_OK) status = log_lock_keep(intake->held, error);
  result = status == WEIR_OK ? put_in_force(intake, &place) : 0;
  if (result != 0) status = fail_system(error, result, "make", locator_path(&place, intake->held->path), place.name);
  if (status == WEIR_OK) status = attach(intake, &place, error);
  if (status != WEIR_OK && elsewhere) take_back(intake);
  locator_leave(&place);
  return status;
}

weir_status ring_create(intake *intake, const ring_start *start, weir_error *error) {
  ring_header *header = (ring_header *)calloc(1, sizeof *header);
  if (!header) {
    return fail(error, WEIR_ERROR_MEMORY, ENOMEM, intake->held->path, "out of memory to open %s", intake->held->path);
  }
  fill_header(header, intake, start, clock_resolve(intake->options->clock));
  int result = sys_boot_id(header->boot_id);
  if (result == -ENOENT) result = 0; /* no /proc: zeros mean an unknown boot */
  uint8_t definitions[1024];
  header->types_end = notice_definitions(definitions, header->opening);
  header->header_crc = crc32c((uint8_t *)header + 16, RING_FIXED_BYTES - 16);

  ring_place old;
  if (result == 0) result = locator_find(intake->held->directory, &old);
  weir_status status = WEIR_OK;
  if (result != 0) {
    status = fail_system(error, result, "make", intake->held->path, RING_NAME);
  } else {
    status = create_at(intake, start, header, definitions, &old, error);
    locator_leave(&old);
  }
  free(header);
  return status;
}
