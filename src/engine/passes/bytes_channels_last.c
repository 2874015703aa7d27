/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of bytes, and what stands between them, get the channels last: then the channels of
 * a pixel are steps of a sum as they lie, and no convolution rearranges its image. Each node is
 * rewritten between a Transpose of its image and one back; a node behind reads the first one's
 * image, so Transposes stay only where images begin and end. */
#include "engine/passes/pass.h"
#include "transform/pattern.h"

/* LEAST_CHANNELS: with fewer in a row of taps, most of a group of four bytes would be empty.
 * LEAST_MAPS: with fewer in one of several groups, most of a vector of output channels would be. */
enum { RANK = 4, LEAST_CHANNELS = 4, LEAST_MAPS = 16, MOST_INPUTS = 64 };

static const int64_t TO_LAST[RANK] = {0, 2, 3, 1}, TO_FIRST[RANK] = {0, 3, 1, 2};

static bool is_order(const pgy_node *n, const int64_t *order)
{
    const pgy_onnx_attribute *perm = pattern_is(n, "Transpose") ? node_attribute(n, "perm") : NULL;
    if (!perm || perm->int_count != RANK) return false;
    for (size_t i = 0; i < RANK; i++)
        if (perm->ints[i] != order[i]) return false;
    return true;
}

/* The tensor with its channels last from which v was made, or NULL. */
static pgy_value *image_behind(const pgy_value *v)
{
    pgy_node *n = v ? pattern_from(v, "Transpose") : NULL;
    return n && is_order(n, TO_FIRST) ? n->inputs[0] : NULL;
}

/* v with its channels last. */
static pgy_value *image_of(pattern *p, pgy_node *before, pgy_value *v)
{
    pgy_value *image = image_behind(v);
    for (size_t i = 0; !image && i < v->consumer_count; i++)
        if (is_order(v->consumers[i], TO_LAST) && v->consumers[i]->graph == before->graph)
            image = v->consumers[i]->outputs[0];
    if (image) return image;
    image = pattern_make(p, before, NULL, "Transpose", &v, 1);
    if (image) pattern_set_ints(p, image->producer, "perm", TO_LAST, RANK);
    return image;
}

static bool is_byte_image(const pgy_value *v)
{
    return v && (pattern_dtype(v) == PGY_U8 || pattern_dtype(v) == PGY_I8) &&
           pattern_rank(v) == RANK;
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

/* An operator, and the one that replaces it. The inputs first, first + step, ... are images: as
 * many as `images` says; 0: up to the last input. */
typedef struct form {
    const char *from, *to;
    size_t first, step, images;
    bool last; /* `to` has attribute channels_last */
    const char *kept[8];
} form;

#define WINDOW "auto_pad", "dilations", "kernel_shape", "pads", "strides"
static const form FORMS[] = {
    {"QLinearConv", "com.microsoft:QLinearConv", 0, 1, 1, true, {WINDOW, "group"}},
    {"pgy:QLinearConv", "pgy:QLinearConv", 0, 1, 1, true, {WINDOW, "group", "activation"}},
    {"MaxPool", "com.microsoft:NhwcMaxPool", 0, 1, 1, false, {WINDOW, "ceil_mode"}},
    {"com.microsoft:QLinearAveragePool",
     "com.microsoft:QLinearAveragePool",
     0,
     1,
     1,
     true,
     {"auto_pad", "kernel_shape", "pads", "strides", "ceil_mode", "count_include_pad"}},
    {"com.microsoft:QLinearGlobalAveragePool",
     "com.microsoft:QLinearGlobalAveragePool",
     0,
     1,
     1,
     true,
     {NULL}},
    {"com.microsoft:QLinearAdd", "com.microsoft:QLinearAdd", 0, 3, 2, false, {NULL}},
    {"com.microsoft:QLinearMul", "com.microsoft:QLinearMul", 0, 3, 2, false, {NULL}},
    {"com.microsoft:QLinearConcat", "com.microsoft:QLinearConcat", 2, 3, 0, false, {NULL}},
    {"Concat", "Concat", 0, 1, 0, false, {NULL}},
    {"pgy:Lookup", "pgy:Lookup", 0, 1, 1, false, {NULL}},
};
#undef WINDOW

static const form *find_form(const pgy_node *n)
{
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++)
        if (pattern_is(n, FORMS[i].from)) return &FORMS[i];
    return NULL;
}

static bool is_conv(const pgy_node *n)
{
    return pattern_is(n, "QLinearConv") || pattern_is(n, "pgy:QLinearConv");
}

