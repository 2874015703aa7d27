/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels on bytes with the tile instructions (AMX): in plain C, which this program makes the
 * kernels use on any processor, and where the processor has them, those of the processor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/int_case.h"
#include "kernels/int_amx.h"

/* ---- The instructions in plain C --------------------------------------------------------------
 */

enum { TILES = 8, TILE_ROWS = 16, TILE_BYTES = 64 };

static _Thread_local struct tiles {
    size_t step; /* 0: not configured */
    uint8_t tiles[TILES][TILE_ROWS][TILE_BYTES];
} now;
static _Atomic size_t products; /* how many the kernels made */

#define TARGET
#define ZERO_TILE(tile) memset(now.tiles[tile], 0, sizeof now.tiles[tile])
#define LOAD_TILE(tile, from, row) load_tile(tile, from, row)
#define STORE_TILE(tile, to, row) store_tile(tile, to, row)
#define DOT_TILES(sums, a, b) dot_tiles(sums, a, b)

/* Tile 6 has rows of `step` groups, tile 7 `step` rows; reads nothing behind them. */
static void load_tile(size_t tile, const uint8_t *from, size_t row)
{
    const size_t rows = tile == 7 ? now.step : TILE_ROWS;
    const size_t bytes = tile == 6 ? now.step * INT_GROUP : TILE_BYTES;
    assert_true(now.step > 0);
    for (size_t i = 0; i < rows; i++) memcpy(now.tiles[tile][i], from + i * row, bytes);
}

static void store_tile(size_t tile, int32_t *to, size_t row)
{
    for (size_t i = 0; i < TILE_ROWS; i++)
        memcpy((char *)to + i * row, now.tiles[tile][i], TILE_BYTES);
}

static void dot_tiles(size_t sums, size_t a, size_t b)
{
    for (size_t i = 0; i < TILE_ROWS; i++)
        for (size_t j = 0; j < TILE_BYTES / INT_GROUP; j++) {
            int32_t sum;
            memcpy(&sum, now.tiles[sums][i] + INT_GROUP * j, sizeof sum);
            for (size_t k = 0; k < now.step * INT_GROUP; k++)
                sum += now.tiles[a][i][k] *
                       (int8_t)now.tiles[b][k / INT_GROUP][INT_GROUP * j + k % INT_GROUP];
            memcpy(now.tiles[sums][i] + INT_GROUP * j, &sum, sizeof sum);
        }
    products++;
}

#include "kernels/int_amx.inc"

static void start(size_t step)
{
    assert_int_equal(now.step, 0);
    assert_true(step <= INT_AMX_GROUPS);
    now.step = step;
}

static void stop(void)
{
    assert_true(now.step > 0);
    now.step = 0;
}

const int_amx INT_AMX_OF_TEST = {.start = start, .stop = stop, .run = AMX_ROWS};

/* ---- Micro-kernels ----------------------------------------------------------------------------
 */

static uint64_t seed;

static uint8_t next_byte(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint8_t)(seed >> 56);
}

static void run_micro(const int_amx *amx, size_t blocks, size_t vectors, size_t step, bool extreme)
{
    enum { PARTS = 3, TAPS = 2, MOST = PARTS * INT_AMX_GROUPS * INT_GROUP };
    static uint8_t a[4 * INT_AMX_MOST_ROWS * MOST], b[TAPS * MOST * INT_MAX_COLUMNS];
    static int32_t sums[INT_AMX_MOST_ROWS * INT_MAX_COLUMNS];
    const size_t depth = PARTS * step * INT_GROUP, width = 16 * vectors, row = depth + 4;
    const uint64_t taps[TAPS] = {INT_AMX_MOST_ROWS * row, 0};
    for (size_t i = 0; i < sizeof a; i++) a[i] = extreme ? 0xff : next_byte();
    for (size_t i = 0; i < sizeof b; i++) b[i] = extreme ? 0x80 : next_byte();
    const int_job j = {.a = a,
                       .b = b,
                       .a_taps = taps,
                       .tap_count = TAPS,
                       .groups = PARTS * step,
                       .a_row = row,
                       .a_step = INT_GROUP,
                       .b_step = width * INT_GROUP,
                       .c = sums};
    amx->start(step);
    amx->run[blocks - 1][vectors - 1](&j, step);
    amx->stop();
    for (size_t i = 0; i < 16 * blocks; i++)
        for (size_t c = 0; c < width; c++) {
            int32_t wanted = 0;
            for (size_t k = 0; k < TAPS * depth; k++)
                wanted += a[taps[k / depth] + i * row + k % depth] *
                          (int8_t)b[k / 4 * width * INT_GROUP + c * INT_GROUP + k % 4];
            assert_int_equal(sums[i * INT_MAX_COLUMNS + c], wanted);
        }
}

