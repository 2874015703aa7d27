/* SPDX-License-Identifier: Apache-2.0 */
/* Both sides run a body on the same inputs, those that the reference recorded, so an error of one
 * iteration is not one of the iterations before. Bodies inside a body are found when it is
 * compared.
 */
#include "where/inside.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "base/sized.h"
#include "where/noise_walk.h"

static const char LOG_PATH[] = "where/inside.c";

static bool repeats(const pgy_node *n)
{
    return node_is(n, "Loop") || node_is(n, "Scan") || node_is(n, "SequenceMap");
}

/* ---- Finding bodies -------------------------------------------------------------------------- */

/* The first row of a node's tensors; SIZE_MAX: none is compared. */
static size_t row_of_node(const pgy_where_report *r, const pgy_node *n)
{
    for (size_t i = 0; i < r->rows.count; i++)
        for (size_t k = 0; k < n->output_count; k++)
            if (n->outputs[k] && !strcmp(r->rows.items[i].line.name, n->outputs[k]->name)) return i;
    return SIZE_MAX;
}

static pgy_status cut_body(pgy_cut **out, pgy_model *model, const pgy_node *n, size_t k,
                           pgy_error *err)
{
    str path = {0};
    str_printf(&path, "%s/%s", node_label(n), n->subgraph_names[k]);
    const pgy_cut_selection what = {.size = sizeof what, .subgraph = str_text(&path)};
    const pgy_status st =
        path.failed ? graph_no_memory(err) : pgy_cut_create(out, model, &what, err);
    str_deinit(&path);
    return st;
}

static bool reads_same(const pgy_cut *a, const pgy_cut *b)
{
    size_t count_a, count_b, found = 0;
    const char *const *in_a = pgy_cut_inputs(a, &count_a), *const *in_b =
                                                               pgy_cut_inputs(b, &count_b);
    for (size_t i = 0; i < count_a; i++)
        for (size_t k = 0; k < count_b; k++) found += !strcmp(in_a[i], in_b[k]);
    return count_a == count_b && found == count_a;
}

static pgy_status cut_both(body *b, const inside_search *s, pgy_error *err)
{
    pgy_status st = cut_body(&b->cut_b, s->b->model, b->other, b->subgraph, err);
    if (!st && s->a->model == s->b->model)
        b->cut_a = b->cut_b;
    else if (!st)
        st = cut_body(&b->cut_a, s->a->model, b->node, b->subgraph, err);
    if (st) return st;
    b->names = pgy_cut_inputs(b->cut_a, &b->name_count);
    if (!reads_same(b->cut_a, b->cut_b)) b->why = "the sides read different tensors in it";
    return PGY_OK;
}

static void note(const inside_search *s, size_t row, const char *format, const char *why)
{
    where_row *r = &s->report->rows.items[row];
    const char *text = arena_printf(&s->report->memory, format, why);
    if (text && !r->line.note[0]) r->line.note = text;
}

static pgy_status add_body(body_list *list, const inside_search *s, const pgy_node *n, size_t k,
                           size_t row, pgy_error *err)
{
    const pgy_node *other = where_row_node(&s->report->rows.items[row]);
    if (!n->subgraphs[k]->node_count || !other || strcmp(other->op_type, n->op_type) ||
        other->subgraph_count != n->subgraph_count)
        return PGY_OK;
    body *items = mem_realloc(list->items, (list->count + 1) * sizeof *items);
    if (!items) return graph_no_memory(err);
    list->items = items;
    body *b = &items[list->count++];
    pgy_error why = {0};
    *b = (body){.node = n, .graph = n->subgraphs[k], .subgraph = k, .other = other, .row = row};
    const pgy_status st = cut_both(b, s, &why);
    if (status_ends_all(st)) return pgy_error_set(err, st, "%s", why.text);
    if (st) b->why = arena_strdup(&s->report->memory, why.text);
    if (st && !b->why) b->why = "it cannot be cut out";
    return PGY_OK;
}

static pgy_status find_bodies(body_list *list, const inside_search *s, const pgy_graph *g,
                              pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_node *n = g->nodes[i];
        const size_t row = n->subgraph_count ? row_of_node(s->report, n) : SIZE_MAX;
        for (size_t k = 0; !st && row != SIZE_MAX && k < n->subgraph_count; k++)
            st = add_body(list, s, n, k, row, err);
    }
    return st;
}

