/* SPDX-License-Identifier: Apache-2.0 */
/* Dead-code elimination. Innermost subgraphs are cleaned first: a tensor that only their dead nodes
 * read is then dead, too. Nodes are removed in bulk, so each tensor's list of consumers or
 * producers is filtered once, not once per dead node. */
#include "gs/edit/cleanup.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "ops/op.h"

#include <string.h>

/* Appends the subgraphs of the nodes to `l`. */
static pgy_status push_subgraphs(gs_level_list *l, pgy_gs_node *const *nodes, size_t count,
                                 pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < count && !st; i++)
        if (gs_has_subgraphs(nodes[i])) st = gs_each_subgraph(nodes[i], gs_level_list_push, l, err);
    return st;
}

/* ---- Removing outputs ------------------------------------------------------------------------ */

pgy_status gs_drop_output(pgy_gs_node *n, size_t j, pgy_error *err)
{
    if (j + 1 == n->output_count) {
        gs_detach_output(n, j);
        return PGY_OK;
    }
    pgy_gs_tensor *none = NULL;
    pgy_status st = pgy_gs_omitted(&none, gs_node_box(n)->document->top, err);
    return st ? st : pgy_gs_set_output(n, j, none, err);
}

/* A graph input needs no producer: its producers drop that output. */
static pgy_status cut_producers(pgy_gs_tensor *t, pgy_error *err)
{
    while (t->producer_count) {
        pgy_gs_node *n = t->producers[0];
        size_t j = 0;
        while (n->outputs[j] != t) j++;
        pgy_status st = gs_drop_output(n, j, err);
        if (st) return st;
    }
    return PGY_OK;
}

static int64_t import_version(const pgy_gs_graph *g, const char *domain)
{
    if (!*domain || !strcmp(domain, "ai.onnx")) return g->opset;
    for (; g->parent && !g->import_count; g = g->parent) continue;
    for (size_t i = 0; i < g->import_count; i++)
        if (!strcmp(g->imports[i].domain, domain)) return g->imports[i].version;
    return 1;
}

/* Index of the first output that may be omitted. A variadic list of outputs must stay complete. */
static size_t first_optional_output(const pgy_gs_node *n)
{
    const char *domain = strcmp(n->domain, "ai.onnx") ? n->domain : "";
    const op_def *def = op_find(domain, n->op, import_version(n->graph, domain));
    if (!def) return 0;
    return def->flags & OP_VARIADIC_OUTPUTS ? SIZE_MAX : def->min_outputs;
}

static bool is_read(const pgy_gs_tensor *t)
{
    return tensor_box(t)->scratch != 0;
}

static pgy_status drop_unused_outputs(pgy_gs_node *n, pgy_error *err)
{
    size_t unused = 0, end = 0;
    for (size_t j = 0; j < n->output_count; j++) {
        if (pgy_gs_is_omitted(n->outputs[j])) continue;
        if (is_read(n->outputs[j]))
            end = j + 1;
        else
            unused++;
    }
    if (!unused) return PGY_OK;
    size_t optional = first_optional_output(n);
    if (end < optional) end = optional;
    bool cut = false;
    for (size_t j = end; j < n->output_count; j++) cut |= !pgy_gs_is_omitted(n->outputs[j]);
    while (cut && n->output_count > end) gs_detach_output(n, n->output_count - 1);
    for (size_t j = optional; j < end && j < n->output_count; j++) {
        if (pgy_gs_is_omitted(n->outputs[j]) || is_read(n->outputs[j])) continue;
        pgy_status st = gs_drop_output(n, j, err);
        if (st) return st;
    }
    return PGY_OK;
}

/* ---- Removing nodes -------------------------------------------------------------------------- */

static size_t keep_unmarked(pgy_gs_node **uses, size_t count, uint64_t epoch)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (gs_node_box(uses[i])->mark != epoch) uses[kept++] = uses[i];
    return kept;
}

/* Removes all marked nodes from the consumers and producers of n's tensors. A filtered tensor gets
 * the mark, so that it is filtered only once. */
