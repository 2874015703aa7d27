/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters for the next shapes of a range. Sizes that grow by the same amount from shape to
 * shape, such as the lengths of caches, will probably go on so. Most of the time that a new shape
 * takes is spent on waiting for instructions and data of shape rules and kernels, which the weights
 * have driven out of the caches. Preparing several shapes at once waits for them once. */
#include <string.h>

#include "base/alloc.h"
#include "engine/program/range_parts.h"

enum { FIRST_COUNT = 2 }; /* shapes of the first guess; each that was right doubles it */

const range_ahead_shape *range_ahead_find(const range *r)
{
    const sizes *s = &r->sizes;
    for (size_t i = 0; i < r->ahead.count; i++) {
        size_t k = 0;
        while (k < s->symbol_count && r->ahead.shapes[i].sizes[k] == s->now[k].value) k++;
        if (k == s->symbol_count) return &r->ahead.shapes[i];
    }
    return NULL;
}

void range_ahead_note(range *r)
{
    range_ahead *a = &r->ahead;
    const sizes *s = &r->sizes;
    bool same = true, moved = false;
    for (size_t i = 0; i < s->symbol_count; i++) {
        const int64_t growth = s->now[i].value - a->latest[i];
        same &= growth == a->growth[i];
        moved |= growth != 0;
        a->growth[i] = growth;
        a->latest[i] = s->now[i].value;
    }
    a->steady = same && moved;
}

size_t range_ahead_wanted(range *r)
{
    range_ahead *a = &r->ahead;
    if (!a->steady)
        a->wanted = 0;
    else if (!a->wanted)
        a->wanted = FIRST_COUNT;
    else if (a->wanted < RANGE_AHEAD_MOST)
        a->wanted *= 2;
    return a->wanted;
}

void range_ahead_clear(range *r)
{
    r->ahead.count = 0;
    arena_reset(&r->ahead.memory);
}

bool range_ahead_start(range *r, size_t distance)
{
    range_ahead *a = &r->ahead;
    range_ahead_shape *shape = &a->shapes[a->count];
    for (size_t i = 0; i < r->sizes.symbol_count; i++) {
        int64_t change;
        if (!i64_mul(&change, a->growth[i], (int64_t)distance) ||
            !i64_add(&shape->sizes[i], a->latest[i], change))
            return false;
    }
    shape->plan_count = 0;
    shape->plans = arena_alloc_array(&a->memory, r->step_count, sizeof *shape->plans);
    return shape->plans && sizes_evaluate_at(r->values, &r->sizes, shape->sizes);
}

bool range_ahead_add(range *r, const kernel_plan *made, double cost_ns)
{
    range_ahead *a = &r->ahead;
    range_ahead_shape *shape = &a->shapes[a->count];
    void *params = arena_alloc(&a->memory, made->params_bytes);
    if (!params) return false;
    if (made->params_bytes) memcpy(params, made->params, made->params_bytes);
    range_ahead_plan *kept = &shape->plans[shape->plan_count++];
    *kept = (range_ahead_plan){.plan = *made, .cost_ns = cost_ns};
    kept->plan.params = params;
    kept->plan.packed = NULL; /* that of the base is the same */
    kept->plan.piece = NULL;
    return true;
}
