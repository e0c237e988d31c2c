/* invariant.c: see invariant.h. */
#include "system/invariant.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef WEIR_FAULT_INJECTION
void invariant_broken(const char *condition, const char *file, int line) {
  fprintf(stderr, "weir: %s:%d: this does not hold: %s; a fault of Weir's, please report it\n", file, line, condition);
  abort();
}
#endif
