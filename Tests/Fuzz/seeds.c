/* seeds.c: see seeds.h. */
#include "../C/log_fixture.h"

#include "pack.h"
#include "seeds.h"

static archive *next_seed(seed *seeds, uint32_t *count, const char *name) {
  REQUIRE(*count < MAX_SEEDS);
  seed *seed = &seeds[(*count)++];
  memset(seed, 0, sizeof *seed);
  seed->name = name;
  return &seed->archive;
}

static void take_directory(seed *seeds, uint32_t *count, const char *name, const char *path, const char *far) {
  archive *archive = next_seed(seeds, count, name);
  REQUIRE(archive_add_directory(archive, path) > 0);
  if (far) archive_add_directory(archive, far);
}

/* The same log with batch segments: as files, and made of raw ones when the seed is unpacked, of several forms. */
static void add_batches(seed *seeds, uint32_t *count, const fixture *fixture) {
  archived first = {.flags = FILE_PACKED, .data = fixture->first.bytes, .bytes = (uint32_t)fixture->first.count};
  archived second = {
      .flags = FILE_PACKED | FILE_COLUMNS, .data = fixture->second.bytes, .bytes = (uint32_t)fixture->second.count};
  for (int kind = 0; kind < 3; kind++) {
    static const char *const batch_names[] = {"batches", "batches-packed", "batches-of-others"};
    archive *archive = next_seed(seeds, count, batch_names[kind]);
    for (int i = 0; i < 2; i++) {
      archived *file = i == 0 ? &first : &second;
      if (kind == 0) {
        uint64_t bytes;
        uint8_t *packed = pack_segment(file, &bytes);
        archive_add(archive, FILE_BATCH, i * UINT64_C(8), packed, bytes);
        free(packed);
      } else {
        archive_add(archive, FILE_SEALED, i * UINT64_C(8), file->data, file->bytes);
        archive->files[i].flags = kind == 1 ? file->flags : FILE_PACKED | (i == 0 ? FILE_LINKED : FILE_NO_SIZE);
      }
    }
    archive_add(archive, FILE_ACTIVE, 14, fixture->last.bytes, fixture->last.count);
    archive_add(archive, FILE_RING, 0, fixture->ring.bytes, fixture->ring.count);
  }
}

static void add_fixture(seed *seeds, uint32_t *count) {
  fixture fixture;
  build(&fixture);
  write_log(&fixture);
  take_directory(seeds, count, "built", fixture.path, NULL);
  for (int parts = 1; parts <= 3; parts++) {
    static const char *const part_names[] = {"built-sealed", "built-active", "built-ring"};
    archive *archive = next_seed(seeds, count, part_names[parts - 1]);
    archive_add(archive, FILE_SEALED, 0, fixture.first.bytes, fixture.first.count);
    if (parts >= 2) archive_add(archive, FILE_ACTIVE, 14, fixture.last.bytes, fixture.last.count);
    if (parts >= 3) archive_add(archive, FILE_RING, 0, fixture.ring.bytes, fixture.ring.count);
  }
  add_batches(seeds, count, &fixture);
  demolish(&fixture);
}

static weir_log *open_elsewhere(void) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 2;
  options.spare_lanes = 1;
  options.lane_bytes = 4096;
  options.max_event_bytes = 256;
  options.segment_bytes = 256 << 10;
  options.drain_interval_ns = 10000000000;
  options.ring_directory = archive_far();
  weir_log *log;
  weir_error error;
  if (weir_open(archive_home(), &options, &log, NULL, &error) == WEIR_OK) return log;
  fprintf(stderr, "seeds: %s\n", error.message);
  exit(2);
}

/* A process that dies with its ring in another directory, some events drained and some not. */
static void add_elsewhere(seed *seeds, uint32_t *count) {
  static const archive nothing = {.count = 0};
  archive_unpack(&nothing);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    weir_log *log = open_elsewhere();
    static const char member[] = "\1\0\0\0\1\0\0\0c\0", scoped[] = "\1\0\0\0b\0\0\0\0\0\0\0\0\4\0\0";
    for (int i = 0; i < 20; i++) {
      uint64_t bytes = i % 8 == 0 ? 0 : sizeof member - 1;
      if (i % 4 == 0 && weir_set_context(log, member, bytes, NULL) != WEIR_OK) _exit(1);
      if (i == 10 && weir_drain(log, UINT64_MAX, NULL, NULL) != WEIR_OK) _exit(1);
      if (weir_capture(log, WEIR_TYPE_DYNAMIC, "\1\0\0\0a\0\0\0\0", 9, NULL) != WEIR_ACCEPTED) _exit(1);
      weir_record record;
      if (weir_begin(log, &record) != WEIR_ACCEPTED) _exit(1);
      weir_put_raw(&record, scoped, sizeof scoped);
      if (weir_commit(&record, WEIR_TYPE_DYNAMIC | WEIR_SCOPED, NULL) != WEIR_ACCEPTED) _exit(1);
    }
    _exit(0);
  }
  REQUIRE(wait_for(child) == 0);
  take_directory(seeds, count, "elsewhere-killed", archive_home(), archive_far());
  weir_log *log = open_elsewhere();
  REQUIRE(weir_close(log, NULL) == WEIR_OK);
  weir_free(log);
  take_directory(seeds, count, "elsewhere-closed", archive_home(), archive_far());
}

uint32_t seeds_make(seed seeds[MAX_SEEDS], const char *golden) {
  static const char *const names_of_golden[] = {"v1-closed", "v1-killed", "v1-damaged", "v1-batched"};
  uint32_t count = 0;
  add_fixture(seeds, &count);
  for (int i = 0; i < 4; i++) {
    take_directory(seeds, &count, names_of_golden[i], join(join(golden, names_of_golden[i]), "log"), NULL);
  }
  add_elsewhere(seeds, &count);
  return count;
}
