/* SPDX-License-Identifier: Apache-2.0 */
/* The loops over phases and parts. A failure becomes visible to all threads before the barrier
 * behind its phase, so no thread starts a phase after a check failed in another thread. */
#include "kernels/launch.h"

#include "base/alloc.h"
#include "base/cancel.h"

launch launch_of(const kernel *k, const kernel_plan *p, uint32_t parts)
{
    return (launch){.run = {.self = k,
                            .params = p->params,
                            .packed = p->packed,
                            .parts = parts < p->parts ? parts : p->parts},
                    .phases = p->phases};
}

static pgy_status run_part(const launch *l, uint32_t phase, uint32_t part, size_t thread,
                           bool resumed)
{
    atomic_int fault = KERNEL_FAULT_NONE;
    kernel_run r = l->run;
    if (cancel_requested()) return PGY_E_CANCELLED;
    r.phase = phase;
    r.part = part;
    r.resumed = resumed;
    r.scratch = l->scratch ? l->scratch + l->scratch_stride * thread : NULL;
    r.fault = &fault;
    r.self->run(&r);
    const int kind = atomic_load_explicit(&fault, memory_order_relaxed);
    return kind == KERNEL_FAULT_NONE ? PGY_OK : kernel_fault_status(kind);
}

pgy_status launch_part(const launch *l, uint32_t phase, uint32_t part, bool resumed)
{
    return run_part(l, phase, part, 0, resumed);
}

pgy_status launch_alone(const launch *l)
{
    pgy_status st = PGY_OK;
    for (uint32_t phase = 0; !st && phase < l->phases; phase++)
        for (uint32_t part = 0; part < l->run.parts; part++) {
            const pgy_status own = run_part(l, phase, part, 0, part > 0);
            if (!st) st = own;
        }
    return st;
}

/* Runs this thread's parts of a phase. */
static pgy_status share_phase(const launch *l, team *t, size_t thread, uint32_t phase,
                              const atomic_int *failed)
{
    pgy_status st = PGY_OK;
    uint32_t part;
    bool resumed = false;
    if (l->run.parts <= team_size(t))
        return thread < l->run.parts ? run_part(l, phase, (uint32_t)thread, thread, false) : PGY_OK;
    while (!st && !atomic_load_explicit(failed, memory_order_relaxed) &&
           team_share_next(t, thread, l->run.parts, &part)) {
        st = run_part(l, phase, part, thread, resumed);
        resumed = true;
    }
    return st;
}

bool launch_in_team(const launch *l, team *t, size_t thread, atomic_int *failed)
{
    bool first = false;
    for (uint32_t phase = 0; phase < l->phases; phase++) {
        if (phase && l->run.parts > 1) team_barrier(t, thread);
        if (l->run.parts > team_size(t)) team_share_begin(t, thread);
        if (atomic_load_explicit(failed, memory_order_relaxed)) continue;
        const pgy_status st = share_phase(l, t, thread, phase, failed);
        int none = PGY_OK;
        if (st) first |= atomic_compare_exchange_strong(failed, &none, (int)st);
    }
    return first;
}

void kernel_run_alone(const kernel *k, const kernel_plan *p, void *const *tensors, uint32_t parts)
{
    void *workspace = mem_alloc_aligned(64, p->workspace_bytes + 64);
    void *scratch = mem_alloc_aligned(64, p->scratch_bytes + 64);
    launch l = launch_of(k, p, parts);
    l.run.tensors = tensors;
    l.run.workspace = workspace;
    l.scratch = scratch;
    if (workspace && scratch) (void)launch_alone(&l);
    mem_free(workspace);
    mem_free(scratch);
}

typedef struct job {
    const launch *l;
    team *team;
    atomic_int failed;
} job;

static void run_job(size_t thread, size_t size, void *user)
{
    job *j = user;
    (void)size;
    (void)launch_in_team(j->l, j->team, thread, &j->failed);
}

pgy_status launch_on_team(const launch *l, team *t)
{
    job j = {.l = l, .team = t};
    atomic_init(&j.failed, PGY_OK);
    team_run(t, run_job, &j);
    return (pgy_status)atomic_load_explicit(&j.failed, memory_order_relaxed);
}

pgy_status launch_enqueue(const launch *l, device_stream *stream, pgy_error *err)
{
    return l->run.self->enqueue(&l->run, stream, err);
}
