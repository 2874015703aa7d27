/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution of bytes, exact in int32: the problem, and the parts of the packed weights.
 *
 * First, the kernel copies the padded image to [n][group][phase][quad of channels][slice][row]
 * [column], four bytes each. Problems of fewer axes have one slice, and one row. A phase holds the
 * pixels whose coordinates have one residue modulo the strides. Then each tap of the kernel is one
 * constant offset, and a tile of output positions, counted along the padded rows, is a matrix
 * product. */
#ifndef KERNELS_INT_CONV_H
#define KERNELS_INT_CONV_H

#include <string.h>

#include "kernels/extent.h"
#include "kernels/int_tile.h"

enum {
    INT_CONV_AXES = 3,
    INT_CONV_MAX_TAPS = 256,
    INT_CONV_MAX_STRIDE = 8,
    INT_CONV_MAX_PHASES = 8,
    INT_CONV_INPUTS = 9 /* of a convolution without a sum of bytes */
};

typedef enum int_conv_kind {
    INT_CONV_TO_BYTES, /* QLinearConv */
    INT_CONV_TO_INT32, /* ConvInteger */
    INT_CONV_TO_FLOAT  /* pgy:QuantizedConv */
} int_conv_kind;

/* Indices of the operator's inputs; 0: the operator has no such input. */
typedef struct int_conv_places {
    size_t w, x_scale, x_zero, w_scale, w_zero, y_scale, y_zero, bias, sum;
} int_conv_places;
extern const int_conv_places INT_CONV_PLACES[]; /* by int_conv_kind */

typedef struct int_conv {
    uint32_t level, kind, inputs;
    uint32_t x_zero_input; /* index of the input that holds the zero point of X; 0: absent */
    uint32_t x_signed, w_has_zero, relu;
    uint32_t small;                 /* every sum that can occur, times its scale, is below 2^14 */
    uint32_t last;                  /* the image has its channels last: int_conv_last.h */
    uint32_t turned;                /* a vector holds output channels instead of positions */
    uint32_t joined;                /* the taps of a row are one, which reads all their channels */
    uint32_t bias_input, sum_input; /* indices of the float32 bias and sum inputs; 0: absent */
    int_finish finish;
    uint64_t batch, groups, in, out; /* in, out: channels of one group */
    int64_t size[INT_CONV_AXES], out_size[INT_CONV_AXES], kernel[INT_CONV_AXES];
    int64_t stride[INT_CONV_AXES], dilation[INT_CONV_AXES], pad[INT_CONV_AXES];
    /* Sizes of the padded copy; each phase has `slices` x `rows` x `columns` pixels. */
    uint64_t quads, slices, rows, columns, phases;
    /* For each axis and phase: coordinate of the phase's first pixel in the padded image. */
    int64_t phase_starts[INT_CONV_AXES][INT_CONV_MAX_PHASES];
    uint32_t phase_counts[INT_CONV_AXES];
    uint64_t taps, positions, tiles, block; /* block: tiles that share one pass over the weights */
    /* row_groups: rows of tiles in a group; chunks: units that share these rows of tiles */
    uint64_t chunks, row_groups;
    /* Byte offsets into the packed weights, except at_offsets: where the workspace holds the number
     * that is added to all sums of a channel. */
    uint64_t at_ones, at_sums, at_zeros, at_bias, at_scales, at_factors, at_offsets;
    uint64_t tap_offsets[INT_CONV_MAX_TAPS];
} int_conv;

/* Reads the problem; false if these kernels do not compute it. */
bool int_conv_describe(int_conv *p, const kernel_problem *u);
/* Sets the members that depend on the processor level. */
void int_conv_plan(int_conv *p, cpu_level level);
/* Sets those of them that concern the packed weights, for weights whose vectors hold output
 * channels. */
void int_conv_plan_turned(int_conv *p, cpu_level level);
/* Packs the weights, and sets p->small. */
pgy_status int_conv_pack(kernel_plan *out, int_conv *p, const kernel_problem *u, pgy_error *err);
/* The zero point of X as an unsigned byte. */
uint8_t int_conv_x_zero(const int_conv *p, const kernel_run *r);
/* Computes, as this part's share, the numbers that are added to the sums of each channel, from
 * bias and zero points: into the workspace at p->at_offsets. */
void int_conv_find_offsets(const int_conv *p, const kernel_run *r);
double int_conv_product_count(const int_conv *p);
void int_conv_run(const kernel_run *r);
/* States which elements of the tensors are touched. */
void int_conv_extent_tensors(kernel_extent *e, const int_conv *p);
/* Are the sizes from a plan file small enough that nothing computed from them overflows? */
bool int_conv_has_valid_sizes(const int_conv *p);

/* Taps that the sums are computed for. */
static inline uint64_t int_conv_tap_count(const int_conv *p)
{
    return p->joined ? p->taps / (uint64_t)p->kernel[2] : p->taps;
}

/* Pixels of one phase of one channel. */
static inline uint64_t int_conv_phase_pixels(const int_conv *p)
{
    return p->slices * p->rows * p->columns;
}

/* Elements of one channel. */
static inline uint64_t int_conv_in_plane(const int_conv *p)
{
    return (uint64_t)(p->size[0] * p->size[1] * p->size[2]);
}

static inline uint64_t int_conv_out_plane(const int_conv *p)
{
    return (uint64_t)(p->out_size[0] * p->out_size[1] * p->out_size[2]);
}

/* Are all positions, counted along the padded rows, positions of the output? */
static inline bool int_conv_is_flat(const int_conv *p)
{
    return p->columns == (uint64_t)p->out_size[2] &&
           (p->rows == (uint64_t)p->out_size[1] || p->out_size[0] == 1);
}

/* Bytes of the padded copy of one group of one image. */
static inline uint64_t int_conv_image_bytes(const int_conv *p)
{
    const uint64_t bytes = p->phases * p->quads * int_conv_phase_pixels(p) * INT_GROUP;
    return (bytes + 63) / 64 * 64;
}

static inline uint64_t int_conv_unit_count(const int_conv *p)
{
    return p->batch * p->groups * ((p->tiles + p->block - 1) / p->block) * p->chunks;
}

/* memcpy for few bytes, without a call. */
static inline void int_conv_copy(uint8_t *to, const uint8_t *from, size_t n)
{
    if (n >= 16) {
        for (size_t i = 0; i + 16 <= n; i += 16) memcpy(to + i, from + i, 16);
        memcpy(to + n - 16, from + n - 16, 16);
    } else if (n >= 8) {
        memcpy(to, from, 8);
        memcpy(to + n - 8, from + n - 8, 8);
    } else if (n >= 4) {
        memcpy(to, from, 4);
        memcpy(to + n - 4, from + n - 4, 4);
    } else {
        for (size_t i = 0; i < n; i++) to[i] = from[i];
    }
}

#endif
