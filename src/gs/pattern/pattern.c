/* SPDX-License-Identifier: Apache-2.0 */
/* Declares patterns. A pattern is a small graph: slots (tensors) in the order of declaration, and
 * nodes that read earlier slots only, so a pattern cannot contain a cycle. */
#include "gs/pattern/pattern.h"

#include "base/alloc.h"

#include <string.h>

enum { MAX_SLOTS = 1 << 20 };

pgy_status pgy_gs_pattern_create(pgy_gs_pattern **out, pgy_error *err)
{
    pgy_gs_pattern *p = mem_calloc(1, sizeof *p);
    if (!p) return gs_no_memory(err);
    *out = p;
    return PGY_OK;
}

void pgy_gs_pattern_destroy(pgy_gs_pattern *p)
{
    if (!p) return;
    arena_deinit(&p->memory);
    mem_free(p->slots);
    mem_free(p->nodes);
    mem_free(p);
}

size_t pattern_count(const pgy_gs_pattern *p, pattern_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < p->slot_count; i++) count += p->slots[i].kind == kind;
    return count;
}

static pgy_status add_slots(pgy_gs_pattern *p, size_t count, const pattern_slot *slot,
                            pgy_error *err)
{
    if (count > MAX_SLOTS || p->slot_count > MAX_SLOTS - count)
        return pgy_error_set(err, PGY_E_ARGUMENT, "a pattern has at most %d tensors", MAX_SLOTS);
    if (!mem_grow((void **)&p->slots, &p->slot_capacity, p->slot_count + count, sizeof *p->slots))
        return gs_no_memory(err);
    for (size_t i = 0; i < count; i++) p->slots[p->slot_count++] = *slot;
    return PGY_OK;
}

pgy_status pgy_gs_pattern_variable(pgy_gs_slot *out, pgy_gs_pattern *p, pgy_error *err)
{
    pgy_status st = add_slots(p, 1, &(pattern_slot){.kind = PATTERN_VARIABLE}, err);
    if (!st) *out = (pgy_gs_slot)(p->slot_count - 1);
    return st;
}

pgy_status pgy_gs_pattern_constant(pgy_gs_slot *out, pgy_gs_pattern *p, const char *name,
                                   pgy_error *err)
{
    pattern_slot slot = {.kind = PATTERN_CONSTANT};
    slot.name = name ? arena_strdup(&p->memory, name)
                     : arena_printf(&p->memory, "unnamed_constant_tensor_%zu", p->slot_count);
    if (!slot.name) return gs_no_memory(err);
    for (size_t i = 0; i < p->slot_count; i++)
        if (p->slots[i].name && !strcmp(p->slots[i].name, slot.name))
            return pgy_error_set(err, PGY_E_ARGUMENT, "the pattern already has a constant '%s'",
                                 slot.name);
    pgy_status st = add_slots(p, 1, &slot, err);
    if (!st) *out = (pgy_gs_slot)(p->slot_count - 1);
    return st;
}

static pgy_status check_slot(const pgy_gs_pattern *p, pgy_gs_slot slot, pgy_error *err)
{
    if (slot >= 0 && (size_t)slot < p->slot_count) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT, "the pattern has no tensor %d", (int)slot);
}

static pgy_status check_node(const pgy_gs_pattern *p, const pgy_gs_pattern_node *node,
                             size_t output_count, pgy_error *err)
{
    const char *name = node->name ? node->name : "";
    const pgy_gs_pattern *nested = node->pattern;
    pgy_status st = PGY_OK;
    if (!node->op == !nested)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "node '%s' of a pattern needs an operator or a nested pattern", name);
    if (nested && node->check)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "node '%s' of a pattern is a nested pattern and cannot have a check; "
                             "set checks on its nodes",
                             name);
    if (nested && (pattern_count(nested, PATTERN_VARIABLE) != node->input_count ||
                   nested->output_count != output_count))
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "pattern '%s' has %zu inputs and %zu outputs, but is used with %zu and %zu", name,
            pattern_count(nested, PATTERN_VARIABLE), nested->output_count, node->input_count,
            output_count);
    for (size_t i = 0; i < node->input_count && !st; i++) st = check_slot(p, node->inputs[i], err);
    for (size_t i = 0; i < p->node_count && *name && !st; i++)
        if (!strcmp(p->nodes[i].spec.name, name))
            st = pgy_error_set(err, PGY_E_ARGUMENT, "the pattern already has a node '%s'", name);
    return st;
}

pgy_status pgy_gs_pattern_add(pgy_gs_slot *outputs, size_t output_count, pgy_gs_pattern *p,
                              const pgy_gs_pattern_node *node, pgy_error *err)
{
    pgy_status st = check_node(p, node, output_count, err);
    if (st) return st;
    pattern_node added = {*node, p->slot_count, output_count};
    pgy_gs_slot *inputs =
        arena_alloc_array(&p->memory, node->input_count ? node->input_count : 1, sizeof *inputs);
    added.spec.name = arena_strdup(&p->memory, node->name ? node->name : "");
    if (node->op) added.spec.op = arena_strdup(&p->memory, node->op);
    if (!inputs || !added.spec.name || !added.spec.op != !node->op ||
        !mem_grow((void **)&p->nodes, &p->node_capacity, p->node_count + 1, sizeof *p->nodes))
        return gs_no_memory(err);
    for (size_t i = 0; i < node->input_count; i++) inputs[i] = node->inputs[i];
    added.spec.inputs = inputs;
    st = add_slots(p, output_count, &(pattern_slot){.kind = PATTERN_MADE}, err);
    if (st) return st;
    for (size_t i = 0; i < output_count; i++) outputs[i] = (pgy_gs_slot)(added.output + i);
    p->nodes[p->node_count++] = added;
    return PGY_OK;
}

pgy_status pgy_gs_pattern_outputs(pgy_gs_pattern *p, const pgy_gs_slot *slots, size_t count,
                                  pgy_error *err)
{
    for (size_t i = 0; i < count; i++) {
        pgy_status st = check_slot(p, slots[i], err);
        if (st) return st;
        if (p->slots[slots[i]].kind != PATTERN_MADE)
            return pgy_error_set(
                err, PGY_E_ARGUMENT,
                "tensor %d cannot be an output of the pattern: no node of the pattern computes it",
                (int)slots[i]);
    }
    size_t *outputs = arena_alloc_array(&p->memory, count ? count : 1, sizeof *outputs);
    if (!outputs) return gs_no_memory(err);
    for (size_t i = 0; i < count; i++) outputs[i] = (size_t)slots[i];
    p->outputs = outputs;
    p->output_count = count;
    return PGY_OK;
}
