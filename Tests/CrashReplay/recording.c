/* recording.c: see recording.h. */
#include "check.h"
#include "recording.h"
#include "replay.h"

#include <dirent.h>

#include "system/system.h"

static recording *current;

/* ---- Growing arrays ---------------------------------------------------------------------------------------------- */

/* Room for one more item in an array that doubles at powers of two. */
static void *grown(void *items, uint32_t count, uint64_t each) {
  if (count >= 4 && (count & (count - 1)) != 0) return items;
  if (count != 0 && count < 4) return items;
  items = realloc(items, (count < 4 ? 4 : (uint64_t)count * 2) * each);
  REQUIRE(items);
  return items;
}

/* A copy of a page that lasts as long as the recording. */
static const uint8_t *keep(recording *recording, const uint8_t *bytes) {
  enum { PIECE_BYTES = 1 << 20 };
  if (recording->kept_left < PAGE_BYTES) {
    recording->pieces = grown(recording->pieces, recording->piece_count, sizeof *recording->pieces);
    recording->kept = malloc(PIECE_BYTES);
    REQUIRE(recording->kept);
    recording->pieces[recording->piece_count++] = recording->kept;
    recording->kept_left = PIECE_BYTES;
  }
  uint8_t *copy = recording->kept;
  memcpy(copy, bytes, PAGE_BYTES);
  recording->kept += PAGE_BYTES;
  recording->kept_left -= PAGE_BYTES;
  recording->versions++;
  return copy;
}

/* ---- Looking at files -------------------------------------------------------------------------------------------- */

static const uint8_t zeros[PAGE_BYTES];

static void look_at_page(recording *recording, recorded_page *page, const uint8_t *bytes) {
  const page_version *last = page->count > 0 ? &page->versions[page->count - 1] : NULL;
  if (last && memcmp(last->bytes ? last->bytes : zeros, bytes, PAGE_BYTES) == 0) return;
  int blank = !last && recording->moments > 0 && memcmp(bytes, zeros, PAGE_BYTES) == 0;
  page->versions = grown(page->versions, page->count, sizeof *page->versions);
  page->versions[page->count++] =
      (page_version){recording->moments, blank ? NULL : keep(recording, bytes)};
}

static void look_at_file(recording *recording, recorded_file *file) {
  enum { CHUNK_BYTES = 1 << 18 };
  static uint8_t chunk[CHUNK_BYTES];
  struct stat status;
  REQUIRE(fstat(file->fd, &status) == 0);
  uint64_t bytes = (uint64_t)status.st_size;
  if (file->size_count == 0 || file->sizes[file->size_count - 1].bytes != bytes) {
    file->sizes = grown(file->sizes, file->size_count, sizeof *file->sizes);
    file->sizes[file->size_count++] = (file_size){recording->moments, bytes};
  }
  uint32_t pages = (uint32_t)((bytes + PAGE_BYTES - 1) / PAGE_BYTES);
  if (pages > file->page_count) {
    file->pages = realloc(file->pages, pages * sizeof *file->pages);
    REQUIRE(file->pages);
    memset(file->pages + file->page_count, 0, (pages - file->page_count) * sizeof *file->pages);
    file->page_count = pages;
  }
  for (uint64_t at = 0; at < bytes; at += CHUNK_BYTES) {
    ssize_t got = pread(file->fd, chunk, CHUNK_BYTES, (off_t)at);
    REQUIRE(got >= 0);
    memset(chunk + got, 0, (size_t)(-got & (PAGE_BYTES - 1)));
    for (ssize_t in = 0; in < got; in += PAGE_BYTES) {
      look_at_page(recording, &file->pages[(at + (uint64_t)in) / PAGE_BYTES], chunk + in);
    }
  }
}

/* ---- Looking at names -------------------------------------------------------------------------------------------- */

