/* SPDX-License-Identifier: Apache-2.0 */
/* A part is a copy of the whole graph without the other nodes. What its nodes read and nobody makes
 * becomes an input; what they make and nobody reads becomes an output. */
#include "debug/part.h"

#include <polygraphy/record.h>

#include <string.h>

#include "base/alloc.h"

void part_free(candidate_part *p)
{
    pgy_model_destroy(p->model);
    for (size_t i = 0; p->feeds && i < p->count; i++) pgy_tensor_map_destroy(p->feeds[i]);
    mem_free(p->feeds);
    *p = (candidate_part){0};
}

static pgy_status make_feed(pgy_tensor_map **out, const pgy_gs_graph *g,
                            const pgy_tensor_map *values, pgy_error *err)
{
    pgy_tensor_map *feed = NULL;
    pgy_status st = pgy_tensor_map_create(&feed, err);
    for (size_t i = 0; !st && i < g->input_count; i++) {
        pgy_tensor *v = pgy_tensor_map_find(values, g->inputs[i]->name);
        st = v ? pgy_tensor_map_set(feed, g->inputs[i]->name, v, err)
               : pgy_error_set(err, PGY_E_NOT_FOUND, "input '%s': no value was recorded",
                               g->inputs[i]->name);
    }
    if (st)
        pgy_tensor_map_destroy(feed);
    else
        *out = feed;
    return st;
}

pgy_status part_set_feeds(candidate_part *p, pgy_tensor_map *const *values, size_t count,
                          pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    p->feeds = mem_calloc(count + 1, sizeof *p->feeds);
    if (!p->feeds) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for samples");
    p->count = count;
    pgy_status st = pgy_gs_import(&g, p->model, err);
    for (size_t i = 0; !st && i < count; i++) st = make_feed(&p->feeds[i], g, values[i], err);
    pgy_gs_destroy(g);
    return st;
}

/* ---- Recording ------------------------------------------------------------------------------ */

/* Runs have no values of Constant nodes. */
static bool is_constant(const pgy_gs_node *n)
{
    return strcmp(n->op, "Constant") == 0 && !n->input_count;
}

static bool has_only_constants(const pgy_gs_graph *g)
{
    for (size_t i = 0; i < g->node_count; i++)
        if (!is_constant(g->nodes[i])) return false;
    return true;
}

/* The inputs alone. */
static pgy_status copy_feed(pgy_tensor_map **out, const pgy_tensor_map *feed, pgy_error *err)
{
    pgy_tensor_map *copy = NULL;
    pgy_status st = pgy_tensor_map_create(&copy, err);
    for (size_t i = 0; !st && i < pgy_tensor_map_count(feed); i++)
        st =
            pgy_tensor_map_set(copy, pgy_tensor_map_name(feed, i), pgy_tensor_map_at(feed, i), err);
    if (st)
        pgy_tensor_map_destroy(copy);
    else
        *out = copy;
    return st;
}

static pgy_status record(pgy_tensor_map **out, pgy_model *model, const pgy_tensor_map *feed,
                         const char *backend, pgy_error *err)
{
    pgy_record_options o = {.size = sizeof o, .all = true, .backend = backend};
    const pgy_tensor_map *const list[] = {feed};
    pgy_status st = pgy_list_loader_create(&o.data, list, 1, err);
    if (!st) st = pgy_record(out, model, &o, err);
    pgy_data_loader_destroy(o.data);
    return st;
}

pgy_status part_source_init(part_source *s, pgy_model *model, const judge_samples *samples,
                            const char *backend, pgy_error *err)
{
    part_source made = {.values = mem_calloc(samples->count + 1, sizeof *made.values)};
    if (!made.values) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for samples");
    pgy_status st = pgy_gs_import(&made.whole, model, err);
    const bool runs = !st && !has_only_constants(made.whole);
    for (size_t i = 0; !st && i < samples->count; i++) {
        st = runs ? record(&made.values[i], model, samples->feeds[i], backend, err)
                  : copy_feed(&made.values[i], samples->feeds[i], err);
        if (st && st != PGY_E_CANCELLED)
            st = pgy_error_prefix(
                err, st, "the values inside the model cannot be recorded (sample %zu): ", i);
        made.samples = i + 1;
    }
    if (st)
        part_source_deinit(&made);
    else
        *s = made;
    return st;
}

void part_source_deinit(part_source *s)
{
    for (size_t i = 0; s->values && i < s->samples; i++) pgy_tensor_map_destroy(s->values[i]);
    mem_free(s->values);
    pgy_gs_destroy(s->whole);
    *s = (part_source){0};
}

/* ---- Cutting -------------------------------------------------------------------------------- */

/* Declares what was recorded; false: nothing was, so the tensor cannot be a border. */
static pgy_status declare(bool *known, pgy_gs_tensor *t, const part_source *s, pgy_error *err)
{
    const pgy_tensor *v = pgy_tensor_map_find(s->values[0], t->name);
    pgy_dim dims[PGY_MAX_RANK];
    *known = v != NULL;
    if (!v) return PGY_OK;
    const size_t rank = pgy_tensor_rank(v);
    for (size_t d = 0; d < rank; d++) {
        bool same = true; /* samples of different sizes leave the dimension open */
        for (size_t i = 1; i < s->samples; i++) {
            const pgy_tensor *o = pgy_tensor_map_find(s->values[i], t->name);
            same &=
                o && pgy_tensor_rank(o) == rank && pgy_tensor_shape(o)[d] == pgy_tensor_shape(v)[d];
        }
        dims[d] = (pgy_dim){same ? pgy_tensor_shape(v)[d] : -1, NULL};
    }
    return pgy_gs_set_type(t, pgy_tensor_dtype(v), (int32_t)rank, dims, err);
}

