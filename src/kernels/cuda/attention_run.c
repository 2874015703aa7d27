/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of attention on CUDA devices: decoding and plain ones (attention.cu), tensor cores
 * (attention_tensor.cu), and copies of caches. */
#include "base/alloc.h"
#include "kernels/cuda/attention.h"

typedef attention_params params;
typedef attention_strides strides;

/* Other GPUs than Hopper may have less shared memory: there the keys follow each other. */
static attention_cut cut_of(const params *p, attention_way way, device *d)
{
    attention_cut c;
    return cuda_is_hopper(d) && attention_cut_of(&c, p, way) ? c : attention_blocks_cut(p);
}

static uint32_t block_threads(const params *p, const attention_cut *c)
{
    if (c->groups) return 128;
    if (attention_uses_tensor_cores(p)) return c->rows * 2 * c->split;
    return attention_is_decode(p) ? 512 : CUDA_BLOCK;
}

/* Is the mask brought to shared memory with the keys? All rows have the same one. */
static bool is_staged(const params *p)
{
    return attention_uses_tensor_cores(p) && p->mask && !p->m_row && !p->causal && !(p->cap > 0);
}

/* Does attention_tensor.cu take scores in units of ln(2)? */
static bool has_powers_of_2(const params *p)
{
    return attention_uses_tensor_cores(p) && !(p->cap > 0) && (!p->mask || is_staged(p));
}

/* The same for groups of warps, by their shared memory, and by the registers for scores. */
static uint32_t group_blocks(const attention_cut *c)
{
    enum { SHARED_BYTES = 227 << 10 };
    const uint32_t own = c->keys / c->split, fit = SHARED_BYTES / (c->room + 1024),
                   most = own <= ATTENTION_GROUPS_64    ? 4
                          : own <= ATTENTION_GROUPS_128 ? 3
                                                        : 2;
    return fit < most ? fit : most;
}

/* Blocks that a multiprocessor shall run at the same time: 4 if there are so many, which leaves
 * each thread 128 registers. */
static uint32_t tensor_blocks(const params *p, const attention_cut *c)
{
    enum { MULTIPROCESSORS = 132, AT_ONCE = 4 };
    const uint64_t tiles = (p->rows + c->rows - 1) / c->rows;
    if (c->groups) return group_blocks(c);
    const bool few = extent_mul3(p->batch, p->heads, tiles) < MULTIPROCESSORS * AT_ONCE;
    return few || c->rows != 64 || p->size > 64 || p->v_size > 64 ? 1 : AT_ONCE;
}

/* Blocks of a cluster that share the keys of a row in decoding: so many that all multiprocessors
 * have work, if each gets some hundred keys. */
static uint32_t decode_shares(const params *p)
{
    enum { MULTIPROCESSORS = 132, MOST = 8, FEWEST_KEYS = 128 };
    const uint64_t rows = extent_mul3(p->batch, p->heads, p->rows);
    uint32_t shares = 1;
    while (attention_is_decode(p) && shares < MOST && rows * shares * 2 <= MULTIPROCESSORS &&
           p->keys / (shares * 2) >= FEWEST_KEYS)
        shares *= 2;
    return shares;
}

/* Elements of a cache that are copied at once. */
static uint32_t copy_vector(const params *p)
{
    const uint32_t most = 16 / cuda_item((pgy_dtype)p->type);
    return attention_has_even_rows(p) && p->size % most == 0 && p->v_size % most == 0 ? most : 1;
}

static int64_t padded(uint64_t size)
{
    return (int64_t)((size + 3) / 4 * 4);
}

typedef struct attention_loaded {
    void *code; /* of the kernel, and of the one that copies caches */
    void *copies;
    uint32_t shares;
    attention_cut cut;
} attention_loaded;

