/* quarantine.c: see quarantine.h. */
#include "directory/quarantine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "directory/segment_list.h"
#include "format/notice.h"
#include "system/system.h"

enum { COPY_BYTES = 1 << 16, NAME_ROOM = 128 };
static const char NEW_NAME[] = "new"; /* the temporary name; one file at a time is made */

/* The contents of a note. */
typedef struct note {
  const char *file;      /* that the bytes were in */
  const char *reason;    /* plain text, without quotes */
  int64_t lane;          /* -1: none */
  uint64_t position;     /* in the file, or in the lane */
  uint64_t bytes;
  uint64_t first_offset; /* the first offset that is missing because of the damage */
  uint64_t offsets;      /* how many are missing; 0: these bytes do not say */
} note;

typedef int (*filler)(const void *context, int fd);

/* Opens the directory, and makes it if there is none. A descriptor or a negative errno. */
static int open_quarantine(int directory) {
  int error = sys_make_directory(directory, QUARANTINE_NAME);
  if (error != 0 && error != -EEXIST) return error;
  return sys_open_directory_at(directory, QUARANTINE_NAME);
}

static int exists(int quarantine, const char *name) {
  struct stat status;
  int error = sys_status_at(quarantine, name, &status);
  return error == 0 ? 1 : error == -ENOENT ? 0 : error;
}

typedef struct usage {
  int quarantine;
  uint64_t entries;
  uint64_t bytes;
} usage;

/* Whether a file was moved there because it had a segment's name. Such files do not count against the bounds. */
static int take_entry(void *context, const char *name) {
  usage *usage = (struct usage *)context;
  struct stat status;
  if (name[0] >= '0' && name[0] <= '9') return 0;
  usage->entries++;
  if (sys_status_at(usage->quarantine, name, &status) == 0) usage->bytes += (uint64_t)status.st_blocks * 512;
  return 0;
}

/* Whether there is no room for so many bytes and their note: 1, 0, or a negative errno. */
static int is_full(int quarantine, uint64_t bytes) {
  usage usage = {.quarantine = quarantine};
  int error = sys_list(quarantine, take_entry, &usage);
  if (error != 0) return error;
  return usage.entries + 2 > QUARANTINE_MOST_ENTRIES || bytes > QUARANTINE_MOST_BYTES ||
         usage.bytes > QUARANTINE_MOST_BYTES - bytes;
}

/* Makes a file that gets its name once it is complete, and on the disk if `synced`. */
static int make_file(int quarantine, const char *name, filler fill, const void *context, int synced) {
  int error = sys_unlink(quarantine, NEW_NAME);
  if (error != 0 && error != -ENOENT) return error;
  int fd = sys_open_create(quarantine, NEW_NAME);
  if (fd < 0) return fd;
  error = fill(context, fd);
  if (error == 0 && synced) error = sys_sync_data(fd);
  sys_close(fd);
  if (error == 0) error = sys_rename(quarantine, NEW_NAME, name);
  if (error != 0) sys_unlink(quarantine, NEW_NAME);
  return error;
}

static int fill_note(const void *context, int fd) {
  const note *note = (const struct note *)context;
  char text[1024], lane[40] = "", offsets[100] = "";
  if (note->lane >= 0) snprintf(lane, sizeof lane, "  \"lane\": %lld,\n", (long long)note->lane);
  if (note->offsets > 0) {
    snprintf(offsets, sizeof offsets, "  \"first_missing_offset\": %llu,\n  \"missing_offsets\": %llu,\n",
             (unsigned long long)note->first_offset, (unsigned long long)note->offsets);
  }
  int count = snprintf(text, sizeof text,
                       "{\n  \"file\": \"%s\",\n%s  \"position\": %llu,\n  \"bytes\": %llu,\n%s"
                       "  \"reason\": \"%s\",\n  \"time_ns\": %lld\n}\n",
                       note->file, lane, (unsigned long long)note->position, (unsigned long long)note->bytes, offsets,
                       note->reason, (long long)sys_wall_ns());
  return count > 0 && (uint64_t)count < sizeof text ? sys_write_at(fd, text, (uint64_t)count, 0) : -EINVAL;
}

