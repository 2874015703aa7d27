// SPDX-License-Identifier: Apache-2.0
// Attention between Q/DQ, pgy:QLinearAttention; behind byte_scores.cu. A warp computes 16 query rows of a head, and keeps the bytes of their
// scores, later those of their shares, in registers.
// ---- Results ---------------------------------------------------------------------------------------

// COUNT neighbours of a row of Y. The zero point of values is taken off already.
enum { COUNT = SHARES > 1 ? SIZE / 8 : OWN };
typedef struct ALIGNED(COUNT) own_bytes { uint32_t at[COUNT / 4]; } own_bytes;

DEVICE own_bytes results_of(const int32_t *sums, const byte_attention *a)
{
    uint32_t differ = 0;
    own_bytes y;
    UNROLL for (uint32_t i = 0; i < COUNT / 4; i++) {
        int32_t v[4];
        UNROLL for (uint32_t e = 0; e < 4; e++)
            v[e] = (int32_t)(scale_1(sums[i * 4 + e], a->y_least, a->y_most, ROUNDING_F32 + (float)a->result.zero, &differ) - f32_bits(ROUNDING_F32));
        y.at[i] = four_bytes(v);
    }
    if (differ)
        UNROLL for (uint32_t i = 0; i < COUNT / 4; i++) {
            int32_t v[4];
            UNROLL for (uint32_t e = 0; e < 4; e++) v[e] = exact_byte(MUL_F64((double)sums[i * 4 + e], a->y_scale), a->result);
            y.at[i] = four_bytes(v);
        }
    return y;
}

DEVICE void store_own(own_bytes y, const byte_attention *a, uint32_t batch, uint32_t head, uint32_t row, uint32_t column)
{
    if (row < KEYS) *(own_bytes *)(a->y + ((uint64_t)batch * KEYS + row) * a->heads * SIZE + head * SIZE + column) = y;
}

// The sums of a thread's neighbours in row h. The zero point of values counts as often as the shares say.
DEVICE void take_sums(int32_t *sums, int32_t (*d)[4], const byte_scores *s, uint32_t h, const byte_attention *a)
{
    int32_t shares = 0;
    UNROLL for (uint32_t i = 0; i < OWN_GROUPS * 2; i++) shares = add_bytes(s->at[i / 2][i % 2][h], 0, shares);
    shares += SHUFFLE_XOR(shares, 1);
    shares += SHUFFLE_XOR(shares, 2);
    UNROLL for (uint32_t e = 0; e < OWN; e++) sums[e] = d[e / 2][h * 2 + e % 2] - a->v_zero * shares;
}

// ---- Rows of a head --------------------------------------------------------------------------------

// The bytes of two rows as the left side of products.
DEVICE void load_queries(uint32_t (*q)[4], const u8 *from, uint32_t row, const byte_attention *a)
{
    UNROLL for (uint32_t k = 0; k < STEPS; k++)
        UNROLL for (uint32_t i = 0; i < 4; i++) {
            const uint32_t own = row + i % 2 * 8;
            q[k][i] = WHOLE_ROWS || own < KEYS ? *(const uint32_t *)(from + (uint64_t)own * pitch_of(a) + k * 32 + i / 2 * 16 + THREAD % 4 * 4) : 0;
        }
}

// What the sums and zero points of these rows add to products.
DEVICE void find_added(int32_t *added, const uint32_t (*q)[4], const byte_attention *a)
{
    int32_t sums[2] = {0, 0};
    UNROLL for (uint32_t k = 0; k < STEPS; k++)
        UNROLL for (uint32_t i = 0; i < 4; i++) sums[i % 2] = add_bytes(q[k][i], SIGNED, sums[i % 2]);
    UNROLL for (uint32_t h = 0; h < 2; h++) {
        sums[h] += SHUFFLE_XOR(sums[h], 1);
        sums[h] += SHUFFLE_XOR(sums[h], 2);
        added[h] = a->q_zero * a->k_zero * SIZE - a->k_zero * sums[h];
    }
}

