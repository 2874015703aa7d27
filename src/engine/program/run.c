/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program: all threads of the team go through the steps together. Addresses are computed
 * when memory is placed; only those of the caller's tensors change between runs. Profiled and
 * debugged runs use a second loop, so the normal loop has no per-step checks. */
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/ranges.h"
#include "base/system.h"
#include "base/tracer.h"
#include "engine/program/device_side.h"
#include "engine/program/device_trace.h"
#include "engine/program/program.h"
#include "engine/program/reference_step.h"
#include "engine/program/traced.h"
#include "kernels/launch.h"

/* An input's or output's address, which the caller gives for each run and which is stored in
 * `addresses`. */
typedef struct patch {
    size_t entry, index;
    bool output;
} patch;

struct program_context {
    program *p;
    team *team;
    void *own; /* memory allocated by the context, or NULL */
    size_t own_bytes;
    bool placed;
    char *arena, *scratch;
    size_t scratch_stride;
    void **addresses; /* addresses of the tensors of all steps, one step after the other */
    size_t *starts;   /* indexed by step: index of its first entry in `addresses` */
    launch *launches; /* indexed by step: its kernel, ready to run; empty for reference steps */
    bool single;      /* no step is cut into parts, so one thread runs everything */
    patch *patches;
    size_t patch_count;
    device_side *devices;  /* NULL: the program has none */
    program_bodies bodies; /* runs steps with subgraphs */
    pgy_node **nodes;      /* indexed by step: its node in the context's own graph; NULL: no graph
                              bound */
    size_t *stretches;  /* steps with subgraphs, then the number of steps: where the team pauses */
    uint32_t *labels;   /* indexed by step: its label in the trace of `epoch` */
    int64_t *ends;      /* indexed by step: when it ended in the last recorded run */
    int64_t *part_ends; /* of the threads that share a step (end_slot) */
    uint32_t epoch, row;
    device_trace
        *on_devices; /* records steps on devices; NULL: the program has none, or it failed */
    atomic_int own_failed, *failed; /* status of the first failure */
    atomic_size_t faulty; /* index + 1 of the step whose kernel found invalid data; 0: none */
    kernel_bad_index bad; /* what that kernel noted */
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
    device_trace_destroy(c->on_devices);
    device_side_destroy(c->devices);
    program_release(c->p);
    mem_free_block(c->own, c->own_bytes);
    mem_free(c->nodes);
    mem_free(c->stretches);
    mem_free(c->launches); /* with addresses, starts and patches */
    mem_free(c->labels);
    mem_free(c->ends);
    mem_free(c->part_ends);
    mem_free(c);
}

uint64_t program_memory_bytes(const program *p, size_t threads)
{
    return round_up(p->spaces[0].arena_bytes) + round_up(p->scratch_bytes) * threads + 64;
}

static bool allocate(program_context *c)
{
    const program *p = c->p;
    size_t entries = 0;
    for (size_t i = 0; i < p->step_count; i++) entries += tensor_count(&p->steps[i]);
    /* One block: a program for new shapes takes little longer than its allocations. Most of the
     * patches, behind what is cleared, are never written. */
    const size_t cleared =
        (p->step_count + 1) * sizeof *c->launches + (entries + 1) * sizeof *c->addresses;
    c->launches = mem_alloc(cleared + (p->step_count + 1) * sizeof *c->starts +
                            (entries + 1) * sizeof *c->patches);
    if (!c->launches) return false;
    memset(c->launches, 0, cleared);
    c->addresses = (void **)(c->launches + p->step_count + 1);
    c->starts = (size_t *)(c->addresses + entries + 1);
    c->patches = (patch *)(c->starts + p->step_count + 1);
    return true;
}

static char *arena_of(const program_context *c, uint32_t space)
{
    return space ? device_side_arena(c->devices, space) : c->arena;
}

static void *constant_of(const program_context *c, const program_tensor *t)
{
    return t->space ? device_side_constants(c->devices, t->space) + t->offset : (void *)t->data;
}

