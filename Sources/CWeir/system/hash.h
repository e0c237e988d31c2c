/*
 * hash.h: a hash with a secret key (SipHash-1-3), for tables whose keys come from files. Whoever forges a file does not
 * know the key, so it can't choose what collides; a checksum such as CRC32C collides as anyone likes.
 */
#ifndef WEIR_HASH_H
#define WEIR_HASH_H

#include "system/names.h"

#include <stdint.h>

typedef struct hash_key {
  uint64_t words[2];
} hash_key;

/* A random key. Where the system has no random numbers it is made of `at` and the time: worse, and better than none. */
hash_key hash_key_make(const void *at);

uint64_t hash_bytes(hash_key key, const uint8_t *bytes, uint64_t count);

#endif
