/* SPDX-License-Identifier: Apache-2.0 */
/* Builds ranges: infers the graph with the sizes that vary as symbols, builds a program for one of
 * the samples, and finds steps with equal problems, such as those of equal layers. */
#include "engine/program/range.h"

#include <string.h>

#include "base/alloc.h"
#include "engine/program/range_parts.h"

/* ---- Equal steps ---------------------------------------------------------------------------- */

static bool same_attr(const op_attr *a, const op_attr *b)
{
    if (strcmp(a->name, b->name) != 0 || a->kind != b->kind || a->count != b->count ||
        a->i != b->i || memcmp(&a->f, &b->f, sizeof a->f) != 0 || a->tensor != b->tensor ||
        a->graph != b->graph || a->strings || b->strings || a->s.size != b->s.size)
        return false;
    return (!a->s.size || memcmp(a->s.data, b->s.data, a->s.size) == 0) &&
           (!a->ints || memcmp(a->ints, b->ints, a->count * sizeof *a->ints) == 0) &&
           (!a->floats || memcmp(a->floats, b->floats, a->count * sizeof *a->floats) == 0);
}

static bool same_node(const op_node *a, const op_node *b)
{
    if (!a || !b) return a == b;
    if (a->def != b->def || a->opset != b->opset || a->attr_count != b->attr_count) return false;
    for (size_t i = 0; i < a->attr_count; i++)
        if (!same_attr(&a->attrs[i], &b->attrs[i])) return false;
    return true;
}

static bool same_shape(const range *r, uint32_t a, uint32_t b)
{
    const program_tensor *x = &r->base->tensors[a], *y = &r->base->tensors[b];
    const range_tensor *s = &r->tensors[a], *t = &r->tensors[b];
    if (x->dtype != y->dtype || x->rank != y->rank || !s->axes != !t->axes) return false;
    const size_t rank = (size_t)x->rank;
    return !rank || (s->axes ? memcmp(s->axes, t->axes, rank * sizeof *s->axes) == 0
                             : memcmp(x->shape, y->shape, rank * sizeof *x->shape) == 0);
}

/* Constants are equal if their elements are, or if the kernel does not look at them. */
static bool same_constant(const range *r, const range_operand *a, const range_operand *b,
                          bool packed)
{
    enum { FEW_BYTES = 256 };
    const uint32_t *x = r->tensors[r->tensors[a->tensor].root].elements,
                   *y = r->tensors[r->tensors[b->tensor].root].elements;
    if (a->is_large_constant != b->is_large_constant || a->narrow != b->narrow ||
        !a->constant != !b->constant || !x != !y)
        return false;
    if (x) return a->tensor == b->tensor;
    if (!a->constant) return !a->is_large_constant || packed || a->tensor == b->tensor;
    const size_t bytes = pgy_tensor_size_bytes(a->constant);
    return a->constant == b->constant || packed ||
           (bytes <= FEW_BYTES &&
            memcmp(pgy_tensor_data(a->constant), pgy_tensor_data(b->constant), bytes) == 0);
}

static bool same_operand(const range *r, const range_operand *a, const range_operand *b,
                         bool packed)
{
    if (a->layout != b->layout || !a->known != !b->known) return false;
    if (a->tensor == PROGRAM_NO_TENSOR || b->tensor == PROGRAM_NO_TENSOR)
        return a->tensor == b->tensor;
    return same_shape(r, a->tensor, b->tensor) && same_constant(r, a, b, packed);
}

static bool same_problem(const range *r, const range_step *a, const range_step *b)
{
    const kernel_plan *plan = &r->base->steps[a->step].plan;
    const bool keeps = a->kernel->flags & KERNEL_KEEPS_PACKED;
    if (a->kernel != b->kernel || a->input_count != b->input_count ||
        a->output_count != b->output_count || !same_node(a->node, b->node) ||
        plan->packed_bytes != r->base->steps[b->step].plan.packed_bytes ||
        plan->packed_form != r->base->steps[b->step].plan.packed_form ||
        plan->packed_inputs != r->base->steps[b->step].plan.packed_inputs)
        return false;
    if (plan->packed_bytes && !keeps) return false;
    for (size_t i = 0; i < (size_t)a->input_count + a->output_count; i++) {
        const bool packed = i < a->input_count && (plan->packed_inputs >> i & 1);
        if (!same_operand(r, &a->operands[i], &b->operands[i], packed)) return false;
    }
    return true;
}

static void find_twins(range *r)
{
    for (uint32_t i = 0; i < r->step_count; i++)
        for (uint32_t k = 0; k < i && r->steps[i].twin == RANGE_NONE; k++)
            if (r->steps[k].twin == RANGE_NONE && same_problem(r, &r->steps[i], &r->steps[k]))
                r->steps[i].twin = k;
}

