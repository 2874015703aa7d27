/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cuda/byte_columns.h"

#include <float.h>
#include <math.h>

enum { MORE = 8, LINE = 64 }; /* MORE: columns that a kernel may read behind the last one */

byte_columns byte_columns_of(uint64_t weight_bytes, uint64_t columns)
{
    const uint64_t count = extent_round_up(extent_add(columns, MORE), MORE);
    byte_columns at;
    at.scales = extent_round_up(weight_bytes, LINE);
    at.offsets = extent_add(at.scales, extent_mul(count, sizeof(double)));
    at.factors = extent_add(at.offsets, extent_mul(count, sizeof(int32_t)));
    at.least = extent_add(at.factors, extent_mul(count, sizeof(float)));
    at.most = extent_add(at.least, extent_mul(count, sizeof(float)));
    at.zeros = extent_add(at.most, extent_mul(count, sizeof(float)));
    at.outside = extent_round_up(extent_add(at.zeros, extent_mul(count, sizeof(int32_t))), LINE);
    at.bytes = extent_add(at.outside, LINE);
    return at;
}

/* The float32 next to x in this direction, but no infinity. */
static float beside(double x, float towards)
{
    const float f = (float)fmax(fmin(x, FLT_MAX), -FLT_MAX);
    const bool is_beside = towards < 0 ? (double)f < x : (double)f > x;
    return fmaxf(fminf(is_beside ? f : nextafterf(f, towards), FLT_MAX), -FLT_MAX);
}

void byte_columns_bound(float *less, float *more, double scale, double most)
{
    const double off = most < 0x1p24 ? 0 : fabs(scale) * 0x1p-23; /* float32 rounds large sums */
    *less = beside(scale - off, -INFINITY);
    *more = beside(scale + off, INFINITY);
}

void byte_columns_fill(void *packed, const byte_columns *at, uint64_t column, double scale,
                       int32_t offset, double most, int32_t zero)
{
    char *base = packed;
    ((double *)(base + at->scales))[column] = scale;
    ((float *)(base + at->factors))[column] = (float)scale;
    byte_columns_bound((float *)(base + at->least) + column, (float *)(base + at->most) + column,
                       scale, most);
    ((int32_t *)(base + at->offsets))[column] = offset;
    ((int32_t *)(base + at->zeros))[column] = zero;
}

void byte_columns_place(packed_call *c, const byte_columns *at, const void *packed,
                        const int_finish *f)
{
    const uint64_t base = (uint64_t)(uintptr_t)packed;
    c->scales = base + at->scales;
    c->offsets = base + at->offsets;
    c->factors = base + at->factors;
    c->least = base + at->least;
    c->most = base + at->most;
    c->outside = base + at->outside;
    c->zero = f->zero;
    c->low = f->low;
    c->high = f->high;
}

void byte_columns_limit(packed_kind *k, const int_finish *f)
{
    k->y_signed = f->high <= INT8_MAX;
    k->above = f->low > (k->y_signed ? INT8_MIN : 0);
    k->below = f->high < (k->y_signed ? INT8_MAX : UINT8_MAX);
}
