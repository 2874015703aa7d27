/* SPDX-License-Identifier: Apache-2.0 */
/* The report of `inspect diff --json`: marks and rows of what changed, without the second model. */
#include <string.h>

#include "base/alloc.h"
#include "viewer/diff.h"
#include "viewer/sources/result_file.h"

typedef struct diff_reader {
    result_file file;
    view_side side; /* of graph A */
    arena memory;
    view_table *table;
    uint32_t added, renamed;
} diff_reader;

static bool accept(const char *path, span start, const json_value *json)
{
    (void)path, (void)start;
    const json_value *summary = json_get(json, "summary"), *list = json_get(json, "differences");
    return list && list->type == JSON_ARRAY && json_get(summary, "nodes_matched");
}

/* ---- Entries --------------------------------------------------------------------------------- */

static int place_of(const char *name, const char *(*name_at)(int), int count)
{
    for (int i = 0; name && i < count; i++)
        if (strcmp(name_at(i), name) == 0) return i;
    return -1;
}

static const char *part_at(int i)
{
    return pgy_diff_part_name((pgy_diff_part)i);
}

static const char *change_at(int i)
{
    return pgy_diff_change_name((pgy_diff_change)i);
}

static const char *text_or_empty(result_file *f, const json_value *v, const char *key)
{
    const char *text = result_text(f, v, key);
    return text ? text : "";
}

static void read_weight(result_file *f, const json_value *v, pgy_weight_change *out)
{
    const double elements = result_number(v, "elements"), changed = result_number(v, "changed");
    *out = (pgy_weight_change){.compared = result_bool(v, "compared"),
                               .why_not = result_text(f, v, "why_not"),
                               .count = elements >= 0 && elements < 1e18 ? (uint64_t)elements : 0,
                               .changed = changed >= 0 && changed < 1e18 ? (uint64_t)changed : 0,
                               .max_abs = result_number(v, "max_abs"),
                               .snr_db = result_number(v, "snr_db")};
}

