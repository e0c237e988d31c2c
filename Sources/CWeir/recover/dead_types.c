/* dead_types.c: see dead_types.h. */
#include "recover/dead_types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Enters the definition at `at` in `entries`, unless one of its number is known. */
static void enter(dead_types *types, const definition_header *entry, uint64_t at) {
  if (entry->type == 0 || types->types[entry->type].bytes > 0) return;
  types->types[entry->type].at = (uint32_t)at;
  types->types[entry->type].bytes = entry->bytes;
}

int dead_types_read(dead_types *types, const dead_ring *ring) {
  types->opening = ring->header.opening;
  int error = dead_types_region(ring, &types->entries, &types->bytes);
  if (error != 0) return error;
  for (uint64_t at = 0; at < types->bytes;) {
    uint64_t from = at;
    const definition_header *entry = definition_next(types->entries, types->bytes, &at, types->opening);
    if (entry) enter(types, entry, from);
    else at += 8; /* a damaged one, or a page that never reached the disk; what follows may be there */
  }
  return 0;
}

int dead_types_adopt(dead_types *types, const uint8_t *entries, uint64_t bytes) {
  uint64_t at = 0;
  for (;;) {
    const definition_header *entry = definition_next(entries, bytes, &at, types->opening);
    if (!entry) return 0;
    if (entry->type == 0 || types->types[entry->type].bytes > 0) continue;
    uint8_t *grown = realloc(types->entries, types->bytes + entry->bytes);
    if (!grown) return -ENOMEM;
    memcpy(grown + types->bytes, entry, entry->bytes);
    types->entries = grown;
    enter(types, entry, types->bytes);
    types->bytes += entry->bytes;
  }
}

const definition_header *dead_types_find(const dead_types *types, uint32_t type) {
  if (type >= MAX_TYPES || types->types[type].bytes == 0) return NULL;
  return (const definition_header *)(const void *)(types->entries + types->types[type].at);
}

void dead_types_free(dead_types *types) { free(types->entries); }
