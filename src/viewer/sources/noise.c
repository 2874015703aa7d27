/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of `where --nan`, `where --headroom` and `where --floor`: what rounding and the range of
 * types do to each tensor. A file may have all three. */
#include <stdio.h>
#include <string.h>

#include "viewer/sources/result_file.h"

static const json_value *member(const json_value *root, const char *key, json_type type)
{
    const json_value *v = json_get(root, key);
    return v && v->type == type ? v : NULL;
}

static bool accept(const char *path, span start, const json_value *json)
{
    (void)path, (void)start;
    return member(json, "model", JSON_STRING) &&
           (member(member(json, "nan", JSON_OBJECT), "origins", JSON_ARRAY) ||
            member(json, "headroom", JSON_ARRAY) || member(json, "floor", JSON_ARRAY));
}

/* Gives the names of a row; PGY_E_FORMAT without a tensor. */
static pgy_status row_names(const char **tensor, const char **node, uint32_t *at, result_file *f,
                            const json_value *v, pgy_error *err)
{
    *tensor = result_text(f, v, "tensor");
    *node = result_text(f, v, "node");
    if (!*tensor)
        return pgy_error_set(err, PGY_E_FORMAT, "line %u: a row of the report has no 'tensor'",
                             v->line);
    *at = result_tensor(f, *tensor);
    return PGY_OK;
}

static uint32_t node_of(const result_file *f, uint32_t tensor, const char *node)
{
    if (tensor != VIEW_NONE && f->graph->tensors[tensor].producer != VIEW_NONE)
        return f->graph->tensors[tensor].producer;
    return node && *node ? view_graph_node(f->graph, node) : VIEW_NONE;
}

/* ---- NaN and infinity ----------------------------------------------------------------------- */

static const view_column NAN_COLUMNS[] = {
    {"tensor", VIEW_COLUMN_TENSOR},  {"node", VIEW_COLUMN_NODE},  {"operator", VIEW_COLUMN_TEXT},
    {"type", VIEW_COLUMN_TEXT},      {"NaN", VIEW_COLUMN_NUMBER}, {"infinite", VIEW_COLUMN_NUMBER},
    {"elements", VIEW_COLUMN_NUMBER}};
enum { NAN_COLUMN_COUNT = sizeof NAN_COLUMNS / sizeof *NAN_COLUMNS };

static pgy_status mark_origin(result_file *f, const json_value *v, uint32_t at, pgy_error *err)
{
    const double nan = result_number(v, "nan_count"), inf = result_number(v, "inf_count");
    const double count = result_number(v, "count");
    pgy_status st = PGY_OK;
    if (nan > 0)
        st = result_mark(f, VIEW_OF_TENSOR, at, VIEW_MARK_NAN, err,
                         "%.0f of %.0f elements become NaN here", nan, count);
    if (!st && inf > 0)
        st = result_mark(f, VIEW_OF_TENSOR, at, VIEW_MARK_INF, err,
                         "%.0f of %.0f elements become infinite here", inf, count);
    if (!st && (nan > 0 || inf > 0))
        st = result_set(f, Q_STATE, at, nan > 0 ? HEALTH_NAN : HEALTH_INF, err);
    return st;
}

static pgy_status add_origin(view_table *t, result_file *f, const json_value *v, bool is_first,
                             pgy_error *err)
{
    const char *tensor, *node;
    uint32_t at;
    pgy_status st = row_names(&tensor, &node, &at, f, v, err);
    if (st) return st;
    const view_cell cells[NAN_COLUMN_COUNT] = {cell_ref(at, tensor),
                                               cell_ref(node_of(f, at, node), node),
                                               cell_text(result_text(f, v, "op_type")),
                                               cell_text(result_text(f, v, "dtype")),
                                               cell_measured(result_number(v, "nan_count")),
                                               cell_measured(result_number(v, "inf_count")),
                                               cell_measured(result_number(v, "count"))};
    st = view_table_row(f->results, t, cells, err);
    if (!st) st = mark_origin(f, v, at, err);
    if (st || !is_first) return st;
    char text[300];
    snprintf(text, sizeof text, "first NaN or infinity: '%.120s' of node '%.120s'", tensor,
             node ? node : "");
    st = result_mark_first(f, node_of(f, at, node), false, text, err);
    return st ? st : result_judge(f, false, false, text, err);
}

static pgy_status add_nan(result_file *f, const json_value *nan, pgy_error *err)
{
    const json_value *origins = member(nan, "origins", JSON_ARRAY);
    view_table *t = NULL;
    if (!origins) return PGY_OK;
    pgy_status st = result_summary(f, "NaN and infinity", "tensors checked", err, "%.0f",
                                   result_number(nan, "checked"));
    if (!st)
        st = result_summary(f, "NaN and infinity", "places where they appear", err, "%.0f",
                            result_number(nan, "total"));
    if (!st && !origins->count) st = result_judge(f, true, false, "no NaN or infinity", err);
    if (!st && origins->count)
        st = result_table(&t, f, "nan", "Where NaN and infinity appear", NAN_COLUMNS,
                          NAN_COLUMN_COUNT, err);
    for (const json_value *v = origins->first; v && !st; v = v->next)
        st = add_origin(t, f, v, v == origins->first, err);
    return st;
}

/* ---- Headroom ------------------------------------------------------------------------------- */

enum { FORMAT_COUNT = 4 };
static const char *const FORMATS[FORMAT_COUNT] = {"float16", "bfloat16", "float8e4m3fn",
                                                  "float8e5m2"};
