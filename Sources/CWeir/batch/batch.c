/*
 * batch.c: see batch.h. Reads one segment and checks it, puts its blocks into columns where that helps, compresses them
 * a MiB at a time, and writes them to a new file; then the names change.
 */
#include "batch/batch.h"

#include <errno.h>
#include <lz4frame.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "directory/segment_list.h"
#include "format/columns.h"
#include "limits/byte_limit.h"
#include "limits/retention.h"
#include "segment/identity.h"
#include "segment/scan.h"
#include "system/crc32c.h"
#include "system/error.h"
#include "system/system.h"

/* One segment that is being made a batch. */
typedef struct writer {
  batch_job *job;
  batch_work *work;
  LZ4F_cctx *context;
  uint8_t *memory;   /* where the bytes go that have no file; null: they go to the file */
  int fd;
  sys_file file;     /* the file that the descriptor is of */
  int named;         /* the file has its own name */
  uint64_t at;       /* bytes written */
  uint64_t taken;    /* bytes of room taken below the limit; 0: none yet */
  uint64_t packed;   /* bytes of content that are compressed */
  uint64_t filled;   /* bytes of content that are not compressed yet */
  batch_index *index; /* in the work, where the user data goes */
  batch_block *blocks;
  segment_scan scan;  /* of the raw file */
} writer;

void batch_temporary_name(char name[64], uint64_t base) {
  snprintf(name, 64, BATCH_PREFIX "%020llu", (unsigned long long)base);
}

int batch_is_temporary(const char *name) {
  uint64_t prefix = strlen(BATCH_PREFIX);
  if (strncmp(name, BATCH_PREFIX, prefix) != 0) return 0;
  return strspn(name + prefix, "0123456789") == 20 && name[prefix + 20] == 0;
}

int batch_remove_temporary(int directory, const char *name) {
  int error = sys_unlink(directory, name);
  if (error != -EISDIR && error != -EPERM) return error == -ENOENT ? 0 : error;
  /* Linux answers EISDIR, others what POSIX has. */
  struct stat status;
  return sys_status_at(directory, name, &status) == 0 && S_ISDIR(status.st_mode) ? 0 : error;
}

void batch_work_free(batch_work *work) {
  free(work->content);
  free(work->packed);
  free(work->scratch);
  free(work->index);
  memset(work, 0, sizeof *work);
}

/* Grows a buffer to at least `bytes`. Its first `kept` bytes stay as they are. 0 or -ENOMEM. */
static int make_room(uint8_t **bytes, uint64_t *room, uint64_t wanted, uint64_t kept) {
  if (wanted <= *room) return 0;
  uint8_t *grown = (uint8_t *)malloc(wanted);
  if (!grown) return -ENOMEM;
  if (kept > 0) memcpy(grown, *bytes, kept);
  free(*bytes);
  *bytes = grown;
  *room = wanted;
  return 0;
}

/* ---- The file ---------------------------------------------------------------------------------------------------- */

static int is_stopped(const batch_job *job) {
  return job->stopping && __atomic_load_n(job->stopping, __ATOMIC_RELAXED) != 0;
}

/* Appends to the file, within the room that was taken. 0 or a negative errno. */
static int append(writer *writer, const void *bytes, uint64_t count) {
  if (writer->at + count > writer->taken) return -BYTE_LIMIT_REACHED;
  if (writer->memory) {
    memcpy(writer->memory + writer->at, bytes, count);
    writer->at += count;
    return 0;
  }
  int ours = sys_is_file(writer->fd, &writer->file);
  int error = ours ? sys_write_at(writer->fd, bytes, count, writer->at) : -DESCRIPTOR_LOST;
  if (error == 0) writer->at += count;
  return error;
}

