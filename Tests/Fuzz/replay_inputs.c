/*
 * replay_inputs.c: runs a fuzz target over files and folders of them, without libFuzzer: the corpus, and the cases,
 * which are inputs that once found a fault. An input that takes longer than HANG_SECONDS ends the program.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive.h"
#include "targets.h"

enum { HANG_SECONDS = 300 };

static uint64_t inputs;

static int run_file(const char *path) {
  static uint8_t bytes[ARCHIVE_BYTES];
  FILE *file = fopen(path, "rb");
  if (!file) {
    perror(path);
    return 2;
  }
  size_t count = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  uint8_t *exact = malloc(count ? count : 1); /* so that a byte read past the end shows */
  if (!exact) return 2;
  memcpy(exact, bytes, count);
  if (getenv("WEIR_VERBOSE")) fprintf(stderr, "- %s\n", path);
  alarm(HANG_SECONDS);
  LLVMFuzzerTestOneInput(exact, count);
  alarm(0);
  free(exact);
  inputs++;
  return 0;
}

static int run(const char *path) {
  DIR *entries = opendir(path);
  if (!entries) return run_file(path);
  int result = 0;
  char below[4096];
  for (struct dirent *entry; (entry = readdir(entries)) && result == 0;) {
    if (entry->d_name[0] == '.') continue;
    snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
    result = run(below);
  }
  closedir(entries);
  return result;
}

int main(int count, char **arguments) {
  int result = 0;
  for (int i = 1; i < count && result == 0; i++) result = run(arguments[i]);
  printf("%s: %llu inputs, no crash, no hang\n", arguments[0], (unsigned long long)inputs);
  return result;
}
