/* SPDX-License-Identifier: Apache-2.0 */
/* Bitwise equality of parts of models. */
#ifndef ONNX_EQUAL_H
#define ONNX_EQUAL_H

#include <polygraphy/onnx.h>

#include <string.h>

static inline bool array_same(const void *a, size_t a_count, const void *b, size_t b_count,
                              size_t item_bytes)
{
    return a_count == b_count && (!a_count || a == b || memcmp(a, b, a_count * item_bytes) == 0);
}
static inline bool bytes_same(pgy_bytes a, pgy_bytes b)
{
    return array_same(a.data, a.size, b.data, b.size, 1);
}
/* Compares two attributes of one kind: numbers, texts, and lists of them. */
bool attribute_same_plain(const pgy_onnx_attribute *a, const pgy_onnx_attribute *b);

#endif
