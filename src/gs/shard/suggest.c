/* SPDX-License-Identifier: Apache-2.0 */
/* Suggests shard hints for a model: its attention layers, and the graph inputs and outputs that are
 * connected with them. */
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/log.h"
#include "base/sized.h"
#include "gs/graph/gs.h"
#include "gs/shard/shard.h"

static const char LOG_PATH[] = "tools/template/subtool/shard_hint.py";

typedef struct suggestion {
    shard_hints *box;
    const pgy_gs_graph *g;
    const pgy_shard_options *o;
    shard_attention *layers;
    size_t count;
} suggestion;

static void *allocate(suggestion *s, size_t count, size_t item_bytes)
{
    return arena_alloc_array(&s->box->memory, count ? count : 1, item_bytes);
}

pgy_shard_options pgy_shard_options_default(void)
{
    return (pgy_shard_options){.size = sizeof(pgy_shard_options),
                               .root = -1,
                               .nb_rank = 1,
                               .reduce_op = "max",
                               .input_rank = -1,
                               .output_rank = -1,
                               .kv_rank = -1,
                               .attention = {.nb_rank = 1}};
}

static pgy_status check_names(const pgy_gs_graph *g, pgy_error *err)
{
    strmap seen = {0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->node_count; i++) {
        const pgy_gs_node *n = g->nodes[i], *other = strmap_get(&seen, n->name);
        if (other)
            st = pgy_error_set(err, PGY_E_ARGUMENT,
                               "All nodes in graph need to have unique names; nodes %zu (%s) and "
                               "%zu (%s) are both called '%s'",
                               pgy_gs_node_index(other), other->op, i, n->op, n->name);
        else if (!strmap_put(&seen, n->name, (void *)n))
            st = gs_no_memory(err);
    }
    strmap_deinit(&seen);
    return st;
}

/* ---- Connected tensors ----------------------------------------------------------------------- */

/* Marks all tensors that a node depends on or, if `down`, that depend on it. */
typedef struct reach {
    gs_node_list stack;
    uint64_t epoch;
    bool down;
    bool failed;
} reach;

static pgy_status reach_node(pgy_gs_node *n, reach *r, pgy_error *err)
{
    if (gs_node_box(n)->mark == r->epoch) return PGY_OK;
    gs_node_box(n)->mark = r->epoch;
    return gs_node_list_push(&r->stack, n, err);
}

static pgy_status reach_tensor(pgy_gs_tensor *t, void *user, pgy_error *err)
{
    reach *r = user;
    pgy_status st = PGY_OK;
    if (tensor_box(t)->mark == r->epoch) return PGY_OK;
    tensor_box(t)->mark = r->epoch;
    pgy_gs_node **next = r->down ? t->consumers : t->producers;
    const size_t count = r->down ? t->consumer_count : t->producer_count;
    for (size_t i = 0; !st && i < count; i++) st = reach_node(next[i], r, err);
    return st;
}

static pgy_status reach_all(reach *r, pgy_error *err)
{
    pgy_status st = PGY_OK;
    while (!st && r->stack.count) {
        const pgy_gs_node *n = r->stack.items[--r->stack.count];
        if (!r->down) {
            st = gs_each_dependency(n, reach_tensor, r, err);
            continue;
        }
        for (size_t i = 0; !st && i < n->output_count; i++)
            st = reach_tensor(n->outputs[i], r, err);
    }
    return st;
}

static int64_t named_axis(const pgy_gs_tensor *t)
{
    static const char *const NAMES[] = {"sequence_length", "seq_len"};
    for (int32_t d = 0; d < t->rank; d++)
        for (size_t i = 0; t->dims[d].text && i < 2; i++)
            if (!strcmp(t->dims[d].text, NAMES[i])) {
                LOG(INFO, "Found %s index at %d for tensor %s", NAMES[i], d, t->name);
                return d;
            }
    return -1;
}

static pgy_shard_tensor describe(const pgy_gs_tensor *t, int64_t axis, int64_t rank)
{
    const int64_t named = named_axis(t);
    return (pgy_shard_tensor){
        .name = t->name, .axis = named >= 0 ? named : axis, .rank = t->rank >= 0 ? t->rank : rank};
}

static pgy_status connected(const pgy_shard_tensor **out, size_t *out_count, suggestion *s,
                            bool down, pgy_error *err)
{
    const pgy_gs_graph *g = s->g;
    const pgy_shard_options *o = s->o;
    reach r = {.epoch = ++graph_box(g)->document->epoch, .down = down};
    pgy_gs_tensor **all = down ? g->outputs : g->inputs;
    const size_t all_count = down ? g->output_count : g->input_count;
    pgy_shard_tensor *items = allocate(s, all_count, sizeof *items);
    size_t n = 0;
    pgy_status st = items ? PGY_OK : gs_no_memory(err);
    for (size_t i = 0; !st && i < s->count; i++) st = reach_node(s->layers[i].result, &r, err);
    if (!st) st = reach_all(&r, err);
    for (size_t i = 0; !st && i < all_count; i++) {
        if (tensor_box(all[i])->mark != r.epoch) continue;
        tensor_box(all[i])->mark = 0; /* lists each tensor only once */
        LOG(INFO, "Found dependent tensor %s", all[i]->name);
        items[n++] = describe(all[i], down ? o->output_axis : o->input_axis,
                              down ? o->output_rank : o->input_rank);
    }
    mem_free(r.stack.items);
    *out = items;
    *out_count = n;
    return st;
}

