/* SPDX-License-Identifier: Apache-2.0 */
/* Double-precision matrix product. The classic blocking: k is cut into slices of KC; of each slice
 * a block of b (KC x NC) and a block of a (MC x KC) are packed into panels as wide as the
 * micro-kernel, zero-padded at the edges; then tiles of c are computed from panels. Packing and
 * tiles are shared out to threads.
 *
 * An element of c is the sum over slices, in order, of sums over k within a slice, in order,
 * whatever tile or thread it falls into: edge tiles run the same kernel into a buffer. So results
 * do not depend on threads or on blocking of m, n. */
#include <string.h>

#include "base/alloc.h"
#include "base/system.h"
#include "ops/class_gemm.h"
#include "ops/gemm.h"

enum {
    KC = 256,  /* a panel of b (KC x nr) and one of a stay in the first and second level cache */
    MC = 1024, /* rows packed at once */
    NC = 2048, /* columns packed at once */
    TILE_ROWS =
        96, /* a task computes TILE_ROWS x TILE_COLS of c; both are multiples of every mr, nr */
    TILE_COLS = 480,
    SMALL = 32 * 32 * 32 /* products up to this many steps are not worth waking threads */
};

/* What the tasks of one slice share. */
typedef struct job {
    const gemm_kernel *kernel;
    gemm_matrix a, b; /* moved to the slice's and block's origin */
    size_t m, n, k;   /* of the block */
    double *packed_a, *packed_b, *c;
    size_t ldc, tile_columns;
    bool accumulate, serial;
} job;

static size_t round_up(size_t x, size_t step)
{
    return (x + step - 1) / step * step;
}

/* Lines that lie beside each other: every step copies a run. */
static void pack_runs(double *to, size_t width, size_t count, size_t k, const double *from,
                      int64_t step)
{
    if (count == GEMM_MAX_NR && width == GEMM_MAX_NR) /* a copy of known size needs no call */
        for (size_t p = 0; p < k; p++, to += GEMM_MAX_NR, from += step)
            memcpy(to, from, GEMM_MAX_NR * sizeof *to);
    else
        for (size_t p = 0; p < k; p++, to += width, from += step)
            memcpy(to, from, count * sizeof *to);
}

/* Eight whole lines: what is written to is contiguous, what is read from stays in the cache. */
static void pack_eight(double *to, size_t k, const double *from, int64_t line_stride, int64_t step)
{
    const double *line[8];
    for (int64_t i = 0; i < 8; i++) line[i] = from + i * line_stride;
    for (size_t p = 0; p < k; p++, to += 8)
        for (int i = 0; i < 8; i++) to[i] = line[i][(int64_t)p * step];
}

/* Packs `count` lines (at most `width`, the rest zero) of k elements: to[p * width + i] =
 * from[i][p]. */