typedef struct heads_place { uint32_t batch, head, row; } heads_place; // row: the first one of a thread

// Of both rows the largest score, four times; of warps that share rows, of all.
DEVICE void find_most(uint32_t *to, float *most, attention_room *room)
{
    UNROLL for (uint32_t h = 0; h < 2; h++) most[h] = most_of_lanes(most[h]);
#if SHARES > 1
    const uint32_t row = THREAD % 32 / 4;
    UNROLL for (uint32_t h = 0; h < 2; h++) room->most[own_part()][row + h * 8] = most[h];
    BARRIER();
    UNROLL for (uint32_t h = 0; h < 2; h++)
        UNROLL for (uint32_t i = 0; i < SHARES; i++) most[h] = fmaxf(most[h], room->most[i][row + h * 8]);
#endif
    UNROLL for (uint32_t h = 0; h < 2; h++) to[h] = (f32_bits(most[h]) & 255) * 0x01010101;
    (void)room;
}

// Of both rows the sum of powers, in the order of the parts.
DEVICE void find_sums(power_sum *to, const byte_scores *s, const uint32_t *most, attention_room *room)
{
    UNROLL for (uint32_t h = 0; h < 2; h++) to[h] = sum_of_powers(s, room, h, most[h]);
#if SHARES > 1
    const uint32_t row = THREAD % 32 / 4;
    UNROLL for (uint32_t h = 0; h < 2; h++) room->sums[own_part()][row + h * 8] = to[h];
    BARRIER();
    UNROLL for (uint32_t h = 0; h < 2; h++) {
        to[h] = room->sums[0][row + h * 8];
        UNROLL for (uint32_t i = 1; i < SHARES; i++) to[h] = ADD_F64(to[h], room->sums[i][row + h * 8]);
    }
#endif
}

#if SHARES > 1
typedef struct ALIGNED(16) four_sums { int32_t at[4]; } four_sums;

// The place in shared memory, over the keys, of a part's sums of four columns of a row. Eight lanes write sums of two rows at a time, and this order
// gives each of them its own banks.
DEVICE four_sums *sums_at(char *keys, uint32_t part, uint32_t row, uint32_t column)
{
    const uint32_t chunk = (column % OWN / 4 * 4 + column / OWN) ^ (row % 2 * 4);
    return (four_sums *)keys + (part * 16 + row) * (SIZE / 4) + chunk;
}

// Each warp has sums of its keys.
DEVICE void store_results(const byte_attention *a, char *keys, int32_t (*d)[4], const byte_scores *s, heads_place p)
{
    int32_t sums[OWN];
    const uint32_t row = THREAD / 8, column = THREAD % 8 * COUNT;
    UNROLL for (uint32_t h = 0; h < 2; h++) {
        take_sums(sums, d, s, h, a);
        UNROLL for (uint32_t e = 0; e < OWN; e += 4) {
            const four_sums four = {{sums[e], sums[e + 1], sums[e + 2], sums[e + 3]}};
            *sums_at(keys, own_part(), THREAD % 32 / 4 + h * 8, THREAD % 4 * OWN + e) = four;
        }
    }
    BARRIER();
    UNROLL for (uint32_t e = 0; e < COUNT; e++) sums[e] = 0;
    UNROLL for (uint32_t i = 0; i < SHARES; i++)
        UNROLL for (uint32_t e = 0; e < COUNT; e++) sums[e] += sums_at(keys, i, row, column + e / 4 * 4)->at[e % 4];
    store_own(results_of(sums, a), a, p.batch, p.head, p.row - THREAD % 32 / 4 + row, column);
}
#else
DEVICE void store_results(const byte_attention *a, char *keys, int32_t (*d)[4], const byte_scores *s, heads_place p)
{
    (void)keys;
    UNROLL for (uint32_t h = 0; h < 2; h++) {
        int32_t sums[OWN];
        take_sums(sums, d, s, h, a);
        store_own(results_of(sums, a), a, p.batch, p.head, p.row + h * 8, THREAD % 4 * OWN);
    }
}
#endif

