/* retention.c: see retention.h. */
#include "limits/retention.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "directory/log_start.h"
#include "directory/quarantine.h"
#include "directory/segment_list.h"
#include "directory/sizes.h"
#include "limits/age.h"
#include "limits/byte_limit.h"
#include "limits/log_start_check.h"
#include "segment/contents.h"
#include "segment/identity.h"
#include "segment/scan.h"
#include "system/error.h"
#include "system/system.h"

enum { MOST_AT_ONCE = 64, LEAST_PAUSE_NS = 1000000000 };
#define LOOK_AGAIN_NS UINT64_C(60000000000)

static uint64_t load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); /* R1 */ }

/* ---- The queue --------------------------------------------------------------------------------------------------- */

static int make_place(retention *retention) {
  if (retention->end < retention->room) return 0;
  /* The room of removed segments is used again once it is half of all. */
  uint64_t count = retention->end - retention->first, room = retention->room < 64 ? 64 : retention->room;
  if (count > room / 2) room *= 2;
  retained *moved = (retained *)malloc(room * sizeof *moved);
  if (!moved) return -ENOMEM;
  if (count > 0) memcpy(moved, retention->queue + retention->first, count * sizeof *moved);
  free(retention->queue);
  retention->queue = moved;
  retention->first = 0;
  retention->end = count;
  retention->room = room;
  return 0;
}

/* Inserts a segment by its base, which after no failure is at the end, or replaces its entry. */
static int insert(retention *retention, retained segment) {
  int error = make_place(retention);
  if (error != 0) return error;
  uint64_t at = retention->end;
  while (at > retention->first && retention->queue[at - 1].base >= segment.base) at--;
  retained *place = retention->queue + at;
  if (at < retention->end && place->base == segment.base) {
    if (place->bytes == NOT_SEALED) retention->unsealed--;
    else retention->sealed_bytes -= place->bytes;
  } else {
    memmove(place + 1, place, (retention->end - at) * sizeof *place);
    retention->end++;
  }
  *place = segment;
  if (segment.bytes == NOT_SEALED) retention->unsealed++;
  else retention->sealed_bytes += segment.bytes;
  if (at == retention->first) age_forget(&retention->ages);
  return 0;
}

/*
 * Lists the segments: all of them, or an error, because `start` would pass over a missing one without counting it. 0 or
 * a negative errno.
 */
static int list_sealed(retention *retention) {
  segment_list list;
  int error = segment_list_read(retention->held->directory, &list);
  retention->first = retention->end = retention->sealed_bytes = retention->unsealed = 0;
  age_forget(&retention->ages);
  for (uint64_t i = 0; error == 0 && i < list.count; i++) {
    struct stat status;
    uint64_t base = list.items[i].base;
    if (base < retention->start.first_offset) continue;
    error = sys_status_at(retention->held->directory, list.items[i].name, &status);
    if (error == -ENOENT) {
      error = 0;
    } else if (error == 0) {
      uint64_t bytes = list.items[i].active ? NOT_SEALED : (uint64_t)status.st_blocks * 512;
      error = insert(retention, (retained){base, bytes});
    }
  }
  segment_list_free(&list);
  retention->unlisted = error != 0;
  return error;
}

int retention_survey(retention *retention) {
  log_sizes sizes;
  int error = list_sealed(retention);
  if (error == 0) error = sizes_of_log(retention->held->directory, &sizes);
  if (error == 0) __atomic_store_n(&retention->used, sizes.claimed, __ATOMIC_RELEASE); /* B1 */
  return error;
}

/* ---- Removing ---------------------------------------------------------------------------------------------------- */

/* Unlinks a file and gives its room back. 0 or a negative errno. */
static int unlink_file(retention *retention, int directory, const char *name) {
  struct stat status = {0};
  int error = sys_status_at(directory, name, &status);
  if (error == 0) error = sys_unlink(directory, name);
  if (error == 0) byte_limit_give(retention, (uint64_t)status.st_blocks * 512);
  return error;
}

