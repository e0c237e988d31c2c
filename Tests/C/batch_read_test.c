/*
 * batch_read_test.c: readers go across raw and batch segments without noticing: the same events, offsets, ids and
 * times, from any offset, of whatever form the frame is; listings that a renaming writer disturbs; recovery over
 * batches. Damage is batch_damage_test.c's.
 */
#include "batch_log.h"

#include "segment/unpack.h"
#include "system/system.h"

static const batch_form plain = {0}, columned = {.columns = 1};

/* ---- The same as raw --------------------------------------------------------------------------------------------- */

static void check_same(const char *directory, const seen *raw, const char *what) {
  seen now = see(directory);
  if (!CHECK(seen_agrees(&now, raw, 0)) || !CHECK(now.count == raw->count && now.skips + now.undefined == 0)) {
    fprintf(stderr, "  %s: %" PRIu64 " of %" PRIu64 " events, %" PRIu64 " missing, %" PRIu64 " out of order\n", what,
            now.count, raw->count, now.missing, now.disorder);
  }
  seen_free(&now);
}

static void check_stat(const char *directory, const weir_stat *raw) {
  weir_stat stat;
  CHECK_EQUAL(weir_stat_directory(directory, &stat, NULL), WEIR_OK);
  CHECK_EQUAL(stat.segments, raw->segments);
  CHECK_EQUAL(stat.events, raw->events);
  CHECK_EQUAL(stat.notices, raw->notices);
  CHECK_EQUAL(stat.first_offset, raw->first_offset);
  CHECK_EQUAL(stat.next_offset, raw->next_offset);
  CHECK_EQUAL(stat.first_time_ns, raw->first_time_ns);
  CHECK_EQUAL(stat.last_time_ns, raw->last_time_ns);
  CHECK_EQUAL(stat.damaged, 0);
  CHECK(stat.segment_bytes < raw->segment_bytes);
}

static void same_as_raw(const char *kept, const char *work, const seen *raw) {
  weir_stat stat;
  CHECK_EQUAL(weir_stat_directory(kept, &stat, NULL), WEIR_OK);
  for (int mixed = 0; mixed < 2; mixed++) {
    for (int columns = 0; columns < 2; columns++) {
      test(mixed ? "raw and batch segments in turns" : "batch segments alone");
      copy_log(kept, work);
      sealed_files files = find_sealed(work, SEALED_SUFFIX);
      CHECK(files.count >= 4);
      for (uint32_t i = 0; i < files.count; i++) {
        if (!mixed || i % 2 == 0) make_batch(files.paths[i], columns ? &columned : &plain);
      }
      uint64_t before = tree_checksum(work);
      check_same(work, raw, columns ? "in columns" : "as they are");
      check_stat(work, &stat);
      check_sound(work);
      CHECK_EQUAL(tree_checksum(work), before);
    }
  }
}

/* Frames as others make them: what `lz4 -d` and `lz4` with any options may leave. */
static void other_forms(const char *kept, const char *work, const seen *raw) {
  static const batch_form forms[] = {{.no_index = 1},
                                     {.no_index = 1, .columns = 1},
                                     {.no_index = 1, .block_size = LZ4F_max4MB, .no_block_checksums = 1,
                                      .content_checksum = 1, .no_content_size = 1, .level = 9},
                                     {.no_index = 1, .block_size = LZ4F_max64KB},
                                     {.no_index = 1, .block_size = LZ4F_max256KB, .linked = 1},
                                     {.no_index = 1, .block_size = LZ4F_max64KB, .linked = 1, .columns = 1,
                                      .no_block_checksums = 1, .no_content_size = 1},
                                     {.no_index = 1, .block_size = LZ4F_max4MB, .linked = 1, .level = 9},
                                     {.no_index = 1, .piece_bytes = 100000},
                                     {.no_index = 1, .piece_bytes = 700, .linked = 1, .block_size = LZ4F_max64KB},
                                     {.no_index = 1, .dictionary = 77}};
  test("frames of other forms read the same");
  for (uint64_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    copy_log(kept, work);
    sealed_files files = find_sealed(work, SEALED_SUFFIX);
    for (uint32_t f = 0; f < files.count; f++) make_batch(files.paths[f], &forms[i]);
    char what[32];
    snprintf(what, sizeof what, "form %" PRIu64, i);
    check_same(work, raw, what);
    seen middle = see_from(work, raw->count / 2);
    CHECK(seen_agrees(&middle, raw, raw->count / 2));
    seen_free(&middle);
    /* Readable, but not what Weir wrote. */
    verified verified = verify_log(work);
    CHECK(verified.sums.findings >= files.count);
    CHECK_EQUAL(verified.sums.missing_events, 0);
  }
  test("a segment that somebody decompressed by hand");
  copy_log(kept, work);
  sealed_files files = find_sealed(work, SEALED_SUFFIX);
  for (uint32_t f = 0; f < files.count; f++) {
    bytes raw_bytes = read_bytes(files.paths[f]);
    columnize(raw_bytes.at, raw_bytes.count);
    write_bytes(files.paths[f], &raw_bytes);
    free(raw_bytes.at);
  }
  check_same(work, raw, "raw, in columns");
  check_sound(work);
}