DEVICE void attend(const byte_attention *a, attention_room *room, char *keys, const char *values, uint32_t (*q)[4], const int32_t *added, heads_place p)
{
    byte_scores s;
    float most[2] = {ROUNDING_F32, ROUNDING_F32};
    power_sum sums[2];
    uint32_t largest[2];
    UNROLL for (uint32_t first = 0; first < OWN_KEYS; first += AT_ONCE) {
        int32_t d[AT_ONCE / 8][4];
        const int count = OWN_KEYS - first < AT_ONCE ? 32 : AT_ONCE;
        const uint32_t row = own_part() * OWN_KEYS + first;
#if SHARES > 1
        UNROLL for (int i = 0; i < count / 2; i++) d[i / 4][i % 4] = 0;
        find_key_sums(d, keys, row, count);
        UNROLL for (int i = 0; i < count / 2; i++) d[i / 4][i % 4] = (int32_t)f32_bits(ROUNDING_F32) + added[i % 4 / 2] - a->q_zero * d[i / 4][i % 4];
#else
        UNROLL for (int i = 0; i < count / 2; i++) d[i / 4][i % 4] = room->offsets[row + (uint32_t)i / 4 * 8 + THREAD % 4 * 2 + (uint32_t)i % 2] + added[i % 4 / 2];
#endif
        find_products(d, (const uint32_t (*)[4])q, keys, row, count);
        find_scores(&s, most, d, room, first, (uint32_t)count / 32, a, p.batch);
    }
    find_most(largest, most, room);
    find_sums(sums, &s, largest, room);
    UNROLL for (uint32_t h = 0; h < 2; h++) find_shares(&s, room, h, largest[h], sums[h], a);
    int32_t d[SIZE / 8][4];
    UNROLL for (int i = 0; i < SIZE / 2; i++) d[i / 4][i % 4] = 0;
    add_values(d, &s, values);
    store_results(a, keys, d, &s, p);
}

KERNEL_CLUSTER(run, byte_attention, ATTENTION_THREADS, BLOCKS, 1)
{
    SHARED_ROOM(dynamic);
    SHARED attention_room room;
#ifdef EMULATED
    char *const keys = dynamic;
#else
    char *const keys = dynamic + (-(uint32_t)__cvta_generic_to_shared(dynamic) & 1023);
#endif
    char *const values = keys + KEY_BYTES;
    for (uint32_t i = THREAD; i < 256; i += ATTENTION_THREADS) room.exact[i] = a.powers[i];
    for (uint32_t i = THREAD; i < 256 * 32; i += ATTENTION_THREADS) room.fast[i / 32][i % 32] = (float)a.powers[i / 32];
    for (uint32_t unit = BLOCK_X; unit < a.units; unit += BLOCKS_X) {
        const uint32_t tile = unit % TILES, line = unit / TILES, batch = line / a.heads, head = line - batch * a.heads;
        const u8 *const x = a.x + (uint64_t)batch * KEYS * pitch_of(&a) + head * SIZE;
        const heads_place p = {batch, head, tile * ROWS + THREAD / 32 / SHARES * 16 + THREAD % 32 / 4};
        uint32_t q[STEPS][4];
        int32_t added[2];
        uint16_t mask[OWN_MASKS];
        if (unit == BLOCK_X) WAIT_FOR_LAST(); // places are known by then
        else BARRIER(); // all have read what lies there
        bring_keys(keys, x + a.heads * SIZE, &a);
        load_mask(mask, &a, batch);
        load_queries(q, x, p.row, &a);
        bring_values(values, x + 2 * a.heads * SIZE, &a);
        find_added(added, (const uint32_t (*)[4])q, &a);
        keep_mask(&room, mask, &a);
        COPIES_WAIT(0);
        BARRIER();
#if SHARES == 1
        find_offsets(&room, keys, &a);
        SHOW_TILES();
        BARRIER();
#endif
        attend(&a, &room, keys, values, q, added, p);
    }
}
