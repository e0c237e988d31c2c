/*
 * read_all.c: everything that the reading functions say of a log, to compare the reader alone with the library.
 *
 *     read_all DIRECTORY...
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "print_event.h"

static void print_error(const char *what, weir_status status, const weir_error *error) {
  printf("%s: %s", what, weir_status_name(status));
  if (status > WEIR_SKIPPED) printf(", errno %d, %s: %s", error->system_error, error->path, error->message);
  putchar('\n');
}

static void print_events(const char *directory, uint64_t from_offset, uint32_t skip_lanes) {
  weir_reader_options options;
  weir_reader_options_init(&options);
  options.from_offset = from_offset;
  options.skip_lanes = skip_lanes;
  weir_reader *reader;
  weir_error error;
  weir_event event;
  weir_skip skip;
  weir_status status = weir_reader_open(directory, &options, &reader, &error);
  if (status == WEIR_OK) {
    printf("live: %d\n", weir_reader_is_live(reader));
    while ((status = weir_reader_next(reader, &event, &skip, &error)) == WEIR_OK || status == WEIR_SKIPPED) {
      if (status == WEIR_SKIPPED) {
        printf("skipped %" PRIu64 "+%" PRIu64 " in %s at %" PRIu64 "+%" PRIu64 ": %s\n", skip.first_offset, skip.count,
               skip.file, skip.position, skip.bytes, skip.reason);
        continue;
      }
      weir_event_place place;
      weir_reader_place(reader, &place);
      printf("%" PRIu64 " %" PRIx64 " %" PRIx64 " %" PRId64 " %s %" PRIu64 " ", event.offset, event.id.opening,
             event.id.sequence, event.time_ns, place.file, place.block);
      print_hex(stdout, event.name, event.name_bytes);
      print_bytes(stdout, &event);
    }
    printf("more: %s\n", weir_status_name(weir_reader_wait(reader, 0)));
    weir_reader_close(reader);
  }
  print_error("events", status, &error);
}

static void print_finding(void *context, const weir_finding *finding) {
  (void)context;
  printf("finding in %s at %" PRIu64 "+%" PRIu64 ", offsets %" PRIu64 "+%" PRIu64 ": %s\n", finding->file,
         finding->position, finding->bytes, finding->first_offset, finding->count, finding->problem);
}

/* Structures of numbers, as bytes. */
static void print_numbers(const char *what, weir_status status, const weir_error *error, const void *bytes,
                          uint64_t count) {
  print_error(what, status, error);
  if (status == WEIR_OK) print_hex(stdout, bytes, count);
  putchar('\n');
}

static int is_segment(const struct dirent *entry) { return strncmp(entry->d_name, "0", 1) == 0; }

static void print_segments(const char *directory) {
  struct dirent **entries;
  int count = scandir(directory, &entries, is_segment, alphasort);
  for (int i = 0; i < count; i++) {
    const char *name = entries[i]->d_name;
    uint64_t base = strtoull(name, NULL, 10);
    weir_segment segment;
    weir_finding finding;
    weir_error error;
    memset(&segment, 0, sizeof segment);
    weir_status status = weir_read_segment(directory, name, base, 1, &segment, &error);
    print_numbers(name, status, &error, &segment, sizeof segment);
    status = weir_verify_segment(directory, name, base, &segment, &finding, &error);
    print_error("verified", status, &error);
    if (status == WEIR_OK && finding.problem) print_finding(NULL, &finding);
    free(entries[i]);
  }
  if (count >= 0) free(entries);
}

int main(int count, char **arguments) {
  printf("version %s, %s\n", weir_version(), weir_drop_name(WEIR_LOST_EXPIRED));
  for (int i = 1; i < count; i++) {
    const char *directory = arguments[i];
    weir_error error;
    weir_verification verification;
    weir_stat stat;
    weir_tally tally;
    print_events(directory, 0, 0);
    print_events(directory, 5, 1);
    weir_status status = weir_verify(directory, print_finding, NULL, &verification, &error);
    print_numbers("verify", status, &error, &verification, sizeof verification);
    status = weir_stat_directory(directory, &stat, &error);
    print_numbers("stat", status, &error, &stat, sizeof stat);
    status = weir_count_from(directory, 3, &tally, &error);
    print_numbers("count", status, &error, &tally, sizeof tally);
    print_segments(directory);
  }
  return 0;
}
