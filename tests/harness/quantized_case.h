/* SPDX-License-Identifier: Apache-2.0 */
/* Quantised models for tests of passes. */
#ifndef HARNESS_QUANTIZED_CASE_H
#define HARNESS_QUANTIZED_CASE_H

#include "harness/pass_case.h"

/* Adds an initializer of integers. */
void bytes(model_builder *b, const char *name, pgy_dtype dtype, size_t rank, const int64_t *shape,
           int64_t least, int64_t step);
/* Adds a scale and a zero point with these names. */
void grid(model_builder *b, const char *scale, float value, const char *zero, pgy_dtype dtype,
          int64_t at);
/* Starts a model with x and its bytes xq, whose scale and zero point are xs and xz; xd is a float
 * again. */
model_builder start_quantised(const char *shape, pgy_dtype dtype);
/* Adds `name`, the bytes of `v` with scale `name`s and zero point `name`z, and `name`d from them.
 */
void quantise(model_builder *b, const char *v, const char *name, float scale, pgy_dtype dtype,
              int64_t zero);
/* Adds y from v, by way of bytes. */
void end_quantised(model_builder *b, const char *v, float scale, pgy_dtype dtype, int64_t zero);

#endif
