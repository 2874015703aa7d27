// SPDX-License-Identifier: Apache-2.0
// Bytes in words: turned, added, and made of sums; text in front of byte_rows.cu and byte_attention.cu. Y_KIND, Y_LOW, Y_HIGH: the type of results and its limits.
typedef struct ALIGNED(16) four_words { uint32_t at[4]; } four_words;

// The bytes of four words as columns: word e of the result has byte e of each.
DEVICE void turn_words(uint32_t *to, const uint32_t *w)
{
#ifndef EMULATED
    UNROLL for (uint32_t h = 0; h < 2; h++) {
        const uint32_t pick = h ? 0x7362 : 0x5140, low = __byte_perm(w[0], w[1], pick), high = __byte_perm(w[2], w[3], pick);
        to[h * 2] = __byte_perm(low, high, 0x5410);
        to[h * 2 + 1] = __byte_perm(low, high, 0x7632);
    }
#else
    for (uint32_t e = 0; e < 4; e++) {
        to[e] = 0;
        for (uint32_t i = 0; i < 4; i++) to[e] |= (w[i] >> e * 8 & 255) << i * 8;
    }
#endif
}

// `sum` and the four bytes.
DEVICE int32_t add_bytes(uint32_t four, int is_signed, int32_t sum)
{
#ifndef EMULATED
    return is_signed ? __dp4a((int32_t)four, 0x01010101, sum) : (int32_t)__dp4a(four, 0x01010101u, (uint32_t)sum);
#else
    for (int e = 0; e < 4; e++) sum += is_signed ? (int8_t)(four >> e * 8) : (u8)(four >> e * 8);
    return sum;
#endif
}

DEVICE int32_t sum_of_bytes(const four_words *c, int is_signed)
{
    int32_t sum = 0;
    UNROLL for (int i = 0; i < 4; i++) sum = add_bytes(c->at[i], is_signed, sum);
    return sum;
}

// Four numbers as bytes; those beyond the type's limits become these.
DEVICE uint32_t four_bytes(const int32_t *v)
{
#if !defined(EMULATED) && __CUDA_ARCH__ >= 720
    uint32_t y;
    asm("{\n.reg .b32 high;\ncvt.pack.sat." Y_KIND ".s32.b32 high, %4, %3, 0;\ncvt.pack.sat." Y_KIND ".s32.b32 %0, %2, %1, high;\n}\n"
        : "=r"(y) : "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]));
    return y;
#else
    uint32_t y = 0;
    for (uint32_t e = 0; e < 4; e++) y |= (uint32_t)(u8)(v[e] < Y_LOW ? Y_LOW : v[e] > Y_HIGH ? Y_HIGH : v[e]) << e * 8;
    return y;
#endif
}

// The lowest bytes of four numbers.
DEVICE uint32_t low_bytes(const uint32_t *v)
{
#ifndef EMULATED
    return __byte_perm(__byte_perm(v[0], v[1], 0x0040), __byte_perm(v[2], v[3], 0x0040), 0x5410);
#else
    return (v[0] & 255) | (v[1] & 255) << 8 | (v[2] & 255) << 16 | v[3] << 24;
#endif
}

// Multiplies a number by a scale that is too small and by one that is too large. If both float32 results are equal, so is the exact product
// once it is rounded; if not, or if the result is too large for float32, bits of *differ are set. `middle` is added: with ROUNDING_F32 the sum's
// lowest bits are the rounded result.
DEVICE uint32_t scale_number(float x, float least, float most, float middle, uint32_t *differ)
{
    const uint32_t low = f32_bits(FMA_F32(x, least, middle)), high = f32_bits(FMA_F32(x, most, middle));
    *differ |= low ^ high;
    return low;
}

// The same of a sum.
DEVICE uint32_t scale_1(int32_t sum, float least, float most, float middle, uint32_t *differ)
{
    return scale_number((float)sum, least, most, middle, differ);
}
