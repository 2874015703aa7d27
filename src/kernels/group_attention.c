/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft GroupQueryAttention in float32. Phase 0 rotates the queries into the workspace, and
 * writes the caches: a copy of the past, unless past and present are the same memory or the caller
 * has a buffer for both, and the new keys and values. In phase 1, a unit is some query rows that
 * share a head of keys and values. */
#include "kernels/group_attention.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/vec_math.h"

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

static bool read_caches(params *p, const kernel_problem *u)
{
    const kernel_tensor *past_k = given(u, GROUP_PAST_K), *past_v = given(u, GROUP_PAST_V);
    const uint64_t fresh[] = {p->batch, p->rows, p->kv_heads * p->size};
    if (!past_k != !past_v || u->outputs[1].rank != 4) return false;
    if (past_k) p->past = past_k->rank == 4 ? (uint64_t)past_k->shape[2] : 0;
    p->capacity = (uint64_t)u->outputs[1].shape[2];
    if (p->capacity < p->rows || p->capacity < p->past || p->capacity > INT32_MAX) return false;
    const uint64_t old[] = {p->batch, p->kv_heads, p->past, p->size};
    const uint64_t made[] = {p->batch, p->kv_heads, p->capacity, p->size};
    for (size_t i = 0; i < 2; i++) {
        if (!has_shape(&u->outputs[1 + i], PGY_F32, 4, made)) return false;
        if (!p->packed && !has_shape(&u->inputs[GROUP_KEY + i], PGY_F32, 3, fresh)) return false;
        if (past_k && !has_shape(&u->inputs[GROUP_PAST_K + i], PGY_F32, 4, old)) return false;
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
           has_shape(cosines, PGY_F32, 2, table) && has_shape(sines, PGY_F32, 2, table);
}

static bool read_extras(params *p, const kernel_problem *u)
{
    const kernel_tensor *bias = given(u, GROUP_BIAS), *sinks = given(u, GROUP_SINK);
    for (size_t i = 0; i < 2; i++) {
        const kernel_tensor *norm = given(u, GROUP_Q_NORM + i);
        if (norm && (norm->dtype != PGY_F32 || kernel_count(norm) != p->size)) return false;
        if (norm) p->normed |= 1U << i;
    }
    if (sinks && (sinks->dtype != PGY_F32 || kernel_count(sinks) != p->heads)) return false;
    p->sinks = sinks                                            ? GROUP_SINKS_GIVEN
               : op_attr_int(u->node, "smooth_softmax", -1) > 0 ? GROUP_SINKS_ZERO
                                                                : GROUP_NO_SINKS;
    if (!bias) return true;
    if (bias->dtype != PGY_F32 || bias->rank != 4) return false;
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
    if (!is_plain(u) || q->dtype != PGY_F32 || q->rank != 3 || !kernel_count(q) || heads < 1 ||
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
    p->scale = (float)op_attr_float(u->node, "scale", 0);
    if (p->scale == 0) p->scale = (float)(1 / sqrt((double)p->size));
    const uint64_t shape[] = {p->batch, p->rows, p->heads * p->size};
    return has_shape(&u->outputs[0], PGY_F32, 3, shape) && read_caches(p, u) &&
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
    *cost_ns = 500 + scores * (4 * (double)p.size + 40) / u->self->rates[0] + cache * 2;
    return true;
}

/* ---- Units ---------------------------------------------------------------------------------- */

enum { COPIED_ROWS = 512, PARTS = 256 };

static uint64_t group_blocks(const params *p)
{
    return (p->capacity + COPIED_ROWS - 1) / COPIED_ROWS;
}

/* Units of phase 0 that copy the past; the others are tokens. */
static uint64_t group_copies(const params *p)
{
    return 2 * p->batch * p->kv_heads * group_blocks(p);
}

/* Units of phase 1 for each head of keys: its query rows are [rows][heads / kv_heads]. */
static uint64_t group_row_units(const params *p)
{
    return (p->rows * (p->heads / p->kv_heads) + ATTENTION_ROWS - 1) / ATTENTION_ROWS;
}

static pgy_status group_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)group_attention_describe(p, u); /* cannot fail after `accept` */
    const uint64_t units = p->batch * p->kv_heads * group_row_units(p);
    const uint64_t others = group_copies(p) + p->batch * p->rows;
    const uint64_t most = units > others ? units : others;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 2, .in_place = -1};
    out->parts = (uint32_t)(most < PARTS ? most : PARTS);
    out->workspace_bytes = p->batch * p->rows * p->heads * p->size * sizeof(float);
    out->scratch_bytes = attention_rows_scratch(p->size, p->size) * sizeof(float);
    return PGY_OK;
}

/* ---- Running: caches ------------------------------------------------------------------------ */

