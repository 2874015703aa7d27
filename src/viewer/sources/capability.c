/* SPDX-License-Identifier: Apache-2.0 */
/* The file of `inspect capability --json`: nodes that cannot run, and the parts between them. */
#include <string.h>

#include "viewer/sources/main_nodes.h"

static const view_column COLUMNS[] = {{"node", VIEW_COLUMN_NODE},
                                      {"operator", VIEW_COLUMN_TEXT},
                                      {"inside", VIEW_COLUMN_TEXT},
                                      {"reason", VIEW_COLUMN_TEXT}};
enum { COLUMN_COUNT = 4 };

static bool accept(const char *path, span start, const json_value *json)
{
    (void)path, (void)start;
    const json_value *rows = json_get(json, "unsupported"), *parts = json_get(json, "parts");
    return rows && rows->type == JSON_ARRAY && parts && parts->type == JSON_ARRAY;
}

/* A number of a node; SIZE_MAX: none. */
static size_t place_of(const json_value *object, const char *key)
{
    const json_value *v = json_get(object, key);
    return v && v->type == JSON_INT && v->integer >= 0 ? (size_t)v->integer : SIZE_MAX;
}

static pgy_status add_unsupported(view_table *t, result_file *f, const main_nodes *nodes,
                                  const json_value *v, pgy_error *err)
{
    const char *name = result_text(f, v, "node"), *op = result_text(f, v, "op_type");
    const char *trace = result_text(f, v, "trace"), *reason = result_text(f, v, "reason");
    const size_t index = place_of(v, "index");
    if (index >= nodes->count || !reason)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "line %u: a node needs 'reason', and 'index' below %zu", v->line,
                             nodes->count);
    /* Nodes of bodies have names that may come up again elsewhere; the node around them is known.
     */
    const uint32_t outer = nodes->items[index];
    const bool is_inside = trace && *trace;
    const view_cell cells[COLUMN_COUNT] = {cell_ref(outer, name ? name : ""), cell_text(op),
                                           cell_text(is_inside ? trace : NULL), cell_text(reason)};
    pgy_status st = view_table_row(f->results, t, cells, err);
    if (st) return st;
    return result_mark(f, VIEW_OF_NODE, outer, VIEW_MARK_UNSUPPORTED, err, "%s%s%s",
                       is_inside ? trace : "", is_inside ? ": " : "", reason);
}

static pgy_status add_part(result_file *f, const main_nodes *nodes, const json_value *v,
                           pgy_error *err)
{
    const size_t first = place_of(v, "first"), end = place_of(v, "end");
    const char *support = result_bool(v, "supported") ? "supported" : "unsupported";
    pgy_status st = PGY_OK;
    if (first > end || end > nodes->count)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "line %u: a part ends behind the last node; '%s' has %zu nodes: the "
                             "file is of another model",
                             v->line, f->graph->name, nodes->count);
    for (size_t i = first; i < end && !st; i++)
        st = result_set_category(f, known_quantity_like(Q_SUPPORT), nodes->items[i], support, err);
    return st;
}

static pgy_status add_all(result_file *f, const main_nodes *nodes, pgy_error *err)
{
    const json_value *rows = json_get(f->json.root, "unsupported");
    const json_value *parts = json_get(f->json.root, "parts");
    view_table *t = NULL;
    str text = {0};
    pgy_status st = PGY_OK;
    for (const json_value *v = parts->first; v && !st; v = v->next) st = add_part(f, nodes, v, err);
    if (!st)
        st = result_table(&t, f, "capability", "Nodes that cannot run", COLUMNS, COLUMN_COUNT, err);
    for (const json_value *v = rows->first; v && !st; v = v->next)
        st = add_unsupported(t, f, nodes, v, err);
    if (rows->count)
        str_printf(&text, "%zu nodes cannot run", rows->count);
    else
        str_append(&text, "all nodes can run");
    if (!st) st = result_judge(f, !rows->count, false, str_text(&text), err);
    str_deinit(&text);
    return st ? st : result_summary(f, "Capability", "parts", err, "%zu", parts->count);
}

static pgy_status add(pgy_page *p, const char *path, pgy_error *err)
{
    result_file f;
    main_nodes nodes = {0};
    pgy_status st = result_open_json(&f, p, path, err);
    if (!st) st = main_nodes_list(&nodes, f.graph, err);
    if (!st) st = add_all(&f, &nodes, err);
    main_nodes_deinit(&nodes);
    result_close(&f);
    return st;
}

const view_source view_source_capability = {
    "capability", "what can run (inspect capability --json)", accept, add};
