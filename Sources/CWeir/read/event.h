/* event.h: from a record, and the definitions that belong to it, to what a reader gives. */
#ifndef WEIR_EVENT_H
#define WEIR_EVENT_H

#include "system/names.h"

#include "segment/definitions.h"

/*
 * Fills in all but the offset, the id and the boot. `type` and `context` are what is defined under the record's
 * numbers, null where nothing is: one of the other kind counts as none. The event points into the record and into them.
 */
void event_fill(weir_event *event, const calibration *calibration, const uint8_t *record, const definition *type,
                const definition *context);

#endif
