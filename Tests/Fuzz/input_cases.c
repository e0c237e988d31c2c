/*
 * input_cases.c: bad input by name. Every field of every structure set to what it must not be, and vouched for by a
 * checksum; whole segments doubled, swapped, missing, from another log; payloads that imitate records and blocks; flags
 * that this version does not know. What is random is drawn in mutated_files.c.
 *
 *     input_cases           every field, with some of the values
 *     input_cases --long    with all of them
 */
#include "../C/drainer.h"
#include "../C/log_fixture.h"

#include "examine.h"
#include "seeds.h"
#include "structure.h"

static seen_log seen; /* what the reader gave last */

/* Unpacks the log and runs everything over it. */
static int examine_archive(const archive *archive, int honest, const char *what) {
  archive_unpack(archive);
  alarm(HANG_SECONDS);
  const char *problem = examine(archive_home(), honest, &seen);
  alarm(0);
  if (problem) fprintf(stderr, "  %s: %s\n", what, problem);
  return CHECK(!problem);
}

static archive copy_of(const archive *from) {
  archive copy = {.count = 0};
  for (uint32_t i = 0; i < from->count; i++) {
    archive_add(&copy, from->files[i].kind, from->files[i].base, from->files[i].data, from->files[i].bytes);
    copy.files[i].flags = from->files[i].flags;
  }
  return copy;
}

/* The hand-built log: three segments and a ring, each with its file's index as in log_fixture.h. */
static archive built_archive(const fixture *fixture) {
  archive archive = {.count = 0};
  archive_add(&archive, FILE_SEALED, 0, fixture->first.bytes, fixture->first.count);
  archive_add(&archive, FILE_SEALED, 8, fixture->second.bytes, fixture->second.count);
  archive_add(&archive, FILE_ACTIVE, 14, fixture->last.bytes, fixture->last.count);
  archive_add(&archive, FILE_RING, 0, fixture->ring.bytes, fixture->ring.count);
  return archive;
}

/* ---- Lengths, counts, offsets, positions ------------------------------------------------------------------------- */

enum { VALUES = 12 };

static uint64_t value_of(int which, uint64_t was, uint64_t file_bytes) {
  const uint64_t values[VALUES] = {0,           1,         UINT64_MAX,           UINT64_C(1) << 63, was + 1, was - 1,
                                   was + 8,     was - 8,   file_bytes,           file_bytes + 8,    UINT32_MAX,
                                   UINT64_C(1) << 31};
  return values[which];
}

static void set_field(const archive *log, uint32_t index, const part *part, const field *field, int which) {
  archive changed = copy_of(log);
  archived *file = &changed.files[index];
  uint64_t at = (uint64_t)part->at + field->at, was = 0;
  if (at + field->bytes > file->bytes) {
    archive_free(&changed);
    return;
  }
  memcpy(&was, file->data + at, field->bytes);
  uint64_t value = value_of(which, was, file->bytes);
  memcpy(file->data + at, &value, field->bytes);
  repair_file(file, 0);
  char what[160];
  snprintf(what, sizeof what, "file %u, part %d at %u, field at %u: %" PRIu64 " in place of %" PRIu64, index,
           part->kind, part->at, field->at, value, was);
  examine_archive(&changed, 0, what);
  archive_free(&changed);
}

/* Of parts that are alike, records above all, the first three will do; `share`: one value in so many. */
static void every_field(const archive *log, uint64_t share) {
  static parts found;
  for (uint32_t index = 0; index < log->count; index++) {
    uint32_t taken[PART_KINDS] = {0};
    find_parts(&log->files[index], &found);
    for (uint32_t p = 0; p < found.count; p++) {
      part part = found.items[p];
      if (taken[part.kind]++ >= 3) continue;
      uint32_t count;
      const field *fields = fields_of(part.kind, &count);
      for (uint32_t f = 0; f < count; f++) {
        for (int v = 0; v < VALUES; v++) {
          if (random_below(share) == 0) set_field(log, index, &part, &fields[f], v);
        }
      }
    }
  }
}

static void hostile_fields(const fixture *fixture, int all) {
  test("case 40: each length, count, offset and position 0, 1, maximal, negative, past the end, its checksum repaired");
  archive log = built_archive(fixture);
  every_field(&log, all ? 1 : 16);
  archive_free(&log);
}