/* ---- Finishing ------------------------------------------------------------------------------ */

/* Without the flag a kernel packs again for each program, which is fine for a few bytes only. */
static pgy_status check_packed(const range *r, pgy_error *err)
{
    enum { FEW_BYTES = 65536 };
    for (size_t i = 0; i < r->step_count; i++) {
        const range_step *s = &r->steps[i];
        const program_step *step = &r->base->steps[s->step];
        if (s->kernel->flags & KERNEL_KEEPS_PACKED || !step->plan.packed_bytes) continue;
        bool large = step->plan.packed_bytes > FEW_BYTES;
        for (size_t k = 0; k < s->input_count; k++) large |= s->operands[k].is_large_constant;
        if (large)
            return pgy_error_set(err, PGY_E_UNSUPPORTED,
                                 "%s '%s': kernel %s packs its weights for one size", step->op_type,
                                 step->label, s->kernel->name);
    }
    return PGY_OK;
}

static void find_fixed(range *r)
{
    size_t next = 0;
    for (size_t i = 0; i < r->base->step_count; i++) {
        const kernel_plan *plan = &r->base->steps[i].plan;
        if (next < r->step_count && r->steps[next].step == i) {
            next++;
            continue;
        }
        if (plan->scratch_bytes > r->fixed_scratch) r->fixed_scratch = plan->scratch_bytes;
        if (plan->workspace_bytes > r->fixed_workspace) r->fixed_workspace = plan->workspace_bytes;
    }
}

static void find_in_place(range *r)
{
    for (size_t i = 0; i < r->step_count; i++) {
        range_step *s = &r->steps[i];
        const int8_t from = r->base->steps[s->step].plan.in_place;
        if (from < 0 || (uint32_t)from >= s->input_count || !s->output_count) continue;
        const uint32_t in = s->operands[from].tensor, out = s->operands[s->input_count].tensor;
        s->in_place = in != PROGRAM_NO_TENSOR && out != PROGRAM_NO_TENSOR &&
                      r->tensors[in].root == r->tensors[out].root;
    }
}

/* Packed elements that nobody reads again need not be kept. */
static void drop_packed(range *r)
{
    for (size_t i = 0; i < r->step_count; i++) {
        const range_step *s = &r->steps[i];
        const uint32_t packed = r->base->steps[s->step].plan.packed_inputs;
        for (uint32_t k = 0; s->kernel->flags & KERNEL_KEEPS_PACKED && k < s->input_count; k++) {
            if (!(packed >> k & 1) || !s->operands[k].constant) continue;
            pgy_tensor_release(s->operands[k].constant);
            s->operands[k].constant = NULL;
            s->operands[k].is_large_constant = true;
        }
    }
}

/* Notes what is the same in all programs, so that none looks at it again. */
static void find_varying(range *r)
{
    for (uint32_t i = 0; i < r->tensor_count; i++) {
        const range_tensor *t = &r->tensors[i], *root = &r->tensors[t->root];
        const program_tensor *of = &r->base->tensors[i];
        const bool placed = of->place == PROGRAM_ARENA && root->slot != RANGE_NONE;
        if (t->axes || t->elements || root->axes || root->elements)
            r->varying[r->varying_count++] =
                (range_varying){.axes = t->axes,
                                .elements = t->elements,
                                .element_count = t->element_count,
                                .elements_at = t->elements_at,
                                .data_at = root->elements ? root->elements_at : RANGE_NO_DATA,
                                .tensor = i,
                                .root = t->root,
                                .slot = placed ? root->slot : RANGE_NONE};
        else if (placed && range_slot_bytes(of->size_bytes) > r->slots[root->slot].fixed)
            r->slots[root->slot].fixed = range_slot_bytes(of->size_bytes);
    }
}

/* Finds the slots whose needs each program computes, and what the others need. */
static void find_moving(range *r)
{
    enum { MOVING = 1 };
    for (size_t i = 0; i < r->slot_count; i++) {
        range_slot *s = &r->slots[i];
        if (s->owner < r->tensor_count) continue;
        s->fixed =
            range_slot_bytes(r->base->steps[s->owner - r->tensor_count].plan.workspace_bytes);
    }
    for (size_t i = 0; i < r->slot_count; i++) r->slots[i].needed = r->slots[i].fixed;
    memset(r->changes, 0, r->slot_count * sizeof *r->changes);
    for (size_t i = 0; i < r->varying_count; i++)
        if (r->varying[i].slot != RANGE_NONE) r->changes[r->varying[i].slot] = MOVING;
    for (size_t i = 0, k = 0; i < r->slot_count; i++) {
        if (r->slots[i].owner < r->tensor_count) continue;
        const uint32_t step = (uint32_t)(r->slots[i].owner - r->tensor_count);
        for (k = 0; k < r->step_count && r->resized[k] != step;) k++;
        if (k == r->step_count) continue;
        r->changes[i] = MOVING;
        r->slots[i].fixed = 0;
    }
    for (uint32_t i = 0; i < r->slot_count; i++)
        if (r->changes[i]) r->moving[r->moving_count++] = i;
}

