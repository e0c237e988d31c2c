/*
 * images.h: what a power cut may have left of a recorded log. At a moment of the recording each page of each file is
 * one of its versions, no older than what a completed sync has put on the disk, no newer than the moment; or, sector by
 * sector of 512 bytes, of several of them. Each change of names that no sync of the directory covers was made or not.
 * Contents and names have nothing to do with one another, nor have two pages.
 */
#ifndef WEIR_REPLAY_IMAGES_H
#define WEIR_REPLAY_IMAGES_H

#include "recording.h"

/* What the pages of an image are. */
typedef enum image_contents {
  CONTENTS_NEW,      /* the kernel had written everything */
  CONTENTS_OLD,      /* nothing that no sync asked for */
  CONTENTS_ANY,      /* each page any version */
  CONTENTS_TORN,     /* each sector of each page any version */
  CONTENTS_ONE_OLD,  /* all new, but for one page */
  CONTENTS_ONE_NEW,  /* all old, but for one page */
  CONTENTS_TORN_ONE, /* all new, but for one page that is torn */
  CONTENTS_RUN,      /* each file new up to some page, old from there on, or the other way round */
  CONTENTS_KINDS
} image_contents;

typedef enum image_names {
  NAMES_NEW,
  NAMES_OLD,
  NAMES_FIRST, /* the first so many changes were made, as with a journal */
  NAMES_ANY,    /* each was made or not, where it still could be */
  NAMES_KINDS
} image_names;

/* What blocks that nobody had written hold: file systems that keep their promises give zeros. */
typedef enum image_blanks { BLANKS_ZERO, BLANKS_GARBAGE, BLANKS_OTHER_FILE, BLANKS_KINDS } image_blanks;

typedef struct image_plan {
  uint32_t moment;
  image_contents contents;
  image_names names;
  image_blanks blanks;
  int old_sizes; /* a file may be as long as it was before: of length zero, too */
  uint64_t seed;
} image_plan;

/* A random plan: each kind comes up. Garbage is rare, for no file system that Weir is made for leaves it. */
image_plan image_plan_random(const recording *recording, uint64_t seed);

/* One line that tells of the plan. */
const char *image_describe(const image_plan *plan);

/* Makes the image, a directory `path` that is not there yet. */
void image_build(const recording *recording, const image_plan *plan, const char *path);

#endif
