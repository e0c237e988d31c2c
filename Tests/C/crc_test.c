/*
 * crc_test.c: CRC32C against its definition, bit by bit: every length at every alignment, every split of a stretch in
 * two, on the way that this processor takes and on the one for processors without carry-less multiplication; and summed
 * while copied, on each way that this processor has.
 */
#include "check.h"

#include "system/crc32c.h"

enum { LONGEST = 6000, ALL_LENGTHS = 1700, LARGE = 3 << 20, LONGEST_COPY = 5000, LINE = 64 };

static uint32_t step_by_bits(uint32_t crc, uint8_t byte) {
  crc ^= byte;
  for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (UINT32_C(0x82f63b78) & -(crc & 1));
  return crc;
}

typedef uint64_t (*extender)(uint64_t state, const void *bytes, uint64_t count);

/* Every length from 0 to `longest` at this address; the definition is carried along, a byte a length. */
static void hold_all_lengths(extender extend, const uint8_t *bytes, uint64_t longest) {
  uint32_t wanted = CRC_START;
  uint64_t wrong = 0;
  for (uint64_t count = 0; count <= longest; count++) {
    wrong += (uint32_t)extend(CRC_START, bytes, count) != wanted;
    wanted = step_by_bits(wanted, bytes[count]);
  }
  CHECK_EQUAL(wrong, 0);
}

static void hold_all_splits(extender extend, const uint8_t *bytes, uint64_t count) {
  uint32_t whole = CRC_START;
  for (uint64_t i = 0; i < count; i++) whole = step_by_bits(whole, bytes[i]);
  uint64_t wrong = 0;
  for (uint64_t first = 0; first <= count; first++) {
    uint64_t state = extend(CRC_START, bytes, first);
    wrong += (uint32_t)extend(state, bytes + first, count - first) != whole;
  }
  CHECK_EQUAL(wrong, 0);
}

static void hold(extender extend, const uint8_t *bytes) {
  hold_all_lengths(extend, bytes, LONGEST);
  for (uint64_t at = 0; at < 16; at++) hold_all_lengths(extend, bytes + at, ALL_LENGTHS);
  hold_all_splits(extend, bytes + 3, LONGEST);
  for (uint64_t i = 0; i < 100; i++) hold_all_splits(extend, bytes + random_below(64), random_below(2000));
  uint64_t at = random_below(4096), count = LARGE - 4096 - random_below(4096);
  uint32_t wanted = CRC_START;
  for (uint64_t i = 0; i < count; i++) wanted = step_by_bits(wanted, bytes[at + i]);
  CHECK_EQUAL((uint32_t)extend(CRC_START, bytes + at, count), wanted);
}

typedef uint64_t (*copier)(uint8_t *to, const uint8_t *from, uint64_t count, uint64_t state);

/* The state after `count` bytes are copied. Wrong if the copy is, or if a byte beside it changes. */
static uint64_t extend_by(copier copy, uint64_t state, const uint8_t *bytes, uint64_t count) {
  enum { BESIDE = LINE };
  static uint8_t room[LARGE + 3 * LINE] __attribute__((aligned(LINE)));
  static const uint8_t untouched[BESIDE] = {[0 ... BESIDE - 1] = 0x5a};
  uint8_t *to = room + BESIDE + 29 * (uintptr_t)bytes % LINE; /* other than that of the source, and each of them once */
  memset(to - BESIDE, 0x5a, count + 2 * BESIDE);
  state = copy(to, bytes, count, state);
  int is_copy = memcmp(to, bytes, count) == 0 && memcmp(to - BESIDE, untouched, BESIDE) == 0 &&
                memcmp(to + count, untouched, BESIDE) == 0;
  return is_copy ? state : ~state;
}

static uint64_t extend_by_copy(uint64_t state, const void *bytes, uint64_t count) {
  return extend_by(weir_copy_long, state, bytes, count);
}

static uint64_t extend_by_narrow_copy(uint64_t state, const void *bytes, uint64_t count) {
  return extend_by(crc_copy_narrow, state, bytes, count);
}

/* Every length at every alignment of a cache line. */
static void hold_copies(extender extend, const uint8_t *bytes) {
  for (uint64_t at = 0; at < LINE; at++) hold_all_lengths(extend, bytes + at, LONGEST_COPY);
}

static void hold_shifts(void) {
  uint64_t wrong = 0;
  uint32_t state = 1;
  for (uint64_t count = 0; count < LONGEST; count++) {
    wrong += crc_shift(1, count) != state;
    state = step_by_bits(state, 0);
  }
  CHECK_EQUAL(wrong, 0);
  uint64_t large = random_below(LARGE), zeros = (uint32_t)random_below(UINT32_MAX);
  state = crc_shift((uint32_t)zeros, large);
  for (uint64_t i = 0; i < large; i++) zeros = step_by_bits((uint32_t)zeros, 0);
  CHECK_EQUAL(state, zeros);
}

int main(void) {
  random_start("crc_test");
  test("the value that the specification names");
  CHECK_EQUAL(crc32c("123456789", 9), 0xe3069283);
  CHECK_EQUAL(crc32c("", 0), 0);
  CHECK_EQUAL(crc_end(crc_extend_plain(CRC_START, "123456789", 9)), 0xe3069283);

  test("a state shifted is that after as many zeros");
  hold_shifts();

  uint8_t *bytes = malloc(LARGE + 16);
  REQUIRE(bytes);
  for (int i = 0; i < LARGE + 16; i++) bytes[i] = (uint8_t)random_below(256);
  test("any length, alignment and split, without carry-less multiplication");
  hold(crc_extend_plain, bytes);
  test("any length, alignment and split, as this processor does it");
  if (!crc_folds()) printf("SKIPPED: the folded checksum, because this processor has no carry-less multiplication\n");
  hold(crc_extend, bytes);

  test("any length, alignment and split, copied on the way");
  if (!crc_folds_wide()) printf("SKIPPED: copies of 256 bits, because this processor does not multiply them at once\n");
  hold(extend_by_copy, bytes);
  hold_copies(extend_by_copy, bytes);
  test("any length, alignment and split, copied on the way of a processor that does not multiply 256 bits at once");
  hold(extend_by_narrow_copy, bytes);

  test("stretches of one value: a join that is lost shows in no random bytes alone");
  memset(bytes, 0, LARGE);
  hold(crc_extend, bytes);
  hold_all_lengths(extend_by_copy, bytes, LONGEST_COPY);
  memset(bytes, 0xff, LARGE);
  hold(crc_extend, bytes);
  hold(crc_extend_plain, bytes);
  hold_all_lengths(extend_by_copy, bytes, LONGEST_COPY);
  free(bytes);
  return finish();
}
