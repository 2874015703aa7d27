/* SPDX-License-Identifier: Apache-2.0 */
/* A random number below one step of the target is added to the magnitude, and the bits below the
 * step are cut off: this rounds up with the probability of the cut-off part. Counters seed the
 * generator, so errors do not depend on how many draws run together. */
#include "where/floor_round.h"

#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "tensor/convert.h"

typedef struct format {
    pgy_dtype dtype;
    int mantissa_bits, min_exponent;
} format;

static const format FORMATS[] = {
    {PGY_F32, 23, -126},  {PGY_F16, 10, -14},      {PGY_BF16, 7, -126},      {PGY_F8E4M3FN, 3, -6},
    {PGY_F8E5M2, 2, -14}, {PGY_F8E4M3FNUZ, 3, -7}, {PGY_F8E5M2FNUZ, 2, -15}, {PGY_F4E2M1, 1, 0},
    {PGY_F6E2M3, 3, 0},   {PGY_F6E3M2, 2, -2},
};

static const format *find_format(pgy_dtype type)
{
    for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++)
        if (FORMATS[i].dtype == type) return &FORMATS[i];
    return NULL;
}

static uint64_t next(floor_random *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u; /* SplitMix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

floor_random floor_random_start(uint64_t seed, uint64_t draw, uint64_t step)
{
    floor_random r = {seed};
    r.state = next(&r) ^ draw * 0xd1342543de82ef95u;
    r.state = next(&r) ^ step * 0xaf251af3b0f025b5u;
    return r;
}

/* Uniform in [-sqrt(3), sqrt(3)), so that its RMS is 1. */
static double next_error(floor_random *r)
{
    return ((double)(next(r) >> 11) * 0x1p-52 - 1) * 1.7320508075688772;
}

double floor_unit(pgy_dtype type)
{
    const format *f = find_format(type);
    return f ? ldexp(1, -f->mantissa_bits - 1) : 0x1p-53;
}

static double round_one(double v, const format *f, uint64_t random)
{
    uint64_t bits, kept;
    memcpy(&bits, &v, sizeof bits);
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    if (v == 0 || exponent == 1024) return v;
    if (exponent < f->min_exponent) { /* steps of subnormals are equal */
        const double step = ldexp(1, f->min_exponent - f->mantissa_bits);
        const double steps = floor(fabs(v) / step + (double)(random >> 11) * 0x1p-53);
        return copysign(steps * step, v);
    }
    const int cut = 52 - f->mantissa_bits;
    kept = (bits + (random >> (64 - cut))) >> cut << cut;
    memcpy(&v, &kept, sizeof v);
    return v;
}

void floor_round_randomly(double *x, size_t count, pgy_dtype type, floor_random *r)
{
    const format *f = find_format(type);
    for (size_t i = 0; f && i < count; i++) {
        if (!(i & 0xffff) && cancel_requested()) return;
        const double nearest = float_round(type, x[i], false);
        /* A value whose upper neighbour is infinite overflows only where the nearest is. */
        const double v = round_one(x[i], f, next(r));
        x[i] = !isfinite(nearest) || !isfinite(float_round(type, v, false)) ? nearest : v;
    }
}

void floor_scale_randomly(double *x, size_t count, double rms, floor_random *r)
{
    for (size_t i = 0; i < count; i++) {
        if (!(i & 0xffff) && cancel_requested()) return;
        x[i] *= 1 + rms * next_error(r);
    }
}

void floor_shift_randomly(double *x, double rms, size_t count, floor_random *r)
{
    for (size_t i = 0; i < count; i++) {
        if (!(i & 0xffff) && cancel_requested()) return;
        x[i] += rms * next_error(r);
    }
}

void floor_add_randomly(double *x, const double *rms, size_t count, floor_random *r)
{
    for (size_t i = 0; i < count; i++) {
        if (!(i & 0xffff) && cancel_requested()) return;
        x[i] += rms[i] * next_error(r);
    }
}
