/*
 * definitions.h: the definitions of event types and contexts that a reader has come across. They are looked up by
 * their number within one opening at a time, that of the segment being read; equal definitions of any opening are one
 * and keep one number, so that a caller can cache what it makes of them. Until too many are known: see
 * definitions_trim. Nothing in a file decides how long a look-up takes.
 */
#ifndef WEIR_DEFINITIONS_H
#define WEIR_DEFINITIONS_H

#include "system/names.h"

#include "format/format.h"
#include "system/hash.h"

typedef struct definition {
  uint64_t number; /* from 1, in the order in which they were met; no two have the same */
  uint32_t flags;
  uint32_t field_count;
  uint32_t name_bytes;
  uint32_t fields_bytes;
  uint32_t attributes_bytes;
  uint64_t hash;         /* of what follows the header */
  const uint8_t *name;   /* lives as long as the table */
  const uint8_t *fields;
  const uint8_t *attributes; /* of a context, its bytes */
} definition;

typedef struct definition_slot {
  uint32_t number;        /* within the opening */
  definition *definition; /* null: free */
} definition_slot;

/* Starts as all zeros. */
typedef struct definition_table {
  uint64_t opening;
  definition_slot *slots; /* a hash of the opening's types and contexts */
  uint64_t slot_room;
  uint64_t slot_count;
  definition **known; /* a hash by content; null: free */
  uint64_t known_room;
  uint64_t known_count;
  uint64_t known_bytes;   /* that they take */
  uint64_t last_number;   /* of the definition met last */
  hash_key key;           /* once anything is known */
} definition_table;

/* More than one opening of Weir's own defines, several times over. */
enum { MAX_KNOWN_BYTES = 4 << 20 };

/* Takes in the entries, as far as they are good; forgets the types of another opening. 0 or -ENOMEM. */
int definitions_take(definition_table *table, uint64_t opening, const uint8_t *entries, uint64_t bytes);

/* Null if it is not known, or, of the second and third, if it is the definition of the other kind. */
const definition *definitions_find(const definition_table *table, uint64_t opening, uint32_t number);
const definition *definitions_type(const definition_table *table, uint64_t opening, uint32_t number);
const definition *definitions_context(const definition_table *table, uint64_t opening, uint32_t number);

/*
 * Forgets all of them if they take more than MAX_KNOWN_BYTES and are of other openings than this one, which comes next:
 * a log of many openings has ever other contexts. So they take at most that, and what one opening defines besides. What
 * is met again has another number than before, and no number comes twice. No pointer to a definition is valid
 * afterwards.
 */
void definitions_trim(definition_table *table, uint64_t opening);

/* Forgets everything. */
void definitions_free(definition_table *table);

#endif
