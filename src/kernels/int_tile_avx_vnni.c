/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products of bytes, AVX2 with the instruction for it (AVX-VNNI). */
#include "kernels/int_tile.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2,fma,avxvnni")))
#include "kernels/int_tile_avx2.inc"

#define A_PART __m256i
#define B_PART __m256i
#define SPLIT_A(x) (x)
#define SPLIT_B(x) (x)

#define DOT(sum, a, b) _mm256_dpbusd_avx_epi32(sum, a, b)
#define NAME(rows, vectors) int_tile_rows_##rows##_##vectors
#include "kernels/int_tile_small.inc"
#define NV 1
#define RUN int_tile_four_1
#include "kernels/int_tile_four.inc"
#define NV 2
#define RUN int_tile_four_2
#include "kernels/int_tile_four.inc"
#undef DOT
#undef NAME

#define DOT(sum, a, b) _mm256_dpbusd_avx_epi32(sum, b, a)
#define NAME(rows, vectors) int_tile_signed_##rows##_##vectors
#include "kernels/int_tile_small.inc"

#include "kernels/int_finish_avx2.inc"
#include "kernels/int_floats.inc"

const int_tile int_tile_avx_vnni = INT_TILE_OF_4_BY_2;
#endif
