/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of rules for quantised models: they match DequantizeLinear before and QuantizeLinear
 * after a node, with scales and zero points. */
#ifndef ENGINE_PASSES_PATTERN_QUANTIZED_H
#define ENGINE_PASSES_PATTERN_QUANTIZED_H

#include "transform/pattern.h"

/* A float32 value as bytes: value = (x - zero) * scale. */
typedef struct quantized {
    pgy_value *x;            /* the bytes; of a QuantizeLinear: its float input */
    pgy_value *scale, *zero; /* constants; zero may be NULL */
    pgy_dtype type;          /* of the bytes: int8 or uint8 */
    double one_scale;        /* if the scale has one element */
    int64_t one_zero;
} quantized;

/* Matches v = DequantizeLinear(bytes) with a single scale. */
bool quantized_read(pattern *p, const pgy_value *v, quantized *q);
/* The same for constant bytes with one scale, or one for each index of `axis` (of `rank`). */
bool quantized_read_weights(pattern *p, const pgy_value *v, int32_t axis, quantized *q);
/* Matches n = QuantizeLinear to bytes with a single scale. */
bool quantized_read_end(pattern *p, const pgy_node *n, quantized *q);
/* Do kernels support this window over v: one or two axes, small strides? */
bool quantized_suits_window(const pgy_node *n, const pgy_value *v);
bool quantized_is_same(const quantized *a, const quantized *b);
/* Returns the zero point as a value; makes a constant where the model has none. */
pgy_value *quantized_zero(pattern *p, pgy_graph *level, const quantized *q);
/* Sets inputs[0..2] to bytes, scale and zero point. */
void quantized_put(pattern *p, pgy_graph *level, pgy_value **inputs, const quantized *q);
/* The least and the greatest real number that q can represent. */
double quantized_low(const quantized *q);
double quantized_high(const quantized *q);
/* Elements of a constant, float or dequantised, as float64 (released by the caller), or NULL. */
pgy_tensor *quantized_constant(pattern *p, pgy_value *v);
/* Converts a constant of `count` elements to an int32 bias for sums of products, in units of a *
 * b[i]. NULL: not such a constant, or too large for `depth` products. */
pgy_value *quantized_bias(pattern *p, pgy_graph *level, pgy_value *v, const quantized *a,
                          const quantized *b, size_t count, size_t depth, double alpha);
/* Copies all attributes of `from`. */
void quantized_copy(pattern *p, pgy_node *n, const pgy_node *from);

#endif
