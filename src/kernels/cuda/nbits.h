/* SPDX-License-Identifier: Apache-2.0 */
/* Products with constant weights of 4 bits on CUDA devices: how weights are packed for the tensor
 * cores (nbits.cu). */
#ifndef KERNELS_CUDA_NBITS_H
#define KERNELS_CUDA_NBITS_H

#include "kernels/cuda/code.h"
#include "kernels/extent.h"

enum { NBITS_TILE = 16, NBITS_GROUP = 64, NBITS_GROUP_BYTES = 512 };

typedef enum nbits_zeros { NBITS_NO_ZEROS, NBITS_PACKED_ZEROS, NBITS_FLOAT_ZEROS } nbits_zeros;

/* A product as plans store it. */
typedef struct cuda_nbits_params {
    uint64_t m, n, k;
    uint64_t block, blocks; /* along k: a multiple of 16, or one block */
    uint32_t type, scale_type, bias_type, out_type;
    uint32_t zeros;                    /* an nbits_zeros */
    uint32_t inputs, has_bias, splits; /* splits: blocks of threads that share k */
    uint32_t few, unused;              /* few: rows of X, for which k are packed in another order */
} cuda_nbits_params;

/* The weights of MatMulNBits, in host memory. */
typedef struct cuda_nbits_weights {
    const uint8_t *codes, *zeros; /* zeros: packed, or NULL */
    const void *scales;
    const void *float_zeros; /* of the scales' type; NULL: none */
} cuda_nbits_weights;

/* Where the parts of packed weights lie. */
typedef struct nbits_places {
    uint64_t scales, zeros, bytes;
} nbits_places;

nbits_places cuda_nbits_places(const cuda_nbits_params *p);
/* `to` has cuda_nbits_places(p).bytes. */
void cuda_nbits_pack(void *to, const cuda_nbits_params *p, const cuda_nbits_weights *w);
/* k that share a scale, at most a group of 64, and how many of them a block has. */
uint32_t cuda_nbits_sub(const cuda_nbits_params *p);
uint64_t cuda_nbits_span(const cuda_nbits_params *p);
/* Packed blocks of a tile: those of whole groups. */
uint64_t cuda_nbits_blocks(const cuda_nbits_params *p);

static inline uint64_t nbits_tiles(const cuda_nbits_params *p)
{
    return (p->n + NBITS_TILE - 1) / NBITS_TILE;
}
static inline uint64_t nbits_groups(const cuda_nbits_params *p)
{
    return (p->k + NBITS_GROUP - 1) / NBITS_GROUP;
}

#endif
