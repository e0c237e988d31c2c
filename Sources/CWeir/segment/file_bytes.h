/* file_bytes.h: the bytes of a file that is read: behind a descriptor, or in memory. */
#ifndef WEIR_FILE_BYTES_H
#define WEIR_FILE_BYTES_H

#include "system/names.h"

#include <stdint.h>
#include <sys/stat.h>

typedef struct file_bytes {
  int fd;                /* -1: none */
  const uint8_t *memory; /* not owned; null: the bytes are behind `fd` */
  uint64_t count;        /* of the bytes in memory */
} file_bytes;

/* Reads bytes: how many there are, fewer only at the end, or a negative errno. */
int64_t file_bytes_read(const file_bytes *file, void *bytes, uint64_t count, uint64_t at);

/* The status of the file; of one in memory only its size. 0 or a negative errno. */
int file_bytes_status(const file_bytes *file, struct stat *status);

#endif
