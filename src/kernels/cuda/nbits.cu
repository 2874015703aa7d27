// SPDX-License-Identifier: Apache-2.0
// What nbits_few.cu and nbits_tile.cu share; text in front of both: products of rows of X and weights of 4 bits with a scale, and maybe
// a zero point, for each block of k: Y[m, n] = sum of X[m, k] * (code[n, k] - zero[n, block]) * scale[n, block]. Weights are the left side
// of the tensor cores' products, 16 columns at a time, in the order in which threads need them: a thread's 16 bytes are its part of 64 k.
// They become numbers in registers, integers minus zero points, which are exact in 16 bits; sums of a block are multiplied by the scale in
// float32. X in float32 is cut into three bf16, which together are exact.
//
// IN: type of X; X: type of the products, f16 or bf16 (TENSOR 1, 2); PARTS: of a number of X, 1 or 3; SCALE, of SCALE_WORDS words for
// two, BIAS, Y: types; BIASED; ZEROS: 0 none, 1 codes, 2 float32; SUB: k that share a scale, 16, 32 or 64, of which SPAN follow each other in a block.
enum { SUBS = 64 / SUB, TILE = 16, GROUP = 64, HALF = 32 };

typedef struct nbits {
    const IN *x;
    const uint32_t *codes; // of a tile and a group of 64 k: 16 bytes for each lane
    const SCALE *scales;   // of a tile and a block: for each of 8 columns those of itself and of the eighth behind it
    const u8 *zeros;       // as scales: two codes in a byte, or two float32 less 8
    const BIAS *bias;
    Y *y;
    uint32_t m, n, k, tiles, groups, blocks; // blocks: of a tile, those of whole groups
} nbits;

// ---- Weights ---------------------------------------------------------------------------------------

typedef struct ALIGNED(8) words { uint32_t at[2]; } words;

// What a lane needs of a tile and a group of 64 k.
typedef struct weights {
    quarters codes;
    words scales[SUBS]; // of columns lane / 4 and 8 behind it: one word if they have 16 bits
#if ZEROS == 1
    uint32_t zeros[SUBS];
#elif ZEROS == 2
    words zeros[SUBS];
#endif
} weights;

// 16 bytes that no other thread of the multiprocessor reads, or zeros.
DEVICE quarters load_codes(const uint32_t *from, int valid)
{
#ifndef EMULATED
    quarters q = {{0, 0, 0, 0}};
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %5, 0;\n@p ld.global.nc.L1::no_allocate.L2::128B.v4.b32 {%0, %1, %2, %3}, [%4];\n}"
                 : "+r"(q.at[0]), "+r"(q.at[1]), "+r"(q.at[2]), "+r"(q.at[3]) : "l"(__cvta_generic_to_global(from)), "r"(valid));
    return q;
#else
    return load_quarters(from, valid);
#endif
}

// The same for one byte, and for words.
DEVICE uint32_t load_byte(const u8 *from, int valid)
{
    uint32_t x = 0;
#ifndef EMULATED
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %2, 0;\n@p ld.global.nc.u8 %0, [%1];\n}" : "+r"(x) : "l"(__cvta_generic_to_global(from)), "r"(valid));
#else
    if (valid) x = *from;
#endif
    return x;
}
DEVICE words load_words(const void *from, int count, int valid)
{
    words w = {{0, 0}};
#ifndef EMULATED
    if (count == 1)
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %2, 0;\n@p ld.global.nc.b32 %0, [%1];\n}" : "+r"(w.at[0]) : "l"(__cvta_generic_to_global(from)), "r"(valid));
    else
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %3, 0;\n@p ld.global.nc.v2.b32 {%0, %1}, [%2];\n}"
                     : "+r"(w.at[0]), "+r"(w.at[1]) : "l"(__cvta_generic_to_global(from)), "r"(valid));
#else
    for (int i = 0; valid && i < count; i++) w.at[i] = ((const uint32_t *)from)[i];
#endif
    return w;
}

// Where a lane finds weights of a tile, from a group on.
typedef struct cursor {
    const uint32_t *codes;
    const u8 *scales, *zeros; // of the group, or with SPAN > 1 of the tile
    uint32_t group;
} cursor;
enum { SCALE_STEP = SCALE_WORDS * 4 * 8, ZERO_STEP = ZEROS == 2 ? 8 * 8 : 8 }; // bytes of a block's 16 columns

DEVICE void go_on(cursor *c, uint32_t groups)
{
    c->codes += groups * 32 * 4;
    c->group += groups;
#if SPAN == 1
    c->scales += groups * SUBS * SCALE_STEP;
    c->zeros += groups * SUBS * ZERO_STEP;
#endif
}

