/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the scales and zero points of means over quantised bytes. */
#include "kernels/byte_pool_scales.h"

#include "kernels/extent.h"
#include "kernels/int_problem.h"

bool byte_pool_scales_read(byte_pool_scales *s, const kernel_problem *u)
{
    const pgy_dtype dtype = u->inputs[0].dtype;
    if (dtype != u->outputs[0].dtype) return false;
    for (size_t i = 1; i < 4; i += 2)
        if (!int_problem_are_scales(u, i, 1) || !int_problem_is_fixed(u, i + 1, 1)) return false;
    s->x = int_problem_float(u, 1, 0);
    s->x_zero = (int32_t)int_problem_int(u, 2, 0) + (dtype == PGY_I8 ? 128 : 0);
    s->y = int_problem_float(u, 3, 0);
    s->finish = (int_finish){.zero = (int32_t)int_problem_int(u, 4, 0),
                             .low = int_problem_low(dtype),
                             .high = int_problem_high(dtype)};
    return true;
}

bool byte_pool_scales_are_valid(const byte_pool_scales *s)
{
    return extent_between(s->x_zero, -256, 512) && int_finish_is_valid(&s->finish);
}
