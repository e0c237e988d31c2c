/*
 * mutated_files.c: logs with one to six changes, through every reader and through recovery, twice. In every other round
 * the checksums are made right after the changes, so that they are vouched for. Nothing may crash, hang or take more
 * memory than it should; of a log whose checksums nobody repaired, no event is given that was not captured so.
 *
 *     mutated_files --rounds N --seed N     round r has the seed N + r: --seed N+r --rounds 1 repeats it
 */
#include "../C/log_builder.h"

#include <sys/resource.h>

#include "examine.h"
#include "mutate.h"
#include "seeds.h"

enum { MAX_KNOWN = 4096, MOST_MEMORY_KIB = 768 << 10 };

static seed seeds[MAX_SEEDS];
static uint32_t seed_count;
static seen_event known[MAX_KNOWN];
static uint32_t known_count;
static uint64_t round_seed, given, skipped, refused;

static int by_id(const void *left, const void *right) { return memcmp(left, right, sizeof(weir_id)); }

static int compare_known(const void *left, const void *right) {
  const seen_event *a = left, *b = right;
  return by_id(&a->id, &b->id);
}

/* What each log gives as it is, of all of them: a mutation may put a file of one log into another. */
static void learn(void) {
  static seen_log seen;
  /* A change can undo the damage that a log has from the start, and bring an event to light that is not known here. */
  for (uint32_t i = 0; i < seed_count;) {
    if (strcmp(seeds[i].name, "v1-damaged") != 0) {
      i++;
      continue;
    }
    archive_free(&seeds[i].archive);
    seeds[i] = seeds[--seed_count];
  }
  for (uint32_t i = 0; i < seed_count; i++) {
    archive_unpack(&seeds[i].archive);
    const char *problem = examine_read(archive_home(), 0, 0, &seen);
    if (!CHECK(!problem && seen.end == WEIR_END)) fprintf(stderr, "%s: %s\n", seeds[i].name, problem ? problem : "");
    for (uint64_t k = 0; k < seen.count && known_count < MAX_KNOWN; k++) known[known_count++] = seen.events[k];
  }
  qsort(known, known_count, sizeof *known, compare_known);
  REQUIRE(known_count > 100 && known_count < MAX_KNOWN);
}

/* Whether somebody captured that event, with these bytes; its definition may be lost. */
static int was_captured(const seen_event *event) {
  const seen_event *found = bsearch(event, known, known_count, sizeof *known, compare_known);
  if (!found) return 0;
  while (found > known && by_id(&found[-1].id, &event->id) == 0) found--;
  for (; found < known + known_count && by_id(&found->id, &event->id) == 0; found++) {
    if (found->type != event->type || found->own_crc != event->own_crc) continue;
    if (found->context_number != event->context_number) continue;
    if (event->in_context && found->context_crc != event->context_crc) continue;
    if (!event->defined || found->definition_crc == event->definition_crc) return 1;
  }
  return 0;
}

static const char *check_given(const seen_log *seen) {
  for (uint64_t i = 0; i < seen->count && i < SEEN_EVENTS; i++) {
    const seen_event *event = &seen->events[i];
    /* What Weir says of damage is told anew each time: gap records and holes, under a lane that is none. */
    if (event->id.sequence >> 48 == NOTICE_LANE) continue;
    if (!was_captured(event)) return "an event is given that nobody captured";
  }
  return NULL;
}

static void keep(const archive *archive) {
  static uint8_t bytes[ARCHIVE_BYTES];
  char path[128];
  mkdir(".build", 0755);
  mkdir(".build/crash-artifacts", 0755);
  snprintf(path, sizeof path, ".build/crash-artifacts/mutated-%" PRIu64, round_seed);
  write_file(path, bytes, archive_write(archive, bytes, sizeof bytes));
  fprintf(stderr, "kept as %s, an input of the fuzz target `directory`\n", path);
}

