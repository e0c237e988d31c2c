/* shim.h: ncurses with wide characters, and what of it is macros that Swift does not see. */
#ifndef WEIR_NCURSES_SHIM_H
#define WEIR_NCURSES_SHIM_H

#define NCURSES_WIDECHAR 1
#include <ncurses.h>
#include <wchar.h>

/* Of term.h, whose macros have the names of half of the world, and of wchar.h, where it is asked for by a macro. */
extern int setupterm(const char *kind, int fd, int *problem);
extern int wcwidth(wchar_t character);

enum shim_attributes { SHIM_PLAIN = 0, SHIM_BOLD = 1, SHIM_DIM = 2, SHIM_REVERSE = 4 };

/* Whether the terminal of standard output is of a known kind. For an unknown one initscr would end the process. */
static inline int shim_is_known(void) {
  int problem = 0;
  return setupterm(NULL, 1, &problem) == OK;
}

/* Sets the attributes and the pair of colours of what is written from now on. */
static inline void shim_set_style(WINDOW *window, int attributes, short pair) {
  attr_t set = A_NORMAL;
  if (attributes & SHIM_BOLD) set |= A_BOLD;
  if (attributes & SHIM_DIM) set |= A_DIM;
  if (attributes & SHIM_REVERSE) set |= A_REVERSE;
  wattr_set(window, set, pair, NULL);
}

static inline int shim_height(WINDOW *window) { return getmaxy(window); }
static inline int shim_width(WINDOW *window) { return getmaxx(window); }

/* The columns that a terminal gives a character, by the locale; -1: it can't be shown. */
static inline int shim_columns(unsigned character) { return wcwidth((wchar_t)character); }

#endif
