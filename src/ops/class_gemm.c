/* SPDX-License-Identifier: Apache-2.0 */
/* Double-precision matrix product. The operand with fewer lines is packed whole, once, into panels
 * as wide as the micro-kernel and zero-padded at the edges. The other one is cut into blocks of
 * lines, one per task. A task packs a slice of KC steps of its block into its own buffer and
 * multiplies it with the whole packed operand, slice after slice. So its working set stays in the
 * second-level cache, and tasks never wait for each other.
 *
 * Every element of c sums k in order within a slice, then the slices in order, in any block and on
 * any thread; edge tiles run the same kernel into a buffer. So results do not depend on threads or
 * on the blocking of m and n. If c has few rows and b's columns are contiguous, packing does not
 * pay: the kernel's `dots` computes such products. */
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/system.h"
#include "ops/class_gemm.h"

enum {
    KC = 256,         /* a panel of a and a slice of b stay in the first-level cache */
    BLOCK = 96,       /* lines of a task, at most: a multiple of every mr and nr */
    PACKED = 1 << 20, /* limit for the elements of the operand that is packed whole; slices of k may
                         become shorter for it */
    MOST_LINES = 1024,   /* limit for the lines of the operand that is packed whole */
    BLOCKS_PER_CPU = 4,  /* least number of blocks for each processor, if there are enough panels */
    PACK_LINES = 48,     /* lines that one task packs: a multiple of every mr and nr */
    THIN_LINES = 64,     /* least number of columns per task in a product of few rows */
    SMALL = 32 * 32 * 32 /* products of up to this many multiply-adds run on one thread */
};

/* A part of the product that is computed at once: a range of lines (rows of a or columns of b) of
 * the operand that is packed whole, and a range of k. */
typedef struct job {
    const gemm_kernel *kernel;
    const gemm_call *call;
    bool whole_a;              /* true: a is packed whole; false: b */
    size_t first, lines, step; /* the packed range: first line, number of lines, first step of k */
    /* k: steps of the packed range; padded: its lines, rounded up to whole panels */
    size_t k, padded;
    size_t block; /* lines of the other operand that one task computes */
    double *packed, *buffers;
    atomic_bool *taken; /* indexed by buffer: whether a task uses it */
    bool serial;
} job;

