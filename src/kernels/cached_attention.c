/* SPDX-License-Identifier: Apache-2.0 */
/* Attention, computed in float32, over keys and values that lie row by row in memory, with or
 * without caches. Rows of the caches and new rows are joined in the outputs; the workspace has them
 * if there are no such outputs. Without caches, keys and values are read where they are. A unit is
 * some query rows that share a head of keys. If a head has one unit, it also joins its rows, which
 * are in the cache then; else a phase before does. Many keys are computed in parts of fixed length,
 * which a last phase joins. In 16 bits a unit widens what it reads, unless the unit before it did;
 * caches stay in 16 bits. */
#include "kernels/cached_attention.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/half.h"

typedef cached_params params;
enum { PARTS = 256 };

/* ---- The problem ---------------------------------------------------------------------------- */

static const kernel_tensor *given(const kernel_problem *u, size_t i)
{
    return i < u->input_count && u->inputs[i].dtype ? &u->inputs[i] : NULL;
}

static cached_strides read_strides(const kernel_tensor *t, uint64_t heads)
{
    const uint64_t row = (uint64_t)t->shape[t->rank - 1];
    if (t->rank == 4) {
        const uint64_t head = row * (uint64_t)t->shape[2];
        return (cached_strides){.batch = head * heads, .head = head, .row = row};
    }
    return (cached_strides){.batch = row * (uint64_t)t->shape[1], .head = row / heads, .row = row};
}

static uint64_t read_heads(const kernel_tensor *t, const op_node *n, const char *name)
{
    const int64_t heads = t->rank == 4 ? t->shape[1] : op_attr_int(n, name, 0);
    return heads > 0 && heads <= INT32_MAX ? (uint64_t)heads : 0;
}

static bool read_mask(params *p, const kernel_problem *u)
{
    const kernel_tensor *t = given(u, cached_mask_input(p));
    uint64_t *const strides_of[] = {&p->m_batch, &p->m_head, &p->m_row, &p->m_key};
    uint64_t stride = 1;
    p->m_keys = cached_keys(p);
    if (!t) return true;
    if (t->rank < 1 || t->rank > 4) return false;
    p->mask = t->dtype == PGY_BOOL  ? CACHED_BOOLS
              : t->dtype == PGY_F32 ? CACHED_FLOATS
              : p->half             ? CACHED_HALVES
                                    : CACHED_NO_MASK;
    if (!p->mask || (p->mask == CACHED_HALVES && t->dtype != p->half)) return false;
    for (int32_t behind = 1; behind <= t->rank; behind++) {
        const uint64_t size = (uint64_t)t->shape[t->rank - behind];
        *strides_of[4 - behind] = size == 1 ? 0 : stride;
        stride *= size;
    }
    if (p->m_key || p->packed || strcmp(u->node->def->domain, "pgy"))
        p->m_keys = (uint64_t)t->shape[t->rank - 1];
    return p->m_keys <= cached_keys(p);
}

static bool read_caches(params *p, const kernel_problem *u)
{
    const kernel_tensor *past = given(u, CACHED_PAST), *values = given(u, CACHED_PAST + 1);
    const kernel_tensor *lengths = given(u, CACHED_LENGTHS);
    const pgy_dtype t = u->inputs[CACHED_Q].dtype;
    if (!past != !values ||
        (past && (past->rank != 4 || past->dtype != t || values->rank != 4 || values->dtype != t)))
        return false;
    if (past) p->past = (uint64_t)past->shape[2];
    for (uint32_t i = 0; i < 2; i++)
        if (u->output_count > 1 + i && u->outputs[1 + i].dtype) p->present |= 1U << i;
    p->joined = p->past || p->present;
    p->lengths = lengths != NULL;
    return !lengths || (lengths->dtype == PGY_I64 && kernel_count(lengths) == p->batch);
}

