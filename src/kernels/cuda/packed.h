/* SPDX-License-Identifier: Apache-2.0 */
/* Products of rows of 16-bit floats or bytes and weights that are packed when the plan is made
 * (packed.cu): convolutions in channels last, and matrix products with constant B. Each tile is a
 * tactic. */
#ifndef KERNELS_CUDA_PACKED_H
#define KERNELS_CUDA_PACKED_H

#include "kernels/cuda/byte_sums.h"
#include "kernels/cuda/code.h"
#include "kernels/extent.h"

enum { PACKED_BATCH_AXES = 6, PACKED_PARTS = 3 };

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
    uint64_t offsets, scales, factors, outside; /* of bytes, from here on */
    int32_t zero, low, high;
    uint64_t mapped, row_kinds, column_kinds; /* with packed_kind.mapped */
    uint32_t kinds, kind_pitch;
    uint64_t least, most, w_rows; /* with packed_kind.direct */
    struct packed_loose {
        uint64_t a_scale, b_scale, y_scale, a_zero, b_zero, bias;
        double alpha;
        uint64_t a_row, a_k, b_column, b_k;
        uint64_t batch_shape[PACKED_BATCH_AXES], a_batch[PACKED_BATCH_AXES],
            b_batch[PACKED_BATCH_AXES];
        uint32_t batch_rank, b_scales, b_zeros;
    } loose;              /* with packed_kind.loose */
    uint64_t table, part; /* with packed_kind.table; part: columns of each of packed_kind.parts */
    /* Of bytes with packed_kind.added: of a result and the residual, for each part. */
    byte_binary_call sum[PACKED_PARTS];
} packed_call;

/* GATHERED: most elements of a row of X that are gathered one by one. */
enum { PACKED_TILES = 10, PACKED_VECTOR = 8, PACKED_GATHERED = 2048 };

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
    bool stays;      /* a block computes several tiles */
} packed_loaded;

typedef struct packed_types {
    pgy_dtype x, bias, residual, y;
    pgy_dtype w; /* of bytes; else that of x */
} packed_types;

/* What results of sums of bytes are made of; the numbers are those in packed_sums.cu. */
typedef enum packed_finish {
    PACKED_FLOATS, /* sums are no sums of bytes */
    PACKED_TO_BYTES,
    PACKED_TO_INT32,
    PACKED_CONV_TO_FLOAT,  /* as pgy:QuantizedConv rounds */
    PACKED_MATMUL_TO_FLOAT /* as pgy:QuantizedMatMul does */
} packed_finish;

typedef struct packed_kind {
    packed_types types;
    packed_cut cut;
    uint32_t activation; /* a conv_activation */
    /* of a row of a window whose lines are brought to shared memory, else 0; the first one that has
     * a weight, and the window */
    uint32_t taps, lead, width, height;
    uint32_t more; /* bytes of shared memory behind the tiles */
    packed_finish finish;
    bool plain, patched, gathered, vector, biased, added;
    bool row;           /* what is added to bytes is a row for all rows of Y */
    bool planes, loose; /* planes: Y is linear; loose: see loose.cu */
    /* Bytes from outside of the image are 0 instead of its zero point, so what is added to a sum
     * depends on the place. */
    bool mapped;
    /* Bytes go from registers to Y: packed weights are in the order of byte_columns_row. Results
     * below and above the limits are none of their type. */
    bool direct, y_signed, above, below;
    bool stays; /* a block computes several tiles */
    bool late; /* the kernel before makes the weights, so they are no constants; only in boxed.cu */
    bool table;     /* results of bytes are looked up in a table */
    uint32_t parts; /* more than 1: products side by side, each with a sum of its own */
    bool slim;      /* steps have 64 bytes of each row, and there are twice as many stages */
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

/* m, n, k: sizes of the product of each of `groups` groups; k counts 16 bits, also of bytes. */
packed_cut packed_cut_of(uint32_t tile, uint64_t m, uint64_t n, uint64_t k, uint64_t groups);
/* Estimates nanoseconds by arithmetic alone. */
double packed_cost(const packed_cut *c, uint64_t m, uint64_t n, uint64_t k, uint64_t groups);
/* Refuses a cut from a plan file that packed_cut_of cannot make for this tile. */
bool packed_cut_extent(kernel_extent *e, const packed_cut *c, uint32_t tile);
/* The macros of packed_sums.cu. `splits` blocks share k. */
void packed_define(str *defines, const packed_kind *k, uint32_t splits);
/* The source `text` of a kernel on tiles of packed_sums.cu. */
cuda_source packed_text(const packed_kind *kind, const char *name, const char *text);
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