static LZ4F_preferences_t preferences(uint64_t content_bytes) {
  return (LZ4F_preferences_t){.frameInfo = {.blockSizeID = LZ4F_max1MB,
                                            .blockMode = LZ4F_blockIndependent,
                                            .contentSize = content_bytes,
                                            .blockChecksumFlag = LZ4F_blockChecksumEnabled},
                              .autoFlush = 1}; /* a call is a block */
}

/*
 * Each segment has a context of its own: one that was used before might compress a short block to other bytes.
 * 0 or a negative errno.
 */
static int begin_frame(writer *writer) {
  LZ4F_preferences_t wanted = preferences(writer->scan.file_bytes);
  if (LZ4F_isError(LZ4F_createCompressionContext(&writer->context, LZ4F_VERSION))) return -ENOMEM;
  batch_work *work = writer->work;
  int error = make_room(&work->packed, &work->packed_room, LZ4F_compressBound(BATCH_BLOCK_BYTES, &wanted), 0);
  if (error != 0) return error;
  size_t bytes = LZ4F_compressBegin(writer->context, work->packed, work->packed_room, &wanted);
  if (LZ4F_isError(bytes)) return -ENOMEM; /* with these arguments nothing else can fail */
  return append(writer, work->packed, bytes);
}

/* Compresses the next `count` bytes of content to one block. */
static int pack(writer *writer, const uint8_t *content, uint64_t count) {
  batch_work *work = writer->work;
  LZ4F_compressOptions_t options = {.stableSrc = 1};
  size_t bytes =
      LZ4F_compressUpdate(writer->context, work->packed, work->packed_room, content, count, &options);
  if (LZ4F_isError(bytes)) return -EIO;
  writer->blocks[writer->packed / BATCH_BLOCK_BYTES].position = writer->at;
  writer->packed += count;
  return append(writer, work->packed, bytes);
}

/* Compresses all whole LZ4 blocks of the content; with `last` also the rest. */
static int pack_filled(writer *writer, int last) {
  uint8_t *content = writer->work->content;
  uint64_t done = 0;
  int error = 0;
  while (error == 0 && writer->filled - done >= (last ? 1 : BATCH_BLOCK_BYTES)) {
    uint64_t left = writer->filled - done, count = left < BATCH_BLOCK_BYTES ? left : (uint64_t)BATCH_BLOCK_BYTES;
    error = pack(writer, content + done, count);
    done += count;
  }
  writer->filled -= done;
  if (done > 0 && writer->filled > 0) memmove(content, content + done, writer->filled);
  return error;
}

static int end_frame(writer *writer) {
  batch_work *work = writer->work;
  size_t bytes = LZ4F_compressEnd(writer->context, work->packed, work->packed_room, NULL);
  if (LZ4F_isError(bytes)) return -EIO; /* the frame has fewer bytes than its header says */
  return append(writer, work->packed, bytes);
}

/* ---- The index --------------------------------------------------------------------------------------------------- */

/* The bytes before the user data lie right before it in memory, too, so that the user data is aligned. */
enum { LEAD_ROOM = 16 };
static uint8_t *lead_of(const batch_work *work) { return work->index + LEAD_ROOM - BATCH_SKIPPABLE_BYTES; }

