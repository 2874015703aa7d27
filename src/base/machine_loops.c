/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of the probe, compiled for each level of instructions. */
#include "base/machine_loops.h"

#include <string.h>

typedef float floats4 __attribute__((vector_size(16)));

static inline floats4 spread4(float x)
{
    return (floats4){x, x, x, x};
}

#define NAME portable
#define TARGET
#define VEC floats4
#define LANES 4
#define CHAINS 12
#define SET(x) spread4(x)
#define LOAD(p) (*(const floats4 *)(p))
#define STORE(p, v) (*(floats4 *)(p) = (v))
#define ADD(x, y) ((x) + (y))
#define MADD(x, y, z) ((x) * (y) + (z))
#include "base/machine_loops.inc"

#if defined(__x86_64__)
#include <immintrin.h>

#define NAME avx2
#define TARGET __attribute__((target("avx2,fma")))
#define VEC __m256
#define LANES 8
#define CHAINS 12
#define SET(x) _mm256_set1_ps(x)
#define LOAD(p) _mm256_load_ps(p)
#define STORE(p, v) _mm256_store_ps(p, v)
#define ADD(x, y) _mm256_add_ps(x, y)
#define MADD(x, y, z) _mm256_fmadd_ps(x, y, z)
#include "base/machine_loops.inc"

#define NAME avx512
#define TARGET __attribute__((target("avx512f")))
#define VEC __m512
#define LANES 16
#define CHAINS 24
#define SET(x) _mm512_set1_ps(x)
#define LOAD(p) _mm512_load_ps(p)
#define STORE(p, v) _mm512_store_ps(p, v)
#define ADD(x, y) _mm512_add_ps(x, y)
#define MADD(x, y, z) _mm512_fmadd_ps(x, y, z)
#include "base/machine_loops.inc"
#endif

const machine_loops *machine_loops_of(cpu_level level)
{
#if defined(__x86_64__)
    if (level == CPU_AVX512) return &loops_avx512;
    if (level == CPU_AVX2) return &loops_avx2;
#endif
    (void)level;
    return &loops_portable;
}
