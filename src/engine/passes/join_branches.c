/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and differences of convolutions of one tensor become one convolution: smaller kernels are
 * added to the taps of the largest one that read the same pixels. A BatchNormalization of the
 * tensor, and beside depthwise convolutions the tensor itself, have one tap. RepVGG, MobileOne and
 * FastViT are exported so as they are trained. Computed in float64 and rounded once. */
#include <math.h>

#include "base/alloc.h"
#include "engine/passes/pass.h"
#include "transform/channels.h"
#include "transform/fuse/fuse.h"

enum { MAX_SPATIAL = PGY_MAX_RANK - 2, MAX_SIZE = 1 << 30 };

/* A term of the sum. A term without weights scales and shifts channels. */
typedef struct branch {
    pgy_node *node; /* NULL: the tensor itself */
    pgy_value *x;
    double sign;
    size_t spatial, out, in, taps; /* in: channels of a group */
    int64_t group, kernel[MAX_SPATIAL], stride[MAX_SPATIAL], pad[MAX_SPATIAL];
    pgy_tensor *weight, *bias;
    channel_affine affine;
} branch;

/* ---- Terms ---------------------------------------------------------------------------------- */

/* Reads `count` numbers of an attribute, or of the first of its two halves. */
static bool read_ints(int64_t *out, const pgy_node *n, const char *name, size_t count, size_t given,
                      int64_t least, int64_t fallback)
{
    const pgy_onnx_attribute *a = node_attribute(n, name);
    if (a && a->int_count != given) return false;
    for (size_t i = 0; i < count; i++) {
        out[i] = a ? a->ints[i] : fallback;
        if (out[i] < least || out[i] > MAX_SIZE) return false;
    }
    return true;
}

static bool read_bias(branch *b, pattern *p)
{
    pgy_value *v = pattern_input(b->node, 2);
    if (!v) return true;
    b->bias = pattern_floats(p, v);
    return b->bias && pattern_rank(v) == 1 && pgy_tensor_count(b->bias) == b->out;
}

/* A Conv in float32 with constant weights, without dilation, whose result nothing else reads. */
static bool read_conv(branch *b, pattern *p, pgy_value *v)
{
    pgy_node *n = pattern_inner(v, "Conv");
    pgy_value *w = n ? pattern_input(n, 1) : NULL;
    const int32_t rank = pattern_rank(w);
    int64_t dilations[MAX_SPATIAL];
    if (rank < 3 || rank > PGY_MAX_RANK || pattern_dtype(w) != PGY_F32 ||
        !pattern_is_constant(p, w) || pattern_rank(n->inputs[0]) != rank)
        return false;
    *b = (branch){.node = n,
                  .x = n->inputs[0],
                  .sign = 1,
                  .spatial = (size_t)rank - 2,
                  .out = (size_t)pattern_size(w, 0),
                  .in = (size_t)pattern_size(w, 1),
                  .taps = 1,
                  .group = pattern_int(n, "group", 1)};
    if (!pattern_text_is(n, "auto_pad", "NOTSET", "NOTSET") || b->group < 1 || !b->in || !b->out ||
        b->out % (size_t)b->group ||
        !read_ints(b->stride, n, "strides", b->spatial, b->spatial, 1, 1) ||
        !read_ints(dilations, n, "dilations", b->spatial, b->spatial, 1, 1) ||
        !read_ints(b->pad, n, "pads", b->spatial, 2 * b->spatial, 0, 0))
        return false;
    for (size_t i = 0; i < b->spatial; i++) {
        b->kernel[i] = pattern_size(w, (int32_t)i + 2);
        if (b->kernel[i] < 1 || (b->kernel[i] > 1 && dilations[i] > 1)) return false;
        b->taps *= (size_t)b->kernel[i];
    }
    b->weight = pattern_floats(p, w);
    return b->weight && read_bias(b, p);
}

/* A term of one tap beside the convolution `base`: BatchNormalization of its input, which others
 * may read, too, or the input. */
static bool read_point(branch *b, pattern *p, pgy_value *v, const branch *base)
{
    pgy_node *n = pattern_from(v, "BatchNormalization");
    *b = (branch){.node = v == base->x ? NULL : n,
                  .x = base->x,
                  .sign = 1,
                  .spatial = base->spatial,
                  .out = base->out,
                  .in = base->in,
                  .taps = 1,
                  .group = base->group};
    for (size_t i = 0; i < b->spatial; i++) b->kernel[i] = b->stride[i] = 1;
    if (base->out != base->in * (size_t)base->group ||
        !channels_make_affine(&b->affine, p, base->out))
        return false;
    if (v == base->x) return base->in == 1;
    return n && n->inputs[0] == base->x && channels_read_batch_norm(&b->affine, p, n);
}

static void release(branch *b)
{
    pgy_tensor_release(b->weight);
    pgy_tensor_release(b->bias);
}

