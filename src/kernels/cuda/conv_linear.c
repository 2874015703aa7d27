/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions that read linear images: windows that are patches, and few channels whose lines come
 * to shared memory. */
#include <string.h>

#include "kernels/cuda/conv_last.h"

typedef conv_last_params params;

bool conv_last_is_patched(const params *p)
{
    const conv_shape *s = &p->s;
    for (int i = 0; i < 2; i++)
        if (s->pad[i] || s->dilation[i] != 1 ||
            (s->out[i] - 1) * s->stride[i] + s->kernel[i] > s->in[i])
            return false;
    return p->linear && s->groups == 1 && s->kernel[1] % PACKED_VECTOR == 0 &&
           s->stride[1] % PACKED_VECTOR == 0 && s->in[1] % PACKED_VECTOR == 0;
}

enum { MARGIN = 8, MOST_TAPS = 8, MOST_BYTES = 32 << 10 };

static uint64_t line_of(const conv_shape *s)
{
    const uint64_t read = (uint64_t)((s->out[1] - 1) * s->stride[1] + MARGIN + MOST_TAPS),
                   brought = (uint64_t)s->in[1] + MARGIN;
    return extent_round_up(read > brought ? read : brought, PACKED_VECTOR);
}

static uint64_t lines_of(const params *p)
{
    const conv_shape *s = &p->s;
    const uint64_t rows = (PACKED_TILE[p->cut.tile].m - 1) / (uint64_t)s->out[1] + 2,
                   all = (uint64_t)s->out[0];
    return ((rows < all ? rows : all) - 1) * (uint64_t)s->stride[0] + (uint64_t)s->kernel[0];
}

static bool can_bring_lines(const params *p)
{
    const conv_shape *s = &p->s;
    const int64_t most = 1 << 14;
    for (int i = 0; i < 2; i++)
        if (s->dilation[i] != 1 || s->pad[i] < 0 || s->out[i] < 1 || s->in[i] > most ||
            s->out[i] > most || s->stride[i] > most || s->kernel[i] > most)
            return false;
    return p->linear && s->groups == 1 && s->in_channels <= (uint64_t)most &&
           s->stride[1] % 2 == 0 && s->pad[1] <= MARGIN - 1 &&
           s->kernel[1] + s->pad[1] % 2 <= MOST_TAPS && s->in[1] % PACKED_VECTOR == 0 &&
           s->out[0] * s->out[1] % PACKED_TILE[p->cut.tile].m == 0 && !conv_last_is_patched(p);
}

conv_last_lines conv_last_lines_of(const params *p)
{
    const conv_shape *s = &p->s;
    if (!can_bring_lines(p)) return (conv_last_lines){0};
    const uint64_t lines = lines_of(p), line = line_of(s),
                   bytes = extent_mul(extent_mul3(s->in_channels, lines, line),
                                      cuda_item((pgy_dtype)p->type));
    const uint32_t lead = (uint32_t)s->pad[1] % 2, taps = s->kernel[1] + lead <= 4 ? 4 : MOST_TAPS;
    if (bytes > MOST_BYTES || s->in_channels * (uint64_t)s->kernel[0] * taps > PACKED_GATHERED)
        return (conv_last_lines){0};
    return (conv_last_lines){.taps = taps,
                             .lead = lead,
                             .lines = (uint32_t)lines,
                             .line = (uint32_t)line,
                             .bytes = (uint32_t)bytes,
                             .k = (uint32_t)(s->in_channels * (uint64_t)s->kernel[0] * taps)};
}

void conv_last_pack_rows(char *to, const char *from, const params *p, uint32_t item)
{
    const conv_shape *s = &p->s;
    const conv_last_lines l = conv_last_lines_of(p);
    const uint64_t rows = s->in_channels * (uint64_t)s->kernel[0], width = (uint64_t)s->kernel[1],
                   pitch = packed_pitch(l.k);
    for (uint64_t n = 0; n < s->out_channels; n++)
        for (uint64_t r = 0; r < rows; r++)
            memcpy(to + (n * pitch + r * l.taps + l.lead) * item,
                   from + (n * rows + r) * width * item, width * item);
}
