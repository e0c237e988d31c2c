/*
 * event.c: the side of the LTTng peer that links LTTng-UST: the tracepoint and the loop around it. A library of its
 * own, loaded only once the session daemon runs: LTTng-UST looks for the daemon when it is loaded.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "event.h"

uint64_t lttng_event_burst(uint64_t first, uint64_t count, const char *text);
int lttng_event_is_recorded(void);

uint64_t lttng_event_burst(uint64_t first, uint64_t count, const char *text) {
  for (uint64_t order = first; order < first + count; order++) {
    lttng_ust_tracepoint(weir_bench, checkout, order, 19.99, 3, text);
  }
  return count;
}

/* Whether the daemon has told this process to record the event. */
int lttng_event_is_recorded(void) { return lttng_ust_tracepoint_enabled(weir_bench, checkout); }
