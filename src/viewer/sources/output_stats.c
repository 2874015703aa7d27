/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of a tensor as the page shows them: histograms on the same bins, the worst elements,
 * the share of elements beyond each tolerance, and all values of small tensors. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "viewer/sources/output_pair.h"

/* Tolerances of the curve span so many decades below the largest difference. */
enum { CURVE_DECADES = 8 };

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for statistics of an output");
}

/* ---- Histograms ----------------------------------------------------------------------------- */

/* Equal ends get some room, as NumPy does it; returns false without finite values. */
static bool set_range(double *low, double *high, double from, double to)
{
    if (!(from <= to)) return false;
    *low = from == to ? from - 0.5 : from;
    *high = from == to ? to + 0.5 : to;
    return true;
}

/* The last bin is closed. Halves keep the range of the largest doubles finite. */
static size_t bin_of(double low, double high, double v)
{
    const double at = (v / 2 - low / 2) / (high / 2 - low / 2) * VIEW_BINS;
    return !(at > 0) ? 0 : at >= VIEW_BINS ? VIEW_BINS - 1 : (size_t)at;
}

static void tally(uint64_t *bins, double low, double high, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i])) bins[bin_of(low, high, x[i])]++;
}

static pgy_status tally_side(uint64_t *bins, const view_stats *s, const output_side *side, block *b,
                             double *reals, pgy_error *err)
{
    const source from = source_array(pgy_tensor_view(side->narrow));
    for (size_t i = 0; i < from.count; i += ARITH_BLOCK) {
        const size_t n = from.count - i < ARITH_BLOCK ? from.count - i : ARITH_BLOCK;
        pgy_status st = cancel_check(err);
        if (st) return st;
        block_reals(reals, b, &from, 0, i, n);
        tally(bins, s->low, s->high, reals, n);
    }
    return PGY_OK;
}

/* ---- Differences ---------------------------------------------------------------------------- */

typedef struct worst_element {
    size_t at;
    double difference;
} worst_element;

typedef struct difference_run {
    view_stats *stats;
    worst_element worst[VIEW_WORST]; /* the largest first */
    uint64_t above[VIEW_CURVE];      /* elements beyond tolerance i but not beyond i + 1 */
} difference_run;

/* NaN is larger than all numbers. */
static bool is_larger(double a, double b)
{
    return isnan(a) ? !isnan(b) : a > b;
}

static void keep_worst(difference_run *run, size_t at, double v)
{
    uint32_t *count = &run->stats->worst_count;
    if (v == 0 || (*count == VIEW_WORST && !is_larger(v, run->worst[VIEW_WORST - 1].difference)))
        return;
    uint32_t place = *count < VIEW_WORST ? (*count)++ : VIEW_WORST - 1;
    for (; place && is_larger(v, run->worst[place - 1].difference); place--)
        run->worst[place] = run->worst[place - 1];
    run->worst[place] = (worst_element){at, v};
}

static void set_curve(view_stats *s, double largest)
{
    if (!(largest > 0) || !isfinite(largest)) return;
    for (uint32_t i = 0; i < VIEW_CURVE; i++)
        s->curve[i].tolerance =
            largest *
            pow(10, -(double)CURVE_DECADES * (double)(VIEW_CURVE - 1 - i) / (VIEW_CURVE - 1));
    s->curve[VIEW_CURVE - 1].tolerance = largest;
    s->curve_count = VIEW_CURVE;
}

/* Counts an element for the largest tolerance that it is beyond. */
static void count_for_curve(difference_run *run, double v)
{
    const view_stats *s = run->stats;
    uint32_t low = 0, high = s->curve_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (v > s->curve[middle].tolerance || isnan(v))
            low = middle + 1;
        else
            high = middle;
    }
    if (low) run->above[low - 1]++;
}

