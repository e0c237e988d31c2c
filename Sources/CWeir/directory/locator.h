/*
 * locator.h: where the ring lies: in the log's directory, unless a locator there (ring.at, see FileFormat.md) names
 * another directory, which should be on tmpfs, where writeback never stops a capture.
 *
 * What is kept true: a locator takes precedence over a `ring` in the log's directory, unless the locator is marked as
 * closed. So one step decides each change of the ring's place, a rename or an unlink in the log's directory; at that
 * step neither the old ring nor the new one holds an event. A ring that is not where the locator says has vanished (the
 * machine restarted, somebody removed the file): an unknown loss, never taken for a close.
 */
#ifndef WEIR_LOCATOR_H
#define WEIR_LOCATOR_H

#include "system/names.h"

#include "format/format.h"

#define RING_AT_FOREIGN "the file that says where the ring is belongs to another log"

typedef enum whereabouts {
  RING_HERE,      /* in the log's directory, if there is one */
  RING_ELSEWHERE, /* where the locator says: the ring, or the file that becomes it */
  RING_VANISHED,  /* not where the locator says; or the locator was copied here from another log's directory */
  RING_CLOSED     /* there is none: a close has removed it */
} whereabouts;

typedef struct ring_place {
  whereabouts where;
  int directory;        /* of the ring's file; the log's own descriptor unless ELSEWHERE */
  char name[40];        /* of the ring's file in that directory */
  char new_name[48];    /* of the file that becomes the ring */
  int has_locator;
  int own;              /* the locator was made in this directory */
  int another_logs;     /* there is a locator, but of another log: it counts as absent */
  ring_locator locator;
} ring_place;

/*
 * Looks for the ring of the log in `home`. 0 or a negative errno: -EBADMSG for a damaged locator, -ENOTSUP for one of a
 * newer version, others where the directory that it names can't be looked at. After 0, locator_leave is to be called.
 */
int locator_find(int home, ring_place *place);
void locator_leave(ring_place *place);

/* The log's own directory as the ring's place, without a look at the locator. */
ring_place locator_here(int home);

/* The directory of the ring's file, for messages. */
const char *locator_path(const ring_place *place, const char *home_path);

/*
 * Sets `place` to the place of a new ring in the directory `path`, open as `directory`: the old ring's file if that is
 * in the same directory, else a file with a new name. 0 or a negative errno.
 */
int locator_choose(int home, const ring_place *old, int directory, const char *path, ring_place *place);

/* Writes the new ring's locator beside the one in force, so that the next opening finds the new file in any case. */
int locator_announce(int home, const ring_place *place);

/* Puts the announced locator in force. After 0 that is on the disk. */
int locator_commit(int home);

/*
 * Marks a drained ring elsewhere as closed, then removes its file, so that no part of a closed log stays in memory.
 * After a kill in between, the next opening removes the file. `next_offset`: the offset after the last event.
 */
int locator_close(int home, ring_place *place, uint64_t next_offset);

/*
 * Removes what incomplete openings left: a ring that was announced and not put in force, a ring whose close was not
 * finished, and with `made` (there is a ring) the file that would have become another ring.
 */
int locator_clear(int home, const ring_place *place, int made);

/* Whether only those who may write to the log can write to a directory: mode and owner. 1, 0, or a negative errno. */
int locator_is_safe(int home, int directory);

#endif
