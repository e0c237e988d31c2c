/*
 * peer.c: LTTng-UST as a peer. Starts a session daemon of its own, records into per-processor buffers in discard mode
 * (a full buffer discards the event and counts it), and counts the events of the trace with babeltrace2.
 *
 * A daemon of root's has its sockets in a fixed place, so one that runs already is used, and left running; one that
 * this starts ends with the process, however that ends. Where it is not root, LTTNG_HOME is a scratch folder.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <lttng/lttng.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"

#define CHANNEL "checkouts"

typedef struct subject {
  char session[64];
  char trace[400];
  struct lttng_handle *handle;
} subject;

static struct {
  pid_t daemon; /* 0: none that this process started */
  char home[64]; /* scratch folder, or empty */
  uint64_t (*burst)(uint64_t first, uint64_t count, const char *text);
  int (*is_recorded)(void);
  uint32_t sessions;
} lttng;

static void pause_ms(long ms) {
  struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

/* ---- The daemon -------------------------------------------------------------------------------------------------- */

/* In the child: nothing here may allocate or lock, for the parent has other threads. */
static void become_daemon(pid_t parent) {
  cpu_set_t mine, first;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  CPU_ZERO(&first);
  if (sched_getaffinity(0, sizeof mine, &mine) == 0) {
    /* One processor for all rounds: with more threads fewer are free, and the daemon stays. */
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
      if (!CPU_ISSET(cpu, &mine)) continue;
      CPU_SET(cpu, &first);
      sched_setaffinity(0, sizeof first, &first);
      break;
    }
  }
  if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(1);
  execlp("lttng-sessiond", "lttng-sessiond", "--no-kernel", "--quiet", (char *)NULL);
  _exit(127);
}

static void end_daemon(void) {
  if (lttng.daemon > 0) {
    kill(lttng.daemon, SIGTERM);
    waitpid(lttng.daemon, NULL, 0);
    lttng.daemon = 0;
  }
  if (lttng.home[0]) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", lttng.home);
    if (system(command) != 0) fprintf(stderr, "lttng-ust: could not remove %s\n", lttng.home);
  }
}

static int start_daemon(char *message) {
  if (getuid() != 0) {
    strcpy(lttng.home, "/tmp/weir-lttng-XXXXXX");
    if (!mkdtemp(lttng.home)) {
      lttng.home[0] = 0;
      snprintf(message, PEER_MESSAGE_BYTES, "no scratch folder: %s", strerror(errno));
      return -1;
    }
    setenv("LTTNG_HOME", lttng.home, 1);
  }
  atexit(end_daemon);
  if (lttng_session_daemon_alive() == 1) return 0;
  pid_t parent = getpid();
  lttng.daemon = fork();
  if (lttng.daemon == 0) become_daemon(parent);
  for (int i = 0; i < 200; i++) {
    if (lttng_session_daemon_alive() == 1) return 0;
    if (waitpid(lttng.daemon, NULL, WNOHANG) == lttng.daemon) {
      lttng.daemon = 0;
      snprintf(message, PEER_MESSAGE_BYTES, "lttng-sessiond does not start (install lttng-tools)");
      return -1;
    }
    pause_ms(25);
  }
  snprintf(message, PEER_MESSAGE_BYTES, "lttng-sessiond does not answer");
  return -1;
}

/* Starts the daemon, then loads LTTng-UST. Once a process; a failure stays one. */
static int prepare(char *message) {
  Dl_info info;
  char folder[300], path[340];
  if (lttng.burst) return 0;
  if (!dladdr((void *)prepare, &info)) return -1;
  snprintf(folder, sizeof folder, "%s", info.dli_fname);
  *strrchr(folder, '/') = 0;
  snprintf(path, sizeof path, "%s/liblttng-clock.so", folder);
  setenv("LTTNG_UST_CLOCK_PLUGIN", path, 1);
  if (start_daemon(message) != 0) return -1;
  snprintf(path, sizeof path, "%s/liblttng-event.so", folder);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(message, PEER_MESSAGE_BYTES, "%s", dlerror());
    return -1;
  }
  *(void **)&lttng.is_recorded = dlsym(library, "lttng_event_is_recorded");
  *(void **)&lttng.burst = dlsym(library, "lttng_event_burst");
  return lttng.burst && lttng.is_recorded ? 0 : -1;
}

/* ---- A session --------------------------------------------------------------------------------------------------- */