static size_t round_up(size_t x, size_t step)
{
    return (x + step - 1) / step * step;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t parts(size_t length, size_t part)
{
    return (length + part - 1) / part;
}

static const char *element(const gemm_source *s, size_t row, size_t col)
{
    const int64_t at = (int64_t)row * s->row_stride + (int64_t)col * s->col_stride;
    return (const char *)s->data + at * (int64_t)(s->is_single ? sizeof(float) : sizeof(double));
}

/* ---- Packing -------------------------------------------------------------------------------- */

/* Packs steps [step, step + k) of `count` rows of a into consecutive panels. */
static void pack_a(const job *j, double *to, size_t row, size_t count, size_t step, size_t k)
{
    const gemm_source *a = &j->call->a;
    const size_t mr = j->kernel->mr;
    for (size_t r = 0; r < count; r += mr)
        gemm_pack_lines(to + r * k, mr, least(mr, count - r), k, element(a, row + r, step),
                        a->is_single, a->row_stride, a->col_stride);
}

static void pack_b(const job *j, double *to, size_t col, size_t count, size_t step, size_t k)
{
    const gemm_call *call = j->call;
    const size_t nr = j->kernel->nr;
    for (size_t i = 0; i < count; i += nr) {
        const size_t width = least(nr, count - i);
        if (call->pack_b)
            call->pack_b(call->user, to + i * k, nr, col + i, width, step, k);
        else
            gemm_pack_lines(to + i * k, nr, width, k, element(&call->b, step, col + i),
                            call->b.is_single, call->b.col_stride, call->b.row_stride);
    }
}

static void pack_lines(const job *j, bool of_a, double *to, size_t line, size_t count, size_t step,
                       size_t k)
{
    if (of_a)
        pack_a(j, to, line, count, step, k);
    else
        pack_b(j, to, line, count, step, k);
}

static void pack_task(size_t index, void *user)
{
    const job *j = user;
    const size_t line = index * PACK_LINES, count = least(PACK_LINES, j->lines - line);
    for (size_t p = 0; p < j->k; p += KC) {
        const size_t k = least(KC, j->k - p);
        pack_lines(j, j->whole_a, j->packed + p * j->padded + line * k, j->first + line, count,
                   j->step + p, k);
    }
}

/* ---- Tiles ---------------------------------------------------------------------------------- */

/* The rows and columns of c to which one slice of k is added, and the packed panels a and b to
 * multiply. */
typedef struct area {
    size_t row, rows, col, cols, k;
    const double *a, *b;
    bool first; /* the first slice of k, which sets c instead of adding to it */
} area;

static void add_bias(const gemm_call *call, size_t row, size_t rows, double *c, size_t cols)
{
    for (size_t r = 0; r < rows; r++, c += call->ldc)
        for (size_t i = 0; i < cols; i++) c[i] += call->row_bias[row + r];
}

static void edge_tile(const job *j, size_t k, const double *a, const double *b, double *c,
                      size_t rows, size_t cols, bool accumulate)
{
    double tile[GEMM_MAX_MR * GEMM_MAX_NR];
    const size_t nr = j->kernel->nr;
    if (cols <= nr / 2)
        j->kernel->run_half(k, a, b, tile, nr, false);
    else
        j->kernel->run(k, a, b, tile, nr, false);
    for (size_t r = 0; r < rows; r++, c += j->call->ldc)
        for (size_t i = 0; i < cols; i++)
            c[i] = accumulate ? c[i] + tile[r * nr + i] : tile[r * nr + i];
}

static void run_area(const job *j, const area *w)
{
    const gemm_kernel *kernel = j->kernel;
    const size_t ldc = j->call->ldc;
    const bool accumulate = j->call->accumulate || !w->first;
    for (size_t r = 0; r < w->rows; r += kernel->mr)
        for (size_t i = 0; i < w->cols; i += kernel->nr) {
            const double *a = w->a + r * w->k, *b = w->b + i * w->k;
            double *c = j->call->c + (w->row + r) * ldc + w->col + i;
            const size_t rows = least(kernel->mr, w->rows - r),
                         cols = least(kernel->nr, w->cols - i);
            if (rows < kernel->mr || cols < kernel->nr)
                edge_tile(j, w->k, a, b, c, rows, cols, accumulate);
            else
                kernel->run(w->k, a, b, c, ldc, accumulate);
            if (w->first && j->call->row_bias) add_bias(j->call, w->row + r, rows, c, cols);
        }
}

/* Takes a free buffer. One always exists: there are as many buffers as tasks that can run at
 * once. */
static size_t take_buffer(const job *j)
{
    size_t i = 0;
    while (atomic_exchange_explicit(&j->taken[i], true, memory_order_acquire)) i++;
    return i;
}

static void block_task(size_t index, void *user)
{
    const job *j = user;
    const gemm_call *call = j->call;
    const size_t slot = take_buffer(j), line = index * j->block;
    const size_t count = least(j->block, (j->whole_a ? call->n : call->m) - line);
    double *own = j->buffers + slot * BLOCK * KC;
    for (size_t p = 0; p < j->k; p += KC) {
        const size_t k = least(KC, j->k - p);
        const double *packed = j->packed + p * j->padded;
        pack_lines(j, !j->whole_a, own, line, count, j->step + p, k);
        const area w = {.row = j->whole_a ? j->first : line,
                        .rows = j->whole_a ? j->lines : count,
                        .col = j->whole_a ? line : j->first,
                        .cols = j->whole_a ? count : j->lines,
                        .k = k,
                        .a = j->whole_a ? packed : own,
                        .b = j->whole_a ? own : packed,
                        .first = j->step + p == 0};
        run_area(j, &w);
    }
    atomic_store_explicit(&j->taken[slot], false, memory_order_release);
}

/* ---- Blocks --------------------------------------------------------------------------------- */

static void share(const job *j, size_t count, parallel_task task)
{
    if (!j->serial) {
        parallel_for_until_cancelled(count, task, (void *)j);
        return;
    }
    for (size_t i = 0; i < count; i++) task(i, (void *)j);
}

/* Part size that cuts `length` into parts of about equal size: a multiple of `unit`, at most
 * `most`. */
static size_t even_part(size_t length, size_t most, size_t unit)
{
    return round_up(parts(length, parts(length, most)), unit);
}

static size_t block_size(const job *j, size_t lines)
{
    const size_t unit = j->whole_a ? j->kernel->nr : j->kernel->mr;
    const size_t wanted = j->serial ? 1 : cpu_count() * BLOCKS_PER_CPU;
    const size_t size = round_up(parts(lines, wanted), unit);
    return size < BLOCK ? size : even_part(lines, BLOCK, unit);
}

static void run_parts(job *j, size_t whole, size_t other, size_t most, size_t depth)
{
    const size_t unit = j->whole_a ? j->kernel->mr : j->kernel->nr;
    j->block = block_size(j, other);
    for (j->first = 0; j->first < whole; j->first += most)
        for (j->step = 0; j->step < j->call->k; j->step += depth) {
            j->lines = least(most, whole - j->first);
            j->k = least(depth, j->call->k - j->step);
            j->padded = round_up(j->lines, unit);
            share(j, parts(j->lines, PACK_LINES), pack_task);
            share(j, parts(other, j->block), block_task);
        }
}

static pgy_status run_blocks(const gemm_call *call, bool serial, pgy_error *err)
{
    job j = {.kernel = gemm_kernel_choose(),
             .call = call,
             .whole_a = call->m <= call->n,
             .serial = serial};
    const size_t whole = j.whole_a ? call->m : call->n, other = j.whole_a ? call->n : call->m;
    const size_t most = even_part(whole, MOST_LINES, PACK_LINES), padded = least(most, whole) + 15;
    const size_t slots = serial ? 1 : least(cpu_count(), parts(other, GEMM_MAX_MR));
    size_t depth = PACKED / padded / KC * KC;
    if (depth < KC) depth = KC;
    if (depth > call->k) depth = call->k;
    const size_t packed = round_up(round_up(padded, 16) * depth, 8), own = slots * BLOCK * KC;
    j.packed = mem_alloc_aligned(64, (packed + own) * sizeof *j.packed);
    j.taken = mem_calloc(slots, sizeof *j.taken);
    const bool enough = j.packed && j.taken;
    if (enough) {
        j.buffers = j.packed + packed;
        run_parts(&j, whole, other, most, depth);
    }
    mem_free(j.packed);
    mem_free(j.taken);
    return enough ? PGY_OK
                  : pgy_error_set(err, PGY_E_MEMORY,
                                  "out of memory for a %zu x %zu x %zu matrix product", call->m,
                                  call->n, call->k);
}

/* ---- Few rows ------------------------------------------------------------------------------- */

static void thin_task(size_t index, void *user)
{
    const job *j = user;
    const gemm_call *call = j->call;
    const size_t col = index * j->block, lines = least(j->block, call->n - col);
    const size_t lda = (size_t)call->a.row_stride, ldb = (size_t)call->b.col_stride;
    double *c = call->c + col;
    if (call->b.is_single)
        j->kernel->dots_single(call->m, lines, call->k, call->a.data, lda,
                               (const float *)call->b.data + col * ldb, ldb, c, call->ldc);
    else
        j->kernel->dots(call->m, lines, call->k, call->a.data, lda,
                        (const double *)call->b.data + col * ldb, ldb, c, call->ldc);
}

static bool is_thin(const gemm_call *call)
{
    return call->m <= GEMM_THIN && !call->pack_b && !call->accumulate && !call->row_bias &&
           !call->a.is_single && call->a.col_stride == 1 && call->a.row_stride >= 0 &&
           call->b.row_stride == 1 && call->b.col_stride >= 0;
}

/* ---- The whole ------------------------------------------------------------------------------ */

const gemm_kernel *gemm_kernel_choose(void)
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

static void without_steps(const gemm_call *call)
{
    for (size_t r = 0; r < call->m; r++) {
        double *c = call->c + r * call->ldc;
        for (size_t i = 0; i < call->n; i++) {
            if (!call->accumulate) c[i] = 0;
            if (call->row_bias) c[i] += call->row_bias[r];
        }
    }
}

pgy_status gemm_run(const gemm_call *call, pgy_error *err)
{
    if (!call->m || !call->n) return PGY_OK;
    if (!call->k) {
        without_steps(call);
        return PGY_OK;
    }
    const bool serial = is_small(call->m, call->n, call->k);
    if (!is_thin(call)) return run_blocks(call, serial, err);
    job j = {.kernel = gemm_kernel_choose(), .call = call, .serial = serial};
    j.block = SMALL / call->k / call->m;
    if (j.block < THIN_LINES) j.block = THIN_LINES;
    share(&j, parts(call->n, j.block), thin_task);
    return PGY_OK;
}

pgy_status gemm_f64(size_t m, size_t n, size_t k, gemm_matrix a, gemm_matrix b, double *c,
                    size_t ldc, bool accumulate, pgy_error *err)
{
    const gemm_call call = {.m = m,
                            .n = n,
                            .k = k,
                            .a = {a.data, false, a.row_stride, a.col_stride},
                            .b = {b.data, false, b.row_stride, b.col_stride},
                            .c = c,
                            .ldc = ldc,
                            .accumulate = accumulate};
    return gemm_run(&call, err);
}
