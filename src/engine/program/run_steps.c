/* SPDX-License-Identifier: Apache-2.0 */
/* Runs single steps of a program, and stretches of steps by the team. */
#include "base/cancel.h"
#include "engine/program/reference_step.h"
#include "engine/program/run_parts.h"

/* Runs a reference step; only the first failure is kept. */
static void run_reference(program_context *c, size_t index)
{
    const program_step *s = &c->p->steps[index];
    int none = PGY_OK;
    pgy_error why = {0};
    const pgy_status st = reference_step_run(c->p, s, c->addresses + c->starts[index], &why);
    if (st && atomic_compare_exchange_strong(c->failed, &none, (int)st)) c->error = why;
}

/* Runs a step with subgraphs, outside of the team's task. What failed inside has set the status
 * already, but not the error. */
static void run_bodies(program_context *c, size_t index)
{
    int none = PGY_OK;
    pgy_error why = {0};
    pgy_status st = PGY_E_INTERNAL;
    if (atomic_load_explicit(c->failed, memory_order_relaxed)) return;
    if (c->nodes)
        st = c->bodies.run(c->bodies.user, c->p, &c->p->steps[index], c->nodes[index],
                           c->addresses + c->starts[index], &why);
    else
        pgy_error_set(&why, st, "no graph is bound to the steps with subgraphs");
    if (!st) return;
    if (atomic_compare_exchange_strong(c->failed, &none, (int)st) || none == (int)st)
        c->error = why;
}

static void run_on_device(program_context *c, size_t index)
{
    int none = PGY_OK;
    pgy_error why = {0};
    const pgy_status st = cancel_requested()
                              ? PGY_E_CANCELLED
                              : device_side_step(c->devices, index, &c->launches[index],
                                                 c->addresses + c->starts[index], &why);
    if (st && atomic_compare_exchange_strong(c->failed, &none, (int)st)) c->error = why;
}

static void run_kernel(program_context *c, size_t index)
{
    int none = PGY_OK;
    if (atomic_load_explicit(c->failed, memory_order_relaxed)) return;
    const pgy_status st = launch_alone(&c->launches[index]);
    if (st && atomic_compare_exchange_strong(c->failed, &none, (int)st))
        atomic_store_explicit(&c->faulty, index + 1, memory_order_relaxed);
}

/* Steps after a failure do nothing. */
void program_run_step(program_context *c, size_t index)
{
    const program_step *s = &c->p->steps[index];
    if (program_has_bodies(s))
        run_bodies(c, index);
    else if (s->kernel && !s->space)
        run_kernel(c, index);
    else if (atomic_load_explicit(c->failed, memory_order_relaxed))
        return;
    else if (s->act == PROGRAM_RUN && !s->space)
        run_reference(c, index);
    else
        run_on_device(c, index);
}

/* All threads count the same rounds, whether they have seen a failure or not. */
bool program_share_step(program_context *c, size_t index, size_t thread, int64_t *begin_ns,
                        int64_t *end_ns)
{
    const launch_notes notes = {.failed = c->failed,
                                .faulty = &c->faulty,
                                .number = index + 1,
                                .begin_ns = begin_ns,
                                .end_ns = end_ns};
    return launch_in_team(&c->launches[index], c->team, thread, &notes);
}

void program_run_settle(program_context *c, uint32_t step)
{
    int none = PGY_OK;
    pgy_error why = {0};
    const pgy_status st = c->devices ? device_side_settle(c->devices, step, &why) : PGY_OK;
    if (st && atomic_compare_exchange_strong(c->failed, &none, (int)st)) c->error = why;
}

void program_run_stretches(program_context *c, void (*walk_part)(size_t, size_t, void *),
                           program_stretch *part, void *user)
{
    const size_t whole[] = {c->p->step_count}, *ends = c->stretches ? c->stretches : whole;
    for (size_t i = 0, first = 0; first < c->p->step_count; i++) {
        *part = (program_stretch){c, first, ends[i]};
        if (first < ends[i] && !c->shared)
            walk_part(0, 1, user);
        else if (first < ends[i])
            team_run(c->team, !(c->shared_ns < PROGRAM_WAKE_NS), walk_part, user);
        first = ends[i];
        if (first == c->p->step_count) break;
        *part = (program_stretch){c, first, first + 1};
        walk_part(0, 1, user);
        first++;
    }
}
