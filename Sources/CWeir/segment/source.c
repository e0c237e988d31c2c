/* source.c: see source.h. */
#include "segment/source.h"

#include <string.h>

#include "segment/batch_frame.h"
#include "system/system.h"

static int is_batch(const char *name) {
  uint64_t length = strlen(name), suffix = strlen(BATCH_SUFFIX);
  return length >= suffix && strcmp(name + length - suffix, BATCH_SUFFIX) == 0;
}

int source_open(segment_source *source, int directory, const char *name) {
  *source = (segment_source){.file = {.fd = sys_open_read(directory, name)}};
  if (source->file.fd < 0) return source->file.fd;
  int error = is_batch(name) ? batch_source_open(source->file, &source->batch) : 0;
  if (error != 0) source_close(source);
  return error;
}

int source_open_memory(segment_source *source, const uint8_t *bytes, uint64_t count, int is_batch) {
  *source = (segment_source){.file = {.fd = -1, .memory = bytes, .count = count}};
  return is_batch ? batch_source_open(source->file, &source->batch) : 0;
}

void source_close(segment_source *source) {
  batch_source_close(source->batch);
  if (source->file.fd >= 0) sys_close(source->file.fd);
  *source = (segment_source){.file = {.fd = -1}};
}

int source_look(const segment_source *source, source_size *size) {
  struct stat status;
  int error = file_bytes_status(&source->file, &status);
  if (error != 0) return error;
  size->file_bytes = (uint64_t)status.st_size;
  size->bytes = source->batch ? source->batch->content_bytes : size->file_bytes;
  size->inode = (uint64_t)status.st_ino;
  return 0;
}

int64_t source_read(const segment_source *source, void *bytes, uint64_t count, uint64_t at) {
  if (source->batch) return batch_source_read(source->batch, bytes, count, at);
  return file_bytes_read(&source->file, bytes, count, at);
}

static int64_t read_any(const void *source, void *bytes, uint64_t count, uint64_t at) {
  return source_read((const segment_source *)source, bytes, count, at);
}

int64_t source_get(const segment_source *source, read_buffer *buffer, uint64_t position, uint64_t wanted, uint64_t next,
                   const uint8_t **bytes) {
  return read_buffer_get(buffer, read_any, source, position, wanted, next, bytes);
}

const char *source_problem(const segment_source *source, uint64_t from, uint64_t to) {
  return source->batch ? batch_source_problem(source->batch, from, to) : NULL;
}

int source_doubt_head(segment_source *source) {
  return source->batch ? batch_source_doubt_head(source->batch) : 0;
}

int source_vouches(const segment_source *source) {
  return source->batch ? batch_frame_vouches(source->batch) : 1;
}

const batch_index *source_index(const segment_source *source) {
  return source->batch && source->batch->has_index ? &source->batch->index : NULL;
}

void source_disown_index(segment_source *source) {
  if (source->batch) source->batch->has_index = 0;
}

int source_seek(const segment_source *source, uint64_t offset, uint64_t *position, uint64_t *base) {
  const batch_index *index = source_index(source);
  int found = 0;
  for (uint64_t i = 0; index && i < index->block_count; i++) {
    const batch_block *entry = &source->batch->entries[i];
    if (entry->segment_at == BATCH_NO_HEADER || entry->base_offset > offset) continue;
    if (found && entry->base_offset < *base) continue;
    *position = entry->segment_at;
    *base = entry->base_offset;
    found = 1;
  }
  return found;
}

void source_place(const segment_source *source, uint64_t from, uint64_t to, uint64_t *file_from, uint64_t *file_to) {
  *file_from = from;
  *file_to = to;
  if (source->batch) batch_source_place(source->batch, from, to, file_from, file_to);
}
