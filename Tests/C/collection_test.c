/*
 * collection_test.c: logs are cut into parts, and collected from them: every event once, as it was captured, in the
 * order of its lane, whatever comes twice, and wherever collecting is cut off.
 */
#include "batch_check.h"
#include "context_check.h"

enum { SOURCES = 4 };

/* A part that is kept, as a broker keeps it. */
typedef struct kept_part {
  uint8_t *bytes;
  uint64_t count;
  weir_segment segment;
  weir_span spans[WEIR_MAX_LANES + 1];
  uint32_t span_count;
} kept_part;

typedef struct kept_parts {
  kept_part *items;
  uint64_t count, room;
} kept_parts;

static void free_parts(kept_parts *parts) {
  for (uint64_t i = 0; i < parts->count; i++) free(parts->items[i].bytes);
  free(parts->items);
  free(parts);
}

/* ---- Sources ----------------------------------------------------------------------------------------------------- */

typedef struct capturing {
  weir_log *log;
  uint32_t type, said;
  uint64_t producer, count, filler;
} capturing;

static void *capture_some(void *argument) {
  capturing *capturing = argument;
  for (uint64_t i = 0; i < capturing->count; i++) {
    uint64_t filler = capturing->filler ? random_below(capturing->filler) : i % 17;
    capture_numbered(capturing->log, capturing->type, capturing->producer, i, filler, NULL);
    if (i % 5 == 0) capture_said(capturing->log, capturing->said, i % 3, i);
  }
  return NULL;
}

/* One opening: some threads, one after the other so that the seed repeats them; contexts; refusals. */
static void make_opening(const char *directory, uint64_t number) {
  weir_options options = small_options();
  options.segment_bytes = random_below(2) ? 1 << 20 : 256 << 10;
  weir_log *log = open_with(directory, &options, NULL);
  uint32_t type = define_numbered(log), said = define_said(log);
  for (uint64_t thread = 0; thread < 1 + random_below(3); thread++) {
    if (random_below(2)) CHECK_EQUAL(set_context(log, random_below(3)), WEIR_OK);
    capturing capturing = {log, type, said, number * 8 + thread, 1 + random_below(800),
                           random_below(3) ? 0 : 1 + random_below(900)};
    pthread_t id;
    REQUIRE(pthread_create(&id, NULL, capture_some, &capturing) == 0);
    REQUIRE(pthread_join(id, NULL) == 0);
    static const uint8_t much[2 << 20];
    if (random_below(3) == 0) CHECK_EQUAL(weir_capture(log, type, much, sizeof much, NULL), WEIR_DROP_TOO_LARGE);
  }
  close_and_free(log);
}

static void make_source(const char *directory) {
  for (uint64_t i = 0; i < 1 + random_below(3); i++) make_opening(directory, i);
  if (random_below(2)) batch_all(directory, 1);
}

/* ---- Cutting ----------------------------------------------------------------------------------------------------- */

static void keep(kept_parts *parts, const weir_part *part) {
  if (parts->count == parts->room) {
    parts->room = parts->room * 2 + 64;
    parts->items = realloc(parts->items, parts->room * sizeof *parts->items);
    REQUIRE(parts->items);
  }
  kept_part *kept = &parts->items[parts->count++];
  kept->bytes = malloc(part->byte_count);
  REQUIRE(kept->bytes);
  memcpy(kept->bytes, part->bytes, part->byte_count);
  kept->count = part->byte_count;
  kept->segment = part->segment;
  kept->span_count = part->span_count;
  memcpy(kept->spans, part->spans, part->span_count * sizeof *part->spans);
}

