/* SPDX-License-Identifier: Apache-2.0 */
/* float32 to float16 or bfloat16. Weights and constants are converted, types declared for values in
 * between follow, and the types that Casts and generators write are changed. What the caller sees
 * stays float32: a Cast follows every float32 input and precedes every float32 output. So do nodes
 * that are to stay as they are ("wide"), with Casts around them. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "graph/inline.h"
#include "onnx/computed.h"
#include "onnx/elements.h"
#include "ops/signature.h"
#include "tensor/convert.h"

static const char LOG_PATH[] = "backend/onnx/loader.py";

enum { ONNX_FLOAT = 1, BFLOAT16_OPSET = 13 };

/* What float32 becomes. */
typedef struct half_type {
    pgy_dtype dtype;
    int64_t onnx;
    const char *name, *suffix;
    float largest;
    uint16_t (*from)(double v);
} half_type;

static const half_type TYPES[] = {
    {PGY_F16, 10, "float16", "f16", 65504.0f, f16_from_f64},
    {PGY_BF16, 16, "bfloat16", "bf16", 0x1.fep127f, bf16_from_f64},
};

typedef struct halver {
    const half_type *type;
    const pgy_half_options *options;
    bool *used; /* per entry of options->keep */
} halver;

/* ---- Nodes that stay ------------------------------------------------------------------------ */

/* Operators that are kept in float32, as the usual converter does: their sizes, indices or ranges
 * need the precision, or runtimes lack a float16 version. */
static const char *const KEPT[] = {
    "CumSum", "Max",      "Min",  "NonMaxSuppression", "RandomUniformLike", "Range",
    "Resize", "RoiAlign", "TopK", "Upsample",
};

static bool is_wide(const pgy_node *n)
{
    return node_box_of(n)->wide;
}

/* By its name, a wildcard, or its operator. */
static bool is_named(const halver *h, const pgy_node *n)
{
    bool found = false;
    for (size_t i = 0; i < h->options->keep_count; i++) {
        const char *word = h->options->keep[i];
        if (strcmp(word, n->op_type) != 0 && !str_match_wildcard(word, n->name)) continue;
        h->used[i] = found = true;
    }
    return found;
}

static bool allows(const op_signature *s, const op_parameter *p, const pgy_value *v, int64_t type)
{
    if (v && (v->kind != PGY_VALUE_TENSOR || box_of((pgy_value *)v)->known.sequence))
        return false; /* sequences keep the type of their elements */
    return !p || !v || v->dtype != PGY_F32 || (op_parameter_set(s, p)->tensors >> type & 1);
}

/* Does the operator, in this opset, exist for the narrow type? */
static bool has_narrow(const halver *h, const pgy_node *n)
{
    const op_signature *s = node_box_of(n)->signature;
    for (size_t i = 0; s && i < n->input_count; i++)
        if (!allows(s, op_signature_input(s, i), n->inputs[i], h->type->onnx)) return false;
    for (size_t i = 0; s && i < n->output_count; i++)
        if (!allows(s, op_signature_output(s, i), n->outputs[i], h->type->onnx)) return false;
    return true;
}

static bool stays(const halver *h, const pgy_node *n)
{
    if (is_named(h, n) || strcmp(n->domain, "ai.onnx.ml") == 0) return true;
    for (size_t i = 0; i < sizeof KEPT / sizeof *KEPT; i++)
        if (node_is(n, KEPT[i])) return true;
    return node_box_of(n)->function || !has_narrow(h, n);
}

/* A node that stays does so with all that is inside it. */
static void mark_wide(const halver *h, pgy_graph *g, bool inside)
{
    for (size_t i = 0; i < g->node_count; i++) {
        pgy_node *n = g->nodes[i];
        const bool wide = stays(h, n) || inside;
        node_box_of(n)->wide = wide;
        for (size_t k = 0; k < n->subgraph_count; k++) mark_wide(h, n->subgraphs[k], wide);
    }
}

