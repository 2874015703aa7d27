/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of 16-bit floats from and to float32, for kernels that store in them. Results are rounded
 * once, to nearest even; NaNs stay NaNs, denormals stay what they are. All levels give the same
 * bits. */
#ifndef KERNELS_HALF_H
#define KERNELS_HALF_H

#include <stddef.h>

#include "base/system.h"
#include "tensor/tensor.h"

typedef struct half_loops {
    void (*widen)(float *to, const uint16_t *from, size_t count);
    void (*narrow)(uint16_t *to, const float *from, size_t count);
} half_loops;

static inline bool half_is(pgy_dtype dtype)
{
    return dtype == PGY_F16 || dtype == PGY_BF16;
}

/* dtype: PGY_F16 or PGY_BF16. No better ones than this processor runs: all give the same. */
const half_loops *half_loops_of(pgy_dtype dtype, cpu_level level);

#endif
