/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the range that loses least information. For each number n of bins, from 128 on, P is the
 * distribution clipped to the first n bins, and Q the same bins after rounding to 128 steps; the
 * divergence sum(P log(P / Q)) compares them.
 *
 * Q spreads each step evenly over its bins that are not empty, so its logarithm is constant within
 * a step, and running sums give all terms without a loop over the bins of a candidate. */
#include <math.h>
#include <string.h>

#include "engine/precision/calibrate.h"

enum { STEPS = 128 };
static const double TIE = 1e-9;
/* At most this share of the numbers may be clipped: with few numbers, each in a bin of its own,
 * clipping would seem to lose nothing. */
static const double OUTLIERS = 0.1;

/* Prefix sums: entry i has, for the bins before i, the sum of counts c, the number of bins that are
 * not empty, and the sum of c log c. */
typedef struct running {
    double count[HISTOGRAM_BINS + 1], used[HISTOGRAM_BINS + 1], log[HISTOGRAM_BINS + 1];
} running;

static double log_times(double c)
{
    return c > 0 ? c * log(c) : 0;
}

static void sum_up(running *r, const uint64_t *counts)
{
    r->count[0] = r->used[0] = r->log[0] = 0;
    for (size_t i = 0; i < HISTOGRAM_BINS; i++) {
        const double c = (double)counts[i];
        r->count[i + 1] = r->count[i] + c;
        r->used[i + 1] = r->used[i] + (c > 0);
        r->log[i + 1] = r->log[i] + log_times(c);
    }
}

/* Divergence for the first n bins; infinite if clipping hits an empty bin, or too many numbers. */
static double divergence(const running *r, const uint64_t *counts, size_t n)
{
    const double all = r->count[HISTOGRAM_BINS], kept = r->count[n], last = (double)counts[n - 1];
    const double outside = all - kept;
    if (kept <= 0 || (outside > 0 && last <= 0) || outside > OUTLIERS * all) return INFINITY;
    double cross = 0; /* sum of P log Q, times `all` */
    for (size_t s = 0; s < STEPS; s++) {
        const size_t from = s * n / STEPS, to = (s + 1) * n / STEPS;
        const double count = r->count[to] - r->count[from], used = r->used[to] - r->used[from];
        if (used <= 0) continue;
        const double p = count + (to == n ? outside : 0);
        cross += p * log(count / used / kept);
    }
    const double own = r->log[n] - log_times(last) + log_times(last + outside) - log_times(all);
    return (own - cross) / all;
}

static double least_divergent(const histogram *h, const uint64_t *counts)
{
    running r;
    size_t best = HISTOGRAM_BINS;
    double least = INFINITY;
    sum_up(&r, counts);
    /* Start with the whole range: if many n are equally good, as with few distinct magnitudes,
     * nothing should be clipped. */
    for (size_t n = HISTOGRAM_BINS; n >= STEPS; n--) {
        const double d = divergence(&r, counts, n);
        if (d < least - TIE) {
            least = d;
            best = n;
        }
    }
    const double range = ((double)best + 0.5) * h->width;
    return range < h->max ? range : h->max;
}

/* Computes the range without the zeros, of which Relu makes many. They are exact with any scale,
 * but would make wide steps seem to lose more. */
static double without_zeros(const histogram *h, bool like_neighbours)
{
    uint64_t counts[HISTOGRAM_BINS];
    bool any = false;
    if (h->width <= 0) return 0;
    memcpy(counts, h->counts, sizeof counts);
    counts[0] = like_neighbours ? counts[1] : 0;
    for (size_t i = 0; i < HISTOGRAM_BINS; i++) any = any || counts[i];
    return any ? least_divergent(h, counts) : h->max;
}

double calibrator_entropy(const histogram *h)
{
    return without_zeros(h, false);
}

double calibrator_entropy_2(const histogram *h)
{
    return without_zeros(h, true);
}
