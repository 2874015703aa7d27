/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the table `accuracy`, and the quantities and marks that follow from them. */
#include "viewer/sources/accuracy_rows.h"

#include <string.h>

#include "base/alloc.h"
#include "base/pytext.h"

void accuracy_rows_deinit(accuracy_rows *rows)
{
    for (size_t i = 0; i < rows->by_name.count; i++) {
        accuracy_row *row = rows->by_name.entries[i].value;
        str_deinit(&row->tolerance);
        mem_free(row);
    }
    strmap_deinit(&rows->by_name);
}

pgy_status accuracy_row_get(accuracy_row **out, accuracy_rows *rows, result_file *f,
                            const char *name, pgy_error *err)
{
    *out = strmap_get(&rows->by_name, name);
    if (*out) return PGY_OK;
    accuracy_row *row = mem_calloc(1, sizeof *row);
    if (!row || !strmap_put(&rows->by_name, name, row)) {
        mem_free(row);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for the errors of outputs");
    }
    row->name = rows->by_name.entries[rows->by_name.count - 1].key;
    row->tensor = result_tensor(f, name);
    *out = row;
    return PGY_OK;
}

void accuracy_row_add(accuracy_row *row, known_quantity which, double value)
{
    row->values[which] = row->has[which] ? worse_value(which, row->values[which], value) : value;
    row->has[which] = true;
}

void accuracy_row_judge(accuracy_row *row, bool passed)
{
    row->is_judged = true;
    row->failed |= !passed;
}

static void append_number(str *out, pgy_number n)
{
    if (n.is_integer)
        str_printf(out, "%lld", (long long)n.integer);
    else
        str_append_g(out, 5, n.real);
}

/* Appends thresholds, those of each function once. */
static void add_tolerance(accuracy_row *row, const pgy_verdict *v)
{
    str text = {0};
    if (v->kind == PGY_COMPARE_SIMPLE) {
        str_append(&text, "abs ");
        append_number(&text, v->atol);
        str_append(&text, ", rel ");
        append_number(&text, v->rtol);
        str_printf(&text, " (%s)", pgy_error_stat_name(v->stat));
    } else {
        str_printf(&text, "%s ", pgy_compare_kind_label(v->kind));
        append_number(&text, v->threshold);
    }
    if (!row->tolerance.data || !strstr(row->tolerance.data, str_text(&text))) {
        str_append(&row->tolerance, row->tolerance.size ? "; " : "");
        str_append(&row->tolerance, str_text(&text));
    }
    str_deinit(&text);
}

void accuracy_row_add_verdict(accuracy_row *row, const pgy_verdict *v)
{
    if (v->verified) accuracy_row_judge(row, v->passed);
    if (!v->has_metrics || !v->verified) return;
    add_tolerance(row, v);
    switch (v->kind) {
    case PGY_COMPARE_SIMPLE:
        accuracy_row_add(row, Q_MAXABS, v->max_absdiff);
        accuracy_row_add(row, Q_MEANABS, v->mean_absdiff);
        accuracy_row_add(row, Q_MAXREL, v->max_reldiff);
        break;
    case PGY_COMPARE_COSINE_SIMILARITY: accuracy_row_add(row, Q_COSINE, 1 - v->metric); break;
    case PGY_COMPARE_SNR: accuracy_row_add(row, Q_SNR, v->metric); break;
    default: break;
    }
}

/* ---- Into the view -------------------------------------------------------------------------- */

static pgy_status set_quantities(const accuracy_row *row, result_file *f, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (int which = 0; !st && which < ACCURACY_VALUES; which++)
        if (row->has[which])
            st = result_set_worst(f, (known_quantity)which, row->tensor, row->values[which], err);
    return st;
}