/* False: an entry of a kind that this version does not know. */
static bool read_entry(result_file *f, const json_value *v, pgy_difference *out,
                       pgy_weight_change *weight)
{
    const int part = place_of(result_text(f, v, "part"), part_at, PGY_DIFF_PART_COUNT);
    const int change = place_of(result_text(f, v, "change"), change_at, PGY_DIFF_CHANGE_COUNT);
    if (part < 0 || change < 0) return false;
    const json_value *values = json_get(v, "weight");
    if (values) read_weight(f, values, weight);
    *out = (pgy_difference){.part = (pgy_diff_part)part,
                            .change = (pgy_diff_change)change,
                            .path = text_or_empty(f, v, "path"),
                            .name = text_or_empty(f, v, "name"),
                            .new_name = result_text(f, v, "new_name"),
                            .op_type = text_or_empty(f, v, "op_type"),
                            .field = text_or_empty(f, v, "field"),
                            .before = result_text(f, v, "before"),
                            .after = result_text(f, v, "after"),
                            .weight = values ? weight : NULL};
    return true;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* The node of an entry: of its name, or of the output in "(makes t)". */
static uint32_t node_named(diff_reader *r, const char *name)
{
    static const char MAKES[] = "(makes ";
    if (strncmp(name, MAKES, sizeof MAKES - 1) != 0) return result_node(&r->file, name);
    const char *from = name + sizeof MAKES - 1;
    char *output = arena_strndup(&r->memory, from, strcspn(from, ",)"));
    const uint32_t t = output ? view_graph_tensor(r->file.graph, output) : VIEW_NONE;
    const uint32_t node = t == VIEW_NONE ? VIEW_NONE : r->file.graph->tensors[t].producer;
    *(node == VIEW_NONE ? &r->file.missing : &r->file.found) += 1;
    return node;
}

/* The first node of an entry that A has; VIEW_NONE: none. A weight's nodes are those that read it.
 */
static uint32_t node_of(diff_reader *r, const pgy_difference *e, uint32_t *tensor)
{
    *tensor = VIEW_NONE;
    if (e->change == PGY_DIFF_ADDED && e->part != PGY_DIFF_ATTRIBUTE) return VIEW_NONE;
    if (e->part == PGY_DIFF_NODE || e->part == PGY_DIFF_ATTRIBUTE) return node_named(r, e->name);
    if (e->part < PGY_DIFF_INPUT) return VIEW_NONE;
    const view_graph *g = r->file.graph;
    const uint32_t t = view_graph_tensor(g, e->name);
    if (t == VIEW_NONE) return VIEW_NONE;
    if (g->tensors[t].producer != VIEW_NONE) return g->tensors[t].producer;
    *tensor = t;
    const uint32_t first = r->side.use_start[t];
    return first < r->side.use_start[t + 1] ? r->side.uses[first] : VIEW_NONE;
}

static void set_change(diff_reader *r, uint32_t node, view_change change)
{
    if (node != VIEW_NONE && r->side.change[node] < change) r->side.change[node] = change;
}

static pgy_status mark_node(diff_reader *r, uint32_t node, const pgy_difference *e,
                            const view_diff_row *row, pgy_error *err)
{
    const bool removed = e->part == PGY_DIFF_NODE && e->change == PGY_DIFF_REMOVED;
    if (node == VIEW_NONE || (!removed && !view_is_own_change(e))) return PGY_OK;
    set_change(r, node, removed ? VIEW_REMOVED : VIEW_CHANGED);
    if (removed)
        return result_mark(&r->file, VIEW_OF_NODE, node, VIEW_MARK_REMOVED, err,
                           "only in the first model");
    str text = {0};
    view_diff_tell(&text, row->what, row->before, row->after);
    const pgy_status st =
        result_mark(&r->file, VIEW_OF_NODE, node, VIEW_MARK_CHANGED, err, "%s", str_text(&text));
    str_deinit(&text);
    return st;
}

static pgy_status mark_nodes(diff_reader *r, uint32_t node, uint32_t tensor,
                             const pgy_difference *e, const view_diff_row *row, pgy_error *err)
{
    if (tensor == VIEW_NONE) return mark_node(r, node, e, row, err);
    pgy_status st = PGY_OK;
    for (uint32_t u = r->side.use_start[tensor]; !st && u < r->side.use_start[tensor + 1]; u++)
        st = mark_node(r, r->side.uses[u], e, row, err);
    return st;
}

static pgy_status add_entry(diff_reader *r, const pgy_difference *e, pgy_error *err)
{
    str what = {0}, after = {0};
    uint32_t tensor;
    if (e->change == PGY_DIFF_STORED) return PGY_OK;
    const uint32_t node = node_of(r, e, &tensor);
    view_diff_what(&what, e);
    view_diff_after(&after, e);
    const bool renamed = e->change == PGY_DIFF_RENAMED;
    const view_diff_row row = {.node = node,
                               .name = e->part >= PGY_DIFF_INPUT ? e->name : NULL,
                               .op = e->op_type,
                               .change = pgy_diff_change_name(e->change),
                               .what = str_text(&what),
                               .before = view_diff_before(e),
                               .after = str_text(&after)};
    pgy_status st = PGY_OK;
    if (what.failed || after.failed)
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while differences are read");
    if (!st && (!renamed || ++r->renamed <= VIEW_RENAMED_LIMIT))
        st = view_diff_add_row(r->file.results, r->table, &row, err);
    if (!st) st = mark_nodes(r, node, tensor, e, &row, err);
    str_deinit(&what);
    str_deinit(&after);
    return st;
}

/* ---- The whole file -------------------------------------------------------------------------- */

static pgy_status read_entries(diff_reader *r, pgy_error *err)
{
    size_t unknown = 0;
    pgy_status st = PGY_OK;
    const json_value *list = json_get(r->file.json.root, "differences");
    for (const json_value *v = list->first; v && !st; v = v->next) {
        pgy_difference e;
        pgy_weight_change weight;
        if (!read_entry(&r->file, v, &e, &weight)) {
            unknown++;
            continue;
        }
        r->added += e.part == PGY_DIFF_NODE && e.change == PGY_DIFF_ADDED;
        st = add_entry(r, &e, err);
    }
    if (!st && unknown)
        st = result_warn(&r->file, err, "%zu differences are of unknown kinds: left out", unknown);
    return st;
}

static pgy_status add_quantity(diff_reader *r, uint32_t counts[VIEW_CHANGE_COUNT], pgy_error *err)
{
    view_quantity *q = NULL;
    const pgy_status st = view_change_quantity(&q, r->file.results, r->file.graph, 0, err);
    for (uint32_t i = 0; !st && i < q->count; i++) {
        view_quantity_set(q, i, r->side.change[i]);
        if (r->file.graph->nodes[i].kind == VIEW_NODE) counts[r->side.change[i]]++;
    }
    return st;
}

static pgy_status summarise(diff_reader *r, pgy_error *err)
{
    uint32_t counts[VIEW_CHANGE_COUNT] = {0};
    const json_value *root = r->file.json.root;
    const bool equal = result_bool(root, "equal");
    pgy_status st = add_quantity(r, counts, err);
    str text = {0};
    if (equal)
        str_append(&text, "The two models are equal");
    else
        str_printf(&text, "%u changed, %u added, %u removed; %u the same", counts[VIEW_CHANGED],
                   r->added, counts[VIEW_REMOVED], counts[VIEW_SAME]);
    for (int i = 0; i < 2 && !st; i++) {
        const char *side = i ? "after" : "before";
        const char *path = result_text(&r->file, json_get(root, side), "path");
        if (path) st = result_summary(&r->file, "Comparison", side, err, "%s", path);
    }
    if (!st) st = result_summary(&r->file, "Comparison", "nodes", err, "%s", str_text(&text));
    if (!st) st = result_judge(&r->file, equal, false, str_text(&text), err);
    str_deinit(&text);
    return st;
}

static pgy_status read_all(diff_reader *r, pgy_error *err)
{
    if (!view_side_init(&r->side, r->file.graph, &r->memory))
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory while differences are read");
    pgy_status st = view_diff_table(&r->table, r->file.results, 0, err);
    if (!st) st = read_entries(r, err);
    if (!st) st = summarise(r, err);
    return st ? st : result_end(&r->file, "nodes", err);
}

static pgy_status add(pgy_page *p, const char *path, pgy_error *err)
{
    diff_reader r = {.table = NULL};
    pgy_status st = result_open_json(&r.file, p, path, err);
    if (!st && p->graph_count > 1)
        st = result_warn(&r.file, err, "the page has both models, and compares them itself");
    else if (!st)
        st = read_all(&r, err);
    result_close(&r.file);
    arena_deinit(&r.memory);
    return st;
}

const view_source view_source_diff = {"diff", "differences of inspect diff --json", accept, add};
