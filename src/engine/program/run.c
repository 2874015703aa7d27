/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program: all threads of the team go through the steps together. Profiled, debugged and
 * traced runs use loops of their own, so the normal loop has no per-step checks. */
#include "base/cancel.h"
#include "base/tracer.h"
#include "engine/program/run_parts.h"

/* Steps of one part are for the first thread, and nobody else looks at them. */
static void walk(size_t thread, size_t size, void *user)
{
    const program_stretch *part = user;
    program_context *c = part->c;
    for (size_t i = part->first; i < part->end; i++) {
        if (c->launches[i].run.parts > 1) {
            if (!program_share_step(c, i, thread, NULL, NULL)) return;
        } else if (size == 1 || team_alone(c->team, thread)) {
            program_run_step(c, i);
        }
    }
}

static pgy_status tell_failure(const program_context *c, pgy_error *err)
{
    const pgy_status st = (pgy_status)atomic_load_explicit(c->failed, memory_order_relaxed);
    const size_t faulty = atomic_load_explicit(&c->faulty, memory_order_relaxed);
    if (!st) return cancel_check(err); /* cancelling may have ended the last kernel early */
    if (st == PGY_E_CANCELLED) return pgy_error_set(err, st, "the run was cancelled");
    if (!faulty) return pgy_error_set(err, st, "%s", c->error.text);
    char text[KERNEL_FAULT_BYTES];
    kernel_fault_print(text, st, &c->bad);
    return pgy_error_set(err, st, "%s '%s': %s", c->p->steps[faulty - 1].op_type,
                         c->p->steps[faulty - 1].label, text);
}

/* A successful run ends with waits; a failed one may have left work on devices. */
static void finish_devices(program_context *c)
{
    int none = PGY_OK;
    size_t faulty = 0;
    pgy_error why = {0};
    const bool failed = atomic_load_explicit(c->failed, memory_order_relaxed) != PGY_OK;
    const pgy_status st = device_side_finish(c->devices, failed, &faulty, &why);
    if (!st || !atomic_compare_exchange_strong(c->failed, &none, (int)st)) return;
    if (faulty)
        atomic_store_explicit(&c->faulty, faulty, memory_order_relaxed);
    else
        c->error = why;
}

pgy_status program_execute(program_context *c, const void *const *inputs, void *const *outputs,
                           const program_watch *watch, pgy_error *err)
{
    const pgy_status st = c->placed ? PGY_OK : program_context_take_memory(c, err);
    if (st) return st;
    for (size_t i = 0; i < c->patch_count; i++) {
        const patch *p = &c->patches[i];
        c->addresses[p->entry] = p->output ? outputs[p->index] : (void *)inputs[p->index];
    }
    if (c->failed == &c->own_failed) atomic_store_explicit(c->failed, PGY_OK, memory_order_relaxed);
    atomic_store_explicit(&c->faulty, 0, memory_order_relaxed);
    atomic_store_explicit(&c->bad.noted, false, memory_order_relaxed);
    c->error = (pgy_error){0};
    if (c->devices) device_side_start(c->devices, watch || tracer_is_on());
    if (watch) {
        program_run_watched(c, watch, inputs, outputs);
    } else if (tracer_is_on()) {
        program_run_traced(c);
    } else {
        program_stretch all;
        program_run_stretches(c, walk, &all, &all);
    }
    if (c->devices) finish_devices(c);
    return tell_failure(c, err);
}
