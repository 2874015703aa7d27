/* SPDX-License-Identifier: Apache-2.0 */
/* What finding and measuring regions share: the same value in the other graph, and marking a
 * rewrite as failed. */
#include "transform/simplify_region.h"

static pgy_graph *level_like(const pgy_graph *level, const pgy_graph *other)
{
    const graph_state *s = state_of(level), *to = state_of(other);
    for (size_t i = 0; i < s->level_count && i < to->level_count; i++)
        if (s->levels[i] == level) return to->levels[i];
    return NULL;
}

pgy_value *region_twin(const pgy_value *v, const pgy_graph *other)
{
    const pgy_graph *level = level_like(v->graph, other);
    pgy_value *twin = level ? strmap_get(&level_of(level)->values, v->name) : NULL;
    if (!twin || region_is_weight(twin)) return NULL;
    const pgy_node *maker = twin->producer;
    if (v->producer && !(maker && maker->graph)) return NULL;
    return twin;
}

void region_fail(simplify_rewrite *w, arena *memory, double error, const char *reason)
{
    w->failed = true;
    w->error = error;
    w->reason = arena_strdup(memory, reason);
    if (!w->reason) w->reason = "out of memory";
}
