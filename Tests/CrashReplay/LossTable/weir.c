/*
 * weir.c: Weir, with the options that weir_options_init gives, but that a capture waits where its lane is full, as the
 * other subjects wait for their files: with the default it would be refused, which is no loss but fewer events.
 */
#include "weir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "subject.h"

typedef struct store {
  weir_log *log;
  uint32_t type;
} store;

static const char type_name[] = "loss.order";

static void close_store(void *handle) {
  store *store = handle;
  weir_free(store->log);
  free(store);
}

static void *open_store(const char *directory, ledger *ledger, char *message) {
  (void)ledger;
  static const weir_field fields[] = {{"thread", WEIR_KIND_U32, 0},
                                      {"number", WEIR_KIND_U64, 0},
                                      {"total", WEIR_KIND_F64, 0},
                                      {"items", WEIR_KIND_I32, 0},
                                      {"coupon", WEIR_KIND_STRING, 0}};
  const weir_definition definition = {.name = type_name, .fields = fields, .field_count = 5};
  weir_options options;
  weir_options_init(&options);
  options.full_wait_ns = UINT64_MAX;
  store *made = calloc(1, sizeof *made);
  if (!made) abort();
  weir_error error;
  char path[4096];
  snprintf(path, sizeof path, "%s/log", directory);
  if (weir_open(path, &options, &made->log, NULL, &error) == WEIR_OK &&
      weir_define(made->log, 0, &definition, 1, &made->type, &error) == WEIR_OK) {
    return made;
  }
  snprintf(message, MESSAGE_BYTES, "%.*s", MESSAGE_BYTES - 1, error.message);
  close_store(made);
  return NULL;
}

static answer append(void *handle, const order *order) {
  store *store = handle;
  weir_record record;
  if (weir_begin(store->log, &record) != WEIR_ACCEPTED) return REFUSED;
  weir_put_u32(&record, order->thread);
  weir_put_u64(&record, order->number);
  weir_put_f64(&record, order->total);
  weir_put_u32(&record, (uint32_t)order->items);
  weir_put_string(&record, order->coupon, COUPON_BYTES);
  return weir_commit(&record, store->type, NULL) == WEIR_ACCEPTED ? ACKNOWLEDGED : REFUSED;
}

/* The payload is packed: each field right after the one before. */
static int decode(const weir_event *event, order *order) {
  uint32_t coupon_bytes;
  const uint8_t *at = event->payload;
  memset(order, 0, sizeof *order);
  if (event->payload_bytes != 4 + 8 + 8 + 4 + sizeof coupon_bytes + COUPON_BYTES) return 0;
  memcpy(&order->thread, at, 4);
  memcpy(&order->number, at + 4, 8);
  memcpy(&order->total, at + 12, 8);
  memcpy(&order->items, at + 20, 4);
  memcpy(&coupon_bytes, at + 24, 4);
  memcpy(order->coupon, at + 28, COUPON_BYTES);
  return coupon_bytes == COUPON_BYTES;
}

static int read_back(const char *directory, judge *judge, char *message) {
  char path[4096];
  weir_reader *reader;
  weir_event event;
  weir_skip skip;
  weir_error error;
  snprintf(path, sizeof path, "%s/log", directory);
  weir_status status = weir_reader_open(path, NULL, &reader, &error);
  if (status == WEIR_OK) {
    while ((status = weir_reader_next(reader, &event, &skip, &error)) == WEIR_OK || status == WEIR_SKIPPED) {
      order order;
      if (status == WEIR_SKIPPED || event.type == WEIR_TYPE_HOLE) judge_damage(judge);
      else if (event.type == WEIR_TYPE_GAP) continue; /* a count of refusals */
      else if (event.name_bytes != sizeof type_name - 1 || memcmp(event.name, type_name, event.name_bytes) != 0 ||
               !decode(&event, &order)) judge_damage(judge);
      else judge_order(judge, &order);
    }
    weir_reader_close(reader);
  }
  if (status == WEIR_END) return 0;
  snprintf(message, MESSAGE_BYTES, "%.*s", MESSAGE_BYTES - 1, error.message);
  return -1;
}

const subject weir_log_subject = {
    .name = "weir",
    .title = "Weir",
    .settings = "the defaults, except that calls wait when a lane is full",
    .as_safe = "nothing more",
    .is_weir = 1,
    .open = open_store,
    .append = append,
    .close = close_store,
    .read = read_back};
