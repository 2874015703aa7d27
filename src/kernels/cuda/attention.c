/* SPDX-License-Identifier: Apache-2.0 */
/* Attention on CUDA devices; query, key and value may be parts of one tensor. Keys and values of a
 * cache are read where they lie; the new caches, if they are wanted, are copied. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/cuda/code.h"
#include "kernels/extent.h"

enum { Q, K, V, MASK, PAST_K, PAST_V, LENGTHS };
enum { Y, NEW_K, NEW_V, SCORES };
enum { MOST_SIZE = 256 };
typedef enum mask_kind { NO_MASK, MASK_FLOATS, MASK_BOOLS } mask_kind;

/* Strides of an operand along batch, head and row; the elements of a row are contiguous. */
typedef struct strides {
    uint64_t batch, head, row;
} strides;

typedef struct params {
    uint32_t inputs, causal, mask, type, mask_type;
    uint32_t packed; /* 1: input 0 holds query, key and value; the mask is input 1 */
    uint64_t batch, heads, kv_heads, rows, keys, size, v_size;
    uint64_t past;    /* the first keys and values, which lie in caches; 0: there are none */
    uint32_t news[2]; /* 1: the new cache of keys, of values, is an output */
    strides q, k, v, y, past_k, past_v;
    uint64_t m_batch, m_head, m_row, m_key,
        m_keys; /* Strides of the mask; m_keys is the number of keys that it covers. */
    float scale, cap;
} params;

/* ---- The problem ---------------------------------------------------------------------------- */

static strides read_strides(const kernel_tensor *t, uint64_t heads)
{
    if (t->rank == 4) {
        const uint64_t row = (uint64_t)t->shape[3], head = row * (uint64_t)t->shape[2];
        return (strides){.batch = head * heads, .head = head, .row = row};
    }
    const uint64_t row = (uint64_t)t->shape[2];
    return (strides){.batch = row * (uint64_t)t->shape[1], .head = row / heads, .row = row};
}

static uint64_t read_heads(const kernel_tensor *t, const op_node *n, const char *name)
{
    const int64_t given = t->rank == 4 ? t->shape[1] : op_attr_int(n, name, 0);
    return given > 0 ? (uint64_t)given : 0;
}

static uint32_t mask_of(const params *p)
{
    return p->packed ? 1 : MASK;
}

static bool read_mask(params *p, const kernel_problem *u)
{
    const uint32_t input = mask_of(p);
    const kernel_tensor *t = &u->inputs[input];
    uint64_t *const strides_of[] = {&p->m_batch, &p->m_head, &p->m_row, &p->m_key};
    uint64_t stride = 1;
    p->m_keys = p->keys;
    p->mask_type = PGY_F32;
    if (u->input_count <= input || !t->dtype) return true;
    if ((!cuda_is_float(t->dtype) && t->dtype != PGY_BOOL) || t->rank < 1 || t->rank > 4)
        return false;
    for (int32_t behind = 1; behind <= t->rank; behind++) {
        const uint64_t size = (uint64_t)t->shape[t->rank - behind];
        *strides_of[4 - behind] = size == 1 ? 0 : stride;
        stride *= size;
    }
    p->mask = t->dtype == PGY_BOOL ? MASK_BOOLS : MASK_FLOATS;
    p->mask_type = t->dtype;
    p->m_keys = (uint64_t)t->shape[t->rank - 1];
    return true;
}

static bool has_input(const kernel_problem *u, size_t i)
{
    return i < u->input_count && u->inputs[i].dtype;
}

