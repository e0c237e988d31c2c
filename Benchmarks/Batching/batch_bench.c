/*
 * batch_bench.c: what it costs to make batch segments, and how much smaller they are. `make batch-bench`.
 *
 * For events of several kinds, in turns, round by round, by the processor's time of one thread:
 *
 *   copy      memcpy of the segments' bytes: the limit of memory
 *   read      pread of the segment files, from the page cache, which has no way round it
 *   fast      LZ4_compress_fast of the same bytes, a MiB at a time, in memory: what is measured against
 *   frame     what Weir does in between reading and writing: columns, LZ4 blocks, their checksums
 *   batch     all of it, file to file: reading, checking every CRC32C, the same, writing, renaming, unlinking
 *
 * Then, by the clock, all of it on one thread and on several, syncs of the disk included, and beside it what that disk
 * takes of the same bytes. Ratios are of the files' bytes, beside those of `lz4 -1`. Nothing is asserted: the figures
 * depend on the machine. TMPDIR says on which file system.
 *
 *     batch_bench [--rounds N] [--mib N] [--sample FILE]
 */
#define _GNU_SOURCE 1
#include <lz4.h>
#include <lz4frame.h>

#include "../../Tests/C/check.h"
#include "directory/segment_list.h"

#include "format/columns.h"
#include "system/system.h"

enum { MOST_SEGMENTS = 4096, MOST_ROUNDS = 100 };

typedef struct input {
  const char *name;
  char path[4096]; /* of the log */
  char *names[MOST_SEGMENTS];
  uint8_t *segments[MOST_SEGMENTS];
  uint64_t bytes[MOST_SEGMENTS];
  uint64_t count, all, events;
} input;

static uint64_t rounds = 7, mebibytes = 64;
static const char *sample = "Sources/WeirTool/Sample/apache_access.log";

static uint64_t cpu_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* ---- Logs -------------------------------------------------------------------------------------------------------- */

static void capture(weir_log *log, weir_record *record, uint32_t type) {
  (void)log;
  REQUIRE(weir_commit(record, type, NULL) == WEIR_ACCEPTED);
}

static weir_record begin(weir_log *log) {
  weir_record record;
  REQUIRE(weir_begin(log, &record) == WEIR_ACCEPTED);
  return record;
}

static uint32_t define(weir_log *log, const char *name, const weir_field *fields, uint32_t count) {
  const weir_definition definition = {.name = name, .fields = fields, .field_count = count};
  uint32_t type;
  REQUIRE(weir_define(log, 0, &definition, 1, &type, NULL) == WEIR_OK);
  return type;
}

static void put_text(weir_record *record, const char *from, const char *to) {
  weir_put_string(record, from, (uint64_t)(to - from));
}

/* Records of 64 bytes: 40 of fields. */
static uint64_t capture_carts(weir_log *log, uint64_t bytes) {
  static const weir_field fields[] = {{"user", WEIR_KIND_U64, 0},     {"session", WEIR_KIND_U64, 0},
                                      {"sequence", WEIR_KIND_U64, 0}, {"price", WEIR_KIND_F64, 0},
                                      {"item", WEIR_KIND_U32, 0},     {"quantity", WEIR_KIND_U32, 0}};
  uint32_t type = define(log, "cart.changed", fields, 6);
  uint64_t count = bytes / 64;
  for (uint64_t i = 0; i < count; i++) {
    weir_record record = begin(log);
    weir_put_u64(&record, 100000 + random_below(50000));
    weir_put_u64(&record, random_below(20000) * UINT64_C(0x9e3779b97f4a7c15));
    weir_put_u64(&record, i);
    weir_put_f64(&record, (double)random_below(10000) / 100);
    weir_put_u32(&record, (uint32_t)random_below(5000));
    weir_put_u32(&record, 1 + (uint32_t)random_below(5));
    capture(log, &record, type);
  }
  return count;
}

