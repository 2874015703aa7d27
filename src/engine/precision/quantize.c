/* SPDX-License-Identifier: Apache-2.0 */
/* Layers in int8. An int8 layer reads its inputs through Q/DQ pairs, one pair for each tensor, and
 * its weight through a DequantizeLinear; later passes see the pairs around a layer and compute it
 * in integers. Outputs are left unchanged: the next int8 layer quantizes them.
 *
 * Convolutions and products by weights come first. Sums, pools, functions and moves follow if they
 * lie between such layers, since a detour through float32 would cost more than they do. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "engine/precision/precision.h"

static const char LOG_PATH[] = "engine/precision/quantize.c";

static const struct {
    const char *op;
    quantize_role role;
} ROLES[] = {
    {"Conv", QUANTIZE_LINEAR},
    {"ConvTranspose", QUANTIZE_LINEAR},
    {"Gemm", QUANTIZE_LINEAR},
    {"MatMul", QUANTIZE_LINEAR},
    {"Add", QUANTIZE_JOIN},
    {"Mul", QUANTIZE_JOIN},
    {"Concat", QUANTIZE_JOIN},
    {"AveragePool", QUANTIZE_JOIN},
    {"GlobalAveragePool", QUANTIZE_JOIN},
    /* functions of one number: in int8 they are a table of results */
    {"LeakyRelu", QUANTIZE_JOIN},
    {"Elu", QUANTIZE_JOIN},
    {"Sigmoid", QUANTIZE_JOIN},
    {"HardSigmoid", QUANTIZE_JOIN},
    {"Tanh", QUANTIZE_JOIN},
    {"HardSwish", QUANTIZE_JOIN},
    {"Swish", QUANTIZE_JOIN},
    {"Mish", QUANTIZE_JOIN},
    {"Gelu", QUANTIZE_JOIN},
    {"com.microsoft:QuickGelu", QUANTIZE_JOIN},
    {"MaxPool", QUANTIZE_MOVE},
    {"Reshape", QUANTIZE_MOVE},
    {"Flatten", QUANTIZE_MOVE},
    {"Transpose", QUANTIZE_MOVE},
    {"Squeeze", QUANTIZE_MOVE},
    {"Unsqueeze", QUANTIZE_MOVE},
    {"DepthToSpace", QUANTIZE_MOVE},
    {"SpaceToDepth", QUANTIZE_MOVE},
};

quantize_role quantize_role_of(const pgy_node *n)
{
    for (size_t i = 0; i < sizeof ROLES / sizeof *ROLES; i++)
        if (pattern_is(n, ROLES[i].op)) return ROLES[i].role;
    return QUANTIZE_NONE;
}

bool quantize_is_limit(const pgy_node *n)
{
    return node_is(n, "Relu") || node_is(n, "Clip");
}

size_t quantize_data_inputs(const pgy_node *n)
{
    return node_is(n, "Add") || node_is(n, "Mul") ? 2 : node_is(n, "Concat") ? n->input_count : 1;
}

static bool is_data(const precision *x, const pgy_value *v)
{
    return v && v->kind == PGY_VALUE_TENSOR && pattern_dtype(v) == PGY_F32 &&
           v->graph == x->p.f.graph && !pattern_is_constant(&x->p, v);
}

/* ---- Which layers --------------------------------------------------------------------------- */

const char *quantize_obstacle(const precision *x, const pgy_node *n)
{
    const quantize_role r = quantize_role_of(n);
    if (r == QUANTIZE_NONE) return "the engine has no int8 variant of the operator";
    if (n->graph != x->p.f.graph) return "it is in the subgraph of an If, Loop or Scan";
    for (size_t i = 0; i < quantize_data_inputs(n); i++)
        if (!is_data(x, pattern_input(n, i)))
            return "an input is a constant, or is not a float32 tensor";
    if (!n->output_count || pattern_dtype(n->outputs[0]) != PGY_F32)
        return "its output is not float32";
    if (r == QUANTIZE_MOVE && n->output_count > 1 && n->outputs[1])
        return "it has a second output, the indices";
    if (r != QUANTIZE_LINEAR) return NULL;
    const pgy_value *w = pattern_input(n, 1);
    if (!w || pattern_dtype(w) != PGY_F32 || pattern_rank(w) < 2) return "it has no float32 weight";
    if (!pattern_is_constant(&x->p, w)) return "its weight is not a constant";
    if (node_is(n, "Gemm") &&
        (pattern_float(n, "alpha", 1) != 1 || pattern_int(n, "transA", 0) != 0))
        return "its attribute alpha or transA changes the input";
    return NULL;
}

