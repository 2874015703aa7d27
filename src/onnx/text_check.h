/* SPDX-License-Identifier: Apache-2.0 */
/* Is a text UTF-8 that can be terminated by a NUL? */
#ifndef ONNX_TEXT_CHECK_H
#define ONNX_TEXT_CHECK_H

#include <stddef.h>
#include <stdint.h>

/* The first byte that is NUL or begins no valid UTF-8 sequence; NULL if all is well. */
const uint8_t *text_find_bad(const uint8_t *p, size_t size);

#endif