/* Does a convolution, whose inputs may all be read when the plan is made, gain? */
static bool conv_gains(pattern *p, const pgy_node *n, bool for_cuda)
{
    enum { W = 3 };
    for (size_t i = 1; i < n->input_count; i++)
        if (n->inputs[i] && !pattern_is_constant(p, n->inputs[i])) return false;
    const int64_t channels = pattern_size(n->inputs[W], 1), maps = pattern_size(n->inputs[W], 0);
    const int64_t groups = pattern_int(n, "group", 1);
    if (channels == 1 && maps == groups) return true; /* depthwise */
    if (for_cuda) return true;
    const int64_t row = groups == 1 ? channels * pattern_size(n->inputs[W], -1) : channels;
    return row >= LEAST_CHANNELS && (groups == 1 || maps / LEAST_MAPS >= groups);
}

/* Can a node that reads n's result be rewritten, too? */
static bool has_successor(const pgy_node *n)
{
    const pgy_value *y = n->outputs[0];
    for (size_t i = 0; i < y->consumer_count; i++)
        if (find_form(y->consumers[i])) return true;
    return false;
}

/* Can a neighbour of n be rewritten, too? A convolution alone would only get two
 * Transposes. */
static bool has_company(const pgy_node *n)
{
    const pgy_node *before = n->inputs[0]->producer;
    return (before && find_form(before)) || image_behind(n->inputs[0]) || has_successor(n);
}

/* A pool follows a convolution that keeps the channels first, because its image has few channels,
 * and others follow the pool. */
static bool pool_gains(const pgy_node *n)
{
    const pgy_value *x = n->inputs[0];
    return x->producer && is_conv(x->producer) && has_successor(n) &&
           (n->output_count == 1 || !n->outputs[1]) && pattern_int(n, "storage_order", 0) == 0;
}

static size_t image_count(const form *f, const pgy_node *n)
{
    return f->images ? f->images : (n->input_count - f->first + f->step - 1) / f->step;
}

/* May n be rewritten? Convolutions are; other nodes are if all their images have the channels last
 * already, from whose Transposes they set them free. */
static bool gains(pattern *p, const form *f, const pgy_node *n, bool for_cuda)
{
    if (!is_byte_image(n->outputs[0]) || n->input_count <= f->first) return false;
    const size_t count = image_count(f, n);
    bool behind = true;
    for (size_t i = 0; i < count; i++) {
        const pgy_value *v = pattern_input(n, f->first + i * f->step);
        if (!is_byte_image(v)) return false;
        if (!image_behind(v)) behind = false;
    }
    if (is_conv(n))
        return !pattern_int(n, "channels_last", 0) && conv_gains(p, n, for_cuda) && has_company(n);
    if (f->last && pattern_int(n, "channels_last", 0)) return false;
    const int64_t axis = pattern_int(n, "axis", 1);
    if (!f->images && (axis < -RANK || axis >= RANK)) return false;
    if (pattern_is(n, "MaxPool")) return pool_gains(n) || behind;
    return behind;
}

static bool turn_node(pattern *p, pgy_node *n, bool for_cuda)
{
    const form *f = find_form(n);
    pgy_value *inputs[MOST_INPUTS];
    if (!f || n->input_count > MOST_INPUTS || !gains(p, f, n, for_cuda)) return false;
    for (size_t i = 0; i < n->input_count; i++) inputs[i] = n->inputs[i];
    const size_t count = image_count(f, n);
    for (size_t i = 0; i < count; i++) {
        const size_t at = f->first + i * f->step;
        inputs[at] = image_of(p, n, n->inputs[at]);
        if (!inputs[at]) return false;
    }
    pgy_value *y = pattern_make(p, n, NULL, f->to, inputs, n->input_count);
    if (!y) return false;
    pgy_node *made = y->producer;
    made->name = n->name;
    for (size_t i = 0; i < 8 && f->kept[i]; i++) pattern_copy(p, made, n, f->kept[i]);
    if (f->last) pattern_set_int(p, made, "channels_last", 1);
    if (!f->images) { /* joins tensors along an axis */
        const int64_t axis = pattern_int(n, "axis", 1);
        pattern_set_int(p, made, "axis", TO_FIRST[axis < 0 ? axis + RANK : axis]);
    }
    pgy_node *back = pattern_add(p, n, "Transpose", &y, 1, n->outputs[0]);
    if (!back) return false;
    pattern_set_ints(p, back, "perm", TO_FIRST, RANK);
    pattern_drop(p, n);
    return true;
}

static bool turn(pattern *p, pgy_node *n)
{
    return turn_node(p, n, false);
}

/* A CUDA kernel reads several channels of a pixel at once only if they lie side by side, so also
 * images of few channels turn. */
static bool turn_for_cuda(pattern *p, pgy_node *n)
{
    return turn_node(p, n, true);
}

static pgy_status run(pgy_graph *g, const pass_target *target, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {turn, NULL}, FOR_CUDA[] = {turn_for_cuda, NULL};
    return pattern_run(g, "bytes_channels_last", pass_is_for_cuda(target) ? FOR_CUDA : RULES,
                       changes, err);
}

const pass PASS_bytes_channels_last = {
    .name = "bytes_channels_last",
    .summary = "convolutions of bytes and what stands between them get the channels last",
    .run_for = run};
