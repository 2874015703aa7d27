/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over the elements of two arrays. Four lanes are summed side by side and joined in a fixed
 * order, so that results depend neither on the processor nor on the number of threads. NaNs are
 * counted, and their lanes are cleared before the sums. */
#include <math.h>
#include <string.h>

#include "base/system.h"
#include "inspect/diff.h"

enum { LANES = 4 };
typedef double reals __attribute__((vector_size(LANES * sizeof(double))));
typedef int64_t masks __attribute__((vector_size(LANES * sizeof(int64_t))));

typedef struct lanes {
    reals changed, beyond, nan_a, nan_b, sum_abs, sum_square, sum_aa, sum_ab, sum_bb;
    reals max_abs, max_rel;
} lanes;

typedef struct tally_run {
    const double *a, *b;
    size_t count; /* a multiple of LANES */
    double atol, rtol;
} tally_run;

#define KEEP(v, mask) ((reals)((masks)(v) & (mask)))

static inline __attribute__((always_inline)) void run_lanes(lanes *out, const tally_run *r)
{
    lanes t = *out;
    const reals one = {1, 1, 1, 1};
    const masks sign = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
    for (size_t i = 0; i < r->count; i += LANES) {
        reals x, y;
        memcpy(&x, r->a + i, sizeof x);
        memcpy(&y, r->b + i, sizeof y);
        const masks x_nan = x != x, y_nan = y != y;
        const masks both = ~(x_nan | y_nan), differ = x != y;
        const masks changed = differ & ~(x_nan & y_nan);
        x = KEEP(x, both);
        y = KEEP(y, both);
        const reals size = KEEP(x, sign), d = KEEP(KEEP(x - y, sign), both & differ);
        const masks beyond = (d > r->atol + r->rtol * size) | (x_nan ^ y_nan);
        const reals rel = KEEP(d / size, (x != 0) & differ & both);
        t.changed += KEEP(one, changed);
        t.beyond += KEEP(one, beyond);
        t.nan_a += KEEP(one, x_nan);
        t.nan_b += KEEP(one, y_nan);
        t.sum_abs += d;
        t.sum_square += d * d;
        t.sum_aa += x * x;
        t.sum_ab += x * y;
        t.sum_bb += y * y;
        t.max_abs = KEEP(d, d > t.max_abs) + KEEP(t.max_abs, ~(d > t.max_abs));
        t.max_rel = KEEP(rel, rel > t.max_rel) + KEEP(t.max_rel, ~(rel > t.max_rel));
    }
    *out = t;
}

/* Sums only squares and NaNs of a, because all elements of b equal those of a. */
static inline __attribute__((always_inline)) void run_equal(lanes *out, const tally_run *r)
{
    reals sum = out->sum_aa, nan = out->nan_a;
    const reals one = {1, 1, 1, 1};
    for (size_t i = 0; i < r->count; i += LANES) {
        reals x;
        memcpy(&x, r->a + i, sizeof x);
        const masks x_nan = x != x;
        x = KEEP(x, ~x_nan);
        nan += KEEP(one, x_nan);
        sum += x * x;
    }
    out->sum_aa = sum;
    out->nan_a = nan;
}

static void run_lanes_portable(lanes *out, const tally_run *r)
{
    run_lanes(out, r);
}
static void run_equal_portable(lanes *out, const tally_run *r)
{
    run_equal(out, r);
}

#if defined(__x86_64__)
/* no-fma: fused multiply-adds would round differently from the portable version. */
__attribute__((target("avx2,no-fma"))) static void run_lanes_avx2(lanes *out, const tally_run *r)
{
    run_lanes(out, r);
}
__attribute__((target("avx2,no-fma"))) static void run_equal_avx2(lanes *out, const tally_run *r)
{
    run_equal(out, r);
}
#else
#define run_lanes_avx2 run_lanes_portable
#define run_equal_avx2 run_equal_portable
#endif

