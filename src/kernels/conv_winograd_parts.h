/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of Winograd's convolution share: how the work is cut, and where weights lie. */
#ifndef KERNELS_CONV_WINOGRAD_PARTS_H
#define KERNELS_CONV_WINOGRAD_PARTS_H

#include "kernels/conv.h"
#include "kernels/conv_winograd.h"

enum { WINOGRAD_FAST_BYTES = 512 * 1024, WINOGRAD_NOTE_FLOATS = 16 };

typedef struct winograd_params {
    conv_shape s;
    uint32_t level;
    uint64_t block, in_blocks, out_blocks, out_units;
    /* run: number of tiles in a run; runs: number of runs */
    uint64_t rows, columns, tiles, run, runs;
} winograd_params;

/* ---- conv_winograd_weights.c ---- */
const winograd_transforms *winograd_transforms_of(uint32_t level);
/* Bytes of all transformed weights. */
double winograd_weight_bytes(const winograd_params *p);
/* Where the weights of an input channel for a unit `width` floats wide lie, behind `from`, and the
 * distance of their taps. */
uint64_t winograd_taps_at(uint64_t *tap, const winograd_params *p, uint64_t channel,
                          uint64_t width);
/* Does each thread keep the transformed weights of all units that it has come to? */
bool winograd_keeps_weights(const winograd_params *p);
/* Input channels whose weights are transformed at a time. */
uint64_t winograd_chunk_channels(const winograd_params *p);
/* Floats between the points of the transformed weights of a chunk. */
uint64_t winograd_chunk_step(const winograd_params *p);
/* Floats of scratch memory for transformed weights: of all units, or of one chunk. */
uint64_t winograd_weight_room(const winograd_params *p);
/* The weights of a unit in `packed`, behind the biases. */
const float *winograd_unit_weights(const winograd_params *p, const void *packed, uint64_t unit);
/* Blocks of output channels of a unit. */
uint64_t winograd_unit_width(const winograd_params *p, uint64_t unit);
/* Transforms the weights of `count` input channels from `channel` on, for a unit `width` floats
 * wide, to [point][input channel][output channel]. */
void winograd_transform_chunk(float *to, const winograd_params *p, const float *w, uint64_t width,
                              uint64_t channel, uint64_t count);

/* ---- conv_winograd_run.c ---- */
/* With shorter runs, if there are fewer units than `parts`. The same tiles give the same bits. */
winograd_params winograd_cut_finer(const winograd_params *p, uint32_t parts);
uint64_t winograd_scratch_bytes(const winograd_params *p);
void conv_winograd_run(const kernel_run *r);

#endif
