/* SPDX-License-Identifier: Apache-2.0 */
/* Transposing rectangles: squares in registers, of four by four or with AVX-512 of 16 by 16, the
 * rest one by one. */
#include "kernels/squares.h"

#include <string.h>

#include "base/system.h"

enum { SIDE = 4, TILE = SQUARES_TILE };

typedef uint32_t item __attribute__((may_alias));
typedef uint32_t line __attribute__((vector_size(16), aligned(4), may_alias));

static inline void turn_square(item *to, size_t to_step, const item *from, size_t from_step)
{
    const line p = *(const line *)from, q = *(const line *)(from + from_step),
               r = *(const line *)(from + 2 * from_step), s = *(const line *)(from + 3 * from_step);
    const line a = __builtin_shufflevector(p, q, 0, 4, 1, 5),
               b = __builtin_shufflevector(r, s, 0, 4, 1, 5),
               c = __builtin_shufflevector(p, q, 2, 6, 3, 7),
               d = __builtin_shufflevector(r, s, 2, 6, 3, 7);
    *(line *)to = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    *(line *)(to + to_step) = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    *(line *)(to + 2 * to_step) = __builtin_shufflevector(c, d, 0, 1, 4, 5);
    *(line *)(to + 3 * to_step) = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

/* A whole tile. It is copied first, because rows a power of 2 apart would push each other out of
 * the cache. */
static void turn_tile(void *y, size_t to_step, const void *x, size_t from_step)
{
    item *to = y;
    const item *from = x;
    item tile[TILE][TILE];
    for (size_t r = 0; r < TILE; r++) memcpy(tile[r], from + r * from_step, sizeof tile[r]);
    for (size_t c = 0; c < TILE; c += SIDE)
        for (size_t r = 0; r < TILE; r += SIDE)
            turn_square(to + c * to_step + r, to_step, &tile[r][c], TILE);
}

static void turn_part(item *to, size_t to_step, const item *from, size_t from_step, size_t rows,
                      size_t columns)
{
    const size_t high = rows / SIDE * SIDE, wide = columns / SIDE * SIDE;
    for (size_t c = 0; c < wide; c += SIDE)
        for (size_t r = 0; r < high; r += SIDE)
            turn_square(to + c * to_step + r, to_step, from + r * from_step + c, from_step);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = r < high ? wide : 0; c < columns; c++)
            to[c * to_step + r] = from[r * from_step + c];
}

void squares_transpose(void *y, size_t to_step, const void *x, size_t from_step, size_t rows,
                       size_t columns)
{
    void (*turn)(void *to, size_t to_step, const void *from, size_t from_step) = turn_tile;
#if defined(__x86_64__)
    if (cpu_features() >= CPU_AVX512) turn = squares_turn_avx512;
#endif
    for (size_t r = 0; r < rows; r += TILE)
        for (size_t c = 0; c < columns; c += TILE) {
            const size_t high = rows - r < TILE ? rows - r : TILE;
            const size_t wide = columns - c < TILE ? columns - c : TILE;
            item *to = (item *)y + c * to_step + r;
            const item *from = (const item *)x + r * from_step + c;
            if (high == TILE && wide == TILE)
                turn(to, to_step, from, from_step);
            else
                turn_part(to, to_step, from, from_step, high, wide);
        }
}
