/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of a network, which may be redeclared later, its outputs, and tensors marked for
 * debugging. */
#include <string.h>

#include "base/alloc.h"
#include "engine/network/network.h"

/* ---- Inputs --------------------------------------------------------------------------------- */

/* Copies an array of values into the arena, with room for one more. */
static pgy_value **grown(graph_state *s, pgy_value *const *list, size_t count)
{
    pgy_value **more = arena_alloc_array(&s->memory, count + 1, sizeof *more);
    if (more && count) memcpy(more, list, count * sizeof *more);
    return more;
}

pgy_status network_declare_input(pgy_value **out, pgy_graph *g, const char *name,
                                 const op_value *known, pgy_error *err)
{
    graph_level *level = level_of(g);
    pgy_value **declared = grown(level->state, level->declared, level->declared_count);
    pgy_value **inputs = grown(level->state, g->inputs, g->input_count);
    char *copy = arena_strdup(&level->state->memory, name);
    pgy_value *v = copy && declared && inputs ? level_add_value(g, copy) : NULL;
    if (!v) return network_no_memory(err);
    box_of(v)->declared =
        (op_value){.dtype = known->dtype, .rank = known->rank, .dims = known->dims};
    box_of(v)->known = box_of(v)->declared;
    v->is_input = true;
    declared[level->declared_count++] = v;
    inputs[g->input_count++] = v;
    level->declared = declared;
    g->inputs = inputs;
    graph_mark_changed(g);
    *out = v;
    return value_publish(v, err);
}

static pgy_status make_dims(dim **out, pgy_network *net, const char *name, int32_t rank,
                            const int64_t *dims, pgy_error *err)
{
    graph_state *s = state_of(net->level);
    if (rank < 0 || rank > PGY_MAX_RANK || (rank && !dims))
        return pgy_error_set(err, PGY_E_SHAPE, "input '%s' has rank %d; expected 0 to %d", name,
                             rank, PGY_MAX_RANK);
    dim *made = arena_alloc_array(&s->memory, (size_t)rank + 1, sizeof *made);
    if (!made) return network_no_memory(err);
    for (int32_t i = 0; i < rank; i++) {
        if (dims[i] < -1)
            return pgy_error_set(
                err, PGY_E_SHAPE,
                "dimension %d of input '%s' is %lld; expected a size, or -1 for a dynamic one", i,
                name, (long long)dims[i]);
        made[i] = dims[i] < 0 ? dim_unknown(&s->dims, NULL) : dim_const(dims[i]);
    }
    *out = made;
    return PGY_OK;
}

static pgy_status check_name(const pgy_network *net, const char *name, pgy_error *err)
{
    const graph_state *s = state_of(net->level);
    if (!name || !*name) return pgy_error_set(err, PGY_E_ARGUMENT, "a tensor needs a name");
    for (size_t i = 0; i < s->level_count; i++) {
        const pgy_value *v = pgy_graph_find_value(s->levels[i], name);
        if (v && network_is_linked(v))
            return pgy_error_set(err, PGY_E_ARGUMENT, "network '%s' already has a tensor '%s'",
                                 net->root->graph->name, name);
    }
    return PGY_OK;
}

pgy_status pgy_network_add_input(pgy_value **out, pgy_network *net, const char *name,
                                 pgy_dtype dtype, int32_t rank, const int64_t *dims, pgy_error *err)
{
    dim *made;
    if (!out || !net || net->level->parent)
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "inputs can only be added to the network itself, not to a loop or branch");
    pgy_status st = check_name(net, name, err);
    if (!st && pgy_dtype_describe(dtype)->dtype == PGY_DTYPE_NONE)
        st = pgy_error_set(err, PGY_E_TYPE, "input '%s' has no element type", name);
    if (!st) st = make_dims(&made, net, name, rank, dims, err);
    if (st) return st;
    const op_value known = {.dtype = dtype, .rank = rank, .dims = made};
    return network_declare_input(out, net->level, name, &known, err);
}

static pgy_status check_input(const pgy_network *net, const pgy_value *v, pgy_error *err)
{
    if (!net || !v || v->graph != net->level || !v->is_input)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the network has no input '%s'",
                             v ? v->name : "");
    return PGY_OK;
}

/* Changes a declaration and infers everything again; on failure restores the old one. */
static pgy_status redeclare(pgy_network *net, pgy_value *v, op_value declared, pgy_error *err)
{
    const op_value before = box_of(v)->declared;
    box_of(v)->declared = declared;
    const pgy_status st = network_infer(net, err);
    if (st) {
        box_of(v)->declared = before;
        if (network_infer(net, NULL)) return st;
    }
    graph_mark_changed(net->level);
    return st;
}

pgy_status pgy_network_set_type(pgy_network *net, pgy_value *input, pgy_dtype dtype, pgy_error *err)
{
    pgy_status st = check_input(net, input, err);
    if (st) return st;
    op_value declared = box_of(input)->declared;
    declared.dtype = dtype;
    return redeclare(net, input, declared, err);
}

