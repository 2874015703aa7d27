/* SPDX-License-Identifier: Apache-2.0 */
/* Running: the threads of the team walk the list of steps side by side. Addresses are computed
 * once; only those of the caller's tensors change from run to run. */
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/interpret.h"
#include "engine/program.h"
#include "engine/reference_step.h"

static const double SHORT_NS =
    3000; /* steps below are left to one thread: a barrier costs as much */

/* An address that is the caller's. */
typedef struct patch {
    size_t entry, index;
    bool output;
} patch;

struct program_context {
    program *p;
    team *team;
    void *memory; /* arena, workspace, scratch of each thread */
    char *arena, *workspace, *scratch;
    size_t scratch_stride;
    void **addresses; /* of all steps' tensors, one after the other */
    size_t *starts;   /* per step: its first address */
    uint32_t *parts;  /* per step */
    patch *patches;
    size_t patch_count;
    interpreter *interpreter; /* for bodies of branches and loops; NULL: there are none */
    atomic_int failed;        /* status of the first failure */
    atomic_size_t faulty;     /* one more than the step whose kernel met wrong data; 0: none */
    pgy_error error;
};

static size_t tensor_count(const program_step *s)
{
    return (size_t)s->input_count + s->captured_count + s->output_count;
}

static size_t round_up(size_t size)
{
    return (size + 63) / 64 * 64;
}

void program_context_destroy(program_context *c)
{
    if (!c) return;
    interpreter_destroy(c->interpreter);
    program_release(c->p);
    mem_free(c->memory);
    mem_free(c->addresses);
    mem_free(c->starts);
    mem_free(c->parts);
    mem_free(c->patches);
    mem_free(c);
}

static bool allocate(program_context *c)
{
    const program *p = c->p;
    size_t entries = 0;
    for (size_t i = 0; i < p->step_count; i++) entries += tensor_count(&p->steps[i]);
    const size_t arena_size = round_up(p->arena_bytes), workspace = round_up(p->workspace_bytes);
    c->scratch_stride = round_up(p->scratch_bytes);
    c->memory =
        mem_alloc_aligned(64, arena_size + workspace + c->scratch_stride * team_size(c->team) + 64);
    c->addresses = mem_calloc(entries + 1, sizeof *c->addresses);
    c->starts = mem_calloc(p->step_count + 1, sizeof *c->starts);
    c->parts = mem_calloc(p->step_count + 1, sizeof *c->parts);
    c->patches = mem_calloc(entries + 1, sizeof *c->patches);
    if (!c->memory || !c->addresses || !c->starts || !c->parts || !c->patches) return false;
    c->arena = c->memory;
    c->workspace = c->arena + arena_size;
    c->scratch = c->workspace + workspace;
    return true;
}

static void resolve(program_context *c, size_t entry, uint32_t tensor)
{
    if (tensor == PROGRAM_NO_TENSOR) return;
    const program_tensor *t = &c->p->tensors[tensor];
    if (t->place == PROGRAM_ARENA) {
        c->addresses[entry] = c->arena + t->offset;
    } else if (t->place == PROGRAM_CONSTANT) {
        c->addresses[entry] = (char *)c->p->constants + t->offset;
    } else {
        c->patches[c->patch_count++] =
            (patch){.entry = entry, .index = t->offset, .output = t->place == PROGRAM_OUTPUT};
    }
}

static bool has_bodies(const program *p)
{
    for (size_t i = 0; i < p->step_count; i++) {
        const pgy_node *n = p->steps[i].kernel ? NULL : p->steps[i].node;
        if (n && (n->subgraph_count || node_box_of(n)->function)) return true;
    }
    return false;
}

