/* SPDX-License-Identifier: Apache-2.0 */
/* What a set of 16-bit layers costs: bytes, or time from the times of the layers (times.c).
 *
 * A Cast between a 16-bit and a float32 layer takes time, too. So with times a layer, or a group of
 * connected layers, may cost less in float32 although the layers alone are faster in 16 bits. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "precision/precision.h"

static bool is_time(const pgy_precision *p)
{
    return p->options.cost == PGY_PRECISION_TIME;
}

/* ---- Casts ---------------------------------------------------------------------------------- */

typedef struct casts {
    bool narrow, wide; /* some consumer reads the tensor in this type */
} casts;

static casts consumers_of(const pgy_precision *p, const level *set, const pgy_value *v)
{
    casts c = {.wide = v->is_output};
    for (size_t i = 0; i < v->consumer_count; i++) {
        const pgy_node *n = v->consumers[i];
        const size_t layer = n->graph == p->graph ? p->layer_of[n->index] : SIZE_MAX;
        if (layer != SIZE_MAX && set[layer])
            c.narrow = true;
        else
            c.wide = true;
    }
    return c;
}

static uint64_t cast_bytes(const pgy_precision *p, const level *set)
{
    const pgy_graph *g = p->graph;
    uint64_t bytes = 0;
    for (size_t i = 0; i < g->input_count; i++)
        if (g->inputs[i]->dtype == PGY_F32 && consumers_of(p, set, g->inputs[i]).narrow)
            bytes += p->times.input_bytes[i];
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_node *n = g->nodes[i];
        const bool narrow = p->layer_of[i] != SIZE_MAX && set[p->layer_of[i]];
        for (size_t k = 0; k < n->output_count; k++) {
            if (!n->outputs[k] || n->outputs[k]->dtype != PGY_F32) continue;
            const casts c = consumers_of(p, set, n->outputs[k]);
            if (narrow ? c.wide : c.narrow) bytes += p->times.output_bytes[i];
        }
    }
    return bytes;
}

double cost_ms(const pgy_precision *p, const level *set)
{
    if (!is_time(p)) return 0;
    double ms = p->times.other_ms + p->times.cast_ms_per_byte * (double)cast_bytes(p, set);
    for (size_t i = 0; i < p->summary.layers; i++)
        ms += set[i] ? p->times.narrow[i] : p->times.wide[i];
    return ms;
}

double cost_of(const pgy_precision *p, const level *set)
{
    return is_time(p) ? cost_ms(p, set) : (double)layers_bytes(p, set);
}

double cost_saved(const pgy_precision *p, size_t layer, level to)
{
    if (to == LEVEL_REST) return (double)p->layers[layer].rest_saved_bytes;
    return is_time(p) ? p->layers[layer].saved_ms : (double)p->layers[layer].saved_bytes;
}

double cost_of_point(const pgy_precision *p, const pgy_precision_point *point)
{
    return is_time(p) ? point->ms : (double)point->bytes;
}

/* ---- Preparing ------------------------------------------------------------------------------ */

pgy_status cost_prepare(pgy_precision *p, pgy_error *err)
{
    const size_t nodes = p->graph->node_count, layers = p->summary.layers;
    p->layer_of = mem_alloc((nodes + 1) * sizeof *p->layer_of);
    if (!p->layer_of) return search_no_memory(err);
    for (size_t i = 0; i < nodes; i++) p->layer_of[i] = SIZE_MAX;
    for (size_t i = 0; i < layers; i++) p->layer_of[p->nodes[i]] = i;
    pgy_status st = is_mix(p) ? mix_prepare(p, err) : PGY_OK;
    if (st) return st;
    layers_set_cost(p, emulator_bytes(p->emulator));
    if (!is_time(p)) return PGY_OK;
    st = times_prepare(p, err);
    if (st) return st;
    for (size_t i = 0; i < layers; i++)
        p->layers[i].saved_ms = p->times.wide[i] - p->times.narrow[i];
    p->summary.wide_ms = p->times.other_ms;
    for (size_t i = 0; i < layers; i++) p->summary.wide_ms += p->times.wide[i];
    return PGY_OK;
}

/* ---- Improving a set ------------------------------------------------------------------------ */

/* Takes the layers that have `group` out of the set if that costs less. */
static bool try_without(const pgy_precision *p, level *set, const size_t *groups, size_t group,
                        double *cost)
{
    for (size_t i = 0; i < p->summary.layers; i++)
        if (groups[i] == group) set[i] = LEVEL_WIDE;
    const double without = cost_of(p, set);
    if (without < *cost) {
        *cost = without;
        return true;
    }
    for (size_t i = 0; i < p->summary.layers; i++)
        if (groups[i] == group) set[i] = LEVEL_FIRST;
    return false;
}

/* Gives each layer of the set the number of the first layer that it is connected to, the others
 * SIZE_MAX. Nodes are sorted, so few rounds are needed. */
static void find_groups(const pgy_precision *p, const level *set, size_t *groups)
{
    for (size_t i = 0; i < p->summary.layers; i++) groups[i] = set[i] ? i : SIZE_MAX;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < p->summary.layers; i++) {
            const pgy_node *n = p->graph->nodes[p->nodes[i]];
            for (size_t k = 0; set[i] && k < n->input_count; k++) {
                const pgy_node *from = n->inputs[k] ? n->inputs[k]->producer : NULL;
                const size_t j =
                    from && from->graph == p->graph ? p->layer_of[from->index] : SIZE_MAX;
                if (j == SIZE_MAX || !set[j] || groups[i] == groups[j]) continue;
                const size_t low = groups[i] < groups[j] ? groups[i] : groups[j];
                groups[i] = groups[j] = low;
                changed = true;
            }
        }
    }
}

pgy_status cost_improve(bool *changed, const pgy_precision *p, level *set, pgy_error *err)
{
    const size_t layers = p->summary.layers;
    *changed = false;
    if (!is_time(p)) return PGY_OK;
    size_t *groups = mem_alloc((layers + 1) * sizeof *groups);
    if (!groups) return search_no_memory(err);
    double cost = cost_of(p, set);
    for (bool better = true; better && !cancel_requested();) {
        better = false;
        for (size_t i = 0; i < layers; i++) groups[i] = set[i] ? i : SIZE_MAX;
        for (size_t i = 0; i < layers; i++)
            if (set[i]) better |= try_without(p, set, groups, i, &cost);
        find_groups(p, set, groups);
        for (size_t i = 0; i < layers; i++)
            if (set[i] && groups[i] == i) better |= try_without(p, set, groups, i, &cost);
        *changed |= better;
    }
    mem_free(groups);
    return cancel_check(err);
}
