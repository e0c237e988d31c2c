/* definitions.c: see definitions.h. */
#include "definitions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scan.h"

static uint64_t slot_of(uint32_t type, uint64_t room) {
  return (type * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (room - 1);
}

/* The slot of a type, or the free one where it belongs. `room` is a power of two with free slots. */
static definition_slot *find_slot(definition_slot *slots, uint64_t room, uint32_t type) {
  uint64_t at = slot_of(type, room);
  while (slots[at].definition && slots[at].type != type) at = (at + 1) & (room - 1);
  return &slots[at];
}

static int make_room(definition_table *table) {
  if (table->slot_count * 2 < table->slot_room) return 0;
  uint64_t room = table->slot_room ? table->slot_room * 2 : 64;
  definition_slot *slots = calloc(room, sizeof *slots);
  if (!slots) return -ENOMEM;
  for (uint64_t i = 0; i < table->slot_room; i++) {
    const definition_slot *old = &table->slots[i];
    if (old->definition) *find_slot(slots, room, old->type) = *old;
  }
  free(table->slots);
  table->slots = slots;
  table->slot_room = room;
  return 0;
}

/* The known definition with the same content. Linear, and run once a type and opening: few are distinct. */
static definition *find_equal(const definition_table *table, const definition_header *header, const uint8_t *text) {
  for (uint64_t i = 0; i < table->known_count; i++) {
    definition *known = table->known[i];
    if (known->flags == header->flags && known->field_count == header->field_count &&
        known->name_bytes == header->name_bytes && known->fields_bytes == header->fields_bytes &&
        memcmp(known->name, text, (uint64_t)known->name_bytes + known->fields_bytes) == 0) {
      return known;
    }
  }
  return NULL;
}

static definition *remember(definition_table *table, const definition_header *header, const uint8_t *text) {
  if (table->known_count == table->known_room) {
    uint64_t room = table->known_room ? table->known_room * 2 : 16;
    definition **grown = realloc(table->known, room * sizeof *grown);
    if (!grown) return NULL;
    table->known = grown;
    table->known_room = room;
  }
  uint64_t bytes = (uint64_t)header->name_bytes + header->fields_bytes;
  definition *made = malloc(sizeof *made + bytes);
  if (!made) return NULL;
  uint8_t *copy = (uint8_t *)(made + 1);
  memcpy(copy, text, bytes);
  table->known[table->known_count++] = made;
  *made = (definition){.number = table->known_count,
                       .flags = header->flags,
                       .field_count = header->field_count,
                       .name_bytes = header->name_bytes,
                       .fields_bytes = header->fields_bytes,
                       .name = copy,
                       .fields = copy + header->name_bytes};
  return made;
}

int definitions_take(definition_table *table, uint64_t opening, const uint8_t *entries, uint64_t bytes) {
  if (table->opening != opening) {
    if (table->slots) memset(table->slots, 0, table->slot_room * sizeof *table->slots);
    table->slot_count = 0;
    table->opening = opening;
  }
  uint64_t at = 0;
  const definition_header *entry;
  while ((entry = definition_next(entries, bytes, &at, opening))) {
    int error = make_room(table);
    if (error != 0) return error;
    definition_slot *slot = find_slot(table->slots, table->slot_room, entry->type);
    if (slot->definition) continue; /* every segment repeats what it needs */
    const uint8_t *text = (const uint8_t *)(entry + 1);
    definition *found = find_equal(table, entry, text);
    if (!found) found = remember(table, entry, text);
    if (!found) return -ENOMEM;
    *slot = (definition_slot){.type = entry->type, .definition = found};
    table->slot_count++;
  }
  return 0;
}

const definition *definitions_find(const definition_table *table, uint64_t opening, uint32_t type) {
  if (table->opening != opening || table->slot_room == 0) return NULL;
  return find_slot(table->slots, table->slot_room, type)->definition;
}

void definitions_free(definition_table *table) {
  for (uint64_t i = 0; i < table->known_count; i++) free(table->known[i]);
  free(table->known);
  free(table->slots);
  memset(table, 0, sizeof *table);
}
