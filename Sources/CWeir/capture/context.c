/*
 * context.c: the global context. Like a type, it is defined in the ring's type region (T2) before any record has its
 * number (T3). So drainer, recovery and readers find the definition of a record's context in the same way as that of
 * its type. Contexts are numbered from the top of the types' numbers down and take at most half of the region: a
 * process that logs in one user after another still has room for its types.
 */
#include <string.h>

#include "capture/callers.h"
#include "capture/detach.h"
#include "capture/intake.h"
#include "capture/lane.h"
#include "capture/types.h"
#include "format/definition.h"
#include "format/values.h"
#include "system/error.h"

uint32_t weir_scopes;

void weir_bind_scopes(void) {
  /* Read first: repeated binding must not take the cache line from capturing threads. */
  if (!weir_scopes_bound()) __atomic_store_n(&weir_scopes, 1, __ATOMIC_RELAXED);
}

/* The number of an equal context, or 0. A linear search, because contexts are few and change rarely. */
static uint32_t find_equal(const intake *intake, const void *bytes, uint64_t count) {
  for (uint32_t number = MAX_TYPES - intake->types.contexts; number < MAX_TYPES; number++) {
    const uint8_t *entry = intake->ring.bytes + intake->ring.header->types_at + intake->types.entries[number].at;
    definition_header header;
    memcpy(&header, entry, sizeof header);
    if (header.attributes_bytes == count && memcmp(entry + sizeof header, bytes, count) == 0) return number;
  }
  return 0;
}

/* Writes the entry into the region, and publishes it. Under types.lock. */
static weir_status define_context(intake *intake, const void *bytes, uint64_t count, uint32_t *number,
                                  weir_error *error) {
  ring_header *ring = intake->ring.header;
  definition_header header = {.bytes = (uint32_t)align8(sizeof header + count),
                              .type = MAX_TYPES - 1 - intake->types.contexts,
                              .flags = DEFINITION_CONTEXT,
                              .attributes_bytes = (uint32_t)count};
  uint64_t at = ring->types_end;
  if (header.bytes > MAX_CONTEXTS_BYTES - intake->types.contexts_bytes || header.bytes > ring->types_bytes - at) {
    return fail(error, WEIR_ERROR_LIMIT, 0, intake->held->path,
                "this context does not fit: those of one opening take at most %d bytes, and have what its types leave "
                "them; put what changes from event to event into the events or their scopes",
                MAX_CONTEXTS_BYTES);
  }
  uint8_t *entry = intake->ring.bytes + ring->types_at + at;
  uint64_t used = sizeof header + count;
  memcpy(entry + sizeof header, bytes, count);
  memset(entry + used, 0, header.bytes - used);
  definition_seal(entry, &header, ring->opening);
  intake->types.entries[header.type] = (type_entry){.at = (uint32_t)at, .bytes = header.bytes};
  __atomic_store_n(&intake->types.contexts, intake->types.contexts + 1, __ATOMIC_RELAXED);
  intake->types.contexts_bytes += header.bytes;
  types_publish(intake, at + header.bytes, 0);
  *number = header.type;
  return WEIR_OK;
}

/* weir_set_context under types.lock. */
static weir_status set(intake *intake, const void *bytes, uint64_t count, weir_error *error) {
  if (lane_log_state(intake) != STATE_OPEN) {
    return fail(error, WEIR_ERROR_CLOSED, 0, intake->held->path, "cannot set a context: the log %s is closed",
                intake->held->path);
  }
  if (detach_lost_page(intake)) return fail_system(error, -MAPPING_LOST, "set a context of", intake->held->path, NULL);
  uint32_t number = count == 0 ? 0 : find_equal(intake, bytes, count);
  weir_status status = WEIR_OK;
  if (count > 0 && number == 0) status = define_context(intake, bytes, count, &number, error);
  if (status == WEIR_OK) __atomic_store_n(&intake->producer.context, number << 16, __ATOMIC_RELEASE); /* T3 */
  return status;
}

weir_status weir_set_context(weir_log *producer, const void *bytes, uint64_t count, weir_error *error) {
  intake *intake = intake_of(producer);
  if (count > WEIR_MAX_CONTEXT_BYTES) {
    return fail(error, WEIR_ERROR_INVALID, 0, NULL, "a context of %llu bytes; the limit is %d",
                (unsigned long long)count, WEIR_MAX_CONTEXT_BYTES);
  }
  if (count > 0 && !values_are_object((const uint8_t *)bytes, count)) {
    return fail(error, WEIR_ERROR_INVALID, 0, NULL,
                "a context must be a tagged object: names in UTF-8, counts that are true, nested at most %d deep",
                WEIR_MAX_DEPTH);
  }
  if (lane_log_state(intake) == STATE_DETACHED) return callers_closed(intake, error);
  pthread_mutex_lock(&intake->types.lock);
  weir_status status = set(intake, bytes, count, error);
  pthread_mutex_unlock(&intake->types.lock);
  return status;
}
