/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of attention for any processor; and the choice of the set for a processor. */
#include "kernels/attention_loops.h"
#include "kernels/vector_portable.h"

#define ROWS 2
#define VECTORS 2

static inline float sum_of(const vector_eight *x)
{
    const vector_eight v = *x;
    return ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7]));
}

#define SUMS(to, a, b, c, d) \
    ((to)[0] = sum_of(&(a)), (to)[1] = sum_of(&(b)), (to)[2] = sum_of(&(c)), (to)[3] = sum_of(&(d)))
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
