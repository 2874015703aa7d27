/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products in float32 of all variants against sums in double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "harness/kernel_case.h"
#include "harness/reference_case.h"
#include "kernels/half.h"
#include "kernels/matmul.h"

static const double TOLERANCE = 2e-6;

/* C = A * B for products of [m, k] and [k, n]; B is one for all, or one each. */
static void run_matmul(int64_t batch, int64_t m, int64_t k, int64_t n, bool shared, bool constant)
{
    kernel_case c;
    case_start(&c, "", "MatMul", 13);
    case_input(&c, false, 3, (const int64_t[]){batch, m, k});
    if (shared)
        case_input(&c, constant, 2, (const int64_t[]){k, n});
    else
        case_input(&c, constant, 3, (const int64_t[]){batch, k, n});
    case_output(&c, 3, (const int64_t[]){batch, m, n});
    for (int64_t b = 0; b < batch; b++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++)
                for (int64_t p = 0; p < k; p++)
                    c.wanted[(b * m + i) * n + j] +=
                        (double)c.inputs[0][(b * m + i) * k + p] *
                        (double)c.inputs[1][((shared ? 0 : b) * k + p) * n + j];
    assert_true(case_run(&c, TOLERANCE) > 0);
    case_end(&c);
}

static void test_matmul__sizes_around_the_tiles(void **state)
{
    (void)state;
    static const int64_t SIZES[] = {1, 2, 5, 6, 7, 12, 13, 31, 33};
    for (size_t i = 0; i < 9; i++)
        for (size_t j = 0; j < 9; j++)
            run_matmul(1, SIZES[i], SIZES[(i + j) % 9], SIZES[j], true, j % 2);
}

static void test_matmul__large_ones_are_cut(void **state)
{
    (void)state;
    run_matmul(1, 150, 1100, 300, true, true);
    run_matmul(1, 150, 1100, 300, true, false);
    run_matmul(1, 1, 2050, 270, true, true);
}

static void test_matmul__batches(void **state)
{
    (void)state;
    run_matmul(3, 7, 9, 35, false, false);
    run_matmul(3, 7, 9, 35, false, true);
    run_matmul(3, 7, 9, 35, true, true);
}

/* Tiles multiply whole panels by alpha as they store them; the last panel is multiplied later. Of
 * 1100 terms, alpha comes once, behind the second block. */
static void test_matmul__turned_columns_with_alpha(void **state)
{
    (void)state;
    static const char *const A[] = {"2 13 17", "2 13 1100", "2 1 9"}, *const B[] = {"2 64 17",
                                                                                    "2 75 1100",
                                                                                    "2 130 9"};
    for (size_t i = 0; i < 2 * sizeof A / sizeof *A; i++) {
        reference_case c;
        reference_start(&c, "com.microsoft", "FusedMatMul", 1);
        reference_attr_int(&c, "transB", 1);
        reference_attr_float(&c, "alpha", 1.22f);
        reference_input(&c, PGY_F32, A[i / 2]);
        reference_input(&c, PGY_F32, B[i / 2]);
        if (i % 2) reference_constant(&c);
        assert_true(reference_run(&c, 1, TOLERANCE) > 0);
    }
}

static void test_matmul__broadcast_axes(void **state)
{
    (void)state;
    kernel_case c;
    case_start(&c, "", "MatMul", 13);
    case_input(&c, false, 4, (const int64_t[]){2, 1, 3, 4});
    case_input(&c, false, 3, (const int64_t[]){5, 4, 6});
    case_output(&c, 4, (const int64_t[]){2, 5, 3, 6});
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 5; b++)
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 6; j++)
                    for (int p = 0; p < 4; p++)
                        c.wanted[((a * 5 + b) * 3 + i) * 6 + j] +=
                            (double)c.inputs[0][(a * 3 + i) * 4 + p] *
                            (double)c.inputs[1][(b * 4 + p) * 6 + j];
    assert_true(case_run(&c, TOLERANCE) > 0);
    case_end(&c);
}

