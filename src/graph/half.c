/* SPDX-License-Identifier: Apache-2.0 */
/* Converts float32 to float16 or bfloat16: weights, constants, declared types of inner values, and
 * the types that Casts and generators write. Inputs and outputs of the model stay float32: a Cast
 * follows every float32 input and precedes every float32 output. Nodes that must stay float32
 * ("wide") get Casts around them. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/sized.h"
#include "graph/half.h"
#include "graph/inline.h"
#include "graph/mask.h"
#include "graph/size_arithmetic.h"
#include "tensor/convert.h"

static const char LOG_PATH[] = "graph/half.c";

enum { BFLOAT16_OPSET = 13 };

static const half_type TYPES[] = {
    {PGY_F16, 10, "float16", "f16", 65504.0f, f16_from_f64},
    {PGY_BF16, 16, "bfloat16", "bf16", 0x1.fep127f, bf16_from_f64},
};

/* True if all consumers of v stay float32, or v has none. */
static bool is_read_wide(const halver *h, const pgy_value *v)
{
    for (size_t i = 0; i < v->consumer_count; i++)
        if (!half_is_wide(h, v->consumers[i])) return false;
    return true;
}

/* True if v has consumers and all of them stay float32. */
static bool only_for_wide(const halver *h, const pgy_value *v)
{
    return v->consumer_count > 0 && !v->is_output && is_read_wide(h, v);
}

/* True for constants that stay float32; 16-bit consumers read them through a Cast. */
static bool is_kept(const halver *h, pgy_value *v)
{
    return only_for_wide(h, v) || (graph_guard_is_number(h->guards, v) && !v->is_output);
}

/* ---- Levels --------------------------------------------------------------------------------- */

/* Converts the weights of a level. Weights that are outputs of the model keep their type; those
 * that are outputs of a subgraph are converted with its node. */
static pgy_status halve_weights(const halver *h, pgy_graph *g, bool top, pgy_error *err)
{
    for (size_t i = 0; i < g->initializer_count; i++) {
        pgy_value *v = g->initializers[i];
        const pgy_onnx_tensor *half = NULL;
        if (!v->initializer || (top && v->is_output) || is_kept(h, v)) continue;
        pgy_status st = half_weight(&half, h, v, err);
        if (!st && half) st = value_describe_tensor(v, half, err);
        if (st) return st;
        if (!half) continue;
        v->initializer = half;
        if (!id_marks_set(h->half, value_id(v))) return graph_no_memory(err);
        box_of(v)->data_tried = false;
        graph_mark_changed(g);
    }
    return PGY_OK;
}

static pgy_status halve_declared(const halver *h, pgy_graph *g, bool top, pgy_error *err)
{
    const strmap *values = &level_of(g)->values;
    for (size_t i = 0; i < values->count; i++) {
        pgy_value *v = values->entries[i].value;
        value_box *box = box_of(v);
        if (v->dtype != PGY_F32 || v->initializer || v->sparse ||
            (top && (v->is_input || v->is_output)))
            continue;
        if (v->producer && node_is(v->producer, "Constant") && is_kept(h, v)) continue;
        if (v->producer && half_is_wide(h, v->producer) && only_for_wide(h, v)) continue;
        v->dtype = h->type->dtype;
        if (!id_marks_set(h->half, value_id(v))) return graph_no_memory(err);
        if (box->declared.dtype == PGY_F32) box->declared.dtype = h->type->dtype;
        if (box->known.dtype == PGY_F32) box->known.dtype = h->type->dtype;
        graph_mark_changed(g);
    }
    return PGY_OK;
}

static pgy_status halve_level(const halver *h, pgy_graph *g, bool top, pgy_error *err)
{
    pgy_status st = halve_weights(h, g, top, err);
    for (size_t i = 0; !st && i < g->node_count; i++) {
        pgy_node *n = g->nodes[i];
        const bool constant = node_is(n, "Constant") && n->output_count == 1 && n->outputs[0];
        if (constant && is_kept(h, n->outputs[0])) continue;
        if (half_is_wide(h, n)) continue; /* its subgraphs stay float32, too */
        st = constant ? half_constant(h, n, err) : PGY_OK;
        if (!st) st = half_attributes(h, n, err);
        for (size_t k = 0; !st && k < n->subgraph_count; k++)
            st = halve_level(h, n->subgraphs[k], false, err);
    }
    return st ? st : halve_declared(h, g, top, err);
}

/* ---- Casts at the border -------------------------------------------------------------------- */