static int write_note(int quarantine, const char *name, const note *note, int synced) {
  char path[NAME_ROOM + 5];
  snprintf(path, sizeof path, "%s.json", name);
  return make_file(quarantine, path, fill_note, note, synced);
}

/* Makes quarantine/<name> and its note, unless it is there. */
static int make(int quarantine, const char *name, const note *note, filler fill, const void *context) {
  int there = exists(quarantine, name);
  if (there != 0) return there < 0 ? there : 0;
  int full = is_full(quarantine, note->bytes);
  if (full != 0) return full;
  int error = write_note(quarantine, name, note, 1);
  if (error == 0) error = make_file(quarantine, name, fill, context, 1);
  return error == 0 ? sys_sync_directory(quarantine) : error;
}

/* ---- Blocks and files -------------------------------------------------------------------------------------------- */

typedef struct file_range {
  int fd;
  uint64_t from, to;
} file_range;

static int copy_range(const void *context, int fd) {
  const file_range *range = (const file_range *)context;
  uint8_t *buffer = (uint8_t *)malloc(COPY_BYTES);
  if (!buffer) return -ENOMEM;
  int error = 0;
  for (uint64_t at = range->from; at < range->to && error == 0;) {
    uint64_t wanted = range->to - at < COPY_BYTES ? range->to - at : (uint64_t)COPY_BYTES;
    int64_t count = sys_read_at(range->fd, buffer, wanted, at);
    if (count <= 0) {
      error = (int)count;
      break;
    }
    error = sys_write_at(fd, buffer, (uint64_t)count, at - range->from);
    at += (uint64_t)count;
  }
  free(buffer);
  return error;
}

static void block_name(char copy[NAME_ROOM], const segment_name *name, uint64_t from) {
  snprintf(copy, NAME_ROOM, "block-%020llu-%llu", (unsigned long long)name->base, (unsigned long long)from);
}

int quarantine_block(int directory, const segment_name *name, const damaged_block *block) {
  int quarantine = open_quarantine(directory);
  if (quarantine < 0) return quarantine;
  char copy[NAME_ROOM];
  block_name(copy, name, block->from);
  file_range range = {block->fd, block->file_from, block->file_to};
  note note = {.file = name->name,
               .reason = block->reason,
               .lane = -1,
               .position = range.from,
               .bytes = range.to - range.from,
               .first_offset = block->first_offset,
               .offsets = block->offsets};
  int result = make(quarantine, copy, &note, copy_range, &range);
  sys_close(quarantine);
  return result;
}

/* The first free name of <name>-0, <name>-1, … */
static int free_name(int quarantine, const char *name, char free[NAME_ROOM]) {
  for (int i = 0; i < 1000; i++) {
    snprintf(free, NAME_ROOM, "%s-%d", name, i);
    int there = exists(quarantine, free);
    if (there <= 0) return there;
  }
  return -EEXIST;
}

int quarantine_copy(int directory, int fd, const char *name, const char *reason) {
  struct stat status;
  char copy[NAME_ROOM];
  int result = sys_status(fd, &status);
  if (result != 0) return result;
  int quarantine = open_quarantine(directory);
  if (quarantine < 0) return quarantine;
  result = free_name(quarantine, name, copy);
  if (result == 0) {
    note note = {.file = name, .reason = reason, .lane = -1, .bytes = (uint64_t)status.st_size};
    file_range range = {fd, 0, (uint64_t)status.st_size};
    result = make(quarantine, copy, &note, copy_range, &range);
  }
  sys_close(quarantine);
  return result;
}

/* The note of a file of Weir's is synced before the file is moved. Those of others are not: they may be thousands. */
static int move(int directory, int quarantine, const char *name, const char *reason, uint64_t bytes, int ours) {
  char moved[NAME_ROOM], path[NAME_ROOM + sizeof QUARANTINE_NAME];
  int error = free_name(quarantine, name, moved);
  note note = {.file = name, .reason = reason, .lane = -1, .bytes = bytes};
  if (error == 0) error = write_note(quarantine, moved, &note, ours);
  if (error == 0 && ours) error = sys_sync_directory(quarantine);
  snprintf(path, sizeof path, QUARANTINE_NAME "/%s", moved);
  return error == 0 ? sys_rename(directory, name, path) : error;
}

