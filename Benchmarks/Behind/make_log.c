/*
 * make_log.c: makes a log of the benchmarks' standard event, as a program leaves it.
 *
 *     make_log DIRECTORY EVENTS
 *
 * Each event has an order number, a double, a small integer and a text of 20 bytes that is one of 900.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir.h"

static void check(int32_t status, const weir_error *error) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "make_log: %s\n", error->message);
  exit(2);
}

int main(int argc, char **argv) {
  uint64_t events = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
  if (events == 0) {
    fprintf(stderr, "usage: make_log DIRECTORY EVENTS\n");
    return 64;
  }
  weir_options options;
  weir_options_init(&options);
  options.full_wait_ns = UINT64_MAX;
  weir_log *log;
  weir_error error;
  check(weir_open(argv[1], &options, &log, NULL, &error), &error);
  const weir_field fields[] = {{"order", WEIR_KIND_U64, 0},
                               {"total", WEIR_KIND_F64, 0},
                               {"items", WEIR_KIND_U32, 0},
                               {"coupon", WEIR_KIND_STRING, 0}};
  const weir_definition definition = {.name = "sale.completed", .fields = fields, .field_count = 4};
  uint32_t type;
  check(weir_define(log, 0, &definition, 1, &type, &error), &error);
  char coupons[900][24];
  for (int i = 0; i < 900; i++) snprintf(coupons[i], sizeof coupons[i], "SPRING-2026-CODE-%d", 100 + i);
  for (uint64_t i = 0; i < events; i++) {
    weir_record record;
    int32_t drop = weir_begin(log, &record);
    if (drop == WEIR_ACCEPTED) {
      weir_put_u64(&record, i);
      weir_put_f64(&record, (double)(i % 10000) / 100);
      weir_put_u32(&record, (uint32_t)(i % 7));
      weir_put_string(&record, coupons[i % 900], 20);
      drop = weir_commit(&record, type, NULL);
    }
    if (drop != WEIR_ACCEPTED) {
      fprintf(stderr, "make_log: an event was refused: %s\n", weir_drop_name(drop));
      return 2;
    }
  }
  check(weir_close(log, &error), &error);
  return 0;
}
