/* SPDX-License-Identifier: Apache-2.0 */
/* Images with blocked channels (com.microsoft.nchwc), which ONNX Runtime's optimiser makes: the
 * operators become the standard ones, weights and images row-major. All of a graph's blocked images
 * change at once, with the elementwise operators and Concats between them, or none does: then only
 * ReorderInput and ReorderOutput become Transposes. */
#include "ops/class_nchwc.h"

#include <string.h>

#include "base/alloc.h"
#include "engine/passes/pass.h"
#include "graph/graph.h"
#include "transform/pattern.h"

/* Operators that compute the same whatever the order of the elements is. */
static const char *const ANY_ORDER[] = {
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Min",
    "Max",
    "Sum",
    "Relu",
    "Clip",
    "LeakyRelu",
    "Sigmoid",
    "Tanh",
    "Elu",
    "HardSigmoid",
    "Abs",
    "Exp",
    "HardSwish",
    "Softplus",
    "Neg",
    "Sqrt",
    "Erf",
    "Identity",
    "Gelu",
    "com.microsoft:Gelu",
    "com.microsoft:QuickGelu",
};

static bool is_nchwc(const pgy_node *n, const char *op)
{
    return strcmp(n->domain, NCHWC_DOMAIN) == 0 && (!op || strcmp(n->op_type, op) == 0);
}

static size_t block_of(const pgy_node *n)
{
    return (size_t)graph_channel_block(state_of(n->graph));
}

/* ---- May the graph be lowered? -------------------------------------------------------------- */

/* blocked[i]: the output of node i is a blocked image. */
typedef struct survey {
    const pgy_graph *g;
    bool *blocked;
} survey;

static bool is_blocked(const survey *s, const pgy_value *v)
{
    return v && v->producer && v->producer->graph == s->g && s->blocked[v->producer->index];
}

static bool has_blocked(const survey *s, const pgy_node *n)
{
    for (size_t i = 0; i < n->input_count; i++)
        if (is_blocked(s, n->inputs[i])) return true;
    return false;
}

static bool fits_conv(const survey *s, const pgy_node *n)
{
    const pgy_value *w = pattern_input(n, 1), *sum = pattern_input(n, 3);
    if (!w || !w->initializer || w->rank < 3) return false;
    int64_t shape[PGY_MAX_RANK];
    const int64_t group = pattern_int(n, "group", 1);
    for (int32_t d = 0; d < w->rank; d++) shape[d] = pattern_size(w, d);
    return nchwc_weights_fit((size_t)w->rank, shape, group, block_of(n)) &&
           is_blocked(s, n->inputs[0]) != nchwc_takes_plain(shape, group, block_of(n)) &&
           (!sum || is_blocked(s, sum));
}

static bool fits_input(const survey *s, const pgy_node *n)
{
    const int32_t axis = pattern_int(n, "channels_last", 0) ? -1 : 1;
    return !is_blocked(s, n->inputs[0]) && pattern_rank(n->inputs[0]) >= 3 &&
           pattern_size(n->inputs[0], axis) > 0;
}

static bool fits_nchwc(const survey *s, const pgy_node *n)
{
    if (is_nchwc(n, "Conv")) return fits_conv(s, n);
    if (is_nchwc(n, "ReorderInput")) return fits_input(s, n);
    return is_blocked(s, n->inputs[0]) && pattern_rank(n->inputs[0]) >= 3;
}

/* Does a standard operator on blocked images give one? */
static bool keeps_blocks(const survey *s, const pgy_node *n)
{
    const bool concat = pattern_is(n, "Concat") && pattern_int(n, "axis", 0) == 1;
    bool known = concat;
    for (size_t i = 0; !known && i < sizeof ANY_ORDER / sizeof *ANY_ORDER; i++)
        known = pattern_is(n, ANY_ORDER[i]);
    for (size_t i = 0; known && i < n->input_count; i++) {
        const pgy_value *v = n->inputs[i];
        if (v && !is_blocked(s, v) && (concat || !pattern_has_at_most(v, 1))) return false;
    }
    return known && n->output_count == 1;
}

/* Is the value read by nodes of its own graph alone, and no output of it? */
static bool is_inside(const pgy_graph *g, const pgy_value *v)
{
    for (size_t i = 0; i < g->output_count; i++)
        if (g->outputs[i] == v) return false;
    for (size_t i = 0; i < v->consumer_count; i++)
        if (v->consumers[i]->graph != g) return false;
    return true;
}