/* bias_rows, bias_columns 0: none. */
static void run_gemm(int64_t m, int64_t k, int64_t n, bool turn_a, bool turn_b, int64_t bias_rows,
                     int64_t bias_columns)
{
    kernel_case c;
    case_start(&c, "", "Gemm", 13);
    case_attr_int(&c, "transA", turn_a);
    case_attr_int(&c, "transB", turn_b);
    case_attr_float(&c, "alpha", 0.5f);
    case_attr_float(&c, "beta", 2);
    case_input(&c, false, 2, turn_a ? (const int64_t[]){k, m} : (const int64_t[]){m, k});
    case_input(&c, true, 2, turn_b ? (const int64_t[]){n, k} : (const int64_t[]){k, n});
    if (bias_rows) case_input(&c, true, 2, (const int64_t[]){bias_rows, bias_columns});
    case_output(&c, 2, (const int64_t[]){m, n});
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t p = 0; p < k; p++)
                sum += (double)c.inputs[0][turn_a ? p * m + i : i * k + p] *
                       (double)c.inputs[1][turn_b ? j * k + p : p * n + j];
            c.wanted[i * n + j] = 0.5 * sum;
            if (bias_rows)
                c.wanted[i * n + j] +=
                    2 * (double)c.inputs[2][(bias_rows > 1 ? i : 0) * bias_columns +
                                            (bias_columns > 1 ? j : 0)];
        }
    }
    assert_true(case_run(&c, TOLERANCE) > 0);
    case_end(&c);
}

static void test_matmul__gemm_forms(void **state)
{
    (void)state;
    for (int turns = 0; turns < 4; turns++) {
        run_gemm(17, 40, 37, turns & 1, turns >> 1, 0, 0);
        run_gemm(17, 40, 37, turns & 1, turns >> 1, 1, 37);
        run_gemm(17, 40, 37, turns & 1, turns >> 1, 17, 1);
        run_gemm(17, 40, 37, turns & 1, turns >> 1, 17, 37);
        run_gemm(160, 1030, 33, turns & 1, turns >> 1, 1, 1);
    }
}

static double activated(double x, const char *name)
{
    if (strcmp(name, "Relu") == 0) return x > 0 ? x : 0;
    if (strcmp(name, "Sigmoid") == 0) return 1 / (1 + exp(-x));
    if (strcmp(name, "Tanh") == 0) return tanh(x);
    if (strcmp(name, "Gelu") == 0) return 0.5 * x * (1 + erf(x / sqrt(2)));
    if (strcmp(name, "FastGelu") == 0)
        return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    if (strcmp(name, "Silu") == 0) return x / (1 + exp(-x));
    return x;
}

typedef struct fused {
    int64_t batch, m, k, n;
    bool turn_a, turn_b, bias, residual;
    const char *activation;
    bool shared; /* one B for all products */
} fused;

static void run_fused(const fused *f)
{
    kernel_case c;
    const int64_t a[] = {f->batch, f->turn_a ? f->k : f->m, f->turn_a ? f->m : f->k};
    const int64_t b[] = {f->batch, f->turn_b ? f->n : f->k, f->turn_b ? f->k : f->n};
    const int64_t y[] = {f->batch, f->m, f->n};
    case_start(&c, "pgy", "FusedMatMul", 1);
    case_attr_int(&c, "transA", f->turn_a);
    case_attr_int(&c, "transB", f->turn_b);
    case_attr_float(&c, "alpha", 0.25f);
    if (*f->activation) case_attr_text(&c, "activation", f->activation);
    case_input(&c, false, 3, a);
    case_input(&c, f->bias, f->shared ? 2 : 3, f->shared ? b + 1 : b);
    case_input(&c, true, f->bias ? 1 : -1, &f->n);
    case_input(&c, false, f->residual ? 3 : -1, y);
    case_output(&c, 3, y);
    for (int64_t r = 0; r < f->batch * f->m; r++) {
        const int64_t q = r / f->m, i = r % f->m;
        const float *a_of = c.inputs[0] + q * f->m * f->k;
        const float *b_of = c.inputs[1] + (f->shared ? 0 : q * f->k * f->n);
        for (int64_t j = 0; j < f->n; j++) {
            double sum = 0;
            for (int64_t p = 0; p < f->k; p++)
                sum += (double)a_of[f->turn_a ? p * f->m + i : i * f->k + p] *
                       (double)b_of[f->turn_b ? j * f->k + p : p * f->n + j];
            sum *= 0.25;
            if (f->bias) sum += (double)c.inputs[2][j];
            if (f->residual) sum += (double)c.inputs[3][r * f->n + j];
            c.wanted[r * f->n + j] = activated(sum, f->activation);
        }
    }
    assert_true(case_run(&c, TOLERANCE) > 0);
    case_end(&c);
}

static void test_matmul__fused_forms(void **state)
{
    (void)state;
    static const char *const ACTIVATIONS[] = {"",     "Relu",     "Sigmoid", "Tanh",
                                              "Gelu", "FastGelu", "Silu"};
    for (int form = 0; form < 16; form++)
        for (size_t i = 0; i < 7; i++)
            run_fused(&(fused){2, 13, 9, 37, form & 1, form >> 1 & 1, form >> 2 & 1, form >> 3,
                               ACTIVATIONS[i], false});
}

