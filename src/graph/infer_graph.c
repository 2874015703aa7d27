/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference of subgraphs and function bodies, whose input shapes come from their node, and of
 * whole graphs, whose input shapes the caller may give. */
#include <string.h>

#include "base/log.h"
#include "base/sized.h"
#include "graph/infer.h"

static const char LOG_PATH[] = "backend/onnx/loader.py";

enum { MAX_FOLDED_BYTES = 1 << 20 };

/* ---- Bodies --------------------------------------------------------------------------------- */

/* Merges what an operator knows about an input of its subgraph with the declaration. */
static op_value bound_input(const op_value *given, const op_value *declared)
{
    op_value v = *given;
    if (!v.dtype && !v.sequence && !v.map_key) {
        v.dtype = declared->dtype;
        v.sequence = declared->sequence;
        v.optional = declared->optional;
        v.map_key = declared->map_key;
        v.map_value = declared->map_value;
    }
    if (v.rank < 0 && !v.sequence) {
        v.rank = declared->rank;
        v.dims = declared->dims;
    }
    return v;
}

/* Compares the type of a value that enters a subgraph, or leaves it unchanged, with the type that
 * the subgraph declares. */
static pgy_status compare_types(const infer_run *run, const pgy_graph *g, const char *name,
                                pgy_dtype is, pgy_dtype declared, pgy_error *err)
{
    if (!is || !declared || is == declared || run->calls) return PGY_OK;
    if (run->rules.findings)
        finding_add_value(run->rules.findings, CHECK_DECLARED_TYPE, g, name,
                          "'%s' is %s, but graph '%s' declares %s", name, pgy_dtype_name(is),
                          g->name, pgy_dtype_name(declared));
    else if (run->rules.strict)
        return pgy_error_set(err, PGY_E_TYPE, "'%s' is %s, but graph '%s' declares %s", name,
                             pgy_dtype_name(is), g->name, pgy_dtype_name(declared));
    else if (!run->rules.quiet)
        LOG(WARNING, "'%s' is %s, but graph '%s' declares %s", name, pgy_dtype_name(is), g->name,
            pgy_dtype_name(declared));
    return PGY_OK;
}

/* Compares the types of outputs that no node of the graph writes: weights, inputs, captured values.
 */
static pgy_status compare_outputs(const infer_run *run, const pgy_graph *g, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && g->proto && i < g->output_count && i < g->proto->output_count; i++) {
        pgy_value *v = g->outputs[i];
        const pgy_onnx_value_info *info = g->proto->outputs[i];
        if ((v->producer && v->graph == g) || strcmp(info->name, v->name) != 0 || !info->type ||
            !info->type->tensor_type)
            continue;
        st = compare_types(run, g, v->name, box_of(v)->known.dtype,
                           pgy_dtype_from_onnx(info->type->tensor_type->elem_type), err);
    }
    return st;
}

static pgy_status infer_subgraph(void *graph, const op_value *inputs, size_t input_count,
                                 op_value *outputs, size_t output_count, void *user, pgy_error *err)
{
    infer_run *run = user;
    pgy_graph *g = graph;
    const graph_level *level = g ? level_of(g) : NULL;
    if (!g) return pgy_error_set(err, PGY_E_FORMAT, "a subgraph is missing");
    if (input_count > level->declared_count || output_count > g->output_count)
        return pgy_error_set(
            err, PGY_E_FORMAT,
            "subgraph '%s' has %zu inputs and %zu outputs, but the node needs %zu and %zu", g->name,
            level->declared_count, g->output_count, input_count, output_count);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < input_count; i++) {
        value_box *box = box_of(level->declared[i]);
        st = compare_types(run, g, box->value.name, inputs[i].dtype, box->declared.dtype, err);
        box->known = bound_input(&inputs[i], &box->declared);
    }
    if (!st) st = infer_level(run, g, err);
    if (!st) st = compare_outputs(run, g, err);
    for (size_t i = 0; !st && i < output_count; i++) outputs[i] = box_of(g->outputs[i])->known;
    return st;
}

/* ---- The whole ------------------------------------------------------------------------------ */

static pgy_status replace_input(pgy_value *v, const pgy_tensor_info *info, pgy_error *err)
{
    op_value *known = &box_of(v)->known;
    if (info->dtype) known->dtype = info->dtype;
    return info->rank < 0 ? PGY_OK : value_set_shape(known, state_of(v->graph), info, err);
}

static const char *input_reason(const pgy_value *v)
{
    const op_value *known = &box_of((pgy_value *)v)->known;
    const char *lacks = !known->dtype ? "type" : known->rank < 0 ? "rank" : "size of a dimension";
    return arena_printf(&state_of(v->graph)->memory, "the %s of input '%s' is unknown", lacks,
                        v->name);
}

/* Makes the elements of an input known, so that inference treats it as a constant. */
static pgy_status know_elements(pgy_value *v, pgy_tensor *t, pgy_error *err)
{
    graph_state *s = state_of(v->graph);
    op_value *known = &box_of(v)->known;
    pgy_tensor *stored = NULL;
    const size_t rank = pgy_tensor_rank(t);
    dim *dims = arena_alloc_array(&s->memory, rank, sizeof *dims);
    if (!dims) return graph_no_memory(err);
    for (size_t i = 0; i < rank; i++) dims[i] = dim_const(pgy_tensor_shape(t)[i]);
    pgy_status st = op_to_storage(&stored, t, err);
    if (!st) st = state_keep_tensor(s, stored, err);
    if (st) return st;
    *known = (op_value){
        .dtype = pgy_tensor_dtype(t), .rank = (int32_t)rank, .dims = dims, .data = stored};
    return PGY_OK;
}