/* ---- Hints ----------------------------------------------------------------------------------- */

static pgy_status keep_order(pgy_shard_order *out, suggestion *s, pgy_shard_order o, pgy_error *err)
{
    int64_t *axes = allocate(s, o.count, sizeof *axes);
    if (!axes) return gs_no_memory(err);
    if (o.count) memcpy(axes, o.axes, o.count * sizeof *axes);
    *out = (pgy_shard_order){o.given, axes, o.count};
    return PGY_OK;
}

static pgy_status keep_fused(const pgy_fused_attention **out, suggestion *s, pgy_error *err)
{
    const pgy_shard_options *o = s->o;
    *out = NULL;
    if (!o->fused) return PGY_OK;
    pgy_fused_attention *f = allocate(s, 1, sizeof *f);
    if (!f) return gs_no_memory(err);
    *f = o->attention;
    pgy_status st = keep_order(&f->q, s, o->attention.q, err);
    if (!st) st = keep_order(&f->k, s, o->attention.k, err);
    if (!st) st = keep_order(&f->v, s, o->attention.v, err);
    *out = f;
    return st;
}

static pgy_status add_layers(suggestion *s, pgy_error *err)
{
    pgy_shard_hints *h = &s->box->hints;
    const pgy_fused_attention *f;
    pgy_status st = keep_fused(&f, s, err);
    pgy_attention_hint *items = st ? NULL : allocate(s, s->count, sizeof *items);
    if (!st && !items) st = gs_no_memory(err);
    h->kv_rank = s->o->kv_rank;
    for (size_t i = 0; !st && i < s->count; i++) {
        const shard_attention *l = &s->layers[i];
        const pgy_gs_tensor *k = shard_k(l), *v = shard_v(l);
        LOG(INFO, "Found attention layer with Q tensor %s", shard_q(l)->name);
        if (h->kv_rank < 0) h->kv_rank = k->rank >= 0 ? k->rank : v->rank;
        items[i] = (pgy_attention_hint){
            .q = shard_q(l)->name, .gather_kv = !s->o->fused && !s->o->no_gather, .replace = f};
    }
    h->layers = items;
    h->layer_count = st ? 0 : s->count;
    return st;
}

static pgy_status add_settings(suggestion *s, pgy_error *err)
{
    const pgy_shard_options *o = s->o;
    pgy_shard_hints *h = &s->box->hints;
    int64_t *groups = allocate(s, o->group_count, sizeof *groups);
    h->reduce_op = arena_strdup(&s->box->memory, o->reduce_op);
    if (!groups || !h->reduce_op) return gs_no_memory(err);
    if (o->group_count) memcpy(groups, o->groups, o->group_count * sizeof *groups);
    h->parallelism = o->parallelism;
    h->group_size = o->group_size;
    h->root = o->root;
    h->nb_rank = o->nb_rank;
    h->groups = groups;
    h->group_count = o->group_count;
    h->k_axis = o->k_axis;
    h->v_axis = o->v_axis;
    return PGY_OK;
}

/* Copies a name, because the hints outlive the graph. */
static bool keep_name(const char **name, suggestion *s)
{
    *name = arena_strdup(&s->box->memory, *name);
    return *name != NULL;
}

static pgy_status copy_names(suggestion *s, pgy_error *err)
{
    const pgy_shard_hints *h = &s->box->hints;
    pgy_attention_hint *layers = (pgy_attention_hint *)h->layers;
    pgy_shard_tensor *inputs = (pgy_shard_tensor *)h->inputs;
    pgy_shard_tensor *outputs = (pgy_shard_tensor *)h->outputs;
    bool good = true;
    for (size_t i = 0; i < h->layer_count; i++) good &= keep_name(&layers[i].q, s);
    for (size_t i = 0; i < h->input_count; i++) good &= keep_name(&inputs[i].name, s);
    for (size_t i = 0; i < h->output_count; i++) good &= keep_name(&outputs[i].name, s);
    return good ? PGY_OK : gs_no_memory(err);
}

pgy_status pgy_shard_suggest(pgy_shard_hints **out, const pgy_gs_graph *g,
                             const pgy_shard_options *given, pgy_error *err)
{
    pgy_shard_options taken = pgy_shard_options_default();
    const pgy_shard_options *options = &taken;
    pgy_status st = SIZED_TAKE(pgy_shard_options, &taken, given, err);
    if (st) return st;
    suggestion s = {.box = mem_calloc(1, sizeof *s.box), .g = g, .o = options};
    if (!s.box) return gs_no_memory(err);
    pgy_shard_hints *h = &s.box->hints;
    h->internal = s.box;
    st = check_names(g, err);
    if (!st) st = shard_find_attention(&s.layers, &s.count, g, options->pattern, err);
    if (!st) st = add_settings(&s, err);
    if (!st) st = add_layers(&s, err);
    if (!st && !options->no_io) {
        st = connected(&h->inputs, &h->input_count, &s, false, err);
        if (!st) st = connected(&h->outputs, &h->output_count, &s, true, err);
    }
    if (!st) st = copy_names(&s, err);
    if (st)
        pgy_shard_hints_destroy(h);
    else
        *out = h;
    mem_free(s.layers);
    return st;
}
