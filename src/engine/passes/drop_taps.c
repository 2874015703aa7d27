/* SPDX-License-Identifier: Apache-2.0 */
/* Drops the first and last rows of a convolution's kernel, along any axis, that read nothing but
 * padding: those of a dilation that is larger than the image, or of a kernel twice its size. */
#include <math.h>

#include "base/alloc.h"
#include "engine/passes/pass.h"
#include "transform/pattern.h"

enum { MAX_SPATIAL = PGY_MAX_RANK - 2, MAX_SIZE = 1 << 30 };

/* A spatial axis: its sizes, and how many taps at each end only read padding. */
typedef struct axis {
    int64_t in, out, kernel, stride, dilation, pads[2], dropped[2];
} axis;

static bool read_ints(int64_t *out, const pgy_node *n, const char *name, size_t count,
                      int64_t least, int64_t fallback)
{
    const pgy_onnx_attribute *a = node_attribute(n, name);
    if (a && a->int_count != count) return false;
    for (size_t i = 0; i < count; i++) {
        out[i] = a ? a->ints[i] : fallback;
        if (out[i] < least || out[i] > MAX_SIZE) return false;
    }
    return true;
}

static bool read_axes(axis *axes, const pgy_node *n, size_t count)
{
    int64_t strides[MAX_SPATIAL], dilations[MAX_SPATIAL], pads[2 * MAX_SPATIAL];
    if (!pattern_text_is(n, "auto_pad", "NOTSET", "NOTSET") ||
        !read_ints(strides, n, "strides", count, 1, 1) ||
        !read_ints(dilations, n, "dilations", count, 1, 1) ||
        !read_ints(pads, n, "pads", 2 * count, 0, 0))
        return false;
    for (size_t i = 0; i < count; i++) {
        const int32_t d = (int32_t)i + 2;
        axes[i] = (axis){.in = pattern_size(n->inputs[0], d),
                         .out = pattern_size(n->outputs[0], d),
                         .kernel = pattern_size(n->inputs[1], d),
                         .stride = strides[i],
                         .dilation = dilations[i],
                         .pads = {pads[i], pads[count + i]}};
        if (axes[i].in < 1 || axes[i].in > MAX_SIZE || axes[i].out < 1 || axes[i].out > MAX_SIZE ||
            axes[i].kernel < 1 || axes[i].kernel > MAX_SIZE)
            return false;
    }
    return true;
}

/* Finds what to drop. Pads shrink with the kernel, and cannot become negative. */
static bool find_dropped(axis *a)
{
    const int64_t last = a->kernel - 1, d = a->dilation;
    /* Positions in the input that tap 0 reads for the first and for the last output. */
    const int64_t first_read = -a->pads[0], last_read = (a->out - 1) * a->stride - a->pads[0];
    const int64_t before = last_read < 0 ? (-last_read + d - 1) / d : 0;
    const int64_t used = (a->in - 1 - first_read) / d; /* last tap that reads any input */
    const int64_t behind = used < last ? last - used : 0;
    if (before + behind > last) return false; /* no tap would be left */
    a->dropped[0] = before < a->pads[0] / d ? before : a->pads[0] / d;
    a->dropped[1] = behind < a->pads[1] / d ? behind : a->pads[1] / d;
    return a->dropped[0] || a->dropped[1];
}

static double *cut(double *to, const double *from, const axis *axes, size_t count)
{
    size_t step = 1;
    if (count == 0) {
        *to = *from;
        return to + 1;
    }
    for (size_t i = 1; i < count; i++) step *= (size_t)axes[i].kernel;
    for (int64_t k = axes->dropped[0]; k < axes->kernel - axes->dropped[1]; k++)
        to = cut(to, from + (size_t)k * step, axes + 1, count - 1);
    return to;
}

/* Padding times Inf or NaN is NaN, so such taps stay. */
static bool are_finite(const double *w, size_t count)
{
    size_t i = 0;
    while (i < count && isfinite(w[i])) i++;
    return i == count;
}

static pgy_value *cut_weight(pattern *p, pgy_value *v, const axis *axes, size_t count)
{
    pgy_value *made = NULL;
    pgy_tensor *t = pattern_floats(p, v);
    const bool fits = t && are_finite(op_f64(t), pgy_tensor_count(t));
    double *w = fits ? mem_alloc(pgy_tensor_count(t) * sizeof *w + 1) : NULL;
    if (w) {
        int64_t shape[PGY_MAX_RANK] = {pattern_size(v, 0), pattern_size(v, 1)};
        size_t area = 1;
        for (size_t i = 0; i < count; i++) {
            shape[2 + i] = axes[i].kernel - axes[i].dropped[0] - axes[i].dropped[1];
            area *= (size_t)axes[i].kernel;
        }
        double *to = w;
        for (size_t i = 0; i < pgy_tensor_count(t) / area; i++)
            to = cut(to, op_f64(t) + i * area, axes, count);
        made = pattern_weight(p, v->graph, v->name, pattern_dtype(v), 2 + count, shape, w);
    }
    mem_free(w);
    pgy_tensor_release(t);
    return made;
}

static bool drop_taps(pattern *p, pgy_node *n)
{
    static const char *const KEPT[] = {"dilations", "group", "strides"};
    axis axes[MAX_SPATIAL];
    int64_t pads[2 * MAX_SPATIAL];
    if (!pattern_is(n, "Conv") || n->input_count < 2 || !pattern_is_constant(p, n->inputs[1]) ||
        !pattern_is_float(n->inputs[1]))
        return false;
    const int32_t rank = pattern_rank(n->inputs[1]);
    if (rank < 3 || rank > PGY_MAX_RANK || pattern_rank(n->inputs[0]) != rank ||
        pattern_rank(n->outputs[0]) != rank)
        return false;
    const size_t count = (size_t)rank - 2;
    bool any = false;
    if (!read_axes(axes, n, count)) return false;
    for (size_t i = 0; i < count; i++) any |= find_dropped(&axes[i]);
    pgy_value *weight = any ? cut_weight(p, n->inputs[1], axes, count) : NULL;
    if (!weight) return false;
    pgy_value *inputs[] = {n->inputs[0], weight, pattern_input(n, 2)};
    pgy_node *made = pattern_put(p, n, "Conv", inputs, inputs[2] ? 3 : 2);
    if (made) made->name = n->name;
    for (size_t i = 0; i < sizeof KEPT / sizeof *KEPT; i++) pattern_copy(p, made, n, KEPT[i]);
    for (size_t i = 0; i < 2 * count; i++) {
        const axis *a = &axes[i % count];
        pads[i] = a->pads[i / count] - a->dropped[i / count] * a->dilation;
    }
    pattern_set_ints(p, made, "pads", pads, 2 * count);
    return true;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {drop_taps, NULL};
    return pattern_run(g, "drop_taps", RULES, changes, err);
}

const pass PASS_drop_taps = {
    .name = "drop_taps", .summary = "without taps that only read padding", .run = run};
