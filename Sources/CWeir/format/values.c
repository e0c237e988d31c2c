/* values.c: see values.h. Recursion is bounded by WEIR_MAX_DEPTH, time by the bytes: an element takes at least one. */
#include "format/values.h"

#include <string.h>

#include "weir.h"

int values_are_utf8(const char *text, uint64_t count) {
  const uint8_t *s = (const uint8_t *)text, *end = s + count;
  while (s < end) {
    uint32_t c = *s++;
    int more = c < 0x80 ? 0 : c >> 5 == 6 ? 1 : c >> 4 == 14 ? 2 : c >> 3 == 30 ? 3 : -1;
    if (more < 0 || end - s < more) return 0;
    uint32_t point = more == 0 ? c : c & (0x3fu >> more);
    for (int i = 0; i < more; i++, s++) {
      if (*s >> 6 != 2) return 0;
      point = point << 6 | (*s & 0x3f);
    }
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    if (point < least[more] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return 0;
  }
  return 1;
}

int values_are_name(const char *name, uint64_t bytes) {
  return bytes > 0 && bytes <= WEIR_MAX_NAME_BYTES && values_are_utf8(name, bytes);
}

/* The bytes that are left. */
typedef struct rest {
  const uint8_t *at;
  uint64_t count;
} rest;

static int pass(rest *rest, uint64_t count) {
  if (count > rest->count) return 0;
  rest->at += count;
  rest->count -= count;
  return 1;
}

/* Reads a count of items that take at least `each` bytes. */
static int take_count(rest *rest, uint64_t each, uint32_t *count) {
  if (rest->count < sizeof *count) return 0;
  memcpy(count, rest->at, sizeof *count);
  return pass(rest, sizeof *count) && *count <= rest->count / each;
}

static int pass_text(rest *rest, int must_be_utf8) {
  uint32_t count;
  if (!take_count(rest, 1, &count)) return 0;
  if (must_be_utf8 && !values_are_utf8((const char *)rest->at, count)) return 0;
  return pass(rest, count);
}

static int pass_value(rest *rest, int depth);

static int pass_members(rest *rest, int depth) {
  enum { LEAST_MEMBER_BYTES = 5 }; /* an empty name and a null */
  uint32_t count;
  if (!take_count(rest, LEAST_MEMBER_BYTES, &count)) return 0;
  while (count-- > 0) {
    if (!pass_text(rest, 1) || !pass_value(rest, depth)) return 0;
  }
  return 1;
}

static int pass_array(rest *rest, int depth) {
  uint32_t count;
  if (!take_count(rest, 1, &count)) return 0;
  while (count-- > 0) {
    if (!pass_value(rest, depth)) return 0;
  }
  return 1;
}

/* A tagged value, whose depth is `depth`. */
static int pass_value(rest *rest, int depth) {
  if (rest->count == 0) return 0;
  uint8_t kind = *rest->at;
  pass(rest, 1);
  switch (kind) {
    case WEIR_KIND_NULL: return 1;
    case WEIR_KIND_BOOL: return rest->count > 0 && *rest->at <= 1 && pass(rest, 1);
    case WEIR_KIND_I8:
    case WEIR_KIND_U8: return pass(rest, 1);
    case WEIR_KIND_I16:
    case WEIR_KIND_U16: return pass(rest, 2);
    case WEIR_KIND_I32:
    case WEIR_KIND_U32:
    case WEIR_KIND_F32: return pass(rest, 4);
    case WEIR_KIND_I64:
    case WEIR_KIND_U64:
    case WEIR_KIND_F64:
    case WEIR_KIND_DATE: return pass(rest, 8);
    case WEIR_KIND_UUID: return pass(rest, 16);
    case WEIR_KIND_STRING:
    case WEIR_KIND_BYTES: return pass_text(rest, 0);
    case WEIR_KIND_ARRAY: return depth <= WEIR_MAX_DEPTH && pass_array(rest, depth + 1);
    case WEIR_KIND_OBJECT: return depth <= WEIR_MAX_DEPTH && pass_members(rest, depth + 1);
    default: return 0;
  }
}

/* ---- Fields of a definition -------------------------------------------------------------------------------------- */

static uint64_t sign(uint64_t signature, uint8_t kind) { return (signature << 5 | signature >> 59) ^ kind; }

static int pass_kind(rest *rest, int depth, uint64_t *signature);

static int pass_fields(rest *rest, uint32_t fields, int depth, uint64_t *signature) {
  while (fields-- > 0) {
    uint16_t name_bytes;
    if (rest->count < sizeof name_bytes) return 0;
    memcpy(&name_bytes, rest->at, sizeof name_bytes);
    pass(rest, sizeof name_bytes);
    if (name_bytes > rest->count || !values_are_name((const char *)rest->at, name_bytes)) return 0;
    pass(rest, name_bytes);
    if (!pass_kind(rest, depth, signature)) return 0;
  }
  return 1;
}

/* A kind descriptor. Folds its kinds into the signature, depth first. */
static int pass_kind(rest *rest, int depth, uint64_t *signature) {
  if (rest->count == 0 || depth > WEIR_MAX_DEPTH) return 0;
  uint8_t kind = *rest->at;
  pass(rest, 1);
  *signature = sign(*signature, kind);
  if (kind >= WEIR_KIND_BOOL && kind <= WEIR_KIND_DATE) return 1;
  if (kind == WEIR_KIND_TAGGED) return 1;
  if (kind == WEIR_KIND_OPTIONAL || kind == WEIR_KIND_ARRAY) return pass_kind(rest, depth + 1, signature);
  uint16_t fields;
  if (kind != WEIR_KIND_OBJECT || rest->count < sizeof fields) return 0;
  memcpy(&fields, rest->at, sizeof fields);
  pass(rest, sizeof fields);
  return fields > 0 && fields <= WEIR_MAX_FIELDS && pass_fields(rest, fields, depth + 1, signature);
}

int values_are_fields(const uint8_t *bytes, uint64_t count, uint32_t fields, uint64_t *signature) {
  rest rest = {bytes, count};
  *signature = 0;
  return fields <= WEIR_MAX_FIELDS && pass_fields(&rest, fields, 0, signature) && rest.count == 0;
}

/* ---- Tagged objects ---------------------------------------------------------------------------------------------- */

int values_are_object(const uint8_t *bytes, uint64_t count) {
  rest rest = {bytes, count};
  return bytes && pass_members(&rest, 1) && rest.count == 0;
}