/* Whether the raw file is there, and the file with the batch's name is another segment's, which stays. */
static int is_beside_anothers(int directory, uint64_t base, const char *raw, const char *batch) {
  struct stat status;
  segment_scan scan;
  scan_damage damage;
  if (sys_status_at(directory, batch, &status) != 0) return 0;
  if (scan_open(&scan, directory, 0, raw, base, 0, &damage) != 0) return 0;
  uint64_t salt = scan.header.salt;
  scan_close(&scan);
  return identity_is_anothers(directory, base, salt) != 0;
}

/*
 * Unlinks a sealed segment, as raw file, batch or both, and keeps the batcher from naming another batch of it. 0 or a
 * negative errno; -ENOENT: there was neither. A file of somebody else's that has the batch's name stays.
 */
static int unlink_both(retention *retention, int directory, uint64_t base) {
  char raw[64], batch[64];
  segment_list_raw_name(raw, base, 0);
  segment_list_batch_name(batch, base);
  const batch_names *names = retention ? &retention->batch_names : NULL;
  int stays = is_beside_anothers(directory, base, raw, batch); /* and no batcher replaces it meanwhile */
  int uncounted = names && names->batcher ? names->drop(names->batcher, base) : 0;
  int of_batch = stays ? -ENOENT : unlink_file(uncounted ? NULL : retention, directory, batch);
  int error = of_batch == 0 || of_batch == -ENOENT ? unlink_file(retention, directory, raw) : of_batch;
  if (names && names->batcher) names->dropped(names->batcher);
  return error == -ENOENT ? of_batch : error;
}

/* 0 or a negative errno. */
static int unlink_segment(retention *retention, const retained *segment) {
  int error = unlink_both(retention, retention->held->directory, segment->base);
  if (error != -ENOENT) return error;
  byte_limit_give(retention, segment->bytes); /* somebody else has removed it */
  return 0;
}

/*
 * Removes sealed segments below the start, whose removal a kill or a failure cut short. Begins with the oldest and ends
 * at the first failure: so while any is left, the last removed segment, which `start` names, is left. Without a
 * retention, `start` was read by an opening, and is confirmed before the first is unlinked. 0 or a negative errno.
 */
static int remove_leftovers(retention *retention, int directory, const log_start_slot *start) {
  segment_list list;
  int error = segment_list_read(directory, &list), confirmed = retention != NULL;
  for (uint64_t i = 0; error == 0 && i < list.count && list.items[i].base < start->first_offset; i++) {
    const segment_name *name = &list.items[i];
    segment_scan scan;
    scan_damage damage;
    if (name->active || scan_open(&scan, directory, start->log_id, name->name, name->base, 0, &damage) != 0) continue;
    int ours = scan.header.salt != 0;
    scan_close(&scan);
    if (!ours) continue;
    if (!confirmed) error = log_start_confirm(directory, start);
    if (error != 0) break;
    confirmed = 1;
    error = unlink_both(retention, directory, name->base);
    if (error == -ENOENT) error = 0;
  }
  segment_list_free(&list);
  return error;
}

/* Updates the bytes of segments that became batches. */
static void take_batched(retention *retention) {
  batched_segment *each = __atomic_exchange_n(&retention->batched, NULL, __ATOMIC_ACQUIRE); /* R2 */
  while (each) {
    batched_segment *next = each->next;
    uint64_t from = retention->first, to = retention->end;
    while (from < to) {
      uint64_t middle = from + (to - from) / 2;
      if (retention->queue[middle].base < each->base) from = middle + 1;
      else to = middle;
    }
    retained *segment = retention->queue + from;
    if (from < retention->end && segment->base == each->base && segment->bytes != NOT_SEALED) {
      retention->sealed_bytes -= segment->bytes;
      segment->bytes = each->bytes;
      retention->sealed_bytes += segment->bytes;
    }
    free(each);
    each = next;
  }
}

static void pop(retention *retention) {
  retention->sealed_bytes -= retention->queue[retention->first].bytes;
  retention->first++;
  age_forget(&retention->ages);
}

/*
 * Adds the offsets that damage took in the segment, or before it if somebody deleted one: these events were accepted,
 * too. Adds no more than the offsets that are left, or the slot would count as damaged.
 */
