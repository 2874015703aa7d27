/* SPDX-License-Identifier: Apache-2.0 */
/* Types that the configuration asks for in single layers (--layer-precisions). */
#include <string.h>

#include "base/log.h"
#include "engine/precision/precision.h"

static const char LOG_PATH[] = "engine/precision/choice.c";

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
                                    "layer '%s' (%s) cannot compute in the requested type %s: %s",
                                    node_label(n), n->op_type, type, why);
    else if (x->config->constraints == PGY_CONSTRAINTS_PREFER)
        LOG(WARNING, "Layer '%s' (%s) cannot compute in the requested type %s: %s", node_label(n),
            n->op_type, type, why);
    else
        LOG(VERBOSE, "Layer '%s' (%s) does not compute in the requested type %s: %s", node_label(n),
            n->op_type, type, why);
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
                "Layer '%s': the type %s has no effect; expected float32, float16, bfloat16 or "
                "int8",
                c->name, pgy_dtype_name(c->dtype));
        if (level_has(g, c)) continue;
        if (came && model_has(came, c))
            LOG(WARNING, "Layer '%s' was folded or fused, so its type has no effect", c->name);
        else
            LOG(WARNING, "The model has no layer '%s', so the type for it has no effect", c->name);
    }
    if (x->config->constraints == PGY_CONSTRAINTS_NONE)
        LOG(WARNING,
            "The types of layers (%s) come without constraints: the engine follows them where it "
            "can; set config.constraints to prefer (warn) or obey (fail) to learn where it cannot",
            str_text(&named));
    str_deinit(&named);
}
