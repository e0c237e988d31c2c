/* stepper.c: see stepper.h. */
#include "check.h"
#include "replay.h"
#include "stepper.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>

/* No system call has this number: the child's word to its tracer. */
enum { MARK_CALL = 7001 };

void stepper_mark(int marked) { syscall(MARK_CALL, marked); }

#if defined(__x86_64__)

#include <sys/user.h>

/* ---- What an instruction may store to ---------------------------------------------------------------------------- */

typedef struct user_regs_struct registers;

static uint64_t register_value(const registers *r, unsigned number) {
  const uint64_t values[16] = {r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,
                               r->r8,  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15};
  return values[number & 15];
}

/* Prefixes of an instruction, decoded as far as the address of its memory operand depends on them. */
typedef struct prefixes {
  unsigned x, b;      /* the fourth bits of index and base */
  unsigned map;       /* opcode map: 0 one byte, 1 and up those of 0f */
  uint64_t scale;     /* of an 8-bit displacement: that of EVEX is in vectors */
  int far;            /* relative to a thread's own segment */
} prefixes;

static const uint8_t *skip_prefixes(const uint8_t *code, prefixes *p) {
  *p = (prefixes){.scale = 1};
  for (;; code++) {
    if (*code == 0x64 || *code == 0x65) p->far = 1;
    else if (*code != 0x66 && *code != 0x67 && *code != 0xf0 && *code != 0xf2 && *code != 0xf3 && *code != 0x2e &&
             *code != 0x36 && *code != 0x3e && *code != 0x26) break;
  }
  if (*code == 0xc5) {
    p->map = 1;
    return code + 2;
  }
  if (*code == 0xc4 || *code == 0x62) {
    int evex = *code == 0x62;
    p->x = (code[1] & 0x40) ? 0 : 8;
    p->b = (code[1] & 0x20) ? 0 : 8;
    p->map = code[1] & 7;
    if (evex) p->scale = UINT64_C(16) << (code[3] >> 5 & 3);
    return code + (evex ? 4 : 3);
  }
  if ((*code & 0xf0) == 0x40) {
    p->x = (*code & 2) ? 8 : 0;
    p->b = (*code & 1) ? 8 : 0;
    code++;
  }
  if (*code != 0x0f) return code;
  p->map = 1;
  if (code[1] == 0x38 || code[1] == 0x3a) {
    p->map = 2;
    return code + 2;
  }
  return code + 1;
}

static int has_operand(unsigned opcode) {
  if (opcode < 0x40) return (opcode & 7) < 4;
  return opcode == 0x63 || opcode == 0x69 || opcode == 0x6b || (opcode >= 0x80 && opcode <= 0x8f) ||
         opcode == 0xc0 || opcode == 0xc1 || opcode == 0xc6 || opcode == 0xc7 || (opcode >= 0xd0 && opcode <= 0xd3) ||
         (opcode >= 0xd8 && opcode <= 0xdf) || opcode == 0xf6 || opcode == 0xf7 || opcode == 0xfe || opcode == 0xff;
}

/*
 * The address of the memory operand of the instruction at `code`, or 0 where it has none but on its stack or beside its
 * code. That it may be read only, or an instruction be taken for one with an operand, costs a needless look. What would
 * be missed, the looks before each system call find.
 */
static uint64_t operand(const uint8_t *code, const registers *r) {
  prefixes p;
  code = skip_prefixes(code, &p);
  unsigned opcode = *code;
  if (p.far) return 0;
  if (p.map == 0) {
    if (opcode == 0xa4 || opcode == 0xa5 || opcode == 0xaa || opcode == 0xab) return r->rdi; /* string stores */
    if (!has_operand(opcode)) return 0;
  }
  unsigned modrm = code[1], mod = modrm >> 6, base = modrm & 7;
  const uint8_t *displacement = code + 2;
  if (mod == 3) return 0;
  uint64_t address;
  if (base == 4) {
    unsigned sib = code[2], index = (sib >> 3 & 7) | p.x;
    displacement++;
    base = sib & 7;
    address = index == 4 ? 0 : register_value(r, index) << (sib >> 6);
    if (base == 5 && mod == 0) mod = 2;
    else address += register_value(r, base | p.b);
  } else if (base == 5 && mod == 0) {
    return 0;
  } else {
    address = register_value(r, base | p.b);
  }
  int32_t wide = 0;
  if (mod == 1) address += (uint64_t)(int64_t)(int8_t)*displacement * p.scale;
  if (mod == 2) {
    memcpy(&wide, displacement, 4);
    address += (uint64_t)(int64_t)wide;
  }
  return address;
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

int stepper_available(void) {
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0);
  return wait_for(child) == 0;
}

