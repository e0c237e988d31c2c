/*
 * values.h: checks what callers hand over to be stored as it is: text, and tagged objects. See "Values" in
 * FileFormat.md.
 */
#ifndef WEIR_VALUES_H
#define WEIR_VALUES_H

#include <stdint.h>

/* Whether it is UTF-8, without overlong forms, surrogates and what is above U+10FFFF. */
int values_are_utf8(const char *text, uint64_t count);

/*
 * Whether the bytes are one tagged object without its kind byte, used up exactly: every count is true, a bool is 0 or
 * 1, names are UTF-8, nothing is nested over WEIR_MAX_DEPTH deep. Text that is no name may be any bytes.
 */
int values_are_object(const uint8_t *bytes, uint64_t count);

#endif
