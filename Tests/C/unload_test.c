/*
 * unload_test.c: a plug-in with the library inside that is unloaded (dlclose) once its log is closed and freed. Nothing
 * of the process may call into the plug-in any more: a thread that had captured ends, the process forks. With a guard
 * the plug-in stays in memory, for a handler of SIGBUS that was installed later calls the plug-in's. The plug-in is
 * unloaded.so, beside this program.
 */
#include "check.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

typedef struct plugin {
  void *handle;
  int (*open)(const char *directory, int has_guard);
  int (*capture)(void);
  int (*close)(void);
} plugin;

static const char *plugin_path(void) {
  static char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 20);
  REQUIRE(length > 0);
  path[length] = 0;
  strcpy(strrchr(path, '/') + 1, "unloaded.so");
  return path;
}

static plugin load(void) {
  plugin plugin = {.handle = dlopen(plugin_path(), RTLD_NOW | RTLD_LOCAL)};
  if (!plugin.handle) fprintf(stderr, "%s\n", dlerror());
  if (!plugin.handle) _exit(2);
  *(void **)&plugin.open = dlsym(plugin.handle, "plugin_open");
  *(void **)&plugin.capture = dlsym(plugin.handle, "plugin_capture");
  *(void **)&plugin.close = dlsym(plugin.handle, "plugin_close");
  return plugin;
}

static sem_t captured, unloaded;

static void *capture_and_wait(void *context) {
  plugin *plugin = context;
  int drop = plugin->capture();
  sem_post(&captured);
  sem_wait(&unloaded);
  return (void *)(intptr_t)drop;
}

static void host_handler(int signal) {
  (void)signal;
  _exit(42);
}

static struct sigaction before_later;

/* As that of another copy of the library, which was installed later. */
static void later_handler(int signal, siginfo_t *info, void *context) {
  before_later.sa_sigaction(signal, info, context);
}

static void install_later(void) {
  struct sigaction later = {.sa_flags = SA_SIGINFO, .sa_sigaction = later_handler};
  sigaction(SIGBUS, &later, &before_later);
  if (!(before_later.sa_flags & SA_SIGINFO)) _exit(11);
}

/* Loads the plug-in, has a thread of its own capture, unloads it, lets the thread end; twice. Ends by a SIGBUS. */
static void host(const char *directory, int has_guard) {
  signal(SIGBUS, host_handler);
  sem_init(&captured, 0, 0);
  sem_init(&unloaded, 0, 0);
  for (int round = 0; round < 2; round++) {
    plugin plugin = load();
    if (plugin.open(directory, has_guard) != WEIR_OK) _exit(3);
    if (has_guard && round == 0) install_later();
    pthread_t thread;
    void *drop;
    if (pthread_create(&thread, NULL, capture_and_wait, &plugin) != 0) _exit(4);
    sem_wait(&captured);
    if (plugin.capture() != WEIR_ACCEPTED || plugin.close() != WEIR_OK) _exit(5);
    if (dlclose(plugin.handle) != 0) _exit(6);
    /* Without a guard the plug-in is gone, or this would show nothing. */
    if (has_guard != !!dlopen(plugin_path(), RTLD_NOW | RTLD_NOLOAD)) _exit(7);
    pid_t child = fork();
    if (child == 0) _exit(0);
    if (child < 0 || wait_for(child) != 0) _exit(8);
    sem_post(&unloaded);
    if (pthread_join(thread, &drop) != 0 || drop) _exit(9);
  }
  raise(SIGBUS);
  _exit(10);
}

static void check_host(int has_guard) {
  char *folder = scratch();
  fflush(stdout);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) host(join(folder, "log"), has_guard);
  CHECK_EQUAL(wait_for(child), 42);
  scratch_remove(folder);
}

int main(void) {
  test("a plug-in is unloaded after its log was freed: threads that captured end, the process forks and has its signals");
  check_host(0);
  test("the same with a guard, and with a handler of SIGBUS that was installed after the plug-in's");
  check_host(1);
  return finish();
}