DEVICE cursor find(const nbits *a, uint32_t tile, uint32_t group)
{
    const uint32_t lane = THREAD % 32, inside = tile < a->tiles ? tile : 0;
    const uint64_t block = (uint64_t)inside * a->blocks;
    cursor c;
    c.codes = a->codes + ((uint64_t)inside * a->groups * 32 + lane) * 4;
    c.scales = (const u8 *)a->scales + block * SCALE_STEP + lane / 4 * (SCALE_STEP / 8);
    c.zeros = a->zeros + block * ZERO_STEP + lane / 4 * (ZERO_STEP / 8);
    c.group = 0;
    go_on(&c, group);
    if (tile != inside) c.group = 1u << 30; // behind all
    return c;
}

// Brings the weights `ahead` groups further on. They do not depend on other kernels.
DEVICE void bring(weights *w, const nbits *a, const cursor *c, uint32_t ahead)
{
    const uint32_t group = c->group + ahead;
    const int valid = group < a->groups;
    w->codes = load_codes(c->codes + ahead * 32 * 4, valid);
    UNROLL for (uint32_t i = 0; i < SUBS; i++) {
        const uint32_t block = SPAN == 1 ? ahead * SUBS + i : (group * SUBS + i) / SPAN;
        w->scales[i] = load_words(c->scales + block * SCALE_STEP, SCALE_WORDS, valid);
#if ZEROS == 1
        w->zeros[i] = load_byte(c->zeros + block * ZERO_STEP, valid);
#elif ZEROS == 2
        w->zeros[i] = load_words(c->zeros + block * ZERO_STEP, 2, valid);
#endif
    }
}

DEVICE float scale_of(const words *w, uint32_t high)
{
#if SCALE_WORDS == 1
    SCALE s;
    s.bits = (uint16_t)(w->at[0] >> 16 * high);
    return WIDEN(SCALE, s);
#else
    return bits_f32(w->at[high]);
#endif
}

// Codes become numbers in bits 0 to 3 and 16 to 19 of a word: 0x6400 (f16) or 0x4300 (bf16) plus a code is 1024 or 128 plus the code, and
// 0x6400 plus 16 times a code is 1024 plus as much.
#if TENSOR == 1
enum { MAGIC = 0x64006400 };
#else
enum { MAGIC = 0x43004300 };
#endif

// What is subtracted, for codes as they are and for those times 16.
typedef struct zero_pair { uint32_t plain, high; } zero_pair;
DEVICE zero_pair zero_of(uint32_t code)
{
    const zero_pair z = {(MAGIC | code * 0x10001) ^ 0x80008000, (0x54005400 | code * 0x100010) ^ 0x80008000}; // -1024 or -128, -64, minus the code
    return z;
}

#if ZEROS == 1
DEVICE zero_pair low_zero(const weights *w, uint32_t sub) { return zero_of(w->zeros[sub] & 15); }
DEVICE zero_pair high_zero(const weights *w, uint32_t sub) { return zero_of(w->zeros[sub] >> 4); }
#else
DEVICE zero_pair low_zero(const weights *w, uint32_t sub) { return (void)w, (void)sub, zero_of(8); }
DEVICE zero_pair high_zero(const weights *w, uint32_t sub) { return low_zero(w, sub); }
#endif

#if HAS_MMA
DEVICE uint32_t merge(uint32_t word, uint32_t mask)
{
    uint32_t two;
    asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(two) : "r"(word), "r"(mask), "r"(MAGIC));
    return two;
}
#endif

// The fragment of 16 columns and 16 k: rows lane / 4 and 8 behind it.
DEVICE void take_codes(uint32_t *to, uint32_t word, zero_pair low, zero_pair high)
{
#if !HAS_MMA
    UNROLL for (int i = 0; i < 4; i++) {
        const float zero = (float)((i % 2 ? high : low).plain & 15);
        to[i] = narrow_pair((float)(word >> 4 * i & 15) - zero, (float)(word >> (4 * i + 16) & 15) - zero);
    }
#elif TENSOR == 1
    UNROLL for (int i = 0; i < 2; i++) {
        asm("add.rn.f16x2 %0, %1, %2;" : "=r"(to[2 * i]) : "r"(merge(word >> 8 * i, 0x000f000f)), "r"(low.plain));
        asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(to[2 * i + 1]) : "r"(merge(word >> 8 * i, 0x00f000f0)), "r"(0x2c002c00), "r"(high.high)); // 1 / 16
    }
#else
    UNROLL for (int i = 0; i < 4; i++)
        asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(to[i]) : "r"(merge(word >> 4 * i, 0x000f000f)), "r"(0x3f803f80), "r"((i % 2 ? high : low).plain));
#endif
}

// ---- X ---------------------------------------------------------------------------------------------

// What a lane needs of eight rows and 32 k: two words for each step of 16 k.
typedef struct fragment { quarters at[PARTS]; } fragment;

