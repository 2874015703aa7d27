/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs of runners: the file of `run --save-outputs`, or arrays of NumPy, with two runners or
 * together with a second file. Only one iteration is in memory at a time. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "data/array_json.h"
#include "viewer/sources/accuracy_rows.h"
#include "viewer/sources/output_file.h"
#include "viewer/sources/output_pair.h"

/* A runner of a file. */
typedef struct output_runner {
    pgy_results_reader *reader; /* NULL: there is one iteration */
    pgy_results *iteration;     /* NULL: the file has ended */
    const char *path;
    size_t at;   /* its place in the file */
    char *name;  /* as the file names it */
    bool shares; /* the reader belongs to the runner before */
} output_runner;

typedef struct outputs_run {
    result_file file;
    output_runner runners[2];
    size_t runner_count, left_out; /* left out: more runners than two */
    accuracy_rows rows;
    size_t unmatched; /* outputs that one side has alone */
} outputs_run;

/* ---- What the file is ----------------------------------------------------------------------- */

/* The start of the file without blanks is compared, as the class stands at the end of a file that
 * may have gigabytes. */
static bool starts_as_results(span start)
{
    static const char WANTED[] = "{\"lst\":[[\"";
    size_t at = 0;
    for (size_t i = 0; i < start.size && WANTED[at]; i++) {
        if (strchr(" \t\r\n", start.data[i])) continue;
        if (start.data[i] != WANTED[at++]) return false;
    }
    return !WANTED[at];
}

static bool accept(const char *path, span start, const json_value *json)
{
    const char *class = typed_json_class(json);
    return json ? class && strcmp(class, "RunResults") == 0
                : output_file_is_npz(path, start) || starts_as_results(start);
}

/* ---- Runners -------------------------------------------------------------------------------- */

static void close_runners(outputs_run *run)
{
    for (size_t i = 0; i < run->runner_count; i++) {
        output_runner *r = &run->runners[i];
        if (!r->shares) {
            pgy_results_destroy(r->iteration);
            pgy_results_reader_close(r->reader);
        }
        mem_free(r->name);
        *r = (output_runner){0};
    }
    run->runner_count = 0;
}

/* Appends the runners of a file whose first iteration has been read. */
static pgy_status add_runners(outputs_run *run, const output_runner *first, pgy_error *err)
{
    const size_t count = pgy_results_runner_count(first->iteration);
    for (size_t i = 0; i < count; i++) {
        if (run->runner_count == 2) {
            run->left_out++;
            continue;
        }
        output_runner *r = &run->runners[run->runner_count];
        *r = *first;
        r->at = i;
        r->shares = i > 0;
        r->name = mem_strdup(pgy_results_runner_name(first->iteration, i));
        run->runner_count++;
        if (!r->name) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for outputs");
    }
    return PGY_OK;
}

static pgy_status open_file(outputs_run *run, const char *path, pgy_error *err)
{
    output_runner first = {.path = path};
    const size_t before = run->runner_count;
    if (before == 2) {
        run->left_out++;
        return PGY_OK;
    }
    pgy_status st = output_file_open(&first.reader, &first.iteration, path, err);
    if (!st) st = add_runners(run, &first, err);
    if (run->runner_count == before) {
        pgy_results_destroy(first.iteration);
        pgy_results_reader_close(first.reader);
    }
    return st;
}

/* Runners of files that were added before come first: one file for each runner is usual. */
static pgy_status open_runners(outputs_run *run, const char *path, pgy_error *err)
{
    const char *earlier;
    size_t at = 0;
    pgy_status st = PGY_OK;
    while (!st && (earlier = result_earlier(&run->file, &at))) st = open_file(run, earlier, err);
    return st ? st : open_file(run, path, err);
}

static pgy_status next_iteration(outputs_run *run, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < run->runner_count && !st; i++) {
        output_runner *r = &run->runners[i];
        if (r->shares) {
            r->iteration = run->runners[i - 1].iteration;
            continue;
        }
        pgy_results_destroy(r->iteration);
        r->iteration = NULL;
        if (r->reader) st = pgy_results_reader_next(&r->iteration, r->reader, err);
    }
    return st;
}

/* NULL: the runner has no more iterations. */
static const pgy_tensor_map *outputs_of(const outputs_run *run, size_t runner)
{
    const output_runner *r = &run->runners[runner];
    if (runner >= run->runner_count || !r->iteration ||
        !pgy_results_iteration_count(r->iteration, r->at))
        return NULL;
    return pgy_results_at(r->iteration, r->at, 0)->outputs;
}

/* ---- One output ----------------------------------------------------------------------------- */