static bool contains(pgy_gs_tensor *const *list, size_t count, const pgy_gs_tensor *t)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == t) return true;
    return false;
}

/* Makes a tensor an input if something reads it and nothing makes it. */
static pgy_status add_input(pgy_gs_graph *g, pgy_gs_tensor *t, const part_source *s, pgy_error *err)
{
    bool known;
    if (t->kind != PGY_GS_VARIABLE || pgy_gs_is_omitted(t) || t->producer_count ||
        contains(g->inputs, g->input_count, t))
        return PGY_OK;
    pgy_status st = declare(&known, t, s, err);
    if (!st && !known)
        st = pgy_error_set(err, PGY_E_NOT_FOUND, "tensor '%s' has no recorded value", t->name);
    return st ? st : pgy_gs_add_graph_input(g, t, err);
}

static pgy_status add_captured(pgy_gs_graph *g, const pgy_gs_node *n, const part_source *s,
                               pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < n->attribute_count; i++)
        for (size_t k = 0; !st && k < n->attributes[i].graph_count; k++) {
            pgy_gs_tensor_list captured = {0};
            st = pgy_gs_foreign_tensors(&captured, n->attributes[i].graphs[k], err);
            for (size_t j = 0; !st && j < captured.count; j++)
                st = add_input(g, captured.items[j], s, err);
            pgy_gs_tensor_list_free(&captured);
        }
    return st;
}

static pgy_status set_inputs(pgy_gs_graph *g, const part_source *s, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->node_count; i++) {
        const pgy_gs_node *n = g->nodes[i];
        for (size_t k = 0; !st && k < n->input_count; k++) st = add_input(g, n->inputs[k], s, err);
        if (!st) st = add_captured(g, n, s, err);
    }
    return st;
}

/* Outputs are those of the whole model, and tensors that no node of the part reads. `constants` are
 * outputs of kept Constants, whose types the whole model declares. */
static pgy_status set_outputs(pgy_gs_graph *g, const part_source *s,
                              const pgy_gs_tensor_list *constants, pgy_error *err)
{
    size_t capacity = g->output_count + 1, count = 0;
    for (size_t i = 0; i < g->node_count; i++) capacity += g->nodes[i]->output_count;
    pgy_gs_tensor **list = mem_calloc(capacity, sizeof *list);
    pgy_status st = PGY_OK;
    if (!list) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a candidate");
    for (size_t i = 0; i < g->node_count; i++)
        for (size_t k = 0; !st && k < g->nodes[i]->output_count; k++) {
            pgy_gs_tensor *t = g->nodes[i]->outputs[k];
            bool known = false;
            if (pgy_gs_is_omitted(t)) continue;
            if (t->consumer_count && !contains(g->outputs, g->output_count, t)) continue;
            if (is_constant(g->nodes[i]))
                known = contains(constants->items, constants->count, t);
            else if (t->type_kind == PGY_VALUE_TENSOR)
                st = declare(&known, t, s, err);
            if (known) list[count++] = t;
        }
    if (!st) st = pgy_gs_set_graph_outputs(g, list, count, err);
    mem_free(list);
    return st;
}

static pgy_status list_constants(pgy_gs_tensor_list *out, const pgy_gs_graph *g, const bool *keep,
                                 pgy_error *err)
{
    out->items = mem_calloc(g->output_count + 1, sizeof(pgy_gs_tensor *));
    if (!out->items) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a candidate");
    for (size_t i = 0; i < g->node_count; i++)
        if (keep[i] && is_constant(g->nodes[i]) && g->nodes[i]->output_count &&
            contains(g->outputs, g->output_count, g->nodes[i]->outputs[0]))
            out->items[out->count++] = g->nodes[i]->outputs[0];
    return PGY_OK;
}

/* Runs have no values of Constants to hand in, so those that a kept node reads stay. */
static pgy_status cut(pgy_gs_graph *g, const part_source *s, const bool *keep, pgy_error *err)
{
    pgy_gs_tensor_list constants = {0};
    pgy_status st = list_constants(&constants, g, keep, err);
    if (st) return st;
    const pgy_gs_cleanup_options clean = {
        .size = sizeof clean, .remove_unused_graph_inputs = true, .keep_subgraphs = true};
    for (size_t i = g->node_count; i-- > 0;)
        if (!keep[i] && !is_constant(g->nodes[i])) pgy_gs_remove_node(g->nodes[i]);
    st = set_inputs(g, s, err);
    if (!st) st = set_outputs(g, s, &constants, err);
    pgy_gs_tensor_list_free(&constants);
    return st || !g->output_count ? st : pgy_gs_cleanup(g, &clean, err);
}

pgy_status part_make(candidate_part *out, const part_source *s, const bool *keep, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    candidate_part made = {0};
    pgy_status st = pgy_gs_copy(&g, s->whole, err);
    if (!st) st = cut(g, s, keep, err);
    if (!st && g->output_count && g->node_count) {
        st = pgy_gs_export(&made.model, g, NULL, err);
        if (!st) st = part_set_feeds(&made, s->values, s->samples, err);
    }
    pgy_gs_destroy(g);
    if (st)
        part_free(&made);
    else
        *out = made;
    return st;
}
