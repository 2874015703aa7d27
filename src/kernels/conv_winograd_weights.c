/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of Winograd's convolution. They are packed as for a direct convolution and transformed in
 * each run. */
#include "kernels/conv_tile.h"
#include "kernels/conv_winograd_parts.h"

/* CHUNK: input channels whose weights are transformed at a time; APART: floats between two of their
 * points, which would otherwise map to one cache set; KEPT_BYTES: limit of all transformed
 * weights that a thread keeps */
enum { CHUNK = 64, APART = 16, KEPT_BYTES = 5 * WINOGRAD_FAST_BYTES / 2 };

const winograd_transforms *winograd_transforms_of(uint32_t level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) return &winograd_avx512;
    if (level >= CPU_AVX2) return &winograd_avx2;
#endif
    (void)level;
    return &winograd_portable;
}

double winograd_weight_bytes(const winograd_params *p)
{
    return (double)(WINOGRAD_POINTS * sizeof(float)) * (double)p->s.in_channels *
           (double)(p->out_blocks * p->block);
}

uint64_t winograd_taps_at(uint64_t *tap, const winograd_params *p, uint64_t channel, uint64_t width)
{
    const uint64_t first = channel / p->block * p->block, left = p->s.in_channels - first;
    *tap = (left < p->block ? left : p->block) * width;
    return (first * 9 + channel - first) * width;
}

bool winograd_keeps_weights(const winograd_params *p)
{
    return winograd_weight_bytes(p) <= KEPT_BYTES;
}

uint64_t winograd_chunk_channels(const winograd_params *p)
{
    return p->s.in_channels < CHUNK || winograd_keeps_weights(p) ? p->s.in_channels : CHUNK;
}

uint64_t winograd_chunk_step(const winograd_params *p)
{
    return winograd_chunk_channels(p) * 2 * p->block + APART;
}

uint64_t winograd_weight_room(const winograd_params *p)
{
    const uint64_t chunk = WINOGRAD_POINTS * winograd_chunk_step(p);
    return winograd_keeps_weights(p) ? p->out_units * chunk : chunk;
}

const float *winograd_unit_weights(const winograd_params *p, const void *packed, uint64_t unit)
{
    return (const float *)packed + p->out_blocks * p->block +
           unit * 2 * p->block * 9 * p->s.in_channels;
}

uint64_t winograd_unit_width(const winograd_params *p, uint64_t unit)
{
    return p->out_blocks - 2 * unit < 2 ? 1 : 2;
}

void winograd_transform_chunk(float *to, const winograd_params *p, const float *w, uint64_t width,
                              uint64_t channel, uint64_t count)
{
    const winograd_transforms *t = winograd_transforms_of(p->level);
    for (uint64_t c = 0; c < count; c += p->block) {
        uint64_t tap;
        const uint64_t at = winograd_taps_at(&tap, p, channel + c, width);
        t->weights(to + c * width, winograd_chunk_step(p), w + at, tap, tap);
    }
}
