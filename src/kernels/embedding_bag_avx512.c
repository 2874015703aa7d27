/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of EmbeddingBag, AVX-512. */
#include "kernels/embedding_bag.h"

#include <math.h>

#if defined(__x86_64__)
#include "kernels/vector_avx512.h"

#define EITHER(x, y) \
    _mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(x), _mm512_castps_si512(y)))
#include "kernels/embedding_bag.inc"

const bag_loops bag_loops_avx512 = {bag_add, bag_most};
#endif
