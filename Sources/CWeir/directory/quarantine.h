/*
 * quarantine.h: damaged bytes are copied to the directory quarantine/, under a name that says where they lay, before
 * recovery passes over them; beside each copy lies <name>.json, which says what it is and why. Each call answers 0,
 * QUARANTINE_FULL, or a negative errno; a copy that is there already counts as made. A copy gets its name when all of
 * it is on the disk, and its note comes first: so what a kill leaves is made anew.
 *
 * Bounded: beyond QUARANTINE_MOST_BYTES or QUARANTINE_MOST_ENTRIES nothing is copied any more. What is there stays: the
 * first damage says most about its cause. Where the disk has no space for a copy the recovery fails with that error,
 * and has changed nothing that would lose the bytes: with space it succeeds. An open log goes on instead: at most
 * MAX_DAMAGED_BYTES wait in memory, what finds no room there is not kept, nor is what waits when the process dies.
 */
#ifndef WEIR_QUARANTINE_H
#define WEIR_QUARANTINE_H

#include "system/names.h"

#include "directory/segment_list.h"
#include "format/record.h"

enum { QUARANTINE_FULL = 1, QUARANTINE_MOST_ENTRIES = 512 };
#define QUARANTINE_MOST_BYTES (UINT64_C(256) << 20)

/* Damaged bytes of a segment. */
typedef struct damaged_block {
  int fd;                      /* the file */
  uint64_t file_from, file_to; /* positions in the file */
  uint64_t from;               /* position in the segment */
  uint64_t first_offset;       /* the first offset that is missing because of the damage */
  uint64_t offsets;            /* how many are missing; 0: not known */
  const char *reason;
} damaged_block;

/*
 * Copies damaged bytes of a segment to quarantine/block-<base>-<from>. Of a batch, copies the LZ4 blocks that the bytes
 * are in, as they are in the file.
 */
int quarantine_block(int directory, const segment_name *name, const damaged_block *block);

/* Damaged bytes of a lane. */
typedef struct damaged_lane {
  lane_view view;
  uint64_t opening;
  uint32_t lane;
  uint64_t from, to;     /* positions */
  uint64_t first_offset; /* of the notice that reports them */
} damaged_lane;

/* Damaged bytes of a lane, copied to memory, on their way to a file. */
typedef struct damaged_stretch {
  struct damaged_stretch *next;
  damaged_lane of;
  uint8_t bytes[];
} damaged_stretch;

/* How many bytes a copy of it has: more than the stretch if that lies across the lane's end. */
uint64_t quarantine_bytes(const damaged_lane *lane);

/* Copies damaged bytes of a lane to quarantine/lane-<opening>-<lane>-<from>. */
int quarantine_lane(int directory, const damaged_lane *lane);

/*
 * The same in two steps, so that the drainer of an open log does not wait for the disk. quarantine_take copies the
 * bytes into memory; null: there is no memory. quarantine_stretch writes the copy to a file.
 */
damaged_stretch *quarantine_take(const damaged_lane *lane);
int quarantine_stretch(int directory, const damaged_stretch *stretch);

/* Copies a whole file that can't be moved to quarantine/<name>-<n>, with the first free number. */
int quarantine_copy(int directory, int fd, const char *name, const char *reason);

/*
 * Moves a whole file to quarantine/<name>-<n>, with the first free number. A file that may be somebody else's is moved
 * however full the directory is, and does not count against its bounds; after a power cut its note may be missing. A
 * file that is `ours` is removed if the directory is full.
 */
int quarantine_file(int directory, const char *name, const char *reason, int ours);

#endif
