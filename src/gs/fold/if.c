/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces an If with a constant condition by the branch that it takes. The branch's nodes move to
 * the position of the If; its outputs become the If's outputs, and its inner tensors get names that
 * are free in the enclosing graph. The nodes of the other branch are detached. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "graph/names.h"
#include "gs/fold/fold.h"
#include "gs/graph/document.h"

static const char LOG_PATH[] = "gs/fold/if.c";

typedef struct inlining {
    gs_folder *f;
    pgy_gs_graph *g;
    pgy_gs_node **nodes; /* new node list of g, in the document's memory, with room for the nodes of
                            all branches */
    size_t count, capacity;
    pgy_gs_node *node; /* the If */
    pgy_gs_graph *branch;
    size_t index; /* index in the new list of the branch's first node */
    strmap names; /* name of a node of g -> 1 + the last number appended to the name; NULL: free
                     again */
} inlining;

/* ---- Names ----------------------------------------------------------------------------------- */

static bool take_name(inlining *x, const char *name, uintptr_t number)
{
    return !*name || strmap_put(&x->names, name, (void *)(number + 1));
}

static bool is_node_name(const char *name, const void *names)
{
    return strmap_get(names, name) != NULL;
}

static pgy_status name_node(inlining *x, pgy_gs_node *n, pgy_error *err)
{
    str name = {0};
    pgy_status st = PGY_OK;
    uint64_t number = (uintptr_t)strmap_get(&x->names, n->name);
    if (!number) return take_name(x, n->name, 0) ? PGY_OK : gs_no_memory(err);
    str_append(&name, n->name);
    name_number(&name, &number, is_node_name, &x->names);
    if (name.failed || !take_name(x, n->name, number - 1) || !take_name(x, str_text(&name), 0))
        st = gs_no_memory(err);
    if (!st) st = pgy_gs_set_node_name(n, str_text(&name), err);
    str_deinit(&name);
    return st;
}

static pgy_status rename_tensor(const inlining *x, pgy_gs_tensor *t, pgy_error *err)
{
    fold_state *s = gs_fold_state(x->f, tensor_box(t)->serial);
    if (!s) return gs_no_memory(err);
    if (pgy_gs_is_omitted(t) || s->listed == x->f->date) return PGY_OK;
    s->listed = x->f->date;
    str name = {0};
    str_printf(&name, "%s_subg_%zu_%s", t->name, x->index, x->branch->name);
    gs_fold_free_name(&name, x->g);
    const pgy_status st = name.failed ? gs_no_memory(err) : pgy_gs_rename(t, str_text(&name), err);
    str_deinit(&name);
    tensor_box(t)->home = x->g;
    return st;
}

/* True for a constant that only the branch reads, so it may get a name that is free in g. */
static bool is_local(const inlining *x, const pgy_gs_tensor *t)
{
    if (t->kind != PGY_GS_CONSTANT) return false;
    for (size_t i = 0; i < t->consumer_count; i++)
        if (!gs_fold_is_inside(t->consumers[i]->graph, x->branch)) return false;
    return true;
}

static pgy_status rename_tensors(const inlining *x, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < x->branch->node_count; i++) {
        const pgy_gs_node *n = x->branch->nodes[i];
        for (size_t k = 0; !st && k < n->input_count; k++)
            if (is_local(x, n->inputs[k])) st = rename_tensor(x, n->inputs[k], err);
        for (size_t k = 0; !st && k < n->output_count; k++)
            st = rename_tensor(x, n->outputs[k], err);
    }
    return st;
}

/* ---- Outputs --------------------------------------------------------------------------------- */

/* Replaces a tensor among the outputs of nested subgraphs, which may output a tensor of the branch.
 */
static void replace_in_outputs(const pgy_gs_graph *g, pgy_gs_tensor *from, pgy_gs_tensor *to)
{
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_gs_node *n = g->nodes[i];
        for (size_t k = 0; k < n->attribute_count; k++)
            for (size_t s = 0; s < n->attributes[k].graph_count; s++) {
                pgy_gs_graph *sub = n->attributes[k].graphs[s];
                for (size_t o = 0; o < sub->output_count; o++)
                    if (sub->outputs[o] == from) sub->outputs[o] = to;
                replace_in_outputs(sub, from, to);
            }
    }
}

/* Marks t, so that it keeps its name. */
static pgy_status note_output(const inlining *x, const pgy_gs_tensor *t, pgy_error *err)
{
    fold_state *s = gs_fold_state(x->f, tensor_box(t)->serial);
    if (!s) return gs_no_memory(err);
    s->listed = x->f->date;
    return PGY_OK;
}

