/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of EmbeddingBag for any processor. */
#include "kernels/embedding_bag.h"

#include <math.h>

#include "kernels/vector_portable.h"

#define EITHER(x, y) ((vector_eight)((vector_mask)(x) | (vector_mask)(y)))
#include "kernels/embedding_bag.inc"

const bag_loops bag_loops_portable = {bag_add, bag_most};
