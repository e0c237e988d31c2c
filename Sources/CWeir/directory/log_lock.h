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
  char *path;     /* as given; for messages */
  char *absolute; /* independent of the working directory */
  int directory;
  int file;
  int owner; /* the process: a child that no handler saw must not give up its parent's lock */
  sys_file home, file_id; /* the files that the two descriptors are of */
  uint32_t user;          /* the effective user who opened the log */
  uint64_t log_id;        /* 0: log_lock_identify was not called yet */
  int name_new, id_new;   /* log_lock_keep is to sync the directory's name, and the lock file */
  struct log_lock *next;  /* of all locks of the process, for fork */
} log_lock;

/* Makes a lock for a directory that is not open yet. 0 or -ENOMEM; free it either way, after log_lock_let_go. */
int log_lock_make(log_lock *lock, const char *path);
void log_lock_free(log_lock *lock);

/* Opens the directory and locks it; with `create`, makes it first if there is none. Errors: as of weir_open. */
weir_status log_lock_take(log_lock *lock, int create, weir_error *error);

/* Reads the id in a directory's lock file; 0: there is no valid one. 0 or a negative errno. */
int log_lock_id(int directory, uint64_t *log_id);

/* Gives a locked log its id; with 0, a new one. The lock file then has the id. 0 or a negative errno. */
int log_lock_identify(log_lock *lock, uint64_t log_id);

/*
 * Syncs what a new log has so far: the directory's name in the directory above, and the id. Before there is a ring:
 * otherwise a power cut could take a whole new log, synced events included. After the ring's file was synced this costs
 * no commit of the file system's journal more.
 */
weir_status log_lock_keep(const log_lock *lock, weir_error *error);

/* Unlocks, and closes the descriptors. A second call does nothing. */
void log_lock_let_go(log_lock *lock);

/* 0, or -DESCRIPTOR_LOST: the host has closed directory or lock. */
int log_lock_check(const log_lock *lock);

/* As fail_system. If the directory is gone, or another user acts, the message says so. */
weir_status log_lock_fail(const log_lock *lock, int negative_errno, const char *action, weir_error *error);

#endif