static void resolve(program_context *c, size_t entry, uint32_t tensor)
{
    if (tensor == PROGRAM_NO_TENSOR) return;
    const program_tensor *t = &c->p->tensors[tensor];
    if (t->place == PROGRAM_ARENA) {
        c->addresses[entry] = arena_of(c, t->space) + t->offset;
    } else if (t->place == PROGRAM_CONSTANT) {
        c->addresses[entry] = constant_of(c, t);
    } else {
        c->patches[c->patch_count++] =
            (patch){.entry = entry, .index = t->offset, .output = t->place == PROGRAM_OUTPUT};
    }
}

void program_context_place(program_context *c, void *memory)
{
    const program *p = c->p;
    c->arena = memory;
    c->scratch = c->arena + round_up(p->spaces[0].arena_bytes);
    c->patch_count = 0;
    c->placed = memory != NULL;
    for (size_t i = 0; c->placed && i < p->step_count; i++) {
        for (size_t k = 0; k < tensor_count(&p->steps[i]); k++)
            resolve(c, c->starts[i] + k, p->steps[i].tensors[k]);
        if (p->steps[i].kernel)
            c->launches[i].run.workspace =
                arena_of(c, p->steps[i].space) + p->steps[i].workspace_offset;
        c->launches[i].scratch = c->scratch;
    }
}

static pgy_status take_memory(program_context *c, pgy_error *err)
{
    const uint64_t size = program_memory_bytes(c->p, team_size(c->team));
    c->own = mem_alloc_block(size);
    c->own_bytes = size;
    if (!c->own)
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for an arena of %llu bytes",
                             (unsigned long long)size);
    program_context_place(c, c->own);
    return PGY_OK;
}

static bool has_bodies(const program_step *s)
{
    return s->act == PROGRAM_RUN && !s->kernel && !s->op;
}

bool program_needs_graph(const program *p)
{
    for (size_t i = 0; i < p->step_count; i++)
        if (has_bodies(&p->steps[i])) return true;
    return false;
}

bool program_points_to_graph(const program *p)
{
    for (size_t i = 0; i < p->step_count; i++)
        if (p->steps[i].node) return true;
    return false;
}

static bool is_of(const program_step *s, const pgy_node *n)
{
    return strcmp(s->op_type, n->op_type) == 0 && s->input_count == n->input_count &&
           s->output_count == n->output_count &&
           s->captured_count == node_box_of(n)->captured_count;
}

pgy_status program_context_bind(program_context *c, pgy_graph *own, const program_bodies *bodies,
                                pgy_error *err)
{
    const program *p = c->p;
    pgy_status st = PGY_OK;
    c->bodies = *bodies;
    if (!c->nodes) c->nodes = mem_calloc(p->step_count, sizeof(void *));
    if (!c->nodes) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; !st && i < p->step_count; i++) {
        const program_step *s = &p->steps[i];
        if (!has_bodies(s)) continue;
        pgy_node *n = s->node_index < own->node_count ? own->nodes[s->node_index] : NULL;
        if (n) st = node_prepare(n, err);
        if (n && !st) st = node_captures(n, err);
        if (!st && (!n || !is_of(s, n)))
            st = pgy_error_set(err, PGY_E_INTERNAL,
                               "step '%s' does not match its node in the graph; rebuild the plan",
                               s->label);
        if (!st) st = reference_step_prepare(n, err);
        c->nodes[i] = n;
    }
    return st;
}

const program *program_context_program(const program_context *c)
{
    return c->p;
}

void program_context_set_room(program_context *c, size_t step, uint32_t which, kernel_room room)
{
    c->launches[step].run.rooms[which] = room;
}

void program_context_stop_by(program_context *c, atomic_int *failed)
{
    c->failed = failed;
}

static pgy_status prepare_launch(program_context *c, size_t index, size_t first_address,
                                 pgy_error *err)
{
    const program_step *s = &c->p->steps[index];
    launch *l = &c->launches[index];
    l->run.parts = 1;
    if (!s->kernel) return PGY_OK;
    const uint32_t parts =
        s->space ? 1 : program_parts(s->cost_ns, s->plan.parts, team_size(c->team));
    *l = launch_of(s->kernel, &s->plan, parts);
    l->run.tensors = c->addresses + first_address;
    l->run.bad = s->space ? NULL : &c->bad;
    if (s->plan.packed_bytes)
        l->run.packed = s->space ? device_side_constants(c->devices, s->space) + s->packed_offset
                                 : s->plan.packed;
    l->scratch_stride = c->scratch_stride;
    return s->space ? device_side_prepare(c->devices, l, index, err) : PGY_OK;
}

