/*
 * print_event.h: an event as the readers that are compared print it: its bytes in hexadecimal, so that a difference is
 * one of reading and not of printing. README.md has the form.
 */
#ifndef WEIR_TESTS_PRINT_EVENT_H
#define WEIR_TESTS_PRINT_EVENT_H

#include <inttypes.h>
#include <stdio.h>

#include "weir.h"

static void print_hex(FILE *to, const void *bytes, uint64_t count) {
  static const char digits[] = "0123456789abcdef";
  for (uint64_t i = 0; i < count; i++) {
    uint8_t byte = ((const uint8_t *)bytes)[i];
    putc(digits[byte >> 4], to);
    putc(digits[byte & 15], to);
  }
}

static void print_hex_or_null(FILE *to, const void *bytes, uint64_t count) {
  if (!bytes) {
    fputs("null", to);
    return;
  }
  putc('"', to);
  print_hex(to, bytes, count);
  putc('"', to);
}

/* The members from `payload` on, and the end of the line. */
static void print_bytes(FILE *to, const weir_event *event) {
  fputs("\"payload\":\"", to);
  print_hex(to, event->payload, event->payload_bytes);
  fputs("\",\"definition\":\"", to);
  print_hex(to, event->fields, event->fields_bytes);
  fputs("\",\"attributes\":\"", to);
  print_hex(to, event->attributes, event->attributes_bytes);
  fprintf(to, "\",\"context\":%" PRIu32 ",\"context_bytes\":", event->context_number);
  print_hex_or_null(to, event->context, event->context_bytes);
  fputs(",\"scope\":", to);
  print_hex_or_null(to, event->scope, event->scope_bytes);
  if (event->monotonic_ns == INT64_MIN) fputs(",\"monotonic_ns\":null", to);
  else fprintf(to, ",\"monotonic_ns\":%" PRId64, event->monotonic_ns);
  fputs(",\"boot_id\":\"", to);
  print_hex(to, event->boot_id, sizeof event->boot_id);
  fputs("\"}\n", to);
}

#endif
