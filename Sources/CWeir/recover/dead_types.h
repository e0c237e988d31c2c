/*
 * dead_types.h: the definitions of the types and contexts that a dead opening's records use: those in its ring, and
 * those that only its segments still have.
 */
#ifndef WEIR_DEAD_TYPES_H
#define WEIR_DEAD_TYPES_H

#include "system/names.h"

#include "format/definition.h"
#include "replay/dead.h"

typedef struct dead_types {
  uint64_t opening;
  uint8_t *entries;
  uint64_t bytes;
  struct {
    uint32_t at; /* in `entries` */
    uint32_t bytes; /* 0: not known */
  } types[MAX_TYPES];
} dead_types;

/* Takes the definitions in the ring. Begins with zeros. 0 or a negative errno. */
int dead_types_read(dead_types *types, const dead_ring *ring);

/* Takes from a segment's definitions those that the ring has lost. 0 or -ENOMEM. */
int dead_types_adopt(dead_types *types, const uint8_t *entries, uint64_t bytes);

/* The definition of a number, or null. Valid until the next dead_types_adopt. */
const definition_header *dead_types_find(const dead_types *types, uint32_t type);

void dead_types_free(dead_types *types);

#endif
