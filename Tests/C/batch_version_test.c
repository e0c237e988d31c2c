/*
 * batch_version_test.c: case 44 in batch segments: a bit that flips in one never makes it a newer version's, at which
 * readers stop and openings are refused; a version that was written so is refused, with or without an index.
 */
#include "batch_log.h"

enum { EVENTS = 700, FIRST_BYTES = 64 };

/* A closed log of three raw segments. */
typedef struct subject {
  const char *work;
  seen raw;
  sealed_files files;
} subject;

static void prepare(subject *subject, const char *folder, const char *name) {
  memset(subject, 0, sizeof *subject);
  subject->work = strdup(join(folder, name));
  for (int i = 0; i < 3; i++) fill_log(subject->work, EVENTS);
  subject->raw = see(subject->work);
  subject->files = find_sealed(subject->work, SEALED_SUFFIX);
  REQUIRE(subject->files.count == 3);
}

static void finish_with(subject *subject) {
  seen_free(&subject->raw);
  free((char *)subject->work);
}

static bytes flipped(const bytes *batch, uint64_t bit) {
  bytes file = {malloc(batch->count), batch->count};
  REQUIRE(file.at);
  memcpy(file.at, batch->at, batch->count);
  file.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
  return file;
}

/* The n-th segment as a batch, each bit of its first bytes flipped: readers go on, all else is there. */
static void flip_and_read(subject *subject, uint32_t n, int with_index) {
  const char *raw_path = subject->files.paths[n];
  const batch_form form = {.columns = 1, .no_index = !with_index};
  bytes raw = read_bytes(raw_path), batch = build_batch(&raw, &form);
  REQUIRE(unlink(raw_path) == 0);
  uint64_t wrong = 0;
  for (uint64_t bit = 0; bit < 8 * FIRST_BYTES; bit++) {
    bytes file = flipped(&batch, bit);
    write_bytes(batch_path(raw_path), &file);
    seen now = see(subject->work);
    int fits = seen_agrees(&now, &subject->raw, 0) && now.missing <= EVENTS;
    if (!fits) fprintf(stderr, "  bit %" PRIu64 ": ends with %d, %" PRIu64 " missing\n", bit, now.end, now.missing);
    wrong += !fits;
    weir_stat stat;
    weir_tally tally;
    weir_verification sums;
    wrong += weir_stat_directory(subject->work, &stat, NULL) != WEIR_OK;
    wrong += weir_count_from(subject->work, 0, &tally, NULL) != WEIR_OK;
    wrong += weir_verify(subject->work, NULL, NULL, &sums, NULL) != WEIR_OK || sums.findings == 0;
    seen_free(&now);
    free(file.at);
  }
  CHECK_EQUAL(wrong, 0);
  REQUIRE(unlink(batch_path(raw_path)) == 0);
  write_bytes(raw_path, &raw);
  free(raw.at);
  free(batch.at);
}

/* The same of the last segment, at which openings look. */
static void flip_and_open(const subject *subject, int with_index) {
  const char *raw_path = subject->files.paths[2];
  const batch_form form = {.columns = 1, .no_index = !with_index};
  bytes raw = read_bytes(raw_path), batch = build_batch(&raw, &form);
  REQUIRE(unlink(raw_path) == 0);
  uint64_t refused = 0, twice = 0;
  /* Without an index some of them: each opening waits for the disk. */
  for (uint64_t bit = 0; bit < 8 * FIRST_BYTES; bit += with_index ? 1 : 1 + random_below(16)) {
    bytes file = flipped(&batch, bit);
    write_bytes(batch_path(raw_path), &file);
    weir_log *log = NULL;
    weir_error error;
    weir_options options;
    weir_options_init(&options);
    options.lane_count = 2;
    options.spare_lanes = 1;
    options.lane_bytes = 1 << 16;
    options.max_event_bytes = 1024;
    options.segment_bytes = LOG_SEGMENT_BYTES;
    if (weir_open(subject->work, &options, &log, NULL, &error) == WEIR_OK) {
      weir_counters counters;
      weir_count(log, &counters);
      twice += counters.next_offset < subject->raw.count;
      CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
      weir_free(log);
    } else if (refused++ == 0) {
      fprintf(stderr, "  bit %" PRIu64 ": %s\n", bit, error.message);
    }
    free(file.at);
  }
  CHECK_EQUAL(refused, 0);
  CHECK_EQUAL(twice, 0);
  unlink(batch_path(raw_path)); /* without an index there may be nothing in it to be known by: then it was put away */
  write_bytes(raw_path, &raw);
  free(raw.at);
  free(batch.at);
}

