/* batch_source.c: see batch_source.h. Keeps the spans that were decompressed last. */
#include "segment/batch_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "segment/batch_frame.h"
#include "segment/unpack.h"

/* ---- Spans ------------------------------------------------------------------------------------------------------- */

/* The span that holds a position of the content. */
static uint64_t span_at(const batch_source *source, uint64_t at) {
  uint64_t from = 0, to = source->span_count;
  while (to - from > 1) {
    uint64_t middle = from + (to - from) / 2;
    if (source->spans[middle].content <= at) from = middle;
    else to = middle;
  }
  return from;
}

/* 0 or a negative errno. */
static int unpack_span(batch_source *source, uint64_t index, uint8_t *to) {
  batch_span *span = &source->spans[index];
  uint32_t made = 0, before = 0;
  if (source->histories) {
    before = span->content < BATCH_HISTORY_BYTES ? (uint32_t)span->content : (uint32_t)BATCH_HISTORY_BYTES;
    memcpy(to - before, source->histories + (index + 1) * BATCH_HISTORY_BYTES - before, before);
  }
  for (uint64_t position = span->position; made < span->bytes;) {
    uint32_t left = span->bytes - made, room = left, history = 0;
    if (!source->exact && room > source->form.block_bytes) room = source->form.block_bytes;
    if (source->histories) {
      history = before + made < BATCH_HISTORY_BYTES ? before + made : (uint32_t)BATCH_HISTORY_BYTES;
    }
    unpacked block;
    int error = unpack_block(source, position, span->end, source->exact, to + made, room, history, &block);
    if (error != 0) return error;
    span->damaged |= block.damaged != 0;
    span->as_stated = block.as_stated != 0;
    if (block.file_bytes == 0) break;
    made += block.damaged ? room : block.bytes;
    position += block.file_bytes;
  }
  if (made == span->bytes) return 0;
  memset(to + made, 0, span->bytes - made);
  span->damaged = 1;
  return 0;
}

static uint32_t largest_span(const batch_source *source) {
  uint32_t most = 0;
  for (uint64_t i = 0; i < source->span_count; i++) {
    if (source->spans[i].bytes > most) most = source->spans[i].bytes;
  }
  return most;
}

static void forget_cached(batch_source *source) {
  for (int i = 0; i < BATCH_CACHED; i++) {
    free(source->cache[i].bytes);
    source->cache[i] = (cached_span){0};
  }
}

/* The content of a span, if possible from the cache. 0 or a negative errno. */
static int load(batch_source *source, uint64_t index, const uint8_t **bytes) {
  cached_span *oldest = &source->cache[0];
  for (int i = 0; i < BATCH_CACHED; i++) {
    cached_span *each = &source->cache[i];
    if (each->used > 0 && each->span == index) {
      each->used = ++source->clock;
      *bytes = each->bytes + BATCH_HISTORY_BYTES;
      return 0;
    }
    if (each->used < oldest->used) oldest = each;
  }
  if (!oldest->bytes) oldest->bytes = (uint8_t *)malloc(BATCH_HISTORY_BYTES + (uint64_t)largest_span(source));
  if (!oldest->bytes) return -ENOMEM;
  oldest->used = 0;
  int error = unpack_span(source, index, oldest->bytes + BATCH_HISTORY_BYTES);
  if (error != 0) return error;
  oldest->span = index;
  oldest->used = ++source->clock;
  *bytes = oldest->bytes + BATCH_HISTORY_BYTES;
  return 0;
}

/* Reads the content's first `count` bytes without the rest of their block: 1; 0 if that is not to be, or an errno. */
static int read_head(batch_source *source, void *to, uint64_t count) {
  const batch_span *first = source->spans;
  if (!source->exact || source->histories || source->head_doubted) return 0;
  if (count > BATCH_HEAD_BYTES || count >= first->bytes) return 0;
  for (int i = 0; i < BATCH_CACHED; i++) {
    if (source->cache[i].used > 0 && source->cache[i].span == 0) return 0;
  }
  int given = unpack_head(source, first->position, first->end, (uint8_t *)to, (uint32_t)count);
  if (given == 1) source->head_given = 1;
  return given;
}

int batch_source_doubt_head(batch_source *source) {
  int changes = source->head_given && !source->head_doubted;
  source->head_doubted = 1;
  return changes;
}

int64_t batch_source_read(batch_source *source, void *to, uint64_t count, uint64_t at) {
  uint64_t done = 0;
  if (at >= source->content_bytes) return 0;
  if (count > source->content_bytes - at) count = source->content_bytes - at;
  int head = at == 0 ? read_head(source, to, count) : 0;
  if (head != 0) return head < 0 ? head : (int64_t)count;
  while (done < count) {
    uint64_t index = span_at(source, at + done);
    const uint8_t *bytes = NULL;
    int error = load(source, index, &bytes);
    if (error != 0) return error;
    const batch_span *span = &source->spans[index];
    if (span->damaged && !source->walked) {
      int changed = batch_frame_reconsider(source);
      if (changed < 0) return changed;
      if (changed) {
        forget_cached(source);
        if (at >= source->content_bytes) return (int64_t)done;
        if (count > source->content_bytes - at) count = source->content_bytes - at;
        continue;
      }
    }
    uint64_t from = at + done - span->content, part = span->bytes - from;
    if (part > count - done) part = count - done;
    memcpy((uint8_t *)to + done, bytes + from, part);
    done += part;
  }
  return (int64_t)done;
}

/* ---- What was found ---------------------------------------------------------------------------------------------- */

const char *batch_source_problem(const batch_source *source, uint64_t from, uint64_t to) {
  if (source->span_count == 0) return source->form.right ? "the LZ4 frame has no block" : "this is no LZ4 frame";
  for (uint64_t i = span_at(source, from); i < source->span_count && source->spans[i].content < to; i++) {
    if (!source->spans[i].damaged) continue;
    return source->form.dictionary ? "an LZ4 block needs a dictionary that is not known" : "an LZ4 block is damaged";
  }
  return NULL;
}

void batch_source_place(const batch_source *source, uint64_t from, uint64_t to, uint64_t *file_from,
                        uint64_t *file_to) {
  *file_from = *file_to = 0;
  if (source->span_count == 0 || from >= to) return;
  *file_from = source->spans[span_at(source, from)].position;
  *file_to = source->spans[span_at(source, to - 1)].end;
  if (*file_to < *file_from) *file_to = *file_from;
}

/* ---- Opening and closing ----------------------------------------------------------------------------------------- */

int batch_source_open(file_bytes file, batch_source **source) {
  batch_source *made = (batch_source *)calloc(1, sizeof *made);
  *source = NULL;
  if (!made) return -ENOMEM;
  made->file = file;
  struct stat status;
  int error = file_bytes_status(&file, &status);
  if (error == 0) made->file_bytes = (uint64_t)status.st_size;
  if (error == 0) error = batch_frame_find(made);
  if (error != 0) {
    batch_source_close(made);
    return error;
  }
  *source = made;
  return 0;
}

void batch_source_close(batch_source *source) {
  if (!source) return;
  forget_cached(source);
  read_buffer_free(&source->packed);
  free(source->entries);
  free(source->spans);
  free(source->histories);
  free(source);
}