static bool is_plain(const kernel_problem *u)
{
    const pgy_dtype type = u->inputs[Q].dtype;
    for (size_t i = 0; i < u->input_count; i++) {
        const pgy_dtype t = u->inputs[i].dtype;
        if (i != MASK && t != type && (i <= V || t)) return false;
        if (i >= LENGTHS && t) return false;
    }
    for (size_t i = NEW_K; i < u->output_count; i++)
        if (u->outputs[i].dtype && (i >= SCORES || u->outputs[i].dtype != type)) return false;
    if (has_input(u, PAST_K) != has_input(u, PAST_V)) return false;
    return cuda_is_float(type) && u->input_count > V && u->outputs[0].dtype == type &&
           op_attr_int(u->node, "softmax_precision", 1) == 1 &&
           op_attr_int(u->node, "left_window_size", -1) < 0 &&
           op_attr_int(u->node, "right_window_size", -1) < 0;
}

/* Keys begin behind the queries, values behind the keys: elements from the start of a row. */
static uint64_t keys_at(const params *p)
{
    return p->packed ? p->heads * p->size : 0;
}

static uint64_t values_at(const params *p)
{
    return p->packed ? (p->heads + p->kv_heads) * p->size : 0;
}

static bool describe_packed(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0];
    *p = (params){.inputs = (uint32_t)u->input_count, .type = x->dtype, .packed = 1};
    if (!cuda_is_float(x->dtype) || u->outputs[0].dtype != x->dtype || x->rank != 3 ||
        !kernel_count(x))
        return false;
    p->heads = read_heads(x, u->node, "q_num_heads");
    p->kv_heads = read_heads(x, u->node, "kv_num_heads");
    const uint64_t width = (uint64_t)x->shape[2], all = p->heads + 2 * p->kv_heads;
    if (!p->heads || !p->kv_heads || p->heads % p->kv_heads || width % all) return false;
    p->size = p->v_size = width / all;
    p->batch = (uint64_t)x->shape[0];
    p->rows = p->keys = (uint64_t)x->shape[1];
    p->q = p->k = p->v = (strides){.batch = width * p->rows, .head = p->size, .row = width};
    p->y = read_strides(&u->outputs[0], p->heads);
    return true;
}

/* A cache is [batch, heads, length, size]. */
static void read_caches(params *p, const kernel_problem *u)
{
    for (size_t i = 0; i < 2; i++)
        p->news[i] = u->output_count > NEW_K + i && u->outputs[NEW_K + i].dtype;
    if (!has_input(u, PAST_K)) return;
    p->past = (uint64_t)u->inputs[PAST_K].shape[2];
    p->past_k = read_strides(&u->inputs[PAST_K], p->kv_heads);
    p->past_v = read_strides(&u->inputs[PAST_V], p->kv_heads);
    p->keys += p->past;
}

static bool describe_three(params *p, const kernel_problem *u)
{
    const kernel_tensor *q = &u->inputs[Q], *k = &u->inputs[K], *v = &u->inputs[V];
    *p = (params){.inputs = (uint32_t)u->input_count, .type = q->dtype};
    if (!is_plain(u) || q->rank < 3 || q->rank > 4 || k->rank != q->rank || v->rank != q->rank)
        return false;
    p->heads = read_heads(q, u->node, "q_num_heads");
    p->kv_heads = read_heads(k, u->node, "kv_num_heads");
    if (!p->heads || !p->kv_heads || !kernel_count(q) || !kernel_count(k) || !kernel_count(v))
        return false;
    p->q = read_strides(q, p->heads);
    p->k = read_strides(k, p->kv_heads);
    p->v = read_strides(v, p->kv_heads);
    p->y = read_strides(&u->outputs[0], p->heads);
    p->batch = (uint64_t)q->shape[0];
    p->rows = (uint64_t)q->shape[q->rank - 2];
    p->keys = (uint64_t)k->shape[k->rank - 2];
    p->size = q->rank == 4 ? p->q.row : p->q.head;
    p->v_size = v->rank == 4 ? p->v.row : p->v.head;
    read_caches(p, u);
    return true;
}

