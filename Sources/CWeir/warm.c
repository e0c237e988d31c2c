/* warm.c: see warm.h. */
#include "warm.h"

#include <stdlib.h>

#include "log.h"
#include "system.h"

/* Below them the scan takes a few milliseconds in all. */
enum { LEAST_SEGMENTS = 4, LEAST_BYTES = 16 << 20, PIECE_BYTES = 256 << 10, PAUSE_NS = 50000 };

static uint64_t scanned(const warmer *warmer) { return __atomic_load_n(&warmer->scanned, __ATOMIC_RELAXED); }

static int is_much(const warmer *warmer) {
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < warmer->count && bytes < LEAST_BYTES; i++) {
    struct stat status;
    if (sys_status_at(warmer->directory, warmer->names[i].name, &status) == 0) bytes += (uint64_t)status.st_size;
  }
  return bytes >= LEAST_BYTES;
}

/* Reads one segment, unless the scan has come to it: what is left of it the scan fetches as fast. */
static void warm(const warmer *warmer, uint64_t index, uint8_t *piece) {
  int fd = sys_open_read(warmer->directory, warmer->names[index].name);
  if (fd < 0) return;
  int64_t count = PIECE_BYTES;
  for (uint64_t at = 0; count == PIECE_BYTES && scanned(warmer) < index; at += PIECE_BYTES) {
    count = sys_read_at(fd, piece, PIECE_BYTES, at);
  }
  sys_close(fd);
}

static void *warm_main(void *context) {
  warmer *warmer = context;
  uint8_t *piece = malloc(PIECE_BYTES);
  for (uint64_t index = 1; piece && index < warmer->count; index++) {
    uint64_t at = scanned(warmer);
    if (index <= at) index = at + 1;
    /* No further ahead than the next one: more would drive it out of the cache again. */
    while (index > scanned(warmer) + 1) sys_sleep_ns(PAUSE_NS);
    if (index < warmer->count) warm(warmer, index, piece);
  }
  free(piece);
  return NULL;
}

void warmer_start(warmer *warmer, int directory, const segment_name *names, uint64_t count) {
  *warmer = (struct warmer){.directory = directory, .names = names, .count = count};
  if (count < LEAST_SEGMENTS || !is_much(warmer)) return;
  warmer->runs = start_thread(&warmer->thread, warm_main, warmer, "weir-warm") == 0;
}

void warmer_follow(warmer *warmer, uint64_t index) { __atomic_store_n(&warmer->scanned, index, __ATOMIC_RELAXED); }

void warmer_stop(warmer *warmer) {
  warmer_follow(warmer, warmer->count);
  if (warmer->runs) pthread_join(warmer->thread, NULL);
  warmer->runs = 0;
}
