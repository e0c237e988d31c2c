/*
 * removed_files.h: files that an opening removed or replaced, held open by their descriptors, so that the file system
 * gives their blocks back later, beside the opening: for 8 MiB that takes milliseconds.
 */
#ifndef WEIR_REMOVED_FILES_H
#define WEIR_REMOVED_FILES_H

#include "system/names.h"

#include <stdint.h>

#include "system/system.h"

enum { MOST_REMOVED_FILES = 20 };

/* In memory that is zeros. Changed only by the thread that opens the log, then by the prefaulter. */
typedef struct removed_files {
  uint32_t count;
  struct removed_file {
    int fd;
    sys_file file;
  } files[MOST_REMOVED_FILES];
} removed_files;

/*
 * Holds a file that is to be removed next. Not if the disk has little room, because then the opening itself may need
 * the blocks: the file system gives them back at once.
 */
void removed_files_hold(removed_files *removed, int directory, const char *name);
void removed_files_free(removed_files *removed); /* their blocks are given back before this returns */
void removed_files_leave(removed_files *removed); /* the same in a forked child, which gives nothing back */

#endif