static bool cuda_attention_describe(params *p, const kernel_problem *u)
{
    const bool packed = strcmp(u->node->def->name, "PackedAttention") == 0;
    if (packed ? !describe_packed(p, u) : !describe_three(p, u)) return false;
    p->causal = op_attr_int(u->node, "is_causal", 0) != 0;
    p->cap = (float)op_attr_float(u->node, "softcap", 0);
    p->scale = (float)op_attr_float(u->node, "scale", 1 / sqrt((double)p->size));
    return p->size <= MOST_SIZE && p->v_size <= MOST_SIZE && p->rows <= INT32_MAX &&
           p->keys <= INT32_MAX && read_mask(p, u);
}

static bool is_even(const strides *s)
{
    return s->batch % 8 == 0 && s->head % 8 == 0 && s->row % 8 == 0;
}

/* Does each row of queries, keys and values begin at a multiple of 16 bytes? */
static bool has_even_rows(const params *p)
{
    return is_even(&p->q) && is_even(&p->k) && is_even(&p->v) && is_even(&p->past_k) &&
           is_even(&p->past_v);
}

/* Threads that take a key of 16 bytes each. */
static uint32_t lanes_of(const params *p)
{
    return (uint32_t)p->size * cuda_item((pgy_dtype)p->type) / 16;
}

/* Few query rows have a kernel in which many threads share the keys of one. */
static bool is_decode(const params *p)
{
    const uint32_t lanes = lanes_of(p);
    return p->rows <= 4 && p->size == p->v_size &&
           (lanes == 4 || lanes == 8 || lanes == 16 || lanes == 32) &&
           p->size * cuda_item((pgy_dtype)p->type) % 16 == 0 && has_even_rows(p);
}

/* Do tensor cores compute it? They take 16 bytes of a row at once. */
static bool uses_tensor_cores(const params *p)
{
    return !is_decode(p) && cuda_is_half((pgy_dtype)p->type) && p->size % 16 == 0 &&
           p->v_size % 16 == 0 && p->size <= 128 && p->v_size <= 128 && has_even_rows(p) &&
           is_even(&p->y);
}

static bool cuda_attention_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    cuda_set_linear(u);
    if (!cuda_attention_describe(&p, u)) return false;
    const double scores = (double)(p.batch * p.heads * p.rows) * (double)p.keys;
    *cost_ns =
        cuda_cost(cuda_bytes(u), 2 * scores * (double)(p.size + p.v_size), uses_tensor_cores(&p));
    return true;
}

static pgy_status cuda_attention_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)cuda_attention_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){
        .params = p, .params_bytes = sizeof *p, .phases = 1, .parts = 1, .in_place = -1};
    return PGY_OK;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static uint64_t reach(const params *p, const strides *s, uint64_t heads, uint64_t rows,
                      uint64_t size)
{
    const uint64_t sizes[] = {p->batch, heads, rows, size};
    const uint64_t steps[] = {s->batch, s->head, s->row, 1};
    return extent_reach(sizes, steps, 4);
}

static void state_mask(kernel_extent *e, const params *p)
{
    const uint64_t sizes[] = {p->batch, p->heads, p->rows,
                              p->m_keys < p->keys ? p->m_keys : p->keys};
    const uint64_t steps[] = {p->m_batch, p->m_head, p->m_row, p->m_key};
    if (p->mask)
        extent_tensor(e, mask_of(p), extent_reach(sizes, steps, 4),
                      cuda_item((pgy_dtype)p->mask_type));
}

static bool has_valid_types(const params *p)
{
    if (!cuda_is_float((pgy_dtype)p->type) || p->mask > MASK_BOOLS) return false;
    if (p->mask == MASK_BOOLS) return p->mask_type == PGY_BOOL;
    return cuda_is_float((pgy_dtype)p->mask_type);
}

