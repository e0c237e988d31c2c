/*
 * quarantine.h: damaged bytes are copied to the directory quarantine/, under a name that says where they lay, before
 * recovery passes over them. Each answers 0 or a negative errno; a copy that is there already counts as made.
 */
#ifndef WEIR_QUARANTINE_H
#define WEIR_QUARANTINE_H

#include "log.h"

/* Bytes [from, to) of a segment file: quarantine/block-<base>-<from>. */
int quarantine_block(int directory, int segment_fd, uint64_t base, uint64_t from, uint64_t to);

/* Bytes of a lane, by positions: quarantine/lane-<opening>-<lane>-<from>. */
int quarantine_lane(const event_log *log, uint32_t lane, uint64_t from, uint64_t to);

/* A whole file, copied, where it can't be moved: quarantine/<name>-<n>, with the first number that is free. */
int quarantine_copy(int directory, int fd, const char *name);

/* A whole file, moved: quarantine/<name>-<n>, with the first number that is free. */
int quarantine_file(int directory, const char *name);

#endif
