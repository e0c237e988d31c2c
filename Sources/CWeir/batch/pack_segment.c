/* pack_segment.c: weir_pack_segment: the batch segment of one raw segment, in another directory. */
#include <errno.h>
#include <string.h>

#include "batch/batch.h"
#include "directory/directory.h"
#include "directory/segment_list.h"
#include "system/error.h"
#include "system/system.h"

weir_status weir_pack_segment(const char *directory, uint64_t base, const char *to_directory, const char *to_name,
                              weir_error *error) {
  int from;
  if (!to_directory || !*to_directory || !to_name || !*to_name || strchr(to_name, '/')) {
    return fail(error, WEIR_ERROR_INVALID, 0, to_directory,
                "a packed segment takes a directory, and a new name in it without a slash; give both");
  }
  weir_status status = directory_open_read(directory, &from, error);
  if (status != WEIR_OK) return status;
  int to = sys_open_directory(to_directory);
  if (to < 0) {
    sys_close(from);
    return fail_system(error, to, "open", to_directory, NULL);
  }
  int result = batch_copy(from, base, to, to_name);
  sys_close(to);
  sys_close(from);
  char name[64];
  segment_list_raw_name(name, base, 0);
  if (result == -EBADMSG) {
    return fail(error, WEIR_ERROR_INVALID, 0, directory, "%s in %s is damaged; weir_verify says where", name,
                directory);
  }
  if (result == -ENOTSUP) return fail_newer(error, directory, name);
  if (result == -ENOENT) {
    return fail(error, WEIR_ERROR_MISSING, ENOENT, directory, "there is no raw segment %s in %s", name, directory);
  }
  return result == 0 ? WEIR_OK : fail_system(error, result, "write a batch segment to", to_directory, to_name);
}
