/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges without divergence: the largest magnitude, and the older rule of a quantile that a
 * regression on the tail extends.
 *
 * The quantile q is the magnitude that a share q of the numbers does not exceed. The regression
 * uses the bins beyond `cutoff` times the maximum: a line through the logarithms of their counts
 * shows where fewer than one number is expected; magnitudes beyond that are outliers. The larger
 * of both is the range; a cutoff of 1 uses the quantile alone. */
#include <math.h>

#include "engine/precision/calibrate.h"

double calibrator_min_max(const histogram *h)
{
    return h->max;
}

static double find_quantile(const histogram *h, double quantile)
{
    const double wanted = quantile * (double)h->total;
    double sum = 0;
    for (size_t i = 0; i < HISTOGRAM_BINS; i++) {
        sum += (double)h->counts[i];
        if (sum >= wanted) return (double)(i + 1) * h->width;
    }
    return h->max;
}

/* Fits a line to the points (middle of bin, log of count) of the tail; returns where it falls to
 * one number per bin. 0: no tail. */
static double find_tail_end(const histogram *h, double cutoff)
{
    double n = 0, x1 = 0, x2 = 0, y1 = 0, xy = 0;
    for (size_t i = 0; i < HISTOGRAM_BINS; i++) {
        const double x = ((double)i + 0.5) * h->width, y = log((double)h->counts[i]);
        if (x < cutoff * h->max || !h->counts[i]) continue;
        n++, x1 += x, x2 += x * x, y1 += y, xy += x * y;
    }
    const double spread = n * x2 - x1 * x1;
    if (n < 2 || spread <= 0) return n > 0 ? h->max : 0;
    const double slope = (n * xy - x1 * y1) / spread;
    return slope < 0 ? (slope * x1 - y1) / n / slope : h->max;
}

double calibrator_legacy(const histogram *h, double quantile, double cutoff)
{
    if (h->width <= 0) return 0;
    double range = find_quantile(h, quantile);
    if (cutoff < 1) range = fmax(range, find_tail_end(h, cutoff));
    return fmin(range, h->max);
}
