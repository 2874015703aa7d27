/* SPDX-License-Identifier: Apache-2.0 */
/* Transposing rectangles: whole squares in registers where the processor can, the rest one by one.
 */
#include "kernels/squares.h"

#include "base/system.h"

static void squares_rest(uint32_t *to, size_t to_step, const uint32_t *from, size_t from_step,
                         size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) to[j * to_step + i] = from[i * from_step + j];
}

void squares_transpose(uint32_t *to, size_t to_step, const uint32_t *from, size_t from_step,
                       size_t rows, size_t columns)
{
    size_t whole_rows = 0, whole_columns = columns;
#if defined(__x86_64__)
    if (cpu_features() >= CPU_AVX2) {
        whole_rows = rows / SQUARE * SQUARE;
        whole_columns = columns / SQUARE * SQUARE;
        squares_avx2(to, to_step, from, from_step, whole_rows, whole_columns);
    }
#endif
    squares_rest(to + whole_columns * to_step, to_step, from + whole_columns, from_step, whole_rows,
                 columns - whole_columns);
    squares_rest(to + whole_rows, to_step, from + whole_rows * from_step, from_step,
                 rows - whole_rows, columns);
}
