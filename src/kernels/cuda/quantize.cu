// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear and DequantizeLinear. X, SCALE, ZERO, Y: types; QUANTISES; FLOAT8: to or from float8; VECTOR: neighbours that a thread computes, with the same scale.
typedef struct quantize {
    const X *x;
    const SCALE *scale;
    const ZERO *zero; // NULL: none
    Y *y;
    uint64_t units, size, inner, block, blocks; // units: of VECTOR elements; the others see find_scale in quantize.c
    uint32_t per_tensor, blocked;
    int32_t low, high;
} quantize;

typedef struct ALIGNED(sizeof(X) * VECTOR) x_pack { X at[VECTOR]; } x_pack;
typedef struct ALIGNED(sizeof(Y) * VECTOR) y_pack { Y at[VECTOR]; } y_pack;

DEVICE uint64_t find_scale(const quantize *a, uint64_t i)
{
    if (a->per_tensor) return 0;
    const uint64_t line = quotient(i, a->inner), outer = quotient(line, a->size), along = line - outer * a->size;
    if (!a->blocked) return along;
    return (outer * a->blocks + quotient(along, a->block)) * a->inner + i - line * a->inner;
}

#if FLOAT8 && QUANTISES
DEVICE Y convert(X x, float scale, float zero, const quantize *a)
{
    (void)a;
    return NARROW(Y, WIDEN(SCALE, NARROW(SCALE, WIDEN(X, x) / scale)) + zero); // the quotient has the type of the scale
}
#elif FLOAT8
DEVICE Y convert(X x, float scale, float zero, const quantize *a)
{
    (void)a;
    return NARROW(Y, (float)MUL_F64((double)WIDEN(X, x) - (double)zero, (double)scale));
}
#elif QUANTISES
DEVICE Y convert(X x, float scale, int32_t zero, const quantize *a)
{
    const float v = WIDEN(X, x) / scale, within = fminf(fmaxf(v, (float)(a->low - zero)), (float)(a->high - zero));
    return (Y)((int32_t)ADD_F32(ADD_F32(within, ROUNDING_F32), -ROUNDING_F32) + zero);
}
#else
DEVICE Y convert(X x, float scale, int32_t zero, const quantize *a)
{
    (void)a;
    if (sizeof(X) == 4) return NARROW(Y, (float)MUL_F64((double)WIDEN(X, x) - (double)zero, (double)scale));
    return NARROW(Y, MUL_F32((float)((int32_t)WIDEN(X, x) - zero), scale));
}
#endif

KERNEL(run, quantize, 256)
{
    for (uint64_t unit = (uint64_t)BLOCK_X * 256 + THREAD; unit < a.units; unit += (uint64_t)BLOCKS_X * 256) {
        const uint64_t k = find_scale(&a, unit * VECTOR);
        const float scale = WIDEN(SCALE, a.scale[k]);
#if FLOAT8
        const float zero = a.zero ? WIDEN(ZERO, a.zero[k]) : 0;
#else
        const int32_t zero = a.zero ? (int32_t)WIDEN(ZERO, a.zero[k]) : 0;
#endif
        const x_pack x = ((const x_pack *)a.x)[unit];
        y_pack y;
        UNROLL for (int v = 0; v < VECTOR; v++) y.at[v] = convert(x.at[v], scale, zero, &a);
        ((y_pack *)a.y)[unit] = y;
    }
}
