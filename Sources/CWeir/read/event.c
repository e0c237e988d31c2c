/* event.c: see event.h. */
#include "read/event.h"

#include <string.h>

#include "format/calibration.h"

static void take_type(weir_event *event, const definition *known) {
  if (!known || (known->flags & DEFINITION_CONTEXT)) return;
  event->type_tagged = (known->flags & DEFINITION_TAGGED) != 0;
  event->field_count = known->field_count;
  event->name = (const char *)known->name;
  event->name_bytes = known->name_bytes;
  event->fields = known->fields;
  event->fields_bytes = known->fields_bytes;
  event->definition = known->number;
  event->attributes_bytes = known->attributes_bytes;
  if (known->attributes_bytes > 0) event->attributes = known->attributes;
}

static void take_context(weir_event *event, const definition *known) {
  if (!known || !(known->flags & DEFINITION_CONTEXT)) return;
  event->context = known->attributes;
  event->context_bytes = known->attributes_bytes;
  event->context_definition = known->number;
}

/* The payload ends in the scope and its length. A payload that does not stays whole: a capture does not check it. */
static void take_scope(weir_event *event) {
  uint32_t bytes;
  if (event->payload_bytes < sizeof bytes) return;
  uint64_t before = event->payload_bytes - sizeof bytes;
  memcpy(&bytes, event->payload + before, sizeof bytes);
  if (bytes > before) return;
  event->payload_bytes = before - bytes;
  event->scope = event->payload + event->payload_bytes;
  event->scope_bytes = bytes;
}

/* A dynamic event carries its own name before its fields. */
static void take_own_name(weir_event *event) {
  uint32_t bytes;
  event->name = "";
  event->name_bytes = 0;
  event->type_tagged = 1;
  if (event->payload_bytes < sizeof bytes) return;
  memcpy(&bytes, event->payload, sizeof bytes);
  if (bytes > event->payload_bytes - sizeof bytes) return;
  event->name = (const char *)event->payload + sizeof bytes;
  event->name_bytes = bytes;
  event->payload += sizeof bytes + bytes;
  event->payload_bytes -= sizeof bytes + bytes;
}

void event_fill(weir_event *event, const calibration *calibration, const uint8_t *bytes, const definition *type,
                const definition *context) {
  record_header record;
  memcpy(&record, bytes, sizeof record);
  *event = (weir_event){.time_ns = calibration_time(calibration, record.ticks),
                        .type = record_type(record.type),
                        .name = "",
                        .payload = bytes + sizeof record,
                        .payload_bytes = record.length,
                        .context_number = record_context(record.type),
                        .monotonic_ns = calibration_monotonic(calibration, record.ticks)};
  take_type(event, type);
  take_context(event, context);
  if (record.type & WEIR_SCOPED) take_scope(event);
  if (event->type == WEIR_TYPE_DYNAMIC) take_own_name(event);
}
