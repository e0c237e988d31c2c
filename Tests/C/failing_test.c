/*
 * failing_test.c: weir_failing.h fails the calls that it is told to, as often as it is told to, and no others: neither
 * of another kind, nor in another directory, nor after the rule's end.
 */
#include "capture_check.h"

#include "weir_failing.h"

static weir_status open_log(const char *path, weir_log **log) {
  weir_options options;
  weir_options_init(&options);
  options.lane_count = 4;
  options.segment_bytes = 1 << 20;
  return weir_open(path, &options, log, NULL, NULL);
}

static void check_opens(const char *path) {
  weir_log *log;
  if (!CHECK_EQUAL(open_log(path, &log), WEIR_OK)) return;
  close_and_free(log);
}

static void test_kinds(void) {
  test("each kind fails its calls");
  const struct {
    uint32_t kind;
    int error;
    weir_status status;
  } cases[] = {{WEIR_FAIL_CREATE, ENOSPC, WEIR_ERROR_NO_SPACE}, {WEIR_FAIL_CREATE, EROFS, WEIR_ERROR_ACCESS},
               {WEIR_FAIL_GROW, ENOSPC, WEIR_ERROR_NO_SPACE},   {WEIR_FAIL_SYNC, EIO, WEIR_ERROR_IO},
               {WEIR_FAIL_WRITE, EIO, WEIR_ERROR_IO},           {WEIR_FAIL_RENAME, EIO, WEIR_ERROR_IO}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *path = scratch();
    int rule = weir_fail_begin(path, cases[i].kind, 0, UINT64_MAX, cases[i].error);
    CHECK(rule > 0);
    weir_log *log;
    weir_status status = open_log(path, &log);
    if (status == WEIR_OK) {
      /* Opening does without; what comes later does not. */
      uint32_t type = define_numbered(log);
      CHECK_EQUAL(capture_numbered(log, type, 0, 0, 10, NULL), WEIR_ACCEPTED);
      weir_error error;
      if (weir_sync(log, UINT64_MAX, NULL, &error) == WEIR_OK) (void)weir_close(log, &error);
      CHECK(weir_fail_count(rule) > 0);
      weir_fail_end(rule);
      weir_free(log);
    } else {
      CHECK_EQUAL(status, cases[i].status);
      CHECK(weir_fail_count(rule) > 0);
      weir_fail_end(rule);
    }
    CHECK_EQUAL(weir_fail_count(rule), 0);
    check_opens(path);
    scratch_remove(path);
  }
}

static void test_counts(void) {
  test("so many pass, so many fail");
  for (uint64_t after = 0; after < 3; after++) {
    char *path = scratch();
    int rule = weir_fail_begin(path, WEIR_FAIL_CREATE, after, 1, ENOSPC);
    weir_log *log;
    CHECK_EQUAL(open_log(path, &log), WEIR_ERROR_NO_SPACE);
    CHECK_EQUAL(weir_fail_count(rule), 1);
    check_opens(path);
    CHECK_EQUAL(weir_fail_count(rule), 1);
    weir_fail_end(rule);
    scratch_remove(path);
  }
}

static void test_others(void) {
  test("other directories");
  char *failing = scratch();
  /* Its name begins with the other's, and it is no part of it. */
  char beside[4096];
  snprintf(beside, sizeof beside, "%s-beside", failing);
  REQUIRE(mkdir(beside, 0700) == 0);
  int rule = weir_fail_begin(failing, WEIR_FAIL_CREATE | WEIR_FAIL_GROW | WEIR_FAIL_SYNC, 0, UINT64_MAX, EIO);
  check_opens(beside);
  CHECK_EQUAL(weir_fail_count(rule), 0);
  weir_log *log;
  CHECK_EQUAL(open_log(failing, &log), WEIR_ERROR_IO);
  weir_fail_end(rule);
  remove_tree(beside);
  scratch_remove(failing);
}

static void test_arguments(void) {
  test("arguments");
  char *path = scratch();
  CHECK_EQUAL(weir_fail_available(), 1);
  CHECK(weir_fail_begin(NULL, WEIR_FAIL_SYNC, 0, 1, EIO) == -1);
  CHECK(weir_fail_begin("/nowhere/at/all", WEIR_FAIL_SYNC, 0, 1, EIO) == -1);
  CHECK(weir_fail_begin(path, 0, 0, 1, EIO) == -1);
  CHECK(weir_fail_begin(path, 64, 0, 1, EIO) == -1);
  CHECK(weir_fail_begin(path, WEIR_FAIL_SYNC, 0, 1, 0) == -1);
  CHECK(weir_fail_begin(path, WEIR_FAIL_SYNC, 0, 1, -EIO) == -1);
  CHECK(weir_fail_begin(path, WEIR_FAIL_SYNC, 0, 1, 4096) == -1);
  int rules[33];
  for (int i = 0; i < 33; i++) rules[i] = weir_fail_begin(path, WEIR_FAIL_SYNC, UINT64_MAX, 1, EIO);
  CHECK(rules[31] > 0 && rules[32] == -1);
  for (int i = 0; i < 33; i++) weir_fail_end(rules[i]);
  weir_fail_end(0);
  int again = weir_fail_begin(path, WEIR_FAIL_SYNC, 0, 1, EIO);
  CHECK(again > rules[31]);
  weir_fail_end(again);
  check_opens(path);
  scratch_remove(path);
}

int main(void) {
  test_kinds();
  test_counts();
  test_others();
  test_arguments();
  return finish();
}
