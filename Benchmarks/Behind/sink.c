/*
 * sink.c: an HTTP endpoint that takes everything and does nothing, so that what is measured is who sends.
 *
 *     sink MARK          prints its port on loopback, then serves until it is killed
 *
 * It answers each POST with 200, and with a body that Elasticsearch's bulk interface could have sent. A GET is answered
 * with how often MARK stood in the bodies so far: a text that each event has once. A thread serves each connection.
 */
#define _GNU_SOURCE 1
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOM = 1 << 20, MOST_MARK = 64 };

static const char *mark;
static size_t mark_bytes;
static _Atomic uint64_t marks;

typedef struct connection {
  int socket;
  size_t begin, end; /* what was received and not yet used */
  char overlap[MOST_MARK]; /* the last bytes of the body so far, in which a mark may begin */
  size_t overlap_bytes;
  char bytes[ROOM + 1];
} connection;

/* Receives more; 0 at the end of the connection. What was not used yet moves to the front if there is no room. */
static int receive(connection *self) {
  if (self->begin == self->end) self->begin = self->end = 0;
  if (self->end == ROOM) {
    if (self->begin == 0) return 0;
    memmove(self->bytes, self->bytes + self->begin, self->end - self->begin);
    self->end -= self->begin;
    self->begin = 0;
  }
  ssize_t count = recv(self->socket, self->bytes + self->end, ROOM - self->end, 0);
  if (count <= 0) return 0;
  self->end += (size_t)count;
  self->bytes[self->end] = 0;
  return 1;
}

static uint64_t count_in(const char *bytes, size_t count) {
  uint64_t found = 0;
  const char *end = bytes + count;
  for (const char *at = bytes; (at = memmem(at, (size_t)(end - at), mark, mark_bytes)); at += mark_bytes) found++;
  return found;
}

/* Counts the marks of a piece of a body, including one that began in the piece before. */
static void count(connection *self, const char *bytes, size_t count) {
  char seam[2 * MOST_MARK];
  size_t head = count < mark_bytes - 1 ? count : mark_bytes - 1;
  memcpy(seam, self->overlap, self->overlap_bytes);
  memcpy(seam + self->overlap_bytes, bytes, head);
  uint64_t found = count_in(seam, self->overlap_bytes + head) + count_in(bytes, count);
  if (found) atomic_fetch_add(&marks, found);
  if (count >= mark_bytes - 1) {
    self->overlap_bytes = mark_bytes - 1;
    memcpy(self->overlap, bytes + count - self->overlap_bytes, self->overlap_bytes);
  } else {
    size_t all = self->overlap_bytes + head, kept = all < mark_bytes - 1 ? all : mark_bytes - 1;
    memcpy(self->overlap, seam + all - kept, kept);
    self->overlap_bytes = kept;
  }
}

static int take_body(connection *self, uint64_t bytes) {
  while (bytes > 0) {
    if (self->begin == self->end && !receive(self)) return 0;
    size_t here = self->end - self->begin;
    if (here > bytes) here = bytes;
    count(self, self->bytes + self->begin, here);
    self->begin += here;
    bytes -= here;
  }
  return 1;
}

/* The end of the line or head that `ending` ends, received as far as needed; null at the connection's end. */
static char *find(connection *self, const char *ending) {
  for (;;) {
    char *found = memmem(self->bytes + self->begin, self->end - self->begin, ending, strlen(ending));
    if (found) return found;
    if (!receive(self)) return NULL;
  }
}

static int take_chunks(connection *self) {
  for (;;) {
    char *end = find(self, "\r\n");
    if (!end) return 0;
    uint64_t bytes = strtoull(self->bytes + self->begin, NULL, 16);
    self->begin = (size_t)(end - self->bytes) + 2;
    if (!take_body(self, bytes) || !(end = find(self, "\r\n"))) return 0;
    self->begin = (size_t)(end - self->bytes) + 2;
    if (bytes == 0) return 1;
  }
}

static int answer(int socket, const char *text) {
  return send(socket, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text);
}

static int serve_one(connection *self) {
  char *end = find(self, "\r\n\r\n"), text[256], body[64] = "{\"took\":1,\"errors\":false,\"items\":[]}";
  if (!end) return 0;
  *end = 0;
  const char *head = self->bytes + self->begin;
  const char *length = strcasestr(head, "\ncontent-length:");
  int isGet = strncmp(head, "GET", 3) == 0, isChunked = strcasestr(head, "\ntransfer-encoding: chunked") != NULL;
  int waits = strcasestr(head, "\nexpect: 100-continue") != NULL;
  uint64_t bytes = length ? strtoull(length + strlen("\ncontent-length:"), NULL, 10) : 0;
  self->begin = (size_t)(end - self->bytes) + 4;
  if (waits && !answer(self->socket, "HTTP/1.1 100 Continue\r\n\r\n")) return 0;
  self->overlap_bytes = 0;
  if (isChunked ? !take_chunks(self) : !take_body(self, bytes)) return 0;
  if (isGet) snprintf(body, sizeof body, "%llu\n", (unsigned long long)atomic_load(&marks));
  snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
           strlen(body), body);
  return answer(self->socket, text);
}

static void *serve(void *argument) {
  connection *self = calloc(1, sizeof *self);
  if (!self) abort();
  self->socket = (int)(intptr_t)argument;
  setsockopt(self->socket, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
  while (serve_one(self)) {}
  close(self->socket);
  free(self);
  return NULL;
}

int main(int argc, char **argv) {
  if (argc != 2 || strlen(argv[1]) < 2 || strlen(argv[1]) > MOST_MARK) {
    fprintf(stderr, "usage: sink MARK   (2 to %d bytes)\n", MOST_MARK);
    return 64;
  }
  mark = argv[1];
  mark_bytes = strlen(mark);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 64) != 0 ||
      getsockname(listener, (struct sockaddr *)&address, &length) != 0) {
    perror("sink");
    return 1;
  }
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  for (int socket; (socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0;) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)socket) != 0) close(socket);
    else pthread_detach(thread);
  }
  perror("sink");
  return 1;
}
