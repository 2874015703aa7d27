/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/mask.h"

#include <string.h>

enum { MAX_NODES = 256, CLIP_WITH_INPUTS = 11 };

/* Operators through which a mask may reach a Softmax: operators in MIXES combine it with other
 * numbers, those in MOVES pass it on unchanged. */
static const char *const MIXES[] = {"Add", "Sub", "Mul", "Sum", "Where", "Max", "Min"};
static const char *const MOVES[] = {
    "Identity", "Cast",      "Reshape",         "Unsqueeze", "Squeeze", "Flatten",
    "Expand",   "Tile",      "Transpose",       "Concat",    "Slice",   "Gather",
    "Pad",      "ScatterND", "ScatterElements", "Trilu",     "Neg",     "Clip",
};

#define IN_LIST(n, list) is_in(n, list, sizeof list / sizeof *list)
static bool is_in(const pgy_node *n, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (node_is(n, list[i])) return true;
    return false;
}

static bool is_softmax(const pgy_node *n)
{
    return node_is(n, "Softmax") || node_is(n, "LogSoftmax");
}

typedef struct walk {
    int budget; /* nodes that may still be visited */
    bool all;   /* true: every path from the value must lead to a Softmax; false: one is enough */
} walk;

static bool leads(walk *w, const pgy_value *v, bool mixed);

static bool node_leads(walk *w, const pgy_node *n, const pgy_value *v, bool mixed)
{
    if (--w->budget < 0) return false;
    if (is_softmax(n)) return mixed;
    if (node_is(n, "Attention")) return n->input_count > 3 && n->inputs[3] == v;
    const bool mixes = IN_LIST(n, MIXES);
    return (mixes || IN_LIST(n, MOVES)) && n->output_count && n->outputs[0] &&
           leads(w, n->outputs[0], mixed || mixes);
}

static bool leads(walk *w, const pgy_value *v, bool mixed)
{
    bool any = false;
    if (w->all && v->is_output) return false;
    for (size_t i = 0; i < v->consumer_count; i++) {
        const bool one = node_leads(w, v->consumers[i], v, mixed);
        if (one && !w->all) return true;
        if (!one && w->all) return false;
        any |= one;
    }
    return any;
}

mask_use graph_mask_use(const pgy_value *v)
{
    walk every = {.budget = MAX_NODES, .all = true}, some = {.budget = MAX_NODES};
    if (leads(&every, v, false)) return MASK_WHOLE;
    return leads(&some, v, false) ? MASK_PART : MASK_NONE;
}

bool graph_is_mask_node(const pgy_node *n)
{
    walk every = {.budget = MAX_NODES, .all = true};
    return IN_LIST(n, MIXES) && n->output_count && n->outputs[0] &&
           leads(&every, n->outputs[0], true);
}

float graph_mask_limit(mask_use use, float largest)
{
    return use == MASK_WHOLE ? largest / 4 : largest;
}

/* ---- Clip ----------------------------------------------------------------------------------- */

static pgy_status set_attribute(pgy_node *n, const pgy_onnx_attribute *value, pgy_error *err)
{
    pgy_onnx_attribute *a = pgy_model_alloc(n->graph->model, 1, sizeof *a);
    const pgy_onnx_attribute **attributes =
        arena_alloc_array(&state_of(n->graph)->memory, n->attribute_count + 1, sizeof *attributes);
    if (!a || !attributes) return graph_no_memory(err);
    if (n->attribute_count)
        memcpy(attributes, n->attributes, n->attribute_count * sizeof *attributes);
    *a = *value;
    a->ref_attr_name = a->doc_string = "";
    attributes[n->attribute_count++] = a;
    n->attributes = attributes;
    return PGY_OK;
}

/* Creates a value with the type and shape of v. */
static pgy_value *like(pgy_value *v, pgy_error *err)
{
    str stem = {0};
    str_printf(&stem, "%s_limited", v->name);
    pgy_value *to = stem.failed ? NULL : value_create_unique(v->graph, str_text(&stem), err);
    str_deinit(&stem);
    if (!to) return NULL;
    box_of(to)->known = box_of(v)->known;
    box_of(to)->known.data = NULL;
    box_of(to)->declared.rank = -1;
    to->kind = v->kind;
    to->dtype = v->dtype;
    to->rank = v->rank;
    to->dims = v->dims;
    return to;
}

static pgy_status float_constant(pgy_value **out, pgy_graph *g, float x, pgy_error *err)
{
    pgy_tensor *t = NULL;
    pgy_onnx_tensor *made = NULL;
    pgy_node *n = NULL;
    pgy_value *v = value_create_unique(g, "mask_limit", err);
    if (!v) return PGY_E_MEMORY;
    pgy_status st = pgy_tensor_create(&t, PGY_F32, 0, NULL, err);
    if (st) return st;
    *(float *)pgy_tensor_data(t) = x;
    st = pgy_model_tensor(&made, g->model, "", t, err);
    pgy_tensor_release(t);
    if (!st) st = node_create(&n, g, "Constant", NULL, 0, &v, 1, err);
    const pgy_onnx_attribute value = {.name = "value", .type = PGY_ATTR_TENSOR, .t = made};
    if (!st) st = set_attribute(n, &value, err);
    if (st) return st;
    v->kind = PGY_VALUE_TENSOR;
    v->dtype = PGY_F32;
    v->rank = 0;
    box_of(v)->known = (op_value){.dtype = PGY_F32};
    box_of(v)->declared.rank = -1;
    *out = v;
    return PGY_OK;
}

pgy_status graph_mask_clip(pgy_value **out, pgy_value *v, mask_use use, float largest,
                           pgy_error *err)
{
    pgy_graph *g = v->graph;
    pgy_node *n = NULL;
    pgy_value *inputs[3] = {v}, *to;
    const float limit = graph_mask_limit(use, largest);
    const bool given = pgy_graph_opset(g, "") >= CLIP_WITH_INPUTS;
    *out = v;
    if (use == MASK_NONE) return PGY_OK;
    if (!(to = like(v, err))) return PGY_E_MEMORY;
    pgy_status st = given ? float_constant(&inputs[1], g, -limit, err) : PGY_OK;
    if (!st && given) st = float_constant(&inputs[2], g, limit, err);
    if (!st) st = node_create(&n, g, "Clip", inputs, given ? 3 : 1, &to, 1, err);
    const pgy_onnx_attribute min = {.name = "min", .type = PGY_ATTR_FLOAT, .f = -limit};
    const pgy_onnx_attribute max = {.name = "max", .type = PGY_ATTR_FLOAT, .f = limit};
    if (!st && !given) st = set_attribute(n, &min, err);
    if (!st && !given) st = set_attribute(n, &max, err);
    if (!st) *out = to;
    return st;
}
