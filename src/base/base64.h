/* SPDX-License-Identifier: Apache-2.0 */
/* RFC 4648 base64, standard alphabet with padding, AVX2 where the CPU has it. */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

size_t base64_encoded_size(size_t size_bytes);
/* Writes exactly base64_encoded_size bytes, no terminator. */
void base64_encode(char *out, const void *data, size_t size_bytes);
/* Decodes a whole number of 4-character groups; only the last group of a text may be padded.
 * Returns false on a character outside the alphabet. To decode a text in pieces, pass `last` false
 * for every piece but the final one. */
bool base64_decode(void *out, size_t *out_size, const char *text, size_t size, bool last);
/* Exact decoded size of a complete padded text; false if its length is no multiple of four. */
bool base64_decoded_size(size_t *out, const char *text, size_t size);

#endif