static pgy_status take_over(const inlining *x, pgy_gs_tensor *from, pgy_gs_tensor *to,
                            pgy_error *err)
{
    pgy_gs_node *maker = from->producers[0];
    size_t slot = 0;
    while (maker->outputs[slot] != from) slot++;
    pgy_status st = note_output(x, to, err);
    if (!st) st = pgy_gs_set_output(maker, slot, to, err);
    if (!st) st = pgy_gs_replace_uses(from, to, err);
    if (st) return st;
    replace_in_outputs(x->branch, from, to);
    for (size_t i = 0; i < x->branch->output_count; i++)
        if (x->branch->outputs[i] == from) x->branch->outputs[i] = to;
    return PGY_OK;
}

static pgy_status add_identity(const inlining *x, pgy_gs_tensor *from, pgy_gs_tensor *to,
                               pgy_error *err)
{
    pgy_gs_node *made = NULL;
    const pgy_gs_node_spec spec = {.op = "Identity",
                                   .name = x->node->name,
                                   .inputs = &from,
                                   .input_count = 1,
                                   .outputs = &to,
                                   .output_count = 1};
    const pgy_status st = note_output(x, to, err);
    return st ? st : pgy_gs_add_node(&made, x->branch, &spec, err);
}

static pgy_status set_constant(pgy_gs_tensor *to, pgy_gs_tensor *from, pgy_error *err)
{
    pgy_tensor *values = NULL;
    pgy_status st;
    if (from->stored) {
        st = gs_set_stored(to, from->stored, err);
    } else {
        st = pgy_gs_values(&values, from, err);
        if (!st) st = pgy_gs_to_constant(to, values, err);
        pgy_tensor_release(values);
    }
    if (!st) gs_touch_tensor(to);
    return st;
}

/* Lets a node of the branch make output i of the If, or makes that output a constant. */
static pgy_status move_output(inlining *x, size_t i, pgy_error *err)
{
    pgy_gs_tensor *from = x->branch->outputs[i], *to = x->node->outputs[i], *omitted = NULL;
    if (pgy_gs_is_omitted(to)) return PGY_OK;
    pgy_status st = pgy_gs_omitted(&omitted, x->g, err);
    if (!st) st = pgy_gs_set_output(x->node, i, omitted, err);
    if (st) return st;
    if (gs_fold_is_constant(from)) return set_constant(to, from, err);
    const bool made_here = from->producer_count == 1 && from->producers[0]->graph == x->branch;
    const fold_state *s = gs_fold_state(x->f, tensor_box(from)->serial);
    if (!s) return gs_no_memory(err);
    if (made_here && s->listed != x->f->date) return take_over(x, from, to, err);
    return add_identity(x, from, to, err);
}

/* ---- Replacing all Ifs ----------------------------------------------------------------------- */

static void drop_graph(pgy_gs_graph *g)
{
    for (size_t i = 0; i < g->node_count; i++) {
        pgy_gs_node *n = g->nodes[i];
        for (size_t k = 0; k < n->attribute_count; k++)
            for (size_t s = 0; s < n->attributes[k].graph_count; s++)
                drop_graph(n->attributes[k].graphs[s]);
        gs_detach_all(n);
    }
}

static void move_nodes(inlining *x)
{
    for (size_t i = 0; i < x->branch->node_count; i++) {
        pgy_gs_node *n = x->branch->nodes[i];
        x->nodes[x->count++] = n;
        n->graph = x->g;
        for (size_t k = 0; k < n->attribute_count; k++)
            for (size_t s = 0; s < n->attributes[k].graph_count; s++)
                gs_set_parent(n->attributes[k].graphs[s], x->g);
    }
    x->branch->node_count = 0;
    x->branch->output_count = 0;
}

static pgy_status inline_branch(inlining *x, pgy_error *err)
{
    pgy_status st = PGY_OK;
    pgy_gs_node *n = x->node;
    x->index = x->count;
    x->f->date++;
    if (*n->name && !strmap_put(&x->names, n->name, NULL)) return gs_no_memory(err);
    for (size_t i = 0; !st && i < n->output_count; i++) st = move_output(x, i, err);
    if (!st) st = rename_tensors(x, err);
    for (size_t i = 0; !st && i < x->branch->node_count; i++)
        st = name_node(x, x->branch->nodes[i], err);
    if (st) return st;
    move_nodes(x);
    for (size_t k = 0; k < n->attribute_count; k++)
        for (size_t s = 0; s < n->attributes[k].graph_count; s++)
            drop_graph(n->attributes[k].graphs[s]);
    gs_detach_all(n);
    n->graph = NULL;
    return PGY_OK;
}

