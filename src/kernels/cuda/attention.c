/* SPDX-License-Identifier: Apache-2.0 */
/* Attention on CUDA devices; query, key and value may be parts of one tensor. Keys and values of a
 * cache are read where they lie; the new caches, if they are wanted, are copied. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/cuda/attention.h"

enum { LENGTHS = ATTENTION_PAST_V + 1, SCORES = ATTENTION_NEW_V + 1, MOST_SIZE = 256 };

typedef attention_params params;
typedef attention_strides strides;

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

static bool read_mask(params *p, const kernel_problem *u)
{
    const uint32_t input = attention_mask_input(p);
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
    p->mask = t->dtype == PGY_BOOL ? ATTENTION_BOOLS : ATTENTION_FLOATS;
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
    const pgy_dtype type = u->inputs[ATTENTION_Q].dtype;
    for (size_t i = 0; i < u->input_count; i++) {
        const pgy_dtype t = u->inputs[i].dtype;
        if (i != ATTENTION_MASK && t != type && (i <= ATTENTION_V || t)) return false;
        if (i >= LENGTHS && t) return false;
    }
    for (size_t i = ATTENTION_NEW_K; i < u->output_count; i++)
        if (u->outputs[i].dtype && (i >= SCORES || u->outputs[i].dtype != type)) return false;
    if (has_input(u, ATTENTION_PAST_K) != has_input(u, ATTENTION_PAST_V)) return false;
    return cuda_is_float(type) && u->input_count > ATTENTION_V && u->outputs[0].dtype == type &&
           op_attr_int(u->node, "softmax_precision", 1) == 1 &&
           op_attr_int(u->node, "left_window_size", -1) < 0 &&
           op_attr_int(u->node, "right_window_size", -1) < 0;
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
        p->news[i] = u->output_count > ATTENTION_NEW_K + i && u->outputs[ATTENTION_NEW_K + i].dtype;
    if (!has_input(u, ATTENTION_PAST_K)) return;
    p->past = (uint64_t)u->inputs[ATTENTION_PAST_K].shape[2];
    p->past_k = read_strides(&u->inputs[ATTENTION_PAST_K], p->kv_heads);
    p->past_v = read_strides(&u->inputs[ATTENTION_PAST_V], p->kv_heads);
    p->keys += p->past;
}

static bool describe_three(params *p, const kernel_problem *u)
{
    const kernel_tensor *q = &u->inputs[ATTENTION_Q], *k = &u->inputs[ATTENTION_K],
                        *v = &u->inputs[ATTENTION_V];
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

static attention_way way_of(const kernel *self);

static bool has_cut(const params *p, const kernel *self)
{
    attention_cut c;
    return attention_cut_of(&c, p, way_of(self));
}

/* Tensor cores do little of the time of a short attention. */
static double cost_of(const params *p, const kernel_problem *u)
{
    const bool tensor = attention_uses_tensor_cores(p);
    const double scores = (double)(p->batch * p->heads * p->rows) * (double)p->keys, blocks = 1500,
                 whole = 1000;
    return cuda_cost(cuda_bytes(u), 2 * scores * (double)(p->size + p->v_size), tensor) +
           (!tensor           ? 0
            : way_of(u->self) ? whole
                              : blocks);
}

static bool cuda_attention_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    cuda_set_linear(u);
    if (!cuda_attention_describe(&p, u) || !has_cut(&p, u->self)) return false;
    *cost_ns = cost_of(&p, u);
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
        extent_tensor(e, attention_mask_input(p), extent_reach(sizes, steps, 4),
                      cuda_item((pgy_dtype)p->mask_type));
}