static int shell(const char *format, const char *path) {
  char command[2048];
  snprintf(command, sizeof command, format, path, path);
  int status = system(command);
  return status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* What a user may do to files whose name ends in .lz4. */
static void by_the_tool(const char *kept, const char *work, const seen *raw) {
  if (system("command -v lz4 >/dev/null 2>&1") != 0) {
    printf("skipped: frames made by the lz4 tool, for want of it\n");
    return;
  }
  test("batch segments that the lz4 tool took apart and made again");
  static const char *const ways[] = {"lz4 -q -9 -f --rm '%s' '%s.lz4'", "lz4 -q -1 -B4 -BD -f --rm '%s' '%s.lz4'",
                                     "lz4 -q -f --rm --content-size --no-frame-crc '%s' '%s.lz4'"};
  for (uint64_t way = 0; way <= sizeof ways / sizeof *ways; way++) {
    copy_log(kept, work);
    sealed_files files = find_sealed(work, SEALED_SUFFIX);
    for (uint32_t i = 0; i < files.count; i++) {
      make_batch(files.paths[i], &columned);
      CHECK(shell("lz4 -tq '%s.lz4' 2>/dev/null", files.paths[i]));
      CHECK(shell("lz4 -dqf --rm '%s.lz4' '%s'", files.paths[i]));
      if (way > 0) CHECK(shell(ways[way - 1], files.paths[i]));
    }
    CHECK_EQUAL(find_sealed(work, way > 0 ? BATCH_SUFFIX : SEALED_SUFFIX).count, files.count);
    check_same(work, raw, way > 0 ? ways[way - 1] : "lz4 -d");
  }
}

/* ---- Finding an offset ------------------------------------------------------------------------------------------- */

/* The event at `offset` alone; how many LZ4 blocks it took. */
static uint64_t unpacked_for(const char *directory, const seen *raw, uint64_t offset) {
  weir_reader_options options;
  weir_reader_options_init(&options);
  options.from_offset = offset;
  weir_reader *reader;
  weir_event event = {0};
  weir_skip skip;
  uint64_t before = unpack_count();
  REQUIRE(weir_reader_open(directory, &options, &reader, NULL) == WEIR_OK);
  CHECK_EQUAL(weir_reader_next(reader, &event, &skip, NULL), WEIR_OK);
  CHECK_EQUAL(event.offset, offset);
  seen one = {0};
  seen_take(&one, &event);
  CHECK(offset < raw->count && same_given(&one.events[0], &raw->events[offset]));
  seen_free(&one);
  weir_reader_close(reader);
  return unpack_count() - before;
}

static void finding_offsets(const char *kept, const char *work, const seen *raw) {
  test("an offset is found without decompressing what lies before it");
  copy_log(kept, work);
  /* One segment of many LZ4 blocks: the first with index, then without. */
  sealed_files files = find_sealed(work, SEALED_SUFFIX);
  for (uint32_t i = 0; i < files.count; i++) make_batch(files.paths[i], &columned);
  uint64_t most = 0;
  for (int i = 0; i < 40; i++) {
    uint64_t blocks = unpacked_for(work, raw, random_below(raw->count));
    if (blocks > most) most = blocks;
  }
  /* Twice the first, for the header, when the segment is looked for and when it is opened; the last, for the seal; and
   * the two that the event's block may lie in, of which one may be found to come too late. */
  CHECK(most <= 6);
  uint64_t before = unpack_count();
  weir_stat stat;
  CHECK_EQUAL(weir_stat_directory(work, &stat, NULL), WEIR_OK);
  /* Header, and a seal that may lie in two; of the last the header once more, which tells whose the ring is. */
  CHECK(unpack_count() - before <= 3 * stat.segments + 1);
}

static void long_segment(const char *work) {
  test("in a long segment an offset takes as few blocks as in a short one");
  remove_tree(work);
  weir_log *log = open_log(work, 24 << 20);
  uint32_t type = define_some(log);
  for (uint64_t i = 0; i < 120000; i++) capture_some(log, type, i);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_free(log);
  seen raw = see(work);
  sealed_files files = find_sealed(work, SEALED_SUFFIX);
  for (uint32_t i = 0; i < files.count; i++) make_batch(files.paths[i], &columned);
  uint64_t before = unpack_count();
  seen all = see(work);
  uint64_t whole = unpack_count() - before, blocks = unpacked_for(work, &raw, raw.count - 1000);
  CHECK(seen_agrees(&all, &raw, 0) && all.count == raw.count);
  CHECK(whole >= 10);
  CHECK(blocks <= 6);
  seen_free(&all);
  seen_free(&raw);
}

/* ---- Two files of one segment, and files that come and go -------------------------------------------------------- */

static void both_there(const char *kept, const char *work, const seen *raw) {
  test("where both are there the raw one is read, whatever the other is");
  copy_log(kept, work);
  sealed_files files = find_sealed(work, SEALED_SUFFIX);
  for (uint32_t i = 0; i < files.count; i++) {
    bytes raw_bytes = read_bytes(files.paths[i]), batch = build_batch(&raw_bytes, &columned);
    if (i % 2 == 0) batch.count /= 2;
    write_bytes(batch_path(files.paths[i]), &batch);
    free(raw_bytes.at);
    free(batch.at);
  }
  check_same(work, raw, "both");
  check_sound(work);
  bytes junk = {(uint8_t *)"half of one", 11};
  write_bytes(join(work, "batch-00000000000000000000"), &junk);
  check_same(work, raw, "one in the making");
}

/* Turns segments into batches and back, as fast as it can, until it is killed. */
static void swap_for_ever(const char *work) {
  sealed_files files = find_sealed(work, SEALED_SUFFIX);
  bytes raw[MOST_SEGMENTS], batch[MOST_SEGMENTS];
  for (uint32_t i = 0; i < files.count; i++) {
    raw[i] = read_bytes(files.paths[i]);
    batch[i] = build_batch(&raw[i], &columned);
  }
  const char *temporary = strdup(join(work, "batch-00000000000000000001"));
  for (;;) {
    for (uint32_t i = 0; i < files.count; i++) {
      write_bytes(temporary, &batch[i]);
      REQUIRE(rename(temporary, batch_path(files.paths[i])) == 0);
      REQUIRE(unlink(files.paths[i]) == 0);
    }
    for (uint32_t i = 0; i < files.count; i++) { /* no writer does, but a user with `lz4 -d` */
      write_bytes(temporary, &raw[i]);
      REQUIRE(rename(temporary, files.paths[i]) == 0);
      REQUIRE(unlink(batch_path(files.paths[i])) == 0);
    }
  }
}

static void while_they_change(const char *kept, const char *work, const seen *raw) {
  test("readers see neither a hole nor a duplicate while raw files become batches under them");
  copy_log(kept, work);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) swap_for_ever(work);
  for (int i = 0; i < 20; i++) {
    uint64_t from = i % 3 == 0 ? 0 : random_below(raw->count);
    seen now = see_from(work, from);
    if (!CHECK(seen_agrees(&now, raw, from) && now.missing == 0)) {
      fprintf(stderr, "  from %" PRIu64 ": %" PRIu64 " events, %" PRIu64 " missing\n", from, now.count, now.missing);
    }
    seen_free(&now);
    if (i % 5 > 0) continue;
    check_sound(work);
    weir_stat stat;
    CHECK_EQUAL(weir_stat_directory(work, &stat, NULL), WEIR_OK);
    CHECK_EQUAL(stat.next_offset, raw->count);
  }
  kill(child, SIGKILL);
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
}