/* ---- Whole segments ---------------------------------------------------------------------------------------------- */

/* Every event of the log at most once, `missing` of them not at all, and nothing that nobody captured. */
static void check_given(const fixture *fixture, const char *what, uint64_t missing) {
  uint64_t twice = 0, absent = 0, wrong = 0;
  for (uint64_t i = 0; i < fixture->count; i++) {
    uint64_t times = 0;
    for (uint64_t k = 0; k < seen.count; k++) {
      times += seen.events[k].id.sequence == fixture->events[i].sequence && seen.events[k].id.opening == OPENING;
    }
    int due = fixture->events[i].file == 3 && fixture->events[i].value == UINT64_MAX; /* its id is its offset */
    twice += times > 1;
    absent += times == 0 && !due;
  }
  for (uint64_t k = 0; k < seen.count; k++) {
    wrong += seen.events[k].id.opening != OPENING && seen.events[k].id.opening != OPENING + 1;
  }
  if (CHECK(twice == 0 && wrong == 0) & CHECK_EQUAL(absent, missing)) return;
  fprintf(stderr, "  %s: %" PRIu64 " twice, %" PRIu64 " absent, %" PRIu64 " wrong\n", what, twice, absent, wrong);
}

/* `silent`: nothing is amiss that verify could tell of. */
static void run_case(const fixture *fixture, archive *log, const char *what, uint64_t missing, int silent) {
  archive_unpack(log);
  weir_verification sums;
  CHECK_EQUAL(weir_verify(archive_home(), NULL, NULL, &sums, NULL), WEIR_OK);
  if (!CHECK((sums.findings == 0) == silent)) fprintf(stderr, "  %s: %" PRIu64 " findings\n", what, sums.findings);
  examine_archive(log, 0, what);
  check_given(fixture, what, missing);
  archive_free(log);
}

/* A segment of a copy of the log that lived on by itself, in another opening, whose offsets are `base` to `base` + 4. */
static void add_foreign(archive *log, file_kind kind, uint64_t base) {
  built file;
  uint64_t at = 0;
  const uint64_t drained[BUILT_LANES] = {0};
  built_begin(&file, OPENING + 1, base, drained, NULL, 0);
  built_define(&file);
  built_events(&file, 1, &at, 700, 5);
  if (kind == FILE_SEALED) built_seal(&file);
  archive_add(log, kind, base, file.bytes, file.count);
  built_free(&file);
}

static void whole_segments(const fixture *fixture) {
  test("case 42: segments doubled, swapped, missing, from a copy of the log, with offsets twice or a hole");
  for (int which = 0; which < 3; which++) {
    archive log = built_archive(fixture);
    const archived *file = &log.files[which];
    archive_add(&log, file->kind, file->base + 3, file->data, file->bytes);
    run_case(fixture, &log, "a copy under another name", 0, 0);

    log = built_archive(fixture);
    file = &log.files[which];
    archive_add(&log, file->kind == FILE_SEALED ? FILE_ACTIVE : FILE_SEALED, file->base, file->data, file->bytes);
    run_case(fixture, &log, "a copy with the other suffix", 0, 0);
  }
  archive log = built_archive(fixture);
  log.files[0].base = 8;
  log.files[1].base = 0;
  run_case(fixture, &log, "two segments with each other's names", 8, 0); /* what comes too late is not given */

  log = built_archive(fixture);
  free(log.files[1].data);
  log.files[1] = log.files[--log.count];
  run_case(fixture, &log, "a segment missing in the middle", 6, 0);

  log = built_archive(fixture);
  add_foreign(&log, FILE_SEALED, 10);
  /* Its last offset, 14, comes before that of the log's own. */
  run_case(fixture, &log, "a sealed segment of a copy, with offsets that are given", 1, 0);

  log = built_archive(fixture);
  add_foreign(&log, FILE_ACTIVE, 10);
  run_case(fixture, &log, "an unsealed segment of a copy, with offsets that are given", 1, 0);

  log = built_archive(fixture);
  add_foreign(&log, FILE_SEALED, 100);
  run_case(fixture, &log, "a segment of a copy behind a hole", 0, 0);

  log = built_archive(fixture);
  run_case(fixture, &log, "the log as it is", 0, 1);
}

