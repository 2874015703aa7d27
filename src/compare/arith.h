/* SPDX-License-Identifier: Apache-2.0 */
/* The input of statistics, one block at a time: the elements of one array, or the absolute and
 * relative differences of two. Whole arrays of differences are never stored. Types and rounding
 * follow NumPy: float32 differences stay float32 and so on. Integers are subtracted exactly; with
 * `wrap` they overflow as in the original.
 *
 * Blocks follow NumPy's order of summation, so sums over blocks join to the same bits as NumPy's
 * sum: float32 is halved recursively (tree); types that NumPy converts while it sums are cut into
 * chunks of 8192 elements. */
#ifndef COMPARE_ARITH_H
#define COMPARE_ARITH_H

#include <polygraphy/compare.h>

#define ARITH_BLOCK 8192
#define ARITH_STREAMS 2

typedef enum work_type { WORK_F32, WORK_F64, WORK_I64, WORK_U64 } work_type;

typedef struct stream {
    work_type work;   /* type of the elements in memory */
    pgy_dtype dtype;  /* type that NumPy's array would have; quantiles round in it */
    bool nonnegative; /* no element is negative, so the mean magnitude is the mean */
} stream;

typedef struct pair_options {
    pgy_number atol, rtol;
    bool infinities_equal, wrap;
} pair_options;

typedef struct source {
    size_t count;
    size_t stream_count;
    stream streams[ARITH_STREAMS]; /* for a pair of arrays: absolute, then relative differences */
    bool tree;
    bool is_pair;
    pgy_dtype a_dtype, b_dtype;
    const void *a, *b;
    work_type common; /* type to which both arrays of a pair are widened */
    /* float_reference: b is a float, and divisors of 0 become 2^-52; mixed_u64: signed integers are
     * compared with uint64 */
    bool float_reference, mixed_u64;
    bool float_meets_i64; /* floats are compared with 64-bit integers, which float64 cannot hold:
                             differences are formed exactly */
    bool wrap_i32;        /* the original subtracts in int32 */
    bool single;          /* float32 differences that NumPy keeps as float64 */
    pair_options options;
    float atol_f32, rtol_f32; /* the largest float32 values not above the tolerances */
} source;

/* Counted while the blocks of a pair are filled. */
typedef struct pair_counts {
    size_t mismatched; /* absolute and relative difference are both out of tolerance or NaN */
    size_t zeros;      /* zeros in a floating-point reference */
    size_t wrapped;    /* elements whose difference overflows in the original's integer type */
} pair_counts;

typedef union block_values {
    float f32[ARITH_BLOCK];
    double f64[ARITH_BLOCK];
    int64_t i64[ARITH_BLOCK];
    uint64_t u64[ARITH_BLOCK];
} block_values;

typedef struct block {
    const void *values[ARITH_STREAMS];
    pair_counts counts;
    block_values out[ARITH_STREAMS], a, b;
} block;

/* ---- source.c ---- */

/* Views must be compact, numeric, of at least 8 bits, and not bf16 or f8 (see arith_compact).
 * Complex arrays count with their magnitudes. */
source source_array(pgy_view v);
source source_pair(pgy_view a, pgy_view b, const pair_options *options);
/* Fills *out with elements [start, start + n), n <= ARITH_BLOCK. values[] point into `out` or into
 * the array itself. */
void source_fill(const source *s, size_t start, size_t n, block *out);
/* ---- arith.c ---- */

/* Widens n elements of an array from `start` on to type `work`. */
void arith_widen(work_type work, void *to, pgy_dtype dtype, const void *from, size_t start,
                 size_t n);
work_type arith_work_type(pgy_dtype dtype);
/* The type of mixed arithmetic after widening, for pairs that are not both integers: F32 or F64. */
work_type arith_common_float(pgy_dtype a, pgy_dtype b);
/* Is one type floating-point and the other a 64-bit integer? */
bool arith_float_meets_i64(pgy_dtype a, pgy_dtype b);
/* |a - b| of element i for a float and a 64-bit integer array, rounded once. 0 only if both are
 * equal. */
double arith_mixed_difference(pgy_dtype a_dtype, const void *a, pgy_dtype b_dtype, const void *b,
                              size_t i);