static void test_int_amx__micro_kernels_are_exact(void **unused)
{
    (void)unused;
    const int_amx *sets[2] = {&INT_AMX_OF_TEST};
#if defined(__x86_64__)
    if (cpu_has_tiles()) sets[1] = &int_amx_native;
#endif
    for (size_t i = 0; i < 2 && sets[i]; i++)
        for (size_t step = 1; step <= INT_AMX_GROUPS; step++)
            for (size_t form = 0; form < 12; form++)
                run_micro(sets[i], 1 + form / 6, 1 + form % 3, step, form / 3 % 2);
}

/* ---- Kernels ----------------------------------------------------------------------------------
 */

static pgy_dtype byte(bool is_signed)
{
    return is_signed ? PGY_I8 : PGY_U8;
}

/* Products with rows for 32, 16 and fewer, and depths that fill tiles, do not, or are refused. */
static void run_product(int64_t m, int64_t k, int64_t n, int form)
{
    int_case c;
    int_case_start(&c, "", "MatMulInteger", 10);
    int_case_input(&c, byte(form & 1), false, 2, (const int64_t[]){m, k});
    int_case_input(&c, byte(form & 2), form & 4, 2, (const int64_t[]){k, n});
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

static void test_int_amx__products(void **unused)
{
    (void)unused;
    static const int64_t ROWS[] = {15, 16, 31, 49, 70}, DEPTHS[] = {16, 64, 76, 96, 200};
    products = 0;
    for (size_t i = 0; i < 25; i++)
        run_product(ROWS[i / 5], DEPTHS[i % 5], 16 * (int64_t)(i % 4) + 5, (int)i % 8);
    assert_true(products > 0 || cpu_features() < CPU_AVX512);
}

/* A bias, and bytes that are added to those of a convolution. */
static void add_sum(int_case *c, int64_t rows, int64_t columns, int64_t out, pgy_dtype dtype)
{
    double bias[64];
    for (int64_t i = 0; i < out; i++) bias[i] = (double)(i * 7919 % 4001 - 2000);
    int_case_values(c, PGY_I32, 1, &out, bias);
    int_case_input(c, dtype, false, 4, (const int64_t[]){2, rows, columns, out});
    int_case_scalar(c, PGY_F32, 0.05);
    int_case_scalar(c, dtype, 9);
    int_case_scalar(c, PGY_F32, 0.09);
    int_case_scalar(c, dtype, 21);
}

/* Convolutions with the channels last, on two images of 5 x `width`. */
static void run_conv(int64_t width, int64_t in, int64_t out, int64_t taps, int64_t stride,
                     int64_t pad, int form)
{
    int_case c;
    int_case_start(&c, form & 16 ? "pgy" : "com.microsoft", "QLinearConv", 1);
    case_attr_ints(&c.c, "strides", (const int64_t[]){stride, stride}, 2);
    case_attr_ints(&c.c, "pads", (const int64_t[]){pad, pad, pad, pad}, 4);
    case_attr_int(&c.c, "channels_last", 1);
    int_case_input(&c, byte(form & 1), false, 4, (const int64_t[]){2, 5, width, in});
    int_case_scalar(&c, PGY_F32, 0.03);
    int_case_scalar(&c, byte(form & 1), 5);
    int_case_input(&c, byte(form & 2), true, 4, (const int64_t[]){out, in, taps, taps});
    int_case_scales(&c, form & 4 ? out : 1, 0.001);
    int_case_scalar(&c, byte(form & 2), form & 8 ? 3 : 0);
    int_case_scalar(&c, PGY_F32, 0.07);
    int_case_scalar(&c, byte(form & 1), 17);
    if (form & 16)
        add_sum(&c, (5 + 2 * pad - taps) / stride + 1, (width + 2 * pad - taps) / stride + 1, out,
                byte(form & 1));
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

static void test_int_amx__convolutions(void **unused)
{
    (void)unused;
    products = 0;
    for (int form = 0; form < 32; form++) {
        run_conv(37, 64, 33, 1, 1, 0, form);
        run_conv(37, 24, 50, 3, 1, 1, form);
        run_conv(7, 16, 16, 3, 1, 1, form);
        run_conv(14, 32, 16, 3, 2, 1, form);
        run_conv(37, 20, 8, 1, 2, 0, form);
        run_conv(37, 3, 50, 5, 2, 2, form); /* joined taps */
    }
    assert_true(products > 0 || cpu_features() < CPU_AVX512);
}
