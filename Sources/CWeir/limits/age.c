/* age.c: see age.h. */
#include "limits/age.h"

#include <errno.h>
#include <string.h>

#include "system/bytes.h"
#include "system/system.h"

enum { MOST_NEWER = 64 };
#define STEP_NS INT64_C(60000000000)     /* what a wall clock may gain or lose against the other without being set */
#define TRUST_NS UINT64_C(3600000000000)
/* No event was captured before 2025: a date before that is of a clock that nobody had set. */
#define EARLIEST_NS INT64_C(1735689600000000000)

static uint64_t load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); /* R1 */ }

static uint64_t lower(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* What may be forged wraps instead of trapping, as in calibration_time. */
static int64_t minus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }

/* The machine's monotonic clock: the one that segments have, also where this process is in a time namespace. */
static uint64_t monotonic_now(const ages *ages) { return sys_monotonic_ns() - (uint64_t)ages->time_offset; }

static int64_t offset_now(const ages *ages) { return minus(sys_wall_ns(), (int64_t)monotonic_now(ages)); }

/* The wall clock less the monotonic one, when a segment was sealed. */
static int64_t offset_of(const contents *segment) {
  return minus(segment->calibration.wall_ns, segment->calibration.monotonic_ns);
}

static int is_step(int64_t before, int64_t after) {
  int64_t by = minus(after, before);
  return by > STEP_NS || by < -STEP_NS;
}

static int is_of_boot(const contents *segment, const uint8_t boot_id[16]) {
  return segment->there && segment->calibration.multiplier != 0 && sys_same_boot(segment->boot_id, boot_id);
}

static int read_at(const retention *retention, uint64_t at, contents *segment) {
  return contents_read(retention->held->directory, retention->start.log_id, retention->queue[at].base,
                       load(&retention->delivered), segment);
}

/* The first segment in [from, to) of which being of the boot is `wanted`; `to` if there is none. All before it are not.
 * 0 or a negative errno. */
static int find_boot(const retention *retention, uint64_t from, uint64_t to, const uint8_t boot_id[16], int wanted,
                     uint64_t *found) {
  while (from < to) {
    contents segment;
    uint64_t middle = from + (to - from) / 2;
    int error = read_at(retention, middle, &segment);
    if (error != 0) return error;
    if (is_of_boot(&segment, boot_id) == wanted) to = middle;
    else from = middle + 1;
  }
  *found = to;
  return 0;
}

int age_start(ages *ages) {
  memset(ages, 0, sizeof *ages);
  int error = sys_boot_id(ages->boot_id);
  ages->time_offset = sys_time_offset();
  ages->known_since = ages->steady_since = monotonic_now(ages);
  ages->offset = offset_now(ages);
  return error == -ENOENT ? 0 : error;
}

/* ---- Of this boot ------------------------------------------------------------------------------------------------ */

/*
 * The latest monotonic time at which an event of the segment can have been captured. That is later than the last
 * calibration if the writer died, if the drainer was late, or if the wall clock was set back before the seal.
 */
static int64_t latest(const contents *segment) {
  int64_t ahead = minus(segment->summary.last_ns, segment->calibration.wall_ns);
  int64_t sealed = segment->calibration.monotonic_ns;
  return ahead > 0 ? (int64_t)((uint64_t)sealed + (uint64_t)ahead) : sealed;
}

/*
 * The same for the oldest segment. If its times lie in the future, the next segment with possible times counts, because
 * segments are sealed in their order. Still in the future: no segment has possible times yet.
 */
static int latest_of_oldest(const retention *retention, const contents *oldest, int64_t now, int64_t *found) {
  contents segment;
  *found = latest(oldest);
  for (uint64_t i = 1; *found > now && i < MOST_NEWER && retention->first + i < retention->end; i++) {
    int error = read_at(retention, retention->first + i, &segment);
    if (error != 0) return error;
    if (is_of_boot(&segment, oldest->boot_id)) *found = latest(&segment);
  }
  return 0;
}

/* ---- Of an earlier boot ------------------------------------------------------------------------------------------ */

/* When the last event of a segment was captured, by a boot's last reading of both clocks. */
static int64_t date_by(const contents *segment, int64_t offset) {
  if (segment->calibration.multiplier == 0) return segment->summary.last_ns;
  /* By its own calibration where both agree: that is the event's time to the nanosecond. */
  if (!is_step(offset_of(segment), offset)) return segment->summary.last_ns;
  return (int64_t)((uint64_t)segment->calibration.monotonic_ns + (uint64_t)offset);
}