/* The number of all keys of a batch entry, and of those of the past. */
static bool group_lengths(uint64_t *all, uint64_t *past, const params *p, const kernel_run *r,
                          uint64_t b)
{
    const int64_t total = *(const int32_t *)r->tensors[GROUP_TOTAL];
    const int64_t length = (int64_t)((const int32_t *)r->tensors[GROUP_LENGTHS])[b] + 1;
    const int64_t before = total == (int64_t)p->rows ? 0 : length - (int64_t)p->rows;
    const uint64_t longest = (uint64_t)total > p->past ? (uint64_t)total : p->past;
    *all = (uint64_t)length;
    *past = (uint64_t)before;
    return total >= (int64_t)p->rows && longest == p->capacity && length >= 1 && length <= total &&
           before >= 0 && (uint64_t)before <= p->past &&
           (!p->bias_keys || p->bias_keys == (uint64_t)total);
}

/* Has the caller a buffer with the past of keys (0) or values (1) in it? */
static bool group_is_kept(const kernel_run *r, uint64_t which)
{
    return r->rooms[which].rows;
}

/* Where the keys (0) or values (1) of a head of a batch entry lie. */
static float *group_cache(const params *p, const kernel_run *r, uint64_t which, uint64_t head)
{
    const uint64_t rows = group_is_kept(r, which) ? r->rooms[which].rows : p->capacity;
    return (float *)r->tensors[p->inputs + 1 + which] + head * rows * p->size;
}

/* Buffers of the caller must hold what the parameters, perhaps those of a plan, say. */
static bool group_has_room(const params *p, const kernel_run *r)
{
    for (size_t i = 0; i < 2; i++) {
        size_t count = p->batch;
        if (!group_is_kept(r, i)) continue;
        if (p->capacity > r->rooms[i].rows || !size_mul(&count, count, p->kv_heads) ||
            !size_mul(&count, count, r->rooms[i].rows) || !size_mul(&count, count, p->size) ||
            count > r->rooms[i].size_bytes / sizeof(float))
            return false;
    }
    return true;
}

/* Copies a block of one head's past keys or values, except the rows that new tokens get; rows
 * behind the end of the sequence become 0. */
static void group_copy(const params *p, const kernel_run *r, uint64_t index)
{
    const uint64_t blocks = group_blocks(p), all = p->batch * p->kv_heads;
    const uint64_t head = index / blocks % all, which = index / blocks / all;
    uint64_t length, past, from = index % blocks * COPIED_ROWS;
    const uint64_t end = p->capacity - from < COPIED_ROWS ? p->capacity : from + COPIED_ROWS;
    const float *x = p->past ? r->tensors[GROUP_PAST_K + which] : NULL;
    const bool kept = group_is_kept(r, which), full = p->past == p->capacity;
    float *y = group_cache(p, r, which, head);
    if ((x == r->tensors[p->inputs + 1 + which] && full) ||
        !group_lengths(&length, &past, p, r, head / p->kv_heads))
        return;
    if (x) x += head * p->past * p->size;
    while (from < end) {
        const bool old = from < past;
        const uint64_t to = old && past < end ? past : end;
        if (from >= past && from < past + p->rows) { /* rows of new tokens */
            from = past + p->rows;
            continue;
        }
        const uint64_t bytes = (to - from) * p->size * sizeof *y;
        if (!old)
            memset(y + from * p->size, 0, bytes);
        else if (!kept)
            memcpy(y + from * p->size, x + from * p->size, bytes);
        from = to;
    }
}

/* Finds the row of the tables for a token; false if its position lies outside of them. */
static bool group_place(uint64_t *place, const params *p, const kernel_run *r, uint64_t token,
                        uint64_t at, uint64_t length)
{
    const int64_t *ids = p->ids ? r->tensors[GROUP_POSITIONS] : NULL;
    const uint64_t row = token % p->rows;
    *place = 0;
    if (!p->half || at >= length) return true;
    *place = !ids ? at : p->ids == 1 ? (uint64_t)ids[0] + row : (uint64_t)ids[token];
    return *place < p->places;
}

/* Normalises and rotates one head of a query or key. */
static void group_turn(const params *p, const kernel_run *r, float *y, const float *x,
                       uint64_t place, uint32_t norm)
{
    const vec_math *m = vec_math_of((cpu_level)p->level);
    if (p->normed >> norm & 1) {
        const float mean = m->sum_squares(x, p->size, 0) / (float)p->size;
        m->normalize(y, x, p->size, 0, 1 / sqrtf(mean + p->epsilon),
                     r->tensors[GROUP_Q_NORM + norm], NULL);
    } else {
        memcpy(y, x, p->size * sizeof *y);
    }
    if (p->half)
        attention_loops_of((cpu_level)p->level)
            ->rotate(y, y, (const float *)r->tensors[GROUP_COS] + place * p->half,
                     (const float *)r->tensors[GROUP_SIN] + place * p->half, p->half,
                     p->interleaved);
}

