/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of support vector machines, AVX-512. */
#include "kernels/svm.h"

#if defined(__x86_64__)
#include "kernels/vector_avx512.h"

#define TOTAL(v) _mm512_reduce_add_ps(v)
#define SOME(p, n) _mm512_maskz_loadu_ps((__mmask16)((1u << (n)) - 1), p)

#include "kernels/svm.inc"

const svm_loops svm_loops_avx512 = {svm_tile_run, svm_power_run, svm_dot};
#endif