/* The skippable frame in memory, with blocks that hold no header yet. 0 or -ENOMEM. */
static int begin_index(writer *writer) {
  batch_work *work = writer->work;
  uint64_t blocks = (writer->scan.file_bytes + BATCH_BLOCK_BYTES - 1) / BATCH_BLOCK_BYTES;
  uint64_t bytes = sizeof(batch_index) + blocks * sizeof(batch_block) + sizeof(batch_end);
  int error = make_room(&work->index, &work->index_room, LEAD_ROOM + bytes, 0);
  if (error != 0) return error;
  uint32_t lead[] = {LZ4_LEGACY_MAGIC, LZ4_SKIPPABLE_MAGIC, (uint32_t)bytes};
  memcpy(lead_of(work), lead, sizeof lead);
  const segment_header *header = &writer->scan.header;
  writer->index = (batch_index *)(void *)(work->index + LEAD_ROOM);
  writer->blocks = (batch_block *)(void *)(writer->index + 1);
  *writer->index = (batch_index){.magic = BATCH_MAGIC,
                                 .major = FORMAT_MAJOR,
                                 .minor = FORMAT_MINOR,
                                 .flags = BATCH_COLUMNS,
                                 .block_bytes = BATCH_BLOCK_BYTES,
                                 .salt = header->salt,
                                 .opening = header->opening,
                                 .base_offset = header->base_offset,
                                 .content_bytes = writer->scan.file_bytes,
                                 .block_count = (uint32_t)blocks,
                                 .log_id = header->log_id};
  for (uint64_t i = 0; i < blocks; i++) {
    writer->blocks[i] = (batch_block){.segment_at = BATCH_NO_HEADER, .base_offset = BATCH_NO_HEADER};
  }
  batch_end end = {.index_bytes = bytes, .magic = BATCH_MAGIC};
  memcpy(writer->blocks + blocks, &end, sizeof end);
  return 0;
}

static void note_block(writer *writer, const block_header *header) {
  batch_block *block = &writer->blocks[header->position / BATCH_BLOCK_BYTES];
  if (block->segment_at != BATCH_NO_HEADER) return;
  block->segment_at = header->position;
  block->base_offset = header->base_offset;
}

static int append_index(writer *writer) {
  batch_index *index = writer->index;
  const seal_summary *seal = scan_summary(&writer->scan);
  uint64_t bytes = ((const batch_end *)(const void *)(writer->blocks + index->block_count))->index_bytes;
  index->next_offset = seal->next_offset;
  index->events = seal->events;
  index->frame_bytes = writer->at;
  uint64_t state = crc_extend(CRC_START, index, offsetof(batch_index, crc));
  const uint8_t *after = (const uint8_t *)&index->flags;
  state = crc_extend(state, after, bytes - offsetof(batch_index, flags));
  index->crc = crc_end(state);
  return append(writer, lead_of(writer->work), BATCH_SKIPPABLE_BYTES + bytes);
}

/* ---- The content ------------------------------------------------------------------------------------------------- */

/* The place of the next bytes of content; null: there is no memory. */
static uint8_t *place_for(writer *writer, uint64_t bytes) {
  enum { USUAL_BYTES = DRAIN_BLOCK_BYTES + sizeof(block_header) };
  batch_work *work = writer->work;
  /* A whole LZ4 block is compressed at once, so the content always has less than one. */
  uint64_t wanted = BATCH_BLOCK_BYTES + (bytes < USUAL_BYTES ? (uint64_t)USUAL_BYTES : bytes);
  if (make_room(&work->content, &work->content_room, wanted, writer->filled) != 0) return NULL;
  uint8_t *place = work->content + writer->filled;
  writer->filled += bytes;
  return place;
}

/* Appends the segment's header, as it is in the file. The scan has read it, and found it good. */
static int take_header(writer *writer) {
  uint64_t bytes = writer->scan.start;
  uint8_t *place = place_for(writer, bytes);
  if (!place) return -ENOMEM;
  int64_t got = source_read(&writer->scan.source, place, bytes, 0);
  if (got < 0) return (int)got;
  /* Somebody may have changed the file since. */
  const segment_header *header = (const segment_header *)(const void *)place;
  int same = (uint64_t)got == bytes && memcmp(header, &writer->scan.header, SEGMENT_HEADER_BYTES) == 0 &&
             crc32c(place + 20, bytes - 20) == header->header_crc;
  return same ? 0 : -EBADMSG;
}

