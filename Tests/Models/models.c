/*
 * models.c: runs the models and their broken twins. See README.md.
 *
 *     models [--long]                          all of them; a model must pass, a twin must fail
 *     models MODEL                             one, with its twins
 *     models MODEL [TWIN] --trace [PATH]       one, and the execution that failed (or the given one), access by access
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "explorer.h"

extern const model lane_model, lane_32_model, lane_63_model, claim_model, signal_model, reentry_model, borrow_model,
    scarce_model, sleep_model, sleep_again_model, sleep_two_model, close_model, close_first_model, close_unlaned_model,
    evict_model, evict_again_model, drained_model, drained_32_model, drained_63_model, drained_roll_model,
    drained_evict_model, drained_again_model,
    drained_evict_again_model, durable_model, durable_again_model, durable_two_model,
    watched_model, failing_model, full_model, touched_model, prefault_model, delivered_model, batched_model,
    limit_model, limit_batches_model, overflow_model;

static const model *const models[] = {
    &lane_model, &lane_32_model, &lane_63_model, &claim_model, &signal_model, &reentry_model, &borrow_model,
    &scarce_model, &sleep_model, &sleep_again_model, &sleep_two_model, &close_model, &close_first_model,
    &close_unlaned_model, &evict_model, &evict_again_model, &drained_model, &drained_32_model, &drained_63_model,
    &drained_roll_model, &drained_evict_model, &drained_again_model, &drained_evict_again_model, &durable_model,
    &durable_again_model, &durable_two_model, &watched_model, &failing_model, &full_model, &touched_model,
    &prefault_model, &delivered_model, &batched_model, &limit_model, &limit_batches_model, &overflow_model,
};

enum { MODELS = sizeof models / sizeof *models, LIMIT = 400000000 };

static uint64_t passed, failed;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void print_path(const verdict *verdict) {
  printf("  path: ");
  /* Runs of zeros, which are most of it, by their number. */
  for (uint32_t i = 0; i < verdict->choices;) {
    uint32_t zeros = 0;
    while (i + zeros < verdict->choices && verdict->path[i + zeros] == 0) zeros++;
    if (zeros > 2) printf("%sz%u", i ? "." : "", zeros);
    else printf("%s%u", i ? "." : "", verdict->path[i]);
    i += zeros > 2 ? zeros : 1;
  }
  printf("\n");
}

static uint32_t read_path(const char *text, uint8_t *path, uint32_t room) {
  uint32_t count = 0;
  while (*text && count < room) {
    char *end;
    int zeros = *text == 'z';
    unsigned long value = strtoul(text + zeros, &end, 10);
    if (end == text + zeros) break;
    for (unsigned long i = 0; zeros && i < value && count < room; i++) path[count++] = 0;
    if (!zeros) path[count++] = (uint8_t)value;
    text = *end == '.' ? end + 1 : end;
  }
  return count;
}

static void run(const model *model, const twin *twin, int trace, const char *path) {
  static uint8_t choices[20000];
  uint32_t count = path ? read_path(path, choices, sizeof choices) : 0;
  double began = now();
  verdict verdict = explore(model, twin, LIMIT, trace, path ? choices : NULL, count);
  int good = verdict.failed == (twin != NULL) && !(verdict.incomplete && !twin);
  *(good ? &passed : &failed) += 1;
  printf("%s: model %s", good ? "ok" : "FAILED", model->name);
  if (twin) printf(", twin %s", twin->name);
  printf(" (%s): %llu executions, %llu states, %.2f s", twin ? twin->label : model->labels,
         (unsigned long long)verdict.executions, (unsigned long long)verdict.states, now() - began);
  if (verdict.failed) printf("%s %s", twin ? "; fails as it must:" : ":", verdict.message);
  else if (twin) printf(": the broken twin passes: the model does not see what it is for");
  else if (verdict.incomplete) printf(": not explored to the end");
  printf("\n");
  if (verdict.failed && (!twin || trace)) print_path(&verdict);
  fflush(stdout);
}

/* A model checker that misses outcomes passes everything: so first, that it has all of them and no others. */
static void run_litmus(void) {
  for (uint32_t i = 0; i < litmus_count(); i++) {
    model model = litmus_model(i);
    verdict verdict = explore(&model, NULL, LIMIT, 0, NULL, 0);
    uint64_t missing = litmus_missing(i), forbidden = litmus_forbidden(i);
    int good = !verdict.failed && !verdict.incomplete && !missing && !forbidden;
    *(good ? &passed : &failed) += 1;
    printf("%s: litmus, %s: %llu executions\n", good ? "ok" : "FAILED", litmus_name(i),
           (unsigned long long)verdict.executions);
    if (good) continue;
    printf("  missing outcomes %llx, forbidden ones %llx; %s\n", (unsigned long long)missing,
           (unsigned long long)forbidden, verdict.message);
  }
}

int main(int count, char **words) {
  int long_form = 0, trace = 0;
  const char *name = NULL, *twin_name = NULL, *path = NULL;
  for (int i = 1; i < count; i++) {
    if (strcmp(words[i], "--long") == 0) long_form = 1;
    else if (strcmp(words[i], "--trace") == 0) trace = 1;
    else if (trace) path = words[i];
    else if (!name) name = words[i];
    else twin_name = words[i];
  }
  if (!name || strcmp(name, "litmus") == 0) run_litmus();
  for (int i = 0; i < MODELS; i++) {
    const model *model = models[i];
    if (name && strcmp(name, model->name) != 0) continue;
    /* Of a long model the short form runs the twins: they end with their first failure. */
    if (!twin_name && (name || long_form || !model->long_form)) run(model, NULL, trace, path);
    for (const twin *twin = model->twins; twin->name; twin++) {
      if (twin_name ? strcmp(twin_name, twin->name) == 0 : !trace) run(model, twin, trace, path);
    }
  }
  printf("models: %llu passed, %llu failed\n", (unsigned long long)passed, (unsigned long long)failed);
  return failed != 0 || passed == 0;
}
