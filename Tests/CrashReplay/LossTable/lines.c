/*
 * lines.c: orders as JSON Lines: how two of the subjects write them, how both are read, and the subject that writes
 * them through stdio, as programs do that append to a log file. A line is formatted as a program would that cares
 * about its cost: one snprintf, no JSON library.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "subject.h"

enum { BUFFER_BYTES = 64 << 10 };

uint32_t line_make(char line[LINE_BYTES], const order *order) {
  return (uint32_t)snprintf(line, LINE_BYTES,
                            "{\"thread\":%u,\"number\":%llu,\"total\":%.2f,\"items\":%d,\"coupon\":\"%s\"}\n",
                            order->thread, (unsigned long long)order->number, order->total, order->items,
                            order->coupon);
}

/* Whether the line says exactly what it would say had its order been written whole. */
static int parse(const char *line, uint64_t bytes, order *order) {
  unsigned long long number;
  char again[LINE_BYTES];
  memset(order, 0, sizeof *order);
  if (sscanf(line, "{\"thread\":%u,\"number\":%llu,\"total\":%lf,\"items\":%d,\"coupon\":\"%20[A-Z2-7]\"}",
             &order->thread, &number, &order->total, &order->items, order->coupon) != 5) {
    return 0;
  }
  order->number = number;
  return line_make(again, order) == bytes && memcmp(again, line, bytes) == 0;
}

int lines_read(const char *path, judge *judge, char *message) {
  FILE *file = fopen(path, "r");
  if (!file) {
    if (errno == ENOENT) return 0; /* killed before there was one */
    snprintf(message, MESSAGE_BYTES, "%.200s: %s", path, strerror(errno));
    return -1;
  }
  char *line = NULL;
  size_t room = 0;
  for (ssize_t bytes; (bytes = getline(&line, &room, file)) > 0;) {
    order order;
    if (parse(line, (uint64_t)bytes, &order)) judge_order(judge, &order);
    else judge_damage(judge);
  }
  free(line);
  fclose(file);
  return 0;
}

/* ---- Through stdio ----------------------------------------------------------------------------------------------- */

typedef struct writer {
  FILE *file;
  int flushes; /* after each line */
  char buffer[BUFFER_BYTES]; /* glibc takes a size only together with a buffer */
} writer;

static char *path_in(const char *directory, char path[4096]) {
  snprintf(path, 4096, "%s/events.jsonl", directory);
  return path;
}

static void *open_writer(const char *directory, int flushes, char *message) {
  char path[4096];
  writer *made = calloc(1, sizeof *made);
  if (made) made->file = fopen(path_in(directory, path), "a");
  if (!made || !made->file) {
    snprintf(message, MESSAGE_BYTES, "%.200s: %s", path, strerror(errno));
    free(made);
    return NULL;
  }
  setvbuf(made->file, made->buffer, _IOFBF, BUFFER_BYTES);
  made->flushes = flushes;
  return made;
}

static void *open_buffered(const char *directory, ledger *ledger, char *message) {
  (void)ledger;
  return open_writer(directory, 0, message);
}

static void *open_flushed(const char *directory, ledger *ledger, char *message) {
  (void)ledger;
  return open_writer(directory, 1, message);
}

/* stdio's own lock keeps lines whole, but not a line and its flush together: that takes its lock around both. */
static answer append(void *store, const order *order) {
  writer *writer = store;
  char line[LINE_BYTES];
  uint32_t bytes = line_make(line, order);
  flockfile(writer->file);
  int good = fwrite(line, 1, bytes, writer->file) == bytes;
  if (good && writer->flushes) good = fflush(writer->file) == 0;
  funlockfile(writer->file);
  return good ? ACKNOWLEDGED : REFUSED;
}

static void close_writer(void *store) {
  writer *writer = store;
  fclose(writer->file);
  free(writer);
}

static int read_back(const char *directory, judge *judge, char *message) {
  char path[4096];
  return lines_read(path_in(directory, path), judge, message);
}

const subject lines_buffered = {
    .name = "jsonl",
    .title = "JSON Lines, buffered",
    .settings = "stdio with a buffer of 64 KiB, a line an event",
    .as_safe = "a flush after each line, as in the next row: a system call an event",
    .loses = 1,
    .open = open_buffered,
    .append = append,
    .close = close_writer,
    .read = read_back};

const subject lines_flushed = {
    .name = "jsonl-flushed",
    .title = "JSON Lines, flushed",
    .settings = "the same, with a flush after each line",
    .as_safe = "nothing more, if readers skip a torn last line",
    .open = open_flushed,
    .append = append,
    .close = close_writer,
    .read = read_back};
