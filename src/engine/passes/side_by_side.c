/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/passes/side_by_side.h"

static bool is_number(pattern *p, pgy_value *v, int64_t *out)
{
    const int64_t *items;
    size_t count;
    if (!pattern_ints(p, v, &items, &count) || count != 1) return false;
    *out = items[0];
    return true;
}

/* Is v columns [from, from + its width) of `whole`? */
static bool is_slice(pattern *p, const pgy_value *v, const pgy_value *whole, int64_t from)
{
    const pgy_node *n = pattern_from(v, "Slice");
    int64_t start = 0, axis = 0, step = 1;
    if (!n || n->inputs[0] != whole || n->input_count < 4 || !is_number(p, n->inputs[1], &start) ||
        !is_number(p, n->inputs[3], &axis) ||
        (pattern_input(n, 4) && !is_number(p, n->inputs[4], &step)))
        return false;
    return start == from && (axis == 2 || axis == -1) && step == 1;
}

static bool is_piece(const pgy_value *v, const pgy_value *whole, size_t index)
{
    const pgy_node *n = pattern_from(v, "Split");
    const int64_t axis = n ? pattern_int(n, "axis", 0) : 0;
    return n && n->inputs[0] == whole && n->output_count == SIDE_BY_SIDE &&
           v->output_index == index && (axis == 2 || axis == -1);
}

pgy_value *find_side_by_side(pattern *p, pgy_value *const *parts)
{
    const pgy_node *first = parts[0]->producer;
    pgy_value *whole = first && first->input_count ? first->inputs[0] : NULL;
    int64_t from = 0;
    if (!whole || pattern_rank(whole) != 3) return NULL;
    for (size_t i = 0; i < SIDE_BY_SIDE; from += pattern_size(parts[i++], 2))
        if (pattern_size(parts[i], 2) < 1 ||
            (!is_slice(p, parts[i], whole, from) && !is_piece(parts[i], whole, i)))
            return NULL;
    return pattern_size(whole, 2) == from ? whole : NULL;
}
