/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds float32 to the values of a narrower type, and leaves them in float32. */
#ifndef PRECISION_ROUND_H
#define PRECISION_ROUND_H

#include <polygraphy/tensor.h>

/* @param type   PGY_F16, PGY_BF16 or PGY_F8E4M3FN, which is always clamped
 * @param clamp  values beyond the range become the largest finite one, as in converted weights;
 * else infinite */
void round_floats(float *to, const float *from, size_t count, pgy_dtype type, bool clamp);
/* Makes a float32 tensor of the rounded elements of a float32 or float64 tensor. */
pgy_status round_tensor(pgy_tensor **out, const pgy_tensor *t, pgy_dtype type, bool clamp,
                        pgy_error *err) PGY_MUST_CHECK;

#endif
