/*
 * disk.h: a file system in memory, behind the functions of system.h. It can be copied at any moment: the copy is what
 * a kill at that moment leaves, because the pages of a mapped file and its bytes are the same memory.
 */
#ifndef WEIR_MODELS_DISK_H
#define WEIR_MODELS_DISK_H

#include <stdint.h>

enum { MAX_FILES = 24 };

typedef struct file {
  char name[64]; /* empty: unlinked */
  uint8_t *bytes;
  uint64_t size, room;
} file;

typedef struct disk {
  file files[MAX_FILES];
  uint32_t count;
  uint64_t randoms; /* numbers given so far */
} disk;

extern disk *disk_in_use;

void disk_empty(disk *disk);
void disk_copy(disk *to, const disk *from); /* its files' bytes are on the heap */
void disk_free(disk *copied);
void disk_hash(const disk *disk, uint64_t hash[2]);

/* The file of a disk whose bytes the address lies in, or null. */
const file *disk_file_at(const disk *disk, const volatile void *address);

extern uint64_t model_time_ns;

#endif
