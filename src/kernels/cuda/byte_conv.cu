// SPDX-License-Identifier: Apache-2.0
// Convolutions of bytes that packed.cu does not compute, such as depthwise ones: a thread computes one result. X, WEIGHT, Y: types;
// FINISH, BIASED, ADDED, ACTIVATION: as in packed_sums.cu; LAST: channels are last, so threads beside each other have different channels.
enum { AXES = 3 };

typedef struct byte_conv {
    const X *x;
    const WEIGHT *w;      // [channel][channel of the group][tap]
    const X *x_zero;      // NULL: 0
    const int32_t *zeros; // of weights, for each channel, as offsets and scales
    const int32_t *offsets;
    const double *scales;
    const float *factors, *bias, *residual;
    Y *y;
    uint64_t batch, groups, in, out; // in, out: channels of a group
    int64_t size[AXES], out_size[AXES], kernel[AXES], stride[AXES], dilation[AXES], pad[AXES];
    int32_t zero, low, high, unused;
} byte_conv;

DEVICE Y finish_one(const byte_conv *a, uint64_t channel, uint64_t at, int32_t sum)
{
    const int32_t whole = (int32_t)((uint32_t)sum + (uint32_t)a->offsets[channel]);
    (void)at;
#if FINISH == 1
    const byte_limits l = {a->zero, a->low, a->high};
    int close;
    const int32_t y = nearest_byte(MUL_F32((float)whole, a->factors[channel]), 0x1p-14f, l, &close);
    return (Y)(close ? exact_byte(MUL_F64((double)whole, a->scales[channel]), l) : y);
#elif FINISH == 2
    return whole;
#else
    float v = MUL_F32((float)whole, a->factors[channel]);
    if (BIASED) v = ADD_F32(v, a->bias[channel]);
    if (ADDED) v = ADD_F32(v, a->residual[at]);
    return activate(v, 0, 0);
#endif
}

KERNEL(run, byte_conv, 256)
{
    const uint64_t planes = a.groups * a.out, places = (uint64_t)(a.out_size[0] * a.out_size[1] * a.out_size[2]), count = a.batch * planes * places;
    const uint64_t taps = (uint64_t)(a.kernel[0] * a.kernel[1] * a.kernel[2]), pixels = (uint64_t)(a.size[0] * a.size[1] * a.size[2]);
    const int32_t x_zero = a.x_zero ? WIDEN(X, *a.x_zero) : 0;
    for (uint64_t i = (uint64_t)BLOCK_X * 256 + THREAD; i < count; i += (uint64_t)BLOCKS_X * 256) {
        const uint64_t line = quotient(i, LAST ? planes : places), rest = i - line * (LAST ? planes : places);
        const uint64_t image = quotient(line, LAST ? places : planes), other = line - image * (LAST ? places : planes);
        const uint64_t channel = LAST ? rest : other, place = LAST ? other : rest, group = quotient(channel, a.out);
        const int64_t row = (int64_t)quotient(place, (uint64_t)a.out_size[2]), slice = (int64_t)quotient((uint64_t)row, (uint64_t)a.out_size[1]);
        const int64_t from[AXES] = {slice * a.stride[0] - a.pad[0], (row - slice * a.out_size[1]) * a.stride[1] - a.pad[1],
                                    ((int64_t)place - row * a.out_size[2]) * a.stride[2] - a.pad[2]};
        const WEIGHT *const w = a.w + channel * a.in * taps;
        const int32_t w_zero = a.zeros[channel];
        uint32_t sum = 0;
        for (int64_t t = 0; t < (int64_t)taps; t++) {
            const int64_t line_of = t / a.kernel[2], z = from[0] + line_of / a.kernel[1] * a.dilation[0], y = from[1] + line_of % a.kernel[1] * a.dilation[1],
                          x = from[2] + t % a.kernel[2] * a.dilation[2];
            if (z < 0 || y < 0 || x < 0 || z >= a.size[0] || y >= a.size[1] || x >= a.size[2]) continue;
            const uint64_t pixel = (uint64_t)((z * a.size[1] + y) * a.size[2] + x);
            for (uint64_t c = 0; c < a.in; c++) {
                const uint64_t plane = group * a.in + c;
                const X value = a.x[LAST ? (image * pixels + pixel) * a.groups * a.in + plane : (image * a.groups * a.in + plane) * pixels + pixel];
                sum += (uint32_t)(((int32_t)WIDEN(X, value) - x_zero) * ((int32_t)WIDEN(WEIGHT, w[c * taps + (uint64_t)t]) - w_zero));
            }
        }
        a.y[i] = finish_one(&a, channel, i, (int32_t)sum);
    }
}
