/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of the kernel for Attention over keys and values that lie row by row in memory. */
#ifndef KERNELS_CACHED_ATTENTION_H
#define KERNELS_CACHED_ATTENTION_H

#include "kernels/attention_rows.h"
#include "kernels/extent.h"

/* The operator's inputs, and its outputs behind them. PackedAttention has queries, keys and values
 * side by side in its first input, and the mask behind it. */
enum { CACHED_Q, CACHED_K, CACHED_V, CACHED_MASK, CACHED_PAST, CACHED_LENGTHS = 6 };
enum { PACKED_MASK = 1 };

typedef enum cached_mask {
    CACHED_NO_MASK,
    CACHED_FLOATS,
    CACHED_BOOLS,
    CACHED_HALVES /* in the 16-bit type of the other tensors */
} cached_mask;

/* Strides of an operand along batch, head and row; the elements of a row are contiguous. */
typedef struct cached_strides {
    uint64_t batch, head, row;
} cached_strides;

typedef struct cached_params {
    uint64_t batch, heads, kv_heads, rows;
    uint64_t past, fresh;       /* keys of the caches, and new ones */
    uint64_t sizes[2];          /* of a row of keys, and of values */
    cached_strides q, of[2], y; /* of[0]: of the new keys; of[1]: of the new values */
    uint64_t at[2];             /* elements before the new keys, and the new values, of a row */
    /* Strides of the mask; keys from m_keys on are masked. */
    uint64_t m_batch, m_head, m_row, m_key, m_keys;
    int64_t left, right; /* the window; < 0: none */
    uint32_t level, inputs, causal, mask;
    uint32_t joined;  /* past and new rows are copied to one place: an output, or the workspace */
    uint32_t present; /* bit 0: the keys are an output; bit 1: the values */
    uint32_t lengths; /* the number of keys of each batch entry is data */
    uint32_t packed;  /* PackedAttention */
    float scale, cap;
    uint32_t half; /* PGY_F16 or PGY_BF16: the type of all tensors; 0: float32 */
} cached_params;

static inline uint32_t cached_mask_input(const cached_params *p)
{
    return p->packed ? PACKED_MASK : CACHED_MASK;
}

/* The input that has the new keys (0) or values (1). */
static inline uint32_t cached_fresh_input(const cached_params *p, uint32_t i)
{
    return p->packed ? CACHED_Q : CACHED_K + i;
}

static inline uint64_t cached_keys(const cached_params *p)
{
    return p->past + p->fresh;
}

/* Bytes of an element of queries, keys, values and the result. */
static inline uint64_t cached_item(const cached_params *p)
{
    return p->half ? sizeof(uint16_t) : sizeof(float);
}

/* Units for each head of keys: its query rows are [rows][heads / kv_heads]. */
static inline uint64_t cached_row_units(const cached_params *p)
{
    return (p->rows * (p->heads / p->kv_heads) + ATTENTION_ROWS - 1) / ATTENTION_ROWS;
}

/* Parts of the keys; more than one only if each head has one unit of rows. */
static inline uint64_t cached_key_parts(const cached_params *p)
{
    return cached_row_units(p) > 1 ? 1 : (cached_keys(p) + ATTENTION_PART - 1) / ATTENTION_PART;
}

/* The most query rows of a unit, and the most keys that it reads. */
static inline uint64_t cached_unit_rows(const cached_params *p)
{
    const uint64_t rows = p->rows * (p->heads / p->kv_heads);
    return rows < ATTENTION_ROWS ? rows : ATTENTION_ROWS;
}
static inline uint64_t cached_unit_keys(const cached_params *p)
{
    return cached_key_parts(p) > 1 ? ATTENTION_PART : cached_keys(p);
}

/* Does a unit join the rows of its head itself? */
static inline bool cached_joins_alone(const cached_params *p)
{
    return p->joined && cached_row_units(p) == 1 && cached_key_parts(p) == 1;
}

/* Offsets in the workspace, in floats: joined keys, joined values, sums of parts, the end. */
void cached_places(uint64_t *out, const cached_params *p);
uint32_t cached_phases(const cached_params *p);
/* Offsets in the scratch memory, in floats: queries, what attention_rows_run needs, and for 16 bits
 * the unit's result, keys, values and masks in float32; the end. */
enum {
    CACHED_QUERIES,
    CACHED_ROWS,
    CACHED_Y,
    CACHED_WIDE,
    CACHED_MASKS = CACHED_WIDE + 2,
    CACHED_END
};
void cached_scratch(uint64_t out[CACHED_END + 1], const cached_params *p);
bool cached_attention_extent(kernel_extent *e, const kernel_claim *q);

#endif
