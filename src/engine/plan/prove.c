/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels trust their parameters. So a plan's parameters are accepted only if the kernel's own
 * `extent` shows that they stay within the operands of the step. */
#include "engine/plan/prove.h"

#include <stdio.h>

#include "kernels/extent.h"

static pgy_status refuse(const program_view *v, const plan_step *s, const char *what,
                         pgy_error *err)
{
    return pgy_error_set(err, PGY_E_FORMAT, "the plan is damaged: step '%s' (kernel '%s'): %s",
                         plan_text(v->p, s->label), plan_text(v->p, s->kernel), what);
}

static pgy_status too_small(const program_view *v, const plan_step *s, const char *operand,
                            uint64_t has, uint64_t touched, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_FORMAT,
                         "the plan is damaged: step '%s' (kernel '%s'): %s has %llu bytes, but the "
                         "kernel accesses %llu with these parameters",
                         plan_text(v->p, s->label), plan_text(v->p, s->kernel), operand,
                         (unsigned long long)has, (unsigned long long)touched);
}

static kernel_claim claim_of(const program_view *v, const plan_step *s)
{
    kernel_claim claim = {.params = (const char *)v->p->at[PLAN_PARAMS] + s->params_offset,
                          .params_bytes = s->params_bytes,
                          .input_count = s->input_count,
                          .output_count = s->output_count};
    const uint32_t *refs = v->refs + s->refs;
    for (uint32_t i = 0; i < s->input_count + s->output_count; i++)
        if (refs[i] != PROGRAM_NO_TENSOR) claim.present |= 1ull << i;
    return claim;
}

static pgy_status prove_operands(const program_view *v, const plan_step *s, const kernel_extent *e,
                                 pgy_error *err)
{
    const uint32_t *refs = v->refs + s->refs;
    for (uint32_t i = 0; i < s->input_count + s->output_count; i++) {
        const bool input = i < s->input_count, missing = refs[i] == PROGRAM_NO_TENSOR;
        const uint64_t has = missing ? 0 : v->tensors[refs[i]].size_bytes;
        char what[48];
        if (e->tensors[i] <= has) continue;
        snprintf(what, sizeof what, "%s%s %u", missing ? "omitted " : "",
                 input ? "input" : "output", input ? i : i - s->input_count);
        return too_small(v, s, what, has, e->tensors[i], err);
    }
    return PGY_OK;
}

/* Do two tensors share memory? */
static bool overlap(const plan_tensor *a, const plan_tensor *b)
{
    if (a->place != b->place || a->space != b->space || !a->size_bytes || !b->size_bytes)
        return false;
    if (a->place != PROGRAM_ARENA) return a->offset == b->offset;
    return a->offset < b->offset + b->size_bytes && b->offset < a->offset + a->size_bytes;
}

static bool meets_workspace(const plan_step *s, const plan_tensor *t)
{
    const plan_tensor workspace = {.place = PROGRAM_ARENA,
                                   .space = s->space,
                                   .offset = (uint64_t)s->workspace_place * PLAN_ALIGN,
                                   .size_bytes = s->workspace_bytes};
    return overlap(&workspace, t);
}

/* May the first output share the memory of input i? Only if both are the same bytes, and plan and
 * kernel allow it. */
static bool is_in_place(const plan_step *s, const kernel_extent *e, uint32_t i,
                        const plan_tensor *x, const plan_tensor *y)
{
    return s->in_place == (int32_t)i && !(e->indices >> i & 1) && x->offset == y->offset &&
           x->size_bytes == y->size_bytes;
}

/* Proves that a step does not overwrite its inputs, since kernels read data several times. */
static pgy_status prove_apart(const program_view *v, const plan_step *s, const kernel_extent *e,
                              pgy_error *err)
{
    const uint32_t *refs = v->refs + s->refs, count = s->input_count + s->output_count;
    for (uint32_t i = 0; i < count; i++) {
        if (refs[i] == PROGRAM_NO_TENSOR) continue;
        const plan_tensor *x = &v->tensors[refs[i]];
        if (meets_workspace(s, x)) return refuse(v, s, "its workspace overlaps a tensor", err);
        for (uint32_t o = i < s->input_count ? s->input_count : i + 1; o < count; o++) {
            if (refs[o] == PROGRAM_NO_TENSOR || !overlap(x, &v->tensors[refs[o]])) continue;
            if (o == s->input_count && is_in_place(s, e, i, x, &v->tensors[refs[o]])) continue;
            return refuse(v, s, "an output overlaps another tensor of the step", err);
        }
    }
    return PGY_OK;
}

static pgy_status prove_memory(const program_view *v, const plan_step *s, const kernel_extent *e,
                               pgy_error *err)
{
    if (e->packed > s->packed_bytes)
        return too_small(v, s, "its memory for packed weights", s->packed_bytes, e->packed, err);
    if (e->workspace > s->workspace_bytes)
        return too_small(v, s, "its workspace", s->workspace_bytes, e->workspace, err);
    if (e->scratch > s->scratch_bytes)
        return too_small(v, s, "its scratch memory", s->scratch_bytes, e->scratch, err);
    if (e->phases != s->phases || s->parts > e->parts)
        return refuse(v, s, "its number of phases or parts differs from that of its kernel", err);
    return PGY_OK;
}

/* Proves that every operand lies in memory that the kernel's device can reach. */
static pgy_status prove_spaces(const program_view *v, const plan_step *s, const kernel_extent *e,
                               pgy_error *err)
{
    const uint32_t *refs = v->refs + s->refs, count = s->input_count + s->output_count;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t wanted = e->on_host >> i & 1 ? 0 : s->space;
        if (refs[i] != PROGRAM_NO_TENSOR && v->tensors[refs[i]].space != wanted)
            return refuse(v, s, "an operand lies in the memory of another device", err);
    }
    return PGY_OK;
}

static pgy_status prove_step(const program_view *v, const plan_step *s, const kernel *k,
                             pgy_error *err)
{
    kernel_extent e;
    if (s->captured_count || s->input_count > KERNEL_MAX_INPUTS ||
        s->output_count > KERNEL_MAX_OUTPUTS)
        return refuse(v, s, "it has more tensors than a kernel takes", err);
    const kernel_claim claim = claim_of(v, s);
    if (!kernel_extent_of(&e, k, &claim))
        return pgy_error_set(
            err, PGY_E_FORMAT,
            "the plan is damaged: step '%s' (kernel '%s') has invalid parameters: %s",
            plan_text(v->p, s->label), plan_text(v->p, s->kernel), e.why);
    pgy_status st = prove_spaces(v, s, &e, err);
    if (!st) st = prove_operands(v, s, &e, err);
    if (!st) st = prove_memory(v, s, &e, err);
    return st ? st : prove_apart(v, s, &e, err);
}

pgy_status plan_prove_program(const plan_file *p, size_t index, pgy_error *err)
{
    const program_view v = plan_view(p, (const plan_program *)p->at[PLAN_PROGRAMS] + index);
    pgy_status st = PGY_OK;
    for (uint32_t i = 0; !st && i < v.r->step_count; i++) {
        const kernel *k = plan_step_kernel(p, index, i);
        if (k) st = prove_step(&v, &v.steps[i], k, err);
    }
    return !st && p->counts[PLAN_SPACES] > 1 ? plan_prove_order(&v, err) : st;
}
