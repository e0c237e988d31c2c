/* orphan_types.c: see orphan_types.h. */
#include "recover/orphan_types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Enters the definition at `at` in `entries`, unless one of its number is known. */
static void enter(orphan_types *types, const definition_header *entry, uint64_t at) {
  if (entry->type == 0 || types->types[entry->type].bytes > 0) return;
  types->types[entry->type].at = (uint32_t)at;
  types->types[entry->type].bytes = entry->bytes;
}

int orphan_types_read(orphan_types *types, const orphan *ring) {
  types->opening = ring->header.opening;
  int error = orphan_types_region(ring, &types->entries, &types->bytes);
  if (error != 0) return error;
  for (uint64_t at = 0; at < types->bytes;) {
    uint64_t from = at;
    const definition_header *entry = definition_next(types->entries, types->bytes, &at, types->opening);
    if (entry) enter(types, entry, from);
    else at += 8; /* a damaged one, or a page that never reached the disk; what follows may be there */
  }
  return 0;
}

int orphan_types_adopt(orphan_types *types, const uint8_t *entries, uint64_t bytes) {
  uint64_t at = 0;
  for (;;) {
    const definition_header *entry = definition_next(entries, bytes, &at, types->opening);
    if (!entry) return 0;
    if (entry->type == 0 || types->types[entry->type].bytes > 0) continue;
    uint8_t *grown = (uint8_t *)realloc(types->entries, types->bytes + entry->bytes);
    if (!grown) return -ENOMEM;
    memcpy(grown + types->bytes, entry, entry->bytes);
    types->entries = grown;
    enter(types, entry, types->bytes);
    types->bytes += entry->bytes;
  }
}

const definition_header *orphan_types_find(const orphan_types *types, uint32_t type) {
  if (type >= MAX_TYPES || types->types[type].bytes == 0) return NULL;
  return (const definition_header *)(const void *)(types->entries + types->types[type].at);
}

void orphan_types_free(orphan_types *types) { free(types->entries); }
