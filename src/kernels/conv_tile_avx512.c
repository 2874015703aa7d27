/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution, AVX-512: tiles of up to 14 pixels by two blocks of channels. */
#include "kernels/conv.h"
#include "kernels/conv_tile.h"

#if defined(__x86_64__)
#include "kernels/vector_avx512.h"

#include "kernels/conv_end.inc"

#define NV 1
#define MR 1
#define RUN tile_1_1
#include "kernels/conv_tile.inc"
#define MR 2
#define RUN tile_1_2
#include "kernels/conv_tile.inc"
#define MR 3
#define RUN tile_1_3
#include "kernels/conv_tile.inc"
#define MR 4
#define RUN tile_1_4
#include "kernels/conv_tile.inc"
#define MR 5
#define RUN tile_1_5
#include "kernels/conv_tile.inc"
#define MR 6
#define RUN tile_1_6
#include "kernels/conv_tile.inc"
#define MR 7
#define RUN tile_1_7
#include "kernels/conv_tile.inc"
#define MR 8
#define RUN tile_1_8
#include "kernels/conv_tile.inc"
#define MR 9
#define RUN tile_1_9
#include "kernels/conv_tile.inc"
#define MR 10
#define RUN tile_1_10
#include "kernels/conv_tile.inc"
#define MR 11
#define RUN tile_1_11
#include "kernels/conv_tile.inc"
#define MR 12
#define RUN tile_1_12
#include "kernels/conv_tile.inc"
#define MR 13
#define RUN tile_1_13
#include "kernels/conv_tile.inc"
#define MR 14
#define RUN tile_1_14
#include "kernels/conv_tile.inc"
#undef NV
#define NV 2
#define MR 1
#define RUN tile_2_1
#include "kernels/conv_tile.inc"
#define MR 2
#define RUN tile_2_2
#include "kernels/conv_tile.inc"
#define MR 3
#define RUN tile_2_3
#include "kernels/conv_tile.inc"
#define MR 4
#define RUN tile_2_4
#include "kernels/conv_tile.inc"
#define MR 5
#define RUN tile_2_5
#include "kernels/conv_tile.inc"
#define MR 6
#define RUN tile_2_6
#include "kernels/conv_tile.inc"
#define MR 7
#define RUN tile_2_7
#include "kernels/conv_tile.inc"
#define MR 8
#define RUN tile_2_8
#include "kernels/conv_tile.inc"
#define MR 9
#define RUN tile_2_9
#include "kernels/conv_tile.inc"
#define MR 10
#define RUN tile_2_10
#include "kernels/conv_tile.inc"
#define MR 11
#define RUN tile_2_11
#include "kernels/conv_tile.inc"
#define MR 12
#define RUN tile_2_12
#include "kernels/conv_tile.inc"
#define MR 13
#define RUN tile_2_13
#include "kernels/conv_tile.inc"
#define MR 14
#define RUN tile_2_14
#include "kernels/conv_tile.inc"
#undef NV
#define MR 1
#define RUN deep_1
#include "kernels/conv_deep.inc"
#define MR 2
#define RUN deep_2
#include "kernels/conv_deep.inc"
#define MR 3
#define RUN deep_3
#include "kernels/conv_deep.inc"
#define MR 4
#define RUN deep_4
#include "kernels/conv_deep.inc"
#define MR 5
#define RUN deep_5
#include "kernels/conv_deep.inc"
#define MR 6
#define RUN deep_6
#include "kernels/conv_deep.inc"
#define MR 7
#define RUN deep_7
#include "kernels/conv_deep.inc"
#define MR 8
#define RUN deep_8
#include "kernels/conv_deep.inc"
#define MR 9
#define RUN deep_9
#include "kernels/conv_deep.inc"
#define MR 10
#define RUN deep_10
#include "kernels/conv_deep.inc"
#define MR 11
#define RUN deep_11
#include "kernels/conv_deep.inc"
#define MR 12
#define RUN deep_12
#include "kernels/conv_deep.inc"
#define MR 13
#define RUN deep_13
#include "kernels/conv_deep.inc"
#define MR 14
#define RUN deep_14
#include "kernels/conv_deep.inc"

const conv_tiles conv_tiles_avx512 = {
    .block = LANES,
    .pixels = 14,
    .deep_pixels = 14,
    .run = {{NULL},
            {NULL, tile_1_1, tile_1_2, tile_1_3, tile_1_4, tile_1_5, tile_1_6, tile_1_7, tile_1_8,
             tile_1_9, tile_1_10, tile_1_11, tile_1_12, tile_1_13, tile_1_14},
            {NULL, tile_2_1, tile_2_2, tile_2_3, tile_2_4, tile_2_5, tile_2_6, tile_2_7, tile_2_8,
             tile_2_9, tile_2_10, tile_2_11, tile_2_12, tile_2_13, tile_2_14}},
    .deep = {NULL, deep_1, deep_2, deep_3, deep_4, deep_5, deep_6, deep_7, deep_8, deep_9, deep_10,
             deep_11, deep_12, deep_13, deep_14},
};
#endif
