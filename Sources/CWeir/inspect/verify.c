/*
 * verify.c: weir_verify. Reads the segments in order of offset, then a dead writer's ring, and reports whatever a
 * checksum or a rule of FileFormat.md contradicts. Writes nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "directory/directory.h"
#include "directory/segment_list.h"
#include "format/definition.h"
#include "format/ring_header.h"
#include "inspect/check.h"
#include "inspect/findings.h"
#include "replay/orphan.h"
#include "segment/identity.h"
#include "system/bytes.h"
#include "system/crc32c.h"
#include "system/error.h"
#include "system/system.h"

/* ---- The ring ---------------------------------------------------------------------------------------------------- */

static void report_ring(checker *checker, uint64_t position, uint64_t bytes, const char *problem) {
  findings_report(checker, RING_NAME, position, bytes, checker->next_offset, 0, problem);
}

static void check_ring_header(checker *checker, const orphan *ring) {
  const ring_header *header = &ring->header;
  calibration calibration;
  checker->out->bytes += sizeof *header;
  if (!bytes_are_zero(&header->host, RING_FIXED_BYTES - offsetof(ring_header, host)) ||
      !bytes_are_zero(header->reserved2, sizeof header->reserved2) ||
      !bytes_are_zero(header->reserved3, sizeof header->reserved3) || header->unlaned_dropped[0] ||
      header->unlaned_reported[0]) {
    report_ring(checker, 0, sizeof *header, "reserved bytes of the ring's header are not zero");
  }
  if (header->major != FORMAT_MAJOR || header->minor > FORMAT_MINOR) {
    report_ring(checker, offsetof(ring_header, major), 4, "the ring's version is damaged, or of a later minor one");
  }
  if (!ring_header_calibration(header, &calibration)) {
    report_ring(checker, offsetof(ring_header, calibration), sizeof header->calibration,
              "the ring's calibration is damaged");
  }
  if (header->types_end > header->types_bytes) {
    report_ring(checker, offsetof(ring_header, types_end), 8, "the ring's definitions are longer than their room");
  }
}

static void check_controls(checker *checker, const orphan *ring) {
  for (uint32_t i = 0; i < ring->header.lane_count; i++) {
    const lane_control *control = &ring->controls[i];
    uint64_t at = ring->header.lanes_at + i * ring->header.lane_stride;
    checker->out->bytes += sizeof *control;
    if (!bytes_are_zero(control->reserved0, sizeof control->reserved0) ||
        !bytes_are_zero(control->reserved2, sizeof control->reserved2)) {
      report_ring(checker, at, sizeof *control, "reserved bytes of a lane are not zero");
    }
    if (control->opening != 0 && (control->opening != ring->header.opening || i < orphan_first_overflow(ring))) {
      report_ring(checker, at + offsetof(lane_control, opening), 8, "a lane is of another opening");
    }
    if (ring->rebooted) continue; /* its pages are of different ages */
    if ((control->head & HEAD_FLAGS & ~(uint64_t)(HEAD_CLAIMED | HEAD_EVICTED)) ||
        !drained_plausible(head_position(control->head), control->tail, ring->header.lane_bytes)) {
      report_ring(checker, at, sizeof *control, "the positions of a lane are impossible");
    }
  }
}

static int check_ring_definitions(checker *checker, const orphan *ring) {
  uint64_t bytes = ring->header.types_end, at = 0;
  if (bytes > ring->header.types_bytes) return 0;
  uint8_t *entries = (uint8_t *)malloc(bytes + 8);
  if (!entries) return -ENOMEM;
  int64_t got = sys_read_at(ring->fd, entries, bytes, ring->header.types_at);
  if (got == (int64_t)bytes) {
    while (definition_next(entries, bytes, &at, ring->header.opening)) continue;
    checker->out->bytes += bytes;
    if (at != bytes && !ring->rebooted) {
      report_ring(checker, ring->header.types_at + at, bytes - at, "a definition in the ring is damaged");
    }
  }
  free(entries);
  return got < 0 ? (int)got : 0;
}

static int check_lanes(checker *checker, orphan *ring) {
  orphan_item item;
  int result;
  while ((result = orphan_next(ring, checker->directory, &item)) == 1) {
    uint64_t bytes = item.kind == ORPHAN_GAP ? 0 : item.to.position - item.from.position;
    checker->out->bytes += bytes;
    if (item.kind == ORPHAN_RECORD) checker->out->lane_events++;
    if (item.kind != ORPHAN_HOLE) continue;
    uint64_t at = ring->header.lanes_at + item.lane * ring->header.lane_stride + LANE_CONTROL_BYTES +
                  (item.from.position & (ring->header.lane_bytes - 1));
    findings_report(checker, RING_NAME, at, bytes, item.offset, 0, ring->rebooted ? HOLE_LOST : HOLE_DAMAGED);
  }
  return result;
}

