/* SPDX-License-Identifier: Apache-2.0 */
/* Weights, constants and attributes in 16-bit floats. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "graph/half.h"
#include "graph/mask.h"
#include "onnx/computed.h"
#include "onnx/elements.h"

static const char LOG_PATH[] = "graph/half_data.c";

/* ---- Tensors -------------------------------------------------------------------------------- */

/* How to convert numbers, and how many were clamped. Numbers beyond the type's range get magnitude
 * `to`. */
typedef struct clamping {
    const half_type *type;
    float to;
    size_t clamped;
} clamping;

static clamping clamping_for(const halver *h, const pgy_value *v)
{
    return (clamping){.type = h->type,
                      .to = graph_mask_limit(v ? graph_mask_use(v) : MASK_NONE, h->type->largest)};
}

static void halve_numbers(uint16_t *to, const float *x, size_t count, clamping *c)
{
    const float largest = c->type->largest;
    for (size_t i = 0; i < count; i++) {
        const bool beyond = isfinite(x[i]) && fabsf(x[i]) > largest;
        c->clamped += beyond;
        to[i] = c->type->from((double)(beyond ? copysignf(c->to, x[i]) : x[i]));
    }
}

static void warn_of_clamped(const char *name, const clamping *c)
{
    LOG(WARNING, "Tensor '%s': %zu values are out of range for %s and are clamped to +-%g", name,
        c->clamped, c->type->name, (double)c->to);
}

/* Converts the elements of a tensor. v is the value that holds them, or NULL; its use as a mask
 * sets the clamping. */
static pgy_status halve_elements(pgy_tensor **out, const halver *h, const pgy_tensor *from,
                                 const pgy_value *v, const char *name, pgy_error *err)
{
    pgy_tensor *t = NULL;
    const pgy_status st =
        pgy_tensor_create(&t, h->type->dtype, pgy_tensor_rank(from), pgy_tensor_shape(from), err);
    if (st) return st;
    clamping c = clamping_for(h, v);
    halve_numbers(pgy_tensor_data(t), pgy_tensor_data(from), pgy_tensor_count(from), &c);
    if (c.clamped) warn_of_clamped(name, &c);
    *out = t;
    return PGY_OK;
}

/* A weight whose elements are converted only when the model is written, to save memory. */
typedef struct halved_weight {
    clamping clamping; /* initial state; each reader starts with a copy */
    const char *name;
    size_t size_bytes;
    atomic_flag warned;
} halved_weight;

enum { PIECE = 32 * 1024 };

/* The state of one reader that goes through the weight piece by piece. */
typedef struct halving {
    size_t next; /* offset in bytes up to which clamped numbers were counted, so that none counts
                    twice */
    clamping clamping;
    float piece[PIECE];
} halving;

static pgy_status halve_part(const tensor_part *p, void *user, pgy_error *err)
{
    halved_weight *w = user;
    halving *h = p->memory;
    pgy_status st = PGY_OK;
    if (!p->offset || p->offset != h->next) h->clamping = w->clamping;
    for (size_t at = 0; !st && at < p->size_bytes; at += PIECE * sizeof(uint16_t)) {
        const size_t left = (p->size_bytes - at) / sizeof(uint16_t);
        const size_t count = left < PIECE ? left : PIECE;
        st = element_reader_get(p->source, h->piece, 2 * (p->offset + at), count * sizeof(float),
                                err);
        if (!st) halve_numbers((uint16_t *)((char *)p->to + at), h->piece, count, &h->clamping);
    }
    h->next = p->offset + p->size_bytes;
    if (!st && h->clamping.clamped && h->next == w->size_bytes &&
        !atomic_flag_test_and_set(&w->warned))
        warn_of_clamped(w->name, &h->clamping);
    return st;
}

