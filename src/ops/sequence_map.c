/* SPDX-License-Identifier: Apache-2.0 */
/* SequenceMap: applies a body graph to every item. Further inputs are sequences of the same length,
 * whose items go to the same call, or tensors, which go to every call. */
#include "base/alloc.h"
#include "ops/class_loop.h"
#include "ops/class_sequence.h"

static const op_attr_def ATTRS[] = {
    {"body", OP_ATTR_GRAPH, true, NULL},
    {0},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_node *n = c->node;
    bool known;
    op_value *in = arena_alloc_array(c->memory, n->input_count, sizeof *in);
    op_value *out = arena_alloc_array(c->memory, n->output_count, sizeof *out);
    if (!in || !out) return rule_no_memory(n, err);
    pgy_status st = sequence_element(&in[0], c, 0, err);
    if (st) return st;
    for (size_t i = 1; i < n->input_count; i++)
        in[i] = c->inputs[i].sequence ? *c->inputs[i].sequence : loop_varying(&c->inputs[i]);
    st = loop_infer_graph(c, "body", in, n->input_count, out, n->output_count, &known, err);
    for (size_t i = 0; !st && i < n->output_count; i++) st = sequence_set(c, i, &out[i], err);
    return st;
}

typedef struct mapping {
    op_tensor *in, *out;
    op_sequence **results;
} mapping;

static pgy_status mapping_init(mapping *m, const op_eval *c, size_t count, pgy_error *err)
{
    const op_node *n = c->node;
    m->in = mem_calloc(n->input_count + 1, sizeof *m->in);
    m->out = mem_calloc(n->output_count + 1, sizeof *m->out);
    m->results = mem_calloc(n->output_count + 1, sizeof *m->results);
    if (!m->in || !m->out || !m->results) return rule_no_memory(n, err);
    for (size_t i = 0; i < n->output_count; i++) {
        m->results[i] = op_sequence_create(count);
        if (!m->results[i]) return rule_no_memory(n, err);
    }
    for (size_t i = 1; i < n->input_count; i++) {
        const op_sequence *s = c->inputs[i].sequence;
        if (s && s->count != count)
            return op_error(n, err, PGY_E_SHAPE, "input %zu has %zu items, but input 0 has %zu", i,
                            s->count, count);
    }
    return PGY_OK;
}

static void mapping_deinit(mapping *m, const op_node *n)
{
    for (size_t i = 0; m->results && i < n->output_count; i++) op_sequence_release(m->results[i]);
    mem_free(m->in);
    mem_free(m->out);
    mem_free(m->results);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const op_node *n = c->node;
    mapping m = {0};
    op_sequence *from;
    pgy_status st = sequence_input(&from, c, 0, err);
    if (!st) st = mapping_init(&m, c, from->count, err);
    for (size_t k = 0; !st && k < from->count; k++) {
        for (size_t i = 0; i < n->input_count; i++)
            m.in[i] = c->inputs[i].sequence ? c->inputs[i].sequence->items[k] : c->inputs[i];
        st = loop_run_graph(c, "body", m.in, n->input_count, m.out, n->output_count, err);
        for (size_t i = 0; !st && i < n->output_count; i++) m.results[i]->items[k] = m.out[i];
    }
    for (size_t i = 0; !st && i < n->output_count; i++) {
        sequence_output(c, i, m.results[i]);
        m.results[i] = NULL;
    }
    mapping_deinit(&m, n);
    return st;
}

const op_def OP_sequence_map[] = {
    {.name = "SequenceMap",
     .domain = "",
     .since = 17,
     .min_inputs = 1,
     .max_inputs = 255,
     .min_outputs = 1,
     .max_outputs = 255,
     .flags = OP_VARIADIC_INPUTS | OP_VARIADIC_OUTPUTS | OP_HAS_GRAPHS,
     .attrs = ATTRS,
     .types = "",
     .infer = infer,
     .eval = eval,
     .flops = rule_no_flops},
    {0},
};
