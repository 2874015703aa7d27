/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of 8 bits: what QuantizeLinear and DequantizeLinear make of a number, and which scale a
 * tensor gets. The engine's calibrators give the range for int8. float8 takes the same ranges, but
 * tries by its own error, because its steps grow with the numbers. */
#include <math.h>

#include "precision/quant.h"
#include "precision/round.h"

enum { TRIES = 64 };

bool quant_is_type(pgy_dtype type)
{
    return type == PGY_I8 || type == PGY_F8E4M3FN;
}

double quant_most(pgy_dtype type)
{
    return type == PGY_I8 ? 127 : 448;
}

void quant_round(float *to, const float *from, size_t count, pgy_dtype type, grid g)
{
    const float scale = (float)g.scale;
    if (type != PGY_I8) {
        for (size_t i = 0; i < count; i++) to[i] = from[i] / scale;
        round_floats(to, to, count, type, true);
        for (size_t i = 0; i < count; i++) to[i] *= scale;
        return;
    }
    /* Adding 1.5 * 2^23 leaves no bits below 1, so the sum is rounded to an integer. */
    const float shifter = 12582912.0f, low = (float)(-128 - g.zero), high = (float)(127 - g.zero);
    for (size_t i = 0; i < count; i++) {
        float u = from[i] / scale;
        u = u > high ? high : u < low ? low : u;
        to[i] = ((u + shifter) - shifter) * scale;
    }
}

/* The numbers of float8 are 2^e / 8 apart from 2^e on, at least 2^-9. */
static float step_above(float size)
{
    return size < 0x1p-6f ? 0x1p-9f : ldexpf(1, ilogbf(size) - 3);
}

void quant_neighbours(float *low, float *high, pgy_dtype type, float u)
{
    const float most = (float)quant_most(type);
    if (type == PGY_I8) {
        *low = floorf(u);
        *high = ceilf(u);
    } else {
        const float step = step_above(fabsf(u));
        *low = floorf(u / step) * step;
        *high = ceilf(u / step) * step;
    }
    *low = fmaxf(-most, fminf(most, *low));
    *high = fmaxf(-most, fminf(most, *high));
}

const char *pgy_precision_calibrator_name(pgy_calibrator kind)
{
    static const char *const NAMES[] = {[PGY_CALIBRATOR_ENTROPY_2] = "entropy2",
                                        [PGY_CALIBRATOR_ENTROPY] = "entropy",
                                        [PGY_CALIBRATOR_MIN_MAX] = "minmax",
                                        [PGY_CALIBRATOR_LEGACY] = "percentile",
                                        [PGY_CALIBRATOR_LEAST_ERROR] = "mse"};
    return (size_t)kind < sizeof NAMES / sizeof *NAMES ? NAMES[kind] : NULL;
}

/* ---- Ranges --------------------------------------------------------------------------------- */

static double float8_error(const histogram *h, float scale)
{
    double sum = 0;
    for (size_t i = 0; i < HISTOGRAM_BINS; i++) {
        const uint64_t count = h->counts[i] - (i ? 0 : h->zeros);
        const float at[2] = {(float)(((double)i + 0.25) * h->width),
                             (float)(((double)i + 0.75) * h->width)};
        float made[2];
        if (!count) continue;
        quant_round(made, at, 2, PGY_F8E4M3FN, (grid){.scale = (double)scale});
        for (size_t k = 0; k < 2; k++) {
            const double d = (double)at[k] - (double)made[k];
            sum += 0.5 * (double)count * d * d;
        }
    }
    return sum;
}

/* Tries a range for each exponent of two and each fraction in between: the steps of float8 are the
 * same for scales that differ by a power of two. */
static double float8_least(const histogram *h)
{
    double best = h->max, least = INFINITY;
    for (int i = 0; i < TRIES; i++) {
        const double range = h->max * exp2(-(double)i / 16);
        const double error = float8_error(h, (float)(range / 448));
        if (!(error < least)) continue;
        least = error;
        best = range;
    }
    return best;
}

grid quant_grid(const histogram *h, pgy_dtype type, const quant_method *m)
{
    const pgy_calibration c = {.size = sizeof c,
                               .kind = m->calibrator,
                               .quantile = m->quantile,
                               .regression_cutoff = 1,
                               .asymmetric = m->asymmetric};
    grid g = {.scale = 0};
    if (h->width > 0 && type == PGY_F8E4M3FN && m->calibrator == PGY_CALIBRATOR_LEAST_ERROR)
        g.scale = float8_least(h) / 448;
    else if (h->width > 0)
        g = calibrator_grid(&c, h);
    if (type == PGY_F8E4M3FN && m->calibrator != PGY_CALIBRATOR_LEAST_ERROR) g.scale *= 127.0 / 448;
    /* All numbers were 0, or so small that no float32 scale can divide them. */
    return g.scale >= 1e-37 && g.scale <= 1e37 ? g : (grid){.scale = 1};
}
