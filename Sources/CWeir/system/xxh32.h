/* xxh32.h: XXH32, the checksum of LZ4 frames, with the seed 0 that these have. liblz4 keeps its own to itself. */
#ifndef WEIR_XXH32_H
#define WEIR_XXH32_H

#include "system/names.h"

#include <stdint.h>

uint32_t xxh32(const void *bytes, uint64_t count);

#endif
