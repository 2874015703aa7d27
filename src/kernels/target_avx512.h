/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the compiler turns into AVX-512 by itself: whole vectors are to be preferred, which
 * clang cannot be told for a function. */
#ifndef KERNELS_TARGET_AVX512_H
#define KERNELS_TARGET_AVX512_H

#if defined(__clang__)
#define TARGET_AVX512 __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,fma")))
#else
#define TARGET_AVX512 \
    __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,fma,prefer-vector-width=512")))
#endif

#endif
