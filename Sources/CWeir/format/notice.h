/* notice.h: the records that Weir itself writes into a log, and the definitions of the built-in types. */
#ifndef WEIR_NOTICE_H
#define WEIR_NOTICE_H

#include "system/names.h"

#include "format/format.h"

enum { NOTICE_MAX_BYTES = 256 };

/*
 * The reasons in hole records: damaged bytes; events between others that did not reach the disk before the machine went
 * down; possible further events after the last one, of which nothing is left.
 */
#define HOLE_DAMAGED "damaged in the ring"
#define HOLE_LOST "lost in a power cut"
#define HOLE_TAIL "unknown tail"

/* Each writes a whole record with its checksum, and answers its size. `offset`: of the notice. */
uint64_t notice_gap(uint8_t record[NOTICE_MAX_BYTES], uint64_t opening, uint64_t offset, uint64_t ticks, uint32_t lane,
                    int32_t reason, uint64_t dropped, uint64_t total);
uint64_t notice_hole(uint8_t record[NOTICE_MAX_BYTES], uint64_t opening, uint64_t offset, uint64_t ticks,
                     const char *reason, uint32_t lane, uint64_t bytes, uint64_t events);

/* The missing events that a hole record states; RECORDS_UNKNOWN: it states none, or is no hole record. */
uint64_t notice_read_hole(const uint8_t *payload, uint64_t bytes);

/* Reads back a gap record's payload; 0 if it is not well formed. */
int notice_read_gap(const uint8_t *payload, uint64_t bytes, uint32_t *lane, int32_t *reason, uint64_t *total,
                    uint64_t *dropped);

/* The definitions of the built-in types, as entries one after the other (under 1 KiB); answers their bytes. */
uint64_t notice_definitions(uint8_t *entries, uint64_t opening);

#endif
