/* SPDX-License-Identifier: Apache-2.0 */
/* Matches the layers, ops and runs of two summaries, and judges their samples. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/printable.h"
#include "base/sized.h"
#include "trace/summary.h"

enum { LEAST_SAMPLES = 8 }; /* the normal approximation of the test needs that many */
static const double SIGNIFICANT = 0.01;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a comparison of timelines");
}

/* ---- The test ------------------------------------------------------------------------------- */

typedef struct ranked {
    double value;
    bool of_b;
} ranked;

static int by_value(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

double trace_rank_test(const double *a, size_t a_count, const double *b, size_t b_count,
                       bool *b_greater)
{
    const size_t count = a_count + b_count;
    const double n = (double)count, na = (double)a_count, nb = (double)b_count;
    double ranks_b = 0, ties = 0;
    ranked *all = mem_calloc(count + 1, sizeof *all);
    if (!all) return -1;
    for (size_t i = 0; i < a_count; i++) all[i] = (ranked){a[i], false};
    for (size_t i = 0; i < b_count; i++) all[a_count + i] = (ranked){b[i], true};
    qsort(all, count, sizeof *all, by_value);
    for (size_t from = 0, to = 0; from < count; from = to) {
        while (to < count && all[to].value == all[from].value) to++;
        const double same = (double)(to - from), rank = ((double)(from + to) + 1) / 2;
        for (size_t i = from; i < to; i++) ranks_b += all[i].of_b ? rank : 0;
        ties += same * same * same - same;
    }
    mem_free(all);
    const double u = ranks_b - nb * (nb + 1) / 2, expected = na * nb / 2;
    const double variance = na * nb / 12 * (n + 1 - ties / (n * (n - 1)));
    *b_greater = u > expected;
    if (!(variance > 0)) return 1;
    const double distance = fmax(0, fabs(u - expected) - 0.5);
    return erfc(distance / sqrt(variance) / sqrt(2));
}

static pgy_status median_of(double *out, const pgy_trace_times *t, pgy_error *err)
{
    double *copy = mem_calloc(t->sample_count + 1, sizeof *copy);
    if (!copy) return no_memory(err);
    if (t->sample_count) memcpy(copy, t->samples, t->sample_count * sizeof *copy);
    *out = trace_median(copy, t->sample_count);
    mem_free(copy);
    return PGY_OK;
}

/* The times that are compared. Sums have no samples, but may tell the median of the calls. */
static pgy_status take_times(pgy_trace_diff_row *r, pgy_error *err)
{
    const pgy_trace_times *a = r->a, *b = r->b;
    if (a->sample_count && b->sample_count) {
        const pgy_status st = median_of(&r->a_us, a, err);
        return st ? st : median_of(&r->b_us, b, err);
    }
    const bool has_medians = !isnan(a->median_us) && !isnan(b->median_us);
    r->a_us = has_medians ? a->median_us : a->mean_us;
    r->b_us = has_medians ? b->median_us : b->mean_us;
    return PGY_OK;
}

static pgy_status judge(pgy_trace_diff_row *r, pgy_error *err)
{
    bool greater = false;
    const pgy_status st = take_times(r, err);
    if (st) return st;
    r->ratio = r->a_us > 0 ? r->b_us / r->a_us : 0;
    r->p = 1;
    r->verdict = PGY_TRACE_TOO_FEW;
    if (r->a->sample_count < LEAST_SAMPLES || r->b->sample_count < LEAST_SAMPLES) return PGY_OK;
    r->p = trace_rank_test(r->a->samples, r->a->sample_count, r->b->samples, r->b->sample_count,
                           &greater);
    if (r->p < 0) return no_memory(err);
    /* The direction, if the medians agree with the ranks; Holm's correction decides. */
    r->verdict = greater && r->b_us > r->a_us    ? PGY_TRACE_SLOWER
                 : !greater && r->b_us < r->a_us ? PGY_TRACE_FASTER
                                                 : PGY_TRACE_NO_DIFFERENCE;
    return cancel_check(err);
}

static int by_p(const void *a, const void *b)
{
    const pgy_trace_diff_row *x = *(pgy_trace_diff_row *const *)a;
    const pgy_trace_diff_row *y = *(pgy_trace_diff_row *const *)b;
    return (x->p > y->p) - (x->p < y->p);
}

/* Of a hundred layers without a difference, one would have p below 0.01: the smallest p is
 * multiplied by the number of tests, the next one by one less. */
static pgy_status correct(pgy_trace_diff_row *rows, size_t count, pgy_error *err)
{
    pgy_trace_diff_row **order = mem_calloc(count + 1, sizeof *order);
    size_t tested = 0;
    double least = 0;
    if (!order) return no_memory(err);
    for (size_t i = 0; i < count; i++)
        if (rows[i].verdict != PGY_TRACE_TOO_FEW) order[tested++] = &rows[i];
    if (tested) qsort(order, tested, sizeof *order, by_p);
    for (size_t i = 0; i < tested; i++) {
        least = fmin(1, fmax(least, order[i]->p * (double)(tested - i)));
        order[i]->p = least;
        if (least >= SIGNIFICANT) order[i]->verdict = PGY_TRACE_NO_DIFFERENCE;
    }
    mem_free(order);
    return PGY_OK;
}

pgy_status trace_judge_rows(pgy_trace_diff_row *rows, size_t count, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i++) st = judge(&rows[i], err);
    return st ? st : correct(rows, count, err);
}

