/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what kernels add to quantised bytes that they have computed. */
#include "kernels/cuda/byte_sums.h"

#include "kernels/extent.h"
#include "kernels/int_problem.h"

enum { R_SCALE = 1, R_ZERO, SUM_SCALE, SUM_ZERO };

bool byte_sum_describe(byte_binary *q, const kernel_problem *u, size_t scale, size_t r)
{
    const pgy_dtype type = u->inputs[r].dtype;
    const uint8_t flip = type == PGY_I8 ? 0x80 : 0; /* int8 are read as unsigned, 128 more */
    if (u->input_count <= r + SUM_ZERO || !int_problem_is_byte(&u->inputs[r]) ||
        !int_problem_are_scales(u, r + R_SCALE, 1) || !int_problem_is_fixed(u, r + R_ZERO, 1) ||
        !int_problem_are_scales(u, r + SUM_SCALE, 1) || !int_problem_is_fixed(u, r + SUM_ZERO, 1))
        return false;
    *q = (byte_binary){.a_flip = flip,
                       .b_flip = flip,
                       .a_scale = int_problem_float(u, scale, 0),
                       .b_scale = int_problem_float(u, r + R_SCALE, 0),
                       .scale = int_problem_float(u, r + SUM_SCALE, 0),
                       .a_zero = (int32_t)int_problem_int(u, scale + 1, 0) + flip,
                       .b_zero = (int32_t)int_problem_int(u, r + R_ZERO, 0) + flip,
                       .finish = {.zero = (int32_t)int_problem_int(u, r + SUM_ZERO, 0),
                                  .low = int_problem_low(type),
                                  .high = int_problem_high(type)}};
    return true;
}

bool byte_sum_is_valid(const byte_binary *q)
{
    return !q->multiplies && extent_between(q->a_zero, 0, 256) &&
           extent_between(q->b_zero, 0, 256) && int_finish_is_valid(&q->finish);
}
