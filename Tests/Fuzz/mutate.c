/* mutate.c: see mutate.h. */
#include "mutate.h"

#include <stdlib.h>
#include <string.h>

#include "format/format.h"
#include "structure.h"

/* splitmix64 */
uint64_t roll(dice *dice, uint64_t limit) {
  uint64_t z = dice->state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  z ^= z >> 31;
  return limit ? z % limit : z;
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

static uint64_t load(const uint8_t *at, uint32_t bytes) {
  uint64_t value = 0;
  memcpy(&value, at, bytes);
  return value;
}

/* A value that a length, a count, an offset or a position should not have, or another that it might. */
static uint64_t hostile(dice *dice, const archived *file, uint64_t was, uint32_t bytes) {
  static const uint64_t fixed[] = {0, 1, 2, 7, 8, 16, 24, 128, 255, 256, 4095, 4096, 65535, 65536, 1 << 20, 2 << 20,
                                   INT32_MAX, UINT64_C(1) << 31, UINT32_MAX, UINT64_C(1) << 32, UINT64_C(1) << 48,
                                   INT64_MAX, UINT64_C(1) << 63, UINT64_MAX - 7, UINT64_MAX - 1, UINT64_MAX};
  switch (roll(dice, 7)) {
    case 0: return was + 1 + roll(dice, 16);
    case 1: return was - 1 - roll(dice, 16);
    case 2: return was ^ UINT64_C(1) << roll(dice, 8 * bytes);
    case 3: return file->bytes + 16 - roll(dice, 33);
    case 4: { /* another word of the file */
      if (file->bytes < 8) return 0;
      return load(file->data + roll(dice, file->bytes / 8) * 8, bytes);
    }
    case 5: return was * 2 + roll(dice, 2) * 8;
    default: return fixed[roll(dice, sizeof fixed / sizeof *fixed)];
  }
}

static void change_field(archived *file, dice *dice) {
  static parts found;
  find_parts(file, &found);
  if (found.count == 0) return;
  /* Headers are few and records many: first a kind, then one of it. */
  part_kind wanted = found.items[roll(dice, found.count)].kind;
  if (roll(dice, 2)) wanted = (part_kind)roll(dice, PART_KINDS);
  uint32_t first = (uint32_t)roll(dice, found.count);
  for (uint32_t i = 0; i < found.count; i++) {
    const part *part = &found.items[(first + i) % found.count];
    if (part->kind != wanted) continue;
    uint32_t count;
    const field *fields = fields_of(part->kind, &count), *chosen = &fields[roll(dice, count)];
    uint64_t at = (uint64_t)part->at + chosen->at;
    if (at + chosen->bytes > file->bytes) return;
    uint64_t value = hostile(dice, file, load(file->data + at, chosen->bytes), chosen->bytes);
    memcpy(file->data + at, &value, chosen->bytes);
    return;
  }
}

/* ---- Bytes ------------------------------------------------------------------------------------------------------- */

/* Somewhere in the file, where something is rather than not. */
static uint64_t somewhere(const archived *file, dice *dice) {
  uint64_t at = 0;
  for (int i = 0; i < 8; i++) {
    at = roll(dice, file->bytes);
    if (file->data[at] != 0) break;
  }
  return at;
}

static void change_bytes(archived *file, dice *dice) {
  if (file->bytes == 0) return;
  uint64_t at = somewhere(file, dice), count = 1;
  switch (roll(dice, 5)) {
    case 0:
      file->data[at] ^= (uint8_t)(1 << roll(dice, 8));
      return;
    case 1: /* a sector lost: zeros, ones, or garbage */
      at &= ~UINT64_C(511);
      count = 512 << roll(dice, 4);
      break;
    default: count = 1 + roll(dice, 64);
  }
  if (count > file->bytes - at) count = file->bytes - at;
  uint64_t how = roll(dice, 4);
  for (uint64_t i = 0; i < count; i++) {
    file->data[at + i] = how == 0 ? 0 : how == 1 ? 0xff : (uint8_t)roll(dice, 256);
  }
}

static void resize(archived *file, uint64_t bytes) {
  if (bytes > ARCHIVE_FILE_BYTES) bytes = ARCHIVE_FILE_BYTES;
  file->data = realloc(file->data, bytes + 1);
  if (!file->data) abort();
  if (bytes > file->bytes) memset(file->data + file->bytes, 0, bytes - file->bytes);
  file->bytes = (uint32_t)bytes;
}

static void change_length(archived *file, dice *dice) {
  switch (roll(dice, 4)) {
    case 0: resize(file, file->bytes ? roll(dice, file->bytes) : 0); break;
    case 1: resize(file, file->bytes + 1 + roll(dice, 4096)); break;
    case 2: resize(file, file->bytes > 8 ? file->bytes - 1 - roll(dice, 8) : 0); break;
    default: resize(file, file->bytes & ~UINT64_C(511)); break;
  }
}

/* Copies a stretch of a file over another place, of this file or of that one. */
static void splice(archived *file, const archived *from, dice *dice) {
  if (file->bytes == 0 || from->bytes == 0) return;
  uint64_t at = roll(dice, file->bytes), source = roll(dice, from->bytes), count = 1 + roll(dice, 2048);
  if (roll(dice, 2)) at &= ~UINT64_C(7), source &= ~UINT64_C(7), count = (count + 7) & ~UINT64_C(7);
  if (count > file->bytes - at) count = file->bytes - at;
  if (count > from->bytes - source) count = from->bytes - source;
  memmove(file->data + at, from->data + source, count);
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

static uint32_t find_blocks(const archived *file, part blocks[64]) {
  static parts found;
  uint32_t count = 0;
  find_parts(file, &found);
  for (uint32_t i = 0; i < found.count && count < 64; i++) {
    if (found.items[i].kind == PART_BLOCK) blocks[count++] = found.items[i];
  }
  return count;
}

/* Puts a stretch of `from` in the place of [at, end) of `file`. */
static void replace(archived *file, uint64_t at, uint64_t end, const uint8_t *bytes, uint64_t count) {
  uint64_t rest = file->bytes - end, total = at + count + rest;
  if (total > ARCHIVE_FILE_BYTES) return;
  uint8_t *made = malloc(total + 1);
  if (!made) abort();
  memcpy(made, file->data, at);
  if (count) memcpy(made + at, bytes, count);
  memcpy(made + at + count, file->data + end, rest);
  free(file->data);
  file->data = made;
  file->bytes = (uint32_t)total;
}

static void change_blocks(archived *file, const archived *other, dice *dice) {
  part blocks[64], foreign[64];
  uint32_t count = find_blocks(file, blocks), others = find_blocks(other, foreign);
  if (count == 0) return;
  const part *one = &blocks[roll(dice, count)], *two = &blocks[roll(dice, count)];
  switch (roll(dice, 4)) {
    case 0: /* doubled, there or elsewhere */
      replace(file, two->at, two->at, file->data + one->at, one->bytes);
      break;
    case 1: /* taken away */
      replace(file, one->at, one->at + one->bytes, NULL, 0);
      break;
    case 2: /* swapped: the later one to the place of the earlier */
      if (one->at > two->at) {
        const part *later = one;
        one = two;
        two = later;
      }
      if (one->at + one->bytes <= two->at) {
        uint32_t early = one->bytes, late = two->bytes, between = two->at - one->at - early;
        uint8_t *copy = malloc((uint64_t)early + late + between);
        if (!copy) abort();
        memcpy(copy, file->data + two->at, late);
        memcpy(copy + late, file->data + one->at + early, between);
        memcpy(copy + late + between, file->data + one->at, early);
        memcpy(file->data + one->at, copy, (uint64_t)early + late + between);
        free(copy);
      }
      break;
    default: /* one of another file in its place */
      if (others > 0) {
        const part *source = &foreign[roll(dice, others)];
        replace(file, one->at, one->at + one->bytes, other->data + source->at, source->bytes);
      }
  }
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static void change_files(archive *archive, archived *file, dice *dice) {
  archived *other = &archive->files[roll(dice, archive->count)];
  switch (roll(dice, 8)) {
    case 6: file->flags ^= (uint8_t)(FILE_PACKED << roll(dice, FILE_FORMS)); break;
    case 7: file->kind = file->kind == FILE_BATCH ? FILE_SEALED : FILE_BATCH; break;
    case 0: file->base = hostile(dice, file, file->base, 8); break;
    case 1: file->base = other->base; break;
    case 2: { /* swapped names */
      uint64_t base = file->base;
      file->base = other->base;
      other->base = base;
      break;
    }
    case 3: file->kind = (uint8_t)(file->kind <= FILE_ACTIVE ? !file->kind : roll(dice, FILE_KINDS)); break;
    case 4:
      if (archive->count > 1) {
        free(file->data);
        memmove(file, file + 1, (size_t)(&archive->files[--archive->count] - file) * sizeof *file);
      }
      break;
    default: archive_add(archive, file->kind, hostile(dice, file, file->base, 8), file->data, file->bytes);
  }
}

static int in_focus(const archived *file, focus focus) {
  int segment = file->kind == FILE_SEALED || file->kind == FILE_ACTIVE;
  if (focus == FOCUS_BATCH) {
    return file->kind == FILE_BATCH || (file->kind == FILE_SEALED && (file->flags & FILE_PACKED));
  }
  return focus == FOCUS_ALL || (focus == FOCUS_SEGMENTS) == segment;
}

void mutate_once(archive *archive, dice *dice, focus focus) {
  if (archive->count == 0) return;
  archived *file = &archive->files[roll(dice, archive->count)];
  for (int i = 0; i < 16 && !in_focus(file, focus); i++) file = &archive->files[roll(dice, archive->count)];
  const archived *other = &archive->files[roll(dice, archive->count)];
  switch (roll(dice, 12)) {
    case 0: change_bytes(file, dice); break;
    case 1: change_length(file, dice); break;
    case 2: splice(file, other, dice); break;
    case 3:
    case 4: change_blocks(file, other, dice); break;
    case 5: change_files(archive, file, dice); break;
    default: change_field(file, dice); break;
  }
}

void damage_once(archive *archive, dice *dice) {
  archived *file = &archive->files[roll(dice, archive->count)];
  switch (roll(dice, 8)) {
    case 0: change_length(file, dice); break;
    case 1:
    case 2: change_field(file, dice); break;
    default: change_bytes(file, dice); break;
  }
}

void repair_archive(archive *archive, dice *dice) {
  int adopt = (int)roll(dice, 2);
  for (uint32_t i = 0; i < archive->count; i++) repair_file(&archive->files[i], adopt);
}

/* ---- For libFuzzer ----------------------------------------------------------------------------------------------- */

size_t mutate_input(uint8_t *bytes, size_t count, size_t room, uint32_t seed, focus focus) {
  archive archive;
  dice dice = {seed};
  archive_read(&archive, bytes, count);
  for (uint64_t times = 1 + roll(&dice, 4); times > 0; times--) mutate_once(&archive, &dice, focus);
  if (roll(&dice, 4) != 0) repair_archive(&archive, &dice);
  size_t made = archive_write(&archive, bytes, room);
  archive_free(&archive);
  return made;
}

size_t cross_inputs(const uint8_t *left, size_t left_count, const uint8_t *right, size_t right_count, uint8_t *bytes,
                    size_t room, uint32_t seed) {
  archive one, two, made = {.count = 0};
  dice dice = {seed};
  archive_read(&one, left, left_count);
  archive_read(&two, right, right_count);
  for (uint32_t i = 0; i < ARCHIVE_FILES; i++) {
    const archive *from = roll(&dice, 2) ? &one : &two;
    if (i < from->count && made.count < ARCHIVE_FILES) {
      const archived *file = &from->files[i];
      if (archive_add(&made, file->kind, file->base, file->data, file->bytes)) {
        made.files[made.count - 1].flags = file->flags;
      }
    }
  }
  size_t count = archive_write(&made, bytes, room);
  archive_free(&one);
  archive_free(&two);
  archive_free(&made);
  return count;
}
