/* SPDX-License-Identifier: Apache-2.0 */
/* A Pad with zeros around the spatial axes goes into the pads of the convolution behind it, or of
 * an AveragePool that counts them. */
#include <string.h>

#include "transform/fuse/fuse.h"

enum { MAX_SPATIAL = PGY_MAX_RANK - 2, MAX_PAD = 1 << 30 };

/* Spatial pads, begins then ends; false: other axes are padded too, or not with zeros. */
static bool read_pads(int64_t *out, pattern *p, const pgy_node *pad, size_t rank)
{
    const int64_t *pads;
    size_t count;
    double value = 0;
    if (pad->input_count < 2 || !pattern_text_is(pad, "mode", "constant", "constant") ||
        pattern_input(pad, 3) || !pattern_ints(p, pad->inputs[1], &pads, &count) ||
        count != 2 * rank)
        return false;
    if (pattern_input(pad, 2) && (!pattern_scalar(p, pad->inputs[2], &value) || value != 0))
        return false;
    for (size_t side = 0; side < 2; side++)
        for (size_t d = 0; d < rank; d++) {
            const int64_t n = pads[side * rank + d];
            if (n < 0 || n > MAX_PAD || (d < 2 && n != 0)) return false;
            if (d >= 2) out[side * (rank - 2) + d - 2] = n;
        }
    return true;
}

static bool takes_zeros(const pgy_node *n)
{
    if (pattern_is(n, "Conv")) return true;
    /* With ceil_mode a window may lie beyond the pads, which are not counted there. */
    return pattern_is(n, "AveragePool") && pattern_int(n, "count_include_pad", 0) == 1 &&
           pattern_int(n, "ceil_mode", 0) == 0;
}

bool fuse_pad_into_conv(pattern *p, pgy_node *n)
{
    static const char *const KEPT[] = {"dilations",         "group",    "kernel_shape", "strides",
                                       "count_include_pad", "ceil_mode"};
    int64_t pads[2 * MAX_SPATIAL];
    pgy_node *pad = takes_zeros(n) ? pattern_inner(pattern_input(n, 0), "Pad") : NULL;
    const int32_t rank = pad ? pattern_rank(n->inputs[0]) : -1;
    const bool valid = pattern_text_is(n, "auto_pad", "VALID", "NOTSET"); /* no pads of its own */
    const pgy_onnx_attribute *own = valid ? NULL : node_attribute(n, "pads");
    if (rank < 3 || rank > PGY_MAX_RANK || !pattern_is_float(n->inputs[0]) ||
        (!valid && !pattern_text_is(n, "auto_pad", "NOTSET", "NOTSET")) ||
        !read_pads(pads, p, pad, (size_t)rank))
        return false;
    const size_t count = 2 * ((size_t)rank - 2);
    if (own && own->int_count != count) return false;
    for (size_t i = 0; own && i < count; i++) {
        if (own->ints[i] < 0 || own->ints[i] > MAX_PAD) return false;
        pads[i] += own->ints[i];
    }
    pgy_value *inputs[] = {pad->inputs[0], pattern_input(n, 1), pattern_input(n, 2)};
    const char *op = n->op_type;
    pgy_node *made = pattern_put(p, n, op, inputs, n->input_count < 3 ? n->input_count : 3);
    if (made) made->name = n->name;
    for (size_t i = 0; i < sizeof KEPT / sizeof *KEPT; i++) pattern_copy(p, made, n, KEPT[i]);
    pattern_set_ints(p, made, "pads", pads, count);
    return true;
}
