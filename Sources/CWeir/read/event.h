/* event.h: makes the event that a reader gives out from a record and its definitions. */
#ifndef WEIR_EVENT_H
#define WEIR_EVENT_H

#include "system/names.h"

#include "segment/definitions.h"

/*
 * Fills in all but the offset, the id and the boot. `type` and `context` are the definitions of the record's numbers;
 * null: there is none, or it is of the other kind. The event points into the record and into these definitions.
 */
void event_fill(weir_event *event, const calibration *calibration, const uint8_t *record, const definition *type,
                const definition *context);

#endif