/* Three types by turns, one with a text. */
static uint64_t capture_mixed(weir_log *log, uint64_t bytes) {
  static const weir_field request[] = {{"user", WEIR_KIND_U64, 0}, {"ok", WEIR_KIND_U8, 0}, {"ms", WEIR_KIND_U32, 0}};
  static const weir_field click[] = {{"user", WEIR_KIND_U64, 0}, {"x", WEIR_KIND_F64, 0}, {"y", WEIR_KIND_F64, 0}};
  static const weir_field page[] = {{"user", WEIR_KIND_U64, 0}, {"page", WEIR_KIND_STRING, 0}};
  static const char *const pages[] = {"/home", "/cart", "/product/shoes", "/product/hats/summer", "/account/orders"};
  uint32_t types[] = {define(log, "request", request, 3), define(log, "click", click, 3),
                      define(log, "page.viewed", page, 2)};
  uint64_t count = bytes / 48;
  for (uint64_t i = 0; i < count; i++) {
    weir_record record = begin(log);
    uint64_t which = random_below(3);
    weir_put_u64(&record, 100000 + random_below(50000));
    if (which == 0) {
      weir_put_u8(&record, random_below(9) != 0);
      weir_put_u32(&record, (uint32_t)random_below(300));
    } else if (which == 1) {
      weir_put_f64(&record, (double)random_below(1920));
      weir_put_f64(&record, (double)random_below(1080));
    } else {
      const char *text = pages[random_below(5)];
      put_text(&record, text, text + strlen(text));
    }
    capture(log, &record, types[which]);
  }
  return count;
}

/* The requests of the sample, over and over, as the fields that its format has. */
static uint64_t capture_requests(weir_log *log, uint64_t bytes) {
  static const weir_field fields[] = {{"host", WEIR_KIND_STRING, 0},    {"time", WEIR_KIND_STRING, 0},
                                      {"request", WEIR_KIND_STRING, 0}, {"status", WEIR_KIND_U16, 0},
                                      {"bytes", WEIR_KIND_U64, 0},      {"rest", WEIR_KIND_STRING, 0}};
  uint32_t type = define(log, "request", fields, 6);
  char *line = NULL;
  size_t room = 0;
  uint64_t count = 0, used = 0;
  while (used < bytes) {
    FILE *file = fopen(sample, "r");
    REQUIRE(file);
    uint64_t before = used;
    while (used < bytes && getline(&line, &room, file) > 0) {
      char *host = strchr(line, ' '), *time = strchr(line, '['), *time_end = time ? strchr(time, ']') : NULL;
      char *request = time_end ? strchr(time_end, '"') : NULL, *request_end = request ? strchr(request + 1, '"') : NULL;
      if (!host || !request_end) continue;
      char *after = request_end + 1, *text;
      unsigned long status = strtoul(after, &after, 10), size = strtoul(after, &text, 10);
      weir_record record = begin(log);
      put_text(&record, line, host);
      put_text(&record, time + 1, time_end);
      put_text(&record, request + 1, request_end);
      weir_put_u16(&record, (uint16_t)status);
      weir_put_u64(&record, size);
      put_text(&record, text, text + strlen(text));
      capture(log, &record, type);
      count++;
      used += 24 + strlen(line);
    }
    fclose(file);
    REQUIRE(used > before);
  }
  free(line);
  return count;
}

