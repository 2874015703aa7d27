/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms of Winograd's convolution, for any processor. */
#include "kernels/conv_winograd.h"

#include <string.h>

#include "kernels/conv.h"

#include "kernels/vector_portable.h"

#include "kernels/conv_end.inc"

#include "kernels/conv_winograd.inc"

const winograd_transforms winograd_portable = {.in = winograd_transform_in,
                                               .weights = winograd_transform_weights,
                                               .out = winograd_transform_out};
