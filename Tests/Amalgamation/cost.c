/*
 * cost.c: what a capture costs with weir.c, beside the library. `make amalgamation-bench`.
 *
 *     cost LIBRARY.so AMALGAMATION.so [ROUNDS]
 *
 * Both plug-ins (cost_subject.c) are in one process, each with a log of its own. They capture in turns, a burst at a
 * time that fits into a lane; the first of the two changes from round to round. What is printed are the medians of all
 * rounds, in nanoseconds an event, and the median of the rounds' ratios. Nothing is asserted: the figures depend on the
 * machine.
 */
#include "check.h"

#include <dlfcn.h>

enum { EVENTS = 4000, MOST_ROUNDS = 9999 };

typedef struct subject {
  int (*open)(const char *directory);
  double (*burst)(int events);
  int (*close)(void);
  double ns[MOST_ROUNDS];
} subject;

static void load(subject *subject, const char *path) {
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
  static subject subjects[2];
  static double ratios[MOST_ROUNDS];
  int rounds = count == 4 ? atoi(arguments[3]) : 1999;
  double load_average[3] = {0};
  if (count < 3 || count > 4 || rounds < 1 || rounds > MOST_ROUNDS) {
    fprintf(stderr, "usage: cost LIBRARY.so AMALGAMATION.so [ROUNDS], ROUNDS from 1 to %d\n", MOST_ROUNDS);
    return 64;
  }
  getloadavg(load_average, 3);
  char *folder = scratch();
  for (int i = 0; i < 2; i++) {
    load(&subjects[i], arguments[1 + i]);
    REQUIRE(subjects[i].open(join(folder, i == 0 ? "library" : "amalgamation")));
    REQUIRE(subjects[i].burst(EVENTS) >= 0); /* the first lap writes to new pages */
  }
  for (int round = 0; round < rounds; round++) {
    for (int i = 0; i < 2; i++) {
      subject *next = &subjects[(round + i) % 2];
      next->ns[round] = next->burst(EVENTS);
      REQUIRE(next->ns[round] >= 0);
    }
    ratios[round] = subjects[1].ns[round] / subjects[0].ns[round];
  }
  double library = median(subjects[0].ns, rounds), amalgamation = median(subjects[1].ns, rounds);
  printf("ns an event, medians of %d rounds of %d events; load average at the start %.2f %.2f %.2f\n", rounds, EVENTS,
         load_average[0], load_average[1], load_average[2]);
  printf("library %.2f, weir.c %.2f, ratio of the medians %.3f, median of the ratios %.3f\n", library, amalgamation,
         amalgamation / library, median(ratios, rounds));
  for (int i = 0; i < 2; i++) CHECK(subjects[i].close());
  scratch_remove(folder);
  return checks_failed != 0;
}
