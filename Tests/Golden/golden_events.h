/*
 * golden_events.h: the events in the golden logs: every kind of value at its least, its highest and in between, every
 * form that an event can have, with and without context and scope, and refusals: too large, undefined, sampled out, a
 * full lane, no lane.
 */
#ifndef WEIR_TESTS_GOLDEN_EVENTS_H
#define WEIR_TESTS_GOLDEN_EVENTS_H

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir.h"

static void require(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "make_golden: %s\n", what);
  exit(1);
}

/* ---- Types ------------------------------------------------------------------------------------------------------ */

typedef struct types {
  uint32_t scalars, options, nested, empty, tagged;
} types;

/* The fields of `nested`, encoded: array of string; object {u8, optional string}; array of object {i32}; any value. */
static const uint8_t nested_fields[] = {4, 0, 't', 'a', 'g', 's', WEIR_KIND_ARRAY, WEIR_KIND_STRING,
                                        5, 0, 'p', 'l', 'a', 'c', 'e', WEIR_KIND_OBJECT, 2, 0,
                                        5, 0, 'f', 'l', 'o', 'o', 'r', WEIR_KIND_U8,
                                        4, 0, 'n', 'a', 'm', 'e', WEIR_KIND_OPTIONAL, WEIR_KIND_STRING,
                                        5, 0, 'l', 'i', 'n', 'e', 's', WEIR_KIND_ARRAY, WEIR_KIND_OBJECT, 1, 0,
                                        2, 0, 'p', 'x', WEIR_KIND_I32,
                                        5, 0, 'e', 'x', 't', 'r', 'a', WEIR_KIND_TAGGED};

/* ---- Tagged objects --------------------------------------------------------------------------------------------- */

typedef struct object {
  uint8_t bytes[512];
  uint32_t count;
} object;

static void add(object *object, const void *bytes, uint32_t count) {
  require(object->count + count <= sizeof object->bytes, "an object is too large");
  memcpy(object->bytes + object->count, bytes, count);
  object->count += count;
}

static void add_text(object *object, const char *text) {
  uint32_t bytes = (uint32_t)strlen(text);
  add(object, &bytes, 4);
  add(object, text, bytes);
}

static object make_object(uint32_t members) {
  object made = {.count = 0};
  add(&made, &members, 4);
  return made;
}

static void add_member(object *object, const char *name, uint8_t kind, const void *value, uint32_t bytes) {
  add_text(object, name);
  add(object, &kind, 1);
  add(object, value, bytes);
}

static void add_text_member(object *object, const char *name, const char *text) {
  add_member(object, name, WEIR_KIND_STRING, "", 0);
  add_text(object, text);
}

/* {"fields": {"app": "shop", "größe": number}, "user": {"id": "…"}}; with `number` 0 an object without members. */
static object make_context(uint16_t number) {
  if (number == 0) return make_object(0);
  object context = make_object(2), fields = make_object(2), user = make_object(1);
  add_text_member(&fields, "app", "shop");
  add_member(&fields, "größe", WEIR_KIND_U16, &number, 2);
  add_text_member(&user, "id", "山田");
  add_member(&context, "fields", WEIR_KIND_OBJECT, fields.bytes, fields.count);
  add_member(&context, "user", WEIR_KIND_OBJECT, user.bytes, user.count);
  return context;
}

static void set_context(weir_log *log, const object *context) {
  weir_error error;
  weir_status status = weir_set_context(log, context ? context->bytes : NULL, context ? context->count : 0, &error);
  if (status != WEIR_OK) require(0, error.message);
}

/* ----------------------------------------------------------------------------------------------------------------- */