static pgy_status scan_differences(difference_run *run, const source *s, block *b, double *reals,
                                   pgy_error *err)
{
    view_stats *to = run->stats;
    for (size_t i = 0; i < s->count; i += ARITH_BLOCK) {
        const size_t n = s->count - i < ARITH_BLOCK ? s->count - i : ARITH_BLOCK;
        pgy_status st = cancel_check(err);
        if (st) return st;
        block_reals(reals, b, s, 0, i, n);
        if (to->difference_low <= to->difference_high)
            tally(to->difference, to->difference_low, to->difference_high, reals, n);
        for (size_t k = 0; k < n; k++) {
            keep_worst(run, i + k, reals[k]);
            count_for_curve(run, reals[k]);
        }
    }
    return PGY_OK;
}

/* The largest difference that is a number. */
static pgy_status finite_range(double *low, double *high, const source *s, block *b, double *reals,
                               pgy_error *err)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < s->count; i += ARITH_BLOCK) {
        const size_t n = s->count - i < ARITH_BLOCK ? s->count - i : ARITH_BLOCK;
        pgy_status st = cancel_check(err);
        if (st) return st;
        block_reals(reals, b, s, 0, i, n);
        for (size_t k = 0; k < n; k++) {
            if (!isfinite(reals[k])) continue;
            if (reals[k] < *low) *low = reals[k];
            if (reals[k] > *high) *high = reals[k];
        }
    }
    return PGY_OK;
}

static double element(const output_side *side, size_t at, block *b)
{
    double v;
    const source s = source_array(pgy_tensor_view(side->narrow));
    block_reals(&v, b, &s, 0, at, 1);
    return v;
}

static bool name_worst(difference_run *run, result_file *f, const output_pair *p, block *b)
{
    const pgy_tensor *t = p->side[0].narrow;
    const size_t rank = pgy_tensor_rank(t);
    for (uint32_t i = 0; i < run->stats->worst_count; i++) {
        int64_t index[PGY_MAX_RANK];
        size_t at = run->worst[i].at;
        str text = {0};
        for (size_t d = rank; d-- > 0;) {
            index[d] = (int64_t)(at % (size_t)pgy_tensor_shape(t)[d]);
            at /= (size_t)pgy_tensor_shape(t)[d];
        }
        for (size_t d = 0; d < rank; d++)
            str_printf(&text, "%s%lld", d ? ", " : "", (long long)index[d]);
        run->stats->worst[i].index = text.failed ? NULL : view_text(f->results, str_text(&text));
        run->stats->worst[i].a = element(&p->side[0], run->worst[i].at, b);
        run->stats->worst[i].b = element(&p->side[1], run->worst[i].at, b);
        str_deinit(&text);
        if (!run->stats->worst[i].index) return false;
    }
    return true;
}

static pgy_status fill_differences(view_stats *s, result_file *f, const output_pair *p, block *b,
                                   double *reals, pgy_error *err)
{
    const pair_options options = {.atol.real = OUTPUT_TOLERANCE, .rtol.real = OUTPUT_TOLERANCE};
    const source from = source_pair(pgy_tensor_view(p->side[0].narrow),
                                    pgy_tensor_view(p->side[1].narrow), &options);
    difference_run run = {.stats = s};
    double low, high;
    uint64_t beyond = 0;
    pgy_status st = finite_range(&low, &high, &from, b, reals, err);
    if (st) return st;
    if (!set_range(&s->difference_low, &s->difference_high, low, high))
        s->difference_low = 1, s->difference_high = 0;
    set_curve(s, high);
    st = scan_differences(&run, &from, b, reals, err);
    if (st) return st;
    for (uint32_t i = s->curve_count; i-- > 0;) {
        beyond += run.above[i];
        s->curve[i].share = (double)beyond / (double)from.count;
    }
    return name_worst(&run, f, p, b) ? PGY_OK : no_memory(err);
}

/* ---- Values --------------------------------------------------------------------------------- */