static pgy_status finish(range *r, pgy_error *err)
{
    r->arena_bytes = r->base->spaces[0].arena_bytes;
    r->arena_bound = r->base->spaces[0].arena_bound;
    for (size_t i = 0; i < r->sizes.symbol_count; i++)
        r->ahead.latest[i] = r->sizes.bound[i].value;
    r->values = arena_alloc_array(&r->memory, r->sizes.count, sizeof *r->values);
    r->changes =
        arena_alloc_array(&r->memory, r->base->step_count + 1 + r->slot_count, sizeof *r->changes);
    r->placed = arena_alloc_array(&r->memory, r->tensor_count, sizeof *r->placed);
    r->varying = arena_alloc_array(&r->memory, r->tensor_count, sizeof *r->varying);
    r->moving = arena_alloc_array(&r->memory, r->slot_count, sizeof *r->moving);
    r->resized = arena_alloc_array(&r->memory, r->step_count, sizeof *r->resized);
    if (!r->values || !r->changes || !r->placed || !r->varying || !r->moving || !r->resized)
        return graph_no_memory(err);
    for (size_t i = 0; i < r->step_count; i++) r->resized[i] = r->steps[i].step;
    const pgy_status st = check_packed(r, err);
    if (st) return st;
    memcpy(r->placed, r->base->tensors, r->tensor_count * sizeof *r->placed);
    range_place_tensors(r);
    find_varying(r);
    find_moving(r);
    find_in_place(r);
    drop_packed(r);
    find_twins(r);
    find_fixed(r);
    return PGY_OK;
}

/* ---- Life ----------------------------------------------------------------------------------- */

static pgy_status build_base(range *r, const build_options *o, pgy_error *err)
{
    build_options options = *o;
    options.range = r;
    pgy_status st = graph_infer_sizes(r->graph, r->sizes.inputs, err);
    if (!st) st = program_build(&r->base, r->graph, &options, err);
    if (!st && (r->base->space_count > 1 || program_needs_graph(r->base)))
        st = pgy_error_set(err, PGY_E_UNSUPPORTED,
                           "it has steps on other devices or with subgraphs");
    return st;
}

pgy_status range_build(range **out, pgy_graph *g, const pgy_metadata *const *samples, size_t count,
                       const build_options *o, pgy_error *err)
{
    static atomic_uint_fast64_t numbers;
    range *r = mem_calloc(1, sizeof *r);
    if (!r) {
        pgy_graph_destroy(g);
        return graph_no_memory(err);
    }
    atomic_init(&r->users, 1);
    r->number = atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed) + 1;
    pthread_mutex_init(&r->lock, NULL);
    r->graph = g;
    pgy_status st = sizes_learn(&r->sizes, g, samples, count, err);
    if (!st) st = build_base(r, o, err);
    if (!st) st = finish(r, err);
    if (st)
        range_release(r);
    else
        *out = r;
    return st;
}

range *range_retain(range *r)
{
    atomic_fetch_add_explicit(&r->users, 1, memory_order_relaxed);
    return r;
}

void range_release(range *r)
{
    if (!r || atomic_fetch_sub_explicit(&r->users, 1, memory_order_acq_rel) > 1) return;
    for (size_t i = 0; i < r->step_count; i++)
        for (size_t k = 0; k < (size_t)r->steps[i].input_count + r->steps[i].output_count; k++)
            pgy_tensor_release(r->steps[i].operands[k].constant);
    mem_free(r->steps);
    if (r->spare) {
        r->spare->recycle = NULL;
        atomic_init(&r->spare->users, 1);
        program_release(r->spare);
    }
    program_release(r->base);
    pgy_graph_destroy(r->graph);
    sizes_deinit(&r->sizes);
    arena_deinit(&r->memory);
    arena_deinit(&r->rule_memory);
    arena_deinit(&r->ahead.memory);
    pthread_mutex_destroy(&r->lock);
    mem_free(r);
}

const program *range_base(const range *r)
{
    return r->base;
}

void range_limit(range *r, const pgy_metadata *least, const pgy_metadata *largest)
{
    sizes_limit(&r->sizes, least, largest);
}

bool range_covers(const range *r, const pgy_metadata *shapes)
{
    return sizes_cover(&r->sizes, shapes);
}
