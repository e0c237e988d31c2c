/* images.c: see images.h. */
#include "check.h"
#include "images.h"
#include "replay.h"

#include "format/format.h"

/* ---- Plans ------------------------------------------------------------------------------------------------------- */

/* Of the many moments in which nothing but a call happened, every other image takes one in which something else did. */
static uint32_t random_moment(const recording *recording, uint64_t *state) {
  uint32_t moment = (uint32_t)replay_below(state, recording->moments);
  int busy = (int)replay_below(state, 2);
  for (int tries = 0; busy && tries < 64; tries++) {
    uint32_t other = 1 + (uint32_t)replay_below(state, recording->moments - 1);
    if (memcmp(recording->marks[other], recording->marks[other - 1], sizeof *recording->marks) != 0) return other;
  }
  return moment;
}

image_plan image_plan_random(const recording *recording, uint64_t seed) {
  uint64_t state = replay_mix(seed, 11);
  image_plan plan = {.seed = replay_random(&state)};
  plan.moment = random_moment(recording, &state);
  plan.contents = (image_contents)replay_below(&state, CONTENTS_KINDS);
  plan.names = (image_names)replay_below(&state, NAMES_KINDS);
  plan.old_sizes = replay_below(&state, 3) == 0;
  if (replay_below(&state, 16) == 0) plan.blanks = (image_blanks)(1 + replay_below(&state, BLANKS_KINDS - 1));
  return plan;
}

const char *image_describe(const image_plan *plan) {
  static const char *const contents[] = {"new",         "old",         "any",           "torn",
                                         "one page old", "one page new", "one page torn", "up to a page"};
  static const char *const names[] = {"new", "old", "a prefix", "any"};
  static const char *const blanks[] = {"zeros", "garbage", "blocks of other files"};
  static char text[256];
  snprintf(text, sizeof text, "moment %u, contents %s, names %s, unwritten blocks %s, sizes %s", plan->moment,
           contents[plan->contents], names[plan->names], blanks[plan->blanks], plan->old_sizes ? "any" : "new");
  return text;
}

/* ---- Contents ---------------------------------------------------------------------------------------------------- */

/* The oldest version that a page can have on the disk: as of the last sync of it that had ended. -1: not there. */
static int oldest_version(const recorded_file *file, uint32_t index, uint32_t moment) {
  uint32_t as_of = 0;
  uint64_t from = (uint64_t)index * PAGE_BYTES;
  for (uint32_t i = 0; i < file->sync_count && file->syncs[i].moment <= moment; i++) {
    const recorded_sync *sync = &file->syncs[i];
    if (sync->from <= from && sync->to >= from + PAGE_BYTES && sync->as_of > as_of) as_of = sync->as_of;
  }
  return recorded_version(&file->pages[index], as_of);
}

typedef struct builder {
  const recording *recording;
  const image_plan *plan;
  uint64_t state;
  uint32_t odd_file, odd_page; /* the one that differs from all others */
} builder;

/*
 * Whether a page of another file would pass for a control page of this ring: it has the number of the ring's opening
 * where an overflow lane's control page has it. A block of a segment of the same opening may, and only a file that was
 * removed in this opening could leave one to the ring.
 */
static int counterfeits(const recorded_file *file, uint32_t moment, const uint8_t *other) {
  int version = file->page_count > 0 ? recorded_version(&file->pages[0], moment) : -1;
  const uint8_t *first = version >= 0 ? file->pages[0].versions[version].bytes : NULL;
  return first && memcmp(first + offsetof(ring_header, opening), other + offsetof(lane_control, opening), 8) == 0;
}

/* What is in a block that was allocated and not written. A hole has no block, and is zeros. */
static void fill_blank(builder *builder, const recorded_file *file, const recorded_page *page, uint8_t *bytes) {
  const recording *recording = builder->recording;
  uint32_t moment = builder->plan->moment;
  memset(bytes, 0, PAGE_BYTES);
  if (page->allocated == 0 || page->allocated > moment + 1) return;
  if (builder->plan->blanks == BLANKS_GARBAGE) {
    for (int i = 0; i < PAGE_BYTES; i += 8) {
      uint64_t word = replay_random(&builder->state);
      memcpy(bytes + i, &word, 8);
    }
  } else if (builder->plan->blanks == BLANKS_OTHER_FILE) {
    const recorded_file *other = &recording->files[replay_below(&builder->state, recording->file_count)];
    if (other->page_count == 0) return;
    const recorded_page *from = &other->pages[replay_below(&builder->state, other->page_count)];
    int version = recorded_version(from, moment);
    const uint8_t *there = version >= 0 ? from->versions[version].bytes : NULL;
    if (there && !counterfeits(file, moment, there)) memcpy(bytes, there, PAGE_BYTES);
  }
}

