/*
 * types_test.c: event types through weir.h: definitions are found again, refused when they are wrong, limited, and told
 * to every reader, in every segment that needs them.
 */
#include "capture_check.h"

static weir_status define(weir_log *log, uint64_t owner, const char *name, const weir_field *fields, uint32_t count,
                          uint32_t *type) {
  const weir_definition definition = {.name = name, .fields = fields, .field_count = count};
  weir_error error;
  weir_status status = weir_define(log, owner, &definition, 1, type, &error);
  if (status != WEIR_OK) CHECK(error.status == status && strlen(error.message) > 10 && !strchr(error.message, '\n'));
  return status;
}

static void found_again(void) {
  test("a type is found by its owner, or by owner and name, and is defined once");
  char *folder = scratch();
  weir_log *log = open_default(join(folder, "log"), NULL);
  REQUIRE(log);
  static int owners[600];
  const weir_definition pair[] = {{.name = "first"}, {.name = "second"}};
  uint32_t firsts[600];
  for (int i = 0; i < 600; i++) { /* enough for owners to share a slot */
    CHECK(weir_find_owner(log, (uint64_t)&owners[i]) == NULL);
    CHECK_EQUAL(weir_define(log, (uint64_t)&owners[i], pair, 2, &firsts[i], NULL), WEIR_OK);
    CHECK(firsts[i] >= WEIR_TYPE_FIRST);
  }
  for (int i = 0; i < 600; i++) {
    const weir_type_slot *slot = weir_find_owner(log, (uint64_t)&owners[i]);
    if (CHECK(slot != NULL)) {
      CHECK_EQUAL(slot->first, firsts[i]);
      CHECK_EQUAL(slot->count, 2);
    }
    uint32_t again = 0;
    CHECK_EQUAL(weir_define(log, (uint64_t)&owners[i], pair, 2, &again, NULL), WEIR_OK);
    CHECK_EQUAL(again, firsts[i]);
  }

  char key[16];
  const weir_definition tagged = {.name = "tagged", .tagged = 1};
  for (int round = 0; round < 2; round++) {
    static uint32_t types[500];
    for (int i = 0; i < 500; i++) {
      uint64_t bytes = (uint64_t)snprintf(key, sizeof key, "key %d", i % 250), owner = 16 + (uint64_t)(i / 250) * 16;
      uint32_t type = 0;
      CHECK_EQUAL(weir_find_type(log, owner, key, bytes), round ? types[i] : 0);
      CHECK_EQUAL(weir_define_named(log, owner, key, bytes, &tagged, &type, NULL), WEIR_OK);
      CHECK_EQUAL(weir_find_type(log, owner, key, bytes), type);
      CHECK(round == 0 || type == types[i]);
      types[i] = type;
    }
  }
  CHECK_EQUAL(weir_find_type(log, 16, "key", 3), 0);
  weir_counters counters;
  weir_count(log, &counters);
  CHECK(counters.types >= 1700);
  close_and_free(log);
  scratch_remove(folder);
}

static void refused(void) {
  test("a wrong definition is refused and defines nothing");
  char *folder = scratch();
  weir_log *log = open_default(join(folder, "log"), NULL);
  REQUIRE(log);
  uint32_t type;
  static char long_name[WEIR_MAX_NAME_BYTES + 2];
  memset(long_name, 'n', WEIR_MAX_NAME_BYTES + 1);
  const weir_field good = {"field", WEIR_KIND_U8, 0}, unnamed = {"", WEIR_KIND_U8, 0}, none = {NULL, WEIR_KIND_U8, 0},
                   unknown = {"field", 99, 0}, null = {"field", WEIR_KIND_NULL, 0},
                   array = {"field", WEIR_KIND_ARRAY, 0}, broken = {"caf\xe9", WEIR_KIND_U8, 0},
                   endless = {long_name, WEIR_KIND_U8, 0};
  CHECK_EQUAL(define(log, 0, "good", &good, 1, &type), WEIR_OK);
  CHECK_EQUAL(define(log, 0, "", &good, 1, &type), WEIR_ERROR_INVALID);
  CHECK_EQUAL(define(log, 0, NULL, &good, 1, &type), WEIR_ERROR_INVALID);
  CHECK_EQUAL(define(log, 0, "caf\xe9", &good, 1, &type), WEIR_ERROR_INVALID);
  CHECK_EQUAL(define(log, 0, long_name, &good, 1, &type), WEIR_ERROR_INVALID);
  const weir_field *wrong[] = {&unnamed, &none, &unknown, &null, &array, &broken, &endless};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    CHECK_EQUAL(define(log, 0, "wrong", wrong[i], 1, &type), WEIR_ERROR_INVALID);
  }
  long_name[WEIR_MAX_NAME_BYTES] = 0;
  CHECK_EQUAL(define(log, 0, long_name, &endless, 1, &type), WEIR_OK); /* exactly the longest */

  /* Encoded fields: cut short, with bytes left over, nested too deep. */
  const uint8_t fields[] = {1, 0, 'a', WEIR_KIND_OPTIONAL, WEIR_KIND_ARRAY, WEIR_KIND_U16};
  weir_definition encoded = {.name = "encoded", .field_count = 1, .encoded = fields, .encoded_bytes = sizeof fields};
  CHECK_EQUAL(weir_define(log, 0, &encoded, 1, &type, NULL), WEIR_OK);
  for (uint32_t bytes = 0; bytes < sizeof fields; bytes++) {
    encoded.encoded_bytes = bytes;
    CHECK_EQUAL(weir_define(log, 0, &encoded, 1, &type, NULL), WEIR_ERROR_INVALID);
  }
  encoded.encoded_bytes = sizeof fields;
  encoded.field_count = 2;
  CHECK_EQUAL(weir_define(log, 0, &encoded, 1, &type, NULL), WEIR_ERROR_INVALID);
  uint8_t deep[3 + 100] = {1, 0, 'a'};
  memset(deep + 3, WEIR_KIND_ARRAY, 99);
  deep[102] = WEIR_KIND_U8;
  encoded = (weir_definition){.name = "deep", .field_count = 1, .encoded = deep, .encoded_bytes = sizeof deep};
  weir_status status = weir_define(log, 0, &encoded, 1, &type, NULL);
  CHECK(status == WEIR_ERROR_INVALID || status == WEIR_ERROR_LIMIT);

  close_and_free(log);
  scratch_remove(folder);
}

