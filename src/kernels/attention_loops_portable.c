/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of attention for any processor; and the choice of the set for a processor. */
#include <math.h>

#include "kernels/attention_loops.h"
#include "kernels/vector_four.h"

#define LANES_ROWS 4
#define LANES_LEAST 5
#include "kernels/attention_lanes.inc"

#define ROWS 2
#define VECTORS 4

static inline float sum_of(four x)
{
    return (x[0] + x[2]) + (x[1] + x[3]);
}

#define SUMS(to, a, b, c, d) \
    ((to)[0] = sum_of(a), (to)[1] = sum_of(b), (to)[2] = sum_of(c), (to)[3] = sum_of(d))
#define SET attention_loops_portable
#include "kernels/attention_loops.inc"

const attention_loops *attention_loops_of(cpu_level level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) return &attention_loops_avx512;
    if (level >= CPU_AVX2) return &attention_loops_avx2;
#endif
    (void)level;
    return &attention_loops_portable;
}
