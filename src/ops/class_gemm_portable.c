/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix product, micro-kernel for any processor: it computes 4 x 4 elements with vectors of two
 * doubles, for which GCC uses the target's vectors (SSE2 on x86-64, NEON on Arm) or scalars. */
#include <string.h>

#include "ops/class_gemm.h"

typedef double vec2 __attribute__((vector_size(16)));

static inline vec2 load(const double *p)
{
    vec2 v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store(double *p, vec2 v)
{
    memcpy(p, &v, sizeof v);
}

#define VEC vec2
#define LANES 2
#define MR 4
#define STEP (2 * LANES)
#define TARGET
#define LOAD(p) load(p)
#define STORE(p, v) store(p, v)
#define SPREAD(p) ((vec2){*(p), *(p)})
#define MADD(x, y, z) ((x) * (y) + (z))
#define ADD(x, y) ((x) + (y))
#define ZERO() ((vec2){0, 0})
#define RUN run
#define NV 2
#include "ops/class_gemm_kernel.inc"

#define RUN run_half
#define NV 1
#include "ops/class_gemm_kernel.inc"

static inline vec2 load_floats(const float *p)
{
    float x[2];
    memcpy(x, p, sizeof x);
    return (vec2){(double)x[0], (double)x[1]};
}

#define SUM(v) ((v)[0] + (v)[1])
#define DOTS dots
#define B double
#define LOAD_B(p) LOAD(p)
#include "ops/class_gemm_dots.inc"

#define DOTS dots_single
#define B float
#define LOAD_B(p) load_floats(p)
#include "ops/class_gemm_dots.inc"

const gemm_kernel gemm_kernel_portable = {MR, STEP, run, run_half, dots, dots_single};
