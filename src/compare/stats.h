/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of the streams of a source, and the texts made of them. */
#ifndef COMPARE_STATS_H
#define COMPARE_STATS_H

#include "base/str.h"
#include "compare/arith.h"

#define STATS_QUANTILES 4

typedef struct stats_request {
    bool median, deviation;
    double quantiles[STATS_QUANTILES];
    size_t quantile_count;
    bool whole_quantile; /* the fourth was given as an integer: NumPy takes the element as it is */
} stats_request;

/* Of an empty stream: mean and avg_magnitude NaN, quantiles inf, all else 0, as the original. */
typedef struct array_stats {
    size_t count;
    pgy_dtype dtype;
    bool has_nan;
    double min, max;       /* NaN if there is one */
    size_t min_at, max_at; /* first position in row-major order; of the first NaN if there is one */
    double mean, avg_magnitude, var, std, median;
    double quantiles[STATS_QUANTILES];
} array_stats;

/* out has an entry per stream; counts may be NULL. */
pgy_status stats_compute(array_stats *out, pair_counts *counts, const source *s,
                         const stats_request *request, pgy_error *err) PGY_MUST_CHECK;
/* Everything that the statistics line shows; p90, p95 and p99 are quantiles 0 to 2. */
stats_request stats_request_line(void);
/* "mean=..., ..., p99=..."; positions as index tuples of the shape. */
void stats_append_line(str *out, const array_stats *s, size_t rank, const int64_t *shape);

typedef struct histogram_range {
    bool given; /* else the stream's own */
    double low, high;
} histogram_range;
/* Appends the ten-bin histogram of one stream: nothing for bool and where there is none, "None" if
 * no element is counted. Why there is none goes to `why`. */
pgy_status histogram_append(str *out, str *why, const source *s, size_t stream_index,
                            const array_stats *stats, const histogram_range *range,
                            pgy_error *err) PGY_MUST_CHECK;

/* Logs the line, and one level deeper, at INFO if `failed` and VERBOSE otherwise, few values and
 * the histogram. `prefix` is "" or "runner: output | Stats: ". */
typedef struct stats_place {
    const char *prefix;
    const source *s;
    size_t stream;
    size_t rank;
    const int64_t *shape;
    bool failed;
    histogram_range range;
    const pgy_view *values; /* NULL: those of the stream */
} stats_place;
pgy_status stats_log(const stats_place *place, const array_stats *stats,
                     pgy_error *err) PGY_MUST_CHECK;
/* One stream as an array, for printing. */
pgy_status stats_materialise(pgy_tensor **out, const source *s, size_t stream_index, size_t rank,
                             const int64_t *shape, pgy_error *err) PGY_MUST_CHECK;

#endif
