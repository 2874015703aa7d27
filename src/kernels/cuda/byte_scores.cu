// SPDX-License-Identifier: Apache-2.0
// Scores of quantised queries and keys, and their shares; text in front of byte_attention.cu, behind mma.cu, groups.cu, bytes.cu, byte_binary.cu and
// byte_words.cu. All keys and values of a head are in shared memory, values turned. Rows of keys lie in an order in which the scores of a
// thread are four neighbours of a row, as the tensor cores take the left side of a product; columns of values so that its results are
// neighbours, too. Every rounding is that of the definition: where float32 is too close to a half, float64 decides.
//
// KEYS; SIZE: elements of a row of a head, 32 or 64; TEAMS: of four warps in a block; SHARES: 1, or 4 if the warps of a team have the same rows, each with
// its part of the keys, as few rows would leave most multiprocessors idle; SIGNED: bytes are int8, of kind T_KIND; MASKED; BLOCKS: that a
// multiprocessor shall run at the same time.
#ifndef EMULATED
#define FMA_F64(x, y, z) __fma_rn(x, y, z)
#else
#define FMA_F64(x, y, z) fma(x, y, z)
#endif
enum { TEAM_ROWS = 64 / SHARES, ATTENTION_THREADS = TEAMS * 128, ROWS = TEAMS * TEAM_ROWS, TILES = (KEYS + ROWS - 1) / ROWS };
enum { OWN_GROUPS = ((KEYS + 31) / 32 + SHARES - 1) / SHARES, OWN_KEYS = OWN_GROUPS * 32 }; // keys of a warp, in groups of 32
enum { LINE_BYTES = 128, KEY_GROUPS = OWN_GROUPS * SHARES, ALL_KEYS = KEY_GROUPS * 32, STEPS = SIZE / 32, CHUNKS = SIZE / 16, OWN = SIZE / 4 };
enum { AT_ONCE = OWN_GROUPS > 4 ? 32 : 64 }; // keys whose products a thread has at once
enum { WHOLE_KEYS = ALL_KEYS == KEYS, WHOLE_ROWS = KEYS % ROWS == 0, OWN_MASKS = (ALL_KEYS + ATTENTION_THREADS - 1) / ATTENTION_THREADS };
// A thread marks words with a byte that is too close to a half. With few rows, where a block waits for exact roundings, each word has a mark of its own.
enum { MARKS = SHARES > 1 ? OWN_GROUPS * 4 : 1 };

enum { KEY_BYTES = ALL_KEYS * LINE_BYTES, VALUE_TILE = SIZE * LINE_BYTES, UPWARD = SIGNED ? 128 : 0, LOWEST = -UPWARD };

typedef struct byte_attention {
    const u8 *x, *mask;
    u8 *y;
    uint64_t mask_batch; // bytes from one batch's mask to the next
    uint32_t heads, units; // units: of ROWS rows of a head of all batches
    int32_t q_zero, k_zero, v_zero;
    float score_least, score_most, y_least, y_most; // scales that are too small and too large
    double score_scale, share_scale, y_scale;
    byte_limits score, result;
    byte_binary sum; // of a score and the mask
    double powers[256]; // of a number that lies as many steps below the largest one
} byte_attention;

typedef struct attention_room {
    double exact[256];
    float fast[256][32]; // for each lane, whose memory bank is its own
    float from[ALL_KEYS]; // what the mask adds to a score, less a margin
#if SHARES > 1 // of 16 rows: of each warp the largest score and the sum of powers
    float most[SHARES][16];
    double sums[SHARES][16];
#else
    int32_t offsets[ALL_KEYS]; // what is added to products of a row of keys
#endif
} attention_room;

// The type of a sum of powers. It is float64 where there are few rows, because nearly every block has a share that needs the exact sum.
#if SHARES > 1
typedef double power_sum;
#else
typedef float power_sum;
#endif

// A thread's 8 words of 32 keys: of two halves of 16 keys and two rows.
typedef struct byte_scores { uint32_t at[OWN_GROUPS][2][2]; } byte_scores;

