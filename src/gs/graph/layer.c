/* SPDX-License-Identifier: Apache-2.0 */
/* Layers: one call makes a node with its constants and outputs. Names are numbered by one counter
 * per graph, which advances with every tried name and is never reset, so a sequence of calls gives
 * the same names as onnx-graphsurgeon. */
#include <string.h>

#include "base/alloc.h"
#include "graph/names.h"
#include "gs/graph/document.h"

static const char CONSTANT_PREFIX[] = "onnx_graphsurgeon_constant";
static const char LIST_PREFIX[] = "onnx_graphsurgeon_lst_constant";
static const char NODE_PREFIX[] = "onnx_graphsurgeon_node";

/* ---- Operands -------------------------------------------------------------------------------- */

pgy_gs_operand pgy_gs_tensor_operand(pgy_gs_tensor *t)
{
    return (pgy_gs_operand){.kind = PGY_GS_TENSOR, .value.tensor = t};
}

pgy_gs_operand pgy_gs_name_operand(const char *text)
{
    return (pgy_gs_operand){.kind = PGY_GS_NAME, .value.text = text};
}

pgy_gs_operand pgy_gs_array_operand(pgy_tensor *values)
{
    return (pgy_gs_operand){.kind = PGY_GS_ARRAY, .value.array = values};
}

pgy_gs_operand pgy_gs_ints_operand(const int64_t *values, size_t count)
{
    return (pgy_gs_operand){.kind = PGY_GS_INTS, .value.ints = values, .count = count};
}

pgy_gs_operand pgy_gs_floats_operand(const float *values, size_t count)
{
    return (pgy_gs_operand){.kind = PGY_GS_FLOATS, .value.floats = values, .count = count};
}

pgy_gs_operand pgy_gs_int_operand(int64_t value)
{
    return (pgy_gs_operand){.kind = PGY_GS_INT, .value.i = value};
}

pgy_gs_operand pgy_gs_float_operand(float value)
{
    return (pgy_gs_operand){.kind = PGY_GS_FLOAT, .value.f = value};
}

pgy_gs_operand pgy_gs_omitted_operand(void)
{
    return (pgy_gs_operand){.kind = PGY_GS_OMITTED};
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* One call of pgy_gs_layer, with the tensors made or given so far; the graph does not list them
 * yet. */
typedef struct call {
    pgy_gs_graph *g;
    pgy_gs_tensor **tensors;
    size_t count;
    pgy_error *err;
} call;

static bool is_tensor_name(const char *name, const void *user)
{
    const call *c = user;
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->tensors[i]->name, name) == 0) return true;
    return pgy_gs_find_tensor(c->g, name);
}

static bool is_node_name(const char *name, const void *user)
{
    const call *c = user;
    return pgy_gs_find_node(c->g, name);
}

/* Makes "<prefix>_<n>" with the next n for which the name is free. */
static pgy_status next_name(str *out, const call *c, const char *prefix, name_is_taken taken)
{
    str_clear(out);
    str_append(out, prefix);
    name_number(out, &graph_box(c->g)->name_count, taken, c);
    return out->failed ? gs_no_memory(c->err) : PGY_OK;
}

/* ---- Creating the operands' tensors ---------------------------------------------------------- */

static pgy_status make_list(pgy_tensor **out, const pgy_gs_operand *o, pgy_error *err)
{
    const bool list = o->kind == PGY_GS_INTS || o->kind == PGY_GS_FLOATS;
    const bool ints = o->kind == PGY_GS_INTS || o->kind == PGY_GS_INT;
    const int64_t shape[] = {list ? (int64_t)o->count : 1};
    const void *from = &o->value;
    pgy_tensor *t = NULL;
    if (list) from = ints ? (const void *)o->value.ints : (const void *)o->value.floats;
    if (!from && o->count)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "the array of a list of numbers must not be NULL");
    const pgy_status st = pgy_tensor_create(&t, ints ? PGY_I64 : PGY_F32, list, shape, err);
    if (st) return st;
    if (pgy_tensor_size_bytes(t)) memcpy(pgy_tensor_data(t), from, pgy_tensor_size_bytes(t));
    *out = t;
    return PGY_OK;
}

static pgy_status make_constant(pgy_gs_tensor **out, const call *c, const char *prefix,
                                pgy_tensor *values)
{
    str name = {0};
    pgy_status st = next_name(&name, c, prefix, is_tensor_name);
    if (!st) st = pgy_gs_constant(out, c->g, str_text(&name), values, c->err);
    str_deinit(&name);
    return st;
}