/* Appends a block, whose payload the scan has. */
static int take_block(writer *writer) {
  const block_header *header = &writer->scan.block;
  batch_work *work = writer->work;
  uint64_t bytes = header->payload_bytes;
  uint8_t *place = place_for(writer, sizeof *header + bytes);
  if (!place) return -ENOMEM;
  memcpy(place, header, sizeof *header);
  place += sizeof *header;
  note_block(writer, header);
  if (!columns_apply(header)) {
    memcpy(place, writer->scan.payload, bytes);
    return 0;
  }
  uint8_t *scratch = (uint8_t *)work->scratch;
  int error = make_room(&scratch, &work->scratch_room, columns_scratch_bytes(header->count), 0);
  if (error != 0) return error;
  work->scratch = scratch;
  return columns_permute(writer->scan.payload, bytes, header->count, place, scratch) ? 0 : -EBADMSG;
}

/*
 * Appends the whole segment, and checks it on the way. 0; -EBADMSG if any of it is damaged, -ECANCELED, or another
 * negative errno.
 */
static int take_content(writer *writer) {
  segment_scan *scan = &writer->scan;
  int error = take_header(writer);
  while (error == 0) {
    scan_damage damage;
    scan_result result = scan_next(scan, 0, &damage);
    if (result == SCAN_ERROR) return damage.error == -EIO ? -EBADMSG : damage.error; /* a bad sector stays one */
    if (result == SCAN_TAIL || result == SCAN_DAMAGE) return -EBADMSG;
    if (is_stopped(writer->job)) return -ECANCELED;
    error = take_block(writer);
    if (error == 0) error = pack_filled(writer, result == SCAN_SEALED);
    if (result == SCAN_SEALED) break;
  }
  if (error != 0) return error;
  return scan_summary(scan) && writer->packed == writer->index->content_bytes ? 0 : -EBADMSG;
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

static void lock_names(const batch_job *job) {
  if (job->names) pthread_mutex_lock(job->names);
}

static void unlock_names(const batch_job *job) {
  if (job->names) pthread_mutex_unlock(job->names);
}

static uint64_t allocated(int directory, const char *name) {
  struct stat status;
  return sys_status_at(directory, name, &status) == 0 ? (uint64_t)status.st_blocks * 512 : 0;
}

/* Renames the file to the batch's name. A file that an earlier try left under that name is replaced. */
static int give_name(writer *writer, const char *temporary, const char *name) {
  batch_job *job = writer->job;
  lock_names(job);
  uint64_t before = job->dropped ? 0 : allocated(job->directory, name);
  int error = job->dropped ? -ECANCELED : sys_rename(job->directory, temporary, name);
  job->uncounted = error == 0;
  unlock_names(job);
  if (error == 0) byte_limit_give(job->retention, before);
  return error;
}

/* Unlinks the raw file, once the batch is on the disk. `unlinked`: the bytes that became free. */
static int unlink_raw(batch_job *job) {
  char raw[64];
  segment_list_raw_name(raw, job->base, 0);
  lock_names(job);
  uint64_t before = job->dropped ? 0 : allocated(job->directory, raw);
  int error = job->dropped ? 0 : sys_unlink(job->directory, raw);
  unlock_names(job);
  job->unlinked = error == 0 ? before : 0;
  return error == -ENOENT ? 0 : error;
}

/* The batch is whole: from here on a stop does not end the job half-way. */
static batch_result publish(writer *writer, const char *temporary) {
  batch_job *job = writer->job;
  struct stat status;
  char name[64];
  segment_list_batch_name(name, job->base);
  job->error = sys_is_file(writer->fd, &writer->file) ? sys_sync_data(writer->fd) : -DESCRIPTOR_LOST;
  if (job->error == 0) job->error = sys_status(writer->fd, &status);
  if (job->error == 0) {
    job->input = writer->index->content_bytes;
    job->output = writer->at;
    job->allocated = (uint64_t)status.st_blocks * 512;
    job->error = give_name(writer, temporary, name);
  }
  if (job->error != 0) return job->error == -ECANCELED ? BATCH_GONE : BATCH_FAILED;
  writer->named = 1;
  /* Until the batch's name is on the disk, the raw file is the segment. */
  job->error = sys_sync_directory(job->directory);
  if (job->error != 0) return BATCH_UNSURE;
  job->error = unlink_raw(job);
  return job->error == 0 ? BATCH_DONE : BATCH_FAILED;
}

/* ---- One segment ------------------------------------------------------------------------------------------------- */

static batch_result keep_batch(batch_job *job) {
  char name[64];
  segment_list_batch_name(name, job->base);
  job->allocated = allocated(job->directory, name);
  job->error = sys_sync_directory(job->directory);
  if (job->error != 0) return BATCH_UNSURE;
  job->error = unlink_raw(job);
  byte_limit_give(job->retention, job->unlinked);
  return job->error == 0 ? BATCH_DONE : BATCH_FAILED;
}

/*
 * Whether a damaged raw segment has a whole batch segment, as after a kill between the last two steps: then the batch
 * is read. 1, 0 or a negative errno.
 */
static int is_batched_already(int directory, uint64_t base, uint64_t salt) {
  char name[64];
  segment_scan scan;
  scan_damage damage;
  segment_list_batch_name(name, base);
  int error = scan_open(&scan, directory, 0, name, base, 0, &damage);
  if (error != 0) return error == -ENOENT || error == -ELOOP || error == -ENOTSUP ? 0 : error;
  scan_result result = SCAN_TAIL;
  if (scan.header_valid && !damage.reason && scan.header.salt == salt) {
    while ((result = scan_next(&scan, 0, &damage)) == SCAN_BLOCK) continue;
  }
  int whole = result == SCAN_SEALED && scan.position == scan.file_bytes;
  scan_close(&scan);
  return result == SCAN_ERROR ? damage.error : whole;
}

static batch_result result_of(int error) {
  return error == -EBADMSG ? BATCH_DAMAGED : error == -ECANCELED ? BATCH_STOPPED : BATCH_FAILED;
}

/* Makes the temporary file, and takes all the room that it may need. 0 or a negative errno. */
static int make_file(writer *writer, const char *temporary) {
  batch_job *job = writer->job;
  uint64_t before = allocated(job->directory, temporary);
  int error = sys_unlink(job->directory, temporary); /* an earlier try may have failed to */
  if (error == 0) byte_limit_give(job->retention, before);
  uint64_t most = batch_most_bytes(writer->scan.file_bytes);
  if (error == 0 || error == -ENOENT) error = byte_limit_take_batch(job->retention, &most);
  if (error != 0) return error;
  writer->taken = most;
  writer->fd = sys_open_create(job->directory, temporary);
  error = writer->fd < 0 ? writer->fd : sys_file_of(writer->fd, job->directory, temporary, &writer->file);
  if (error != 0) byte_limit_settle_batch(job->retention, writer->taken, 0, 0);
  return error;
}

/* Counts what the batch takes on the disk in place of the room that was taken, and of the raw file if it is gone. */
static void settle_room(const writer *writer, const char *temporary) {
  batch_job *job = writer->job;
  uint64_t left = job->allocated;
  /* A temporary file that can't be unlinked counts until the next try, or the next opening, unlinks it. */
  if (!writer->named) left = sys_unlink(job->directory, temporary) == 0 ? 0 : allocated(job->directory, temporary);
  lock_names(job);
  if (writer->named && job->dropped) left = 0;
  byte_limit_settle_batch(job->retention, writer->taken, left, job->unlinked);
  job->uncounted = 0;
  unlock_names(job);
}

/* Writes the whole file. 0 or a negative errno, as take_content. */
static int write_file(writer *writer) {
  int error = begin_index(writer);
  if (error == 0) error = begin_frame(writer);
  if (error == 0) error = take_content(writer);
  if (error == 0) error = end_frame(writer);
  if (error == 0) error = append_index(writer);
  LZ4F_freeCompressionContext(writer->context);
  return error;
}

/* Compresses the segment to the temporary file, and puts that in the raw file's place. */
static batch_result rewrite(writer *writer) {
  batch_job *job = writer->job;
  char temporary[64];
  batch_temporary_name(temporary, job->base);
  int error = make_file(writer, temporary);
  if (error != 0) {
    job->error = error;
    return error == -EISDIR ? BATCH_DAMAGED : BATCH_FAILED; /* somebody's directory has the name */
  }
  error = write_file(writer);
  job->error = error;
  batch_result result = error == 0 ? publish(writer, temporary) : result_of(error);
  sys_close_file(writer->fd, &writer->file);
  settle_room(writer, temporary);
  return result;
}

batch_result batch_write(batch_job *job, batch_work *work) {
  char name[64];
  scan_damage damage;
  writer *writer = (struct writer *)calloc(1, sizeof *writer);
  job->error = writer ? 0 : -ENOMEM;
  if (!writer) return BATCH_FAILED;
  writer->job = job;
  writer->work = work;
  segment_list_raw_name(name, job->base, 0);
  int error = scan_open(&writer->scan, job->directory, job->log_id, name, job->base, 0, &damage);
  batch_result result = error == -ENOENT ? BATCH_GONE : BATCH_DAMAGED; /* a file that can't be opened is not ours */
  if (error == 0) {
    uint64_t salt = writer->scan.header.salt;
    int others = identity_is_anothers(job->directory, job->base, salt);
    if (others < 0) job->error = others;
    if (others < 0) result = BATCH_FAILED;
    if (others == 0 && writer->scan.header_valid && !damage.reason) result = rewrite(writer);
    if (others == 0 && result == BATCH_DAMAGED && salt != 0) {
      int already = is_batched_already(job->directory, job->base, salt);
      if (already == 1) result = keep_batch(job);
    }
    scan_close(&writer->scan);
  } else if (error != -ENOENT && error != -ELOOP && error != -ENOTSUP && error != -EIO) {
    job->error = error;
    result = BATCH_FAILED;
  }
  free(writer);
  return result;
}

int batch_copy(int directory, uint64_t base, int to_directory, const char *to_name) {
  batch_job job = {.directory = directory, .base = base};
  batch_work work = {0};
  scan_damage damage;
  char name[64];
  segment_list_raw_name(name, base, 0);
  writer *writer = (struct writer *)calloc(1, sizeof *writer);
  if (!writer) return -ENOMEM;
  writer->job = &job;
  writer->work = &work;
  writer->fd = -1;
  int error = scan_open(&writer->scan, directory, 0, name, base, 0, &damage);
  if (error == 0) {
    if (!writer->scan.header_valid || damage.reason) error = -EBADMSG;
    if (error == 0) error = writer->fd = sys_open_create(to_directory, to_name);
    if (writer->fd >= 0) error = sys_file_of(writer->fd, to_directory, to_name, &writer->file);
    writer->taken = batch_most_bytes(writer->scan.file_bytes);
    if (error == 0) error = write_file(writer);
    if (writer->fd >= 0) sys_close_file(writer->fd, &writer->file);
    if (writer->fd >= 0 && error != 0) sys_unlink(to_directory, to_name);
    scan_close(&writer->scan);
  }
  batch_work_free(&work);
  free(writer);
  return error;
}

int64_t batch_pack(const uint8_t *segment, uint64_t count, uint8_t *to, batch_work *work) {
  batch_job job = {0};
  scan_damage damage;
  writer *writer = (struct writer *)calloc(1, sizeof *writer);
  if (!writer) return -ENOMEM;
  writer->job = &job;
  writer->work = work;
  writer->memory = to;
  writer->taken = batch_most_bytes(count);
  int error = scan_open_memory(&writer->scan, segment, count, 0, &damage);
  if (error == 0) {
    error = writer->scan.header_valid && !damage.reason ? write_file(writer) : -EBADMSG;
    scan_close(&writer->scan);
  }
  int64_t result = error == 0 ? (int64_t)writer->at : error;
  free(writer);
  return result;
}
