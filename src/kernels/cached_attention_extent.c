/* SPDX-License-Identifier: Apache-2.0 */
/* Which memory the kernel of Attention with caches touches. */
#include "kernels/cached_attention.h"

#include "kernels/half.h"

void cached_places(uint64_t *out, const cached_params *p)
{
    const uint64_t rows = extent_mul3(p->batch, p->kv_heads, cached_keys(p));
    const uint64_t parts = cached_key_parts(p);
    out[0] = 0;
    for (size_t i = 0; i < 2; i++) {
        const bool own = p->joined && !(p->present >> i & 1);
        out[1 + i] = extent_add(out[i], own ? extent_mul(rows, p->sizes[i]) : 0);
    }
    const uint64_t sums = extent_mul3(p->batch, p->heads, p->rows);
    out[3] = parts < 2 ? out[2]
                       : extent_add(out[2], extent_mul3(sums, parts, extent_add(p->sizes[1], 2)));
}

uint32_t cached_phases(const cached_params *p)
{
    return 1U + (p->joined && !cached_joins_alone(p)) + (cached_key_parts(p) > 1);
}

void cached_scratch(uint64_t out[CACHED_END + 1], const cached_params *p)
{
    const uint64_t rows = cached_unit_rows(p), keys = cached_unit_keys(p);
    const uint64_t sizes[CACHED_END] = {extent_mul(ATTENTION_ROWS, p->sizes[0]),
                                        attention_rows_scratch(p->sizes[0], p->sizes[1]),
                                        p->half ? extent_mul(rows, p->sizes[1]) : 0,
                                        p->half ? extent_mul(keys, p->sizes[0]) : 0,
                                        p->half ? extent_mul(keys, p->sizes[1]) : 0,
                                        p->mask == CACHED_HALVES ? extent_mul(rows, keys) : 0};
    out[0] = 0;
    for (size_t i = 0; i < CACHED_END; i++) out[i + 1] = extent_add(out[i], sizes[i]);
}

static bool has_valid_sizes(const cached_params *p)
{
    return p->batch && p->heads && p->kv_heads && p->rows && p->fresh && p->sizes[0] &&
           p->sizes[1] && p->heads % p->kv_heads == 0 && p->mask <= CACHED_HALVES &&
           p->m_key <= 1 && (!p->half || half_is((pgy_dtype)p->half)) &&
           (p->half || p->mask != CACHED_HALVES) && p->causal <= 1 && p->joined <= 1 &&
           p->lengths <= 1 && p->packed <= 1 && p->present < 4 && (p->joined || (!p->past && !p->present)) &&
           p->past <= INT32_MAX && p->fresh <= INT32_MAX && p->rows <= INT32_MAX &&
           p->heads <= INT32_MAX && p->left <= INT32_MAX && p->right <= INT32_MAX;
}

static uint64_t cached_reach(const cached_params *p, const cached_strides *s, uint64_t heads,
                             uint64_t rows, uint64_t size)
{
    const uint64_t sizes[] = {p->batch, heads, rows, size};
    const uint64_t steps[] = {s->batch, s->head, s->row, 1};
    return extent_reach(sizes, steps, 4);
}

static void state_mask(kernel_extent *e, const cached_params *p)
{
    const uint64_t keys = cached_keys(p);
    const uint64_t sizes[] = {p->batch, p->heads, p->rows, p->m_keys < keys ? p->m_keys : keys};
    const uint64_t steps[] = {p->m_batch, p->m_head, p->m_row, p->m_key};
    if (p->mask)
        extent_tensor(e, cached_mask_input(p), extent_reach(sizes, steps, 4),
                      p->mask == CACHED_BOOLS    ? 1
                      : p->mask == CACHED_HALVES ? sizeof(uint16_t)
                                                 : sizeof(float));
    if (!p->lengths) return;
    extent_tensor(e, CACHED_LENGTHS, p->batch, sizeof(int64_t));
    e->indices |= 1U << CACHED_LENGTHS;
}

static bool has_inputs(const cached_params *p, uint32_t count)
{
    if (p->packed)
        return count > (p->mask ? PACKED_MASK : CACHED_Q) && !p->joined && !p->lengths;
    return count > CACHED_V && !p->at[0] && !p->at[1] && (!p->mask || count > CACHED_MASK) &&
           (!p->past || count > CACHED_PAST + 1) && (!p->lengths || count > CACHED_LENGTHS);
}

bool cached_attention_extent(kernel_extent *e, const kernel_claim *q)
{
    const cached_params *p = extent_params(e, q, sizeof *p);
    uint64_t places[4], scratch[CACHED_END + 1];
    if (!p || !extent_level(e, p->level)) return false;
    if (!has_valid_sizes(p)) return extent_refuse(e, "sizes");
    if (p->inputs != q->input_count || !has_inputs(p, p->inputs))
        return extent_refuse(e, "number of inputs");
    const uint64_t heads = extent_mul(p->batch, p->kv_heads), item = cached_item(p);
    extent_tensor(e, CACHED_Q, cached_reach(p, &p->q, p->heads, p->rows, p->sizes[0]), item);
    for (uint32_t i = 0; i < 2; i++) {
        const uint64_t fresh = cached_reach(p, &p->of[i], p->kv_heads, p->fresh, p->sizes[i]);
        extent_tensor(e, cached_fresh_input(p, i), extent_add(p->at[i], fresh), item);
        if (p->past)
            extent_tensor(e, CACHED_PAST + i, extent_mul3(heads, p->past, p->sizes[i]), item);
        if (p->present >> i & 1)
            extent_tensor(e, p->inputs + 1 + i, extent_mul3(heads, cached_keys(p), p->sizes[i]),
                          item);
    }
    const uint64_t rows = extent_mul3(p->batch, p->heads, p->rows);
    extent_tensor(e, p->inputs, cached_reach(p, &p->y, p->heads, p->rows, p->sizes[1]), item);
    /* A plan file must not demand endless loops: their counts follow from the output's size. */
    extent_tensor(e, p->inputs, extent_mul(rows, p->sizes[1]), item);
    extent_tensor(e, cached_fresh_input(p, 0), extent_mul3(heads, p->fresh, p->sizes[0]), item);
    state_mask(e, p);
    cached_places(places, p);
    e->phases = cached_phases(p);
    e->workspace = extent_mul(places[3], sizeof(float));
    cached_scratch(scratch, p);
    e->scratch = extent_mul(scratch[CACHED_END], sizeof(float));
    return true;
}