static pgy_status add_cast(pgy_graph *g, pgy_value *from, pgy_value *to, int64_t type,
                           pgy_error *err)
{
    arena *memory = &state_of(g)->memory;
    pgy_node *n = NULL;
    pgy_onnx_attribute *a = half_new_attribute(g);
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

/* Adds a Cast to 16 bits. Attention masks and quotients of small divisors are clipped first, so
 * that they stay finite. */
static pgy_status narrow(const halver *h, pgy_graph *g, pgy_value *from, pgy_value *to,
                         pgy_error *err)
{
    pgy_value *limited = from;
    mask_use use = graph_mask_use(to);
    if (use == MASK_NONE && graph_guard_made(h->guards, from, h->type->dtype)) use = MASK_PART;
    const pgy_status st = graph_mask_clip(&limited, from, use, h->type->largest, err);
    return st ? st : add_cast(g, limited, to, h->type->onnx, err);
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

/* Lets all 16-bit consumers of v read a Cast of it. */
static pgy_status cast_uses(const halver *h, pgy_graph *g, pgy_value *v, pgy_error *err)
{
    char stem[256];
    if (v->dtype != PGY_F32 || is_read_wide(h, v)) return PGY_OK;
    snprintf(stem, sizeof stem, "%s_%s", v->name, h->type->suffix);
    pgy_value *half = value_create_unique(g, stem, err);
    if (!half) return PGY_E_MEMORY;
    like(half, v, h->type->dtype);
    if (!id_marks_set(h->half, value_id(half))) return graph_no_memory(err);
    pgy_status st = value_replace_uses(v, half, err);
    if (!st) st = narrow(h, g, v, half, err);
    return st;
}

static pgy_status cast_input(const halver *h, pgy_graph *g, pgy_value *v, pgy_error *err)
{
    return v->initializer && !v->is_output ? PGY_OK : cast_uses(h, g, v, err);
}

/* Adds Casts behind constants that are still float32: sparse weights, and constants that must stay
 * float32 (is_kept). */
static pgy_status cast_constants(const halver *h, pgy_graph *g, pgy_error *err)
{
    const strmap *values = &level_of(g)->values;
    const size_t count = values->count;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i++) {
        pgy_value *v = values->entries[i].value;
        const bool constant = v->initializer || (v->producer && node_is(v->producer, "Constant"));
        if (v->sparse || (constant && is_kept(h, v))) st = cast_uses(h, g, v, err);
    }
    return st;
}

/* Lets the producer of v write a new value of another type, and makes v by a Cast of it. */
static pgy_status cast_after(const halver *h, pgy_graph *g, pgy_value *v, const char *suffix,
                             pgy_dtype dtype, pgy_error *err)
{
    char stem[256];
    pgy_node *producer = v->producer;
    const size_t index = v->output_index;
    snprintf(stem, sizeof stem, "%s_%s", v->name, suffix);
    pgy_value *inner = value_create_unique(g, stem, err);
    if (!inner) return PGY_E_MEMORY;
    like(inner, v, dtype);
    const bool wide = dtype == PGY_F32;
    if (!wide && !id_marks_set(h->half, value_id(inner))) return graph_no_memory(err);
    const pgy_status st = wide ? PGY_OK : value_replace_uses(v, inner, err);
    if (st) return st;
    producer->outputs[index] = inner;
    inner->producer = producer;
    inner->output_index = index;
    node_box_of(producer)->changed = true;
    return wide ? narrow(h, g, inner, v, err) : add_cast(g, inner, v, HALF_ONNX_FLOAT, err);
}

/* Makes output v of the model float32. The value keeps its name; its producer writes a new 16-bit
 * value. */
static pgy_status cast_output(const halver *h, pgy_graph *g, pgy_value *v, pgy_error *err)
{
    if (v->dtype != PGY_F32 || !v->producer || v->producer->graph != g) return PGY_OK;
    if (half_is_wide(h, v->producer))
        return cast_input(h, g, v, err); /* adds a Cast for its other consumers */
    return cast_after(h, g, v, h->type->suffix, h->type->dtype, err);
}

/* The float32 value of which v is a Cast added by this conversion, or NULL. */
static pgy_value *wide_source(const halver *h, const pgy_value *v)
{
    const pgy_node *cast = v->producer;
    if (!cast || cast->proto || !node_is(cast, "Cast")) return NULL;
    pgy_value *from = cast->inputs[0];
    const pgy_node *clip = from->producer;
    if (clip && !clip->proto && node_is(clip, "Clip")) from = clip->inputs[0];
    return from->dtype == PGY_F32 && !id_marks_get(h->half, value_id(from)) ? from : NULL;
}

static pgy_status cast_wide_input(pgy_node *n, const halver *h, size_t i, pgy_error *err)
{
    char stem[256];
    pgy_value *v = n->inputs[i];
    if (!v || !id_marks_get(h->half, value_id(v))) return PGY_OK;
    pgy_value *wide = wide_source(h, v);
    if (wide) return node_set_input(n, i, wide, err);
    snprintf(stem, sizeof stem, "%s_f32", v->name);
    wide = value_create_unique(n->graph, stem, err);
    if (!wide) return PGY_E_MEMORY;
    like(wide, v, PGY_F32);
    const pgy_status st = add_cast(n->graph, v, wide, HALF_ONNX_FLOAT, err);
    return st ? st : node_set_input(n, i, wide, err);
}

static pgy_status cast_wide_inputs(pgy_node *n, const halver *h, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t k = 0; !st && k < n->input_count; k++) st = cast_wide_input(n, h, k, err);
    return st;
}

