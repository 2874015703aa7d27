/* SPDX-License-Identifier: Apache-2.0 */
/* Which memory the kernel of GroupQueryAttention touches. */
#include "kernels/group_attention.h"
#include "kernels/half.h"

void group_places(uint64_t out[3], const group_params *p)
{
    const uint64_t parts = group_key_parts(p), rows = extent_mul3(p->batch, p->heads, p->rows);
    out[0] = 0;
    out[1] = extent_mul(rows, p->size);
    out[2] =
        parts < 2 ? out[1] : extent_add(out[1], extent_mul3(rows, parts, extent_add(p->size, 2)));
}

void group_scratch(uint64_t out[GROUP_END + 1], const group_params *p)
{
    const uint64_t all = group_shared_rows(p), rows = all < ATTENTION_ROWS ? all : ATTENTION_ROWS;
    const uint64_t keys = p->capacity < ATTENTION_PART ? p->capacity : ATTENTION_PART;
    const uint64_t parts = group_row_units(p) > 1 ? p->capacity / ATTENTION_PART + 1 : 0;
    const uint64_t sizes[GROUP_END] = {
        attention_rows_scratch(p->size, p->size),
        extent_mul(rows, p->size),
        extent_mul(keys, p->size),
        extent_mul(keys, p->size),
        p->bias_keys ? extent_mul(rows, ATTENTION_PART) : 0,
        extent_mul3(parts, rows, extent_add(p->size, 2)),
    };
    out[0] = 0;
    for (size_t i = 0; i < GROUP_END; i++)
        out[i + 1] = extent_add(out[i], i && !p->narrow ? 0 : sizes[i]);
}

void group_sparse_scratch(uint64_t out[GROUP_SPARSE_END + 1], const group_params *p, uint64_t block)
{
    const uint64_t all = group_shared_rows(p), rows = all < ATTENTION_ROWS ? all : ATTENTION_ROWS;
    const uint64_t sums = extent_mul(rows, extent_add(p->size, 2));
    uint64_t before[GROUP_END + 1];
    group_scratch(before, p);
    out[GROUP_PART] = before[GROUP_END];
    out[GROUP_SO_FAR] = extent_add(out[GROUP_PART], sums);
    out[GROUP_SEEN] = extent_add(out[GROUP_SO_FAR], sums);
    out[GROUP_SPARSE_END] = extent_add(out[GROUP_SEEN], p->capacity / block + 1);
}

static bool has_valid_sizes(const group_params *p)
{
    return p->batch && p->heads && p->kv_heads && p->rows && p->size && p->capacity &&
           p->rows <= p->capacity && p->capacity <= INT32_MAX && p->past <= p->capacity &&
           p->heads % p->kv_heads == 0 && p->half <= p->size / 2 && (!p->half || p->places) &&
           p->places <= INT64_MAX && p->sinks <= GROUP_SINKS_GIVEN && p->normed < 4 &&
           p->packed <= 1 && p->keeps_rows <= 1 && p->counts_all <= 1 && p->window <= INT32_MAX &&
           (!p->narrow || half_is((pgy_dtype)p->narrow));
}

static void state_rotation(kernel_extent *e, const group_params *p)
{
    const uint64_t table = extent_mul(p->places, p->half);
    if (!p->half) return;
    extent_tensor(e, GROUP_COS, table, group_item(p));
    extent_tensor(e, GROUP_SIN, table, group_item(p));
    if (p->ids) {
        extent_tensor(e, GROUP_POSITIONS, p->ids, sizeof(int64_t));
        e->indices |= 1U << GROUP_POSITIONS;
    }
}

static void state_extras(kernel_extent *e, const group_params *p)
{
    if (p->sinks == GROUP_SINKS_GIVEN) extent_tensor(e, GROUP_SINK, p->heads, group_item(p));
    for (uint32_t i = 0; i < 2; i++)
        if (p->normed >> i & 1) extent_tensor(e, GROUP_Q_NORM + i, p->size, group_item(p));
    if (!p->bias_keys) return;
    const uint64_t rows = extent_mul3(p->bias_batch, p->bias_heads, p->rows);
    extent_tensor(e, GROUP_BIAS, extent_mul(rows, p->bias_keys), group_item(p));
}

/* The highest input that the parameters make the kernel read. */
static uint32_t last_input(const group_params *p)
{
    if (p->normed) return p->normed & 2 ? GROUP_K_NORM : GROUP_Q_NORM;
    if (p->sinks == GROUP_SINKS_GIVEN) return GROUP_SINK;
    if (p->bias_keys) return GROUP_BIAS;
    if (p->half) return p->ids ? GROUP_POSITIONS : GROUP_SIN;
    return GROUP_TOTAL;
}

bool group_attention_extent(kernel_extent *e, const kernel_claim *q)
{
    const group_params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (!has_valid_sizes(p)) return extent_refuse(e, "sizes");
    if (p->inputs != q->input_count || p->inputs <= last_input(p))
        return extent_refuse(e, "number of inputs");
    const uint64_t tokens = extent_mul(p->batch, p->rows),
                   heads = extent_mul(p->batch, p->kv_heads);
    const uint64_t queries = extent_mul3(tokens, p->heads, p->size);
    const uint64_t fresh = extent_mul3(tokens, p->kv_heads, p->size);
    const uint64_t past = extent_mul3(heads, p->past, p->size);
    if ((p->ids > 1 && p->ids != tokens) ||
        (p->bias_keys && ((p->bias_batch != 1 && p->bias_batch != p->batch) ||
                          (p->bias_heads != 1 && p->bias_heads != p->heads))))
        return extent_refuse(e, "position ids or bias");
    extent_tensor(e, GROUP_QUERY, p->packed ? extent_add(queries, extent_mul(2, fresh)) : queries,
                  group_item(p));
    for (uint32_t i = 0; i < 2; i++) {
        if (!p->packed) extent_tensor(e, GROUP_KEY + i, fresh, group_item(p));
        extent_tensor(e, GROUP_PAST_K + i, past, group_item(p));
        extent_tensor(e, p->inputs + 1 + i, extent_mul3(heads, p->capacity, p->size),
                      group_item(p));
    }
    extent_tensor(e, GROUP_LENGTHS, p->batch, sizeof(int32_t));
    extent_tensor(e, GROUP_TOTAL, 1, sizeof(int32_t));
    extent_tensor(e, p->inputs, queries, group_item(p));
    e->indices |= 1U << GROUP_LENGTHS | 1U << GROUP_TOTAL;
    state_rotation(e, p);
    state_extras(e, p);
    uint64_t places[3], scratch[GROUP_END + 1];
    group_places(places, p);
    group_scratch(scratch, p);
    e->phases = group_key_parts(p) > 1 ? 3 : 2;
    e->workspace = extent_mul(places[2], sizeof(float));
    e->scratch = extent_mul(scratch[GROUP_END], sizeof(float));
    return true;
}
