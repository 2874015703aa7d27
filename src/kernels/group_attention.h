/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel for com.microsoft GroupQueryAttention: its parameters, and what group_attention.c (the
 * problem), group_attention_caches.c (new rows of the caches) and group_attention_units.c (results)
 * share. */
#ifndef KERNELS_GROUP_ATTENTION_H
#define KERNELS_GROUP_ATTENTION_H

#include "kernels/attention_rows.h"
#include "kernels/extent.h"

/* The operator's inputs. */
enum {
    GROUP_QUERY,
    GROUP_KEY,
    GROUP_VALUE,
    GROUP_PAST_K,
    GROUP_PAST_V,
    GROUP_LENGTHS,
    GROUP_TOTAL,
    GROUP_COS,
    GROUP_SIN,
    GROUP_POSITIONS,
    GROUP_BIAS,
    GROUP_SINK,
    GROUP_K_SCALE,
    GROUP_V_SCALE,
    GROUP_Q_NORM,
    GROUP_K_NORM
};

/* Logits that only add to the softmax's denominator. */
typedef enum group_sinks { GROUP_NO_SINKS, GROUP_SINKS_ZERO, GROUP_SINKS_GIVEN } group_sinks;

typedef struct group_params {
    uint64_t batch, heads, kv_heads, rows, size;
    uint64_t past, capacity;    /* lengths of the caches of the input and of the output */
    uint64_t half, places, ids; /* rotated pairs, 0: none; rows of the tables; position ids */
    uint64_t bias_batch, bias_heads, bias_keys; /* shape of the bias; bias_keys 0: no bias */
    int64_t window;                             /* < 0: none */
    uint32_t level, inputs, packed, causal, interleaved, sinks;
    uint32_t normed;     /* bit 0: queries are normalised; bit 1: keys */
    uint32_t keeps_rows; /* of the past behind the end of a sequence; else they become 0 */
    uint32_t narrow;     /* PGY_F16 or PGY_BF16: the type of all floats; 0: float32 */
    float scale, cap, epsilon;
    uint32_t counts_all; /* lengths count all keys; else all but one */
} group_params;

/* Bytes of a float in memory. */
static inline uint64_t group_item(const group_params *p)
{
    return p->narrow ? sizeof(uint16_t) : sizeof(float);
}

/* Query rows that share a head of keys: [rows][heads / kv_heads]. */
static inline uint64_t group_shared_rows(const group_params *p)
{
    return p->rows * (p->heads / p->kv_heads);
}

static inline uint64_t group_row_units(const group_params *p)
{
    return (group_shared_rows(p) + ATTENTION_ROWS - 1) / ATTENTION_ROWS;
}

/* Parts of the keys, for threads to share; more than one only if each head has one unit of rows. */
static inline uint64_t group_key_parts(const group_params *p)
{
    return group_row_units(p) > 1 ? 1 : (p->capacity + ATTENTION_PART - 1) / ATTENTION_PART;
}

/* Offsets in the workspace, in floats: rotated queries, sums of parts, the end. */
void group_places(uint64_t out[3], const group_params *p);
/* Offsets in the scratch memory, in floats: what attention_rows_run needs, and for 16 bits the
 * results of a unit, keys, values and biases of a part, and sums of parts; the end. */
enum { GROUP_ROWS, GROUP_Y, GROUP_WIDE, GROUP_BIASES = GROUP_WIDE + 2, GROUP_SUMS, GROUP_END };
void group_scratch(uint64_t out[GROUP_END + 1], const group_params *p);

/* False: the kernel does not compute this problem. */
bool group_attention_describe(group_params *p, const kernel_problem *u);
bool group_attention_extent(kernel_extent *e, const kernel_claim *q);

/* ---- group_attention_caches.c ---- */
/* Do the buffers of the caller hold what the parameters, perhaps those of a plan, say? */
bool group_has_room(const group_params *p, const kernel_run *r);
/* The number of all keys of a batch entry, and of those of the past. False: the numbers in the data
 * do not fit the shapes. */
bool group_lengths(uint64_t *all, uint64_t *past, const group_params *p, const kernel_run *r,
                   uint64_t b);
/* Where the keys (0) or values (1) of a head of a batch entry lie in the output. */
void *group_cache(const group_params *p, const kernel_run *r, uint64_t which, uint64_t head);
/* Units that copy the past, then those that rotate a token and add it to the caches. */
uint64_t group_cache_units(const group_params *p);
void group_cache_unit(const group_params *p, const kernel_run *r, uint64_t index);

/* ---- group_attention_units.c ---- */
/* Units of some query rows that share a head of keys, and of the parts of their keys. */
uint64_t group_units(const group_params *p);
void group_unit(const group_params *p, const kernel_run *r, uint64_t index);
/* Joins the parts of a head of keys of a batch entry. */
void group_finish(const group_params *p, const kernel_run *r, uint64_t group);

/* Blocks of keys that blocks of queries see, as rows of sparse matrices (CSR): entries
 * rows[q] .. rows[q + 1] of `columns` name the blocks of keys for block q. Query head h has matrix
 * h % count. The data can be any; the caller has checked that all of `rows` are in [0,
 * column_width] and that there is a row for every key. */
typedef struct group_layout {
    const int32_t *rows, *columns; /* [count][row_width], [count][column_width] */
    uint64_t count, row_width, column_width, block;
} group_layout;

/* Offsets in the scratch memory of group_sparse_unit, in floats, behind GROUP_END: sums of a part,
 * sums so far, for each block of keys the rows that see it; the end. */
enum { GROUP_PART, GROUP_SO_FAR, GROUP_SEEN, GROUP_SPARSE_END };
void group_sparse_scratch(uint64_t out[GROUP_SPARSE_END + 1], const group_params *p,
                          uint64_t block);
/* Units of some query rows that share a head of keys: all their keys. */
uint64_t group_sparse_units(const group_params *p);
void group_sparse_unit(const group_params *p, const group_layout *l, const kernel_run *r,
                       uint64_t index);

#endif
