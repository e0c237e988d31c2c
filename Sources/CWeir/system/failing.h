/*
 * failing.h: asked by system.c before each call that a test may have failed. The rules are those of weir_failing.h.
 */
#ifndef WEIR_FAILING_RULES_H
#define WEIR_FAILING_RULES_H

#include "system/names.h"

#include <stdint.h>

#ifdef WEIR_FAULT_INJECTION
/* 0, or the negative errno that the call is to answer. `fd`: the file, or the directory that a name is in. */
int failing_call(uint32_t kind, int fd);
#define FAILING(kind, fd)                       \
  do {                                          \
    int failing_ = failing_call((kind), (fd));  \
    if (failing_ != 0) return failing_;         \
  } while (0)
#else
#define FAILING(kind, fd) ((void)0)
#endif

#endif
