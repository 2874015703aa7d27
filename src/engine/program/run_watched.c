/* SPDX-License-Identifier: Apache-2.0 */
/* Profiled and debugged runs: the times of steps, and tensors for the listener. */
#include "base/alloc.h"
#include "base/system.h"
#include "engine/program/run_parts.h"

static const void *address_of(const program_context *c, uint32_t tensor, const void *const *inputs,
                              void *const *outputs)
{
    const program_tensor *t = &c->p->tensors[tensor];
    switch (t->place) {
    case PROGRAM_ARENA: return program_context_arena(c, t->space) + t->offset;
    case PROGRAM_CONSTANT: return program_context_constant(c, t);
    case PROGRAM_INPUT: return inputs[t->offset];
    case PROGRAM_OUTPUT: return outputs[t->offset];
    }
    return NULL;
}

/* A profiled or debugged run. */
typedef struct watched_run {
    program_stretch part; /* first, for `program_run_stretches` */
    program_context *c;
    const program_watch *watch;
    const void *const *inputs;
    void *const *outputs;
    size_t shown; /* number of marks shown so far */
} watched_run;

/* Shows a debug tensor to the listener. False: the run must end. */
static bool show_mark(const watched_run *r, const program_mark *m)
{
    program_context *c = r->c;
    const program_tensor *t = &c->p->tensors[m->tensor];
    const void *data = address_of(c, m->tensor, r->inputs, r->outputs);
    if (!t->space) return r->watch->show(r->watch->user, c->p, m, data);
    void *read = NULL;
    int none = PGY_OK;
    const pgy_status st = device_side_read(&read, c->devices, t, data, &c->error);
    if (st) {
        atomic_compare_exchange_strong(c->failed, &none, (int)st);
        return false;
    }
    const bool goes_on = r->watch->show(r->watch->user, c->p, m, read);
    mem_free(read);
    return goes_on;
}

static void show_marks(watched_run *r, uint32_t step)
{
    const program *p = r->c->p;
    for (; r->shown < p->mark_count && p->marks[r->shown].step == step; r->shown++) {
        const program_mark *m = &p->marks[r->shown];
        int none = PGY_OK;
        if (!r->watch->show || atomic_load_explicit(r->c->failed, memory_order_relaxed)) continue;
        if (!show_mark(r, m)) atomic_compare_exchange_strong(r->c->failed, &none, PGY_E_CANCELLED);
    }
}

/* Shows what a step has written on the host. */
static void show_step(const watched_run *r, uint32_t index)
{
    const program_step *s = &r->c->p->steps[index];
    const size_t reads = (size_t)s->input_count + s->captured_count;
    if (!r->watch->step || atomic_load_explicit(r->c->failed, memory_order_relaxed)) return;
    for (size_t i = reads; i < reads + s->output_count; i++) {
        const uint32_t tensor = s->tensors[i];
        if (tensor != PROGRAM_NO_TENSOR && !r->c->p->tensors[tensor].space)
            r->watch->step(r->watch->user, index, tensor,
                           address_of(r->c, tensor, r->inputs, r->outputs));
    }
}

/* Behind each step comes a round of the first thread, who shows what there is before others go on.
 */
static void walk_watched(size_t thread, size_t size, void *user)
{
    watched_run *r = user;
    program_context *c = r->c;
    if (thread == 0 && !r->part.first) show_marks(r, PROGRAM_NO_STEP);
    for (uint32_t i = (uint32_t)r->part.first; i < r->part.end; i++) {
        int64_t start = 0;
        if (c->launches[i].run.parts > 1) {
            if (!program_share_step(c, i, thread, &start, NULL)) return;
        } else if (thread == 0) {
            if (size > 1) (void)team_alone(c->team, 0);
            start = clock_ns();
            program_run_step(c, i);
        }
        if (size > 1 && !team_alone(c->team, thread)) continue;
        program_run_settle(c, i);
        if (r->watch->times) r->watch->times[i] = clock_ns() - start;
        show_step(r, i);
        show_marks(r, i);
    }
}

void program_run_watched(program_context *c, const program_watch *watch, const void *const *inputs,
                         void *const *outputs)
{
    watched_run r = {.c = c, .watch = watch, .inputs = inputs, .outputs = outputs};
    program_run_stretches(c, walk_watched, &r.part, &r);
}
