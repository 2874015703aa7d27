/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over quantised bytes, plain C; and the choice of the set for a processor. */
#include "kernels/byte_loops.h"

#define TARGET
#define SET byte_loops_portable
#include "kernels/byte_loops.inc"

const byte_loops *byte_loops_of(cpu_level level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) return &byte_loops_avx512;
    if (level >= CPU_AVX2) return &byte_loops_avx2;
#endif
    (void)level;
    return &byte_loops_portable;
}
