/* check_batch.h: a batch segment's own rules, for check.c. */
#ifndef WEIR_CHECK_BATCH_H
#define WEIR_CHECK_BATCH_H

#include "system/names.h"

#include "inspect/check.h"

/* Notes a block, or the seal, that was just read of a batch. 0 or a negative errno. */
int check_batch_block(checker *checker, const segment_scan *scan);

/* After the last block: checks the file itself. `next_offset`: after the last event. 0 or a negative errno. */
int check_batch(checker *checker, const segment_scan *scan, uint64_t next_offset);

#endif
