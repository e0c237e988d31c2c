/*
 * invariant.h: what the core holds true of its own state, checked at the borders: around each block, each lane, each
 * step of the sealer. An invariant never tests what a file says, which may be damaged. The checks are in builds with
 * WEIR_FAULT_INJECTION, which debug builds and the harnesses are; elsewhere they cost nothing.
 */
#ifndef WEIR_INVARIANT_H
#define WEIR_INVARIANT_H

#include "system/names.h"

#ifdef WEIR_FAULT_INJECTION
/* Says what is broken and aborts. */
void invariant_broken(const char *condition, const char *file, int line) __attribute__((noreturn));
#define INVARIANT(condition) ((condition) ? (void)0 : invariant_broken(#condition, __FILE__, __LINE__))
#else
#define INVARIANT(condition) ((void)(0 && (condition)))
#endif

#endif