pgy_status pgy_network_set_shape(pgy_network *net, pgy_value *input, int32_t rank,
                                 const int64_t *dims, pgy_error *err)
{
    dim *made;
    pgy_status st = check_input(net, input, err);
    if (!st) st = make_dims(&made, net, input->name, rank, dims, err);
    if (st) return st;
    op_value declared = box_of(input)->declared;
    declared.rank = rank;
    declared.dims = made;
    return redeclare(net, input, declared, err);
}

pgy_status pgy_network_set_dimension_name(pgy_network *net, pgy_value *input, int32_t axis,
                                          const char *name, pgy_error *err)
{
    pgy_status st = check_input(net, input, err);
    if (st) return st;
    if (!name || !*name || axis < 0 || axis >= input->rank || input->dims[axis].value >= 0)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "input '%s': dimension %d cannot be named: the name is empty, or the "
                             "dimension is fixed or does not exist",
                             input->name, axis);
    graph_state *s = state_of(net->level);
    op_value declared = box_of(input)->declared;
    dim *dims = arena_alloc_array(&s->memory, (size_t)input->rank, sizeof *dims);
    if (!dims) return network_no_memory(err);
    memcpy(dims, declared.dims, (size_t)input->rank * sizeof *dims);
    dims[axis] = dim_symbol(&s->dims, name);
    declared.dims = dims;
    return redeclare(net, input, declared, err);
}

/* ---- Outputs and debug tensors -------------------------------------------------------------- */

pgy_status network_add_output(pgy_network *net, pgy_value *v, pgy_error *err)
{
    pgy_graph *level = net->level;
    const size_t count = level->output_count;
    if (level->outputs != net->outputs || count >= net->output_capacity) {
        const size_t wanted = 2 * count + 4;
        pgy_value **outputs = arena_alloc_array(&state_of(level)->memory, wanted, sizeof *outputs);
        if (!outputs) return network_no_memory(err);
        if (count) memcpy(outputs, level->outputs, count * sizeof *outputs);
        level->outputs = net->outputs = outputs;
        net->output_capacity = wanted;
    }
    level->outputs[level->output_count++] = v;
    v->is_output = true;
    graph_mark_changed(level);
    return PGY_OK;
}

static pgy_status check_tensor(const pgy_network *net, const pgy_value *v, pgy_error *err)
{
    if (!net || !v || v->graph != net->level || !network_is_linked(v))
        return pgy_error_set(err, PGY_E_ARGUMENT, "the network has no tensor '%s'",
                             v ? v->name : "");
    return PGY_OK;
}

pgy_status pgy_network_mark_output(pgy_network *net, pgy_value *v, pgy_error *err)
{
    pgy_status st = check_tensor(net, v, err);
    if (st) return st;
    if (net->level->parent)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "tensor '%s' is inside of a loop or branch; make it an output of that "
                             "loop or conditional first",
                             v->name);
    if (v->is_output)
        return pgy_error_set(err, PGY_E_ARGUMENT, "tensor '%s' is already an output", v->name);
    return network_add_output(net, v, err);
}

pgy_status pgy_network_unmark_output(pgy_network *net, pgy_value *v, pgy_error *err)
{
    pgy_status st = check_tensor(net, v, err);
    if (st) return st;
    pgy_graph *g = net->level;
    size_t kept = 0;
    if (!v->is_output || g->parent)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the network has no output '%s'", v->name);
    for (size_t i = 0; i < g->output_count; i++)
        if (g->outputs[i] != v) g->outputs[kept++] = g->outputs[i];
    g->output_count = kept;
    v->is_output = false;
    graph_mark_changed(g);
    return PGY_OK;
}

bool pgy_network_is_debug(const pgy_network *net, const pgy_value *v)
{
    for (size_t i = 0; i < net->root->debug_count; i++)
        if (net->root->debug[i] == v) return true;
    return false;
}

pgy_status pgy_network_mark_debug(pgy_network *net, pgy_value *v, pgy_error *err)
{
    pgy_status st = check_tensor(net, v, err);
    if (st || pgy_network_is_debug(net, v)) return st;
    network_root *root = net->root;
    void *debug = root->debug;
    if (!mem_grow(&debug, &root->debug_capacity, root->debug_count + 1, sizeof *root->debug))
        return network_no_memory(err);
    root->debug = debug;
    const char **names =
        mem_realloc_array(root->debug_names, root->debug_capacity, sizeof *root->debug_names);
    if (!names) return network_no_memory(err);
    root->debug_names = names;
    root->debug[root->debug_count++] = v;
    return PGY_OK;
}

pgy_status pgy_network_unmark_debug(pgy_network *net, pgy_value *v, pgy_error *err)
{
    pgy_status st = check_tensor(net, v, err);
    size_t kept = 0;
    if (st) return st;
    for (size_t i = 0; i < net->root->debug_count; i++)
        if (net->root->debug[i] != v) net->root->debug[kept++] = net->root->debug[i];
    net->root->debug_count = kept;
    return PGY_OK;
}

size_t pgy_network_debug_tensors(pgy_network *net, const char *const **names)
{
    network_root *root = net->root;
    for (size_t i = 0; i < root->debug_count; i++) root->debug_names[i] = root->debug[i]->name;
    *names = root->debug_names;
    return root->debug_count;
}
