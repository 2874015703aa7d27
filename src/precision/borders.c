/* SPDX-License-Identifier: Apache-2.0 */
/* Borders between layers of two types: tensors that need a Cast or QuantizeLinear. */
#include "precision/quant.h"

/* The level of the layer that computes v. Limits and moves pass 8 bits on. */
static level level_behind(const pgy_precision *p, const level *set, const pgy_value *v)
{
    const pgy_node *n = v->producer;
    while (p->quantizer && n && n->graph == p->graph && quant_passes_on(n) &&
           mix_level(p, set, n) == LEVEL_WIDE && n->inputs[0])
        n = n->inputs[0]->producer;
    const level behind = mix_level(p, set, n);
    return behind == LEVEL_FIRST ? behind : mix_level(p, set, v->producer);
}

/* Does the tensor need a Cast because of layers at this level, or a QuantizeLinear? An 8-bit layer
 * itself computes float32, so its readers need nothing. */
static bool is_border(const pgy_precision *p, const level *set, const pgy_value *v, level of)
{
    const bool eight = of == LEVEL_FIRST && p->quantizer;
    const bool from = (eight ? level_behind(p, set, v) : mix_level(p, set, v->producer)) == of;
    if (from && eight) return false;
    bool at = false, other = v->is_output;
    for (size_t i = 0; i < v->consumer_count; i++)
        *(mix_level(p, set, v->consumers[i]) == of ? &at : &other) = true;
    return from ? other : at;
}

uint64_t border_bytes(const pgy_precision *p, const level *set, level of)
{
    const pgy_graph *g = p->graph;
    uint64_t bytes = 0;
    for (size_t i = 0; i < g->input_count; i++)
        if (g->inputs[i]->dtype == PGY_F32 && is_border(p, set, g->inputs[i], of))
            bytes += p->times.input_bytes[i];
    for (size_t i = 0; i < g->node_count; i++)
        for (size_t k = 0; k < g->nodes[i]->output_count; k++) {
            const pgy_value *v = g->nodes[i]->outputs[k];
            if (v && v->dtype == PGY_F32 && is_border(p, set, v, of))
                bytes += p->node_output_bytes[i];
        }
    return bytes;
}