DEVICE uint32_t chunk_at(uint32_t row, uint32_t chunk) { return row * LINE_BYTES + (chunk ^ (row & 7)) * 16; }
DEVICE uint32_t key_row(uint32_t key) { return key / 32 * 32 + (key % 32 / 16 * 2 + key % 4 / 2) * 8 + key % 16 / 4 * 2 + key % 2; }
DEVICE uint32_t value_row(uint32_t column) { return column % OWN / 2 * 8 + column / OWN * 2 + column % 2; }
// A warp's part of the keys.
DEVICE uint32_t own_part(void) { return SHARES > 1 ? THREAD / 32 % SHARES : 0; }
// The first of a thread's four neighbouring keys.
DEVICE uint32_t first_key(uint32_t group, uint32_t half) { return own_part() * OWN_KEYS + group * 32 + half * 16 + THREAD % 4 * 4; }
// Is the key behind it an element of X? All keys of whole groups are.
DEVICE int is_key(uint32_t group, uint32_t half, uint32_t e) { return WHOLE_KEYS || (SHARES == 1 && (group + 1) * 32 <= KEYS) || first_key(group, half) + e < KEYS; }

// ---- Keys, values, mask ----------------------------------------------------------------------------

// Elements from one row of X to the next.
DEVICE uint32_t pitch_of(const byte_attention *a) { return 3 * a->heads * SIZE; }

DEVICE void bring_keys(char *tile, const u8 *from, const byte_attention *a)
{
    UNROLL for (uint32_t j = 0; j < (ALL_KEYS * CHUNKS + ATTENTION_THREADS - 1) / ATTENTION_THREADS; j++) {
        const uint32_t i = j * ATTENTION_THREADS + THREAD, key = i / CHUNKS, part = i % CHUNKS;
        if (ALL_KEYS * CHUNKS % ATTENTION_THREADS && i >= ALL_KEYS * CHUNKS) break;
        const int exists = WHOLE_KEYS || key < KEYS;
        copy_16(tile + chunk_at(key_row(key), part), exists ? from + (uint64_t)key * pitch_of(a) + part * 16 : from, exists);
    }
    COPIES_END();
}

DEVICE void bring_values(char *tile, const u8 *from, const byte_attention *a)
{
    UNROLL for (uint32_t j = 0; j < (ALL_KEYS / 16 * (SIZE / 4) + ATTENTION_THREADS - 1) / ATTENTION_THREADS; j++) {
        const uint32_t i = j * ATTENTION_THREADS + THREAD, column = i % (SIZE / 4) * 4, part = i / (SIZE / 4);
        if (ALL_KEYS / 16 * (SIZE / 4) % ATTENTION_THREADS && i >= ALL_KEYS / 16 * (SIZE / 4)) break;
        char *const to = tile + part / 8 * VALUE_TILE;
        four_words lines[4];
        UNROLL for (uint32_t q = 0; q < 4; q++) {
            uint32_t w[4], turned[4];
            UNROLL for (uint32_t e = 0; e < 4; e++) {
                const uint32_t key = part * 16 + q * 4 + e;
                w[e] = WHOLE_KEYS || key < KEYS ? *(const uint32_t *)(from + (uint64_t)key * pitch_of(a) + column) : 0;
            }
            turn_words(turned, w);
            UNROLL for (uint32_t e = 0; e < 4; e++) lines[e].at[q] = turned[e];
        }
        UNROLL for (uint32_t e = 0; e < 4; e++) *(four_words *)(to + chunk_at(value_row(column + e), part % 8)) = lines[e];
    }
}

// A byte of memory. The compiler does not move it behind what uses other memory.
DEVICE uint16_t load_early(const u8 *from)
{
#ifndef EMULATED
    uint16_t byte;
    asm volatile("ld.global.u8 %0, [%1];" : "=h"(byte) : "l"(from) : "memory");
    return byte;
#else
    return *from;
#endif
}

// Loads a thread's bytes of the mask, before any wait: later they would cost few rows another wait for memory.
DEVICE void load_mask(uint16_t *to, const byte_attention *a, uint32_t batch)
{
#if MASKED
    UNROLL for (uint32_t i = 0; i < OWN_MASKS; i++) {
        const uint32_t k = THREAD + i * ATTENTION_THREADS;
        to[i] = k < KEYS ? load_early(a->mask + batch * a->mask_batch + k) : 0;
    }
#endif
    (void)to, (void)a, (void)batch;
}

