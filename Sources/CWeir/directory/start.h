/*
 * start.h: the file `start`, which says where a log begins once retention has removed its oldest segments, and what was
 * in them. It is on the disk before a segment is unlinked, so what it names as removed is never taken for missing, and
 * what is still there below it is a leftover that the next opening removes.
 */
#ifndef WEIR_START_H
#define WEIR_START_H

#include "system/names.h"

#include "format/format.h"

#define START_PROBLEM "the file that says what was removed is damaged: what retention removed counts as missing"

/*
 * Reads it: 1; 0 if there is none, and then `slot` is all zeros; -EBADMSG if neither slot is good, -ENOTSUP for a newer
 * version, -ELOOP for what is no plain file, or another negative errno.
 */
int start_read(int directory, start_slot *slot);

/* Writes the next one, in the place of the older; after 0 it is on the disk. Makes the file if there is none. */
int start_write(int directory, start_slot *slot);

/*
 * Has the slot that was read on the disk, content and name. The process that wrote it may have been killed before it
 * had synced it: nothing that it names may go before that, or a power cut leaves neither. 0 or a negative errno.
 */
int start_confirm(int directory, const start_slot *slot);

#endif