/* ---- Payloads ---------------------------------------------------------------------------------------------------- */

/* Captures `payload` as an event of its own. */
static void capture_bytes(weir_log *log, uint32_t type, const uint8_t *payload, uint64_t bytes) {
  weir_record record;
  REQUIRE(weir_begin(log, &record) == WEIR_ACCEPTED);
  weir_put_string(&record, (const char *)payload, bytes);
  REQUIRE(weir_commit(&record, type, NULL) == WEIR_ACCEPTED);
}

static uint64_t read_whole(const char *path, uint8_t *bytes, uint64_t room) {
  FILE *file = fopen(path, "rb");
  REQUIRE(file);
  uint64_t count = fread(bytes, 1, room, file);
  fclose(file);
  return count;
}

enum { FIRST_EVENTS = 5, ROOM = 60000 };

/*
 * Captures some events, drains, and captures as one event's payload all that the segment and the lane hold so far, at
 * each alignment, so that headers with the right salt, opening and checksums lie in payloads. Then dies.
 */
static void capture_imitations(const char *directory) {
  static uint8_t segment[ROOM], ring[ROOM];
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 2;
  options.spare_lanes = 1;
  options.drain_interval_ns = 10000000000;
  weir_log *log = NULL;
  REQUIRE(weir_open(directory, &options, &log, NULL, NULL) == WEIR_OK);
  const weir_field field = {"bytes", WEIR_KIND_BYTES, 0};
  const weir_definition definition = {.name = "imitation", .fields = &field, .field_count = 1};
  uint32_t type;
  REQUIRE(weir_define(log, 0, &definition, 1, &type, NULL) == WEIR_OK);
  for (uint8_t i = 0; i < FIRST_EVENTS; i++) capture_bytes(log, type, &i, 1);
  REQUIRE(weir_drain(log, UINT64_MAX, NULL, NULL) == WEIR_OK);
  uint64_t count = read_whole(join(directory, "00000000000000000000.weir.active"), segment, 8192);
  for (uint64_t shift = 0; shift < 8; shift++) capture_bytes(log, type, segment + shift, count - 8);
  hold_drainer(log);
  REQUIRE(read_whole(join(directory, RING_NAME), ring, ROOM) == ROOM);
  for (uint64_t shift = 0; shift < 8; shift++) capture_bytes(log, type, ring + 8192 + shift, 2048);
  raise(SIGKILL);
}

/*
 * The same in the lanes: each imitation's own header is damaged in turn, which makes it a hole; a reader looks for the
 * next record within its payload.
 */
static void imitations_in_lanes(const char *directory, const seen_log *drained) {
  static seen_log whole;
  const char *ring = join(directory, RING_NAME);
  CHECK(!examine_read(directory, 0, 0, &whole));
  CHECK_EQUAL(whole.count, FIRST_EVENTS + 16);
  for (uint64_t i = drained->count; i < whole.count && i < SEEN_EVENTS; i++) {
    /* Lane 0 begins after the ring's header and its own control page; it is far from full. */
    uint64_t at = 8192 + (whole.events[i].id.sequence << 16 >> 16) * 8;
    for (uint64_t byte = 0; byte < 24; byte += 4) {
      uint8_t was, changed;
      int fd = open(ring, O_RDWR | O_CLOEXEC);
      REQUIRE(fd >= 0 && pread(fd, &was, 1, (off_t)(at + byte)) == 1);
      changed = was ^ 0x10;
      REQUIRE(pwrite(fd, &changed, 1, (off_t)(at + byte)) == 1);
      CHECK(!examine_read(directory, 0, 0, &seen));
      CHECK_EQUAL(seen.count, whole.count); /* a hole in its place */
      for (uint64_t k = 0; k < seen.count && k < SEEN_EVENTS; k++) {
        const seen_event *event = &seen.events[k];
        if (k == i) CHECK(event->id.sequence >> 48 == NOTICE_LANE);
        else CHECK(memcmp(&event->id, &whole.events[k].id, sizeof(weir_id)) == 0 &&
                   event->own_crc == whole.events[k].own_crc);
      }
      REQUIRE(pwrite(fd, &was, 1, (off_t)(at + byte)) == 1);
      close(fd);
    }
  }
}

