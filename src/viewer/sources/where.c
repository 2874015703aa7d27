/* SPDX-License-Identifier: Apache-2.0 */
/* The report of `where --json`: errors of all tensors, and the nodes that start them. */
#include <string.h>

#include "viewer/sources/result_file.h"

enum {
    TENSOR,
    NODE,
    VERDICT,
    STARTS,
    ERROR,
    MADE,
    HANDED,
    AMPLIFICATION,
    ALLOWED,
    FLOOR_TIMES,
    WORST_AT,
    WORST_A,
    WORST_B,
    NOTE,
    COLUMN_COUNT
};
static const view_column COLUMNS[COLUMN_COUNT] = {
    {"tensor", VIEW_COLUMN_TENSOR},   {"node", VIEW_COLUMN_NODE},
    {"verdict", VIEW_COLUMN_VERDICT}, {"starts", VIEW_COLUMN_TEXT},
    {"error", VIEW_COLUMN_NUMBER},    {"made", VIEW_COLUMN_NUMBER},
    {"handed", VIEW_COLUMN_NUMBER},   {"amplification", VIEW_COLUMN_NUMBER},
    {"allowed", VIEW_COLUMN_NUMBER},  {"noise floors", VIEW_COLUMN_NUMBER},
    {"worst at", VIEW_COLUMN_TEXT},   {"A", VIEW_COLUMN_NUMBER},
    {"B", VIEW_COLUMN_NUMBER},        {"note", VIEW_COLUMN_TEXT}};

/* A row of the report. */
typedef struct where_row {
    const json_value *json;
    const char *name, *node_name, *note;
    uint32_t tensor, node;
    bool is_compared, differs, starts;
    double error, made, handed, amplification, allowed, floor_times;
} where_row;

static bool accept(const char *path, span start, const json_value *json)
{
    (void)path, (void)start;
    const json_value *tensors = json_get(json, "tensors"), *starters = json_get(json, "starters");
    return tensors && tensors->type == JSON_ARRAY && starters && starters->type == JSON_ARRAY &&
           json_get(json, "a") && json_get(json, "b");
}

/* ---- Rows ----------------------------------------------------------------------------------- */

/* A tensor of a body has the place in front: "loop_3/iter_12/x". */
static const char *name_in_body(const char *name)
{
    const char *last = name;
    for (const char *p = strstr(name, "/iter_"); p; p = strstr(p, "/iter_")) {
        p += strlen("/iter_");
        p += strspn(p, "0123456789");
        if (*p == '/') last = p + 1;
    }
    return last;
}

static pgy_status read_row(where_row *row, result_file *f, const json_value *v, pgy_error *err)
{
    const char *other = result_text(f, v, "other_name");
    *row = (where_row){.json = v,
                       .name = result_text(f, v, "name"),
                       .node_name = result_text(f, v, "node"),
                       .note = result_text(f, v, "note"),
                       .is_compared = result_bool(v, "compared"),
                       .differs = result_bool(v, "differs"),
                       .starts = result_bool(v, "starts"),
                       .error = result_number(v, "error"),
                       .made = result_number(v, "made"),
                       .handed = result_number(v, "handed"),
                       .amplification = result_number(v, "amplification"),
                       .allowed = result_number(v, "allowed"),
                       .floor_times = result_number(v, "floor_times")};
    if (!row->name)
        return pgy_error_set(err, PGY_E_FORMAT, "line %u: a tensor of the report has no 'name'",
                             v->line);
    const char *inner = name_in_body(row->name);
    const bool by_name = view_graph_tensor(f->graph, inner) != VIEW_NONE;
    row->tensor = result_tensor(f, by_name || !other ? inner : name_in_body(other));
    row->node = row->tensor == VIEW_NONE ? VIEW_NONE : f->graph->tensors[row->tensor].producer;
    if (row->node == VIEW_NONE && row->node_name && *row->node_name)
        row->node = view_graph_node(f->graph, row->node_name);
    return PGY_OK;
}

/* "1, 5" of the worst element; NULL: none is listed. */
static const char *worst_index(result_file *f, const json_value *row)
{
    const json_value *index = json_get(json_at(json_get(row, "worst"), 0), "index");
    str text = {0};
    if (!index || index->type != JSON_ARRAY) return NULL;
    for (const json_value *v = index->first; v; v = v->next)
        str_printf(&text, "%s%lld", text.size ? ", " : "", (long long)v->integer);
    const char *copy = arena_strdup(&f->json.memory, str_text(&text));
    str_deinit(&text);
    return copy;
}