/* Makes the log, and reads its segments. */
static void make(input *input, const char *folder, const char *name, uint64_t (*fill)(weir_log *log, uint64_t bytes)) {
  weir_options options;
  weir_options_init(&options);
  options.full_wait_ns = UINT64_MAX;
  input->name = name;
  snprintf(input->path, sizeof input->path, "%s/%s", folder, name);
  weir_log *log;
  weir_error error;
  if (weir_open(input->path, &options, &log, NULL, &error) != WEIR_OK) {
    fprintf(stderr, "%s\n", error.message);
    exit(2);
  }
  input->events = fill(log, mebibytes << 20);
  REQUIRE(weir_close(log, &error) == WEIR_OK);
  weir_free(log);
  segment_list list;
  int directory = open(input->path, O_RDONLY | O_DIRECTORY);
  REQUIRE(segment_list_read(directory, &list) == 0 && list.count <= MOST_SEGMENTS);
  for (uint64_t i = 0; i < list.count; i++) {
    struct stat status;
    int file = openat(directory, list.items[i].name, O_RDONLY);
    REQUIRE(file >= 0 && fstat(file, &status) == 0);
    input->names[i] = strdup(list.items[i].name);
    input->bytes[i] = (uint64_t)status.st_size;
    input->segments[i] = malloc(input->bytes[i]);
    REQUIRE(sys_read_at(file, input->segments[i], input->bytes[i], 0) == (int64_t)input->bytes[i]);
    input->all += input->bytes[i];
    close(file);
  }
  input->count = list.count;
  segment_list_free(&list);
  close(directory);
}

/* ---- What is measured -------------------------------------------------------------------------------------------- */

static uint8_t *scratch_bytes; /* large enough for whatever a segment becomes */

static uint64_t copy(const input *input) {
  for (uint64_t i = 0; i < input->count; i++) memcpy(scratch_bytes, input->segments[i], input->bytes[i]);
  return input->all;
}

static uint64_t read_files(const input *input) {
  for (uint64_t i = 0; i < input->count; i++) {
    int file = open(join(input->path, input->names[i]), O_RDONLY);
    for (uint64_t at = 0; at < input->bytes[i]; at += 256 << 10) {
      REQUIRE(sys_read_at(file, scratch_bytes, 256 << 10, at) > 0);
    }
    close(file);
  }
  return input->all;
}

static uint64_t fast(const input *input) {
  uint64_t out = 0;
  for (uint64_t i = 0; i < input->count; i++) {
    for (uint64_t at = 0; at < input->bytes[i]; at += BATCH_BLOCK_BYTES) {
      uint64_t left = input->bytes[i] - at, count = left < BATCH_BLOCK_BYTES ? left : BATCH_BLOCK_BYTES;
      out += (uint64_t)LZ4_compress_fast((const char *)input->segments[i] + at, (char *)scratch_bytes, (int)count,
                                         LZ4_compressBound(BATCH_BLOCK_BYTES), 1);
    }
  }
  return out;
}

/* As batch.c does it, from memory to memory. */
static uint64_t frame_one(const uint8_t *segment, uint64_t bytes) {
  static uint8_t content[BATCH_BLOCK_BYTES + MAX_BLOCK_PAYLOAD_BYTES + sizeof(block_header)];
  static uint64_t columns[MAX_BLOCK_PAYLOAD_BYTES / 8];
  LZ4F_preferences_t wanted = {.frameInfo = {.blockSizeID = LZ4F_max1MB,
                                             .blockMode = LZ4F_blockIndependent,
                                             .contentSize = bytes,
                                             .blockChecksumFlag = LZ4F_blockChecksumEnabled},
                               .autoFlush = 1};
  LZ4F_compressOptions_t options = {.stableSrc = 1};
  LZ4F_cctx *context;
  REQUIRE(!LZ4F_isError(LZ4F_createCompressionContext(&context, LZ4F_VERSION)));
  uint64_t room = LZ4F_compressBound(BATCH_BLOCK_BYTES, &wanted), filled = 0, at = 0;
  uint64_t out = LZ4F_compressBegin(context, scratch_bytes, room, &wanted);
  while (at < bytes) {
    block_header header;
    uint64_t take = ((const segment_header *)(const void *)segment)->header_bytes;
    if (at > 0) {
      memcpy(&header, segment + at, sizeof header);
      take = sizeof header + header.payload_bytes;
    }
    memcpy(content + filled, segment + at, at > 0 ? sizeof header : take);
    if (at > 0 && columns_apply(&header)) {
      REQUIRE(columns_permute(segment + at + sizeof header, header.payload_bytes, header.count,
                              content + filled + sizeof header, columns));
    } else if (at > 0) {
      memcpy(content + filled + sizeof header, segment + at + sizeof header, header.payload_bytes);
    }
    filled += take;
    at += take;
    uint64_t done = 0;
    while (filled - done >= BATCH_BLOCK_BYTES || (at == bytes && done < filled)) {
      uint64_t count = filled - done < BATCH_BLOCK_BYTES ? filled - done : BATCH_BLOCK_BYTES;
      out += LZ4F_compressUpdate(context, scratch_bytes, room, content + done, count, &options);
      done += count;
    }
    memmove(content, content + done, filled - done);
    filled -= done;
  }
  out += LZ4F_compressEnd(context, scratch_bytes, room, &options);
  LZ4F_freeCompressionContext(context);
  return out;
}