static bool has_valid_sizes(const params *p)
{
    const uint64_t most = INT32_MAX;
    return p->batch && p->heads && p->kv_heads && p->rows && p->keys && p->size && p->v_size &&
           p->batch <= most && p->heads <= most && p->kv_heads <= most && p->rows <= most &&
           p->keys <= most && p->size <= MOST_SIZE && p->v_size <= MOST_SIZE && p->past < p->keys &&
           p->heads % p->kv_heads == 0 && p->m_key <= 1;
}

static void state_caches(kernel_extent *e, const params *p, uint32_t item)
{
    const uint64_t rows = extent_mul3(p->batch, p->kv_heads, p->keys);
    if (p->past) {
        extent_tensor(e, PAST_K, reach(p, &p->past_k, p->kv_heads, p->past, p->size), item);
        extent_tensor(e, PAST_V, reach(p, &p->past_v, p->kv_heads, p->past, p->v_size), item);
    }
    if (p->news[0]) extent_tensor(e, p->inputs + NEW_K, extent_mul(rows, p->size), item);
    if (p->news[1]) extent_tensor(e, p->inputs + NEW_V, extent_mul(rows, p->v_size), item);
}

/* Are all operands there that the parameters speak of? */
static bool has_valid_operands(const params *p, const kernel_claim *q)
{
    if (p->packed > 1 || p->news[0] > 1 || p->news[1] > 1 || p->inputs != q->input_count)
        return false;
    if (p->packed && (p->past || p->news[0] || p->news[1])) return false;
    return p->inputs > (p->packed ? Q : V) && (!p->mask || p->inputs > mask_of(p)) &&
           (!p->past || p->inputs > PAST_V) && (!p->news[0] || q->output_count > NEW_K) &&
           (!p->news[1] || q->output_count > NEW_V);
}

static bool cuda_attention_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (!has_valid_operands(p, q)) return extent_refuse(e, "number of inputs");
    if (!has_valid_types(p)) return extent_refuse(e, "types");
    if (!has_valid_sizes(p)) return extent_refuse(e, "sizes");
    const uint32_t item = cuda_item((pgy_dtype)p->type);
    const uint64_t heads = extent_mul3(p->batch, p->heads, p->rows);
    const uint32_t k = p->packed ? Q : K, v = p->packed ? Q : V;
    extent_tensor(e, Q, reach(p, &p->q, p->heads, p->rows, p->size), item);
    const uint64_t fresh = p->keys - p->past;
    extent_tensor(e, k, extent_add(reach(p, &p->k, p->kv_heads, fresh, p->size), keys_at(p)), item);
    extent_tensor(e, v, extent_add(reach(p, &p->v, p->kv_heads, fresh, p->v_size), values_at(p)),
                  item);
    state_caches(e, p, item);
    extent_tensor(e, p->inputs, reach(p, &p->y, p->heads, p->rows, p->v_size), item);
    /* A plan file must not demand endless loops: their counts follow from the output's size. */
    extent_tensor(e, p->inputs, extent_mul(heads, p->v_size), item);
    state_mask(e, p);
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Rows for 4 warps, each with its own, or 16 rows that they share: few rows are spread over more
 * blocks. */
static uint32_t tensor_rows(const params *p)
{
    enum { WANTED_BLOCKS = 132 };
    return p->rows <= 16 || p->batch * p->heads * ((p->rows + 63) / 64) < WANTED_BLOCKS ? 16 : 64;
}

/* Warps that share query rows. */
static uint32_t tensor_split(const params *p)
{
    return tensor_rows(p) > 16 ? 1 : p->size <= 64 && p->v_size <= 64 ? 4 : 2;
}

/* Query rows of a block of threads, and keys that it reads at once; both fit into 48 KiB of shared
 * memory. */
static uint32_t block_rows(const params *p)
{
    if (is_decode(p)) return 1;
    if (uses_tensor_cores(p)) return tensor_rows(p);
    return p->size <= 128 && p->v_size <= 128 ? 32 : 16;
}

