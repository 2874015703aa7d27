/* SPDX-License-Identifier: Apache-2.0 */
/* A program of a range for other shapes: a copy of the base with new shapes, and for each step that
 * sees them its operator's shape rule, its kernel's consent and new parameters. A program refers to
 * the constants, names and fixed parameters of the base. */
#include <string.h>

#include "base/alloc.h"
#include "engine/program/flops.h"
#include "engine/program/range_parts.h"

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

static pgy_status size_tensor(range_making *m, const range_varying *v)
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
static pgy_status place_tensor(range_making *m, const range_varying *v)
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

static pgy_status size_tensors(range_making *m)
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

static pgy_status take_plan(range_making *m, const range_step *s, const kernel_plan *made,
                            double cost_ns)
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

static pgy_status prepare_alone(range_making *m, const range_step *s)
{
    kernel_plan made = {0};
    double cost_ns = 0;
    pgy_status st = range_prepare(&made, &cost_ns, m, s);
    if (!st) st = take_plan(m, s, &made, cost_ns);
    kernel_plan_deinit(&made);
    return st;
}

static void take_twin(range_making *m, const range_step *s)
{
    program_step *step = &m->p->steps[s->step];
    const program_step *twin = &m->p->steps[m->r->steps[s->twin].step];
    step->plan = twin->plan;
    step->plan.packed = m->r->base->steps[s->step].plan.packed;
    step->cost_ns = twin->cost_ns;
}

static flops_shape shape_of(const range_making *m, const range_operand *o)
{
    const program_tensor *t = o->tensor == PROGRAM_NO_TENSOR ? NULL : &m->p->tensors[o->tensor];
    return t ? (flops_shape){t->rank, t->shape} : (flops_shape){-1, NULL};
}

static pgy_status prepare_step(range_making *m, const range_step *s)
{
    const program_step *base = &m->r->base->steps[s->step];
    program_step *step = &m->p->steps[s->step];
    pgy_status st = PGY_OK;
    if (s->twin == RANGE_NONE && m->ahead) {
        const range_ahead_plan *kept = &m->ahead->plans[m->ahead_used++];
        st = take_plan(m, s, &kept->plan, kept->cost_ns);
    } else if (s->twin == RANGE_NONE) {
        st = prepare_alone(m, s);
    } else {
        take_twin(m, s);
        if (!range_fits(m, s, &step->plan)) st = range_refuse(m, s, "its memory depends on sizes");
    }
    if (st || !base->flops) return st;
    flops_shape inputs[FLOPS_INPUTS];
    for (size_t i = 0; i < FLOPS_INPUTS; i++)
        inputs[i] = i < s->input_count ? shape_of(m, &s->operands[i]) : (flops_shape){-1, NULL};
    step->flops = program_flops(step->op_type, inputs, shape_of(m, &s->operands[s->input_count]));
    return PGY_OK;
}

static pgy_status prepare_steps(range_making *m)
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

static pgy_status place_all(range_making *m)
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

/* ---- The next shapes ------------------------------------------------------------------------ */

static bool prepare_next(range_making *m, size_t distance)
{
    range *r = m->r;
    if (!range_ahead_start(r, distance) || size_tensors(m)) return false;
    for (size_t i = 0; i < r->step_count; i++) {
        kernel_plan made = {0};
        double cost_ns = 0;
        if (r->steps[i].twin != RANGE_NONE) continue;
        const bool kept =
            !range_prepare(&made, &cost_ns, m, &r->steps[i]) && range_ahead_add(r, &made, cost_ns);
        kernel_plan_deinit(&made);
        if (!kept) return false;
    }
    r->ahead.count++;
    return true;
}

/* Prepares steps for shapes that will probably come next. It is no error if a rule or kernel
 * refuses one: the shape may never come. Leaves other sizes in the range and in the program. */
static void prepare_ahead(range_making *m)
{
    pgy_error why, *const kept = m->err;
    const size_t wanted = range_ahead_wanted(m->r);
    why.text[0] = '\0';
    m->err = &why;
    range_ahead_clear(m->r);
    for (size_t i = 1; i <= wanted && prepare_next(m, i);) i++;
    m->err = kept;
}

static pgy_status evaluate(range_making *m, const pgy_metadata *shapes)
{
    if (sizes_evaluate(m->r->values, &m->r->sizes, shapes)) return PGY_OK;
    return pgy_error_set(m->err, PGY_E_UNSUPPORTED,
                         "a relation between the sizes of the inputs does not hold");
}

static pgy_status make(range_making *m, const pgy_metadata *shapes)
{
    range *r = m->r;
    m->p = take_spare(r);
    const bool copied = !m->p;
    if (copied) m->p = copy_base(r);
    if (!m->p) return graph_no_memory(m->err);
    m->p->owner = range_retain(r);
    pgy_status st = evaluate(m, shapes);
    if (st) return st;
    range_ahead_note(r);
    m->ahead = range_ahead_find(r);
    range_fetch(r, m->p, m->ahead);
    if (!m->ahead) {
        prepare_ahead(m);
        st = evaluate(m, shapes);
    }
    if (!st) st = size_tensors(m);
    if (!st) st = prepare_steps(m);
    if (!st) st = place_all(m);
    if (!st && copied) r->program_bytes = m->p->memory.used_bytes;
    return st;
}

pgy_status range_program(program **out, range *r, const pgy_metadata *shapes, pgy_error *err)
{
    range_making m = {.r = r, .err = err};
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
