/*
 * mutate.h: one change to a log's directory, of the kinds that damage, other programs and attackers make: a field given
 * another value, bytes flipped, files cut and grown, blocks swapped, doubled and taken away, files doubled, renamed and
 * taken from other logs. All choices come from one seed.
 */
#ifndef WEIR_FUZZ_MUTATE_H
#define WEIR_FUZZ_MUTATE_H

#include "archive.h"

typedef struct dice {
  uint64_t state;
} dice;

uint64_t roll(dice *dice, uint64_t limit); /* 0 to limit - 1 */

/* What is changed most: the other files are, too, but seldom. */
typedef enum focus { FOCUS_SEGMENTS, FOCUS_RING, FOCUS_ALL, FOCUS_BATCH } focus;

/* One change. Checksums stay as they are. */
void mutate_once(archive *archive, dice *dice, focus focus);

/* The same, but no more than bytes changed in place, and files cut or grown: what disks do. */
void damage_once(archive *archive, dice *dice);

/* Makes the checksums of all files right: what was changed is vouched for. */
void repair_archive(archive *archive, dice *dice);

/* A fuzzer's mutation of an input: some changes, repaired more often than not. Answers the new size. */
size_t mutate_input(uint8_t *bytes, size_t count, size_t room, uint32_t seed, focus focus);

/* A fuzzer's crossing of two inputs: some files of one, some of the other. */
size_t cross_inputs(const uint8_t *left, size_t left_count, const uint8_t *right, size_t right_count, uint8_t *bytes,
                    size_t room, uint32_t seed);

#endif
