/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of fusion rules for quantised models: they match the DequantizeLinear before a node and
 * the QuantizeLinear after it, with their scales and zero points. */
#ifndef ENGINE_PASSES_PATTERN_QUANTIZED_H
#define ENGINE_PASSES_PATTERN_QUANTIZED_H

#include "transform/pattern.h"

/* A float32 tensor that the model stores as 8-bit integers x: number = (x - zero) * scale. */
typedef struct quantized {
    pgy_value *x; /* the 8-bit tensor; quantized_read_end sets the float tensor that is quantised */
    pgy_value *scale, *zero; /* constants; zero is NULL if the node has no zero point */
    pgy_dtype type;          /* element type of the 8-bit tensor: int8 or uint8 */
    double one_scale;        /* scale as a number; not meaningful if there is one per channel */
    int64_t one_zero;
} quantized;

/* Matches v = DequantizeLinear of an 8-bit tensor, with a single scale. */
bool quantized_read(pattern *p, const pgy_value *v, quantized *q);
/* Does the same for a constant 8-bit tensor with a single scale, or one per index of `axis`. */
bool quantized_read_weights(pattern *p, const pgy_value *v, int32_t axis, quantized *q);
/* Matches n = QuantizeLinear to an 8-bit type, with a single scale. */
bool quantized_read_end(pattern *p, const pgy_node *n, quantized *q);
/* Do the integer kernels support the window of n (a Conv or pool) over v: one or two spatial axes,
 * strides up to 8? */
bool quantized_suits_window(const pgy_node *n, const pgy_value *v);
bool quantized_is_same(const quantized *a, const quantized *b);
/* Returns the zero point as a value; makes a constant where the model has none. */
pgy_value *quantized_zero(pattern *p, pgy_graph *level, const quantized *q);
/* Sets inputs[0..2] to the 8-bit tensor, its scale and its zero point. */
void quantized_put(pattern *p, pgy_graph *level, pgy_value **inputs, const quantized *q);
/* The least and the greatest real number that q can represent. */
double quantized_low(const quantized *q);
double quantized_high(const quantized *q);
/* Replaces n = QuantizeLinear of constants, to an 8-bit type, by a constant; false: it is none. */
bool quantized_fold(pattern *p, pgy_node *n);
/* Elements of v as float64, if v is a constant or a DequantizeLinear of constants, else NULL. The
 * caller releases them. */
pgy_tensor *quantized_constant(pattern *p, pgy_value *v);
/* Converts constant v of `count` elements to an int32 bias for integer sums; one unit of element i
 * is alpha times the scale of a times scale i of b. NULL: v is no such constant, or int32 could
 * overflow in a sum of `depth` products. */
pgy_value *quantized_bias(pattern *p, pgy_graph *level, pgy_value *v, const quantized *a,
                          const quantized *b, size_t count, size_t depth, double alpha);
/* Copies all attributes of `from` to n. */
void quantized_copy(pattern *p, pgy_node *n, const pgy_node *from);

#endif
