/*
 * cost_subject.c: captures for cost.c. Compiled as plug-ins: with each library, and with weir.c.
 *
 * The event is that of the README's table: an integer, a double, a small integer and a string of 20 bytes.
 */
#include <time.h>

#include "weir.h"

#define SEEN __attribute__((visibility("default")))

SEEN int subject_open(const char *directory);
SEEN double subject_burst(int events);
SEEN int subject_close(void);

static weir_log *opened;
static uint32_t type;

int subject_open(const char *directory) {
  const weir_field fields[] = {{"order", WEIR_KIND_U64, 0},
                               {"total", WEIR_KIND_F64, 0},
                               {"items", WEIR_KIND_U16, 0},
                               {"coupon", WEIR_KIND_STRING, 0}};
  const weir_definition definition = {.name = "completed", .fields = fields, .field_count = 4};
  return weir_open(directory, NULL, &opened, NULL, NULL) == WEIR_OK &&
         weir_define(opened, 0, &definition, 1, &type, NULL) == WEIR_OK;
}

/* Nanoseconds an event, of a burst into a lane that is empty; negative if an event was refused. */
double subject_burst(int events) {
  struct timespec from, to;
  int refused = weir_drain(opened, UINT64_MAX, NULL, NULL) != WEIR_OK;
  clock_gettime(CLOCK_MONOTONIC, &from);
  for (int i = 0; i < events; i++) {
    weir_record record;
    weir_id id;
    if (weir_begin(opened, &record) != WEIR_ACCEPTED) return -1;
    weir_put_u64(&record, (uint64_t)i);
    weir_put_f64(&record, 19.9);
    weir_put_u16(&record, 3);
    weir_put_string(&record, "SPRING-FREE-SHIPPING", 20);
    refused |= weir_commit(&record, type, &id) != WEIR_ACCEPTED;
  }
  clock_gettime(CLOCK_MONOTONIC, &to);
  double ns = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
  return refused ? -1 : ns / events;
}

int subject_close(void) {
  weir_status status = weir_close(opened, NULL);
  weir_free(opened);
  return status == WEIR_OK;
}
