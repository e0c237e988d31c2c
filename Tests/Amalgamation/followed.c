/*
 * followed.c: captures for follow.c. Each line of the input is a number: so many events are captured, numbered through.
 * The input's end closes the log.
 *
 *     followed DIRECTORY
 */
#include <stdio.h>
#include <stdlib.h>

#include "weir.h"

int main(int count, char **arguments) {
  weir_log *log;
  weir_error error;
  const weir_field fields[] = {{"number", WEIR_KIND_U64, 0}};
  const weir_definition definition = {.name = "numbered", .fields = fields, .field_count = 1};
  uint32_t type;
  if (count != 2) return 2;
  if (weir_open(arguments[1], NULL, &log, NULL, &error) != WEIR_OK ||
      weir_define(log, 0, &definition, 1, &type, &error) != WEIR_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  puts("open");
  fflush(stdout);
  char line[32];
  for (uint64_t number = 0; fgets(line, sizeof line, stdin);) {
    for (uint64_t end = number + strtoull(line, NULL, 10); number < end; number++) {
      if (weir_capture(log, type, &number, sizeof number, NULL) != WEIR_ACCEPTED) return 3;
    }
  }
  weir_status status = weir_close(log, &error);
  weir_free(log);
  return status != WEIR_OK;
}