DEVICE void keep_mask(attention_room *room, const uint16_t *from, const byte_attention *a)
{
#if MASKED
    const byte_binary *const q = &a->sum;
    UNROLL for (uint32_t i = 0; i < OWN_MASKS; i++) {
        const uint32_t k = THREAD + i * ATTENTION_THREADS;
        if (k < ALL_KEYS) room->from[k] = FMA_F32((float)((int32_t)((u8)from[i] ^ q->b_flip) - q->b_zero), q->b_factor, -q->margin);
    }
#endif
    (void)room, (void)from, (void)a;
}

// Products begin with ROUNDING_F32, as which their bits are read later: no sum is as large as 2^22.
#if SHARES == 1
DEVICE void find_offsets(attention_room *room, const char *keys, const byte_attention *a)
{
    UNROLL for (uint32_t i = THREAD; i < ALL_KEYS * CHUNKS; i += ATTENTION_THREADS) {
        const uint32_t row = i / CHUNKS;
        int32_t sum = sum_of_bytes((const four_words *)(keys + chunk_at(row, i % CHUNKS)), SIGNED);
        UNROLL for (int lanes = CHUNKS / 2; lanes; lanes /= 2) sum += SHUFFLE_XOR(sum, lanes);
        if (i % CHUNKS == 0) room->offsets[row] = (int32_t)f32_bits(ROUNDING_F32) - a->q_zero * sum;
    }
}
#endif

// ---- Products --------------------------------------------------------------------------------------

#if HAS_GROUPS && SHARES == 1
#define DEFINE_ROWS(name, n, kinds, names, sums, x0, x1, x2, x3, b_name)                                                       \
    DEVICE void name(int32_t (*d)[4], const uint32_t *x, uint64_t b)                                                           \
    {                                                                                                                          \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\nwgmma.mma_async.sync.aligned.m64n" #n "k32.s32." kinds " {" names \
                     "}, {%" x0 ", %" x1 ", %" x2 ", %" x3 "}, %" b_name ", p;\n}\n"                                           \
                     : sums : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(b));                                             \
    }
DEFINE_ROWS(score_64, 64, T_KIND "." T_KIND, NAMES_32, SUMS_8(d, 0), "32", "33", "34", "35", "36")
DEFINE_ROWS(score_32, 32, T_KIND "." T_KIND, NAMES_16, SUMS_4(d, 0), "16", "17", "18", "19", "20")
#if SIZE == 64
DEFINE_ROWS(add_32_keys, 64, "u8." T_KIND, NAMES_32, SUMS_8(d, 0), "32", "33", "34", "35", "36")
#else
DEFINE_ROWS(add_32_keys, 32, "u8." T_KIND, NAMES_16, SUMS_4(d, 0), "16", "17", "18", "19", "20")
#endif

// Adds products with `count` rows of keys, 32 or 64, from row `first` on.
DEVICE void find_products(int32_t (*d)[4], const uint32_t (*q)[4], const char *keys, uint32_t first, int count)
{
    const uint64_t b = describe(shared_at(keys + first * LINE_BYTES));
    PRODUCTS_BEGIN();
    UNROLL for (int k = 0; k < STEPS; k++)
        if (count == 64) score_64(d, q[k], b + (uint64_t)k * 2);
        else score_32(d, q[k], b + (uint64_t)k * 2);
    PRODUCTS_END();
    PRODUCTS_WAIT(0);
}

DEVICE void add_values(int32_t (*d)[4], const byte_scores *s, const char *values)
{
    uint32_t w[OWN_GROUPS][4];
    UNROLL for (int g = 0; g < OWN_GROUPS; g++)
        UNROLL for (int i = 0; i < 4; i++) w[g][i] = s->at[g][i / 2][i % 2];
    PRODUCTS_BEGIN();
    UNROLL for (int g = 0; g < OWN_GROUPS; g++) add_32_keys(d, w[g], describe(shared_at(values + g / 4 * VALUE_TILE)) + (uint64_t)(g % 4) * 2);
    PRODUCTS_END();
    PRODUCTS_WAIT(0);
}
#else
#if HAS_MMA
DEVICE void multiply_scores(int32_t *d, const uint32_t *a, const uint32_t *b)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." T_KIND "." T_KIND ".s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif

