/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms of Winograd's convolution F(4x4, 3x3) on blocks of channels, one set for each
 * instruction set. */
#ifndef KERNELS_CONV_WINOGRAD_H
#define KERNELS_CONV_WINOGRAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WINOGRAD_OUT = 4, WINOGRAD_IN = 6, WINOGRAD_POINTS = 36 };

/* Where the inverse transform stores up to 4 x 4 pixels, and their epilogue. Steps count floats;
 * sum may be NULL. */
typedef struct winograd_end {
    float *y;
    const float *sum, *bias;
    size_t row_step, sum_step, rows, columns;
    uint32_t activation;
    float parameter[2];
} winograd_end;

typedef struct winograd_transforms {
    /* Transforms 6 x 6 pixels of x to 36 points, stored v_step floats apart. Returns false if a
     * point is Inf or NaN. */
    bool (*in)(float *v, size_t v_step, const float *x, size_t row_step);
    /* Transforms `count` filters, a multiple of the vector's length: their 3 x 3 taps lie `tap`
     * floats apart, their 36 points will lie `step` floats apart. */
    void (*weights)(float *to, size_t step, const float *w, size_t tap, size_t count);
    /* Transforms 36 points, m_step floats apart, to output pixels and applies the epilogue. */
    void (*out)(const winograd_end *e, const float *m, size_t m_step);
} winograd_transforms;

extern const winograd_transforms winograd_portable, winograd_avx2, winograd_avx512;

#endif
