/* error.c: see error.h; and the words for statuses and drop reasons. */
#include "system/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "system/invariant.h"

const char *weir_version(void) { return WEIR_VERSION; }

const char *weir_status_name(weir_status status) {
  switch (status) {
    case WEIR_OK: return "ok";
    case WEIR_END: return "end";
    case WEIR_SKIPPED: return "skipped";
    case WEIR_ERROR_INVALID: return "invalid";
    case WEIR_ERROR_MISSING: return "missing";
    case WEIR_ERROR_DIRECTORY: return "directory";
    case WEIR_ERROR_ACCESS: return "access";
    case WEIR_ERROR_UNSAFE: return "unsafe";
    case WEIR_ERROR_LOCKED: return "locked";
    case WEIR_ERROR_VERSION: return "version";
    case WEIR_ERROR_NO_SPACE: return "no_space";
    case WEIR_ERROR_IO: return "io";
    case WEIR_ERROR_MEMORY: return "memory";
    case WEIR_ERROR_CLOSED: return "closed";
    case WEIR_ERROR_PLATFORM: return "platform";
    case WEIR_ERROR_LIMIT: return "limit";
    case WEIR_ERROR_TIMEOUT: return "timeout";
    case WEIR_ERROR_LOST: return "lost";
    default: return "unknown";
  }
}

const char *weir_drop_name(int32_t reason) {
  /* Gap records name their reason by these words, so no two are the same, those without a meaning yet included. */
  static const char *const names[WEIR_DROP_REASONS] = {
      "accepted", "full",     "no_lane",  "too_large", "closed",    "detached",  "storage",   "invalid",
      "overwritten", "expired", "displaced", "sampled",  "reason_12", "reason_13", "reason_14", "reason_15"};
  return reason >= 0 && reason < WEIR_DROP_REASONS ? names[reason] : "unknown";
}

/* A path may hold any byte; a message is one line whatever it quotes. */
static void keep_on_one_line(char *text) {
  for (; *text; text++) {
    if ((unsigned char)*text < 0x20 || *text == 0x7f) *text = '?';
  }
}

weir_status fail(weir_error *error, weir_status status, int system_error, const char *path, const char *format, ...) {
  if (!error) return status;
  char saved_path[sizeof error->path]; /* `path` or an argument may lie in `error` itself */
  char message[sizeof error->message];
  snprintf(saved_path, sizeof saved_path, "%s", path ? path : "");
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  keep_on_one_line(message);
  error->status = status;
  error->system_error = system_error < 0 ? -system_error : system_error;
  memcpy(error->path, saved_path, sizeof saved_path);
  memcpy(error->message, message, sizeof message);
  return status;
}

weir_status status_of(int negative_errno) {
  switch (-negative_errno) {
    case 0: return WEIR_OK;
    case ENOENT: return WEIR_ERROR_MISSING;
    case ENOTDIR:
    case ENAMETOOLONG: return WEIR_ERROR_DIRECTORY;
    case EACCES:
    case EPERM:
    case EROFS: return WEIR_ERROR_ACCESS;
    case ELOOP: /* what the sys_ calls answer for whatever is not a plain file */
    case EISDIR:
    case ENXIO: return WEIR_ERROR_UNSAFE;
    case EAGAIN: return WEIR_ERROR_LOCKED;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case BYTE_LIMIT_REACHED: return WEIR_ERROR_NO_SPACE;
    case ENOMEM:
    case EMFILE:
    case ENFILE: return WEIR_ERROR_MEMORY;
    case ENOSYS:
    case EOPNOTSUPP: return WEIR_ERROR_PLATFORM;
    case ETIMEDOUT: return WEIR_ERROR_TIMEOUT;
    default: return WEIR_ERROR_IO;
  }
}

static const char *remedy(weir_status status, int negative_errno) {
  if (negative_errno == -EPERM) {
    return "run as the user who owns the log, correct its permissions, or allow the call where a sandbox (seccomp) "
           "denies it";
  }
  if (negative_errno == -ENOSYS) return "use a newer kernel, or allow the call where a sandbox (seccomp) denies it";
  switch (status) {
    case WEIR_ERROR_MISSING: return "check the path";
    case WEIR_ERROR_DIRECTORY: return "give the path of a directory";
    case WEIR_ERROR_ACCESS: return "run as the user who owns the log, or correct its permissions";
    case WEIR_ERROR_UNSAFE: return "it must be a plain file, not a link or a device: remove what lies there";
    case WEIR_ERROR_LOCKED: return "close the other writer first";
    case WEIR_ERROR_NO_SPACE: return "free space on the disk, or raise the quota or the file size limit";
    case WEIR_ERROR_MEMORY: return "raise the limits on memory or open files";
    case WEIR_ERROR_PLATFORM: return "use a local file system and a newer kernel";
    default: return "check the disk and the kernel's log";
  }
}

/* The words for an errno. glibc's strerror_r returns the words where _GNU_SOURCE is defined, as C++ compilers do. */
static const char *reason_of(int error, char *text, size_t bytes) {
#if defined(__GLIBC__) && defined(_GNU_SOURCE)
  return strerror_r(error, text, bytes);
#else
  if (strerror_r(error, text, bytes) != 0) snprintf(text, bytes, "error %d", error);
  return text;
#endif
}

weir_status fail_system(weir_error *error, int negative_errno, const char *action, const char *directory,
                        const char *name) {
  INVARIANT(negative_errno <= 0);
  if (negative_errno == 0) negative_errno = -EIO; /* a failure without a reason is one all the same */
  weir_status status = status_of(negative_errno);
  char path[sizeof error->path];
  char reason[128];
  snprintf(path, sizeof path, "%s%s%s", directory, name ? "/" : "", name ? name : "");
  if (negative_errno == -BYTE_LIMIT_REACHED) {
    return fail(error, status, 0, path,
                "cannot %s %s: the log's own byte limit (max_bytes) is reached, the disk is not full; raise the limit "
                "at the next opening, let retention remove what is old, or choose to drop the oldest",
                action, path);
  }
  if (negative_errno == -MAPPING_LOST) {
    return fail(error, status, 0, path,
                "cannot %s %s: a page of a file of the log was lost (SIGBUS): the file was cut short by someone else, "
                "or the disk could not read it back, or it is full and shares the file's blocks with a copy (use "
                "'cp --reflink=never') or a snapshot; captures are refused from now on; close the log and open it "
                "again to recover what is left",
                action, path);
  }
  if (negative_errno == -DESCRIPTOR_LOST || negative_errno == -EBADF) {
    return fail(error, status, 0, path,
                "cannot %s %s: the program closed files that the log has open (closefrom, close_range, as a daemon "
                "does when it starts), and their numbers may be those of other files by now, to which nothing is "
                "written; close the log, and open it after the program has closed what it was given",
                action, path);
  }
  return fail(error, status, -negative_errno, path, "cannot %s %s: %s; %s", action, path,
              reason_of(-negative_errno, reason, sizeof reason), remedy(status, negative_errno));
}

weir_status fail_newer(weir_error *error, const char *directory, const char *name) {
  return fail(error, WEIR_ERROR_VERSION, 0, directory,
              "%s%s%s was written by a newer version of Weir; use that version", directory, name ? "/" : "",
              name ? name : "");
}

weir_status fail_unsettled(weir_error *error, const char *action, const char *directory) {
  return fail(error, WEIR_ERROR_TIMEOUT, 0, directory,
              "cannot %s %s: files of it were removed or renamed at each look; try again, or once it changes less "
              "often",
              action, directory);
}
