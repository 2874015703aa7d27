/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of EmbeddingBag, AVX2 and FMA. */
#include "kernels/embedding_bag.h"

#include <math.h>

#if defined(__x86_64__)
#include "kernels/vector_avx2.h"

#define EITHER(x, y) _mm256_or_ps(x, y)
#include "kernels/embedding_bag.inc"

const bag_loops bag_loops_avx2 = {bag_add, bag_most};
#endif
