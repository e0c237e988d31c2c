/* under_test_seal.c: sealer.c itself, and the door to what is static in it. Compiled like the sources under test. */
#include "seal/sealer.c" /* in Sources/CWeir */

#include "under_test.h"

void seal(event_log *log) { sealer_main(&log->sealer); }
