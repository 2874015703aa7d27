/* SPDX-License-Identifier: Apache-2.0 */
/* Products of a matrix and a vector, for any processor. */
#include "kernels/matmul_vector.h"

#include "kernels/vector_portable.h"

#define SET matmul_vector_portable
#include "kernels/matmul_vector.inc"
