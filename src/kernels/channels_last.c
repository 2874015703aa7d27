/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of channels_last.h, made from one body for each level, and turns of images. */
#include "kernels/channels_last.h"

#include <string.h>

#include "kernels/target_avx512.h"

#pragma GCC diagnostic ignored "-Wpsabi" /* no vector crosses a function's border */

enum { LANES = 16, TILE = 16 };
typedef float lanes __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t lane_mask __attribute__((vector_size(64)));

#define TARGET
#define LEVEL(x) x##_portable
#include "kernels/channels_last.inc"
#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#define LEVEL(x) x##_avx2
#include "kernels/channels_last.inc"
#define TARGET TARGET_AVX512
#define LEVEL(x) x##_avx512
#include "kernels/channels_last.inc"
#endif

const channels_loops *channels_loops_of(cpu_level level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) return &set_avx512;
    if (level >= CPU_AVX2) return &set_avx2;
#endif
    (void)level;
    return &set_portable;
}

static void turn_tile(float *y, size_t y_step, const float *x, size_t x_step)
{
    float tile[TILE][TILE];
    for (size_t r = 0; r < TILE; r++) memcpy(tile[r], x + r * x_step, sizeof tile[r]);
    for (size_t c = 0; c < TILE; c++)
        for (size_t r = 0; r < TILE; r++) y[c * y_step + r] = tile[r][c];
}

void channels_turn(float *y, size_t y_step, const float *x, size_t x_step, size_t rows,
                   size_t columns)
{
    for (size_t r = 0; r < rows; r += TILE)
        for (size_t c = 0; c < columns; c += TILE) {
            const size_t high = rows - r < TILE ? rows - r : TILE;
            const size_t wide = columns - c < TILE ? columns - c : TILE;
            float *to = y + c * y_step + r;
            const float *from = x + r * x_step + c;
            if (high == TILE && wide == TILE) {
                turn_tile(to, y_step, from, x_step);
                continue;
            }
            for (size_t j = 0; j < wide; j++)
                for (size_t i = 0; i < high; i++) to[j * y_step + i] = from[i * x_step + j];
        }
}

void channels_to_last(float *y, const float *x, size_t channels, size_t pixels, size_t from,
                      size_t to)
{
    while (from < to) {
        const size_t image = from / pixels, first = from % pixels;
        const size_t n = to - from < pixels - first ? to - from : pixels - first;
        channels_turn(y + from * channels, channels, x + image * channels * pixels + first, pixels,
                      channels, n);
        from += n;
    }
}
