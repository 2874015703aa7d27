// SPDX-License-Identifier: Apache-2.0
// Convolutions with one channel in each group, in channels last: a thread computes RUN neighbours of a row for 8
// channels. KH, KW: size of the window; STRIDE, DILATION: along the row; W: [tap][channel]; BIASED, ADDED: there is a
// bias, a tensor that is added. FINITE: all weights are finite.
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
typedef union ALIGNED(16) pack { X at[8]; quarters all; } pack;
typedef struct ALIGNED(16) bias_pack { BIAS at[8]; } bias_pack;
typedef struct ALIGNED(16) added_pack { RESIDUAL at[8]; } added_pack;
typedef struct sums { float at[RUN][8]; } sums;

// All loads of a row are under way together. What lies outside is 0; with weights that are no finite numbers it is
// left out.
DEVICE void add_row(sums *s, const depthwise *a, const X *line, const X *w, int32_t x0, int exists)
{
    pack f[KW], p[SPAN];
    UNROLL for (int h = 0; h < KW; h++) f[h] = *(const pack *)(w + (uint64_t)h * a->channels);
    line += (int64_t)x0 * (int64_t)a->channels;
    UNROLL for (int i = 0; i < SPAN; i++)
        p[i].all = load_quarters(line + (uint32_t)i * (uint32_t)a->channels, exists && (uint32_t)(x0 + i) < (uint32_t)a->in_width);
    UNROLL for (int i = 0; i < SPAN; i++) {
        if (!FINITE && (!exists || (uint32_t)(x0 + i) >= (uint32_t)a->in_width)) continue;
        UNROLL for (int r = 0; r < RUN; r++) {
            const int h = (i - r * STRIDE) / DILATION;
            if (i < r * STRIDE || (i - r * STRIDE) % DILATION || h >= KW) continue;
            UNROLL for (int e = 0; e < 8; e++) s->at[r][e] += WIDEN(X, p[i].at[e]) * WIDEN(X, f[h].at[e]);
        }
    }
}

KERNEL_OF(run, depthwise, 256, 2)
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
#if BIASED
        const bias_pack bias = *(const bias_pack *)(a.bias + channel);
        UNROLL for (int r = 0; r < RUN; r++) UNROLL for (int e = 0; e < 8; e++) s.at[r][e] = WIDEN(BIAS, bias.at[e]);
#else
        UNROLL for (int r = 0; r < RUN; r++) UNROLL for (int e = 0; e < 8; e++) s.at[r][e] = 0;
#endif
        UNROLL_4 for (int v = 0; v < KH; v++) {
            const int32_t y = y0 + v * a.dilation_y;
            add_row(&s, &a, x + (int64_t)y * a.in_width * (int64_t)a.channels, a.w + (uint64_t)(v * KW) * a.channels + channel, x0,
                    (uint32_t)y < (uint32_t)a.in_height);
        }
        UNROLL for (int r = 0; r < RUN; r++) {
            if (first + (uint32_t)r >= width) break;
            const uint64_t to = (row * width + first + (uint32_t)r) * a.channels + channel;
#if ADDED
            const added_pack added = *(const added_pack *)(a.residual + to);
            UNROLL for (int e = 0; e < 8; e++) s.at[r][e] += WIDEN(RESIDUAL, added.at[e]);
#endif
            UNROLL for (int e = 0; e < 8; e++) s.at[r][e] = activate(s.at[r][e], a.first, a.second);
            STORE_8(Y, a.y + to, s.at[r]);
        }
    }
}
