/* SPDX-License-Identifier: Apache-2.0 */
/* Loops between float32 and quantised numbers, one set for each processor level. */
#ifndef KERNELS_QUANTIZE_LOOPS_H
#define KERNELS_QUANTIZE_LOOPS_H

#include "base/system.h"

/* Parameters that share one scale: y = round(x / scale) + zero, clamped to [low, high]. Halves go
 * to even, the quotient is rounded to float32, and NaN gives low. */
typedef struct quantize_to {
    float scale;
    int32_t zero, low, high;
} quantize_to;

typedef struct quantize_loops {
    void (*to_8)(uint8_t *y, const float *x, size_t n, const quantize_to *q);
    void (*to_16)(uint16_t *y, const float *x, size_t n, const quantize_to *q);
    /* y = (x - zero) * scale */
    void (*from_u8)(float *y, const uint8_t *x, size_t n, int32_t zero, float scale);
    void (*from_i8)(float *y, const int8_t *x, size_t n, int32_t zero, float scale);
    void (*from_u16)(float *y, const uint16_t *x, size_t n, int32_t zero, float scale);
    void (*from_i16)(float *y, const int16_t *x, size_t n, int32_t zero, float scale);
    void (*from_i32)(float *y, const int32_t *x, size_t n, int32_t zero, float scale);
    /* Extends [*low, *high] to hold all x; ignores NaN. */
    void (*range)(const float *x, size_t n, float *low, float *high);
} quantize_loops;

extern const quantize_loops quantize_loops_portable, quantize_loops_avx2, quantize_loops_avx512;
const quantize_loops *quantize_loops_of(cpu_level level);

/* Scale and zero point of DynamicQuantizeLinear for a range that contains 0. */
quantize_to quantize_dynamic(float low, float high);

#endif