pgy_status half_weight(const pgy_onnx_tensor **out, const halver *h, const pgy_value *v,
                       pgy_error *err)
{
    pgy_graph *g = v->graph;
    const pgy_onnx_tensor *t = v->initializer;
    pgy_onnx_tensor *made = NULL;
    if (t->data_type != HALF_ONNX_FLOAT) return PGY_OK;
    halved_weight *w = pgy_model_alloc(g->model, 1, sizeof *w);
    if (!w) return graph_no_memory(err);
    const pgy_onnx_tensor like = {.name = t->name,
                                  .doc_string = t->doc_string,
                                  .dims = t->dims,
                                  .dim_count = t->dim_count,
                                  .data_type = (int32_t)h->type->onnx};
    w->clamping = clamping_for(h, v);
    w->name = pgy_model_strdup(
        g->model, v->name); /* copied, because the graph may be destroyed before the model */
    if (!w->name) return graph_no_memory(err);
    atomic_flag_clear(&w->warned);
    pgy_status st = tensor_needs_bytes(&w->size_bytes, &like, err);
    const parts_maker maker = {.make = halve_part,
                               .user = w,
                               .source = t,
                               .unit_bytes = sizeof(uint16_t),
                               .memory_bytes = sizeof(halving)};
    if (!st) st = computed_parts_tensor(&made, g->model, &like, &maker, err);
    if (!st) *out = made;
    return st;
}

static const pgy_value *given_by(const pgy_node *n)
{
    return n->output_count ? n->outputs[0] : NULL;
}

/* Converts a tensor of an attribute; *out stays NULL if t is not float32. */
static pgy_status halve_tensor(const pgy_onnx_tensor **out, const halver *h, const pgy_node *n,
                               const pgy_onnx_tensor *t, pgy_error *err)
{
    pgy_tensor *stored = NULL, *half = NULL;
    pgy_onnx_tensor *made = NULL;
    if (t->data_type != HALF_ONNX_FLOAT) return PGY_OK;
    pgy_model *m = n->graph->model;
    pgy_status st = pgy_onnx_tensor_load(&stored, m, t, err);
    if (!st) st = halve_elements(&half, h, stored, given_by(n), node_label(n), err);
    if (!st) st = pgy_model_tensor(&made, m, t->name, half, err);
    if (!st) {
        made->doc_string = t->doc_string;
        *out = made;
    }
    pgy_tensor_release(stored);
    pgy_tensor_release(half);
    return st;
}

pgy_onnx_attribute *half_new_attribute(pgy_graph *g)
{
    return pgy_model_alloc(g->model, 1, sizeof(pgy_onnx_attribute));
}

/* ---- Attributes ------------------------------------------------------------------------------ */

static pgy_status halve_attribute(pgy_onnx_attribute *to, bool *changed, const halver *h,
                                  const pgy_node *n, const pgy_onnx_attribute *from, pgy_error *err)
{
    const pgy_onnx_tensor *half = NULL;
    *to = *from;
    to->message.raw = (pgy_bytes){0};
    if (from->t) {
        const pgy_status st = halve_tensor(&half, h, n, from->t, err);
        if (st) return st;
        if (half) to->t = (pgy_onnx_tensor *)half;
    } else if (node_box_of(n)->def && from->i == HALF_ONNX_FLOAT &&
               half_is_type_attribute(from->name)) {
        to->i = h->type->onnx;
    }
    *changed = half || to->i != from->i;
    return PGY_OK;
}

/* Sets the `value` of a ConstantOfShape that lacks it: a 0 of the narrow type. */
static pgy_status zero_attribute(pgy_onnx_attribute *to, const halver *h, const pgy_node *n,
                                 pgy_error *err)
{
    static const int64_t ONE[1] = {1};
    pgy_tensor *zero = NULL;
    pgy_onnx_tensor *made = NULL;
    pgy_status st = pgy_tensor_create(&zero, h->type->dtype, 1, ONE, err);
    if (!st) memset(pgy_tensor_data(zero), 0, sizeof(uint16_t));
    if (!st) st = pgy_model_tensor(&made, n->graph->model, "", zero, err);
    to->name = "value";
    to->type = PGY_ATTR_TENSOR;
    to->t = made;
    pgy_tensor_release(zero);
    return st;
}