static pgy_status mark_row(const accuracy_row *row, result_file *f, pgy_error *err)
{
    const double error = row->has[Q_MAXABS] ? row->values[Q_MAXABS] : 0;
    pgy_status st = PGY_OK;
    if (row->failed && row->has[Q_MAXABS])
        st =
            result_mark(f, VIEW_OF_TENSOR, row->tensor, VIEW_MARK_FAIL, err,
                        "the largest error is %.5g; allowed: %s", error, str_text(&row->tolerance));
    else if (row->failed)
        st = result_mark(f, VIEW_OF_TENSOR, row->tensor, VIEW_MARK_FAIL, err, "does not pass%s%s",
                         row->tolerance.size ? ": " : "", str_text(&row->tolerance));
    if (!st && isnan(error))
        st = result_mark(f, VIEW_OF_TENSOR, row->tensor, VIEW_MARK_NAN, err,
                         "the largest error is NaN");
    if (!st && isinf(error))
        st = result_mark(f, VIEW_OF_TENSOR, row->tensor, VIEW_MARK_INF, err,
                         "the largest error is infinite");
    return st;
}

/* A file of verdicts knows the tolerances of the run. */
static pgy_status judge_row(const accuracy_row *row, result_file *f, bool is_judge, pgy_error *err)
{
    const view_quantity *q = view_quantity_find(f->results, "passed", 0);
    const bool known = q && row->tensor < q->count && q->is_measured[row->tensor];
    if (!row->is_judged || (known && !is_judge)) return PGY_OK;
    return result_set(f, Q_PASSED, row->tensor, row->failed ? VIEW_FAILED : VIEW_PASSED, err);
}

enum { NAME, VERDICT, FIRST_VALUE, TOLERANCE = FIRST_VALUE + ACCURACY_VALUES, COLUMN_COUNT };

static void fill_cells(view_cell *cells, const accuracy_row *row)
{
    cells[NAME] = cell_ref(row->tensor, row->name);
    cells[VERDICT] = cell_verdict(!row->failed);
    cells[VERDICT].is_empty = !row->is_judged;
    for (int k = 0; k < ACCURACY_VALUES; k++)
        cells[FIRST_VALUE + k] = (view_cell){.number = row->values[k], .is_empty = !row->has[k]};
    cells[TOLERANCE] = cell_text(str_text(&row->tolerance));
}

/* Adds what another file says about the same tensor. */
static pgy_status merge_cells(view_cell *known, const view_cell *more, result_file *f,
                              bool is_judge, pgy_error *err)
{
    for (int k = 0; k < ACCURACY_VALUES; k++) {
        view_cell *to = &known[FIRST_VALUE + k];
        const view_cell *from = &more[FIRST_VALUE + k];
        if (from->is_empty) continue;
        to->number =
            to->is_empty ? from->number : worse_value((known_quantity)k, to->number, from->number);
        to->is_empty = false;
    }
    if (more[VERDICT].is_empty || (!known[VERDICT].is_empty && !is_judge)) return PGY_OK;
    known[VERDICT] = more[VERDICT];
    known[TOLERANCE].text = view_text(f->results, more[TOLERANCE].text);
    return known[TOLERANCE].text
               ? PGY_OK
               : pgy_error_set(err, PGY_E_MEMORY, "out of memory for the errors of outputs");
}

/* Outputs of one runner alone have no errors. */
static bool says_anything(const accuracy_row *row)
{
    bool any = row->is_judged;
    for (int k = 0; k < ACCURACY_VALUES; k++) any |= row->has[k];
    return any;
}

static pgy_status put_rows(const accuracy_rows *rows, view_table *t, result_file *f, bool is_judge,
                           pgy_error *err)
{
    const size_t known = t->row_count;
    strmap places = {0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < known; i++)
        if (!strmap_put(&places, t->cells[i * COLUMN_COUNT].text, (void *)(uintptr_t)(i + 1)))
            st = pgy_error_set(err, PGY_E_MEMORY, "out of memory for the errors of outputs");
    for (size_t i = 0; !st && i < rows->by_name.count; i++) {
        const accuracy_row *row = rows->by_name.entries[i].value;
        if (!says_anything(row)) continue;
        const size_t place = (uintptr_t)strmap_get(&places, row->name);
        view_cell cells[COLUMN_COUNT];
        fill_cells(cells, row);
        if (place)
            st = merge_cells(t->cells + (place - 1) * COLUMN_COUNT, cells, f, is_judge, err);
        else
            st = view_table_row(f->results, t, cells, err);
    }
    strmap_deinit(&places);
    return st;
}