/* ---- System errors ----------------------------------------------------------------------------------------------- */

static weir_status read_some(const char *work, uint64_t from, seen *seen) {
  weir_reader_options options;
  weir_reader_options_init(&options);
  options.from_offset = from;
  weir_reader *reader;
  weir_event event;
  weir_skip skip;
  weir_status status = weir_reader_open(work, &options, &reader, NULL);
  if (status != WEIR_OK) return status;
  while ((status = weir_reader_next(reader, &event, &skip, NULL)) == WEIR_OK || status == WEIR_SKIPPED) {
    if (status == WEIR_SKIPPED) seen->skips++;
    else seen_take(seen, &event);
  }
  weir_reader_close(reader);
  return status;
}

static weir_status call(int what, const char *work, const seen *raw) {
  weir_stat stat;
  weir_verification sums = {0};
  seen now = {0};
  weir_status status = what == 0   ? weir_stat_directory(work, &stat, NULL)
                       : what == 1 ? weir_verify(work, NULL, NULL, &sums, NULL)
                                   : read_some(work, raw->count - 9000, &now);
  if (what == 1 && status == WEIR_OK) CHECK_EQUAL(sums.findings, 0);
  if (what == 2) { /* what is given is right, and an error hides nothing for good */
    CHECK_EQUAL(now.skips, 0);
    for (uint64_t i = 0; i < now.count; i++) CHECK(same_given(&now.events[i], &raw->events[raw->count - 9000 + i]));
    if (status == WEIR_END) CHECK_EQUAL(now.count, 9000);
  }
  seen_free(&now);
  return status;
}

