/* forks.h: what is done about a fork, and what a fork must not come between. */
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

/* From now on. Each once a process; `watch` lives as long. */
void forks_add(fork_watch *watch);

/* No fork, and no other holder, until forks_allow. */
void forks_hold(void);
void forks_allow(void);

#endif
