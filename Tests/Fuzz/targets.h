/* targets.h: what each fuzz target is to libFuzzer; the replay of corpus and cases links them without it. */
#ifndef WEIR_FUZZ_TARGETS_H
#define WEIR_FUZZ_TARGETS_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t count, size_t room, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *left, size_t left_count, const uint8_t *right, size_t right_count,
                                 uint8_t *bytes, size_t room, unsigned seed);

#endif
