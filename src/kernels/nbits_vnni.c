/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of a few bits times bytes, AVX-512 with its instruction for sums of bytes (VNNI). */
#include "kernels/nbits.h"

#if defined(__x86_64__)
#include "kernels/vector_avx512.h"
#undef TARGET
#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))
#include "kernels/nbits_avx512.inc"

#define DOT(sum, w, a) _mm512_dpbusd_epi32(sum, w, a)
#include "kernels/nbits_byte_sums.inc"
const nbits_rows nbits_vnni = NBITS_TABLE(bytes);
const nbits_function nbits_vnni_digits[NBITS_KINDS] = NBITS_DIGIT_ROWS;
#endif