static pgy_status prepare_launches(program_context *c, pgy_error *err)
{
    pgy_status st = PGY_OK;
    size_t entry = 0;
    c->single = true;
    for (size_t i = 0; !st && i < c->p->step_count; i++) {
        c->starts[i] = entry;
        st = prepare_launch(c, i, entry, err);
        c->single &= c->launches[i].run.parts == 1;
        entry += tensor_count(&c->p->steps[i]);
    }
    return st;
}

static pgy_status find_stretches(program_context *c, pgy_error *err)
{
    const program *p = c->p;
    size_t count = 0;
    if (!program_needs_graph(p)) return PGY_OK;
    c->stretches = mem_alloc((p->step_count + 1) * sizeof *c->stretches);
    if (!c->stretches) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < p->step_count; i++)
        if (has_bodies(&p->steps[i])) c->stretches[count++] = i;
    c->stretches[count] = p->step_count;
    return PGY_OK;
}

pgy_status program_context_create(program_context **out, program *p, team *t, pgy_error *err)
{
    program_context *c = mem_calloc(1, sizeof *c);
    if (!c) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    c->p = program_retain(p);
    c->team = t;
    c->failed = &c->own_failed;
    c->scratch_stride = round_up(p->scratch_bytes);
    pgy_status st = allocate(c) ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) st = find_stretches(c, err);
    if (!st && p->space_count > 1) st = device_side_create(&c->devices, p, err);
    if (!st) st = prepare_launches(c, err);
    if (st)
        program_context_destroy(c);
    else
        *out = c;
    return st;
}

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

/* Runs a step that one thread runs alone. */
static void run_alone(program_context *c, size_t index)
{
    const program_step *s = &c->p->steps[index];
    if (s->act == PROGRAM_RUN && !s->space)
        run_reference(c, index);
    else
        run_on_device(c, index);
}

/* Steps after a failure do nothing. All threads still reach the same barriers, whether they have
 * seen the failure or not. */
static void run_step(program_context *c, size_t index, size_t thread)
{
    const program_step *s = &c->p->steps[index];
    if (has_bodies(s)) {
        run_bodies(c, index);
    } else if (s->kernel && !s->space) {
        if (launch_in_team(&c->launches[index], c->team, thread, c->failed))
            atomic_store_explicit(&c->faulty, index + 1, memory_order_relaxed);
    } else if (thread == 0 && !atomic_load_explicit(c->failed, memory_order_relaxed)) {
        run_alone(c, index);
    }
}

/* Steps that the team runs in one task. */
typedef struct stretch {
    program_context *c;
    size_t first, end;
} stretch;

/* No barrier is needed between two steps that the same single thread runs. */
static void walk(size_t thread, size_t size, void *user)
{
    const stretch *part = user;
    program_context *c = part->c;
    bool alone = true;
    (void)size;
    for (size_t i = part->first; i < part->end; i++) {
        const bool single = c->launches[i].run.parts == 1;
        if (!(alone && single)) team_barrier(c->team, thread);
        alone = single;
        run_step(c, i, thread);
    }
}

/* Runs all steps by `walk_part`, whose user is `user` with the stretch `part` in it. A step with
 * subgraphs runs between two stretches, so that the programs of its bodies have the whole team. */
static void walk_parts(program_context *c, void (*walk_part)(size_t, size_t, void *), stretch *part,
                       void *user)
{
    const size_t whole[] = {c->p->step_count}, *ends = c->stretches ? c->stretches : whole;
    for (size_t i = 0, first = 0; first < c->p->step_count; i++) {
        *part = (stretch){c, first, ends[i]};
        if (first < ends[i] && c->single)
            walk_part(0, 1, user);
        else if (first < ends[i])
            team_run(c->team, walk_part, user);
        first = ends[i];
        if (first == c->p->step_count) break;
        *part = (stretch){c, first, first + 1};
        walk_part(0, 1, user);
        first++;
    }
}

/* ---- Profiled and debugged runs ------------------------------------------------------------- */

