/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the best set of 8-bit layers: QuantizeLinear and DequantizeLinear before the tensors that
 * a layer reads, DequantizeLinear behind its stored 8-bit weight, a Mul before a tensor that is
 * smoothed, and corrected biases. Layers that read a tensor in the same way share its nodes. */
#include <polygraphy/transform.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/edit.h"
#include "precision/quant.h"

typedef struct writing {
    const quantizer *q;
    pgy_graph *g;     /* a copy of the graph: nodes have the same names */
    pgy_value **made; /* for each port: the value that its layers read */
    pgy_value *zero;  /* the zero point of all symmetric tensors */
    pgy_status st;    /* after a failure all functions do nothing */
    pgy_error *err;
} writing;

static pgy_value *new_value(writing *w, const char *stem, const char *suffix, pgy_dtype type)
{
    str name = {0};
    if (w->st) return NULL;
    str_printf(&name, "%s%s", stem, suffix);
    pgy_value *v = name.failed ? NULL : value_create_unique(w->g, str_text(&name), w->err);
    str_deinit(&name);
    if (!v) {
        w->st = search_no_memory(w->err);
        return NULL;
    }
    v->kind = PGY_VALUE_TENSOR;
    v->dtype = type;
    box_of(v)->known.dtype = type;
    return v;
}

/* Makes a weight of float32 numbers in another type; int8 must have integers. */
static pgy_value *constant(writing *w, const char *stem, const char *suffix, pgy_dtype type,
                           size_t rank, const int64_t *shape, const float *numbers)
{
    pgy_tensor *t = NULL;
    const pgy_onnx_tensor *stored = NULL;
    pgy_value *v = new_value(w, stem, suffix, type);
    if (!v) return NULL;
    w->st = pgy_tensor_cast(&t, pgy_view_of((void *)(uintptr_t)numbers, PGY_F32, rank, shape), type,
                            w->err);
    if (!w->st) w->st = weight_create(&stored, w->g->model, v->name, t, w->err);
    if (!w->st) w->st = value_set_weight(v, stored, w->err);
    pgy_tensor_release(t);
    return w->st ? NULL : v;
}

static pgy_node *node(writing *w, const char *op, pgy_value *a, pgy_value *b, pgy_value *c,
                      pgy_value *to)
{
    pgy_value *const inputs[] = {a, b, c};
    pgy_node *n = NULL;
    if (!w->st) w->st = node_create(&n, w->g, op, inputs, c ? 3 : 2, &to, 1, w->err);
    return w->st ? NULL : n;
}

/* ---- Tensors -------------------------------------------------------------------------------- */

static pgy_value *smoothed(writing *w, pgy_value *v, size_t port)
{
    const quant_port *at = &w->q->ports[port];
    const float *shrink = w->q->fit->shrink[port];
    int64_t shape[PGY_MAX_RANK] = {(int64_t)at->channel_count};
    size_t rank = 1;
    if (!shrink) return v;
    if (at->channels == CHANNELS_SECOND) rank = at->rank - 1;
    for (size_t d = 1; d < rank; d++) shape[d] = 1;
    pgy_value *factors = constant(w, v->name, "_smoothing", PGY_F32, rank, shape, shrink);
    pgy_value *to = new_value(w, v->name, "_smooth", PGY_F32);
    node(w, "Mul", v, factors, NULL, to);
    return to;
}

static pgy_value *zero_point(writing *w, const char *name, int32_t zero)
{
    const float at = (float)zero;
    if (zero) return constant(w, name, "_zero_point", w->q->type, 0, NULL, &at);
    if (!w->zero) w->zero = constant(w, "zero_point", "", w->q->type, 0, NULL, &at);
    return w->zero;
}

/* A port of the same tensor whose nodes can serve this one; `port` itself: there is none. */
static size_t same_port(const writing *w, size_t port)
{
    const quantizer *q = w->q;
    for (size_t i = 0; i < q->port_count; i++)
        if (w->made[i] && q->ports[i].value == q->ports[port].value && !q->fit->shrink[i] &&
            !q->fit->shrink[port] && q->fit->grids[i].scale == q->fit->grids[port].scale &&
            q->fit->grids[i].zero == q->fit->grids[port].zero)
            return i;
    return port;
}