typedef struct marking {
    precision *x;
    const scale_table *scales; /* NULL: assume that every tensor has one */
    bool all;                  /* ignore the choices for single layers */
    bool *leads; /* indexed by node: does its result reach an int8 layer, possibly through nodes
                    that can follow in int8? */
} marking;

static bool is_scale_known(const marking *m, const pgy_value *v)
{
    const float *scale = m->scales ? scales_find(m->scales, v->name) : NULL;
    return !m->scales || (scale && *scale > 0);
}

static pgy_dtype asked_of(const marking *m, const pgy_node *n)
{
    return m->all ? PGY_DTYPE_NONE : precision_asked(m->x, n);
}

/* Do the configuration and the choices for this layer want int8? */
static bool is_wanted(const marking *m, const pgy_node *n)
{
    const pgy_dtype asked = asked_of(m, n);
    return asked == PGY_I8 || (asked == PGY_DTYPE_NONE && (m->x->config->int8 || m->all));
}

/* Sets m->leads, from the last node to the first, since a node depends on its users. */
static void mark_leads(marking *m, pgy_graph *g)
{
    for (size_t i = g->node_count; i-- > 0;) {
        pgy_node *n = g->nodes[i];
        if (quantize_role_of(n) == QUANTIZE_LINEAR)
            m->leads[i] = is_wanted(m, n) && !quantize_obstacle(m->x, n);
        if (quantize_role_of(n) == QUANTIZE_LINEAR ||
            (quantize_role_of(n) == QUANTIZE_NONE && !quantize_is_limit(n)))
            continue;
        for (size_t k = 0; k < n->output_count; k++)
            for (size_t j = 0; n->outputs[k] && j < n->outputs[k]->consumer_count; j++) {
                const pgy_node *user = n->outputs[k]->consumers[j];
                m->leads[i] = m->leads[i] || (user->graph == g && m->leads[user->index]);
            }
    }
}

static bool is_from_int8(const marking *m, pgy_value *v)
{
    if (!v || !v->producer) return false;
    if (quantize_is_limit(v->producer)) v = v->producer->inputs[0];
    const precision_value *entry = v ? precision_of(m->x, v) : NULL;
    return entry && entry->quantized;
}

static const char *missing_scale(const marking *m, const pgy_node *n)
{
    for (size_t i = 0; i < quantize_data_inputs(n); i++)
        if (!is_scale_known(m, n->inputs[i])) return n->inputs[i]->name;
    return NULL;
}

static bool follows(const marking *m, const pgy_node *n)
{
    if (!m->leads[n->index]) return false;
    for (size_t i = 0; i < quantize_data_inputs(n); i++)
        if (!is_from_int8(m, n->inputs[i])) return false;
    return true;
}

static void tell(const marking *m, const pgy_node *n, const char *why)
{
    if (m->all) return;
    if (asked_of(m, n) == PGY_I8)
        precision_refuse(m->x, n, PGY_I8, why);
    else if (quantize_role_of(n) == QUANTIZE_LINEAR)
        LOG(VERBOSE, "Layer '%s' (%s) does not compute in int8: %s", node_label(n), n->op_type,
            why);
}

/* Will the layer run in int8? */
static bool judge(const marking *m, const pgy_node *n)
{
    if (!is_wanted(m, n)) return false;
    const char *why = quantize_obstacle(m->x, n);
    const char *missing = why ? NULL : missing_scale(m, n);
    if (why) {
        tell(m, n, why);
        return false;
    }
    if (quantize_role_of(n) != QUANTIZE_LINEAR && asked_of(m, n) != PGY_I8 && !follows(m, n))
        return false;
    if (!missing) return true;
    if (asked_of(m, n) == PGY_I8)
        tell(m, n, "an input has no scale");
    else if (quantize_role_of(n) == QUANTIZE_LINEAR)
        LOG(WARNING, "Layer '%s' (%s) does not compute in int8: tensor '%s' has no scale",
            node_label(n), n->op_type, missing);
    return false;
}

