/*
 * clock.c: lets LTTng take its times from the time stamp counter, as the other subjects do; its default is
 * clock_gettime. Loaded by LTTng itself, in the traced process and in the daemon, through LTTNG_UST_CLOCK_PLUGIN.
 */
#include <lttng/ust-clock.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "weir_capture.h"

void lttng_ust_clock_plugin_init(void);

static uint64_t read_ticks(void) { return weir_ticks(WEIR_CLOCK_TSC); }

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Ticks a second, measured over 20 ms once; the trace's times depend on it, nothing that is measured does. */
static uint64_t frequency(void) {
  static uint64_t ticks_a_second;
  if (ticks_a_second == 0) {
    struct timespec pause = {0, 20000000};
    uint64_t start = now_ns(), ticks = read_ticks();
    nanosleep(&pause, NULL);
    ticks_a_second = (uint64_t)((double)(read_ticks() - ticks) * 1e9 / (double)(now_ns() - start));
  }
  return ticks_a_second;
}

static int uuid(char *text) {
  strcpy(text, "83c2483c-81f2-4bd4-9f1e-20d7b1a0c001");
  return 0;
}

static const char *name(void) { return "tsc"; }
static const char *description(void) { return "time stamp counter"; }

void lttng_ust_clock_plugin_init(void) {
  if (lttng_ust_trace_clock_set_read64_cb(read_ticks) == 0 && lttng_ust_trace_clock_set_freq_cb(frequency) == 0 &&
      lttng_ust_trace_clock_set_uuid_cb(uuid) == 0 && lttng_ust_trace_clock_set_name_cb(name) == 0 &&
      lttng_ust_trace_clock_set_description_cb(description) == 0) {
    lttng_ust_enable_trace_clock_override();
  }
}