/* Takes an address, because the ABI for passing vectors depends on the target processor. */
static double join(const reals *v)
{
    return ((*v)[0] + (*v)[1]) + ((*v)[2] + (*v)[3]);
}

static double largest(const reals *v)
{
    double m = (*v)[0];
    for (size_t k = 1; k < LANES; k++) m = (*v)[k] > m ? (*v)[k] : m;
    return m;
}

static size_t find_change(const double *a, const double *b, size_t count, double size)
{
    for (size_t i = 0; i < count; i++)
        if (fabs(a[i] - b[i]) == size) return i;
    return 0;
}

static void add_lanes(diff_tally *t, const lanes *l, const tally_run *r, size_t first)
{
    const double max_abs = largest(&l->max_abs), max_rel = largest(&l->max_rel);
    t->changed += join(&l->changed);
    t->beyond += join(&l->beyond);
    t->nan_a += join(&l->nan_a);
    t->nan_b += join(&l->nan_b);
    t->sum_abs += join(&l->sum_abs);
    t->sum_square += join(&l->sum_square);
    t->sum_aa += join(&l->sum_aa);
    t->sum_ab += join(&l->sum_ab);
    t->sum_bb += join(&l->sum_bb);
    if (max_rel > t->max_rel) t->max_rel = max_rel;
    if (!(max_abs > t->max_abs)) return;
    t->max_abs = max_abs;
    t->max_at = first + find_change(r->a, r->b, r->count, max_abs);
}

void diff_tally_add(diff_tally *t, const double *a, const double *b, size_t count, size_t first,
                    double atol, double rtol)
{
    const size_t whole = count - count % LANES;
    double rest_a[LANES] = {0}, rest_b[LANES] = {0};
    tally_run run = {a, b, whole, atol, rtol};
    const bool wide = cpu_features() >= CPU_AVX2;
    lanes l = {0};
    if (wide)
        run_lanes_avx2(&l, &run);
    else
        run_lanes_portable(&l, &run);
    add_lanes(t, &l, &run, first);
    if (whole == count) return;
    memcpy(rest_a, a + whole, (count - whole) * sizeof *a);
    memcpy(rest_b, b + whole, (count - whole) * sizeof *b);
    run = (tally_run){rest_a, rest_b, LANES, atol, rtol};
    l = (lanes){0};
    run_lanes_portable(&l, &run);
    add_lanes(t, &l, &run, first + whole);
}

void diff_tally_add_equal(diff_tally *t, const double *a, size_t count)
{
    const size_t whole = count - count % LANES;
    double rest[LANES] = {0};
    tally_run run = {.a = a, .count = whole};
    lanes l = {0};
    if (cpu_features() >= CPU_AVX2)
        run_equal_avx2(&l, &run);
    else
        run_equal_portable(&l, &run);
    if (count > whole) memcpy(rest, a + whole, (count - whole) * sizeof *a);
    run = (tally_run){.a = rest, .count = count > whole ? LANES : 0};
    run_equal_portable(&l, &run);
    const double squares = join(&l.sum_aa), nans = join(&l.nan_a);
    t->sum_aa += squares;
    t->sum_ab += squares;
    t->sum_bb += squares;
    t->nan_a += nans;
    t->nan_b += nans;
}

void diff_tally_join(diff_tally *to, const diff_tally *from)
{
    to->changed += from->changed;
    to->beyond += from->beyond;
    to->nan_a += from->nan_a;
    to->nan_b += from->nan_b;
    to->sum_abs += from->sum_abs;
    to->sum_square += from->sum_square;
    to->sum_aa += from->sum_aa;
    to->sum_ab += from->sum_ab;
    to->sum_bb += from->sum_bb;
    if (from->max_rel > to->max_rel) to->max_rel = from->max_rel;
    if (!(from->max_abs > to->max_abs)) return;
    to->max_abs = from->max_abs;
    to->max_at = from->max_at;
}