static void define(str *out, const params *p, const attention_cut *c, uint32_t shares)
{
    const bool tensor = attention_uses_tensor_cores(p);
    cuda_define_int(out, "SPLIT", c->split);
    cuda_define_int(out, "WHOLE", c->room > 0);
    cuda_define_int(out, "CAPPED", p->cap > 0);
    cuda_define_int(out, "DECODE", attention_is_decode(p));
    cuda_define_int(out, "SHARES", shares);
    cuda_define_int(out, "PAST", p->past > 0);
    cuda_define_int(out, "LANES", attention_lanes(p));
    cuda_define_int(out, "VECTOR", 16 / cuda_item((pgy_dtype)p->type));
    cuda_define_int(out, "ROWS", c->rows);
    cuda_define_int(out, "KEYS", c->keys);
    cuda_define_int(out, "SIZE", padded(p->size));
    cuda_define_int(out, "V_SIZE", padded(p->v_size));
    cuda_define_int(out, "MASK", p->mask);
    cuda_define_int(out, "STAGED", is_staged(p));
    cuda_define_int(out, "PLAIN_SCORES", !p->mask && !p->causal && !(p->cap > 0) && p->scale > 0);
    cuda_define_int(out, "BLOCKS", tensor_blocks(p, c));
    cuda_define_int(out, "TENSOR", !tensor ? 0 : p->type == PGY_F16 ? 1 : 2);
    cuda_define_type(out, "X", (pgy_dtype)p->type);
    cuda_define_type(out, "MASKS", (pgy_dtype)p->mask_type);
}

void attention_unload(void *loaded)
{
    attention_loaded *l = loaded;
    if (!l) return;
    cuda_unload(l->code);
    cuda_unload(l->copies);
    mem_free(l);
}

static pgy_status load_codes(attention_loaded *l, const params *p, device *d, pgy_error *err)
{
    static const cuda_source PLAIN = {
        "attention", CUDA_SOURCE_attention, {"run"}, {CUDA_SOURCE_attention_parts}};
    static const cuda_source TENSOR = {
        "attention_tensor",
        CUDA_SOURCE_attention_tensor,
        {"run"},
        {CUDA_SOURCE_mma, CUDA_SOURCE_attention_parts, CUDA_SOURCE_attention_rows}};
    static const cuda_source GROUPS = {"attention_groups",
                                       CUDA_SOURCE_attention_groups,
                                       {"run"},
                                       {CUDA_SOURCE_mma, CUDA_SOURCE_groups,
                                        CUDA_SOURCE_attention_parts, CUDA_SOURCE_attention_rows}};
    static const cuda_source COPIES = {"caches", CUDA_SOURCE_caches, {"run"}};
    str defines = {0};
    define(&defines, p, &l->cut, l->shares);
    pgy_status st = cuda_load(&l->code, d,
                              l->cut.groups                    ? &GROUPS
                              : attention_uses_tensor_cores(p) ? &TENSOR
                                                               : &PLAIN,
                              &defines, err);
    if (st || (!p->news[0] && !p->news[1])) return st;
    defines = (str){0};
    cuda_define_int(&defines, "VECTOR", copy_vector(p));
    cuda_define_type(&defines, "X", (pgy_dtype)p->type);
    return cuda_load(&l->copies, d, &COPIES, &defines, err);
}

pgy_status attention_load(void **out, const params *p, attention_way way, device *d, pgy_error *err)
{
    attention_loaded *l = mem_calloc(1, sizeof *l);
    if (!l) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    l->shares = cuda_has_clusters(d) ? decode_shares(p) : 1;
    l->cut = cut_of(p, way, d);
    const pgy_status st = load_codes(l, p, d, err);
    if (st)
        attention_unload(l);
    else
        *out = l;
    return st;
}

/* Arguments of all kernels of attention: the struct in attention_parts.cu. */
typedef struct attention_call {
    uint64_t q, k, v, mask, y;
    strides q_at, k_at, v_at, y_at;
    uint64_t heads, kv_heads, rows, keys, size, v_size, row_tiles;
    uint64_t m_batch, m_head, m_row, m_key, m_keys;
    float scale, cap;
    uint32_t causal;
    uint64_t past_k, past_v, past;
    strides past_k_at, past_v_at;
} attention_call;

