/* SPDX-License-Identifier: Apache-2.0 */
/* Counts parameters and floating-point operations per operator. Tied weights count for the first
 * node that reads them. Operations can be counted only if all dimensions are numbers: one node with
 * a symbolic dimension makes the operator's sum unknown. */
#include <string.h>

#include "graph/graph.h"
#include "graph/side_table.h"

typedef struct summary {
    graph_state *state;
    pgy_op_summary *rows;
    size_t count, capacity;
    strmap places;    /* "domain:op_type" -> index in `rows`, plus 1 */
    id_marks counted; /* weights counted so far, by value id */
} summary;

static pgy_op_summary *row_of(summary *s, const pgy_node *n)
{
    str key = {0};
    str_printf(&key, "%s:%s", domain_is_default(n->domain) ? "" : n->domain, n->op_type);
    size_t at = (size_t)(uintptr_t)strmap_get(&s->places, str_text(&key));
    if (!at && s->count == s->capacity) {
        const size_t wanted = s->capacity ? 2 * s->capacity : 16;
        pgy_op_summary *rows = arena_alloc_array(&s->state->memory, wanted, sizeof *rows);
        if (rows && s->count) memcpy(rows, s->rows, s->count * sizeof *rows);
        if (rows) s->capacity = wanted;
        if (rows) s->rows = rows;
    }
    if (!at && s->count < s->capacity &&
        strmap_put(&s->places, str_text(&key), (void *)(uintptr_t)(s->count + 1))) {
        s->rows[s->count] = (pgy_op_summary){.op_type = n->op_type, .domain = n->domain};
        at = ++s->count;
    }
    const bool failed = key.failed || !at;
    str_deinit(&key);
    return failed ? NULL : &s->rows[at - 1];
}

static pgy_status add_parameters(summary *s, pgy_op_summary *row, const pgy_value *v,
                                 pgy_error *err)
{
    if (!v || (!v->initializer && !v->sparse) || id_marks_get(&s->counted, value_id(v)))
        return PGY_OK;
    if (!id_marks_set(&s->counted, value_id(v))) return graph_no_memory(err);
    uint64_t count = 1;
    if (v->sparse && v->sparse->values)
        count = v->sparse->values->dim_count ? (uint64_t)v->sparse->values->dims[0] : 1;
    for (int32_t i = 0; v->initializer && i < v->rank; i++) count *= (uint64_t)v->dims[i].value;
    const unsigned bits = v->dtype == PGY_STRING ? 0 : pgy_dtype_describe(v->dtype)->bits;
    row->parameter_count += count;
    row->parameter_bytes += count / 8 * bits + (count % 8 * bits + 7) / 8;
    return PGY_OK;
}

static bool is_static(const op_value *v)
{
    if (v->rank < 0) return false;
    for (int32_t i = 0; i < v->rank; i++)
        if (!dim_is_const(v->dims[i])) return false;
    return true;
}

static double element_count(const op_value *v)
{
    double count = 1;
    for (int32_t i = 0; i < v->rank; i++) count *= (double)v->dims[i].value;
    return count;
}

static pgy_status count_flops(double *out, pgy_node *n, arena *memory, pgy_error *err)
{
    const node_box *box = node_box_of(n);
    op_value *in = arena_alloc_array(memory, n->input_count, sizeof *in);
    op_value *result = arena_alloc_array(memory, n->output_count, sizeof *result);
    bool *present = arena_alloc_array(memory, n->input_count, sizeof *present);
    bool *wanted = arena_alloc_array(memory, n->output_count, sizeof *wanted);
    if (!in || !result || !present || !wanted) return graph_no_memory(err);
    bool known = true;
    for (size_t i = 0; i < n->input_count; i++) {
        present[i] = n->inputs[i] != NULL;
        in[i] = present[i] ? box_of(n->inputs[i])->known : (op_value){.rank = -1};
        if (present[i] && !is_static(&in[i])) known = false;
    }
    double elements = 0;
    for (size_t i = 0; i < n->output_count; i++) {
        wanted[i] = n->outputs[i] != NULL;
        result[i] = wanted[i] ? box_of(n->outputs[i])->known : (op_value){.rank = -1};
        if (wanted[i] && !is_static(&result[i])) known = false;
        if (wanted[i] && known) elements += element_count(&result[i]);
    }
    const op_node node = node_op(n);
    const op_infer c = {.node = &node,
                        .inputs = in,
                        .present = present,
                        .outputs = result,
                        .wanted = wanted,
                        .dims = &state_of(n->graph)->dims,
                        .memory = memory};
    *out = !known ? -1 : box->def->flops ? box->def->flops(&c) : elements;
    return PGY_OK;
}

pgy_status graph_node_flops(double *out, pgy_node *n, pgy_error *err)
{
    arena memory = {0};
    *out = 0;
    pgy_status st = node_prepare(n, err);
    const node_box *box = node_box_of(n);
    if (!st && !node_is(n, "Constant") && n->subgraph_count == 0) {
        if (box->def && !box->has_refs &&
            op_check_node(&(op_node){.def = box->def,
                                     .name = node_label(n),
                                     .attrs = box->attrs,
                                     .attr_count = box->attr_count,
                                     .input_count = n->input_count,
                                     .output_count = n->output_count},
                          NULL) == PGY_OK)
            st = count_flops(out, n, &memory, err);
        else
            *out = -1;
    }
    arena_deinit(&memory);
    return st;
}

static pgy_status add_node(summary *s, pgy_node *n, pgy_error *err)
{
    double flops = 0;
    pgy_op_summary *row = row_of(s, n);
    if (!row) return graph_no_memory(err);
    pgy_status st = graph_node_flops(&flops, n, err);
    if (st) return st;
    row->node_count++;
    row->flops = flops < 0 || row->flops < 0 ? -1 : row->flops + flops;
    for (size_t i = 0; !st && i < n->input_count; i++)
        st = add_parameters(s, row, n->inputs[i], err);
    return st;
}

static pgy_status add_level(summary *s, pgy_graph *g, pgy_error *err)
{
    for (size_t i = 0; i < g->node_count; i++) {
        pgy_status st = add_node(s, g->nodes[i], err);
        for (size_t k = 0; !st && k < g->nodes[i]->subgraph_count; k++)
            st = add_level(s, g->nodes[i]->subgraphs[k], err);
        if (st) return st;
    }
    return PGY_OK;
}

pgy_status pgy_graph_summarize(const pgy_op_summary **out, size_t *count, pgy_graph *g,
                               const pgy_metadata *inputs, pgy_error *err)
{
    if (!out || !count || !g)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out', 'count' and 'g' must not be NULL");
    summary s = {.state = state_of(g)};
    const pgy_infer_options options = {.size = sizeof options, .inputs = inputs};
    pgy_status st = pgy_graph_infer_shapes(g, &options, err);
    if (st) return st;
    st = add_level(&s, g, err);
    strmap_deinit(&s.places);
    id_marks_deinit(&s.counted);
    if (st) return st;
    *out = s.rows;
    *count = s.count;
    return PGY_OK;
}