/* Holds what weir_check_part says of a part against what the cutter said. */
static void check_kept(const kept_part *kept) {
  weir_segment segment;
  weir_span spans[WEIR_MAX_LANES + 1];
  uint32_t count;
  weir_finding finding;
  weir_error error;
  CHECK_EQUAL(weir_check_part(kept->bytes, kept->count, &segment, spans, &count, &finding, &error), WEIR_OK);
  if (!CHECK(!finding.problem)) {
    fprintf(stderr, "%s at %" PRIu64 "\n", finding.problem, finding.position);
    return;
  }
  CHECK_EQUAL(segment.first_offset, kept->segment.first_offset);
  CHECK_EQUAL(segment.next_offset, kept->segment.next_offset);
  CHECK_EQUAL(segment.opening, kept->segment.opening);
  CHECK_EQUAL(segment.log_id, kept->segment.log_id);
  CHECK_EQUAL(segment.events, kept->segment.events);
  CHECK_EQUAL(segment.notices, kept->segment.notices);
  CHECK_EQUAL(segment.first_ns, kept->segment.first_ns);
  CHECK_EQUAL(segment.last_ns, kept->segment.last_ns);
  CHECK_EQUAL(segment.file_bytes, kept->count);
  CHECK_EQUAL(count, kept->span_count);
  for (uint32_t i = 0; i < count; i++) {
    CHECK_EQUAL(spans[i].lane, kept->spans[i].lane);
    CHECK_EQUAL(spans[i].from, kept->spans[i].from);
    CHECK_EQUAL(spans[i].to, kept->spans[i].to);
  }
}

/* Cuts a log from an offset on, to parts of random sizes. */
static void cut(const char *directory, uint64_t from, kept_parts *parts) {
  weir_cutter *cutter;
  weir_error error;
  REQUIRE(weir_cutter_open(directory, from, &cutter, &error) == WEIR_OK);
  uint64_t most = UINT64_C(2048) << random_below(8), next = from;
  for (;;) {
    weir_part part;
    uint64_t end = random_below(4) ? UINT64_MAX : next + 1 + random_below(500);
    weir_status status = weir_cutter_next(cutter, end, most, &part, NULL, &error);
    if (status == WEIR_END && end != UINT64_MAX) status = weir_cutter_next(cutter, UINT64_MAX, most, &part, NULL, &error);
    if (status == WEIR_END) break;
    if (!CHECK_EQUAL(status, WEIR_OK)) break;
    CHECK_EQUAL(part.segment.first_offset, next);
    CHECK(part.segment.next_offset > next);
    CHECK(part.byte_count <= most || part.segment.next_offset <= next + 2);
    next = part.segment.next_offset;
    keep(parts, &part);
  }
  weir_cutter_close(cutter);
}

/* Cuts to parts of one size, of which each has to come to an end. */
static void cut_to(uint64_t most) {
  char *folder = scratch();
  make_mixed(join(folder, "log"), 3000, 1 << 20);
  weir_cutter *cutter;
  weir_part part;
  uint64_t events = 0;
  REQUIRE(weir_cutter_open(join(folder, "log"), 0, &cutter, NULL) == WEIR_OK);
  while (weir_cutter_next(cutter, UINT64_MAX, most, &part, NULL, NULL) == WEIR_OK) {
    events += part.segment.events;
    CHECK(part.byte_count <= most || part.segment.events == 1);
  }
  CHECK_EQUAL(events, 3000);
  weir_cutter_close(cutter);
  scratch_remove(folder);
}

static void cut_to_sizes(void) {
  test("a log is cut to parts of any size");
  for (uint64_t most = 1024; most <= 1 << 17; most += most / 3) cut_to(most);
  weir_cutter *cutter;
  weir_part part;
  weir_error error;
  char *folder = scratch();
  make_mixed(join(folder, "log"), 3, 1 << 20);
  REQUIRE(weir_cutter_open(join(folder, "log"), 0, &cutter, NULL) == WEIR_OK);
  CHECK_EQUAL(weir_cutter_next(cutter, UINT64_MAX, 1023, &part, NULL, &error), WEIR_ERROR_INVALID);
  CHECK_EQUAL(weir_cutter_next(cutter, UINT64_MAX, (16 << 20) + 1, &part, NULL, &error), WEIR_ERROR_INVALID);
  CHECK_EQUAL(weir_cutter_next(cutter, 0, 1024, &part, NULL, &error), WEIR_END);
  weir_cutter_close(cutter);
  CHECK_EQUAL(weir_cutter_open(join(folder, "none"), 0, &cutter, &error), WEIR_ERROR_MISSING);
  CHECK_EQUAL(weir_cutter_open(NULL, 0, &cutter, &error), WEIR_ERROR_INVALID);
  scratch_remove(folder);
}

/* ---- What is known ----------------------------------------------------------------------------------------------- */

