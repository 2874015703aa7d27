/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as calls of graph surgery on a random graph: edges, nodes, tensors, lists, attributes,
 * subgraphs, functions, cleaning, sorting, folding, patterns, iteration. After every call both
 * views of all edges must agree; at the end the graph is copied, written and read again. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <polygraphy/gs_script.h>

#include "harness/gs_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TENSORS = 48, NODES = 48, GRAPHS = 6, CALLS = 300 };

typedef struct state {
    const uint8_t *data;
    size_t size;
    pgy_gs_graph *graphs[GRAPHS];
    size_t graph_count;
    pgy_gs_tensor *tensors[TENSORS];
    size_t tensor_count;
    pgy_gs_node *nodes[NODES];
    size_t node_count;
    size_t named;
} state;

static size_t pick(state *s, size_t below)
{
    if (!s->size || !below) return 0;
    s->size--;
    return *s->data++ % below;
}

static pgy_gs_graph *any_graph(state *s)
{
    return s->graphs[pick(s, s->graph_count)];
}
static pgy_gs_tensor *any_tensor(state *s)
{
    return s->tensors[pick(s, s->tensor_count)];
}
static pgy_gs_node *any_node(state *s)
{
    return s->nodes[pick(s, s->node_count)];
}

static const char *any_name(state *s, char *out, size_t size)
{
    static const char *const COMMON[] = {"", "x", "y", "t1"};
    if (pick(s, 3) == 0) return COMMON[pick(s, 4)];
    snprintf(out, size, "t%zu", s->named++);
    return out;
}