// d += 16 rows of 32 bytes in registers times `count` rows of a tile, from chunk `chunk` on. `weighed`: the left side is shares, uint8.
DEVICE void multiply_rows(int32_t (*d)[4], const uint32_t *x, const char *tile, uint32_t first, int count, uint32_t chunk, int weighed)
{
    const uint32_t lane = THREAD % 32;
#if HAS_MMA
    UNROLL for (int j = 0; j < count / 8; j += 2) {
        uint32_t y[4];
        load_matrices(y, (const uint16_t *)(tile + chunk_at(first + (uint32_t)j * 8 + lane / 16 * 8 + lane % 8, chunk + lane / 8 % 2)));
        for (int i = 0; i < 2; i++)
            if (weighed) multiply(d[j + i], x, y + i * 2);
            else multiply_scores(d[j + i], x, y + i * 2);
    }
#else
    u8 own[2][32];
    for (uint32_t k = 0; k < 32; k++)
        for (uint32_t h = 0; h < 2; h++) own[h][k] = (u8)(SHUFFLE(x[k / 16 * 2 + h], lane / 4 * 4 + k % 16 / 4) >> k % 4 * 8);
    for (int i = 0; i < count / 2; i++)
        for (uint32_t k = 0; k < 32; k++) {
            const u8 byte = ((const u8 *)(tile + chunk_at(first + (uint32_t)i / 4 * 8 + lane % 4 * 2 + (uint32_t)i % 2, chunk + k / 16)))[k % 16], left = own[i % 4 / 2][k];
            d[i / 4][i % 4] += (SIGNED && !weighed ? (int8_t)left : left) * (SIGNED ? (int8_t)byte : byte);
        }
#endif
}

DEVICE void find_products(int32_t (*d)[4], const uint32_t (*q)[4], const char *keys, uint32_t first, int count)
{
    UNROLL for (uint32_t k = 0; k < STEPS; k++) multiply_rows(d, q[k], keys, first, count, k * 2, 0);
}

// Sums of the bytes of rows of keys, as products with ones. Each warp computes those that it needs, so no barrier is necessary.
DEVICE void find_key_sums(int32_t (*d)[4], const char *keys, uint32_t first, int count)
{
    const uint32_t ones[4] = {0x01010101, 0x01010101, 0x01010101, 0x01010101};
    UNROLL for (uint32_t k = 0; k < STEPS; k++) multiply_rows(d, ones, keys, first, count, k * 2, 0);
}

DEVICE void add_values(int32_t (*d)[4], const byte_scores *s, const char *values)
{
    UNROLL for (uint32_t g = 0; g < OWN_GROUPS; g++) {
        const uint32_t w[4] = {s->at[g][0][0], s->at[g][0][1], s->at[g][1][0], s->at[g][1][1]}, all = own_part() * OWN_GROUPS + g;
        multiply_rows(d, w, values + all / 4 * VALUE_TILE, 0, SIZE, all % 4 * 2, 1);
    }
}
#endif

// ---- Scores ----------------------------------------------------------------------------------------

// The bits of ROUNDING_F32 plus a score as an unsigned byte. `sum`: the bits of ROUNDING_F32 plus the product.
DEVICE float score_of(int32_t sum, float from, const byte_attention *a, uint32_t *differ)
{
    const float x = ADD_F32(bits_f32((uint32_t)sum), -ROUNDING_F32), most = ROUNDING_F32 + 255;
#if MASKED
    const byte_binary *const q = &a->sum;
    const float zero = ROUNDING_F32 + (float)a->score.zero, end = ROUNDING_F32 + (float)(q->limits.zero + UPWARD);
    const float first = bits_f32(scale_number(x, a->score_least, a->score_most, zero, differ));
    const float byte = fminf(fmaxf(first, ROUNDING_F32 + LOWEST), ROUNDING_F32 + (255 + LOWEST));
    const float less = FMA_F32(ADD_F32(byte, -(ROUNDING_F32 + (float)(q->a_zero - (int32_t)q->a_flip))), q->a_factor, from), more = ADD_F32(less, 2 * q->margin);
    const float low = ADD_F32(less, end);
    *differ |= f32_bits(low) ^ f32_bits(ADD_F32(more, end));
#else
    const float low = bits_f32(scale_number(x, a->score_least, a->score_most, ROUNDING_F32 + (float)(a->score.zero + UPWARD), differ));
    (void)from;
#endif
    return fminf(fmaxf(low, ROUNDING_F32), most);
}

