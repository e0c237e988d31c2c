/* definition.h: the entry that defines a type or a context, as ring, segments and batches have it. */
#ifndef WEIR_DEFINITION_H
#define WEIR_DEFINITION_H

#include "system/names.h"

#include "format/format.h"

/* The definition at `*at` in `bytes` (a definitions block's payload, a seal's, the ring's); advances `*at`. Null: end,
 * or a bad one. Checks number, length, CRC under `opening`, that name, fields and attributes fit, that the fields are
 * as many as it says, and that the attributes are a tagged object. */
const definition_header *definition_next(const uint8_t *bytes, uint64_t count, uint64_t *at, uint64_t opening);

/* Completes a definition's entry: its header, CRC included. `entry` holds name, fields and padding already. */
void definition_seal(uint8_t *entry, definition_header *header, uint64_t opening);

#endif
