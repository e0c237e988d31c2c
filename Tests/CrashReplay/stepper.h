/*
 * stepper.h: runs a child process one instruction at a time, and tells after each of them which bytes it may have
 * stored to. All threads of the child are traced. At any moment at most one of them runs; the others stand still, or
 * wait in the kernel (a futex, a sleep). So the child's files are, between any two steps, exactly what a SIGKILL at
 * that moment would leave.
 *
 * A step is one instruction, or one system call; with calls_only the latter alone. Outside of the part that the child
 * marks it runs from system call to system call. On processors other than x86-64, or where ptrace is forbidden,
 * stepper_available says no.
 */
#ifndef WEIR_REPLAY_STEPPER_H
#define WEIR_REPLAY_STEPPER_H

#include <stdint.h>
#include <sys/types.h>

enum { STEPPER_THREADS = 32 };

typedef enum stepper_state { THREAD_READY, THREAD_IN_CALL, THREAD_GONE } stepper_state;

typedef struct stepper_thread {
  pid_t id;
  stepper_state state;
} stepper_thread;

typedef struct stepper {
  pid_t child;
  stepper_thread threads[STEPPER_THREADS];
  uint32_t count;
  uint32_t current;
  uint64_t budget;      /* instructions until another thread may go on */
  uint64_t quantum;     /* the largest budget; 0: until it waits in the kernel */
  uint64_t random;      /* state of the random choices */
  int marked;           /* in the part that the child marked */
  int calls_only;       /* a step is all up to a system call, and that: for what stores nothing into mapped files */
  int stopped;          /* set by one of the functions: enough */
  int ended;            /* the child has */
  int exit_status;
  uint64_t instructions, calls; /* in the marked part */
  void *context;
  void (*stored)(void *context, uint64_t address, uint64_t bytes); /* an instruction may have stored there */
  void (*before_call)(void *context);                              /* a thread is about to make a system call */
  void (*after_call)(void *context, int maps_changed);             /* it returned */
  void (*mark_changed)(void *context, int marked);
} stepper;

int stepper_available(void);

/* Forks; the child runs `main` and ends with what it answers. It stands still until stepper_run. */
void stepper_start(stepper *stepper, int (*main)(void *argument), void *argument);

/* In the child: the part to be stepped through begins (1) or ends (0). */
void stepper_mark(int marked);

/* Runs the child to its end, or until one of the functions has set `stopped`. */
void stepper_run(stepper *stepper);

/* Ends a child that has not ended. */
void stepper_kill(stepper *stepper);

#endif