static void mark(marking *m)
{
    pgy_graph *g = m->x->p.f.graph;
    m->leads = mem_calloc(g->node_count + 1, sizeof *m->leads);
    if (!m->leads) {
        precision_no_memory(m->x);
        return;
    }
    mark_leads(m, g);
    for (size_t i = 0; !m->x->p.status && i < g->node_count; i++) {
        pgy_node *n = g->nodes[i];
        if (!n->output_count || !n->outputs[0]) continue;
        const bool quantized = judge(m, n);
        precision_value *entry = quantized || m->scales ? precision_of(m->x, n->outputs[0]) : NULL;
        if (entry) entry->quantized = quantized;
    }
    mem_free(m->leads);
    m->leads = NULL;
}

/* ---- Which tensors -------------------------------------------------------------------------- */

/* Lists the tensors to calibrate: what int8 layers would read if --layer-precisions exempted none,
 * so that one cache fits every choice. */
static pgy_value **list_tensors(precision *x, size_t *count)
{
    pgy_graph *g = x->p.f.graph;
    pgy_value **values = NULL;
    size_t capacity = 0;
    marking m = {.x = x, .all = true};
    *count = 0;
    mark(&m);
    for (size_t i = 0; !x->p.status && i < g->node_count; i++) {
        pgy_node *n = g->nodes[i];
        const precision_value *out =
            n->output_count && n->outputs[0] ? precision_of(x, n->outputs[0]) : NULL;
        const bool asked = precision_asked(x, n) == PGY_I8 && !quantize_obstacle(x, n);
        if (!asked && !(out && out->quantized)) continue;
        for (size_t k = 0; k < quantize_data_inputs(n); k++) {
            precision_value *entry = precision_of(x, n->inputs[k]);
            void *grown = values;
            if (!entry || entry->listed) continue;
            entry->listed = true;
            if (!mem_grow(&grown, &capacity, *count + 1, sizeof *values)) {
                precision_no_memory(x);
                break;
            }
            values = grown;
            values[(*count)++] = n->inputs[k];
        }
    }
    return values;
}

/* ---- The edits ------------------------------------------------------------------------------ */

static pgy_value *add_constant(precision *x, const char *stem, const char *suffix, pgy_tensor *t)
{
    str name = {0};
    str_printf(&name, "%s%s", stem, suffix);
    if (name.failed) precision_no_memory(x);
    pgy_value *v = pattern_tensor(&x->p, x->p.f.graph, str_text(&name), t);
    str_deinit(&name);
    return v;
}

/* All symmetric tensors share one zero point. */
static pgy_value *zero_point(precision *x, const char *stem, int32_t zero)
{
    pgy_tensor *t = NULL;
    if (!zero && x->zero) return (pgy_value *)x->zero;
    x->p.status = pgy_tensor_create(&t, PGY_I8, 0, NULL, x->p.err);
    if (x->p.status) return NULL;
    *(int8_t *)pgy_tensor_data(t) = (int8_t)zero;
    pgy_value *v =
        zero ? add_constant(x, stem, "_zero_point", t) : add_constant(x, "int8_zero_point", "", t);
    if (!zero) x->zero = v;
    pgy_tensor_release(t);
    return v;
}

static pgy_value *scale_constant(precision *x, const char *stem, float scale)
{
    pgy_tensor *t = NULL;
    x->p.status = pgy_tensor_create(&t, PGY_F32, 0, NULL, x->p.err);
    if (x->p.status) return NULL;
    *(float *)pgy_tensor_data(t) = scale;
    pgy_value *v = add_constant(x, stem, "_scale", t);
    pgy_tensor_release(t);
    return v;
}

