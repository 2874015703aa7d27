/* SPDX-License-Identifier: Apache-2.0 */
/* Products of a matrix and a vector, AVX2. */
#include "kernels/matmul_vector.h"

#if defined(__x86_64__)
#include "kernels/vector_avx2.h"

#define SET matmul_vector_avx2
#include "kernels/matmul_vector.inc"
#endif
