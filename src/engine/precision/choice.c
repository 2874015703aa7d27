/* SPDX-License-Identifier: Apache-2.0 */
/* Types that the configuration gives single layers, and the arithmetic that computes shapes, which
 * must stay exact without being asked for. */
#include <string.h>

#include "base/log.h"
#include "engine/precision/precision.h"

static const char LOG_PATH[] = "backend/trt/config.py";

/* ---- Types of layers ------------------------------------------------------------------------ */

static bool fits(const pgy_type_choice *choice, const char *layer)
{
    return strcmp(choice->name, layer) == 0 || str_match_wildcard(choice->name, layer);
}

/* The last matching choice wins. */
pgy_dtype precision_asked(const precision *x, const pgy_node *n)
{
    for (size_t i = x->config->layer_type_count; i-- > 0;)
        if (fits(&x->config->layer_types[i], node_label(n))) return x->config->layer_types[i].dtype;
    return PGY_DTYPE_NONE;
}

void precision_refuse(precision *x, const pgy_node *n, pgy_dtype asked, const char *why)
{
    const char *type = pgy_dtype_name(asked);
    if (x->p.status) return;
    if (x->config->constraints == PGY_CONSTRAINTS_OBEY)
        x->p.status = pgy_error_set(x->p.err, PGY_E_UNSUPPORTED,
                                    "layer '%s' (%s) cannot be in %s, as was asked for: %s",
                                    node_label(n), n->op_type, type, why);
    else if (x->config->constraints == PGY_CONSTRAINTS_PREFER)
        LOG(WARNING, "Layer '%s' (%s) cannot be in %s, as was asked for: %s", node_label(n),
            n->op_type, type, why);
    else
        LOG(VERBOSE, "Layer '%s' (%s) is not in %s: %s", node_label(n), n->op_type, type, why);
}

static bool level_has(const pgy_graph *g, const pgy_type_choice *choice)
{
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_node *n = g->nodes[i];
        if (fits(choice, node_label(n))) return true;
        for (size_t k = 0; k < n->subgraph_count; k++)
            if (level_has(n->subgraphs[k], choice)) return true;
    }
    return false;
}

static bool model_has(const pgy_onnx_graph *g, const pgy_type_choice *choice)
{
    for (size_t i = 0; i < g->node_count; i++)
        if (fits(choice, g->nodes[i]->name)) return true;
    return false;
}

static bool is_type_of_layers(pgy_dtype t)
{
    return t == PGY_F32 || t == PGY_F16 || t == PGY_BF16 || t == PGY_I8;
}

void precision_check_choices(const precision *x)
{
    const pgy_graph *g = x->p.f.graph;
    const pgy_onnx_graph *came = pgy_model_proto(g->model)->graph;
    str named = {0};
    for (size_t i = 0; i < x->config->layer_type_count; i++) {
        const pgy_type_choice *c = &x->config->layer_types[i];
        str_printf(&named, "%s%s: %s", i ? ", " : "", c->name, pgy_dtype_name(c->dtype));
        if (!is_type_of_layers(c->dtype))
            LOG(WARNING,
                "Layer '%s': %s is no type to compute in here (float32, float16, bfloat16 "
                "and int8 are), so it has no effect",
                c->name, pgy_dtype_name(c->dtype));
        if (level_has(g, c)) continue;
        if (came && model_has(came, c))
            LOG(WARNING,
                "Layer '%s' was folded away or became part of another one: its type has "
                "no effect",
                c->name);
        else
            LOG(WARNING, "The model has no layer '%s': its type has no effect", c->name);
    }
    if (x->config->constraints == PGY_CONSTRAINTS_NONE)
        LOG(WARNING,
            "Layers have types (%s), but no constraints: they are followed where that is "
            "possible; config.constraints prefer or obey tells where it is not",
            str_text(&named));
    str_deinit(&named);
}

/* ---- Shape arithmetic ----------------------------------------------------------------------- */

/* Inputs whose elements are sizes, indices or counts; bit i: input i. */
static const struct {
    const char *op_type;
    uint32_t inputs;
} SIZES[] = {
    {"Reshape", 2},  {"Expand", 2},          {"Tile", 2},    {"Pad", 2},
    {"Slice", 0x1e}, {"ConstantOfShape", 1}, {"Range", 7},   {"Resize", 0xe},
    {"TopK", 2},     {"OneHot", 6},          {"Split", 2},   {"Upsample", 2},
    {"Gather", 2},   {"CenterCropPad", 2},   {"EyeLike", 1}, {"Trilu", 2},
};

/* Operators that compute such numbers. */
static const char *const ARITHMETIC[] = {
    "Add",    "Sub",   "Mul",     "Div",       "Floor", "Ceil", "Round",      "Cast",      "Concat",
    "Gather", "Slice", "Squeeze", "Unsqueeze", "Sqrt",  "Min",  "Max",        "Mod",       "Where",
    "Neg",    "Abs",   "Reshape", "Identity",  "Clip",  "Pow",  "ReduceProd", "ReduceMax", "Range",
};

static bool is_arithmetic(const pgy_node *n)
{
    for (size_t i = 0; i < sizeof ARITHMETIC / sizeof *ARITHMETIC; i++)
        if (node_is(n, ARITHMETIC[i])) return true;
    return false;
}

static void mark_back(precision *x, pgy_value *v, int depth)
{
    pgy_node *n = v ? v->producer : NULL;
    if (x->p.status || !n || depth > 64 || pattern_rank(v) > 1 || pattern_rank(v) < 0 ||
        !is_arithmetic(n))
        return;
    precision_value *entry = precision_of(x, v);
    if (!entry || entry->exact) return;
    entry->exact = true;
    for (size_t i = 0; i < n->input_count; i++) mark_back(x, n->inputs[i], depth + 1);
}

static void mark_level(precision *x, pgy_graph *g)
{
    for (size_t i = 0; i < g->node_count; i++) {
        pgy_node *n = g->nodes[i];
        for (size_t k = 0; k < n->subgraph_count; k++) mark_level(x, n->subgraphs[k]);
        for (size_t k = 0; k < sizeof SIZES / sizeof *SIZES; k++) {
            if (!node_is(n, SIZES[k].op_type)) continue;
            for (size_t j = 0; j < n->input_count && j < 32; j++)
                if (SIZES[k].inputs >> j & 1) mark_back(x, n->inputs[j], 0);
        }
    }
}

void precision_mark_exact(precision *x)
{
    mark_level(x, x->p.f.graph);
}
