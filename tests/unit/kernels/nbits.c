/* SPDX-License-Identifier: Apache-2.0 */
/* MatMulNBits and MatMulBnb4 against their definitions: all numbers of bits, blocks, zero points,
 * orders and numbers of rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "harness/reference_case.h"
#include "kernels/nbits.h"
#include "tensor/convert.h"

typedef enum zero_kind { NO_ZEROS, PACKED_ZEROS, FLOAT_ZEROS } zero_kind;

typedef struct weights_case {
    int64_t bits, block, m, n, k, level;
    zero_kind zeros;
    bool groups, bias, halves;
    pgy_dtype dtype; /* 0: float32 */
} weights_case;

static uint32_t step(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void fill_bytes(uint8_t *to, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) to[i] = (uint8_t)step(&seed);
}

/* Half of the scales are numbers that float16 cannot hold, unless `halves`. */
static void fill_scales(void *to, pgy_dtype dtype, size_t count, bool halves)
{
    uint32_t seed = 7;
    for (size_t i = 0; i < count; i++) {
        const double v = (double)(1 + step(&seed) % 1000) / 4096;
        const double kept = (double)f16_to_f32(f16_from_f64(halves ? v : 0.5));
        if (dtype == PGY_F16)
            ((uint16_t *)to)[i] = f16_from_f64(v);
        else if (dtype == PGY_BF16)
            ((uint16_t *)to)[i] = bf16_from_f64(v);
        else
            ((float *)to)[i] = (float)(halves ? kept : v / 3);
    }
}

/* Every block of A is made of multiples of a 127th of its largest magnitude, so that rounding A to
 * bytes changes nothing. */
static void fill_exact(float *a, int64_t rows, int64_t k, int64_t block)
{
    uint32_t seed = 3;
    for (int64_t i = 0; i < rows * k; i++) {
        const int32_t v = i % k % block ? (int32_t)(step(&seed) % 255) - 127 : 127;
        a[i] = (float)v / (float)(16 << i / block % 3);
    }
}

static const char *text_of(char *to, int64_t a, int64_t b, int64_t c)
{
    if (c)
        snprintf(to, 64, "%lld %lld %lld", (long long)a, (long long)b, (long long)c);
    else if (b)
        snprintf(to, 64, "%lld %lld", (long long)a, (long long)b);
    else
        snprintf(to, 64, "%lld", (long long)a);
    return to;
}

static void add_zeros(reference_case *c, const weights_case *w, int64_t blocks)
{
    char shape[64];
    const int64_t bytes = (blocks * w->bits + 7) / 8;
    const pgy_dtype dtype = w->dtype ? w->dtype : PGY_F32;
    if (w->zeros == PACKED_ZEROS) {
        uint8_t *z = reference_input(c, PGY_U8, text_of(shape, w->n, bytes, 0));
        fill_bytes(z, (size_t)(w->n * bytes), 5);
    } else if (w->zeros == FLOAT_ZEROS) {
        reference_input(c, dtype, text_of(shape, w->n, blocks, 0));
    } else {
        reference_input(c, PGY_F32, NULL);
        return;
    }
    reference_constant(c);
}

static void add_groups(reference_case *c, const weights_case *w, int64_t blocks)
{
    char shape[64];
    uint32_t seed = 9;
    int32_t *groups = reference_input(c, PGY_I32, w->groups ? text_of(shape, w->k, 0, 0) : NULL);
    for (int64_t i = 0; groups && i < w->k; i++)
        groups[i] = (int32_t)(step(&seed) % (uint32_t)blocks);
    if (groups) reference_constant(c);
}