/* Ranges by opening and lane, as a consumer keeps them; here a plain list. */
typedef struct known_span {
  uint64_t opening;
  weir_span span;
} known_span;

typedef struct known {
  known_span items[1 << 16];
  uint64_t count;
  uint64_t next_offset;
} known;

static void learn(known *known, uint64_t opening, uint32_t lane, uint64_t from, uint64_t to) {
  for (uint64_t i = 0; i < known->count; i++) {
    known_span *each = &known->items[i];
    if (each->opening != opening || each->span.lane != lane || each->span.to != from) continue;
    each->span.to = to;
    return;
  }
  REQUIRE(known->count < sizeof known->items / sizeof *known->items);
  known->items[known->count++] = (known_span){opening, {.lane = lane, .from = from, .to = to}};
}

static uint32_t known_of(const known *known, uint64_t opening, weir_span *spans) {
  uint32_t count = 0;
  for (uint64_t i = 0; i < known->count; i++) {
    if (known->items[i].opening == opening) spans[count++] = known->items[i].span;
  }
  return count;
}

static int relearn(void *context, const weir_collected *collected) {
  known *known = context;
  for (uint32_t i = 0; i < collected->span_count; i++) {
    learn(known, collected->opening, collected->spans[i].lane, collected->spans[i].from, collected->spans[i].to);
  }
  learn(known, collected->opening, 65535, collected->from << 3, collected->to << 3);
  CHECK(strncmp(collected->host, "host-", 5) == 0);
  CHECK_EQUAL(collected->first_offset, known->next_offset);
  known->next_offset = collected->next_offset;
  return 0;
}

/* ---- Collecting -------------------------------------------------------------------------------------------------- */

static weir_collection *open_collection(const char *directory) {
  weir_collection *collection;
  weir_error error;
  if (weir_collection_open(directory, NULL, &collection, NULL, &error) != WEIR_OK) fprintf(stderr, "%s\n", error.message);
  REQUIRE(collection);
  return collection;
}

/* Forgets what is known, and reads it from the log. */
static void read_known(const char *directory, known *known) {
  weir_error error;
  known->count = known->next_offset = 0;
  CHECK_EQUAL(weir_collection_read(directory, 0, relearn, known, &error), WEIR_OK);
}

static void add_part(weir_collection *collection, const kept_part *part, const char *host, known *known) {
  static weir_span spans[1 << 16];
  weir_error error;
  uint32_t count = known_of(known, part->segment.opening, spans);
  if (weir_collection_add(collection, part->bytes, part->count, host, spans, count, NULL, &error) != WEIR_OK) {
    CHECK(0);
    fprintf(stderr, "%s\n", error.message);
    return;
  }
  for (uint32_t i = 0; i < part->span_count; i++) {
    learn(known, part->segment.opening, part->spans[i].lane, part->spans[i].from, part->spans[i].to);
  }
}

/* Adds the parts of all sources, those of each source in their order, with repetitions, restarts and kills. */
static void collect(const char *directory, kept_parts *parts[SOURCES], known *known) {
  uint64_t at[SOURCES] = {0}, left = 0, committed[SOURCES] = {0};
  for (int i = 0; i < SOURCES; i++) left += parts[i]->count;
  weir_collection *collection = open_collection(directory);
  read_known(directory, known);
  while (left > 0) {
    uint64_t source = random_below(SOURCES);
    char host[32];
    snprintf(host, sizeof host, "host-%d", (int)source);
    if (at[source] < parts[source]->count) {
      add_part(collection, &parts[source]->items[at[source]++], host, known);
      left--;
    }
    /* What was there comes again, as after a kill of its sender. */
    if (at[source] > 0 && random_below(6) == 0) {
      uint64_t back = 1 + random_below(at[source] < 5 ? at[source] : 5);
      at[source] -= back;
      left += back;
    }
    if (random_below(10) == 0) {
      uint64_t end;
      CHECK_EQUAL(weir_collection_commit(collection, &end, NULL), WEIR_OK);
      memcpy(committed, at, sizeof at);
    }
    if (random_below(30) == 0) { /* a kill: what was not committed is gone, and comes again */
      weir_collection_close(collection);
      collection = open_collection(directory);
      read_known(directory, known);
      for (int i = 0; i < SOURCES; i++) {
        left += at[i] - (at[i] < committed[i] ? at[i] : committed[i]);
        if (at[i] > committed[i]) at[i] = committed[i];
      }
    }
  }
  CHECK_EQUAL(weir_collection_commit(collection, NULL, NULL), WEIR_OK);
  weir_collection_close(collection);
}

