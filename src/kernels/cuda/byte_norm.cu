// SPDX-License-Identifier: Apache-2.0
// Layer normalisation of quantised bytes; behind bytes.cu and byte_binary.cu. A warp computes a row, or of few rows a block, which keeps it in shared
// memory: loops over registers would be so much code that few rows would wait for instructions. Sums of bytes and of their squares are whole
// numbers, and so is LENGTH times the distance of a number from the mean. Results are float32, and where these are too close to a half, float64
// decides.
//
// NORM_THREADS: of a block; LANES: those that share a row, 32 or all; WORDS: of four bytes that a lane has at most; LENGTH: bytes of a row, whole words; ADDED: rows of
// R are added first; BIASED.
typedef struct byte_norm {
    const u8 *x, *r;
    const float *gain, *bias;
    u8 *y;
    uint64_t rows;
    double scale, y_scale, epsilon; // scale: of what is normalised
    double exact_spread, exact_scale, exact_inverse; // those below in float64
    float spread, near_epsilon;     // scale^2 / LENGTH^2, and epsilon
    float near_scale, near_inverse; // scale / (LENGTH y_scale), and one over y_scale
    int32_t zero;                   // of its bytes after the flip
    uint32_t flip;
    byte_limits limits;
    byte_binary sum;
} byte_norm;

enum { ROWS = NORM_THREADS / LANES, ROW_WORDS = LENGTH / 4 };

typedef struct ALIGNED(16) column { float at[4]; } column;

// (LENGTH number - sum) * factor is the normalised number over the scale of Y.
typedef struct moments {
    int32_t sum, squares;
    float factor;
} moments;

// What few bytes need: a function of its own keeps it out of the way of the others.
#ifndef EMULATED
#define SELDOM static __device__ __noinline__
#else
#define SELDOM DEVICE
#endif

// A number of each lane of a row, added. `room` has a number for each warp.
DEVICE int32_t sum_of_row(int32_t x, int32_t *room)
{
    UNROLL for (int lanes = 16; lanes; lanes /= 2) x += SHUFFLE_XOR(x, lanes);
#if LANES > 32
    if (THREAD % 32 == 0) room[THREAD / 32] = x;
    BARRIER();
    x = 0;
    UNROLL for (uint32_t i = 0; i < LANES / 32; i++) x += room[i];
#endif
    (void)room;
    return x;
}

// Byte e of four, as a number in float32 plus 2^23.
DEVICE float byte_above(uint32_t four, uint32_t e)
{
#ifndef EMULATED
    return bits_f32(__byte_perm(four, 0x4b000000, 0x7540 + e));
#else
    return bits_f32(0x4b000000 | (four >> e * 8 & 0xff));
#endif
}

#if ADDED
SELDOM uint32_t exact_sums(uint32_t x, uint32_t other, const byte_norm *a)
{
    uint32_t four = 0;
    UNROLL_1 for (uint32_t e = 0; e < 4; e++) four |= (byte_sum((u8)(x >> e * 8), (u8)(other >> e * 8), &a->sum) ^ a->flip) << e * 8;
    return four;
}
#endif

// Four bytes of X, or of their sum with `other` of R, less the zero point. Of a sum, a margin to both sides decides, as in byte_rows.cu.
DEVICE column numbers_of(uint32_t x, uint32_t other, const byte_norm *a)
{
    column to;
#if ADDED
    const byte_binary *const q = &a->sum;
    const uint32_t flipped = x ^ q->a_flip * 0x01010101, rest = other ^ q->b_flip * 0x01010101;
    const float x_zero = 0x1p23f + (float)q->a_zero, r_zero = 0x1p23f + (float)q->b_zero;
    const float low = (float)(q->limits.low - q->limits.zero), high = (float)(q->limits.high - q->limits.zero);
    uint32_t differ = 0;
    UNROLL for (uint32_t e = 0; e < 4; e++) {
        const float from = FMA_F32(ADD_F32(byte_above(rest, e), -r_zero), q->b_factor, -q->margin);
        const float less = FMA_F32(ADD_F32(byte_above(flipped, e), -x_zero), q->a_factor, from), more = ADD_F32(less, 2 * q->margin);
        const float lowest = ADD_F32(less, ROUNDING_F32), highest = ADD_F32(more, ROUNDING_F32);
        differ |= f32_bits(lowest) ^ f32_bits(highest);
        to.at[e] = fminf(fmaxf(ADD_F32(lowest, -ROUNDING_F32), low), high);
    }
    if (differ) {
        const uint32_t four = exact_sums(x, other, a);
        UNROLL for (uint32_t e = 0; e < 4; e++) to.at[e] = ADD_F32(byte_above(four, e), -(0x1p23f + (float)a->zero));
    }
#else
    const float zero = 0x1p23f + (float)a->zero;
    (void)other;
    UNROLL for (uint32_t e = 0; e < 4; e++) to.at[e] = ADD_F32(byte_above(x ^ a->flip * 0x01010101, e), -zero);
#endif
    return to;
}

