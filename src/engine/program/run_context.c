/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts of programs: their memory, the addresses of all steps' tensors, and the launches of
 * their kernels. Addresses are computed when memory is placed; only those of the caller's tensors
 * change between runs. */
#include <string.h>

#include "base/alloc.h"
#include "engine/program/reference_step.h"
#include "engine/program/run_parts.h"

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
    mem_free(c->users);
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

char *program_context_arena(const program_context *c, uint32_t space)
{
    return space ? device_side_arena(c->devices, space) : c->arena;
}

void *program_context_constant(const program_context *c, const program_tensor *t)
{
    return t->space ? device_side_constants(c->devices, t->space) + t->offset : (void *)t->data;
}

/* Sets the addresses of a step's tensors, except those of inputs and outputs. */
static void place_step(program_context *c, size_t index)
{
    const program_step *s = &c->p->steps[index];
    void **addresses = c->addresses + c->starts[index];
    for (size_t k = 0; k < tensor_count(s); k++) {
        if (s->tensors[k] == PROGRAM_NO_TENSOR) continue;
        const program_tensor *t = &c->p->tensors[s->tensors[k]];
        if (t->place == PROGRAM_ARENA)
            addresses[k] = program_context_arena(c, t->space) + t->offset;
        else if (t->place == PROGRAM_CONSTANT)
            addresses[k] = program_context_constant(c, t);
    }
    if (s->kernel)
        c->launches[index].run.workspace = program_context_arena(c, s->space) + s->workspace_offset;
    c->launches[index].scratch = c->scratch;
}

/* Notes which addresses of a step are those of inputs and outputs. */
static void note_patches(program_context *c, size_t index)
{
    const program_step *s = &c->p->steps[index];
    for (size_t k = 0; k < tensor_count(s); k++) {
        if (s->tensors[k] == PROGRAM_NO_TENSOR) continue;
        const program_tensor *t = &c->p->tensors[s->tensors[k]];
        if (t->place == PROGRAM_INPUT || t->place == PROGRAM_OUTPUT)
            c->patches[c->patch_count++] = (patch){.entry = c->starts[index] + k,
                                                   .index = t->offset,
                                                   .output = t->place == PROGRAM_OUTPUT};
    }
}

void program_context_place(program_context *c, void *memory)
{
    const program *p = c->p;
    c->arena = memory;
    c->scratch = c->arena + round_up(p->spaces[0].arena_bytes);
    c->patch_count = 0;
    c->placings = p->placings;
    c->elements = p->elements;
    c->placed = memory != NULL;
    for (size_t i = 0; c->placed && i < p->step_count; i++) {
        place_step(c, i);
        note_patches(c, i);
    }
}

pgy_status program_context_take_memory(program_context *c, pgy_error *err)
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

bool program_has_bodies(const program_step *s)
{
    return s->act == PROGRAM_RUN && !s->kernel && !s->op;
}

bool program_needs_graph(const program *p)
{
    for (size_t i = 0; i < p->step_count; i++)
        if (program_has_bodies(&p->steps[i])) return true;
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
        if (!program_has_bodies(s)) continue;
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

/* Counts a step among those that threads share, or no longer. */
static void count_shared(program_context *c, const launch *l, bool counts)
{
    if (l->run.parts <= 1) return;
    c->shared += counts ? 1 : (size_t)-1;
    c->shared_ns += counts ? l->shared_ns : -l->shared_ns;
}

static pgy_status prepare_launch(program_context *c, size_t index, size_t first_address,
                                 pgy_error *err)
{
    const program_step *s = &c->p->steps[index];
    launch *l = &c->launches[index];
    count_shared(c, l, false);
    l->run.parts = 1;
    if (c->devices) device_side_place(c->devices, index, c->addresses + first_address);
    if (!s->kernel) return PGY_OK;
    const uint32_t parts =
        s->space ? 1
                 : program_parts(s->kernel, s->cost_ns, s->plan.parts, team_size(c->team));
    *l = launch_of(s->kernel, &s->plan, parts);
    l->run.tensors = c->addresses + first_address;
    l->run.bad = s->space ? NULL : &c->bad;
    if (s->plan.packed_bytes)
        l->run.packed = s->space ? device_side_constants(c->devices, s->space) + s->packed_offset
                                 : s->plan.packed;
    l->scratch_stride = c->scratch_stride;
    l->shared_ns = s->cost_ns;
    count_shared(c, l, true);
    return s->space ? device_side_prepare(c->devices, l, index, err) : PGY_OK;
}

static pgy_status prepare_launches(program_context *c, pgy_error *err)
{
    pgy_status st = PGY_OK;
    size_t entry = 0;
    for (size_t i = 0; !st && i < c->p->step_count; i++) {
        c->starts[i] = entry;
        st = prepare_launch(c, i, entry, err);
        entry += tensor_count(&c->p->steps[i]);
    }
    return st;
}

static pgy_status find_stretches(program_context *c, pgy_error *err)
{
    const program *p = c->p;
    size_t count = 0;
    if (p->range || !program_needs_graph(p)) return PGY_OK; /* a range has no such program */
    c->stretches = mem_alloc((p->step_count + 1) * sizeof *c->stretches);
    if (!c->stretches) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < p->step_count; i++)
        if (program_has_bodies(&p->steps[i])) c->stretches[count++] = i;
    c->stretches[count] = p->step_count;
    return PGY_OK;
}

pgy_status program_context_create(program_context **out, program *p, team *t, pgy_error *err)
{
    program_context *c = mem_calloc(1, sizeof *c);
    if (!c) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    c->p = program_retain(p);
    c->range = p->range;
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

/* ---- Renewal -------------------------------------------------------------------------------- */

void program_context_rest(program_context *c)
{
    program_release(c->p);
    c->p = NULL;
}

/* Renews the launch of a step for other parameters; its kernel, weights and workspace stay. */
static void renew_launch(program_context *c, size_t index)
{
    const program_step *s = &c->p->steps[index];
    launch *l = &c->launches[index];
    if (!s->kernel) return;
    const uint32_t parts =
        program_parts(s->kernel, s->cost_ns, s->plan.parts, team_size(c->team));
    count_shared(c, l, false);
    l->run.params = s->plan.params;
    l->run.parts = parts;
    l->phases = s->plan.phases;
    l->shared_ns = s->cost_ns;
    count_shared(c, l, true);
}

/* Renews the steps that differ between the programs of a range. Elements that follow from sizes lie
 * elsewhere in another program; steps without a kernel read them, too. */
static void renew_steps(program_context *c)
{
    const bool moved = c->elements != c->p->elements;
    for (size_t i = 0; i < c->p->resized_count; i++) renew_launch(c, c->p->resized[i]);
    if (moved && c->placed) program_context_place(c, c->arena);
    c->elements = c->p->elements;
}

bool program_context_renew(program_context *c, program *p)
{
    if (!c->range || c->range != p->range) return false;
    const size_t stride = round_up(p->scratch_bytes);
    c->p = program_retain(p);
    mem_free(c->labels); /* they tell shapes */
    c->labels = NULL;
    if (stride == c->scratch_stride && (!c->placed || c->placings == p->placings)) {
        renew_steps(c);
        return true;
    }
    c->scratch_stride = stride;
    (void)prepare_launches(c, NULL);
    if (c->placed) program_context_place(c, c->arena);
    return true;
}
