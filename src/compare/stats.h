/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of the streams of a source, and their texts. */
#ifndef COMPARE_STATS_H
#define COMPARE_STATS_H

#include "base/str.h"
#include "compare/arith.h"

#define STATS_QUANTILES 4

typedef struct stats_request {
    bool median, deviation;
    double quantiles[STATS_QUANTILES];
    size_t quantile_count;
    bool whole_quantile; /* the fourth was given as an integer: NumPy takes an element without
                            interpolation */
} stats_request;

/* For an empty stream, as in the original: mean and avg_magnitude are NaN, quantiles inf, the rest
 * 0. */
typedef struct array_stats {
    size_t count;
    pgy_dtype dtype;
    bool has_nan;
    double min, max; /* NaN if has_nan */
    /* row-major index of the first such element; of the first NaN if has_nan */
    size_t min_at, max_at;
    double mean, avg_magnitude, var, std, median;
    double quantiles[STATS_QUANTILES];
} array_stats;

/* `out`: one entry per stream of `s`. `counts` may be NULL. */
pgy_status stats_compute(array_stats *out, pair_counts *counts, const source *s,
                         const stats_request *request, pgy_error *err) PGY_MUST_CHECK;
/* Everything that the statistics line shows; p90, p95 and p99 are quantiles 0 to 2. */
stats_request stats_request_line(void);
/* "mean=..., ..., p99=..."; positions as index tuples of the shape. */
void stats_append_line(str *out, const array_stats *s, size_t rank, const int64_t *shape);

typedef struct histogram_range {
    bool given; /* false: from the stream's smallest to its largest element */
    double low, high;
} histogram_range;
/* Appends the ten-bin histogram of one stream; "None" if no element is counted. Appends nothing for
 * bool, and nothing if the range gives no bins: then `why` gets the reason. */
pgy_status histogram_append(str *out, str *why, const source *s, size_t stream_index,
                            const array_stats *stats, const histogram_range *range,
                            pgy_error *err) PGY_MUST_CHECK;

/* Logs the statistics line at INFO and, one level deeper, the values (if they are few) and the
 * histogram, at INFO if `failed`, else at VERBOSE. `prefix` is "" or "runner: output | Stats: ". */
typedef struct stats_place {
    const char *prefix;
    const source *s;
    size_t stream;
    size_t rank;
    const int64_t *shape;
    bool failed;
    histogram_range range;
    const pgy_view *values; /* values to show; NULL: the elements of the stream */
} stats_place;
pgy_status stats_log(const stats_place *place, const array_stats *stats,
                     pgy_error *err) PGY_MUST_CHECK;
/* One stream as an array, for printing. */
pgy_status stats_materialise(pgy_tensor **out, const source *s, size_t stream_index, size_t rank,
                             const int64_t *shape, pgy_error *err) PGY_MUST_CHECK;

#endif