/* Checks the ring of a dead writer: its lanes, and the end of the log that it states. */
static int check_ring(checker *checker) {
  orphan *ring;
  int error = orphan_open(checker->directory, checker->log_id, &ring);
  const char *problem = orphan_problem(error), *name = error == -ESTALE ? LOCATOR_NAME : RING_NAME;
  if (problem) {
    findings_report(checker, name, 0, 0, checker->next_offset, 0, problem);
    return 0;
  }
  if (error != 0) return error;
  if (!ring) {
    uint64_t end;
    if (orphan_closed_end(checker->directory, &end)) {
      findings_hole(checker, LOCATOR_NAME, offsetof(ring_locator, next_offset), end,
                 "offsets missing at the end of the log");
    } else if (checker->have_previous && directory_was_opened(checker->directory) &&
               !orphan_being_made(checker->directory)) {
      report_ring(checker, 0, 0, "the ring is missing: events that no segment had yet are lost");
    }
    return 0;
  }
  /* log_end is stored before a lane's head moves: so it tells a damaged last block from a half-written one. */
  if (checker->last_active) {
    findings_hole(checker, checker->last_name, checker->last_end, ring->known_end,
               "the last blocks are damaged or missing");
  } else {
    findings_hole(checker, RING_NAME, offsetof(ring_header, log_end), ring->known_end,
               "offsets missing at the end of the log");
  }
  checker->next_offset = ring->start_offset;
  if (ring->place.another_logs) findings_report(checker, LOCATOR_NAME, 0, 0, checker->next_offset, 0, RING_AT_FOREIGN);
  check_ring_header(checker, ring);
  check_controls(checker, ring);
  error = check_ring_definitions(checker, ring);
  if (error == 0) error = check_lanes(checker, ring);
  orphan_close(ring);
  return error;
}

/* ---- The directory ----------------------------------------------------------------------------------------------- */

static weir_status failure(const checker *checker, int result, const char *name, weir_error *error) {
  if (result == -ENOTSUP) return fail_newer(error, checker->path, name);
  return fail_system(error, result, "verify", checker->path, name);
}

/* A live writer seals and renames segments meanwhile: a file that is gone has its other name. */
static int check_named(checker *checker, segment_name *name, int last) {
  int error = check_segment(checker, name, last);
  if (error != -ENOENT) return error;
  if (name->active) {
    name->active = 0;
    segment_list_raw_name(name->name, name->base, 0);
    error = check_segment(checker, name, 0);
  }
  return error == -ENOENT ? 0 : error; /* its offsets are reported as missing before the next segment */
}

/* The index of the last file that is a segment; 0: none is. */
static uint64_t find_last(const checker *checker, const segment_list *list) {
  for (uint64_t i = list->count; i > 1; i--) {
    segment_scan scan;
    scan_damage damage;
    segment_name found = list->items[i - 1];
    if (scan_open_named(&scan, checker->directory, checker->log_id, &found, &damage) != 0) continue;
    scan_close(&scan);
    if (scan.header.salt != 0) return i - 1;
  }
  return 0;
}

static weir_status check_all(checker *checker, weir_error *error) {
  segment_list list;
  checker->live = directory_is_live(checker->directory);
  checker->out->live = (uint32_t)checker->live;
  int result = identity_find(checker->directory, &checker->log_id);
  if (result == 0) result = segment_list_settled(checker->directory, &list);
  if (result != 0) return failure(checker, result, NULL, error);
  weir_status status = WEIR_OK;
  result = check_start(checker, UINT64_MAX);
  if (result != 0) status = failure(checker, result, START_NAME, error);
  uint64_t last = find_last(checker, &list);
  for (uint64_t i = 0; i < list.count && status == WEIR_OK; i++) {
    if (list.items[i].base < checker->start.first_offset && !list.items[i].active) continue; /* a leftover */
    result = check_named(checker, &list.items[i], i >= last);
    if (result != 0) status = failure(checker, result, list.items[i].name, error);
  }
  segment_list_free(&list);
  if (status != WEIR_OK || checker->live) return status;
  result = check_ring(checker);
  /* A writer that opens the log meanwhile recovers the ring: then there is none to check. */
  if (result == -EAGAIN) {
    checker->out->live = 1;
    result = 0;
  }
  return result == 0 ? WEIR_OK : failure(checker, result, RING_NAME, error);
}

weir_status weir_verify(const char *directory, void (*report)(void *context, const weir_finding *finding),
                        void *context, weir_verification *verification, weir_error *error) {
  weir_verification unwanted;
  if (!verification) verification = &unwanted;
  memset(verification, 0, sizeof *verification);
  int fd;
  weir_status status = directory_open_read(directory, &fd, error);
  if (status != WEIR_OK) return status;
  checker *checker = (struct checker *)calloc(1, sizeof *checker);
  if (!checker) {
    sys_close(fd);
    return fail(error, WEIR_ERROR_MEMORY, ENOMEM, directory, "out of memory to verify %s", directory);
  }
  checker->path = directory;
  checker->directory = fd;
  checker->report = report;
  checker->context = context;
  checker->out = verification;
  status = check_all(checker, error);
  free(checker->headers.items);
  free(checker);
  sys_close(fd);
  return status;
}