/* Keeps the values of both sides if they are few; of two shapes those of the first side. */
static pgy_status fill_planes(view_stats *s, result_file *f, const output_pair *p, pgy_error *err)
{
    const int first = p->side[0].narrow ? 0 : 1;
    const pgy_tensor *shown = p->side[first].narrow;
    const size_t rank = shown ? pgy_tensor_rank(shown) : 0;
    const uint64_t limit = f->page->options.embed_values;
    int64_t *shape = arena_alloc_array(&f->results->memory, rank, sizeof *shape);
    if (!shape) return no_memory(err);
    for (size_t i = 0; i < rank; i++) shape[i] = pgy_tensor_shape(shown)[i];
    for (int i = first; i < 2; i++) {
        const pgy_tensor *t = p->side[i].narrow;
        pgy_tensor *reals = NULL;
        if (!t || pgy_tensor_size_bytes(p->side[i].tensor) > limit ||
            (i != first && !p->is_compared))
            continue;
        pgy_status st = pgy_tensor_cast(&reals, pgy_tensor_view(t), PGY_F64, err);
        if (st) return st;
        s->plane[i] = arena_alloc_array(&f->results->memory, pgy_tensor_count(t), sizeof(double));
        if (s->plane[i])
            memcpy(s->plane[i], pgy_tensor_data(reals), pgy_tensor_count(t) * sizeof(double));
        pgy_tensor_release(reals);
        if (!s->plane[i]) return no_memory(err);
    }
    s->plane_shape = shape;
    s->plane_rank = (uint32_t)rank;
    return PGY_OK;
}

/* ---- All ------------------------------------------------------------------------------------ */

static pgy_status fill_side(view_side_stats *to, result_file *f, const output_side *from,
                            pgy_error *err)
{
    str shape = {0};
    *to = (view_side_stats){0};
    if (!from->tensor) return PGY_OK;
    output_append_shape(&shape, from->tensor);
    const char *runner = view_text(f->results, from->runner);
    *to = (view_side_stats){.dtype = pgy_dtype_name(pgy_tensor_dtype(from->tensor)),
                            .shape = shape.failed ? NULL : view_text(f->results, str_text(&shape)),
                            .runner = runner,
                            .count = pgy_tensor_count(from->tensor),
                            .nan = from->counts.nan,
                            .inf = from->counts.inf,
                            .zeros = from->counts.zeros,
                            .min = from->narrow ? from->stats.min : NAN,
                            .max = from->narrow ? from->stats.max : NAN,
                            .mean = from->narrow ? from->stats.mean : NAN,
                            .std = from->narrow ? from->stats.std : NAN};
    str_deinit(&shape);
    return runner && to->shape ? PGY_OK : no_memory(err);
}

static pgy_status fill_histogram(view_stats *s, const output_pair *p, block *b, double *reals,
                                 pgy_error *err)
{
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < 2; i++) {
        if (!p->side[i].narrow) continue;
        low = fmin(low, p->side[i].counts.low);
        high = fmax(high, p->side[i].counts.high);
    }
    if (!set_range(&s->low, &s->high, low, high)) return PGY_OK;
    pgy_status st = PGY_OK;
    for (int i = 0; i < 2 && !st; i++)
        if (p->side[i].narrow) st = tally_side(s->bins[i], s, &p->side[i], b, reals, err);
    return st;
}

pgy_status output_pair_stats(view_stats *s, result_file *f, const output_pair *p, pgy_error *err)
{
    block *b = mem_alloc_aligned(64, sizeof *b);
    double *reals = mem_alloc(ARITH_BLOCK * sizeof *reals);
    *s = (view_stats){
        .tensor = s->tensor, .low = 1, .high = 0, .difference_low = 1, .difference_high = 0};
    pgy_status st = b && reals ? PGY_OK : no_memory(err);
    for (int i = 0; i < 2 && !st; i++) st = fill_side(&s->side[i], f, &p->side[i], err);
    if (!st) st = fill_histogram(s, p, b, reals, err);
    if (!st && p->is_compared) st = fill_differences(s, f, p, b, reals, err);
    if (!st && f->page->options.embed_values) st = fill_planes(s, f, p, err);
    mem_free(b);
    mem_free(reals);
    return st;
}