static pgy_status set_seen(result_file *f, uint32_t tensor, const pgy_tensor *t, pgy_error *err)
{
    view_tensor *v = &f->graph->tensors[tensor];
    const char *dtype = pgy_dtype_name(pgy_tensor_dtype(t));
    /* Files of outputs have only types of NumPy. */
    const pgy_dtype declared = pgy_dtype_from_name(v->dtype);
    const bool is_other_type = declared != PGY_DTYPE_NONE && declared != pgy_tensor_dtype(t) &&
                               pgy_dtype_describe(declared)->npy;
    str seen = {0};
    output_append_shape(&seen, t);
    str_printf(&seen, "%s%s", seen.size ? " " : "", dtype);
    pgy_status st = PGY_OK;
    if (!v->seen) v->seen = arena_strdup(&f->graph->memory, str_text(&seen));
    if (!v->seen || seen.failed)
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory for outputs");
    else if ((v->shape && !shape_may_be(v->shape, t)) || is_other_type)
        st = result_mark(f, VIEW_OF_TENSOR, tensor, VIEW_MARK_CONTRADICTION, err,
                         "a run saw %s; the graph says %s%s%s", str_text(&seen),
                         v->shape ? v->shape : "?", *v->dtype ? " " : "", v->dtype);
    str_deinit(&seen);
    return st;
}

/* Of all iterations and both sides the worst health counts; it is the smallest number but for
 * normal. */
static view_health worse_health(view_health a, view_health b)
{
    return a == HEALTH_NORMAL ? b : b == HEALTH_NORMAL || a < b ? a : b;
}

static pgy_status set_health(result_file *f, uint32_t tensor, const output_pair *p, pgy_error *err)
{
    const view_quantity *q = view_quantity_find(f->results, "state", 0);
    view_health health = HEALTH_NORMAL;
    if (q && q->is_measured[tensor]) health = (view_health)q->values[tensor];
    pgy_status st = PGY_OK;
    if (!p->side[0].narrow && !p->side[1].narrow) return PGY_OK; /* texts */
    for (int i = 0; i < 2 && !st; i++) {
        const output_side *s = &p->side[i];
        const side_counts *c = &s->counts;
        if (!s->narrow) continue;
        health = worse_health(health, output_side_health(s));
        if (c->nan)
            st = result_mark(f, VIEW_OF_TENSOR, tensor, VIEW_MARK_NAN, err,
                             "%s: %llu of %zu elements are NaN", s->runner,
                             (unsigned long long)c->nan, s->stats.count);
        if (!st && c->inf)
            st = result_mark(f, VIEW_OF_TENSOR, tensor, VIEW_MARK_INF, err,
                             "%s: %llu of %zu elements are infinite", s->runner,
                             (unsigned long long)c->inf, s->stats.count);
    }
    return st ? st : result_set(f, Q_STATE, tensor, health, err);
}

static void add_errors(accuracy_row *row, const output_pair *p)
{
    const double count = (double)p->differences[0].count;
    accuracy_row_add(row, Q_MAXABS, p->differences[0].max);
    accuracy_row_add(row, Q_MEANABS, p->differences[0].mean);
    accuracy_row_add(row, Q_MAXREL, p->differences[1].max);
    accuracy_row_add(row, Q_COSINE, 1 - p->cosine);
    accuracy_row_add(row, Q_SNR, p->snr);
    accuracy_row_add(row, Q_BEYOND, count > 0 ? 100 * (double)p->beyond / count : 0);
    accuracy_row_judge(row, p->beyond == 0);
    if (!row->tolerance.size)
        str_printf(&row->tolerance, "abs %g, rel %g (elemwise)", OUTPUT_TOLERANCE,
                   OUTPUT_TOLERANCE);
}

static void refuse_shapes(accuracy_row *row, const output_pair *p)
{
    accuracy_row_judge(row, false);
    str_clear(&row->tolerance);
    str_append(&row->tolerance, "shapes differ: ");
    output_append_shape(&row->tolerance, p->side[0].tensor);
    str_append(&row->tolerance, " and ");
    output_append_shape(&row->tolerance, p->side[1].tensor);
}

