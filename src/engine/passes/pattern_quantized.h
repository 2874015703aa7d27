/* SPDX-License-Identifier: Apache-2.0 */
/* What rules about quantised models ask and make: DequantizeLinear before a node, QuantizeLinear
 * behind it, their scales and zero points. */
#ifndef ENGINE_PASSES_PATTERN_QUANTIZED_H
#define ENGINE_PASSES_PATTERN_QUANTIZED_H

#include "transform/pattern.h"

/* A float32 value as bytes: value = (x - zero) * scale. */
typedef struct quantized {
    pgy_value *x;            /* the bytes; of a QuantizeLinear: its float input */
    pgy_value *scale, *zero; /* constants; zero may be NULL */
    pgy_dtype type;          /* of the bytes: int8 or uint8 */
    double one_scale;        /* where there is one */
    int64_t one_zero;
} quantized;

/* v is what a DequantizeLinear with one scale makes of bytes. */
bool quantized_read(pattern *p, const pgy_value *v, quantized *q);
/* The same of constant bytes, with one scale or one for each index of `axis` of `rank`. */
bool quantized_read_weights(pattern *p, const pgy_value *v, int32_t axis, quantized *q);
/* n is a QuantizeLinear with one scale to bytes. */
bool quantized_read_end(pattern *p, const pgy_node *n, quantized *q);
/* Are there kernels for such a window over v: one or two axes, no large strides? */
bool quantized_suits_window(const pgy_node *n, const pgy_value *v);
bool quantized_is_same(const quantized *a, const quantized *b);
/* The zero point as an input: one is made where there is none. */
pgy_value *quantized_zero(pattern *p, pgy_graph *level, const quantized *q);
/* Inputs i, i + 1, i + 2: bytes, scale, zero point. */
void quantized_put(pattern *p, pgy_graph *level, pgy_value **inputs, const quantized *q);
/* The least and the largest number that q can hold. */
double quantized_low(const quantized *q);
double quantized_high(const quantized *q);
/* Elements of a constant, float or dequantised, as float64 (released by the caller), or NULL. */
pgy_tensor *quantized_constant(pattern *p, pgy_value *v);
/* `count` numbers that are added to sums of products of units a * b[i] as int32; NULL: none of
 * these, or too large for `depth` products. */
pgy_value *quantized_bias(pattern *p, pgy_graph *level, pgy_value *v, const quantized *a,
                          const quantized *b, size_t count, size_t depth, double alpha);
/* All attributes of `from`. */
void quantized_copy(pattern *p, pgy_node *n, const pgy_node *from);

#endif