static int32_t file_of(recording *recording, int directory, const char *name) {
  int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return NO_FILE;
  struct stat status;
  REQUIRE(fstat(fd, &status) == 0);
  for (uint32_t i = 0; i < recording->file_count; i++) {
    if (recording->files[i].inode != (uint64_t)status.st_ino) continue;
    close(fd);
    return (int32_t)i;
  }
  if (!S_ISREG(status.st_mode)) {
    close(fd);
    return NO_FILE;
  }
  recording->files = grown(recording->files, recording->file_count, sizeof *recording->files);
  recording->files[recording->file_count] = (recorded_file){.inode = (uint64_t)status.st_ino, .fd = fd};
  return (int32_t)recording->file_count++;
}

/* The names in a directory, in `*names`; answers how many. */
static uint32_t list(recording *recording, uint32_t which, named **names) {
  const char *path = which == LOG_DIRECTORY ? recording->path : join(recording->path, "quarantine");
  uint32_t count = 0;
  *names = NULL;
  DIR *entries = opendir(path);
  if (!entries) return 0;
  for (struct dirent *entry; (entry = readdir(entries));) {
    if (entry->d_name[0] == '.' || entry->d_type == DT_DIR || strlen(entry->d_name) >= sizeof (*names)->name) continue;
    int32_t file = file_of(recording, dirfd(entries), entry->d_name);
    if (file == NO_FILE) continue;
    *names = grown(*names, count, sizeof **names);
    snprintf((*names)[count].name, sizeof (*names)->name, "%.63s", entry->d_name);
    (*names)[count++].file = file;
  }
  closedir(entries);
  return count;
}

static int32_t look_up(const named *names, uint32_t count, const char *name) {
  for (uint32_t i = 0; i < count; i++) {
    if (strcmp(names[i].name, name) == 0) return names[i].file;
  }
  return NO_FILE;
}

static void add_name(name_change *change, const char *name, int32_t file) {
  REQUIRE(change->count < sizeof change->names / sizeof *change->names);
  snprintf(change->names[change->count].name, sizeof change->names->name, "%s", name);
  change->names[change->count++].file = file;
}

/* What has changed since the last look is one change: calls are made one at a time. At first all is there already. */
static void look_at_names(recording *recording, uint32_t which) {
  named *now, *before = recording->names[which];
  uint32_t count = list(recording, which, &now), had = recording->name_count[which];
  name_change change = {.moment = recording->moments, .directory = which};
  for (uint32_t i = 0; i < had && recording->moments > 0; i++) {
    if (look_up(now, count, before[i].name) == NO_FILE) add_name(&change, before[i].name, NO_FILE);
  }
  for (uint32_t i = 0; i < count && recording->moments > 0; i++) {
    if (look_up(before, had, now[i].name) != now[i].file) add_name(&change, now[i].name, now[i].file);
  }
  if (change.count > 0) {
    recording->changes = grown(recording->changes, recording->change_count, sizeof *recording->changes);
    recording->changes[recording->change_count++] = change;
  }
  free(before);
  recording->names[which] = now;
  recording->name_count[which] = count;
}

/* ---- A moment ---------------------------------------------------------------------------------------------------- */

static void note_marks(recording *recording) {
  if (recording->moments == recording->mark_room) {
    recording->mark_room = recording->mark_room ? recording->mark_room * 2 : 256;
    recording->marks = realloc(recording->marks, recording->mark_room * sizeof *recording->marks);
    REQUIRE(recording->marks);
  }
  memset(recording->marks[recording->moments], 0, sizeof *recording->marks);
  if (recording->mark) recording->mark(recording->context, recording->marks[recording->moments]);
}

/*
 * Under the mutex. The marks before the pages: what was durable or had begun when they were taken, was so when a page
 * was read.
 */
