/* SPDX-License-Identifier: Apache-2.0 */
/* A program of a range for other shapes: a copy of the base with new shapes, and for each step that
 * sees them its operator's shape rule, its kernel's consent and new parameters. A program refers to
 * the constants, names and fixed parameters of the base. */
#include <string.h>

#include "base/alloc.h"
#include "engine/program/flops.h"
#include "engine/program/range_parts.h"

/* A program in the making. The range is locked. */
typedef struct making {
    range *r;
    program *p;
    dim_table dims;
    pgy_error *err;
} making;

static pgy_status refuse(const making *m, const range_step *s, const char *why)
{
    const program_step *step = &m->p->steps[s->step];
    return pgy_error_set(m->err, PGY_E_UNSUPPORTED, "%s '%s': %s", step->op_type, step->label, why);
}

/* ---- Tensors -------------------------------------------------------------------------------- */

/* Keeps a program that nobody uses, without its hold on the range. */
static bool recycle(program *p)
{
    /* Parameters whose size changes take new memory each time. */
    enum { FACTOR = 2, LITTLE = 65536 };
    range *r = p->owner;
    pthread_mutex_lock(&r->lock);
    const bool kept = !r->spare && p->memory.used_bytes <= r->program_bytes * FACTOR + LITTLE;
    if (kept) {
        r->spare = p;
        p->owner = NULL;
    }
    pthread_mutex_unlock(&r->lock);
    if (kept) range_release(r);
    return kept;
}

/* A spare program has shapes, elements and parameters in its own memory, which are written over. */
static program *take_spare(range *r)
{
    program *p = r->spare;
    if (!p) return NULL;
    r->spare = NULL;
    atomic_init(&p->users, 1);
    return p;
}

/* Gives the program's tensors memory for their shapes and elements. */
static bool own_shapes(program *p, const range *r)
{
    p->elements = arena_alloc(&p->memory, r->elements_bytes);
    for (size_t i = 0; i < r->varying_count; i++) {
        program_tensor *t = &p->tensors[r->varying[i].tensor];
        if (!r->varying[i].axes) continue;
        t->shape = arena_alloc_array(&p->memory, (size_t)t->rank, sizeof *t->shape);
        if (!t->shape) return false;
    }
    return p->elements != NULL;
}

static program *copy_base(const range *r)
{
    const program *base = r->base;
    program *p = mem_calloc(1, sizeof *p);
    if (!p) return NULL;
    *p = *base;
    atomic_init(&p->users, 1);
    p->memory = (arena){0};
    p->mapped = true; /* parameters lie in `memory` or belong to the base */
    p->range = r->number;
    p->resized = r->resized;
    p->resized_count = r->step_count;
    p->placings = UINT64_MAX; /* workspaces have the places of the base */
    p->spaces[0].pieces = NULL;
    p->spaces[0].piece_count = p->spaces[0].piece_capacity = 0;
    p->release_owner = (void (*)(void *))range_release;
    p->recycle = recycle;
    /* Steps and tensors are one block, as allocations take longer than copies. */
    p->steps = mem_alloc((base->step_count + 1) * sizeof *p->steps +
                         base->tensor_count * sizeof *p->tensors);
    if (!p->steps) {
        mem_free(p);
        return NULL;
    }
    p->tensors = (program_tensor *)(p->steps + base->step_count + 1);
    memcpy(p->tensors, r->placed, base->tensor_count * sizeof *p->tensors);
    memcpy(p->steps, base->steps, base->step_count * sizeof *p->steps);
    if (r->program_bytes) arena_reserve(&p->memory, r->program_bytes);
    if (own_shapes(p, r)) return p;
    arena_deinit(&p->memory);
    mem_free(p->steps);
    mem_free(p);
    return NULL;
}

