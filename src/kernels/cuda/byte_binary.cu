// SPDX-License-Identifier: Apache-2.0
// Sums and products of quantised bytes, for programs of pointwise.cu and for what is added to results of products; text in front of them.
typedef struct byte_binary {
    double a_scale, b_scale, scale;
    float a_factor, b_factor; // scales over that of the result; of a product, the first is for both
    float slack, margin;      // of results in float32: slack is at most 0.5
    int32_t a_zero, b_zero;   // of bytes after the flip
    uint32_t a_flip, b_flip;
    byte_limits limits;
} byte_binary;
#define MORE byte_binary

DEVICE u8 byte_sum(u8 x, u8 y, const byte_binary *q)
{
    const int32_t a = (int32_t)(x ^ q->a_flip) - q->a_zero, b = (int32_t)(y ^ q->b_flip) - q->b_zero;
    int close;
    const int32_t sum = nearest_byte(ADD_F32(MUL_F32((float)a, q->a_factor), MUL_F32((float)b, q->b_factor)), q->slack, q->limits, &close);
    if (!close) return (u8)sum;
    return (u8)exact_byte(ADD_F64(MUL_F64((double)a, q->a_scale), MUL_F64((double)b, q->b_scale)) / q->scale, q->limits);
}

DEVICE u8 byte_product(u8 x, u8 y, const byte_binary *q)
{
    const int32_t a = (int32_t)(x ^ q->a_flip) - q->a_zero, b = (int32_t)(y ^ q->b_flip) - q->b_zero;
    int close;
    const int32_t product = nearest_byte(MUL_F32((float)(a * b), q->a_factor), q->slack, q->limits, &close);
    if (!close) return (u8)product;
    return (u8)exact_byte(MUL_F64(MUL_F64((double)a, q->a_scale), MUL_F64((double)b, q->b_scale)) / q->scale, q->limits);
}