/* ---- Comparing a body ------------------------------------------------------------------------ */

/* Inputs whose shape is the same in all runs; the shapes of others come from inference. */
static pgy_status fixed_inputs(pgy_tensor_map **out, const body *b, pgy_error *err)
{
    pgy_status st = pgy_tensor_map_create(out, err);
    for (size_t i = 0; !st && i < b->name_count; i++) {
        pgy_tensor *first = pgy_tensor_map_find(b->feeds[0], b->names[i]);
        bool same = first != NULL;
        for (size_t k = 1; same && k < b->count; k++) {
            const pgy_tensor *t = pgy_tensor_map_find(b->feeds[k], b->names[i]);
            same = pgy_view_same_shape(pgy_tensor_view(first), pgy_tensor_view(t));
        }
        if (same) st = pgy_tensor_map_set(*out, b->names[i], first, err);
    }
    return st;
}

/* A side that runs the body, with the parts of its settings that are not about the whole model. */
typedef struct body_side {
    pgy_where_side side;
    pgy_build_config config;
    pgy_calibration calibration;
    pgy_data_loader *data;
} body_side;

static pgy_status make_side(body_side *out, const pgy_where_side *whole, pgy_model *part,
                            const body *b, pgy_error *err)
{
    pgy_status st = PGY_OK;
    out->side = *whole;
    out->side.model = part;
    if (!pgy_backend_has(whole->backend, PGY_BACKEND_BUILDS_PLANS)) return PGY_OK;
    out->side.options = NULL; /* files for the plan, its profile */
    out->config = (pgy_build_config){.size = sizeof out->config};
    if (whole->config) st = SIZED_TAKE(pgy_build_config, &out->config, whole->config, err);
    out->config.profiles = NULL, out->config.profile_count = 0;
    out->config.save_tactics = out->config.save_quantized = NULL;
    out->config.debug_tensors = (pgy_name_list){0};
    out->side.config = &out->config;
    if (st || !out->config.calibration) return st;
    out->calibration = (pgy_calibration){.size = sizeof out->calibration};
    st = SIZED_TAKE(pgy_calibration, &out->calibration, out->config.calibration, err);
    if (!st)
        st = pgy_list_loader_create(&out->data, (const pgy_tensor_map *const *)b->feeds, b->count,
                                    err);
    out->calibration.cache = NULL;
    out->calibration.data = out->data;
    out->config.calibration = &out->calibration;
    return st;
}

static pgy_status compare_models(pgy_where_report **out, const inside_search *s, const body *b,
                                 pgy_model *part_a, pgy_model *part_b, pgy_error *err)
{
    pgy_where_options o = *s->options;
    body_side sides[2] = {{.data = NULL}};
    pgy_data_loader *data = NULL;
    o.shapes = NULL;
    o.max_memory = s->budget;
    pgy_status st =
        pgy_list_loader_create(&data, (const pgy_tensor_map *const *)b->feeds, b->count, err);
    if (!st) st = make_side(&sides[0], s->a, part_a, b, err);
    if (!st) st = make_side(&sides[1], s->b, part_b, b, err);
    o.data = data;
    if (!st) st = s->compare(out, &sides[0].side, &sides[1].side, &o, err);
    for (size_t i = 0; i < 2; i++) pgy_data_loader_destroy(sides[i].data);
    pgy_data_loader_destroy(data);
    return st;
}

static pgy_status compare_body(pgy_where_report **out, const inside_search *s, const body *b,
                               pgy_error *err)
{
    pgy_tensor_map *inputs = NULL;
    pgy_model *part_a = NULL, *part_b = NULL;
    pgy_status st = fixed_inputs(&inputs, b, err);
    if (!st) st = pgy_cut_model(&part_b, b->cut_b, inputs, NULL, err);
    if (!st && b->cut_a != b->cut_b) st = pgy_cut_model(&part_a, b->cut_a, inputs, NULL, err);
    if (!st && !part_a) part_a = pgy_model_retain(part_b);
    if (!st)
        LOG(VERBOSE, "Comparing the body %s of node %s: %zu runs",
            b->node->subgraph_names[b->subgraph], node_label(b->node), b->count);
    if (!st) st = compare_models(out, s, b, part_a, part_b, err);
    pgy_model_destroy(part_a);
    pgy_model_destroy(part_b);
    pgy_tensor_map_destroy(inputs);
    return st;
}