static bool condition(bool *out, pgy_gs_tensor *t)
{
    pgy_tensor *values = NULL;
    if (!gs_fold_is_constant(t) || t->dtype != PGY_BOOL || pgy_gs_values(&values, t, NULL))
        return false;
    const bool one = pgy_tensor_count(values) == 1;
    if (one) *out = *(const char *)pgy_tensor_data(values) != 0;
    pgy_tensor_release(values);
    return one;
}

static size_t count_uses(const pgy_gs_node *n, const pgy_gs_graph *g)
{
    size_t count = 0;
    for (size_t k = 0; k < n->attribute_count; k++)
        for (size_t s = 0; s < n->attributes[k].graph_count; s++)
            count += n->attributes[k].graphs[s] == g;
    return count;
}

/* True if another attribute holds a subgraph of n, too; then the nodes of that subgraph must not
 * move. */
static bool is_shared(const gs_document *d, const pgy_gs_node *n)
{
    size_t uses = 0, own = 0;
    if (!d->shares_subgraphs) return false;
    for (size_t k = 0; k < n->attribute_count; k++)
        for (size_t s = 0; s < n->attributes[k].graph_count; s++) {
            const pgy_gs_graph *used = n->attributes[k].graphs[s];
            own++;
            for (size_t i = 0; i < d->graph_count; i++)
                for (size_t m = 0; m < d->graphs[i]->node_count; m++)
                    uses += count_uses(d->graphs[i]->nodes[m], used);
        }
    return uses > own;
}

/* The branch that an If takes; NULL: n is no If that can be replaced. */
static pgy_gs_graph *find_branch(const gs_folder *f, const pgy_gs_node *n, bool warn)
{
    bool taken = false;
    if (!gs_fold_is(n, "If") || n->input_count != 1 || n->output_count == 0 ||
        !condition(&taken, n->inputs[0]) || gs_fold_is_excluded(f, n) || is_shared(f->document, n))
        return NULL;
    const pgy_gs_attribute *a = pgy_gs_find_attr(n, taken ? "then_branch" : "else_branch");
    pgy_gs_graph *branch = a && a->graph_count == 1 ? a->graphs[0] : NULL;
    if (branch && branch->input_count == 0 && branch->output_count >= n->output_count)
        return branch;
    if (warn)
        LOG(WARNING,
            "node '%s' (If) is not folded: its branch is missing, has inputs, or has fewer outputs "
            "than the If",
            gs_node_label(n));
    return NULL;
}

/* Allocates the new node list, large enough for all branches. *found: at least one If can be
 * replaced. */
static pgy_status make_room(inlining *x, bool *found, pgy_error *err)
{
    const pgy_gs_graph *g = x->g;
    x->capacity = g->node_count;
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_gs_graph *branch = find_branch(x->f, g->nodes[i], false);
        if (branch) x->capacity += branch->node_count + branch->output_count;
        *found |= branch != NULL;
    }
    if (!*found) return PGY_OK;
    x->nodes = gs_alloc(x->f->document, x->capacity, sizeof(*x->nodes));
    if (!x->nodes) return gs_no_memory(err);
    for (size_t i = 0; i < g->node_count; i++)
        if (!take_name(x, g->nodes[i]->name, 0)) return gs_no_memory(err);
    return PGY_OK;
}

pgy_status gs_fold_ifs(gs_folder *f, pgy_gs_graph *g, pgy_error *err)
{
    inlining x = {.f = f, .g = g};
    bool found = false;
    if (f->options.keep_ifs) return PGY_OK;
    pgy_status st = make_room(&x, &found, err);
    if (st || !found) goto done;
    for (size_t i = 0; i < g->node_count; i++) {
        x.node = g->nodes[i];
        x.branch = st ? NULL : find_branch(f, x.node, true);
        if (x.branch) st = inline_branch(&x, err);
        if (!x.branch || st) x.nodes[x.count++] = x.node;
    }
    g->nodes = x.nodes;
    g->node_count = x.count;
    graph_box(g)->node_capacity = x.capacity;
    for (size_t i = 0; i < g->node_count; i++) gs_node_box(g->nodes[i])->index_hint = i;
    gs_touch(g);
done:
    strmap_deinit(&x.names);
    return st;
}
