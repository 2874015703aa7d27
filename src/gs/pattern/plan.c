/* SPDX-License-Identifier: Apache-2.0 */
/* Flattens a pattern and plans the search: each node after the first is found through a tensor that
 * an earlier step matched. Steps to a producer come first, because a tensor has only one; then
 * steps to consumers of inner tensors, which have few; then to other consumers. */
#include "gs/pattern/pattern.h"

#include "base/alloc.h"

enum { MAX_NODES = 1024, MAX_NESTED = 4096, MAX_DEPTH = 64 };

static pgy_status unfold(plan_instance **out, plan *p, const pgy_gs_pattern *pattern,
                         const size_t *variables, int depth, pgy_error *err);

void plan_deinit(plan *p)
{
    arena_deinit(&p->memory);
    mem_free(p->slots);
    mem_free(p->nodes);
    *p = (plan){0};
}

static pgy_status new_slot(size_t *out, plan *p, pattern_kind kind, pgy_error *err)
{
    if (!mem_grow((void **)&p->slots, &p->slot_capacity, p->slot_count + 1, sizeof *p->slots))
        return gs_no_memory(err);
    p->slots[p->slot_count] = (plan_slot){kind, kind == PATTERN_MADE};
    *out = p->slot_count++;
    return PGY_OK;
}

static pgy_status unfold_operator(plan_instance *in, plan *p, size_t i, pgy_error *err)
{
    const pattern_node *n = &in->pattern->nodes[i];
    plan_node added = {.node = n};
    if (p->node_count == MAX_NODES)
        return pgy_error_set(err, PGY_E_ARGUMENT, "a pattern has at most %d nodes", MAX_NODES);
    added.inputs = arena_alloc_array(&p->memory, n->spec.input_count + 1, sizeof(size_t));
    added.outputs = arena_alloc_array(&p->memory, n->output_count + 1, sizeof(size_t));
    if (!added.inputs || !added.outputs ||
        !mem_grow((void **)&p->nodes, &p->node_capacity, p->node_count + 1, sizeof *p->nodes))
        return gs_no_memory(err);
    for (size_t j = 0; j < n->spec.input_count; j++) added.inputs[j] = in->slots[n->spec.inputs[j]];
    for (size_t j = 0; j < n->output_count; j++) {
        pgy_status st = new_slot(&in->slots[n->output + j], p, PATTERN_MADE, err);
        if (st) return st;
        added.outputs[j] = in->slots[n->output + j];
    }
    in->nodes[i] = p->node_count;
    p->nodes[p->node_count++] = added;
    p->input_count += n->spec.input_count;
    return PGY_OK;
}

static pgy_status unfold_nested(plan_instance *in, plan *p, size_t i, int depth, pgy_error *err)
{
    const pattern_node *n = &in->pattern->nodes[i];
    const pgy_gs_pattern *nested = n->spec.pattern;
    if (pattern_count(nested, PATTERN_VARIABLE) != n->spec.input_count ||
        nested->output_count != n->output_count)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "pattern '%s' changed its inputs or outputs after it was nested; "
                             "declare it completely first",
                             n->spec.name);
    size_t *variables = arena_alloc_array(&p->memory, n->spec.input_count + 1, sizeof *variables);
    if (!variables) return gs_no_memory(err);
    for (size_t j = 0; j < n->spec.input_count; j++) variables[j] = in->slots[n->spec.inputs[j]];
    pgy_status st = unfold(&in->children[i], p, nested, variables, depth + 1, err);
    for (size_t j = 0; j < n->output_count && !st; j++)
        in->slots[n->output + j] = in->children[i]->slots[nested->outputs[j]];
    return st;
}

/* Appends the slots and nodes of a pattern to the plan. variables: the plan's slots for the
 * pattern's variables, in order; NULL: they get new slots. */
