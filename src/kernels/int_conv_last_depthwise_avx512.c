/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution of bytes whose channels are last, AVX-512, with and without the instruction
 * for sums of four products. */
#include "kernels/int_conv_last_depthwise.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define RUN_JOIN(a, b) a##b
#define RUN_NAME(a, b) RUN_JOIN(a, b)
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#include "kernels/int_finish_avx512.inc"
#define LOAD_TWICE(p) _mm512_broadcast_i64x4(_mm256_loadu_si256((const void *)(p)))

/* Unsigned a, signed b: even and odd bytes are widened to 16 bits in separate vectors. */
TARGET static inline __m512i dot_16_bits(__m512i sum, __m512i a, __m512i b)
{
    const __m512i a_even = _mm512_and_si512(a, _mm512_set1_epi16(255));
    const __m512i b_even = _mm512_srai_epi16(_mm512_slli_epi16(b, 8), 8);
    sum = _mm512_add_epi32(sum, _mm512_madd_epi16(a_even, b_even));
    return _mm512_add_epi32(sum,
                            _mm512_madd_epi16(_mm512_srli_epi16(a, 8), _mm512_srai_epi16(b, 8)));
}

#define DOT(sum, a, b) dot_16_bits(sum, a, b)
#define RUN run_avx512
#include "kernels/int_conv_last_depthwise.inc"
#undef DOT
#undef RUN
#undef TARGET

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define DOT(sum, a, b) _mm512_dpbusd_epi32(sum, a, b)
#define RUN run_vnni
#include "kernels/int_conv_last_depthwise.inc"

const last_depthwise_functions last_depthwise_avx512 = {
    .run = run_avx512, .pair = run_avx512_pair, .row = run_avx512_row};
const last_depthwise_functions last_depthwise_vnni = {
    .run = run_vnni, .pair = run_vnni_pair, .row = run_vnni_row};
#endif
