/*
 * queue.c: an in-memory queue with a flush timer, as analytics libraries have it: a call puts the event into a queue
 * and returns; a thread appends what is queued to a file once a second, or when the queue is full, which a call then
 * waits for. An event is sent when it is flushed. (Over a network it would be sent later still.)
 */
#define _GNU_SOURCE /* pthread_cond_clockwait */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "subject.h"

enum { QUEUE_ORDERS = 100000, FLUSH_SECONDS = 1 };

typedef struct queue {
  int fd;
  pthread_t flusher;
  pthread_mutex_t mutex;
  pthread_cond_t wakes; /* the flusher: the queue is full, or closing */
  pthread_cond_t room;
  int closing;
  order *orders; /* `count` of them wait; the flusher swaps this for `flushing` */
  order *flushing;
  uint32_t count;
} queue;

static void write_lines(queue *queue, const order *orders, uint32_t count) {
  char *text = malloc((size_t)count * LINE_BYTES + 1);
  if (!text) abort();
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < count; i++) bytes += line_make(text + bytes, &orders[i]);
  for (uint64_t at = 0; at < bytes;) {
    ssize_t wrote = write(queue->fd, text + at, bytes - at);
    if (wrote > 0) at += (uint64_t)wrote;
    else if (errno != EINTR) abort(); /* a full disk: no matter of this table */
  }
  free(text);
}

static void *flush_main(void *argument) {
  queue *queue = argument;
  pthread_mutex_lock(&queue->mutex);
  for (int ends = 0; !ends;) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += FLUSH_SECONDS;
    int waited = 0;
    while (!queue->closing && queue->count < QUEUE_ORDERS && waited == 0) {
      waited = pthread_cond_clockwait(&queue->wakes, &queue->mutex, CLOCK_MONOTONIC, &until);
    }
    ends = queue->closing;
    uint32_t count = queue->count;
    order *full = queue->orders;
    queue->orders = queue->flushing;
    queue->flushing = full;
    queue->count = 0;
    pthread_cond_broadcast(&queue->room);
    pthread_mutex_unlock(&queue->mutex);
    write_lines(queue, full, count);
    pthread_mutex_lock(&queue->mutex);
  }
  pthread_mutex_unlock(&queue->mutex);
  return NULL;
}

static void *open_queue(const char *directory, ledger *ledger, char *message) {
  (void)ledger;
  char path[4096];
  snprintf(path, sizeof path, "%s/events.jsonl", directory);
  queue *made = calloc(1, sizeof *made);
  if (!made) abort();
  made->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  made->orders = malloc(QUEUE_ORDERS * sizeof *made->orders);
  made->flushing = malloc(QUEUE_ORDERS * sizeof *made->flushing);
  pthread_mutex_init(&made->mutex, NULL);
  pthread_cond_init(&made->wakes, NULL);
  pthread_cond_init(&made->room, NULL);
  if (made->fd < 0 || !made->orders || !made->flushing ||
      pthread_create(&made->flusher, NULL, flush_main, made) != 0) {
    snprintf(message, MESSAGE_BYTES, "%.200s: %s", path, strerror(errno));
    return NULL; /* the program ends with it */
  }
  return made;
}

static answer append(void *store, const order *order) {
  queue *queue = store;
  pthread_mutex_lock(&queue->mutex);
  while (queue->count == QUEUE_ORDERS) pthread_cond_wait(&queue->room, &queue->mutex);
  queue->orders[queue->count++] = *order;
  if (queue->count == QUEUE_ORDERS) pthread_cond_signal(&queue->wakes);
  pthread_mutex_unlock(&queue->mutex);
  return ACKNOWLEDGED;
}

static void close_queue(void *store) {
  queue *queue = store;
  pthread_mutex_lock(&queue->mutex);
  queue->closing = 1;
  pthread_cond_signal(&queue->wakes);
  pthread_mutex_unlock(&queue->mutex);
  pthread_join(queue->flusher, NULL);
  close(queue->fd);
  free(queue->orders);
  free(queue->flushing);
  free(queue);
}

static int read_back(const char *directory, judge *judge, char *message) {
  char path[4096];
  snprintf(path, sizeof path, "%s/events.jsonl", directory);
  return lines_read(path, judge, message);
}

const subject memory_queue = {
    .name = "queue",
    .title = "queue in memory, flush timer",
    .settings = "at most 100,000 events, appended to a file once a second or when the queue is full; then calls wait",
    .as_safe = "a write before the call returns, as in *JSON Lines, flushed*: a system call an event",
    .loses = 1,
    .open = open_queue,
    .append = append,
    .close = close_queue,
    .read = read_back};
