/* types.h: the table of types and contexts. */
#ifndef WEIR_TYPES_H
#define WEIR_TYPES_H

#include "system/names.h"

#include "log/log.h"

void types_load(event_log *log); /* the type table from the ring's region */
/* Under types_lock: the entries in the ring's region that end at `end`, so many of them of types, are in force. */
void types_publish(event_log *log, uint64_t end, uint32_t types);

#endif
