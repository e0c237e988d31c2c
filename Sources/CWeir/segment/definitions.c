/* definitions.c: see definitions.h. */
#include "segment/definitions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/definition.h"

static uint64_t slot_of(uint32_t number, uint64_t room) {
  return (number * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (room - 1);
}

/* The slot of a number, or the free one where it belongs. `room` is a power of two with free slots. */
static definition_slot *find_slot(definition_slot *slots, uint64_t room, uint32_t number) {
  uint64_t at = slot_of(number, room);
  while (slots[at].definition && slots[at].number != number) at = (at + 1) & (room - 1);
  return &slots[at];
}

static int make_room(definition_table *table) {
  if (table->slot_count * 2 < table->slot_room) return 0;
  uint64_t room = table->slot_room ? table->slot_room * 2 : 64;
  definition_slot *slots = (definition_slot *)calloc(room, sizeof *slots);
  if (!slots) return -ENOMEM;
  for (uint64_t i = 0; i < table->slot_room; i++) {
    const definition_slot *old = &table->slots[i];
    if (old->definition) *find_slot(slots, room, old->number) = *old;
  }
  free(table->slots);
  table->slots = slots;
  table->slot_room = room;
  return 0;
}

/* ---- By content -------------------------------------------------------------------------------------------------- */

static uint64_t text_bytes(const definition_header *header) {
  return (uint64_t)header->name_bytes + header->fields_bytes + header->attributes_bytes;
}

static int is_equal(const definition *known, const definition_header *header, const uint8_t *text, uint64_t hash) {
  return known->hash == hash && known->flags == header->flags && known->field_count == header->field_count &&
         known->name_bytes == header->name_bytes && known->fields_bytes == header->fields_bytes &&
         known->attributes_bytes == header->attributes_bytes && memcmp(known->name, text, text_bytes(header)) == 0;
}

static int make_room_for_known(definition_table *table) {
  if (table->known_count * 2 < table->known_room) return 0;
  uint64_t room = table->known_room ? table->known_room * 2 : 64;
  definition **known = (definition **)calloc(room, sizeof *known);
  if (!known) return -ENOMEM;
  for (uint64_t i = 0; i < table->known_room; i++) {
    if (!table->known[i]) continue;
    uint64_t at = table->known[i]->hash & (room - 1);
    while (known[at]) at = (at + 1) & (room - 1);
    known[at] = table->known[i];
  }
  free(table->known);
  table->known = known;
  table->known_room = room;
  return 0;
}

static definition *make_definition(const definition_header *header, const uint8_t *text, uint64_t hash,
                                   uint64_t number) {
  uint64_t bytes = text_bytes(header);
  definition *made = (definition *)malloc(sizeof *made + bytes);
  if (!made) return NULL;
  uint8_t *copy = (uint8_t *)(made + 1);
  memcpy(copy, text, bytes);
  *made = (definition){.number = number,
                       .flags = header->flags,
                       .field_count = header->field_count,
                       .name_bytes = header->name_bytes,
                       .fields_bytes = header->fields_bytes,
                       .attributes_bytes = header->attributes_bytes,
                       .hash = hash,
                       .name = copy,
                       .fields = copy + header->name_bytes,
                       .attributes = copy + header->name_bytes + header->fields_bytes};
  return made;
}

/*
 * Finds the definition with this content, or makes it. Contexts mostly differ from opening to opening, so a log of many
 * openings has many. Null: out of memory.
 */
static definition *take_known(definition_table *table, const definition_header *header, const uint8_t *text) {
  if (table->known_count == 0) table->key = hash_key_make(table);
  if (make_room_for_known(table) != 0) return NULL;
  uint64_t hash = hash_bytes(table->key, text, text_bytes(header));
  uint64_t at = hash & (table->known_room - 1);
  for (; table->known[at]; at = (at + 1) & (table->known_room - 1)) {
    if (is_equal(table->known[at], header, text, hash)) return table->known[at];
  }
  definition *made = make_definition(header, text, hash, table->last_number + 1);
  if (!made) return NULL;
  table->last_number++;
  table->known_count++;
  table->known_bytes += sizeof *made + text_bytes(header);
  table->known[at] = made;
  return made;
}

/* ------------------------------------------------------------------------------------------------------------------ */

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
    if (slot->definition) continue; /* known already: every segment repeats its definitions */
    definition *found = take_known(table, entry, (const uint8_t *)(entry + 1));
    if (!found) return -ENOMEM;
    *slot = (definition_slot){.number = entry->type, .definition = found};
    table->slot_count++;
  }
  return 0;
}

const definition *definitions_find(const definition_table *table, uint64_t opening, uint32_t number) {
  if (table->opening != opening || table->slot_room == 0) return NULL;
  return find_slot(table->slots, table->slot_room, number)->definition;
}

const definition *definitions_type(const definition_table *table, uint64_t opening, uint32_t number) {
  const definition *found = definitions_find(table, opening, number);
  return found && !(found->flags & DEFINITION_CONTEXT) ? found : NULL;
}

const definition *definitions_context(const definition_table *table, uint64_t opening, uint32_t number) {
  const definition *found = definitions_find(table, opening, number);
  return found && (found->flags & DEFINITION_CONTEXT) ? found : NULL;
}

void definitions_trim(definition_table *table, uint64_t opening) {
  if (table->known_bytes <= MAX_KNOWN_BYTES || table->opening == opening) return;
  uint64_t last = table->last_number;
  definitions_free(table);
  table->last_number = last;
}

void definitions_free(definition_table *table) {
  for (uint64_t i = 0; i < table->known_room; i++) free(table->known[i]);
  free(table->known);
  free(table->slots);
  memset(table, 0, sizeof *table);
}