static const view_column HEADROOM_COLUMNS[] = {{"tensor", VIEW_COLUMN_TENSOR},
                                               {"type", VIEW_COLUMN_TEXT},
                                               {"largest", VIEW_COLUMN_NUMBER},
                                               {"smallest", VIEW_COLUMN_NUMBER},
                                               {"bits in float16", VIEW_COLUMN_NUMBER},
                                               {"bits in bfloat16", VIEW_COLUMN_NUMBER},
                                               {"bits in float8e4m3fn", VIEW_COLUMN_NUMBER},
                                               {"bits in float8e5m2", VIEW_COLUMN_NUMBER},
                                               {"overflows in float16", VIEW_COLUMN_NUMBER},
                                               {"not finite", VIEW_COLUMN_NUMBER}};
enum { HEADROOM_COLUMN_COUNT = sizeof HEADROOM_COLUMNS / sizeof *HEADROOM_COLUMNS };

static pgy_status add_headroom_row(view_table *t, result_file *f, const json_value *v,
                                   pgy_error *err)
{
    const json_value *formats = json_get(v, "formats"), *half = json_get(formats, FORMATS[0]);
    const double overflows = result_number(half, "overflows"), bits = result_number(half, "bits");
    const char *tensor, *node;
    uint32_t at;
    pgy_status st = row_names(&tensor, &node, &at, f, v, err);
    if (st) return st;
    view_cell cells[HEADROOM_COLUMN_COUNT] = {
        cell_ref(at, tensor), cell_text(result_text(f, v, "dtype")),
        cell_measured(result_number(v, "max_abs")), cell_measured(result_number(v, "min_abs"))};
    for (int i = 0; i < FORMAT_COUNT; i++)
        cells[4 + i] = cell_measured(result_number(json_get(formats, FORMATS[i]), "bits"));
    cells[8] = cell_measured(overflows);
    cells[9] = cell_measured(result_number(v, "non_finite"));
    st = view_table_row(f->results, t, cells, err);
    if (!st && !isnan(bits)) st = result_set(f, Q_HEADROOM, at, bits, err);
    if (!st && overflows > 0)
        st = result_mark(f, VIEW_OF_TENSOR, at, VIEW_MARK_FINDING, err,
                         "%.0f of %.0f elements overflow in float16", overflows,
                         result_number(v, "count"));
    return st;
}

/* ---- Noise floor ---------------------------------------------------------------------------- */

static const view_column FLOOR_COLUMNS[] = {
    {"tensor", VIEW_COLUMN_TENSOR},    {"node", VIEW_COLUMN_NODE},
    {"type", VIEW_COLUMN_TEXT},        {"max error", VIEW_COLUMN_NUMBER},
    {"RMS error", VIEW_COLUMN_NUMBER}, {"RMS of values", VIEW_COLUMN_NUMBER},
    {"unknown", VIEW_COLUMN_TEXT}};
enum { FLOOR_COLUMN_COUNT = sizeof FLOOR_COLUMNS / sizeof *FLOOR_COLUMNS };

static pgy_status add_floor_row(view_table *t, result_file *f, const json_value *v, pgy_error *err)
{
    const char *tensor, *node, *unknown = result_text(f, v, "unknown_why");
    const double largest = unknown ? NAN : result_number(v, "max_abs");
    uint32_t at;
    pgy_status st = row_names(&tensor, &node, &at, f, v, err);
    if (st) return st;
    const view_cell cells[FLOOR_COLUMN_COUNT] = {
        cell_ref(at, tensor),
        cell_ref(node_of(f, at, node), node),
        cell_text(result_text(f, v, "dtype")),
        cell_measured(largest),
        cell_measured(unknown ? NAN : result_number(v, "rms")),
        cell_measured(result_number(v, "value_rms")),
        cell_text(unknown)};
    st = view_table_row(f->results, t, cells, err);
    if (!st && !isnan(largest)) st = result_set(f, Q_FLOOR, at, largest, err);
    return st;
}

/* ---- All ------------------------------------------------------------------------------------ */

static pgy_status add_list(result_file *f, const char *key, const char *title,
                           const view_column *columns, uint32_t count,
                           pgy_status (*add_row)(view_table *, result_file *, const json_value *,
                                                 pgy_error *),
                           pgy_error *err)
{
    const json_value *list = member(f->json.root, key, JSON_ARRAY);
    view_table *t = NULL;
    if (!list) return PGY_OK;
    pgy_status st = result_table(&t, f, key, title, columns, count, err);
    for (const json_value *v = list->first; v && !st; v = v->next) st = add_row(t, f, v, err);
    return st;
}

static pgy_status add(pgy_page *p, const char *path, pgy_error *err)
{
    result_file f;
    pgy_status st = result_open_json(&f, p, path, err);
    if (!st) st = add_nan(&f, member(f.json.root, "nan", JSON_OBJECT), err);
    if (!st)
        st = add_list(&f, "headroom", "Headroom of tensors", HEADROOM_COLUMNS,
                      HEADROOM_COLUMN_COUNT, add_headroom_row, err);
    if (!st)
        st = add_list(&f, "floor", "Error that rounding must cause", FLOOR_COLUMNS,
                      FLOOR_COLUMN_COUNT, add_floor_row, err);
    if (!st) st = result_end(&f, "tensors", err);
    result_close(&f);
    return st;
}

const view_source view_source_noise = {
    "noise", "NaN, headroom and noise floor (where --nan, --headroom, --floor)", accept, add};
