/*
 * batch_follow_test.c: readers follow a log while its writer makes batch segments of what is sealed and removes what
 * was delivered. Each sees every event once, in order, and none that is told to be missing.
 */
#include "batch_log.h"

#include <pthread.h>

enum { EVENTS = 60000, FOLLOWERS = 3, SMALL_SEGMENT_BYTES = 256 << 10 };

typedef struct follower {
  pthread_t thread;
  const char *directory;
  _Atomic uint64_t next;    /* the number that it is to see next */
  uint64_t wrong, skips;
  char skipped[160];
  weir_status end;
} follower;

static void note_skip(follower *follower, const weir_skip *skip) {
  follower->skips++;
  snprintf(follower->skipped, sizeof follower->skipped, "%s: %" PRIu64 " offsets from %" PRIu64 ": %s", skip->file,
           skip->count, skip->first_offset, skip->reason);
}

static void *follow(void *context) {
  follower *follower = context;
  weir_reader *reader;
  follower->end = weir_reader_open(follower->directory, NULL, &reader, NULL);
  if (follower->end != WEIR_OK) return NULL;
  while (follower->next < EVENTS && follower->skips == 0) {
    weir_event event;
    weir_skip skip;
    follower->end = weir_reader_next(reader, &event, &skip, NULL);
    if (follower->end == WEIR_OK) {
      uint64_t number = UINT64_MAX;
      if (event.payload_bytes >= 8) memcpy(&number, event.payload, 8);
      follower->wrong += number != follower->next || event.offset != follower->next || !event.fields;
      follower->next++;
    } else if (follower->end == WEIR_SKIPPED) {
      note_skip(follower, &skip);
    } else if (follower->end == WEIR_END) {
      weir_reader_wait(reader, 100000000);
    } else {
      break;
    }
  }
  weir_reader_close(reader);
  return NULL;
}

/* Below this all of them have had everything. */
static uint64_t delivered_to_all(const follower *followers) {
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < FOLLOWERS; i++) {
    uint64_t next = followers[i].next;
    if (next < least) least = next;
  }
  return least;
}

/* A reader that begins somewhere in what nobody removes meanwhile. */
static void read_from_the_middle(const char *directory, uint64_t from, uint64_t captured) {
  weir_reader_options options;
  weir_reader_options_init(&options);
  options.from_offset = from;
  weir_reader *reader;
  REQUIRE(weir_reader_open(directory, &options, &reader, NULL) == WEIR_OK);
  weir_event event;
  weir_skip skip;
  weir_status status;
  uint64_t next = from, skips = 0;
  while ((status = weir_reader_next(reader, &event, &skip, NULL)) == WEIR_OK || status == WEIR_SKIPPED) {
    skips += status == WEIR_SKIPPED;
    if (status == WEIR_OK) CHECK_EQUAL(event.offset, next);
    next = status == WEIR_OK ? event.offset + 1 : next;
  }
  CHECK_EQUAL(status, WEIR_END);
  CHECK_EQUAL(skips, 0);
  CHECK(next <= captured);
  weir_reader_close(reader);
}

static void live(const char *directory, int removes) {
  test(removes ? "readers live while the writer batches and removes" : "readers live while the writer batches");
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 4;
  options.lane_bytes = 1 << 20;
  options.max_event_bytes = 4096;
  options.segment_bytes = SMALL_SEGMENT_BYTES;
  options.batch_threads = 2;
  options.remove_delivered = (uint32_t)removes;
  weir_log *log;
  weir_error error;
  if (!CHECK_EQUAL(weir_open(directory, &options, &log, NULL, &error), WEIR_OK)) {
    fprintf(stderr, "  %s\n", error.message);
    return;
  }
  uint32_t type = define_some(log);
  follower followers[FOLLOWERS] = {0};
  for (int i = 0; i < FOLLOWERS; i++) {
    followers[i].directory = directory;
    REQUIRE(pthread_create(&followers[i].thread, NULL, follow, &followers[i]) == 0);
  }
  for (uint64_t number = 0; number < EVENTS; number++) {
    capture_some(log, type, number);
    if (number % 500 == 0) weir_set_delivered(log, delivered_to_all(followers));
    if (!removes && number % 10000 == 9999) {
      read_from_the_middle(directory, random_below(number / 2), number + 1);
    }
  }
  weir_drain(log, UINT64_MAX, NULL, NULL);
  for (int i = 0; i < FOLLOWERS; i++) {
    REQUIRE(pthread_join(followers[i].thread, NULL) == 0);
    if (!CHECK_EQUAL(followers[i].next, EVENTS)) fprintf(stderr, "  %s\n", followers[i].skipped);
    CHECK_EQUAL(followers[i].wrong, 0);
    CHECK_EQUAL(followers[i].skips, 0);
  }
  weir_set_delivered(log, EVENTS);
  weir_counters counters = {0};
  CHECK_AWAIT((weir_count(log, &counters), counters.batched > 0 && counters.batch_waiting == 0));
  CHECK_AWAIT((weir_count(log, &counters), !removes || counters.delivered_removed > 0));
  CHECK_EQUAL(counters.batch_failures, 0);
  CHECK_EQUAL(counters.delivered_removed > 0, removes);
  CHECK_EQUAL(weir_close(log, NULL), WEIR_OK);
  weir_free(log);
  check_sound(directory);
}

int main(void) {
  random_start("batch_follow_test");
  alarm(3 * HANG_SECONDS);
  char *folder = scratch();
  live(join(folder, "kept"), 0);
  live(join(folder, "removed"), 1);
  scratch_remove(folder);
  return finish();
}
