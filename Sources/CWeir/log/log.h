/* log.h: an open log: its parts, which log.c puts together. Each part has a header of its own. */
#ifndef WEIR_LOG_H
#define WEIR_LOG_H

#include "system/names.h"

#include "batch/batcher.h"
#include "capture/intake.h"
#include "directory/log_lock.h"
#include "drain/drainer.h"
#include "drain/prefaulter.h"
#include "drain/preparer.h"
#include "limits/retention.h"
#include "seal/sealer.h"

typedef struct event_log {
  struct intake intake; /* first: a weir_log * is an intake *, which is an event_log * */
  log_lock held; /* the directory, locked */
  weir_options options;
  struct drainer drainer;
  struct preparer preparer;
  struct prefaulter prefaulter;
  struct sealer sealer;
  struct batcher *batcher; /* null: sealed segments stay raw */
  pthread_mutex_t close_lock;
  int ended_well;   /* all that was captured before the close is in synced segments */
} event_log;

#endif
