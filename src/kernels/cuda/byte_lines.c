/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cuda/byte_lines.h"

#include "kernels/cuda/byte_columns.h"

/* MARGIN: bytes in front of a line, as in packed.cu; BEHIND: bytes that a thread may read behind a
 * row of a window. */
enum { MARGIN = BYTE_CHUNK, BEHIND = 4, MOST_BYTES = 32 << 10, MOST_SIZE = 1 << 14 };

static bool has_sizes(const int_conv *c)
{
    for (int i = 1; i < INT_CONV_AXES; i++)
        if (c->dilation[i] != 1 || c->pad[i] < 0 || c->out_size[i] < 1 || c->size[i] > MOST_SIZE ||
            c->out_size[i] > MOST_SIZE || c->stride[i] > MOST_SIZE || c->kernel[i] > MOST_SIZE)
            return false;
    return c->in < BYTE_CHUNK;
}

static bool can_bring(const int_conv *c, uint32_t m)
{
    return c->last && c->groups == 1 && has_sizes(c) &&
           (uint64_t)c->size[2] * c->in % BYTE_CHUNK == 0 &&
           (uint64_t)c->pad[2] * c->in <= MARGIN && int_conv_out_plane(c) % m == 0;
}

byte_lines byte_lines_of(const int_conv *c, uint32_t m)
{
    if (!can_bring(c, m)) return (byte_lines){0};
    const uint64_t rows = (m - 1) / (uint64_t)c->out_size[2] + 2, all = (uint64_t)c->out_size[1],
                   lines = ((rows < all ? rows : all) - 1) * (uint64_t)c->stride[1] +
                           (uint64_t)c->kernel[1],
                   taps = extent_round_up((uint64_t)c->kernel[2] * c->in, BYTE_CHUNK),
                   read = (uint64_t)((c->out_size[2] - 1) * c->stride[2]) * c->in + taps + BEHIND,
                   brought = (uint64_t)c->size[2] * c->in,
                   line = extent_round_up((read > brought ? read : brought) + MARGIN, BYTE_CHUNK),
                   k = (uint64_t)c->kernel[1] * taps;
    if (extent_mul(lines, line) > MOST_BYTES || k > PACKED_GATHERED) return (byte_lines){0};
    return (byte_lines){.taps = (uint32_t)taps,
                        .lines = (uint32_t)lines,
                        .line = (uint32_t)line,
                        .bytes = (uint32_t)(lines * line),
                        .k = (uint32_t)k};
}
