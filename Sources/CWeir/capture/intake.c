/* intake.c: see intake.h. */
#include "capture/intake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "system/system.h"
#include "system/thread.h"

int intake_make(intake *intake, const log_lock *held, const weir_options *options, const char *ring_directory) {
  intake->held = held;
  intake->options = options;
  intake->references = 1;
  intake->ring.fd = -1;
  if (ring_directory) strcpy(intake->ring.path, ring_directory); /* checked to fit */
  pthread_mutex_init(&intake->types.lock, NULL);
  pthread_mutex_init(&intake->callers.lock, NULL);
  thread_condition_make(&intake->callers.settled);
  intake->producer.slots = (weir_type_slot *)calloc(WEIR_TYPE_SLOTS, sizeof *intake->producer.slots);
  return intake->producer.slots ? 0 : -ENOMEM;
}

void intake_free_locks(intake *intake) {
  pthread_mutex_destroy(&intake->types.lock);
  pthread_mutex_destroy(&intake->callers.lock);
  pthread_cond_destroy(&intake->callers.settled);
}

void intake_free(intake *intake) {
  weir_type_slot *slots = intake->producer.slots;
  for (int i = 0; i < NAMED_SLOTS; i++) free(intake->types.named[i]);
  for (int i = 0; slots && i < WEIR_TYPE_SLOTS; i++) free((void *)slots[i].signatures);
  free(slots);
  if (intake->lanes) sys_unmap((uint8_t *)intake->lanes, intake->lane_count * sizeof *intake->lanes);
}
