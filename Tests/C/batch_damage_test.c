/*
 * batch_damage_test.c: case 46 of bad input: batch segments that are cut, altered, lie about themselves, or were never
 * any. What a damaged LZ4 block took is told to be missing, exactly, all else is delivered; weir_verify finds every
 * byte; nothing is allocated for a number that lies, and nothing takes time beyond measure. Longer than other files:
 * nearly all of it damages the same two logs.
 */
#include "batch_log.h"

#include <lz4.h>
#include <sys/resource.h>

#include "segment/source.h"
#include "segment/unpack.h"
#include "system/xxh32.h"

/* What is freed is not kept for long, so that a peak of memory tells what was in use. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "quarantine_size_mb=4"; }

enum { EVENTS = 48000 };

static const batch_form columned = {.columns = 1};

/* A log of raw segments, and a copy in which the one in the middle is a batch. */
typedef struct subject {
  const char *work;
  seen raw;
  char path[600];  /* of the batch */
  bytes segment;   /* the raw one, as the batch has it */
  bytes batch;     /* as it should be */
  uint64_t frame_bytes;
  uint64_t base, next_offset;
} subject;

static batch_index index_of(const subject *subject) {
  batch_index index;
  memcpy(&index, subject->batch.at + subject->frame_bytes + BATCH_SKIPPABLE_BYTES, sizeof index);
  return index;
}

/* Where an LZ4 block lies in the file, or, of one more than there are, the end of the last. */
static uint64_t block_at(const subject *subject, uint32_t i) {
  batch_block entry;
  if (i == index_of(subject).block_count) return subject->frame_bytes - 4;
  uint64_t at = subject->frame_bytes + BATCH_SKIPPABLE_BYTES + sizeof(batch_index) + i * sizeof entry;
  memcpy(&entry, subject->batch.at + at, sizeof entry);
  return entry.position;
}

static void prepare(subject *subject, const char *folder, const char *name, uint64_t events) {
  memset(subject, 0, sizeof *subject);
  subject->work = strdup(join(folder, name));
  fill_log(subject->work, events);
  if (events < 1000) { /* three small ones */
    for (int i = 0; i < 2; i++) fill_log(subject->work, events);
  }
  subject->raw = see(subject->work);
  sealed_files files = find_sealed(subject->work, SEALED_SUFFIX);
  REQUIRE(files.count >= 3);
  const char *path = files.paths[files.count / 2];
  subject->segment = read_bytes(path);
  subject->batch = build_batch(&subject->segment, &columned);
  REQUIRE(unlink(path) == 0);
  snprintf(subject->path, sizeof subject->path, "%s.lz4", path);
  batch_end end;
  memcpy(&end, subject->batch.at + subject->batch.count - sizeof end, sizeof end);
  subject->frame_bytes = subject->batch.count - end.index_bytes - BATCH_SKIPPABLE_BYTES;
  subject->base = index_of(subject).base_offset;
  subject->next_offset = index_of(subject).next_offset;
  columnize(subject->segment.at, subject->segment.count);
}

static void finish_with(subject *subject) {
  free(subject->segment.at);
  free(subject->batch.at);
  seen_free(&subject->raw);
  free((char *)subject->work);
}

static bytes copy_of(const bytes *from) {
  bytes copy = {malloc(from->count + 4096), from->count};
  REQUIRE(copy.at);
  memcpy(copy.at, from->at, from->count);
  return copy;
}

static uint64_t events_in(const subject *subject) { return subject->next_offset - subject->base; }

/*
 * Reads the log with this file in the batch's place: all of the others' events, of its own some, the rest told to be
 * missing. Answers how many are missing.
 */
