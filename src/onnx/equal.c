/* SPDX-License-Identifier: Apache-2.0 */
/* Compares attributes that hold plain values. Callers compare tensors and graphs, because only they
 * know where these are. */
#include "onnx/equal.h"

static bool lists_same(const pgy_bytes *a, size_t a_count, const pgy_bytes *b, size_t b_count)
{
    if (a_count != b_count) return false;
    for (size_t i = 0; i < a_count; i++)
        if (!bytes_same(a[i], b[i])) return false;
    return true;
}

bool attribute_same_plain(const pgy_onnx_attribute *a, const pgy_onnx_attribute *b)
{
    switch (pgy_onnx_attribute_kind(a)) {
    case PGY_ATTR_FLOAT: return memcmp(&a->f, &b->f, sizeof a->f) == 0;
    case PGY_ATTR_INT: return a->i == b->i;
    case PGY_ATTR_STRING: return bytes_same(a->s, b->s);
    case PGY_ATTR_FLOATS:
        return array_same(a->floats, a->float_count, b->floats, b->float_count, sizeof *a->floats);
    case PGY_ATTR_INTS:
        return array_same(a->ints, a->int_count, b->ints, b->int_count, sizeof *a->ints);
    case PGY_ATTR_STRINGS:
        return lists_same(a->strings, a->string_count, b->strings, b->string_count);
    default: return false;
    }
}