static bool is_plain(const kernel_problem *u)
{
    const pgy_dtype t = u->inputs[CACHED_Q].dtype;
    for (size_t i = 0; i < 3; i++)
        if (i >= u->input_count || u->inputs[i].dtype != t || !kernel_count(&u->inputs[i]) ||
            u->inputs[i].rank != u->inputs[0].rank)
            return false;
    return (t == PGY_F32 || half_is(t)) && u->outputs[0].dtype == t && u->inputs[0].rank >= 3 &&
           u->inputs[0].rank <= 4 && (u->output_count < 4 || !u->outputs[3].dtype) &&
           op_attr_int(u->node, "softmax_precision", 1) == 1;
}

static int64_t read_window(const op_node *n, const char *name)
{
    const int64_t window = op_attr_int(n, name, -1);
    return window > INT32_MAX ? -1 : window; /* sequences are shorter */
}

static bool cached_describe(params *p, const kernel_problem *u)
{
    const op_node *n = u->node;
    const kernel_tensor *q = &u->inputs[CACHED_Q], *k = &u->inputs[CACHED_K],
                        *v = &u->inputs[CACHED_V];
    *p = (params){.level = u->self->needs, .inputs = (uint32_t)u->input_count};
    if (!is_plain(u)) return false;
    if (half_is(q->dtype)) p->half = q->dtype;
    p->heads = read_heads(q, n, "q_num_heads");
    p->kv_heads = read_heads(k, n, "kv_num_heads");
    if (!p->heads || !p->kv_heads || p->heads % p->kv_heads) return false;
    p->q = read_strides(q, p->heads);
    p->of[0] = read_strides(k, p->kv_heads);
    p->of[1] = read_strides(v, p->kv_heads);
    p->y = read_strides(&u->outputs[0], p->heads);
    p->batch = (uint64_t)q->shape[0];
    p->rows = (uint64_t)q->shape[q->rank - 2];
    p->fresh = (uint64_t)k->shape[k->rank - 2];
    for (size_t i = 0; i < 2; i++) p->sizes[i] = q->rank == 4 ? p->of[i].row : p->of[i].head;
    p->causal = op_attr_int(n, "is_causal", 0) != 0;
    p->left = read_window(n, "left_window_size");
    p->right = read_window(n, "right_window_size");
    p->cap = (float)op_attr_float(n, "softcap", 0);
    p->scale = (float)op_attr_float(n, "scale", 1 / sqrt((double)p->sizes[0]));
    return p->sizes[0] && p->sizes[1] && read_caches(p, u) && p->past <= INT32_MAX &&
           p->fresh <= INT32_MAX && p->rows <= INT32_MAX && read_mask(p, u);
}

static bool packed_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[CACHED_Q];
    const uint64_t heads = read_heads(x, u->node, "q_num_heads");
    const uint64_t kv = read_heads(x, u->node, "kv_num_heads");
    *p = (params){.level = u->self->needs, .inputs = (uint32_t)u->input_count, .packed = 1};
    if (x->rank != 3 || !kernel_count(x) || (x->dtype != PGY_F32 && !half_is(x->dtype)) ||
        u->outputs[0].dtype != x->dtype || !heads || !kv || heads % kv)
        return false;
    const uint64_t row = (uint64_t)x->shape[2], size = row / (heads + 2 * kv);
    if (half_is(x->dtype)) p->half = x->dtype;
    p->heads = heads;
    p->kv_heads = kv;
    p->batch = (uint64_t)x->shape[0];
    p->rows = p->fresh = (uint64_t)x->shape[1];
    p->q = p->of[0] = p->of[1] = (cached_strides){.batch = row * p->rows, .head = size, .row = row};
    p->y = read_strides(&u->outputs[0], heads);
    p->sizes[0] = p->sizes[1] = size;
    p->at[0] = heads * size;
    p->at[1] = (heads + kv) * size;
    p->causal = op_attr_int(u->node, "is_causal", 0) != 0;
    p->left = p->right = -1;
    p->cap = (float)op_attr_float(u->node, "softcap", 0);
    p->scale = (float)op_attr_float(u->node, "scale", 1 / sqrt((double)size));
    return size && p->rows <= INT32_MAX && read_mask(p, u);
}

