/*
 * values.h: checks the bytes that callers give to be stored as they are, and those of a log's definitions: text,
 * fields, and tagged objects. See "Values" in FileFormat.md.
 */
#ifndef WEIR_VALUES_H
#define WEIR_VALUES_H

#include "system/names.h"

#include <stdint.h>

/* Whether the bytes are UTF-8, without overlong forms, surrogates and code points above U+10FFFF. */
int values_are_utf8(const char *text, uint64_t count);

/* Whether the bytes can name a type or a field: 1 to WEIR_MAX_NAME_BYTES of UTF-8. */
int values_are_name(const char *name, uint64_t bytes);

/*
 * Whether the bytes are exactly so many fields of a definition: a name and a kind descriptor each, nested at most
 * WEIR_MAX_DEPTH deep, at most WEIR_MAX_FIELDS. `*signature`: the one that an encoder of these kinds has.
 */
int values_are_fields(const uint8_t *bytes, uint64_t count, uint32_t fields, uint64_t *signature);

/*
 * Whether the bytes are exactly one tagged object without its kind byte: every count is right, a bool is 0 or 1, names
 * are UTF-8, nothing is nested over WEIR_MAX_DEPTH deep. Text that is no name may be any bytes.
 */
int values_are_object(const uint8_t *bytes, uint64_t count);

#endif
