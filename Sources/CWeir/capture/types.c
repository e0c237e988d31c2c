/*
 * types.c: type definitions. Contexts share their numbers, and are defined in context.c. A definition is published in
 * the ring's type region before its number is first used (T2), so a record never refers to a type that recovery does
 * not know.
 */
#include "capture/types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/callers.h"
#include "capture/detach.h"
#include "capture/lane.h"
#include "format/definition.h"
#include "format/values.h"
#include "system/crc32c.h"
#include "system/error.h"

/* An entry that is being built from a definition. */
typedef struct entry_buffer {
  uint8_t bytes[MAX_DEFINITION_BYTES];
  uint64_t count;
  int overflow;
} entry_buffer;

static void append(entry_buffer *buffer, const void *bytes, uint64_t count) {
  if (count > sizeof buffer->bytes - buffer->count) {
    buffer->overflow = 1;
    return;
  }
  if (count) memcpy(buffer->bytes + buffer->count, bytes, count);
  buffer->count += count;
}

/* Appends the fields of a definition, in whichever form they are given. */
static void append_fields(entry_buffer *buffer, const weir_definition *definition) {
  if (!definition->encoded && !definition->fields) return; /* values_are_fields sees that there are too few */
  if (definition->encoded) {
    append(buffer, definition->encoded, definition->encoded_bytes);
    return;
  }
  for (uint32_t i = 0; i < definition->field_count && !definition->tagged; i++) {
    const weir_field *field = &definition->fields[i];
    uint64_t length = field->name ? strlen(field->name) : 0;
    uint16_t name_bytes = (uint16_t)(length > UINT16_MAX ? UINT16_MAX : length);
    uint8_t optional = WEIR_KIND_OPTIONAL, kind = (uint8_t)field->kind;
    append(buffer, &name_bytes, 2);
    append(buffer, field->name, length);
    if (field->optional) append(buffer, &optional, 1);
    append(buffer, &kind, 1);
  }
}

/* Makes the entry of a definition. INVALID and LIMIT as weir_define documents them. */
static weir_status make_entry(entry_buffer *buffer, const weir_definition *definition, uint64_t opening, uint32_t type,
                              uint64_t *signature, weir_error *error) {
  uint64_t name_bytes = definition->name ? strlen(definition->name) : 0;
  if (!values_are_name(definition->name, name_bytes)) {
    return fail(error, WEIR_ERROR_INVALID, 0, NULL,
                "an event type's name must be 1 to %d bytes of UTF-8; this one has %llu bytes or is not UTF-8",
                WEIR_MAX_NAME_BYTES, (unsigned long long)name_bytes);
  }
  if (strncmp(definition->name, "weir.", 5) == 0) {
    return fail(error, WEIR_ERROR_INVALID, 0, NULL,
                "the event type '%s': names that begin with \"weir.\" are for Weir's own notices", definition->name);
  }
  definition_header header = {.type = type,
                              .flags = (uint32_t)(definition->tagged ? DEFINITION_TAGGED : 0),
                              .name_bytes = (uint16_t)name_bytes,
                              .field_count = (uint16_t)(definition->tagged ? 0 : definition->field_count)};
  buffer->count = sizeof header;
  buffer->overflow = 0;
  *signature = 0;
  append(buffer, definition->name, name_bytes);
  uint64_t fields_at = buffer->count;
  append_fields(buffer, definition);
  uint64_t fields_end = buffer->count;
  uint32_t attributes_bytes = definition->attributes ? definition->attributes_bytes : 0;
  append(buffer, definition->attributes, attributes_bytes);
  uint64_t padding = align8(buffer->count) - buffer->count, zero = 0;
  if (buffer->overflow || buffer->count + padding > sizeof buffer->bytes) {
    return fail(error, WEIR_ERROR_LIMIT, 0, NULL,
                "the definition of event type '%s' is over %d bytes; use fewer or shorter names",
                definition->name, MAX_DEFINITION_BYTES);
  }
  if (attributes_bytes > 0 && !values_are_object(definition->attributes, attributes_bytes)) {
    return fail(error, WEIR_ERROR_INVALID, 0, NULL,
                "event type '%s': its attributes are not a tagged object, or nest over %d deep", definition->name,
                WEIR_MAX_DEPTH);
  }
  if (definition->field_count > WEIR_MAX_FIELDS ||
      !values_are_fields(buffer->bytes + fields_at, fields_end - fields_at, header.field_count, signature)) {
    return fail(error, WEIR_ERROR_INVALID, 0, NULL,
                "event type '%s': a field has no name, a name that is not UTF-8, an unknown kind, or nests over "
                "%d deep",
                definition->name, WEIR_MAX_DEPTH);
  }
  if (definition->tagged) *signature = WEIR_TAGGED_SIGNATURE;
  header.fields_bytes = (uint32_t)(fields_end - fields_at);
  header.attributes_bytes = attributes_bytes;
  append(buffer, &zero, padding);
  header.bytes = (uint32_t)buffer->count;
  definition_seal(buffer->bytes, &header, opening);
  return WEIR_OK;
}

