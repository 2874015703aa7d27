/* SPDX-License-Identifier: Apache-2.0 */
/* Asks for the memory that making a program is about to use. The weights of the runs before have
 * driven it out of the caches, and misses one after the other take most of the time that a new
 * program takes. */
#include "engine/program/range_parts.h"

static void fetch(const void *from, size_t size_bytes)
{
    enum { LINE = 64 };
    for (size_t i = 0; i < size_bytes; i += LINE) __builtin_prefetch((const char *)from + i);
}

static void fetch_operands(const range *r, const range_step *s)
{
    for (size_t i = 0; i < (size_t)s->input_count + s->output_count; i++) {
        const range_operand *o = &s->operands[i];
        if (o->known) fetch(o->known, sizeof *o->known);
        if (o->constant) fetch(o->constant, 64);
        if (o->tensor != PROGRAM_NO_TENSOR) fetch(&r->tensors[o->tensor], sizeof *r->tensors);
    }
}

/* Instructions are fetched, too: the kernels' functions and shape rules run once for each program.
 */
static void fetch_steps(const range *r, const program *p, bool prepared)
{
    enum { CODE = 512 }; /* bytes of a function: about what one of usual length executes */
    for (size_t i = 0; i < r->step_count; i++) {
        const range_step *s = &r->steps[i];
        fetch(&p->steps[s->step], sizeof *p->steps);
        fetch(&r->base->steps[s->step].plan, sizeof(kernel_plan));
        if (prepared || s->twin != RANGE_NONE) continue;
        fetch_operands(r, s);
        fetch((const void *)s->kernel->accept, CODE);
        fetch((const void *)s->kernel->prepare, CODE);
        if (s->node) fetch((const void *)s->node->def->infer, CODE);
    }
}

static void fetch_ahead(const range_ahead_shape *ahead)
{
    fetch(ahead->plans, ahead->plan_count * sizeof *ahead->plans);
}

void range_fetch(const range *r, const program *p, const range_ahead_shape *ahead)
{
    if (ahead) fetch_ahead(ahead);
    for (size_t i = 0; i < r->varying_count; i++)
        fetch(&p->tensors[r->varying[i].tensor], sizeof *p->tensors);
    fetch_steps(r, p, ahead != NULL);
}
