/* SPDX-License-Identifier: Apache-2.0 */
/* Converts arrays of 16-bit floats from and to float32, for kernels that store 16-bit floats.
 * Results are rounded once, to nearest even; NaNs stay NaNs, and denormals are kept. All processor
 * levels give the same bits. */
#ifndef KERNELS_HALF_H
#define KERNELS_HALF_H

#include <stddef.h>

#include "base/system.h"
#include "tensor/tensor.h"

typedef struct half_loops {
    void (*widen)(float *to, const uint16_t *from, size_t count);
    void (*narrow)(uint16_t *to, const float *from, size_t count);
    void (*round)(float *to, const float *from,
                  size_t count); /* narrows and widens; in place, too */
} half_loops;

static inline bool half_is(pgy_dtype dtype)
{
    return dtype == PGY_F16 || dtype == PGY_BF16;
}

/* dtype: PGY_F16 or PGY_BF16. A level above that of this processor is lowered; results do not
 * depend on it. */
const half_loops *half_loops_of(pgy_dtype dtype, cpu_level level);

/* Do narrowing and widening give the same bits for all float32 words? Signs of zeros, NaNs and
 * denormals count, too. size_bytes is a multiple of 4; the words may lie at any address. */
bool half_holds(pgy_dtype dtype, const void *words, size_t size_bytes);

#endif