/* Writes the definitions behind one another into the region, without publishing them. Under types.lock. */
static weir_status write_entries(intake *intake, const weir_definition *definitions, uint32_t count,
                                 uint64_t *signatures, uint64_t *end, weir_error *error) {
  entry_buffer *buffer = (entry_buffer *)malloc(sizeof *buffer);
  if (!buffer) return fail(error, WEIR_ERROR_MEMORY, ENOMEM, intake->held->path, "out of memory to define event types");
  ring_header *header = intake->ring.header;
  uint32_t first = WEIR_TYPE_FIRST + intake->producer.type_count;
  uint64_t at = header->types_end;
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < count && status == WEIR_OK; i++) {
    status = make_entry(buffer, &definitions[i], header->opening, first + i, &signatures[i], error);
    if (status != WEIR_OK) break;
    if (buffer->count > header->types_bytes - at) { /* bytes run out before numbers: see MAX_CONTEXTS_BYTES */
      status = fail(error, WEIR_ERROR_LIMIT, 0, intake->held->path,
                    "event type '%s' does not fit: the definitions of one opening, of types and contexts, take at "
                    "most %d bytes; use dynamic events for names that are not known beforehand",
                    definitions[i].name, WEIR_TYPES_BYTES);
      break;
    }
    memcpy(intake->ring.bytes + header->types_at + at, buffer->bytes, buffer->count);
    intake->types.entries[first + i] = (type_entry){.at = (uint32_t)at, .bytes = (uint32_t)buffer->count};
    at += buffer->count;
  }
  free(buffer);
  *end = at;
  return status;
}

void types_publish(intake *intake, uint64_t end, uint32_t types) {
  __atomic_store_n(&intake->ring.header->types_end, end, __ATOMIC_RELEASE);                          /* T2 */
  __atomic_store_n(&intake->producer.type_count, intake->producer.type_count + types, __ATOMIC_RELAXED);
}

/* Defines types; answers the first number. Under types.lock. */
static weir_status define(intake *intake, const weir_definition *definitions, uint32_t count, uint64_t *signatures,
                          uint32_t *first, weir_error *error) {
  if (lane_log_state(intake) != STATE_OPEN) {
    return fail(error, WEIR_ERROR_CLOSED, 0, intake->held->path, "cannot define event types: the log %s is closed",
                intake->held->path);
  }
  if (detach_lost_page(intake)) {
    return fail_system(error, -MAPPING_LOST, "define event types in", intake->held->path, NULL);
  }
  uint64_t end = 0;
  weir_status status = write_entries(intake, definitions, count, signatures, &end, error);
  if (status != WEIR_OK) return status;
  *first = WEIR_TYPE_FIRST + intake->producer.type_count;
  types_publish(intake, end, count);
  return WEIR_OK;
}

static uint64_t slot_of(uint64_t owner) { return (owner >> 4 ^ owner >> 14) & (WEIR_TYPE_SLOTS - 1); }

const weir_type_slot *weir_find_owner_slow(const weir_log *log, uint64_t owner) {
  if (owner == 0) return NULL;
  for (uint64_t i = 0; i < WEIR_TYPE_SLOTS; i++) {
    const weir_type_slot *slot = &log->slots[(slot_of(owner) + i) & (WEIR_TYPE_SLOTS - 1)];
    uint64_t found = __atomic_load_n(&slot->owner, __ATOMIC_ACQUIRE); /* T1 */
    if (found == owner) return slot;
    if (found == 0) return NULL;
  }
  return NULL;
}

/* The slot to fill for an owner; the table is never more than three quarters full. Under types.lock. */
static weir_type_slot *empty_slot(intake *intake, uint64_t owner) {
  uint64_t used = 0;
  for (uint64_t i = 0; i < WEIR_TYPE_SLOTS; i++) used += intake->producer.slots[i].owner != 0;
  if (used >= WEIR_TYPE_SLOTS / 4 * 3) return NULL;
  uint64_t at = slot_of(owner);
  while (intake->producer.slots[at].owner != 0) at = (at + 1) & (WEIR_TYPE_SLOTS - 1);
  return &intake->producer.slots[at];
}

/* weir_define under types.lock. */
static weir_status define_group(intake *intake, uint64_t owner, const weir_definition *definitions, uint32_t count,
                                uint32_t *first, weir_error *error) {
  const weir_type_slot *known = owner ? weir_find_owner_slow(&intake->producer, owner) : NULL;
  if (known) {
    *first = known->first;
    return WEIR_OK;
  }
  weir_type_slot *slot = owner ? empty_slot(intake, owner) : NULL;
  if (owner && !slot) {
    return fail(error, WEIR_ERROR_LIMIT, 0, intake->held->path, "over %d groups of event types; use fewer event enums",
                WEIR_TYPE_SLOTS / 4 * 3);
  }
  uint64_t *signatures = (uint64_t *)calloc(count, sizeof *signatures);
  if (!signatures) {
    return fail(error, WEIR_ERROR_MEMORY, ENOMEM, intake->held->path, "out of memory to define event types");
  }
  weir_status status = define(intake, definitions, count, signatures, first, error);
  if (status != WEIR_OK || !slot) {
    free(signatures);
    return status;
  }
  for (uint32_t i = 0; i < count; i++) {
    if (definitions[i].sampled) signatures[i] = ~signatures[i];
  }
  slot->first = *first;
  slot->count = count;
  slot->signatures = signatures;
  __atomic_store_n(&slot->owner, owner, __ATOMIC_RELEASE); /* T1 */
  return WEIR_OK;
}