static bool cached_describe_any(params *p, const kernel_problem *u)
{
    const bool packed = strcmp(u->node->def->name, "PackedAttention") == 0;
    return packed ? packed_describe(p, u) : cached_describe(p, u);
}

static bool cached_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!cached_describe_any(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    for (size_t i = 0; i < u->output_count; i++) u->outputs[i].layout = KERNEL_LINEAR;
    const double keys = (double)cached_keys(&p), size = (double)(p.sizes[0] + p.sizes[1]);
    const double scores = (double)(p.batch * p.heads * p.rows) * keys;
    const double moved = (double)(p.batch * p.kv_heads) * keys * size;
    *cost_ns = 200 + scores * (2 * size + 40) / u->self->rates[0] + (p.joined ? moved * 0.3 : 0) +
               moved * (p.half ? 0.3 : 0.1);
    return true;
}

/* Units that join the caches: [keys, values][batch][heads]. */
static uint64_t cached_joins(const params *p)
{
    return 2 * p->batch * p->kv_heads;
}

static uint64_t cached_units(const params *p)
{
    return p->batch * p->kv_heads * cached_row_units(p) * cached_key_parts(p);
}

static pgy_status cached_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    uint64_t places[4], scratch[CACHED_END + 1];
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)cached_describe_any(p, u); /* cannot fail after `accept` */
    const uint64_t units = cached_units(p), joins = p->joined ? cached_joins(p) : 0;
    const uint64_t most = units > joins ? units : joins;
    cached_places(places, p);
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .in_place = -1};
    out->phases = cached_phases(p);
    out->parts = (uint32_t)(most < PARTS ? most : PARTS);
    out->workspace_bytes = places[3] * sizeof(float);
    cached_scratch(scratch, p);
    out->scratch_bytes = scratch[CACHED_END] * sizeof(float);
    return PGY_OK;
}

/* ---- Joining -------------------------------------------------------------------------------- */

/* Has the caller a buffer with the past in it? Then only new rows are written. */
static bool is_kept(const params *p, const kernel_run *r, size_t i)
{
    return p->present >> i & 1 && r->rooms[i].rows;
}

/* Where the new keys (0) or values (1) of a head lie. */
static char *fresh_rows(const params *p, const kernel_run *r, size_t i, uint64_t head)
{
    return (char *)r->tensors[cached_fresh_input(p, (uint32_t)i)] +
           cached_item(p) * (p->at[i] + head / p->kv_heads * p->of[i].batch +
                             head % p->kv_heads * p->of[i].head);
}

/* Where all keys (0) or values (1) of a head lie, and the distance of their rows. */
static char *cached_rows(const params *p, const kernel_run *r, size_t i, uint64_t head,
                         uint64_t *step)
{
    uint64_t places[4];
    *step = p->sizes[i];
    if (!p->joined) {
        *step = p->of[i].row;
        return fresh_rows(p, r, i, head);
    }
    cached_places(places, p);
    char *all = p->present >> i & 1 ? r->tensors[p->inputs + 1 + i]
                                    : (char *)r->workspace + places[i] * sizeof(float);
    return all + cached_item(p) * head * (is_kept(p, r, i) ? r->rooms[i].rows : cached_keys(p)) *
                     p->sizes[i];
}

/* Writes the rows of a head: those of the cache, then the new ones. memmove: the caller may have
 * given one buffer for both caches. */
