/* notice.h: the records that Weir itself writes into a log, and the definitions of the built-in types. */
#ifndef WEIR_NOTICE_H
#define WEIR_NOTICE_H

#include "system/names.h"

#include "format/format.h"

enum { NOTICE_MAX_BYTES = 256 };

/*
 * The reasons in hole records: bytes that no checksum vouches for; events that did not reach the disk before the
 * machine went down, between others that did; that there may have been more events after those, without a trace.
 */
#define HOLE_DAMAGED "damaged in the ring"
#define HOLE_LOST "lost in a power cut"
#define HOLE_TAIL "unknown tail"

/* Each writes a whole record, checksum included, and answers its size. `offset` is the one that the notice gets. */
uint64_t notice_gap(uint8_t record[NOTICE_MAX_BYTES], uint64_t opening, uint64_t offset, uint64_t ticks, uint32_t lane,
                    int32_t reason, uint64_t dropped, uint64_t total);
uint64_t notice_hole(uint8_t record[NOTICE_MAX_BYTES], uint64_t opening, uint64_t offset, uint64_t ticks,
                     const char *reason, uint32_t lane, uint64_t bytes, uint64_t events);

/* How many events a hole record says are missing; RECORDS_UNKNOWN if it does not, or is none. */
uint64_t notice_read_hole(const uint8_t *payload, uint64_t bytes);

/* Reads back a gap record's payload; 0 if it is not well formed. */
int notice_read_gap(const uint8_t *payload, uint64_t bytes, uint32_t *lane, int32_t *reason, uint64_t *total,
                    uint64_t *dropped);

/* The definitions of the built-in types, as entries one after the other (under 1 KiB); answers their bytes. */
uint64_t notice_definitions(uint8_t *entries, uint64_t opening);

#endif
