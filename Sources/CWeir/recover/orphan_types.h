/*
 * orphan_types.h: the definitions of the types and contexts that a dead opening's records use: those in its ring, and
 * those that only its segments still have.
 */
#ifndef WEIR_ORPHAN_TYPES_H
#define WEIR_ORPHAN_TYPES_H

#include "system/names.h"

#include "format/definition.h"
#include "replay/orphan.h"

typedef struct orphan_types {
  uint64_t opening;
  uint8_t *entries;
  uint64_t bytes;
  struct {
    uint32_t at; /* in `entries` */
    uint32_t bytes; /* 0: not known */
  } types[MAX_TYPES];
} orphan_types;

/* Takes the definitions in the ring. Begins with zeros. 0 or a negative errno. */
int orphan_types_read(orphan_types *types, const orphan *ring);

/* Takes from a segment's definitions those that the ring has lost. 0 or -ENOMEM. */
int orphan_types_adopt(orphan_types *types, const uint8_t *entries, uint64_t bytes);

/* The definition of a number, or null. Valid until the next orphan_types_adopt. */
const definition_header *orphan_types_find(const orphan_types *types, uint32_t type);

void orphan_types_free(orphan_types *types);

#endif