void stepper_start(stepper *stepper, int (*main)(void *), void *argument) {
  stepper->child = fork();
  REQUIRE(stepper->child >= 0);
  if (stepper->child == 0) {
    alarm(0);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(120);
    raise(SIGSTOP);
    _exit(main(argument));
  }
  int status;
  REQUIRE(waitpid(stepper->child, &status, 0) == stepper->child && WIFSTOPPED(status));
  long options = PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;
  REQUIRE(ptrace(PTRACE_SETOPTIONS, stepper->child, NULL, options) == 0);
  stepper->threads[0] = (stepper_thread){stepper->child, THREAD_READY};
  stepper->count = 1;
}

static void resume(const stepper *stepper, enum __ptrace_request how) {
  pid_t id = stepper->threads[stepper->current].id;
  REQUIRE(ptrace(how, id, NULL, NULL) == 0);
}

static stepper_thread *thread_of(stepper *stepper, pid_t id) {
  for (uint32_t i = 0; i < stepper->count; i++) {
    if (stepper->threads[i].id == id) return &stepper->threads[i];
  }
  REQUIRE(stepper->count < STEPPER_THREADS);
  stepper->threads[stepper->count] = (stepper_thread){id, THREAD_READY};
  return &stepper->threads[stepper->count++];
}

