/* SPDX-License-Identifier: Apache-2.0 */
/* Attention on CUDA devices: the problem (attention.c), how its work is cut (attention_cut.c), and
 * the kernels (attention_run.c). */
#ifndef KERNELS_CUDA_ATTENTION_H
#define KERNELS_CUDA_ATTENTION_H

#include "kernels/cuda/code.h"
#include "kernels/extent.h"

enum { ATTENTION_Q, ATTENTION_K, ATTENTION_V, ATTENTION_MASK, ATTENTION_PAST_K, ATTENTION_PAST_V };
enum { ATTENTION_NEW_K = 1, ATTENTION_NEW_V };

typedef enum attention_mask { ATTENTION_NO_MASK, ATTENTION_FLOATS, ATTENTION_BOOLS } attention_mask;

/* Strides of an operand along batch, head and row; the elements of a row are contiguous. */
typedef struct attention_strides {
    uint64_t batch, head, row;
} attention_strides;

typedef struct attention_params {
    uint32_t inputs, causal, mask, type, mask_type;
    uint32_t packed; /* 1: input 0 holds query, key and value; the mask is input 1 */
    uint64_t batch, heads, kv_heads, rows, keys, size, v_size;
    uint64_t past;    /* the first keys and values, which lie in caches; 0: there are none */
    uint32_t news[2]; /* 1: the new cache of keys, of values, is an output */
    attention_strides q, k, v, y, past_k, past_v;
    uint64_t m_batch, m_head, m_row, m_key,
        m_keys; /* Strides of the mask; m_keys is the number of keys that it covers. */
    float scale, cap;
} attention_params;

/* How attention_tensor.cu cuts the work. */
typedef struct attention_cut {
    uint32_t rows;  /* query rows of a block */
    uint32_t split; /* warps that share 16 of them */
    uint32_t keys;  /* that are in shared memory at the same time */
    uint32_t room;  /* bytes of SHARED_ROOM; 0: the keys follow each other in blocks */
    bool groups;    /* attention_groups.cu, where `split` parts of the keys follow each other */
} attention_cut;

/* Elements from the start of a row to the first of its keys, and of its values. */
uint64_t attention_keys_at(const attention_params *p);
uint64_t attention_values_at(const attention_params *p);
/* The input that is the mask. */
uint32_t attention_mask_input(const attention_params *p);
/* Does each row of keys and values begin at a multiple of 16 bytes? */
bool attention_has_even_rows(const attention_params *p);
/* Few query rows have a kernel in which many threads share the keys of one. */
bool attention_is_decode(const attention_params *p);
/* Threads of it that take a key of 16 bytes each. */
uint32_t attention_lanes(const attention_params *p);
bool attention_uses_tensor_cores(const attention_params *p);
/* All keys and values in shared memory, and `split` warps for 16 rows; false: they do not fit, or
 * there is work for so many blocks that it does not pay. */
bool attention_whole_cut(attention_cut *out, const attention_params *p, uint32_t split);
/* Keys that follow each other in blocks; also that of kernels without tensor cores. */
attention_cut attention_blocks_cut(const attention_params *p);

/* Groups of four warps, each with 64 rows and the scores of `most` keys in its registers; false:
 * rows have other lengths, or all keys and values do not fit into shared memory. */
bool attention_groups_cut(attention_cut *out, const attention_params *p, uint32_t most);

/* Ways to cut: keys that follow each other; all in shared memory with 4 or 8 warps for 16 rows;
 * groups of warps, each with the scores of at most 64, 128 or 208 keys in its registers. */
typedef enum attention_way {
    ATTENTION_BLOCKS = 0,
    ATTENTION_WHOLE_4 = 4,
    ATTENTION_WHOLE_8 = 8,
    ATTENTION_GROUPS_64 = 64,
    ATTENTION_GROUPS_128 = 128,
    ATTENTION_GROUPS_208 = 208
} attention_way;
/* False: the problem has no such cut. */
bool attention_cut_of(attention_cut *out, const attention_params *p, attention_way way);
pgy_status attention_load(void **out, const attention_params *p, attention_way way, device *d,
                          pgy_error *err);
void attention_unload(void *loaded);
pgy_status attention_enqueue(const kernel_run *r, device_stream *stream, pgy_error *err);

#endif
