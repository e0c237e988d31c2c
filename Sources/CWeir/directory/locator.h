/*
 * locator.h: where the ring lies. In the log's directory, unless a locator there (ring.at, see FileFormat.md) names
 * another directory, on tmpfs by intent, where writeback never stops a capture.
 *
 * What is kept true: a locator in use is in force over a `ring` in the log's directory; one that is marked as closed is
 * not. So each change of the ring's place has one step that decides, a rename or an unlink in the log's directory, and
 * at that step neither the old ring nor the new one holds an event. A ring that a locator names and that is not there
 * has vanished (a restart of the machine, a file removed): an unknown loss, and never taken for a close.
 */
#ifndef WEIR_LOCATOR_H
#define WEIR_LOCATOR_H

#include "system/names.h"

#include "format/format.h"

#define RING_AT_FOREIGN "the file that says where the ring is belongs to another log"

typedef enum whereabouts {
  RING_HERE,      /* in the log's directory, if there is one */
  RING_ELSEWHERE, /* where the locator says; it, or the file that becomes it */
  RING_VANISHED,  /* not where the locator says; or the locator was copied here from another log's directory */
  RING_CLOSED     /* removed by a close; there is none */
} whereabouts;

typedef struct ring_place {
  whereabouts where;
  int directory;        /* of the ring's file; the log's own descriptor unless ELSEWHERE */
  char name[40];        /* of the ring's file in it */
  char new_name[48];    /* of the file that becomes it */
  int has_locator;
  int own;              /* the locator was made in this directory */
  int another_logs;     /* there is a locator, but of another log: it is not in force, and counts as absent */
  ring_locator locator;
} ring_place;

/*
 * Looks for the ring of the log in `home`. 0 or a negative errno: -EBADMSG for a damaged locator, -ENOTSUP for one of a
 * newer version, others where the directory that it names can't be looked at. After 0, locator_leave is to be called.
 */
int locator_find(int home, ring_place *place);
void locator_leave(ring_place *place);

/* The log's own directory as the place of its ring, whatever a locator says. */
ring_place locator_here(int home);

/* The text for messages: the directory that the ring's file is in. */
const char *locator_path(const ring_place *place, const char *home_path);

/*
 * Sets `place` to a new ring's in the directory `path`, open as `directory`: the old one's file where that is a ring in
 * the same directory, else a file with a name of its own. 0 or a negative errno.
 */
int locator_choose(int home, const ring_place *old, int directory, const char *path, ring_place *place);

/* Puts the new ring's locator beside the one in force, so that whatever comes, the next opening finds the new file. */
int locator_announce(int home, const ring_place *place);

/* Puts what was announced in force; after 0 it is so on the disk. */
int locator_commit(int home);

/*
 * Marks a drained ring elsewhere as closed, then removes its file: nothing of a closed log stays in memory. Killed in
 * between, the next opening removes it. `next_offset` follows the last event.
 */
int locator_retire(int home, ring_place *place, uint64_t next_offset);

/*
 * Removes what openings that did not get to their end left: a ring that was announced and not put in force, a ring
 * whose closing was not finished, and with `made` (there is a ring) the file that would have become another.
 */
int locator_clear(int home, const ring_place *place, int made);

/* Whether only those who may write to the log can write to a directory: mode and owner. 1, 0, or a negative errno. */
int locator_is_safe(int home, int directory);

#endif