/* ---- Comparing --------------------------------------------------------------------------------------------------- */

/* All that an event is, but its offset. */
static uint64_t event_sum(const weir_event *event) {
  const struct {
    const void *bytes;
    uint64_t count;
  } pieces[] = {{&event->id, sizeof event->id},
                {&event->time_ns, sizeof event->time_ns},
                {&event->monotonic_ns, sizeof event->monotonic_ns},
                {event->boot_id, sizeof event->boot_id},
                {event->name, event->name_bytes},
                {event->fields, event->fields_bytes},
                {event->payload, event->payload_bytes},
                {event->context, event->context_bytes},
                {event->scope, event->scope_bytes},
                {event->attributes, event->attributes_bytes}};
  uint64_t sum = 0;
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
    for (uint64_t k = 0; k < pieces[i].count; k++) {
      sum = (sum ^ ((const uint8_t *)pieces[i].bytes)[k]) * UINT64_C(0x100000001b3);
    }
    sum = (sum ^ i) * UINT64_C(0x100000001b3);
  }
  return sum;
}

typedef struct event_sums {
  uint64_t *items;
  uint64_t count, room, notices;
} event_sums;

static int is_notice(const weir_event *event) { return event->id.sequence >> 48 == 0xffff; }

/* The events of a log; with a host of one source alone, in their order there. */
static event_sums sums_of(const char *directory, const char *host) {
  event_sums sums = {0};
  weir_reader *reader;
  weir_event event;
  weir_status status;
  REQUIRE(weir_reader_open(directory, NULL, &reader, NULL) == WEIR_OK);
  while ((status = weir_reader_next(reader, &event, NULL, NULL)) == WEIR_OK) {
    int is_own = host && event.host && event.host_bytes == strlen(host) &&
                 memcmp(event.host, host, event.host_bytes) == 0;
    if (host && !is_own) continue;
    if (is_notice(&event)) {
      sums.notices++;
      continue;
    }
    if (sums.count == sums.room) {
      sums.room = sums.room * 2 + 1024;
      sums.items = realloc(sums.items, sums.room * sizeof *sums.items);
      REQUIRE(sums.items);
    }
    sums.items[sums.count++] = event_sum(&event);
  }
  CHECK_EQUAL(status, WEIR_END);
  weir_reader_close(reader);
  return sums;
}

static void check_collected(const char *source, const char *directory, const char *host) {
  event_sums wanted = sums_of(source, NULL), found = sums_of(directory, host);
  CHECK_EQUAL(found.count, wanted.count);
  CHECK_EQUAL(found.notices, wanted.notices);
  int same = found.count == wanted.count;
  CHECK(same && memcmp(found.items, wanted.items, found.count * sizeof *found.items) == 0);
  free(wanted.items);
  free(found.items);
}