/* ---- The ledger ------------------------------------------------------------------------------ */

static const char *path_of(const inside_search *s, const pgy_node *n, uint64_t iteration,
                           const char *name)
{
    return repeats(n) ? arena_printf(&s->report->memory, "%s/iter_%llu/%s", node_label(n),
                                     (unsigned long long)iteration, name)
                      : arena_printf(&s->report->memory, "%s/%s", node_label(n), name);
}

static const char *key_of(const inside_search *s, const pgy_node *n, size_t subgraph,
                          const char *key, const char *name)
{
    return arena_printf(&s->report->memory, "%s/%s/%s", node_label(n), n->subgraph_names[subgraph],
                        key ? key : name);
}

/* The iterations of the loops around a tensor, outermost first. */
static bool put_iterations(const inside_search *s, const body *b, pgy_where_tensor *t,
                           uint64_t iteration)
{
    if (!repeats(b->node)) return true;
    int64_t *list = arena_alloc_array(&s->report->memory, t->iteration_count + 1, sizeof *list);
    if (!list) return false;
    list[0] = (int64_t)iteration;
    for (size_t i = 0; i < t->iteration_count; i++) list[i + 1] = t->iterations[i];
    t->iterations = list;
    t->iteration_count++;
    return true;
}

/* Gives a tensor of a body its name and node in the model, such as loop_3/iter_12/x. */
static pgy_status rename_row(where_row *r, const inside_search *s, const body *b, pgy_error *err)
{
    pgy_where_tensor *t = &r->line;
    const body_run run = b->runs[t->sample < b->count ? t->sample : 0];
    r->key = key_of(s, b->node, b->subgraph, r->key, t->name);
    r->other_key = key_of(s, b->other, b->subgraph, r->other_key, t->other_name);
    t->name = path_of(s, b->node, run.iteration, t->name);
    t->other_name = path_of(s, b->other, run.iteration, t->other_name);
    t->node = arena_printf(&s->report->memory, "%s/%s/%s", node_label(b->other),
                           b->other->subgraph_names[b->subgraph], t->node);
    t->sample = run.sample;
    r->a = r->b = NULL;
    r->is_output = false;
    r->inside = true;
    const bool kept = put_iterations(s, b, t, run.iteration);
    const bool named = t->name && t->other_name && t->node && r->key && r->other_key;
    return kept && named ? PGY_OK : graph_no_memory(err);
}

/* What starts inside a node is not started by the node. */
static void blame_inside(const inside_search *s, const body *b)
{
    const pgy_where_report *r = s->report;
    for (size_t i = b->row; i < r->rows.count; i++) {
        where_row *row = &r->rows.items[i];
        if (where_row_node(row) != b->other || !row->line.starts) continue;
        row->line.starts = false;
        note(s, i, "%s starts inside the node", "its error");
    }
}

/* Keeps the report of a body, whose texts the rows borrow. */
static bool adopt(pgy_where_report *whole, pgy_where_report *part)
{
    void *items = whole->inner;
    const bool grown =
        mem_grow(&items, &whole->inner_capacity, whole->inner_count + 1, sizeof *whole->inner);
    whole->inner = items;
    if (grown) whole->inner[whole->inner_count++] = part;
    return grown;
}

/* Is it a tensor of the body? Its model also has nodes outside that depend on weights only. */
static bool belongs(const where_row *r, const body *b)
{
    return r->inside || pgy_graph_find_value(b->other->subgraphs[b->subgraph], r->line.other_name);
}