static void take_version(builder *builder, const recorded_file *file, const recorded_page *page, int version,
                         uint8_t *bytes) {
  if (version < 0 || !page->versions[version].bytes) fill_blank(builder, file, page, bytes);
  else memcpy(bytes, page->versions[version].bytes, PAGE_BYTES);
}

/* Any version from the oldest on. -1 stands for the block before anybody wrote to it. */
static int any_version(builder *builder, int oldest, int newest) {
  return oldest + (int)replay_below(&builder->state, (uint64_t)(newest - oldest) + 1);
}

static void take_torn(builder *builder, const recorded_file *file, const recorded_page *page, int oldest, int newest,
                      uint8_t *bytes) {
  uint8_t version[PAGE_BYTES];
  for (uint32_t at = 0; at < PAGE_BYTES; at += SECTOR_BYTES) {
    take_version(builder, file, page, any_version(builder, oldest, newest), version);
    memcpy(bytes + at, version + at, SECTOR_BYTES);
  }
}

static void build_page(builder *builder, uint32_t file_index, uint32_t index, uint32_t turn, uint8_t *bytes) {
  const recorded_file *file = &builder->recording->files[file_index];
  const recorded_page *page = &file->pages[index];
  int newest = recorded_version(page, builder->plan->moment);
  int oldest = oldest_version(file, index, builder->plan->moment);
  int odd = file_index == builder->odd_file && index == builder->odd_page;
  switch (builder->plan->contents) {
    case CONTENTS_NEW: take_version(builder, file, page, newest, bytes); return;
    case CONTENTS_OLD: take_version(builder, file, page, oldest, bytes); return;
    case CONTENTS_TORN: take_torn(builder, file, page, oldest, newest, bytes); return;
    case CONTENTS_ONE_OLD: take_version(builder, file, page, odd ? oldest : newest, bytes); return;
    case CONTENTS_ONE_NEW: take_version(builder, file, page, odd ? newest : oldest, bytes); return;
    case CONTENTS_TORN_ONE:
      if (odd) take_torn(builder, file, page, oldest, newest, bytes);
      else take_version(builder, file, page, newest, bytes);
      return;
    case CONTENTS_RUN:
      take_version(builder, file, page, (index < turn) == ((turn & 1) == 0) ? newest : oldest, bytes);
      return;
    default: take_version(builder, file, page, any_version(builder, oldest, newest), bytes);
  }
}

static uint64_t size_at(const recorded_file *file, uint32_t moment, uint32_t *index) {
  *index = 0;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < file->size_count && file->sizes[i].moment <= moment; i++) {
    bytes = file->sizes[i].bytes;
    *index = i;
  }
  return bytes;
}

/* The size that the file has in the image: at the least what the last sync of all of it put on the disk. */
static uint64_t choose_size(builder *builder, const recorded_file *file) {
  uint32_t as_of = 0, oldest, newest;
  for (uint32_t i = 0; i < file->sync_count && file->syncs[i].moment <= builder->plan->moment; i++) {
    if (file->syncs[i].as_of > as_of) as_of = file->syncs[i].as_of;
  }
  uint64_t bytes = size_at(file, builder->plan->moment, &newest);
  size_at(file, as_of, &oldest);
  if (!builder->plan->old_sizes) return bytes;
  uint64_t chosen = oldest + replay_below(&builder->state, newest - oldest + 1);
  return file->sizes[chosen].moment <= builder->plan->moment ? file->sizes[chosen].bytes : 0;
}