static pgy_value *quantized(writing *w, pgy_value *v, size_t port)
{
    const grid g = w->q->fit->grids[port];
    const float scale = (float)g.scale;
    if (!w->made[port]) w->made[port] = w->made[same_port(w, port)];
    if (w->made[port] || w->st) return w->made[port];
    pgy_value *from = smoothed(w, v, port);
    pgy_value *step = constant(w, v->name, "_scale", PGY_F32, 0, NULL, &scale);
    pgy_value *narrow = new_value(w, v->name, "_quantized", w->q->type);
    pgy_value *wide = new_value(w, v->name, "_dequantized", PGY_F32);
    pgy_value *zero = zero_point(w, v->name, g.zero);
    node(w, "QuantizeLinear", from, step, zero, narrow);
    node(w, "DequantizeLinear", narrow, step, zero, wide);
    w->made[port] = w->st ? NULL : wide;
    return w->made[port];
}

/* ---- Weights -------------------------------------------------------------------------------- */

static void set_axis(writing *w, pgy_node *n, size_t axis)
{
    const pgy_onnx_attribute like = {.type = PGY_ATTR_INT, .i = (int64_t)axis};
    if (w->st) return;
    const pgy_onnx_attribute *a = attribute_create(w->g->model, "axis", &like);
    w->st = a ? node_set_only_attribute(n, a, w->err) : search_no_memory(w->err);
}

static pgy_value *stored_weight(writing *w, const char *name, size_t site)
{
    const quant_site *s = &w->q->sites[site];
    const pgy_tensor *t = w->q->fit->weights[site];
    const float *steps = w->q->fit->steps[site], *from = pgy_tensor_data(t);
    const int64_t channels = pgy_tensor_shape(t)[s->axis];
    const size_t count = pgy_tensor_count(t), inner = quant_inner(t, s->axis);
    float *codes = mem_calloc(count + 1, sizeof *codes);
    if (!codes) w->st = search_no_memory(w->err);
    if (w->st) return NULL;
    for (size_t i = 0; i < count; i++) {
        const float u = from[i] / steps[i / inner % (size_t)channels];
        codes[i] = w->q->type == PGY_I8 ? rintf(u) : u;
    }
    pgy_value *step = constant(w, name, "_scale", PGY_F32, 1, &channels, steps);
    pgy_value *narrow =
        constant(w, name, "_quantized", w->q->type, pgy_tensor_rank(t), pgy_tensor_shape(t), codes);
    pgy_value *wide = new_value(w, name, "_dequantized", PGY_F32);
    mem_free(codes);
    set_axis(w, node(w, "DequantizeLinear", narrow, step, NULL, wide), s->axis);
    return w->st ? NULL : wide;
}

/* ---- Biases --------------------------------------------------------------------------------- */

/* The constant that is added to each channel of n's result already, as an input of *of; NULL: none.
 */
static pgy_value *present_bias(pgy_node **of, size_t *place, pgy_node *n, size_t channels)
{
    pgy_node *add = n;
    *place = 2;
    if (node_is(n, "MatMul")) {
        const pgy_value *y = n->outputs[0];
        if (y->consumer_count != 1 || y->is_output || !node_is(y->consumers[0], "Add")) return NULL;
        add = y->consumers[0];
        *place = add->inputs[0] == y ? 1 : 0;
    }
    const pgy_onnx_attribute *beta = node_attribute(n, "beta");
    pgy_value *v = *place < add->input_count ? add->inputs[*place] : NULL;
    if (!v || !v->initializer || v->is_input || v->dtype != PGY_F32 || v->rank != 1 ||
        v->dims[0].value != (int64_t)channels || (beta && beta->f != 1) || add->graph != n->graph)
        return NULL;
    *of = add;
    return v;
}

