// SPDX-License-Identifier: Apache-2.0
// Convolutions with one input channel in each group: a thread computes RUN neighbours of a row. KH, KW:
// size of the window; STRIDE, DILATION: along the row; BIASED, ADDED: there is a bias, a tensor that is added.
typedef struct depthwise {
    const X *x, *w;
    const BIAS *bias;
    const RESIDUAL *residual;
    Y *y;
    uint64_t count, channels, multiplier; // count: of runs; channels: of the output, `multiplier` for each of the input
    int32_t in_height, in_width, out_height, out_width;
    int32_t stride_y, stride_x, dilation_y, dilation_x, pad_y, pad_x;
    float first, second;
} depthwise;

enum { SPAN = (RUN - 1) * STRIDE + (KW - 1) * DILATION + 1 };

KERNEL(run, depthwise, 256)
{
    const uint32_t width = (uint32_t)a.out_width, height = (uint32_t)a.out_height, runs = (width + RUN - 1) / RUN;
    for (uint64_t i = (uint64_t)BLOCK_X * 256 + THREAD; i < a.count; i += (uint64_t)BLOCKS_X * 256) {
        const uint64_t row = quotient(i, runs), plane = quotient(row, height);
        const uint32_t first = (uint32_t)(i - row * runs) * RUN;
        const int32_t x0 = (int32_t)first * STRIDE - a.pad_x, y0 = (int32_t)(row - plane * height) * a.stride_y - a.pad_y;
        const uint64_t image = quotient(plane, a.channels), channel = plane - image * a.channels;
        const uint64_t source = image * quotient(a.channels, a.multiplier) + quotient(channel, a.multiplier);
        const X *x = a.x + source * (uint64_t)a.in_height * (uint64_t)a.in_width;
        const X *w = a.w + channel * (KH * KW);
        float sum[RUN];
        UNROLL for (int r = 0; r < RUN; r++) sum[r] = 0;
        UNROLL for (int v = 0; v < KH; v++) {
            const int32_t y = y0 + v * a.dilation_y;
            const X *line = x + (int64_t)y * a.in_width + x0;
            const int inside = (uint32_t)y < (uint32_t)a.in_height;
            float span[SPAN];
            UNROLL for (int s = 0; s < SPAN; s++)
                span[s] = inside && (uint32_t)(x0 + s) < (uint32_t)a.in_width ? WIDEN(X, line[s]) : 0;
            UNROLL for (int h = 0; h < KW; h++) {
                const float weight = WIDEN(X, w[v * KW + h]);
                UNROLL for (int r = 0; r < RUN; r++)
                    // What lies outside counts nothing, whatever the weight is.
                    if (inside && (uint32_t)(x0 + r * STRIDE + h * DILATION) < (uint32_t)a.in_width)
                        sum[r] += span[r * STRIDE + h * DILATION] * weight;
            }
        }
        UNROLL for (int r = 0; r < RUN; r++) {
            if (first + (uint32_t)r >= width) break;
            const uint64_t at = row * width + first + (uint32_t)r;
            float total = sum[r];
#if BIASED
            total += WIDEN(BIAS, a.bias[channel]);
#endif
#if ADDED
            total += WIDEN(RESIDUAL, a.residual[at]);
#endif
            a.y[at] = NARROW(Y, activate(total, a.first, a.second));
        }
    }
}
