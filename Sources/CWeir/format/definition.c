/* definition.c: see definition.h. */
#include "format/definition.h"

#include <string.h>

#include "format/values.h"
#include "system/bytes.h"
#include "system/crc32c.h"

const definition_header *definition_next(const uint8_t *bytes, uint64_t count, uint64_t *at, uint64_t opening) {
  definition_header header;
  if (*at > count || count - *at < sizeof header) return NULL;
  const uint8_t *entry = bytes + *at;
  memcpy(&header, entry, sizeof header);
  if (header.bytes % 8 != 0 || header.bytes < sizeof header || header.bytes > count - *at) return NULL;
  if (header.bytes > MAX_DEFINITION_BYTES || header.type >= MAX_TYPES) return NULL;
  uint64_t fields_at = sizeof header + (uint64_t)header.name_bytes, attributes_at = fields_at + header.fields_bytes;
  uint64_t used = attributes_at + header.attributes_bytes;
  if (align8(used) != header.bytes || header.reserved != 0) return NULL;
  if (!bytes_are_zero(entry + used, header.bytes - used)) return NULL;
  uint32_t crc = crc_end(crc_extend(weir_crc_u64(CRC_START, opening), entry + 8, header.bytes - 8));
  if (crc != header.crc) return NULL;
  int is_context = (header.flags & DEFINITION_CONTEXT) != 0, has_object = is_context || header.attributes_bytes > 0;
  if (is_context && (header.name_bytes != 0 || header.fields_bytes != 0 || header.field_count != 0)) return NULL;
  if (has_object && !values_are_object(entry + attributes_at, header.attributes_bytes)) return NULL;
  uint64_t signature;
  if (!values_are_fields(entry + fields_at, header.fields_bytes, header.field_count, &signature)) return NULL;
  *at += header.bytes;
  return (const definition_header *)(const void *)entry;
}

void definition_seal(uint8_t *entry, definition_header *header, uint64_t opening) {
  memcpy(entry, header, sizeof *header);
  header->crc = crc_end(crc_extend(weir_crc_u64(CRC_START, opening), entry + 8, header->bytes - 8));
  memcpy(entry, header, sizeof *header);
}