static bool survey_node(survey *s, const pgy_node *n)
{
    const bool nchwc = is_nchwc(n, NULL);
    if (!nchwc && !has_blocked(s, n)) return true;
    if (nchwc ? !fits_nchwc(s, n) : !keeps_blocks(s, n)) return false;
    s->blocked[n->index] = !is_nchwc(n, "ReorderOutput");
    return !s->blocked[n->index] || is_inside(s->g, n->outputs[0]);
}

static bool has_nchwc(const pgy_graph *g)
{
    for (size_t i = 0; i < g->node_count; i++)
        if (is_nchwc(g->nodes[i], NULL)) return true;
    return false;
}

/* *fits: all blocked images of the graph may become row-major. Each node is looked at behind those
 * that make its inputs. */
static pgy_status survey_graph(bool *fits, pgy_graph *g, pgy_error *err)
{
    const pgy_status st = pgy_graph_sort(g, err);
    if (st) return st;
    survey s = {.g = g, .blocked = mem_calloc(g->node_count + 1, sizeof(bool))};
    if (!s.blocked) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    *fits = true;
    for (size_t i = 0; *fits && i < g->node_count; i++) *fits = survey_node(&s, g->nodes[i]);
    mem_free(s.blocked);
    return PGY_OK;
}

/* ---- Lowering ------------------------------------------------------------------------------- */

static bool is_lowered(const pgy_node *n, const char *op)
{
    return !n->graph->parent && is_nchwc(n, op);
}

static pgy_value *plain_weights(pattern *p, const pgy_node *n)
{
    pgy_tensor *w = NULL, *plain = NULL;
    pgy_value *made = NULL;
    const int64_t group = pattern_int(n, "group", 1);
    const size_t block = block_of(n);
    if (!p->status) p->status = fold_constant(&w, &p->f, n->inputs[1], p->err);
    if (!p->status && w)
        p->status = nchwc_plain_weights(&plain, w, block,
                                        nchwc_is_alone(pgy_tensor_shape(w), group, block), p->err);
    if (!p->status && plain) made = pattern_tensor(p, n->graph, n->inputs[1]->name, plain);
    pgy_tensor_release(plain);
    pgy_tensor_release(w);
    return made;
}

static void copy_attributes(pattern *p, pgy_node *made, const pgy_node *n)
{
    static const char *const KEPT[] = {
        "activation",        "activation_params", "auto_pad",    "ceil_mode",
        "count_include_pad", "dilations",         "group",       "pads",
        "storage_order",     "strides",           "kernel_shape"};
    for (size_t i = 0; made && i < sizeof KEPT / sizeof *KEPT; i++)
        pattern_copy(p, made, n, KEPT[i]);
}

static bool lower_conv(pattern *p, pgy_node *n)
{
    if (!is_lowered(n, "Conv")) return false;
    pgy_value *w = plain_weights(p, n);
    pgy_value *const inputs[] = {n->inputs[0], w, pattern_input(n, 2), pattern_input(n, 3)};
    if (!w) return false;
    const bool fused = inputs[3] || !pattern_text_is(n, "activation", "", "");
    pgy_node *made = pattern_put(p, n, fused ? "com.microsoft:FusedConv" : "Conv", inputs,
                                 inputs[3]   ? 4
                                 : inputs[2] ? 3
                                             : 2);
    copy_attributes(p, made, n);
    return made != NULL;
}

static bool lower_pool(pattern *p, pgy_node *n)
{
    static const char *const POOLS[] = {"MaxPool", "AveragePool", "GlobalAveragePool",
                                        "GlobalMaxPool"};
    for (size_t i = 0; i < sizeof POOLS / sizeof *POOLS; i++) {
        if (!is_lowered(n, POOLS[i])) continue;
        pgy_node *made = pattern_put(p, n, POOLS[i], n->inputs, 1);
        copy_attributes(p, made, n);
        return made != NULL;
    }
    return false;
}