static pgy_status make_list_constant(pgy_gs_tensor **out, const call *c, const pgy_gs_operand *o)
{
    pgy_tensor *values = NULL;
    pgy_status st = make_list(&values, o, c->err);
    if (!st) st = make_constant(out, c, LIST_PREFIX, values);
    pgy_tensor_release(values);
    return st;
}

static pgy_status make_variable(pgy_gs_tensor **out, const call *c, const char *text)
{
    str name = {0};
    if (!text || !*text) return pgy_error_set(c->err, PGY_E_ARGUMENT, "a tensor needs a name");
    pgy_status st = next_name(&name, c, text, is_tensor_name);
    if (!st) st = pgy_gs_variable(out, c->g, str_text(&name), PGY_DTYPE_NONE, -1, NULL, c->err);
    str_deinit(&name);
    return st;
}

static pgy_status resolve(pgy_gs_tensor **out, const call *c, const pgy_gs_operand *o)
{
    switch (o->kind) {
    case PGY_GS_TENSOR:
        *out = o->value.tensor;
        return *out ? PGY_OK
                    : pgy_error_set(c->err, PGY_E_ARGUMENT,
                                    "the tensor of an operand must not be NULL");
    case PGY_GS_NAME: return make_variable(out, c, o->value.text);
    case PGY_GS_ARRAY:
        if (!o->value.array)
            return pgy_error_set(c->err, PGY_E_ARGUMENT,
                                 "the array of an operand must not be NULL");
        return make_constant(out, c, CONSTANT_PREFIX, o->value.array);
    case PGY_GS_OMITTED: return pgy_gs_omitted(out, c->g, c->err);
    case PGY_GS_INTS:
    case PGY_GS_FLOATS:
    case PGY_GS_INT:
    case PGY_GS_FLOAT: return make_list_constant(out, c, o);
    }
    return pgy_error_set(c->err, PGY_E_ARGUMENT, "%d is not a kind of operand", (int)o->kind);
}

static pgy_status resolve_all(call *c, const pgy_gs_operand *operands, size_t count)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < count && !st; i++) {
        st = resolve(&c->tensors[c->count], c, &operands[i]);
        if (!st) c->count++;
    }
    return st;
}

static pgy_status check_outputs(const pgy_gs_layer_spec *spec, pgy_error *err)
{
    for (size_t i = 0; i < spec->output_count; i++) {
        const pgy_gs_operand_kind kind = spec->outputs[i].kind;
        if (kind != PGY_GS_TENSOR && kind != PGY_GS_NAME && kind != PGY_GS_OMITTED)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "output %zu of layer '%.100s' must be a tensor or a name", i,
                                 spec->op);
    }
    return PGY_OK;
}

static pgy_status add_layer_node(pgy_gs_node **out, const call *c, const pgy_gs_layer_spec *spec)
{
    str name = {0};
    pgy_status st = spec->name ? PGY_OK : next_name(&name, c, NODE_PREFIX, is_node_name);
    const pgy_gs_node_spec node = {
        .op = spec->op,
        .name = spec->name ? spec->name : str_text(&name),
        .domain = spec->domain,
        .inputs = c->tensors,
        .input_count = spec->input_count,
        .outputs = c->tensors + spec->input_count,
        .output_count = spec->output_count,
        .attrs = spec->attrs,
        .attr_count = spec->attr_count,
    };
    if (!st) st = pgy_gs_add_node(out, c->g, &node, c->err);
    str_deinit(&name);
    return st;
}

pgy_status pgy_gs_layer(pgy_gs_node **out, pgy_gs_graph *g, const pgy_gs_layer_spec *spec,
                        pgy_error *err)
{
    call c = {.g = g, .err = err};
    pgy_gs_node *n = NULL;
    if (!g || !spec || !spec->op)
        return pgy_error_set(err, PGY_E_ARGUMENT, "a layer needs a graph and an operator");
    if ((spec->input_count && !spec->inputs) || (spec->output_count && !spec->outputs) ||
        (spec->attr_count && !spec->attrs))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "layer '%.200s': a list is NULL, but its count is not 0", spec->op);
    pgy_status st = check_outputs(spec, err);
    if (st) return st;
    c.tensors = mem_calloc(spec->input_count + spec->output_count + 1, sizeof(*c.tensors));
    if (!c.tensors) return gs_no_memory(err);
    st = resolve_all(&c, spec->inputs, spec->input_count);
    if (!st) st = resolve_all(&c, spec->outputs, spec->output_count);
    if (!st) st = add_layer_node(&n, &c, spec);
    mem_free(c.tensors);
    if (!st && out) *out = n;
    return st;
}
