/*
 * record_test.c: a record in a lane that somebody else writes to while it is looked at: a stray store, or another
 * process with the ring mapped. Whatever comes of it, no byte outside of the lane is read.
 */
#include "log_builder.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "system/error.h"

#if defined(__x86_64__)

enum { PAGE = 4096, PAGES = 3, MOST_READS = 100, TRAP_FLAG = 0x100 };

/* A lane of one page, its overhang in the next, then nothing. The same bytes are mapped again, to be changed there. */
static uint8_t *lane_bytes, *other_mapping;
static uint64_t reads, change_at; /* the lane's page was read so often; before which of them its record changes */
static sigjmp_buf beyond;

/* Each read of the lane's page comes here, and one of what lies behind the lane. */
static void on_read(int signal, siginfo_t *info, void *context) {
  (void)signal;
  const uint8_t *address = info->si_addr;
  if (address < lane_bytes || address >= lane_bytes + PAGE) siglongjmp(beyond, 1);
  if (++reads == change_at) memset(other_mapping + offsetof(record_header, length), 0xf0, 4);
  mprotect(lane_bytes, PAGE, PROT_READ);
  ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

/* After the instruction that read. */
static void on_step(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)info;
  mprotect(lane_bytes, PAGE, PROT_NONE);
  ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

static void changing_length(void) {
  test("a record's length changes while the record is looked at: no byte beyond the lane is read");
  int file = memfd_create("lane", MFD_CLOEXEC);
  REQUIRE(file >= 0 && ftruncate(file, PAGES * PAGE) == 0);
  lane_bytes = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_SHARED, file, 0);
  other_mapping = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  REQUIRE(lane_bytes != MAP_FAILED && other_mapping != MAP_FAILED);
  REQUIRE(mprotect(lane_bytes + 2 * PAGE, PAGE, PROT_NONE) == 0);
  struct sigaction read = {.sa_sigaction = on_read, .sa_flags = SA_SIGINFO}, step = read, before[2];
  step.sa_sigaction = on_step;
  sigemptyset(&read.sa_mask);
  sigemptyset(&step.sa_mask);
  REQUIRE(sigaction(SIGSEGV, &read, &before[0]) == 0 && sigaction(SIGTRAP, &step, &before[1]) == 0);
  lane_view view = {
      .data = lane_bytes, .capacity = PAGE, .record_bytes = BUILT_RECORD_BYTES, .seed = record_seed(77, 0)};
  uint8_t record[128];
  static uint64_t size, nth, found, wrong, past, whole; /* not in registers: they outlive the jump */
  size = built_record(record, 77, 0, 0, 12);
  for (nth = 1; nth == 1 || (reads + 1 >= nth && nth < MOST_READS); nth++) {
    memcpy(other_mapping, record, size);
    reads = 0;
    change_at = nth;
    mprotect(lane_bytes, PAGE, PROT_NONE);
    if (sigsetjmp(beyond, 1) != 0) past++;
    else if (record_at(&view, 0, PAGE, &found)) wrong += found != size, whole++;
    mprotect(lane_bytes, PAGE, PROT_READ);
  }
  sigaction(SIGSEGV, &before[0], NULL);
  sigaction(SIGTRAP, &before[1], NULL);
  CHECK_EQUAL(past, 0);
  CHECK_EQUAL(wrong, 0);
  CHECK(whole > 0 && nth > 3 && nth < MOST_READS);
  munmap(lane_bytes, PAGES * PAGE);
  munmap(other_mapping, PAGES * PAGE);
  close(file);
}

#else

static void changing_length(void) { printf("SKIPPED: a record that changes, for reads are counted on x86-64 alone\n"); }

#endif

static void no_reason(void) {
  test("a failure without a number of the system's is no success");
  weir_error error = {0};
  CHECK_EQUAL(fail_system(&error, 0, "write", "/log", NULL), WEIR_ERROR_IO);
  CHECK_EQUAL(error.status, WEIR_ERROR_IO);
  CHECK(strstr(error.message, "cannot write /log") != NULL);
}

/*
 * A lane that has one record in each of `laps` laps, after a power cut: where the last one is found to end. Each is a
 * record's length further on, so between two of them nearly a lap is looked through.
 */
static uint64_t last_of_laps(uint64_t laps) {
  enum { CAPACITY = 1 << 16, RECORD = 1 << 14, BYTES = 32, SEED = 7 };
  uint8_t *data = calloc(1, CAPACITY + RECORD);
  REQUIRE(data);
  for (uint64_t i = 0; i < laps; i++) {
    uint64_t position = i * (CAPACITY + BYTES);
    uint8_t *record = data + position % CAPACITY;
    record_header header = {.length = 8, .type = BUILT_TYPE, .index = (uint32_t)(i * (CAPACITY / RECORD + 2))};
    memcpy(record, &header, sizeof header);
    header.checksum = record_checksum(SEED, position, record);
    memcpy(record, &header, sizeof header);
  }
  record_sums sums = {0};
  lane_view view = {
      .data = data, .capacity = CAPACITY, .record_bytes = RECORD, .seed = SEED, .rebooted = 1, .sums = &sums};
  uint64_t end = record_last(&view, 0, 0, 0);
  CHECK_EQUAL(end % (CAPACITY + BYTES), BYTES);
  record_sums_free(&sums);
  free(data);
  return end / (CAPACITY + BYTES) + 1;
}

static void many_laps(void) {
  test("records that lie a lap apart are found, and a lane that was forged to have one in every lap comes to an end");
  CHECK_EQUAL(last_of_laps(1), 1);
  CHECK_EQUAL(last_of_laps(2), 2);
  /* Between each two it is a word less than a lap that is looked through. */
  CHECK_EQUAL(last_of_laps(RECORD_MOST_LAPS + 1), RECORD_MOST_LAPS + 1);
  CHECK_EQUAL(last_of_laps(RECORD_MOST_LAPS + 2), RECORD_MOST_LAPS + 2);
  CHECK_EQUAL(last_of_laps(RECORD_MOST_LAPS + 3), RECORD_MOST_LAPS + 2);
  CHECK_EQUAL(last_of_laps(2000), RECORD_MOST_LAPS + 2);
}

int main(void) {
  changing_length();
  no_reason();
  many_laps();
  return finish();
}