static uint32_t look(recording *recording, int names) {
  note_marks(recording);
  for (uint32_t i = 0; names && i < DIRECTORIES; i++) look_at_names(recording, i);
  for (uint32_t i = 0; i < recording->file_count; i++) recording->files[i].linked = 0;
  for (uint32_t which = 0; which < DIRECTORIES; which++) {
    for (uint32_t i = 0; i < recording->name_count[which]; i++) {
      recording->files[recording->names[which][i].file].linked = 1;
    }
  }
  for (uint32_t i = 0; i < recording->file_count; i++) {
    if (recording->files[i].linked) look_at_file(recording, &recording->files[i]);
  }
  return recording->moments++;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

static recorded_file *file_by_inode(recording *recording, uint64_t inode) {
  for (uint32_t i = 0; i < recording->file_count; i++) {
    if (recording->files[i].inode == inode) return &recording->files[i];
  }
  return NULL;
}

static uint64_t inode_of(int fd) {
  struct stat status;
  return fd >= 0 && fstat(fd, &status) == 0 ? (uint64_t)status.st_ino : 0;
}

static void note_sync(recording *recording, uint64_t inode, uint64_t from, uint64_t to) {
  recorded_file *file = file_by_inode(recording, inode);
  if (!file) return;
  file->syncs = grown(file->syncs, file->sync_count, sizeof *file->syncs);
  file->syncs[file->sync_count++] = (recorded_sync){recording->moments - 1, recording->before, from, to};
}

static void note_mapped_sync(recording *recording, const weir_call *call) {
  for (uint32_t i = recording->map_count; i-- > 0;) {
    const uint8_t *from = recording->maps[i].address;
    if (call->address < from || call->address >= from + recording->maps[i].bytes) continue;
    uint64_t at = (uint64_t)(call->address - from);
    note_sync(recording, recording->maps[i].inode, at, at + call->bytes);
    return;
  }
}

static void note_directory_sync(recording *recording, int fd) {
  struct stat status;
  uint64_t inode = inode_of(fd);
  for (uint32_t which = 0; which < DIRECTORIES; which++) {
    const char *path = which == LOG_DIRECTORY ? recording->path : join(recording->path, "quarantine");
    if (stat(path, &status) != 0 || (uint64_t)status.st_ino != inode) continue;
    recording->directory_syncs =
        grown(recording->directory_syncs, recording->directory_sync_count, sizeof *recording->directory_syncs);
    recording->directory_syncs[recording->directory_sync_count++] =
        (directory_sync){recording->moments - 1, recording->before, which};
  }
}

/*
 * Zeros that were written are no longer what a block happens to hold. To map a file with all its pages makes them
 * dirty: the next sync writes them, whatever is stored to them.
 */
static void note_write(recording *recording, const weir_call *call) {
  recorded_file *file = file_by_inode(recording, inode_of(call->fd));
  uint64_t end = call->at + call->bytes;
  for (uint64_t i = call->at / PAGE_BYTES; file && i < file->page_count && i * PAGE_BYTES < end; i++) {
    recorded_page *page = &file->pages[i];
    if (page->count == 0 || page->versions[page->count - 1].bytes) continue;
    page->versions = grown(page->versions, page->count, sizeof *page->versions);
    page->versions[page->count++] = (page_version){recording->moments - 1, keep(recording, zeros)};
  }
}

static void note_allocation(recording *recording, const weir_call *call) {
  recorded_file *file = file_by_inode(recording, inode_of(call->fd));
  uint64_t end = call->at + call->bytes;
  for (uint64_t i = call->at / PAGE_BYTES; file && i < file->page_count && i * PAGE_BYTES < end; i++) {
    if (file->pages[i].allocated == 0) file->pages[i].allocated = recording->moments;
  }
}

static void note_call(recording *recording, const weir_call *call) {
  uint64_t most = sizeof recording->maps / sizeof *recording->maps;
  recording->calls++;
  if (strcmp(call->operation, "sys_map") == 0 || strcmp(call->operation, "sys_map_lazily") == 0) {
    if (recording->map_count == most) {
      memmove(recording->maps, recording->maps + 1, (most - 1) * sizeof *recording->maps);
      recording->map_count--;
    }
    recording->maps[recording->map_count].address = call->address;
    recording->maps[recording->map_count].bytes = call->bytes;
    recording->maps[recording->map_count++].inode = inode_of(call->fd);
  }
  if (strncmp(call->operation, "sys_allocate", strlen("sys_allocate")) == 0) note_allocation(recording, call);
  int writes = strcmp(call->operation, "sys_write_at") == 0 || strcmp(call->operation, "sys_map") == 0;
  if (writes) note_write(recording, call);
  if (strcmp(call->operation, "sys_sync_data") == 0) note_sync(recording, inode_of(call->fd), 0, UINT64_MAX);
  if (strcmp(call->operation, "sys_sync_mapped") == 0) note_mapped_sync(recording, call);
  if (strcmp(call->operation, "sys_sync_directory") == 0) note_directory_sync(recording, call->fd);
}

static void observe(const weir_call *call, int after) {
  recording *recording = current;
  if (!after) {
    pthread_mutex_lock(&recording->mutex);
    if (recording->depth++ == 0) recording->before = look(recording, 1);
    return;
  }
  look(recording, 1);
  note_call(recording, call);
  recording->depth--;
  pthread_mutex_unlock(&recording->mutex);
}

/* Looks at moments that have to do with no call. */
static void *look_at_random(void *context) {
  recording *recording = context;
  uint64_t state = recording->look_seed;
  while (!__atomic_load_n(&recording->stop, __ATOMIC_ACQUIRE)) {
    sleep_ns(20000 + replay_below(&state, 400000));
    pthread_mutex_lock(&recording->mutex);
    look(recording, 0);
    pthread_mutex_unlock(&recording->mutex);
  }
  return NULL;
}

/* ---- Starting and stopping --------------------------------------------------------------------------------------- */

recording *recording_start(const char *path, uint64_t seed, void (*mark)(void *, uint64_t[MOST_MARKS]),
                           void *context) {
  recording *made = calloc(1, sizeof *made);
  REQUIRE(made && !current);
  made->path = path;
  made->mark = mark;
  made->context = context;
  made->look_seed = seed;
  pthread_mutexattr_t recursive;
  pthread_mutexattr_init(&recursive);
  pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&made->mutex, &recursive);
  pthread_mutexattr_destroy(&recursive);
  current = made;
  look(made, 1);
  for (uint32_t which = 0; which < DIRECTORIES; which++) {
    made->first_name_count[which] = made->name_count[which];
    made->first_names[which] = calloc(made->name_count[which] + 1, sizeof(named));
    REQUIRE(made->first_names[which]);
    if (made->name_count[which] == 0) continue;
    memcpy(made->first_names[which], made->names[which], made->name_count[which] * sizeof(named));
  }
  weir_fault_observe(observe);
  REQUIRE(pthread_create(&made->looker, NULL, look_at_random, made) == 0);
  return made;
}