static void cached_join(const params *p, const kernel_run *r, size_t i, uint64_t head)
{
    uint64_t step;
    const uint64_t item = cached_item(p), bytes = p->sizes[i] * item;
    char *y = cached_rows(p, r, i, head, &step);
    const char *x = fresh_rows(p, r, i, head);
    if (p->past && !is_kept(p, r, i)) {
        const char *old = (const char *)r->tensors[CACHED_PAST + i] + head * p->past * bytes;
        if (old != y) memmove(y, old, p->past * bytes);
    }
    y += p->past * bytes;
    for (uint64_t row = 0; row < p->fresh; row++)
        memcpy(y + row * bytes, x + row * p->of[i].row * item, bytes);
}

/* Has the caller given one buffer for the caches of input and output? Their heads move then, the
 * last one first, in one thread. */
static bool is_shared(const params *p, const kernel_run *r)
{
    bool shared = false;
    for (size_t i = 0; i < 2; i++)
        shared |= p->past && p->present >> i & 1 && !is_kept(p, r, i) &&
                  r->tensors[CACHED_PAST + i] == r->tensors[p->inputs + 1 + i];
    return shared;
}

static void cached_join_in_place(const params *p, const kernel_run *r)
{
    for (size_t i = 0; i < 2; i++)
        for (uint64_t head = p->batch * p->kv_heads; head-- > 0;) cached_join(p, r, i, head);
}

/* ---- Rows ----------------------------------------------------------------------------------- */

static const half_loops *loops_of(const params *p)
{
    return half_loops_of((pgy_dtype)p->half, (cpu_level)p->level);
}

/* A query row by its number in its group: [rows][heads that share keys]. */
typedef struct query {
    uint64_t batch, head, row;
} query;

static query query_at(const params *p, uint64_t group, uint64_t index)
{
    const uint64_t shared = p->heads / p->kv_heads;
    return (query){.batch = group / p->kv_heads,
                   .head = group % p->kv_heads * shared + index % shared,
                   .row = index / shared};
}

static uint64_t mask_at(const params *p, query q)
{
    return q.batch * p->m_batch + q.head * p->m_head + q.row * p->m_row;
}

static uint64_t result_at(const params *p, query q)
{
    return q.batch * p->y.batch + q.head * p->y.head + q.row * p->y.row;
}

static void read_row_mask(attention_row *to, const params *p, const kernel_run *r, uint64_t at)
{
    const void *mask = r->tensors[cached_mask_input(p)];
    const bool bools = p->mask == CACHED_BOOLS;
    if (to->to > p->m_keys) to->to = p->m_keys;
    if (!p->m_keys) return;         /* a mask without columns has no elements */
    if (p->mask == CACHED_HALVES) { /* widen_masks does the others */
        if (!p->m_key) loops_of(p)->widen(&to->shift, (const uint16_t *)mask + at, 1);
    } else if (p->m_key) {
        if (bools)
            to->open = (const uint8_t *)mask + at;
        else
            to->mask = (const float *)mask + at;
    } else if (bools) {
        if (!((const uint8_t *)mask)[at]) to->to = 0;
    } else {
        to->shift = ((const float *)mask)[at];
    }
}

/* A query row of a head; false: the length in the data does not fit. */
static bool read_row(attention_row *to, const params *p, const kernel_run *r, query q)
{
    const int64_t keys = (int64_t)cached_keys(p);
    const int64_t length =
        p->lengths ? ((const int64_t *)r->tensors[CACHED_LENGTHS])[q.batch] : keys;
    if (length < 0 || length > keys) return false;
    const int64_t before = p->lengths && !p->past ? length - (int64_t)p->rows : (int64_t)p->past;
    const int64_t at = before + (int64_t)q.row;
    int64_t first = 0, end = length;
    if (p->causal && at + 1 < end) end = at + 1;
    if (p->right >= 0 && at + p->right + 1 < end) end = at + p->right + 1;
    if (p->left >= 0 && at - p->left > 0) first = at - p->left;
    *to = (attention_row){.from = (uint64_t)first, .to = end > 0 ? (uint64_t)end : 0};
    if (!p->half) to->y = (float *)r->tensors[p->inputs] + result_at(p, q);
    if (p->mask) read_row_mask(to, p, r, mask_at(p, q));
    if (to->from > to->to) to->from = to->to;
    return true;
}