static pgy_status cast_wide_outputs(pgy_node *n, const halver *h, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t k = 0; !st && k < n->output_count; k++)
        if (n->outputs[k] && id_marks_get(h->half, value_id(n->outputs[k])))
            st = cast_after(h, n->graph, n->outputs[k], "f32", PGY_F32, err);
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
        if (!st && half_is_wide(h, n)) st = change(n, h, err);
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
    for (size_t i = 0; !st && i < state_of(g)->level_count; i++)
        st = cast_constants(h, state_of(g)->levels[i], err);
    for (size_t i = 0; !st && i < g->output_count; i++) st = cast_output(h, g, g->outputs[i], err);
    if (!st) st = each_wide(h, g, cast_wide_outputs, err);
    if (!st) st = each_wide(h, g, cast_wide_inputs, err);
    return st ? st : pgy_graph_sort(g, err);
}

/* Inlines every call except those that the options keep in float32 by name or operator. */
static bool is_inlined(const pgy_node *call, void *user)
{
    return !half_is_named(user, call);
}

/* Infers types: they must be known for the inputs and outputs of the model and around nodes that
 * stay float32. */
static pgy_status prepare(halver *h, pgy_graph *g, pgy_error *err)
{
    const inline_choice choice = {.wanted = is_inlined, .user = h};
    size_t calls = 0;
    pgy_status st = pgy_graph_infer_shapes(g, NULL, err);
    if (!st) st = graph_inline_calls(g, &choice, &calls, err);
    if (st || !calls) return st;
    LOG(INFO, "Inlined %zu calls of local functions", calls);
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
            return pgy_error_set(
                err, PGY_E_NOT_FOUND,
                "'%s', which is to stay float32, is neither a node nor an operator of the model",
                h->options->keep[i]);
    return PGY_OK;
}

pgy_half_options pgy_half_options_default(void)
{
    return (pgy_half_options){.size = sizeof(pgy_half_options), .dtype = PGY_F16};
}

pgy_status pgy_graph_convert_half(pgy_graph *g, const pgy_half_options *options, pgy_error *err)
{
    pgy_half_options taken = pgy_half_options_default();
    id_marks wide = {0}, half = {0}, sizes = {0};
    graph_guards guards = {0};
    halver h = {
        .options = &taken, .wide = &wide, .half = &half, .guards = &guards, .sizes = &sizes};
    pgy_status st = SIZED_TAKE(pgy_half_options, &taken, options, err);
    if (st) return st;
    h.type = type_find(h.options->dtype);
    if (!g || g->parent)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'g' must be a whole graph, not a subgraph or NULL");
    if (!h.type)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'options.dtype' must be float16 or bfloat16");
    if (h.type->dtype == PGY_BF16 && pgy_graph_opset(g, "") < BFLOAT16_OPSET)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "bfloat16 needs opset %d or later, but the model has opset %lld",
                             BFLOAT16_OPSET, (long long)pgy_graph_opset(g, ""));
    h.used = arena_alloc_array(&state_of(g)->memory, h.options->keep_count + 1, sizeof *h.used);
    if (!h.used) return graph_no_memory(err);
    st = prepare(&h, g, err);
    if (!st) st = graph_guard_mark(&guards, g, h.type->dtype, err);
    if (!st) st = graph_size_arithmetic_mark(&sizes, g, err);
    if (!st) st = half_mark_wide(&h, g, false, err);
    if (!st) st = check_keep(&h, err);
    if (!st) st = convert(&h, g, err);
    id_marks_deinit(&wide);
    id_marks_deinit(&half);
    id_marks_deinit(&sizes);
    graph_guards_deinit(&guards);
    return st;
}
