/* SPDX-License-Identifier: Apache-2.0 */
/* The XXH64 hash: a checksum and a key for large data. It gives no protection against forgery. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_xxh64(const void *data, size_t size_bytes, uint64_t seed);

/* Hashes data that arrives in pieces, with seed 0. */
typedef struct hash_stream {
    uint64_t lanes[4];
    uint64_t total;         /* number of bytes hashed so far */
    unsigned char rest[32]; /* bytes of an incomplete stripe */
} hash_stream;
void hash_stream_start(hash_stream *s);
void hash_stream_add(hash_stream *s, const void *data, size_t size_bytes);
uint64_t hash_stream_finish(const hash_stream *s);

#endif
