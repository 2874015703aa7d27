/* SPDX-License-Identifier: Apache-2.0 */
/* Moves scales and shifts of channels behind a convolution or product into its constant weights:
 * BatchNormalization, and Mul, Div, Add or Sub with constants. Computed in float64 and rounded
 * once. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "transform/channels.h"
#include "transform/fuse/fuse.h"

/* ---- What is behind ------------------------------------------------------------------------- */

/* Mul, Div, Add, Sub of `x` and a constant. */
static bool read_arithmetic(channel_affine *out, pattern *p, const pgy_node *n, const pgy_value *x,
                            int32_t axis)
{
    static const char *const OPS[] = {"Mul", "Div", "Add", "Sub"};
    size_t op = 0;
    while (op < 4 && !pattern_is(n, OPS[op])) op++;
    pgy_value *v = op < 4 ? pattern_other(n, x) : NULL;
    if (!v || (op % 2 && n->inputs[0] != x) ||
        !channels_match(v, pattern_rank(x), axis, (int64_t)out->count))
        return false;
    pgy_tensor *t = pattern_floats(p, v);
    if (!t) return false;
    const size_t step = pgy_tensor_count(t) == out->count && out->count > 1;
    bool good = true;
    for (size_t i = 0; i < out->count; i++) {
        const double c = op_f64(t)[i * step];
        if (op < 2)
            out->scale[i] = op == 0 ? c : 1 / c;
        else
            out->shift[i] = op == 2 ? c : -c;
        good = good && isfinite(out->scale[i]) && isfinite(out->shift[i]);
    }
    pgy_tensor_release(t);
    return good;
}

/* ---- Weights -------------------------------------------------------------------------------- */

static bool scale_weight(pgy_value **out, pattern *p, const pgy_node *n, const channel_affine *a)
{
    pgy_value *v = n->inputs[1];
    pgy_tensor *w = pattern_floats(p, v);
    channel_view view;
    *out = NULL;
    if (w && channels_view(&view, n, pgy_tensor_rank(w), pgy_tensor_shape(w)) &&
        view.channels * view.groups == a->count) {
        double *x = op_f64(w); /* may be the graph's own elements, so they are never written */
        double *y = mem_alloc(pgy_tensor_count(w) * sizeof *y + 1);
        for (size_t o = 0, at = 0; y && o < view.outer; o++) {
            const size_t group = o / (view.outer / view.groups);
            for (size_t c = 0; c < view.channels; c++)
                for (size_t i = 0; i < view.inner; i++, at++)
                    y[at] = x[at] * a->scale[group * view.channels + c];
        }
        if (y)
            *out = pattern_weight(p, v->graph, v->name, pattern_dtype(v), pgy_tensor_rank(w),
                                  pgy_tensor_shape(w), y);
        mem_free(y);
    }
    pgy_tensor_release(w);
    return *out != NULL;
}

/* Makes the new bias: old bias, or zeros, times scale, plus shift. */
static bool shift_bias(pgy_value **out, pattern *p, const pgy_node *n, channel_affine *a)
{
    pgy_value *v = pattern_input(n, 2);
    const int64_t shape[1] = {(int64_t)a->count};
    pgy_tensor *bias = v ? pattern_floats(p, v) : NULL;
    if (v && (!bias || pgy_tensor_count(bias) != a->count || pattern_rank(v) != 1)) {
        pgy_tensor_release(bias);
        return false;
    }
    for (size_t i = 0; i < a->count; i++) a->shift[i] += bias ? op_f64(bias)[i] * a->scale[i] : 0;
    pgy_tensor_release(bias);
    *out = pattern_weight(p, n->graph, v ? v->name : "bias", pattern_dtype(n->inputs[1]), 1, shape,
                          a->shift);
    return *out != NULL;
}

/* ---- The rule ------------------------------------------------------------------------------- */

static bool is_suitable(pattern *p, const pgy_node *n)
{
    if (n->input_count < 2 || !n->inputs[1] || !pattern_is_constant(p, n->inputs[1]) ||
        !pattern_is_float(n->inputs[1]))
        return false;
    if (pattern_is(n, "Gemm"))
        return pattern_float(n, "alpha", 1) == 1 && pattern_float(n, "beta", 1) == 1;
    return pattern_is(n, "Conv") || pattern_is(n, "ConvTranspose");
}