static void make(reference_case *c, const weights_case *w)
{
    char shape[64];
    const int64_t blocks = (w->k + w->block - 1) / w->block, bytes = w->block * w->bits / 8;
    const pgy_dtype dtype = w->dtype ? w->dtype : PGY_F32;
    reference_start(c, "com.microsoft", "MatMulNBits", 1);
    reference_attr_int(c, "K", w->k);
    reference_attr_int(c, "N", w->n);
    reference_attr_int(c, "bits", w->bits);
    reference_attr_int(c, "block_size", w->block);
    reference_attr_int(c, "accuracy_level", w->level);
    void *a = reference_input(c, dtype, text_of(shape, w->m, w->k, 0));
    if (w->level == 4) fill_exact(a, w->m, w->k, w->block);
    uint8_t *b = reference_input(c, PGY_U8, text_of(shape, w->n, blocks, bytes));
    fill_bytes(b, (size_t)(w->n * blocks * bytes), 1);
    reference_constant(c);
    void *scales = reference_input(c, dtype, text_of(shape, w->n, blocks, 0));
    fill_scales(scales, dtype, (size_t)(w->n * blocks), w->halves);
    reference_constant(c);
    add_zeros(c, w, blocks);
    add_groups(c, w, blocks);
    reference_input(c, dtype, w->bias ? text_of(shape, w->n, 0, 0) : NULL);
}

static void run(weights_case w, double tolerance)
{
    reference_case c;
    make(&c, &w);
    const size_t ran = reference_run(&c, 1, tolerance);
    if (ran != 1 + (size_t)cpu_features())
        fail_msg("%lld bits: %zu kernels", (long long)w.bits, ran);
}

static void test_nbits__bits_blocks_and_zeros(void **state)
{
    (void)state;
    static const int64_t BITS[] = {2, 4, 8}, BLOCKS[] = {16, 32, 256};
    for (size_t b = 0; b < 3; b++)
        for (size_t s = 0; s < 3; s++)
            for (int z = NO_ZEROS; z <= FLOAT_ZEROS; z++)
                for (int64_t m = 1; m <= 9; m += m < 5 ? 1 : 4)
                    run((weights_case){.bits = BITS[b],
                                       .block = BLOCKS[s],
                                       .m = m,
                                       .n = 37,
                                       .k = BLOCKS[s] == 256 ? 512 : 96,
                                       .zeros = (zero_kind)z,
                                       .halves = m & 1,
                                       .bias = m & 2},
                        2e-6);
}

/* K that is no multiple of the block, one column, widths around a panel, several blocks of work. */
static void test_nbits__shapes(void **state)
{
    (void)state;
    static const int64_t SIZES[][4] = {{1, 1, 1, 16},      {1, 1, 17, 16},    {3, 1, 129, 32},
                                       {2, 31, 40, 16},    {1, 32, 64, 64},   {5, 33, 100, 32},
                                       {20, 65, 1100, 32}, {130, 40, 70, 16}, {230, 300, 33, 16}};
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++)
        for (int64_t bits = 2; bits <= 8; bits *= 2)
            for (int z = NO_ZEROS; z <= PACKED_ZEROS; z++)
                run((weights_case){.bits = bits,
                                   .m = SIZES[i][0],
                                   .n = SIZES[i][1],
                                   .k = SIZES[i][2],
                                   .block = SIZES[i][3],
                                   .zeros = (zero_kind)z,
                                   .bias = true},
                    4e-6);
}

static void test_nbits__groups(void **state)
{
    (void)state;
    for (int64_t bits = 2; bits <= 8; bits *= 2)
        for (int64_t level = 0; level <= 1; level++)
            for (int64_t m = 1; m <= 40; m = m * 3 + 1)
                run((weights_case){.bits = bits,
                                   .block = 16,
                                   .m = m,
                                   .n = 35,
                                   .k = 100,
                                   .level = level,
                                   .zeros = m & 1 ? PACKED_ZEROS : NO_ZEROS,
                                   .groups = true},
                    4e-6);
}

/* Level 4 rounds A to bytes; here that changes nothing. */
static void test_nbits__bytes(void **state)
{
    (void)state;
    static const int64_t ROWS[] = {1, 2, 3, 4, 7, 131};
    for (int64_t bits = 2; bits <= 8; bits *= 2)
        for (int z = NO_ZEROS; z <= FLOAT_ZEROS; z++)
            for (size_t m = 0; m < sizeof ROWS / sizeof *ROWS; m++)
                run((weights_case){.bits = bits,
                                   .block = m & 1 ? 16 : 128,
                                   .m = ROWS[m],
                                   .n = 70,
                                   .k = 256,
                                   .level = 4,
                                   .zeros = (zero_kind)z,
                                   .halves = m & 2,
                                   .bias = m & 1},
                    2e-6);
}

