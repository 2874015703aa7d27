/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of convolution over flat positions, any processor. */
#include <string.h>

#include "kernels/conv_flat.h"

#include "kernels/vector_portable.h"

#include "kernels/conv_end.inc"

static inline __attribute__((always_inline)) VEC flat_load(const float *p, size_t count,
                                                           size_t step)
{
    float some[LANES] = {0};
    if (step == 1 && count == LANES) return LOAD(p);
    for (size_t i = 0; i < count; i++) some[i] = p[step * i];
    return LOAD(some);
}

static inline __attribute__((always_inline)) VEC flat_pack(VEC v, uint32_t mask)
{
    float from[LANES], to[LANES] = {0};
    if (mask == 0xff) return v;
    STORE(from, v);
    for (size_t i = 0, n = 0; i < LANES; n += mask >> i++ & 1) to[n] = from[i];
    return LOAD(to);
}

static inline void flat_store(float *p, VEC v, size_t count, size_t room)
{
    float some[LANES];
    if (room >= LANES) {
        STORE(p, v);
        return;
    }
    STORE(some, v);
    memcpy(p, some, count * sizeof *p);
}

#define FLAT_LOAD(p, n) flat_load(p, n, 1)
#define FLAT_LOAD_EVEN(p, n) flat_load(p, n, 2)
#define FLAT_PACK(v, mask) flat_pack(v, mask)
#define FLAT_STORE(p, v, n, room) flat_store(p, v, n, room)

#include "kernels/conv_flat_loops.inc"

FLAT_TILE(1, 1)
FLAT_TILE(1, 2)
FLAT_TILE(1, 3)
FLAT_TILE(1, 4)
FLAT_TILE(1, 5)
FLAT_TILE(1, 6)
FLAT_TILE(2, 1)
FLAT_TILE(2, 2)
FLAT_TILE(2, 3)
FLAT_TILE(2, 4)
FLAT_TILE(4, 1)
FLAT_TILE(4, 2)
FLAT_TILE(4, 3)

const conv_flat_loops conv_flat_portable = {
    .lanes = LANES,
    .widths = {6, 4, 3},
    .copy = flat_copy,
    .tile = {{NULL, conv_flat_tile_1_1, conv_flat_tile_1_2, conv_flat_tile_1_3, conv_flat_tile_1_4,
              conv_flat_tile_1_5, conv_flat_tile_1_6},
             {NULL, conv_flat_tile_2_1, conv_flat_tile_2_2, conv_flat_tile_2_3, conv_flat_tile_2_4},
             {NULL, conv_flat_tile_4_1, conv_flat_tile_4_2, conv_flat_tile_4_3}},
};