static void limited(void) {
  test("the room for types is limited; what was defined before goes on working");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_default(directory, NULL);
  REQUIRE(log);
  uint32_t type = define_numbered(log), other, defined = 0;
  weir_status status = WEIR_OK;
  char name[WEIR_MAX_NAME_BYTES];
  while (status == WEIR_OK && defined < 100000) {
    snprintf(name, sizeof name, "%0500u", defined);
    status = define(log, 0, name, NULL, 0, &other);
    defined += status == WEIR_OK;
  }
  CHECK_EQUAL(status, WEIR_ERROR_LIMIT);
  CHECK(defined > 400);
  CHECK_EQUAL(capture_numbered(log, type, 0, 0, 10, NULL), WEIR_ACCEPTED);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  CHECK_EQUAL(define(log, 0, "after", NULL, 0, &other), WEIR_ERROR_CLOSED);
  weir_free(log);
  scratch_remove(folder);
}

/* Every segment must repeat what its records need: read the log with all but one segment deleted. */
static void in_every_segment(void) {
  test("each segment can be read without the ones before it");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_options options;
  weir_options_init(&options);
  options.segment_bytes = 1 << 20;
  options.full_wait_ns = UINT64_MAX;
  weir_log *log = NULL;
  REQUIRE(weir_open(directory, &options, &log, NULL, NULL) == WEIR_OK);
  uint32_t type = define_numbered(log);
  const uint64_t events = 20000;
  for (uint64_t i = 0; i < events; i++) CHECK_EQUAL(capture_numbered(log, type, 0, i, 200, NULL), WEIR_ACCEPTED);
  weir_counters counters;
  CHECK_EQUAL(weir_drain(log, UINT64_MAX, NULL, NULL), WEIR_OK);
  weir_count(log, &counters);
  CHECK(counters.segments >= 4);
  close_and_free(log);
  found_log found = read_log(directory);
  check_sound(&found);
  CHECK_EQUAL(check_producer(&found, 0), events);
  found_free(&found);

  REQUIRE(unlink(join(directory, "00000000000000000000.weir")) == 0);
  found = read_log(directory);
  CHECK_EQUAL(found.end, WEIR_END);
  CHECK_EQUAL(found.wrong, 0);
  CHECK(found.count > events / 2 && found.count < events);
  for (uint64_t i = 0; i < found.count; i++) CHECK_EQUAL(found.events[i].number, found.events[i].offset);
  found_free(&found);
  scratch_remove(folder);
}

static void dynamic(void) {
  test("a dynamic event carries its own name");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  weir_log *log = open_default(directory, NULL);
  REQUIRE(log);
  weir_record record;
  CHECK_EQUAL(weir_begin(log, &record), WEIR_ACCEPTED);
  weir_put_string(&record, "page.viewed", 11);
  weir_put_u32(&record, 1);
  weir_put_string(&record, "path", 4);
  weir_put_u8(&record, WEIR_KIND_STRING);
  weir_put_string(&record, "/index", 6);
  CHECK_EQUAL(weir_commit(&record, WEIR_TYPE_DYNAMIC, NULL), WEIR_ACCEPTED);
  close_and_free(log);
  weir_reader_options options;
  weir_reader_options_init(&options);
  weir_reader *reader;
  REQUIRE(weir_reader_open(directory, &options, &reader, NULL) == WEIR_OK);
  weir_event event;
  weir_skip skip;
  if (CHECK_EQUAL(weir_reader_next(reader, &event, &skip, NULL), WEIR_OK)) {
    CHECK(name_is(&event, "page.viewed"));
    CHECK_EQUAL(event.type_tagged, 1);
  }
  CHECK_EQUAL(weir_reader_next(reader, &event, &skip, NULL), WEIR_END);
  weir_reader_close(reader);
  scratch_remove(folder);
}

int main(void) {
  random_start("types_test");
  found_again();
  refused();
  limited();
  in_every_segment();
  dynamic();
  return finish();
}