static pgy_status put_table(const accuracy_rows *rows, result_file *f, bool is_judge,
                            pgy_error *err)
{
    static const view_column COLUMNS[COLUMN_COUNT] = {
        {"tensor", VIEW_COLUMN_TENSOR},        {"verdict", VIEW_COLUMN_VERDICT},
        {"max abs error", VIEW_COLUMN_NUMBER}, {"mean abs error", VIEW_COLUMN_NUMBER},
        {"max rel error", VIEW_COLUMN_NUMBER}, {"cosine distance", VIEW_COLUMN_NUMBER},
        {"SNR in dB", VIEW_COLUMN_NUMBER},     {"beyond tolerance", VIEW_COLUMN_PERCENT},
        {"tolerance", VIEW_COLUMN_TEXT}};
    view_table *t = NULL;
    size_t i = 0;
    while (i < rows->by_name.count && !says_anything(rows->by_name.entries[i].value)) i++;
    if (i == rows->by_name.count) return PGY_OK;
    pgy_status st =
        result_table(&t, f, "accuracy", "Errors of tensors", COLUMNS, COLUMN_COUNT, err);
    return st ? st : put_rows(rows, t, f, is_judge, err);
}

/* The failed tensor whose producer comes first: nodes of a model are in topological order. */
static const accuracy_row *first_failed(const accuracy_rows *rows, const view_graph *g)
{
    const accuracy_row *first = NULL;
    for (size_t i = 0; i < rows->by_name.count; i++) {
        const accuracy_row *row = rows->by_name.entries[i].value;
        if (!row->failed) continue;
        if (!first || first->tensor == VIEW_NONE ||
            (row->tensor != VIEW_NONE &&
             g->tensors[row->tensor].producer < g->tensors[first->tensor].producer))
            first = row;
    }
    return first;
}

static pgy_status conclude(const accuracy_rows *rows, result_file *f, pgy_error *err)
{
    const accuracy_row *first = first_failed(rows, f->graph);
    size_t judged = 0, failed = 0;
    str text = {0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < rows->by_name.count; i++) {
        const accuracy_row *row = rows->by_name.entries[i].value;
        judged += row->is_judged;
        failed += row->failed;
    }
    const uint32_t node =
        first && first->tensor != VIEW_NONE ? f->graph->tensors[first->tensor].producer : VIEW_NONE;
    if (first) {
        str_printf(&text, "%zu of %zu tensors beyond tolerance, first '%.200s'", failed, judged,
                   first->name);
        if (node != VIEW_NONE && f->graph->nodes[node].name[0])
            str_printf(&text, " of node '%.200s'", f->graph->nodes[node].name);
        st = result_mark_first(f, node, false, str_text(&text), err);
    } else {
        str_printf(&text, "%zu tensors within tolerance", judged);
    }
    if (!st && judged) st = result_judge(f, !failed, false, str_text(&text), err);
    str_deinit(&text);
    return st;
}

pgy_status accuracy_rows_finish(accuracy_rows *rows, result_file *f, bool is_judge, pgy_error *err)
{
    pgy_status st = result_end(f, "tensors", err);
    for (size_t i = 0; !st && i < rows->by_name.count; i++) {
        const accuracy_row *row = rows->by_name.entries[i].value;
        if (row->tolerance.failed)
            return pgy_error_set(err, PGY_E_MEMORY, "out of memory for the errors of outputs");
        st = set_quantities(row, f, err);
        if (!st) st = judge_row(row, f, is_judge, err);
        if (!st) st = mark_row(row, f, err);
    }
    if (!st) st = put_table(rows, f, is_judge, err);
    return st ? st : conclude(rows, f, err);
}
