/* pack.c: see pack.h. */
#include "../C/batch_builder.h"

#include "pack.h"

uint8_t *pack_segment(const archived *file, uint64_t *count) {
  const bytes segment = {file->data, file->bytes};
  batch_form form = {.columns = (file->flags & FILE_COLUMNS) != 0,
                     .no_index = (file->flags & (FILE_NO_INDEX | FILE_LINKED | FILE_PIECES)) != 0,
                     .linked = (file->flags & FILE_LINKED) != 0,
                     .no_content_size = (file->flags & FILE_NO_SIZE) != 0,
                     .piece_bytes = file->flags & FILE_PIECES ? 1000 : 0};
  if (form.linked) form.block_size = LZ4F_max64KB;
  bytes batch = build_batch(&segment, &form);
  *count = batch.count;
  return batch.at;
}