// LENGTH^2 times the variance: a difference of products that float32 could not hold.
DEVICE double apart_of(int32_t sum, int32_t squares)
{
    return ADD_F64(MUL_F64((double)LENGTH, (double)squares), -MUL_F64((double)sum, (double)sum));
}

#ifndef EMULATED
#define RECIPROCAL_ROOT(x) rsqrtf(x)
#define FMA_F64(x, y, z) __fma_rn(x, y, z)
#else
#define RECIPROCAL_ROOT(x) (1 / sqrtf(x))
#define FMA_F64(x, y, z) fma(x, y, z)
#endif

DEVICE moments moments_of(int32_t sum, int32_t squares, const byte_norm *a)
{
    moments m = {sum, squares, 0};
    m.factor = MUL_F32(RECIPROCAL_ROOT(FMA_F32((float)apart_of(sum, squares), a->spread, a->near_epsilon)), a->near_scale);
    return m;
}

// One result in float64. It is first computed without the definition's divisions and root, with an error below 2^-40 of what is added. The definition
// takes four times as long, so it runs only where this error could change the byte. With few rows nearly every launch has a result that comes here.
SELDOM uint32_t exact_result(float x, int32_t sum, int32_t squares, float gain, float bias, const byte_norm *a)
{
    const double spread = FMA_F64(apart_of(sum, squares), a->exact_spread, a->epsilon), half = MUL_F64(spread, 0.5);
    double root = (double)RECIPROCAL_ROOT((float)spread);
    UNROLL for (int i = 0; i < 2; i++) root = MUL_F64(root, FMA_F64(-MUL_F64(half, root), root, 1.5));
    const double product = MUL_F64(MUL_F64((double)FMA_F32(x, (float)LENGTH, -(float)sum), root), MUL_F64((double)gain, a->exact_scale)), added = MUL_F64((double)bias, a->exact_inverse);
    const double near = ADD_F64(product, added), slack = FMA_F64(fabs(product) + fabs(added), 0x1p-40, 0x1p-40);
    const int32_t low = exact_byte(ADD_F64(near, -slack), a->limits), high = exact_byte(ADD_F64(near, slack), a->limits);
    if (low == high && slack < 1 && spread > 1e-30 && spread < 1e30) return (u8)low; // float32 held the spread, and nothing is infinite
    const double count = LENGTH, mean = (double)sum / count, variance = MUL_F64(apart_of(sum, squares) / MUL_F64(count, count), MUL_F64(a->scale, a->scale));
    const double factor = a->scale / sqrt(ADD_F64(variance, a->epsilon));
    const double v = ADD_F64(MUL_F64(MUL_F64((double)x - mean, factor), (double)gain), (double)bias);
    return (u8)exact_byte(v / a->y_scale, a->limits);
}

// The roundings to float32 of a product are off by less than 2^-20 of it, those of what is added by 2^-21, those of both by a little more than
// their sum has. Clamped to a little beyond the limits, what is rounded is a byte.
DEVICE uint32_t results_of(column x, const moments *m, column gain, column bias, const byte_norm *a)
{
    const float low = (float)(a->limits.low - a->limits.zero) - 0.25f, high = (float)(a->limits.high - a->limits.zero) + 0.25f;
    const float end = ROUNDING_F32 + (float)a->limits.zero;
    uint32_t four = 0, differ[4];
    UNROLL for (uint32_t e = 0; e < 4; e++) {
        const float apart = FMA_F32(x.at[e], (float)LENGTH, -(float)m->sum); // whole numbers below 2^24
        const float product = MUL_F32(apart, MUL_F32(gain.at[e], m->factor)), added = MUL_F32(bias.at[e], a->near_inverse);
        const float slack = fminf(FMA_F32(fabsf(product), 0x1p-20f, FMA_F32(fabsf(added), 0x1p-20f, 0x1p-16f)), 1); // 1: of what is no number, too
        const float v = fminf(fmaxf(ADD_F32(product, added), low), high);
        const uint32_t bits = f32_bits(ADD_F32(ADD_F32(v, -slack), end));
        differ[e] = bits ^ f32_bits(ADD_F32(ADD_F32(v, slack), end));
        four |= (bits & 255) << e * 8;
    }
    if (differ[0] | differ[1] | differ[2] | differ[3])
        UNROLL for (uint32_t e = 0; e < 4; e++)
            if (differ[e]) four = (four & ~(255u << e * 8)) | exact_result(x.at[e], m->sum, m->squares, gain.at[e], bias.at[e], a) << e * 8;
    return four;
}