static uint64_t read_with(const subject *subject, const bytes *file, const char *what, seen *kept) {
  write_bytes(subject->path, file);
  alarm(HANG_SECONDS);
  seen now = see(subject->work);
  uint64_t missing = now.missing, from = subject->base + random_below(events_in(subject));
  if (!CHECK(seen_agrees(&now, &subject->raw, 0)) || !CHECK(missing <= events_in(subject))) {
    fprintf(stderr, "  %s: %" PRIu64 " events, %" PRIu64 " missing, %" PRIu64 " out of order; %s: %s\n", what,
            now.count, missing, now.disorder, now.file, now.reason ? now.reason : "");
  }
  /* A reader from the middle gives no other events than one from the start does. */
  seen rest = see_from(subject->work, from);
  if (!CHECK(seen_agrees(&rest, &subject->raw, from))) fprintf(stderr, "  %s: from %" PRIu64 "\n", what, from);
  alarm(0);
  seen_free(&rest);
  if (kept) *kept = now;
  else seen_free(&now);
  return missing;
}

static void check_whole(const subject *subject, const bytes *file, const char *what) {
  seen seen;
  uint64_t missing = read_with(subject, file, what, &seen);
  if (!CHECK_EQUAL(missing + seen.undefined, 0)) fprintf(stderr, "  %s: %s: %s\n", what, seen.file, seen.reason);
  seen_free(&seen);
}

/* That verify finds something, and as many events missing. */
static void check_found(const subject *subject, const char *what, uint64_t missing) {
  alarm(HANG_SECONDS);
  verified verified = verify_log(subject->work);
  alarm(0);
  if (!CHECK(verified.sums.findings > 0) | !CHECK_EQUAL(verified.sums.missing_events, missing)) {
    fprintf(stderr, "  %s: %s\n", what, verified.problem);
  }
}

/* ---- Every byte -------------------------------------------------------------------------------------------------- */

