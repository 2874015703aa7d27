/* SPDX-License-Identifier: Apache-2.0 */
/* One output of one or two runners: statistics, differences, health. All numbers that `run` prints
 * come from the functions that it uses. */
#ifndef VIEWER_SOURCES_OUTPUT_PAIR_H
#define VIEWER_SOURCES_OUTPUT_PAIR_H

#include <polygraphy/compare.h>

#include "compare/arith.h"
#include "compare/stats.h"
#include "viewer/sources/result_file.h"

/* Counted in one pass over an array. Finite elements only: low > high if there is none. */
typedef struct side_counts {
    uint64_t nan, inf, zeros, at_limits;
    double low, high;
} side_counts;

typedef struct output_side {
    const char *runner;
    pgy_tensor *tensor; /* in memory; NULL: this side has none */
    pgy_tensor *narrow; /* in a type that sources take; NULL for strings */
    array_stats stats;
    side_counts counts;
} output_side;

typedef struct output_pair {
    output_side side[2];
    bool is_compared;                       /* both sides have numbers of the same shape */
    array_stats differences[ARITH_STREAMS]; /* absolute, relative */
    uint64_t beyond;                        /* elements beyond the default tolerance */
    double cosine, snr;
} output_pair;

/* The default tolerance of `run`, which counts elements beyond it. */
extern const double OUTPUT_TOLERANCE;

/* Takes both sides (NULL: there is none) and computes all numbers. Deinit in any case. */
pgy_status output_pair_open(output_pair *p, pgy_tensor *a, const char *runner_a, pgy_tensor *b,
                            const char *runner_b, pgy_error *err) PGY_MUST_CHECK;
void output_pair_deinit(output_pair *p);
/* Fills the statistics of a tensor, and its values if they are few. */
pgy_status output_pair_stats(view_stats *s, result_file *f, const output_pair *p,
                             pgy_error *err) PGY_MUST_CHECK;
view_health output_side_health(const output_side *s);
/* "2x8"; "" for a scalar. */
void output_append_shape(str *out, const pgy_tensor *t);
/* Can a tensor with this shape in the graph ("1x?xbatch") have had this one? */
bool shape_may_be(const char *inferred, const pgy_tensor *t);
/* Elements [start, start + n) of a stream as doubles, n at most ARITH_BLOCK. */
void block_reals(double *out, block *b, const source *s, size_t which, size_t start, size_t n);

#endif
