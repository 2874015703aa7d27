/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix product in float32 for any processor: tiles of 4 x 8 in vectors of four, which compilers
 * map to the instructions of the processor. */
#include <string.h>

#include "kernels/matmul_tile.h"

typedef float four __attribute__((vector_size(16)));

static inline four load(const float *p)
{
    four v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store(float *p, four v)
{
    memcpy(p, &v, sizeof v);
}

#define VEC four
#define LANES 4
#define NV 2
#define TARGET
#define LOAD(p) load(p)
#define STORE(p, v) store(p, v)
#define SPREAD(p) ((four){*(p), *(p), *(p), *(p)})
#define MADD(x, y, z) ((x) * (y) + (z))
#define ADD(x, y) ((x) + (y))
#define ZERO() ((four){0, 0, 0, 0})
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
