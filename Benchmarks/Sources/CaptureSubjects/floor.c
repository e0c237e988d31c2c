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

enum { LANE_BYTES = 1 << 20, CONTROL_BYTES = 4096, FILE_BYTES = CONTROL_BYTES + LANE_BYTES };

struct floor_lane {
  uint64_t *tail; /* in the file, as Weir's is */
  uint8_t *data;
  uint64_t drained;
  uint8_t *copy;
};

typedef struct floor_event {
  uint64_t order;
  double total;
  uint32_t items;
  uint32_t coupon_bytes;
  char coupon[20];
  uint32_t padding;
} floor_event;

floor_lane *floor_open(const char *path) {
  floor_lane *lane = calloc(1, sizeof *lane);
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (!lane || fd < 0 || posix_fallocate(fd, 0, FILE_BYTES) != 0) return NULL;
  uint8_t *map = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  close(fd);
  lane->copy = malloc(LANE_BYTES);
  if (map == MAP_FAILED || !lane->copy) return NULL;
  memset(map, 0, FILE_BYTES); /* every page is there and dirty before the first burst */
  lane->tail = (uint64_t *)map;
  lane->data = map + CONTROL_BYTES;
  return lane;
}

uint64_t floor_burst(floor_lane *lane, uint64_t first, uint64_t count, const char coupon[20]) {
  floor_event event = {.total = 19.99, .items = 3, .coupon_bytes = 20};
  memcpy(event.coupon, coupon, 20);
  uint64_t position = *lane->tail;
  for (uint64_t order = first; order < first + count; order++) {
    event.order = order;
    __asm__ volatile("" : : "r"(&event) : "memory"); /* the event lies in memory: it is copied, not built in place */
    uint8_t *at = lane->data + (position & (LANE_BYTES - 1));
    uint64_t header = sizeof event, ticks = weir_ticks(WEIR_CLOCK_TSC);
    memcpy(at, &header, 8);
    memcpy(at + 8, &ticks, 8);
    memcpy(at + 16, &event, sizeof event);
    position += 16 + sizeof event;
    __atomic_store_n(lane->tail, position, __ATOMIC_RELEASE);
  }
  return count;
}

void floor_drain(floor_lane *lane) {
  uint64_t tail = __atomic_load_n(lane->tail, __ATOMIC_ACQUIRE);
  for (; lane->drained < tail; lane->drained += 64) {
    uint64_t at = lane->drained & (LANE_BYTES - 1);
    memcpy(lane->copy + at, lane->data + at, 64);
  }
}

void floor_close(floor_lane *lane) {
  munmap(lane->tail, FILE_BYTES);
  free(lane->copy);
  free(lane);
}