static void pack_panel(double *to, size_t width, size_t count, size_t k, const double *from,
                       int64_t line_stride, int64_t step)
{
    if (count < width) memset(to, 0, k * width * sizeof *to);
    if (line_stride == 1) {
        pack_runs(to, width, count, k, from, step);
    } else if (count == 8 && width == 8) {
        pack_eight(to, k, from, line_stride, step);
    } else {
        for (size_t i = 0; i < count; i++) {
            const double *line = from + (int64_t)i * line_stride;
            for (size_t p = 0; p < k; p++) to[p * width + i] = line[(int64_t)p * step];
        }
    }
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void pack_a_task(size_t index, void *user)
{
    const job *j = user;
    size_t mr = j->kernel->mr, row = index * TILE_ROWS, end = least(row + TILE_ROWS, j->m);
    for (; row < end; row += mr)
        pack_panel(j->packed_a + row * j->k, mr, least(mr, j->m - row), j->k,
                   j->a.data + (int64_t)row * j->a.row_stride, j->a.row_stride, j->a.col_stride);
}

static void pack_b_task(size_t index, void *user)
{
    const job *j = user;
    size_t nr = j->kernel->nr, col = index * TILE_COLS, end = least(col + TILE_COLS, j->n);
    for (; col < end; col += nr)
        pack_panel(j->packed_b + col * j->k, nr, least(nr, j->n - col), j->k,
                   j->b.data + (int64_t)col * j->b.col_stride, j->b.col_stride, j->b.row_stride);
}

static void edge_tile(const job *j, size_t row, size_t col)
{
    double tile[GEMM_MAX_MR * GEMM_MAX_NR];
    size_t nr = j->kernel->nr, rows = least(j->kernel->mr, j->m - row),
           cols = least(nr, j->n - col);
    j->kernel->run(j->k, j->packed_a + row * j->k, j->packed_b + col * j->k, tile, nr, false);
    for (size_t r = 0; r < rows; r++) {
        double *to = j->c + (row + r) * j->ldc + col;
        for (size_t i = 0; i < cols; i++)
            to[i] = j->accumulate ? to[i] + tile[r * nr + i] : tile[r * nr + i];
    }
}

static void tile_task(size_t index, void *user)
{
    const job *j = user;
    const gemm_kernel *kernel = j->kernel;
    size_t row0 = index / j->tile_columns * TILE_ROWS, row1 = least(row0 + TILE_ROWS, j->m);
    size_t col0 = index % j->tile_columns * TILE_COLS, col1 = least(col0 + TILE_COLS, j->n);
    for (size_t col = col0; col < col1; col += kernel->nr)
        for (size_t row = row0; row < row1; row += kernel->mr) {
            if (row + kernel->mr > j->m || col + kernel->nr > j->n) {
                edge_tile(j, row, col);
                continue;
            }
            kernel->run(j->k, j->packed_a + row * j->k, j->packed_b + col * j->k,
                        j->c + row * j->ldc + col, j->ldc, j->accumulate);
        }
}

static void share(const job *j, size_t count, parallel_task task)
{
    if (!j->serial) {
        parallel_for(count, task, (void *)j);
        return;
    }
    for (size_t i = 0; i < count; i++) task(i, (void *)j);
}

static void run_rows(job *j, size_t m, gemm_matrix a, double *c)
{
    for (size_t row = 0; row < m; row += MC) {
        j->m = least(MC, m - row);
        j->a.data = a.data + (int64_t)row * a.row_stride;
        j->c = c + row * j->ldc;
        size_t tile_rows = (j->m + TILE_ROWS - 1) / TILE_ROWS;
        share(j, tile_rows, pack_a_task);
        share(j, tile_rows * j->tile_columns, tile_task);
    }
}

static void clear(size_t m, size_t n, double *c, size_t ldc)
{
    for (size_t r = 0; r < m; r++) memset(c + r * ldc, 0, n * sizeof *c);
}

static const gemm_kernel *choose(void)
{
#if defined(__x86_64__)
    cpu_level level = cpu_features();
    if (level >= CPU_AVX512) return &gemm_kernel_avx512;
    if (level >= CPU_AVX2) return &gemm_kernel_avx2;
#endif
    return &gemm_kernel_portable;
}

static bool is_small(size_t m, size_t n, size_t k)
{
    size_t work = SMALL;
    if (m > work) return false;
    work /= m;
    if (n > work) return false;
    return k <= work / n;
}

pgy_status gemm_f64(size_t m, size_t n, size_t k, gemm_matrix a, gemm_matrix b, double *c,
                    size_t ldc, bool accumulate, pgy_error *err)
{
    if (!m || !n) return PGY_OK;
    if (!k) {
        if (!accumulate) clear(m, n, c, ldc);
        return PGY_OK;
    }
    job j = {.kernel = choose(), .ldc = ldc, .serial = is_small(m, n, k)};
    size_t kc = least(KC, k);
    size_t rows = round_up(least(MC, m), j.kernel->mr), cols = round_up(least(NC, n), j.kernel->nr);
    double *packed = mem_alloc_aligned(64, (rows + cols) * kc * sizeof *packed + 64);
    if (!packed)
        return pgy_error_set(err, PGY_E_MEMORY,
                             "out of memory for a %zu x %zu x %zu matrix product", m, n, k);
    j.packed_b = packed;
    j.packed_a = packed + round_up(cols * kc, 8);
    for (size_t col = 0; col < n; col += NC)
        for (size_t p = 0; p < k; p += KC) {
            j.n = least(NC, n - col);
            j.k = least(KC, k - p);
            j.tile_columns = (j.n + TILE_COLS - 1) / TILE_COLS;
            j.accumulate = accumulate || p > 0;
            j.a = a;
            j.b = b;
            j.b.data = b.data + (int64_t)p * b.row_stride + (int64_t)col * b.col_stride;
            share(&j, j.tile_columns, pack_b_task);
            gemm_matrix slice = a;
            slice.data = a.data + (int64_t)p * a.col_stride;
            run_rows(&j, m, slice, c + col);
        }
    mem_free(packed);
    return PGY_OK;
}