bool fuse_channels(pattern *p, pgy_node *n)
{
    static const char *const KEPT[] = {"auto_pad", "dilations", "group",          "kernel_shape",
                                       "pads",     "strides",   "output_padding", "output_shape",
                                       "alpha",    "beta",      "transA",         "transB"};
    pgy_value *weight, *bias;
    channel_affine a;
    pgy_node *user = pattern_user(n);
    if (!user || !is_suitable(p, n)) return false;
    const int64_t channels = pattern_size(n->outputs[0], 1);
    if (channels < 1 || !channels_make_affine(&a, p, (size_t)channels)) return false;
    if (!(pattern_is(user, "BatchNormalization")
              ? user->inputs[0] == n->outputs[0] && channels_read_batch_norm(&a, p, user)
              : read_arithmetic(&a, p, user, n->outputs[0], 1)))
        return false;
    /* A consumer that broadcasts the result to more elements cannot move into the weights. */
    if (!pattern_same_shape(user->outputs[0], n->outputs[0]) || !scale_weight(&weight, p, n, &a) ||
        !shift_bias(&bias, p, n, &a))
        return false;
    const char *op = n->op_type;
    pgy_value *inputs[] = {n->inputs[0], weight, bias};
    pgy_node *made = pattern_put(p, user, op, inputs, 3);
    if (made) made->name = n->name;
    for (size_t i = 0; i < sizeof KEPT / sizeof *KEPT; i++) pattern_copy(p, made, n, KEPT[i]);
    return true;
}

/* BatchNormalization of the columns of a product, with a Reshape or Flatten to rows in between: the
 * scale goes into the weights, the shift is added to the product. */
bool fuse_batch_norm_product(pattern *p, pgy_node *n)
{
    channel_affine a;
    pgy_value *weight;
    if (!pattern_is(n, "MatMul") || !pattern_is_constant(p, n->inputs[1]) ||
        !pattern_is_float(n->inputs[1]) || pattern_rank(n->inputs[1]) != 2)
        return false;
    pgy_node *last = pattern_user(n), *rows = NULL;
    if (last && (pattern_is(last, "Reshape") || pattern_is(last, "Flatten")) &&
        last->inputs[0] == n->outputs[0]) {
        rows = last;
        last = pattern_user(rows);
    }
    const int64_t columns = pattern_size(n->outputs[0], -1);
    if (!last || !pattern_is(last, "BatchNormalization") || pattern_rank(last->inputs[0]) != 2 ||
        columns < 1 || pattern_size(last->inputs[0], 1) != columns ||
        !channels_make_affine(&a, p, (size_t)columns) || !channels_read_batch_norm(&a, p, last) ||
        !scale_weight(&weight, p, n, &a))
        return false;
    pgy_value *shift =
        pattern_weight(p, n->graph, "shift", pattern_dtype(weight), 1, &columns, a.shift);
    pgy_value *const factors[] = {n->inputs[0], weight};
    pgy_value *const terms[] = {pattern_make(p, n, NULL, "MatMul", factors, 2), shift};
    if (!terms[0] || !terms[1]) return false;
    if (!rows) {
        pattern_put(p, last, "Add", terms, 2);
        return true;
    }
    const char *op = rows->op_type;
    pgy_value *const cut[] = {pattern_make(p, n, NULL, "Add", terms, 2), pattern_input(rows, 1)};
    if (!cut[0]) return false;
    pgy_node *made = pattern_put(p, last, op, cut, rows->input_count);
    pattern_copy(p, made, rows, "allowzero");
    pattern_copy(p, made, rows, "axis");
    return true;
}

/* BatchNormalization that no weights could take, and the Relu behind it: a depthwise convolution of
 * single pixels. Its weights stay float32, so that 16-bit floats are rounded once. */
bool fuse_batch_norm_relu(pattern *p, pgy_node *n)
{
    channel_affine a;
    if (!pattern_is(n, "BatchNormalization")) return false;
    const pgy_dtype t = pattern_dtype(n->inputs[0]);
    if (t != PGY_F32 && t != PGY_F16 && t != PGY_BF16) return false;
    pgy_node *last = pattern_user(n);
    const int32_t rank = pattern_rank(n->inputs[0]);
    const int64_t channels = pattern_size(n->inputs[0], 1);
    const int64_t shape[] = {channels, 1, 1, 1}, kernel[] = {1, 1};
    if (!last || !pattern_is(last, "Relu") || rank < 3 || rank > 4 || channels < 1 ||
        !channels_make_affine(&a, p, (size_t)channels) || !channels_read_batch_norm(&a, p, n))
        return false;
    pgy_value *const inputs[] = {
        n->inputs[0], pattern_weight(p, n->graph, "scale", PGY_F32, (size_t)rank, shape, a.scale),
        pattern_weight(p, n->graph, "shift", PGY_F32, 1, &channels, a.shift)};
    if (!inputs[1] || !inputs[2]) return false;
    const char *op = t == PGY_F32 ? "com.microsoft:FusedConv" : "pgy:FusedConv";
    pgy_node *made = pattern_put(p, last, op, inputs, 3);
    pattern_set_int(p, made, "group", channels);
    pattern_set_ints(p, made, "kernel_shape", kernel, (size_t)rank - 2);
    pattern_set_text(p, made, "activation", "Relu");
    return true;
}

bool fuse_batch_norm(pattern *p, pgy_node *n)
{
    return fuse_channels(p, n) || fuse_batch_norm_product(p, n);
}