static void check_whole(const char *directory) {
  weir_verification verification;
  CHECK_EQUAL(weir_verify(directory, print_finding, NULL, &verification, NULL), WEIR_OK);
  CHECK_EQUAL(verification.findings, 0);
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static void random_rounds(void) {
  test("what is collected is what was captured, once");
  const char *given = getenv("WEIR_ROUNDS");
  uint64_t rounds = given ? strtoull(given, NULL, 10) : 6;
  known *known = calloc(1, sizeof *known);
  REQUIRE(known);
  for (uint64_t round = 0; round < rounds; round++) {
    char *folder = scratch();
    kept_parts *parts[SOURCES];
    char names[SOURCES][32];
    for (int i = 0; i < SOURCES; i++) {
      snprintf(names[i], sizeof names[i], "source-%d", i);
      make_source(join(folder, names[i]));
      parts[i] = calloc(1, sizeof **parts);
      REQUIRE(parts[i]);
      cut(join(folder, names[i]), 0, parts[i]);
      for (uint64_t k = 0; k < parts[i]->count; k++) check_kept(&parts[i]->items[k]);
      /* As after a kill of the sender: from somewhere on, cut in another way. */
      if (parts[i]->count > 0) {
        cut(join(folder, names[i]), parts[i]->items[random_below(parts[i]->count)].segment.first_offset, parts[i]);
      }
    }
    const char *directory = join(folder, "collected");
    collect(directory, parts, known);
    check_whole(directory);
    for (int i = 0; i < SOURCES; i++) {
      char host[32];
      snprintf(host, sizeof host, "host-%d", i);
      check_collected(join(folder, names[i]), directory, host);
    }
    /* Collected again, from the log that collects: the events and hosts are the same. */
    kept_parts *second = calloc(1, sizeof *second);
    REQUIRE(second);
    cut(directory, 0, second);
    weir_collection *collection = open_collection(join(folder, "second"));
    for (uint64_t i = 0; i < second->count; i++) {
      check_kept(&second->items[i]);
      CHECK_EQUAL(weir_collection_add(collection, second->items[i].bytes, second->items[i].count, "tier", NULL, 0, NULL,
                                      NULL), WEIR_OK);
    }
    CHECK_EQUAL(weir_collection_commit(collection, NULL, NULL), WEIR_OK);
    weir_collection_close(collection);
    check_whole(join(folder, "second"));
    for (int i = 0; i < SOURCES; i++) {
      char host[32];
      snprintf(host, sizeof host, "host-%d", i);
      check_collected(join(folder, names[i]), join(folder, "second"), host);
      free_parts(parts[i]);
    }
    free_parts(second);
    scratch_remove(folder);
  }
  free(known);
}

/* Adds all parts, of which most are known, and commits now and then. In a child that may be killed anywhere. */
static void collect_all(const char *directory, const kept_parts *parts, known *known) {
  weir_collection *collection = open_collection(directory);
  read_known(directory, known);
  for (uint64_t i = 0; i < parts->count; i++) {
    add_part(collection, &parts->items[i], "host-0", known);
    if (i % 7 == 6) CHECK_EQUAL(weir_collection_commit(collection, NULL, NULL), WEIR_OK);
  }
  CHECK_EQUAL(weir_collection_commit(collection, NULL, NULL), WEIR_OK);
  weir_collection_close(collection);
}

static void killed(void) {
  test("a kill -9 anywhere leaves what was committed, whole, and nothing twice");
  char *folder = scratch();
  make_source(join(folder, "source"));
  kept_parts *parts = calloc(1, sizeof *parts);
  known *known = calloc(1, sizeof *known);
  REQUIRE(parts && known);
  cut(join(folder, "source"), 0, parts);
  const char *directory = join(folder, "collected");
  int ended = 0, kills = 0;
  for (uint64_t most = 1000; !ended; most += most / 8) {
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      collect_all(directory, parts, known);
      _exit(checks_failed != 0);
    }
    sleep_ns(1000 * random_below(most));
    kills += kill(child, SIGKILL) == 0;
    int status = wait_for(child);
    CHECK(status == 0 || status == 1000 + SIGKILL);
    ended = status == 0;
  }
  check_whole(directory);
  check_collected(join(folder, "source"), directory, "host-0");
  CHECK(kills > 0);
  free(known);
  free_parts(parts);
  scratch_remove(folder);
}

/* ---- Removal ----------------------------------------------------------------------------------------------------- */

static weir_collection *open_bounded(const char *directory) {
  weir_options options;
  weir_options_init(&options);
  options.retain_bytes = 1;
  options.remove_delivered = 1;
  weir_collection *collection;
  weir_error error;
  CHECK_EQUAL(weir_collection_open(directory, &options, &collection, NULL, &error), WEIR_OK);
  REQUIRE(collection);
  return collection;
}

static int note_first(void *context, const weir_collected *collected) {
  *(uint64_t *)context = collected->first_offset;
  return 1;
}

/* The first offset of the first segment that says what was collected. */
static uint64_t first_told(const char *directory) {
  uint64_t first = UINT64_MAX;
  weir_error error;
  CHECK_EQUAL(weir_collection_read(directory, 0, note_first, &first, &error), WEIR_OK);
  return first;
}

