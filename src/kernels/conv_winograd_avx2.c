/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms of Winograd's convolution, AVX2. */
#include "kernels/conv_winograd.h"

#include <string.h>

#include "kernels/conv.h"

#if defined(__x86_64__)
#include "kernels/vector_avx2.h"

#include "kernels/conv_end.inc"

#include "kernels/conv_winograd.inc"

const winograd_transforms winograd_avx2 = {.in = winograd_transform_in,
                                           .weights = winograd_transform_weights,
                                           .out = winograd_transform_out};
#endif