/* Damages what stands before each imitation: whoever looks for the next good header there meets it. */
static void imitations(void) {
  test("case 43: payloads that imitate records and blocks are never taken for any");
  char *folder = scratch(), *directory = NULL;
  archive log = {.count = 0};
  static seen_log all;
  for (int tries = 0; tries < 50; tries++) { /* until the drainer leaves the second half in the lane */
    free(directory);
    directory = strdup(join(folder, "log"));
    remove_tree(directory);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) capture_imitations(directory);
    REQUIRE(wait_for(child) == 1000 + SIGKILL);
    archive_free(&log);
    archive_add_directory(&log, directory); /* the ring is larger than an archive's files: the segment alone */
    archive_unpack(&log);
    CHECK(!examine_read(archive_home(), 0, 0, &all));
    if (all.count == FIRST_EVENTS + 8) break;
  }
  CHECK_EQUAL(all.count, FIRST_EVENTS + 8);
  static parts found;
  uint32_t index = 0;
  while (index < log.count && log.files[index].kind != FILE_ACTIVE) index++;
  REQUIRE(index < log.count);
  find_parts(&log.files[index], &found);
  uint64_t damaged = 0;
  for (uint32_t p = 0; p < found.count; p++) {
    if (found.items[p].kind != PART_BLOCK || found.items[p].bytes < 8192) continue;
    for (uint32_t at = 0; at < 128; at += 4) {
      archive changed = copy_of(&log);
      changed.files[index].data[found.items[p].at + at] ^= 0x10;
      examine_archive(&changed, 1, "an imitation behind a damaged header");
      CHECK(seen.count >= FIRST_EVENTS && seen.count < all.count);
      for (uint64_t i = 0; i < seen.count; i++) {
        uint64_t k = 0;
        while (k < all.count && memcmp(&all.events[k].id, &seen.events[i].id, sizeof(weir_id)) != 0) k++;
        CHECK(k < all.count && all.events[k].own_crc == seen.events[i].own_crc);
      }
      archive_free(&changed);
      damaged++;
    }
  }
  CHECK(damaged >= 32);
  archive_free(&log);

  imitations_in_lanes(directory, &all);
  free(directory);
  scratch_remove(folder);
}

/* ---- Versions and flags ------------------------------------------------------------------------------------------ */

static weir_status read_status(const archive *log) {
  archive_unpack(log);
  CHECK(!examine_read(archive_home(), 0, 0, &seen));
  return seen.end;
}

static void flags(const fixture *fixture) {
  test("case 44: an unknown incompatible flag is refused, an unknown compatible one is read");
  for (uint32_t index = 0; index < 4; index++) {
    for (int incompatible = 0; incompatible < 2; incompatible++) {
      archive log = built_archive(fixture);
      archived *file = &log.files[index];
      const uint64_t ats[2][2] = {
          {offsetof(segment_header, compatible), offsetof(segment_header, incompatible)},
          {offsetof(ring_header, compatible), offsetof(ring_header, incompatible)}};
      uint64_t at = ats[index == 3][incompatible];
      file->data[at + random_below(8)] |= (uint8_t)(1 << random_below(8));
      repair_file(file, 0);
      CHECK_EQUAL(read_status(&log), incompatible ? WEIR_ERROR_VERSION : WEIR_END);
      if (incompatible) {
        weir_error error;
        CHECK_EQUAL(weir_verify(archive_home(), NULL, NULL, NULL, &error), WEIR_ERROR_VERSION);
        CHECK(strstr(error.message, "newer version") != NULL);
      } else {
        CHECK_EQUAL(seen.count, fixture->count);
        examine_archive(&log, 1, "an unknown compatible flag");
      }
      archive_free(&log);
    }
  }
}

int main(int count, char **arguments) {
  random_start("input_cases");
  fixture fixture;
  build(&fixture);
  flags(&fixture);
  whole_segments(&fixture);
  imitations();
  hostile_fields(&fixture, count > 1 && strcmp(arguments[1], "--long") == 0);
  demolish(&fixture);
  return finish();
}
