/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of magnitudes, filled batch by batch. */
#include <math.h>

#include "engine/precision/calibrate.h"

static void double_width(histogram *h)
{
    for (size_t i = 0; i < HISTOGRAM_BINS / 2; i++)
        h->counts[i] = h->counts[2 * i] + h->counts[2 * i + 1];
    for (size_t i = 0; i < HISTOGRAM_BINS / 2; i++)
        h->below[i] = h->below[2 * i] + h->below[2 * i + 1];
    for (size_t i = HISTOGRAM_BINS / 2; i < HISTOGRAM_BINS; i++) h->counts[i] = h->below[i] = 0;
    h->width *= 2;
}

/* Widens the bins until they reach `max`. A width of 0 means that all numbers so far were 0; they
 * are in the first bin. */
static void stretch(histogram *h, double max)
{
    if (max <= h->max) return;
    h->max = max;
    if (h->width == 0) h->width = max / HISTOGRAM_BINS;
    while (h->width * HISTOGRAM_BINS < max) double_width(h);
}

void histogram_add(histogram *h, const float *x, size_t count)
{
    float max = 0;
    for (size_t i = 0; i < count; i++) {
        const float a = fabsf(x[i]);
        if (a <= 3.4028235e38f && a > max) max = a;
    }
    stretch(h, (double)max);
    const double scale = h->width > 0 ? 1 / h->width : 0;
    for (size_t i = 0; i < count; i++) {
        const float a = fabsf(x[i]);
        if (!(a <= 3.4028235e38f)) {
            h->strange++;
            continue;
        }
        size_t bin = (size_t)((double)a * scale);
        if (bin >= HISTOGRAM_BINS) bin = HISTOGRAM_BINS - 1;
        h->counts[bin]++;
        h->below[bin] += x[i] < 0;
        h->zeros += a == 0;
        h->total++;
        h->square_sum += (double)a * (double)a;
        if ((double)x[i] < h->low) h->low = (double)x[i];
        if ((double)x[i] > h->high) h->high = (double)x[i];
    }
}
