/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces an If with a constant condition by the nodes of the taken branch. They move to the place
 * of the If; inner values of the branch get free names there, and the outputs of the branch become
 * those of the If. */
#include <string.h>

#include "transform/fold.h"

typedef struct inliner {
    folder *f;
    pgy_graph *level;
    node_splice list; /* nodes of the level that has the If */
    strmap names;     /* node names of all levels, with the number of nodes that have each */
} inliner;

/* ---- Which branch --------------------------------------------------------------------------- */

static pgy_status taken_branch(pgy_graph **out, const folder *f, const pgy_node *n, pgy_error *err)
{
    pgy_tensor *condition = NULL;
    *out = NULL;
    if (!node_is(n, "If") || n->input_count != 1 || n->subgraph_count != 2) return PGY_OK;
    const pgy_status st = fold_constant(&condition, f, n->inputs[0], err);
    if (!st && condition && pgy_tensor_dtype(condition) == PGY_BOOL &&
        pgy_tensor_count(condition) == 1) {
        const bool taken = *(const uint8_t *)pgy_tensor_data(condition) != 0;
        const char *name = taken ? "then_branch" : "else_branch";
        for (size_t i = 0; i < 2; i++)
            if (strcmp(n->subgraph_names[i], name) == 0) *out = n->subgraphs[i];
    }
    pgy_tensor_release(condition);
    return st;
}

/* The branch must compute each output, and each only once, so that they can take the names of the
 * If's outputs. */
static bool can_inline(const pgy_node *n, const pgy_graph *branch)
{
    if (branch->output_count != n->output_count || level_of(branch)->declared_count) return false;
    for (size_t i = 0; i < n->output_count; i++) {
        const pgy_value *from = branch->outputs[i];
        if (!n->outputs[i]) continue;
        if (!from->producer && !from->initializer && !from->sparse && n->outputs[i]->is_output &&
            from->kind != PGY_VALUE_TENSOR)
            return false;
    }
    return true;
}

/* ---- Names ---------------------------------------------------------------------------------- */

static void mark_users(pgy_value *v)
{
    for (size_t i = 0; i < v->consumer_count; i++) {
        node_box_of(v->consumers[i])->changed = true;
        if (v->consumers[i]->graph) graph_mark_changed(v->consumers[i]->graph);
    }
    if (v->producer) node_box_of(v->producer)->changed = true;
}

/* Counts the nodes with this name, in all levels. */
static pgy_status count_name(inliner *in, const char *name, pgy_error *err)
{
    const uintptr_t count = (uintptr_t)strmap_get(&in->names, name);
    return strmap_put(&in->names, name, (void *)(count + 1)) ? PGY_OK : graph_no_memory(err);
}

static pgy_status gather_names(inliner *in, const pgy_graph *g, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->node_count; i++) {
        const pgy_node *n = g->nodes[i];
        if (n->name && *n->name) st = count_name(in, n->name, err);
        for (size_t k = 0; !st && k < n->subgraph_count; k++)
            st = gather_names(in, n->subgraphs[k], err);
    }
    return st;
}

static bool node_has_name(const char *name, const void *user)
{
    return strmap_has(user, name);
}

static pgy_status rename_node(inliner *in, pgy_node *n, pgy_error *err)
{
    if (!n->name || !*n->name || (uintptr_t)strmap_get(&in->names, n->name) < 2) return PGY_OK;
    const char *name = graph_free_name(in->f->state, n->name, node_has_name, &in->names);
    if (!name) return graph_no_memory(err);
    n->name = name;
    node_box_of(n)->changed = true;
    return count_name(in, name, err);
}

/* ---- Moving --------------------------------------------------------------------------------- */

static pgy_status move_value(folder *f, pgy_value *v, pgy_graph *to, const char *name,
                             pgy_error *err)
{
    if (!name || !level_put_value(to, name, box_of(v))) return graph_no_memory(err);
    if (strcmp(name, v->name) != 0) {
        v->name = name;
        mark_users(v);
    }
    v->graph = to;
    v->is_output = false;
    if (!v->initializer) return PGY_OK;
    const pgy_onnx_tensor *t = weight_renamed(f->graph->model, v->initializer, name,
                                              v->initializer->dims, v->initializer->dim_count);
    return t ? value_set_weight(v, t, err) : graph_no_memory(err);
}

