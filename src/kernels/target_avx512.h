/* SPDX-License-Identifier: Apache-2.0 */
/* Target attribute for functions that the compiler vectorises for AVX-512. GCC prefers 256-bit
 * vectors unless told otherwise; clang has no such option per function. */
#ifndef KERNELS_TARGET_AVX512_H
#define KERNELS_TARGET_AVX512_H

#if defined(__clang__)
#define TARGET_AVX512 __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,fma")))
#else
#define TARGET_AVX512 \
    __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,fma,prefer-vector-width=512")))
#endif

#endif
