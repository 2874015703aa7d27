/* SPDX-License-Identifier: Apache-2.0 */
/* What was measured of two compared graphs, side by side: quantities, columns of the table of
 * differences, a table of all that was measured, and lines of the summary. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "viewer/diff.h"
#include "viewer/diff_quantities.h"
#include "viewer/diff_units.h"
#include "viewer/sources/result_file.h"
#include "viewer/sources/trace_file.h"

enum { TIME_COLUMNS = 5, ERROR_COLUMNS = 2, MOST_COLUMNS = 16 };

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while comparing results");
}

/* ---- Quantities ------------------------------------------------------------------------------ */

/* At the nodes of A and merged, the time of B and the ratio. */
static pgy_status set_times(pgy_page *p, const diff_unit *d, const view_quantity *time,
                            pgy_error *err)
{
    view_quantity *q = NULL;
    pgy_status st = PGY_OK;
    if (!diff_unit_has_both(d)) return PGY_OK;
    st = diff_quantity_b(&q, p, time, 0, err);
    if (!st) view_quantity_set(q, d->node[0], d->us[1]);
    for (uint32_t graph = 0; graph <= VIEW_MERGED && !st && d->us[0] > 0; graph += VIEW_MERGED) {
        st = diff_quantity_ratio(&q, p, time, graph, err);
        if (!st) view_quantity_set(q, graph ? d->merged : d->node[0], d->us[1] / d->us[0]);
    }
    return st;
}

static pgy_status add_quantities(pgy_page *p, const diff_units *u, pgy_error *err)
{
    static const char *const ERRORS[] = {"maxabs", "meanabs", "maxrel", "cosine", "error"};
    const view_quantity *found = view_quantity_find(&p->results, "time", 0);
    const view_quantity like = found ? *found : (view_quantity){0}; /* the list may move */
    const bool has_second_run = view_quantity_find(&p->results, "time_b", 0) != NULL;
    pgy_status st = diff_quantities_merge(p, err);
    for (size_t i = 0; i < sizeof ERRORS / sizeof *ERRORS && !st; i++)
        st = diff_quantities_of_tensors(p, ERRORS[i], err);
    if (st || !u->have_times || has_second_run) return st;
    for (uint32_t i = 0; i < u->count && !st; i++) st = set_times(p, &u->items[i], &like, err);
    return st;
}

/* ---- Columns --------------------------------------------------------------------------------- */

static uint32_t fill_columns(view_column *out, const diff_units *u, arena *memory)
{
    static const view_column TIMES[TIME_COLUMNS] = {{"time of A", VIEW_COLUMN_US},
                                                    {"time of B", VIEW_COLUMN_US},
                                                    {"B / A", VIEW_COLUMN_NUMBER},
                                                    {"p", VIEW_COLUMN_NUMBER},
                                                    {"B is", VIEW_COLUMN_TEXT}};
    uint32_t count = 0;
    for (uint32_t i = 0; u->have_times && i < TIME_COLUMNS; i++) out[count++] = TIMES[i];
    for (int side = 0; u->error_label && side < ERROR_COLUMNS; side++)
        out[count++] = (view_column){
            arena_printf(memory, "%s of %c", u->error_label, side ? 'B' : 'A'), VIEW_COLUMN_NUMBER};
    for (uint32_t i = 0; i < count; i++)
        if (!out[i].name) return 0;
    return count;
}

/* `d` NULL: nothing is known. */
static void fill_cells(view_cell *out, const diff_units *u, const diff_unit *d)
{
    uint32_t at = 0;
    const bool both = d && diff_unit_has_both(d);
    const double ratio = both && d->us[0] > 0 ? d->us[1] / d->us[0] : NAN;
    if (u->have_times) {
        out[at++] = cell_measured(d ? d->us[0] : NAN);
        out[at++] = cell_measured(d ? d->us[1] : NAN);
        out[at++] = cell_measured(ratio);
        out[at++] = cell_measured(both ? d->p : NAN);
        out[at] = cell_text(both ? TRACE_CHANGES[d->verdict] : NULL);
        out[at++].is_empty = !both;
    }
    for (int side = 0; u->error_label && side < ERROR_COLUMNS; side++)
        out[at++] =
            (view_cell){.number = d ? d->error[side] : NAN, .is_empty = !d || !d->has_error[side]};
}

static bool is_known(const diff_unit *d)
{
    return !isnan(d->us[0]) || !isnan(d->us[1]) || d->has_error[0] || d->has_error[1];
}

/* ---- The table of differences ---------------------------------------------------------------- */

static pgy_status widen_diff(pgy_page *p, const diff_units *u, const view_column *more,
                             uint32_t count, pgy_error *err)
{
    view_results *r = &p->results;
    view_table *t = view_table_find(r, "diff");
    if (!t || t->graph != VIEW_MERGED) return PGY_OK;
    const view_table old = *t;
    view_column columns[MOST_COLUMNS * 2];
    view_cell cells[MOST_COLUMNS * 2];
    if (old.column_count > MOST_COLUMNS) return PGY_OK;
    memcpy(columns, old.columns, old.column_count * sizeof *columns);
    memcpy(columns + old.column_count, more, count * sizeof *columns);
    t->columns = arena_alloc_array(&r->memory, old.column_count + count, sizeof *columns);
    if (!t->columns) {
        *t = old;
        return no_memory(err);
    }
    memcpy(t->columns, columns, (old.column_count + count) * sizeof *columns);
    t->column_count += count;
    t->cells = NULL;
    t->row_count = t->capacity = 0;
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < old.row_count && !st; i++) {
        const view_cell *row = old.cells + i * old.column_count;
        const uint32_t at = row[0].ref == VIEW_NONE ? VIEW_NONE : u->of_merged[row[0].ref];
        memcpy(cells, row, old.column_count * sizeof *cells);
        fill_cells(cells + old.column_count, u, at == VIEW_NONE ? NULL : &u->items[at]);
        st = view_table_row(r, t, cells, err);
    }
    mem_free(old.cells);
    return st;
}

