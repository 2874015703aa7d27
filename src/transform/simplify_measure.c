/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the difference of two tensors in units of an element type. A unit is the gap between 1
 * and the next number of the type, times the element's magnitude or the root mean square of the
 * tensor, whichever is larger: an element much smaller than its tensor carries rounding errors of
 * the tensor's magnitude. */
#include <math.h>
#include <string.h>

#include "ops/op.h"
#include "transform/simplify.h"

/* Of a float type: the gap between 1 and the next number, and the smallest normal number. */
typedef struct precision {
    double step, least;
} precision;

static precision precision_of(pgy_dtype declared)
{
    switch (declared) {
    case PGY_F64: return (precision){0x1p-52, 0x1p-1022};
    case PGY_F16: return (precision){0x1p-10, 0x1p-14};
    case PGY_BF16: return (precision){0x1p-7, 0x1p-126};
    case PGY_F32: return (precision){0x1p-23, 0x1p-126};
    default: return (precision){0x1p-3, 0x1p-6};
    }
}

static double root_mean_square(const double *x, size_t count)
{
    double sum = 0;
    size_t finite = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(x[i])) continue;
        sum += x[i] * x[i];
        finite++;
    }
    return finite ? sqrt(sum / (double)finite) : 0;
}

static double float_distance(const double *a, const double *b, size_t count, pgy_dtype declared,
                             bool lenient)
{
    const precision unit = precision_of(declared);
    const double floor = fmax(root_mean_square(a, count), unit.least);
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        if (a[i] == b[i] || (lenient && !isfinite(a[i])) || (isnan(a[i]) && isnan(b[i]))) continue;
        const double distance = fabs(a[i] - b[i]) / (unit.step * fmax(fabs(a[i]), floor));
        if (!isfinite(distance)) return INFINITY;
        if (distance > most) most = distance;
    }
    return most;
}

static bool same_shape(const pgy_tensor *a, const pgy_tensor *b)
{
    const size_t rank = pgy_tensor_rank(a);
    return pgy_tensor_dtype(a) == pgy_tensor_dtype(b) && rank == pgy_tensor_rank(b) &&
           (rank == 0 ||
            memcmp(pgy_tensor_shape(a), pgy_tensor_shape(b), rank * sizeof(int64_t)) == 0);
}

static bool same_strings(const pgy_tensor *a, const pgy_tensor *b)
{
    const pgy_string *x = pgy_tensor_data(a), *y = pgy_tensor_data(b);
    for (size_t i = 0; i < pgy_tensor_count(a); i++)
        if (x[i].size != y[i].size || (x[i].size && memcmp(x[i].data, y[i].data, x[i].size)))
            return false;
    return true;
}

double simplify_distance(const pgy_tensor *before, const pgy_tensor *after, pgy_dtype declared,
                         bool lenient)
{
    if (!same_shape(before, after)) return INFINITY;
    const pgy_dtype held = pgy_tensor_dtype(before);
    const size_t count = pgy_tensor_count(before);
    if (held == PGY_F64)
        return float_distance(op_f64(before), op_f64(after), count, declared, lenient);
    if (held == PGY_STRING) return same_strings(before, after) ? 0 : INFINITY;
    return count && memcmp(pgy_tensor_data(before), pgy_tensor_data(after),
                           pgy_tensor_size_bytes(before))
               ? INFINITY
               : 0;
}