/* Bytes of a tensor in its layout. False: they overflow, or a dim is negative. */
static bool find_bytes(uint64_t *out, const program_tensor *t)
{
    const size_t block = kernel_block(t->layout);
    size_t count = pgy_dtype_describe(t->dtype)->bits;
    for (int32_t i = 0; i < t->rank; i++) {
        if (t->shape[i] < 0) return false;
        size_t size = (size_t)t->shape[i];
        if (i == 1 && block > 1) {
            if (!size_add(&size, size, block - 1)) return false;
            size = size / block * block;
        }
        if (!size_mul(&count, count, size)) return false;
    }
    if (!size_add(&count, count, 7)) return false;
    *out = count / 8;
    return true;
}

static pgy_status size_tensor(making *m, const range_varying *v)
{
    program_tensor *t = &m->p->tensors[v->tensor];
    int64_t *shape = (int64_t *)t->shape; /* the program's own */
    for (int32_t d = 0; d < t->rank; d++) shape[d] = m->r->values[v->axes[d]];
    if (find_bytes(&t->size_bytes, t)) return PGY_OK;
    return pgy_error_set(m->err, PGY_E_UNSUPPORTED, "the size of tensor '%s' is out of range",
                         t->name);
}

/* Views and their tensors have the same bytes, and so have outputs in the memory of an input, and
 * constants at all sizes. */
static pgy_status place_tensor(making *m, const range_varying *v)
{
    range *r = m->r;
    program_tensor *t = &m->p->tensors[v->tensor];
    if (t->place == PROGRAM_ARENA) {
        if (v->slot == RANGE_NONE) return PGY_OK; /* nothing writes it */
        const uint64_t needed = range_slot_bytes(t->size_bytes);
        if (needed > r->slots[v->slot].needed) r->slots[v->slot].needed = needed;
    }
    if (v->data_at != RANGE_NO_DATA) t->data = m->p->elements + v->data_at;
    if (v->root == v->tensor && t->place != PROGRAM_CONSTANT) return PGY_OK;
    const program *from = t->place == PROGRAM_CONSTANT ? r->base : m->p;
    const uint64_t wanted = from->tensors[v->root].size_bytes;
    if (t->size_bytes == wanted) return PGY_OK;
    return pgy_error_set(m->err, PGY_E_UNSUPPORTED, "the size of view '%s' differs from its source",
                         t->name);
}

static pgy_status size_tensors(making *m)
{
    range *r = m->r;
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < r->moving_count; i++) {
        range_slot *s = &r->slots[r->moving[i]];
        s->needed = s->fixed;
    }
    for (size_t i = 0; !st && i < r->varying_count; i++)
        if (r->varying[i].axes) st = size_tensor(m, &r->varying[i]);
    for (size_t i = 0; !st && i < r->varying_count; i++) {
        const range_varying *v = &r->varying[i];
        const program_tensor *t = &m->p->tensors[v->tensor];
        if (v->elements &&
            !range_put_elements(m->p->elements + v->elements_at, t->dtype, v, r->values))
            return pgy_error_set(m->err, PGY_E_UNSUPPORTED, "an element of '%s' is too large",
                                 t->name);
        st = place_tensor(m, v);
    }
    return st;
}

/* ---- Steps ---------------------------------------------------------------------------------- */

static const dim *dims_of(making *m, const program_tensor *t)
{
    dim *dims = arena_alloc_array(&m->r->rule_memory, (size_t)t->rank, sizeof *dims);
    for (int32_t i = 0; dims && i < t->rank; i++) dims[i] = dim_const(t->shape[i]);
    return dims;
}

/* What shape inference would know of an input at these sizes. */
static pgy_status know_input(op_value *out, making *m, const range_operand *o)
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
static pgy_status check_rule(making *m, const range_step *s)
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
    if (s->node->def->infer(&c, &why)) return refuse(m, s, why.text);
    for (size_t i = 0; i < s->output_count; i++)
        if (wanted[i] && !is_as_inferred(&m->p->tensors[written[i].tensor], &outputs[i]))
            return refuse(m, s, "its shape rule gives another shape than the range");
    return PGY_OK;
}

