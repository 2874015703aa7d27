/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution, AVX2 and FMA: tiles of up to 6 pixels by two blocks of channels. */
#include "kernels/conv.h"
#include "kernels/conv_tile.h"

#if defined(__x86_64__)
#include "kernels/vector_avx2.h"

#include "kernels/conv_end.inc"
#include "kernels/conv_store.inc"

#define NV 1
#define MR 1
#define RUN conv_tile_1_1
#include "kernels/conv_tile.inc"
#define MR 2
#define RUN conv_tile_1_2
#include "kernels/conv_tile.inc"
#define MR 3
#define RUN conv_tile_1_3
#include "kernels/conv_tile.inc"
#define MR 4
#define RUN conv_tile_1_4
#include "kernels/conv_tile.inc"
#define MR 5
#define RUN conv_tile_1_5
#include "kernels/conv_tile.inc"
#define MR 6
#define RUN conv_tile_1_6
#include "kernels/conv_tile.inc"
#undef NV
#define NV 2
#define MR 1
#define RUN conv_tile_2_1
#include "kernels/conv_tile.inc"
#define MR 2
#define RUN conv_tile_2_2
#include "kernels/conv_tile.inc"
#define MR 3
#define RUN conv_tile_2_3
#include "kernels/conv_tile.inc"
#define MR 4
#define RUN conv_tile_2_4
#include "kernels/conv_tile.inc"
#define MR 5
#define RUN conv_tile_2_5
#include "kernels/conv_tile.inc"
#define MR 6
#define RUN conv_tile_2_6
#include "kernels/conv_tile.inc"
#undef NV
#include "kernels/conv_deep.inc"

CONV_DEEP(1)
CONV_DEEP(2)
CONV_DEEP(3)
CONV_DEEP(4)
CONV_DEEP(5)
CONV_DEEP(6)
CONV_DEEP(7)
CONV_DEEP(8)
CONV_DEEP(9)
CONV_DEEP(10)

const conv_tiles conv_tiles_avx2 = {
    .block = LANES,
    .pixels = 6,
    .deep_pixels = 10,
    .run = {{NULL},
            {NULL, conv_tile_1_1, conv_tile_1_2, conv_tile_1_3, conv_tile_1_4, conv_tile_1_5,
             conv_tile_1_6},
            {NULL, conv_tile_2_1, conv_tile_2_2, conv_tile_2_3, conv_tile_2_4, conv_tile_2_5,
             conv_tile_2_6}},
    .deep = {NULL, conv_deep_1, conv_deep_2, conv_deep_3, conv_deep_4, conv_deep_5, conv_deep_6,
             conv_deep_7, conv_deep_8, conv_deep_9, conv_deep_10},
};
#endif
