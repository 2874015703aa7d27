/* SPDX-License-Identifier: Apache-2.0 */
/* Every set of micro-kernels that this processor has, also those that int_tile_of would not take,
 * on the largest bytes and on made-up ones; and the way from sums to bytes near halves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "kernels/int_tile.h"

enum { GROUPS = 5, TAPS = 3, STEPS = GROUPS * TAPS, COLUMNS = INT_MAX_COLUMNS };
enum { SEVEN = 4, MOST_SETS = 5, ROWS = 5 }; /* SEVEN: the tile of seven rows */

static uint64_t seed;

static uint8_t next_byte(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint8_t)(seed >> 56);
}

/* NULL ends the list. */
static size_t list_sets(const int_tile **sets)
{
    size_t count = 0;
    sets[count++] = &int_tile_portable;
#if defined(__x86_64__)
    if (cpu_features() >= CPU_AVX2) sets[count++] = &int_tile_avx2;
    if (cpu_features() >= CPU_AVX512) sets[count++] = &int_tile_avx512;
    if (cpu_has_byte_sums(CPU_AVX2)) sets[count++] = &int_tile_avx_vnni;
    if (cpu_has_byte_sums(CPU_AVX512)) sets[count++] = &int_tile_vnni;
#endif
    return count;
}

static void run_set(const int_tile *t, bool a_signed, size_t kind, size_t vectors, bool extreme)
{
    static const uint64_t A_TAPS[TAPS] = {0, 4000, 2000}, B_TAPS[TAPS] = {6000, 0, 3000};
    static uint8_t a[8192], b[12288];
    int32_t sums[INT_MAX_ROWS * COLUMNS];
    const size_t rows = kind == SEVEN ? 7 : (size_t)1 << kind, width = vectors * t->lanes;
    for (size_t i = 0; i < sizeof a; i++) a[i] = extreme ? (a_signed ? 0x80 : 0xff) : next_byte();
    for (size_t i = 0; i < sizeof b; i++) b[i] = extreme ? (a_signed ? 0xff : 0x80) : next_byte();
    const int_job j = {.a = a,
                       .b = b,
                       .a_taps = A_TAPS,
                       .b_taps = B_TAPS,
                       .tap_count = TAPS,
                       .groups = GROUPS,
                       .a_row = 24,
                       .a_step = INT_GROUP,
                       .b_step = width * INT_GROUP,
                       .c = sums};
    memset(sums, 0x55, sizeof sums);
    (kind == SEVEN ? t->seven : t->run[a_signed][kind])[vectors - 1](&j);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < width; c++) {
            int32_t wanted = 0;
            for (size_t s = 0; s < STEPS * INT_GROUP; s++) {
                const size_t tap = s / (GROUPS * INT_GROUP), at = s % (GROUPS * INT_GROUP);
                const uint8_t x = a[A_TAPS[tap] + r * 24 + at];
                const uint8_t y =
                    b[B_TAPS[tap] + at / 4 * width * INT_GROUP + c * INT_GROUP + at % 4];
                wanted += a_signed ? (int8_t)x * y : x * (int8_t)y;
            }
            assert_int_equal(sums[r * COLUMNS + c], wanted);
        }
}

static void test_int_tile__all_sets_are_exact(void **state)
{
    (void)state;
    const int_tile *sets[MOST_SETS];
    const size_t count = list_sets(sets);
    for (size_t i = 0; i < count; i++)
        for (size_t kind = 0; kind < 4; kind++)
            for (size_t vectors = 1; vectors <= sets[i]->vectors; vectors++)
                for (int form = 0; form < 4; form++)
                    if ((size_t)1 << kind <= sets[i]->rows)
                        run_set(sets[i], form & 1, kind, vectors, form >> 1);
    for (size_t i = 0; i < count; i++)
        for (size_t vectors = 1; vectors <= sets[i]->vectors && sets[i]->seven[0]; vectors++)
            for (int form = 0; form < 2; form++) run_set(sets[i], false, SEVEN, vectors, form);
}