static uint32_t block_keys(const params *p)
{
    const uint64_t most = p->size > p->v_size ? p->size : p->v_size;
    if (uses_tensor_cores(p)) return most <= 64 ? 64 : 32;
    return most <= 64 ? 64 : most <= 128 ? 32 : 16;
}

static uint32_t block_threads(const params *p)
{
    if (uses_tensor_cores(p)) return block_rows(p) * 2 * tensor_split(p);
    return is_decode(p) ? 512 : CUDA_BLOCK;
}

/* Is the mask brought to shared memory with the keys? All rows have the same one. */
static bool is_staged(const params *p)
{
    return uses_tensor_cores(p) && p->mask && !p->m_row && !p->causal && !(p->cap > 0);
}

/* Does attention.cu take scores in units of ln(2)? */
static bool has_powers_of_2(const params *p)
{
    return uses_tensor_cores(p) && !(p->cap > 0) && (!p->mask || is_staged(p));
}

/* Blocks that a multiprocessor shall run at the same time: 4 if there are so many, which leaves
 * each thread 128 registers. */
static uint32_t tensor_blocks(const params *p)
{
    enum { MULTIPROCESSORS = 132, AT_ONCE = 4 };
    const uint64_t tiles = (p->rows + tensor_rows(p) - 1) / tensor_rows(p);
    const bool few = extent_mul3(p->batch, p->heads, tiles) < MULTIPROCESSORS * AT_ONCE;
    return few || tensor_rows(p) != 64 || p->size > 64 || p->v_size > 64 ? 1 : AT_ONCE;
}

/* Blocks of a cluster that share the keys of a row in decoding: so many that all multiprocessors
 * have work, if each gets some hundred keys. */
static uint32_t decode_shares(const params *p)
{
    enum { MULTIPROCESSORS = 132, MOST = 8, FEWEST_KEYS = 128 };
    const uint64_t rows = extent_mul3(p->batch, p->heads, p->rows);
    uint32_t shares = 1;
    while (is_decode(p) && shares < MOST && rows * shares * 2 <= MULTIPROCESSORS &&
           p->keys / (shares * 2) >= FEWEST_KEYS)
        shares *= 2;
    return shares;
}

/* Elements of a cache that are copied at once. */
static uint32_t copy_vector(const params *p)
{
    const uint32_t most = 16 / cuda_item((pgy_dtype)p->type);
    return has_even_rows(p) && p->size % most == 0 && p->v_size % most == 0 ? most : 1;
}

static int64_t padded(uint64_t size)
{
    return (int64_t)((size + 3) / 4 * 4);
}

typedef struct attention_loaded {
    void *code; /* of the kernel, and of the one that copies caches */
    void *copies;
    uint32_t shares;
} attention_loaded;

static void define(str *out, const params *p, uint32_t shares)
{
    const bool tensor = uses_tensor_cores(p);
    cuda_define_int(out, "SPLIT", tensor ? tensor_split(p) : 1);
    cuda_define_int(out, "CAPPED", p->cap > 0);
    cuda_define_int(out, "DECODE", is_decode(p));
    cuda_define_int(out, "SHARES", shares);
    cuda_define_int(out, "PAST", p->past > 0);
    cuda_define_int(out, "LANES", lanes_of(p));
    cuda_define_int(out, "VECTOR", 16 / cuda_item((pgy_dtype)p->type));
    cuda_define_int(out, "ROWS", block_rows(p));
    cuda_define_int(out, "KEYS", block_keys(p));
    cuda_define_int(out, "SIZE", padded(p->size));
    cuda_define_int(out, "V_SIZE", padded(p->v_size));
    cuda_define_int(out, "MASK", p->mask);
    cuda_define_int(out, "STAGED", is_staged(p));
    cuda_define_int(out, "BLOCKS", tensor_blocks(p));
    cuda_define_int(out, "TENSOR", !tensor ? 0 : p->type == PGY_F16 ? 1 : 2);
    cuda_define_type(out, "X", (pgy_dtype)p->type);
    cuda_define_type(out, "MASKS", (pgy_dtype)p->mask_type);
}