/* Does each tap of `b` read what a tap of `base` reads? */
static bool contains(const branch *base, const branch *b)
{
    if (b->x != base->x || b->spatial != base->spatial || b->group != base->group ||
        b->out != base->out || b->in != base->in)
        return false;
    for (size_t i = 0; i < b->spatial; i++) {
        const int64_t shift = base->pad[i] - b->pad[i];
        if (b->stride[i] != base->stride[i] || shift < 0 || shift + b->kernel[i] > base->kernel[i])
            return false;
    }
    return true;
}

/* ---- Sums ----------------------------------------------------------------------------------- */

/* The tap of `base` that reads what tap `tap` of b reads. */
static size_t place_of(const branch *base, const branch *b, size_t tap)
{
    size_t place = 0, step = 1;
    for (size_t i = b->spatial; i-- > 0;) {
        const size_t size = (size_t)b->kernel[i], shift = (size_t)(base->pad[i] - b->pad[i]);
        place += (tap % size + shift) * step;
        step *= (size_t)base->kernel[i];
        tap /= size;
    }
    return place;
}

static void add_weights(double *sums, const branch *base, const branch *b)
{
    for (size_t t = 0; t < b->taps; t++) {
        double *to = sums + place_of(base, b, t);
        if (!b->weight) { /* channel i of the output has that of the input */
            for (size_t i = 0; i < b->out; i++)
                to[(i * b->in + i % b->in) * base->taps] += b->sign * b->affine.scale[i];
            continue;
        }
        const double *w = op_f64(b->weight) + t;
        for (size_t i = 0; i < b->out * b->in; i++) to[i * base->taps] += b->sign * w[i * b->taps];
    }
}

static void add_bias(double *sums, const branch *b)
{
    const double *from = b->weight ? b->bias ? op_f64(b->bias) : NULL : b->affine.shift;
    for (size_t i = 0; from && i < b->out; i++) sums[i] += b->sign * from[i];
}

/* Makes the weights and the bias of the sum. False: a number is not finite, so the terms stay, or
 * out of memory. */
static bool make_sums(pgy_value **weight, pgy_value **bias, pattern *p, const branch *base,
                      const branch *b)
{
    const size_t count = base->out * base->in * base->taps;
    const pgy_value *w = base->node->inputs[1];
    const int64_t channels[] = {(int64_t)base->out};
    double *sums = mem_calloc(count + base->out, sizeof *sums);
    bool good = sums != NULL;
    if (good) {
        add_weights(sums, base, base);
        add_weights(sums, base, b);
        add_bias(sums + count, base);
        add_bias(sums + count, b);
    }
    for (size_t i = 0; good && i < count + base->out; i++) good = isfinite((float)sums[i]);
    if (good) {
        *weight = pattern_weight(p, w->graph, w->name, PGY_F32, base->spatial + 2,
                                 pgy_tensor_shape(base->weight), sums);
        *bias = pattern_weight(p, w->graph, "bias", PGY_F32, 1, channels, sums + count);
        good = *weight && *bias;
    }
    mem_free(sums);
    return good;
}

/* ---- The rule ------------------------------------------------------------------------------- */

/* Reads the terms of n, the convolution with the larger kernel first. */
static bool read_terms(branch *base, branch *b, pattern *p, pgy_node *n)
{
    const double second = pattern_is(n, "Sub") ? -1 : 1;
    for (size_t first = 0; first < 2; first++) {
        pgy_value *other = n->inputs[1 - first];
        *base = *b = (branch){0};
        if (read_conv(base, p, n->inputs[first]) &&
            (read_conv(b, p, other) || (release(b), read_point(b, p, other, base))) &&
            contains(base, b)) {
            (first ? base : b)->sign = second;
            return true;
        }
        release(base);
        release(b);
    }
    return false;
}

static bool join_branches(pattern *p, pgy_node *n)
{
    static const char *const KEPT[] = {"dilations", "group", "kernel_shape", "pads", "strides"};
    branch base, b;
    pgy_value *weight, *bias;
    if ((!pattern_is(n, "Add") && !pattern_is(n, "Sub")) || n->input_count != 2 ||
        !pattern_same_shape(n->inputs[0], n->inputs[1]) || !read_terms(&base, &b, p, n))
        return false;
    const bool made_sums = make_sums(&weight, &bias, p, &base, &b);
    if (made_sums) {
        const pgy_node *conv = base.node;
        pgy_value *const inputs[] = {base.x, weight, bias};
        pgy_node *made = pattern_put(p, n, "Conv", inputs, 3);
        for (size_t i = 0; i < sizeof KEPT / sizeof *KEPT; i++)
            pattern_copy(p, made, conv, KEPT[i]);
    }
    release(&base);
    release(&b);
    return made_sums;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {join_branches, fuse_channels, NULL};
    return pattern_run(g, "join_branches", RULES, changes, err);
}

const pass PASS_join_branches = {.name = "join_branches",
                                 .summary =
                                     "sums of convolutions of one tensor become one convolution",
                                 .run = run};