static pgy_node *add_node(precision *x, const char *op, pgy_value *from, pgy_value *scale,
                          pgy_value *zero, pgy_value *to)
{
    pgy_node *n = NULL;
    pgy_value *const inputs[] = {from, scale, zero};
    if (x->p.status) return NULL;
    x->p.status = node_create(&n, x->p.f.graph, op, inputs, zero ? 3 : 2, &to, 1, x->p.err);
    return x->p.status ? NULL : n;
}

/* Returns v after a Q/DQ pair, which all its readers share. */
static pgy_value *quantize_tensor(precision *x, pgy_value *v)
{
    precision_value *entry = precision_of(x, v);
    if (!entry || entry->dequantized) return entry ? entry->dequantized : NULL;
    pgy_value *scale = scale_constant(x, v->name, entry->scale);
    pgy_value *zero = scale ? zero_point(x, v->name, entry->zero) : NULL;
    pgy_value *narrow = zero ? precision_create(x, v, "quantized", PGY_I8) : NULL;
    pgy_value *wide = narrow ? precision_create(x, v, "dequantized", PGY_F32) : NULL;
    if (!wide) return NULL;
    add_node(x, "QuantizeLinear", v, scale, zero, narrow);
    add_node(x, "DequantizeLinear", narrow, scale, zero, wide);
    entry->dequantized = wide;
    return wide;
}

size_t quantize_channel_axis(const pgy_node *n, size_t rank)
{
    if (node_is(n, "Conv")) return 0;
    if (node_is(n, "ConvTranspose")) return 1;
    if (node_is(n, "Gemm")) return pattern_int(n, "transB", 0) ? 0 : 1;
    return rank - 1;
}

/* Computes a scale for each channel, and rounds the weight to steps of it. */
static void round_weight(const pgy_tensor *w, size_t axis, float *scales, int8_t *out)
{
    const int64_t *shape = pgy_tensor_shape(w);
    const size_t rank = pgy_tensor_rank(w), channels = (size_t)shape[axis];
    const float *from = pgy_tensor_data(w);
    size_t outer = 1, inner = 1;
    for (size_t d = 0; d < rank; d++)
        if (d != axis) *(d < axis ? &outer : &inner) *= (size_t)shape[d];
    for (size_t c = 0; c < channels; c++) {
        float max = 0;
        for (size_t o = 0; o < outer; o++)
            for (size_t i = 0; i < inner; i++)
                max = fmaxf(max, fabsf(from[(o * channels + c) * inner + i]));
        scales[c] = max > 0 ? max / 127 : 1;
        if (!(scales[c] > 0)) scales[c] = 1; /* the channel is 0 or too small for a scale */
        for (size_t o = 0; o < outer; o++)
            for (size_t i = 0; i < inner; i++) {
                const size_t at = (o * channels + c) * inner + i;
                const float step = rintf(from[at] / scales[c]);
                out[at] = (int8_t)fmaxf(-127, fminf(127, step));
            }
    }
}

