/*
 * reader.h: what a reader has for those who copy records as they are: a run of them at a time, in place of events. A
 * reader gives out events or runs, not both, and leaves out the lanes of a dead writer.
 */
#ifndef WEIR_READER_H
#define WEIR_READER_H

#include "system/names.h"

#include "segment/definitions.h"
#include "segment/scan.h"

/* Records that follow on one another in one block: scan->block. Valid until the next call on the reader. */
typedef struct record_run {
  const segment_scan *scan;
  const uint8_t *records;
  uint32_t count;
  uint64_t position; /* of the first in its lane */
  uint64_t offset;   /* of the first */
} record_run;

/* As weir_reader_next, with all that is left of a block in place of an event. Gives the same run until it is taken. */
weir_status reader_run(weir_reader *reader, record_run *run, weir_skip *skip, weir_error *error);

/* Takes the first `count` records of the run, which have `bytes` together. */
void reader_take(weir_reader *reader, uint32_t count, uint64_t bytes);

/* The definition of a type or context of an opening, as the events of the reader have it; null: there is none. */
const definition *reader_definition(weir_reader *reader, uint64_t opening, uint32_t number);

#endif
