/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cuda/byte_border.h"

#include <string.h>

#include "kernels/cuda/byte_columns.h"
#include "kernels/int_problem.h"

/* The taps [from, to) of an axis inside the image at a place. */
static void find_taps(const int_conv *c, int axis, int64_t place, int64_t *from, int64_t *to)
{
    const int64_t start = place * c->stride[axis] - c->pad[axis];
    const int64_t step = c->dilation[axis], left = c->size[axis] - start;
    *from = start < 0 ? (-start + step - 1) / step : 0;
    *to = left > 0 ? (left + step - 1) / step : 0;
    if (*to > c->kernel[axis]) *to = c->kernel[axis];
    if (*from > *to) *from = *to;
}

/* Numbers the kinds of an axis in the order of their places; taps move on monotonously, so a kind
 * ends where they change. kinds and taps may be NULL. */
static uint32_t find_kinds(const int_conv *c, int axis, uint8_t *kinds, int64_t (*taps)[2])
{
    int64_t from = -1, to = -1, now[2];
    uint32_t count = 0;
    for (int64_t i = 0; i < c->out_size[axis] && count <= BYTE_BORDER_KINDS; i++) {
        find_taps(c, axis, i, &now[0], &now[1]);
        if (now[0] != from || now[1] != to) count++;
        from = now[0];
        to = now[1];
        if (kinds) kinds[i] = (uint8_t)(count - 1);
        if (taps) memcpy(taps[count - 1], now, sizeof now);
    }
    return count;
}

uint32_t byte_border_kinds(const int_conv *c, int axis)
{
    return find_kinds(c, axis, NULL, NULL);
}

byte_border byte_border_of(const int_conv *c, uint64_t before)
{
    byte_border b;
    b.at[0] = before;
    b.at[1] = extent_add(b.at[0], (uint64_t)c->out_size[1]);
    b.table = extent_round_up(extent_add(b.at[1], (uint64_t)c->out_size[2]), 64);
    b.pitch = extent_round_up(extent_add(c->groups * c->out, 8), 8);
    for (int i = 0; i < 2; i++) b.kinds[i] = byte_border_kinds(c, i + 1);
    b.bytes = extent_add(b.table, extent_mul3((uint64_t)b.kinds[0] * b.kinds[1], b.pitch, 4));
    return b;
}

/* The sum of a channel's weights, as they are packed, over some taps. */
static uint32_t sum_taps(const int8_t *w, const int_conv *c, const int64_t *rows,
                         const int64_t *columns)
{
    uint32_t sum = 0;
    for (int64_t y = rows[0]; y < rows[1]; y++)
        for (int64_t x = columns[0]; x < columns[1]; x++)
            for (uint64_t i = 0; i < c->in; i++)
                sum += (uint32_t)(int32_t)w[(uint64_t)(y * c->kernel[2] + x) * c->in + i];
    return sum;
}

void byte_border_pack(char *packed, const int_conv *c, uint64_t before, uint64_t pitch,
                      uint32_t x_zero, bool direct, const kernel_problem *u)
{
    const size_t bias = c->kind == INT_CONV_TO_BYTES ? INT_CONV_PLACES[c->kind].bias : 0;
    const byte_border b = byte_border_of(c, before);
    int64_t taps[2][BYTE_BORDER_KINDS][2];
    int32_t *table = (int32_t *)(packed + b.table);
    for (int i = 0; i < 2; i++) (void)find_kinds(c, i + 1, (uint8_t *)packed + b.at[i], taps[i]);
    for (uint32_t row = 0; row < b.kinds[0]; row++)
        for (uint32_t column = 0; column < b.kinds[1]; column++, table += b.pitch)
            for (uint64_t i = 0; i < c->groups * c->out; i++) {
                const int8_t *w = (const int8_t *)packed + byte_columns_row(i, direct) * pitch;
                const uint32_t sum = sum_taps(w, c, taps[0][row], taps[1][column]);
                const uint32_t more = bias ? (uint32_t)int_problem_int(u, bias, i) : 0;
                table[i] = (int32_t)(more - x_zero * sum);
            }
}
