/* SPDX-License-Identifier: Apache-2.0 */
/* Strict reading and writing of UTF-8. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Reads one UTF-8 character at p < end; returns its size, or 0 if the bytes are not UTF-8. */
size_t utf8_read(const char *p, const char *end, uint32_t *c);
/* Writes at most four bytes and returns how many. */
size_t utf8_write(char *out, uint32_t c);

#endif
