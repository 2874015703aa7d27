/* SPDX-License-Identifier: Apache-2.0 */
/* Loops between float32 and quantised numbers, plain C; and the choice of the set for a
 * processor. */
#include <math.h>

#include "kernels/quantize_loops.h"
#include "kernels/vector_portable.h"

#define SET quantize_loops_portable
#include "kernels/quantize_loops.inc"

const quantize_loops *quantize_loops_of(cpu_level level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) return &quantize_loops_avx512;
    if (level >= CPU_AVX2) return &quantize_loops_avx2;
#endif
    (void)level;
    return &quantize_loops_portable;
}

quantize_to quantize_dynamic(float low, float high)
{
    quantize_to q = {.scale = 1, .low = 0, .high = 255};
    if (high != low) q.scale = (high - low) / 255;
    const float zero = nearbyintf(-low / q.scale);
    q.zero = zero > 0 ? zero < 255 ? (int32_t)zero : 255 : 0;
    return q;
}
