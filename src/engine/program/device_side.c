/* SPDX-License-Identifier: Apache-2.0 */
/* Enqueues the device steps of a program in their order, on one stream for each device. A kernel
 * reports a fault in a word that host and device share; each step has one. */
#include "engine/program/device_side.h"

#include "base/alloc.h"
#include "engine/program/device_graphs.h"

typedef struct place {
    device *device;
    device_stream *stream;
    void *arena;
} place;

struct device_side {
    program *p;
    place places[PROGRAM_MAX_SPACES]; /* indexed by space; entry 0, the host, is not used */
    device_event **events;
    device_graphs *graphs;
    void **loaded;      /* indexed by step: its loaded kernel */
    atomic_int **fault; /* indexed by step: its fault word; NULL: the step has no device kernel */
    atomic_int *words[PROGRAM_MAX_SPACES]; /* indexed by space: the fault words of its steps, in
                                              memory shared with the host */
};

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* ---- Life ----------------------------------------------------------------------------------- */

static pgy_status open_place(device_side *d, uint32_t space, pgy_error *err)
{
    const program_space *s = &d->p->spaces[space];
    place *to = &d->places[space];
    to->device = s->device;
    pgy_status st = device_stream_create(&to->stream, s->device, err);
    if (!st && s->arena_bytes) st = device_allocate(&to->arena, to->stream, s->arena_bytes, err);
    if (!st) {
        void *words = NULL;
        st = device_allocate_shared(&words, s->device, (d->p->step_count + 1) * sizeof(atomic_int),
                                    err);
        d->words[space] = words;
    }
    return st ? pgy_error_prefix(err, st, "device '%s': ", s->name) : PGY_OK;
}

/* Refuses programs whose inputs or outputs lie on a device: callers pass tensors on the host. */
static pgy_status check_callers_tensors(const program *p, pgy_error *err)
{
    for (size_t i = 0; i < p->tensor_count; i++) {
        const program_tensor *t = &p->tensors[i];
        if (t->space && (t->place == PROGRAM_INPUT || t->place == PROGRAM_OUTPUT))
            return pgy_error_set(err, PGY_E_INTERNAL,
                                 "%s '%s' is in the memory of device '%s': inputs and outputs must "
                                 "be on the host, with a copy to or from the device",
                                 t->place == PROGRAM_INPUT ? "input" : "output", t->name,
                                 p->spaces[t->space].name);
    }
    return PGY_OK;
}

/* Makes each event on the device that records it. A wait without an earlier record is an error. */
static pgy_status create_events(device_side *d, pgy_error *err)
{
    const program *p = d->p;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < p->step_count; i++) {
        const program_step *s = &p->steps[i];
        if (s->act == PROGRAM_RECORD && !d->events[s->event])
            st = device_event_create(&d->events[s->event], p->spaces[s->space].device, err);
        else if (s->act == PROGRAM_WAIT && !d->events[s->event])
            st = pgy_error_set(err, PGY_E_INTERNAL,
                               "Wait '%s': no earlier step records the event that it waits for",
                               s->label);
    }
    return st;
}

pgy_status device_side_create(device_side **out, program *p, pgy_error *err)
{
    device_side *d = mem_calloc(1, sizeof *d);
    if (!d) return no_memory(err);
    d->p = p;
    d->events = mem_calloc(p->event_count + 1, sizeof *d->events);
    d->loaded = mem_calloc(p->step_count + 1, sizeof *d->loaded);
    d->fault = mem_calloc(p->step_count + 1, sizeof *d->fault);
    pgy_status st = d->events && d->loaded && d->fault ? PGY_OK : no_memory(err);
    if (!st) st = check_callers_tensors(p, err);
    if (!st) st = program_make_resident(p, err);
    for (uint32_t i = 1; !st && i < p->space_count; i++) st = open_place(d, i, err);
    if (!st) st = create_events(d, err);
    if (!st) st = device_graphs_create(&d->graphs, p, err);
    if (st)
        device_side_destroy(d);
    else
        *out = d;
    return st;
}

void device_side_destroy(device_side *d)
{
    if (!d) return;
    device_graphs_destroy(d->graphs);
    for (size_t i = 0; d->loaded && i < d->p->step_count; i++)
        if (d->loaded[i] && d->p->steps[i].kernel->unload)
            d->p->steps[i].kernel->unload(d->loaded[i]);
    for (size_t i = 0; d->events && i < d->p->event_count; i++) device_event_destroy(d->events[i]);
    for (uint32_t i = 1; i < PROGRAM_MAX_SPACES; i++) {
        if (!d->places[i].stream) continue;
        device_release(d->places[i].stream, d->places[i].arena);
        device_stream_destroy(d->places[i].stream);
        device_release_shared(d->places[i].device, d->words[i]);
    }
    mem_free(d->events);
    mem_free(d->loaded);
    mem_free(d->fault);
    mem_free(d);
}

char *device_side_arena(const device_side *d, uint32_t space)
{
    return d->places[space].arena;
}