static void account_missing(log_start_slot *start, const contents *contents, uint64_t begin) {
  uint64_t missing = contents->missing, accounted = start->events + start->notices + start->missing;
  uint64_t gap = contents->base_offset > begin ? contents->base_offset - begin : 0;
  if (!scan_gap_left_out(contents->header_valid, contents->flags, gap)) missing += gap;
  uint64_t left = start->first_offset > accounted ? start->first_offset - accounted : 0;
  start->missing += missing < left ? missing : left;
}

/* Adds a segment to what `start` says is removed. */
static void account(log_start_slot *start, const contents *contents, int32_t reason) {
  start->segments++;
  start->events += contents->summary.events;
  start->notices += contents->summary.notices;
  start->lost[reason] += contents->lost;
  for (int i = 0; i < WEIR_DROP_REASONS; i++) start->dropped[i] += contents->summary.dropped[i];
  start->salt = contents->end.salt;
  start->end = contents->end.end;
  start->base = contents->end.base;
  uint64_t begin = start->first_offset;
  if (contents->next_offset > begin) start->first_offset = contents->next_offset;
  account_missing(start, contents, begin);
}

static int oldest_contents(const retention *retention, contents *contents) {
  uint64_t base = retention->queue[retention->first].base;
  return contents_read(retention->held->directory, retention->start.log_id, base, load(&retention->delivered),
                       contents);
}

/*
 * The last sealed segment stays, and so do all segments from the first one that is not sealed, and those that are not
 * covered.
 */
static int has_one_to_remove(const retention *retention) {
  if (retention->end - retention->first - retention->unsealed < 2) return 0;
  if (retention->queue[retention->first + 1].base > retention->covered) return 0;
  return retention->queue[retention->first].bytes != NOT_SEALED;
}

/* The base of the second oldest segment: once every lower offset is delivered, the oldest segment is. */
static uint64_t second_base(const retention *retention) {
  return has_one_to_remove(retention) ? retention->queue[retention->first + 1].base : UINT64_MAX;
}

/* The reason for removing the oldest segment, 0 if it is to stay, or a negative errno. */
static int32_t verdict(retention *retention, uint64_t needed, uint64_t freed) {
  if (!has_one_to_remove(retention)) return 0;
  /* Any reason will do: delivered events are not counted as lost. */
  if (retention->remove_delivered && second_base(retention) <= load(&retention->delivered)) return WEIR_LOST_EXPIRED;
  if (retention->sealed_bytes > retention->retain_bytes) return WEIR_LOST_EXPIRED;
  if (retention->retain_ns != UINT64_MAX) {
    uint64_t left;
    int reached = age_is_reached(retention, &left);
    if (reached != 0) return reached < 0 ? reached : WEIR_LOST_EXPIRED;
  }
  return needed > 0 && retention->displaces && byte_limit_is_short(retention, needed, freed) ? WEIR_LOST_DISPLACED : 0;
}

/*
 * Removes the oldest segments that are due, at most MOST_AT_ONCE, with one write of `start`. Answers how many, or a
 * negative errno: then none was removed, or those that could not be unlinked are leftovers.
 */
static int remove_some(retention *retention, uint64_t needed) {
  log_start_slot start = retention->start;
  retained going[MOST_AT_ONCE];
  uint64_t lost[WEIR_DROP_REASONS] = {0}, freed = 0, first = retention->first, sealed = retention->sealed_bytes;
  uint64_t events = start.events;
  int count = 0, error = 0;
  while (count < MOST_AT_ONCE) {
    int32_t reason = verdict(retention, needed, freed);
    if (reason <= 0) {
      error = reason;
      break;
    }
    contents contents;
    error = oldest_contents(retention, &contents);
    if (error != 0) break;
    if (contents.there) {
      going[count++] = retention->queue[retention->first];
      freed += going[count - 1].bytes;
      lost[reason] += contents.lost;
      account(&start, &contents, reason);
    }
    pop(retention);
  }
  if (count == 0) return error;
  error = log_start_write(retention->held->directory, &start);
  if (error != 0) {
    retention->first = first;
    retention->sealed_bytes = sealed;
    age_forget(&retention->ages);
    return error;
  }
  retention->start = start;
  __atomic_fetch_add(&retention->expired, lost[WEIR_LOST_EXPIRED], __ATOMIC_RELAXED);
  __atomic_fetch_add(&retention->displaced, lost[WEIR_LOST_DISPLACED], __ATOMIC_RELAXED);
  uint64_t delivered = start.events - events - lost[WEIR_LOST_EXPIRED] - lost[WEIR_LOST_DISPLACED];
  __atomic_fetch_add(&retention->delivered_removed, delivered, __ATOMIC_RELAXED);
  /* A segment that can't be unlinked now is a leftover below the start. */
  for (int i = 0; i < count && error == 0; i++) error = unlink_segment(retention, &going[i]);
  retention->leftovers = error != 0;
  return error != 0 ? error : count;
}

