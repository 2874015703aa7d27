/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the 8-bit grid with the least squared error: tries ranges from the whole one down, and
 * those of the other calibrators, and estimates the error of each from the histogram. */
#include <math.h>

#include "engine/precision/calibrate.h"

enum { TRIES = 64, ROUNDS = 2 };

/* Usual quantiles for clipping outliers. */
static const double QUANTILES[] = {0.999, 0.9999, 0.99999};

/* ---- Grids ---------------------------------------------------------------------------------- */

grid grid_symmetric(double range)
{
    return (grid){.scale = range / 127};
}

grid grid_asymmetric(double low, double high)
{
    const double scale = (high - low) / 255;
    const double zero = scale > 0 ? nearbyint(-128 - low / scale) : 0;
    return (grid){.scale = scale, .zero = (int32_t)fmax(-128, fmin(127, zero))};
}

double grid_low(const grid *g, bool asymmetric)
{
    return ((asymmetric ? -128 : -127) - g->zero) * g->scale;
}

double grid_high(const grid *g)
{
    return (127 - g->zero) * g->scale;
}

/* ---- Errors --------------------------------------------------------------------------------- */

static double squared_error(double x, double scale, double low, double high)
{
    const double y = fmin(high, fmax(low, nearbyint(x / scale) * scale));
    return (x - y) * (x - y);
}

/* Mean squared error of one bin, from two numbers in it: two are enough, because bins are narrower
 * than int8 steps except for very narrow ranges. */
static double bin_error(double middle, double quarter, double scale, double low, double high)
{
    return 0.5 * (squared_error(middle - quarter, scale, low, high) +
                  squared_error(middle + quarter, scale, low, high));
}

double calibrator_error(const histogram *h, const grid *g, bool asymmetric)
{
    const double low = grid_low(g, asymmetric), high = grid_high(g), quarter = h->width / 4;
    double sum = 0;
    if (g->scale <= 0) return h->square_sum;
    for (size_t i = 0; i < HISTOGRAM_BINS; i++) {
        const double middle = ((double)i + 0.5) * h->width;
        const uint64_t zeros = i ? 0 : h->zeros; /* zeros have no error */
        const uint64_t above = h->counts[i] - h->below[i] - zeros;
        if (above) sum += (double)above * bin_error(middle, quarter, g->scale, low, high);
        if (h->below[i])
            sum += (double)h->below[i] * bin_error(-middle, quarter, g->scale, low, high);
    }
    return sum;
}

double calibrator_snr_db(const histogram *h, const grid *g, bool asymmetric)
{
    const double error = calibrator_error(h, g, asymmetric);
    return error > 0 ? 10 * log10(h->square_sum / error) : INFINITY;
}

/* ---- The least ------------------------------------------------------------------------------ */

typedef struct search {
    const histogram *h;
    bool asymmetric;
    double low, high, error; /* the range with the least error so far */
} search;

/* Keeps the range if its error is less than that of all before; so of equal errors the larger
 * range, which was tried first, stays. */
static void try_range(search *s, double low, double high)
{
    const grid g = s->asymmetric ? grid_asymmetric(low, high) : grid_symmetric(high);
    const double error = calibrator_error(s->h, &g, s->asymmetric);
    if (!(error < s->error)) return;
    s->low = low;
    s->high = high;
    s->error = error;
}

static void try_magnitude(search *s, double range)
{
    if (range <= 0) return;
    if (s->asymmetric)
        try_range(s, fmax(s->h->low, -range), fmin(s->h->high, range));
    else
        try_range(s, -range, range);
}

static void search_sides(search *s)
{
    for (int round = 0; round < ROUNDS; round++) {
        const double low = s->low;
        for (int i = TRIES; i > 0; i--) try_range(s, low, s->h->high * i / TRIES);
        const double high = s->high;
        for (int i = TRIES; i > 0; i--) try_range(s, s->h->low * i / TRIES, high);
    }
}

static search search_least(const histogram *h, bool asymmetric)
{
    search s = {.h = h, .asymmetric = asymmetric, .error = INFINITY};
    try_magnitude(&s, h->max);
    for (int i = TRIES - 1; i > 0; i--) try_magnitude(&s, h->max * i / TRIES);
    try_magnitude(&s, calibrator_entropy_2(h));
    try_magnitude(&s, calibrator_entropy(h));
    for (size_t i = 0; i < sizeof QUANTILES / sizeof *QUANTILES; i++)
        try_magnitude(&s, calibrator_legacy(h, QUANTILES[i], 1));
    if (asymmetric) search_sides(&s);
    return s;
}

static double range_of(const pgy_calibration *c, const histogram *h)
{
    switch (c->kind) {
    case PGY_CALIBRATOR_ENTROPY: return calibrator_entropy(h);
    case PGY_CALIBRATOR_MIN_MAX: return calibrator_min_max(h);
    case PGY_CALIBRATOR_LEGACY:
        return calibrator_legacy(h, c->quantile > 0 ? c->quantile : 0.5,
                                 c->regression_cutoff > 0 ? c->regression_cutoff : 0.5);
    default: return calibrator_entropy_2(h);
    }
}

grid calibrator_grid(const pgy_calibration *c, const histogram *h)
{
    if (h->width <= 0) return (grid){0};
    if (c->kind == PGY_CALIBRATOR_LEAST_ERROR) {
        const search s = search_least(h, c->asymmetric);
        return c->asymmetric ? grid_asymmetric(s.low, s.high) : grid_symmetric(s.high);
    }
    const double range = range_of(c, h);
    return c->asymmetric ? grid_asymmetric(fmax(h->low, -range), fmin(h->high, range))
                         : grid_symmetric(range);
}
