// SPDX-License-Identifier: Apache-2.0
// Bytes that go from the registers of a product to rows of Y (DIRECT); text behind packed_sums.cu and byte_words.cu. Rows of packed W are in such an order
// (byte_columns_row) that the sums of a thread, of every 64 columns, are 16 neighbours of a row of Y. What is added to a sum is there
// before the products. ADDED_ROW: the same row is added to all. Y_KIND, Y_LOW, Y_HIGH: the type of Y and its limits; ABOVE, BELOW: results have a higher lowest, a lower highest byte.
typedef struct ALIGNED(16) four_ints { int32_t at[4]; } four_ints;
typedef struct ALIGNED(16) four_floats { float at[4]; } four_floats;

// Scales of a tile's columns: slightly too small, slightly too large, and exact. The exact ones are loaded for all columns, because the few results
// that need them would wait for memory. Behind them is the table, of which each lane has a copy in a memory bank of its own.
typedef struct ALIGNED(16) scale_room {
    float least[BN], most[BN];
    double exact[BN];
#if LOOKED_UP
    uint32_t table[64][32];
#endif
} scale_room;

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

// A barrier must follow.
DEVICE void load_scales(scale_room *room, const packed *a, uint32_t group, uint64_t n0)
{
    const uint64_t n = n0 + THREAD, at = group * a->n + n;
#if LOOKED_UP
    for (uint32_t i = THREAD; i < 64 * 32; i += PACKED_THREADS) room->table[i / 32][i % 32] = ((const uint32_t *)a->table)[i / 32];
#endif
    if (THREAD >= BN) return;
    room->least[THREAD] = n < a->n ? a->least[at] : 0;
    room->most[THREAD] = n < a->n ? a->most[at] : 0;
    room->exact[THREAD] = n < a->n ? a->scales[at] : 0;
}

DEVICE void begin_bytes(sums *s, const packed *a, uint32_t group, uint64_t m0, uint64_t n0)
{
    const four_ints none = {{0, 0, 0, 0}};
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
            r->at[c][h] = m < a->m && n < a->n ? *(const four_words *)(a->residual + (ADDED_ROW ? 0 : m * a->y_row) + group * a->n + n) : none;
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

// Result e of a thread's word. A margin to both sides of the sum of both bytes decides as the two scales do.
DEVICE int32_t scale_one(int32_t sum, float least, float most, const packed *a, uint64_t column, uint32_t rest, int e, uint32_t *differ)
{
    const byte_binary *const q = sum_at(a, column);
    const float middle = ROUNDING_F32 + (float)zero_at(a, column), low = ROUNDING_F32 + (float)a->low, high = ROUNDING_F32 + (float)a->high;
    const float zero = ROUNDING_F32 + (float)(q->a_zero - (int32_t)q->a_flip), rest_zero = 0x1p23f + (float)q->b_zero, end = ROUNDING_F32 + (float)q->limits.zero;
    const float x = fminf(fmaxf(bits_f32(scale_1(sum, least, most, middle, differ)), low), high);
    const float from = FMA_F32(ADD_F32(byte_above(rest ^ q->b_flip * 0x01010101, e), -rest_zero), q->b_factor, -q->margin);
    const float less = FMA_F32(ADD_F32(x, -zero), q->a_factor, from), more = ADD_F32(less, 2 * q->margin);
    const uint32_t lowest = f32_bits(ADD_F32(less, end)), highest = f32_bits(ADD_F32(more, end));
    *differ |= lowest ^ highest;
    return (int32_t)(lowest - f32_bits(ROUNDING_F32));
}
#else
typedef struct rests { four_words at[BN / 64][2]; } rests;
#define RESTS_EARLY 0
DEVICE void load_rests(rests *r, const packed *a, uint32_t group, uint64_t m0, uint64_t n0) { (void)r, (void)a, (void)group, (void)m0, (void)n0; }

DEVICE int32_t scale_one(int32_t sum, float least, float most, const packed *a, uint64_t column, uint32_t rest, int e, uint32_t *differ)
{
    int32_t v = (int32_t)(scale_1(sum, least, most, ROUNDING_F32 + (float)a->zero, differ) - f32_bits(ROUNDING_F32));
    (void)column, (void)rest, (void)e;
#if ABOVE
    v = v > a->low ? v : a->low;
#endif
#if BELOW
    v = v < a->high ? v : a->high;
#endif
    return v;
}
#endif

#ifndef EMULATED
#define LOWEST_BIT(x) (uint32_t)(__ffsll((long long)(x)) - 1)
#else
#define LOWEST_BIT(x) (uint32_t)__builtin_ctzll(x)
#endif

// The lanes of a warp for which `flag` is set.
DEVICE uint32_t lanes_with(int flag)
{
#ifndef EMULATED
    return __ballot_sync(0xffffffff, flag);
#else
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < 32; i++) lanes |= (SHUFFLE(flag, i) ? 1u : 0) << i;
    return lanes;
#endif
}

#ifdef BATCHED // one scale for all
#define SCALE_AT(a, scales, i) ((void)(scales), (a)->loose.alpha)
#else
#define SCALE_AT(a, scales, i) (scales)[i]
#endif