/* Spells out an omitted attribute whose default is float32; *out stays NULL if the operator has
 * none. */
static pgy_status default_attribute(pgy_onnx_attribute **out, const halver *h, const pgy_node *n,
                                    pgy_error *err)
{
    const op_def *def = node_box_of(n)->def;
    const op_attr_def *d = def ? def->attrs : NULL;
    const bool value = node_is(n, "ConstantOfShape") && !node_attribute(n, "value");
    for (; d && d->name && !value; d++)
        if (d->kind == OP_ATTR_INT && d->fallback && strcmp(d->fallback, "1") == 0 &&
            half_is_type_attribute(d->name) && !node_attribute(n, d->name))
            break;
    if (!value && (!d || !d->name)) return PGY_OK;
    pgy_onnx_attribute *a = half_new_attribute(n->graph);
    if (!a) return graph_no_memory(err);
    *a = (pgy_onnx_attribute){.ref_attr_name = "", .doc_string = ""};
    *out = a;
    if (value) return zero_attribute(a, h, n, err);
    a->name = d->name; /* a static string of the operator's table */
    a->type = PGY_ATTR_INT;
    a->i = h->type->onnx;
    return PGY_OK;
}

pgy_status half_attributes(const halver *h, pgy_node *n, pgy_error *err)
{
    pgy_onnx_attribute *more = NULL;
    size_t changes = 0;
    pgy_status st = default_attribute(&more, h, n, err);
    const pgy_onnx_attribute **attributes =
        arena_alloc_array(&state_of(n->graph)->memory, n->attribute_count + 1, sizeof *attributes);
    if (!st && !attributes) st = graph_no_memory(err);
    for (size_t i = 0; !st && i < n->attribute_count; i++) {
        bool changed = false;
        pgy_onnx_attribute *to = half_new_attribute(n->graph);
        st = to ? halve_attribute(to, &changed, h, n, n->attributes[i], err) : graph_no_memory(err);
        attributes[i] = changed ? to : n->attributes[i];
        changes += changed;
    }
    if (st || (!changes && !more)) return st;
    if (more) attributes[n->attribute_count++] = more;
    n->attributes = attributes;
    node_box_of(n)->changed = true;
    node_box_of(n)->prepared = false;
    graph_mark_changed(n->graph);
    return PGY_OK;
}

/* Float constants stored as value_float or value_floats become tensors. */
pgy_status half_constant(const halver *h, pgy_node *n, pgy_error *err)
{
    pgy_tensor *t = NULL, *half = NULL;
    pgy_onnx_tensor *made = NULL;
    if (!node_attribute(n, "value_float") && !node_attribute(n, "value_floats")) return PGY_OK;
    arena *memory = &state_of(n->graph)->memory;
    pgy_onnx_attribute *a = half_new_attribute(n->graph);
    const pgy_onnx_attribute **attributes = arena_alloc(memory, sizeof *attributes);
    pgy_status st =
        a && attributes ? pgy_graph_value_data(&t, n->outputs[0], err) : graph_no_memory(err);
    if (!st) st = halve_elements(&half, h, t, given_by(n), node_label(n), err);
    if (!st) st = pgy_model_tensor(&made, n->graph->model, "", half, err);
    if (!st) {
        *a = (pgy_onnx_attribute){.name = "value",
                                  .ref_attr_name = "",
                                  .doc_string = "",
                                  .type = PGY_ATTR_TENSOR,
                                  .t = made};
        attributes[0] = a;
        n->attributes = attributes;
        n->attribute_count = 1;
        node_box_of(n)->changed = true;
        node_box_of(n)->prepared = false;
        graph_mark_changed(n->graph);
    }
    pgy_tensor_release(t);
    pgy_tensor_release(half);
    return st;
}
