/*
 * make_golden.c: makes the golden logs. Run once for a version of the format, as README.md beside this file says; what
 * it made is kept, and every later version has to read it as it was read then.
 *
 *     make_golden closed|killed|damaged|batched DIRECTORY
 */
#include "golden_log.h"

int main(int count, char **arguments) {
  require(count == 3, "usage: make_golden closed|killed|damaged|batched DIRECTORY");
  if (strcmp(arguments[1], "closed") == 0) make_closed(arguments[2]);
  else if (strcmp(arguments[1], "killed") == 0) make_killed(arguments[2]);
  else if (strcmp(arguments[1], "damaged") == 0) make_damaged(arguments[2]);
  else if (strcmp(arguments[1], "batched") == 0) make_batched(arguments[2]);
  else require(0, "the first argument is not one of closed, killed, damaged, batched");
  forget_boot(arguments[2]);
  return 0;
}
