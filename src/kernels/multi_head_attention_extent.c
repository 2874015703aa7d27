/* SPDX-License-Identifier: Apache-2.0 */
/* Which memory the kernel for MultiHeadAttention and ProjectedAttention touches. */
#include "kernels/multi_head_attention.h"

typedef heads_params params;

void heads_places(uint64_t places[HEADS_PLACES], const params *p)
{
    const uint64_t heads = extent_mul(p->batch, p->heads),
                   keys = extent_add(p->past, p->of[1].length);
    uint64_t at = 0;
    for (size_t i = 0; i < 3; i++) {
        places[i] = at;
        if (i == 0)
            at = extent_mul3(heads, p->of[0].length, p->of[0].size);
        else if (!(p->present >> (i - 1) & 1))
            at = extent_add(at, extent_mul3(heads, keys, p->of[i].size));
    }
    places[3] = at;
    if (p->mask) at = extent_add(at, extent_mul3(p->batch, p->mask_rows, keys));
    places[4] = at;
}

static bool state_source(kernel_extent *e, const params *p, size_t i)
{
    const heads_source *s = &p->of[i];
    const uint64_t sizes[] = {p->batch, p->heads, s->length, s->size};
    const uint64_t steps[] = {s->batch, s->head, s->row, 1};
    if (!s->length || !s->size || s->input > HEADS_VALUE || s->input >= p->inputs) return false;
    extent_tensor(e, s->input, extent_add(s->first, extent_reach(sizes, steps, 4)), sizeof(float));
    if (!s->bias) return true;
    extent_tensor(e, HEADS_BIAS, extent_add(s->bias - 1, extent_mul(p->heads, s->size)),
                  sizeof(float));
    return p->inputs > HEADS_BIAS;
}

static bool state_masks(kernel_extent *e, const params *p, uint64_t keys)
{
    const uint64_t rows = p->of[0].length;
    if (p->mask) {
        const uint64_t sizes[] = {p->batch, p->mask_rows, keys};
        const uint64_t steps[] = {p->mask_batch, p->mask_row, 1};
        const uint64_t lengths = extent_mul(p->batch, p->mask == HEADS_STARTS ? 2 : 1);
        const bool flags = p->mask == HEADS_FLAGS;
        if (p->mask > HEADS_FLAGS || p->inputs <= heads_operand(p, HEADS_PADDING) ||
            (p->mask_rows != 1 && (p->mask_rows != rows || !flags)))
            return false;
        extent_tensor(e, heads_operand(p, HEADS_PADDING),
                      flags ? extent_add(p->mask_first, extent_reach(sizes, steps, 3)) : lengths,
                      sizeof(int32_t));
    }
    if (!p->bias_batch) return true;
    extent_tensor(e, heads_operand(p, HEADS_SCORES),
                  extent_mul(extent_mul3(p->bias_batch, p->bias_heads, rows), keys), sizeof(float));
    return p->inputs > heads_operand(p, HEADS_SCORES) &&
           (p->bias_batch == 1 || p->bias_batch == p->batch) &&
           (p->bias_heads == 1 || p->bias_heads == p->heads);
}

static void state_caches(kernel_extent *e, const params *p, uint64_t keys)
{
    const uint64_t heads = extent_mul(p->batch, p->heads);
    for (uint32_t i = 0; i < 2; i++) {
        const uint64_t size = p->of[1 + i].size, tensors = p->projected ? 2 : 1;
        extent_tensor(e, heads_operand(p, HEADS_PAST_K + i),
                      extent_mul(tensors, extent_mul3(heads, p->past, size)), sizeof(float));
        if (p->present >> i & 1)
            extent_tensor(e, p->inputs + (p->projected ? 1 : 1 + i),
                          extent_mul(tensors, extent_mul3(heads, keys, size)), sizeof(float));
    }
}

bool heads_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    uint64_t places[HEADS_PLACES];
    if (!p || !extent_level(e, p->level)) return false;
    const uint64_t keys = extent_add(p->past, p->of[1].length);
    const uint64_t heads = extent_mul(p->batch, p->heads);
    if (p->projected > 1 || p->inputs != q->input_count ||
        (p->past && p->inputs <= heads_operand(p, HEADS_PAST_V)) || p->present > 3)
        return extent_refuse(e, "number of operands");
    if (p->projected && (p->past || p->present) &&
        (p->of[1].size != p->of[2].size || p->present % 3))
        return extent_refuse(e, "caches");
    if (!p->batch || !p->heads || keys > INT32_MAX || p->of[1].size != p->of[0].size ||
        p->of[1].length != p->of[2].length)
        return extent_refuse(e, "sizes");
    for (size_t i = 0; i < 3; i++)
        if (!state_source(e, p, i)) return extent_refuse(e, "query, key or value");
    if (!state_masks(e, p, keys)) return extent_refuse(e, "mask");
    state_caches(e, p, keys);
    extent_tensor(e, p->inputs, extent_mul3(heads, p->of[0].length, p->of[2].size), sizeof(float));
    heads_places(places, p);
    e->phases = heads_phases(p);
    e->workspace = extent_mul(places[4], sizeof(float));
    e->scratch = extent_mul(attention_rows_scratch(p->of[0].size, p->of[2].size), sizeof(float));
    return true;
}
