/* segment_list.c: see segment_list.h. */
#include "directory/segment_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "system/system.h"

enum { BASE_DIGITS = 20 };

void segment_list_raw_name(char name[64], uint64_t base, int active) {
  snprintf(name, 64, "%020llu%s", (unsigned long long)base, active ? ACTIVE_SUFFIX : SEALED_SUFFIX);
}

void segment_list_batch_name(char name[64], uint64_t base) {
  snprintf(name, 64, "%020llu" BATCH_SUFFIX, (unsigned long long)base);
}

/* Parses a name. 0: it is not a segment's. */
static int parse_name(const char *name, segment_name *parsed) {
  uint64_t base = 0;
  for (int i = 0; i < BASE_DIGITS; i++) {
    if (name[i] < '0' || name[i] > '9') return 0;
    if (__builtin_mul_overflow(base, 10, &base) || __builtin_add_overflow(base, name[i] - '0', &base)) return 0;
  }
  const char *suffix = name + BASE_DIGITS;
  int active = strcmp(suffix, ACTIVE_SUFFIX) == 0, batch = strcmp(suffix, BATCH_SUFFIX) == 0;
  if (!active && !batch && strcmp(suffix, SEALED_SUFFIX) != 0) return 0;
  if (base > MAX_OFFSET) return 0;
  memset(parsed, 0, sizeof *parsed);
  memcpy(parsed->name, name, strlen(name));
  parsed->base = base;
  parsed->active = active;
  parsed->batch = batch;
  return 1;
}

typedef struct growing_list {
  segment_list list;
  uint64_t room;
} growing_list;

static int append(growing_list *growing, const segment_name *name) {
  if (growing->list.count == growing->room) {
    uint64_t room = growing->room ? growing->room * 2 : 64;
    segment_name *items = (segment_name *)realloc(growing->list.items, room * sizeof *items);
    if (!items) return -ENOMEM;
    growing->list.items = items;
    growing->room = room;
  }
  growing->list.items[growing->list.count++] = *name;
  return 0;
}

static int take_name(void *context, const char *name) {
  segment_name parsed;
  return parse_name(name, &parsed) ? append((growing_list *)context, &parsed) : 0;
}

static int by_base(const void *left, const void *right) {
  const segment_name *a = (const segment_name *)left, *b = (const segment_name *)right;
  if (a->base != b->base) return a->base < b->base ? -1 : 1;
  return a->active != b->active ? a->active - b->active : a->batch - b->batch;
}

/* Sorts the list, and drops batches whose raw file is there. */
static void put_in_order(segment_list *list) {
  if (list->count < 2) return;
  qsort(list->items, list->count, sizeof *list->items, by_base);
  uint64_t kept = 1;
  for (uint64_t i = 1; i < list->count; i++) {
    const segment_name *before = &list->items[kept - 1], *name = &list->items[i];
    if (name->batch && !before->active && before->base == name->base) continue;
    list->items[kept++] = *name;
  }
  list->count = kept;
}

int segment_list_read(int directory, segment_list *list) {
  growing_list growing = {{NULL, 0}, 0};
  int error = sys_list(directory, take_name, &growing);
  if (error != 0) {
    segment_list_free(&growing.list);
    list->items = NULL;
    list->count = 0;
    return error;
  }
  put_in_order(&growing.list);
  *list = growing.list;
  return 0;
}

void segment_list_free(segment_list *list) {
  free(list->items);
  list->items = NULL;
  list->count = 0;
}

typedef struct tail {
  growing_list from;      /* segments that are not sealed, and sealed ones after the first of these */
  uint64_t first;         /* the base of the first that is not sealed; UINT64_MAX: none yet */
  segment_name last;      /* the last sealed segment before that; if it is raw and a batch, the raw file */
  int has_last;
  int again;              /* `last` may be wrong, because `first` was not known yet: list once more */
  int (*other)(void *context, const char *name);
  void *context;
} tail;

/* By the length of a name that begins with a digit. */
static int is_sealed_name(const char *name) {
  uint64_t length = strlen(name);
  return length == BASE_DIGITS + strlen(SEALED_SUFFIX) || length == BASE_DIGITS + strlen(BATCH_SUFFIX);
}

static int take_tail(void *context, const char *name) {
  tail *tail = (struct tail *)context;
  segment_name parsed;
  /* In a log of many segments nearly all: sealed, and before another sealed one. */
  if (tail->has_last && name[0] <= '9' && strncmp(name, tail->last.name, BASE_DIGITS) < 0 && is_sealed_name(name)) {
    return 0;
  }
  if (!parse_name(name, &parsed)) return tail->other ? tail->other(tail->context, name) : 0;
  if (!parsed.active && parsed.base <= tail->first) { /* for one base the sealed one comes first */
    if (tail->has_last && parsed.base < tail->last.base) return 0;
    if (tail->has_last && parsed.base == tail->last.base && parsed.batch) return 0;
    tail->last = parsed;
    tail->has_last = 1;
    return 0;
  }
  if (parsed.active && parsed.base < tail->first) {
    tail->first = parsed.base;
    tail->again |= tail->has_last && tail->last.base > tail->first;
  }
  return append(&tail->from, &parsed);
}

int segment_list_tail(int directory, segment_list *list, int (*other)(void *context, const char *name), void *context) {
  tail tail = {.first = UINT64_MAX, .other = other, .context = context};
  int error = sys_list(directory, take_tail, &tail);
  if (error == 0 && tail.again) {
    tail.other = NULL;
    tail.has_last = 0;
    tail.from.list.count = 0;
    error = sys_list(directory, take_tail, &tail);
  }
  if (error == 0 && tail.has_last) error = append(&tail.from, &tail.last);
  *list = tail.from.list;
  if (error != 0) segment_list_free(list);
  else put_in_order(list);
  return error;
}

static int is_equal(const segment_list *left, const segment_list *right) {
  if (left->count != right->count) return 0;
  for (uint64_t i = 0; i < left->count; i++) {
    if (strcmp(left->items[i].name, right->items[i].name) != 0) return 0;
  }
  return 1;
}

int segment_list_settled(int directory, segment_list *list) {
  /* A busy writer renames some ten files a second; a pair of listings takes a tenth of a millisecond. */
  enum { MAX_ROUNDS = 1000 };
  int error = segment_list_read(directory, list);
  for (int round = 0; error == 0 && round < MAX_ROUNDS; round++) {
    segment_list before = *list;
    error = segment_list_read(directory, list);
    int equal = error == 0 && is_equal(&before, list);
    segment_list_free(&before);
    if (equal) break;
  }
  return error;
}

int segment_list_raw(int directory, uint64_t end, raw_list *out) {
  segment_list list;
  *out = (raw_list){NULL, 0};
  int error = segment_list_read(directory, &list);
  if (error == 0) out->bases = (uint64_t *)calloc(list.count + 1, sizeof *out->bases);
  if (error == 0 && !out->bases) error = -ENOMEM;
  for (uint64_t i = 0; error == 0 && i < list.count; i++) {
    const segment_name *name = &list.items[i];
    if (!name->active && !name->batch && name->base < end) out->bases[out->count++] = name->base;
  }
  segment_list_free(&list);
  return error;
}