DEVICE column column_at(const float *from, uint32_t i)
{
    const column none = {{0, 0, 0, 0}};
    return i < ROW_WORDS ? ((const column *)from)[i] : none;
}

DEVICE void norm_row(const byte_norm *a, column *room, int32_t (*sums)[LANES / 32], uint64_t row)
{
    const uint32_t lane = THREAD % LANES;
    uint32_t x[WORDS], other[WORDS];
    float sum = 0, squares = 0; // whole numbers below 2^24, which are exact
    UNROLL for (uint32_t i = 0; i < WORDS; i++) {
        const int inside = lane + i * LANES < ROW_WORDS;
        x[i] = inside ? ((const uint32_t *)a->x)[row * ROW_WORDS + lane + i * LANES] : 0;
        other[i] = inside && ADDED ? ((const uint32_t *)a->r)[row * ROW_WORDS + lane + i * LANES] : 0;
    }
    UNROLL for (uint32_t i = 0; i < WORDS; i++) {
        if (lane + i * LANES >= ROW_WORDS) continue;
        room[lane + i * LANES].at[0] = bits_f32(x[i]);
        room[lane + i * LANES].at[1] = bits_f32(other[i]);
    }
    UNROLL_1 for (uint32_t i = lane; i < ROW_WORDS; i += LANES) {
        const column now = numbers_of(f32_bits(room[i].at[0]), f32_bits(room[i].at[1]), a);
        UNROLL for (uint32_t e = 0; e < 4; e++) {
            sum = ADD_F32(sum, now.at[e]);
            squares = FMA_F32(now.at[e], now.at[e], squares);
        }
        room[i] = now;
    }
    column gain = column_at(a->gain, lane), bias = {{0, 0, 0, 0}};
    if (BIASED) bias = column_at(a->bias, lane);
    const moments m = moments_of(sum_of_row((int32_t)sum, sums[0]), sum_of_row((int32_t)squares, sums[1]), a);
    UNROLL_1 for (uint32_t i = lane; i < ROW_WORDS; i += LANES) {
        const column next_gain = column_at(a->gain, i + LANES);
        column next_bias = bias;
        if (BIASED) next_bias = column_at(a->bias, i + LANES);
        ((uint32_t *)a->y)[row * ROW_WORDS + i] = results_of(room[i], &m, gain, bias, a);
        gain = next_gain;
        bias = next_bias;
    }
}

// Begins to bring a row of numbers to the second-level cache: weights that other steps have driven out come while the kernel before this one
// still runs. Nothing is read, so this is right for what that kernel writes, too.
DEVICE void announce(const float *from)
{
#ifndef EMULATED
    for (uint32_t i = THREAD * 32; i < LENGTH; i += NORM_THREADS * 32) asm volatile("prefetch.global.L2 [%0];" : : "l"(from + i));
#endif
    (void)from;
}

KERNEL_CLUSTER(run, byte_norm, NORM_THREADS, 1, 1)
{
    SHARED column room[ROWS][ROW_WORDS]; // a lane reads what it has written
    SHARED int32_t sums[ROWS][2][LANES / 32];
    announce(a.gain);
    if (BIASED) announce(a.bias);
    WAIT_FOR_LAST();
    for (uint64_t row = (uint64_t)BLOCK_X * ROWS + THREAD / LANES; row < a.rows; row += (uint64_t)BLOCKS_X * ROWS) {
        norm_row(&a, room[THREAD / LANES], sums[THREAD / LANES], row);
#if LANES > 32
        BARRIER(); // all have read the sums
#endif
    }
}
