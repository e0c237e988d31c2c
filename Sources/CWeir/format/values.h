/*
 * values.h: checks what callers hand over to be stored as it is, and what a log's bytes say of types: text, the fields
 * of a definition, and tagged objects. See "Values" in FileFormat.md.
 */
#ifndef WEIR_VALUES_H
#define WEIR_VALUES_H

#include "system/names.h"

#include <stdint.h>

/* Whether it is UTF-8, without overlong forms, surrogates and what is above U+10FFFF. */
int values_are_utf8(const char *text, uint64_t count);

/* Whether it can name a type or a field: 1 to WEIR_MAX_NAME_BYTES of UTF-8. */
int values_are_name(const char *name, uint64_t bytes);

/*
 * Whether the bytes are so many fields of a definition, used up exactly: a name and a kind descriptor each, nested at
 * most WEIR_MAX_DEPTH deep, at most WEIR_MAX_FIELDS of them. `*signature` is then what an encoder of these kinds has.
 */
int values_are_fields(const uint8_t *bytes, uint64_t count, uint32_t fields, uint64_t *signature);

/*
 * Whether the bytes are one tagged object without its kind byte, used up exactly: every count is true, a bool is 0 or
 * 1, names are UTF-8, nothing is nested over WEIR_MAX_DEPTH deep. Text that is no name may be any bytes.
 */
int values_are_object(const uint8_t *bytes, uint64_t count);

#endif