static void group_token(const params *p, const kernel_run *r, uint64_t token)
{
    const uint64_t b = token / p->rows, row = token % p->rows, shared = p->heads / p->kv_heads;
    const uint64_t q_width = p->heads * p->size, width = p->kv_heads * p->size;
    const uint64_t all = p->packed ? q_width + 2 * width : q_width;
    const float *q = (const float *)r->tensors[GROUP_QUERY] + token * all;
    const float *k = p->packed ? q + q_width : (const float *)r->tensors[GROUP_KEY] + token * width;
    const float *v = p->packed ? k + width : (const float *)r->tensors[GROUP_VALUE] + token * width;
    uint64_t length, past, place;
    if (!group_lengths(&length, &past, p, r, b) ||
        !group_place(&place, p, r, token, past + row, length)) {
        kernel_fail(r, KERNEL_FAULT_LENGTH);
        return;
    }
    for (uint64_t h = 0; h < p->heads; h++) {
        const uint64_t head = b * p->kv_heads + h / shared;
        float *y = (float *)r->workspace + ((head * p->rows + row) * shared + h % shared) * p->size;
        group_turn(p, r, y, q + h * p->size, place, 0);
        for (uint64_t d = 0; d < p->size; d++) y[d] *= p->scale;
    }
    for (uint64_t h = 0; h < p->kv_heads; h++) {
        const uint64_t head = b * p->kv_heads + h, at = (past + row) * p->size;
        group_turn(p, r, group_cache(p, r, 0, head) + at, k + h * p->size, place, 1);
        memcpy(group_cache(p, r, 1, head) + at, v + h * p->size, p->size * sizeof *v);
    }
}

/* ---- Running: attention --------------------------------------------------------------------- */

static attention_row group_row(const params *p, const kernel_run *r, uint64_t b, uint64_t row,
                               uint64_t head)
{
    attention_row y = {0};
    uint64_t length, past;
    (void)group_lengths(&length, &past, p, r, b);
    const uint64_t at = past + row;
    y.to = p->causal && at + 1 < length ? at + 1 : length;
    if (p->window >= 0 && at + 1 > (uint64_t)p->window) y.from = at + 1 - (uint64_t)p->window;
    y.y = (float *)r->tensors[p->inputs] + ((b * p->rows + row) * p->heads + head) * p->size;
    if (p->bias_keys) {
        const uint64_t of_batch = p->bias_batch == 1 ? 0 : b;
        const uint64_t of_head = p->bias_heads == 1 ? 0 : head;
        y.bias = (const float *)r->tensors[GROUP_BIAS] +
                 ((of_batch * p->bias_heads + of_head) * p->rows + row) * p->bias_keys;
    }
    return y;
}

static void group_unit(const params *p, const kernel_run *r, uint64_t index)
{
    const uint64_t across = group_row_units(p), shared = p->heads / p->kv_heads;
    const uint64_t group = index / across, b = group / p->kv_heads, all = p->rows * shared;
    const uint64_t first = index % across * ATTENTION_ROWS;
    const float *sinks = p->sinks == GROUP_SINKS_GIVEN ? r->tensors[GROUP_SINK] : NULL;
    uint64_t length, past;
    float extra[ATTENTION_ROWS] = {0};
    attention_rows a = {.level = (cpu_level)p->level,
                        .rows = all - first < ATTENTION_ROWS ? all - first : ATTENTION_ROWS,
                        .size = p->size,
                        .v_size = p->size,
                        .q = (const float *)r->workspace + (group * all + first) * p->size,
                        .keys = group_cache(p, r, 0, group),
                        .values = group_cache(p, r, 1, group),
                        .key_step = p->size,
                        .value_step = p->size,
                        .cap = p->cap,
                        .sinks = p->sinks ? extra : NULL};
    if (!group_lengths(&length, &past, p, r, b)) return;
    for (uint64_t i = 0; i < a.rows; i++) {
        const uint64_t head = group % p->kv_heads * shared + (first + i) % shared;
        a.row[i] = group_row(p, r, b, (first + i) / shared, head);
        if (sinks) extra[i] = sinks[head];
    }
    attention_rows_run(&a, r->scratch);
}

static void group_run(const kernel_run *r)
{
    const params *p = r->params;
    const uint64_t copies = group_copies(p);
    const uint64_t count =
        r->phase ? p->batch * p->kv_heads * group_row_units(p) : copies + p->batch * p->rows;
    size_t from, to;
    if (!group_has_room(p, r)) {
        kernel_fail(r, KERNEL_FAULT_LENGTH);
        return;
    }
    kernel_share(&from, &to, count, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++)
        if (r->phase)
            group_unit(p, r, i);
        else if (i < copies)
            group_copy(p, r, i);
        else
            group_token(p, r, i - copies);
}

#define ROW(suffix, level, flops_per_ns)                                                     \
    {                                                                                        \
        .name = "group_attention_f32_" #suffix, .version = 2,                                \
        .ops = "com.microsoft:GroupQueryAttention", .needs = level, .rates = {flops_per_ns}, \
        .flags = KERNEL_SHARES_CACHES | KERNEL_GROWS_CACHES, .accept = group_accept,         \
        .prepare = group_prepare, .run = group_run, .extent = group_attention_extent         \
    }
const kernel KERNELS_group_attention[] = {
    ROW(portable, CPU_PORTABLE, 6),
    ROW(avx2, CPU_AVX2, 25),
    ROW(avx512, CPU_AVX512, 40),
    {0},
};