weir_status weir_define(weir_log *producer, uint64_t owner, const weir_definition *definitions, uint32_t count,
                        uint32_t *first_type, weir_error *error) {
  intake *intake = intake_of(producer);
  if (count == 0 || count >= MAX_TYPES) {
    return fail(error, WEIR_ERROR_INVALID, 0, NULL, "define 1 to %d event types at a time, not %u", MAX_TYPES - 1,
                count);
  }
  if (lane_log_state(intake) == STATE_DETACHED) return callers_closed(intake, error);
  uint32_t first = 0;
  pthread_mutex_lock(&intake->types.lock);
  weir_status status = define_group(intake, owner, definitions, count, &first, error);
  pthread_mutex_unlock(&intake->types.lock);
  if (status == WEIR_OK && first_type) *first_type = first;
  return status;
}

/* ---- Types by owner and key -------------------------------------------------------------------------------------- */

static uint64_t named_slot(uint64_t owner, const char *key, uint64_t key_bytes) {
  return crc_extend(weir_crc_u64(CRC_START, owner), key, key_bytes) & (NAMED_SLOTS - 1);
}

/* Where the type is, or the empty place where it belongs. There are twice as many places as types. */
static named_type *const *find_named(const intake *intake, uint64_t owner, const char *key, uint64_t key_bytes,
                                     named_type **found) {
  for (uint64_t at = named_slot(owner, key, key_bytes);; at = (at + 1) & (NAMED_SLOTS - 1)) {
    named_type *type = __atomic_load_n(&intake->types.named[at], __ATOMIC_ACQUIRE); /* T1 */
    *found = type;
    if (!type) return &intake->types.named[at];
    if (type->owner == owner && type->key_bytes == key_bytes && memcmp(type->key, key, key_bytes) == 0) {
      return &intake->types.named[at];
    }
  }
}

uint32_t weir_find_type(const weir_log *producer, uint64_t owner, const char *key, uint64_t key_bytes) {
  named_type *found;
  find_named((const intake *)producer, owner, key, key_bytes, &found);
  return found ? found->type : 0;
}

weir_status weir_define_named(weir_log *producer, uint64_t owner, const char *key, uint64_t key_bytes,
                              const weir_definition *definition, uint32_t *type, weir_error *error) {
  intake *intake = intake_of(producer);
  if (key_bytes > WEIR_MAX_NAME_BYTES) {
    return fail(error, WEIR_ERROR_LIMIT, 0, NULL, "a name of %llu bytes; the limit is %d",
                (unsigned long long)key_bytes,
                WEIR_MAX_NAME_BYTES);
  }
  if (lane_log_state(intake) == STATE_DETACHED) return callers_closed(intake, error);
  named_type *made = (named_type *)malloc(sizeof *made + key_bytes);
  if (!made) return fail(error, WEIR_ERROR_MEMORY, ENOMEM, intake->held->path, "out of memory to define an event type");
  *made = (named_type){.owner = owner, .key_bytes = (uint32_t)key_bytes};
  if (key_bytes) memcpy(made->key, key, key_bytes);

  named_type *found;
  uint64_t signature;
  weir_status status = WEIR_OK;
  pthread_mutex_lock(&intake->types.lock);
  named_type *const *place = find_named(intake, owner, key, key_bytes, &found);
  if (!found) {
    status = define(intake, definition, 1, &signature, &made->type, error);
    if (status == WEIR_OK) {
      __atomic_store_n((named_type **)place, made, __ATOMIC_RELEASE); /* T1 */
      found = made;
      made = NULL;
    }
  }
  pthread_mutex_unlock(&intake->types.lock);
  free(made);
  if (status == WEIR_OK) *type = found->type;
  return status;
}

/* ---- The table from a ring --------------------------------------------------------------------------------------- */

void types_load(intake *intake) {
  const ring_header *header = intake->ring.header;
  const uint8_t *region = intake->ring.bytes + header->types_at;
  uint64_t end = header->types_end < header->types_bytes ? header->types_end : header->types_bytes;
  uint32_t limit = 0;
  for (uint64_t at = 0; at < end;) {
    uint64_t from = at;
    const definition_header *entry = definition_next(region, end, &at, header->opening);
    if (!entry) break;
    if (entry->type == 0) continue;
    intake->types.entries[entry->type] = (type_entry){.at = (uint32_t)from, .bytes = entry->bytes};
    if (!(entry->flags & DEFINITION_CONTEXT) && entry->type > limit) limit = entry->type;
  }
  intake->producer.type_count = limit < WEIR_TYPE_FIRST ? 0 : limit - WEIR_TYPE_FIRST + 1;
}