static types define(weir_log *log) {
  static const weir_field scalars[] = {
      {"bool", WEIR_KIND_BOOL, 0},   {"i8", WEIR_KIND_I8, 0},         {"i16", WEIR_KIND_I16, 0},
      {"i32", WEIR_KIND_I32, 0},     {"i64", WEIR_KIND_I64, 0},       {"u8", WEIR_KIND_U8, 0},
      {"u16", WEIR_KIND_U16, 0},     {"u32", WEIR_KIND_U32, 0},       {"u64", WEIR_KIND_U64, 0},
      {"f32", WEIR_KIND_F32, 0},     {"f64", WEIR_KIND_F64, 0},       {"string", WEIR_KIND_STRING, 0},
      {"bytes", WEIR_KIND_BYTES, 0}, {"uuid", WEIR_KIND_UUID, 0},     {"date", WEIR_KIND_DATE, 0}};
  static const weir_field options[] = {{"größe", WEIR_KIND_U16, 1}, {"名前", WEIR_KIND_STRING, 1}};
  object wire = make_object(2), none = make_object(0), kind = make_object(1);
  add_member(&wire, "id", WEIR_KIND_U64, &(uint64_t){7}, 8);
  add_text_member(&wire, "kind", "action");
  add_text_member(&kind, "kind", "view");
  const weir_definition definitions[] = {
      {.name = "scalars",
       .fields = scalars,
       .field_count = 15,
       .attributes = wire.bytes,
       .attributes_bytes = wire.count},
      {.name = "été.optional", .fields = options, .field_count = 2},
      {.name = "nested",
       .field_count = 4,
       .encoded = nested_fields,
       .encoded_bytes = sizeof nested_fields,
       .attributes = none.bytes,
       .attributes_bytes = none.count},
      {.name = "empty"},
      {.name = "tagged", .tagged = 1, .attributes = kind.bytes, .attributes_bytes = kind.count}};
  uint32_t first;
  weir_error error;
  if (weir_define(log, 0, definitions, 5, &first, &error) != WEIR_OK) require(0, error.message);
  return (types){first, first + 1, first + 2, first + 3, first + 4};
}

/* ---- Events ----------------------------------------------------------------------------------------------------- */

static void begin(weir_log *log, weir_record *record) {
  require(weir_begin(log, record) == WEIR_ACCEPTED, "an event was refused at its beginning");
}

static void commit(weir_record *record, uint32_t type) {
  require(weir_commit(record, type, NULL) == WEIR_ACCEPTED, "an event was refused at its end");
}

static void capture_empty(weir_log *log, uint32_t type) {
  weir_record record;
  begin(log, &record);
  commit(&record, type);
}

static void put_text(weir_record *record, const char *text) { weir_put_string(record, text, strlen(text)); }

/* `side` -1: the least value of every kind; 1: the highest; 0: something between. */
static void capture_scalars(weir_log *log, uint32_t type, int side) {
  static const char *const texts[] = {"", "Grüße, 世界 🌊 \"quoted\"\\\t\n", "\x01 control, \x7f, end"};
  uint8_t uuid[16], bytes[3] = {0, 255, 16};
  for (int i = 0; i < 16; i++) uuid[i] = (uint8_t)(side < 0 ? 0 : side > 0 ? 255 : 17 * i);
  uint64_t sign = UINT64_C(1) << 63;
  weir_record record;
  begin(log, &record);
  weir_put_u8(&record, side > 0);
  weir_put_u8(&record, (uint8_t)(side < 0 ? sign >> 56 : side > 0 ? 127 : (uint8_t)-5));
  weir_put_u16(&record, (uint16_t)(side < 0 ? sign >> 48 : side > 0 ? INT16_MAX : 515));
  weir_put_u32(&record, (uint32_t)(side < 0 ? sign >> 32 : side > 0 ? INT32_MAX : (uint32_t)-70000));
  weir_put_u64(&record, side < 0 ? sign : side > 0 ? INT64_MAX : (uint64_t)-1234567890123);
  weir_put_u8(&record, (uint8_t)(side < 0 ? 0 : side > 0 ? UINT8_MAX : 200));
  weir_put_u16(&record, (uint16_t)(side < 0 ? 0 : side > 0 ? UINT16_MAX : 513));
  weir_put_u32(&record, side < 0 ? 0 : side > 0 ? UINT32_MAX : 3000000000);
  weir_put_u64(&record, side < 0 ? 0 : side > 0 ? UINT64_MAX : 9007199254740993);
  weir_put_f32(&record, side < 0 ? -INFINITY : side > 0 ? 3.4028235e38f : 0.1f);
  weir_put_f64(&record, side < 0 ? -0.0 : side > 0 ? (double)NAN : 19.9);
  put_text(&record, texts[side + 1]);
  weir_put_string(&record, (const char *)bytes, side < 0 ? 0 : 3);
  weir_put_raw(&record, uuid, 16);
  weir_put_f64(&record, side < 0 ? -978307200 : side > 0 ? 1e300 : 815529599.125);
  commit(&record, type);
}

