/* event.h: the standard event as an LTTng tracepoint. Included several times over by LTTng's own headers. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER weir_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./event.h"

#if !defined(WEIR_BENCH_EVENT_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define WEIR_BENCH_EVENT_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(
  weir_bench, checkout,
  LTTNG_UST_TP_ARGS(uint64_t, order, double, total, int32_t, items, const char *, coupon),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(uint64_t, order, order)
    lttng_ust_field_float(double, total, total)
    lttng_ust_field_integer(int32_t, items, items)
    lttng_ust_field_array_text(char, coupon, coupon, 20)
  )
)

#endif

#include <lttng/tracepoint-event.h>