// Where four of the eight k of a lane in 32 begin: all eight lie together, unless the scale may change behind 16.
DEVICE uint32_t first_k(uint32_t half) { return SUB == 16 ? half * 16 + THREAD % 4 * 4 : THREAD % 4 * 8 + half * 4; }

#if PARTS == 3
// The parts of a float32, of eight bits each. What is not finite is whole in the first one.
DEVICE void cut(uint32_t *parts, float x)
{
    const uint32_t all = f32_bits(x);
    const int finite = (all & 0x7f800000) != 0x7f800000;
    if (x != x) x = bits_f32(all | 0x400000); // no infinity when its lower half is cut off
    UNROLL for (int i = 0; i < 3; i++) {
        const uint32_t bits = f32_bits(x) & 0xffff0000;
        parts[i] = bits >> 16;
        x = finite ? x - bits_f32(bits) : 0;
    }
}

// Four numbers as two words of each part.
DEVICE void put_four(uint32_t (*to)[2], const quarters *four)
{
    UNROLL for (int i = 0; i < 2; i++) {
        uint32_t low[PARTS], high[PARTS];
        cut(low, bits_f32(four->at[2 * i]));
        cut(high, bits_f32(four->at[2 * i + 1]));
        UNROLL for (int p = 0; p < PARTS; p++) to[p][i] = low[p] | high[p] << 16;
    }
}
#endif

// Reads 32 k of a row from `line`, which is of the first k of this lane, on; `left` k follow there.
DEVICE void read_x(fragment *f, const IN *line, int left)
{
#if PARTS == 1 && SUB > 16
    f->at[0] = load_quarters(line, left > 0);
#else
    UNROLL for (int h = 0; h < 2; h++) {
        const int k = h * (SUB == 16 ? 16 : 4);
#if PARTS == 1
        const words none = {{0, 0}}, w = k < left ? *(const words *)(line + k) : none;
        UNROLL for (int i = 0; i < 2; i++) f->at[0].at[h * 2 + i] = w.at[i];
#else
        const quarters four = load_quarters(line + k, k < left);
        uint32_t two[PARTS][2];
        put_four(two, &four);
        UNROLL for (int p = 0; p < PARTS; p++) UNROLL for (int i = 0; i < 2; i++) f->at[p].at[h * 2 + i] = two[p][i];
#endif
    }
#endif
}

// ---- Sums ------------------------------------------------------------------------------------------

// The products of 16 columns and `count` times eight rows over 32 k, the first or second `half` of a group. A lane has columns
// lane / 4 and 8 behind it, of rows lane % 4 * 2 and the next one.
DEVICE void add_half(float (*sum)[4], uint32_t count, const weights *w, uint32_t half, const fragment *x)
{
    enum { RUN = SUB < HALF ? 1 : 2 }; // steps that share a scale
    UNROLL for (uint32_t run = 0; run < 2 / RUN; run++) {
        const uint32_t sub = (half * HALF + run * RUN * 16) / SUB;
        const float low = scale_of(&w->scales[sub], 0), high = scale_of(&w->scales[sub], 1);
        const zero_pair zero_low = low_zero(w, sub), zero_high = high_zero(w, sub);
        uint32_t codes[RUN][4];
        UNROLL for (uint32_t s = 0; s < RUN; s++) take_codes(codes[s], w->codes.at[half * 2 + run * RUN + s], zero_low, zero_high);
        UNROLL for (uint32_t i = 0; i < count; i++) {
            float part[4] = {0, 0, 0, 0};
            UNROLL for (uint32_t s = 0; s < RUN; s++)
                UNROLL for (int p = 0; p < PARTS; p++) multiply(part, codes[s], x[i].at[p].at + (run * RUN + s) * 2);
#if ZEROS == 2
            // Sums of X alone, times what the zero points have beyond 8.
            const uint32_t one = TENSOR == 1 ? 0x3c003c00 : 0x3f803f80, ones[4] = {one, one, one, one};
            float all[4] = {0, 0, 0, 0};
            UNROLL for (uint32_t s = 0; s < RUN; s++)
                UNROLL for (int p = 0; p < PARTS; p++) multiply(all, ones, x[i].at[p].at + (run * RUN + s) * 2);
            UNROLL for (int e = 0; e < 4; e++) part[e] -= bits_f32(w->zeros[sub].at[e / 2]) * all[e];
#endif
            UNROLL for (int e = 0; e < 4; e++) sum[i][e] += (e < 2 ? low : high) * part[e];
        }
    }
}

DEVICE float result(const nbits *a, uint32_t column, float sum)
{
#if BIASED
    sum += WIDEN(BIAS, a->bias[column]);
#endif
    (void)a, (void)column;
    return sum;
}
