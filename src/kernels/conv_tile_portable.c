/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution, any processor: tiles of up to 2 pixels by two blocks of channels. */
#include "kernels/conv.h"
#include "kernels/conv_tile.h"

#include "kernels/vector_portable.h"

#include "kernels/conv_end.inc"
#include "kernels/conv_store.inc"

#define NV 1
#define MR 1
#define RUN conv_tile_1_1
#include "kernels/conv_tile.inc"
#define MR 2
#define RUN conv_tile_1_2
#include "kernels/conv_tile.inc"
#undef NV
#define NV 2
#define MR 1
#define RUN conv_tile_2_1
#include "kernels/conv_tile.inc"
#define MR 2
#define RUN conv_tile_2_2
#include "kernels/conv_tile.inc"
#undef NV
#include "kernels/conv_deep.inc"

CONV_DEEP(1)
CONV_DEEP(2)
CONV_DEEP(3)
CONV_DEEP(4)

const conv_tiles conv_tiles_portable = {
    .block = LANES,
    .pixels = 2,
    .deep_pixels = 4,
    .run = {{NULL}, {NULL, conv_tile_1_1, conv_tile_1_2}, {NULL, conv_tile_2_1, conv_tile_2_2}},
    .deep = {NULL, conv_deep_1, conv_deep_2, conv_deep_3, conv_deep_4},
};
