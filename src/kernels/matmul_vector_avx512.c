/* SPDX-License-Identifier: Apache-2.0 */
/* Products of a matrix and a vector, AVX-512. */
#include "kernels/matmul_vector.h"

#if defined(__x86_64__)
#include "kernels/vector_avx512.h"

#define SET matmul_vector_avx512
#include "kernels/matmul_vector.inc"
#endif