uint32_t recording_look(recording *recording) {
  pthread_mutex_lock(&recording->mutex);
  uint32_t moment = look(recording, 1);
  pthread_mutex_unlock(&recording->mutex);
  return moment;
}

void recording_stop(recording *recording) {
  __atomic_store_n(&recording->stop, 1, __ATOMIC_RELEASE);
  pthread_join(recording->looker, NULL);
  weir_fault_observe(NULL);
  look(recording, 1);
  current = NULL;
}

void recording_free(recording *recording) {
  for (uint32_t i = 0; i < recording->file_count; i++) {
    recorded_file *file = &recording->files[i];
    for (uint32_t p = 0; p < file->page_count; p++) free(file->pages[p].versions);
    free(file->pages);
    free(file->sizes);
    free(file->syncs);
    close(file->fd);
  }
  for (uint32_t which = 0; which < DIRECTORIES; which++) {
    free(recording->names[which]);
    free(recording->first_names[which]);
  }
  for (uint32_t i = 0; i < recording->piece_count; i++) free(recording->pieces[i]);
  free(recording->pieces);
  free(recording->files);
  free(recording->changes);
  free(recording->directory_syncs);
  free(recording->marks);
  pthread_mutex_destroy(&recording->mutex);
  free(recording);
}

int recorded_version(const recorded_page *page, uint32_t moment) {
  int found = -1;
  for (uint32_t i = 0; i < page->count && page->versions[i].moment <= moment; i++) found = (int)i;
  return found;
}
