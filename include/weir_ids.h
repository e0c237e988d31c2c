/*
 * weir_ids.h: random numbers for ids, for Weir's Swift part; no interface for programs.
 */
#ifndef WEIR_IDS_H
#define WEIR_IDS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Sets 128 random bits, which no other call gets, in this process or in another. Answers 0 if the kernel refuses random
 * numbers. A few ns; each 31st call is a system call, and sometimes one that another thread's call coincides with. Any
 * thread may call it, also in a child of a fork; no signal handler.
 */
int weir_random_id(uint64_t id[2]);

#ifdef __cplusplus
}
#endif

#endif