static void test_matmul__fused_and_cut(void **state)
{
    (void)state;
    run_fused(&(fused){2, 150, 1100, 70, false, true, true, true, "Gelu", false});
    run_fused(&(fused){1, 1, 1, 1, true, true, true, true, "Silu", false});
    run_fused(&(fused){3, 70, 40, 70, false, true, true, true, "FastGelu", true});
    run_fused(&(fused){3, 7, 40, 70, true, false, true, true, "Relu", true});
}

/* Integers wrap. */
static void test_matmul__integers(void **state)
{
    (void)state;
    static const pgy_dtype TYPES[] = {PGY_I32, PGY_I64};
    static const char *const SHAPES[][2] = {{"3 5", "5 7"},           {"2 1 4 9", "3 9 300"},
                                            {"2 3 5 8", "2 1 8 257"}, {"1 1", "1 1"},
                                            {"4 3 6", "4 6 1"},       {"6 13", "2 13 40"}};
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++) {
            reference_case c;
            reference_start(&c, "", "MatMul", 13);
            void *a = reference_input(&c, TYPES[t], SHAPES[i][0]);
            if (TYPES[t] == PGY_I64) *(int64_t *)a = INT64_MAX;
            reference_input(&c, TYPES[t], SHAPES[i][1]);
            assert_true(reference_run(&c, 1, 0) > 0);
        }
}

static void test_matmul__outer_products(void **state)
{
    (void)state;
    static const char *const SHAPES[][2] = {{"3 1", "1 7"},
                                            {"2 1 40 1", "3 1 300"},
                                            {"2 3 5 1", "1 257"},
                                            {"1 1", "1 1"},
                                            {"4 3 1", "4 1 1"}};
    for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++) {
        reference_case c;
        reference_start(&c, "", "MatMul", 13);
        reference_input(&c, PGY_F32, SHAPES[i][0]);
        reference_input(&c, PGY_F32, SHAPES[i][1]);
        assert_true(reference_run(&c, 1, 1e-7) > 0);
    }
}

/* ---- Units ----------------------------------------------------------------------------------- */

/* All units together compute each element once, and no part has more than its share of tiles,
 * rounded up to `grain` tiles. */
static void expect_even_parts(const matmul_shape *s, const matmul_tile *t, uint32_t parts,
                              size_t grain)
{
    const size_t rows = s->m < t->rows ? s->m : t->rows, count = s->batch * s->m * s->n;
    const size_t grid = (s->m + rows - 1) / rows * matmul_panel_count(s, t);
    const size_t grains = s->batch * ((grid + grain - 1) / grain);
    const size_t most = (grains + parts - 1) / parts * grain * rows * t->columns;
    float *a = mem_alloc(s->batch * s->m * sizeof *a), *c = mem_alloc(count * sizeof *c),
          *b = mem_alloc(matmul_packed_count(s, t) * sizeof *b),
          *scratch = mem_alloc(matmul_scratch_count(s, t) * sizeof *scratch);
    uint8_t *times = mem_calloc(count, 1);
    assert_true(a && b && c && scratch && times);
    for (size_t i = 0; i < s->batch * s->m; i++) a[i] = 1;
    for (size_t i = 0; i < matmul_packed_count(s, t); i++) b[i] = 1;
    const matmul_data d = {.a = a, .packed = b, .b_shared = true, .c = c};
    for (uint32_t part = 0; part < parts; part++) {
        size_t from, to, computed = 0;
        memset(c, 0, count * sizeof *c);
        kernel_share(&from, &to, matmul_unit_count(s, t, parts), part, parts);
        for (size_t unit = from; unit < to; unit++) matmul_unit(s, t, parts, unit, &d, scratch);
        for (size_t i = 0; i < count; i++) {
            computed += c[i] != 0;
            times[i] += c[i] != 0;
        }
        assert_true(computed <= most);
    }
    for (size_t i = 0; i < count; i++) assert_int_equal(times[i], 1);
    mem_free(a);
    mem_free(b);
    mem_free(c);
    mem_free(scratch);
    mem_free(times);
}

