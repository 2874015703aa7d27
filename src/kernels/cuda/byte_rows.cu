// SPDX-License-Identifier: Apache-2.0
// Bytes that go from the registers of a product to rows of Y (DIRECT); text behind packed_sums.cu. Rows of packed W are in such an order
// (byte_columns_row) that the sums of a thread, of every 64 columns, are 16 neighbours of a row of Y. What is added to a sum is there
// before the products. Y_KIND, Y_LOW, Y_HIGH: the type of Y and its limits; ABOVE, BELOW: results have a higher lowest, a lower highest byte.
typedef struct ALIGNED(16) four_ints { int32_t at[4]; } four_ints;
typedef struct ALIGNED(16) four_floats { float at[4]; } four_floats;
typedef struct ALIGNED(16) four_words { uint32_t at[4]; } four_words;

// Scales of a tile's columns that are too small and too large.
typedef struct ALIGNED(16) scale_room { float least[BN], most[BN]; } scale_room;

DEVICE uint32_t own_row(uint32_t h) { return THREAD / 32 * 16 + THREAD % 32 / 4 + h * 8; }
DEVICE uint32_t own_column(uint32_t c) { return c * 64 + THREAD % 4 * 16; }

// What is added to the sums of a row, for each column of the group.
DEVICE const int32_t *offsets_of(const packed *a, uint32_t group, uint64_t m)
{
#if MAPPED
    const uint32_t row = (uint32_t)(m < a->m ? m : a->m - 1), pixel = row - row / a->pixels * a->pixels, line = pixel / a->out_width;
    return a->mapped + (uint64_t)(a->row_kinds[line] * a->kinds + a->column_kinds[pixel - line * a->out_width]) * a->kind_pitch + group * a->n;
#else
    (void)m;
    return a->offsets + group * a->n;
#endif
}