/* ---- The table of all that was measured -------------------------------------------------------
 */

typedef struct ranked {
    double weight;
    uint32_t unit;
} ranked;

/* What the difference costs. */
static double weight_of(const diff_unit *d)
{
    if (diff_unit_has_both(d)) return fabs(d->us[1] - d->us[0]);
    return !isnan(d->us[0]) ? d->us[0] : !isnan(d->us[1]) ? d->us[1] : 0;
}

static int by_weight(const void *x, const void *y)
{
    const ranked *a = x, *b = y;
    if (a->weight != b->weight) return a->weight > b->weight ? -1 : 1;
    return a->unit < b->unit ? -1 : a->unit > b->unit;
}

static pgy_status add_row(pgy_page *p, view_table *t, const diff_units *u, const diff_unit *d,
                          pgy_error *err)
{
    static const char *const SIDES[] = {"both", "only A", "only B"};
    const view_graph *g = p->graphs[VIEW_MERGED];
    const view_node *n = &g->nodes[d->merged];
    view_cell cells[MOST_COLUMNS];
    const int sides = d->node[0] == VIEW_NONE ? 2 : d->node[1] == VIEW_NONE;
    cells[0] = cell_ref(d->merged, *n->name ? n->name : g->ops[n->op].name);
    cells[1] = cell_text(g->ops[n->op].name);
    cells[2] = cell_text(SIDES[sides]);
    fill_cells(cells + 3, u, d);
    return view_table_row(&p->results, t, cells, err);
}

static pgy_status add_table(pgy_page *p, diff_units *u, const view_column *more, uint32_t count,
                            pgy_error *err)
{
    view_column columns[MOST_COLUMNS] = {
        {"node", VIEW_COLUMN_NODE}, {"operator", VIEW_COLUMN_TEXT}, {"in", VIEW_COLUMN_TEXT}};
    memcpy(columns + 3, more, count * sizeof *more);
    const view_table like = {.id = "compared",
                             .title = "A and B measured",
                             .note = "What differs most in time comes first. B is called slower or "
                                     "faster if p is below 0.01 (Mann-Whitney test of the times "
                                     "per run, corrected for the number of nodes).",
                             .graph = VIEW_MERGED,
                             .columns = columns,
                             .column_count = 3 + count};
    ranked *order = arena_alloc_array(&u->memory, u->count + 1ull, sizeof *order);
    uint32_t known = 0;
    view_table *t = NULL;
    if (!order) return no_memory(err);
    for (uint32_t i = 0; i < u->count; i++)
        if (is_known(&u->items[i])) order[known++] = (ranked){weight_of(&u->items[i]), i};
    qsort(order, known, sizeof *order, by_weight);
    pgy_status st = view_table_add(&t, &p->results, &like, err);
    for (uint32_t i = 0; i < known && !st; i++)
        st = add_row(p, t, u, &u->items[order[i].unit], err);
    return st;
}

/* ---- The summary ----------------------------------------------------------------------------- */

static pgy_status summarise(pgy_page *p, const diff_units *u, pgy_error *err)
{
    char text[256];
    double us[2] = {0};
    size_t slower = 0, faster = 0;
    for (uint32_t i = 0; i < u->count; i++) {
        const diff_unit *d = &u->items[i];
        for (int side = 0; side < 2; side++)
            if (!isnan(d->us[side])) us[side] += d->us[side];
        slower += d->is_judged && d->verdict == PGY_TRACE_SLOWER;
        faster += d->is_judged && d->verdict == PGY_TRACE_FASTER;
    }
    if (!u->have_times || !(us[0] > 0)) return PGY_OK;
    snprintf(text, sizeof text,
             "%.4g us and %.4g us in nodes: B takes %.3g of A; %zu slower, %zu faster", us[0],
             us[1], us[1] / us[0], slower, faster);
    return view_summary_add(&p->results, "Comparison", "times", text, err);
}

/* ---- All of it ------------------------------------------------------------------------------- */

pgy_status view_diff_results(pgy_page *p, pgy_error *err)
{
    diff_units u;
    view_column more[MOST_COLUMNS];
    if (p->graph_count <= VIEW_MERGED || p->plan_name || !p->results.pairs[0]) return PGY_OK;
    pgy_status st = diff_units_make(&u, p, err);
    if (!st) st = add_quantities(p, &u, err);
    const uint32_t count = st ? 0 : fill_columns(more, &u, &p->results.memory);
    if (!st && !count && (u.have_times || u.error_label)) st = no_memory(err);
    if (!st && count) st = widen_diff(p, &u, more, count, err);
    if (!st && count) st = add_table(p, &u, more, count, err);
    if (!st) st = summarise(p, &u, err);
    diff_units_deinit(&u);
    return st;
}
