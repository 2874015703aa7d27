/* SPDX-License-Identifier: Apache-2.0 */
/* What a build records for its range: which tensors have dims that depend on sizes, and the
 * problems of the kernels that see such tensors. */
#include <string.h>

#include "base/alloc.h"
#include "engine/program/range_parts.h"

/* ---- Steps ---------------------------------------------------------------------------------- */

static bool is_sized(const builder *b, uint32_t tensor)
{
    if (tensor == PROGRAM_NO_TENSOR) return false;
    const build_tensor *t = &b->tensors[tensor];
    bool sized = b->tensors[build_root(b, tensor)].elements != NULL;
    for (int32_t i = 0; t->dims && i < t->t.rank; i++) sized |= !dim_is_const(t->dims[i]);
    return sized;
}

static void note_operand(range_operand *out, const builder *b, uint32_t tensor,
                         const kernel_tensor *k)
{
    *out = (range_operand){
        .tensor = tensor, .layout = k->layout, .narrow = k->narrow, .rounds = k->rounds};
    if (tensor == PROGRAM_NO_TENSOR) return;
    const build_tensor *root = &b->tensors[build_root(b, tensor)];
    if (!root->constant || root->elements) return;
    out->is_large_constant = kernel_count(k) > KERNEL_READABLE;
    if (!out->is_large_constant) out->constant = pgy_tensor_retain(root->constant);
}

static pgy_status note_operands(range_step *s, builder *b, const build_node *n,
                                const kernel_problem *problem, const uint32_t *tensors,
                                pgy_error *err)
{
    const size_t count = (size_t)s->input_count + s->output_count;
    const size_t captured = n ? n->captured_count : 0;
    s->operands = arena_alloc_array(&b->options->range->memory, count, sizeof *s->operands);
    if (!s->operands) return graph_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const bool output = i >= s->input_count;
        const kernel_tensor *k =
            output ? &problem->outputs[i - s->input_count] : &problem->inputs[i];
        note_operand(&s->operands[i], b, tensors[output ? i + captured : i], k);
        if (!output && n && n->node->inputs[i])
            s->operands[i].known = &box_of(n->node->inputs[i])->known;
    }
    return PGY_OK;
}

static pgy_status copy_node(range_step *s, builder *b, const build_node *n, pgy_error *err)
{
    op_node *copy = arena_alloc(&b->options->range->memory, sizeof *copy);
    if (!copy) return graph_no_memory(err);
    *copy = n->op; /* its attributes lie in the program's memory, its name in the graph's */
    s->node = copy;
    return PGY_OK;
}

pgy_status range_note_step(builder *b, const build_node *n, const kernel_problem *problem,
                           const kernel *k, const uint32_t *tensors, pgy_error *err)
{
    range *r = b->options->range;
    range_step s = {.step = (uint32_t)b->p->step_count,
                    .kernel = k,
                    .input_count = (uint32_t)problem->input_count,
                    .output_count = (uint32_t)problem->output_count,
                    .twin = RANGE_NONE};
    const size_t captured = n ? n->captured_count : 0;
    bool sized = false;
    for (size_t i = 0; i < problem->input_count + captured + problem->output_count; i++)
        sized |= is_sized(b, tensors[i]);
    if (!sized) return PGY_OK;
    kernel_problem asked = *problem;
    (void)kernel_accept(k, &asked, &s.estimate); /* selection has asked it before */
    pgy_status st = n ? copy_node(&s, b, n, err) : PGY_OK;
    if (!st) st = note_operands(&s, b, n, problem, tensors, err);
    if (!st &&
        !mem_grow((void **)&r->steps, &r->step_capacity, r->step_count + 1, sizeof *r->steps))
        st = graph_no_memory(err);
    if (!st) {
        r->steps[r->step_count++] = s;
        return PGY_OK;
    }
    for (size_t i = 0; s.operands && i < (size_t)s.input_count + s.output_count; i++)
        pgy_tensor_release(s.operands[i].constant);
    return st;
}

/* ---- Tensors -------------------------------------------------------------------------------- */

static pgy_status place_dims(const uint32_t **out, range *r, const dim *dims, size_t count,
                             pgy_error *err)
{
    uint32_t *places = arena_alloc_array(&r->memory, count, sizeof *places);
    if (!places) return graph_no_memory(err);
    for (size_t i = 0; i < count; i++)
        if (!sizes_place(&places[i], &r->sizes, dims[i]))
            return pgy_error_set(err, PGY_E_UNSUPPORTED, "the program has more than %d sizes",
                                 SIZES_MOST);
    *out = places;
    return PGY_OK;
}

static pgy_status note_tensor(range_tensor *out, builder *b, uint32_t index, pgy_error *err)
{
    range *r = b->options->range;
    const build_tensor *t = &b->tensors[index];
    bool varies = false;
    out->root = build_root(b, index);
    out->slot = RANGE_NONE;
    for (int32_t i = 0; t->dims && i < t->t.rank; i++) varies |= !dim_is_const(t->dims[i]);
    pgy_status st = varies ? place_dims(&out->axes, r, t->dims, (size_t)t->t.rank, err) : PGY_OK;
    if (st || !t->elements) return st;
    out->element_count = t->element_count;
    out->elements_at = r->elements_bytes;
    r->elements_bytes += (t->t.size_bytes + 15) / 16 * 16;
    return place_dims(&out->elements, r, t->elements, t->element_count, err);
}

pgy_status range_note_tensors(builder *b, pgy_error *err)
{
    range *r = b->options->range;
    pgy_status st = PGY_OK;
    r->tensor_count = b->tensor_count;
    r->tensors = arena_alloc_array(&r->memory, r->tensor_count, sizeof *r->tensors);
    if (!r->tensors) return graph_no_memory(err);
    for (uint32_t i = 0; !st && i < r->tensor_count; i++)
        st = note_tensor(&r->tensors[i], b, i, err);
    for (uint32_t i = 0; i < r->slot_count; i++)
        if (r->slots[i].owner < r->tensor_count) r->tensors[r->slots[i].owner].slot = i;
    return st;
}

pgy_status range_note_slots(builder *b, const program_interval *items, const uint32_t *owners,
                            size_t count, pgy_error *err)
{
    range *r = b->options->range;
    r->slots = arena_alloc_array(&r->memory, count, sizeof *r->slots);
    if (!r->slots) return graph_no_memory(err);
    r->slot_count = count;
    for (size_t i = 0; i < count; i++)
        r->slots[i] = (range_slot){.first = items[i].first,
                                   .last = items[i].last,
                                   .owner = owners[i],
                                   .size_bytes = items[i].size_bytes,
                                   .offset = items[i].offset};
    return PGY_OK;
}
