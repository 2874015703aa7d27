/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of a few bits times bytes, AVX2 with the instruction for sums of bytes (AVX-VNNI). */
#include "kernels/nbits.h"

#if defined(__x86_64__)
#include "kernels/vector_avx2.h"
#undef TARGET
#define TARGET __attribute__((target("avx2,fma,f16c,avxvnni")))
#include "kernels/nbits_avx2.inc"

#define DOT(sum, w, a) _mm256_dpbusd_avx_epi32(sum, w, a)
#include "kernels/nbits_byte_sums.inc"
const nbits_rows nbits_avx_vnni = NBITS_TABLE(bytes);
const nbits_function nbits_avx_vnni_digits[NBITS_KINDS] = NBITS_DIGIT_ROWS;
#endif