static void bounded(void) {
  test("no bound removes a segment before somebody else keeps what was collected");
  char *folder = scratch();
  kept_parts *parts = calloc(1, sizeof *parts);
  REQUIRE(parts);
  while (parts->count < 8) {
    make_opening(join(folder, "source"), 0);
    cut(join(folder, "source"), parts->count ? parts->items[parts->count - 1].segment.next_offset : 0, parts);
  }
  const char *directory = join(folder, "collected");
  weir_collection *collection = open_bounded(directory);
  uint64_t third = 0, end = 0;
  for (uint64_t i = 0; i < parts->count; i++) {
    if (i == 3) third = end;
    CHECK_EQUAL(weir_collection_add(collection, parts->items[i].bytes, parts->items[i].count, "host-0", NULL, 0, NULL,
                                    NULL), WEIR_OK);
    weir_collection_set_delivered(collection, end);
    CHECK_EQUAL(weir_collection_commit(collection, &end, NULL), WEIR_OK);
  }
  CHECK_EQUAL(first_told(directory), 0);
  weir_collection_close(collection);
  collection = open_bounded(directory);
  CHECK_EQUAL(first_told(directory), 0);
  weir_collection_set_covered(collection, third);
  CHECK_EQUAL(weir_collection_commit(collection, NULL, NULL), WEIR_OK);
  CHECK_EQUAL(first_told(directory), third);
  weir_collection_set_covered(collection, end);
  CHECK_EQUAL(weir_collection_commit(collection, NULL, NULL), WEIR_OK);
  CHECK(first_told(directory) > third);
  weir_collection_close(collection);
  free_parts(parts);
  scratch_remove(folder);
}

static void damaged(void) {
  test("a part with a flipped bit is told, and not collected");
  char *folder = scratch();
  make_mixed(join(folder, "log"), 200, 1 << 20);
  kept_parts *parts = calloc(1, sizeof *parts);
  REQUIRE(parts);
  weir_cutter *cutter;
  weir_part part;
  REQUIRE(weir_cutter_open(join(folder, "log"), 0, &cutter, NULL) == WEIR_OK);
  REQUIRE(weir_cutter_next(cutter, UINT64_MAX, 16 << 10, &part, NULL, NULL) == WEIR_OK);
  keep(parts, &part);
  weir_cutter_close(cutter);
  weir_collection *collection = open_collection(join(folder, "collected"));
  kept_part *kept = &parts->items[0];
  uint64_t told = 0, tried = 0, bits = kept->count * 8;
  for (uint64_t bit = random_below(7); bit < bits; bit += 7, tried++) {
    kept->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    weir_segment segment;
    weir_span spans[WEIR_MAX_LANES + 1];
    uint32_t count;
    weir_finding finding = {0};
    weir_status status = weir_check_part(kept->bytes, kept->count, &segment, spans, &count, &finding, NULL);
    CHECK(status == WEIR_OK || status == WEIR_ERROR_VERSION);
    told += status != WEIR_OK || finding.problem;
    kept->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
  CHECK_EQUAL(told, tried);
  for (uint64_t cut_at = 0; cut_at < kept->count; cut_at += 1 + random_below(300)) {
    weir_segment segment;
    weir_span spans[WEIR_MAX_LANES + 1];
    uint32_t count;
    weir_finding finding = {0};
    weir_status status = weir_check_part(kept->bytes, cut_at, &segment, spans, &count, &finding, NULL);
    CHECK(status != WEIR_OK || finding.problem);
  }
  CHECK_EQUAL(weir_collection_add(collection, (const uint8_t *)"nothing", 7, "host", NULL, 0, NULL, NULL),
              WEIR_ERROR_INVALID);
  CHECK_EQUAL(weir_collection_add(collection, kept->bytes, kept->count, "host", NULL, 0, NULL, NULL), WEIR_OK);
  CHECK_EQUAL(weir_collection_commit(collection, NULL, NULL), WEIR_OK);
  weir_collection_close(collection);
  free_parts(parts);
  scratch_remove(folder);
}

int main(void) {
  random_start("collection_test");
  cut_to_sizes();
  random_rounds();
  killed();
  bounded();
  damaged();
  return finish();
}
