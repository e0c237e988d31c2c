/*
 * under_test_retention.c: retention.c itself, and the door to what is static in it. Compiled like the sources under
 * test.
 */
#include "limits/retention.c" /* in Sources/CWeir */

#include "under_test.h"

int look_for_removable(retention *retention) { return publish_removable(retention); }
void take_batches(retention *retention) { take_batched(retention); }