/* Sums around every half, by scales that are no powers of two too. */
static void run_finish(const int_tile *t, const int_finish *f, double scale, int32_t offset,
                       size_t n)
{
    int32_t sums[ROWS * COLUMNS], offsets[COLUMNS];
    double scales[COLUMNS];
    float factors[COLUMNS];
    uint8_t y[ROWS][COLUMNS + 2];
    for (int32_t first = -700; first < 700; first += 5) {
        for (int32_t i = 0; i < ROWS * COLUMNS; i++)
            sums[i] = (int32_t)((first + i / 4.0) * 0.5 / scale) + i % 3 - 1 - offset;
        for (size_t i = 0; i < COLUMNS; i++) {
            offsets[i] = offset;
            scales[i] = scale;
            factors[i] = (float)scale;
        }
        memset(y, 0x33, sizeof y);
        t->finish_rows(y[0], COLUMNS + 2, sums, ROWS, n, f, offsets, scales);
        for (size_t r = 0; r < ROWS; r++) {
            for (size_t i = 0; i < n; i++)
                assert_int_equal(
                    y[r][i], (uint8_t)int_finish_exact(sums[r * COLUMNS + i] + offset, scale, f));
            assert_int_equal(y[r][n], 0x33);
        }
        memset(y, 0x33, sizeof y);
        t->finish_columns(y[0], COLUMNS + 2, sums, ROWS, n, f, offsets, scales, factors);
        for (size_t r = 0; r < ROWS; r++) {
            for (size_t i = 0; i < n; i++)
                assert_int_equal(
                    y[r][i], (uint8_t)int_finish_exact(sums[r * COLUMNS + i] + offset, scale, f));
            assert_int_equal(y[r][n], 0x33);
        }
    }
}

static void test_int_tile__bytes_are_those_of_float64(void **state)
{
    (void)state;
    static const int_finish FINISHES[] = {{0, 0, 255},    {128, 0, 255},     {255, 0, 255},
                                          {0, -128, 127}, {-128, -128, 127}, {7, 7, 127}};
    static const double SCALES[] = {0.5, 0.25, 1.0 / 3, 0.0078125, 0.00123, 1.7e-5, 3.1};
    const int_tile *sets[MOST_SETS];
    const size_t count = list_sets(sets);
    for (size_t i = 0; i < count; i++)
        for (size_t f = 0; f < sizeof FINISHES / sizeof *FINISHES; f++)
            for (size_t s = 0; s < sizeof SCALES / sizeof *SCALES; s++) {
                const size_t most = sets[i]->vectors * sets[i]->lanes;
                run_finish(sets[i], &FINISHES[f], SCALES[s], (int32_t)(f * 1000), most);
                run_finish(sets[i], &FINISHES[f], SCALES[s], -77, most - 3);
                run_finish(sets[i], &FINISHES[f], SCALES[s], 0, 1);
                for (size_t n = 16; n <= most; n += 8)
                    run_finish(sets[i], &FINISHES[f], SCALES[s], 55, n);
            }
}

/* Sums that are far too large for a byte. */
static void test_int_tile__large_sums_are_limited(void **state)
{
    (void)state;
    static const int32_t SUMS[] = {INT32_MAX, INT32_MIN, 1 << 30, -(1 << 30), 0, 1000000};
    static const int_finish F = {10, 0, 255};
    const int32_t offset = 0;
    const int_tile *sets[MOST_SETS];
    const size_t count = list_sets(sets);
    for (size_t i = 0; i < count; i++)
        for (double scale = 1e-9; scale < 1e6; scale *= 10) {
            int32_t sums[COLUMNS] = {0};
            uint8_t y[COLUMNS];
            memcpy(sums, SUMS, sizeof SUMS);
            sets[i]->finish_rows(y, COLUMNS, sums, 1, 6, &F, &offset, &scale);
            for (size_t k = 0; k < 6; k++)
                assert_int_equal(y[k], int_finish_exact(SUMS[k], scale, &F));
        }
}
