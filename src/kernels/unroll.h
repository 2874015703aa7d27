/* SPDX-License-Identifier: Apache-2.0 */
/* UNROLL(n) before a loop asks the compiler for n copies of its body, and a function declared with
 * SPECIAL_INLINE is copied for the constants of each call. With sanitizers there is one copy,
 * because the checks of all copies would take minutes to compile. */
#ifndef KERNELS_UNROLL_H
#define KERNELS_UNROLL_H

#define UNROLL_PRAGMA(text) _Pragma(#text)
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNROLL(n) UNROLL_PRAGMA(GCC unroll 1)
#define SPECIAL_INLINE static __attribute__((noinline))
#else
#define UNROLL(n) UNROLL_PRAGMA(GCC unroll n)
#define SPECIAL_INLINE static inline __attribute__((always_inline))
#endif

#endif