/* A thread ended: for good, or with the whole process. */
static void note_end(stepper *stepper, stepper_thread *thread, int status) {
  thread->state = THREAD_GONE;
  if (thread->id != stepper->child) return;
  stepper->ended = 1;
  stepper->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Waits for one thread's next stop. 0: it ended. A thread that it starts on the way is waited for, too. */
static int wait_stop(stepper *stepper, stepper_thread *thread, int *status) {
  for (;;) {
    REQUIRE(waitpid(thread->id, status, __WALL) == thread->id);
    if (!WIFSTOPPED(*status)) {
      note_end(stepper, thread, *status);
      return 0;
    }
    if (*status >> 8 != (SIGTRAP | PTRACE_EVENT_CLONE << 8)) return 1;
    unsigned long made;
    int first;
    REQUIRE(ptrace(PTRACE_GETEVENTMSG, thread->id, NULL, &made) == 0);
    REQUIRE(waitpid((pid_t)made, &first, __WALL) == (pid_t)made && WIFSTOPPED(first));
    thread_of(stepper, (pid_t)made);
    REQUIRE(ptrace(PTRACE_SYSCALL, thread->id, NULL, NULL) == 0);
  }
}

static int is_call_stop(int status) { return WSTOPSIG(status) == (SIGTRAP | 0x80); }

/* Calls in which a thread may wait for another one. They change no file. */
static int may_wait(uint64_t call) {
  return call == SYS_futex || call == SYS_clock_nanosleep || call == SYS_nanosleep || call == SYS_pause ||
         call == SYS_poll || call == SYS_wait4;
}

static void returned(stepper *stepper, stepper_thread *thread, int maps_changed) {
  thread->state = THREAD_READY;
  if (stepper->marked) stepper->after_call(stepper->context, maps_changed);
}

/* After a call of exit_group, or a SIGKILL: its threads are reaped first, or the process is never seen to end. */
static void reap_all(stepper *stepper) {
  while (!stepper->ended) {
    int status;
    pid_t id = waitpid(-1, &status, __WALL);
    REQUIRE(id > 0);
    if (WIFSTOPPED(status)) ptrace(PTRACE_CONT, id, NULL, NULL);
    else note_end(stepper, thread_of(stepper, id), status);
  }
}

void stepper_kill(stepper *stepper) {
  kill(stepper->child, SIGKILL);
  reap_all(stepper);
}

/* The current thread stands before a system call's execution (at its entry stop): lets it happen. */
static void make_call(stepper *stepper, stepper_thread *thread) {
  registers r;
  REQUIRE(ptrace(PTRACE_GETREGS, thread->id, NULL, &r) == 0);
  uint64_t call = r.orig_rax;
  if (call == MARK_CALL) {
    stepper->marked = (int)r.rdi;
    stepper->mark_changed(stepper->context, stepper->marked);
  } else if (stepper->marked) {
    stepper->calls++;
  }
  if (call == SYS_exit_group) {
    resume(stepper, PTRACE_CONT);
    reap_all(stepper);
    return;
  }
  resume(stepper, PTRACE_SYSCALL);
  if (may_wait(call)) {
    thread->state = THREAD_IN_CALL;
    return;
  }
  int status;
  if (!wait_stop(stepper, thread, &status)) return;
  REQUIRE(is_call_stop(status));
  returned(stepper, thread, call == SYS_mmap || call == SYS_munmap || call == SYS_mremap);
}

/* Lets those threads go on whose call has returned; without any that is ready, waits for one. */
static void gather(stepper *stepper) {
  int ready = 0;
  for (uint32_t i = 0; i < stepper->count; i++) ready |= stepper->threads[i].state == THREAD_READY;
  for (uint32_t i = 0; i < stepper->count && !stepper->ended; i++) {
    stepper_thread *thread = &stepper->threads[i];
    int status;
    if (thread->state != THREAD_IN_CALL || waitpid(thread->id, &status, __WALL | WNOHANG) != thread->id) continue;
    if (!WIFSTOPPED(status)) note_end(stepper, thread, status);
    else if (is_call_stop(status)) returned(stepper, thread, 0);
    ready = 1;
  }
  if (!ready) sleep_ns(20000);
}

/* Chooses the thread to go on: at random among those that can. 0: none can. */
static int choose(stepper *stepper) {
  uint32_t ready[STEPPER_THREADS], count = 0;
  for (uint32_t i = 0; i < stepper->count; i++) {
    if (stepper->threads[i].state == THREAD_READY) ready[count++] = i;
  }
  if (count == 0) return 0;
  stepper->current = ready[replay_below(&stepper->random, count)];
  stepper->budget = stepper->quantum ? 1 + replay_below(&stepper->random, stepper->quantum) : UINT64_MAX;
  return 1;
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

/* From where the current thread stands to the entry of its next system call, and through it. */
static void run_to_call(stepper *stepper) {
  stepper_thread *thread = &stepper->threads[stepper->current];
  int status;
  resume(stepper, PTRACE_SYSCALL);
  if (!wait_stop(stepper, thread, &status)) return;
  if (!is_call_stop(status)) {
    fprintf(stderr, "the child was stopped by %s\n", strsignal(WSTOPSIG(status)));
    exit(3);
  }
  if (stepper->marked && stepper->calls_only) stepper->before_call(stepper->context);
  if (!stepper->stopped) make_call(stepper, thread);
}

static void step(stepper *stepper) {
  stepper_thread *thread = &stepper->threads[stepper->current];
  registers before, after;
  int status;
  REQUIRE(ptrace(PTRACE_GETREGS, thread->id, NULL, &before) == 0);
  const uint8_t *code = (const uint8_t *)before.rip; /* a forked child has the code where its parent has it */
  if (code[0] == 0x0f && code[1] == 0x05) {
    stepper->before_call(stepper->context);
    run_to_call(stepper);
    return;
  }
  uint64_t address = operand(code, &before);
  resume(stepper, PTRACE_SINGLESTEP);
  if (!wait_stop(stepper, thread, &status)) return;
  if (WSTOPSIG(status) != SIGTRAP) {
    fprintf(stderr, "the child was stopped by %s\n", strsignal(WSTOPSIG(status)));
    exit(3);
  }
  stepper->instructions++;
  if (address != 0) stepper->stored(stepper->context, address, 64);
  if (code[0] == 0xf3 || code[0] == 0xf2) { /* a string store may have gone on */
    REQUIRE(ptrace(PTRACE_GETREGS, thread->id, NULL, &after) == 0);
    if (after.rdi != before.rdi) stepper->stored(stepper->context, after.rdi - 64, 64);
  }
}

void stepper_run(stepper *stepper) {
  int chosen = 0;
  while (!stepper->ended && !stepper->stopped) {
    stepper_thread *thread = &stepper->threads[stepper->current];
    if (!chosen || thread->state != THREAD_READY || stepper->budget == 0) {
      gather(stepper);
      chosen = !stepper->ended && choose(stepper);
      continue;
    }
    if (stepper->budget != UINT64_MAX) stepper->budget--;
    if (stepper->marked && !stepper->calls_only) step(stepper);
    else run_to_call(stepper);
  }
}

#else

int stepper_available(void) { return 0; }
void stepper_start(stepper *stepper, int (*main)(void *), void *argument) {
  (void)stepper, (void)main, (void)argument;
  abort();
}
void stepper_run(stepper *stepper) {
  (void)stepper;
  abort();
}
void stepper_kill(stepper *stepper) {
  (void)stepper;
  abort();
}

#endif
