/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products of bytes in plain C; and the choice of the set for a processor. */
#include "kernels/int_tile.h"

#include <string.h>

enum { COLUMNS = 8 };

#define TARGET
#include "kernels/int_finish.inc"
#include "kernels/int_floats.inc"

static inline void add_signed(int32_t *c, const uint8_t *a, const uint8_t *b)
{
    for (int i = 0; i < COLUMNS; i++)
        for (int k = 0; k < INT_GROUP; k++) c[i] += (int32_t)(int8_t)a[k] * b[INT_GROUP * i + k];
}

static inline void add_unsigned(int32_t *c, const uint8_t *a, const uint8_t *b)
{
    for (int i = 0; i < COLUMNS; i++)
        for (int k = 0; k < INT_GROUP; k++) c[i] += a[k] * (int32_t)(int8_t)b[INT_GROUP * i + k];
}

static inline void int_tile_portable_rows(const int_job *j, size_t rows, bool is_signed)
{
    int32_t c[4][COLUMNS] = {{0}};
    const uint8_t *a = j->a, *b = j->b;
    for (size_t tap = 0; tap < j->tap_count; tap++) {
        if (j->a_taps) a = j->a + j->a_taps[tap];
        if (j->b_taps) b = j->b + j->b_taps[tap];
        for (size_t g = 0; g < j->groups; g++, a += j->a_step, b += j->b_step) {
            for (size_t i = 0; i < rows; i++) {
                if (is_signed)
                    add_signed(c[i], a + i * j->a_row, b);
                else
                    add_unsigned(c[i], a + i * j->a_row, b);
            }
        }
    }
    for (size_t i = 0; i < rows; i++) memcpy(j->c + i * INT_MAX_COLUMNS, c[i], sizeof c[i]);
}

static void int_tile_four(const int_job *j, size_t apart, size_t c_apart)
{
    for (size_t p = 0; p < 4; p++) {
        int32_t c[COLUMNS] = {0};
        const uint8_t *a = j->a, *b = j->b + p * apart;
        for (size_t g = 0; g < j->groups; g++, a += j->a_step, b += j->b_step)
            add_unsigned(c, a, b);
        memcpy(j->c + p * c_apart, c, sizeof c);
    }
}

#define ROWS(rows)                                       \
    static void int_tile_rows_##rows(const int_job *j)   \
    {                                                    \
        int_tile_portable_rows(j, rows, false);          \
    }                                                    \
    static void int_tile_signed_##rows(const int_job *j) \
    {                                                    \
        int_tile_portable_rows(j, rows, true);           \
    }
ROWS(1)
ROWS(2)
ROWS(4)

const int_tile int_tile_portable = {
    .rows = 4,
    .vectors = 1,
    .lanes = COLUMNS,
    .run = {{{int_tile_rows_1}, {int_tile_rows_2}, {int_tile_rows_4}},
            {{int_tile_signed_1}, {int_tile_signed_2}, {int_tile_signed_4}}},
    .four = {int_tile_four},
    .finish_rows = int_finish_rows,
    .finish_columns = int_finish_columns,
    .row_floats = int_row_floats,
    .column_floats = int_column_floats,
    .dynamic_floats = int_dynamic_floats,
};

const int_tile *int_tile_of(cpu_level level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512)
        return cpu_has_byte_sums(CPU_AVX512) ? &int_tile_vnni : &int_tile_avx512;
    if (level >= CPU_AVX2) return cpu_has_byte_sums(CPU_AVX2) ? &int_tile_avx_vnni : &int_tile_avx2;
#endif
    (void)level;
    return &int_tile_portable;
}

size_t int_tile_rows(const int_tile *t, size_t rows, size_t *kind)
{
    size_t most = t->rows;
    *kind = most == 8 ? 3 : 2;
    while (most > rows && most > 1) {
        most /= 2;
        --*kind;
    }
    return most;
}
