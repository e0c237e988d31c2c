/* recover.h: recovery, for those who open a log. See recover.c for the order of steps. */
#ifndef WEIR_RECOVER_H
#define WEIR_RECOVER_H

#include "system/names.h"

#include "directory/log_lock.h"
#include "limits/retention.h"
#include "recover/orphan_types.h"
#include "ring/ring.h"
#include "segment/segment.h"

/* Where an opening recovers, and with what. */
typedef struct recovery_site {
  const log_lock *held;
  const weir_options *options;
  struct retention *retention;    /* null: no bounds */
  uint64_t *next_prepared; /* atomic: numbers files in the making */
  uint64_t start_offset;   /* retention removed all lower offsets before this opening */
} recovery_site;

/* What an opening goes on from. */
typedef struct recovered {
  uint64_t next_offset;
  segment_end previous; /* the last segment */
  spent_ring spent;     /* without it nobody replaces the ring: see ring_create */
} recovered;

/* Errors: as of weir_open. After an error `recovered` has nothing. */
weir_status recover(const recovery_site *site, weir_recovery *report, recovered *recovered, weir_error *error);

#endif
