/* SPDX-License-Identifier: Apache-2.0 */
/* What a set of narrow layers costs: bytes, or time from the times of the layers (times.c).
 *
 * A Cast or QuantizeLinear between layers of two types takes time, too. So with times a layer, or a
 * group of connected layers, may cost less in a wider type although the layers alone are faster in
 * the narrow one. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "precision/precision.h"

static bool is_time(const pgy_precision *p)
{
    return p->options.cost == PGY_PRECISION_TIME;
}

double cost_ms(const pgy_precision *p, const level *set)
{
    if (!is_time(p)) return 0;
    double ms = p->times.other_ms;
    for (level of = LEVEL_FIRST; of <= last_level(p); of++)
        ms += p->times.cast_ms_per_byte[of] * (double)border_bytes(p, set, of);
    for (size_t i = 0; i < p->summary.layers; i++) ms += p->times.ms[set[i]][i];
    return ms;
}

double cost_of(const pgy_precision *p, const level *set)
{
    return is_time(p) ? cost_ms(p, set) : (double)layers_bytes(p, set);
}

double cost_saved(const pgy_precision *p, size_t layer, level to)
{
    const pgy_precision_layer *l = &p->layers[layer];
    if (is_time(p)) return to == LEVEL_REST ? l->rest_saved_ms : l->saved_ms;
    return (double)(to == LEVEL_REST ? l->rest_saved_bytes : l->saved_bytes);
}

double cost_of_point(const pgy_precision *p, const pgy_precision_point *point)
{
    return is_time(p) ? point->ms : (double)point->bytes;
}

/* ---- Preparing ------------------------------------------------------------------------------ */

/* Trials count bytes also after the search, when the emulator of the first run is gone. */
static pgy_status keep_bytes(pgy_precision *p, pgy_error *err)
{
    const size_t count = p->graph->node_count;
    p->node_bytes = mem_calloc(count + 1, sizeof *p->node_bytes);
    p->node_output_bytes = mem_calloc(count + 1, sizeof *p->node_output_bytes);
    if (!p->node_bytes || !p->node_output_bytes) return search_no_memory(err);
    memcpy(p->node_bytes, emulator_bytes(p->emulator), count * sizeof *p->node_bytes);
    memcpy(p->node_output_bytes, emulator_output_bytes(p->emulator),
           count * sizeof *p->node_output_bytes);
    return PGY_OK;
}

pgy_status cost_prepare(pgy_precision *p, pgy_error *err)
{
    const size_t nodes = p->graph->node_count, layers = p->summary.layers;
    p->layer_of = mem_alloc((nodes + 1) * sizeof *p->layer_of);
    if (!p->layer_of) return search_no_memory(err);
    for (size_t i = 0; i < nodes; i++) p->layer_of[i] = SIZE_MAX;
    for (size_t i = 0; i < layers; i++) p->layer_of[p->nodes[i]] = i;
    pgy_status st = keep_bytes(p, err);
    if (st) return st;
    layers_set_cost(p);
    if (!is_time(p)) return PGY_OK;
    st = times_prepare(p, err);
    if (st) return st;
    double *const *ms = p->times.ms;
    p->summary.wide_ms = p->times.other_ms;
    for (size_t i = 0; i < layers; i++) {
        pgy_precision_layer *l = &p->layers[i];
        p->summary.wide_ms += ms[LEVEL_WIDE][i];
        if (mix_can(p, i, LEVEL_FIRST)) l->saved_ms = ms[LEVEL_WIDE][i] - ms[LEVEL_FIRST][i];
        if (is_mix(p) && mix_can(p, i, LEVEL_REST))
            l->rest_saved_ms = ms[LEVEL_WIDE][i] - ms[LEVEL_REST][i];
    }
    return PGY_OK;
}

/* ---- Improving a set ------------------------------------------------------------------------ */

/* The level that a layer gets if it shall go back to `to`: its own if it cannot have that one. */
static level back_to(const pgy_precision *p, size_t layer, level from, level to)
{
    if (to == LEVEL_WIDE) return LEVEL_WIDE;
    return from == LEVEL_FIRST && mix_can(p, layer, to) ? to : from;
}

/* Gives the layers that have `group` level `to` if the set costs less then. All of a group have one
 * level. */
static bool try_back(const pgy_precision *p, level *set, const size_t *groups, size_t group,
                     level to, bool *moved, double *cost)
{
    const level from = set[group];
    bool any = false;
    for (size_t i = 0; i < p->summary.layers; i++) {
        const level now = groups[i] == group ? back_to(p, i, from, to) : set[i];
        moved[i] = now != set[i];
        any |= moved[i];
        set[i] = now;
    }
    const double back = any ? cost_of(p, set) : *cost;
    if (back < *cost) {
        *cost = back;
        return true;
    }
    for (size_t i = 0; i < p->summary.layers; i++)
        if (moved[i]) set[i] = from;
    return false;
}

/* Gives each layer of the set the number of the first layer of its level that it is connected to,
 * the others SIZE_MAX. Nodes are sorted, so few rounds are needed. */
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
                if (j == SIZE_MAX || set[j] != set[i] || groups[i] == groups[j]) continue;
                const size_t low = groups[i] < groups[j] ? groups[i] : groups[j];
                groups[i] = groups[j] = low;
                changed = true;
            }
        }
    }
}

/* Tries all layers, then all groups, each at every wider level: the narrower one first. */
static bool improve_once(const pgy_precision *p, level *set, size_t *groups, bool *moved,
                         double *cost)
{
    const size_t layers = p->summary.layers;
    bool better = false;
    for (int grouped = 0; grouped < 2; grouped++) {
        for (size_t i = 0; i < layers; i++) groups[i] = set[i] ? i : SIZE_MAX;
        if (grouped) find_groups(p, set, groups);
        for (size_t i = 0; i < layers && !cancel_requested(); i++) {
            if (!set[i] || groups[i] != i) continue;
            if (is_mix(p)) better |= try_back(p, set, groups, i, LEVEL_REST, moved, cost);
            better |= try_back(p, set, groups, i, LEVEL_WIDE, moved, cost);
        }
    }
    return better;
}

pgy_status cost_improve(bool *changed, const pgy_precision *p, level *set, pgy_error *err)
{
    const size_t layers = p->summary.layers;
    *changed = false;
    if (!is_time(p)) return PGY_OK;
    size_t *groups = mem_alloc((layers + 1) * sizeof *groups);
    bool *moved = mem_alloc((layers + 1) * sizeof *moved);
    if (groups && moved) {
        double cost = cost_of(p, set);
        while (improve_once(p, set, groups, moved, &cost) && !cancel_requested()) *changed = true;
    }
    const bool good = groups && moved;
    mem_free(groups);
    mem_free(moved);
    return good ? cancel_check(err) : search_no_memory(err);
}