/* ---- Matching ------------------------------------------------------------------------------- */

/* Index + 1 of items by a key; a key that occurs twice has SIZE_MAX. */
static bool index_items(strmap *out, const pgy_trace_times *items, size_t count, bool with_op,
                        const bool *taken)
{
    str key = {0};
    bool good = true;
    for (size_t i = 0; good && i < count; i++) {
        if (taken && taken[i]) continue;
        str_clear(&key);
        str_printf(&key, "%s%c%s", items[i].name, 1, with_op ? items[i].op : "");
        const bool again = !key.failed && strmap_has(out, str_text(&key));
        good = !key.failed &&
               strmap_put(out, str_text(&key), (void *)(uintptr_t)(again ? SIZE_MAX : i + 1));
    }
    str_deinit(&key);
    return good;
}

typedef struct matcher {
    const pgy_trace_times *a, *b;
    size_t a_count, b_count;
    bool *a_taken, *b_taken;
    pgy_trace_diff_row *rows;
    size_t row_count;
} matcher;

static bool match_by(matcher *m, bool with_op)
{
    strmap a = {0}, b = {0};
    bool good = index_items(&a, m->a, m->a_count, with_op, m->a_taken) &&
                index_items(&b, m->b, m->b_count, with_op, m->b_taken);
    for (size_t i = 0; good && i < a.count; i++) {
        const size_t in_a = (uintptr_t)a.entries[i].value;
        const size_t in_b = (uintptr_t)strmap_get(&b, a.entries[i].key);
        if (in_a == SIZE_MAX || !in_b || in_b == SIZE_MAX) continue;
        m->a_taken[in_a - 1] = m->b_taken[in_b - 1] = true;
        m->rows[m->row_count++] = (pgy_trace_diff_row){.a = &m->a[in_a - 1], .b = &m->b[in_b - 1]};
    }
    strmap_deinit(&a);
    strmap_deinit(&b);
    return good;
}

/* Per run, since the number of runs differs; of sums per call. */
double trace_per_run(const pgy_trace_times *t)
{
    const size_t count = t->sample_count ? t->sample_count : t->calls;
    return count ? t->total_us / (double)count : 0;
}

static double change_of(const pgy_trace_diff_row *r)
{
    return fabs(trace_per_run(r->b) - trace_per_run(r->a));
}

static int by_change(const void *a, const void *b)
{
    const double x = change_of(a), y = change_of(b);
    if (x != y) return x < y ? 1 : -1;
    return strcmp(((const pgy_trace_diff_row *)a)->a->name,
                  ((const pgy_trace_diff_row *)b)->a->name);
}

static pgy_status judge_all(matcher *m, pgy_error *err)
{
    const pgy_status st = trace_judge_rows(m->rows, m->row_count, err);
    if (!st && m->row_count) qsort(m->rows, m->row_count, sizeof *m->rows, by_change);
    return st;
}

static pgy_status match(matcher *m, arena *memory, pgy_error *err)
{
    m->a_taken = arena_alloc_array(memory, m->a_count + 1, sizeof *m->a_taken);
    m->b_taken = arena_alloc_array(memory, m->b_count + 1, sizeof *m->b_taken);
    m->rows = arena_alloc_array(memory, m->a_count + 1, sizeof *m->rows);
    if (!m->a_taken || !m->b_taken || !m->rows) return no_memory(err);
    if (!match_by(m, true) || !match_by(m, false)) return no_memory(err);
    return judge_all(m, err);
}

static pgy_status list_rest(const pgy_trace_times ***out, size_t *out_count,
                            const pgy_trace_times *items, size_t count, const bool *taken,
                            arena *memory, pgy_error *err)
{
    *out = arena_alloc_array(memory, count + 1, sizeof **out);
    if (!*out) return no_memory(err);
    for (size_t i = 0; i < count; i++)
        if (!taken[i]) (*out)[(*out_count)++] = &items[i];
    return PGY_OK;
}

