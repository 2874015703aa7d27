/* SPDX-License-Identifier: Apache-2.0 */
/* One side during the walk: what its segments read, give and leave. */
#include "where/lane.h"

#include "base/alloc.h"
#include "base/cancel.h"

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

pgy_status where_lane_init(where_lane *l, pgy_model *model, pgy_graph *graph, size_t samples,
                           pgy_error *err)
{
    const size_t nodes = graph ? graph->node_count : 0;
    l->whole = where_source_is_whole(l->source.side);
    l->model = model;
    l->graph = graph;
    l->samples = samples;
    l->reached = mem_calloc(nodes + 1, sizeof *l->reached);
    l->kept = mem_calloc(samples + 1, sizeof *l->kept);
    if (!l->reached || !l->kept) return no_memory(err);
    for (size_t i = 0; i < nodes; i++) {
        const pgy_status st = node_captures(graph->nodes[i], err);
        if (st) return st;
    }
    return PGY_OK;
}

static void destroy_maps(pgy_tensor_map **maps, size_t count)
{
    for (size_t i = 0; maps && i < count; i++) pgy_tensor_map_destroy(maps[i]);
    mem_free(maps);
}

void where_lane_deinit(where_lane *l)
{
    where_lane_finish(l);
    where_source_close(&l->source);
    pgy_results_destroy(l->source.results);
    destroy_maps(l->kept, l->samples);
    destroy_maps(l->results, l->samples);
    mem_free(l->reached);
}

pgy_status where_lane_start(where_lane *l, pgy_tensor_map *const *feeds, bool hold, pgy_error *err)
{
    if (!l->whole) return PGY_OK;
    pgy_status st = where_source_open(&l->source, err);
    if (st || !l->source.runner || !hold) return st;
    l->results = mem_calloc(l->samples + 1, sizeof *l->results);
    if (!l->results) return no_memory(err);
    for (size_t i = 0; !st && i < l->samples; i++) {
        const pgy_tensor_map *out;
        st = where_source_read(&out, &l->results[i], &l->source, feeds[i], i, err);
        if (!st) st = cancel_check(err);
    }
    where_source_close(&l->source);
    return st;
}

void where_lane_skip(where_lane *l, const bool *useful)
{
    for (size_t i = 0; i < l->graph->node_count; i++) l->reached[i] = !useful[i];
}

/* ---- The segment's outputs ------------------------------------------------------------------- */

bool where_lane_reads(const where_lane *l, const pgy_value *v)
{
    for (size_t i = 0; v && i < v->consumer_count; i++) {
        const pgy_node *n = v->consumers[i];
        while (n && n->graph != l->graph) n = level_of(n->graph)->owner;
        if (!n || !l->reached[n->index]) return true;
    }
    return false;
}

static bool is_kept(const where_lane *l, const pgy_value *v)
{
    return l->kept[0] && pgy_tensor_map_find(l->kept[0], v->name);
}

static void need(const where_lane *l, bool *needed, const pgy_value *v)
{
    if (v && v->producer && v->producer->graph == l->graph && !is_kept(l, v))
        needed[v->producer->index] = true;
}

/* Nodes are sorted, so one pass from the last to the first finds all that the wanted ones need. */
static void mark_needed(const where_lane *l, bool *needed)
{
    for (size_t i = l->graph->node_count; i--;) {
        const pgy_node *n = l->graph->nodes[i];
        const node_box *box = node_box_of(n);
        for (size_t k = 0; needed[i] && k < n->input_count; k++) need(l, needed, n->inputs[k]);
        for (size_t k = 0; needed[i] && k < box->captured_count; k++)
            need(l, needed, box->captured[k]);
    }
}

static bool add_output(where_lane *l, const pgy_value *v)
{
    if (strmap_has(&l->output_set, v->name)) return true;
    return strvec_push(&l->outputs, v->name) && strmap_put(&l->output_set, v->name, l);
}

/* Constants are cheap to repeat, and sequences cannot be inputs of every runtime. */
static bool can_cross(const pgy_value *v)
{
    return v && v->name[0] && v->kind == PGY_VALUE_TENSOR && !node_is(v->producer, "Constant");
}