/* A unit's rows: their numbers, and where they are. */
static bool read_rows(attention_rows *a, const params *p, const kernel_run *r, uint64_t group,
                      uint64_t first)
{
    const uint64_t all = p->rows * (p->heads / p->kv_heads);
    uint64_t scratch[CACHED_END + 1];
    cached_scratch(scratch, p);
    *a = (attention_rows){.level = (cpu_level)p->level,
                          .rows = all - first < ATTENTION_ROWS ? all - first : ATTENTION_ROWS,
                          .size = p->sizes[0],
                          .v_size = p->sizes[1],
                          .cap = p->cap};
    for (uint64_t i = 0; i < a->rows; i++) {
        if (!read_row(&a->row[i], p, r, query_at(p, group, first + i))) return false;
        if (p->half) a->row[i].y = (float *)r->scratch + scratch[CACHED_Y] + i * p->sizes[1];
    }
    return true;
}

static const float *gather_query(const params *p, const kernel_run *r, uint64_t group,
                                 uint64_t first, uint64_t rows)
{
    const uint64_t size = p->sizes[0];
    float *y = r->scratch;
    for (uint64_t i = 0; i < rows; i++, y += size) {
        const query q = query_at(p, group, first + i);
        const uint64_t at = q.batch * p->q.batch + q.head * p->q.head + q.row * p->q.row;
        const float *x = (const float *)r->tensors[CACHED_Q] + (p->half ? 0 : at);
        if (p->half) {
            loops_of(p)->widen(y, (const uint16_t *)r->tensors[CACHED_Q] + at, size);
            x = y;
        }
        for (uint64_t d = 0; d < size; d++) y[d] = x[d] * p->scale;
    }
    return r->scratch;
}

/* ---- 16 bits -------------------------------------------------------------------------------- */

/* The keys of a head that a part has widened, and their values: [from, to), in rooms that begin
 * with row `base`. Its next unit is mostly one of the same head. */
typedef struct widened {
    uint64_t group, base, from, to;
} widened;

/* Widens rows [from, to) of keys or values of a head. `room` begins with row `base`. */
static void widen_rows(const params *p, const kernel_run *r, float *room, size_t i, uint64_t group,
                       uint64_t base, uint64_t from, uint64_t to)
{
    uint64_t step;
    const uint16_t *x = (const uint16_t *)cached_rows(p, r, i, group, &step);
    const uint64_t size = p->sizes[i], count = to > from ? to - from : 0;
    float *y = room + (from - base) * size;
    x += from * step;
    if (step == size) loops_of(p)->widen(y, x, count * size);
    for (uint64_t k = 0; step != size && k < count; k++)
        loops_of(p)->widen(y + k * size, x + k * step, size);
}

/* Widens those of keys [from, to) and their values that are not yet in the room, whose first row is
 * `base`. */
static void widen_keys(widened *w, const params *p, const kernel_run *r, float *const *rooms,
                       uint64_t group, uint64_t base, uint64_t from, uint64_t to)
{
    if (w->group != group || w->base != base || from > w->to || to < w->from)
        *w = (widened){.group = group, .base = base, .from = from, .to = from};
    for (size_t i = 0; i < 2; i++) {
        widen_rows(p, r, rooms[i], i, group, base, from, w->from);
        widen_rows(p, r, rooms[i], i, group, base, w->to, to);
    }
    w->from = from < w->from ? from : w->from;
    w->to = to > w->to ? to : w->to;
}

/* Widens what a unit reads: the keys that some row of it sees, their values and masks. In a part of
 * many keys, rows count keys from the first of them then. */