static bool is_finite(const pgy_tensor *t)
{
    const float *x = pgy_tensor_data(t);
    for (size_t i = 0; i < pgy_tensor_count(t); i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/* Stores an int8 copy of the weight and its DequantizeLinear. */
static pgy_value *store_weight(precision *x, const pgy_node *n, pgy_value *v, const pgy_tensor *w)
{
    pgy_tensor *rounded = NULL, *scales = NULL;
    const size_t axis = quantize_channel_axis(n, pgy_tensor_rank(w));
    pgy_value *wide = NULL;
    pattern *p = &x->p;
    p->status =
        pgy_tensor_create(&rounded, PGY_I8, pgy_tensor_rank(w), pgy_tensor_shape(w), p->err);
    if (!p->status)
        p->status = pgy_tensor_create(&scales, PGY_F32, 1, &pgy_tensor_shape(w)[axis], p->err);
    if (p->status) goto done;
    round_weight(w, axis, pgy_tensor_data(scales), pgy_tensor_data(rounded));
    pgy_value *scale = add_constant(x, v->name, "_scale", scales);
    pgy_value *narrow = scale ? add_constant(x, v->name, "_quantized", rounded) : NULL;
    pgy_value *to = narrow ? precision_create(x, v, "dequantized", PGY_F32) : NULL;
    pgy_node *made = to ? add_node(x, "DequantizeLinear", narrow, scale, NULL, to) : NULL;
    if (made) {
        pattern_set_int(p, made, "axis", (int64_t)axis);
        wide = to;
    }
done:
    pgy_tensor_release(rounded);
    pgy_tensor_release(scales);
    return wide;
}

static pgy_value *quantize_weight(precision *x, const pgy_node *n, pgy_value *v)
{
    pgy_tensor *stored = NULL, *w = NULL;
    precision_value *entry = precision_of(x, v);
    if (!entry || entry->dequantized) return entry ? entry->dequantized : NULL;
    x->p.status = fold_constant(&stored, &x->p.f, v, x->p.err);
    if (!x->p.status && stored)
        x->p.status = pgy_tensor_copy(&w, pgy_tensor_view(stored), x->p.err); /* aligned */
    if (!x->p.status && w && !is_finite(w))
        LOG(WARNING, "Layer '%s' (%s): weight '%s' has infinities or NaNs and stays in float32",
            node_label(n), n->op_type, v->name);
    else if (!x->p.status && w)
        entry->dequantized = store_weight(x, n, v, w);
    pgy_tensor_release(stored);
    pgy_tensor_release(w);
    return entry->dequantized;
}

static void quantize_layer(precision *x, pgy_node *n)
{
    if (quantize_role_of(n) == QUANTIZE_LINEAR) {
        pgy_value *w = quantize_weight(x, n, n->inputs[1]);
        if (!w || x->p.status) return;
        x->p.status = node_set_input(n, 1, w, x->p.err);
    }
    /* A layer that only moves elements keeps its input's scale, so nothing is rounded twice. */
    if (quantize_role_of(n) == QUANTIZE_MOVE) {
        const precision_value *in = precision_of(x, n->inputs[0]);
        precision_value *out = precision_of(x, n->outputs[0]);
        if (in && out) {
            out->scale = in->scale;
            out->zero = in->zero;
        }
    }
    for (size_t i = 0; !x->p.status && i < quantize_data_inputs(n); i++) {
        pgy_value *v = quantize_tensor(x, n->inputs[i]);
        if (v) x->p.status = node_set_input(n, i, v, x->p.err);
    }
    x->quantized_count++;
    LOG(EXTRA_VERBOSE, "Layer '%s' (%s) computes in int8", node_label(n), n->op_type);
}

static void take_scales(precision *x, const scale_table *scales, pgy_value *const *values,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const float *scale = scales_find(scales, values[i]->name);
        precision_value *entry = precision_of(x, values[i]);
        if (!entry || !scale) continue;
        entry->scale = *scale;
        entry->zero = scales_find_zero(scales, values[i]->name);
    }
}

static bool has_linear_bodies(const pgy_graph *g)
{
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_node *n = g->nodes[i];
        if (g->parent && quantize_role_of(n) == QUANTIZE_LINEAR) return true;
        for (size_t k = 0; k < n->subgraph_count; k++)
            if (has_linear_bodies(n->subgraphs[k])) return true;
    }
    return false;
}

void precision_quantize(precision *x)
{
    pgy_graph *g = x->p.f.graph;
    scale_table scales = {0};
    size_t count = 0;
    if (has_linear_bodies(g)) LOG(INFO, "Subgraphs of If, Loop and Scan are not quantized");
    pgy_value **values = list_tensors(x, &count);
    if (!x->p.status)
        x->p.status = calibrate(&scales, g, values, count, x->config, x->runner, x->p.err);
    if (!x->p.status) take_scales(x, &scales, values, count);
    marking m = {.x = x, .scales = &scales};
    if (!x->p.status) mark(&m);
    const size_t nodes = g->node_count;
    for (size_t i = 0; !x->p.status && i < nodes; i++) {
        pgy_node *n = g->nodes[i];
        const precision_value *out =
            n->output_count && n->outputs[0] ? precision_of(x, n->outputs[0]) : NULL;
        if (out && out->quantized) quantize_layer(x, n);
    }
    scales_deinit(&scales);
    mem_free(values);
}
