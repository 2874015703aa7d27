/* SPDX-License-Identifier: Apache-2.0 */
/* Times of layers: quantities of nodes, the table `layers`, the summary; of two timelines also the
 * comparison. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "viewer/sources/trace_file.h"

enum {
    LAYER,
    OP,
    CALLS,
    MEDIAN,
    MEAN,
    P90,
    LEAST,
    GREATEST,
    TOTAL,
    SHARE,
    COLUMN_COUNT,
    MEDIAN_B = COLUMN_COUNT,
    RATIO,
    P_VALUE,
    CHANGE,
    COMPARED_COUNT
};
static const view_column COLUMNS[COMPARED_COUNT] = {
    {"layer", VIEW_COLUMN_NODE},    {"operator", VIEW_COLUMN_TEXT},  {"calls", VIEW_COLUMN_NUMBER},
    {"median", VIEW_COLUMN_US},     {"mean", VIEW_COLUMN_US},        {"p90", VIEW_COLUMN_US},
    {"min", VIEW_COLUMN_US},        {"max", VIEW_COLUMN_US},         {"total", VIEW_COLUMN_US},
    {"share", VIEW_COLUMN_PERCENT}, {"median of B", VIEW_COLUMN_US}, {"B / A", VIEW_COLUMN_NUMBER},
    {"p", VIEW_COLUMN_NUMBER},      {"B is", VIEW_COLUMN_TEXT}};

const char *const TRACE_CHANGES[] = {[PGY_TRACE_NO_DIFFERENCE] = "not shown to differ",
                                     [PGY_TRACE_SLOWER] = "slower",
                                     [PGY_TRACE_FASTER] = "faster",
                                     [PGY_TRACE_TOO_FEW] = "unknown: too few samples"};

/* ---- Figures of one layer ------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* p90 - p10 of the times per run, nearest ranks; NaN: not known. */
static double spread_of(const pgy_trace_times *t)
{
    double *sorted = t->sample_count > 1 ? mem_calloc(t->sample_count, sizeof *sorted) : NULL;
    if (!sorted) return NAN;
    memcpy(sorted, t->samples, t->sample_count * sizeof *sorted);
    qsort(sorted, t->sample_count, sizeof *sorted, ascending);
    const size_t high = (size_t)ceil(0.9 * (double)t->sample_count) - 1;
    const size_t low = (size_t)ceil(0.1 * (double)t->sample_count);
    const double spread = sorted[high] - sorted[low ? low - 1 : 0];
    mem_free(sorted);
    return spread;
}

/* The median of a run's time in the layer, or of what the file says. */
static double time_of(const pgy_trace_times *t)
{
    if (t->sample_count && t->sample_count < t->calls) {
        double *sorted = mem_calloc(t->sample_count, sizeof *sorted);
        if (!sorted) return NAN;
        memcpy(sorted, t->samples, t->sample_count * sizeof *sorted);
        qsort(sorted, t->sample_count, sizeof *sorted, ascending);
        const size_t half = t->sample_count / 2;
        const double median =
            t->sample_count % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
        mem_free(sorted);
        return median;
    }
    return isnan(t->median_us) ? t->mean_us : t->median_us;
}

/* Several layers may belong to one node, such as its copies: their times add up. */
static pgy_status add_to(result_file *f, known_quantity which, uint32_t node, double value,
                         pgy_error *err)
{
    const view_quantity *q = view_quantity_find(f->results, known_quantity_like(which)->id, 0);
    if (isnan(value)) return PGY_OK;
    if (q && node < q->count && q->is_measured[node]) value += q->values[node];
    return result_set(f, which, node, value, err);
}

static pgy_status set_times(view_trace_run *run, const pgy_trace_times *t, pgy_error *err)
{
    const uint32_t node = trace_node(run, t->name);
    result_file *f = &run->file;
    pgy_status st = add_to(f, Q_TIME, node, time_of(t), err);
    if (!st) st = add_to(f, Q_SHARE, node, 100 * t->share, err);
    if (!st) st = add_to(f, Q_SPREAD, node, spread_of(t), err);
    if (!st && node != VIEW_NONE)
        st = view_samples_add(f->results, f->graph, node, t->samples, t->sample_count, err);
    return st;
}

