/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of convolutions of bytes as products on CUDA devices read them, and what lies behind
 * them: scales, offsets, and the border of images. */
#include <math.h>
#include <string.h>

#include "kernels/cuda/byte_border.h"
#include "kernels/cuda/byte_conv.h"
#include "kernels/int_problem.h"

static bool is_inside(const int_conv *c)
{
    for (int i = 1; i < INT_CONV_AXES; i++)
        if (c->pad[i] ||
            (c->out_size[i] - 1) * c->stride[i] + (c->kernel[i] - 1) * c->dilation[i] >= c->size[i])
            return false;
    return true;
}

bool byte_conv_is_mapped(const byte_conv_params *p, byte_conv_way w)
{
    return w == BYTE_CONV_BOXED && p->x_zero && !is_inside(&p->c);
}

uint64_t byte_conv_pitch(const byte_conv_params *p)
{
    return extent_round_up(byte_conv_packed_k(p), BYTE_CHUNK);
}

bool byte_conv_is_direct(const byte_conv_params *p, byte_conv_way w)
{
    const int_conv *c = &p->c;
    return w != BYTE_CONV_EACH && c->kind == INT_CONV_TO_BYTES && c->last &&
           c->out % BYTE_CHUNK == 0 && p->cut.splits == 1;
}

uint64_t byte_conv_rows(const byte_conv_params *p, byte_conv_way w)
{
    return byte_columns_rows(p->c.out, byte_conv_is_direct(p, w));
}

/* The row of a channel's packed weights. */
static uint64_t row_of(const byte_conv_params *p, byte_conv_way w, uint64_t channel)
{
    const uint64_t n = channel % p->c.out;
    return channel / p->c.out * byte_conv_rows(p, w) +
           byte_columns_row(n, byte_conv_is_direct(p, w));
}

byte_columns byte_conv_columns(const byte_conv_params *p, byte_conv_way w)
{
    const int_conv *c = &p->c;
    return byte_columns_of(
        w == BYTE_CONV_EACH ? 0 : extent_mul3(c->groups, byte_conv_rows(p, w), byte_conv_pitch(p)),
        byte_conv_channels(c));
}

/* From [channel][tap] to [tap][channel], as int8; rows of taps are `row` bytes apart. Returns the
 * sum of the weights. */
static uint32_t pack_channel(int8_t *to, const uint8_t *from, const int_conv *c, uint64_t row,
                             uint8_t flip)
{
    const uint64_t width = (uint64_t)c->kernel[2];
    uint32_t sum = 0;
    for (uint64_t i = 0; i < c->in; i++)
        for (uint64_t t = 0; t < c->taps; t++) {
            const int8_t w = (int8_t)(from[i * c->taps + t] ^ flip);
            to[t / width * row + t % width * c->in + i] = w;
            sum += (uint32_t)(int32_t)w;
        }
    return sum;
}

static double scale_of(const int_conv *c, const kernel_problem *u, uint64_t channel)
{
    const int_conv_places *at = &INT_CONV_PLACES[c->kind];
    if (c->kind == INT_CONV_TO_INT32) return 1;
    const double scale =
        int_problem_float(u, at->x_scale, 0) * int_problem_float(u, at->w_scale, channel);
    return c->kind == INT_CONV_TO_FLOAT ? scale : scale / int_problem_float(u, at->y_scale, 0);
}

uint64_t byte_conv_packed_bytes(const byte_conv_params *p, byte_conv_way w)
{
    const uint64_t bytes = byte_conv_columns(p, w).bytes;
    return byte_conv_is_mapped(p, w) ? byte_border_of(&p->c, bytes).bytes : bytes;
}

void byte_conv_pack(char *packed, const byte_conv_params *p, const kernel_problem *u,
                    byte_conv_way w)
{
    const int_conv *c = &p->c;
    const int_conv_places *at = &INT_CONV_PLACES[c->kind];
    const byte_columns columns = byte_conv_columns(p, w);
    const uint8_t flip = u->inputs[at->w].dtype == PGY_U8 ? 0x80 : 0,
                  *weights = u->inputs[at->w].data;
    const uint32_t x_zero = c->x_signed ? (uint32_t)(int8_t)p->x_zero : p->x_zero;
    const double most = (double)byte_conv_k(c) * 255 * 128;
    const uint64_t row = byte_conv_packed_k(p) == byte_conv_k(c) ? (uint64_t)c->kernel[2] * c->in
                                                                 : byte_conv_lines(p).taps;
    for (uint64_t i = 0; i < byte_conv_channels(c); i++) {
        uint32_t offset = 0;
        const double bias =
            c->kind == INT_CONV_TO_BYTES ? (double)int_problem_int(u, at->bias, i) : 0;
        if (c->kind == INT_CONV_TO_BYTES) offset = (uint32_t)int_problem_int(u, at->bias, i);
        if (w != BYTE_CONV_EACH)
            offset -= x_zero * pack_channel((int8_t *)packed + row_of(p, w, i) * byte_conv_pitch(p),
                                            weights + i * byte_conv_k(c), c, row, flip);
        byte_columns_fill(packed, &columns, i, scale_of(c, u, i), (int32_t)offset,
                          most + fabs(bias), (int32_t)int_problem_int(u, at->w_zero, i));
    }
    memset(packed + columns.outside, (int)p->x_zero, BYTE_CHUNK);
    if (byte_conv_is_mapped(p, w))
        byte_border_pack(packed, c, columns.bytes, byte_conv_pitch(p), x_zero,
                         byte_conv_is_direct(p, w), u);
}

uint32_t byte_conv_packed_inputs(const int_conv *c, byte_conv_way w)
{
    const int_conv_places *at = &INT_CONV_PLACES[c->kind];
    const size_t places[] = {w == BYTE_CONV_EACH ? 0 : at->w,
                             at->x_scale,
                             at->w_scale,
                             at->w_zero,
                             at->y_scale,
                             at->y_zero,
                             c->kind == INT_CONV_TO_BYTES ? at->bias : 0};
    uint32_t bits = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (places[i] < c->inputs) bits |= UINT32_C(1) << places[i];
    return bits & ~UINT32_C(1);
}
