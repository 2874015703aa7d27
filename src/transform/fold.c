/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of folding: each round infers shapes and runs the passes of a table over all levels,
 * until a round changes nothing. */
#include <string.h>

#include "base/alloc.h"
#include "base/sized.h"
#include "transform/fold.h"

enum { MAX_ROUNDS = 64 };

static const fold_pass PASSES[] = {
    {"constants", fold_constants, false},   /* Constant nodes become weights */
    {"values", fold_values, false},         /* nodes with constant inputs are computed */
    {"branches", fold_branches, false},     /* If with a constant condition */
    {"identities", fold_identities, false}, /* nodes that change nothing */
    {"shapes", fold_shapes, false},         /* Reshapes with computed shapes */
    {"chains", fold_chains, false},         /* Transpose of Transpose, Reshape of Reshape... */
    {"neighbours", fold_neighbours, false}, /* Add behind MatMul, Pad before Conv */
    {"channels", fold_channels, false},     /* Mul, Add... behind a Conv go into its weights */
    {"states", fold_states, false},         /* zero initial states of RNNs are omitted */
    {"rows", fold_flat, false},             /* Reshapes around elementwise nodes are removed */
    {"weights", fold_weights, false},       /* merging of equal weights */
    {"common", fold_common, false},         /* of equal nodes one is left */
    {"dead", fold_dead, true},              /* dead-code elimination */
};

/* Runs only once the other passes change nothing, because they could not recognise their patterns
 * in the joined products. */
static const fold_pass LAST_PASS = {"joined", fold_joined,
                                    false}; /* products that share an input */

pgy_fold_options pgy_fold_options_default(void)
{
    return (pgy_fold_options){.size = sizeof(pgy_fold_options),
                              .max_node_growth = UINT64_MAX,
                              .max_total_growth = UINT64_MAX,
                              .max_result_bytes = UINT64_MAX,
                              .max_copy_bytes = 1 << 20};
}

static size_t count_nodes(const folder *f)
{
    size_t count = 0;
    for (size_t i = 0; i < f->level_count; i++) count += f->levels[i]->node_count;
    return count;
}

/* Counts the bytes of weights, and of Constant nodes that hold a tensor. */
static uint64_t count_bytes(const folder *f)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < f->level_count; i++) {
        const pgy_graph *g = f->levels[i];
        for (size_t k = 0; k < g->initializer_count; k++)
            if (g->initializers[k]->initializer)
                bytes += weight_bytes(g->initializers[k]->initializer);
        for (size_t k = 0; k < g->node_count; k++)
            if (node_constant(g->nodes[k])) bytes += weight_bytes(node_constant(g->nodes[k]));
    }
    return bytes;
}

static pgy_status sort_levels(folder *f, pgy_error *err)
{
    pgy_status st = fold_list_all_levels(f, err);
    for (size_t i = 0; !st && i < f->level_count; i++) {
        if (f->levels[i]->parent) continue;
        st = pgy_graph_sort(f->levels[i], err);
        if (level_of(f->levels[i])->changed) graph_mark_changed(f->graph);
    }
    return st;
}

static pgy_status run_round(folder *f, pgy_error *err)
{
    f->changes = 0;
    pgy_status st =
        f->options.keep_shape_inference ? PGY_OK : pgy_graph_infer_shapes(f->graph, NULL, err);
    for (size_t i = 0; !st && i < sizeof PASSES / sizeof *PASSES; i++)
        st = fold_run_pass(f, &PASSES[i], err);
    return st ? st : sort_levels(f, err);
}

static void tell(const folder *f, size_t pass, size_t before, size_t after)
{
    if (f->options.progress) f->options.progress(pass, before, after, f->options.user);
}

/* Declares the names that inference gave to unknown sizes of v; equal names mean equal sizes. */
static pgy_status name_sizes(pgy_value *v, bool *any, pgy_error *err)
{
    value_box *box = box_of(v);
    const op_value *known = &box->known;
    graph_state *s = state_of(v->graph);
    bool unknown = false;
    if (!v->producer || v->kind != PGY_VALUE_TENSOR || known->rank != v->rank) return PGY_OK;
    for (int32_t i = 0; i < known->rank; i++)
        unknown |= dim_has_unknown(known->dims[i]) && v->dims[i].text;
    if (!unknown) return PGY_OK;
    dim *dims = arena_alloc_array(&s->memory, (size_t)known->rank, sizeof *dims);
    if (!dims) return graph_no_memory(err);
    for (int32_t i = 0; i < known->rank; i++)
        dims[i] = dim_has_unknown(known->dims[i]) && v->dims[i].text
                      ? dim_symbol(&s->dims, v->dims[i].text)
                      : known->dims[i];
    box->declared.dtype = known->dtype;
    box->declared.rank = known->rank;
    box->declared.dims = dims;
    *any = true;
    return PGY_OK;
}

