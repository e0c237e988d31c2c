/* structure_batch.h: structure.h's part for batch segments. */
#ifndef WEIR_FUZZ_STRUCTURE_BATCH_H
#define WEIR_FUZZ_STRUCTURE_BATCH_H

#include "structure.h"

void find_in_batch(const archived *file, parts *found);

/* Makes the checksums of header, blocks and index right. */
void repair_batch(archived *file);

#endif