static bool lower_upsample(pattern *p, pgy_node *n)
{
    const pgy_onnx_attribute *given =
        is_lowered(n, "Upsample") ? node_attribute(n, "scales") : NULL;
    double scales[PGY_MAX_RANK];
    if (!given || given->int_count > PGY_MAX_RANK) return false;
    for (size_t i = 0; i < given->int_count; i++) scales[i] = (double)given->ints[i];
    const int64_t count = (int64_t)given->int_count;
    const bool linear = pattern_text_is(n, "mode", "linear", "nearest");
    pgy_value *const inputs[] = {
        n->inputs[0], NULL,
        pattern_weight(p, n->graph, n->outputs[0]->name, PGY_F32, 1, &count, scales)};
    if (!inputs[2]) return false;
    pgy_node *made = pattern_put(p, n, "Resize", inputs, 3);
    pattern_set_text(p, made, "mode", linear ? "linear" : "nearest");
    pattern_set_text(p, made, "nearest_mode", "floor");
    pattern_set_text(p, made, "coordinate_transformation_mode", "asymmetric");
    pattern_copy(p, made, n, "coordinate_transformation_mode");
    return made != NULL;
}

/* Moves channels to axis 1 from the end, or back. */
static pgy_value *move_channels(pattern *p, pgy_node *n, pgy_value *x, int32_t rank, bool to_end)
{
    int64_t perm[PGY_MAX_RANK];
    for (int32_t d = 0; d < rank; d++) perm[d] = d < 2 ? d : to_end ? d : d - 1;
    if (to_end) {
        for (int32_t d = 1; d + 1 < rank; d++) perm[d] = d + 1;
        perm[rank - 1] = 1;
    } else {
        perm[1] = rank - 1;
    }
    pgy_value *y = pattern_make(p, n, NULL, "Transpose", &x, 1);
    if (y) pattern_set_ints(p, y->producer, "perm", perm, (size_t)rank);
    return y;
}

/* The last block of channels is filled with zeros. */
static bool lower_input(pattern *p, pgy_node *n)
{
    int64_t pads[2 * PGY_MAX_RANK] = {0};
    if (!is_lowered(n, "ReorderInput")) return false;
    const bool last = pattern_int(n, "channels_last", 0) != 0;
    const int32_t rank = pattern_rank(n->inputs[0]);
    const int64_t block = (int64_t)block_of(n),
                  channels = pattern_size(n->inputs[0], last ? -1 : 1);
    pgy_value *x = last ? move_channels(p, n, n->inputs[0], rank, false) : n->inputs[0];
    pads[rank + 1] = (channels + block - 1) / block * block - channels;
    if (!x) return false;
    if (!pads[rank + 1]) return pattern_put(p, n, "Identity", &x, 1);
    pgy_value *const inputs[] = {x, pattern_list(p, n, NULL, pads, 2 * (size_t)rank)};
    return inputs[1] && pattern_put(p, n, "Pad", inputs, 2);
}

static bool lower_output(pattern *p, pgy_node *n)
{
    const int64_t from = 0, axis = 1;
    if (!is_lowered(n, "ReorderOutput")) return false;
    const int64_t channels = pattern_int(n, "channels", 0);
    pgy_value *x = n->inputs[0];
    if (pattern_size(x, 1) != channels) {
        pgy_value *const inputs[] = {x, pattern_list(p, n, NULL, &from, 1),
                                     pattern_list(p, n, NULL, &channels, 1),
                                     pattern_list(p, n, NULL, &axis, 1)};
        x = pattern_make(p, n, NULL, "Slice", inputs, 4);
    }
    if (x && pattern_int(n, "channels_last", 0))
        x = move_channels(p, n, x, pattern_rank(n->inputs[0]), true);
    return x && pattern_put(p, n, "Identity", &x, 1);
}

/* ---- Images that stay blocked --------------------------------------------------------------- */

/* An image between row-major and blocked: its channels, rounded up to whole blocks, and its pixels.
 */
typedef struct image {
    int32_t rank;
    bool last; /* the row-major one has its channels last */
    int64_t channels, block, pixels, sizes[PGY_MAX_RANK];
} image;

/* `last`: the input of n has its channels last. False: a size is not known. */
static bool read_image(image *out, const pgy_node *n, int64_t channels, bool last)
{
    const pgy_value *v = n->inputs[0];
    *out = (image){.rank = pattern_rank(v), .last = pattern_int(n, "channels_last", 0) != 0};
    out->block = (int64_t)block_of(n);
    out->channels = (channels + out->block - 1) / out->block * out->block;
    out->pixels = 1;
    if (out->rank < 3 || out->block <= 0 || channels <= 0) return false;
    for (int32_t d = 2; d < out->rank; d++) {
        out->sizes[d] = pattern_size(v, last ? d - 1 : d);
        if (out->sizes[d] <= 0) return false;
        out->pixels *= out->sizes[d];
    }
    return true;
}

