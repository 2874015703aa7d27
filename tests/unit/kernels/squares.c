/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed rectangles of all small sizes: every element moves, and nothing else is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "kernels/squares.h"

enum { MOST = 37, GAP = 3 };

static void assert_transposed(size_t rows, size_t columns)
{
    static uint32_t from[MOST * (MOST + GAP)], to[MOST * (MOST + GAP)];
    const size_t from_step = columns + GAP, to_step = rows + GAP;
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) from[i] = 0x7fa00000u + (uint32_t)i;
    memset(to, 0xee, sizeof to);
    squares_transpose(to, to_step, from, from_step, rows, columns);
    for (size_t j = 0; j < columns; j++)
        for (size_t i = 0; i < to_step; i++)
            assert_int_equal(to[j * to_step + i], i < rows ? from[i * from_step + j] : 0xeeeeeeeeu);
    for (size_t i = columns * to_step; i < sizeof to / sizeof *to; i++)
        assert_int_equal(to[i], 0xeeeeeeeeu);
}

static void test_squares__all_sizes(void **state)
{
    (void)state;
    for (size_t rows = 0; rows <= MOST; rows++)
        for (size_t columns = 0; columns <= MOST; columns++) assert_transposed(rows, columns);
}
