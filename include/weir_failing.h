/*
 * weir_failing.h: makes the disk under a log fail, for tests of programs that use Weir.
 *
 * Only in a library that is built with WEIR_FAULT_INJECTION, as Swift's debug builds of the package are: any other
 * leaves the disk alone, and weir_fail_available answers 0. A rule is the whole process's, but concerns one directory
 * and what lies below it: logs in other directories go on as before, and so do other files of the program, for only
 * calls that the library makes are failed. All functions may be called by any thread at any time.
 */
#ifndef WEIR_FAILING_H
#define WEIR_FAILING_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which calls fail: a sum of these. Enumerators, because Swift does not import such macros. */
enum {
  WEIR_FAIL_CREATE = 1,  /* making files and directories */
  WEIR_FAIL_GROW = 2,    /* taking blocks of the disk for a file */
  WEIR_FAIL_WRITE = 4,   /* pwrite. What goes through mapped memory is no call, and can't fail */
  WEIR_FAIL_SYNC = 8,    /* fdatasync of files, fsync of directories */
  WEIR_FAIL_RENAME = 16, /* renaming and removing files */
  WEIR_FAIL_READ = 32    /* pread */
};

/* Whether the library was built so that it can fail calls: 1 or 0. */
int weir_fail_available(void);

/*
 * Of the calls of these kinds on the directory's files, the next `after` pass; the `times` calls after those
 * (UINT64_MAX: all) fail with `error`, a number of errno.h such as ENOSPC or EIO.
 *
 * Answers a number above 0, which stands for the rule. 0: the library can't fail calls. -1: the directory can't be
 * found, `error` or `kinds` is out of range, or 32 rules are in force.
 */
int weir_fail_begin(const char *directory, uint32_t kinds, uint64_t after, uint64_t times, int error);

/* Ends a rule. What has no number of a rule in force is ignored. */
void weir_fail_end(int rule);

/* How many calls a rule in force has failed so far. */
uint64_t weir_fail_count(int rule);

#ifdef __cplusplus
}
#endif

#endif
