/* claim.h: taking room below the byte limit, for which older segments may be removed. */
#ifndef WEIR_CLAIM_H
#define WEIR_CLAIM_H

#include "system/names.h"

#include "limits/retention.h"

/*
 * Takes the room of a file of `bytes` before the file is made. 0: the room counts as used; -BYTE_LIMIT_REACHED; or the
 * error of a removal that was to make room. With `urgent` older segments may be removed, and the call waits for that;
 * a file that is made ahead of its time takes only what is free. Without a limit: 0 at once.
 */
int claim_bytes(retention *retention, uint64_t bytes, int urgent);

/*
 * The same for a copy that takes the place of the file of the segment at `base`. With WEIR_LIMIT_DROP_OLDEST older
 * segments may be removed. On the sealer's thread, or in recovery.
 */
int claim_copy(retention *retention, uint64_t base, uint64_t bytes);

#endif