static bool has_valid_types(const params *p)
{
    if (!cuda_is_float((pgy_dtype)p->type) || p->mask > ATTENTION_BOOLS) return false;
    if (p->mask == ATTENTION_BOOLS) return p->mask_type == PGY_BOOL;
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
        extent_tensor(e, ATTENTION_PAST_K, reach(p, &p->past_k, p->kv_heads, p->past, p->size),
                      item);
        extent_tensor(e, ATTENTION_PAST_V, reach(p, &p->past_v, p->kv_heads, p->past, p->v_size),
                      item);
    }
    if (p->news[0]) extent_tensor(e, p->inputs + ATTENTION_NEW_K, extent_mul(rows, p->size), item);
    if (p->news[1])
        extent_tensor(e, p->inputs + ATTENTION_NEW_V, extent_mul(rows, p->v_size), item);
}

/* Are all operands there that the parameters speak of? */
static bool has_valid_operands(const params *p, const kernel_claim *q)
{
    if (p->packed > 1 || p->news[0] > 1 || p->news[1] > 1 || p->inputs != q->input_count)
        return false;
    if (p->packed && (p->past || p->news[0] || p->news[1])) return false;
    return p->inputs > (p->packed ? ATTENTION_Q : ATTENTION_V) &&
           (!p->mask || p->inputs > attention_mask_input(p)) &&
           (!p->past || p->inputs > ATTENTION_PAST_V) &&
           (!p->news[0] || q->output_count > ATTENTION_NEW_K) &&
           (!p->news[1] || q->output_count > ATTENTION_NEW_V);
}

static bool cuda_attention_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (!has_valid_operands(p, q)) return extent_refuse(e, "number of inputs");
    if (!has_valid_types(p)) return extent_refuse(e, "types");
    if (!has_valid_sizes(p) || !has_cut(p, q->self)) return extent_refuse(e, "sizes");
    const uint32_t item = cuda_item((pgy_dtype)p->type);
    const uint64_t heads = extent_mul3(p->batch, p->heads, p->rows);
    const uint32_t k = p->packed ? ATTENTION_Q : ATTENTION_K,
                   v = p->packed ? ATTENTION_Q : ATTENTION_V;
    extent_tensor(e, ATTENTION_Q, reach(p, &p->q, p->heads, p->rows, p->size), item);
    const uint64_t fresh = p->keys - p->past;
    extent_tensor(
        e, k, extent_add(reach(p, &p->k, p->kv_heads, fresh, p->size), attention_keys_at(p)), item);
    extent_tensor(
        e, v, extent_add(reach(p, &p->v, p->kv_heads, fresh, p->v_size), attention_values_at(p)),
        item);
    state_caches(e, p, item);
    extent_tensor(e, p->inputs, reach(p, &p->y, p->heads, p->rows, p->v_size), item);
    /* A plan file must not demand endless loops: their counts follow from the output's size. */
    extent_tensor(e, p->inputs, extent_mul(heads, p->v_size), item);
    state_mask(e, p);
    return true;
}

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    return attention_load(out, plan->params, way_of(self), d, err);
}

#define ROW(row_name)                                                                             \
    {                                                                                             \
        .name = row_name, .version = 4, .ops = "Attention pgy:PackedAttention", .device = "cuda", \
        .accept = cuda_attention_accept, .prepare = cuda_attention_prepare,                       \
        .extent = cuda_attention_extent, .load = load, .unload = attention_unload,                \
        .enqueue = attention_enqueue                                                              \
    }
const kernel KERNELS_cuda_attention[] = {
    ROW("cuda_attention"),
    ROW("attention_whole_4"),
    ROW("attention_whole_8"),
    ROW("attention_groups_64"),
    ROW("attention_groups_128"),
    ROW("attention_groups_208"),
    {0},
};

static attention_way way_of(const kernel *self)
{
    static const attention_way WAYS[] = {ATTENTION_BLOCKS,     ATTENTION_WHOLE_4,
                                         ATTENTION_WHOLE_8,    ATTENTION_GROUPS_64,
                                         ATTENTION_GROUPS_128, ATTENTION_GROUPS_208};
    return WAYS[self - KERNELS_cuda_attention];
}
