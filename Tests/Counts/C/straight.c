/*
 * straight.c: functions that are exactly one inlined capture, to be disassembled. The checker follows each from its
 * start to its return, past every branch that the header marks as unlikely, and looks at what lies on the way.
 */
#include "weir.h"

/* A record without fields: what any capture takes. */
int32_t straight_empty(weir_log *log, uint32_t type, weir_id *id) {
  weir_record record;
  if (__builtin_expect(weir_begin(log, &record) != WEIR_ACCEPTED, 0)) return -1;
  return weir_commit(&record, type, id);
}

/* An order number, a double and a 32-bit number. */
int32_t straight_numbers(weir_log *log, uint32_t type, uint64_t order, double total, uint32_t items) {
  weir_record record;
  weir_id id;
  if (__builtin_expect(weir_begin(log, &record) != WEIR_ACCEPTED, 0)) return -1;
  weir_put_u64(&record, order);
  weir_put_f64(&record, total);
  weir_put_u32(&record, items);
  return weir_commit(&record, type, &id);
}

/* The same, and a text of 20 bytes. */
int32_t straight_text(weir_log *log, uint32_t type, uint64_t order, double total, uint32_t items, const char *text) {
  weir_record record;
  weir_id id;
  if (__builtin_expect(weir_begin(log, &record) != WEIR_ACCEPTED, 0)) return -1;
  weir_put_u64(&record, order);
  weir_put_f64(&record, total);
  weir_put_u32(&record, items);
  weir_put_string(&record, text, 20);
  return weir_commit(&record, type, &id);
}

/* What must be noticed: shows that the checker sees it. */
int32_t sinner_lock(weir_log *log, uint32_t type, weir_id *id, uint64_t *shared) {
  __atomic_fetch_add(shared, 1, __ATOMIC_RELAXED);
  return straight_empty(log, type, id);
}

int32_t sinner_called(void);
int32_t sinner_call(weir_log *log, uint32_t type, weir_id *id) {
  weir_record record;
  if (__builtin_expect(weir_begin(log, &record) != WEIR_ACCEPTED, 0)) return -1;
  weir_put_u32(&record, (uint32_t)sinner_called());
  return weir_commit(&record, type, id);
}