static void build_file(builder *builder, uint32_t index, const char *path) {
  const recorded_file *file = &builder->recording->files[index];
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  REQUIRE(fd >= 0);
  uint64_t bytes = choose_size(builder, file);
  uint32_t pages = (uint32_t)((bytes + PAGE_BYTES - 1) / PAGE_BYTES);
  uint32_t turn = pages > 0 ? (uint32_t)replay_below(&builder->state, pages * 2) : 0;
  REQUIRE(ftruncate(fd, (off_t)bytes) == 0);
  uint8_t page[PAGE_BYTES];
  static const uint8_t zeros[PAGE_BYTES];
  for (uint32_t i = 0; i < pages && i < file->page_count; i++) {
    build_page(builder, index, i, turn, page);
    uint64_t count = bytes - (uint64_t)i * PAGE_BYTES < PAGE_BYTES ? bytes - (uint64_t)i * PAGE_BYTES : PAGE_BYTES;
    if (memcmp(page, zeros, PAGE_BYTES) == 0) continue;
    REQUIRE(pwrite(fd, page, count, (off_t)i * PAGE_BYTES) == (ssize_t)count);
  }
  close(fd);
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

typedef struct name_list {
  named names[256];
  uint32_t count;
} name_list;

static named *find_name(name_list *list, const char *name) {
  for (uint32_t i = 0; i < list->count; i++) {
    if (strcmp(list->names[i].name, name) == 0) return &list->names[i];
  }
  return NULL;
}

static void set_name(name_list *list, const named *change) {
  named *there = find_name(list, change->name);
  if (change->file == NO_FILE) {
    if (there) *there = list->names[--list->count];
  } else if (there) {
    there->file = change->file;
  } else {
    REQUIRE(list->count < sizeof list->names / sizeof *list->names);
    list->names[list->count++] = *change;
  }
}

/* A renaming takes a name away from the very file that it gives another: without the one there is not the other. */
static int still_possible(const name_list *list, const name_change *change) {
  if (change->count != 2 || change->names[0].file != NO_FILE) return 1;
  const named *from = find_name((name_list *)list, change->names[0].name);
  return from && from->file == change->names[1].file;
}

static int is_made(builder *builder, const name_change *change, uint32_t synced, uint32_t turn) {
  if (change->moment <= synced) return 1;
  switch (builder->plan->names) {
    case NAMES_NEW: return 1;
    case NAMES_OLD: return 0;
    case NAMES_FIRST: return change->moment <= turn;
    default: return (int)replay_below(&builder->state, 2);
  }
}

static void build_names(builder *builder, uint32_t which, uint32_t turn, name_list *list) {
  const recording *recording = builder->recording;
  uint32_t synced = 0, moment = builder->plan->moment;
  for (uint32_t i = 0; i < recording->directory_sync_count; i++) {
    const directory_sync *sync = &recording->directory_syncs[i];
    if (sync->directory == which && sync->moment <= moment && sync->as_of > synced) synced = sync->as_of;
  }
  list->count = 0;
  for (uint32_t i = 0; i < recording->first_name_count[which]; i++) set_name(list, &recording->first_names[which][i]);
  for (uint32_t i = 0; i < recording->change_count; i++) {
    const name_change *change = &recording->changes[i];
    if (change->directory != which || change->moment > moment) continue;
    if (!is_made(builder, change, synced, turn) || !still_possible(list, change)) continue;
    for (uint32_t n = 0; n < change->count; n++) set_name(list, &change->names[n]);
  }
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

/* A page that changed since it was last synced, if there is one: the one that is to be odd. */
static void choose_odd(builder *builder) {
  const recording *recording = builder->recording;
  builder->odd_file = builder->odd_page = UINT32_MAX;
  uint64_t seen = 0;
  for (uint32_t f = 0; f < recording->file_count; f++) {
    const recorded_file *file = &recording->files[f];
    for (uint32_t p = 0; p < file->page_count; p++) {
      int newest = recorded_version(&file->pages[p], builder->plan->moment);
      if (newest <= oldest_version(file, p, builder->plan->moment)) continue;
      if (replay_below(&builder->state, ++seen) != 0) continue;
      builder->odd_file = f;
      builder->odd_page = p;
    }
  }
}

void image_build(const recording *recording, const image_plan *plan, const char *path) {
  builder builder = {.recording = recording, .plan = plan, .state = plan->seed};
  choose_odd(&builder);
  uint32_t turn = (uint32_t)replay_below(&builder.state, (uint64_t)plan->moment + 1);
  name_list *list = malloc(sizeof *list);
  REQUIRE(list && mkdir(path, 0700) == 0);
  for (uint32_t which = 0; which < DIRECTORIES; which++) {
    build_names(&builder, which, turn, list);
    if (which == QUARANTINE_DIRECTORY && list->count > 0) REQUIRE(mkdir(join(path, "quarantine"), 0700) == 0);
    for (uint32_t i = 0; i < list->count; i++) {
      char name[80];
      snprintf(name, sizeof name, "%s%s", which == QUARANTINE_DIRECTORY ? "quarantine/" : "", list->names[i].name);
      build_file(&builder, (uint32_t)list->names[i].file, join(path, name));
    }
  }
  free(list);
}