/* Declares the named sizes of all values, as saving and reading the model would. *any: there was a
 * new one, so inference may now find more. */
static pgy_status name_all_sizes(folder *f, bool *any, pgy_error *err)
{
    pgy_status st = PGY_OK;
    *any = false;
    for (size_t i = 0; !st && i < f->level_count; i++) {
        const strmap *values = &level_of(f->levels[i])->values;
        if (level_of(f->levels[i])->is_function) continue;
        for (size_t k = 0; !st && k < values->count; k++)
            st = name_sizes(values->entries[k].value, any, err);
    }
    return st;
}

static int64_t most_rounds(const folder *f)
{
    return f->options.passes > 0 && f->options.passes < MAX_ROUNDS ? f->options.passes : MAX_ROUNDS;
}

/* `count`: number of nodes before the first round. */
static pgy_status run_rounds(folder *f, size_t count, pgy_fold_report *report, pgy_error *err)
{
    pgy_status st = PGY_OK;
    bool named = false;
    for (int64_t round = (int64_t)report->passes + 1; !st && round <= most_rounds(f); round++) {
        const size_t before = count;
        tell(f, (size_t)round, before, SIZE_MAX);
        st = run_round(f, err);
        if (st) break;
        report->passes = (size_t)round;
        count = count_nodes(f);
        tell(f, (size_t)round, before, count);
        f->changed |= f->changes != 0;
        if (f->changes == 0 && (named || !f->changed || f->options.keep_shape_inference)) break;
        if (f->changes == 0) st = name_all_sizes(f, &named, err);
        if (f->changes == 0 && !named) break;
        if (f->changes) named = false;
    }
    return st;
}

/* Runs more rounds after the last pass, because it leaves weights and shape arithmetic that nothing
 * needs. */
static pgy_status run_all(folder *f, pgy_fold_report *report, pgy_error *err)
{
    pgy_status st = run_rounds(f, count_nodes(f), report, err);
    const size_t before = count_nodes(f);
    if (st || f->changes || (int64_t)report->passes >= most_rounds(f)) return st;
    st = fold_run_pass(f, &LAST_PASS, err);
    if (st || !f->changes) return st;
    f->changed = true;
    st = sort_levels(f, err);
    return st ? st : run_rounds(f, before, report, err);
}

/* Collects, in node order, why each remaining node was not folded. */
static size_t gather_notes(pgy_transform_note *notes, const folder *f)
{
    size_t count = 0;
    for (size_t i = 0; i < f->level_count; i++) {
        for (size_t k = 0; k < f->levels[i]->node_count; k++) {
            const pgy_node *n = f->levels[i]->nodes[k];
            const char *reason = fold_refusal(f, n);
            if (reason && notes)
                notes[count] = (pgy_transform_note){node_label(n), n->op_type, reason};
            count += reason != NULL;
        }
    }
    return count;
}

static pgy_status list_notes(pgy_fold_report *report, const folder *f, pgy_error *err)
{
    const size_t count = gather_notes(NULL, f);
    pgy_transform_note *notes = arena_alloc_array(&f->state->memory, count, sizeof *notes);
    if (!notes) return graph_no_memory(err);
    report->refused = notes;
    report->refused_count = gather_notes(notes, f);
    return PGY_OK;
}

pgy_status pgy_graph_fold_constants(pgy_graph *g, const pgy_fold_options *options,
                                    pgy_fold_report *report, pgy_error *err)
{
    if (!g || g->parent)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'g' must be a whole graph, not a subgraph or NULL");
    fold_findings found = {0};
    folder f = {.graph = g,
                .state = state_of(g),
                .found = &found,
                .weak_names = pgy_model_proto(g->model)->ir_version < 4,
                .options = pgy_fold_options_default()};
    pgy_fold_report result = {0};
    pgy_status st = SIZED_TAKE(pgy_fold_options, &f.options, options, err);
    if (st) return st;
    st = fold_list_all_levels(&f, err);
    if (!st) {
        result.nodes_before = count_nodes(&f);
        result.weight_bytes_before = count_bytes(&f);
        st = run_all(&f, &result, err);
    }
    if (!st && f.changed) {
        st = fold_unused(&f, err);
        if (!st) st = fold_list_all_levels(&f, err);
    }
    if (!st) st = fold_declare_weights(&f, err);
    if (!st) {
        result.nodes_after = count_nodes(&f);
        result.weight_bytes_after = count_bytes(&f);
        st = list_notes(&result, &f, err);
    }
    if (!st && report) *report = result;
    fold_reasons_deinit(&found.refused);
    fold_answers_deinit(&found.foldable);
    arena_deinit(&f.memory);
    mem_free(f.levels);
    return st;
}
