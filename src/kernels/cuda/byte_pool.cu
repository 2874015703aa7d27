// SPDX-License-Identifier: Apache-2.0
// Pooling of bytes: images [batch][z][y][x][channels]; planes are images of one channel. A thread computes VECTOR channels of a
// position. MEAN: means, else maxima. PLACE: signed type of element numbers.
enum { AXES = 3 };

typedef struct byte_pool {
    const u8 *x;
    u8 *y;
    uint64_t batch, units; // units: of VECTOR channels
    int64_t in[AXES], out[AXES], window[AXES], stride[AXES], dilation[AXES], begin[AXES], end[AXES]; // begin, end: padding
    double x_scale, y_scale;
    byte_limits limits;
    int32_t x_zero; // of bytes after the flip
    uint32_t flip, count_padding;
} byte_pool;

#if !MEAN && VECTOR % 4 == 0
#define BY_WORDS 1
typedef struct ALIGNED(VECTOR) pack { uint32_t at[VECTOR / 4]; } pack;
#else
#define BY_WORDS 0
typedef struct ALIGNED(VECTOR) pack { u8 at[VECTOR]; } pack;
#endif

// The taps of an axis at an output position: those inside the image, where tap 0 is, and how many count for a mean.
typedef struct taps { PLACE from, to, start, counted; } taps;

DEVICE taps find_taps(const byte_pool *a, int d, PLACE at)
{
    const PLACE step = (PLACE)a->dilation[d], in = (PLACE)a->in[d], limit = in + (PLACE)a->end[d], window = (PLACE)a->window[d];
    taps t;
    t.start = at * (PLACE)a->stride[d] - (PLACE)a->begin[d];
    t.from = t.start < 0 ? (-t.start + step - 1) / step : 0;
    t.to = t.start < in ? (in - t.start + step - 1) / step : 0;
    if (t.to > window) t.to = window;
    if (t.from > t.to) t.from = t.to;
    t.counted = t.to - t.from;
    if (!a->count_padding) return t;
    t.counted = t.start < limit ? (limit - t.start + step - 1) / step : 0;
    if (t.counted > window) t.counted = window;
    return t;
}

#if BY_WORDS
// The maximum of each unsigned 16-bit half of two words.
DEVICE uint32_t most_of_2(uint32_t x, uint32_t y)
{
#ifndef EMULATED
    return __vmaxu2(x, y);
#else
    const uint32_t low = (x & 0xffff) > (y & 0xffff) ? x : y, high = x >> 16 > y >> 16 ? x : y;
    return (low & 0xffff) | (high & 0xffff0000);
#endif
}

// The largest bytes of each column, in the high bytes of numbers of 16 bits, whose low bytes do not matter: bytes 1 and 3 of four, and
// bytes 0 and 2.
typedef struct largest { uint32_t odd[VECTOR / 4], even[VECTOR / 4]; } largest;

DEVICE void compare(largest *l, const pack *p, uint32_t flip)
{
    UNROLL for (int w = 0; w < VECTOR / 4; w++) {
        const uint32_t four = p->at[w] ^ flip;
        l->odd[w] = most_of_2(l->odd[w], four);
        l->even[w] = most_of_2(l->even[w], four << 8);
    }
}
#endif

KERNEL(run, byte_pool, 256)
{
    const uint64_t places = (uint64_t)(a.out[0] * a.out[1] * a.out[2]), count = a.batch * places * a.units;
    const PLACE in_y = (PLACE)a.in[1], in_x = (PLACE)a.in[2];
    for (uint64_t i = (uint64_t)BLOCK_X * 256 + THREAD; i < count; i += (uint64_t)BLOCKS_X * 256) {
        const uint64_t pixel = quotient(i, a.units), image = quotient(pixel, places), unit = i - pixel * a.units;
        const uint64_t place = pixel - image * places, line = quotient(place, (uint64_t)a.out[2]), slice = quotient(line, (uint64_t)a.out[1]);
        taps t[AXES];
        t[0] = find_taps(&a, 0, (PLACE)slice);
        t[1] = find_taps(&a, 1, (PLACE)(line - slice * (uint64_t)a.out[1]));
        t[2] = find_taps(&a, 2, (PLACE)(place - line * (uint64_t)a.out[2]));
#if BY_WORDS
        const uint32_t flip = a.flip * 0x01010101;
        largest all;
        UNROLL for (int w = 0; w < VECTOR / 4; w++) all.odd[w] = all.even[w] = 0;
#else
        int32_t all[VECTOR];
        UNROLL for (int v = 0; v < VECTOR; v++) all[v] = 0;
#endif
        for (PLACE z = t[0].from; z < t[0].to; z++)
            for (PLACE y = t[1].from; y < t[1].to; y++)
                for (PLACE x = t[2].from; x < t[2].to; x++) {
                    const PLACE at = (((PLACE)image * (PLACE)a.in[0] + t[0].start + z * (PLACE)a.dilation[0]) * in_y + t[1].start + y * (PLACE)a.dilation[1]) * in_x +
                                     t[2].start + x * (PLACE)a.dilation[2];
                    const pack p = ((const pack *)a.x)[(uint64_t)at * a.units + unit];
#if BY_WORDS
                    compare(&all, &p, flip);
#else
                    UNROLL for (int v = 0; v < VECTOR; v++) {
                        const int32_t value = (int32_t)(p.at[v] ^ a.flip);
#if MEAN
                        all[v] += value;
#else
                        if (value > all[v]) all[v] = value;
#endif
                    }
#endif
                }
        pack result;
#if MEAN
        const PLACE inside = (t[0].to - t[0].from) * (t[1].to - t[1].from) * (t[2].to - t[2].from);
        const double counted = (double)(t[0].counted * t[1].counted * t[2].counted);
        UNROLL for (int v = 0; v < VECTOR; v++)
            result.at[v] = (u8)exact_byte(MUL_F64((double)((int64_t)all[v] - (int64_t)inside * a.x_zero), a.x_scale) / counted / a.y_scale, a.limits);
#elif BY_WORDS
        UNROLL for (int w = 0; w < VECTOR / 4; w++) result.at[w] = ((all.odd[w] & 0xff00ff00) | (all.even[w] >> 8 & 0x00ff00ff)) ^ flip;
#else
        UNROLL for (int v = 0; v < VECTOR; v++) result.at[v] = (u8)((uint32_t)all[v] ^ a.flip);
#endif
        ((pack *)a.y)[i] = result;
    }
}