static void say_how_to_repeat(void) {
  fprintf(stderr, "repeat it: mutated_files --seed %" PRIu64 " --rounds 1\n", round_seed);
}

/* Copies one of the logs; with `mixed`, a file of another comes to it in every fourth round. */
static archive begin(dice *dice, int mixed) {
  archive copy = {.count = 0};
  const archive *from = &seeds[roll(dice, seed_count)].archive, *other = &seeds[roll(dice, seed_count)].archive;
  for (uint32_t i = 0; i < from->count; i++) {
    archive_add(&copy, from->files[i].kind, from->files[i].base, from->files[i].data, from->files[i].bytes);
    copy.files[i].flags = from->files[i].flags;
  }
  if (mixed && roll(dice, 4) == 0) {
    const archived *file = &other->files[roll(dice, other->count)];
    archive_add(&copy, file->kind, file->base, file->data, file->bytes);
  }
  return copy;
}

static void run_round(void) {
  static seen_log seen;
  dice dice = {round_seed};
  int forged = (int)roll(&dice, 2), damage_only = !forged && roll(&dice, 2);
  archive archive = begin(&dice, !damage_only);
  for (uint64_t times = 1 + roll(&dice, 6); times > 0; times--) {
    if (damage_only) damage_once(&archive, &dice);
    else mutate_once(&archive, &dice, FOCUS_ALL);
  }
  if (forged) repair_archive(&archive, &dice);
  archive_unpack(&archive);
  alarm(HANG_SECONDS);
  const char *problem = examine(archive_home(), damage_only, &seen);
  alarm(0);
  if (!problem && !forged) problem = check_given(&seen);
  if (!CHECK(!problem)) {
    fprintf(stderr, "  %s log: %s\n", forged ? "forged" : damage_only ? "damaged" : "changed", problem);
    say_how_to_repeat();
    keep(&archive);
  }
  given += seen.count;
  skipped += seen.skips;
  refused += seen.end != WEIR_END;
  archive_free(&archive);
}

static void on_alarm(int signal) {
  static const char text[] = "a reader or an opening does not come to an end\n";
  (void)signal;
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(3);
  say_how_to_repeat();
  _exit(3);
}

int main(int count, char **arguments) {
  uint64_t rounds = 100000;
  random_start("mutated_files");
  uint64_t first = random_state;
  for (int i = 1; i + 1 < count; i += 2) {
    if (strcmp(arguments[i], "--rounds") == 0) rounds = strtoull(arguments[i + 1], NULL, 10);
    else if (strcmp(arguments[i], "--seed") == 0) first = strtoull(arguments[i + 1], NULL, 10);
    else REQUIRE(!"an option that is not known: --rounds N, --seed N");
  }
  signal(SIGALRM, on_alarm);
  test("mutated files");
  const char *golden = getenv("WEIR_GOLDEN");
  seed_count = seeds_make(seeds, golden ? golden : "Tests/Golden");
  learn();
  printf("mutated_files: %" PRIu64 " rounds from --seed %" PRIu64 "\n", rounds, first);
  fflush(stdout);
  uint64_t started = now_ns(), done = 0;
  for (; done < rounds && checks_failed < 5; done++) {
    round_seed = first + done;
    run_round();
    if (done % 10000 == 9999) fprintf(stderr, "mutated_files: %" PRIu64 " of %" PRIu64 "\n", done + 1, rounds);
  }
  for (uint32_t i = 0; i < seed_count; i++) archive_free(&seeds[i].archive);
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  CHECK(usage.ru_maxrss < MOST_MEMORY_KIB);
  printf("mutated_files: %" PRIu64 " logs, %" PRIu64 " a second; %" PRIu64 " events given, %" PRIu64 " skips, %" PRIu64
         " refused; at most %ld MiB\n",
         done, done * 1000000000 / (now_ns() - started + 1), given, skipped, refused, usage.ru_maxrss >> 10);
  return finish();
}