/* Bit 0 of `present`: the first field has a value; bit 1: the second. */
static void capture_options(weir_log *log, uint32_t type, int present) {
  weir_record record;
  begin(log, &record);
  weir_put_u8(&record, present & 1);
  if (present & 1) weir_put_u16(&record, 180);
  weir_put_u8(&record, present >> 1);
  if (present & 2) put_text(&record, "山田");
  commit(&record, type);
}

/* Lists of `count` members, and with `count` 0 the least that an event of this type can hold. */
static void capture_nested(weir_log *log, uint32_t type, uint32_t count) {
  static const char *const tags[] = {"new", "", "ünï"};
  weir_record record;
  begin(log, &record);
  weir_put_u32(&record, count);
  for (uint32_t i = 0; i < count; i++) put_text(&record, tags[i % 3]);
  weir_put_u8(&record, (uint8_t)(count * 50));
  weir_put_u8(&record, count > 0);
  if (count > 0) put_text(&record, "roof");
  weir_put_u32(&record, count);
  for (uint32_t i = 0; i < count; i++) weir_put_u32(&record, 0 - i);
  weir_put_u8(&record, count > 0 ? WEIR_KIND_I16 : WEIR_KIND_NULL);
  if (count > 0) weir_put_u16(&record, (uint16_t)-2);
  commit(&record, type);
}

/* A null, a bool, an array of an f64 and a string, an object, and a text that is not UTF-8. */
static void put_tagged_object(weir_record *record) {
  weir_put_u32(record, 5);
  put_text(record, "nothing");
  weir_put_u8(record, WEIR_KIND_NULL);
  put_text(record, "yes");
  weir_put_u8(record, WEIR_KIND_BOOL);
  weir_put_u8(record, 1);
  put_text(record, "mixed");
  weir_put_u8(record, WEIR_KIND_ARRAY);
  weir_put_u32(record, 2);
  weir_put_u8(record, WEIR_KIND_F64);
  weir_put_f64(record, 5e-324);
  weir_put_u8(record, WEIR_KIND_STRING);
  put_text(record, "två");
  put_text(record, "inner");
  weir_put_u8(record, WEIR_KIND_OBJECT);
  weir_put_u32(record, 1);
  put_text(record, "u64");
  weir_put_u8(record, WEIR_KIND_U64);
  weir_put_u64(record, UINT64_MAX);
  put_text(record, "latin-1");
  weir_put_u8(record, WEIR_KIND_STRING);
  put_text(record, "gr\xfc\xdf");
}

static void capture_tagged(weir_log *log, uint32_t type) {
  weir_record record;
  begin(log, &record);
  if (type == WEIR_TYPE_DYNAMIC) put_text(&record, "dynamic, 名前は自由");
  put_tagged_object(&record);
  commit(&record, type);
}

