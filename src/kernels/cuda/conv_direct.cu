// SPDX-License-Identifier: Apache-2.0
// Convolutions of an image with few channels, into channels last: a thread computes RUN neighbours of a row for CHANNELS channels, by
// plain arithmetic. The tensor cores would wait for windows of so few numbers. IN: channels of the image, which is linear if LINEAR, else in
// channels last; KH, KW: size of the window; STRIDE: along the row; W: [channel][channel of the image][tap]; BIASED: there is a bias.
typedef struct direct {
    const X *x, *w;
    const BIAS *bias;
    Y *y;
    uint64_t count; // of runs of all rows and images
    uint32_t channels;
    int32_t in_height, in_width, out_height, out_width;
    int32_t stride_y, pad_y, pad_x;
    float first, second;
} direct;

enum { SPAN = (RUN - 1) * STRIDE + KW, TAPS = IN * KH * KW };
typedef struct ALIGNED(16) four { float at[4]; } four;
typedef union ALIGNED(16) pack { X at[8]; quarters all; } pack;

// A row of a window of one channel for all neighbours; what lies outside of the image is 0.
DEVICE void load_row(float *row, const X *line, int32_t x0, int32_t width, int exists)
{
    UNROLL for (int i = 0; i < SPAN; i++) row[i] = exists && (uint32_t)(x0 + i) < (uint32_t)width ? WIDEN(X, line[x0 + i]) : 0;
}

DEVICE void add_row(float (*s)[CHANNELS], const float *row, const four *w)
{
    UNROLL for (int t = 0; t < KW; t++)
        UNROLL for (int c = 0; c < CHANNELS / 4; c++) {
            const four f = w[t * (CHANNELS / 4) + c];
            UNROLL for (int r = 0; r < RUN; r++)
                UNROLL for (int e = 0; e < 4; e++) s[r][c * 4 + e] += row[r * STRIDE + t] * f.at[e];
        }
}

// Adds all windows of the image that begins at x.
DEVICE void add_windows(float (*s)[CHANNELS], const direct *a, const X *x, const four *w, int32_t x0, int32_t y0)
{
#if LINEAR
    UNROLL for (int c = 0; c < IN; c++) {
        float row[KH][SPAN];
        UNROLL for (int v = 0; v < KH; v++)
            load_row(row[v], x + ((int64_t)c * a->in_height + y0 + v) * a->in_width, x0, a->in_width, (uint32_t)(y0 + v) < (uint32_t)a->in_height);
        UNROLL for (int v = 0; v < KH; v++) add_row(s, row[v], w + (c * KH + v) * KW * (CHANNELS / 4));
    }
#else
    UNROLL_1 for (int c = 0; c < IN; c += 8) {
        pack p[KH][SPAN];
        UNROLL for (int v = 0; v < KH; v++)
            UNROLL for (int i = 0; i < SPAN; i++)
                p[v][i].all = load_quarters(x + ((int64_t)(y0 + v) * a->in_width + x0 + i) * IN + c,
                                            (uint32_t)(y0 + v) < (uint32_t)a->in_height && (uint32_t)(x0 + i) < (uint32_t)a->in_width);
        UNROLL for (int v = 0; v < KH; v++)
            UNROLL for (int e = 0; e < 8; e++) {
                float row[SPAN];
                UNROLL for (int i = 0; i < SPAN; i++) row[i] = WIDEN(X, p[v][i].at[e]);
                add_row(s, row, w + ((c + e) * KH + v) * KW * (CHANNELS / 4));
            }
    }
#endif
}

KERNEL_OF(run, direct, 256, 2)
{
    SHARED four weights[TAPS * CHANNELS / 4];
    const uint32_t channel = BLOCK_Y * CHANNELS, runs = ((uint32_t)a.out_width + RUN - 1) / RUN;
    for (uint32_t i = THREAD; i < TAPS * CHANNELS; i += 256)
        ((float *)weights)[i] = WIDEN(X, a.w[(channel + i % CHANNELS) * TAPS + i / CHANNELS]);
    BARRIER();
    for (uint64_t i = (uint64_t)BLOCK_X * 256 + THREAD; i < a.count; i += (uint64_t)BLOCKS_X * 256) {
        const uint64_t line = quotient(i, runs), image = quotient(line, (uint32_t)a.out_height);
        const uint32_t first = (uint32_t)(i - line * runs) * RUN;
        const int32_t y0 = (int32_t)(line - image * (uint32_t)a.out_height) * a.stride_y - a.pad_y, x0 = (int32_t)first * STRIDE - a.pad_x;
        const X *const x = a.x + image * IN * (uint64_t)a.in_height * (uint64_t)a.in_width;
        float s[RUN][CHANNELS];
        UNROLL for (int e = 0; e < CHANNELS; e++) {
            s[0][e] = BIASED ? WIDEN(BIAS, a.bias[channel + e]) : 0;
            UNROLL for (int r = 1; r < RUN; r++) s[r][e] = s[0][e];
        }
        add_windows(s, &a, x, weights, x0, y0);
        UNROLL for (int r = 0; r < RUN; r++) {
            if (first + (uint32_t)r >= (uint32_t)a.out_width) break;
            Y *const to = a.y + (line * (uint32_t)a.out_width + first + (uint32_t)r) * a.channels + channel;
            UNROLL for (int e = 0; e < CHANNELS; e++) s[r][e] = activate(s[r][e], a.first, a.second);
            UNROLL for (int e = 0; e < CHANNELS; e += 8) STORE_8(Y, to + e, s[r] + e);
        }
    }
}