static pgy_status match_layers(pgy_trace_diff *d, pgy_error *err)
{
    const pgy_trace_process *a = d->process_a, *b = d->process_b;
    matcher layers = {.a = a->layers, .b = b->layers};
    matcher ops = {.a = a->ops, .b = b->ops, .a_count = a->op_count, .b_count = b->op_count};
    layers.a_count = a->layer_count;
    layers.b_count = b->layer_count;
    pgy_status st = match(&layers, &d->memory, err);
    if (!st) st = match(&ops, &d->memory, err);
    if (!st)
        st = list_rest(&d->only_a, &d->only_a_count, layers.a, layers.a_count, layers.a_taken,
                       &d->memory, err);
    if (!st)
        st = list_rest(&d->only_b, &d->only_b_count, layers.b, layers.b_count, layers.b_taken,
                       &d->memory, err);
    d->layers = layers.rows;
    d->layer_count = layers.row_count;
    d->ops = ops.rows;
    d->op_count = ops.row_count;
    return st;
}

static pgy_status match_runs(pgy_trace_diff *d, pgy_error *err)
{
    d->has_runs = d->process_a->runs.calls && d->process_b->runs.calls;
    if (!d->has_runs) return PGY_OK;
    d->runs = (pgy_trace_diff_row){.a = &d->process_a->runs, .b = &d->process_b->runs};
    return trace_judge_rows(&d->runs, 1, err);
}

/* ---- Processes ------------------------------------------------------------------------------ */

static pgy_status choose(const pgy_trace_process **out, const pgy_trace_summary *s,
                         const char *wanted, char side, pgy_error *err)
{
    str names = {0};
    size_t found = 0;
    for (int with_layers = 1; with_layers >= 0 && !found; with_layers--)
        for (size_t i = 0; i < s->process_count; i++) {
            const pgy_trace_process *p = &s->processes[i];
            if (wanted && !strstr(p->name, wanted)) continue;
            if (with_layers && !p->layer_count) continue;
            *out = p;
            found++;
        }
    if (found == 1) return PGY_OK;
    for (size_t i = 0; i < s->process_count && i < TRACE_SHOWN; i++)
        str_printf(&names, "%s'%s'", i ? ", " : "", printable_name(s->processes[i].name));
    const pgy_status st =
        wanted && !found
            ? pgy_error_set(err, PGY_E_NOT_FOUND, "%s: has no process '%s'; it has %s", s->name,
                            wanted, str_text(&names))
            : pgy_error_set(
                  err, PGY_E_ARGUMENT,
                  "%s: %zu processes could be meant: %s; name one by trace_diff.process_%c",
                  s->name, found, str_text(&names), side);
    str_deinit(&names);
    return st;
}

pgy_status pgy_trace_diff_create(pgy_trace_diff **out, const pgy_trace_summary *a,
                                 const pgy_trace_summary *b, const pgy_trace_diff_options *options,
                                 pgy_error *err)
{
    pgy_trace_diff_options o = {.size = sizeof o};
    pgy_status st = SIZED_TAKE(pgy_trace_diff_options, &o, options, err);
    if (st) return st;
    pgy_trace_diff *d = mem_calloc(1, sizeof *d);
    if (!d) return no_memory(err);
    d->a = a;
    d->b = b;
    st = choose(&d->process_a, a, o.process_a, 'a', err);
    if (!st) st = choose(&d->process_b, b, o.process_b, 'b', err);
    if (!st) st = match_layers(d, err);
    if (!st) st = match_runs(d, err);
    if (!st && !d->layer_count && !d->op_count && !d->has_runs)
        st = pgy_error_set(err, PGY_E_NOT_FOUND,
                           "%s and %s have no layer, op or runs in common, so nothing can be "
                           "compared",
                           a->name, b->name);
    if (st)
        pgy_trace_diff_destroy(d);
    else
        *out = d;
    return st;
}

void pgy_trace_diff_destroy(pgy_trace_diff *d)
{
    if (!d) return;
    arena_deinit(&d->memory);
    mem_free(d);
}

size_t pgy_trace_diff_layer_count(const pgy_trace_diff *d)
{
    return d->layer_count;
}

const pgy_trace_diff_row *pgy_trace_diff_layer_at(const pgy_trace_diff *d, size_t i)
{
    return i < d->layer_count ? &d->layers[i] : NULL;
}

size_t pgy_trace_diff_op_count(const pgy_trace_diff *d)
{
    return d->op_count;
}

const pgy_trace_diff_row *pgy_trace_diff_op_at(const pgy_trace_diff *d, size_t i)
{
    return i < d->op_count ? &d->ops[i] : NULL;
}

const pgy_trace_diff_row *pgy_trace_diff_runs(const pgy_trace_diff *d)
{
    return d->has_runs ? &d->runs : NULL;
}

size_t pgy_trace_diff_unmatched_count(const pgy_trace_diff *d, bool of_b)
{
    return of_b ? d->only_b_count : d->only_a_count;
}

const pgy_trace_times *pgy_trace_diff_unmatched_at(const pgy_trace_diff *d, bool of_b, size_t i)
{
    if (i >= pgy_trace_diff_unmatched_count(d, of_b)) return NULL;
    return of_b ? d->only_b[i] : d->only_a[i];
}
