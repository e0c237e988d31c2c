/*
 * segment_file.c: what one sealed segment's file says of itself, and whether every byte of the file is right. For files
 * that leave a log and come to another place: there no other file of the log has a say.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/check.h"
#include "segment/identity.h"
#include "segment/scan.h"
#include "system/crc32c.h"
#include "system/error.h"
#include "system/system.h"

enum { NAME_BYTES = sizeof((segment_name *)0)->name };

static void take(const segment_scan *scan, weir_segment *segment) {
  const seal_summary *seal = scan_summary(scan);
  const segment_header *header = &scan->header;
  *segment = (weir_segment){.log_id = header->log_id,
                            .opening = header->opening,
                            .salt = header->salt,
                            .first_offset = header->base_offset,
                            .next_offset = seal->next_offset,
                            .events = seal->events,
                            .notices = seal->notices,
                            .overwritten = seal->dropped[WEIR_LOST_OVERWRITTEN],
                            .in_holes = seal->dropped[LOST_IN_HOLES],
                            .content_bytes = scan->file_bytes,
                            .file_bytes = scan->disk_bytes,
                            .first_ns = seal->first_ns,
                            .last_ns = seal->last_ns};
}

/* Reads header and seal. 0, -EBADMSG if one of them is not good, or another negative errno. */
static int read_segment(int directory, uint64_t log_id, const char *name, uint64_t base, weir_segment *segment) {
  segment_scan scan;
  scan_damage damage;
  int error = scan_open(&scan, directory, log_id, name, base, 0, &damage);
  if (error != 0) return error;
  int good = scan.header_valid && scan.header.salt != 0 && scan.header.base_offset == base;
  if (good) good = scan_seal(&scan) == 0 && scan_summary(&scan);
  if (good) take(&scan, segment);
  scan_close(&scan);
  return good ? 0 : -EBADMSG;
}

static weir_status failure(int result, const char *doing, const char *directory, const char *name, weir_error *error) {
  if (result == -ENOTSUP) return fail_newer(error, directory, name);
  if (result == -EBADMSG || result == -ELOOP) {
    return fail(error, WEIR_ERROR_INVALID, 0, directory,
                "%s in %s is no sealed segment of this log, or its header or its seal is damaged", name, directory);
  }
  if (result == -ENOENT) {
    return fail(error, WEIR_ERROR_MISSING, ENOENT, directory, "there is no segment %s in %s", name, directory);
  }
  return fail_system(error, result, doing, directory, name);
}

/* Opens the directory in which the file `name` is. `results`: whether the caller gave places for them. */
static weir_status open_any(const char *directory, const char *name, int results, int *fd, weir_error *error) {
  if (!directory || !*directory || !name || !*name || strlen(name) >= NAME_BYTES || strchr(name, '/') || !results) {
    return fail(error, WEIR_ERROR_INVALID, 0, directory,
                "to look at a segment takes a directory, the name of a file in it, of at most %d bytes and without a "
                "slash, and places for the results; give all of them", NAME_BYTES - 1);
  }
  if (!crc_available()) {
    return fail(error, WEIR_ERROR_PLATFORM, 0, directory,
                "this processor lacks the CRC32C instruction; use a newer one");
  }
  *fd = sys_open_directory(directory);
  return *fd < 0 ? fail_system(error, *fd, "open", directory, NULL) : WEIR_OK;
}

weir_status weir_read_segment(const char *directory, const char *name, uint64_t base, int32_t of_log,
                              weir_segment *segment, weir_error *error) {
  int fd = -1;
  uint64_t log_id = 0;
  weir_status status = open_any(directory, name, segment != NULL, &fd, error);
  if (status != WEIR_OK) return status;
  int result = of_log ? identity_find(fd, &log_id) : 0;
  if (result == 0) result = read_segment(fd, log_id, name, base, segment);
  sys_close(fd);
  return result == 0 ? WEIR_OK : failure(result, "read", directory, name, error);
}

/* What the check of one file comes to. */
typedef struct file_check {
  uint64_t base;
  weir_segment *segment; /* all zeros until header and seal were found good */
  weir_finding *finding; /* the first one */
} file_check;

static void keep_first(void *context, const weir_finding *finding) {
  weir_finding *first = ((file_check *)context)->finding;
  if (!first->problem) *first = *finding;
}

/* As read_segment, of a scan that has gone through the file. */
static void take_scanned(void *context, const segment_scan *scan) {
  const file_check *check = (const file_check *)context;
  int good = scan->header_valid && scan->header.salt != 0 && scan->header.base_offset == check->base;
  good = good && scan->sealed && scan->position == scan->file_bytes && scan_summary(scan);
  if (good) take(scan, check->segment);
}