pgy_status where_lane_select(where_lane *l, pgy_value *const *wanted, size_t count, pgy_error *err)
{
    bool *needed = mem_calloc(l->graph->node_count + 1, sizeof *needed), kept = needed != NULL;
    for (size_t i = 0; kept && i < count; i++) {
        needed[wanted[i]->producer->index] = true;
        kept = add_output(l, wanted[i]);
    }
    if (kept) mark_needed(l, needed);
    for (size_t i = 0; kept && i < l->graph->node_count; i++) l->reached[i] |= needed[i];
    for (size_t i = 0; kept && i < l->graph->node_count; i++)
        for (size_t k = 0; kept && needed[i] && k < l->graph->nodes[i]->output_count; k++) {
            const pgy_value *v = l->graph->nodes[i]->outputs[k];
            if (can_cross(v) && !is_kept(l, v) && where_lane_reads(l, v)) kept = add_output(l, v);
        }
    mem_free(needed);
    return kept ? PGY_OK : no_memory(err);
}

/* ---- Running --------------------------------------------------------------------------------- */

static pgy_status make_part(where_lane *l, size_t sample, pgy_error *err)
{
    pgy_tensor_map *none = NULL;
    const pgy_tensor_map *handed = l->kept[sample];
    pgy_status st = handed ? PGY_OK : pgy_tensor_map_create(&none, err);
    where_source_close(&l->source);
    where_part_deinit(&l->part);
    if (!st)
        st = where_part_make(&l->part, l->model, handed ? handed : none,
                             (const char *const *)l->outputs.items, l->outputs.count, err);
    if (!st) st = where_part_serialize(&l->part, err);
    pgy_tensor_map_destroy(none);
    return st;
}

pgy_status where_lane_prepare(where_lane *l, const pgy_tensor_map *feed, size_t sample,
                              pgy_error *err)
{
    pgy_tensor_map *inputs = NULL;
    if (!l->part.model) return make_part(l, sample, err);
    pgy_status st = where_part_feed(&inputs, &l->part, l->kept[sample], NULL, feed, err);
    if (!st && !where_part_fits(&l->part, inputs)) st = make_part(l, sample, err);
    pgy_tensor_map_destroy(inputs);
    return st;
}

static pgy_status read_part(const pgy_tensor_map **out, pgy_tensor_map **held, where_lane *l,
                            where_lane *by, const pgy_tensor_map *feed, size_t sample,
                            pgy_error *err)
{
    pgy_tensor_map *inputs = NULL;
    pgy_status st =
        by->source.runner ? PGY_OK : where_source_open_part(&by->source, &by->part, err);
    if (!st) st = where_part_feed(&inputs, &l->part, l->kept[sample], NULL, feed, err);
    if (!st) st = where_source_read(out, held, &by->source, inputs, sample, err);
    pgy_tensor_map_destroy(inputs);
    return st;
}

pgy_status where_lane_read(const pgy_tensor_map **out, pgy_tensor_map **held, where_lane *l,
                           where_lane *through, const pgy_tensor_map *feed, size_t sample,
                           pgy_error *err)
{
    if (!l->whole) return read_part(out, held, l, through ? through : l, feed, sample, err);
    if (!l->results) return where_source_read(out, held, &l->source, feed, sample, err);
    *out = l->results[sample];
    return PGY_OK;
}

/* ---- Keeping --------------------------------------------------------------------------------- */

/* Copies: a tensor of a runtime keeps the arena of its session, with the weights. */
static pgy_status keep(pgy_tensor_map *to, const char *name, const pgy_tensor_map *kept,
                       const pgy_tensor_map *results, pgy_error *err)
{
    pgy_tensor *t = kept ? pgy_tensor_map_find(kept, name) : NULL, *copy = NULL;
    if (t) return pgy_tensor_map_set(to, name, t, err);
    t = pgy_tensor_map_find(results, name);
    if (!t) return PGY_OK;
    if (pgy_tensor_dtype(t) == PGY_STRING) return pgy_tensor_map_set(to, name, t, err);
    const pgy_status st = pgy_tensor_copy(&copy, pgy_tensor_view(t), err);
    return st ? st : pgy_tensor_map_adopt(to, name, copy, err);
}

pgy_status where_lane_keep(where_lane *l, const pgy_tensor_map *results, size_t sample,
                           pgy_error *err)
{
    pgy_tensor_map *next = NULL;
    if (!l->keeps.count && !l->kept[sample]) return PGY_OK;
    pgy_status st = pgy_tensor_map_create(&next, err);
    for (size_t i = 0; !st && i < l->keeps.count; i++)
        st = keep(next, l->keeps.items[i], l->kept[sample], results, err);
    if (st) {
        pgy_tensor_map_destroy(next);
        return st;
    }
    pgy_tensor_map_destroy(l->kept[sample]);
    l->kept[sample] = next;
    return PGY_OK;
}

void where_lane_finish(where_lane *l)
{
    if (!l->whole) where_source_close(&l->source);
    where_part_deinit(&l->part);
    strvec_deinit(&l->outputs);
    strvec_deinit(&l->keeps);
    strmap_deinit(&l->output_set);
}