DEVICE void begin_bytes(sums *s, scale_room *room, const packed *a, uint32_t group, uint64_t m0, uint64_t n0)
{
    const four_ints none = {{0, 0, 0, 0}};
    if (THREAD < BN) {
        const uint64_t n = n0 + THREAD, at = group * a->n + n;
        room->least[THREAD] = n < a->n ? a->least[at] : 0;
        room->most[THREAD] = n < a->n ? a->most[at] : 0;
    }
    UNROLL for (uint32_t h = 0; h < 2; h++) {
        const int32_t *const from = offsets_of(a, group, m0 + own_row(h));
        UNROLL for (uint32_t c = 0; c < BN / 64; c++) {
            const uint64_t n = n0 + own_column(c);
            UNROLL for (uint32_t i = 0; i < 4; i++) {
                const four_ints v = n < a->n ? ((const four_ints *)(from + n))[i] : none;
                UNROLL for (uint32_t e = 0; e < 4; e++) s->at[c * 8 + i * 2 + e / 2][h * 2 + e % 2] = v.at[e];
            }
        }
    }
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

// A sum times scales that are too small and too large, in float32 and rounded: where both agree, so does the exact product. *differ becomes
// not 0 if they do not, as where it is too large for float32. The bits are those of the result plus ROUNDING_F32.
DEVICE uint32_t scale_1(int32_t sum, float least, float most, float middle, uint32_t *differ)
{
    const float x = (float)sum;
    const uint32_t low = f32_bits(FMA_F32(x, least, middle)), high = f32_bits(FMA_F32(x, most, middle));
    *differ |= low ^ high;
    return low;
}

#if ADDED
// What is added to a thread's results.
typedef struct rests { four_words at[BN / 64][2]; } rests;
#define RESTS_EARLY (BN == 64) // else registers do not suffice

DEVICE void load_rests(rests *r, const packed *a, uint32_t group, uint64_t m0, uint64_t n0)
{
    const four_words none = {{0, 0, 0, 0}};
    UNROLL for (uint32_t c = 0; c < BN / 64; c++)
        UNROLL for (uint32_t h = 0; h < 2; h++) {
            const uint64_t m = m0 + own_row(h), n = n0 + own_column(c);
            r->at[c][h] = m < a->m && n < a->n ? *(const four_words *)(a->residual + m * a->y_row + group * a->n + n) : none;
        }
}

// Byte e of four, as a number in float32 plus 2^23.
DEVICE float byte_above(uint32_t four, int e)
{
#ifndef EMULATED
    return bits_f32(__byte_perm(four, 0x4b000000, 0x7540 + (uint32_t)e));
#else
    return bits_f32(0x4b000000 | (four >> e * 8 & 0xff));
#endif
}

DEVICE uint32_t flip_of(uint32_t flip) { return flip * 0x01010101; }

// A margin to both sides of the sum of both bytes decides as the two scales do.
DEVICE uint32_t scale_4(const int32_t *sums, four_floats least, four_floats most, const packed *a, uint32_t rest, uint32_t *differ)
{
    const byte_binary *const q = &a->sum;
    const float middle = ROUNDING_F32 + (float)a->zero, low = ROUNDING_F32 + (float)a->low, high = ROUNDING_F32 + (float)a->high;
    const float zero = ROUNDING_F32 + (float)(q->a_zero - (int32_t)q->a_flip), rest_zero = 0x1p23f + (float)q->b_zero, end = ROUNDING_F32 + (float)q->limits.zero;
    const uint32_t flipped = rest ^ flip_of(q->b_flip);
    int32_t v[4];
    UNROLL for (int e = 0; e < 4; e++) {
        const float x = fminf(fmaxf(bits_f32(scale_1(sums[e], least.at[e], most.at[e], middle, differ)), low), high);
        const float from = FMA_F32(ADD_F32(byte_above(flipped, e), -rest_zero), q->b_factor, -q->margin);
        const float less = FMA_F32(ADD_F32(x, -zero), q->a_factor, from), more = ADD_F32(less, 2 * q->margin);
        const uint32_t lowest = f32_bits(ADD_F32(less, end)), highest = f32_bits(ADD_F32(more, end));
        *differ |= lowest ^ highest;
        v[e] = (int32_t)(lowest - f32_bits(ROUNDING_F32));
    }
    return four_bytes(v);
}

DEVICE int32_t finish_exactly(int32_t byte, const packed *a, uint32_t rest, uint32_t e)
{
    return byte_sum((u8)byte, (u8)(rest >> e * 8), &a->sum);
}
#else
typedef struct rests { four_words at[BN / 64][2]; } rests;
#define RESTS_EARLY 0
DEVICE void load_rests(rests *r, const packed *a, uint32_t group, uint64_t m0, uint64_t n0) { (void)r, (void)a, (void)group, (void)m0, (void)n0; }

DEVICE uint32_t scale_4(const int32_t *sums, four_floats least, four_floats most, const packed *a, uint32_t rest, uint32_t *differ)
{
    const float middle = ROUNDING_F32 + (float)a->zero;
    int32_t v[4];
    (void)rest;
    UNROLL for (int e = 0; e < 4; e++) {
        v[e] = (int32_t)(scale_1(sums[e], least.at[e], most.at[e], middle, differ) - f32_bits(ROUNDING_F32));
#if ABOVE
        v[e] = v[e] > a->low ? v[e] : a->low;
#endif
#if BELOW
        v[e] = v[e] < a->high ? v[e] : a->high;
#endif
    }
    return four_bytes(v);
}

DEVICE int32_t finish_exactly(int32_t byte, const packed *a, uint32_t rest, uint32_t e)
{
    (void)a, (void)rest, (void)e;
    return byte;
}
#endif

DEVICE uint32_t scale_4_exactly(const int32_t *sums, const double *scales, const packed *a, uint32_t rest)
{
    const byte_limits l = {a->zero, a->low, a->high};
    uint32_t y = 0;
    UNROLL for (uint32_t e = 0; e < 4; e++) y |= (uint32_t)(u8)finish_exactly(exact_byte(MUL_F64((double)sums[e], scales[e]), l), a, rest, e) << e * 8;
    return y;
}

DEVICE void store_bytes(const packed *a, const scale_room *room, const sums *s, const rests *r, uint32_t group, uint64_t m0, uint64_t n0)
{
    UNROLL for (uint32_t c = 0; c < BN / 64; c++) {
        const uint64_t n = n0 + own_column(c), column = group * a->n + n;
        uint32_t differ[2] = {0, 0};
        four_words y[2];
        if (n >= a->n) break;
#define SUMS_OF(h, i) {s->at[c * 8 + i * 2][h * 2], s->at[c * 8 + i * 2][h * 2 + 1], s->at[c * 8 + i * 2 + 1][h * 2], s->at[c * 8 + i * 2 + 1][h * 2 + 1]}
#define REST_OF(h, i) (ADDED ? r->at[c][h].at[i] : 0)
        UNROLL for (uint32_t i = 0; i < 4; i++) {
            const four_floats least = ((const four_floats *)(room->least + own_column(c)))[i], most = ((const four_floats *)(room->most + own_column(c)))[i];
            UNROLL for (uint32_t h = 0; h < 2; h++) {
                const int32_t v[4] = SUMS_OF(h, i);
                y[h].at[i] = scale_4(v, least, most, a, REST_OF(h, i), &differ[h]);
            }
        }
        UNROLL for (uint32_t h = 0; h < 2; h++) {
            const uint64_t m = m0 + own_row(h);
            if (differ[h]) // few do, so one branch for all is best
                UNROLL for (uint32_t i = 0; i < 4; i++) {
                    const int32_t v[4] = SUMS_OF(h, i);
                    y[h].at[i] = scale_4_exactly(v, a->scales + column + i * 4, a, REST_OF(h, i));
                }
            if (m < a->m) *(four_words *)(a->y + m * a->y_row + column) = y[h];
        }
    }
}