static checker *make_checker(file_check *check, weir_verification *out) {
  checker *checker = (struct checker *)calloc(1, sizeof *checker);
  if (!checker) return NULL;
  checker->next_offset = check->base; /* what lies below is of other files */
  checker->report = keep_first;
  checker->scanned = take_scanned;
  checker->context = check;
  checker->out = out;
  return checker;
}

static void free_checker(checker *checker) {
  free(checker->headers.items);
  free(checker);
}

static int check_alone(int directory, const char *path, const char *name, file_check *check) {
  weir_verification out = {0};
  segment_name named = {.base = check->base};
  snprintf(named.name, sizeof named.name, "%s", name);
  checker *checker = make_checker(check, &out);
  if (!checker) return -ENOMEM;
  checker->path = path;
  checker->directory = directory;
  int error = check_segment(checker, &named, 0);
  if (error == 0 && strcmp(named.name, name) != 0) error = -ENOENT; /* it has gone, and another file was checked */
  free_checker(checker);
  return error;
}

weir_status weir_verify_segment(const char *directory, const char *name, uint64_t base, weir_segment *segment,
                                weir_finding *finding, weir_error *error) {
  int fd = -1;
  weir_status status = open_any(directory, name, segment && finding, &fd, error);
  if (status != WEIR_OK) return status;
  *segment = (weir_segment){0};
  *finding = (weir_finding){0};
  struct stat present; /* in a log another file of the segment would be checked in place of a missing one */
  int result = sys_status_at(fd, name, &present);
  file_check check = {.base = base, .segment = segment, .finding = finding};
  if (result == 0) result = check_alone(fd, directory, name, &check);
  if (result == 0 && !finding->problem && segment->salt == 0) finding->problem = "header or seal is not this segment's";
  if (result != 0 || finding->problem) *segment = (weir_segment){0};
  sys_close(fd);
  return result == 0 ? WEIR_OK : failure(result, "check", directory, name, error);
}

/* ---- In memory --------------------------------------------------------------------------------------------------- */

/* By lane, what the header says of its beginning, and the blocks of its end. */
static uint32_t take_spans(const checker *checker, const segment_scan *scan, weir_span *spans) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < scan->header.lane_count; i++) {
    uint64_t from = scan->drained[i].position, to = checker->lanes[i].to;
    if (from == LANE_UNKNOWN || !checker->lanes[i].known || to <= from) continue;
    spans[count++] = (weir_span){.from = from, .to = to, .lane = i};
  }
  const seal_summary *seal = scan_summary(scan);
  spans[count++] = (weir_span){.from = scan->header.base_offset << 3,
                               .to = seal->next_offset << 3,
                               .events = seal->events,
                               .lane = NOTICE_LANE};
  return count;
}

weir_status weir_check_part(const uint8_t *bytes, uint64_t byte_count, weir_segment *segment, weir_span *spans,
                            uint32_t *span_count, weir_finding *finding, weir_error *error) {
  if (!bytes || !segment || !spans || !span_count || !finding) {
    return fail(error, WEIR_ERROR_INVALID, 0, NULL, "to check a part takes its bytes, and places for the results");
  }
  if (!crc_available()) {
    return fail(error, WEIR_ERROR_PLATFORM, 0, NULL, "this processor lacks the CRC32C instruction; use a newer one");
  }
  *segment = (weir_segment){0};
  *finding = (weir_finding){0};
  *span_count = 0;
  segment_scan scan;
  scan_damage damage;
  int result = scan_open_memory(&scan, bytes, byte_count, 1, &damage);
  if (result == -ENOTSUP) {
    return fail(error, WEIR_ERROR_VERSION, 0, NULL, "the part was written by a newer Weir; use one that is as new");
  }
  if (result != 0) return fail_system(error, result, "read a part of", "another log", NULL);
  file_check check = {.base = scan.header.base_offset, .segment = segment, .finding = finding};
  weir_verification out = {0};
  segment_name name = {.name = "part", .base = check.base, .batch = 1};
  checker *checker = make_checker(&check, &out);
  result = checker ? check_scan(checker, &name, &scan, &damage, 0) : -ENOMEM;
  if (result == 0 && !finding->problem && segment->salt == 0) finding->problem = "header or seal is not a part's";
  if (result == 0 && !finding->problem) *span_count = take_spans(checker, &scan, spans);
  if (checker) free_checker(checker);
  scan_close(&scan);
  return result == 0 ? WEIR_OK : fail_system(error, result, "read a part of", "another log", NULL);
}
