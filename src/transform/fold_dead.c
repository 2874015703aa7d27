/* SPDX-License-Identifier: Apache-2.0 */
/* Dead-code elimination: removes nodes that no graph output needs, then weights without consumers.
 * It goes from the last node to the first, so that one pass suffices. */
#include "transform/fold.h"

static void mark_outputs(folder *f)
{
    for (size_t i = 0; i < f->level_count; i++) {
        const strmap *values = &level_of(f->levels[i])->values;
        for (size_t k = 0; k < values->count; k++)
            ((pgy_value *)values->entries[k].value)->is_output = false;
    }
    for (size_t i = 0; i < f->level_count; i++)
        for (size_t k = 0; k < f->levels[i]->output_count; k++)
            f->levels[i]->outputs[k]->is_output = true;
}

static bool is_used(const pgy_value *v)
{
    return v->is_output || v->consumer_count > 0;
}

static bool is_dead(const pgy_node *n)
{
    for (size_t i = 0; i < n->output_count; i++)
        if (n->outputs[i] && is_used(n->outputs[i])) return false;
    return true;
}

/* A weight that is also an input stays, because callers may replace it. */
static void drop_weights(folder *f, pgy_graph *level)
{
    size_t kept = 0;
    for (size_t i = 0; i < level->initializer_count; i++) {
        pgy_value *v = level->initializers[i];
        if (is_used(v) || (v->is_input && !f->weak_names)) {
            level->initializers[kept++] = v;
            continue;
        }
        v->initializer = NULL;
        v->sparse = NULL;
        v->is_input = false;
    }
    if (kept != level->initializer_count) {
        f->changes++;
        graph_mark_changed(level);
    }
    level->initializer_count = kept;
}

pgy_status fold_dead(folder *f, pgy_graph *level, pgy_error *err)
{
    pgy_node **order = NULL;
    if (level == f->levels[f->level_count - 1]) mark_outputs(f);
    const pgy_status st = graph_order(&order, level, &f->memory, err);
    if (st) return st;
    const size_t before = f->changes;
    for (size_t i = level->node_count; i-- > 0;)
        if (is_dead(order[i])) fold_drop_node(f, order[i]);
    if (f->changes != before) graph_sweep(level);
    drop_weights(f, level);
    return PGY_OK;
}