static bool has_sparse(const pgy_graph *g)
{
    for (size_t i = 0; i < g->initializer_count; i++)
        if (!g->initializers[i]->initializer) return true;
    return false;
}

static pgy_status move_values(inliner *in, pgy_graph *branch, pgy_error *err)
{
    pgy_status st = PGY_OK;
    /* Take the values out of the branch's name table first, so that their names are free. */
    strmap values = level_take_values(branch);
    for (size_t i = 0; !st && i < values.count; i++) {
        pgy_value *v = values.entries[i].value;
        const bool linked = v->initializer || (v->producer && v->producer->graph == branch);
        if (linked)
            st = move_value(in->f, v, in->level, graph_free_name(in->f->state, v->name, NULL, NULL),
                            err);
    }
    strmap_deinit(&values);
    return st;
}

static pgy_status move_nodes(inliner *in, pgy_graph *branch, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < branch->node_count; i++)
        st = rename_node(in, branch->nodes[i], err);
    branch->initializer_count = 0;
    return st ? st : splice_move(&in->list, branch, err);
}

/* Replaces an output of the If by the output of the branch. */
static pgy_status connect_output(inliner *in, pgy_value *from, pgy_value *to, pgy_error *err)
{
    if (!to->is_output) return value_replace_uses(to, from, err);
    if (from->graph != in->level || !from->producer || from->is_output)
        return splice_identity(&in->list, from, to, err);
    return value_take_over(from, to, err);
}

static pgy_status inline_branch(inliner *in, pgy_node *n, pgy_graph *branch, pgy_error *err)
{
    const size_t outputs = n->output_count;
    pgy_value **to = n->outputs;
    /* Detach the branch first, so that dropping the If keeps the links of the branch. */
    for (size_t i = 0; i < n->subgraph_count; i++)
        if (n->subgraphs[i] == branch) n->subgraphs[i] = n->subgraphs[--n->subgraph_count];
    fold_drop_node(in->f, n);
    for (size_t i = 0; i < n->subgraph_count; i++) {
        strmap values = level_take_values(n->subgraphs[i]);
        strmap_deinit(&values);
    }
    pgy_status st = move_values(in, branch, err);
    if (!st) st = move_nodes(in, branch, err);
    for (size_t i = 0; !st && i < outputs; i++) {
        pgy_value *from = branch->outputs[i];
        if (!to[i]) continue;
        st = connect_output(in, from, to[i], err);
        /* The branch may output one value twice: if `from` was replaced by the If's output, later
         * outputs must refer to that, too. */
        for (size_t k = i + 1; k < outputs && to[i]->is_output; k++)
            if (branch->outputs[k] == from) branch->outputs[k] = to[i];
    }
    return st;
}

/* ---- The pass ------------------------------------------------------------------------------- */

static bool has_constant_if(const folder *f, const pgy_graph *g)
{
    for (size_t i = 0; i < g->node_count; i++)
        if (node_is(g->nodes[i], "If") && g->nodes[i]->input_count == 1 && g->nodes[i]->inputs[0] &&
            fold_is_constant(f, g->nodes[i]->inputs[0]))
            return true;
    return false;
}

pgy_status fold_branches(folder *f, pgy_graph *level, pgy_error *err)
{
    inliner in = {.f = f, .level = level, .list = {.level = level}};
    const size_t before = f->changes;
    if (!has_constant_if(f, level)) return PGY_OK;
    pgy_status st = gather_names(&in, f->graph, err);
    for (size_t i = 0; !st && i < level->node_count; i++) {
        pgy_node *n = level->nodes[i];
        pgy_graph *branch = NULL;
        st = taken_branch(&branch, f, n, err);
        if (st) break;
        if (branch && can_inline(n, branch) && !has_sparse(branch))
            st = inline_branch(&in, n, branch, err);
        else
            st = splice_keep(&in.list, n, err);
    }
    if (!st && f->changes != before) st = splice_install(&in.list, err);
    splice_deinit(&in.list);
    strmap_deinit(&in.names);
    return st;
}