pgy_status program_context_create(program_context **out, program *p, team *t, pgy_error *err)
{
    program_context *c = mem_calloc(1, sizeof *c);
    if (!c) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    c->p = program_retain(p);
    c->team = t;
    if (!allocate(c)) {
        program_context_destroy(c);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for an arena of %llu bytes",
                             (unsigned long long)p->arena_bytes);
    }
    /* One thread of the team runs a body while the others wait. */
    const pgy_status st = has_bodies(p) ? interpreter_create(&c->interpreter, NULL, err) : PGY_OK;
    if (st) {
        program_context_destroy(c);
        return st;
    }
    size_t entry = 0;
    for (size_t i = 0; i < p->step_count; i++) {
        const program_step *s = &p->steps[i];
        c->starts[i] = entry;
        for (size_t k = 0; k < tensor_count(s); k++) resolve(c, entry++, s->tensors[k]);
        const size_t threads = s->cost_ns < SHORT_NS ? 1 : team_size(t);
        c->parts[i] = s->kernel && s->plan.parts > 1
                          ? (uint32_t)(s->plan.parts < threads ? s->plan.parts : threads)
                          : 1;
    }
    *out = c;
    return PGY_OK;
}

static void run_kernel(program_context *c, size_t index, size_t thread, uint32_t phase)
{
    const program_step *s = &c->p->steps[index];
    atomic_int fault = 0;
    int none = PGY_OK;
    if (thread >= c->parts[index]) return;
    const kernel_run r = {
        .self = s->kernel,
        .params = s->plan.params,
        .packed = s->plan.packed_bytes ? (const char *)c->p->constants + s->packed_offset : NULL,
        .tensors = c->addresses + c->starts[index],
        .workspace = c->workspace,
        .scratch = c->scratch + c->scratch_stride * thread,
        .phase = phase,
        .part = (uint32_t)thread,
        .parts = c->parts[index],
        .fault = &fault,
    };
    s->kernel->run(&r);
    const int kind = atomic_load_explicit(&fault, memory_order_relaxed);
    if (kind == KERNEL_FAULT_NONE) return;
    if (atomic_compare_exchange_strong(&c->failed, &none, kernel_fault_status(kind)))
        atomic_store_explicit(&c->faulty, index + 1, memory_order_relaxed);
}

/* The first failure is kept; the steps behind it find nothing to do. */
static void run_reference(program_context *c, size_t index)
{
    const program_step *s = &c->p->steps[index];
    if (atomic_load_explicit(&c->failed, memory_order_relaxed)) return;
    const pgy_status st = reference_step_run(
        c->p, s, c->addresses + c->starts[index],
        c->interpreter ? interpreter_operators(c->interpreter) : NULL, &c->error);
    if (st) atomic_store_explicit(&c->failed, st, memory_order_relaxed);
}

/* Between two steps that one thread does alone nobody has to wait. */
static void walk(size_t thread, size_t size, void *user)
{
    program_context *c = user;
    bool alone = true;
    (void)size;
    for (size_t i = 0; i < c->p->step_count; i++) {
        const program_step *s = &c->p->steps[i];
        const bool single = c->parts[i] == 1;
        if (!(alone && single)) team_barrier(c->team, thread);
        alone = single;
        if (!s->kernel) {
            if (thread == 0) run_reference(c, i);
            continue;
        }
        for (uint32_t phase = 0; phase < s->plan.phases; phase++) {
            if (phase && !single) team_barrier(c->team, thread);
            run_kernel(c, i, thread, phase);
        }
    }
}

pgy_status program_execute(program_context *c, const void *const *inputs, void *const *outputs,
                           pgy_error *err)
{
    for (size_t i = 0; i < c->patch_count; i++) {
        const patch *p = &c->patches[i];
        c->addresses[p->entry] = p->output ? outputs[p->index] : (void *)inputs[p->index];
    }
    atomic_store_explicit(&c->failed, PGY_OK, memory_order_relaxed);
    atomic_store_explicit(&c->faulty, 0, memory_order_relaxed);
    team_run(c->team, walk, c);
    const pgy_status st = (pgy_status)atomic_load_explicit(&c->failed, memory_order_relaxed);
    const size_t faulty = atomic_load_explicit(&c->faulty, memory_order_relaxed);
    if (faulty)
        return pgy_error_set(err, st, "%s '%s': %s", c->p->steps[faulty - 1].op_type,
                             c->p->steps[faulty - 1].label, kernel_fault_text(st));
    return st ? pgy_error_set(err, st, "%s", c->error.text) : PGY_OK;
}
