/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution, AVX-512: tiles of up to 14 pixels by two blocks of channels. */
#include "kernels/conv.h"
#include "kernels/conv_tile.h"

#if defined(__x86_64__)
#include "kernels/vector_avx512.h"

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
#define MR 7
#define RUN conv_tile_1_7
#include "kernels/conv_tile.inc"
#define MR 8
#define RUN conv_tile_1_8
#include "kernels/conv_tile.inc"
#define MR 9
#define RUN conv_tile_1_9
#include "kernels/conv_tile.inc"
#define MR 10
#define RUN conv_tile_1_10
#include "kernels/conv_tile.inc"
#define MR 11
#define RUN conv_tile_1_11
#include "kernels/conv_tile.inc"
#define MR 12
#define RUN conv_tile_1_12
#include "kernels/conv_tile.inc"
#define MR 13
#define RUN conv_tile_1_13
#include "kernels/conv_tile.inc"
#define MR 14
#define RUN conv_tile_1_14
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
#define MR 7
#define RUN conv_tile_2_7
#include "kernels/conv_tile.inc"
#define MR 8
#define RUN conv_tile_2_8
#include "kernels/conv_tile.inc"
#define MR 9
#define RUN conv_tile_2_9
#include "kernels/conv_tile.inc"
#define MR 10
#define RUN conv_tile_2_10
#include "kernels/conv_tile.inc"
#define MR 11
#define RUN conv_tile_2_11
#include "kernels/conv_tile.inc"
#define MR 12
#define RUN conv_tile_2_12
#include "kernels/conv_tile.inc"
#define MR 13
#define RUN conv_tile_2_13
#include "kernels/conv_tile.inc"
#define MR 14
#define RUN conv_tile_2_14
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
CONV_DEEP(11)
CONV_DEEP(12)
CONV_DEEP(13)
CONV_DEEP(14)

const conv_tiles conv_tiles_avx512 = {
    .block = LANES,
    .pixels = 14,
    .deep_pixels = 14,
    .run = {{NULL},
            {NULL, conv_tile_1_1, conv_tile_1_2, conv_tile_1_3, conv_tile_1_4, conv_tile_1_5,
             conv_tile_1_6, conv_tile_1_7, conv_tile_1_8, conv_tile_1_9, conv_tile_1_10,
             conv_tile_1_11, conv_tile_1_12, conv_tile_1_13, conv_tile_1_14},
            {NULL, conv_tile_2_1, conv_tile_2_2, conv_tile_2_3, conv_tile_2_4, conv_tile_2_5,
             conv_tile_2_6, conv_tile_2_7, conv_tile_2_8, conv_tile_2_9, conv_tile_2_10,
             conv_tile_2_11, conv_tile_2_12, conv_tile_2_13, conv_tile_2_14}},
    .deep = {NULL, conv_deep_1, conv_deep_2, conv_deep_3, conv_deep_4, conv_deep_5, conv_deep_6,
             conv_deep_7, conv_deep_8, conv_deep_9, conv_deep_10, conv_deep_11, conv_deep_12,
             conv_deep_13, conv_deep_14},
};
#endif