/* With a scope of one member, with one that says nothing, and with one of no bytes; the last on a dynamic event. */
static void capture_scoped(weir_log *log, const types *types) {
  object scope = make_object(1), empty = make_object(0);
  add_text_member(&scope, "user", "u-1");
  weir_record record;
  begin(log, &record);
  weir_put_scope(&record, scope.bytes, scope.count);
  commit(&record, types->empty | WEIR_SCOPED);
  begin(log, &record);
  put_tagged_object(&record);
  weir_put_scope(&record, empty.bytes, empty.count);
  commit(&record, types->tagged | WEIR_SCOPED);
  begin(log, &record);
  put_text(&record, "dynamic");
  weir_put_u32(&record, 0);
  weir_put_scope(&record, NULL, 0);
  commit(&record, WEIR_TYPE_DYNAMIC | WEIR_SCOPED);
}

/* No context, then one, another, one of no members, the first again, none again. */
static void capture_all(weir_log *log, const types *types) {
  object first = make_context(1), second = make_context(2), empty = make_context(0);
  for (int side = -1; side <= 1; side++) capture_scalars(log, types->scalars, side);
  set_context(log, &first);
  for (int present = 0; present < 4; present++) capture_options(log, types->options, present);
  set_context(log, &second);
  for (uint32_t count = 0; count < 3; count++) capture_nested(log, types->nested, count);
  set_context(log, &empty);
  capture_empty(log, types->empty);
  set_context(log, &first);
  capture_scoped(log, types);
  set_context(log, NULL);
  capture_tagged(log, types->tagged);
  capture_tagged(log, WEIR_TYPE_DYNAMIC);
  capture_scoped(log, types);
}

/* ---- Refusals and other lanes ------------------------------------------------------------------------------------ */

enum { LARGEST = 1024 };

static void refuse_some(weir_log *log, const types *types) {
  static const uint8_t bytes[LARGEST + 1];
  weir_record record;
  for (int i = 0; i < 2; i++) {
    begin(log, &record);
    weir_put_raw(&record, bytes, sizeof bytes);
    require(weir_commit(&record, types->empty, NULL) == WEIR_DROP_TOO_LARGE, "nothing was too large");
  }
  begin(log, &record);
  require(weir_commit(&record, 8000, NULL) == WEIR_DROP_INVALID, "an undefined type was taken");
  for (int i = 0; i < 2; i++) {
    begin(log, &record);
    require(weir_refuse(&record, WEIR_DROP_SAMPLED) == WEIR_DROP_SAMPLED, "nothing was sampled out");
  }
}

/* Large events, until the lane is full: a drainer that keeps up may take some of them. */
static void overfill(weir_log *log) {
  weir_record record;
  static const char text[1000];
  for (int i = 0; i < 100000; i++) {
    if (weir_begin(log, &record) == WEIR_DROP_FULL) return;
    put_text(&record, "large");
    weir_put_u32(&record, 1);
    put_text(&record, "zeros");
    weir_put_u8(&record, WEIR_KIND_BYTES);
    weir_put_string(&record, text, sizeof text - 100);
    commit(&record, WEIR_TYPE_DYNAMIC);
  }
  require(0, "the lane did not fill");
}

/* A capture within a capture goes to the spare lane; a third has no lane. */
static void nest_captures(weir_log *log, const types *types) {
  weir_record outer, inner, none;
  begin(log, &outer);
  begin(log, &inner);
  require(weir_begin(log, &none) == WEIR_DROP_NO_LANE, "there was a third lane");
  weir_put_u16(&inner, 0); /* both fields are missing */
  commit(&inner, types->options);
  commit(&outer, types->empty);
}

typedef struct task {
  weir_log *log;
  const types *types;
} task;

static void *run_task(void *argument) {
  task *task = argument;
  capture_nested(task->log, task->types->nested, 1);
  capture_empty(task->log, task->types->empty);
  return NULL;
}

static void capture_on_another_thread(weir_log *log, const types *types) {
  pthread_t thread;
  task task = {log, types};
  require(pthread_create(&thread, NULL, run_task, &task) == 0, "no thread could be made");
  pthread_join(thread, NULL);
}

#endif