static pgy_status insert(const inside_search *s, const body *b, pgy_where_report *part,
                         where_rows *into, pgy_error *err)
{
    pgy_status st = PGY_OK;
    bool starts = false;
    if (!adopt(s->report, part)) {
        pgy_where_report_destroy(part);
        return graph_no_memory(err);
    }
    for (size_t i = 0; !st && i < part->rows.count; i++) {
        where_row *r = &part->rows.items[i];
        if (!belongs(r, b)) continue;
        if (!mem_grow((void **)&into->items, &into->capacity, into->count + 1, sizeof *into->items))
            return graph_no_memory(err);
        st = rename_row(r, s, b, err);
        starts |= r->line.starts;
        into->items[into->count++] = *r;
    }
    if (starts) blame_inside(s, b);
    if (b->full) note(s, b->row, "%s of its body were compared", "only the first iterations");
    return st;
}

/* Compares a body, unless something is in the way, and puts its rows into `into`. */
static pgy_status visit(const inside_search *s, const body *b, where_rows *into, pgy_error *err)
{
    pgy_where_report *part = NULL;
    pgy_error why = {0};
    if (b->why) note(s, b->row, "its body was not compared: %s", b->why);
    if (b->why || !b->count) return PGY_OK;
    const pgy_status st = compare_body(&part, s, b, &why);
    if (!st) return insert(s, b, part, into, err);
    pgy_where_report_destroy(part);
    if (status_ends_all(st)) return pgy_error_set(err, st, "%s", why.text);
    note(s, b->row, "its body was not compared: %s", why.text);
    return PGY_OK;
}

static pgy_status merge(const inside_search *s, const body_list *list, pgy_error *err)
{
    where_rows *rows = &s->report->rows, all = {0};
    pgy_status st = PGY_OK;
    /* notes are written to the old rows before these are copied */
    for (size_t i = 0; !st && i < rows->count; i++) {
        for (size_t k = 0; !st && k < list->count; k++)
            if (list->items[k].row == i) st = visit(s, &list->items[k], &all, err);
        if (!st && !mem_grow((void **)&all.items, &all.capacity, all.count + 1, sizeof *all.items))
            st = graph_no_memory(err);
        if (!st) all.items[all.count++] = rows->items[i];
    }
    if (st) {
        mem_free(all.items);
        return st;
    }
    where_rows_deinit(rows);
    *rows = all;
    return PGY_OK;
}

/* ---- All bodies ------------------------------------------------------------------------------ */

static bool has_bodies(const inside_search *s)
{
    for (size_t i = 0; i < s->report->rows.count; i++) {
        const pgy_node *n = where_row_node(&s->report->rows.items[i]);
        if (n && n->subgraph_count) return true;
    }
    return false;
}

static void note_all(const inside_search *s, const char *why)
{
    for (size_t i = 0; i < s->report->rows.count; i++) {
        const pgy_node *n = where_row_node(&s->report->rows.items[i]);
        if (n && n->subgraph_count) note(s, i, "its body was not compared: %s", why);
    }
}

static pgy_status look_inside(const inside_search *s, noise_walk *walk, pgy_error *err)
{
    body_list list = {.max_bytes = s->budget / 2};
    pgy_error why = {0};
    pgy_status st = find_bodies(&list, s, walk->graph, err);
    const pgy_status recorded =
        st || !list.count ? PGY_OK : bodies_record(&list, walk, s->feeds, s->feed_count, &why);
    if (status_ends_all(recorded))
        st = pgy_error_set(err, recorded, "%s", why.text);
    else if (recorded)
        note_all(s, why.text);
    if (!st && !recorded) st = merge(s, &list, err);
    for (size_t i = 0; i < list.count; i++) body_deinit(&list.items[i]);
    mem_free(list.items);
    return st;
}

pgy_status where_inside(const inside_search *s, pgy_error *err)
{
    noise_walk walk = {0};
    pgy_error why = {0};
    if (!has_bodies(s)) return PGY_OK;
    if (!s->a->backend || !s->b->backend || !s->a->model || !s->b->model) {
        note_all(s, "stored results and plans have no model to take it from");
        return PGY_OK;
    }
    pgy_status st = noise_walk_init(&walk, s->a->model, &why);
    walk.max_steps = s->options->max_steps;
    walk.limit = "where_options.max_steps";
    if (status_ends_all(st)) return pgy_error_set(err, st, "%s", why.text);
    if (st) {
        note_all(s, why.text);
        return PGY_OK;
    }
    st = look_inside(s, &walk, err);
    noise_walk_deinit(&walk);
    return st;
}