static uint64_t next_look(retention *retention) {
  uint64_t left = 0;
  if (retention->retain_ns == UINT64_MAX || !has_one_to_remove(retention)) return UINT64_MAX;
  if (age_is_reached(retention, &left) != 0) left = 0;
  /* At most once a minute, because this alone wakes an idle log; at least once a day, because clocks are set. */
  if (left < LOOK_AGAIN_NS) left = LOOK_AGAIN_NS;
  return sys_monotonic_ns() + (left < 1440 * LOOK_AGAIN_NS ? left : 1440 * LOOK_AGAIN_NS);
}

#ifdef WEIR_FAULT_INJECTION
void (*retention_looked)(void);
#define LOOKED() (retention_looked ? retention_looked() : (void)0)
#else
#define LOOKED() ((void)0)
#endif

/*
 * Publishes the offset whose delivery makes the oldest segment removable. 1: it is delivered already. Whoever delivered
 * it between the look at `delivered` and this store has read the word before, and has woken nobody.
 */
static int publish_removable(retention *retention) {
  uint64_t base = second_base(retention);
  LOOKED();
  /* R1: first the word, then a look at what is delivered. Of the two, one sees what the other has stored. */
  __atomic_store_n(&retention->removable_at, base, __ATOMIC_SEQ_CST);
  return retention->remove_delivered && base <= __atomic_load_n(&retention->delivered, __ATOMIC_SEQ_CST); /* R1 */
}