/* Needed by operators in float32 only. */
static bool only_for_wide(const pgy_value *v)
{
    for (size_t i = 0; i < v->consumer_count; i++)
        if (!is_wide(v->consumers[i])) return false;
    return v->consumer_count > 0 && !v->is_output;
}

/* ---- Tensors -------------------------------------------------------------------------------- */

/* @return how many were clamped */
static size_t halve_numbers(uint16_t *to, const float *x, size_t count, const half_type *type)
{
    const float largest = type->largest;
    size_t clamped = 0;
    for (size_t i = 0; i < count; i++) {
        const float limited = x[i] > largest ? largest : x[i] < -largest ? -largest : x[i];
        clamped += isfinite(x[i]) && limited != x[i];
        to[i] = type->from((double)(isinf(x[i]) ? x[i] : limited));
    }
    return clamped;
}

static void warn_of_clamped(const char *name, size_t count, const half_type *type)
{
    LOG(WARNING, "Tensor '%s': %zu values do not fit %s and are clamped to +-%g", name, count,
        type->name, (double)type->largest);
}

static pgy_status halve_elements(pgy_tensor **out, const halver *h, const pgy_tensor *from,
                                 const char *name, pgy_error *err)
{
    pgy_tensor *t = NULL;
    const pgy_status st =
        pgy_tensor_create(&t, h->type->dtype, pgy_tensor_rank(from), pgy_tensor_shape(from), err);
    if (st) return st;
    const size_t clamped =
        halve_numbers(pgy_tensor_data(t), pgy_tensor_data(from), pgy_tensor_count(from), h->type);
    if (clamped) warn_of_clamped(name, clamped, h->type);
    *out = t;
    return PGY_OK;
}

/* A weight whose elements are converted when it is written. */
typedef struct halved_weight {
    const half_type *type;
    const char *name;
    size_t size_bytes;
    atomic_flag warned;
} halved_weight;

enum { PIECE = 32 * 1024 };

/* Of one reading. */
typedef struct halving {
    size_t next, clamped; /* next: byte; clamped: numbers before it */
    float piece[PIECE];
} halving;

static pgy_status halve_part(const tensor_part *p, void *user, pgy_error *err)
{
    halved_weight *w = user;
    halving *h = p->memory;
    pgy_status st = PGY_OK;
    if (p->offset != h->next) h->clamped = 0;
    for (size_t at = 0; !st && at < p->size_bytes; at += PIECE * sizeof(uint16_t)) {
        const size_t left = (p->size_bytes - at) / sizeof(uint16_t);
        const size_t count = left < PIECE ? left : PIECE;
        st = element_reader_get(p->source, h->piece, 2 * (p->offset + at), count * sizeof(float),
                                err);
        if (!st)
            h->clamped += halve_numbers((uint16_t *)((char *)p->to + at), h->piece, count, w->type);
    }
    h->next = p->offset + p->size_bytes;
    if (!st && h->clamped && h->next == w->size_bytes && !atomic_flag_test_and_set(&w->warned))
        warn_of_clamped(w->name, h->clamped, w->type);
    return st;
}

