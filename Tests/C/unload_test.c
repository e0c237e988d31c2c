/*
 * unload_test.c: a plug-in with the library inside that is unloaded (dlclose) once its log is closed and freed. Nothing
 * of the process may call into it any more: a thread that had captured ends, the process forks, a SIGBUS comes. The
 * plug-in is unloaded.so, beside this program.
 */
#include "check.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

typedef struct plugin {
  void *handle;
  int (*open)(const char *directory);
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

/* Loads the plug-in, has a thread of its own capture, unloads it, lets the thread end; twice. Ends by a SIGBUS. */
static void host(const char *directory) {
  signal(SIGBUS, host_handler);
  sem_init(&captured, 0, 0);
  sem_init(&unloaded, 0, 0);
  for (int round = 0; round < 2; round++) {
    plugin plugin = load();
    if (plugin.open(directory) != WEIR_OK) _exit(3);
    pthread_t thread;
    void *drop;
    if (pthread_create(&thread, NULL, capture_and_wait, &plugin) != 0) _exit(4);
    sem_wait(&captured);
    if (plugin.capture() != WEIR_ACCEPTED || plugin.close() != WEIR_OK) _exit(5);
    if (dlclose(plugin.handle) != 0) _exit(6);
    if (dlopen(plugin_path(), RTLD_NOW | RTLD_NOLOAD)) _exit(7); /* it is gone, or this would show nothing */
    pid_t child = fork();
    if (child == 0) _exit(0);
    if (child < 0 || wait_for(child) != 0) _exit(8);
    sem_post(&unloaded);
    if (pthread_join(thread, &drop) != 0 || drop) _exit(9);
  }
  raise(SIGBUS);
  _exit(10);
}

int main(void) {
  test("a plug-in is unloaded after its log was freed: threads that captured end, the process forks and has its signals");
  char *folder = scratch();
  fflush(stdout);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) host(join(folder, "log"));
  CHECK_EQUAL(wait_for(child), 42);
  scratch_remove(folder);
  return finish();
}