bool arith_is_int32(pgy_dtype dtype); /* int32 after widening */
/* Is it floating-point or complex, in a type that sources take (see arith_compact)? */
bool arith_is_floating(pgy_dtype dtype);
bool arith_is_complex(pgy_dtype dtype);
float arith_float_not_above(double v);

/* `t` itself (retained), or a compact copy in a type that sources take: bf16, f8 and f4 as f32,
 * sub-byte integers as int8 or uint8. Strings stay. */
pgy_status arith_compact(pgy_tensor **out, pgy_tensor *t, pgy_error *err) PGY_MUST_CHECK;
pgy_status arith_compact_view(pgy_tensor **out, pgy_view v, pgy_error *err) PGY_MUST_CHECK;

/* ---- blocks.c ---- */

/* Sets *starts to the first element of each of *count blocks; starts[count] is the number of
 * elements. Free with mem_free. */
pgy_status arith_partition(size_t **starts, size_t *count, size_t elements, bool tree,
                           pgy_error *err) PGY_MUST_CHECK;
/* Joins one sum per block in NumPy's order. */
float arith_join_f32(const float *sums, size_t elements, bool tree);
double arith_join_f64(const double *sums, size_t elements, bool tree);

/* Calls visit for every block: in order within a task, and tasks in parallel. Each task has its own
 * block, which visit may fill. `task` is less than arith_tasks(blocks, elements). Results must not
 * depend on which task takes which block. *counts (may be NULL) receives the sums over all tasks.
 */
typedef struct block_place {
    size_t task, index, start, count;
} block_place;
typedef void (*block_visit)(block *b, const block_place *place, void *user);
size_t arith_tasks(size_t blocks, size_t elements);
pgy_status arith_each(pair_counts *counts, const source *s, const size_t *starts, size_t blocks,
                      block_visit visit, void *user, pgy_error *err) PGY_MUST_CHECK;

/* Functions that process one block; each instruction set has a table of them. */
typedef struct block_range {
    bool nan;
    /* smallest and largest element that is not NaN; +inf and -inf if all are NaN */
    double low, high;
} block_range;
/* Selects the elements whose key (select.h), counted from `base`, has its upper bits among
 * `prefixes`. The `wanted` kernels write these keys and return their number; `keys` has room for n.
 */
#define WANTED_MOST 10
typedef struct wanted_keys {
    uint64_t base, prefixes[WANTED_MOST];
    size_t count;
    unsigned shift;
} wanted_keys;
/* Number of a histogram's bin edges. The edges rise, and the last bin includes its upper edge. */
#define TALLY_EDGES 11

typedef struct block_kernels {
    /* Adds to counts[i] the number of elements not below edges[i]; for the last edge, of those
     * above it. */
    void (*tally_f32)(uint64_t *counts, const float *edges, const float *x, size_t n);
    void (*tally_f64)(uint64_t *counts, const double *edges, const double *x, size_t n);
    size_t (*wanted_f32)(uint32_t *keys, const float *x, size_t n, const wanted_keys *w);
    size_t (*wanted_f64)(uint64_t *keys, const double *x, size_t n, const wanted_keys *w);
    float (*sum_f32)(const float *x, size_t n); /* pairwise, NumPy's order */
    float (*abs_sum_f32)(const float *x, size_t n);
    /* sum of squared deviations from `mean` */
    float (*deviation_f32)(const float *x, size_t n, float mean);
    double (*sum_f64)(const double *x, size_t n);
    double (*deviation_f64)(const double *x, size_t n, double mean);
    void (*range_f32)(block_range *out, const float *x, size_t n);
    void (*range_f64)(block_range *out, const double *x, size_t n);
    size_t (*pair_f32)(float *absolute, float *relative, size_t *zeros, const float *a,
                       const float *b, size_t n, const source *s);
    size_t (*pair_f64)(double *absolute, double *relative, size_t *zeros, const double *a,
                       const double *b, size_t n, const source *s);
} block_kernels;
const block_kernels *block_kernels_best(void);
extern const block_kernels block_kernels_portable, block_kernels_avx2;

#endif
