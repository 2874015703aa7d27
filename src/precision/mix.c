/* SPDX-License-Identifier: Apache-2.0 */
/* A mix of an 8-bit and a 16-bit type. In the written model Casts are put in first, with the 8-bit
 * layers kept in float32, then Q/DQ before these. So an 8-bit layer reads what a 16-bit one wrote
 * through Cast, QuantizeLinear and DequantizeLinear, as it is emulated.
 *
 * What a set costs is counted by tensors: one that only 8-bit layers read is stored in 8 bits, also
 * if a 16-bit layer computes it, so the bytes that the layers save do not add up. */
#include "precision/quant.h"

bool mix_can(const pgy_precision *p, size_t layer, level to)
{
    if (!is_mix(p)) return to == LEVEL_FIRST;
    return to == LEVEL_FIRST ? p->quantizer->site_of[p->nodes[layer]] != 0 : p->can_rest[layer];
}

level mix_below(const pgy_precision *p, size_t layer, level from)
{
    return from == LEVEL_FIRST && mix_can(p, layer, LEVEL_REST) ? LEVEL_REST : LEVEL_WIDE;
}

pgy_dtype mix_type(const pgy_precision *p, level of)
{
    const pgy_dtype types[] = {PGY_F32, p->options.type, p->options.rest_type};
    return types[of];
}

/* ---- Bytes ---------------------------------------------------------------------------------- */

level mix_level(const pgy_precision *p, const level *set, const pgy_node *n)
{
    const size_t layer = n && n->graph == p->graph ? p->layer_of[n->index] : SIZE_MAX;
    return layer == SIZE_MAX ? LEVEL_WIDE : set[layer];
}

static bool all_readers(const pgy_precision *p, const level *set, const pgy_value *v, level have)
{
    for (size_t i = 0; i < v->consumer_count; i++)
        if (mix_level(p, set, v->consumers[i]) != have) return false;
    return v->consumer_count && !v->is_output;
}

/* Is v stored in 8 bits? Limits and moves before the layers that read it pass 8 bits on. */
static bool is_stored_in_8(const pgy_precision *p, const level *set, const pgy_value *v)
{
    while (!all_readers(p, set, v, LEVEL_FIRST)) {
        const pgy_node *n = v->consumer_count == 1 && !v->is_output ? v->consumers[0] : NULL;
        if (!n || n->graph != p->graph || !quant_passes_on(n) || n->inputs[0] != v ||
            n->output_count != 1 || mix_level(p, set, n) != LEVEL_WIDE)
            return false;
        v = n->outputs[0];
    }
    return true;
}

static uint64_t weight_bytes(const pgy_precision *p, const level *set, const pgy_node *n)
{
    const uint64_t bytes = p->node_bytes[n->index] - p->node_output_bytes[n->index];
    const level at = mix_level(p, set, n);
    if (at != LEVEL_FIRST) return at == LEVEL_REST ? bytes - bytes / 2 : bytes;
    const pgy_tensor *w = p->quantizer->sites[p->quantizer->site_of[n->index] - 1].weight;
    const uint64_t saved = w ? 3 * pgy_tensor_size_bytes(w) / 4 : 0;
    return bytes > saved ? bytes - saved : 0;
}

static uint64_t output_bytes(const pgy_precision *p, const level *set, const pgy_node *n)
{
    const uint64_t bytes = p->node_output_bytes[n->index];
    const pgy_value *v = n->output_count == 1 ? n->outputs[0] : NULL;
    const level at = mix_level(p, set, n);
    if (v && is_stored_in_8(p, set, v)) return bytes - 3 * bytes / 4;
    if (at == LEVEL_REST || (at == LEVEL_FIRST && v && all_readers(p, set, v, LEVEL_REST)))
        return bytes - bytes / 2;
    return bytes;
}

uint64_t mix_bytes(const pgy_precision *p, const level *set)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < p->graph->node_count; i++)
        bytes +=
            weight_bytes(p, set, p->graph->nodes[i]) + output_bytes(p, set, p->graph->nodes[i]);
    return bytes;
}
