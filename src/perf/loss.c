/* SPDX-License-Identifier: Apache-2.0 */
/* The losses of trtexec's accuracy check. The original drops NaN by its comparisons; here NaN is
 * never within a tolerance, and it makes every other loss NaN. */
#include <math.h>

#include "perf/perf.h"

typedef struct pair_sums {
    double beyond, absolute, squares, most;
    double product, actual, reference;
} pair_sums;

static void add(pair_sums *s, double a, double r, double atol, double rtol)
{
    const double d = a == r ? 0 : fabs(a - r);
    s->beyond += !(d <= atol + rtol * fabs(r)) && d != 0;
    s->absolute += d;
    s->squares += d * d;
    if (!(d <= s->most)) s->most = isnan(s->most) ? s->most : d;
    s->product += a * r;
    s->actual += a * a;
    s->reference += r * r;
}

static double loss_of(const pair_sums *s, pgy_perf_loss_kind kind, double n)
{
    switch (kind) {
    case PGY_LOSS_L0: return s->beyond / n;
    case PGY_LOSS_L1: return s->absolute / n;
    case PGY_LOSS_L2: return s->squares / n;
    case PGY_LOSS_LINF: return s->most;
    case PGY_LOSS_COS: break;
    }
    if (s->actual == 0 && s->reference == 0) return 0; /* two zero vectors are equal */
    return 1 - s->product / (sqrt(s->actual) * sqrt(s->reference));
}

pgy_status pgy_perf_loss(double *out, pgy_perf_loss_kind kind, pgy_view actual, pgy_view reference,
                         double atol, double rtol, pgy_error *err)
{
    pgy_tensor *a = NULL, *r = NULL;
    pair_sums sums = {0};
    const size_t n = pgy_view_count(actual);
    if (n != pgy_view_count(reference) || !n)
        return pgy_error_set(err, PGY_E_SHAPE,
                             "%zu elements and %zu of the reference: expected equal numbers, at "
                             "least 1",
                             n, pgy_view_count(reference));
    pgy_status st = pgy_tensor_cast(&a, actual, PGY_F64, err);
    if (!st) st = pgy_tensor_cast(&r, reference, PGY_F64, err);
    for (size_t i = 0; !st && i < n; i++)
        add(&sums, ((const double *)pgy_tensor_data(a))[i], ((const double *)pgy_tensor_data(r))[i],
            atol, rtol);
    if (!st) *out = loss_of(&sums, kind, (double)n);
    pgy_tensor_release(a);
    pgy_tensor_release(r);
    return st;
}
