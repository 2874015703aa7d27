/* SPDX-License-Identifier: Apache-2.0 */
/* Which scale belongs to which element, for QuantizeLinear and DequantizeLinear. */
#ifndef OPS_CLASS_QUANTIZE_H
#define OPS_CLASS_QUANTIZE_H

#include "ops/rule.h"

/* Shapes around the quantisation axis: the input is [outer, size, inner], the scales are [outer or
 * 1, size / block, inner or 1]. */
typedef struct quantize_grid {
    size_t count, size, inner, block, blocks;
    bool per_tensor, blocked;
} quantize_grid;
/* Fills `g` from the shapes of x (input 0), scale (1) and zero point (2). PGY_E_SHAPE if they do
 * not fit. */
pgy_status quantize_grid_init(quantize_grid *g, const op_eval *c, pgy_error *err) PGY_MUST_CHECK;
size_t quantize_scale_index(const quantize_grid *g, size_t i);
/* Reads a type from an attribute that holds its TensorProto.DataType; NONE if the attribute is
 * absent or 0. */
pgy_status quantize_type(pgy_dtype *out, const op_node *n, const char *attr,
                         pgy_error *err) PGY_MUST_CHECK;
/* Rounds v to the nearest integer, halves to even, adds `zero` and saturates to the type. */
int64_t quantize_int(double v, int64_t zero, pgy_dtype to);
/* Quantises n numbers to uint8 as DynamicQuantizeLinear does: quantize_extend extends [*low, *high]
 * to hold them; quantize_dynamic_scale gives the scale and zero point of a range that contains 0;
 * quantize_dynamic_int quantises one number with them. */
void quantize_extend(double *low, double *high, const double *x, size_t n);
double quantize_dynamic_scale(int64_t *zero, double low, double high);
int64_t quantize_dynamic_int(double x, double scale, int64_t zero);

#endif
