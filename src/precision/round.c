/* SPDX-License-Identifier: Apache-2.0 */
/* Rounding by integer arithmetic on float32 bits, to the nearest value, ties to even. The loops
 * have no branches, so compilers vectorize them. */
#include "precision/round.h"

#include <string.h>

static uint32_t bits_of(float v)
{
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    return u;
}

static float float_of(uint32_t u)
{
    float v;
    memcpy(&v, &u, sizeof v);
    return v;
}

/* float16 has 10 mantissa bits, so 13 of float32's 23 go. Below 2^-14 the values are multiples of
 * 2^-24: adding and subtracting 0.5, whose last bit is 2^-24, rounds to them. */
static float to_half(float v, uint32_t beyond)
{
    const uint32_t sign = bits_of(v) & 0x80000000u, size = bits_of(v) & 0x7fffffffu;
    uint32_t normal = (size + 0xfffu + (size >> 13 & 1)) & ~0x1fffu;
    const uint32_t tiny = bits_of((float_of(size) + 0.5f) - 0.5f);
    normal = normal > 0x477fe000u ? beyond : normal; /* 65504 is the largest */
    normal = size < 0x38800000u ? tiny : normal;
    return float_of(sign | (size > 0x7f800000u ? size : normal));
}

static float to_bfloat(float v, uint32_t beyond)
{
    const uint32_t sign = bits_of(v) & 0x80000000u, size = bits_of(v) & 0x7fffffffu;
    uint32_t near = (size + 0x7fffu + (size >> 16 & 1)) & ~0xffffu;
    near = near > 0x7f7f0000u ? beyond : near;
    return float_of(sign | (size > 0x7f800000u ? size : near));
}

/* float8 (E4M3, no infinities) has 3 mantissa bits, so 20 go. Below 2^-6 the values are multiples
 * of 2^-9, the last bit of 16384. What is beyond 448 becomes 448. */
static float to_e4m3(float v)
{
    const uint32_t sign = bits_of(v) & 0x80000000u, size = bits_of(v) & 0x7fffffffu;
    uint32_t near = (size + 0x7ffffu + (size >> 20 & 1)) & ~0xfffffu;
    const uint32_t tiny = bits_of((float_of(size) + 16384.0f) - 16384.0f);
    near = near > 0x43e00000u ? 0x43e00000u : near; /* 448 */
    near = size < 0x3c800000u ? tiny : near;
    return float_of(sign | (size > 0x7f800000u ? size : near));
}

void round_floats(float *to, const float *from, size_t count, pgy_dtype type, bool clamp)
{
    const uint32_t infinite = 0x7f800000u;
    if (type == PGY_F8E4M3FN)
        for (size_t i = 0; i < count; i++) to[i] = to_e4m3(from[i]);
    else if (type == PGY_F16)
        for (size_t i = 0; i < count; i++) to[i] = to_half(from[i], clamp ? 0x477fe000u : infinite);
    else
        for (size_t i = 0; i < count; i++)
            to[i] = to_bfloat(from[i], clamp ? 0x7f7f0000u : infinite);
}

pgy_status round_tensor(pgy_tensor **out, const pgy_tensor *t, pgy_dtype type, bool clamp,
                        pgy_error *err)
{
    pgy_tensor *made = NULL;
    const pgy_status st = pgy_tensor_cast(&made, pgy_tensor_view(t), PGY_F32, err);
    if (st) return st;
    float *data = pgy_tensor_data(made);
    round_floats(data, data, pgy_tensor_count(made), type, clamp);
    *out = made;
    return PGY_OK;
}