device_stream *device_side_stream(const device_side *d, uint32_t space)
{
    return d->places[space].stream;
}

char *device_side_constants(const device_side *d, uint32_t space)
{
    return d->p->spaces[space].resident;
}

void device_side_place(device_side *d, size_t step, void *const *addresses)
{
    if (d->p->steps[step].act == PROGRAM_COPY) device_graphs_place(d->graphs, step, addresses);
}

pgy_status device_side_prepare(device_side *d, launch *l, size_t step, pgy_error *err)
{
    const program_step *s = &d->p->steps[step];
    if (s->act != PROGRAM_RUN || !s->space) return PGY_OK;
    if (s->kernel->load) {
        const pgy_status st =
            s->kernel->load(&d->loaded[step], s->kernel, &s->plan, d->places[s->space].device, err);
        if (st) return pgy_error_prefix(err, st, "%s '%s': ", s->op_type, s->label);
    }
    d->fault[step] = &d->words[s->space][step];
    l->run.fault = d->fault[step];
    l->run.loaded = d->loaded[step];
    device_graphs_add(d->graphs, step, l);
    return PGY_OK;
}

/* ---- Running -------------------------------------------------------------------------------- */

void device_side_start(device_side *d, bool watched)
{
    device_graphs_start(d->graphs, watched);
    for (size_t i = 0; i < d->p->step_count; i++)
        if (d->fault[i])
            atomic_store_explicit(d->fault[i], KERNEL_FAULT_NONE, memory_order_relaxed);
}

static pgy_status copy_tensor(device_side *d, const program_step *s, void *const *addresses,
                              pgy_error *err)
{
    const program_tensor *from = &d->p->tensors[s->tensors[0]];
    return device_copy(d->places[s->space].stream, addresses[1], addresses[0], from->size_bytes,
                       from->space ? DEVICE_TO_HOST : DEVICE_FROM_HOST, err);
}

static pgy_status wait_for(device_side *d, const program_step *s, pgy_error *err)
{
    if (!s->space) {
        device_graphs_expect(d->graphs, s->event);
        const pgy_status st = device_event_synchronize(d->events[s->event], err);
        if (!st) device_graphs_arrive(d->graphs, s->event);
        return st;
    }
    return device_event_wait(d->places[s->space].stream, d->events[s->event], err);
}

static pgy_status do_step(device_side *d, const program_step *s, const launch *l,
                          void *const *addresses, pgy_error *err)
{
    device_stream *stream = d->places[s->space].stream;
    switch (s->act) {
    case PROGRAM_RUN: return launch_enqueue(l, stream, err);
    case PROGRAM_COPY: return copy_tensor(d, s, addresses, err);
    case PROGRAM_RECORD: return device_event_record(d->events[s->event], stream, err);
    case PROGRAM_WAIT: return wait_for(d, s, err);
    default: return PGY_OK;
    }
}

pgy_status device_side_step(device_side *d, size_t step, const launch *l, void *const *addresses,
                            pgy_error *err)
{
    const program_step *s = &d->p->steps[step];
    bool done = false;
    pgy_status st = PGY_OK;
    if (s->act == PROGRAM_RUN || s->act == PROGRAM_COPY)
        st = device_graphs_step(&done, d->graphs, step, d->places[s->space].stream, err);
    if (!st && !done) st = do_step(d, s, l, addresses, err);
    if (s->act == PROGRAM_RECORD) device_graphs_record(d->graphs, s->event, step);
    return st ? pgy_error_prefix(err, st, "%s '%s': ", s->op_type, s->label) : PGY_OK;
}

pgy_status device_side_finish(device_side *d, bool waits, size_t *faulty, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (uint32_t i = 1; waits && i < d->p->space_count; i++) {
        const pgy_status own = device_stream_synchronize(d->places[i].stream, st ? NULL : err);
        if (!st) st = own;
    }
    *faulty = 0;
    for (size_t i = 0; !*faulty && i < d->p->step_count; i++)
        if (d->fault[i] && atomic_load_explicit(d->fault[i], memory_order_acquire)) *faulty = i + 1;
    if (*faulty)
        st = kernel_fault_status(atomic_load_explicit(d->fault[*faulty - 1], memory_order_relaxed));
    return st;
}

/* ---- Profiled and debugged runs ------------------------------------------------------------- */

pgy_status device_side_settle(device_side *d, size_t step, pgy_error *err)
{
    const program_step *s = &d->p->steps[step];
    return s->space ? device_stream_synchronize(d->places[s->space].stream, err) : PGY_OK;
}

pgy_status device_side_read(void **out, device_side *d, const program_tensor *t, const void *data,
                            pgy_error *err)
{
    device_stream *stream = d->places[t->space].stream;
    void *made = mem_alloc_aligned(64, t->size_bytes + 1);
    if (!made) return no_memory(err);
    pgy_status st = device_copy(stream, made, data, t->size_bytes, DEVICE_TO_HOST, err);
    if (!st) st = device_stream_synchronize(stream, err);
    if (st)
        mem_free(made);
    else
        *out = made;
    return st;
}
