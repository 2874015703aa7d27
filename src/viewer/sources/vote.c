/* SPDX-License-Identifier: Apache-2.0 */
/* The report of `where --vote --json`: which of three runners is the odd one out at each tensor. */
#include <string.h>

#include "viewer/sources/result_file.h"

enum { TENSOR, NODE, ODD, AB, AC, BC, FAR_A, FAR_B, FAR_C, MARGIN, NOTE, COLUMN_COUNT };
static const view_column COLUMNS[COLUMN_COUNT] = {{"tensor", VIEW_COLUMN_TENSOR},
                                                  {"node", VIEW_COLUMN_NODE},
                                                  {"odd one out", VIEW_COLUMN_TEXT},
                                                  {"A and B", VIEW_COLUMN_NUMBER},
                                                  {"A and C", VIEW_COLUMN_NUMBER},
                                                  {"B and C", VIEW_COLUMN_NUMBER},
                                                  {"A from float64", VIEW_COLUMN_NUMBER},
                                                  {"B from float64", VIEW_COLUMN_NUMBER},
                                                  {"C from float64", VIEW_COLUMN_NUMBER},
                                                  {"margin", VIEW_COLUMN_NUMBER},
                                                  {"note", VIEW_COLUMN_TEXT}};

static bool accept(const char *path, span start, const json_value *json)
{
    (void)path, (void)start;
    const json_value *tensors = json_get(json, "tensors");
    return tensors && tensors->type == JSON_ARRAY && json_get(json, "a") && json_get(json, "b") &&
           json_get(json, "c") && json_get(json, "referee");
}

static double largest(double a, double b, double c)
{
    return fmax(fmax(a, b), c); /* NaN: unknown, left out */
}

static pgy_status mark_odd(result_file *f, uint32_t at, const char *odd, const char *runner,
                           pgy_error *err)
{
    if (!odd) return PGY_OK;
    if (strcmp(odd, "undecided") == 0)
        return result_mark(f, VIEW_OF_TENSOR, at, VIEW_MARK_FAIL, err, "no two runners agree");
    return result_mark(f, VIEW_OF_TENSOR, at, VIEW_MARK_FAIL, err,
                       "side %s (%s) is the odd one out", odd, runner ? runner : "?");
}

static pgy_status add_row(view_table *t, result_file *f, const json_value *v, pgy_error *err)
{
    const char *name = result_text(f, v, "name"), *node = result_text(f, v, "node");
    const char *odd = result_text(f, v, "odd"), *note = result_text(f, v, "note");
    const json_value *referee = json_get(v, "referee");
    const double ab = result_number(v, "ab"), ac = result_number(v, "ac"),
                 bc = result_number(v, "bc"), error = largest(ab, ac, bc);
    if (!name)
        return pgy_error_set(err, PGY_E_FORMAT, "line %u: a tensor of the report has no 'name'",
                             v->line);
    const uint32_t at = result_tensor(f, name);
    const uint32_t producer = at == VIEW_NONE ? VIEW_NONE : f->graph->tensors[at].producer;
    view_cell cells[COLUMN_COUNT];
    cells[TENSOR] = cell_ref(at, name);
    cells[NODE] = cell_ref(producer, node);
    cells[ODD] = cell_text(odd);
    cells[AB] = cell_measured(ab);
    cells[AC] = cell_measured(ac);
    cells[BC] = cell_measured(bc);
    cells[FAR_A] = cell_measured(result_number(referee, "a"));
    cells[FAR_B] = cell_measured(result_number(referee, "b"));
    cells[FAR_C] = cell_measured(result_number(referee, "c"));
    cells[MARGIN] = cell_measured(result_number(v, "margin"));
    cells[NOTE] = cell_text(note && *note ? note : NULL);
    pgy_status st = view_table_row(f->results, t, cells, err);
    if (!st && !isnan(error)) st = result_set_worst(f, Q_ERROR, at, error, err);
    if (st) return st;
    return mark_odd(f, at, odd, odd ? result_text(f, f->json.root, odd) : NULL, err);
}

static pgy_status conclude(result_file *f, pgy_error *err)
{
    static const char *const KEYS[] = {"a", "b", "c", "referee"};
    const json_value *root = f->json.root;
    const char *first = result_text(f, root, "first");
    const uint32_t at = first ? view_graph_tensor(f->graph, first) : VIEW_NONE;
    str text = {0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < 4 && !st; i++) {
        const char *name = result_text(f, root, KEYS[i]);
        st = result_summary(f, "Vote", KEYS[i], err, "%s", name ? name : "");
    }
    if (first)
        str_printf(&text, "first tensor without agreement '%.200s'", first);
    else
        str_append(&text, "the three runners agree");
    if (!st && at != VIEW_NONE)
        st = result_mark_first(f, f->graph->tensors[at].producer, true, str_text(&text), err);
    if (!st) st = result_judge(f, result_bool(root, "passed"), true, str_text(&text), err);
    str_deinit(&text);
    return st;
}

static pgy_status add(pgy_page *p, const char *path, pgy_error *err)
{
    result_file f;
    view_table *t = NULL;
    pgy_status st = result_open_json(&f, p, path, err);
    if (!st)
        st = result_table(&t, &f, "vote", "Votes of three runners", COLUMNS, COLUMN_COUNT, err);
    const json_value *tensors = st ? NULL : json_get(f.json.root, "tensors");
    for (const json_value *v = tensors ? tensors->first : NULL; v && !st; v = v->next)
        st = add_row(t, &f, v, err);
    if (!st) st = result_end(&f, "tensors", err);
    if (!st) st = conclude(&f, err);
    result_close(&f);
    return st;
}

const view_source view_source_vote = {"vote", "votes of three runners (where --vote --json)",
                                      accept, add};
