/* SPDX-License-Identifier: Apache-2.0 */
/* Scales and zero points of means over quantised bytes, whatever the layout of the image. */
#ifndef KERNELS_BYTE_POOL_SCALES_H
#define KERNELS_BYTE_POOL_SCALES_H

#include "kernels/byte_loops.h"
#include "kernels/kernel.h"

typedef struct byte_pool_scales {
    int32_t x_zero; /* of bytes as loops read them, so 128 more for int8 */
    double x, y;
    int_finish finish;
} byte_pool_scales;

/* Reads inputs 1 to 4 of QLinearAveragePool and QLinearGlobalAveragePool; false unless they are
 * constants that kernels take. */
bool byte_pool_scales_read(byte_pool_scales *s, const kernel_problem *u);
/* Can these be scales of a plan? */
bool byte_pool_scales_are_valid(const byte_pool_scales *s);
/* The mean of a window that holds `inside` elements of the image and counts as `counted` ones. */
static inline byte_mean byte_pool_mean(const byte_pool_scales *s, int64_t inside, int64_t counted)
{
    return (byte_mean){.less = inside * s->x_zero,
                       .x_scale = s->x,
                       .count = (double)counted,
                       .y_scale = s->y,
                       .finish = s->finish};
}

#endif
