/* identity.c: see identity.h. */
#include "segment/identity.h"

#include <errno.h>

#include "directory/directory.h"
#include "segment/scan.h"

int identity_is_anothers(int directory, uint64_t base, uint64_t salt) {
  char name[64];
  segment_scan scan;
  scan_damage damage;
  segment_batch_name(name, base);
  int error = scan_open(&scan, directory, name, base, 0, &damage);
  if (error == -ENOENT) return 0;
  if (error == -ELOOP || error == -ENOTSUP) return 1;
  if (error != 0) return error;
  int other = scan.header.salt != salt;
  scan_close(&scan);
  return other;
}