static pgy_value *reshape_to(pattern *p, pgy_node *n, pgy_value *x, const int64_t *shape,
                             int32_t rank)
{
    pgy_value *const inputs[] = {x, pattern_list(p, n, NULL, shape, (size_t)rank)};
    return inputs[1] ? pattern_make(p, n, NULL, "Reshape", inputs, 2) : NULL;
}

/* Pixels and lanes of the blocks change places: x becomes `from`, then `to`. The first size is that
 * of the batch, which a Reshape copies. */
static pgy_value *change_places(pattern *p, pgy_node *n, pgy_value *x, const int64_t from[4],
                                const int64_t *order, const int64_t *to, int32_t rank)
{
    pgy_value *parts = x ? reshape_to(p, n, x, from, 4) : NULL;
    pgy_value *moved = pattern_make(p, n, NULL, "Transpose", &parts, 1);
    if (!moved) return NULL;
    pattern_set_ints(p, moved->producer, "perm", order, 4);
    return reshape_to(p, n, moved, to, rank);
}

static const int64_t LANES_OUT[] = {0, 1, 3, 2}, BLOCKS_OUT[] = {0, 2, 1, 3};

static bool block_input(pattern *p, pgy_node *n)
{
    image m;
    int64_t pads[2 * PGY_MAX_RANK] = {0};
    if (!is_nchwc(n, "ReorderInput")) return false;
    const bool last = pattern_int(n, "channels_last", 0) != 0;
    const int64_t channels = pattern_size(n->inputs[0], last ? -1 : 1);
    if (!read_image(&m, n, channels, last)) return false;
    pgy_value *x = n->inputs[0];
    pads[m.rank + (last ? m.rank - 1 : 1)] = m.channels - channels;
    if (m.channels != channels) {
        pgy_value *const inputs[] = {x, pattern_list(p, n, NULL, pads, 2 * (size_t)m.rank)};
        x = inputs[1] ? pattern_make(p, n, NULL, "Pad", inputs, 2) : NULL;
    }
    const int64_t blocks = m.channels / m.block;
    const int64_t planes[] = {0, blocks, m.block, m.pixels},
                  rows[] = {0, m.pixels, blocks, m.block};
    m.sizes[1] = m.channels;
    x = change_places(p, n, x, last ? rows : planes, last ? BLOCKS_OUT : LANES_OUT, m.sizes,
                      m.rank);
    return x && pattern_put(p, n, "Identity", &x, 1);
}

static bool unblock_output(pattern *p, pgy_node *n)
{
    image m;
    int64_t shape[PGY_MAX_RANK] = {0};
    if (!is_nchwc(n, "ReorderOutput")) return false;
    const int64_t from = 0, channels = pattern_int(n, "channels", 0);
    if (!read_image(&m, n, pattern_size(n->inputs[0], 1), false)) return false;
    const int64_t axis = m.last ? m.rank - 1 : 1;
    for (int32_t d = 2; d < m.rank; d++) shape[m.last ? d - 1 : d] = m.sizes[d];
    shape[axis] = m.channels;
    pgy_value *x = change_places(p, n, n->inputs[0],
                                 (const int64_t[]){0, m.channels / m.block, m.pixels, m.block},
                                 m.last ? BLOCKS_OUT : LANES_OUT, shape, m.rank);
    if (x && channels != m.channels) {
        pgy_value *const inputs[] = {x, pattern_list(p, n, NULL, &from, 1),
                                     pattern_list(p, n, NULL, &channels, 1),
                                     pattern_list(p, n, NULL, &axis, 1)};
        x = pattern_make(p, n, NULL, "Slice", inputs, 4);
    }
    return x && pattern_put(p, n, "Identity", &x, 1);
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {lower_conv,  lower_pool,   lower_upsample,
                                         lower_input, lower_output, NULL},
                              REORDERS[] = {block_input, unblock_output, NULL};
    bool fits = false;
    if (!has_nchwc(g)) return PGY_OK;
    const pgy_status st = survey_graph(&fits, g, err);
    return st ? st : pattern_run(g, "lower_nchwc", fits ? RULES : REORDERS, changes, err);
}

const pass PASS_lower_nchwc = {
    .name = "lower_nchwc", .summary = "images with blocked channels as row-major ones", .run = run};
