/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft GroupQueryAttention, computed in float32. Phase 0 rotates the queries into the
 * workspace, and writes the caches: a copy of the past, unless past and present are the same memory
 * or the caller has a buffer for both, and the new keys and values. In phase 1, a unit is some
 * query rows that share a head of keys and values, and a part of the keys if these are many; phase
 * 2 joins such parts. In 16 bits a unit widens what it reads; caches stay in 16 bits. */
#include "kernels/group_attention.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/half.h"

typedef group_params params;

/* ---- The problem ---------------------------------------------------------------------------- */

static const kernel_tensor *given(const kernel_problem *u, size_t i)
{
    return i < u->input_count && u->inputs[i].dtype ? &u->inputs[i] : NULL;
}

static bool has_shape(const kernel_tensor *t, pgy_dtype dtype, int32_t rank, const uint64_t *sizes)
{
    if (t->dtype != dtype || t->rank != rank) return false;
    for (int32_t i = 0; i < rank; i++)
        if ((uint64_t)t->shape[i] != sizes[i]) return false;
    return true;
}

static bool is_plain(const kernel_problem *u)
{
    const op_node *n = u->node;
    for (size_t i = 3; i < u->output_count; i++)
        if (u->outputs[i].dtype) return false;
    return u->input_count > GROUP_TOTAL && u->output_count > 2 && u->outputs[1].dtype &&
           u->outputs[2].dtype && !given(u, GROUP_K_SCALE) && !given(u, GROUP_V_SCALE) &&
           op_attr_is(n, "k_quant_type", "NONE", "NONE") &&
           op_attr_is(n, "v_quant_type", "NONE", "NONE") &&
           !op_attr_int(n, "sliding_window_cache", 0);
}

/* The type of all floats. */
static pgy_dtype float_of(const params *p)
{
    return p->narrow ? (pgy_dtype)p->narrow : PGY_F32;
}

static bool read_caches(params *p, const kernel_problem *u)
{
    const pgy_dtype t = float_of(p);
    const kernel_tensor *past_k = given(u, GROUP_PAST_K), *past_v = given(u, GROUP_PAST_V);
    const uint64_t fresh[] = {p->batch, p->rows, p->kv_heads * p->size};
    if (!past_k != !past_v || u->outputs[1].rank != 4) return false;
    if (past_k) p->past = past_k->rank == 4 ? (uint64_t)past_k->shape[2] : 0;
    p->capacity = (uint64_t)u->outputs[1].shape[2];
    if (p->capacity < p->rows || p->capacity < p->past || p->capacity > INT32_MAX) return false;
    const uint64_t old[] = {p->batch, p->kv_heads, p->past, p->size};
    const uint64_t made[] = {p->batch, p->kv_heads, p->capacity, p->size};
    for (size_t i = 0; i < 2; i++) {
        if (!has_shape(&u->outputs[1 + i], t, 4, made)) return false;
        if (!p->packed && !has_shape(&u->inputs[GROUP_KEY + i], t, 3, fresh)) return false;
        if (past_k && !has_shape(&u->inputs[GROUP_PAST_K + i], t, 4, old)) return false;
    }
    return has_shape(&u->inputs[GROUP_LENGTHS], PGY_I32, u->inputs[GROUP_LENGTHS].rank,
                     (const uint64_t *)u->inputs[GROUP_LENGTHS].shape) &&
           kernel_count(&u->inputs[GROUP_LENGTHS]) == p->batch &&
           u->inputs[GROUP_TOTAL].dtype == PGY_I32 && kernel_count(&u->inputs[GROUP_TOTAL]) == 1;
}

static bool read_rotation(params *p, const kernel_problem *u)
{
    const kernel_tensor *cosines = given(u, GROUP_COS), *sines = given(u, GROUP_SIN);
    const kernel_tensor *ids = given(u, GROUP_POSITIONS);
    if (!op_attr_int(u->node, "do_rotary", 0)) return true;
    if (!cosines || !sines || cosines->rank != 2) return false;
    p->places = (uint64_t)cosines->shape[0];
    p->half = (uint64_t)cosines->shape[1];
    p->interleaved = op_attr_int(u->node, "rotary_interleaved", 0) != 0;
    p->ids = ids ? kernel_count(ids) : 0;
    if (ids && (ids->dtype != PGY_I64 || (p->ids != 1 && p->ids != p->batch * p->rows)))
        return false;
    const uint64_t table[] = {p->places, p->half};
    return p->places && p->half && p->half <= p->size / 2 &&
           has_shape(cosines, float_of(p), 2, table) && has_shape(sines, float_of(p), 2, table);
}