static void fill_cells(view_cell *cells, const view_trace_run *run, const pgy_trace_times *t)
{
    cells[LAYER] = cell_ref(trace_node(run, t->name), t->name);
    cells[OP] = cell_text(*t->op ? t->op : NULL);
    cells[CALLS] = cell_number((double)t->calls);
    cells[MEDIAN] = cell_measured(t->median_us);
    cells[MEAN] = cell_measured(t->mean_us);
    cells[P90] = cell_measured(t->p90_us);
    cells[LEAST] = cell_measured(t->min_us);
    cells[GREATEST] = cell_measured(t->max_us);
    cells[TOTAL] = cell_measured(t->total_us);
    cells[SHARE] = cell_measured(100 * t->share);
}

/* ---- One timeline --------------------------------------------------------------------------- */

static pgy_status add_layers(view_trace_run *run, const pgy_trace_process *p, pgy_error *err)
{
    view_table *t = NULL;
    pgy_status st =
        result_table(&t, &run->file, "layers", "Times of layers", COLUMNS, COLUMN_COUNT, err);
    for (size_t i = 0; i < p->layer_count && !st; i++) {
        view_cell cells[COMPARED_COUNT];
        fill_cells(cells, run, &p->layers[i]);
        st = view_table_row(run->file.results, t, cells, err);
        if (!st) st = set_times(run, &p->layers[i], err);
    }
    return st;
}

/* A fact that is a text, without its quotes; NULL: there is none. */
static const char *fact_text(const pgy_trace *t, const char *name, arena *scratch)
{
    json_value *v = NULL;
    const char *json = pgy_trace_fact(t, name);
    if (!json || json_parse(&v, json, strlen(json), scratch, NULL)) return NULL;
    return v->type == JSON_STRING ? json_string(v, scratch, NULL) : NULL;
}

static pgy_status summarise(view_trace_run *run, const pgy_trace_process *p, pgy_error *err)
{
    static const char *const FACTS[] = {"command", "start_utc", "cpu", "library"};
    const char *section = run->is_second ? "Time of B" : "Time";
    result_file *f = &run->file;
    arena scratch = {0};
    pgy_status st = result_summary(f, section, "file", err, "%s, of %s", path_basename(f->path),
                                   pgy_trace_source(run->trace));
    for (size_t i = 0; i < sizeof FACTS / sizeof *FACTS && !st; i++) {
        const char *text = fact_text(run->trace, FACTS[i], &scratch);
        if (text) st = result_summary(f, section, FACTS[i], err, "%s", text);
    }
    if (!st && p) st = result_summary(f, section, "measured", err, "%s", p->name);
    if (!st && p && p->runs.calls)
        st = result_summary(f, section, "runs", err, "%zu, median %.4g us, p90 %.4g us",
                            p->runs.calls, p->runs.median_us, p->runs.p90_us);
    if (!st && p && p->runs.calls && p->layer_count)
        st = result_summary(f, section, "in layers", err, "%.4g us of %.4g us in %zu runs",
                            p->busy_us, p->run_us, p->runs_with_layers);
    arena_deinit(&scratch);
    return st;
}

/* ---- Two timelines -------------------------------------------------------------------------- */

static pgy_status add_compared(view_trace_run *run, view_table *t, const pgy_trace_diff_row *row,
                               pgy_error *err)
{
    result_file *f = &run->file;
    const uint32_t node = trace_node(run, row->a->name);
    view_cell cells[COMPARED_COUNT];
    fill_cells(cells, run, row->a);
    cells[MEDIAN_B] = cell_measured(row->b_us);
    cells[RATIO] = row->a_us > 0 ? cell_number(row->ratio) : cell_measured(NAN);
    cells[P_VALUE] = cell_measured(row->verdict == PGY_TRACE_TOO_FEW ? NAN : row->p);
    cells[CHANGE] = cell_text(TRACE_CHANGES[row->verdict]);
    pgy_status st = view_table_row(f->results, t, cells, err);
    return st ? st : add_to(f, Q_TIME_B, node, time_of(row->b), err);
}

/* The ratio of a node is that of its sums, since several layers may be one node. */
static pgy_status set_ratios(result_file *f, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (uint32_t node = 0; node < f->graph->node_count && !st; node++) {
        const view_quantity *a = view_quantity_find(f->results, "time", 0);
        const view_quantity *b = view_quantity_find(f->results, "time_b", 0);
        if (!a || !b) return PGY_OK;
        if (a->is_measured[node] && b->is_measured[node] && a->values[node] > 0)
            st = result_set(f, Q_TIME_RATIO, node, b->values[node] / a->values[node], err);
    }
    return st;
}

