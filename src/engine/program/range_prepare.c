/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of a step for other sizes: its operator's shape rule, then its kernel's consent and
 * preparation. */
#include <string.h>

#include "engine/program/range_parts.h"

pgy_status range_refuse(const range_making *m, const range_step *s, const char *why)
{
    const program_step *step = &m->p->steps[s->step];
    return pgy_error_set(m->err, PGY_E_UNSUPPORTED, "%s '%s': %s", step->op_type, step->label, why);
}

static const dim *dims_of(range_making *m, const program_tensor *t)
{
    dim *dims = arena_alloc_array(&m->r->rule_memory, (size_t)t->rank, sizeof *dims);
    for (int32_t i = 0; dims && i < t->rank; i++) dims[i] = dim_const(t->shape[i]);
    return dims;
}

/* What shape inference would know of an input at these sizes. */
static pgy_status know_input(op_value *out, range_making *m, const range_operand *o)
{
    dim *elements = NULL;
    *out = *o->known;
    out->dims = dims_of(m, &m->p->tensors[o->tensor]);
    if (out->elements && !out->data) {
        elements = arena_alloc_array(&m->r->rule_memory, out->element_count, sizeof *elements);
        if (!elements) return graph_no_memory(m->err);
        out->elements = elements;
    }
    for (size_t i = 0; elements && i < out->element_count; i++) {
        int64_t value;
        if (!sizes_value_now(&value, &m->r->sizes, o->known->elements[i])) {
            out->elements = NULL;
            out->element_count = 0;
            break;
        }
        elements[i] = dim_const(value);
    }
    return out->dims ? PGY_OK : graph_no_memory(m->err);
}

static bool is_as_inferred(const program_tensor *t, const op_value *v)
{
    if (t->rank != v->rank) return false;
    for (int32_t i = 0; i < t->rank; i++)
        if (!dim_is_const(v->dims[i]) || v->dims[i].value != t->shape[i]) return false;
    return true;
}

/* Kernels see only shapes that the operator's rule has accepted. */
static pgy_status check_rule(range_making *m, const range_step *s)
{
    op_value inputs[KERNEL_MAX_INPUTS], outputs[KERNEL_MAX_OUTPUTS];
    bool present[KERNEL_MAX_INPUTS], wanted[KERNEL_MAX_OUTPUTS];
    const op_host host = {.model_precision = true};
    op_infer c = {.node = s->node,
                  .inputs = inputs,
                  .present = present,
                  .outputs = outputs,
                  .wanted = wanted,
                  .dims = &m->dims,
                  .memory = &m->r->rule_memory,
                  .host = &host,
                  .shapes_only = true};
    pgy_error why;
    pgy_status st = PGY_OK;
    why.text[0] = '\0'; /* clearing all of it takes longer than most rules */
    const range_operand *written = s->operands + s->input_count;
    for (size_t i = 0; !st && i < s->input_count; i++) {
        present[i] = s->operands[i].known != NULL;
        inputs[i] = (op_value){.rank = -1};
        if (present[i]) st = know_input(&inputs[i], m, &s->operands[i]);
    }
    for (size_t i = 0; i < s->output_count; i++) {
        outputs[i] = (op_value){.rank = -1};
        wanted[i] = written[i].tensor != PROGRAM_NO_TENSOR;
    }
    if (st) return st;
    if (s->node->def->infer(&c, &why)) return range_refuse(m, s, why.text);
    for (size_t i = 0; i < s->output_count; i++)
        if (wanted[i] && !is_as_inferred(&m->p->tensors[written[i].tensor], &outputs[i]))
            return range_refuse(m, s, "its shape rule gives another shape than the range");
    return PGY_OK;
}

static const void *data_of(const range_making *m, const range_operand *o)
{
    static const _Alignas(64) char LARGE[64];
    const program_tensor *t = &m->p->tensors[o->tensor];
    if (m->r->tensors[m->r->tensors[o->tensor].root].elements) return t->data;
    if (o->constant) return pgy_tensor_data(o->constant);
    return o->is_large_constant ? LARGE : NULL;
}

static kernel_tensor describe(const range_making *m, const range_operand *o)
{
    if (o->tensor == PROGRAM_NO_TENSOR) return (kernel_tensor){0};
    const program_tensor *t = &m->p->tensors[o->tensor];
    return (kernel_tensor){.dtype = t->dtype,
                           .rank = t->rank,
                           .shape = t->shape,
                           .layout = o->layout,
                           .data = data_of(m, o),
                           .narrow = o->narrow,
                           .rounds = o->rounds,
                           .elsewhere = o->is_large_constant};
}

static bool has_layouts(const kernel_problem *u, const range_step *s)
{
    for (size_t i = 0; i < s->input_count; i++)
        if (u->inputs[i].layout != s->operands[i].layout) return false;
    for (size_t i = 0; i < s->output_count; i++)
        if (u->outputs[i].layout != s->operands[s->input_count + i].layout) return false;
    return true;
}

bool range_fits(const range_making *m, const range_step *s, const kernel_plan *made)
{
    const program_step *base = &m->r->base->steps[s->step];
    const program_tensor *in, *out;
    if (made->packed_bytes != base->plan.packed_bytes ||
        made->packed_form != base->plan.packed_form ||
        made->packed_inputs != base->plan.packed_inputs)
        return false;
    if (made->packed && made->packed != base->plan.packed &&
        memcmp(made->packed, base->plan.packed, made->packed_bytes) != 0)
        return false;
    if (!s->in_place) return true;
    in = &m->p->tensors[s->operands[base->plan.in_place].tensor];
    out = &m->p->tensors[s->operands[s->input_count].tensor];
    return made->in_place == base->plan.in_place && in->size_bytes == out->size_bytes;
}

/* Describes the step at these sizes to its kernel. */
static void describe_problem(range_making *m, const range_step *s)
{
    kernel_problem *u = &m->r->problem;
    const kernel_plan *base = &m->r->base->steps[s->step].plan;
    u->node = s->node;
    u->space = 0;
    u->input_count = s->input_count;
    u->output_count = s->output_count;
    u->keeps_packed = s->kernel->flags & KERNEL_KEEPS_PACKED;
    u->kept = u->keeps_packed ? base->packed : NULL;
    u->kept_bytes = u->keeps_packed ? base->packed_bytes : 0;
    for (size_t i = 0; i < s->input_count; i++) u->inputs[i] = describe(m, &s->operands[i]);
    for (size_t i = 0; i < s->output_count; i++)
        u->outputs[i] = describe(m, &s->operands[s->input_count + i]);
}

pgy_status range_prepare(kernel_plan *made, double *cost_ns, range_making *m, const range_step *s)
{
    kernel_problem *u = &m->r->problem;
    const kernel_plan *base = &m->r->base->steps[s->step].plan;
    pgy_status st = s->node ? check_rule(m, s) : PGY_OK;
    if (st) return st;
    describe_problem(m, s);
    if (!kernel_accept(s->kernel, u, cost_ns) || !has_layouts(u, s))
        return range_refuse(m, s, "its kernel does not support these sizes");
    st = s->kernel->prepare(made, u, m->err);
    if (st) return st;
    if (!base->workspace_bytes && made->workspace_bytes)
        return range_refuse(m, s, "its kernel needs memory that it does not need for other sizes");
    if (!range_fits(m, s, made))
        return range_refuse(m, s, "its packed weights or memory depend on sizes");
    return PGY_OK;
}
