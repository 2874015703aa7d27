/* SPDX-License-Identifier: Apache-2.0 */
/* Differences in units of the floor. A tensor without errors, such as one of small integers, has the
 * floor 0: any difference is then infinitely many times the floor. */
#include <polygraphy/noise.h>

#include <math.h>

#include "base/str.h"
#include "tensor/convert.h"

static double ratio(double difference, double floor)
{
    if (isinf(difference)) return isinf(floor) ? 1 : INFINITY;
    return difference == 0 ? 0 : floor > 0 ? difference / floor : INFINITY;
}

static pgy_status measure(pgy_floor_verdict *v, pgy_view a, pgy_view b, pgy_error *err)
{
    pgy_tensor *left = NULL, *right = NULL;
    double squares = 0;
    pgy_status st = pgy_tensor_cast(&left, a, PGY_F64, err);
    if (!st) st = pgy_tensor_cast(&right, b, PGY_F64, err);
    const size_t count = st ? 0 : pgy_tensor_count(left);
    for (size_t i = 0; i < count; i++) {
        const double x = ((double *)pgy_tensor_data(left))[i];
        const double y = ((double *)pgy_tensor_data(right))[i];
        if (x == y || (isnan(x) && isnan(y))) continue;
        const double d = isfinite(x) && isfinite(y) ? fabs(x - y) : INFINITY;
        if (d > v->max_abs) v->max_abs = d;
        squares += d * d;
    }
    v->rms = count ? sqrt(squares / (double)count) : 0;
    pgy_tensor_release(left);
    pgy_tensor_release(right);
    return st;
}

pgy_status pgy_floor_judge(pgy_floor_verdict *out, const pgy_floor *f, const char *name, pgy_view a,
                           pgy_view b, pgy_error *err)
{
    pgy_floor_verdict v = {0};
    if (!out || !f || !name)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out', 'f' and 'name' must not be NULL");
    const pgy_floor_tensor *t = pgy_floor_find(f, name);
    if (!t)
        return pgy_error_set(err, PGY_E_NOT_FOUND, "tensor '%s' has no entry in the noise floor",
                             name);
    if (!pgy_view_same_shape(a, b))
        return pgy_error_set(err, PGY_E_SHAPE,
                             "the two values of tensor '%s' have different shapes", name);
    const pgy_status st = measure(&v, a, b, err);
    if (st) return pgy_error_prefix(err, st, "tensor '%s': ", name);
    v.unknown_why = t->unknown_why;
    v.times_max = t->unknown_why ? NAN : ratio(v.max_abs, t->max_abs);
    /* Where the type overflows, no finite error is too large. */
    v.times_rms = t->unknown_why ? NAN : t->overflows ? 0 : ratio(v.rms, t->rms);
    v.times = v.times_max > v.times_rms ? v.times_max : v.times_rms;
    if (t->unknown_why) v.times = NAN;
    *out = v;
    return PGY_OK;
}
