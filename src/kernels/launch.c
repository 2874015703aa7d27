/* SPDX-License-Identifier: Apache-2.0 */
/* The loops over phases and parts. A failure becomes visible to all threads before its phase is
 * complete, so no thread runs a part of a later phase after a check failed in another thread. */
#include "kernels/launch.h"

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/system.h"

enum { MOST_PARTS = 65535 }; /* that a team counts */

launch launch_of(const kernel *k, const kernel_plan *p, uint32_t parts)
{
    if (parts > MOST_PARTS) parts = MOST_PARTS;
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

static void note_failure(const launch_notes *n, pgy_status st)
{
    int none = PGY_OK;
    if (atomic_compare_exchange_strong(n->failed, &none, (int)st) && n->faulty)
        atomic_store_explicit(n->faulty, n->number, memory_order_relaxed);
}

/* Runs this thread's parts of a phase. Parts behind a failure are taken, too, but not run: the
 * round ends when none is left. */
static void share_phase(const launch *l, team *t, size_t thread, uint32_t phase,
                        const launch_notes *n)
{
    uint32_t part;
    bool resumed = false;
    while (team_share_next(t, thread, l->run.parts, &part)) {
        if (atomic_load_explicit(n->failed, memory_order_relaxed)) continue;
        const pgy_status st = run_part(l, phase, part, thread, resumed);
        if (st) note_failure(n, st);
        if (n->end_ns) *n->end_ns = clock_ns();
        resumed = true;
    }
}

bool launch_in_team(const launch *l, team *t, size_t thread, const launch_notes *n)
{
    for (uint32_t phase = 0; phase < l->phases; phase++) {
        if (!team_share_begin(t, thread)) return false;
        if (!phase && n->begin_ns) *n->begin_ns = clock_ns();
        share_phase(l, t, thread, phase, n);
    }
    return true;
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
    (void)launch_in_team(j->l, j->team, thread, &(launch_notes){.failed = &j->failed});
}

pgy_status launch_on_team(const launch *l, team *t)
{
    job j = {.l = l, .team = t};
    atomic_init(&j.failed, PGY_OK);
    team_run(t, true, run_job, &j);
    return (pgy_status)atomic_load_explicit(&j.failed, memory_order_relaxed);
}

pgy_status launch_enqueue(const launch *l, device_stream *stream, pgy_error *err)
{
    return l->run.self->enqueue(&l->run, stream, err);
}