static void add_behind(writing *w, pgy_node *n, const quant_site *s, const float *shift,
                       size_t channels)
{
    pgy_value *y = n->outputs[0];
    int64_t shape[PGY_MAX_RANK] = {(int64_t)channels};
    size_t rank = 1;
    if (node_is(n, "Conv")) rank = pgy_tensor_rank(s->weight) - 1;
    for (size_t d = 1; d < rank; d++) shape[d] = 1;
    pgy_value *by = constant(w, y->name, "_correction", PGY_F32, rank, shape, shift);
    pgy_value *raw = new_value(w, y->name, "_uncorrected", PGY_F32);
    if (w->st) return;
    node_set_output(n, 0, raw);
    node(w, "Add", raw, by, NULL, y);
}

static void correct(writing *w, pgy_node *n, size_t site)
{
    const quant_site *s = &w->q->sites[site];
    const float *shift = w->q->fit->shifts[site];
    pgy_node *of = NULL;
    pgy_tensor *old = NULL, *sum = NULL;
    size_t place = 0;
    if (!shift || w->st) return;
    const size_t channels = (size_t)pgy_tensor_shape(s->weight)[s->axis];
    pgy_value *bias = present_bias(&of, &place, n, channels);
    if (!bias) {
        add_behind(w, n, s, shift, channels);
        return;
    }
    w->st = pgy_graph_value_data(&old, bias, w->err);
    if (!w->st) w->st = pgy_tensor_cast(&sum, pgy_tensor_view(old), PGY_F32, w->err);
    for (size_t c = 0; !w->st && c < channels; c++) ((float *)pgy_tensor_data(sum))[c] += shift[c];
    if (!w->st) {
        const int64_t shape = (int64_t)channels;
        pgy_value *v =
            constant(w, bias->name, "_corrected", PGY_F32, 1, &shape, pgy_tensor_data(sum));
        if (v) w->st = node_set_input(of, place, v, w->err);
    }
    pgy_tensor_release(old);
    pgy_tensor_release(sum);
}

/* ---- The model ------------------------------------------------------------------------------ */

static void write_site(writing *w, size_t site)
{
    const quant_site *s = &w->q->sites[site];
    pgy_node *n = pgy_graph_find_node(w->g, s->node->name);
    if (!n && !w->st)
        w->st = pgy_error_set(w->err, PGY_E_NOT_FOUND, "layer '%s' is missing", s->node->name);
    if (w->st) return;
    correct(w, n, site);
    for (size_t i = 0; !w->st && i < s->port_count; i++) {
        pgy_value *v = quantized(w, n->inputs[i], s->ports[i]);
        if (v) w->st = node_set_input(n, i, v, w->err);
    }
    pgy_value *weight = s->weight && !w->st ? stored_weight(w, n->inputs[1]->name, site) : NULL;
    if (weight) w->st = node_set_input(n, 1, weight, w->err);
}

pgy_status quant_write(pgy_graph *g, const pgy_precision *p, const level *set, pgy_error *err)
{
    const quantizer *q = p->quantizer;
    writing w = {.q = q, .g = g, .err = err};
    w.made = mem_calloc(q->port_count + 1, sizeof *w.made);
    if (!w.made) return search_no_memory(err);
    for (size_t i = 0; !w.st && i < q->site_count; i++)
        if (set[i]) write_site(&w, i);
    if (!w.st) w.st = pgy_graph_remove_unused(g, err);
    if (!w.st) w.st = pgy_graph_sort(g, err);
    if (!w.st) w.st = pgy_graph_infer_shapes(g, NULL, err);
    mem_free(w.made);
    return w.st;
}

pgy_status quant_graph(pgy_graph **out, const pgy_precision *p, const level *set, pgy_error *err)
{
    pgy_graph *g = NULL;
    pgy_status st = graph_clone(&g, p->graph, err);
    if (!st) st = quant_write(g, p, set, err);
    if (st)
        pgy_graph_destroy(g);
    else
        *out = g;
    return st;
}

pgy_status quant_model(pgy_model **out, const pgy_precision *p, pgy_error *err)
{
    pgy_graph *g = NULL;
    pgy_status st = quant_graph(&g, p, p->best, err);
    if (!st) st = pgy_graph_export(out, g, err);
    pgy_graph_destroy(g);
    return st;
}
