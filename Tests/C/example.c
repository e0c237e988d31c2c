/*
 * example.c: Weir from plain C. Four threads capture orders; the log is closed, read back, and compared with what was
 * captured. Needs weir.h and libweir.a, no Swift:
 *
 *     cc -std=c11 -I include example.c libweir.a -pthread -o example && ./example /tmp/orders
 *
 * Exits with 0 if every order is there with the values that were captured, each thread's in its order.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir.h"

enum { THREADS = 4, ORDERS = 10000 };

static const char *const coupons[] = {"", "SPRING", "FREE-SHIPPING-2026"};

/* What one thread needs. `accepted` counts what it was told is safe; here nothing may be refused. */
typedef struct shop {
  weir_log *log;
  uint32_t order_type;
  uint32_t number;
  uint32_t accepted;
} shop;

/* The values of an order follow from its number, so that the reader can tell what must be there. */
static double total_of(uint64_t order) { return (double)(order % 1000) / 4; }
static const char *coupon_of(uint64_t order) { return coupons[order % 3]; }

static void *sell(void *context) {
  shop *self = context;
  for (uint64_t i = 0; i < ORDERS; i++) {
    uint64_t order = (uint64_t)self->number * ORDERS + i;
    weir_record record;
    if (weir_begin(self->log, &record) != WEIR_ACCEPTED) continue; /* refused, and counted in the log */
    weir_put_u64(&record, order);
    weir_put_f64(&record, total_of(order));
    weir_put_string(&record, coupon_of(order), strlen(coupon_of(order)));
    if (weir_commit(&record, self->order_type, NULL) == WEIR_ACCEPTED) self->accepted++;
  }
  return NULL;
}

/* Opens the log, declares the event and lets four threads capture. Answers how many events were accepted. */
static int capture(const char *directory) {
  weir_options options;
  weir_options_init(&options);
  options.full_wait_ns = UINT64_MAX; /* wait for room: nothing is refused for a full lane */
  weir_log *log;
  weir_error error;
  if (weir_open(directory, &options, &log, NULL, &error) != WEIR_OK) {
    fprintf(stderr, "%s\n", error.message);
    return -1;
  }

  const weir_field fields[] = {
      {"order", WEIR_KIND_U64, 0}, {"total", WEIR_KIND_F64, 0}, {"coupon", WEIR_KIND_STRING, 0}};
  const weir_definition definition = {.name = "order.completed", .fields = fields, .field_count = 3};
  uint32_t type;
  if (weir_define(log, 0, &definition, 1, &type, &error) != WEIR_OK) {
    fprintf(stderr, "%s\n", error.message);
    weir_free(log);
    return -1;
  }

  shop shops[THREADS];
  pthread_t threads[THREADS];
  for (uint32_t i = 0; i < THREADS; i++) {
    shops[i] = (shop){log, type, i, 0};
    if (pthread_create(&threads[i], NULL, sell, &shops[i]) != 0) abort();
  }
  int accepted = 0;
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    accepted += (int)shops[i].accepted;
  }

  if (weir_close(log, &error) != WEIR_OK) {
    fprintf(stderr, "%s\n", error.message);
    accepted = -1;
  }
  weir_free(log);
  return accepted;
}

/* The event's fields, little endian as both supported processors are, against what must be in them. */
static int is_right(const weir_event *event, uint64_t next_of_thread[THREADS]) {
  uint64_t order;
  double total;
  uint32_t coupon_bytes;
  if (event->name_bytes != 15 || memcmp(event->name, "order.completed", 15) != 0) return 0;
  if (event->payload_bytes < 20) return 0;
  memcpy(&order, event->payload, 8);
  memcpy(&total, event->payload + 8, 8);
  memcpy(&coupon_bytes, event->payload + 16, 4);
  uint64_t thread = order / ORDERS;
  if (thread >= THREADS || next_of_thread[thread]++ != order % ORDERS) return 0;
  const char *coupon = coupon_of(order);
  return total == total_of(order) && coupon_bytes == strlen(coupon) && event->payload_bytes == 20u + coupon_bytes &&
         memcmp(event->payload + 20, coupon, coupon_bytes) == 0;
}

/* Reads the log from its first event. Answers how many orders are there, each once and in its thread's order. */
static int read_back(const char *directory) {
  weir_reader_options options;
  weir_reader_options_init(&options);
  weir_reader *reader;
  weir_error error;
  if (weir_reader_open(directory, &options, &reader, &error) != WEIR_OK) {
    fprintf(stderr, "%s\n", error.message);
    return -1;
  }
  uint64_t next_of_thread[THREADS] = {0};
  int found = 0;
  weir_event event;
  weir_skip skip;
  weir_status status;
  while ((status = weir_reader_next(reader, &event, &skip, &error)) == WEIR_OK) {
    if (!is_right(&event, next_of_thread)) {
      fprintf(stderr, "offset %llu holds another event than was captured\n", (unsigned long long)event.offset);
      found = -1;
      break;
    }
    found++;
  }
  if (status == WEIR_SKIPPED) fprintf(stderr, "%s: %s\n", skip.file, skip.reason);
  if (status > WEIR_SKIPPED) fprintf(stderr, "%s\n", error.message);
  weir_reader_close(reader);
  return found;
}

int main(int count, char **arguments) {
  if (count != 2) {
    fprintf(stderr, "usage: %s DIRECTORY\n", arguments[0]);
    return 2;
  }
  int accepted = capture(arguments[1]);
  if (accepted < 0) return 2;
  int found = read_back(arguments[1]);
  printf("%d orders accepted, %d read back\n", accepted, found);
  return accepted == THREADS * ORDERS && found == accepted ? 0 : 1;
}
