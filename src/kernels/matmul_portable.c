/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix product in float32 for any processor: tiles of 4 x 8 in vectors of four, which compilers
 * map to the instructions of the processor. */
#include "kernels/matmul_tile.h"
#include "kernels/vector_four.h"

#define NV 2
#define MR 1
#define RUN matmul_rows_1
#include "kernels/matmul_tile.inc"
#define MR 2
#define RUN matmul_rows_2
#include "kernels/matmul_tile.inc"
#define MR 3
#define RUN matmul_rows_3
#include "kernels/matmul_tile.inc"
#define MR 4
#define RUN matmul_rows_4
#include "kernels/matmul_tile.inc"
#define MR 1
#define RUN matmul_abreast_1
#include "kernels/matmul_abreast.inc"

const matmul_tile matmul_tile_portable = {
    .rows = 4,
    .columns = 8,
    .level = CPU_PORTABLE,
    .run = {NULL, matmul_rows_1, matmul_rows_2, matmul_rows_3, matmul_rows_4},
    .abreast = {NULL, matmul_abreast_1},
};