static void test_nbits__half(void **state)
{
    (void)state;
    static const pgy_dtype TYPES[] = {PGY_F16, PGY_BF16};
    static const double TOLERANCE[] = {0x1.02p-11, 0x1.02p-8};
    for (size_t t = 0; t < 2; t++)
        for (int z = NO_ZEROS; z <= FLOAT_ZEROS; z++)
            run((weights_case){.bits = 4,
                               .block = 32,
                               .m = 3,
                               .n = 40,
                               .k = 80,
                               .zeros = (zero_kind)z,
                               .bias = true,
                               .dtype = TYPES[t]},
                TOLERANCE[t]);
}

/* Numbers that are not finite reach the output, at level 4 as NaN. */
static void test_nbits__special_values(void **state)
{
    (void)state;
    for (int64_t level = 0; level <= 4; level += 4) {
        const weights_case w = {.bits = 4, .block = 16, .m = 1, .n = 20, .k = 64, .level = level};
        reference_case c;
        make(&c, &w);
        float *a = pgy_tensor_data(c.inputs[0]);
        a[33] = NAN;
        assert_int_equal(reference_run(&c, 1, 0), 1 + (size_t)cpu_features());
    }
}

/* How the numbers of a row relate to each other; the first one of each block has the weight 0. */
typedef enum spread { OUTLIERS, HUGE_OUTLIERS, SPARSE, TINY, LARGE, WIDE, SPREADS } spread;

static float spread_number(spread kind, float v, bool first, uint32_t *seed)
{
    switch (kind) {
    case OUTLIERS: return first ? 3e4F : v;
    case HUGE_OUTLIERS: return first ? 0x1p120F : v;
    case SPARSE: return first || step(seed) % 16 ? 0 : v;
    case TINY: return v * 0x1p-110F;
    case LARGE: return v * 0x1p100F;
    default: return first ? 0x1p30F : ldexpf(v, (int)(step(seed) % 60) - 30);
    }
}

/* The step that a block of one row is rounded to must not show in columns that do not see its
 * largest numbers. */
static void test_nbits__numbers_of_all_sizes(void **state)
{
    (void)state;
    enum { BLOCK = 32, N = 40, K = 256 };
    for (int64_t bits = 4; bits <= 8; bits *= 2)
        for (spread kind = OUTLIERS; kind < SPREADS; kind++) {
            const weights_case w = {.bits = bits, .block = BLOCK, .m = 1, .n = N, .k = K};
            reference_case c;
            uint32_t seed = 17;
            make(&c, &w);
            float *a = pgy_tensor_data(c.inputs[0]);
            uint8_t *b = pgy_tensor_data(c.inputs[1]);
            const size_t bytes = (size_t)(BLOCK * bits / 8);
            for (size_t i = 0; i < N * K / BLOCK; i++)
                b[i * bytes] = (uint8_t)(bits == 8 ? 0x80 : (b[i * bytes] & 0xf0) | 8);
            for (size_t i = 0; i < K; i++) a[i] = spread_number(kind, a[i], i % BLOCK == 0, &seed);
            assert_int_equal(reference_run(&c, 1, 4e-6), 1 + (size_t)cpu_features());
        }
}