static pgy_status unfold(plan_instance **out, plan *p, const pgy_gs_pattern *pattern,
                         const size_t *variables, int depth, pgy_error *err)
{
    if (depth > MAX_DEPTH)
        return pgy_error_set(err, PGY_E_ARGUMENT, "patterns are nested at most %d deep", MAX_DEPTH);
    if (p->instance_count++ == MAX_NESTED)
        return pgy_error_set(err, PGY_E_ARGUMENT, "a pattern holds at most %d nested patterns",
                             MAX_NESTED);
    plan_instance *in = arena_alloc(&p->memory, sizeof *in);
    if (!in) return gs_no_memory(err);
    in->pattern = pattern;
    in->slots = arena_alloc_array(&p->memory, pattern->slot_count + 1, sizeof *in->slots);
    in->nodes = arena_alloc_array(&p->memory, pattern->node_count + 1, sizeof *in->nodes);
    in->children = arena_alloc_array(&p->memory, pattern->node_count + 1, sizeof *in->children);
    if (!in->slots || !in->nodes || !in->children) return gs_no_memory(err);
    pgy_status st = PGY_OK;
    for (size_t i = 0, v = 0; i < pattern->slot_count && !st; i++) {
        pattern_kind kind = pattern->slots[i].kind;
        if (kind == PATTERN_VARIABLE && variables)
            in->slots[i] = variables[v++];
        else if (kind != PATTERN_MADE)
            st = new_slot(&in->slots[i], p, kind, err);
    }
    for (size_t i = 0; i < pattern->node_count && !st; i++)
        st = pattern->nodes[i].spec.pattern ? unfold_nested(in, p, i, depth, err)
                                            : unfold_operator(in, p, i, err);
    if (!st) *out = in;
    return st;
}

/* Rates the best step to a node, higher for fewer candidates; 0: no matched tensor leads to the
 * node yet. */
static int rate_way(plan_step *out, const plan *p, size_t node, const bool *known)
{
    const plan_node *n = &p->nodes[node];
    int best = 0;
    for (size_t i = 0; i < n->node->output_count; i++)
        if (known[n->outputs[i]]) {
            *out = (plan_step){node, n->outputs[i], i, true};
            return 4;
        }
    for (size_t i = 0; i < n->node->spec.input_count; i++) {
        size_t slot = n->inputs[i];
        if (!known[slot]) continue;
        int way = p->slots[slot].inner ? 3 : p->slots[slot].kind == PATTERN_MADE ? 2 : 1;
        if (way > best) *out = (plan_step){node, slot, i, false};
        if (way > best) best = way;
    }
    return best;
}

static void learn(const plan *p, size_t node, bool *known)
{
    const plan_node *n = &p->nodes[node];
    for (size_t i = 0; i < n->node->spec.input_count; i++) known[n->inputs[i]] = true;
    for (size_t i = 0; i < n->node->output_count; i++) known[n->outputs[i]] = true;
}

static pgy_status plan_steps(plan *p, pgy_error *err)
{
    bool *known = arena_alloc_array(&p->memory, p->slot_count + 1, sizeof *known);
    bool *placed = arena_alloc_array(&p->memory, p->node_count + 1, sizeof *placed);
    p->steps = arena_alloc_array(&p->memory, p->node_count + 1, sizeof *p->steps);
    if (!known || !placed || !p->steps) return gs_no_memory(err);
    placed[0] = true;
    learn(p, 0, known);
    for (size_t done = 1; done < p->node_count; done++) {
        int best = 0;
        size_t missing = 0;
        for (size_t i = 0; i < p->node_count && best < 4; i++) {
            plan_step step = {0};
            int way = placed[i] ? 0 : rate_way(&step, p, i, known);
            if (way > best) p->steps[done] = step;
            if (way > best) best = way;
            if (!placed[i] && !way) missing = i;
        }
        if (!best)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "node '%s' of the pattern is not connected with its node '%s'; "
                                 "match the parts separately",
                                 p->nodes[missing].node->spec.name, p->nodes[0].node->spec.name);
        placed[p->steps[done].node] = true;
        learn(p, p->steps[done].node, known);
    }
    return PGY_OK;
}

pgy_status plan_init(plan *out, const pgy_gs_pattern *p, pgy_error *err)
{
    plan made = {0};
    pgy_status st = unfold(&made.top, &made, p, NULL, 0, err);
    if (!st && !made.node_count)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "the pattern has no nodes");
    if (st) goto done;
    for (size_t i = 0; i < p->output_count; i++)
        made.slots[made.top->slots[p->outputs[i]]].inner = false;
    st = plan_steps(&made, err);
    if (st) goto done;
    *out = made;
    made = (plan){0};
done:
    plan_deinit(&made);
    return st;
}
