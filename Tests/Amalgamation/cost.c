/*
 * cost.c: what a capture costs, by where the library is. `make amalgamation-bench`.
 *
 *     cost ROUNDS NAME=PLUGIN.so...
 *
 * The plug-ins (cost_subject.c) are in one process, each with a log of its own. They capture in turns, a burst at a
 * time that fits into a lane; the first of them changes from round to round. What is printed are the medians of all
 * rounds, in nanoseconds an event, and the median of the rounds' ratios to the first plug-in. Nothing is asserted: the
 * figures depend on the machine.
 */
#include "check.h"

#include <dlfcn.h>

enum { EVENTS = 4000, MOST_ROUNDS = 9999, MOST_SUBJECTS = 8 };

typedef struct subject {
  const char *name;
  int (*open)(const char *directory);
  double (*burst)(int events);
  int (*close)(void);
  double ns[MOST_ROUNDS];
} subject;

/* Loads the plug-in of an argument NAME=PLUGIN.so. */
static void load(subject *subject, char *argument) {
  char *path = strchr(argument, '=');
  REQUIRE(path);
  *path++ = 0;
  subject->name = argument;
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) fprintf(stderr, "%s\n", dlerror());
  REQUIRE(handle);
  *(void **)&subject->open = dlsym(handle, "subject_open");
  *(void **)&subject->burst = dlsym(handle, "subject_burst");
  *(void **)&subject->close = dlsym(handle, "subject_close");
  REQUIRE(subject->open && subject->burst && subject->close);
}

static int compare(const void *left, const void *right) {
  const double *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

static double median(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, compare);
  return values[count / 2];
}

int main(int count, char **arguments) {
  static subject subjects[MOST_SUBJECTS];
  static double ratios[MOST_SUBJECTS][MOST_ROUNDS];
  int rounds = count > 1 ? atoi(arguments[1]) : 0, subject_count = count - 2;
  double load_average[3] = {0};
  if (subject_count < 2 || subject_count > MOST_SUBJECTS || rounds < 1 || rounds > MOST_ROUNDS) {
    fprintf(stderr, "usage: cost ROUNDS NAME=PLUGIN.so..., ROUNDS from 1 to %d, 2 to %d plug-ins\n", MOST_ROUNDS,
            MOST_SUBJECTS);
    return 64;
  }
  getloadavg(load_average, 3);
  char *folder = scratch();
  for (int i = 0; i < subject_count; i++) {
    load(&subjects[i], arguments[2 + i]);
    REQUIRE(subjects[i].open(join(folder, subjects[i].name)));
    REQUIRE(subjects[i].burst(EVENTS) >= 0); /* the first lap writes to new pages */
  }
  for (int round = 0; round < rounds; round++) {
    for (int i = 0; i < subject_count; i++) {
      subject *next = &subjects[(round + i) % subject_count];
      next->ns[round] = next->burst(EVENTS);
      REQUIRE(next->ns[round] >= 0);
    }
    for (int i = 0; i < subject_count; i++) ratios[i][round] = subjects[i].ns[round] / subjects[0].ns[round];
  }
  printf("ns an event, medians of %d rounds of %d events; load average at the start %.2f %.2f %.2f\n", rounds, EVENTS,
         load_average[0], load_average[1], load_average[2]);
  for (int i = 0; i < subject_count; i++) {
    printf("%s %.2f, of %s: %.3f\n", subjects[i].name, median(subjects[i].ns, rounds), subjects[0].name,
           median(ratios[i], rounds));
  }
  for (int i = 0; i < subject_count; i++) CHECK(subjects[i].close());
  scratch_remove(folder);
  return checks_failed != 0;
}
