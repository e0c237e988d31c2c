/*
 * definitions.h: the definitions of event types and contexts that a reader has met. They are looked up by their number
 * within the opening of the segment that is read. Equal definitions of any opening are one, and keep one number, so
 * that a caller can cache what it derives from them, until there are too many: see definitions_trim. No file can make a
 * look-up slow.
 */
#ifndef WEIR_DEFINITIONS_H
#define WEIR_DEFINITIONS_H

#include "system/names.h"

#include "format/format.h"
#include "system/hash.h"

typedef struct definition {
  uint64_t number; /* unique; from 1, in the order in which definitions were met */
  uint32_t flags;
  uint32_t field_count;
  uint32_t name_bytes;
  uint32_t fields_bytes;
  uint32_t attributes_bytes;
  uint64_t hash;         /* of the bytes after the header */
  const uint8_t *name;   /* lives as long as the table */
  const uint8_t *fields;
  const uint8_t *attributes; /* of a context: its bytes */
} definition;

typedef struct definition_slot {
  uint32_t number;        /* within the opening */
  struct definition *definition; /* null: free */
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
  uint64_t known_bytes;   /* of all definitions together */
  uint64_t last_number;   /* the last number that was given */
  hash_key key;           /* set once a definition is known */
} definition_table;

/* Several times what one opening of Weir's can define. */
enum { MAX_KNOWN_BYTES = 4 << 20 };

/* Adds the entries up to the first damaged one; forgets the numbers of another opening. 0 or -ENOMEM. */
int definitions_take(definition_table *table, uint64_t opening, const uint8_t *entries, uint64_t bytes);

/* Null: not known; of the second and third also: it is a definition of the other kind. */
const definition *definitions_find(const definition_table *table, uint64_t opening, uint32_t number);
const definition *definitions_type(const definition_table *table, uint64_t opening, uint32_t number);
const definition *definitions_context(const definition_table *table, uint64_t opening, uint32_t number);

/*
 * Forgets all definitions if they take more than MAX_KNOWN_BYTES and the next opening is another: a log of many
 * openings has more and more contexts. So definitions take at most that, and the bytes of one opening besides. A
 * definition that is met again gets a new number; no number is used twice. No pointer to a definition is valid
 * afterwards.
 */
void definitions_trim(definition_table *table, uint64_t opening);

/* Forgets everything. */
void definitions_free(definition_table *table);

#endif
