/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that a text is UTF-8 without NUL, so that it can be terminated by one. */
#ifndef ONNX_TEXT_CHECK_H
#define ONNX_TEXT_CHECK_H

#include <stddef.h>
#include <stdint.h>

/* The first byte that is NUL or begins no valid UTF-8 sequence; NULL if the text is valid. */
const uint8_t *text_find_bad(const uint8_t *p, size_t size);

#endif
