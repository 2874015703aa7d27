/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of one output of one or two runners. */
#include "viewer/sources/output_pair.h"

#include <float.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "compare/compare.h"

const double OUTPUT_TOLERANCE = 1e-5;

void block_reals(double *out, block *b, const source *s, size_t which, size_t start, size_t n)
{
    source_fill(s, start, n, b);
    const void *x = b->values[which];
    switch (s->streams[which].work) {
    case WORK_F32:
        for (size_t i = 0; i < n; i++) out[i] = (double)((const float *)x)[i];
        break;
    case WORK_F64: memcpy(out, x, n * sizeof *out); break;
    case WORK_I64:
        for (size_t i = 0; i < n; i++) out[i] = (double)((const int64_t *)x)[i];
        break;
    case WORK_U64:
        for (size_t i = 0; i < n; i++) out[i] = (double)((const uint64_t *)x)[i];
        break;
    }
}

/* ---- One side ------------------------------------------------------------------------------- */

/* The ends of a type's range. False: the type is too wide for values to get there. */
static bool limits_of(double *low, double *high, pgy_dtype dtype)
{
    static const struct {
        pgy_dtype dtype;
        double low, high;
    } LIMITS[] = {{PGY_I4, -8, 7},
                  {PGY_U4, 0, 15},
                  {PGY_I8, -128, 127},
                  {PGY_U8, 0, 255},
                  {PGY_I16, -32768, 32767},
                  {PGY_U16, 0, 65535},
                  {PGY_I32, -2147483648.0, 2147483647.0},
                  {PGY_U32, 0, 4294967295.0},
                  {PGY_F16, -65504, 65504},
                  {PGY_F32, -(double)FLT_MAX, (double)FLT_MAX},
                  {PGY_F8E4M3FN, -448, 448},
                  {PGY_F8E5M2, -57344, 57344},
                  {PGY_F8E4M3FNUZ, -240, 240},
                  {PGY_F8E5M2FNUZ, -57344, 57344},
                  {PGY_F4E2M1, -6, 6}};
    for (size_t i = 0; i < sizeof LIMITS / sizeof *LIMITS; i++) {
        if (LIMITS[i].dtype != dtype) continue;
        *low = LIMITS[i].low;
        *high = LIMITS[i].high;
        return true;
    }
    return false;
}

static void count_reals(side_counts *c, const double *x, size_t n, const double *limits,
                        bool has_limits)
{
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i])) {
            c->nan++;
        } else if (isinf(x[i])) {
            c->inf++;
        } else {
            c->zeros += x[i] == 0;
            /* Zero is an end of unsigned types, but most zeros were not cut off there. */
            c->at_limits += has_limits && x[i] != 0 && (x[i] <= limits[0] || x[i] >= limits[1]);
            if (x[i] < c->low) c->low = x[i];
            if (x[i] > c->high) c->high = x[i];
        }
    }
}

static pgy_status count_side(output_side *side, block *b, double *reals, pgy_error *err)
{
    double limits[2] = {0};
    const bool has_limits = limits_of(&limits[0], &limits[1], pgy_tensor_dtype(side->tensor));
    const source s = source_array(pgy_tensor_view(side->narrow));
    side->counts = (side_counts){.low = INFINITY, .high = -INFINITY};
    for (size_t i = 0; i < s.count; i += ARITH_BLOCK) {
        const size_t n = s.count - i < ARITH_BLOCK ? s.count - i : ARITH_BLOCK;
        pgy_status st = cancel_check(err);
        if (st) return st;
        block_reals(reals, b, &s, 0, i, n);
        count_reals(&side->counts, reals, n, limits, has_limits);
    }
    return PGY_OK;
}

static pgy_status open_side(output_side *side, pgy_error *err)
{
    const stats_request request = {.deviation = true};
    block *b = NULL;
    double *reals = NULL;
    if (!side->tensor || pgy_tensor_dtype(side->tensor) == PGY_STRING) return PGY_OK;
    pgy_status st = arith_compact(&side->narrow, side->tensor, err);
    if (st) return st;
    const source s = source_array(pgy_tensor_view(side->narrow));
    st = stats_compute(&side->stats, NULL, &s, &request, err);
    if (st) return st;
    b = mem_alloc_aligned(64, sizeof *b);
    reals = mem_alloc(ARITH_BLOCK * sizeof *reals);
    if (b && reals)
        st = count_side(side, b, reals, err);
    else
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory for statistics of an output");
    mem_free(b);
    mem_free(reals);
    return st;
}

view_health output_side_health(const output_side *s)
{
    const side_counts *c = &s->counts;
    const uint64_t count = s->stats.count;
    if (c->nan) return HEALTH_NAN;
    if (c->inf) return HEALTH_INF;
    if (count && c->zeros == count) return HEALTH_ZERO;
    if (count > 1 && c->low == c->high) return HEALTH_CONSTANT;
    /* A type's largest value may come up by itself; many of them were cut off. */
    if (c->at_limits > 0 && c->at_limits * 100 >= count) return HEALTH_SATURATED;
    return HEALTH_NORMAL;
}

/* ---- Both sides ----------------------------------------------------------------------------- */

static pgy_status compare_sides(output_pair *p, pgy_error *err)
{
    const pgy_number tolerance = {.real = OUTPUT_TOLERANCE};
    const pair_options options = {.atol = tolerance, .rtol = tolerance};
    const stats_request request = {.deviation = true};
    pair_counts counts = {0};
    const source s = source_pair(pgy_tensor_view(p->side[0].narrow),
                                 pgy_tensor_view(p->side[1].narrow), &options);
    pgy_status st = stats_compute(p->differences, &counts, &s, &request, err);
    if (!st)
        st = metric_of(&p->cosine, PGY_COMPARE_COSINE_SIMILARITY, p->side[0].tensor,
                       p->side[1].tensor, err);
    if (!st) st = metric_of(&p->snr, PGY_COMPARE_SNR, p->side[0].tensor, p->side[1].tensor, err);
    p->beyond = counts.mismatched;
    p->is_compared = !st;
    return st;
}

pgy_status output_pair_open(output_pair *p, pgy_tensor *a, const char *runner_a, pgy_tensor *b,
                            const char *runner_b, pgy_error *err)
{
    pgy_tensor *const given[2] = {a, b};
    *p = (output_pair){.side = {{.runner = runner_a}, {.runner = runner_b}}};
    pgy_status st = PGY_OK;
    for (int i = 0; i < 2 && !st; i++) {
        if (given[i]) st = pgy_tensor_load(&p->side[i].tensor, given[i], err);
        if (!st) st = open_side(&p->side[i], err);
    }
    if (st || !p->side[0].narrow || !p->side[1].narrow) return st;
    if (!pgy_view_same_shape(pgy_tensor_view(p->side[0].narrow),
                             pgy_tensor_view(p->side[1].narrow)))
        return PGY_OK;
    return compare_sides(p, err);
}

void output_pair_deinit(output_pair *p)
{
    for (int i = 0; i < 2; i++) {
        pgy_tensor_release(p->side[i].tensor);
        pgy_tensor_release(p->side[i].narrow);
    }
    *p = (output_pair){0};
}
