/* types.h: the table of types and contexts. */
#ifndef WEIR_TYPES_H
#define WEIR_TYPES_H

#include "system/names.h"

#include "capture/intake.h"

void types_load(intake *intake); /* fills the type table from the ring's type region */
/* Publishes the entries in the ring's type region up to `end`; `types` of them are types. Under types.lock. */
void types_publish(intake *intake, uint64_t end, uint32_t types);

#endif
