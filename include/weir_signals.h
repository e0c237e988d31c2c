/*
 * weir_signals.h: signals that the host handed over, taken to a thread that may do what a handler may not.
 *
 * For Weir's Swift part; no interface for programs.
 *
 * The handler does what is safe between any two instructions: it compares a process id and writes a note, short enough
 * to be written whole, into a pipe that does not block. A thread waits at the other end, does its work, and passes the
 * signal on to its former owner. For a signal taken with `once` the former handler is installed again by then, and the
 * signal is sent to the process once more: the handler runs on the thread, and interrupts the wait, that it would have.
 * Otherwise the waiting thread calls the former handler itself, without a context; without a handler it takes the
 * default action.
 *
 * A pipe is made when a signal is first taken and never closed, so that a handler that still runs on some thread while
 * the signal is given back writes to nothing else. A child of a fork has the handlers too, and the parent's pipe: there
 * a handler passes the signal on at once.
 *
 * Calls for one signal must not overlap; the handler may run beside them.
 */
#ifndef WEIR_SIGNALS_H
#define WEIR_SIGNALS_H

#ifdef __cplusplus
extern "C" {
#endif

/* How many signals there are to take: SIGCONT, SIGTSTP and SIGTERM. */
enum { WEIR_SIGNALS = 3 };

/* Takes a signal. Answers the end of the pipe to wait at, or an errno as a negative number: EBUSY if it is taken. With
 * `once` the first signal restores the former action, which gets the second. */
int weir_signal_take(int number, int once);

/* Gives a signal back: the former handler is installed, unless another was installed over ours, which then goes on
 * passing signals on. */
void weir_signal_release(int number);

/* Waits at `wake` and at the pipes of the signals; for ever if `milliseconds` is negative. Answers the number of a
 * signal that came, of which the note is taken; 0 if the time passed or somebody woke it. */
int weir_signal_wait(int wake, const int *numbers, int count, int milliseconds);

/* Passes on the signal of the last note, once: calls the former handler, ends the process, or stops it and returns once
 * the process goes on. Does not stop if SIGCONT is taken too, and came since. */
void weir_signal_pass_on(int number);

/* A descriptor to wake weir_signal_wait by, or an errno as a negative number; and waking, from any thread. */
int weir_wake_open(void);
void weir_wake(int wake);
void weir_wake_close(int wake);

#ifdef __cplusplus
}
#endif

#endif
