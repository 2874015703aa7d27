/* SPDX-License-Identifier: Apache-2.0 */
/* Context parallelism: splits the sequence among ranks. Graph inputs in the hints are scattered;
 * each attention layer gathers the tensors that it needs whole (or becomes one Attention node);
 * graph outputs in the hints are gathered, unless gathering Q made them whole already. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gs/graph/gs.h"
#include "gs/shard/shard.h"

static const char LOG_PATH[] = "gs/shard/context.c";
static const char ORIGINAL_PATH[] = "tools/multi_device/subtool/shard.py";

typedef struct context_work {
    shard_work base;
    shard_attention *layers; /* a layer that is done has product NULL */
    size_t layer_count;
    strmap
        scattered;   /* name of a graph input -> the scattered tensor that its consumers read now */
    strmap gathered; /* names of tensors that gathers made */
    bool q_gathered;
} context_work;

static pgy_status get_hinted(pgy_gs_tensor **out, const context_work *w, const char *name,
                             pgy_error *err)
{
    const pgy_status st = pgy_gs_get_tensor(out, w->base.g, name, err);
    return st ? pgy_error_prefix(err, st, "hints: ") : PGY_OK;
}

static pgy_status scatter_inputs(context_work *w, pgy_error *err)
{
    const pgy_shard_hints *h = w->base.hints;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < h->input_count; i++) {
        const pgy_shard_tensor *hint = &h->inputs[i];
        pgy_gs_tensor *t, *made;
        if (strmap_has(&w->scattered, hint->name)) {
            LOG(WARNING, "The hints name the input '%s' more than once", hint->name);
            continue;
        }
        st = get_hinted(&t, w, hint->name, err);
        if (!st)
            st = shard_insert(
                &made, &w->base, t,
                (shard_collective){"reduce_scatter", h->reduce_op, hint->axis, hint->rank}, err);
        if (!st && !strmap_put(&w->scattered, hint->name, made)) st = gs_no_memory(err);
    }
    return st;
}

static pgy_status gather(context_work *w, pgy_gs_tensor *t, int64_t axis, int64_t rank,
                         pgy_error *err)
{
    pgy_gs_tensor *made;
    if (strmap_has(&w->gathered, t->name)) return PGY_OK;
    const pgy_status st =
        shard_insert(&made, &w->base, t, (shard_collective){"all_gather", "none", axis, rank}, err);
    if (st) return st;
    return strmap_put(&w->gathered, made->name, made) ? PGY_OK : gs_no_memory(err);
}

static pgy_status gather_layer(context_work *w, shard_attention *a, const pgy_attention_hint *hint,
                               pgy_error *err)
{
    const pgy_shard_hints *h = w->base.hints;
    pgy_status st = PGY_OK;
    /* The hints give no axis for Q, so it is gathered along axis 0. */
    if (hint->gather_q) st = gather(w, shard_q(a), 0, h->kv_rank, err);
    if (!st && hint->gather_kv) st = gather(w, shard_k(a), h->k_axis, h->kv_rank, err);
    if (!st && hint->gather_kv) st = gather(w, shard_v(a), h->v_axis, h->kv_rank, err);
    if (!st && strmap_has(&w->gathered, shard_q(a)->name)) w->q_gathered = true;
    return st;
}

static pgy_status shuffle(pgy_gs_tensor **out, context_work *w, pgy_gs_tensor *t, pgy_shard_order o,
                          pgy_error *err)
{
    *out = t;
    return o.given && o.count ? shard_transpose(out, &w->base, t, o.axes, o.count, err) : PGY_OK;
}

/* Replaces the layer's MatMuls and Softmax by one Attention node; nodes that scale q and k stay in
 * front of it. */
static pgy_status fuse_layer(context_work *w, shard_attention *a, const pgy_fused_attention *f,
                             pgy_error *err)
{
    pgy_gs_tensor *inputs[3], *output = a->result->outputs[0];
    pgy_gs_tensor *const read[3] = {a->product->inputs[0], a->product->inputs[1], shard_v(a)};
    const pgy_shard_order orders[3] = {f->q, f->k, f->v};
    const pgy_gs_attr attrs[] = {
        pgy_gs_attr_int("is_causal", f->is_causal), pgy_gs_attr_float("scale", 1.0F),
        pgy_gs_attr_int("TRT_decomposable", 0), pgy_gs_attr_int("nb_rank", f->nb_rank)};
    char name[32];
    pgy_gs_node *made;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < 3; i++) st = shuffle(&inputs[i], w, read[i], orders[i], err);
    if (st) return st;
    snprintf(name, sizeof name, "shard_%lld", (long long)w->base.next++);
    pgy_gs_remove_node(a->result);
    pgy_gs_remove_node(a->softmax);
    pgy_gs_remove_node(a->product);
    return pgy_gs_add_node(&made, w->base.g,
                           &(pgy_gs_node_spec){.op = "Attention",
                                               .name = name,
                                               .inputs = inputs,
                                               .input_count = 3,
                                               .outputs = &output,
                                               .output_count = 1,
                                               .attrs = attrs,
                                               .attr_count = sizeof attrs / sizeof *attrs},
                           err);
}

static pgy_status change_layer(context_work *w, const pgy_attention_hint *hint, pgy_error *err)
{
    pgy_gs_tensor *q = strmap_get(&w->scattered, hint->q);
    pgy_status st = q ? PGY_OK : get_hinted(&q, w, hint->q, err);
    bool found = false;
    for (size_t i = 0; !st && i < w->layer_count; i++) {
        shard_attention *a = &w->layers[i];
        if (!a->product || shard_q(a) != q) continue;
        found = true;
        LOG_ORIGINAL(INFO, "Processing attention layer: q=%s, gather_q=%s, gather_kv=%s", hint->q,
                     hint->gather_q ? "True" : "False", hint->gather_kv ? "True" : "False");
        st = hint->replace ? fuse_layer(w, a, hint->replace, err) : gather_layer(w, a, hint, err);
        a->product = NULL;
        break;
    }
    if (!st && !found)
        LOG(WARNING, "The hint for Q tensor '%s' has no effect: no attention layer has this tensor",
            hint->q);
    return st;
}

static pgy_status gather_outputs(context_work *w, pgy_error *err)
{
    const pgy_shard_hints *h = w->base.hints;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < h->output_count; i++) {
        const pgy_shard_tensor *hint = &h->outputs[i];
        pgy_gs_tensor *t;
        st = get_hinted(&t, w, hint->name, err);
        if (!st) st = gather(w, t, hint->axis, hint->rank, err);
    }
    return st;
}

pgy_status pgy_shard_context(pgy_gs_graph *g, const pgy_shard_hints *hints, int pattern,
                             pgy_error *err)
{
    context_work w = {0};
    pgy_status st = shard_begin(&w.base, g, hints, err);
    if (!st) st = scatter_inputs(&w, err);
    if (!st) st = shard_find_attention(&w.layers, &w.layer_count, g, pattern, err);
    if (!st) LOG_ORIGINAL(INFO, "Found %zu attention pattern matches in the graph.", w.layer_count);
    for (size_t i = 0; !st && i < hints->layer_count; i++)
        st = change_layer(&w, &hints->layers[i], err);
    if (!st && !w.q_gathered) st = gather_outputs(&w, err);
    if (!st) st = pgy_gs_cleanup(g, NULL, err);
    if (!st) st = pgy_gs_toposort(g, NULL, err);
    mem_free(w.layers);
    strmap_deinit(&w.scattered);
    strmap_deinit(&w.gathered);
    return st;
}
