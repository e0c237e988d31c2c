/* xxh32_test.c: XXH32 against what liblz4 puts behind the content of frames, at every length, and at long ones. */
#include <lz4frame.h>

#include "check.h"

#include "system/xxh32.h"

enum { LONGEST = 300, LARGE = 1 << 20 };

/* The last four bytes of a frame with a checksum over its content. */
static uint32_t checksum_by_lz4(const uint8_t *bytes, uint64_t count) {
  LZ4F_preferences_t form;
  memset(&form, 0, sizeof form);
  form.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  uint64_t room = LZ4F_compressFrameBound(count, &form);
  uint8_t *frame = malloc(room);
  uint64_t made = LZ4F_compressFrame(frame, room, bytes, count, &form);
  uint32_t checksum;
  REQUIRE(!LZ4F_isError(made) && made > sizeof checksum);
  memcpy(&checksum, frame + made - sizeof checksum, sizeof checksum);
  free(frame);
  return checksum;
}

int main(void) {
  random_start("xxh32_test");
  test("the checksum is that of liblz4");
  uint8_t *bytes = malloc(LARGE + 8);
  for (uint64_t i = 0; i < LARGE + 8; i++) bytes[i] = (uint8_t)random_below(256);
  for (uint64_t count = 0; count <= LONGEST; count++) {
    uint64_t at = count % 8;
    CHECK_EQUAL(xxh32(bytes + at, count), checksum_by_lz4(bytes + at, count));
  }
  for (int i = 0; i < 20; i++) {
    uint64_t count = LARGE - random_below(LARGE / 2);
    CHECK_EQUAL(xxh32(bytes + i % 8, count), checksum_by_lz4(bytes + i % 8, count));
  }
  free(bytes);
  return finish();
}