/* Statistics are those of the iteration with the largest error. */
static pgy_status add_pair(outputs_run *run, accuracy_row *row, const output_pair *p,
                           pgy_error *err)
{
    result_file *f = &run->file;
    const double before = row->values[Q_MAXABS], error = p->differences[0].max;
    const bool is_first = !row->has_stats;
    const bool is_worst = is_first || (p->is_compared && row->has[Q_MAXABS] &&
                                       (isnan(error) ? !isnan(before) : error > before));
    view_stats *s = NULL;
    const bool both = p->side[0].tensor && p->side[1].tensor;
    if (p->is_compared) add_errors(row, p);
    if (both && !p->is_compared && p->side[0].narrow && p->side[1].narrow) refuse_shapes(row, p);
    pgy_status st = PGY_OK;
    if (row->tensor == VIEW_NONE) return PGY_OK;
    for (int i = 0; i < 2 && !st; i++)
        if (p->side[i].tensor) st = set_seen(f, row->tensor, p->side[i].tensor, err);
    if (!st) st = set_health(f, row->tensor, p, err);
    if (st || !is_worst) return st;
    row->has_stats = true;
    st = view_stats_add(&s, f->results, row->tensor, err);
    return st ? st : output_pair_stats(s, f, p, err);
}

static pgy_status add_output(outputs_run *run, const char *name, pgy_tensor *a, pgy_tensor *b,
                             pgy_error *err)
{
    accuracy_row *row = NULL;
    output_pair pair;
    pgy_status st = cancel_check(err);
    if (!st) st = accuracy_row_get(&row, &run->rows, &run->file, name, err);
    if (st) return st;
    const char *other = run->runner_count > 1 ? run->runners[1].name : NULL;
    st = output_pair_open(&pair, a, run->runners[0].name, b, other, err);
    if (!st) st = add_pair(run, row, &pair, err);
    output_pair_deinit(&pair);
    return st ? pgy_error_prefix(err, st, "output '%s': ", name) : PGY_OK;
}

static pgy_status add_iteration(outputs_run *run, pgy_error *err)
{
    const pgy_tensor_map *a = outputs_of(run, 0), *b = outputs_of(run, 1);
    pgy_status st = PGY_OK;
    for (size_t i = 0; a && !st && i < pgy_tensor_map_count(a); i++) {
        const char *name = pgy_tensor_map_name(a, i);
        pgy_tensor *other = b ? pgy_tensor_map_find(b, name) : NULL;
        run->unmatched += b && !other;
        st = add_output(run, name, pgy_tensor_map_at(a, i), other, err);
    }
    for (size_t i = 0; b && !st && i < pgy_tensor_map_count(b); i++) {
        const char *name = pgy_tensor_map_name(b, i);
        if (a && pgy_tensor_map_find(a, name)) continue;
        run->unmatched += a != NULL;
        st = add_output(run, name, NULL, pgy_tensor_map_at(b, i), err);
    }
    return st;
}

/* ---- All ------------------------------------------------------------------------------------ */

static pgy_status summarise(outputs_run *run, size_t iterations, pgy_error *err)
{
    static const char *const TITLES[] = {"runner A", "runner B"};
    result_file *f = &run->file;
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < run->runner_count && !st; i++)
        st = result_summary(f, "Outputs", TITLES[i], err, "%s, %s", run->runners[i].name,
                            path_basename(run->runners[i].path));
    if (!st) st = result_summary(f, "Outputs", "iterations", err, "%zu", iterations);
    if (!st && run->runner_count == 2)
        st = result_summary(f, "Outputs", "tolerance", err,
                            "abs %g, rel %g, element by element: the default of run",
                            OUTPUT_TOLERANCE, OUTPUT_TOLERANCE);
    if (!st && run->left_out)
        st = result_warn(f, err, "%zu more runner(s) are not shown: a view compares two",
                         run->left_out);
    if (!st && run->unmatched)
        st = result_warn(f, err, "one runner alone has %zu of the outputs; they are not compared",
                         run->unmatched);
    return st;
}

static pgy_status read_all(outputs_run *run, const char *path, pgy_error *err)
{
    size_t iterations = 0;
    pgy_status st = open_runners(run, path, err);
    if (!st && !run->runner_count) st = pgy_error_set(err, PGY_E_FORMAT, "the file has no runner");
    while (!st && (outputs_of(run, 0) || outputs_of(run, 1))) {
        st = add_iteration(run, err);
        iterations++;
        if (!st) st = next_iteration(run, err);
    }
    if (!st) st = accuracy_rows_finish(&run->rows, &run->file, false, err);
    return st ? st : summarise(run, iterations, err);
}

static pgy_status add(pgy_page *p, const char *path, pgy_error *err)
{
    outputs_run run = {0};
    pgy_status st = result_open(&run.file, p, path, err);
    if (!st) st = read_all(&run, path, err);
    close_runners(&run);
    accuracy_rows_deinit(&run.rows);
    result_close(&run.file);
    return st;
}

const view_source view_source_outputs = {"outputs", "outputs of runners (run --save-outputs, .npz)",
                                         accept, add};