int quarantine_file(int directory, const char *name, const char *reason, int ours) {
  struct stat status;
  int error = sys_status_at(directory, name, &status);
  if (error != 0) return error;
  int quarantine = open_quarantine(directory);
  if (quarantine < 0) return quarantine;
  int result = ours ? is_full(quarantine, (uint64_t)status.st_blocks * 512) : 0;
  if (result == 0) result = move(directory, quarantine, name, reason, (uint64_t)status.st_size, ours);
  sys_close(quarantine);
  if (result == QUARANTINE_FULL) {
    error = sys_unlink(directory, name);
    if (error != 0) return error;
  }
  return result;
}

/* ---- Lanes ------------------------------------------------------------------------------------------------------- */

/*
 * The bytes of a damaged stretch, in at most two pieces: `first` runs on into the overhang, as a record does that lies
 * across the lane's end; `second` has the bytes at the lane's start, where the records after that one lie.
 */
typedef struct pieces {
  const uint8_t *first, *second;
  uint64_t first_bytes, second_bytes;
} pieces;

static pieces pieces_of(const damaged_lane *lane) {
  const lane_view *view = &lane->view;
  uint64_t start = lane->from & (view->capacity - 1), bytes = lane->to - lane->from, before = view->capacity - start;
  pieces pieces = {.first = view->data + start, .second = view->data, .first_bytes = bytes};
  if (bytes <= before) return pieces;
  uint64_t after = bytes - before;
  pieces.first_bytes = before + (after < view->record_bytes ? after : view->record_bytes);
  pieces.second_bytes = after < view->capacity ? after : view->capacity;
  return pieces;
}

uint64_t quarantine_bytes(const damaged_lane *lane) {
  pieces pieces = pieces_of(lane);
  return pieces.first_bytes + pieces.second_bytes;
}

static int copy_lane(const void *context, int fd) {
  pieces pieces = pieces_of((const damaged_lane *)context);
  int error = sys_write_at(fd, pieces.first, pieces.first_bytes, 0);
  return error == 0 ? sys_write_at(fd, pieces.second, pieces.second_bytes, pieces.first_bytes) : error;
}

static int copy_stretch(const void *context, int fd) {
  const damaged_stretch *stretch = (const damaged_stretch *)context;
  return sys_write_at(fd, stretch->bytes, quarantine_bytes(&stretch->of), 0);
}

/* Makes the copy that `lane` describes; `fill` writes its bytes. */
static int make_lane(int directory, const damaged_lane *lane, filler fill, const void *context) {
  int quarantine = open_quarantine(directory);
  if (quarantine < 0) return quarantine;
  char name[NAME_ROOM];
  snprintf(name, sizeof name, "lane-%016llx-%u-%llu", (unsigned long long)lane->opening, lane->lane,
           (unsigned long long)lane->from);
  note note = {.file = RING_NAME,
               .reason = HOLE_DAMAGED,
               .lane = lane->lane,
               .position = lane->from,
               .bytes = quarantine_bytes(lane),
               .first_offset = lane->first_offset};
  int result = make(quarantine, name, &note, fill, context);
  sys_close(quarantine);
  return result;
}

int quarantine_lane(int directory, const damaged_lane *lane) { return make_lane(directory, lane, copy_lane, lane); }

damaged_stretch *quarantine_take(const damaged_lane *lane) {
  pieces pieces = pieces_of(lane);
  damaged_stretch *stretch = (damaged_stretch *)malloc(sizeof *stretch + quarantine_bytes(lane));
  if (!stretch) return NULL;
  *stretch = (damaged_stretch){.of = *lane};
  memcpy(stretch->bytes, pieces.first, pieces.first_bytes);
  memcpy(stretch->bytes + pieces.first_bytes, pieces.second, pieces.second_bytes);
  return stretch;
}

int quarantine_stretch(int directory, const damaged_stretch *stretch) {
  return make_lane(directory, &stretch->of, copy_stretch, stretch);
}