static size_t any_tensors(state *s, pgy_gs_tensor **list, size_t most)
{
    const size_t count = pick(s, most + 1);
    for (size_t i = 0; i < count; i++) list[i] = any_tensor(s);
    return count;
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static pgy_status keep_tensor(state *s, pgy_gs_tensor *t)
{
    s->tensors[s->tensor_count < TENSORS ? s->tensor_count++ : pick(s, TENSORS)] = t;
    return PGY_OK;
}

static pgy_status make_variable(state *s, pgy_error *err)
{
    const pgy_dim dims[] = {{2, NULL}, {-1, "N"}, {-1, NULL}};
    pgy_gs_tensor *t;
    char name[16];
    const pgy_status st = pgy_gs_variable(
        &t, any_graph(s), any_name(s, name, sizeof name), pick(s, 2) ? PGY_F32 : PGY_DTYPE_NONE,
        (int32_t)pick(s, 5) - 1 < 3 ? (int32_t)pick(s, 4) - 1 : -1, dims, err);
    return st ? st : keep_tensor(s, t);
}

static pgy_status make_values(pgy_tensor **out, state *s, pgy_error *err)
{
    const int64_t shape[] = {2};
    pgy_status st = pgy_tensor_create(out, pick(s, 2) ? PGY_F32 : PGY_I64, pick(s, 2), shape, err);
    return st;
}

static pgy_status make_constant(state *s, pgy_error *err)
{
    pgy_tensor *values = NULL;
    pgy_gs_tensor *t;
    char name[16];
    pgy_status st = make_values(&values, s, err);
    if (!st) st = pgy_gs_constant(&t, any_graph(s), any_name(s, name, sizeof name), values, err);
    pgy_tensor_release(values);
    return st ? st : keep_tensor(s, t);
}

static pgy_status make_omitted(state *s, pgy_error *err)
{
    pgy_gs_tensor *t;
    const pgy_status st = pgy_gs_omitted(&t, any_graph(s), err);
    return st ? st : keep_tensor(s, t);
}

static pgy_status make_node(state *s, pgy_error *err)
{
    static const char *const OPS[] = {"Add", "Neg",   "Split", "Identity",
                                      "If",  "Shape", "Cast",  "F"};
    pgy_gs_tensor *inputs[3], *outputs[3];
    pgy_gs_node *n;
    char name[16];
    const pgy_gs_attr attr = pgy_gs_attr_int("axis", (int64_t)pick(s, 4));
    const size_t input_count = any_tensors(s, inputs, 3), output_count = any_tensors(s, outputs, 3);
    const pgy_gs_node_spec spec = {.op = OPS[pick(s, 8)],
                                   .name = any_name(s, name, sizeof name),
                                   .inputs = inputs,
                                   .input_count = input_count,
                                   .outputs = outputs,
                                   .output_count = output_count,
                                   .attrs = &attr,
                                   .attr_count = pick(s, 2)};
    const pgy_status st = pgy_gs_add_node(&n, any_graph(s), &spec, err);
    if (!st) s->nodes[s->node_count < NODES ? s->node_count++ : pick(s, NODES)] = n;
    return st;
}

static pgy_status make_layer(state *s, pgy_error *err)
{
    const pgy_gs_operand inputs[] = {pgy_gs_tensor_operand(any_tensor(s)), pgy_gs_int_operand(3),
                                     pgy_gs_name_operand("new")};
    const pgy_gs_operand outputs[] = {pgy_gs_name_operand("y"),
                                      pgy_gs_tensor_operand(any_tensor(s))};
    const pgy_gs_layer_spec spec = {.op = "Add",
                                    .inputs = inputs,
                                    .input_count = pick(s, 4),
                                    .outputs = outputs,
                                    .output_count = pick(s, 3)};
    pgy_gs_node *n;
    const pgy_status st = pgy_gs_layer(&n, any_graph(s), &spec, err);
    if (!st) s->nodes[s->node_count < NODES ? s->node_count++ : pick(s, NODES)] = n;
    return st;
}

static pgy_status make_subgraph(state *s, pgy_error *err)
{
    pgy_gs_node *n = any_node(s);
    pgy_gs_graph *made;
    if (!n->graph || s->graph_count == GRAPHS) return PGY_OK;
    pgy_status st = pgy_gs_subgraph(&made, n->graph, "inner", err);
    const pgy_gs_attr attr = pgy_gs_attr_graph(pick(s, 2) ? "then_branch" : "else_branch", made);
    if (!st) st = pgy_gs_set_attr(n, &attr, err);
    if (!st) s->graphs[s->graph_count++] = made;
    return st;
}

static pgy_status set_slot(state *s, pgy_error *err)
{
    pgy_gs_node *n = any_node(s);
    pgy_gs_tensor *t = any_tensor(s);
    const size_t i = pick(s, 4);
    switch (pick(s, 6)) {
    case 0: return pgy_gs_set_input(n, i, t, err);
    case 1: return pgy_gs_set_output(n, i, t, err);
    case 2: return pgy_gs_insert_input(n, i, t, err);
    case 3: return pgy_gs_insert_output(n, i, t, err);
    case 4: return pgy_gs_remove_input(n, i, err);
    default: return pgy_gs_remove_output(n, i, err);
    }
}

static pgy_status set_slots(state *s, pgy_error *err)
{
    pgy_gs_node *n = any_node(s), *other = any_node(s);
    pgy_gs_tensor *list[4];
    const size_t count = any_tensors(s, list, 4);
    switch (pick(s, 4)) {
    case 0: return pgy_gs_set_inputs(n, list, count, err);
    case 1: return pgy_gs_set_outputs(n, list, count, err);
    case 2: return pgy_gs_set_inputs(n, other->outputs, other->output_count, err);
    default: return pgy_gs_set_outputs(n, other->outputs, other->output_count, err);
    }
}

static pgy_status change_tensor(state *s, pgy_error *err)
{
    pgy_gs_tensor *t = any_tensor(s);
    const pgy_dim dims[] = {{3, NULL}};
    pgy_tensor *values = NULL;
    char name[16];
    pgy_status st = PGY_OK;
    switch (pick(s, 6)) {
    case 0: return pgy_gs_rename(t, any_name(s, name, sizeof name), err);
    case 1: return pgy_gs_set_type(t, PGY_I64, (int32_t)pick(s, 2), dims, err);
    case 2: return pgy_gs_to_variable(t, PGY_DTYPE_NONE, -1, NULL, err);
    case 3: pgy_gs_clear_consumers(t); return PGY_OK;
    case 4: pgy_gs_clear_producers(t); return PGY_OK;
    default:
        st = make_values(&values, s, err);
        if (!st) st = pgy_gs_to_constant(t, values, err);
        pgy_tensor_release(values);
        return st;
    }
}

static pgy_status change_node(state *s, pgy_error *err)
{
    pgy_gs_node *n = any_node(s);
    pgy_gs_graph *g = any_graph(s);
    const pgy_gs_attr attr = pgy_gs_attr_text("mode", "linear");
    char name[16];
    switch (pick(s, 8)) {
    case 0: return pgy_gs_set_op(n, "Sub", err);
    case 1: return pgy_gs_set_node_name(n, any_name(s, name, sizeof name), err);
    case 2: return pgy_gs_set_attr(n, &attr, err);
    case 3: pgy_gs_remove_attr(n, "axis"); return PGY_OK;
    case 4: pgy_gs_unlist_node(n); return PGY_OK;
    case 5: pgy_gs_remove_node(n); return PGY_OK;
    case 6: pgy_gs_remove_attr(n, "then_branch"); return PGY_OK;
    default: return pgy_gs_place_node(n, g, pick(s, g->node_count + 1), err);
    }
}

static pgy_status change_graph(state *s, pgy_error *err)
{
    pgy_gs_graph *g = any_graph(s);
    pgy_gs_tensor *list[3];
    const size_t count = any_tensors(s, list, 3);
    switch (pick(s, 5)) {
    case 0: return pgy_gs_set_graph_inputs(g, list, count, err);
    case 1: return pgy_gs_set_graph_outputs(g, list, count, err);
    case 2: return pgy_gs_replace_uses(any_tensor(s), any_tensor(s), err);
    case 3: return pgy_gs_set_opset(g, (int64_t)pick(s, 20) + 1, err);
    default: return pgy_gs_forget_shapes(g, any_tensor(s), pick(s, 2), err);
    }
}

static pgy_status run_algorithm(state *s, pgy_error *err)
{
    pgy_gs_graph *g = any_graph(s);
    pgy_gs_fold_options fold = pgy_gs_fold_options_default();
    const pgy_gs_cleanup_options clean = {.size = sizeof clean,
                                          .remove_unused_node_outputs = pick(s, 2),
                                          .remove_unused_graph_inputs = pick(s, 2),
                                          .keep_subgraphs = pick(s, 2)};
    const pgy_gs_sort_options sort = {.size = sizeof sort, .stable = pick(s, 2)};
    fold.partitioning = (pgy_gs_partitioning)pick(s, 3);
    switch (pick(s, 4)) {
    case 0: return pgy_gs_cleanup(g, &clean, err);
    case 1: return pgy_gs_toposort(g, &sort, err);
    case 2: return pgy_gs_fold_constants(g, &fold, err);
    default: return pgy_gs_infer_shapes(s->graphs[0], err);
    }
}

static pgy_status replace_region(state *s, pgy_error *err)
{
    pgy_gs_tensor *inputs[2], *outputs[2];
    pgy_gs_node *n;
    const size_t input_count = any_tensors(s, inputs, 2), output_count = any_tensors(s, outputs, 2);
    const pgy_gs_node_spec spec = {.op = "R",
                                   .inputs = inputs,
                                   .input_count = input_count,
                                   .outputs = outputs,
                                   .output_count = output_count};
    return pgy_gs_replace_region(&n, any_graph(s), &spec, err);
}

/* A node of any operator behind an Add, or twice the same tensor. */
static pgy_status match(state *s, pgy_error *err)
{
    pgy_gs_pattern *p = NULL;
    pgy_gs_match *matches = NULL;
    pgy_gs_slot x = 0, sum = 0, y = 0;
    size_t count = 0;
    const bool twice = pick(s, 2);
    pgy_status st = pgy_gs_pattern_create(&p, err);
    if (!st) st = pgy_gs_pattern_variable(&x, p, err);
    const pgy_gs_slot first[] = {x, x};
    const pgy_gs_pattern_node add = {
        .name = "a", .op = "Add", .inputs = first, .input_count = twice ? 2 : 1};
    if (!st) st = pgy_gs_pattern_add(&sum, 1, p, &add, err);
    const pgy_gs_pattern_node neg = {.name = "n", .op = "Neg", .inputs = &sum, .input_count = 1};
    if (!st) st = pgy_gs_pattern_add(&y, 1, p, &neg, err);
    if (!st) st = pgy_gs_pattern_outputs(p, &y, 1, err);
    if (!st) st = pgy_gs_match_all(&matches, &count, p, any_graph(s), err);
    for (size_t i = 0; i < count; i++)
        if (!pgy_gs_match_node(&matches[i], "a") || !pgy_gs_match_node(&matches[i], "n")) abort();
    pgy_gs_matches_free(matches, count);
    pgy_gs_pattern_destroy(p);
    return st;
}

/* Nodes come and go while the list is walked over. */
static pgy_status iterate(state *s, pgy_error *err)
{
    pgy_gs_graph *g = any_graph(s);
    pgy_gs_iter it = {0};
    pgy_gs_node *n;
    pgy_status st;
    size_t steps = 0;
    const size_t most = g->node_count;
    while (!(st = pgy_gs_next(&n, &it, g, err)) && n) {
        if (n->graph != g || steps++ > most) abort();
        if (pick(s, 4) == 0) pgy_gs_remove_node(any_node(s));
        if (pick(s, 4) == 0 && make_node(s, err)) break;
    }
    pgy_gs_iter_end(&it);
    return PGY_OK;
}

/* A function of one node, called; calls may end up in circles of functions. */
static pgy_status call_function(state *s, pgy_error *err)
{
    pgy_gs_graph *f = pgy_gs_find_function(s->graphs[0], "d", "F", "");
    pgy_gs_tensor *in, *out;
    pgy_gs_node *n;
    bool done;
    pgy_status st = PGY_OK;
    if (f && pick(s, 2)) return pgy_gs_inline_functions(s->graphs[0], err);
    if (f) return pgy_gs_inline_call(&done, any_node(s), err);
    st = pgy_gs_function(&f, s->graphs[0], "F", "d", err);
    if (!st) st = pgy_gs_variable(&in, f, "x", PGY_DTYPE_NONE, -1, NULL, err);
    if (!st) st = pgy_gs_variable(&out, f, "t1", PGY_DTYPE_NONE, -1, NULL, err);
    if (st) return st;
    const pgy_gs_node_spec spec = {.op = pick(s, 8) ? "Neg" : "F",
                                   .domain = "d",
                                   .inputs = &in,
                                   .input_count = 1,
                                   .outputs = &out,
                                   .output_count = 1};
    st = pgy_gs_add_node(&n, f, &spec, err);
    if (!st) st = pgy_gs_set_graph_inputs(f, &in, 1, err);
    if (!st) st = pgy_gs_set_graph_outputs(f, &out, 1, err);
    if (!st) st = pgy_gs_set_domain(any_node(s), "d", err);
    return st ? st : pgy_gs_set_op(any_node(s), "F", err);
}

/* ---- The end -------------------------------------------------------------------------------- */

static void check(const pgy_gs_graph *g, const char *what)
{
    const char *problem = gs_check(g);
    if (!problem) return;
    fprintf(stderr, "%s: %s\n", what, problem);
    abort();
}

static void round_trip(pgy_gs_graph *g)
{
    const pgy_gs_export_options options = {.size = sizeof options, .no_type_check = true};
    pgy_model *model = NULL, *again = NULL;
    pgy_gs_graph *copy = NULL, *read = NULL;
    pgy_error err = {0};
    void *bytes = NULL;
    size_t size;
    if (pgy_gs_copy(&copy, g, &err)) abort();
    check(copy, "copying");
    if (!pgy_gs_export(&model, copy, &options, &err)) {
        if (pgy_model_serialize(&bytes, &size, model, &err)) abort();
        if (pgy_model_parse(&again, bytes, size, true, NULL, &err)) abort();
        if (pgy_gs_import(&read, again, &err)) abort();
        check(read, "reading again");
        if (read->node_count != g->node_count) abort();
    }
    pgy_gs_destroy(read);
    pgy_model_destroy(again);
    pgy_text_free(bytes);
    pgy_model_destroy(model);
    pgy_gs_destroy(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static pgy_status (*const CALL[])(state *, pgy_error *) = {
        make_variable,  make_constant, make_omitted,  make_node,     make_layer,   make_subgraph,
        set_slot,       set_slots,     change_tensor, change_node,   change_graph, run_algorithm,
        replace_region, match,         iterate,       call_function, make_node,    set_slot};
    state s = {.data = data, .size = size};
    pgy_error err = {0};
    pgy_set_max_memory(64u << 20);
    if (pgy_gs_create(&s.graphs[0], &err)) abort();
    s.graph_count = 1;
    if (make_variable(&s, &err) || make_constant(&s, &err)) abort();
    while (s.node_count == 0)
        if (make_node(&s, &err)) abort();
    for (size_t i = 0; s.size && i < CALLS; i++) {
        const size_t call = pick(&s, sizeof CALL / sizeof *CALL);
        const pgy_status st = CALL[call](&s, &err);
        if (st && !err.text[0]) abort(); /* a failure has a reason */
        char what[32];
        snprintf(what, sizeof what, "call %zu of kind %zu", i, call);
        check(s.graphs[0], what);
    }
    round_trip(s.graphs[0]);
    pgy_gs_destroy(s.graphs[0]);
    return 0;
}
