/*
 * follow.c: the reader alone follows a log that another process writes. It sees each event, that the writer lives, and
 * that the writer is gone.
 *
 *     follow WRITER DIRECTORY    WRITER is followed.c with weir.c
 */
#include "weir_reader.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

static void check(int good, const char *what) {
  if (good) return;
  failures++;
  fprintf(stderr, "follow: failed: %s\n", what);
}

/* Reads events, and waits for them, until all below `end` are there, each once and in order. */
static void follow(weir_reader *reader, uint64_t *next, uint64_t end) {
  weir_event event;
  weir_skip skip;
  weir_error error;
  while (*next < end) {
    weir_status status = weir_reader_next(reader, &event, &skip, &error);
    uint64_t number;
    if (status == WEIR_END) {
      weir_reader_wait(reader, UINT64_MAX);
    } else if (status == WEIR_OK && event.payload_bytes == sizeof number) {
      memcpy(&number, event.payload, sizeof number);
      check(number == (*next)++, "the events come in order");
    } else {
      check(0, status == WEIR_OK ? "an event has another size" : weir_status_name(status));
      return;
    }
  }
}

int main(int count, char **arguments) {
  int to_writer[2], from_writer[2], status;
  char answer[5] = "";
  weir_reader *reader;
  weir_error error;
  uint64_t next = 0;
  if (count != 3 || pipe(to_writer) != 0 || pipe(from_writer) != 0) return 2;
  pid_t writer = fork();
  if (writer == 0) {
    dup2(to_writer[0], 0);
    dup2(from_writer[1], 1);
    close(to_writer[1]);
    execl(arguments[1], arguments[1], arguments[2], (char *)NULL);
    _exit(127);
  }
  close(to_writer[0]);
  close(from_writer[1]);
  if (read(from_writer[0], answer, sizeof answer) != sizeof answer) return 2; /* "open", and the line's end */
  if (weir_reader_open(arguments[2], NULL, &reader, &error) != WEIR_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  check(weir_reader_is_live(reader) == 1, "a writer has the log open");
  for (uint64_t end = 1000; end <= 3000; end += 1000) {
    if (write(to_writer[1], "1000\n", 5) != 5) return 2;
    follow(reader, &next, end);
  }
  close(to_writer[1]);
  check(waitpid(writer, &status, 0) == writer && status == 0, "the writer closed the log");
  check(weir_reader_is_live(reader) == 0, "no writer has the log open");
  weir_event event;
  weir_skip skip;
  check(weir_reader_next(reader, &event, &skip, &error) == WEIR_END, "nothing more comes");
  weir_reader_close(reader);
  weir_verification verification;
  check(weir_verify(arguments[2], NULL, NULL, &verification, &error) == WEIR_OK && verification.findings == 0 &&
            verification.events == next, "the log is whole");
  if (failures == 0) printf("ok: %llu events followed\n", (unsigned long long)next);
  return failures != 0;
}