static uint64_t frame(const input *input) {
  uint64_t out = 0;
  for (uint64_t i = 0; i < input->count; i++) out += frame_one(input->segments[i], input->bytes[i]);
  return out;
}

static void restore(const input *input, const char *path) {
  remove_tree(path);
  REQUIRE(mkdir(path, 0700) == 0);
  close(open(join(path, LOCK_NAME), O_CREAT | O_WRONLY, 0600));
  for (uint64_t i = 0; i < input->count; i++) {
    int file = open(join(path, input->names[i]), O_CREAT | O_WRONLY, 0600);
    REQUIRE(file >= 0 && sys_write_at(file, input->segments[i], input->bytes[i], 0) == 0 && fdatasync(file) == 0);
    close(file);
  }
}

static weir_batching batch(const char *path, uint32_t threads) {
  weir_batching batching;
  weir_error error;
  if (weir_batch_directory(path, threads, NULL, NULL, &batching, &error) != WEIR_OK) {
    fprintf(stderr, "%s\n", error.message);
    exit(2);
  }
  return batching;
}

/* ---- Figures ----------------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return left < right ? -1 : left > right;
}

static double median(double *values, uint64_t count) {
  qsort(values, count, sizeof *values, by_value);
  return values[count / 2];
}

/* What `lz4 -1` makes of the segments; 0 without the tool. */
static uint64_t by_tool(const char *path) {
  char command[9000];
  snprintf(command, sizeof command,
           "command -v lz4 >/dev/null && cd '%s' && for f in *.weir; do lz4 -1 -c $f 2>/dev/null; done | wc -c", path);
  FILE *pipe = popen(command, "r");
  unsigned long long bytes = 0;
  if (pipe && fscanf(pipe, "%llu", &bytes) != 1) bytes = 0;
  if (pipe) pclose(pipe);
  return bytes;
}

enum { COPY, READ, FAST, FRAME, BATCH, WAYS };

static void measure(const input *input, const char *folder) {
  static const char *const names[] = {"copy", "read", "fast", "frame", "batch"};
  static uint64_t (*const bodies[])(const struct input *) = {copy, read_files, fast, frame};
  double rate[WAYS][MOST_ROUNDS], of_fast[WAYS][MOST_ROUNDS];
  uint64_t out[WAYS] = {0};
  char path[8192];
  snprintf(path, sizeof path, "%s/batched", folder);
  for (uint64_t round = 0; round < rounds; round++) {
    for (int way = 0; way < WAYS; way++) {
      if (way == BATCH) restore(input, path);
      uint64_t began = cpu_ns();
      out[way] = way == BATCH ? batch(path, 1).output : bodies[way](input);
      rate[way][round] = (double)input->all * 1e3 / (double)(cpu_ns() - began);
    }
    for (int way = 0; way < WAYS; way++) of_fast[way][round] = rate[way][round] / rate[FAST][round];
  }
  restore(input, path);
  uint64_t tool = by_tool(path);
  printf("\n%s: %" PRIu64 " events, %" PRIu64 " segments, %.1f MiB\n", input->name, input->events, input->count,
         (double)input->all / (1 << 20));
  for (int way = 0; way < WAYS; way++) {
    double ns = 1e3 * (double)input->all / median(rate[way], rounds) / (double)input->events;
    printf("  %-6s %6.0f MB/s a core, %6.1f ns an event, %5.2f of fast", names[way], median(rate[way], rounds), ns,
           median(of_fast[way], rounds));
    if (way >= FAST) printf(", ratio %.3f", (double)input->all / (double)out[way]);
    printf("\n");
  }
  if (tool > 0) {
    double ours = (double)input->all / (double)out[BATCH], theirs = (double)input->all / (double)tool;
    printf("  lz4 -1 ratio %.3f: ours is %.2f of it\n", theirs, ours / theirs);
  }
}