static const void *data_of(const making *m, const range_operand *o)
{
    static const _Alignas(64) char LARGE[64];
    const program_tensor *t = &m->p->tensors[o->tensor];
    if (m->r->tensors[m->r->tensors[o->tensor].root].elements) return t->data;
    if (o->constant) return pgy_tensor_data(o->constant);
    return o->is_large_constant ? LARGE : NULL;
}

static kernel_tensor describe(const making *m, const range_operand *o)
{
    if (o->tensor == PROGRAM_NO_TENSOR) return (kernel_tensor){0};
    const program_tensor *t = &m->p->tensors[o->tensor];
    return (kernel_tensor){.dtype = t->dtype,
                           .rank = t->rank,
                           .shape = t->shape,
                           .layout = o->layout,
                           .data = data_of(m, o),
                           .narrow = o->narrow,
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

/* Does the plan fit the packed bytes of the base, and the memory that its output shares? */
static bool fits_base(const making *m, const range_step *s, const kernel_plan *made)
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

static pgy_status take_plan(making *m, const range_step *s, kernel_plan *made, double cost_ns)
{
    program_step *step = &m->p->steps[s->step];
    const program_step *base = &m->r->base->steps[s->step];
    /* Those of a spare program are written over, those of the base are not. */
    void *params = step->plan.params;
    if (params == base->plan.params || step->plan.params_bytes != made->params_bytes)
        params = arena_alloc(&m->p->memory, made->params_bytes);
    if (!params) return graph_no_memory(m->err);
    if (made->params_bytes) memcpy(params, made->params, made->params_bytes);
    step->plan = *made;
    step->plan.params = params;
    step->plan.packed = base->plan.packed;
    step->plan.piece = NULL; /* the base holds it */
    step->cost_ns = s->estimate > 0 ? base->cost_ns * (cost_ns / s->estimate) : cost_ns;
    return PGY_OK;
}

static pgy_status prepare(making *m, const range_step *s)
{
    kernel_problem *u = &m->r->problem;
    kernel_plan made = {0};
    double cost_ns = 0;
    u->node = s->node;
    u->space = 0;
    u->input_count = s->input_count;
    u->output_count = s->output_count;
    const kernel_plan *base = &m->r->base->steps[s->step].plan;
    u->keeps_packed = s->kernel->flags & KERNEL_KEEPS_PACKED;
    u->kept = u->keeps_packed ? base->packed : NULL;
    u->kept_bytes = u->keeps_packed ? base->packed_bytes : 0;
    for (size_t i = 0; i < s->input_count; i++) u->inputs[i] = describe(m, &s->operands[i]);
    for (size_t i = 0; i < s->output_count; i++)
        u->outputs[i] = describe(m, &s->operands[s->input_count + i]);
    if (!kernel_accept(s->kernel, u, &cost_ns) || !has_layouts(u, s))
        return refuse(m, s, "its kernel does not support these sizes");
    pgy_status st = s->kernel->prepare(&made, u, m->err);
    if (st) return st;
    if (!base->workspace_bytes && made.workspace_bytes)
        st = refuse(m, s, "its kernel needs memory that it does not need for other sizes");
    else
        st = fits_base(m, s, &made) ? take_plan(m, s, &made, cost_ns)
                                    : refuse(m, s, "its packed weights or memory depend on sizes");
    kernel_plan_deinit(&made);
    return st;
}

static void take_twin(making *m, const range_step *s)
{
    program_step *step = &m->p->steps[s->step];
    const program_step *twin = &m->p->steps[m->r->steps[s->twin].step];
    step->plan = twin->plan;
    step->plan.packed = m->r->base->steps[s->step].plan.packed;
    step->cost_ns = twin->cost_ns;
}

static flops_shape shape_of(const making *m, const range_operand *o)
{
    const program_tensor *t = o->tensor == PROGRAM_NO_TENSOR ? NULL : &m->p->tensors[o->tensor];
    return t ? (flops_shape){t->rank, t->shape} : (flops_shape){-1, NULL};
}

static pgy_status prepare_step(making *m, const range_step *s)
{
    const program_step *base = &m->r->base->steps[s->step];
    program_step *step = &m->p->steps[s->step];
    pgy_status st = PGY_OK;
    if (s->twin == RANGE_NONE) {
        if (s->node) st = check_rule(m, s);
        if (!st) st = prepare(m, s);
    } else {
        take_twin(m, s);
        if (!fits_base(m, s, &step->plan)) st = refuse(m, s, "its memory depends on sizes");
    }
    if (st || !base->flops) return st;
    flops_shape inputs[FLOPS_INPUTS];
    for (size_t i = 0; i < FLOPS_INPUTS; i++)
        inputs[i] = i < s->input_count ? shape_of(m, &s->operands[i]) : (flops_shape){-1, NULL};
    step->flops = program_flops(step->op_type, inputs, shape_of(m, &s->operands[s->input_count]));
    return PGY_OK;
}

static pgy_status prepare_steps(making *m)
{
    range *r = m->r;
    program *p = m->p;
    pgy_status st = PGY_OK;
    p->scratch_bytes = r->fixed_scratch;
    p->workspace_bytes = r->fixed_workspace;
    for (size_t i = 0; !st && i < r->step_count; i++) {
        const program_step *step = &p->steps[r->steps[i].step];
        st = prepare_step(m, &r->steps[i]);
        if (step->plan.scratch_bytes > p->scratch_bytes)
            p->scratch_bytes = step->plan.scratch_bytes;
        if (step->plan.workspace_bytes > p->workspace_bytes)
            p->workspace_bytes = step->plan.workspace_bytes;
    }
    return st;
}

/* ---- Memory --------------------------------------------------------------------------------- */

static pgy_status place_all(making *m)
{
    range *r = m->r;
    program *p = m->p;
    for (size_t i = 0; i < r->moving_count; i++) {
        range_slot *s = &r->slots[r->moving[i]];
        if (s->owner < r->tensor_count) continue;
        s->needed = range_slot_bytes(p->steps[s->owner - r->tensor_count].plan.workspace_bytes);
    }
    const pgy_status st = range_place(r, m->err);
    if (st || p->placings == r->placings) return st;
    for (size_t i = 0; i < r->tensor_count; i++) p->tensors[i].offset = r->placed[i].offset;
    for (size_t i = 0; i < r->slot_count; i++)
        if (r->slots[i].owner >= r->tensor_count)
            p->steps[r->slots[i].owner - r->tensor_count].workspace_offset = r->slots[i].offset;
    p->spaces[0].arena_bytes = r->arena_bytes;
    p->spaces[0].arena_bound = r->arena_bound;
    p->placings = r->placings;
    return PGY_OK;
}

static pgy_status make(making *m, const pgy_metadata *shapes)
{
    range *r = m->r;
    m->p = take_spare(r);
    const bool copied = !m->p;
    if (copied) m->p = copy_base(r);
    if (!m->p) return graph_no_memory(m->err);
    m->p->owner = range_retain(r);
    range_fetch(r, m->p);
    if (!sizes_evaluate(r->values, &r->sizes, shapes))
        return pgy_error_set(m->err, PGY_E_UNSUPPORTED,
                             "a relation between the sizes of the inputs does not hold");
    pgy_status st = size_tensors(m);
    if (!st) st = prepare_steps(m);
    if (!st) st = place_all(m);
    if (!st && copied) r->program_bytes = m->p->memory.used_bytes;
    return st;
}

pgy_status range_program(program **out, range *r, const pgy_metadata *shapes, pgy_error *err)
{
    making m = {.r = r, .err = err};
    pthread_mutex_lock(&r->lock);
    const pgy_status st = make(&m, shapes);
    arena_reset(&r->rule_memory);
    pthread_mutex_unlock(&r->lock);
    dim_table_deinit(&m.dims);
    if (st)
        program_release(m.p);
    else
        *out = m.p;
    return st;
}