// What few scores need: a function of its own keeps it out of the way of the others.
#ifndef EMULATED
#define SELDOM static __device__ __noinline__
#else
#define SELDOM DEVICE
#endif

SELDOM float exact_score(int32_t sum, uint32_t key, const byte_attention *a, uint32_t batch)
{
    u8 byte = (u8)exact_byte(MUL_F64((double)(sum - (int32_t)f32_bits(ROUNDING_F32)), a->score_scale), a->score);
#if MASKED
    if (key < KEYS) byte = byte_sum(byte, a->mask[batch * a->mask_batch + key], &a->sum);
#endif
    (void)key, (void)batch;
    return ROUNDING_F32 + (float)(byte ^ UPWARD);
}

// Four scores of which one at least is too close to a half.
DEVICE uint32_t exact_word(const int32_t *sums, uint32_t key, const attention_room *room, const byte_attention *a, uint32_t batch)
{
    uint32_t v[4];
    UNROLL for (uint32_t e = 0; e < 4; e++) {
        uint32_t own = 0;
        float score = score_of(sums[e], MASKED ? room->from[key + e] : 0, a, &own);
        if (own) score = exact_score(sums[e], key + e, a, batch);
        v[e] = f32_bits(score);
    }
    return low_bytes(v);
}

SELDOM uint32_t exact_scores(int32_t s0, int32_t s1, int32_t s2, int32_t s3, uint32_t key, const attention_room *room, const byte_attention *a, uint32_t batch)
{
    const int32_t sums[4] = {s0, s1, s2, s3};
    return exact_word(sums, key, room, a, batch);
}

// The scores of up to 64 keys of a thread's two rows. most: the largest of each row.
DEVICE void find_scores(byte_scores *s, float *most, int32_t (*d)[4], const attention_room *room, uint32_t first, uint32_t groups, const byte_attention *a, uint32_t batch)
{
    uint32_t differ[MARKS], any = 0;
    const float before[2] = {most[0], most[1]};
    UNROLL for (uint32_t i = 0; i < MARKS; i++) differ[i] = 0;
    UNROLL for (uint32_t i = 0; i < groups * 4; i++) {
        const uint32_t g = i / 4, half = i / 2 % 2, h = i % 2, key = first_key(first / 32 + g, half);
        uint32_t v[4];
        UNROLL for (uint32_t e = 0; e < 4; e++) {
            const float from = MASKED ? room->from[key + e] : 0, score = score_of(d[g * 4 + half * 2 + e / 2][h * 2 + e % 2], from, a, &differ[i % MARKS]);
            v[e] = f32_bits(score);
            if (is_key(first / 32 + g, half, e)) most[h] = fmaxf(most[h], score);
        }
        s->at[first / 32 + g][half][h] = low_bytes(v);
    }
    UNROLL for (uint32_t i = 0; i < MARKS; i++) any |= differ[i];
    if (!any) return;
    most[0] = before[0];
    most[1] = before[1];
    UNROLL for (uint32_t i = 0; i < groups * 4; i++) {
        const uint32_t g = i / 4, half = i / 2 % 2, h = i % 2, key = first_key(first / 32 + g, half);
        uint32_t *const four = &s->at[first / 32 + g][half][h];
        int32_t sums[4];
        UNROLL for (uint32_t e = 0; e < 4; e++) sums[e] = d[g * 4 + half * 2 + e / 2][h * 2 + e % 2];
        if (SHARES == 1) *four = exact_word(sums, key, room, a, batch);
        else if (differ[i % MARKS]) *four = exact_scores(sums[0], sums[1], sums[2], sums[3], key, room, a, batch);
        UNROLL for (uint32_t e = 0; e < 4; e++)
            if (key + e < KEYS) most[h] = fmaxf(most[h], bits_f32(f32_bits(ROUNDING_F32) | (*four >> e * 8 & 255)));
    }
}