/* Layers of one side alone. */
static pgy_status add_unmatched(view_trace_run *run, view_table *t, const pgy_trace_diff *d,
                                bool of_b, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < pgy_trace_diff_unmatched_count(d, of_b) && !st; i++) {
        const pgy_trace_times *times = pgy_trace_diff_unmatched_at(d, of_b, i);
        const uint32_t node = trace_node(run, times->name);
        view_cell cells[COMPARED_COUNT];
        fill_cells(cells, run, times);
        for (int c = CALLS; of_b && c < COLUMN_COUNT; c++) cells[c] = (view_cell){.is_empty = true};
        cells[MEDIAN_B] = of_b ? cell_measured(time_of(times)) : (view_cell){.is_empty = true};
        cells[RATIO] = cells[P_VALUE] = (view_cell){.is_empty = true};
        cells[CHANGE] = cell_text(of_b ? "only in B" : "only in A");
        st = view_table_row(run->file.results, t, cells, err);
        if (!st && of_b) st = add_to(&run->file, Q_TIME_B, node, time_of(times), err);
    }
    return st;
}

static pgy_status restart_table(view_table **out, result_file *f, pgy_error *err)
{
    pgy_status st = result_table(out, f, "layers", "Times of layers", COLUMNS, COMPARED_COUNT, err);
    if (st) return st;
    view_table *t = *out;
    t->row_count = 0;
    t->columns = arena_alloc_array(&f->results->memory, COMPARED_COUNT, sizeof *t->columns);
    if (!t->columns) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a timeline");
    memcpy(t->columns, COLUMNS, sizeof COLUMNS);
    t->column_count = COMPARED_COUNT;
    t->note = "B is called slower or faster if p is below 0.01 (Mann-Whitney test of the times per "
              "run, corrected for the number of layers).";
    return PGY_OK;
}

static pgy_status put_comparison(view_trace_run *run, const pgy_trace_diff *d, pgy_error *err)
{
    const pgy_trace_diff_row *runs = pgy_trace_diff_runs(d);
    view_table *t = NULL;
    pgy_status st = restart_table(&t, &run->file, err);
    for (size_t i = 0; i < pgy_trace_diff_layer_count(d) && !st; i++)
        st = add_compared(run, t, pgy_trace_diff_layer_at(d, i), err);
    for (int side = 0; side < 2 && !st; side++) st = add_unmatched(run, t, d, side, err);
    if (!st) st = set_ratios(&run->file, err);
    if (!st && runs)
        st = result_summary(&run->file, "Time of B", "runs beside A", err, "%.4g of A: %s",
                            runs->ratio, TRACE_CHANGES[runs->verdict]);
    return st;
}

static pgy_status compare(view_trace_run *run, const pgy_trace_summary *a,
                          const pgy_trace_summary *b, const char *process_a, const char *process_b,
                          pgy_error *err)
{
    const pgy_trace_diff_options options = {
        .size = sizeof options, .process_a = process_a, .process_b = process_b};
    pgy_trace_diff *d = NULL;
    pgy_error why = {0};
    pgy_status st = pgy_trace_diff_create(&d, a, b, &options, &why);
    if (st == PGY_E_NOT_FOUND || st == PGY_E_ARGUMENT)
        return result_warn(&run->file, err, "not compared with the first timeline: %s", why.text);
    if (st) return pgy_error_set(err, st, "%s", why.text);
    st = put_comparison(run, d, err);
    pgy_trace_diff_destroy(d);
    return st;
}

pgy_status trace_add_times(view_trace_run *run, pgy_error *err)
{
    size_t place = 0, next, other_place = 0;
    const pgy_trace_process *p = trace_process(run->summary, &place);
    if (!p && run->summary && pgy_trace_summary_count(run->summary))
        p = pgy_trace_summary_at(run->summary, 0);
    pgy_status st = summarise(run, p, err);
    if (st || !p) return st;
    if (run->is_second) {
        const pgy_trace_process *a = trace_process(run->other_summary, &other_place);
        return a && p->layer_count
                   ? compare(run, run->other_summary, run->summary, a->name, p->name, err)
                   : PGY_OK;
    }
    if (p->layer_count) st = add_layers(run, p, err);
    next = place + 1;
    const pgy_trace_process *b = trace_process(run->summary, &next);
    if (!st && p->layer_count && b)
        st = compare(run, run->summary, run->summary, p->name, b->name, err);
    return st;
}