static pgy_status put_row(view_table *t, result_file *f, const where_row *row, pgy_error *err)
{
    const json_value *worst = json_at(json_get(row->json, "worst"), 0);
    view_cell cells[COLUMN_COUNT];
    cells[TENSOR] = cell_ref(row->tensor, row->name);
    cells[NODE] = cell_ref(row->node, row->node_name);
    cells[VERDICT] = row->is_compared ? cell_verdict(!row->differs) : cell_text("skip");
    cells[STARTS] = cell_text(row->starts ? "starts an error" : NULL);
    cells[ERROR] = cell_measured(row->error);
    cells[MADE] = cell_measured(row->made);
    cells[HANDED] = cell_measured(row->handed);
    cells[AMPLIFICATION] = cell_measured(row->amplification);
    cells[ALLOWED] = cell_measured(row->allowed);
    cells[FLOOR_TIMES] = cell_measured(row->floor_times);
    cells[WORST_AT] = cell_text(worst_index(f, row->json));
    cells[WORST_A] = cell_measured(result_number(worst, "a"));
    cells[WORST_B] = cell_measured(result_number(worst, "b"));
    cells[NOTE] = cell_text(row->note && *row->note ? row->note : NULL);
    return view_table_row(f->results, t, cells, err);
}

static pgy_status set_quantities(result_file *f, const where_row *row, pgy_error *err)
{
    const struct {
        known_quantity which;
        uint32_t at;
        double value;
    } VALUES[] = {{Q_ERROR, row->tensor, row->error},
                  {Q_FLOOR_TIMES, row->tensor, row->floor_times},
                  {Q_MADE, row->node, row->made},
                  {Q_HANDED, row->node, row->handed},
                  {Q_AMPLIFICATION, row->node, row->amplification}};
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < sizeof VALUES / sizeof *VALUES && !st; i++)
        if (!isnan(VALUES[i].value))
            st = result_set_worst(f, VALUES[i].which, VALUES[i].at, VALUES[i].value, err);
    if (!st && row->is_compared)
        st = result_set_worst(f, Q_PASSED, row->tensor, row->differs ? VIEW_FAILED : VIEW_PASSED,
                              err);
    return st;
}

static pgy_status mark_row(result_file *f, const where_row *row, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (row->differs && isnan(row->error))
        st = result_mark(f, VIEW_OF_TENSOR, row->tensor, VIEW_MARK_NAN, err,
                         "not a number on a side");
    if (!st && row->differs)
        st = result_mark(f, VIEW_OF_TENSOR, row->tensor, VIEW_MARK_FAIL, err,
                         "the error is %.3g of the largest magnitude; allowed: %.3g", row->error,
                         row->allowed);
    if (!st && row->starts && isnan(row->made))
        st = result_mark(f, VIEW_OF_NODE, row->node, VIEW_MARK_FAIL, err, "starts an error of %.3g",
                         row->error);
    else if (!st && row->starts)
        st = result_mark(f, VIEW_OF_NODE, row->node, VIEW_MARK_FAIL, err,
                         "starts an error: makes %.3g, is handed %.3g", row->made, row->handed);
    if (!st && !row->is_compared && row->note)
        st = result_mark(f, VIEW_OF_TENSOR, row->tensor, VIEW_MARK_NOT_RUN, err, "not compared: %s",
                         row->note);
    return st;
}

/* ---- Conclusions ---------------------------------------------------------------------------- */

typedef struct where_run {
    result_file file;
    view_table *table;
    size_t compared, differing, count;
    where_row first; /* name NULL: none */
} where_run;

