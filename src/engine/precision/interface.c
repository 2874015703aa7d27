/* SPDX-License-Identifier: Apache-2.0 */
/* Types of the model's inputs and outputs: where the caller asks for another type than the model's,
 * a Cast converts. */
#include <string.h>

#include "base/log.h"
#include "engine/precision/precision.h"

static const char LOG_PATH[] = "engine/precision/interface.c";

static bool fits(const char *choice, const char *name)
{
    return strcmp(choice, name) == 0 || str_match_wildcard(choice, name);
}

/* The last matching choice wins. */
static pgy_dtype type_for(const pgy_build_config *c, const char *name)
{
    for (size_t i = c->tensor_type_count; i-- > 0;)
        if (fits(c->tensor_types[i].name, name)) return c->tensor_types[i].dtype;
    return PGY_DTYPE_NONE;
}

static bool is_float_type(pgy_dtype t)
{
    return t == PGY_F16 || t == PGY_BF16 || t == PGY_F32 || t == PGY_F64;
}

static bool is_integer_type(pgy_dtype t)
{
    return t == PGY_I32 || t == PGY_I64 || t == PGY_U8 || t == PGY_I8 || t == PGY_BOOL;
}

static pgy_status check(const pgy_value *v, pgy_dtype t, pgy_error *err)
{
    const pgy_dtype came = pattern_dtype(v);
    const char *why = is_float_type(came) && is_integer_type(t)
                          ? "; add QuantizeLinear to the model, which has a scale"
                          : "";
    if (v->kind == PGY_VALUE_TENSOR && ((is_float_type(came) && is_float_type(t)) ||
                                        (is_integer_type(came) && is_integer_type(t))))
        return PGY_OK;
    return pgy_error_set(err, PGY_E_UNSUPPORTED,
                         "config.tensor_types: '%s' is %s and cannot become %s%s", v->name,
                         came ? pgy_dtype_name(came) : "of unknown type", pgy_dtype_name(t), why);
}

/* Makes a value between v and the model's nodes, with the type that v had before the change. */
static pgy_value *create_inside(pgy_value *v, pgy_error *err)
{
    str stem = {0};
    const pgy_dtype came = pattern_dtype(v);
    str_printf(&stem, "%s_%s", v->name, pgy_dtype_name(came));
    pgy_value *inside = stem.failed ? NULL : value_create_unique(v->graph, str_text(&stem), err);
    str_deinit(&stem);
    if (!inside) return NULL;
    box_of(inside)->known = box_of(v)->known;
    inside->kind = PGY_VALUE_TENSOR;
    inside->dtype = came;
    inside->rank = v->rank;
    inside->dims = v->dims;
    return inside;
}

static void set_type(pgy_value *v, pgy_dtype t)
{
    v->dtype = t;
    box_of(v)->known.dtype = t;
    box_of(v)->declared.dtype = t;
    graph_mark_changed(v->graph);
}

static pgy_status cast(pgy_value *from, pgy_value *to, pgy_error *err)
{
    pgy_node *n = NULL;
    const pgy_status st = node_create(&n, from->graph, "Cast", &from, 1, &to, 1, err);
    if (st) return st;
    pattern p = {.f = {.graph = from->graph, .state = state_of(from->graph)}, .err = err};
    pattern_set_int(&p, n, "to", pgy_dtype_describe(to->dtype)->onnx);
    arena_deinit(&p.f.memory);
    return p.status;
}

static pgy_status set_input(pgy_value *v, pgy_dtype t, pgy_error *err)
{
    pgy_value *inside = create_inside(v, err);
    if (!inside) return PGY_E_MEMORY;
    pgy_status st = value_replace_uses(v, inside, err);
    if (st) return st;
    set_type(v, t);
    return cast(v, inside, err);
}

static pgy_status set_output(pgy_value *v, pgy_dtype t, pgy_error *err)
{
    pgy_node *n = v->producer;
    if (!n)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "config.tensor_types: output '%s' is not the result of a layer, so "
                             "its type cannot change",
                             v->name);
    pgy_value *inside = create_inside(v, err);
    if (!inside) return PGY_E_MEMORY;
    pgy_status st = value_replace_uses(v, inside, err);
    if (st) return st;
    n->outputs[v->output_index] = inside;
    inside->producer = n;
    inside->output_index = v->output_index;
    node_box_of(n)->changed = true;
    v->producer = NULL;
    set_type(v, t);
    return cast(inside, v, err);
}

static pgy_status set_types(pgy_graph *g, const pgy_build_config *c, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->input_count + g->output_count; i++) {
        const bool input = i < g->input_count;
        pgy_value *v = input ? g->inputs[i] : g->outputs[i - g->input_count];
        const pgy_dtype t = type_for(c, v->name);
        if (!t || t == pattern_dtype(v)) continue;
        st = check(v, t, err);
        if (!st) st = input ? set_input(v, t, err) : set_output(v, t, err);
        if (!st)
            LOG(VERBOSE, "%s '%s' is %s", input ? "Input" : "Output", v->name, pgy_dtype_name(t));
    }
    return st;
}

/* ---- Formats that are not available --------------------------------------------------------- */

static bool has_tensor(const pgy_graph *g, const char *choice)
{
    for (size_t i = 0; i < g->input_count; i++)
        if (fits(choice, g->inputs[i]->name)) return true;
    for (size_t i = 0; i < g->output_count; i++)
        if (fits(choice, g->outputs[i]->name)) return true;
    return false;
}

static void tell_format(const pgy_format_choice *c)
{
    str names = {0};
    for (size_t i = 0; i < c->formats.count; i++) {
        if (str_equal_nocase(c->formats.items[i], "LINEAR")) {
            str_deinit(&names);
            return;
        }
        str_printf(&names, "%s%s", i ? ", " : "", c->formats.items[i]);
    }
    LOG(WARNING,
        "config.tensor_formats: '%s' stays LINEAR and does not become %s: the engine uses other "
        "formats inside only",
        c->name, str_text(&names));
    str_deinit(&names);
}

pgy_status precision_interface(pgy_graph *g, const pgy_build_config *config, pgy_error *err)
{
    for (size_t i = 0; i < config->tensor_type_count; i++)
        if (!has_tensor(g, config->tensor_types[i].name))
            LOG(WARNING, "config.tensor_types: the model has no input or output '%s'",
                config->tensor_types[i].name);
    for (size_t i = 0; i < config->tensor_format_count; i++) {
        if (has_tensor(g, config->tensor_formats[i].name))
            tell_format(&config->tensor_formats[i]);
        else
            LOG(WARNING, "config.tensor_formats: the model has no input or output '%s'",
                config->tensor_formats[i].name);
    }
    if (!config->tensor_type_count) return PGY_OK;
    pgy_status st = set_types(g, config, err);
    if (!st) st = pgy_graph_sort(g, err);
    return st ? st : pgy_graph_infer_shapes(g, NULL, err);
}
