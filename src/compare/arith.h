/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers that statistics are made of, block by block and never as whole arrays: the elements
 * of one array, or the absolute and relative differences of two. Types and roundings are NumPy's:
 * float32 differences stay float32 and so on. Integers are subtracted exactly; `wrap` gives the
 * original's two's complement instead.
 *
 * Blocks follow NumPy's order of summation, so that sums over blocks can be put together to the
 * very same float: float32 is halved recursively (tree), types that NumPy converts on the way are
 * cut into 8192 elements (chunks). */
#ifndef COMPARE_ARITH_H
#define COMPARE_ARITH_H

#include <polygraphy/compare.h>

#define ARITH_BLOCK 8192
#define ARITH_STREAMS 2

typedef enum work_type { WORK_F32, WORK_F64, WORK_I64, WORK_U64 } work_type;

typedef struct stream {
    work_type work;   /* type of the elements in memory */
    pgy_dtype dtype;  /* type that NumPy's array would have; decides how quantiles round */
    bool nonnegative; /* absolute values need no second look */
} stream;

typedef struct pair_options {
    pgy_number atol, rtol;
    bool infinities_equal, wrap;
} pair_options;

typedef struct source {
    size_t count;
    size_t stream_count;
    stream streams[ARITH_STREAMS]; /* of a pair: absolute, then relative difference */
    bool tree;
    bool is_pair;
    pgy_dtype a_dtype, b_dtype;
    const void *a, *b;
    work_type common; /* what both sides of a pair are widened to */
    bool float_reference,
        mixed_u64;        /* b is a float: its zeros become 2^-52; a signed array against uint64 */
    bool float_meets_i64; /* float64 cannot hold one side: its differences are formed exactly */
    bool wrap_i32;        /* the original subtracts in int32 */
    bool single;          /* float32 differences that NumPy keeps as float64 */
    pair_options options;
    float atol_f32, rtol_f32; /* the largest float32 that are not above the tolerances */
} source;

/* What filling blocks of a pair counts on its way. */
typedef struct pair_counts {
    size_t mismatched; /* absolute and relative difference are both out of tolerance or NaN */
    size_t zeros;      /* in a floating reference */
    size_t wrapped;    /* elements that the original's subtraction gets wrong */
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

/* Views must be compact, numeric, of at least 8 bits, and not bf16 or f8 (see arith_compact).
 * Complex arrays count with their magnitudes. */
source source_array(pgy_view v);
source source_pair(pgy_view a, pgy_view b, const pair_options *options);
/* Elements [start, start + n), n <= ARITH_BLOCK; values[] point into `out` or straight into the
 * array. */
void source_fill(const source *s, size_t start, size_t n, block *out);
/* How an array of elements widens for arithmetic, without differences. */
void arith_widen(work_type work, void *to, pgy_dtype dtype, const void *from, size_t start,
                 size_t n);
work_type arith_work_type(pgy_dtype dtype);
/* The type of mixed arithmetic after widening, for pairs that are not both integers: F32 or F64. */
work_type arith_common_float(pgy_dtype a, pgy_dtype b);
/* Do a floating side and one of 64-bit integers meet? */
bool arith_float_meets_i64(pgy_dtype a, pgy_dtype b);
/* Element i of two such arrays: |a - b|, rounded once; 0 only if they are equal. */
double arith_mixed_difference(pgy_dtype a_dtype, const void *a, pgy_dtype b_dtype, const void *b,
                              size_t i);
bool arith_is_int32(pgy_dtype dtype); /* int32 after widening */
float arith_float_not_above(double v);

/* `t` itself (retained), or a compact copy in a type that sources take: bf16, f8 and f4 as f32,
 * sub-byte integers as int8 or uint8. Strings stay. */
pgy_status arith_compact(pgy_tensor **out, pgy_tensor *t, pgy_error *err) PGY_MUST_CHECK;
pgy_status arith_compact_view(pgy_tensor **out, pgy_view v, pgy_error *err) PGY_MUST_CHECK;

/* Block starts in order, starts[count] = number of elements; free with mem_free. */
pgy_status arith_partition(size_t **starts, size_t *count, size_t elements, bool tree,
                           pgy_error *err) PGY_MUST_CHECK;
/* Puts one sum per block together in NumPy's order. */
float arith_join_f32(const float *sums, size_t elements, bool tree);
double arith_join_f64(const double *sums, size_t elements, bool tree);

/* Calls visit for every block in order within a task, tasks in parallel. Each task has a block of
 * its own, which visit may fill. `task` < the number of tasks that arith_tasks gives for so many
 * blocks; what depends on it must not depend on how blocks are spread. *counts (may be NULL)
 * receives the sums over all tasks. */
typedef struct block_place {
    size_t task, index, start, count;
} block_place;
typedef void (*block_visit)(block *b, const block_place *place, void *user);
size_t arith_tasks(size_t blocks, size_t elements);
pgy_status arith_each(pair_counts *counts, const source *s, const size_t *starts, size_t blocks,
                      block_visit visit, void *user, pgy_error *err) PGY_MUST_CHECK;

/* Kernels over one block, in versions for several processors. */
typedef struct block_range {
    bool nan;
    double low, high; /* of the elements that are not NaN; +inf, -inf if there is none */
} block_range;
/* Keys (see select.h), counted from `base`, of the elements whose upper bits are among `prefixes`.
 * Returns their number; `keys` has room for n. */
#define WANTED_MOST 10
typedef struct wanted_keys {
    uint64_t base, prefixes[WANTED_MOST];
    size_t count;
    unsigned shift;
} wanted_keys;
/* A histogram's edges, rising; its last bin is closed. */
#define TALLY_EDGES 11

typedef struct block_kernels {
    /* Adds to counts[i] how many are not below edges[i]; for the last edge, how many are above. */
    void (*tally_f32)(uint64_t *counts, const float *edges, const float *x, size_t n);
    void (*tally_f64)(uint64_t *counts, const double *edges, const double *x, size_t n);
    size_t (*wanted_f32)(uint32_t *keys, const float *x, size_t n, const wanted_keys *w);
    size_t (*wanted_f64)(uint64_t *keys, const double *x, size_t n, const wanted_keys *w);
    float (*sum_f32)(const float *x, size_t n); /* pairwise, NumPy's order */
    float (*abs_sum_f32)(const float *x, size_t n);
    float (*deviation_f32)(const float *x, size_t n, float mean); /* sum of squares */
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