/* By the clock, with the disk. */
static void measure_threads(const input *input, const char *folder) {
  char path[8192];
  snprintf(path, sizeof path, "%s/batched", folder);
  uint64_t processors = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN), output = 0;
  for (uint32_t threads = 1; threads <= processors; threads *= 2) {
    double best = 0;
    for (uint64_t round = 0; round < 3; round++) {
      restore(input, path);
      uint64_t began = now_ns();
      output = batch(path, threads).output;
      double rate = (double)input->all * 1e3 / (double)(now_ns() - began);
      if (rate > best) best = rate;
    }
    printf("  %u thread%s by the clock: %.0f MB/s\n", threads, threads > 1 ? "s" : "", best);
  }
  char file[8300];
  snprintf(file, sizeof file, "%s/written", folder);
  double best = 0;
  for (int round = 0; round < 3; round++) {
    int fd = open(file, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    uint64_t began = now_ns(), left = output;
    for (uint64_t i = 0; i < input->count && left > 0; i++) {
      uint64_t count = input->bytes[i] < left ? input->bytes[i] : left;
      REQUIRE(sys_write_at(fd, input->segments[i], count, output - left) == 0);
      left -= count;
    }
    REQUIRE(fdatasync(fd) == 0);
    double rate = (double)output * 1e3 / (double)(now_ns() - began);
    if (rate > best) best = rate;
    close(fd);
  }
  unlink(file);
  printf("  the disk takes as much as the output in one write and sync at %.0f MB/s, which is %.0f MB/s of input\n",
         best, best * (double)input->all / (double)output);
}

int main(int count, char **arguments) {
  random_start("batch_bench");
  for (int i = 1; i + 1 < count; i += 2) {
    if (strcmp(arguments[i], "--rounds") == 0) rounds = strtoull(arguments[i + 1], NULL, 10);
    else if (strcmp(arguments[i], "--mib") == 0) mebibytes = strtoull(arguments[i + 1], NULL, 10);
    else if (strcmp(arguments[i], "--sample") == 0) sample = arguments[i + 1];
    else REQUIRE(!"an option that there is");
  }
  REQUIRE(rounds > 0 && rounds <= MOST_ROUNDS && mebibytes > 0);
  printf("liblz4 %s, medians of %" PRIu64 " rounds\n", LZ4_versionString(), rounds);
  scratch_bytes = malloc(UINT64_C(64) << 20);
  REQUIRE(scratch_bytes);
  memset(scratch_bytes, 1, UINT64_C(64) << 20);
  char *folder = scratch();
  static uint64_t (*const fills[])(weir_log *, uint64_t) = {capture_carts, capture_mixed, capture_requests};
  static const char *const names[] = {"64-byte events", "small events of three types", "web requests"};
  for (int i = 0; i < 3; i++) {
    input *input = calloc(1, sizeof *input);
    REQUIRE(input);
    make(input, folder, names[i], fills[i]);
    measure(input, folder);
    measure_threads(input, folder);
    for (uint64_t k = 0; k < input->count; k++) free(input->segments[k]);
    free(input);
  }
  scratch_remove(folder);
  return 0;
}