// Rounds by float64 the 16 results that a lane has of a row. All lanes call it, and each rounds one result: those of two lanes are done at once. `lanes`
// marks whose results to round, in its lower half of the first row, in its upper half of the second; `scales` are those of the 64 columns of a row.
DEVICE void settle(four_words *y, const int32_t (*sums)[16], uint64_t lanes, uint32_t column, const packed *a, const double *scales, const four_words *rest)
{
    const uint32_t own = THREAD % 16, lane = THREAD % 32;
    (void)rest;
    while (lanes) {
        const uint64_t others = lanes & (lanes - 1);
        const uint32_t one = LOWEST_BIT(lanes), two = others ? LOWEST_BIT(others) : one, place = lane < 16 ? one : two, from = place % 32;
        const uint32_t first = SHUFFLE(column, from);
        const byte_limits l = {zero_at(a, first), a->low, a->high};
        int32_t sum = 0;
        UNROLL for (uint32_t e = 0; e < 16; e++) {
            const int32_t v0 = SHUFFLE(sums[0][e], from), v1 = SHUFFLE(sums[1][e], from);
            if (own == e) sum = place < 32 ? v0 : v1;
        }
        u8 byte = (u8)exact_byte(MUL_F64((double)sum, SCALE_AT(a, scales, from % 4 * 16 + own)), l);
#if ADDED
        uint32_t other = 0;
        UNROLL for (uint32_t i = 0; i < 4; i++) {
            const uint32_t r0 = SHUFFLE(rest[0].at[i], from), r1 = SHUFFLE(rest[1].at[i], from);
            if (own / 4 == i) other = (place < 32 ? r0 : r1) >> own % 4 * 8;
        }
        byte = byte_sum(byte, (u8)other, sum_at(a, first));
#endif
        uint32_t word = (uint32_t)byte << own % 4 * 8;
        word |= SHUFFLE_XOR(word, 1);
        word |= SHUFFLE_XOR(word, 2);
        UNROLL for (uint32_t i = 0; i < 4; i++) {
            const uint32_t low = SHUFFLE(word, i * 4), high = SHUFFLE(word, 16 + i * 4);
            UNROLL for (uint32_t h = 0; h < 2; h++)
                if (one == h * 32 + lane) y[h].at[i] = low;
                else if (two == h * 32 + lane) y[h].at[i] = high;
        }
        lanes = others & (others - 1);
    }
}

#if LOOKED_UP
// Four bytes of the table.
DEVICE uint32_t look_up(const scale_room *room, uint32_t four)
{
    uint32_t v[4];
    UNROLL for (uint32_t e = 0; e < 4; e++) {
        const uint32_t byte = four >> e * 8;
        v[e] = *((const u8 *)room->table + ((byte << 5 & 0x1f80) | THREAD % 32 * 4 | (byte & 3)));
    }
    return low_bytes(v);
}
#endif

DEVICE void store_bytes(const packed *a, const scale_room *room, const sums *s, const rests *r, uint32_t group, uint64_t m0, uint64_t n0)
{
    const four_words none = {{0, 0, 0, 0}};
    (void)none, (void)r;
    UNROLL for (uint32_t c = 0; c < BN / 64; c++) {
        const uint64_t n = n0 + own_column(c), column = group * a->n + n;
        uint32_t differ[2] = {0, 0};
        four_words y[2];
#if ADDED
#define REST_OF(h) r->at[c][h]
#else
#define REST_OF(h) none
#endif
        UNROLL for (uint32_t i = 0; i < 4; i++) {
            const four_floats least = ((const four_floats *)(room->least + own_column(c)))[i], most = ((const four_floats *)(room->most + own_column(c)))[i];
            UNROLL for (uint32_t h = 0; h < 2; h++) {
                int32_t v[4];
                UNROLL for (uint32_t e = 0; e < 4; e++)
                    v[e] = scale_one(s->at[c * 8 + i * 2 + e / 2][h * 2 + e % 2], least.at[e], most.at[e], a, column, REST_OF(h).at[i], (int)e, &differ[h]);
                y[h].at[i] = four_bytes(v);
            }
        }
        int32_t v[2][16];
        uint64_t lanes = 0;
        UNROLL for (uint32_t h = 0; h < 2; h++) {
            lanes |= (uint64_t)lanes_with(m0 + own_row(h) < a->m && n < a->n && differ[h]) << h * 32;
            UNROLL for (uint32_t e = 0; e < 16; e++) v[h][e] = s->at[c * 8 + e / 2][h * 2 + e % 2];
        }
        const four_words rest[2] = {REST_OF(0), REST_OF(1)};
        if (lanes) settle(y, (const int32_t (*)[16])v, lanes, (uint32_t)column, a, room->exact + c * 64, rest); // few differ
        UNROLL for (uint32_t h = 0; h < 2; h++) {
            const uint64_t m = m0 + own_row(h);
            const int exists = m < a->m && n < a->n;
#if LOOKED_UP
            UNROLL for (uint32_t i = 0; i < 4; i++) y[h].at[i] = look_up(room, y[h].at[i]);
#endif
            if (exists) *(four_words *)(a->y + m * a->y_row + column) = y[h];
        }
    }
}
