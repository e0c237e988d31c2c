/*
 * floor.c: the least that a capture which survives a kill can do: copy the event into a mapped file, stamp it with the
 * same clock as Weir's, publish it with one release store. No checksum, no lane to find, no check for room.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture_subjects.h"
#include "weir_capture.h"

enum { CONTROL_BYTES = 4096, OVERHANG_BYTES = 8192, FILE_BYTES = CONTROL_BYTES + FLOOR_LANE_BYTES + OVERHANG_BYTES };
enum { HEADER_BYTES = 16 };

struct floor_lane {
  uint64_t *tail; /* in the file, as Weir's is */
  uint8_t *data;
  uint64_t text_bytes;
  uint64_t drained;
  uint8_t *copy;
};

typedef struct floor_event {
  uint64_t order;
  double total;
  uint32_t items;
  uint32_t coupon_bytes;
  char coupon[CHECKOUT_TEXT];
  uint32_t padding;
} floor_event;

static uint64_t size_of_record(const floor_lane *lane) {
  if (lane->text_bytes == CHECKOUT_TEXT) return HEADER_BYTES + sizeof(floor_event);
  return HEADER_BYTES + ((lane->text_bytes + 7) & ~(uint64_t)7);
}

floor_lane *floor_open(const char *path, uint64_t text_bytes) {
  floor_lane *lane = calloc(1, sizeof *lane);
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (!lane || fd < 0 || text_bytes > 4096 || posix_fallocate(fd, 0, FILE_BYTES) != 0) return NULL;
  uint8_t *map = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  close(fd);
  lane->copy = malloc(FLOOR_LANE_BYTES + OVERHANG_BYTES);
  if (map == MAP_FAILED || !lane->copy) return NULL;
  memset(map, 0, FILE_BYTES); /* every page is there and dirty before the first burst */
  lane->tail = (uint64_t *)map;
  lane->data = map + CONTROL_BYTES;
  lane->text_bytes = text_bytes;
  return lane;
}

static inline uint64_t capture(floor_lane *lane, uint64_t position, const void *event, uint64_t bytes) {
  uint8_t *at = lane->data + (position & (FLOOR_LANE_BYTES - 1));
  uint64_t ticks = weir_ticks(WEIR_CLOCK_TSC);
  memcpy(at, &bytes, 8);
  memcpy(at + 8, &ticks, 8);
  memcpy(at + HEADER_BYTES, event, bytes);
  position += HEADER_BYTES + ((bytes + 7) & ~(uint64_t)7);
  __atomic_store_n(lane->tail, position, __ATOMIC_RELEASE);
  return position;
}

static uint64_t burst_texts(floor_lane *lane, uint64_t count, const char *text) {
  uint64_t position = *lane->tail, bytes = lane->text_bytes;
  for (uint64_t i = 0; i < count; i++) position = capture(lane, position, text, bytes);
  return count;
}

uint64_t floor_burst(floor_lane *lane, uint64_t first, uint64_t count, const char *text) {
  if (lane->text_bytes != CHECKOUT_TEXT) return burst_texts(lane, count, text);
  floor_event event = {.total = 19.99, .items = 3, .coupon_bytes = CHECKOUT_TEXT};
  memcpy(event.coupon, text, CHECKOUT_TEXT);
  uint64_t position = *lane->tail;
  for (uint64_t order = first; order < first + count; order++) {
    event.order = order;
    __asm__ volatile("" : : "r"(&event) : "memory"); /* the event lies in memory: it is copied, not built in place */
    position = capture(lane, position, &event, sizeof event);
  }
  return count;
}

uint64_t floor_burst_timed(floor_lane *lane, uint64_t first, uint64_t count, const char *text, uint64_t gap,
                           uint32_t *ticks) {
  uint64_t next = support_ticks();
  for (uint64_t i = 0; i < count; i++, next += gap) {
    support_wait_until(next);
    uint64_t start = support_ticks();
    floor_burst(lane, first + i, 1, text);
    uint64_t took = support_ticks() - start;
    ticks[i] = took > UINT32_MAX ? UINT32_MAX : (uint32_t)took;
  }
  return count;
}

void floor_drain(floor_lane *lane) {
  uint64_t tail = __atomic_load_n(lane->tail, __ATOMIC_ACQUIRE), size = size_of_record(lane);
  for (; lane->drained < tail; lane->drained += size) {
    uint64_t at = lane->drained & (FLOOR_LANE_BYTES - 1);
    memcpy(lane->copy + at, lane->data + at, size);
  }
}

void floor_close(floor_lane *lane) {
  munmap(lane->tail, FILE_BYTES);
  free(lane->copy);
  free(lane);
}
