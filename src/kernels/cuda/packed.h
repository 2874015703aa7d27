/* SPDX-License-Identifier: Apache-2.0 */
/* Products of rows of 16-bit floats and weights that are packed when the plan is made (packed.cu):
 * convolutions in channels last, and matrix products with constant B. Each tile is a tactic. */
#ifndef KERNELS_CUDA_PACKED_H
#define KERNELS_CUDA_PACKED_H

#include "kernels/cuda/code.h"
#include "kernels/extent.h"

/* Arguments of the kernel in packed.cu: the same struct as there. */
typedef struct packed_call {
    uint64_t x, w, bias, residual, y;
    uint64_t m, n, k, k_pitch;
    uint64_t x_row, y_row, image;
    uint32_t groups, channels, pixels, out_width, window;
    int32_t in_height, in_width, stride_y, stride_x, dilation_y, dilation_x, pad_y, pad_x;
    int32_t step_y, step_x, step_c;
    uint32_t lines, line; /* with TAPS */
    float alpha, first, second;
} packed_call;

/* GATHERED: most elements of a row of X that are gathered one by one. */
enum { PACKED_TILES = 9, PACKED_VECTOR = 8, PACKED_GATHERED = 2048 };

/* How the product of a problem is cut. Plan files store it. */
typedef struct packed_cut {
    uint32_t tile;   /* index of the tile */
    uint32_t splits; /* blocks that share k: 1, 2, 4 or 8 */
} packed_cut;

/* What a step has loaded. */
typedef struct packed_loaded {
    cuda_loaded *code;
    uint32_t splits; /* 1 on GPUs without clusters of blocks */
    uint32_t more;   /* bytes of shared memory behind the tiles */
} packed_loaded;

typedef struct packed_types {
    pgy_dtype x, bias, residual, y;
} packed_types;

typedef struct packed_kind {
    packed_types types;
    packed_cut cut;
    uint32_t activation; /* a conv_activation */
    /* of a row of a window whose lines are brought to shared memory, else 0; the first one that has
     * a weight, and the window */
    uint32_t taps, lead, width, height;
    uint32_t more; /* bytes of shared memory behind the tiles */
    bool plain, patched, gathered, vector, biased, added;
} packed_kind;

/* Elements from one row of packed weights to the next. */
static inline uint64_t packed_pitch(uint64_t k)
{
    return extent_round_up(k, PACKED_VECTOR);
}

/* What a block computes at a time. */
typedef struct packed_tile {
    const char *name; /* "128x64" */
    uint32_t m, n;
    uint32_t stages; /* steps of k in shared memory at the same time */
    uint32_t blocks; /* that a multiprocessor shall run */
    double rate;     /* floating-point operations per ns and multiprocessor, for estimates */
} packed_tile;
extern const packed_tile PACKED_TILE[PACKED_TILES];

/* m, n, k: sizes of the product of each of `groups` groups. */
packed_cut packed_cut_of(uint32_t tile, uint64_t m, uint64_t n, uint64_t k, uint64_t groups);
/* Estimates nanoseconds by arithmetic alone. */
double packed_cost(const packed_cut *c, uint64_t m, uint64_t n, uint64_t k, uint64_t groups);
/* Refuses a cut from a plan file that packed_cut_of cannot make for this tile. */
bool packed_cut_extent(kernel_extent *e, const packed_cut *c, uint32_t tile);
/* The macros of packed_sums.cu. `splits` blocks share k. */
void packed_define(str *defines, const packed_kind *k, uint32_t splits);
/* The shared memory of a block, from a multiple of 1024 on: stages and `more` bytes, later the
 * sums. */
uint32_t packed_room(uint32_t tile, uint32_t more);
pgy_status packed_load(void **out, const packed_kind *kind, device *d, pgy_error *err);
void packed_unload(void *loaded);
/* Blocks that compute all tiles of a product. */
uint64_t packed_blocks(const packed_cut *c, uint64_t m, uint64_t n, uint64_t groups);
pgy_status packed_launch(device_stream *s, const packed_loaded *l, const packed_cut *c,
                         packed_call *call, pgy_error *err);

#endif