/* Notes what the log knows of this boot from before this opening, and the last date of the one before it. */
static int look_back(retention *retention) {
  ages *ages = &retention->ages;
  uint64_t at = retention->end;
  contents segment;
  int error = find_boot(retention, retention->first, retention->end, ages->boot_id, 1, &at);
  if (error == 0 && at < retention->end) {
    error = read_at(retention, at, &segment);
    if (error != 0) return error;
    uint64_t sealed = (uint64_t)segment.calibration.monotonic_ns;
    if (is_of_boot(&segment, ages->boot_id) && sealed < ages->known_since) {
      if (!is_step(offset_of(&segment), ages->offset)) ages->steady_since = lower(ages->steady_since, sealed);
      ages->known_since = sealed;
    }
  }
  if (error == 0 && at > retention->first) {
    error = read_at(retention, at - 1, &segment);
    if (error == 0 && segment.there) {
      memcpy(ages->before_boot_id, segment.boot_id, sizeof ages->before_boot_id);
      ages->before_ns = segment.summary.last_ns;
    }
  }
  ages->looked_back = error == 0;
  return error;
}

/* Notes what the clocks of the oldest segment's boot said last. */
static int look_at_boot(retention *retention, const contents *oldest) {
  ages *ages = &retention->ages;
  contents last = *oldest;
  uint64_t after;
  if (bytes_are_zero(oldest->boot_id, sizeof oldest->boot_id)) { /* of which no other is known to be */
    ages->dated_offset = offset_of(oldest);
    return 0;
  }
  int error = find_boot(retention, retention->first, retention->end, oldest->boot_id, 0, &after);
  if (error == 0 && after > retention->first + 1) error = read_at(retention, after - 1, &last);
  if (error != 0) return error;
  memcpy(ages->dated_boot_id, oldest->boot_id, sizeof ages->dated_boot_id);
  ages->dated_offset = offset_of(is_of_boot(&last, oldest->boot_id) ? &last : oldest);
  return 0;
}

static int date_oldest(retention *retention, const contents *oldest) {
  ages *ages = &retention->ages;
  int known = is_of_boot(oldest, ages->dated_boot_id);
  int error = ages->looked_back ? 0 : look_back(retention);
  if (error == 0 && !known) error = look_at_boot(retention, oldest);
  if (error != 0) return error;
  ages->date_ns = date_by(oldest, ages->dated_offset);
  ages->agreed = !bytes_are_zero(ages->before_boot_id, sizeof ages->before_boot_id) &&
                 memcmp(ages->before_boot_id, oldest->boot_id, sizeof ages->before_boot_id) != 0 &&
                 ages->before_ns > ages->date_ns &&
                 (uint64_t)minus(ages->before_ns, ages->date_ns) > retention->retain_ns;
  return 0;
}

/* By the wall clock, and by how long the log knows this boot. As age_is_reached. */
static int is_reached_by_date(const retention *retention, uint64_t now, uint64_t *left) {
  const ages *ages = &retention->ages;
  uint64_t retain = retention->retain_ns, known = now - ages->known_since, steady = now - ages->steady_since;
  if (known > retain) return 1;
  *left = retain - known;
  int64_t wall = sys_wall_ns();
  if (ages->date_ns < EARLIEST_NS || wall <= ages->date_ns) return 0;
  uint64_t age = (uint64_t)minus(wall, ages->date_ns), trust = lower(TRUST_NS, retain);
  if (age <= retain) {
    *left = lower(*left, retain - age);
    return 0;
  }
  if (ages->agreed || steady >= trust) return 1;
  *left = lower(*left, trust - steady);
  return 0;
}

/* ---- Either ------------------------------------------------------------------------------------------------------ */

/* Looks at the oldest segment, once. 0 or a negative errno. */
static int look_at_oldest(retention *retention, uint64_t now) {
  ages *ages = &retention->ages;
  contents oldest;
  int error = read_at(retention, retention->first, &oldest);
  if (error != 0) return error;
  if (!oldest.there) {
    ages->oldest = AGE_GONE;
  } else if (is_of_boot(&oldest, ages->boot_id)) {
    error = latest_of_oldest(retention, &oldest, (int64_t)now, &ages->latest_ns);
    ages->oldest = ages->latest_ns <= (int64_t)now ? AGE_MONOTONIC : AGE_UNKNOWN;
  } else {
    error = date_oldest(retention, &oldest);
    ages->oldest = AGE_DATED;
  }
  if (error != 0) ages->oldest = AGE_UNKNOWN;
  return error;
}

int age_is_reached(retention *retention, uint64_t *left) {
  ages *ages = &retention->ages;
  uint64_t now = monotonic_now(ages);
  int64_t offset = offset_now(ages);
  if (is_step(ages->offset, offset)) {
    ages->offset = offset;
    ages->steady_since = now;
  }
  int error = ages->oldest == AGE_UNKNOWN ? look_at_oldest(retention, now) : 0;
  if (error != 0) return error;
  if (ages->oldest == AGE_GONE) return 1; /* somebody removed it: there is nothing to keep */
  if (ages->oldest == AGE_DATED) return is_reached_by_date(retention, now, left);
  *left = retention->retain_ns;
  if (ages->oldest == AGE_UNKNOWN) return 0;
  uint64_t age = now - (uint64_t)ages->latest_ns;
  if (age > retention->retain_ns) return 1;
  *left = retention->retain_ns - age;
  return 0;
}
