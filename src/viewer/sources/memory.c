/* SPDX-License-Identifier: Apache-2.0 */
/* The file of `inspect memory --json`: bytes that are alive while each node runs. */
#include <string.h>

#include "viewer/sources/main_nodes.h"

static const view_column COLUMNS[] = {{"node", VIEW_COLUMN_NODE},
                                      {"operator", VIEW_COLUMN_TEXT},
                                      {"alive", VIEW_COLUMN_BYTES},
                                      {"inside its graphs", VIEW_COLUMN_BYTES}};
static const view_column TENSOR_COLUMNS[] = {{"tensor", VIEW_COLUMN_TENSOR},
                                             {"size", VIEW_COLUMN_BYTES},
                                             {"made by", VIEW_COLUMN_NODE},
                                             {"last read by", VIEW_COLUMN_NODE},
                                             {"at the peak", VIEW_COLUMN_TEXT}};
enum { COLUMN_COUNT = 4, TENSOR_COLUMN_COUNT = 5 };

static bool accept(const char *path, span start, const json_value *json)
{
    (void)path, (void)start;
    const json_value *steps = json_get(json, "steps"), *peak = json_get(json, "peak_bytes");
    return steps && steps->type == JSON_ARRAY && peak && json_get(json, "weight_bytes");
}

static pgy_status add_step(view_table *t, result_file *f, const main_nodes *nodes,
                           const json_value *v, size_t at, size_t count, pgy_error *err)
{
    const char *name = result_text(f, v, "node"), *op = result_text(f, v, "op_type");
    const double bytes = result_number(v, "live_bytes");
    if (!name || isnan(bytes))
        return pgy_error_set(err, PGY_E_FORMAT, "line %u: a step needs 'node' and 'live_bytes'",
                             v->line);
    /* Nodes without a name are known by their place. */
    const bool by_place = !*name && count == nodes->count;
    const uint32_t node = by_place ? result_counted(f, nodes->items[at], "") : result_node(f, name);
    const view_cell cells[COLUMN_COUNT] = {cell_ref(node, name), cell_text(op), cell_number(bytes),
                                           cell_measured(result_number(v, "inner_bytes"))};
    pgy_status st = view_table_row(f->results, t, cells, err);
    return st ? st : result_set(f, Q_LIVE_BYTES, node, bytes, err);
}

static pgy_status add_steps(result_file *f, pgy_error *err)
{
    const json_value *steps = json_get(f->json.root, "steps");
    main_nodes nodes = {0};
    view_table *t = NULL;
    size_t at = 0;
    pgy_status st = main_nodes_list(&nodes, f->graph, err);
    if (!st) st = result_table(&t, f, "memory", "Memory", COLUMNS, COLUMN_COUNT, err);
    for (const json_value *v = steps->first; v && !st; v = v->next, at++)
        st = add_step(t, f, &nodes, v, at, steps->count, err);
    main_nodes_deinit(&nodes);
    return st ? st : result_end(f, "nodes", err);
}

static uint32_t node_named(const result_file *f, const char *name)
{
    return name && *name ? view_graph_node(f->graph, name) : VIEW_NONE;
}

static pgy_status add_tensor(view_table *t, result_file *f, const json_value *v, double peak,
                             pgy_error *err)
{
    const char *name = result_text(f, v, "name"), *maker = result_text(f, v, "producer");
    const char *user = result_text(f, v, "last_user");
    const bool at_peak =
        result_number(v, "first_step") <= peak && result_number(v, "last_step") >= peak;
    if (!name) return pgy_error_set(err, PGY_E_FORMAT, "line %u: a tensor has no 'name'", v->line);
    const view_cell cells[TENSOR_COLUMN_COUNT] = {
        cell_ref(view_graph_tensor(f->graph, name), name),
        cell_measured(result_number(v, "size_bytes")),
        cell_ref(node_named(f, maker), maker && *maker ? maker : NULL),
        cell_ref(node_named(f, user), user && *user ? user : NULL),
        cell_text(at_peak ? "yes" : NULL)};
    return view_table_row(f->results, t, cells, err);
}

static pgy_status add_tensors(result_file *f, pgy_error *err)
{
    const json_value *tensors = json_get(f->json.root, "tensors");
    const double peak = result_number(f->json.root, "peak_step");
    view_table *t = NULL;
    if (!tensors || tensors->type != JSON_ARRAY) return PGY_OK;
    pgy_status st = result_table(&t, f, "lifetimes", "Tensor lives", TENSOR_COLUMNS,
                                 TENSOR_COLUMN_COUNT, err);
    for (const json_value *v = tensors->first; v && !st; v = v->next)
        st = add_tensor(t, f, v, peak, err);
    return st;
}

static pgy_status summarise(result_file *f, pgy_error *err)
{
    static const struct {
        const char *key, *title;
    } ROWS[] = {{"peak_bytes", "peak of activations"},
                {"weight_bytes", "weights"},
                {"input_bytes", "inputs"},
                {"output_bytes", "outputs"}};
    const json_value *root = f->json.root;
    const json_value *peak = json_get(root, "peak_step");
    const json_value *step = peak && peak->type == JSON_INT && peak->integer >= 0
                                 ? json_at(json_get(root, "steps"), (size_t)peak->integer)
                                 : NULL;
    const char *node = result_text(f, step, "node");
    const double unknown = result_number(root, "unknown_count");
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS && !st; i++) {
        const double bytes = result_number(root, ROWS[i].key);
        str text = {0};
        if (!(bytes >= 0 && bytes < 9e18)) continue;
        str_append_bytes(&text, (uint64_t)bytes);
        if (!i && node && *node) str_printf(&text, ", at node '%s'", node);
        st = result_summary(f, "Memory", ROWS[i].title, err, "%s", str_text(&text));
        str_deinit(&text);
    }
    if (!st && unknown > 0)
        st = result_warn(f, err, "%.0f sizes are not known: the peak is larger", unknown);
    return st;
}

static pgy_status add(pgy_page *p, const char *path, pgy_error *err)
{
    result_file f;
    pgy_status st = result_open_json(&f, p, path, err);
    if (!st) st = add_steps(&f, err);
    if (!st) st = add_tensors(&f, err);
    if (!st) st = summarise(&f, err);
    result_close(&f);
    return st;
}

const view_source view_source_memory = {"memory", "memory of a model (inspect memory --json)",
                                        accept, add};