static void widen_unit(attention_rows *a, widened *w, const params *p, const kernel_run *r,
                       uint64_t group, uint64_t first)
{
    uint64_t scratch[CACHED_END + 1], from = UINT64_MAX, to = 0;
    cached_scratch(scratch, p);
    float *const rooms[2] = {(float *)r->scratch + scratch[CACHED_WIDE],
                             (float *)r->scratch + scratch[CACHED_WIDE + 1]};
    for (uint64_t i = 0; i < a->rows; i++) {
        if (a->row[i].from < from) from = a->row[i].from;
        if (a->row[i].to > to) to = a->row[i].to;
    }
    const uint64_t base = cached_key_parts(p) > 1 ? from : 0;
    widen_keys(w, p, r, rooms, group, base, from, to > from ? to : from);
    a->keys = rooms[0];
    a->values = rooms[1];
    a->key_step = p->sizes[0];
    a->value_step = p->sizes[1];
    for (uint64_t i = 0; i < a->rows; i++) {
        attention_row *row = &a->row[i];
        row->from -= base;
        row->to -= base;
        if (row->open) row->open += base;
        if (row->mask) row->mask += base;
        if (p->mask != CACHED_HALVES || !p->m_key) continue;
        float *mask = (float *)r->scratch + scratch[CACHED_MASKS] + i * cached_unit_keys(p);
        row->mask = mask;
        if (row->from >= row->to) { /* the masks of all rows are read together */
            memset(mask + (from - base), 0, (to > from ? to - from : 0) * sizeof *mask);
            continue;
        }
        const uint16_t *x = (const uint16_t *)r->tensors[cached_mask_input(p)] +
                            mask_at(p, query_at(p, group, first + i)) + base;
        loops_of(p)->widen(mask + row->from, x + row->from, row->to - row->from);
    }
}

/* Writes the result of a unit. */
static void narrow_unit(const attention_rows *a, const params *p, const kernel_run *r,
                        uint64_t group, uint64_t first)
{
    for (uint64_t i = 0; i < a->rows; i++)
        loops_of(p)->narrow((uint16_t *)r->tensors[p->inputs] +
                                result_at(p, query_at(p, group, first + i)),
                            a->row[i].y, p->sizes[1]);
}

/* ---- Units ---------------------------------------------------------------------------------- */

static float *part_sums(const params *p, const kernel_run *r, uint64_t group)
{
    uint64_t places[4];
    const uint64_t rows = p->rows * (p->heads / p->kv_heads);
    cached_places(places, p);
    return (float *)r->workspace + places[2] +
           group * cached_key_parts(p) * rows * (p->sizes[1] + 2);
}

static void cached_unit(const params *p, const kernel_run *r, widened *w, uint64_t index)
{
    const uint64_t across = cached_row_units(p), parts = cached_key_parts(p);
    const uint64_t group = index / parts / across, first = index / parts % across * ATTENTION_ROWS;
    attention_rows a;
    if (!read_rows(&a, p, r, group, first)) {
        kernel_fail(r, KERNEL_FAULT_LENGTH);
        return;
    }
    a.q = gather_query(p, r, group, first, a.rows);
    if (parts > 1) {
        const uint64_t from = index % parts * ATTENTION_PART, to = from + ATTENTION_PART;
        a.part = part_sums(p, r, group) + index % parts * a.rows * (a.v_size + 2);
        for (uint64_t i = 0; i < a.rows; i++) {
            attention_row *row = &a.row[i];
            row->from = row->from < from ? from : row->from;
            row->to = row->to < to ? row->to : to;
            if (row->from >= row->to) row->from = row->to = from;
        }
    }
    if (p->half) {
        widen_unit(&a, w, p, r, group, first);
    } else {
        a.keys = (const float *)cached_rows(p, r, 0, group, &a.key_step);
        a.values = (const float *)cached_rows(p, r, 1, group, &a.value_step);
    }
    attention_rows_run(&a, (float *)r->scratch + ATTENTION_ROWS * p->sizes[0]);
    if (p->half && parts == 1) narrow_unit(&a, p, r, group, first);
}