/* *out stays NULL if the weight is not float32. */
static pgy_status halve_weight(const pgy_onnx_tensor **out, const halver *h, pgy_graph *g,
                               const pgy_onnx_tensor *t, const char *name, pgy_error *err)
{
    pgy_onnx_tensor *made = NULL;
    if (t->data_type != ONNX_FLOAT) return PGY_OK;
    halved_weight *w = pgy_model_alloc(g->model, 1, sizeof *w);
    if (!w) return graph_no_memory(err);
    const pgy_onnx_tensor like = {.name = t->name,
                                  .doc_string = t->doc_string,
                                  .dims = t->dims,
                                  .dim_count = t->dim_count,
                                  .data_type = (int32_t)h->type->onnx};
    w->type = h->type;
    w->name = pgy_model_strdup(g->model, name); /* the graph's may go before the model */
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

/* The converted tensor as a message; *out stays NULL if t is not float32. */
static pgy_status halve_tensor(const pgy_onnx_tensor **out, const halver *h, pgy_graph *g,
                               const pgy_onnx_tensor *t, const char *name, pgy_error *err)
{
    pgy_tensor *stored = NULL, *half = NULL;
    pgy_onnx_tensor *made = NULL;
    if (t->data_type != ONNX_FLOAT) return PGY_OK;
    pgy_status st = pgy_onnx_tensor_load(&stored, g->model, t, err);
    if (!st) st = halve_elements(&half, h, stored, name, err);
    if (!st) st = pgy_model_tensor(&made, g->model, t->name, half, err);
    if (!st) {
        made->doc_string = t->doc_string;
        *out = made;
    }
    pgy_tensor_release(stored);
    pgy_tensor_release(half);
    return st;
}

/* Messages live in the model, which outlives the graph in what is exported. */
static pgy_onnx_attribute *new_attribute(pgy_graph *g)
{
    return pgy_model_alloc(g->model, 1, sizeof(pgy_onnx_attribute));
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

/* Attributes that hold a type to produce. */
static const struct {
    const char *op_type, *attribute;
} TYPED[] = {
    {"Cast", "to"},           {"RandomNormal", "dtype"},     {"RandomUniform", "dtype"},
    {"EyeLike", "dtype"},     {"RandomNormalLike", "dtype"}, {"RandomUniformLike", "dtype"},
    {"Multinomial", "dtype"}, {"Bernoulli", "dtype"},        {"SequenceEmpty", "dtype"}};

static bool is_typed(const pgy_node *n, const char *attribute)
{
    for (size_t i = 0; i < sizeof TYPED / sizeof *TYPED; i++)
        if (node_is(n, TYPED[i].op_type) && strcmp(attribute, TYPED[i].attribute) == 0) return true;
    return false;
}

static pgy_status halve_attribute(pgy_onnx_attribute *to, bool *changed, const halver *h,
                                  const pgy_node *n, const pgy_onnx_attribute *from, pgy_error *err)
{
    const pgy_onnx_tensor *half = NULL;
    *to = *from;
    to->message.raw = (pgy_bytes){0};
    if (from->t) {
        const pgy_status st = halve_tensor(&half, h, n->graph, from->t, node_label(n), err);
        if (st) return st;
        if (half) to->t = (pgy_onnx_tensor *)half;
    } else if (from->i == ONNX_FLOAT && is_typed(n, from->name)) {
        to->i = h->type->onnx;
    }
    *changed = half || to->i != from->i;
    return PGY_OK;
}

static pgy_status halve_attributes(const halver *h, pgy_node *n, pgy_error *err)
{
    arena *memory = &state_of(n->graph)->memory;
    const pgy_onnx_attribute **attributes = NULL;
    for (size_t i = 0; i < n->attribute_count; i++) {
        bool changed = false;
        pgy_onnx_attribute *to = new_attribute(n->graph);
        if (!to) return graph_no_memory(err);
        const pgy_status st = halve_attribute(to, &changed, h, n, n->attributes[i], err);
        if (st) return st;
        if (!changed) continue;
        if (!attributes) {
            attributes = arena_alloc_array(memory, n->attribute_count, sizeof *attributes);
            if (!attributes) return graph_no_memory(err);
            memcpy(attributes, n->attributes, n->attribute_count * sizeof *attributes);
        }
        attributes[i] = to;
    }
    if (!attributes) return PGY_OK;
    n->attributes = attributes;
    node_box_of(n)->changed = true;
    node_box_of(n)->prepared = false;
    graph_mark_changed(n->graph);
    return PGY_OK;
}

/* A float constant given in another form than a tensor becomes one. */
static pgy_status halve_constant(const halver *h, pgy_node *n, pgy_error *err)
{
    pgy_tensor *t = NULL, *half = NULL;
    pgy_onnx_tensor *made = NULL;
    if (!node_attribute(n, "value_float") && !node_attribute(n, "value_floats")) return PGY_OK;
    arena *memory = &state_of(n->graph)->memory;
    pgy_onnx_attribute *a = new_attribute(n->graph);
    const pgy_onnx_attribute **attributes = arena_alloc(memory, sizeof *attributes);
    pgy_status st =
        a && attributes ? pgy_graph_value_data(&t, n->outputs[0], err) : graph_no_memory(err);
    if (!st) st = halve_elements(&half, h, t, node_label(n), err);
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

/* ---- Levels --------------------------------------------------------------------------------- */

static pgy_status halve_weights(const halver *h, pgy_graph *g, pgy_error *err)
{
    for (size_t i = 0; i < g->initializer_count; i++) {
        pgy_value *v = g->initializers[i];
        const pgy_onnx_tensor *half = NULL;
        if (!v->initializer || v->is_output || only_for_wide(v)) continue;
        pgy_status st = halve_weight(&half, h, g, v->initializer, v->name, err);
        if (!st && half) st = value_describe_tensor(v, half, err);
        if (st) return st;
        if (!half) continue;
        v->initializer = half;
        box_of(v)->halved = true;
        box_of(v)->data_tried = false;
        graph_mark_changed(g);
    }
    return PGY_OK;
}

static void halve_declared(const halver *h, pgy_graph *g, bool top)
{
    const strmap *values = &level_of(g)->values;
    for (size_t i = 0; i < values->count; i++) {
        pgy_value *v = values->entries[i].value;
        value_box *box = box_of(v);
        if (v->dtype != PGY_F32 || v->initializer || (top && (v->is_input || v->is_output)))
            continue;
        if (v->producer && only_for_wide(v) &&
            (is_wide(v->producer) || node_is(v->producer, "Constant")))
            continue;
        v->dtype = h->type->dtype;
        box->halved = true;
        if (box->declared.dtype == PGY_F32) box->declared.dtype = h->type->dtype;
        if (box->known.dtype == PGY_F32) box->known.dtype = h->type->dtype;
    }
}

static pgy_status halve_level(const halver *h, pgy_graph *g, bool top, pgy_error *err)
{
    pgy_status st = halve_weights(h, g, err);
    for (size_t i = 0; !st && i < g->node_count; i++) {
        pgy_node *n = g->nodes[i];
        const bool constant = node_is(n, "Constant") && n->output_count == 1 && n->outputs[0];
        if (constant && only_for_wide(n->outputs[0])) continue;
        if (is_wide(n)) continue; /* its body too */
        st = constant ? halve_constant(h, n, err) : PGY_OK;
        if (!st) st = halve_attributes(h, n, err);
        for (size_t k = 0; !st && k < n->subgraph_count; k++)
            st = halve_level(h, n->subgraphs[k], false, err);
    }
    halve_declared(h, g, top);
    return st;
}

/* ---- Casts at the border -------------------------------------------------------------------- */

static pgy_status add_cast(pgy_graph *g, pgy_value *from, pgy_value *to, int64_t type,
                           pgy_error *err)
{
    arena *memory = &state_of(g)->memory;
    pgy_node *n = NULL;
    pgy_onnx_attribute *a = new_attribute(g);
    const pgy_onnx_attribute **attributes = arena_alloc(memory, sizeof *attributes);
    if (!a || !attributes) return graph_no_memory(err);
    const pgy_status st = node_create(&n, g, "Cast", &from, 1, &to, 1, err);
    if (st) return st;
    *a = (pgy_onnx_attribute){
        .name = "to", .ref_attr_name = "", .doc_string = "", .type = PGY_ATTR_INT, .i = type};
    attributes[0] = a;
    n->attributes = attributes;
    n->attribute_count = 1;
    return PGY_OK;
}

static void like(pgy_value *to, const pgy_value *from, pgy_dtype dtype)
{
    to->rank = from->rank;
    to->dims = from->dims;
    to->dtype = dtype;
    box_of(to)->declared = box_of(to)->known = (op_value){
        .dtype = dtype, .rank = from->rank, .dims = box_of((pgy_value *)from)->declared.dims};
    if (!box_of(to)->declared.dims) box_of(to)->declared.rank = box_of(to)->known.rank = -1;
}

static pgy_status cast_input(const halver *h, pgy_graph *g, pgy_value *v, pgy_error *err)
{
    char stem[256];
    const bool weight = v->initializer && !v->is_output;
    if (v->dtype != PGY_F32 || weight || v->sparse || v->consumer_count == 0 || only_for_wide(v))
        return PGY_OK;
    snprintf(stem, sizeof stem, "%s_%s", v->name, h->type->suffix);
    pgy_value *half = value_create_unique(g, stem, err);
    if (!half) return PGY_E_MEMORY;
    like(half, v, h->type->dtype);
    box_of(half)->halved = true;
    const pgy_status st = value_replace_uses(v, half, err);
    return st ? st : add_cast(g, v, half, h->type->onnx, err);
}

/* The producer of v writes a new value of another type; a Cast makes v of it. */
static pgy_status cast_after(pgy_graph *g, pgy_value *v, const char *suffix, pgy_dtype dtype,
                             int64_t type, bool reuse, pgy_error *err)
{
    char stem[256];
    pgy_node *producer = v->producer;
    const size_t index = v->output_index;
    snprintf(stem, sizeof stem, "%s_%s", v->name, suffix);
    pgy_value *inner = value_create_unique(g, stem, err);
    if (!inner) return PGY_E_MEMORY;
    like(inner, v, dtype);
    box_of(inner)->halved = dtype != PGY_F32;
    const pgy_status st = reuse ? value_replace_uses(v, inner, err) : PGY_OK;
    if (st) return st;
    producer->outputs[index] = inner;
    inner->producer = producer;
    inner->output_index = index;
    node_box_of(producer)->changed = true;
    return add_cast(g, inner, v, type, err);
}

/* The name that the caller knows stays with the float32 value. */
static pgy_status cast_output(const halver *h, pgy_graph *g, pgy_value *v, pgy_error *err)
{
    if (v->dtype != PGY_F32 || !v->producer || v->producer->graph != g || is_wide(v->producer))
        return PGY_OK;
    return cast_after(g, v, h->type->suffix, h->type->dtype, ONNX_FLOAT, true, err);
}

/* What a 16-bit value was rounded from, by a Cast that was put in here; NULL if it was not. */
static pgy_value *wide_source(const pgy_value *v)
{
    const pgy_node *cast = v->producer;
    if (!cast || cast->proto || !node_is(cast, "Cast")) return NULL;
    return cast->inputs[0]->dtype == PGY_F32 && !box_of(cast->inputs[0])->halved ? cast->inputs[0]
                                                                                 : NULL;
}

static pgy_status cast_wide_input(pgy_node *n, size_t i, pgy_error *err)
{
    char stem[256];
    pgy_value *v = n->inputs[i];
    if (!v || !box_of(v)->halved) return PGY_OK;
    pgy_value *wide = wide_source(v);
    if (wide) return node_set_input(n, i, wide, err);
    snprintf(stem, sizeof stem, "%s_f32", v->name);
    wide = value_create_unique(n->graph, stem, err);
    if (!wide) return PGY_E_MEMORY;
    like(wide, v, PGY_F32);
    const pgy_status st = add_cast(n->graph, v, wide, ONNX_FLOAT, err);
    return st ? st : node_set_input(n, i, wide, err);
}

static pgy_status cast_wide_inputs(pgy_node *n, const halver *h, pgy_error *err)
{
    (void)h;
    pgy_status st = PGY_OK;
    for (size_t k = 0; !st && k < n->input_count; k++) st = cast_wide_input(n, k, err);
    return st;
}

static pgy_status cast_wide_outputs(pgy_node *n, const halver *h, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t k = 0; !st && k < n->output_count; k++)
        if (n->outputs[k] && box_of(n->outputs[k])->halved)
            st = cast_after(n->graph, n->outputs[k], "f32", PGY_F32, h->type->onnx, false, err);
    return st;
}

static pgy_status each_wide(const halver *h, pgy_graph *g,
                            pgy_status (*change)(pgy_node *, const halver *, pgy_error *),
                            pgy_error *err)
{
    const size_t count = g->node_count;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i++) {
        pgy_node *n = g->nodes[i];
        for (size_t k = 0; !st && k < n->subgraph_count; k++)
            st = each_wide(h, n->subgraphs[k], change, err);
        if (!st && is_wide(n)) st = change(n, h, err);
    }
    return st;
}

static pgy_status convert(const halver *h, pgy_graph *g, pgy_error *err)
{
    pgy_status st = halve_level(h, g, true, err);
    for (size_t i = 0; !st && i < level_of(g)->declared_count; i++)
        st = cast_input(h, g, level_of(g)->declared[i], err);
    for (size_t i = 0; !st && i < g->initializer_count; i++)
        if (g->initializers[i]->is_output) st = cast_input(h, g, g->initializers[i], err);
    for (size_t i = 0; !st && i < g->output_count; i++) st = cast_output(h, g, g->outputs[i], err);
    if (!st) st = each_wide(h, g, cast_wide_outputs, err);
    if (!st) st = each_wide(h, g, cast_wide_inputs, err);
    return st ? st : pgy_graph_sort(g, err);
}

/* Functions that are to be kept, by the name of the call or as an operator, are. */
static bool is_inlined(const pgy_node *call, void *user)
{
    return !is_named(user, call);
}

/* The types at the border must be known, and those of the kept operators. */
static pgy_status prepare(halver *h, pgy_graph *g, pgy_error *err)
{
    const inline_choice choice = {.wanted = is_inlined, .user = h};
    size_t calls = 0;
    pgy_status st = pgy_graph_infer_shapes(g, NULL, err);
    if (!st) st = graph_inline_calls(g, &choice, &calls, err);
    if (st || !calls) return st;
    LOG(INFO, "Calls of local functions gave way to what they do: %zu", calls);
    st = pgy_graph_sort(g, err);
    return st ? st : pgy_graph_infer_shapes(g, NULL, err);
}

static const half_type *type_find(pgy_dtype dtype)
{
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (TYPES[i].dtype == dtype) return &TYPES[i];
    return NULL;
}

static pgy_status check_keep(const halver *h, pgy_error *err)
{
    for (size_t i = 0; i < h->options->keep_count; i++)
        if (!h->used[i])
            return pgy_error_set(err, PGY_E_NOT_FOUND,
                                 "'%s' is neither the name of a node nor an operator of the model",
                                 h->options->keep[i]);
    return PGY_OK;
}

pgy_half_options pgy_half_options_default(void)
{
    return (pgy_half_options){.size = sizeof(pgy_half_options), .dtype = PGY_F16};
}

pgy_status pgy_graph_convert_half(pgy_graph *g, const pgy_half_options *options, pgy_error *err)
{
    const pgy_half_options defaults = pgy_half_options_default();
    halver h = {.options = options ? options : &defaults};
    h.type = type_find(h.options->dtype);
    if (!g || g->parent)
        return pgy_error_set(err, PGY_E_ARGUMENT, "only a whole graph can be converted");
    if (!h.type)
        return pgy_error_set(err, PGY_E_ARGUMENT, "float32 is converted to float16 or bfloat16");
    if (h.type->dtype == PGY_BF16 && pgy_graph_opset(g, "") < BFLOAT16_OPSET)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "bfloat16 needs opset %d or later, the model is of opset %lld",
                             BFLOAT16_OPSET, (long long)pgy_graph_opset(g, ""));
    h.used = arena_alloc_array(&state_of(g)->memory, h.options->keep_count + 1, sizeof *h.used);
    if (!h.used) return graph_no_memory(err);
    const pgy_status st = prepare(&h, g, err);
    if (st) return st;
    mark_wide(&h, g, false);
    const pgy_status unknown = check_keep(&h, err);
    return unknown ? unknown : convert(&h, g, err);
}
