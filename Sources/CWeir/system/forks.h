/* forks.h: what is done about a fork, and what a fork must not come between. */
#ifndef WEIR_FORKS_H
#define WEIR_FORKS_H

#include "system/names.h"

/* Has these called around each fork of the process from now on, while forks are held. Once a process. */
void forks_watch(void (*before)(void), void (*in_parent)(void), void (*in_child)(void));

/* No fork, and no other holder, until forks_allow. */
void forks_hold(void);
void forks_allow(void);

#endif
