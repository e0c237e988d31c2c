/*
 * definitions_test.c: definitions as readers take them from files that anyone may have made: which entries are valid,
 * how many are remembered, and that nobody can choose which of them collide.
 */
#include "check.h"

#include "format/definition.h"
#include "format/notice.h"
#include "segment/definitions.h"
#include "segment/scan.h"
#include "system/hash.h"

enum { OPENING = 7, ROOM = MAX_DEFINITION_BYTES + 64 };

/* A sealed entry: `header` with its length, over these bytes of name, fields and attributes. Answers its bytes. */
static uint64_t make_entry(uint8_t *entry, definition_header header, uint64_t opening, const void *text,
                           uint64_t count) {
  uint64_t used = sizeof header + count;
  header.bytes = (uint32_t)align8(used);
  memcpy(entry + sizeof header, text, count);
  memset(entry + used, 0, header.bytes - used);
  definition_seal(entry, &header, opening);
  return header.bytes;
}

static int is_valid(definition_header header, const void *text, uint64_t count) {
  static _Alignas(8) uint8_t entry[ROOM];
  uint64_t at = 0, bytes = make_entry(entry, header, OPENING, text, count);
  const definition_header *found = definition_next(entry, bytes, &at, OPENING);
  CHECK_EQUAL(at, found ? bytes : 0);
  return found != NULL;
}

static void numbers(void) {
  test("a definition's number is below 8192, and it has at most 32 KiB");
  static uint8_t object[ROOM];
  CHECK(is_valid((definition_header){.type = 16, .name_bytes = 1}, "n", 1));
  CHECK(is_valid((definition_header){.type = 8191, .name_bytes = 1}, "n", 1));
  CHECK(!is_valid((definition_header){.type = 8192, .name_bytes = 1}, "n", 1));
  CHECK(!is_valid((definition_header){.type = UINT32_MAX, .name_bytes = 1}, "n", 1));
  const uint8_t head[] = {1, 0, 0, 0, 1, 0, 0, 0, 'b', WEIR_KIND_BYTES};
  for (int over = 0; over < 2; over++) {
    uint32_t bytes = MAX_DEFINITION_BYTES - sizeof(definition_header) + (uint32_t)over, rest = bytes - 14;
    memcpy(object, head, sizeof head);
    memcpy(object + sizeof head, &rest, 4);
    definition_header context = {.type = 20, .flags = DEFINITION_CONTEXT, .attributes_bytes = bytes};
    CHECK_EQUAL(is_valid(context, object, bytes), !over);
  }
}

static void fields(void) {
  test("the fields of a definition are as many as it says, and used up by them");
  /* a: [u16]; o: an object of one string */
  static const uint8_t text[] = {'n', 1, 0, 'a', WEIR_KIND_ARRAY, WEIR_KIND_U16,
                                 1,   0, 'o', WEIR_KIND_OBJECT, 1, 0, 1, 0, 's', WEIR_KIND_STRING};
  definition_header header = {.type = 16, .name_bytes = 1, .fields_bytes = sizeof text - 1, .field_count = 2};
  CHECK(is_valid(header, text, sizeof text));
  for (uint16_t count = 0; count < 5; count++) {
    header.field_count = count;
    CHECK_EQUAL(is_valid(header, text, sizeof text), count == 2);
  }
  header.field_count = 2;
  for (uint32_t bytes = 0; bytes < sizeof text - 1; bytes++) {
    header.fields_bytes = bytes;
    CHECK(!is_valid(header, text, 1 + bytes));
  }
  header.fields_bytes = sizeof text - 1;
  uint8_t bad[sizeof text];
  static const struct { int at; uint8_t byte; } changes[] = {
      {1, 0}, {2, 4}, {3, 0xff}, {4, 0}, {5, 20}, {9, WEIR_KIND_STRING}, {10, 0}, {12, 2}, {14, 0xc0}, {15, 0}};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    memcpy(bad, text, sizeof text);
    bad[changes[i].at] = changes[i].byte;
    CHECK(!is_valid(header, bad, sizeof bad));
  }
  uint8_t deep[64] = {'n', 1, 0, 'd'};
  for (uint32_t arrays = 0; arrays < 20; arrays++) {
    memset(deep + 4, WEIR_KIND_ARRAY, arrays);
    deep[4 + arrays] = WEIR_KIND_BOOL;
    definition_header nested = {.type = 16, .name_bytes = 1, .fields_bytes = 4 + arrays, .field_count = 1};
    CHECK_EQUAL(is_valid(nested, deep, 5 + arrays), arrays <= WEIR_MAX_DEPTH);
  }
}

/* A table that takes definitions that are new in every opening, which a log of very many openings is. */
static void remembered(void) {
  test("of a log of many openings only so many definitions are remembered, and no two have one number");
  definition_table table = {0};
  static _Alignas(8) uint8_t entry[ROOM];
  enum { EACH = 16384, OPENINGS = 2000 };
  static uint8_t text[EACH];
  uint64_t last = 0, most = 0;
  definition_header header = {.type = 8191, .flags = DEFINITION_CONTEXT, .attributes_bytes = sizeof text};
  const uint32_t head[] = {1, 0}, rest = sizeof text - 13;
  memcpy(text, head, sizeof head);
  text[8] = WEIR_KIND_BYTES;
  memcpy(text + 9, &rest, 4);
  for (uint64_t opening = 1; opening <= OPENINGS; opening++) {
    definitions_trim(&table, opening);
    memcpy(text + 13, &opening, 8);
    uint64_t bytes = make_entry(entry, header, opening, text, sizeof text);
    REQUIRE(definitions_take(&table, opening, entry, bytes) == 0);
    const definition *found = definitions_context(&table, opening, 8191);
    if (!CHECK(found != NULL)) break;
    CHECK(found->number > last);
    last = found->number;
    if (table.known_bytes > most) most = table.known_bytes;
    REQUIRE(definitions_take(&table, opening, entry, bytes) == 0); /* a later segment of the opening */
    definitions_trim(&table, opening);
    found = definitions_context(&table, opening, 8191);
    CHECK(found && found->number == last);
  }
  CHECK(most > MAX_KNOWN_BYTES && most < MAX_KNOWN_BYTES + 2 * EACH);
  CHECK(definitions_context(&table, OPENINGS - 1, 8191) == NULL);
  definitions_free(&table);
}

static void hashed(void) {
  test("what a look-up hashes to is not for a file to choose");
  uint8_t bytes[32];
  for (uint8_t i = 0; i < sizeof bytes; i++) bytes[i] = i;
  /* SipHash-1-3 under a key of zeros: what CPython 3.11 answers for them with PYTHONHASHSEED=0. */
  static const struct { uint64_t count, hash; } known[] = {
      {1, UINT64_C(0x68a914128e01e473)},  {7, UINT64_C(0x2f098ab0c751325a)},  {8, UINT64_C(0xead411e67ebe2eea)},
      {9, UINT64_C(0x75927f9d95124362)},  {16, UINT64_C(0x8972188433a5c5b7)}, {23, UINT64_C(0x37332b1389daa4ff)},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    CHECK_EQUAL(hash_bytes((hash_key){{0, 0}}, bytes, known[i].count), known[i].hash);
  }
  hash_key first = hash_key_make(&first), second = hash_key_make(&second);
  CHECK(hash_bytes(first, bytes, 8) != hash_bytes(second, bytes, 8));
}

int main(void) {
  random_start("definitions_test");
  numbers();
  fields();
  remembered();
  hashed();
  return finish();
}
