/* make_corpus.c: writes the seeds into a folder, as inputs for the fuzzers. make_corpus GOLDEN FOLDER */
#include "../C/log_builder.h"

#include "seeds.h"

int main(int count, char **arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: make_corpus GOLDEN FOLDER\n");
    return 2;
  }
  static seed seeds[MAX_SEEDS];
  static uint8_t bytes[ARCHIVE_BYTES];
  uint32_t made = seeds_make(seeds, arguments[1]);
  for (uint32_t i = 0; i < made; i++) {
    write_file(join(arguments[2], seeds[i].name), bytes, archive_write(&seeds[i].archive, bytes, sizeof bytes));
    archive_free(&seeds[i].archive);
  }
  return 0;
}