static void detach_marked(pgy_gs_node *n, uint64_t epoch)
{
    for (size_t i = 0; i < n->input_count; i++) {
        pgy_gs_tensor *t = n->inputs[i];
        if (tensor_box(t)->mark == epoch) continue;
        tensor_box(t)->mark = epoch;
        t->consumer_count = keep_unmarked(t->consumers, t->consumer_count, epoch);
        t->producer_count = keep_unmarked(t->producers, t->producer_count, epoch);
    }
    for (size_t i = 0; i < n->output_count; i++) {
        pgy_gs_tensor *t = n->outputs[i];
        if (tensor_box(t)->mark == epoch) continue;
        tensor_box(t)->mark = epoch;
        t->consumer_count = keep_unmarked(t->consumers, t->consumer_count, epoch);
        t->producer_count = keep_unmarked(t->producers, t->producer_count, epoch);
    }
    n->input_count = n->output_count = 0;
}

pgy_status gs_detach_inside(pgy_gs_node *n, pgy_error *err)
{
    gs_level_list inner = {0};
    pgy_status st = push_subgraphs(&inner, &n, 1, err);
    for (size_t i = 0; i < inner.count && !st; i++)
        st = push_subgraphs(&inner, inner.items[i]->nodes, inner.items[i]->node_count, err);
    for (size_t i = 0; i < inner.count && !st; i++)
        for (size_t j = 0; j < inner.items[i]->node_count; j++)
            gs_detach_all(inner.items[i]->nodes[j]);
    mem_free(inner.items);
    return st;
}

/* Removes the nodes of g that are not `used`, and detaches the nodes of their subgraphs. */
static pgy_status remove_nodes(pgy_gs_graph *g, const bool *used, pgy_error *err)
{
    gs_level_list inner = {0};
    size_t kept = 0, inner_done = 0;
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < g->node_count && !st; i++)
        if (!used[i]) st = push_subgraphs(&inner, &g->nodes[i], 1, err);
    for (; inner_done < inner.count && !st; inner_done++)
        st = push_subgraphs(&inner, inner.items[inner_done]->nodes,
                            inner.items[inner_done]->node_count, err);
    if (st) goto done;

    uint64_t epoch = ++graph_box(g)->document->epoch;
    for (size_t i = 0; i < g->node_count; i++)
        if (!used[i]) gs_node_box(g->nodes[i])->mark = epoch;
    for (size_t i = 0; i < inner.count; i++)
        for (size_t j = 0; j < inner.items[i]->node_count; j++)
            gs_node_box(inner.items[i]->nodes[j])->mark = epoch;
    for (size_t i = 0; i < inner.count; i++)
        for (size_t j = 0; j < inner.items[i]->node_count; j++)
            detach_marked(inner.items[i]->nodes[j], epoch);
    for (size_t i = 0; i < g->node_count; i++) {
        pgy_gs_node *n = g->nodes[i];
        if (!used[i]) {
            detach_marked(n, epoch);
            n->graph = NULL;
            continue;
        }
        gs_node_box(n)->index_hint = kept;
        g->nodes[kept++] = n;
    }
    g->node_count = kept;
    gs_touch(g);
done:
    mem_free(inner.items);
    return st;
}

/* ---- One graph or subgraph ------------------------------------------------------------------- */

typedef struct reach {
    const pgy_gs_graph *g;
    bool *used;    /* indexed by node of g: an output of g depends on the node */
    size_t *stack; /* indices of used nodes whose inputs are not visited yet */
    size_t depth, used_count;
} reach;

static pgy_status reach_tensor(pgy_gs_tensor *t, void *user, pgy_error *err)
{
    reach *r = user;
    (void)err;
    tensor_box(t)->scratch = 1;
    for (size_t i = 0; i < t->producer_count; i++) {
        const pgy_gs_node *p = t->producers[i];
        if (p->graph != r->g) continue;
        size_t place = gs_node_box(p)->index_hint;
        if (r->used[place]) continue;
        r->used[place] = true;
        r->used_count++;
        r->stack[r->depth++] = place;
    }
    return PGY_OK;
}