static pgy_status describe_first(where_run *run, pgy_error *err)
{
    static const char TITLE[] = "First wrong tensor";
    result_file *f = &run->file;
    const where_row *first = &run->first;
    const json_value *worst = json_at(json_get(first->json, "worst"), 0);
    const char *op = result_text(f, first->json, "op_type");
    pgy_status st = result_summary(f, TITLE, "tensor", err, "%s", first->name);
    if (!st && first->node_name && *first->node_name)
        st = result_summary(f, TITLE, "node", err, "%s (%s)", first->node_name, op ? op : "");
    if (!st) st = result_summary(f, TITLE, "error", err, "%.3g", first->error);
    if (!st && !isnan(first->made))
        st = result_summary(f, TITLE, "made by the node", err, "%.3g", first->made);
    if (!st && !isnan(first->handed))
        st = result_summary(f, TITLE, "handed to the node", err, "%.3g", first->handed);
    if (!st) st = result_summary(f, TITLE, "allowed", err, "%.3g", first->allowed);
    if (!st && !isnan(first->floor_times))
        st = result_summary(f, TITLE, "noise floors", err, "%.3g", first->floor_times);
    const char *at = worst_index(f, first->json);
    if (!st && at)
        st = result_summary(f, TITLE, "worst element", err, "[%s]: A %.9g, B %.9g", at,
                            result_number(worst, "a"), result_number(worst, "b"));
    const char *next = result_text(f, f->json.root, "next");
    if (!st && next) st = result_summary(f, TITLE, "next command", err, "%s", next);
    return st;
}

static pgy_status summarise(where_run *run, pgy_error *err)
{
    result_file *f = &run->file;
    const json_value *root = f->json.root, *failures = json_get(root, "failures");
    const char *a = result_text(f, root, "a"), *b = result_text(f, root, "b");
    pgy_status st = result_summary(f, "Search", "side A", err, "%s", a ? a : "");
    if (!st) st = result_summary(f, "Search", "side B", err, "%s", b ? b : "");
    if (!st)
        st = result_summary(f, "Search", "tensors", err, "%zu of %zu compared, %zu differ",
                            run->compared, run->count, run->differing);
    if (!st && json_get(root, "complete") && !result_bool(root, "complete"))
        st = result_warn(f, err, "the search was interrupted: later tensors were not compared");
    for (const json_value *v = failures ? failures->first : NULL; v && !st; v = v->next)
        if (v->type == JSON_STRING)
            st = result_summary(f, "Search", "failure", err, "%s",
                                json_string(v, &f->json.memory, NULL));
    return st;
}

static pgy_status conclude(where_run *run, pgy_error *err)
{
    result_file *f = &run->file;
    const where_row *first = &run->first;
    str text = {0};
    pgy_status st = PGY_OK;
    if (first->name) {
        str_printf(&text, "first wrong tensor '%.200s'", first->name);
        if (first->node_name && *first->node_name)
            str_printf(&text, " of node '%.200s'", first->node_name);
        str_printf(&text, ": error %.3g, allowed %.3g", first->error, first->allowed);
        st = result_mark_first(f, first->node, true, str_text(&text), err);
        if (!st) st = describe_first(run, err);
    } else {
        str_printf(&text, "%zu of %zu tensors compared, none differs", run->compared, run->count);
        if (!result_bool(f->json.root, "passed")) str_append(&text, ", but the search failed");
    }
    if (!st) st = result_judge(f, result_bool(f->json.root, "passed"), true, str_text(&text), err);
    str_deinit(&text);
    return st ? st : summarise(run, err);
}

static pgy_status add_rows(where_run *run, pgy_error *err)
{
    result_file *f = &run->file;
    const json_value *tensors = json_get(f->json.root, "tensors");
    const char *first = result_text(f, f->json.root, "first");
    pgy_status st = PGY_OK;
    for (const json_value *v = tensors ? tensors->first : NULL; v && !st; v = v->next) {
        where_row row;
        st = read_row(&row, f, v, err);
        if (st) return st;
        run->count++;
        run->compared += row.is_compared;
        run->differing += row.differs;
        if (first && !run->first.name && strcmp(first, row.name) == 0) run->first = row;
        st = put_row(run->table, f, &row, err);
        if (!st) st = set_quantities(f, &row, err);
        if (!st) st = mark_row(f, &row, err);
    }
    return st ? st : result_end(f, "tensors", err);
}

static pgy_status add(pgy_page *p, const char *path, pgy_error *err)
{
    where_run run = {0};
    pgy_status st = result_open_json(&run.file, p, path, err);
    if (!st)
        st = result_table(&run.table, &run.file, "where", "Where errors start", COLUMNS,
                          COLUMN_COUNT, err);
    if (!st) st = add_rows(&run, err);
    if (!st) st = conclude(&run, err);
    result_close(&run.file);
    return st;
}

const view_source view_source_where = {"where", "errors of all tensors (where --json)", accept,
                                       add};