static const void *address_of(const program_context *c, uint32_t tensor, const void *const *inputs,
                              void *const *outputs)
{
    const program_tensor *t = &c->p->tensors[tensor];
    switch (t->place) {
    case PROGRAM_ARENA: return arena_of(c, t->space) + t->offset;
    case PROGRAM_CONSTANT: return constant_of(c, t);
    case PROGRAM_INPUT: return inputs[t->offset];
    case PROGRAM_OUTPUT: return outputs[t->offset];
    }
    return NULL;
}

/* A profiled or debugged run. */
typedef struct watched_run {
    stretch part; /* first, for `walk_parts` */
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

/* Waits for device work after a step: profiled times include it, and debugged tensors must be
 * complete. */
static void settle(program_context *c, uint32_t step)
{
    int none = PGY_OK;
    pgy_error why = {0};
    const pgy_status st = c->devices ? device_side_settle(c->devices, step, &why) : PGY_OK;
    if (st && atomic_compare_exchange_strong(c->failed, &none, (int)st)) c->error = why;
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

static void walk_watched(size_t thread, size_t size, void *user)
{
    watched_run *r = user;
    program_context *c = r->c;
    if (thread == 0 && !r->part.first) show_marks(r, PROGRAM_NO_STEP);
    for (uint32_t i = (uint32_t)r->part.first; i < r->part.end; i++) {
        if (size > 1) team_barrier(c->team, thread);
        const int64_t start = thread == 0 ? clock_ns() : 0;
        run_step(c, i, thread);
        if (size > 1) team_barrier(c->team, thread);
        if (thread != 0) continue;
        settle(c, i);
        if (r->watch->times) r->watch->times[i] = clock_ns() - start;
        show_step(r, i);
        show_marks(r, i);
    }
}

/* ---- Traced runs ---------------------------------------------------------------------------- */

enum { TRACE_LINE = 8 }; /* times in a cache line */

static void make_labels(program_context *c)
{
    device_trace_destroy(c->on_devices);
    mem_free(c->labels);
    c->on_devices = NULL;
    c->epoch = tracer_epoch();
    if (!c->ends) c->ends = mem_calloc(c->p->step_count + 1, sizeof *c->ends);
    if (!c->part_ends)
        c->part_ends = mem_calloc(2 * team_size(c->team) * TRACE_LINE, sizeof *c->part_ends);
    c->labels =
        c->ends && c->part_ends ? traced_labels(c->p, c->launches, team_size(c->team)) : NULL;
    if (c->labels && c->devices) c->on_devices = device_trace_create(c->p, c->devices, c->labels);
}

void program_context_trace(program_context *c)
{
    if (!tracer_is_on()) return;
    c->row = tracer_row(TRACE_LAYER);
    if (c->row == TRACE_NONE) return;
    if (!c->labels || c->epoch != tracer_epoch()) make_labels(c);
    if (c->on_devices) device_trace_rows(c->on_devices);
}

uint32_t program_context_step_row(const program_context *c, size_t step)
{
    return c->on_devices && c->p->steps[step].space ? device_trace_row(c->on_devices, step)
                                                    : c->row;
}

int64_t program_context_step_end(const program_context *c, size_t step)
{
    return c->ends ? c->ends[step] : clock_ns();
}

typedef struct traced_run {
    stretch part; /* first, for `walk_parts` */
    program_context *c;
    const uint32_t *labels; /* NULL: only NVTX ranges are wanted */
    uint32_t run;
    bool on_devices;  /* the context's device_trace records steps on devices */
    int64_t start_ns; /* before any thread began */
} traced_run;

/* Where thread `thread` writes when it ended its part of a shared step; each has a cache line. */
static int64_t *end_slot(const program_context *c, size_t index, size_t thread)
{
    return c->part_ends + (2 * thread + (index & 1)) * TRACE_LINE;
}

/* Number of threads that share a step. */
static uint32_t sharers(const program_context *c, size_t index)
{
    const size_t parts = c->launches[index].run.parts, size = team_size(c->team);
    return (uint32_t)(parts < size ? parts : size);
}

/* Has this thread a part of the step, or its own range of parts? */
static bool takes_part(const program_context *c, size_t index, size_t thread)
{
    const program_step *s = &c->p->steps[index];
    return thread == 0 || (s->kernel && !s->space && thread < sharers(c, index));
}

/* When the last of the threads that shared a step ended it. They wrote the times before the barrier
 * behind the step; those of the next step have other slots, because it may have begun. */
static int64_t last_end(const program_context *c, size_t index)
{
    const uint32_t threads = sharers(c, index);
    int64_t last = 0;
    for (uint32_t i = 0; i < threads; i++) {
        const int64_t end = *end_slot(c, index, i);
        if (end > last) last = end;
    }
    return last;
}

/* The first thread records a layer, from `layer_begin` to `all_end`. */
static void trace_layer(const traced_run *r, size_t index, int64_t layer_begin, int64_t all_end)
{
    const program_context *c = r->c;
    ranges_pop();
    if (!r->labels) return;
    tracer_span(TRACE_LAYER, r->labels[index], c->row, layer_begin, all_end);
    c->ends[index] = all_end;
}

/* A step that the first thread enqueues, or waits for: its call is recorded now, the work itself
 * behind the run. */
static void trace_enqueued(const traced_run *r, size_t index)
{
    program_context *c = r->c;
    device_trace_before(c->on_devices, index);
    const int64_t begin = clock_ns();
    run_step(c, index, 0);
    const int64_t end = clock_ns();
    ranges_pop();
    device_trace_after(c->on_devices, index, begin, end);
    c->ends[index] = end;
}

/* Like walk, with clocks. A barrier stands behind each shared step instead of before the next one,
 * so that the first thread knows when all threads have ended the step. */
static void walk_traced(size_t thread, size_t size, void *user)
{
    const traced_run *r = user;
    program_context *c = r->c;
    bool together = true; /* no thread is ahead of another */
    int64_t begin = clock_ns(), layer_begin = r->part.first ? begin : r->start_ns;
    (void)size;
    for (size_t i = r->part.first; i < r->part.end; i++) {
        const uint32_t threads = sharers(c, i);
        if (!together && threads > 1) {
            team_barrier(c->team, thread);
            begin = clock_ns();
        }
        if (thread == 0) ranges_push(c->p->steps[i].label);
        if (r->on_devices && device_trace_takes(c->on_devices, i)) {
            if (thread == 0) trace_enqueued(r, i);
            together = false;
            layer_begin = begin = clock_ns();
            continue;
        }
        run_step(c, i, thread);
        if (c->devices && thread == 0 && !r->on_devices) settle(c, (uint32_t)i);
        const int64_t end = clock_ns();
        int64_t all_end = end;
        together = threads > 1;
        if (threads > 1) {
            if (r->labels && thread < threads) *end_slot(c, i, thread) = end;
            team_barrier(c->team, thread);
            if (r->labels && thread == 0) all_end = last_end(c, i);
        }
        if (r->labels && !c->single && takes_part(c, i, thread))
            tracer_work(r->labels[i], r->run, begin, end, (uint32_t)thread, threads);
        if (thread == 0) trace_layer(r, i, layer_begin, all_end);
        layer_begin = all_end;
        begin = threads > 1 ? clock_ns() : end;
    }
}

static void run_traced(program_context *c)
{
    const bool records = c->labels && c->row != TRACE_NONE && c->epoch == tracer_epoch();
    traced_run r = {.c = c,
                    .labels = records ? c->labels : NULL,
                    .run = tracer_run(),
                    .on_devices = records && c->on_devices};
    if (r.on_devices) device_trace_start(c->on_devices);
    r.start_ns = clock_ns();
    walk_parts(c, walk_traced, &r.part, &r);
    if (r.on_devices && !atomic_load_explicit(c->failed, memory_order_relaxed))
        device_trace_finish(c->on_devices, c->ends);
}

/* ---- A whole run ---------------------------------------------------------------------------- */

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
    const pgy_status st = c->placed ? PGY_OK : take_memory(c, err);
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
        watched_run r = {.c = c, .watch = watch, .inputs = inputs, .outputs = outputs};
        walk_parts(c, walk_watched, &r.part, &r);
    } else if (tracer_is_on()) {
        run_traced(c);
    } else {
        stretch all;
        walk_parts(c, walk, &all, &all);
    }
    if (c->devices) finish_devices(c);
    return tell_failure(c, err);
}