static int record(subject *peer) {
  struct lttng_domain domain = {.type = LTTNG_DOMAIN_UST, .buf_type = LTTNG_BUFFER_PER_UID};
  int good = 0;
  if (lttng_create_session(peer->session, peer->trace) < 0) return -1;
  peer->handle = lttng_create_handle(peer->session, &domain);
  struct lttng_channel *channel = lttng_channel_create(&domain);
  struct lttng_event *event = lttng_event_create();
  if (peer->handle && channel && event) {
    snprintf(channel->name, sizeof channel->name, CHANNEL);
    channel->attr.overwrite = 0;
    channel->attr.subbuf_size = 1 << 20;
    channel->attr.num_subbuf = 4;
    event->type = LTTNG_EVENT_TRACEPOINT;
    snprintf(event->name, sizeof event->name, "weir_bench:checkout");
    event->loglevel_type = LTTNG_EVENT_LOGLEVEL_ALL;
    good = lttng_enable_channel(peer->handle, channel) >= 0 &&
           lttng_enable_event(peer->handle, event, CHANNEL) >= 0 && lttng_start_tracing(peer->session) >= 0;
  }
  lttng_channel_destroy(channel);
  lttng_event_destroy(event);
  return good ? 0 : -1;
}

static void abandon(subject *peer) {
  lttng_destroy_session(peer->session);
  if (peer->handle) lttng_destroy_handle(peer->handle);
  free(peer);
}

static void *open_session(const char *directory, uint32_t threads, uint32_t text_bytes, char *message) {
  (void)threads;
  (void)text_bytes;
  snprintf(message, PEER_MESSAGE_BYTES, "out of memory, or no such function");
  if (prepare(message) != 0) return NULL;
  subject *peer = calloc(1, sizeof *peer);
  if (!peer) return NULL;
  snprintf(peer->session, sizeof peer->session, "weir-bench-%d-%u", (int)getpid(), lttng.sessions++);
  snprintf(peer->trace, sizeof peer->trace, "%s/trace", directory);
  if (record(peer) != 0) {
    snprintf(message, PEER_MESSAGE_BYTES, "the daemon refused a session");
    abandon(peer);
    return NULL;
  }
  for (int i = 0; i < 2000 && !lttng.is_recorded(); i++) pause_ms(5);
  if (!lttng.is_recorded()) {
    snprintf(message, PEER_MESSAGE_BYTES, "the daemon did not enable the event in this process");
    abandon(peer);
    return NULL;
  }
  return peer;
}

static uint64_t burst(void *peer, uint32_t thread, uint64_t first, uint64_t count, const char *text) {
  (void)peer;
  (void)thread;
  return lttng.burst(first, count, text);
}

/* The buffers hold 4 MiB a processor, a burst takes 0.1: the consumer needs no more than a moment. */
static int settle(void *peer) {
  (void)peer;
  struct timespec time = {0, 200000};
  nanosleep(&time, NULL);
  return 0;
}

static int discarded_events(const subject *peer, uint64_t *discarded) {
  struct lttng_channel *channels;
  int count = lttng_list_channels(peer->handle, &channels);
  int good = count == 1 && lttng_channel_get_discarded_event_count(&channels[0], discarded) == 0;
  if (count > 0) free(channels);
  return good ? 0 : -1;
}

/* Counts the events of the trace, by babeltrace2's counter: "N Event messages". */
static int count_events(const subject *peer, uint64_t *count) {
  char command[512], line[256];
  *count = 0;
  snprintf(command, sizeof command, "babeltrace2 '%s' --component=sink.utils.counter --params=step=+0 2>/dev/null",
           peer->trace);
  FILE *output = popen(command, "r");
  if (!output) return -1;
  while (fgets(line, sizeof line, output)) {
    unsigned long long number;
    char word[32];
    if (sscanf(line, "%llu %31s", &number, word) == 2 && strcmp(word, "Event") == 0) *count = number;
  }
  return pclose(output) == 0 ? 0 : -1;
}

static int finish(void *handle, peer_delivery *delivery, char *message) {
  subject *peer = handle;
  int good = lttng_stop_tracing(peer->session) >= 0 && discarded_events(peer, &delivery->dropped) == 0;
  if (!good) snprintf(message, PEER_MESSAGE_BYTES, "the daemon did not say what it discarded");
  if (lttng_destroy_session(peer->session) < 0) good = 0;
  if (good && count_events(peer, &delivery->delivered) != 0) {
    snprintf(message, PEER_MESSAGE_BYTES, "babeltrace2 can't read the trace (install babeltrace2)");
    good = 0;
  }
  lttng_destroy_handle(peer->handle);
  free(peer);
  return good ? 0 : -1;
}

__attribute__((visibility("default"))) const peer_table peer_subject = {PEER_VERSION, 0,      open_session,
                                                                        burst,        settle, finish};