/* The n-th call fails, for every n up to the last: told as an error, never as damage. */
static void failing_calls(const char *kept, const char *work, const seen *raw) {
  test("case 33: system errors while batch segments are read are errors, and no damage");
  copy_log(kept, work);
  sealed_files files = find_sealed(work, SEALED_SUFFIX);
  for (uint32_t i = 0; i < files.count; i++) make_batch(files.paths[i], &columned);
  for (int what = 0; what < 3; what++) {
    uint64_t failed = 0;
    for (uint64_t nth = 1, happened = 1; happened; nth++) {
      weir_fault_set("any", nth, 1, EIO);
      weir_status status = call(what, work, raw);
      happened = weir_fault_count() >= nth;
      weir_fault_set(NULL, 0, 0, 0);
      failed += status >= WEIR_ERROR_INVALID;
    }
    CHECK(failed > 5);
    weir_status status = call(what, work, raw);
    CHECK_EQUAL(status, what == 2 ? WEIR_END : WEIR_OK);
  }
}

/* ---- Openings ---------------------------------------------------------------------------------------------------- */

/* Opens the log, captures, closes; offsets go on where they ended. */
static void open_and_go_on(const char *work, const seen *raw) {
  weir_log *log;
  weir_recovery recovery;
  weir_error error;
  if (!CHECK_EQUAL(weir_open(work, NULL, &log, &recovery, &error), WEIR_OK)) {
    fprintf(stderr, "  %s\n", error.message);
    return;
  }
  CHECK_EQUAL(recovery.missing_events, 0);
  CHECK_EQUAL(recovery.first_offset, raw->count);
  CHECK_EQUAL(recovery.was_clean, 1);
  capture_some(log, define_some(log), 1);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_free(log);
  seen now = see(work);
  CHECK(now.count == raw->count + 1 && now.skips == 0 && now.disorder == 0);
  seen_free(&now);
  check_sound(work);
}

