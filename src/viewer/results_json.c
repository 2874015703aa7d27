/* SPDX-License-Identifier: Apache-2.0 */
/* Results of a view as blocks of the page (docs/formats/page.md). */
#include "viewer/results.h"

#include <math.h>

static const char *const SCALES[] = {"log", "linear", "diverging", "category"};
static const char *const FOLDS[] = {"max", "min", "sum", "same"};
static const char *const BETTER[] = {"none", "low", "high"};
static const char *const MARKS[VIEW_MARK_COUNT] = {
    "fail",          "nan",     "inf",   "first",   "fused",   "not_run",    "precision",
    "contradiction", "finding", "added", "removed", "changed", "unsupported"};
static const char *const COLUMNS[] = {"text",    "number",  "bytes", "us",
                                      "percent", "verdict", "node",  "tensor"};
static const char *const VERDICTS[] = {"pass", "fail", "skip"};

static void put_index(json_writer *w, uint32_t at)
{
    json_int(w, at == VIEW_NONE ? -1 : (int64_t)at);
}

static void put_number(json_writer *w, double v)
{
    if (isfinite(v))
        json_real(w, v);
    else
        json_text(w, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
}

static void put_real(json_writer *w, const char *key, double v)
{
    json_key(w, key);
    put_number(w, v);
}

/* ---- results -------------------------------------------------------------------------------- */

static void put_values(json_writer *w, const view_quantity *q)
{
    json_key(w, "values");
    json_begin_array(w);
    for (uint32_t i = 0; i < q->count; i++) {
        if (!q->is_measured[i])
            json_null(w);
        else if (q->scale == VIEW_CATEGORY)
            json_int(w, (int64_t)q->values[i]);
        else
            put_number(w, q->values[i]);
    }
    json_end_array(w);
}

static void put_quantity(json_writer *w, const view_quantity *q)
{
    json_begin_object(w);
    json_put_text(w, "id", q->id);
    json_put_text(w, "label", q->label);
    json_put_text(w, "unit", q->unit);
    json_put_text(w, "group", q->group);
    json_put_uint(w, "graph", q->graph);
    json_put_text(w, "of", q->of == VIEW_OF_NODE ? "node" : "tensor");
    json_put_text(w, "scale", SCALES[q->scale]);
    json_put_text(w, "fold", FOLDS[q->fold]);
    json_put_text(w, "better", BETTER[q->better]);
    if (q->scale == VIEW_CATEGORY) {
        json_key(w, "names");
        json_begin_array(w);
        for (uint32_t i = 0; i < q->name_count; i++) json_text(w, q->names[i]);
        json_end_array(w);
    }
    put_values(w, q);
    json_end_object(w);
}

static void put_mark(json_writer *w, const view_mark *m)
{
    json_begin_object(w);
    json_put_uint(w, "graph", m->graph);
    json_put_text(w, "of", m->of == VIEW_OF_NODE ? "node" : "tensor");
    json_put_uint(w, "at", m->at);
    json_put_text(w, "kind", MARKS[m->kind]);
    json_put_text(w, "text", m->text);
    json_end_object(w);
}

static void put_pairs(json_writer *w, const view_results *r)
{
    static const char *const NAMES[] = {"a", "b", "merged"};
    json_key(w, "pairs");
    if (!r->pairs[0]) {
        json_null(w);
        return;
    }
    json_begin_object(w);
    for (int side = 0; side < 3; side++) {
        json_key(w, NAMES[side]);
        json_begin_array(w);
        for (size_t i = 0; i < r->pair_count; i++) put_index(w, r->pairs[side][i]);
        json_end_array(w);
    }
    json_end_object(w);
}

void view_results_write(json_writer *w, const view_results *r)
{
    json_begin_object(w);
    json_key(w, "quantities");
    json_begin_array(w);
    for (size_t i = 0; i < r->quantity_count; i++) put_quantity(w, &r->quantities[i]);
    json_end_array(w);
    json_key(w, "marks");
    json_begin_array(w);
    for (size_t i = 0; i < r->mark_count; i++) put_mark(w, &r->marks[i]);
    json_end_array(w);
    put_pairs(w, r);
    json_key(w, "stats");
    json_begin_array(w);
    for (size_t i = 0; i < r->stats_count; i++) json_uint(w, r->stats[i]->tensor);
    json_end_array(w);
    json_end_object(w);
}

/* ---- stats-K -------------------------------------------------------------------------------- */

static void put_side(json_writer *w, const char *key, const view_side_stats *s)
{
    json_key(w, key);
    if (!s->runner) {
        json_null(w);
        return;
    }
    json_begin_object(w);
    json_put_text(w, "runner", s->runner);
    json_put_text(w, "dtype", s->dtype);
    json_put_text(w, "shape", s->shape);
    json_put_uint(w, "count", s->count);
    put_real(w, "min", s->min);
    put_real(w, "max", s->max);
    put_real(w, "mean", s->mean);
    put_real(w, "std", s->std);
    json_put_uint(w, "nan", s->nan);
    json_put_uint(w, "inf", s->inf);
    json_put_uint(w, "zeros", s->zeros);
    json_end_object(w);
}

static void put_counts(json_writer *w, const char *key, const uint64_t *counts)
{
    json_key(w, key);
    json_begin_array(w);
    for (int i = 0; i < VIEW_BINS; i++) json_uint(w, counts[i]);
    json_end_array(w);
}

static void put_range(json_writer *w, const char *key, double low, double high)
{
    json_key(w, key);
    json_begin_object(w);
    put_real(w, "low", low);
    put_real(w, "high", high);
}

static void put_histograms(json_writer *w, const view_stats *s)
{
    if (s->low <= s->high) {
        put_range(w, "histogram", s->low, s->high);
        if (s->side[0].runner) put_counts(w, "a", s->bins[0]);
        if (s->side[1].runner) put_counts(w, "b", s->bins[1]);
        json_end_object(w);
    } else {
        json_put_null(w, "histogram");
    }
    if (s->difference_low <= s->difference_high) {
        put_range(w, "difference", s->difference_low, s->difference_high);
        put_counts(w, "counts", s->difference);
        json_end_object(w);
    } else {
        json_put_null(w, "difference");
    }
}

static void put_plane(json_writer *w, const view_stats *s)
{
    if (!s->plane[0] && !s->plane[1]) return;
    size_t count = 1;
    for (uint32_t i = 0; i < s->plane_rank; i++) count *= (size_t)s->plane_shape[i];
    json_key(w, "plane");
    json_begin_object(w);
    json_put_ints(w, "shape", s->plane_shape, s->plane_rank);
    for (int side = 0; side < 2; side++) {
        if (!s->plane[side]) continue;
        json_key(w, side ? "b" : "a");
        json_begin_array(w);
        for (size_t i = 0; i < count; i++) put_number(w, s->plane[side][i]);
        json_end_array(w);
    }
    json_end_object(w);
}

static void put_stats(json_writer *w, const view_stats *s)
{
    json_begin_object(w);
    put_side(w, "a", &s->side[0]);
    put_side(w, "b", &s->side[1]);
    put_histograms(w, s);
    json_key(w, "worst");
    json_begin_array(w);
    for (uint32_t i = 0; i < s->worst_count; i++) {
        json_begin_array(w);
        json_text(w, s->worst[i].index);
        put_number(w, s->worst[i].a);
        put_number(w, s->worst[i].b);
        put_number(w, fabs(s->worst[i].a - s->worst[i].b));
        json_end_array(w);
    }
    json_end_array(w);
    json_key(w, "curve");
    json_begin_array(w);
    for (uint32_t i = 0; i < s->curve_count; i++) {
        json_begin_array(w);
        put_number(w, s->curve[i].tolerance);
        put_number(w, s->curve[i].share);
        json_end_array(w);
    }
    json_end_array(w);
    put_plane(w, s);
    json_end_object(w);
}

void view_stats_write(json_writer *w, const view_results *r, size_t k)
{
    const size_t first = k * 256;
    size_t at = 0;
    json_begin_array(w);
    while (at < r->stats_count && r->stats[at]->tensor < first) at++;
    for (size_t tensor = first; at < r->stats_count && tensor < first + 256; tensor++) {
        if (r->stats[at]->tensor > first + 255) break;
        if (r->stats[at]->tensor == tensor)
            put_stats(w, r->stats[at++]);
        else
            json_null(w);
    }
    json_end_array(w);
}

/* ---- search and tables ---------------------------------------------------------------------- */

static void put_step(json_writer *w, const view_step *s)
{
    json_begin_object(w);
    json_put_text(w, "title", s->title);
    json_put_text(w, "verdict", VERDICTS[s->verdict]);
    json_put_text(w, "detail", s->detail ? s->detail : "");
    json_key(w, "nodes");
    json_begin_array(w);
    for (uint32_t i = 0; i < s->node_count; i++) put_index(w, s->nodes[i]);
    json_end_array(w);
    if (isnan(s->seconds))
        json_put_null(w, "seconds");
    else
        put_real(w, "seconds", s->seconds);
    json_end_object(w);
}

void view_search_write(json_writer *w, const view_results *r)
{
    json_begin_object(w);
    json_put_text(w, "title", r->search_title);
    json_put_text(w, "found", r->search_found);
    json_key(w, "steps");
    json_begin_array(w);
    for (size_t i = 0; i < r->step_count; i++) put_step(w, &r->steps[i]);
    json_end_array(w);
    json_end_object(w);
}

static void put_cell(json_writer *w, view_column_kind kind, const view_cell *c)
{
    const bool is_text = kind == VIEW_COLUMN_TEXT || kind == VIEW_COLUMN_VERDICT;
    const bool is_ref = kind == VIEW_COLUMN_NODE || kind == VIEW_COLUMN_TENSOR;
    if (c->is_empty || ((is_text || is_ref) && !c->text)) {
        json_null(w);
    } else if (is_ref) {
        json_begin_array(w);
        put_index(w, c->ref);
        json_text(w, c->text);
        json_end_array(w);
    } else if (is_text) {
        json_text(w, c->text);
    } else {
        put_number(w, c->number);
    }
}

void view_table_write_columns(json_writer *w, const view_table *t)
{
    json_key(w, "columns");
    json_begin_array(w);
    for (uint32_t i = 0; i < t->column_count; i++) {
        json_begin_object(w);
        json_put_text(w, "name", t->columns[i].name);
        json_put_text(w, "kind", COLUMNS[t->columns[i].kind]);
        json_end_object(w);
    }
    json_end_array(w);
}

void view_table_write(json_writer *w, const view_table *t)
{
    json_begin_object(w);
    json_put_text(w, "id", t->id);
    json_put_text(w, "title", t->title);
    json_put_uint(w, "graph", t->graph);
    json_put_text(w, "note", t->note);
    view_table_write_columns(w, t);
    json_key(w, "rows");
    json_begin_array(w);
    for (size_t row = 0; row < t->row_count; row++) {
        json_begin_array(w);
        for (uint32_t i = 0; i < t->column_count; i++)
            put_cell(w, t->columns[i].kind, &t->cells[row * t->column_count + i]);
        json_end_array(w);
    }
    json_end_array(w);
    json_end_object(w);
}