static void cached_finish(const params *p, const kernel_run *r, uint64_t group)
{
    attention_rows a;
    if (!read_rows(&a, p, r, group, 0)) return; /* the phase before has reported it */
    attention_rows_join(&a, part_sums(p, r, group), cached_key_parts(p));
    if (p->half) narrow_unit(&a, p, r, group, 0);
}

/* ---- Running -------------------------------------------------------------------------------- */

/* The phase before the units. */
static void cached_join_phase(const params *p, const kernel_run *r)
{
    const uint64_t heads = p->batch * p->kv_heads;
    size_t from, to;
    if (is_shared(p, r)) {
        if (r->part == 0) cached_join_in_place(p, r);
        return;
    }
    kernel_share(&from, &to, cached_joins(p), r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++)
        cached_join(p, r, i / heads, i % heads);
}

static void cached_unit_phase(const params *p, const kernel_run *r)
{
    const bool alone = cached_joins_alone(p), shared = alone && is_shared(p, r);
    widened w = {.group = UINT64_MAX};
    size_t from, to;
    if (shared && r->part) return;
    if (shared) cached_join_in_place(p, r);
    kernel_share(&from, &to, cached_units(p), r->part, shared ? 1 : r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        for (size_t which = 0; alone && !shared && which < 2; which++) cached_join(p, r, which, i);
        cached_unit(p, r, &w, i);
    }
}

/* Buffers of the caller must hold what the parameters, perhaps those of a plan, say. */
static bool has_room(const params *p, const kernel_run *r)
{
    for (size_t i = 0; i < 2; i++) {
        size_t count = p->batch;
        if (!is_kept(p, r, i)) continue;
        if (cached_keys(p) > r->rooms[i].rows || !size_mul(&count, count, p->kv_heads) ||
            !size_mul(&count, count, r->rooms[i].rows) || !size_mul(&count, count, p->sizes[i]) ||
            count > r->rooms[i].size_bytes / cached_item(p))
            return false;
    }
    return true;
}

static void cached_run(const kernel_run *r)
{
    const params *p = r->params;
    if (!has_room(p, r)) {
        kernel_fail(r, KERNEL_FAULT_LENGTH);
        return;
    }
    const uint32_t units = p->joined && !cached_joins_alone(p);
    size_t from, to;
    if (r->phase < units) {
        cached_join_phase(p, r);
    } else if (r->phase == units) {
        cached_unit_phase(p, r);
    } else {
        kernel_share(&from, &to, p->batch * p->kv_heads, r->part, r->parts);
        for (size_t i = from; i < to; i++) cached_finish(p, r, i);
    }
}

#define ROW(family, operators, suffix, level, flops_per_ns)                                       \
    {                                                                                             \
        .name = family "_attention_f32_" #suffix, .version = 3, .ops = operators, .needs = level, \
        .rates = {flops_per_ns}, .flags = KERNEL_JOINS_CACHES | KERNEL_SHORT_PARTS,               \
        .accept = cached_accept, .prepare = cached_prepare, .run = cached_run,                    \
        .extent = cached_attention_extent                                                         \
    }
const kernel KERNELS_cached_attention[] = {
    ROW("cached", "Attention pgy:Attention", portable, CPU_PORTABLE, 12),
    ROW("cached", "Attention pgy:Attention", avx2, CPU_AVX2, 85),
    ROW("cached", "Attention pgy:Attention", avx512, CPU_AVX512, 95),
    ROW("packed", "pgy:PackedAttention", portable, CPU_PORTABLE, 12),
    ROW("packed", "pgy:PackedAttention", avx2, CPU_AVX2, 85),
    ROW("packed", "pgy:PackedAttention", avx512, CPU_AVX512, 95),
    {0},
};