static bool read_extras(params *p, const kernel_problem *u)
{
    const kernel_tensor *bias = given(u, GROUP_BIAS), *sinks = given(u, GROUP_SINK);
    const pgy_dtype t = float_of(p);
    for (size_t i = 0; i < 2; i++) {
        const kernel_tensor *norm = given(u, GROUP_Q_NORM + i);
        if (norm && (norm->dtype != t || kernel_count(norm) != p->size)) return false;
        if (norm) p->normed |= 1U << i;
    }
    if (sinks && (sinks->dtype != t || kernel_count(sinks) != p->heads)) return false;
    p->sinks = sinks                                            ? GROUP_SINKS_GIVEN
               : op_attr_int(u->node, "smooth_softmax", -1) > 0 ? GROUP_SINKS_ZERO
                                                                : GROUP_NO_SINKS;
    if (!bias) return true;
    if (bias->dtype != t || bias->rank != 4) return false;
    p->bias_batch = (uint64_t)bias->shape[0];
    p->bias_heads = (uint64_t)bias->shape[1];
    p->bias_keys = (uint64_t)bias->shape[3];
    return (p->bias_batch == 1 || p->bias_batch == p->batch) &&
           (p->bias_heads == 1 || p->bias_heads == p->heads) &&
           (uint64_t)bias->shape[2] == p->rows && p->bias_keys;
}

bool group_attention_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *q = &u->inputs[GROUP_QUERY];
    const int64_t heads = op_attr_int(u->node, "num_heads", 0);
    const int64_t kv_heads = op_attr_int(u->node, "kv_num_heads", 0);
    *p = (params){.level = u->self->needs, .inputs = (uint32_t)u->input_count};
    if (half_is(q->dtype)) p->narrow = q->dtype;
    if (!is_plain(u) || q->dtype != float_of(p) || q->rank != 3 || !kernel_count(q) || heads < 1 ||
        kv_heads < 1 || heads > INT32_MAX || heads % kv_heads)
        return false;
    p->packed = !given(u, GROUP_KEY);
    const int64_t parts = p->packed ? heads + 2 * kv_heads : heads;
    if (q->shape[2] % parts || !p->packed != !!given(u, GROUP_VALUE)) return false;
    p->batch = (uint64_t)q->shape[0];
    p->rows = (uint64_t)q->shape[1];
    p->heads = (uint64_t)heads;
    p->kv_heads = (uint64_t)kv_heads;
    p->size = (uint64_t)(q->shape[2] / parts);
    p->causal = op_attr_int(u->node, "causal", 1) != 0;
    p->window = op_attr_int(u->node, "local_window_size", -1);
    if (p->window > INT32_MAX) p->window = -1; /* sequences are shorter */
    p->cap = (float)op_attr_float(u->node, "softcap", 0);
    p->epsilon = (float)op_attr_float(u->node, "qk_norm_epsilon", 1e-6);
    p->keeps_rows = !strcmp(u->node->def->domain, "pgy");
    p->scale = (float)op_attr_float(u->node, "scale", 0);
    if (p->scale == 0) p->scale = (float)(1 / sqrt((double)p->size));
    const uint64_t shape[] = {p->batch, p->rows, p->heads * p->size};
    return has_shape(&u->outputs[0], float_of(p), 3, shape) && read_caches(p, u) &&
           read_rotation(p, u) && read_extras(p, u);
}

static bool group_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!group_attention_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    for (size_t i = 0; i < u->output_count; i++) u->outputs[i].layout = KERNEL_LINEAR;
    const double scores = (double)(p.batch * p.heads * p.rows) * (double)p.capacity;
    const double cache = (double)(p.batch * p.kv_heads * p.size) * (double)p.capacity;
    *cost_ns =
        500 + scores * (4 * (double)p.size + 40) / u->self->rates[0] + cache * (p.narrow ? 2.5 : 2);
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

static pgy_status group_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    enum { PARTS = 256 };
    uint64_t places[3], scratch[GROUP_END + 1];
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)group_attention_describe(p, u); /* cannot fail after `accept` */
    const uint64_t units = group_units(p), others = group_cache_units(p);
    const uint64_t most = units > others ? units : others;
    group_places(places, p);
    group_scratch(scratch, p);
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .in_place = -1};
    out->phases = group_key_parts(p) > 1 ? 3 : 2;
    out->parts = (uint32_t)(most < PARTS ? most : PARTS);
    out->workspace_bytes = places[2] * sizeof(float);
    out->scratch_bytes = scratch[GROUP_END] * sizeof(float);
    return PGY_OK;
}

static void group_run(const kernel_run *r)
{
    static void (*const UNITS[])(const params *, const kernel_run *,
                                 uint64_t) = {group_cache_unit, group_unit, group_finish};
    const params *p = r->params;
    const uint64_t counts[] = {group_cache_units(p), group_units(p), p->batch * p->kv_heads};
    size_t from, to;
    if (!group_has_room(p, r)) {
        kernel_fail(r, KERNEL_FAULT_LENGTH);
        return;
    }
    kernel_share(&from, &to, counts[r->phase], r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) UNITS[r->phase](p, r, i);
}

#define ROW(suffix, level, flops_per_ns)                                                    \
    {                                                                                       \
        .name = "group_attention_f32_" #suffix, .version = 4,                               \
        .ops = "com.microsoft:GroupQueryAttention pgy:GroupQueryAttention", .needs = level, \
        .rates = {flops_per_ns}, .flags = KERNEL_SHARES_CACHES | KERNEL_GROWS_CACHES,       \
        .accept = group_accept, .prepare = group_prepare, .run = group_run,                 \
        .extent = group_attention_extent                                                    \
    }
const kernel KERNELS_group_attention[] = {
    ROW(portable, CPU_PORTABLE, 6),
    ROW(avx2, CPU_AVX2, 25),
    ROW(avx512, CPU_AVX512, 40),
    {0},
};