static pgy_status start_inputs(pgy_graph *g, const pgy_metadata *given,
                               const pgy_tensor_map *values, pgy_error *err)
{
    const graph_level *level = level_of(g);
    for (size_t i = 0; i < level->declared_count; i++) {
        pgy_value *v = level->declared[i];
        const pgy_tensor_info *info = given ? pgy_metadata_find(given, v->name) : NULL;
        box_of(v)->known = box_of(v)->declared;
        pgy_tensor *elements = values ? pgy_tensor_map_find(values, v->name) : NULL;
        pgy_status st = info ? replace_input(v, info, err) : PGY_OK;
        if (!st && elements) st = know_elements(v, elements, err);
        if (st) return st;
        v->unknown_why = value_is_known(&box_of(v)->known) ? NULL : input_reason(v);
    }
    return PGY_OK;
}

/* Gives names to unknown sizes of computed values: equal names mean equal sizes. */
static void name_unknowns(pgy_value *v)
{
    const op_value *known = &box_of(v)->known;
    for (int32_t i = 0; v->producer && i < known->rank; i++)
        dim_name_unknowns(&state_of(v->graph)->dims, known->dims[i]);
}

static pgy_status publish(pgy_graph *g, pgy_error *err)
{
    const strmap *values = &level_of(g)->values;
    for (size_t i = 0; i < values->count; i++) {
        pgy_value *v = values->entries[i].value;
        const pgy_dtype before = v->dtype;
        const int32_t rank = v->rank;
        name_unknowns(v);
        const pgy_status st = value_publish(v, err);
        if (st) return st;
        if (!v->initializer && (!v->info || v->dtype != before || v->rank != rank))
            graph_mark_changed(g);
    }
    return PGY_OK;
}

static bool is_part_of(const pgy_graph *g, const pgy_graph *top)
{
    while (g && g != top) g = g->parent;
    return g != NULL;
}

pgy_status graph_infer_node(pgy_node *n, pgy_error *err)
{
    graph_state *s = state_of(n->graph);
    infer_run run = {.state = s};
    run.host = (op_host){.infer_graph = infer_subgraph,
                         .max_bytes = MAX_FOLDED_BYTES,
                         .model_precision = true,
                         .user = &run};
    pgy_status st = infer_node(&run, n, err);
    id_marks_deinit(&run.absent);
    for (size_t i = 0; !st && i < n->output_count; i++) {
        if (!n->outputs[i]) continue;
        name_unknowns(n->outputs[i]);
        st = value_publish(n->outputs[i], err);
    }
    for (size_t i = 0; !st && n->subgraph_count && i < s->level_count; i++)
        if (is_part_of(s->levels[i], n->graph) && s->levels[i] != n->graph)
            st = publish(s->levels[i], err);
    if (!st && s->dims.failed) st = graph_no_memory(err);
    return st;
}

/* Starts with types and dims of the graph's inputs. */
static void start_sizes(pgy_graph *g, const op_value *inputs)
{
    for (size_t i = 0; i < g->input_count; i++) {
        box_of(g->inputs[i])->known = inputs[i];
        g->inputs[i]->unknown_why = NULL;
    }
}

static pgy_status infer_graph(infer_run *run, pgy_graph *g, const pgy_metadata *inputs,
                              const pgy_tensor_map *values, const op_value *sizes, pgy_error *err)
{
    graph_state *s = state_of(g);
    run->state = s;
    run->host = (op_host){.infer_graph = infer_subgraph,
                          .max_bytes = MAX_FOLDED_BYTES,
                          .model_precision = true,
                          .user = run};
    run->rules.quiet = inputs || sizes;
    pgy_status st = start_inputs(g, inputs, values, err);
    if (!st && sizes) start_sizes(g, sizes);
    if (!st) st = infer_level(run, g, err);
    if (!st) st = compare_outputs(run, g, err);
    id_marks_deinit(&run->absent);
    for (size_t i = 0; !st && i < s->level_count; i++)
        if (is_part_of(s->levels[i], g)) st = publish(s->levels[i], err);
    if (!st && s->dims.failed) st = graph_no_memory(err);
    return st;
}

pgy_status pgy_graph_infer_shapes(pgy_graph *g, const pgy_infer_options *options, pgy_error *err)
{
    if (!g) return pgy_error_set(err, PGY_E_ARGUMENT, "'g' must not be NULL");
    pgy_infer_options o = {.size = sizeof o};
    pgy_status st = SIZED_TAKE(pgy_infer_options, &o, options, err);
    if (st) return st;
    infer_run run = {.rules = {.strict = o.strict}};
    st = infer_graph(&run, g, o.inputs, o.values, NULL, err);
    if (!st) LOG(EXTRA_VERBOSE, "Inferred the shapes of %zu nodes", g->node_count);
    return st;
}

pgy_status graph_infer_all(pgy_graph *g, finding_list *findings, pgy_error *err)
{
    infer_run run = {.rules = {.findings = findings}};
    return infer_graph(&run, g, NULL, NULL, NULL, err);
}

pgy_status graph_infer_sizes(pgy_graph *g, const op_value *inputs, pgy_error *err)
{
    infer_run run = {.state = state_of(g)};
    return infer_graph(&run, g, NULL, NULL, inputs, err);
}
