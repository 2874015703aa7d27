/* SPDX-License-Identifier: Apache-2.0 */
/* The SHA-256 hash (FIPS 180-4), for Content-Security-Policy. Hash weights and files with hash.h,
 * which is faster. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_SIZE = 32 };

void sha256(uint8_t out[SHA256_SIZE], const void *data, size_t size_bytes);

#endif
