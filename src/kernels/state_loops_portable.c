/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over a state for any processor; and the choice of the set for a processor. */
#include "kernels/state_loops.h"

#include "kernels/vector_four.h"

#define RECALLED 1
#define UPDATED 1
#define SET state_loops_portable
#include "kernels/state_loops.inc"

const state_loops *state_loops_of(cpu_level level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) return &state_loops_avx512;
    if (level >= CPU_AVX2) return &state_loops_avx2;
#endif
    (void)level;
    return &state_loops_portable;
}