static void openings(const char *kept, const char *work, const seen *raw) {
  test("an opening goes on after batch segments");
  for (int all = 0; all < 2; all++) {
    copy_log(kept, work);
    sealed_files files = find_sealed(work, SEALED_SUFFIX);
    for (uint32_t i = all ? 0 : files.count - 1; i < files.count; i++) make_batch(files.paths[i], &columned);
    open_and_go_on(work, raw);
  }
  test("an opening whose last segment is there raw and as a batch");
  copy_log(kept, work);
  sealed_files files = find_sealed(work, SEALED_SUFFIX);
  bytes last = read_bytes(files.paths[files.count - 1]), batch = build_batch(&last, &columned);
  write_bytes(batch_path(files.paths[files.count - 1]), &batch);
  free(last.at);
  free(batch.at);
  open_and_go_on(work, raw);
}

/* A process dies; its sealed segments become batches before the next opening, which recovers the rest. */
static void recovery_behind_batches(const char *work) {
  test("recovery of what lies behind batch segments");
  remove_tree(work);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    weir_log *log = open_log(work, LOG_SEGMENT_BYTES);
    uint32_t type = define_some(log);
    uint64_t i = 0;
    while (i % DRAIN_EACH != 500 || find_sealed(work, SEALED_SUFFIX).count == 0) capture_some(log, type, i++);
    raise(SIGKILL);
  }
  CHECK_EQUAL(wait_for(child), 1000 + SIGKILL);
  seen before = see(work);
  sealed_files files = find_sealed(work, SEALED_SUFFIX);
  CHECK(files.count >= 1);
  for (uint32_t i = 0; i < files.count; i++) make_batch(files.paths[i], &columned);
  check_same(work, &before, "before recovery");
  weir_log *log;
  weir_recovery recovery;
  REQUIRE(weir_open(work, NULL, &log, &recovery, NULL) == WEIR_OK);
  CHECK_EQUAL(recovery.missing_events, 0);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_free(log);
  check_same(work, &before, "after recovery");
  check_sound(work);
  seen_free(&before);
}

/* Somebody puts a copy of a segment that was not sealed back beside the batch of it. */
static void sealed_name_taken(const char *kept, const char *work, const seen *raw) {
  test("a segment is not sealed over a batch of its name");
  copy_log(kept, work);
  sealed_files files = find_sealed(work, SEALED_SUFFIX);
  uint32_t last = files.count - 1;
  char active[600];
  snprintf(active, sizeof active, "%s.active", files.paths[last]);
  bytes copy = read_bytes(files.paths[last]);
  make_batch(files.paths[last], &columned);
  write_bytes(active, &copy);
  free(copy.at);
  weir_log *log;
  REQUIRE(weir_open(work, NULL, &log, NULL, NULL) == WEIR_OK);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_free(log);
  CHECK(access(batch_path(files.paths[last]), F_OK) == 0 && access(files.paths[last], F_OK) != 0);
  check_same(work, raw, "a copy put back");
}

int main(void) {
  random_start("batch_read_test");
  char *folder = scratch(), *kept = strdup(join(folder, "kept")), *work = strdup(join(folder, "work"));
  fill_log(kept, 60000);
  seen raw = see(kept);
  CHECK_EQUAL(raw.count, 60000);
  same_as_raw(kept, work, &raw);
  other_forms(kept, work, &raw);
  by_the_tool(kept, work, &raw);
  finding_offsets(kept, work, &raw);
  long_segment(work);
  both_there(kept, work, &raw);
  while_they_change(kept, work, &raw);
  failing_calls(kept, work, &raw);
  openings(kept, work, &raw);
  recovery_behind_batches(work);
  sealed_name_taken(kept, work, &raw);
  seen_free(&raw);
  free(kept);
  free(work);
  scratch_remove(folder);
  return finish();
}
