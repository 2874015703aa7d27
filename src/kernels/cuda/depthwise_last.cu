// SPDX-License-Identifier: Apache-2.0
// Convolutions with one channel in each group, in channels last: a thread computes RUN neighbours of a row for 8
// channels. KH, KW: size of the window; STRIDE, DILATION: along the row; W: [tap][channel]; BIASED, ADDED: there is a
// bias, a tensor that is added.
typedef struct depthwise {
    const X *x, *w;
    const BIAS *bias;
    const RESIDUAL *residual;
    Y *y;
    uint64_t count, channels; // count: of runs of 8 channels
    int32_t in_height, in_width, out_height, out_width;
    int32_t stride_y, dilation_y, pad_y, pad_x;
    float first, second;
} depthwise;

enum { SPAN = (RUN - 1) * STRIDE + (KW - 1) * DILATION + 1 };
typedef struct ALIGNED(16) pack { X at[8]; } pack;
typedef struct ALIGNED(16) out_pack { Y at[8]; } out_pack;
typedef struct sums { float at[RUN][8]; } sums;

DEVICE void add_row(sums *s, const depthwise *a, const X *line, const X *w, int32_t x0)
{
    pack f[KW];
    UNROLL for (int h = 0; h < KW; h++) f[h] = *(const pack *)(w + (uint64_t)h * a->channels);
    UNROLL for (int i = 0; i < SPAN; i++) {
        // What lies outside counts nothing, whatever the weight is.
        if ((uint32_t)(x0 + i) >= (uint32_t)a->in_width) continue;
        const pack p = *(const pack *)(line + (int64_t)(x0 + i) * (int64_t)a->channels);
        UNROLL for (int r = 0; r < RUN; r++) {
            const int h = (i - r * STRIDE) / DILATION;
            if (i < r * STRIDE || (i - r * STRIDE) % DILATION || h >= KW) continue;
            UNROLL for (int e = 0; e < 8; e++) s->at[r][e] += WIDEN(X, p.at[e]) * WIDEN(X, f[h].at[e]);
        }
    }
}

KERNEL(run, depthwise, 256)
{
    const uint32_t width = (uint32_t)a.out_width, height = (uint32_t)a.out_height, runs = (width + RUN - 1) / RUN;
    const uint64_t chunks = a.channels / 8;
    for (uint64_t i = (uint64_t)BLOCK_X * 256 + THREAD; i < a.count; i += (uint64_t)BLOCKS_X * 256) {
        const uint64_t at = quotient(i, chunks), channel = (i - at * chunks) * 8, row = quotient(at, runs);
        const uint32_t first = (uint32_t)(at - row * runs) * RUN;
        const uint64_t image = quotient(row, height);
        const int32_t y0 = (int32_t)(row - image * height) * a.stride_y - a.pad_y, x0 = (int32_t)first * STRIDE - a.pad_x;
        const X *x = a.x + image * (uint64_t)a.in_height * (uint64_t)a.in_width * a.channels + channel;
        sums s;
        UNROLL for (int r = 0; r < RUN; r++) UNROLL for (int e = 0; e < 8; e++) s.at[r][e] = 0;
        for (int v = 0; v < KH; v++) {
            const int32_t y = y0 + v * a.dilation_y;
            if ((uint32_t)y < (uint32_t)a.in_height)
                add_row(&s, &a, x + (int64_t)y * a.in_width * (int64_t)a.channels, a.w + (uint64_t)(v * KW) * a.channels + channel, x0);
        }
        UNROLL for (int r = 0; r < RUN; r++) {
            if (first + (uint32_t)r >= width) break;
            const uint64_t to = (row * width + first + (uint32_t)r) * a.channels + channel;
            out_pack y;
            UNROLL for (int e = 0; e < 8; e++) {
                float total = s.at[r][e];
#if BIASED
                total += WIDEN(BIAS, a.bias[channel + (uint32_t)e]);
#endif
#if ADDED
                total += WIDEN(RESIDUAL, a.residual[to + (uint32_t)e]);
#endif
                y.at[e] = NARROW(Y, activate(total, a.first, a.second));
            }
            *(out_pack *)(a.y + to) = y;
        }
    }
}