static void test_nbits__tables(void **state)
{
    (void)state;
    static const int64_t SIZES[][4] = {{1, 40, 64, 32}, {3, 7, 96, 64}, {30, 33, 128, 16}};
    for (int64_t type = 0; type < 2; type++)
        for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
            reference_case c;
            char shape[64];
            const int64_t m = SIZES[i][0], n = SIZES[i][1], k = SIZES[i][2], block = SIZES[i][3];
            reference_start(&c, "com.microsoft", "MatMulBnb4", 1);
            reference_attr_int(&c, "K", k);
            reference_attr_int(&c, "N", n);
            reference_attr_int(&c, "block_size", block);
            reference_attr_int(&c, "quant_type", type);
            reference_input(&c, PGY_F32, text_of(shape, m, k, 0));
            uint8_t *b = reference_input(&c, PGY_U8, text_of(shape, n * k / 2, 0, 0));
            fill_bytes(b, (size_t)(n * k / 2), 11);
            reference_constant(&c);
            reference_input(&c, PGY_F32, text_of(shape, (n * k + block - 1) / block, 0, 0));
            reference_constant(&c);
            assert_int_equal(reference_run(&c, 1, 4e-6), 1 + (size_t)cpu_features());
        }
}

#if defined(__x86_64__)
enum { MOST_PANEL = 32, BLOCKS = 3, WORDS = 8, MOST_K = BLOCKS * WORDS * 16 };

/* Two sets that add products of bytes in vectors of one level, and the columns of their panels. */
typedef struct byte_sets {
    cpu_level level;
    const nbits_rows *plain, *vnni;
    size_t panel;
} byte_sets;

static const byte_sets BYTE_SETS[] = {{CPU_AVX2, &nbits_avx2.bytes, &nbits_avx_vnni, 16},
                                      {CPU_AVX512, &nbits_avx512.bytes, &nbits_vnni, 32}};

/* Runs both sets on a panel of random bits, whose scales may be any finite float16. */
static void compare_bytes(const byte_sets *s, size_t kind, size_t rows, bool zeros)
{
    const size_t panel = s->panel, k = BLOCKS * WORDS * (32 / ((size_t)2 << kind));
    const size_t record = panel * (WORDS * 4 + 2 * (zeros ? 2 : 1));
    char *b = mem_alloc(BLOCKS * record);
    int8_t a[NBITS_ROWS * MOST_K];
    float factors[NBITS_ROWS * BLOCKS], got[2][NBITS_ROWS * MOST_PANEL];
    int32_t offsets[NBITS_ROWS * BLOCKS];
    uint32_t seed = (uint32_t)(kind * 8 + rows);
    assert_non_null(b);
    fill_bytes((uint8_t *)b, BLOCKS * record, seed);
    for (size_t i = 0; i < BLOCKS; i++)
        for (size_t j = panel * WORDS * 4 + 1; j < record; j += 2) b[i * record + j] &= (char)0xbb;
    for (size_t i = 0; i < sizeof a; i++) a[i] = (int8_t)((int)(step(&seed) % 255) - 127);
    for (size_t i = 0; i < NBITS_ROWS * BLOCKS; i++) {
        factors[i] = (float)(step(&seed) % 100) / 64;
        offsets[i] = (int32_t)(step(&seed) % 1000) - 500;
    }
    nbits_job j = {.b = b,
                   .blocks = BLOCKS,
                   .words = WORDS,
                   .half = true,
                   .has_zeros = zeros,
                   .sums = factors,
                   .a_row = k,
                   .block_row = BLOCKS,
                   .bytes = a,
                   .factors = factors,
                   .offsets = offsets,
                   .c = got[0],
                   .c_row = panel};
    (*s->plain)[kind][rows](&j);
    j.c = got[1];
    (*s->vnni)[kind][rows](&j);
    assert_memory_equal(got[0], got[1], rows * panel * sizeof(float));
    mem_free(b);
}
#endif

static void test_nbits__both_sums_of_bytes_give_the_same_bits(void **state)
{
    (void)state;
#if defined(__x86_64__)
    size_t compared = 0;
    for (size_t i = 0; i < sizeof BYTE_SETS / sizeof *BYTE_SETS; i++) {
        if (!cpu_has_byte_sums(BYTE_SETS[i].level)) continue;
        for (size_t kind = 0; kind < NBITS_KINDS; kind++)
            for (size_t rows = 1; rows <= NBITS_ROWS; rows++)
                for (int zeros = 0; zeros < 2; zeros++)
                    compare_bytes(&BYTE_SETS[i], kind, rows, zeros);
        compared++;
    }
    if (!compared) skip();
#else
    skip();
#endif
}
