/*
 * directory_fuzz.c: the fuzz targets `segment`, `batch`, `ring` and `directory`. All take a directory through every
 * reader and through recovery, twice; they differ in what of it they change: FUZZ_FOCUS, one of mutate.h's.
 */
#include <stdio.h>
#include <stdlib.h>

#include "archive.h"
#include "examine.h"
#include "mutate.h"
#include "targets.h"

#ifndef FUZZ_FOCUS
#define FUZZ_FOCUS FOCUS_ALL
#endif

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static seen_log seen;
  archive archive;
  archive_read(&archive, bytes, count);
  archive_unpack(&archive);
  archive_free(&archive);
  /* Inputs do not say what was repaired in them, so all are taken for forged. */
  const char *problem = examine(archive_home(), 0, &seen);
  if (!problem) return 0;
  fprintf(stderr, "weir fuzz: %s\n", problem);
  abort();
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t count, size_t room, unsigned seed) {
  return mutate_input(bytes, count, room, seed, FUZZ_FOCUS);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *left, size_t left_count, const uint8_t *right, size_t right_count,
                                 uint8_t *bytes, size_t room, unsigned seed) {
  return cross_inputs(left, left_count, right, right_count, bytes, room, seed);
}