static void clear_reached(const pgy_gs_graph *g)
{
    const gs_graph *box = graph_box(g);
    for (size_t i = 0; i < g->input_count; i++) tensor_box(g->inputs[i])->scratch = 0;
    for (size_t i = 0; i < box->kept_count; i++) tensor_box(box->kept[i])->scratch = 0;
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_gs_node *n = g->nodes[i];
        gs_node_box(n)->index_hint = i;
        for (size_t j = 0; j < n->output_count; j++) tensor_box(n->outputs[j])->scratch = 0;
    }
}

static pgy_status reach_all(reach *r, pgy_error *err)
{
    pgy_status st = PGY_OK;
    clear_reached(r->g);
    for (size_t i = 0; i < r->g->output_count && !st; i++)
        st = reach_tensor(r->g->outputs[i], r, err);
    while (r->depth && !st) {
        const pgy_gs_node *n = r->g->nodes[r->stack[--r->depth]];
        if (gs_has_subgraphs(n)) {
            st = gs_each_dependency(n, reach_tensor, r, err);
        } else {
            for (size_t j = 0; j < n->input_count && !st; j++)
                st = reach_tensor(n->inputs[j], r, err);
        }
    }
    return st;
}

/* Removes the unused tensors from a list of weights or graph inputs. */
static size_t keep_reached(pgy_gs_tensor **items, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (is_read(items[i]) || items[i]->consumer_count) items[kept++] = items[i];
    return kept;
}

static pgy_status clean_level(pgy_gs_graph *g, const pgy_gs_cleanup_options *options,
                              bool unused_inputs, pgy_error *err)
{
    gs_graph *box = graph_box(g);
    reach r = {.g = g};
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < g->input_count && !st; i++) st = cut_producers(g->inputs[i], err);
    if (st) return st;
    r.used = mem_calloc(g->node_count, sizeof *r.used);
    r.stack = mem_calloc(g->node_count, sizeof *r.stack);
    st = r.used && r.stack ? reach_all(&r, err) : gs_no_memory(err);
    if (!st && r.used_count < g->node_count) st = remove_nodes(g, r.used, err);
    if (st) goto done;
    size_t kept = keep_reached(box->kept, box->kept_count);
    size_t inputs = unused_inputs ? keep_reached(g->inputs, g->input_count) : g->input_count;
    if (kept != box->kept_count || inputs != g->input_count) gs_touch(g);
    box->kept_count = kept;
    g->input_count = inputs;
    for (size_t i = 0; i < g->node_count && options->remove_unused_node_outputs && !st; i++)
        st = drop_unused_outputs(g->nodes[i], err);
done:
    mem_free(r.used);
    mem_free(r.stack);
    return st;
}

pgy_status pgy_gs_cleanup(pgy_gs_graph *g, const pgy_gs_cleanup_options *given, pgy_error *err)
{
    pgy_gs_cleanup_options taken = {.size = sizeof taken};
    const pgy_gs_cleanup_options *options = &taken;
    gs_level_list l = {0};
    pgy_status st = SIZED_TAKE(pgy_gs_cleanup_options, &taken, given, err);
    if (st) return st;
    if (!g) return pgy_error_set(err, PGY_E_ARGUMENT, "the graph must not be NULL");
    st = gs_level_list_push(g, &l, err);
    for (size_t i = 0; i < g->function_count && !options->keep_functions && !g->is_function && !st;
         i++)
        st = gs_level_list_push(g->functions[i], &l, err);
    for (size_t i = 0; i < l.count && !options->keep_subgraphs && !st; i++)
        st = push_subgraphs(&l, l.items[i]->nodes, l.items[i]->node_count, err);
    /* Inputs of subgraphs and functions are positional, so only g itself may lose inputs. */
    for (size_t i = l.count; i-- > 0 && !st;)
        st = clean_level(l.items[i], options, i == 0 && options->remove_unused_graph_inputs, err);
    mem_free(l.items);
    return st;
}
