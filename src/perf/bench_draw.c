/* SPDX-License-Identifier: Apache-2.0 */
/* Sparklines: a row of block characters, of which each stands for some slices. */
#include "perf/bench.h"

static const char *const BLOCKS[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                     "\u2585", "\u2586", "\u2587", "\u2588"};
enum { LEVELS = sizeof BLOCKS / sizeof *BLOCKS, WIDEST = 64 };

/* Mean of the slices of a block. */
static double mean_of(const bench_side *s, size_t begin, size_t end)
{
    double sum = 0;
    for (size_t i = begin; i < end; i++) sum += bench_slice_centre(&s->slices[i]);
    return sum / (double)(end - begin);
}

void bench_append_sparkline(str *out, const bench_side *s, size_t width)
{
    double means[WIDEST];
    const size_t most = width < WIDEST ? width : WIDEST, count = s->count < most ? s->count : most;
    double low = 0, high = 0;
    for (size_t i = 0; i < count; i++) {
        means[i] = mean_of(s, i * s->count / count, (i + 1) * s->count / count);
        if (!i || means[i] < low) low = means[i];
        if (!i || means[i] > high) high = means[i];
    }
    /* A spread below 2 % is drawn as if it was 2 %, so that noise does not look like a mountain. */
    const double least = 0.02 * low;
    if (high - low < least) high = low + least;
    for (size_t i = 0; i < count; i++) {
        const double share = high > low ? (means[i] - low) / (high - low) : 0;
        str_append(out, BLOCKS[(size_t)(share * (LEVELS - 1) + 0.5)]);
    }
}
