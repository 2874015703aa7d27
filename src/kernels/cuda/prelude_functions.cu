// SPDX-License-Identifier: Apache-2.0
// Functions of numbers, named after the type.

// ---- Functions of floats ---------------------------------------------------------------------------

DEVICE float add_f32(float x, float y) { return x + y; }
DEVICE float mean_f32(float x, float y) { return x + y; }
DEVICE float sub_f32(float x, float y) { return x - y; }
DEVICE float mul_f32(float x, float y) { return x * y; }
DEVICE float div_f32(float x, float y) { return x / y; }
DEVICE float min_f32(float x, float y) { return x < y || x != x ? x : y; }
DEVICE float max_f32(float x, float y) { return x > y || x != x ? x : y; }
DEVICE float pow_f32(float x, float y) { return powf(x, y); }
DEVICE float fmod_f32(float x, float y) { return fmodf(x, y); }
DEVICE float prelu_f32(float x, float y) { return x < 0 ? x * y : x; }
DEVICE double add_f64(double x, double y) { return x + y; }
DEVICE double sub_f64(double x, double y) { return x - y; }
DEVICE double mul_f64(double x, double y) { return x * y; }
DEVICE double div_f64(double x, double y) { return x / y; }
DEVICE float relu_f32(float x) { return x < 0 ? 0 : x; }
DEVICE float leaky_relu_f32(float x, float slope) { return x < 0 ? slope * x : x; }
DEVICE float clip_f32(float x, float low, float high)
{
    const float y = x < low ? low : x;
    return y > high ? high : y;
}
DEVICE float unit(float x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
DEVICE float hard_sigmoid_f32(float x, float slope, float shift) { return unit(slope * x + shift); }
DEVICE float hard_swish_f32(float x) { return x * unit(x * (1 / 6.0f) + 0.5f); }
DEVICE float softsign_f32(float x) { return x / (1 + fabsf(x)); }
DEVICE float thresholded_relu_f32(float x, float least) { return x > least ? x : 0; }
DEVICE float abs_f32(float x) { return fabsf(x); }
DEVICE float neg_f32(float x) { return -x; }
DEVICE float sign_f32(float x) { return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x; }
DEVICE float floor_f32(float x) { return floorf(x); }
DEVICE float ceil_f32(float x) { return ceilf(x); }
DEVICE float round_f32(float x) { return rintf(x); }
DEVICE float sqrt_f32(float x) { return sqrtf(x); }
DEVICE float reciprocal_f32(float x) { return 1 / x; }
DEVICE float exp_f32(float x) { return expf(x); }
DEVICE float log_f32(float x) { return logf(x); }
DEVICE float sin_f32(float x) { return sinf(x); }
DEVICE float cos_f32(float x) { return cosf(x); }
DEVICE float tan_f32(float x) { return tanf(x); }
DEVICE float asin_f32(float x) { return asinf(x); }
DEVICE float acos_f32(float x) { return acosf(x); }
DEVICE float atan_f32(float x) { return atanf(x); }
DEVICE float sinh_f32(float x) { return sinhf(x); }
DEVICE float cosh_f32(float x) { return coshf(x); }
DEVICE float asinh_f32(float x) { return asinhf(x); }
DEVICE float acosh_f32(float x) { return acoshf(x); }
DEVICE float atanh_f32(float x) { return atanhf(x); }
DEVICE float shrink_f32(float x, float limit, float bias)
{
    return x < -limit ? x + bias : x > limit ? x - bias : 0;
}
DEVICE float tanh_f32(float x) { return tanhf(x); }
DEVICE float erf_f32(float x) { return erff(x); }
DEVICE float sigmoid_f32(float x)
{
    const float e = expf(-fabsf(x));
    return (x < 0 ? e : 1) / (1 + e);
}
DEVICE float swish_f32(float x, float slope) { return x * sigmoid_f32(slope * x); }
DEVICE float silu_f32(float x) { return x * sigmoid_f32(x); }
DEVICE float gelu_f32(float x) { return x == -INFINITY ? -0.0f : 0.5f * x * erfcf(x * -0.70710678f); }
// Accurate to a few units in the last place, which is enough for results in 16 bits; tiny results are 0.
#ifndef EMULATED
DEVICE float short_reciprocal(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
DEVICE float short_exp2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
// One instruction, from which NaN comes out as NaN.
DEVICE float short_relu(float x)
{
#if __CUDA_ARCH__ >= 800
    float y;
    asm("max.NaN.f32 %0, %1, 0f00000000;" : "=f"(y) : "f"(x));
    return y;
#else
    return relu_f32(x);
#endif
}
#else
DEVICE float short_relu(float x) { return relu_f32(x); }
DEVICE float short_reciprocal(float x) { return 1 / x; }
DEVICE float short_exp2(float x) { return exp2f(x); }
#endif
// For results in 16 bits: relu(x) minus |x| erfc(|x| / sqrt(2)) / 2, which is |x| exp2(polynomial of |x|) with a relative error below
// 3e-5 up to 5.7, where results of float16 end, and below 1e-3 up to 14, without branches.
DEVICE float short_gelu_f32(float x)
{
    const float z = fminf(fabsf(x), 14);
    float p = 4.26905103e-8f;
    p = p * z - 2.48743725e-6f;
    p = p * z + 6.22910213e-5f;
    p = p * z - 8.90541782e-4f;
    p = p * z + 8.21345305e-3f;
    p = p * z - 5.30971999e-2f;
    p = p * z - 0.459580708f;
    p = p * z - 1.1507175f;
    p = p * z - 1.0000399f;
    return short_relu(x) - z * short_exp2(p);
}
// For results in 16 bits: x sigmoid(x).
DEVICE float short_silu_f32(float x)
{
    const float y = x < -100 ? -100 : x; // an infinity times 0 is no number
    return y * short_reciprocal(1 + short_exp2(-1.44269504f * y));
}
// 1/2 (1 + tanh(u)) is sigmoid(2u).
DEVICE float fast_gelu_f32(float x)
{
    return x == -INFINITY ? -0.0f : x * sigmoid_f32(x * (0.0713548163f * x * x + 1.59576912f));
}
DEVICE float bias_gelu_f32(float x, float bias) { return gelu_f32(x + bias); }
DEVICE float bias_fast_gelu_f32(float x, float bias) { return fast_gelu_f32(x + bias); }
DEVICE float softplus_f32(float x) { return x != x ? x : (x > 0 ? x : 0) + log1pf(expf(-fabsf(x))); }
// tanh(log(1 + e)) = n / (n + 2) for n = e (e + 2).
DEVICE float mish_f32(float x)
{
    const float e = expf(x > 20 ? 20 : x), n = e * (e + 2);
    return x * (n / (n + 2));
}
DEVICE float exponential(float x, float alpha, float gamma, float scale)
{
    return x > 0 || x != x ? gamma * x : gamma * (alpha * expm1f(x * scale));
}
DEVICE float elu_f32(float x, float alpha) { return exponential(x, alpha, 1, 1); }
DEVICE float selu_f32(float x, float alpha, float gamma) { return exponential(x, alpha, gamma, 1); }
DEVICE float celu_f32(float x, float alpha) { return exponential(x, alpha, 1, 1 / alpha); }
// To one of the exponents that need no logarithm.
DEVICE float power_f32(float x, float p)
{
    if (p == 2) return x * x;
    if (p == 3) return x * x * x;
    if (p == 0.5f) return x == -INFINITY ? INFINITY : sqrtf(x);
    return p == 1 ? x : 1 / x;
}
DEVICE int is_nan_f32(float x) { return x != x; }
DEVICE int is_inf_f32(float x, float positive, float negative)
{
    return (x == INFINITY && positive != 0) || (x == -INFINITY && negative != 0);
}

// ---- Comparisons, integers, truth values -----------------------------------------------------------

#define COMPARISONS(type)                                                \
    DEVICE int JOIN(equal_, type)(type x, type y) { return x == y; }     \
    DEVICE int JOIN(less_, type)(type x, type y) { return x < y; }       \
    DEVICE int JOIN(greater_, type)(type x, type y) { return x > y; }    \
    DEVICE int JOIN(less_equal_, type)(type x, type y) { return x <= y; } \
    DEVICE int JOIN(greater_equal_, type)(type x, type y) { return x >= y; }
COMPARISONS(f32)
COMPARISONS(i64)
COMPARISONS(i32)
COMPARISONS(u8)
COMPARISONS(i8)

// Sums and products wrap; a quotient by zero is 0.
#define INTEGERS(type, bits)                                                                 \
    DEVICE type JOIN(add_, type)(type x, type y) { return (type)((bits)x + (bits)y); }       \
    DEVICE type JOIN(sub_, type)(type x, type y) { return (type)((bits)x - (bits)y); }       \
    DEVICE type JOIN(mul_, type)(type x, type y) { return (type)((bits)x * (bits)y); }       \
    DEVICE type JOIN(div_, type)(type x, type y)                                             \
    {                                                                                        \
        if (y == -1) return (type)(0 - (bits)x);                                             \
        return y ? x / y : 0;                                                                \
    }                                                                                        \
    DEVICE type JOIN(mod_, type)(type x, type y)                                             \
    {                                                                                        \
        const type r = y == 0 || y == -1 ? 0 : x % y;                                        \
        return r && (r < 0) != (y < 0) ? r + y : r;                                          \
    }                                                                                        \
    DEVICE type JOIN(min_, type)(type x, type y) { return x < y ? x : y; }                   \
    DEVICE type JOIN(max_, type)(type x, type y) { return x > y ? x : y; }                   \
    DEVICE type JOIN(neg_, type)(type x) { return (type)(0 - (bits)x); }                     \
    DEVICE type JOIN(abs_, type)(type x) { return x < 0 ? (type)(0 - (bits)x) : x; }         \
    DEVICE type JOIN(sign_, type)(type x) { return (x > 0) - (x < 0); }
INTEGERS(i64, u64)
INTEGERS(i32, u32)

// Limits are whole numbers up to 2^24, or infinite.
#define CLIP_INTEGERS(type)                                                                  \
    DEVICE type JOIN(clip_, type)(type x, float low, float high)                             \
    {                                                                                        \
        const type raised = low > -3e38f && x < (type)low ? (type)low : x;                   \
        return high < 3e38f && raised > (type)high ? (type)high : raised;                    \
    }
CLIP_INTEGERS(i64)
CLIP_INTEGERS(i32)

#define BYTES(type)                                                                         \
    DEVICE type JOIN(add_, type)(type x, type y) { return (type)(x + y); }                  \
    DEVICE type JOIN(sub_, type)(type x, type y) { return (type)(x - y); }                  \
    DEVICE type JOIN(mul_, type)(type x, type y) { return (type)(x * y); }                  \
    DEVICE type JOIN(min_, type)(type x, type y) { return x < y ? x : y; }                  \
    DEVICE type JOIN(max_, type)(type x, type y) { return x > y ? x : y; }                  \
    DEVICE type JOIN(clip_, type)(type x, float low, float high)                            \
    {                                                                                       \
        return x < low ? (type)low : x > high ? (type)high : x;                             \
    }
BYTES(u8)
BYTES(i8)
DEVICE i8 relu_i8(i8 x) { return x < 0 ? 0 : x; }

DEVICE int equal_bool(int x, int y) { return x == y; }
DEVICE int and_bool(int x, int y) { return x & y; }
DEVICE int or_bool(int x, int y) { return x | y; }
DEVICE int xor_bool(int x, int y) { return x ^ y; }
DEVICE int not_bool(int x) { return !x; }

#define BITS(n, type, whole)                                                                     \
    DEVICE type bits_and_##n(type x, type y) { return x & y; }                                   \
    DEVICE type bits_or_##n(type x, type y) { return x | y; }                                    \
    DEVICE type bits_xor_##n(type x, type y) { return x ^ y; }                                   \
    DEVICE type bits_not_##n(type x) { return (type)~x; }                                        \
    DEVICE type shift_left_##n(type x, type y) { return y < 8 * n ? (type)(x << y) : 0; }        \
    DEVICE type shift_right_##n(type x, type y) { return y < 8 * n ? (type)(x >> y) : 0; }       \
    DEVICE type shift_signed_##n(type x, type y)                                                 \
    {                                                                                            \
        return (type)((whole)x >> (y < 8 * n ? y : 8 * n - 1));                                  \
    }
BITS(1, u8, i8)
BITS(2, u16, short)
BITS(4, u32, i32)
BITS(8, u64, i64)

DEVICE u8 where_1(int c, u8 x, u8 y) { return c ? x : y; }
DEVICE u16 where_2(int c, u16 x, u16 y) { return c ? x : y; }
DEVICE u32 where_4(int c, u32 x, u32 y) { return c ? x : y; }
DEVICE u64 where_8(int c, u64 x, u64 y) { return c ? x : y; }

// Truncates; the lowest number stands for what is out of range.
DEVICE i64 whole(double x)
{
    return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (i64)x : (i64)((u64)1 << 63);
}
