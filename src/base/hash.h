/* SPDX-License-Identifier: Apache-2.0 */
/* The XXH64 hash: a checksum and a key for large data. Not against forgery. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_xxh64(const void *data, size_t size_bytes, uint64_t seed);

#endif
