// SPDX-License-Identifier: Apache-2.0
// Convolutions with one input channel in each group: a thread computes an element of the output. KH, KW:
// size of the window; BIASED, ADDED: there is a bias, a tensor that is added.
typedef struct depthwise {
    const X *x, *w;
    const BIAS *bias;
    const RESIDUAL *residual;
    Y *y;
    uint64_t count, channels, multiplier; // channels: of the output, `multiplier` for each of the input
    int32_t in_height, in_width, out_height, out_width;
    int32_t stride_y, stride_x, dilation_y, dilation_x, pad_y, pad_x;
    float first, second;
} depthwise;

KERNEL(run, depthwise, 256)
{
    for (uint64_t i = (uint64_t)BLOCK_X * 256 + THREAD; i < a.count; i += (uint64_t)BLOCKS_X * 256) {
        const uint32_t width = (uint32_t)a.out_width, height = (uint32_t)a.out_height;
        const uint64_t row = i / width, plane = row / height;
        const int32_t x0 = (int32_t)(i - row * width) * a.stride_x - a.pad_x;
        const int32_t y0 = (int32_t)(row - plane * height) * a.stride_y - a.pad_y;
        const uint64_t channel = plane % a.channels, image = plane / a.channels;
        const uint64_t source = image * (a.channels / a.multiplier) + channel / a.multiplier;
        const X *x = a.x + source * (uint64_t)a.in_height * (uint64_t)a.in_width;
        const X *w = a.w + channel * (KH * KW);
        float sum = 0;
        UNROLL for (int v = 0; v < KH; v++) {
            const int32_t y = y0 + v * a.dilation_y;
            UNROLL for (int h = 0; h < KW; h++) {
                const int32_t at = x0 + h * a.dilation_x;
                if ((uint32_t)y < (uint32_t)a.in_height && (uint32_t)at < (uint32_t)a.in_width)
                    sum += WIDEN(X, x[(int64_t)y * a.in_width + at]) * WIDEN(X, w[v * KW + h]);
            }
        }
#if BIASED
        sum += WIDEN(BIAS, a.bias[channel]);
#endif
#if ADDED
        sum += WIDEN(RESIDUAL, a.residual[i]);
#endif
        a.y[i] = NARROW(Y, activate(sum, a.first, a.second));
    }
}
