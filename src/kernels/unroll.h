/* SPDX-License-Identifier: Apache-2.0 */
/* UNROLL(n) before a loop asks the compiler for n copies of its body. With sanitizers there is one,
 * because the checks of all copies would take minutes to compile. */
#ifndef KERNELS_UNROLL_H
#define KERNELS_UNROLL_H

#define UNROLL_PRAGMA(text) _Pragma(#text)
#ifdef __SANITIZE_ADDRESS__
#define UNROLL(n) UNROLL_PRAGMA(GCC unroll 1)
#else
#define UNROLL(n) UNROLL_PRAGMA(GCC unroll n)
#endif

#endif