// ---- Shares ----------------------------------------------------------------------------------------

DEVICE float most_of_lanes(float most)
{
    most = fmaxf(most, SHUFFLE_XOR(most, 1));
    return fmaxf(most, SHUFFLE_XOR(most, 2));
}

// Of byte e of the steps below the largest number.
DEVICE float power_of(const attention_room *room, uint32_t below, uint32_t e)
{
    const uint32_t step = (e ? below >> (e * 8 - 7) : below << 7) & 0x7f80;
    return *(const float *)((const char *)room->fast + (step | THREAD % 32 * 4));
}

// Of a lane's scores of row h, in float32 or float64.
#if SHARES > 1
DEVICE double own_powers(const byte_scores *s, const attention_room *room, uint32_t h, uint32_t most)
{
    double sums[4] = {0, 0, 0, 0};
    UNROLL for (uint32_t i = 0; i < OWN_GROUPS * 2; i++)
        UNROLL for (uint32_t e = 0; e < 4; e++)
            if (is_key(i / 2, i % 2, e)) sums[e] = ADD_F64(sums[e], room->exact[(most - s->at[i / 2][i % 2][h]) >> e * 8 & 255]);
    return ADD_F64(ADD_F64(sums[0], sums[1]), ADD_F64(sums[2], sums[3]));
}

DEVICE double sum_of_powers(const byte_scores *s, const attention_room *room, uint32_t h, uint32_t most)
{
    double sum = own_powers(s, room, h, most);
    sum = ADD_F64(sum, SHUFFLE_XOR(sum, 1));
    return ADD_F64(sum, SHUFFLE_XOR(sum, 2));
}
#else
DEVICE float sum_of_powers(const byte_scores *s, const attention_room *room, uint32_t h, uint32_t most)
{
    float sums[4] = {0, 0, 0, 0};
    UNROLL for (uint32_t i = 0; i < OWN_GROUPS * 2; i++)
        UNROLL for (uint32_t e = 0; e < 4; e++)
            if (is_key(i / 2, i % 2, e)) sums[e] = ADD_F32(sums[e], power_of(room, most - s->at[i / 2][i % 2][h], e));
    float sum = ADD_F32(ADD_F32(sums[0], sums[1]), ADD_F32(sums[2], sums[3]));
    sum = ADD_F32(sum, SHUFFLE_XOR(sum, 1));
    return ADD_F32(sum, SHUFFLE_XOR(sum, 2));
}

DEVICE double exact_sum(const byte_scores *s, const attention_room *room, uint32_t h, uint32_t most)
{
    double sum = 0;
    UNROLL for (uint32_t i = 0; i < OWN_GROUPS * 2; i++)
        UNROLL for (uint32_t e = 0; e < 4; e++)
            if (is_key(i / 2, i % 2, e)) sum = ADD_F64(sum, room->exact[(most - s->at[i / 2][i % 2][h]) >> e * 8 & 255]);
    sum = ADD_F64(sum, SHUFFLE_XOR(sum, 1));
    return ADD_F64(sum, SHUFFLE_XOR(sum, 2));
}
#endif

SELDOM uint32_t exact_share(double power, double sum, double scale)
{
    const byte_limits l = {0, 0, 255};
    return (uint32_t)exact_byte(power / sum / scale, l);
}

// The same. `near`: about one over sum and scale, within 2^-20 of it. Float64 without divisions, which take long, decides most of them.
DEVICE uint32_t close_share(double power, double sum, double scale, float near)
{
    const double whole = MUL_F64(sum, scale);
    double inverse = (double)near;
    UNROLL for (int i = 0; i < 2; i++) inverse = FMA_F64(inverse, FMA_F64(-whole, inverse, 1), inverse);
    const double v = MUL_F64(power, inverse), low = ADD_F64(ADD_F64(v, -0x1p-36), ROUNDING_F64), high = ADD_F64(ADD_F64(v, 0x1p-36), ROUNDING_F64);
    if (low != high || !(v < 256)) return exact_share(power, sum, scale);
    const uint32_t byte = (uint32_t)(int32_t)ADD_F64(low, -ROUNDING_F64);
    return byte < 255 ? byte : 255;
}

