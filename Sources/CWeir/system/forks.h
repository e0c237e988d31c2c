/* forks.h: callbacks around a fork, and a lock that keeps forks out. */
#ifndef WEIR_FORKS_H
#define WEIR_FORKS_H

#include "system/names.h"

/* What is called around each fork, while forks are held; null: nothing. */
typedef struct fork_watch {
  void (*before)(void);
  void (*in_parent)(void);
  void (*in_child)(void);
  struct fork_watch *next;
} fork_watch;

/* Adds callbacks, once a process; `watch` stays valid until the process ends. */
void forks_add(fork_watch *watch);

/* Waits for a fork or a holder in progress. Until forks_allow no other begins. */
void forks_hold(void);
void forks_allow(void);

#endif
