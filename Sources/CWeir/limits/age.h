/*
 * age.h: how old the oldest segment is, for retention by age, whatever the wall clock was set to meanwhile.
 *
 * Within a boot the monotonic clock says: each seal has the times of both clocks. A segment counts from when it was
 * sealed, which is when its last event was captured or later. So no step of the wall clock makes a segment of this boot
 * older than it is, nor keeps it.
 *
 * Across boots there is only the wall clock, and one of its readings alone is not believed. A segment of an earlier
 * boot has the date that the last reading of its own boot gives it, because a clock that was wrong is set right later.
 * It is too old if one of these is true:
 *   - The wall clock says so, and has kept step with the monotonic clock for TRUST_NS, as far as the log knows.
 *   - The wall clock says so, and so does the last reading of another earlier boot.
 *   - The log knows this boot for as long as is to be retained, whatever the wall clock says: nothing stays for ever.
 */
#ifndef WEIR_AGE_H
#define WEIR_AGE_H

#include "system/names.h"

#include "limits/retention.h"
#include "segment/contents.h"

/* Notes which boot this is, and the clocks. 0 or a negative errno. */
int age_start(ages *ages);

/*
 * Whether the oldest segment is older than is to be retained: 1; 0, and `*left` is the time until it may be; or a
 * negative errno. Only where there is a segment that may be removed.
 */
int age_is_reached(retention *retention, uint64_t *left);

/* Another segment is the oldest now, or may be. */
static inline void age_forget(ages *ages) { ages->oldest = AGE_UNKNOWN; }

#endif