static void test_matmul__all_parts_have_as_much_to_do(void **state)
{
    (void)state;
    static const uint32_t PARTS[] = {2, 3, 8, 16, 60, 256};
    static const struct {
        uint64_t batch, m, n;
        size_t grain;
    } SHAPES[] = {{1, 1500, 384, 1}, {1, 128, 2304, 1}, {3, 197, 100, 1},
                  {5, 13, 33, 1},    {1, 2, 1000, 4},   {3, 1, 300, 4}};
    for (cpu_level level = CPU_PORTABLE; level <= cpu_features(); level++)
        for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++)
            for (size_t j = 0; j < sizeof PARTS / sizeof *PARTS; j++) {
                const uint64_t m = SHAPES[i].m, n = SHAPES[i].n;
                const matmul_shape s = {.m = m,
                                        .n = n,
                                        .k = 1,
                                        .a_row = 1,
                                        .a_column = 1,
                                        .b_row = n,
                                        .b_column = 1,
                                        .batch = SHAPES[i].batch,
                                        .batch_rank = 1,
                                        .batch_shape = {SHAPES[i].batch},
                                        .a_batch = {m},
                                        .alpha = 1};
                expect_even_parts(&s, matmul_tile_of(level), PARTS[j], SHAPES[i].grain);
            }
}

/* ---- Packing ---------------------------------------------------------------------------------
 */

static void count_call(void *user)
{
    ++*(int *)user;
}

/* kernel_problem.load of elements at `source`. */
static bool load_bytes(void *to, size_t offset, size_t size_bytes, const void *source, void *user)
{
    ++*(int *)user;
    memcpy(to, (const char *)source + offset, size_bytes);
    return true;
}

static bool load_nothing(void *to, size_t offset, size_t size_bytes, const void *source, void *user)
{
    (void)to, (void)offset, (void)size_bytes, (void)source, (void)user;
    return false;
}

/* In 16 bits, rounded, the panels are those of float32. */
static void expect_narrow_bands(const char *b, const float *wide, const matmul_shape *s,
                                const matmul_tile *t)
{
    const half_loops *loops = half_loops_of(PGY_BF16, t->level);
    const size_t count = matmul_packed_count(s, t);
    const kernel_problem u = {.inputs = {[1] = {.data = b}}};
    uint16_t *wanted = mem_alloc(count * sizeof *wanted),
             *packed = mem_alloc(count * sizeof *packed);
    assert_true(wanted && packed);
    loops->narrow(wanted, wide, count);
    memset(packed, 0xff, count * sizeof *packed);
    assert_true(matmul_pack_bands(packed, 0, s, t, loops->narrow, &u));
    assert_memory_equal(packed, wanted, count * sizeof *packed);
    mem_free(wanted);
    mem_free(packed);
}

/* Packs a matrix of k rows and n columns, or its transposed one, from an address that is not
 * aligned, from one that is, and by kernel_problem.load. */
static void expect_bands(size_t k, size_t n, bool turned, int bands)
{
    for (cpu_level level = CPU_PORTABLE; level <= cpu_features(); level++) {
        const matmul_tile *t = matmul_tile_of(level);
        const matmul_shape s = {
            .n = n, .k = k, .b_row = turned ? 1 : n, .b_column = turned ? k : 1, .batch = 1};
        const size_t count = matmul_packed_count(&s, t);
        float *b = mem_alloc(k * n * sizeof *b), *whole = mem_alloc(count * sizeof *whole),
              *packed = mem_alloc(count * sizeof *packed);
        char *odd = mem_alloc(k * n * sizeof *b + 1);
        int calls = 0, loads = 0;
        kernel_problem u = {
            .passed = count_call, .passed_user = &calls, .load = load_bytes, .load_user = &loads};
        assert_true(b && whole && packed && odd);
        for (size_t i = 0; i < k * n; i++) b[i] = (float)(i * 7919 % 65521);
        memcpy(odd + 1, b, k * n * sizeof *b);
        matmul_pack(whole, b, &s, t, 0, matmul_panel_count(&s, t));
        const kernel_tensor ways[] = {
            {.data = odd + 1}, {.data = b}, {.source = b, .elsewhere = true}};
        for (size_t i = 0; i < 3; i++) {
            u.inputs[1] = ways[i];
            memset(packed, 0xff, count * sizeof *packed);
            assert_true(matmul_pack_bands(packed, 0, &s, t, NULL, &u));
            assert_memory_equal(packed, whole, count * sizeof *packed);
        }
        assert_int_equal(calls, 3 * bands);
        assert_int_equal(loads, bands ? bands : 1);
        u.load = load_nothing;
        assert_false(matmul_pack_bands(packed, 0, &s, t, NULL, &u));
        expect_narrow_bands(odd + 1, whole, &s, t);
        mem_free(b);
        mem_free(whole);
        mem_free(packed);
        mem_free(odd);
    }
}

static void test_matmul__constants_are_packed_in_bands(void **state)
{
    (void)state;
    expect_bands(7, 130, false, 0); /* one band, which is no news */
    expect_bands(7, 130, true, 0);
    expect_bands(1, 1, false, 0);
    expect_bands(4200, 1000, false, 3); /* 2097 rows are 8 MiB */
    expect_bands(1000, 4700, true, 3);
}
