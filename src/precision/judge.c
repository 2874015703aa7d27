/* SPDX-License-Identifier: Apache-2.0 */
/* The criteria. Each gives one number per set, of which less is better, so the search needs no
 * cases. A criterion is a row of CRITERIA. */
#include <math.h>

#include "base/alloc.h"
#include "precision/precision.h"

typedef struct sides {
    const double *a, *b; /* reference, result */
    size_t count, row;   /* row: elements of the last axis */
} sides;

static void add_tolerance(judge *j, sides s)
{
    for (size_t i = 0; i < s.count; i++) j->worst = fmax(j->worst, fabs(s.a[i] - s.b[i]));
}

static void add_snr(judge *j, sides s)
{
    double signal = 0, noise = 0;
    for (size_t i = 0; i < s.count; i++) {
        signal += s.a[i] * s.a[i];
        noise += (s.a[i] - s.b[i]) * (s.a[i] - s.b[i]);
    }
    const double ratio = noise == 0 ? 0 : signal == 0 ? INFINITY : sqrt(noise / signal);
    j->worst = fmax(j->worst, ratio);
}

/* Counts the row as right if fewer than k elements exceed the one that the reference puts first. */
static void add_top_k(judge *j, sides s)
{
    for (size_t r = 0; s.row && r + s.row <= s.count; r += s.row) {
        const double *a = s.a + r, *b = s.b + r;
        size_t first = 0;
        int64_t above = 0;
        for (size_t i = 1; i < s.row; i++)
            if (a[i] > a[first]) first = i;
        for (size_t i = 0; i < s.row; i++)
            above += b[i] > b[first] || (i < first && b[i] == b[first]);
        j->rows++;
        j->wrong += above >= j->options->k;
    }
}

static double limit_as_given(double limit)
{
    return limit;
}
static double limit_of_snr(double limit)
{
    return pow(10, -limit / 20);
}
static double limit_of_share(double limit)
{
    return 1 - limit;
}

static const struct {
    void (*add)(judge *j, sides s);
    double (*limit)(double limit);
} CRITERIA[] = {
    [PGY_PRECISION_TOLERANCE] = {add_tolerance, limit_as_given},
    [PGY_PRECISION_SNR] = {add_snr, limit_of_snr},
    [PGY_PRECISION_TOP_K] = {add_top_k, limit_of_share},
};

pgy_status judge_options(const pgy_precision_options *o, pgy_error *err)
{
    const bool share = o->criterion == PGY_PRECISION_TOP_K;
    if (o->type != PGY_F16 && o->type != PGY_BF16)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'options.type' must be float16 or bfloat16");
    if ((size_t)o->criterion >= sizeof CRITERIA / sizeof *CRITERIA)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'options.criterion': %d is no criterion",
                             (int)o->criterion);
    if (!isfinite(o->limit) || o->limit < 0 || (share && o->limit > 1))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'options.limit' is %g, but the criterion expects a number %s",
                             o->limit, share ? "from 0 to 1" : "of at least 0");
    if (share && o->k < 1)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'options.k' is %lld, but must be at least 1",
                             (long long)o->k);
    if (o->samples < 1)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'options.samples' is %lld, but must be at least 1",
                             (long long)o->samples);
    return PGY_OK;
}

double judge_limit(const pgy_precision_options *o)
{
    return CRITERIA[o->criterion].limit(o->limit);
}

static bool all_finite(const double *v, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(v[i])) return false;
    return true;
}

pgy_status judge_reference(const pgy_tensor_map *reference, pgy_error *err)
{
    size_t elements = 0;
    for (size_t i = 0; i < pgy_tensor_map_count(reference); i++) {
        const char *name = pgy_tensor_map_name(reference, i);
        pgy_tensor *t = pgy_tensor_map_at(reference, i), *wide = NULL;
        const pgy_dtype_kind kind = pgy_dtype_describe(pgy_tensor_dtype(t))->kind;
        if (kind == PGY_KIND_STRING || kind == PGY_KIND_COMPLEX)
            return pgy_error_set(err, PGY_E_UNSUPPORTED,
                                 "output '%s' is of type %s, which no criterion can judge", name,
                                 pgy_dtype_name(pgy_tensor_dtype(t)));
        const pgy_status st = pgy_tensor_cast(&wide, pgy_tensor_view(t), PGY_F64, err);
        if (st) return st;
        const bool finite = all_finite(pgy_tensor_data(wide), pgy_tensor_count(wide));
        elements += pgy_tensor_count(wide);
        pgy_tensor_release(wide);
        if (!finite)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "output '%s' has NaN or infinities in float32 already: no error "
                                 "can be measured",
                                 name);
    }
    if (elements) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "the outputs of the model have no elements: no error can be measured");
}

static pgy_status add_output(judge *j, pgy_tensor *a, pgy_tensor *b, pgy_error *err)
{
    const pgy_view va = pgy_tensor_view(a), vb = pgy_tensor_view(b);
    pgy_tensor *wide_a = NULL, *wide_b = NULL;
    if (!pgy_view_same_shape(va, vb)) {
        j->worst = INFINITY;
        return PGY_OK;
    }
    pgy_status st = pgy_tensor_cast(&wide_a, va, PGY_F64, err);
    if (!st) st = pgy_tensor_cast(&wide_b, vb, PGY_F64, err);
    if (!st) {
        const sides s = {.a = pgy_tensor_data(wide_a),
                         .b = pgy_tensor_data(wide_b),
                         .count = pgy_tensor_count(wide_a),
                         .row = va.rank > 0 ? (size_t)va.shape[va.rank - 1] : 1};
        if (all_finite(s.b, s.count))
            CRITERIA[j->options->criterion].add(j, s);
        else
            j->worst = INFINITY; /* fmax would drop a NaN */
    }
    pgy_tensor_release(wide_a);
    pgy_tensor_release(wide_b);
    return st;
}

pgy_status judge_add(judge *j, const pgy_tensor_map *reference, const pgy_tensor_map *got,
                     pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_tensor_map_count(reference); i++) {
        const char *name = pgy_tensor_map_name(reference, i);
        pgy_tensor *b = pgy_tensor_map_find(got, name);
        if (!b) return pgy_error_set(err, PGY_E_NOT_FOUND, "output '%s' is missing", name);
        st = add_output(j, pgy_tensor_map_at(reference, i), b, err);
    }
    return st;
}

double judge_error(const judge *j)
{
    if (j->options->criterion != PGY_PRECISION_TOP_K || isinf(j->worst)) return j->worst;
    return j->rows ? (double)j->wrong / (double)j->rows : INFINITY;
}
