/*
 * log_lock.h: the directory that a log lies in, and its lock file: the lock that one writer at a time has on it, and
 * the log's id. A child of a fork has neither directory nor lock: its descriptors are closed.
 */
#ifndef WEIR_LOG_LOCK_H
#define WEIR_LOG_LOCK_H

#include "system/names.h"

#include "system/error.h"
#include "system/system.h"

typedef struct log_lock {
  char *path;     /* as given: what messages name */
  char *absolute; /* the same, whatever the working directory is */
  int directory;
  int file;
  int owner; /* the process: a child that no handler saw must not give up its parent's lock */
  sys_file home, file_id; /* which the descriptors are of */
  uint32_t user;          /* who opened the log: effective user */
  uint64_t log_id;        /* 0: log_lock_identify was not called yet */
  struct log_lock *next;  /* of all that there are, for fork */
} log_lock;

/* Of a directory that is not open yet. 0 or -ENOMEM; to be freed either way, once it is let go of. */
int log_lock_make(log_lock *lock, const char *path);
void log_lock_free(log_lock *lock);

/* Opens the directory, makes it where `create` says so, and locks it. Errors: as of weir_open. */
weir_status log_lock_take(log_lock *lock, int create, weir_error *error);

/* The id in a directory's lock file; 0 where there is none that its checksum vouches for. 0 or a negative errno. */
int log_lock_id(int directory, uint64_t *log_id);

/* Gives a locked log its id, 0 for a new one, and has the lock file say so, on the disk. 0 or a negative errno. */
int log_lock_identify(log_lock *lock, uint64_t log_id);

/* Unlocks, and closes the descriptors. Again: nothing happens. */
void log_lock_let_go(log_lock *lock);

/* 0, or -DESCRIPTOR_LOST: the host has closed directory or lock. */
int log_lock_check(const log_lock *lock);

/* As fail_system. Where the directory is gone, or another user acts, the message says that. */
weir_status log_lock_fail(const log_lock *lock, int negative_errno, const char *action, weir_error *error);

#endif