static void every_byte(const subject *subject) {
  test("case 46: each byte of a batch segment changed: found, and no event is wrong");
  for (uint64_t at = 0; at < subject->batch.count; at++) {
    bytes file = copy_of(&subject->batch);
    file.at[at] ^= (uint8_t)(1 << random_below(8));
    char what[64];
    snprintf(what, sizeof what, "byte %" PRIu64, at);
    uint64_t missing = read_with(subject, &file, what, NULL);
    int in_block = at >= BATCH_FRAME_HEADER_BYTES && at < subject->frame_bytes - 4;
    if (!in_block) CHECK_EQUAL(missing, 0);
    if (at % 3 == 0 || !in_block) check_found(subject, what, missing);
    free(file.at);
  }
  test("case 46: a batch segment cut at any length");
  for (uint64_t count = 0; count < subject->batch.count; count += 1 + random_below(5)) {
    bytes file = copy_of(&subject->batch);
    file.count = count;
    char what[64];
    snprintf(what, sizeof what, "cut at %" PRIu64, count);
    uint64_t missing = read_with(subject, &file, what, NULL);
    if (count >= subject->frame_bytes - 4) CHECK_EQUAL(missing, 0);
    check_found(subject, what, missing);
    free(file.at);
  }
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

/* Whether a block of the segment at [from, to), whose events are there or not, had to be there. */
static int is_given(const seen *seen, uint64_t offset) {
  uint64_t from = 0, to = seen->count;
  while (from < to) {
    uint64_t middle = from + (to - from) / 2;
    if (seen->events[middle].offset < offset) from = middle + 1;
    else to = middle;
  }
  return from < seen->count && seen->events[from].offset == offset;
}

/* Every event of a segment block without a byte in [from, to) was given; how many others there are. */
static uint64_t check_outside(const subject *subject, const seen *seen, uint64_t from, uint64_t to) {
  segment_header head;
  memcpy(&head, subject->segment.at, sizeof head);
  uint64_t inside = 0, absent = 0;
  for (uint64_t at = head.header_bytes; at < subject->segment.count;) {
    block_header block;
    memcpy(&block, subject->segment.at + at, sizeof block);
    uint64_t end = at + sizeof block + block.payload_bytes;
    int touched = at < to && end > from;
    if (touched) inside += block.count;
    for (uint64_t i = 0; i < block.count && !touched; i++) absent += !is_given(seen, block.base_offset + i);
    at = end;
  }
  CHECK_EQUAL(absent, 0);
  return inside;
}

static void damaged_blocks(const subject *subject) {
  test("case 46: a damaged LZ4 block takes the events that have a byte in it, and no others");
  uint32_t blocks = index_of(subject).block_count;
  CHECK(blocks >= 3);
  for (uint32_t i = 0; i < blocks; i++) {
    uint64_t from = i * (uint64_t)BATCH_BLOCK_BYTES, position = block_at(subject, i);
    uint64_t end = block_at(subject, i + 1);
    for (int with_index = 0; with_index < 2; with_index++) {
      bytes file = copy_of(&subject->batch);
      memset(file.at + position + 40, 0xff, end - position - 60); /* nothing that LZ4 could make sense of */
      if (!with_index) file.count = subject->frame_bytes;
      seen seen;
      uint64_t missing = read_with(subject, &file, "a block of all ones", &seen);
      CHECK_EQUAL(missing, check_outside(subject, &seen, from, from + BATCH_BLOCK_BYTES));
      CHECK_EQUAL(seen.compressed, 1);
      seen_free(&seen);
      check_found(subject, "a block of all ones", missing);
      weir_stat stat;
      CHECK_EQUAL(weir_stat_directory(subject->work, &stat, NULL), WEIR_OK);
      CHECK_EQUAL(stat.next_offset, subject->raw.count);
      free(file.at);
    }
    bytes file = copy_of(&subject->batch);
    uint32_t size = (uint32_t)random_below(UINT32_MAX);
    memcpy(file.at + position, &size, 4); /* the index knows where it lies all the same */
    check_whole(subject, &file, "a wrong size in front of a block");
    check_found(subject, "a wrong size in front of a block", 0);
    memcpy(file.at + end - 4, &size, 4);
    check_whole(subject, &file, "a wrong block checksum");
    check_found(subject, "a wrong block checksum", 0);
    free(file.at);
  }
}

static void cut_frames(const subject *subject) {
  test("case 46: a cut frame gives what lies before the cut");
  for (uint32_t i = 0; i < index_of(subject).block_count; i++) {
    bytes file = copy_of(&subject->batch);
    file.count = block_at(subject, i) + 5 + random_below(100);
    seen seen;
    uint64_t missing = read_with(subject, &file, "cut", &seen);
    check_outside(subject, &seen, i * (uint64_t)BATCH_BLOCK_BYTES, UINT64_MAX);
    seen_free(&seen);
    check_found(subject, "cut", missing);
    free(file.at);
  }
}

/* ---- The index --------------------------------------------------------------------------------------------------- */

static void lying_index(const subject *subject) {
  test("case 46: an index that lies, its checksum right, costs no event");
  static const struct { uint32_t at, bytes; } fields[] = {
      {8, 2},  {10, 2}, {16, 4}, {20, 4}, {24, 8},  {32, 8},  {40, 8},  {48, 8},  {56, 8},
      {64, 8}, {72, 8}, {80, 4}, {84, 4}, {88, 8},  {96, 8},  {104, 8}, {112, 8}, {120, 8}, {128, 8}};
  for (uint64_t f = 0; f < sizeof fields / sizeof *fields; f++) {
    uint64_t was = 0, at = subject->frame_bytes + BATCH_SKIPPABLE_BYTES + fields[f].at;
    memcpy(&was, subject->batch.at + at, fields[f].bytes);
    const uint64_t values[] = {0, 1, UINT64_MAX, UINT64_C(1) << 63, was + 1, was - 1, was + 8, was ^ 1 << 20, 4 << 20};
    for (uint64_t v = 0; v < sizeof values / sizeof *values; v++) {
      bytes file = copy_of(&subject->batch);
      uint64_t value = fields[f].bytes == 8 ? values[v] : values[v] & ((UINT64_C(1) << 8 * fields[f].bytes) - 1);
      memcpy(file.at + at, &value, fields[f].bytes);
      repair_index(&file, subject->frame_bytes);
      char what[64];
      snprintf(what, sizeof what, "%" PRIu64 " at %u of the index", value, fields[f].at);
      if (fields[f].at != 16 || value <= BATCH_COLUMNS) {
        check_whole(subject, &file, what);
        if (value != was) check_found(subject, what, 0);
      } else { /* an unknown flag: what follows may mean something else */
        write_bytes(subject->path, &file);
        seen seen = {0};
        weir_reader *reader;
        REQUIRE(weir_reader_open(subject->work, NULL, &reader, NULL) == WEIR_OK);
        weir_event event;
        weir_skip skip;
        weir_error error;
        while ((seen.end = weir_reader_next(reader, &event, &skip, &error)) == WEIR_OK) continue;
        CHECK_EQUAL(seen.end, WEIR_ERROR_VERSION);
        CHECK(strstr(error.message, "newer version") != NULL);
        weir_reader_close(reader);
      }
      free(file.at);
    }
  }
}

static void other_indexes(const subject *subject) {
  test("case 46: an index that is missing, damaged, of another segment, or with something behind it, costs no event");
  bytes file = copy_of(&subject->batch);
  file.count = subject->frame_bytes;
  check_whole(subject, &file, "no index");
  check_found(subject, "no index", 0);

  memcpy(file.at, subject->batch.at, subject->batch.count);
  file.count = subject->batch.count;
  memset(file.at + subject->frame_bytes, 0, subject->batch.count - subject->frame_bytes);
  check_whole(subject, &file, "an index of zeros");
  check_found(subject, "an index of zeros", 0);

  memcpy(file.at, subject->batch.at, subject->batch.count);
  memcpy(file.at + file.count, "and so on", 9);
  file.count += 9;
  check_whole(subject, &file, "something behind it");
  check_found(subject, "something behind it", 0);
  free(file.at);

  /* Of the segment before, as if two files were put together. */
  sealed_files files = find_sealed(subject->work, SEALED_SUFFIX);
  bytes raw = read_bytes(files.paths[0]), other = build_batch(&raw, &columned);
  batch_end end;
  memcpy(&end, other.at + other.count - sizeof end, sizeof end);
  uint64_t behind = end.index_bytes + BATCH_SKIPPABLE_BYTES;
  file.at = malloc(subject->frame_bytes + behind);
  REQUIRE(file.at);
  memcpy(file.at, subject->batch.at, subject->frame_bytes);
  file.count = subject->frame_bytes + behind;
  memcpy(file.at + subject->frame_bytes, other.at + other.count - behind, behind);
  check_whole(subject, &file, "another segment's index");
  check_found(subject, "another segment's index", 0);
  /* And made to pass for one of a frame of this size. */
  memcpy(file.at + subject->frame_bytes + BATCH_SKIPPABLE_BYTES + 64, &subject->frame_bytes, 8);
  repair_index(&file, subject->frame_bytes);
  check_whole(subject, &file, "another segment's index, of this frame's size");
  check_found(subject, "another segment's index, of this frame's size", 0);
  free(raw.at);
  free(other.at);
  free(file.at);
}

/* ---- Frames that lie --------------------------------------------------------------------------------------------- */

/* The header of a frame like Weir's that says it has so much content. Answers its bytes. */
static uint64_t put_header(uint8_t *to, uint64_t content_bytes, uint32_t dictionary, LZ4F_blockChecksum_t checksums) {
  LZ4F_preferences_t form;
  memset(&form, 0, sizeof form);
  form.frameInfo = (LZ4F_frameInfo_t){.blockSizeID = LZ4F_max1MB,
                                      .blockMode = LZ4F_blockIndependent,
                                      .blockChecksumFlag = checksums,
                                      .contentSize = content_bytes,
                                      .dictID = dictionary};
  LZ4F_cctx *context;
  REQUIRE(!LZ4F_isError(LZ4F_createCompressionContext(&context, LZ4F_VERSION)));
  uint64_t bytes = LZ4F_compressBegin(context, to, LZ4F_HEADER_SIZE_MAX, &form);
  REQUIRE(bytes == (dictionary ? 19 : 15));
  LZ4F_freeCompressionContext(context);
  return bytes;
}

static void lying_sizes(const subject *subject) {
  test("case 46: a content size that lies, and a header that is gone");
  const uint64_t right = subject->segment.count;
  const uint64_t sizes[] = {1, right - 1, right + 1, right * 2, right - BATCH_BLOCK_BYTES, UINT64_C(1) << 31,
                            (UINT64_C(1) << 31) + 1, UINT64_C(1) << 62, UINT64_MAX};
  for (int with_index = 0; with_index < 2; with_index++) {
    for (uint64_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      bytes file = copy_of(&subject->batch);
      put_header(file.at, sizes[i], 0, LZ4F_blockChecksumEnabled);
      if (!with_index) file.count = subject->frame_bytes;
      char what[64];
      snprintf(what, sizeof what, "content size %" PRIu64 "%s", sizes[i], with_index ? "" : ", without an index");
      check_whole(subject, &file, what);
      check_found(subject, what, 0);
      free(file.at);
    }
    bytes file = copy_of(&subject->batch);
    memset(file.at, 0x55, BATCH_FRAME_HEADER_BYTES);
    if (!with_index) file.count = subject->frame_bytes;
    check_whole(subject, &file, "no header");
    check_found(subject, "no header", 0);
    free(file.at);
  }
}

static void take_dictionary(void *context, const weir_finding *finding) {
  if (strstr(finding->problem, "dictionary")) take_problem(context, finding);
}

/* A batch whose blocks were compressed with a dictionary that nobody has. */
static void unknown_dictionary(const subject *subject) {
  test("case 46: blocks that need an unknown dictionary are told of as such");
  static uint8_t dictionary[64 << 10];
  memcpy(dictionary, subject->segment.at + subject->segment.count / 2, sizeof dictionary);
  LZ4_stream_t *stream = LZ4_createStream();
  bytes file = {malloc(subject->segment.count * 2), 0};
  REQUIRE(file.at && stream);
  file.count = put_header(file.at, subject->segment.count, 99, LZ4F_noBlockChecksum);
  for (uint64_t at = 0; at < subject->segment.count; at += BATCH_BLOCK_BYTES) {
    uint64_t left = subject->segment.count - at, count = left < BATCH_BLOCK_BYTES ? left : BATCH_BLOCK_BYTES;
    LZ4_loadDict(stream, (const char *)dictionary, sizeof dictionary);
    int32_t made = LZ4_compress_fast_continue(stream, (const char *)subject->segment.at + at,
                                              (char *)file.at + file.count + 4, (int)count, (int)count, 1);
    REQUIRE(made > 0);
    memcpy(file.at + file.count, &made, 4);
    file.count += 4 + (uint64_t)made;
  }
  memset(file.at + file.count, 0, 4);
  file.count += 4;
  seen seen;
  uint64_t missing = read_with(subject, &file, "a dictionary", &seen);
  CHECK(missing > 0);
  seen_free(&seen);
  verified verified = {.problem = ""};
  CHECK_EQUAL(weir_verify(subject->work, take_dictionary, &verified, &verified.sums, NULL), WEIR_OK);
  CHECK_EQUAL(verified.sums.missing_events, missing);
  CHECK(strstr(verified.problem, "dictionary") != NULL);
  LZ4_freeStream(stream);
  free(file.at);
}

/* ---- Bombs and strangers ----------------------------------------------------------------------------------------- */

static uint64_t memory_kib(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (uint64_t)usage.ru_maxrss;
}

/* A frame of zeros: `blocks` of 4 MiB, each in some 16 KiB. */
static bytes build_bomb(uint64_t blocks) {
  LZ4F_preferences_t form;
  memset(&form, 0, sizeof form);
  form.frameInfo.blockSizeID = LZ4F_max4MB;
  form.frameInfo.blockMode = LZ4F_blockIndependent;
  form.autoFlush = 1;
  uint8_t *zeros = calloc(1, 4 << 20);
  bytes bomb = {malloc(blocks * (17 << 10) + (8 << 20)), 0};
  LZ4F_cctx *context;
  REQUIRE(zeros && bomb.at && !LZ4F_isError(LZ4F_createCompressionContext(&context, LZ4F_VERSION)));
  bomb.count = LZ4F_compressBegin(context, bomb.at, LZ4F_HEADER_SIZE_MAX, &form);
  uint64_t first = bomb.count, size = 0;
  for (uint64_t i = 0; i < blocks; i++) {
    if (i < 1) size = LZ4F_compressUpdate(context, bomb.at + first, 8 << 20, zeros, 4 << 20, NULL);
    else memcpy(bomb.at + bomb.count, bomb.at + first, size);
    REQUIRE(!LZ4F_isError(size));
    bomb.count += size;
  }
  bomb.count += LZ4F_compressEnd(context, bomb.at + bomb.count, 8 << 20, NULL);
  LZ4F_freeCompressionContext(context);
  free(zeros);
  return bomb;
}

static void bombs(const subject *subject) {
  test("case 46: a decompression bomb takes neither memory nor events");
  bytes bomb = build_bomb(24);
  uint64_t before = memory_kib();
  CHECK_EQUAL(read_with(subject, &bomb, "a bomb", NULL), events_in(subject));
  check_found(subject, "a bomb", events_in(subject));
  CHECK(memory_kib() - before < 64 << 10); /* of 96 MiB; what the reading itself takes included */
  free(bomb.at);
}

static void bomb_beyond_caps(const subject *subject) {
  test("case 46: of a bomb of more than a segment can have, no more than that is looked at");
  bytes bomb = build_bomb(530);
  write_bytes(subject->path, &bomb);
  int fd = open(subject->path, O_RDONLY | O_CLOEXEC);
  batch_source *source;
  uint64_t before = unpack_count();
  REQUIRE(fd >= 0 && batch_source_open((file_bytes){.fd = fd}, &source) == 0);
  CHECK_EQUAL(source->content_bytes, MAX_SEGMENT_BYTES);
  CHECK(unpack_count() - before <= MAX_SEGMENT_BYTES / (4 << 20) + 1);
  batch_source_close(source);
  close(fd);
  free(bomb.at);
}

static void huge_block(const subject *subject) {
  test("case 46: a block that says that it is a gibibyte takes no memory");
  enum { HEADER_BYTES = 7 }; /* without a content size */
  const uint32_t lie = UINT32_C(1) << 30;
  bytes bomb = build_bomb(1);
  memcpy(bomb.at + HEADER_BYTES, &lie, sizeof lie);
  write_bytes(subject->path, &bomb);
  REQUIRE(truncate(subject->path, 2 * (off_t)lie) == 0); /* a hole: there is as much to read */
  int fd = open(subject->path, O_RDONLY | O_CLOEXEC);
  batch_source *source;
  uint64_t before = memory_kib();
  REQUIRE(fd >= 0 && batch_source_open((file_bytes){.fd = fd}, &source) == 0);
  CHECK_EQUAL(source->span_count, 0);
  CHECK(memory_kib() - before < 64 << 10);
  batch_source_close(source);
  close(fd);
  free(bomb.at);
}

static void strangers(const subject *subject) {
  test("case 46: files with a batch's name that are none");
  uint8_t junk[5000];
  for (uint64_t i = 0; i < sizeof junk; i++) junk[i] = (uint8_t)random_below(256);
  const bytes files[] = {{junk, 0}, {junk, 1}, {junk, sizeof junk}, {(uint8_t *)"\x04\x22\x4d\x18", 4}};
  for (uint64_t i = 0; i < sizeof files / sizeof *files; i++) {
    CHECK_EQUAL(read_with(subject, &files[i], "a stranger", NULL), events_in(subject));
    check_found(subject, "a stranger", events_in(subject));
  }
  bytes as_raw = {subject->segment.at, subject->segment.count}; /* a raw segment that somebody renamed */
  CHECK_EQUAL(read_with(subject, &as_raw, "a raw segment", NULL), events_in(subject));
  REQUIRE(unlink(subject->path) == 0 && symlink("/etc/passwd", subject->path) == 0);
  seen seen = see(subject->work);
  CHECK(seen_agrees(&seen, &subject->raw, 0) && seen.missing == events_in(subject));
  seen_free(&seen);
  check_found(subject, "a link", events_in(subject));
  REQUIRE(unlink(subject->path) == 0);
}

/* A block whose second match reaches back before the content: what is before that counts, with zeros for the rest. */
static void bytes_behind_damage(void) {
  test("a damaged LZ4 block leaves nothing behind its damage, whatever liblz4 copies ahead");
  enum { FIRST = 15 + 5, SECOND = 10, MATCH = 4, AHEAD = 120, MADE = FIRST + MATCH + SECOND };
  uint8_t frame[64 + FIRST + SECOND + AHEAD] = {0x04, 0x22, 0x4d, 0x18, 0x60, 0x40}, *at = frame + 6;
  *at++ = (uint8_t)(xxh32(frame + 4, 2) >> 8);
  uint8_t *size = at, expected[MADE];
  at += 4;
  *at++ = 0xf0; /* 15 literals and more, a match of 4 */
  *at++ = FIRST - 15;
  for (int i = 0; i < FIRST; i++) *at++ = expected[i] = (uint8_t)(1 + i);
  memcpy(at, "\x14\0", 2); /* 20 bytes back */
  at += 2;
  memcpy(expected + FIRST, expected, MATCH);
  *at++ = SECOND << 4;
  for (int i = 0; i < SECOND; i++) *at++ = expected[FIRST + MATCH + i] = (uint8_t)(100 + i);
  memset(at, 0xee, AHEAD); /* 61,166 bytes back: there are none */
  at += AHEAD;
  uint32_t bytes = (uint32_t)(at - size - 4);
  memcpy(size, &bytes, 4);
  segment_source source;
  REQUIRE(source_open_memory(&source, frame, (uint64_t)(at - frame), 1) == 0);
  uint8_t content[4 * MADE], zeros[3 * MADE] = {0};
  CHECK_EQUAL(source_read(&source, content, sizeof content, 0), sizeof content);
  CHECK(memcmp(content, expected, MADE) == 0);
  CHECK(memcmp(content + MADE, zeros, sizeof zeros) == 0);
  source_close(&source);
}

/* ---- At the end of the log --------------------------------------------------------------------------------------- */

/* The last segment is a damaged batch: what follows gets offsets after what it had. */
static void damaged_at_the_end(const subject *subject, const char *folder) {
  test("case 46: behind a damaged batch no offset is given twice");
  for (int without_ring = 0; without_ring < 2; without_ring++) {
    for (int kind = 0; kind < 4; kind++) {
      char *work = strdup(join(folder, "end"));
      write_bytes(subject->path, &subject->batch);
      copy_log(subject->work, work);
      sealed_files files = find_sealed(work, SEALED_SUFFIX);
      const char *path = files.paths[files.count - 1];
      bytes raw = read_bytes(path), batch = build_batch(&raw, &columned);
      REQUIRE(unlink(path) == 0);
      batch_end end;
      memcpy(&end, batch.at + batch.count - sizeof end, sizeof end);
      uint64_t frame_end = batch.count - end.index_bytes - BATCH_SKIPPABLE_BYTES;
      if (kind == 0) memset(batch.at + frame_end - 600, 0xff, 500);             /* the seal */
      if (kind == 1) memset(batch.at + 20, 0xff, frame_end - 30);               /* all content, but not the index */
      if (kind == 2) memset(batch.at + frame_end - 600, 0xff, end.index_bytes); /* seal and index */
      if (kind == 3) batch.count = frame_end / 2;
      write_bytes(batch_path(path), &batch);
      if (without_ring) REQUIRE(unlink(join(work, "ring")) == 0);
      seen before = see(work);
      weir_log *log;
      weir_error error;
      alarm(HANG_SECONDS);
      if (CHECK_EQUAL(weir_open(work, NULL, &log, NULL, &error), WEIR_OK)) {
        capture_some(log, define_some(log), 7);
        CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
        weir_free(log);
        seen after = see(work);
        const given *last = after.count > 0 ? &after.events[after.count - 1] : NULL;
        if (!CHECK(last && last->offset >= subject->raw.count)) fprintf(stderr, "  %d, %d\n", without_ring, kind);
        CHECK(after.disorder == 0 && after.count == before.count + 1 + (uint64_t)without_ring);
        for (uint64_t i = 0; i < before.count; i++) CHECK(same_given(&before.events[i], &after.events[i]));
        seen_free(&after);
      } else {
        fprintf(stderr, "  %s\n", error.message);
      }
      alarm(0);
      seen_free(&before);
      free(raw.at);
      free(batch.at);
      free(work);
    }
  }
}

/* ---- Beyond measure ---------------------------------------------------------------------------------------------- */

/* Each block's header is right, and its payload wrong: looking for the next good one must not begin anew each time. */
static void many_bad_blocks(const subject *subject) {
  test("a segment full of bad blocks is gone through once");
  segment_header head;
  bytes segment = copy_of(&subject->segment);
  memcpy(&head, segment.at, sizeof head);
  for (uint64_t at = head.header_bytes; at < segment.count;) {
    block_header block;
    memcpy(&block, segment.at + at, sizeof block);
    if (block.kind == BLOCK_EVENTS) segment.at[at + sizeof block + random_below(block.payload_bytes)] ^= 4;
    at += sizeof block + block.payload_bytes;
  }
  bytes batch = build_batch(&segment, &(batch_form){0});
  uint64_t before = unpack_count();
  CHECK_EQUAL(read_with(subject, &batch, "bad blocks", NULL), events_in(subject));
  uint64_t blocks = (segment.count + BATCH_BLOCK_BYTES - 1) / BATCH_BLOCK_BYTES;
  CHECK(unpack_count() - before <= 2 * (4 * blocks + 4)); /* two readers */
  free(segment.at);
  free(batch.at);
}

static void random_changes(const subject *subject) {
  test("case 46: random changes to a batch segment: no event is wrong, what is not given is missing");
  for (int round = 0; round < 60; round++) {
    bytes file = copy_of(&subject->batch);
    for (uint64_t times = 1 + random_below(4); times > 0; times--) {
      uint64_t at = random_below(file.count), to = random_below(file.count);
      uint64_t count = random_below(UINT64_C(1) << random_below(18));
      if (count > file.count - (at > to ? at : to)) count = file.count - (at > to ? at : to);
      switch (random_below(5)) {
        case 0: file.at[at] ^= (uint8_t)(1 << random_below(8)); break;
        case 1: memset(file.at + at, (int)random_below(256), count); break;
        case 2: memmove(file.at + to, file.at + at, count); break;
        case 3: file.count = at > 0 ? at : 1; break;
        default: /* near where structures are */
          at = random_below(BATCH_FRAME_HEADER_BYTES + 8);
          if (random_below(2)) at = subject->frame_bytes - 16 + random_below(200);
          if (at < file.count) file.at[at] ^= (uint8_t)(1 << random_below(8));
      }
    }
    char what[32];
    snprintf(what, sizeof what, "round %d", round);
    uint64_t missing = read_with(subject, &file, what, NULL);
    if (file.count != subject->batch.count || memcmp(file.at, subject->batch.at, file.count) != 0) {
      check_found(subject, what, missing);
    }
    free(file.at);
  }
}

int main(void) {
  random_start("batch_damage_test");
  char *folder = scratch();
  subject small, large;
  bytes_behind_damage();
  prepare(&small, folder, "small", 40);
  every_byte(&small);
  huge_block(&small);
  bomb_beyond_caps(&small);
  bombs(&small);
  finish_with(&small);
  prepare(&large, folder, "large", EVENTS);
  damaged_blocks(&large);
  cut_frames(&large);
  lying_index(&large);
  other_indexes(&large);
  lying_sizes(&large);
  unknown_dictionary(&large);
  strangers(&large);
  many_bad_blocks(&large);
  random_changes(&large);
  damaged_at_the_end(&large, folder);
  finish_with(&large);
  scratch_remove(folder);
  return finish();
}
