/* contents.c: see contents.h. */
#include "segment/contents.h"

#include <errno.h>
#include <string.h>

#include "directory/segment_list.h"
#include "segment/scan.h"

/* How many of a block's events have an offset at or above `delivered`. */
static uint64_t undelivered(const block_header *block, uint64_t delivered) {
  if (block->kind != BLOCK_EVENTS || block->base_offset + block->count <= delivered) return 0;
  return delivered > block->base_offset ? block->base_offset + block->count - delivered : block->count;
}

/* Sums up the blocks, because the seal is damaged, or part of the segment was delivered. 0 or a negative errno. */
static int sum_blocks(segment_scan *scan, contents *contents, uint64_t delivered, int sealed) {
  scan_damage damage;
  scan_result result;
  scan_rewind(scan);
  while ((result = scan_next(scan, 1, &damage)) == SCAN_BLOCK || result == SCAN_DAMAGE) {
    if (result == SCAN_DAMAGE) continue;
    const block_header *block = &scan->block;
    contents->lost += undelivered(block, delivered);
    if (sealed) continue;
    contents->calibration = block->calibration;
    if (block->kind == BLOCK_EVENTS) contents->summary.events += block->count;
    if (block->kind == BLOCK_NOTICES) contents->summary.notices += block->count;
    if (block->kind == BLOCK_EVENTS) contents->summary.last_ns = block->last_ns;
    uint64_t at = 0;
    for (uint32_t i = 0; block->kind == BLOCK_NOTICES && i < block->count; i++) {
      record_header record;
      memcpy(&record, scan->payload + at, sizeof record);
      int32_t reason;
      uint64_t dropped;
      if (scan_lost(scan->payload + at, &reason, &dropped)) contents->summary.dropped[reason] += dropped;
      at += record_size(record.length);
    }
  }
  return result == SCAN_ERROR ? damage.error : 0;
}

int contents_read(int directory, uint64_t log_id, uint64_t base, uint64_t delivered, contents *contents) {
  memset(contents, 0, sizeof *contents);
  segment_name name = {.base = base};
  segment_scan scan;
  scan_damage damage;
  segment_list_raw_name(name.name, base, 0);
  int error = scan_open_named(&scan, directory, log_id, &name, &damage);
  if (error == -ENOENT || error == -ELOOP) return 0;
  if (error != 0) return error;
  if (scan.header.salt != 0) {
    contents->there = 1;
    contents->end = (segment_end){.salt = scan.header.salt, .end = scan.file_bytes, .base = base};
    int sealed = scan_seal(&scan) == 0;
    if (sealed) contents->summary = *scan_summary(&scan);
    if (sealed) contents->calibration = scan.block.calibration;
    memcpy(contents->boot_id, scan.header.captured_boot_id, sizeof contents->boot_id);
    contents->next_offset = scan.next_offset;
    if (sealed && delivered <= scan.header.base_offset) contents->lost = contents->summary.events;
    else if (!sealed || delivered < scan.next_offset) error = sum_blocks(&scan, contents, delivered, sealed);
    if (!sealed) contents->next_offset = scan.next_offset;
    contents->base_offset = scan_base(&scan, base);
    contents->header_valid = scan.header_valid;
    contents->flags = scan.header.flags;
    contents->missing = scan_seal_missing(&contents->summary, contents->base_offset, contents->next_offset);
    if (contents->summary.events == 0) contents->summary.last_ns = scan.header.created_ns;
  }
  scan_close(&scan);
  return error;
}
