/* claim.h: taking room below the byte limit, for which older segments may have to go. */
#ifndef WEIR_CLAIM_H
#define WEIR_CLAIM_H

#include "system/names.h"

#include "limits/retention.h"

/*
 * Room for a file of `bytes`, before it is made: 0, and it counts as used; -BYTE_LIMIT_REACHED; or the error of a
 * removal that was to make room. With `urgent` older segments may go for it, and it waits for the sealer to remove
 * them; what is only made ahead of its time takes what is free. Without a limit it answers 0 at once.
 */
int claim_bytes(retention *retention, uint64_t bytes, int urgent);

/*
 * The same for the copy of the segment at `base`, which takes the place of its file. With WEIR_LIMIT_DROP_OLDEST older
 * segments go for it. On the sealer's thread, or in recovery.
 */
int claim_copy(retention *retention, uint64_t base, uint64_t bytes);

#endif