int retention_remove_due(retention *retention, uint64_t needed) {
  take_batched(retention);
  int result = retention->unlisted ? list_sealed(retention) : 0;
  if (result == 0 && retention->leftovers) {
    /* These first: any other would be lost, and make no room either. */
    result = remove_leftovers(retention, retention->held->directory, &retention->start);
    retention->leftovers = result != 0;
  }
  do {
    if (result >= 0) result = remove_some(retention, needed);
  } while (result > 0 || (publish_removable(retention) && result == 0));
  __atomic_store_n(&retention->failure, result, __ATOMIC_RELAXED);
  retention->look_at = result < 0 ? sys_monotonic_ns() + LOOK_AGAIN_NS : next_look(retention);
  int limited = byte_limit_is_short(retention, retention->reserve, 0);
  if (!limited) __atomic_store_n(&retention->limited, 0, __ATOMIC_RELAXED);
  return result;
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/* The most bytes that a recovery of a full ring could write. */
static uint64_t reserve_of(const weir_options *options) {
  uint64_t lanes = options->lane_count * options->lane_bytes;
  return lanes + lanes / 8 + LEAST_RECOVERED_BYTES(record_size(options->max_event_bytes)) + 2 * WEIR_TYPES_BYTES;
}

/* Room for a batch of each thread, at most a sixteenth of the limit, at least one batch. */
static uint64_t batch_reserve_of(const weir_options *options, uint64_t block_bytes) {
  if (options->batch_threads == 0 || options->max_bytes == 0) return 0;
  uint64_t one = byte_limit_round(batch_most_bytes(options->segment_bytes), block_bytes);
  uint64_t many = options->max_bytes / 16 / one;
  if (many > options->batch_threads) many = options->batch_threads;
  return one * (many > 0 ? many : 1);
}

weir_status retention_check(const weir_options *options, uint64_t ring_bytes, uint64_t block_bytes, weir_error *error) {
  if (options->max_bytes == 0) return WEIR_OK;
  uint64_t segment = byte_limit_round(options->segment_bytes, block_bytes);
  uint64_t least = byte_limit_round(ring_bytes, block_bytes) + 3 * segment + 2 * byte_limit_slack(block_bytes);
  if (options->limit_policy == WEIR_LIMIT_REFUSE) least += reserve_of(options);
  if (options->batch_threads > 0) least += segment;
  if (options->max_bytes >= least) return WEIR_OK;
  return fail(error, WEIR_ERROR_INVALID, 0, NULL,
              "the option max_bytes is %llu; with these lanes and segments it must be at least %llu, for the ring, "
              "three segments, a fourth where batch segments are made and, where the limit refuses events, what the "
              "ring holds; raise it, or take fewer or smaller lanes or smaller segments",
              (unsigned long long)options->max_bytes, (unsigned long long)least);
}

static weir_status make_retention(const log_lock *held, const weir_options *options, const log_start_slot *start,
                                  retention **kept, weir_error *error) {
  int bounded = options->max_bytes != 0 || options->retain_bytes != 0 || options->retain_ns != 0;
  if (!bounded && !options->remove_delivered) return WEIR_OK;
  retention *made = *kept = (retention *)calloc(1, sizeof *made);
  if (!made) return fail(error, WEIR_ERROR_MEMORY, ENOMEM, held->path, "out of memory to open %s", held->path);
  made->held = held;
  made->max_bytes = options->max_bytes ? options->max_bytes : UINT64_MAX;
  made->retain_bytes = options->retain_bytes ? options->retain_bytes : UINT64_MAX;
  made->retain_ns = options->retain_ns ? options->retain_ns : UINT64_MAX;
  made->displaces = options->limit_policy == WEIR_LIMIT_DROP_OLDEST;
  made->reserve = made->displaces || options->max_bytes == 0 ? 0 : reserve_of(options);
  made->remove_delivered = options->remove_delivered != 0;
  made->covered = UINT64_MAX;
  made->removable_at = UINT64_MAX;
  made->start = *start;
  made->start.log_id = held->log_id;
  made->look_at = UINT64_MAX;
  made->recovering = 1;
  int result = sys_block_bytes(held->directory, &made->block_bytes);
  if (made->block_bytes < LEAST_BLOCK_BYTES) made->block_bytes = LEAST_BLOCK_BYTES;
  if (made->block_bytes > MOST_BLOCK_BYTES) made->block_bytes = MOST_BLOCK_BYTES;
  made->slack_bytes = byte_limit_slack(made->block_bytes);
  made->batch_reserve = batch_reserve_of(options, made->block_bytes);
  if (result == 0) result = age_start(&made->ages);
  /* `start` is made before the disk may be full: later its bytes change in place, so a removal needs no space. */
  if (result == 0 && start->sequence == 0) result = log_start_write(held->directory, &made->start);
  if (result == 0) result = retention_survey(made);
  return result == 0 ? WEIR_OK : fail_system(error, result, "prepare to remove segments of", held->path, NULL);
}

weir_status retention_open(const log_lock *held, const weir_options *options, retention **made, uint64_t *start_offset,
                           weir_recovery *recovery, weir_error *error) {
  log_start_slot start;
  int result = log_start_read(held->directory, held->log_id, &start);
  const char *problem = log_start_problem(result);
  if (result == 1) {
    int fits = log_start_check_fits(held->directory, &start);
    if (fits < 0) return fail_system(error, fits, "look for what retention left of", held->path, NULL);
    if (!fits) {
      problem = START_FOREIGN;
    } else if ((result = remove_leftovers(NULL, held->directory, &start)) != 0) {
      return fail_system(error, result, "remove what retention left of", held->path, NULL);
    }
  } else if (result == -ENOTSUP) {
    return fail_newer(error, held->path, START_NAME);
  } else if (result != 0 && (!problem || result == -ELOOP)) {
    return fail_system(error, result, "read", held->path, START_NAME);
  }
  if (problem) {
    /* Go on as if there were no `start`: no segment is removed for it, and removed ones count as missing. */
    memset(&start, 0, sizeof start);
    recovery->start_damaged = 1;
    result = quarantine_file(held->directory, START_NAME, problem, 1);
    if (result < 0) return fail_system(error, result, "quarantine", held->path, START_NAME);
  }
  *start_offset = start.first_offset;
  return make_retention(held, options, &start, made, error);
}

weir_status retention_settle(retention *retention, weir_error *error) {
  if (!retention) return WEIR_OK;
  retention->recovering = 0;
  int result = retention_survey(retention);
  if (result == 0) result = retention_remove_due(retention, retention->displaces ? 1 : 0);
  /* A segment that can't be unlinked only takes room: that is no reason to refuse captures. */
  if (result != 0 && !retention->leftovers) {
    return fail_system(error, result, "remove old segments of", retention->held->path, NULL);
  }
  uint32_t limited = !retention->displaces && byte_limit_is_short(retention, retention->reserve, 0);
  __atomic_store_n(&retention->limited, limited, __ATOMIC_RELAXED);
  return WEIR_OK;
}

void retention_free(retention *retention) {
  if (!retention) return;
  take_batched(retention);
  free(retention->queue);
  free(retention);
}

/* ---- Calls from other threads ------------------------------------------------------------------------------------ */

void retention_batched(retention *retention, batched_segment *segment) {
  if (!retention) {
    free(segment);
    return;
  }
  segment->next = __atomic_load_n(&retention->batched, __ATOMIC_RELAXED);
  /* R2 */
  while (!__atomic_compare_exchange_n(&retention->batched, &segment->next, segment, 0, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED)) {
    continue;
  }
}

void retention_hold(retention *retention, uint64_t base) {
  if (retention && insert(retention, (retained){base, NOT_SEALED}) != 0) retention->unlisted = 1;
}

void retention_sealed(retention *retention, uint64_t base, uint64_t taken, uint64_t bytes) {
  if (!retention) return;
  byte_limit_change(retention, bytes, byte_limit_blocks(retention, taken));
  if (insert(retention, (retained){base, bytes}) != 0) retention->unlisted = 1;
  retention->look_at = 0;
}

void retention_deliver(retention *retention, uint64_t offset) {
  uint64_t before = load(&retention->delivered);
  /* R1: what is delivered, then a look at the word; publish_removable does the reverse. */
  while (before < offset && !__atomic_compare_exchange_n(&retention->delivered, &before, offset, 0, __ATOMIC_SEQ_CST,
                                                         __ATOMIC_ACQUIRE)) {
    continue;
  }
  uint64_t removable_at = __atomic_load_n(&retention->removable_at, __ATOMIC_SEQ_CST); /* R1 */
  if (!retention->remove_delivered || load(&retention->delivered) < removable_at) return;
  pthread_mutex_lock(&retention->remover->mutex);
  retention->delivery_waits = 1;
  pthread_cond_signal(&retention->remover->wakes);
  pthread_mutex_unlock(&retention->remover->mutex);
}

/* ---- The sealer's part ------------------------------------------------------------------------------------------- */

uint64_t retention_due(const retention *retention) {
  if (!retention) return UINT64_MAX;
  return retention->answered < retention->asked || retention->delivery_waits ? 0 : retention->look_at;
}

void retention_deny(retention *retention, int error) {
  if (!retention) return;
  retention->denied = error;
  if (retention->answered == retention->asked) return;
  __atomic_store_n(&retention->failure, error, __ATOMIC_RELAXED);
  retention->answered = retention->asked;
  pthread_cond_broadcast(&retention->remover->settled);
}

void retention_serve(retention *retention) {
  worker *remover = retention->remover;
  uint64_t asked = retention->asked, wanted = retention->answered < asked ? retention->wanted : 0;
  retention->delivery_waits = 0;
  pthread_mutex_unlock(&remover->mutex);
  retention_remove_due(retention, wanted);
  pthread_mutex_lock(&remover->mutex);
  retention->answered = asked;
  pthread_cond_broadcast(&remover->settled);
}