// A share less its zero point, which is the type's lowest byte, between two factors that are too small and too large.
DEVICE uint32_t share_of(float power, float low, float high, uint32_t *differ)
{
    const float most = ROUNDING_F32 + 255;
    const uint32_t bits = f32_bits(fminf(FMA_F32(power, low, ROUNDING_F32), most));
    *differ |= bits ^ f32_bits(fminf(FMA_F32(power, high, ROUNDING_F32), most));
    return bits;
}

// The shares of four scores, from key `key` on, that lie `below` the largest one.
DEVICE uint32_t exact_word_of_shares(uint32_t below, uint32_t key, float low, float high, double sum, const attention_room *room, const byte_attention *a)
{
    uint32_t four = 0;
    UNROLL for (uint32_t e = 0; e < 4; e++) {
        uint32_t own = 0, share = share_of(power_of(room, below, e), low, high, &own);
        if (own) share = close_share(room->exact[below >> e * 8 & 255], sum, a->share_scale, low);
        if (key + e < KEYS) four |= (share & 255) << e * 8;
    }
    return four;
}

SELDOM uint32_t exact_shares(uint32_t below, uint32_t key, float low, float high, double sum, const attention_room *room, const byte_attention *a)
{
    return exact_word_of_shares(below, key, low, high, sum, room, a);
}

#if SHARES == 1
DEVICE uint32_t any_lane(uint32_t bits)
{
#ifndef EMULATED
    return __any_sync(0xffffffff, bits != 0);
#else
    UNROLL for (int lanes = 16; lanes; lanes /= 2) bits |= SHUFFLE_XOR(bits, lanes);
    return bits;
#endif
}
#endif

// Turns scores into shares. `part` bounds the relative error of a share: that of a few roundings and, in float32, of the sum over a thread and its neighbours.
DEVICE void find_shares(byte_scores *s, const attention_room *room, uint32_t h, uint32_t most, power_sum sum, const byte_attention *a)
{
#if SHARES > 1
    const float part = 8 * 0x1p-24f, inverse = 1 / (float)MUL_F64(sum, a->share_scale);
#else
    const float part = (OWN_GROUPS * 2 + 15) * 0x1p-24f, inverse = 1 / MUL_F32(sum, (float)a->share_scale);
#endif
    const float low = MUL_F32(inverse, 1 - part), high = MUL_F32(inverse, 1 + part);
    uint32_t differ[MARKS], any = 0;
    byte_scores made;
    UNROLL for (uint32_t i = 0; i < MARKS; i++) differ[i] = 0;
    UNROLL for (uint32_t i = 0; i < OWN_GROUPS * 2; i++) {
        uint32_t v[4];
        UNROLL for (uint32_t e = 0; e < 4; e++)
            v[e] = is_key(i / 2, i % 2, e) ? share_of(power_of(room, most - s->at[i / 2][i % 2][h], e), low, high, &differ[i % MARKS]) : 0;
        made.at[i / 2][i % 2][h] = low_bytes(v);
    }
    UNROLL for (uint32_t i = 0; i < MARKS; i++) any |= differ[i];
#if SHARES > 1
    if (any)
        UNROLL for (uint32_t i = 0; i < OWN_GROUPS * 2; i++)
            if (differ[i]) made.at[i / 2][i % 2][h] = exact_shares(most - s->at[i / 2][i % 2][h], first_key(i / 2, i % 2), low, high, sum, room, a);
#else
    if (any_lane(any)) {
        const double exact = exact_sum(s, room, h, most);
        UNROLL for (uint32_t i = 0; i < OWN_GROUPS * 2; i++)
            made.at[i / 2][i % 2][h] = exact_word_of_shares(most - s->at[i / 2][i % 2][h], first_key(i / 2, i % 2), low, high, exact, room, a);
    }
#endif
    UNROLL for (uint32_t i = 0; i < OWN_GROUPS * 2; i++) s->at[i / 2][i % 2][h] = made.at[i / 2][i % 2][h];
}