/* Arguments of the kernel in caches.cu. */
typedef struct cache_call {
    uint64_t old, now, to;
    strides old_at, now_at;
    uint64_t heads, past, keys, size;
} cache_call;
typedef struct caches_call {
    cache_call at[2];
    uint64_t counts[2];
} caches_call;

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static pgy_status copy_caches(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const params *p = r->params;
    const attention_loaded *l = r->loaded;
    const cuda_loaded *copies = l->copies;
    const uint64_t vector = copy_vector(p), rows = p->batch * p->kv_heads * p->keys;
    caches_call c = {.counts = {0, 0}};
    for (uint32_t i = 0; i < 2; i++) {
        c.at[i] = (cache_call){
            .old = p->past ? address(r->tensors[ATTENTION_PAST_K + i]) : 0,
            .now = address(r->tensors[ATTENTION_K + i]),
            .to = p->news[i] ? address(r->tensors[p->inputs + ATTENTION_NEW_K + i]) : 0,
            .old_at = i ? p->past_v : p->past_k,
            .now_at = i ? p->v : p->k,
            .heads = p->kv_heads,
            .past = p->past,
            .keys = p->keys,
            .size = (i ? p->v_size : p->size) / vector};
        if (p->news[i]) c.counts[i] = rows * c.at[i].size;
    }
    return cuda_launch_for(stream, copies->functions[0], c.counts[0] + c.counts[1], CUDA_BLOCK, &c,
                           err);
}

pgy_status attention_enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const float log2_e = 1.44269504f;
    const params *p = r->params;
    const attention_loaded *l = r->loaded;
    const cuda_loaded *code = l->code;
    const uint32_t item = cuda_item((pgy_dtype)p->type);
    attention_call c = {.q = address(r->tensors[ATTENTION_Q]),
                        .k = address(r->tensors[p->packed ? ATTENTION_Q : ATTENTION_K]) +
                             attention_keys_at(p) * item,
                        .v = address(r->tensors[p->packed ? ATTENTION_Q : ATTENTION_V]) +
                             attention_values_at(p) * item,
                        .mask = p->mask ? address(r->tensors[attention_mask_input(p)]) : 0,
                        .y = address(r->tensors[p->inputs]),
                        .q_at = p->q,
                        .k_at = p->k,
                        .v_at = p->v,
                        .y_at = p->y,
                        .heads = p->heads,
                        .kv_heads = p->kv_heads,
                        .rows = p->rows,
                        .keys = p->keys,
                        .size = p->size,
                        .v_size = p->v_size,
                        .row_tiles = (p->rows + l->cut.rows - 1) / l->cut.rows,
                        .m_batch = p->m_batch,
                        .m_head = p->m_head,
                        .m_row = p->m_row,
                        .m_key = p->m_key,
                        .m_keys = p->m_keys,
                        .scale = p->scale * (has_powers_of_2(p) ? log2_e : 1),
                        .cap = p->cap,
                        .causal = p->causal,
                        .past_k = p->past ? address(r->tensors[ATTENTION_PAST_K]) : 0,
                        .past_v = p->past ? address(r->tensors[ATTENTION_PAST_V]) : 0,
                        .past = p->past,
                        .past_k_at = p->past_k,
                        .past_v_at = p->past_v};
    const uint64_t blocks = extent_mul(extent_mul3(p->batch, p->heads, c.row_tiles), l->shares);
    const pgy_status st = l->copies ? copy_caches(r, stream, err) : PGY_OK;
    return st ? st
              : cuda_launch_shared(stream, code->functions[0], blocks, block_threads(p, &l->cut),
                                   l->cut.room, &c, err);
}
