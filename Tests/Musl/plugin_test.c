/*
 * plugin_test.c: a plug-in with the library inside, loaded by musl's dlopen: by a program of which a thread runs
 * already, and which captures in a signal handler. The plug-in is plugin.so (Tests/C/unloaded.c), beside this program.
 */
#include "capture_check.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

enum { CAPTURES = 100 };

static int (*capture)(void);
static sem_t loaded, handled;
static int refused, refused_in_handler;

static const char *plugin_path(void) {
  static char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 20);
  REQUIRE(length > 0);
  path[length] = 0;
  strcpy(strrchr(path, '/') + 1, "plugin.so");
  return path;
}

static void *capture_later(void *context) {
  sem_wait(&loaded);
  for (int i = 0; i < CAPTURES; i++) refused += capture() != WEIR_ACCEPTED;
  return context;
}

static void on_signal(int signal) {
  (void)signal;
  refused_in_handler += capture() != WEIR_ACCEPTED;
  sem_post(&handled);
}

/* A thread that has not captured yet: its first capture is the handler's. */
static void *be_interrupted(void *context) {
  pthread_kill(pthread_self(), SIGUSR1);
  sem_wait(&handled);
  return context;
}

int main(void) {
  test("a plug-in is loaded beside a running thread; that thread and a signal handler on a later one capture");
  char *folder = scratch();
  const char *directory = join(folder, "log");
  pthread_t early, interrupted;
  sem_init(&loaded, 0, 0);
  sem_init(&handled, 0, 0);
  REQUIRE(pthread_create(&early, NULL, capture_later, NULL) == 0);
  void *plugin = dlopen(plugin_path(), RTLD_NOW | RTLD_LOCAL);
  if (!plugin) fprintf(stderr, "%s\n", dlerror());
  REQUIRE(plugin);
  int (*open)(const char *), (*close)(void);
  *(void **)&open = dlsym(plugin, "plugin_open");
  *(void **)&capture = dlsym(plugin, "plugin_capture");
  *(void **)&close = dlsym(plugin, "plugin_close");
  REQUIRE(open && capture && close);
  REQUIRE(open(directory) == WEIR_OK);
  signal(SIGUSR1, on_signal);
  sem_post(&loaded);
  REQUIRE(pthread_create(&interrupted, NULL, be_interrupted, NULL) == 0);
  pthread_join(early, NULL);
  pthread_join(interrupted, NULL);
  CHECK_EQUAL(refused, 0);
  CHECK_EQUAL(refused_in_handler, 0);
  CHECK_EQUAL(close(), WEIR_OK);

  weir_verification verification;
  weir_error error;
  CHECK_EQUAL(weir_verify(directory, NULL, NULL, &verification, &error), WEIR_OK);
  CHECK_EQUAL(verification.findings, 0);
  CHECK_EQUAL(verification.events, CAPTURES + 1);
  scratch_remove(folder);
  return finish();
}
