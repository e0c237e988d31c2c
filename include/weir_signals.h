/*
 * weir_signals.h: signals that the host handed over, taken to a thread that may do what a handler may not.
 *
 * For Weir's Swift part; no interface for programs.
 *
 * The handler does what is safe between any two instructions: it compares a process id and writes one note, of fewer
 * bytes than a pipe takes in parts, into a pipe that does not block. Somebody waits at the other end, does what is to be
 * done, and passes the signal on to whom it belonged before. Of signals that are taken once a handler is in its place
 * again by then, and the signal is sent to this process once more: the handler runs where it would have run, and
 * interrupts what the thread waits in. Another one is called there, without a context. Or the default action happens.
 *
 * A pipe is made when a signal is first taken and never closed, so that a handler that still runs on some thread while
 * the signal is given back writes to nothing else. A child of a fork has the handlers too, and the parent's pipe: there
 * a handler passes the signal on at once.
 *
 * All but the handler: one call at a time for one signal.
 */
#ifndef WEIR_SIGNALS_H
#define WEIR_SIGNALS_H

#ifdef __cplusplus
extern "C" {
#endif

/* How many signals there are to take: SIGCONT, SIGTSTP and SIGTERM. */
enum { WEIR_SIGNALS = 3 };

/* Takes a signal. Answers the end of the pipe to wait at, or an errno as a negative number: EBUSY if it is taken. With
 * `once` the first one gives it back: a second signal is its former owner's at once. */
int weir_signal_take(int number, int once);

/* Gives a signal back: the earlier handler is put in place, unless somebody put another in the place of ours, which then
 * goes on passing signals on. */
void weir_signal_release(int number);

/* Waits at `wake` and at the pipes of the signals; for ever if `milliseconds` is negative. Answers the number of a
 * signal that came, of which the note is taken; 0 if the time passed or somebody woke it. */
int weir_signal_wait(int wake, const int *numbers, int count, int milliseconds);

/* Does what would have happened without us, once for the last note of the signal that was taken: has the handler that
 * was there before called, ends the process, or stops it and returns once it goes on. It does not stop if SIGCONT is
 * taken, too, and came since. */
void weir_signal_pass_on(int number);

/* A descriptor to wake weir_signal_wait by, or an errno as a negative number; and waking, from any thread. */
int weir_wake_open(void);
void weir_wake(int wake);
void weir_wake_close(int wake);

#ifdef __cplusplus
}
#endif

#endif