static void unload(void *loaded)
{
    attention_loaded *l = loaded;
    if (!l) return;
    cuda_unload(l->code);
    cuda_unload(l->copies);
    mem_free(l);
}

static pgy_status load_codes(attention_loaded *l, const params *p, device *d, pgy_error *err)
{
    static const cuda_source SOURCE = {
        "attention", CUDA_SOURCE_attention, {"run"}, {CUDA_SOURCE_mma}};
    static const cuda_source COPIES = {"caches", CUDA_SOURCE_caches, {"run"}};
    str defines = {0};
    define(&defines, p, l->shares);
    pgy_status st = cuda_load(&l->code, d, &SOURCE, &defines, err);
    if (st || (!p->news[0] && !p->news[1])) return st;
    defines = (str){0};
    cuda_define_int(&defines, "VECTOR", copy_vector(p));
    cuda_define_type(&defines, "X", (pgy_dtype)p->type);
    return cuda_load(&l->copies, d, &COPIES, &defines, err);
}

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    const params *p = plan->params;
    attention_loaded *l = mem_calloc(1, sizeof *l);
    (void)self;
    if (!l) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    l->shares = cuda_has_clusters(d) ? decode_shares(p) : 1;
    const pgy_status st = load_codes(l, p, d, err);
    if (st)
        unload(l);
    else
        *out = l;
    return st;
}

/* Arguments of the kernel in attention.cu: the same struct as there. */
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
        c.at[i] = (cache_call){.old = p->past ? address(r->tensors[PAST_K + i]) : 0,
                               .now = address(r->tensors[K + i]),
                               .to = p->news[i] ? address(r->tensors[p->inputs + NEW_K + i]) : 0,
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

static pgy_status enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const float log2_e = 1.44269504f;
    const params *p = r->params;
    const attention_loaded *l = r->loaded;
    const cuda_loaded *code = l->code;
    const uint32_t item = cuda_item((pgy_dtype)p->type);
    attention_call c = {.q = address(r->tensors[Q]),
                        .k = address(r->tensors[p->packed ? Q : K]) + keys_at(p) * item,
                        .v = address(r->tensors[p->packed ? Q : V]) + values_at(p) * item,
                        .mask = p->mask ? address(r->tensors[mask_of(p)]) : 0,
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
                        .row_tiles = (p->rows + block_rows(p) - 1) / block_rows(p),
                        .m_batch = p->m_batch,
                        .m_head = p->m_head,
                        .m_row = p->m_row,
                        .m_key = p->m_key,
                        .m_keys = p->m_keys,
                        .scale = p->scale * (has_powers_of_2(p) ? log2_e : 1),
                        .cap = p->cap,
                        .causal = p->causal,
                        .past_k = p->past ? address(r->tensors[PAST_K]) : 0,
                        .past_v = p->past ? address(r->tensors[PAST_V]) : 0,
                        .past = p->past,
                        .past_k_at = p->past_k,
                        .past_v_at = p->past_v};
    const uint64_t blocks = extent_mul(extent_mul3(p->batch, p->heads, c.row_tiles), l->shares);
    const pgy_status st = l->copies ? copy_caches(r, stream, err) : PGY_OK;
    return st ? st
              : cuda_launch_blocks(stream, code->functions[0], blocks, block_threads(p), &c, err);
}

const kernel KERNELS_cuda_attention[] = {
    {.name = "cuda_attention",
     .version = 3,
     .ops = "Attention pgy:PackedAttention",
     .device = "cuda",
     .accept = cuda_attention_accept,
     .prepare = cuda_attention_prepare,
     .extent = cuda_attention_extent,
     .load = load,
     .unload = unload,
     .enqueue = enqueue},
    {0},
};
