/* hash.c: see hash.h. After Aumasson and Bernstein, "SipHash: a fast short-input PRF", with 1 and 3 rounds. */
#include "system/hash.h"

#include <string.h>

#include "system/system.h"

hash_key hash_key_make(const void *at) {
  hash_key key;
  if (sys_random(&key, sizeof key) != 0) key = (hash_key){{(uint64_t)(uintptr_t)at, sys_monotonic_ns()}};
  return key;
}

static uint64_t rotate(uint64_t word, int by) { return word << by | word >> (64 - by); }

static void mix(uint64_t v[4]) {
  v[0] += v[1], v[2] += v[3];
  v[1] = rotate(v[1], 13) ^ v[0], v[3] = rotate(v[3], 16) ^ v[2];
  v[0] = rotate(v[0], 32);
  v[2] += v[1], v[0] += v[3];
  v[1] = rotate(v[1], 17) ^ v[2], v[3] = rotate(v[3], 21) ^ v[0];
  v[2] = rotate(v[2], 32);
}

static void take(uint64_t v[4], uint64_t word) {
  v[3] ^= word;
  mix(v);
  v[0] ^= word;
}

uint64_t hash_bytes(hash_key key, const uint8_t *bytes, uint64_t count) {
  uint64_t v[4] = {key.words[0] ^ UINT64_C(0x736f6d6570736575), key.words[1] ^ UINT64_C(0x646f72616e646f6d),
                   key.words[0] ^ UINT64_C(0x6c7967656e657261), key.words[1] ^ UINT64_C(0x7465646279746573)};
  uint64_t word, left = count;
  for (; left >= 8; left -= 8, bytes += 8) {
    memcpy(&word, bytes, 8);
    take(v, word);
  }
  word = 0;
  if (left) memcpy(&word, bytes, left);
  take(v, word | count << 56);
  v[2] ^= 0xff;
  for (int i = 0; i < 3; i++) mix(v);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}