/*
 * What a damaged LZ4 block unpacks to can be a version of any number, and blocks that are none: the index, which has a
 * version and a checksum of its own, or the LZ4 block's checksum say that it was not written so.
 */
static void damaged_versions(subject *subject) {
  test("case 44: whatever damage makes of the version in a batch segment, it is no newer one");
  const char *raw_path = subject->files.paths[1];
  bytes raw = read_bytes(raw_path), changed = {malloc(raw.count), raw.count};
  segment_header head;
  REQUIRE(changed.at && unlink(raw_path) == 0);
  memcpy(&head, raw.at, sizeof head);
  for (uint32_t i = 0; i < 64; i++) {
    uint16_t major = (uint16_t)(i < 16 ? 2 + i / 4 : random_below(UINT16_MAX));
    int with_index = i & 1, first_blocks_too = i >> 1 & 1;
    memcpy(changed.at, raw.at, raw.count);
    memcpy(changed.at + offsetof(segment_header, major), &major, sizeof major);
    if (first_blocks_too) memset(changed.at + head.header_bytes, 0x5a, 4096);
    bytes batch = build_batch(&changed, &(batch_form){.no_index = 1});
    batch.at = realloc(batch.at, batch.count + 4096);
    REQUIRE(batch.at);
    if (with_index) batch.count += build_index(batch.at + batch.count, &raw, batch.at, batch.count, 0);
    else batch.at[batch.count - 4 - 1] ^= 1; /* the checksum of its one block, before the end mark */
    write_bytes(batch_path(raw_path), &batch);
    seen now = see(subject->work);
    if (!CHECK(seen_agrees(&now, &subject->raw, 0) && (now.missing > 0) == first_blocks_too)) {
      fprintf(stderr, "  version %u, %d, %d: ends with %d\n", major, with_index, first_blocks_too, now.end);
    }
    seen_free(&now);
    free(batch.at);
  }
  REQUIRE(unlink(batch_path(raw_path)) == 0);
  write_bytes(raw_path, &raw);
  free(changed.at);
  free(raw.at);
}

/* What a later version would write: the number in the header, and blocks of a kind that this one can't know. */
static void newer(subject *subject) {
  test("case 44: a batch segment of a newer version is refused by name");
  bytes raw = read_bytes(subject->files.paths[1]);
  bytes later = {malloc(raw.count), raw.count};
  REQUIRE(later.at);
  memcpy(later.at, raw.at, raw.count);
  segment_header head;
  memcpy(&head, raw.at, sizeof head);
  memset(later.at + head.header_bytes, 0x5a, 4096);
  REQUIRE(unlink(subject->files.paths[1]) == 0);
  for (uint16_t major = 2; major < 6; major++) {
    later.at[offsetof(segment_header, major)] = (uint8_t)major;
    for (int with_index = 0; with_index < 2; with_index++) {
      const batch_form form = {.no_index = !with_index};
      bytes batch = build_batch(&later, &form);
      if (with_index) { /* whose own version is that one, too */
        batch_end end;
        memcpy(&end, batch.at + batch.count - sizeof end, sizeof end);
        uint64_t frame_bytes = batch.count - end.index_bytes - BATCH_SKIPPABLE_BYTES;
        memcpy(batch.at + frame_bytes + BATCH_SKIPPABLE_BYTES + offsetof(batch_index, major), &major, sizeof major);
        repair_index(&batch, frame_bytes);
      }
      write_bytes(batch_path(subject->files.paths[1]), &batch);
      seen now = see(subject->work);
      CHECK_EQUAL(now.end, WEIR_ERROR_VERSION);
      weir_verification sums;
      CHECK_EQUAL(weir_verify(subject->work, NULL, NULL, &sums, NULL), WEIR_ERROR_VERSION);
      seen_free(&now);
      free(batch.at);
    }
  }
  REQUIRE(unlink(batch_path(subject->files.paths[1])) == 0);
  write_bytes(subject->files.paths[1], &raw);
  free(later.at);
  free(raw.at);
}

int main(void) {
  random_start("batch_version_test");
  char *folder = scratch();
  subject subject;
  prepare(&subject, folder, "log");
  damaged_versions(&subject);
  newer(&subject);
  for (int with_index = 0; with_index < 2; with_index++) {
    test("case 44: each bit at the beginning of a batch segment flipped: readers go on");
    flip_and_read(&subject, 1, with_index);
    flip_and_read(&subject, 2, with_index);
    test("case 44: each bit at the beginning of the last batch segment flipped: the log opens, no offset comes twice");
    flip_and_open(&subject, with_index);
  }
  finish_with(&subject);
  scratch_remove(folder);
  return finish();
}
