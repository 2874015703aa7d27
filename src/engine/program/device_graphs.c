/* SPDX-License-Identifier: Apache-2.0 */
/* A stretch is a sequence of steps that run kernels of one device on operands at fixed addresses,
 * so it can be captured as a device graph. All device memory has fixed addresses. Copies from and
 * to the caller's memory belong to it by way of a room (device_copies.h); others stay outside. */
#include "engine/program/device_graphs.h"

#include "base/alloc.h"
#include "base/log.h"
#include "engine/program/device_copies.h"

static const char LOG_PATH[] = "engine/program/device_graphs.c";

enum { SHORTEST = 2 }; /* fewest kernels that are worth a graph */

typedef struct stretch {
    uint32_t first, last;
    device_copies copies;
    device_graph *graph; /* NULL: not captured so far */
    bool refused;        /* the device could not capture it */
    bool busy;           /* the host has not waited for it since it was launched */
    bool owes;           /* outputs are still in the room */
} stretch;

struct device_graphs {
    const program *p;
    stretch *items;
    uint32_t *of_step; /* indexed by step: index + 1 of its stretch; 0: none */
    size_t count;
    const launch **launches;
    uint32_t *recorded; /* indexed by event: the step that recorded it last in this run */
    size_t runs;        /* number of runs started so far */
    bool used;          /* the current run uses graphs */
};

/* ---- Finding -------------------------------------------------------------------------------- */

/* The address of an operand on the host that is no constant may change from run to run. */
static bool has_fixed_operands(const program *p, const program_step *s)
{
    for (uint32_t i = 0; i < s->input_count + s->output_count; i++) {
        if (s->tensors[i] == PROGRAM_NO_TENSOR) continue;
        const program_tensor *t = &p->tensors[s->tensors[i]];
        if (!t->space && t->place != PROGRAM_CONSTANT) return false;
    }
    return true;
}

static bool can_capture(const program *p, const program_step *s)
{
    return s->act == PROGRAM_RUN && s->space && s->kernel &&
           !(s->kernel->flags & KERNEL_JOINS_RANKS) &&
           device_has_graphs(p->spaces[s->space].device) && has_fixed_operands(p, s);
}

/* Takes steps from `i` on while the stretch can have them; returns how many are kernels. */
static size_t take_steps(device_graphs *g, stretch *s, size_t *room_bytes, uint32_t i)
{
    const program *p = g->p;
    const uint32_t space = p->steps[i].space;
    size_t kernels = 0;
    *s = (stretch){.first = i, .last = i};
    for (; i < p->step_count && p->steps[i].space == space; i++) {
        const bool runs = can_capture(p, &p->steps[i]);
        if (!runs &&
            (device_copy_way_of(p, i) == COPY_OTHER || !device_copies_fit(room_bytes, p, i)))
            break;
        s->last = i;
        kernels += runs;
    }
    return kernels;
}

/* Outputs that are copied behind the last kernel belong to a stretch even if events are recorded
 * between them: the host waits a little longer for the first one. */
static void take_last_copies(device_graphs *g, stretch *s, size_t *room_bytes)
{
    const program *p = g->p;
    const uint32_t space = p->steps[s->first].space;
    for (uint32_t i = s->last + 1; i < p->step_count && p->steps[i].space == space; i++)
        if (device_copy_way_of(p, i) == COPY_OUT && device_copies_fit(room_bytes, p, i))
            s->last = i;
        else if (p->steps[i].act != PROGRAM_RECORD)
            break;
}

/* Numbers the steps of a stretch, which becomes the last one. False: out of memory. */
static bool add_stretch(device_graphs *g, const stretch *made)
{
    stretch *s = &g->items[g->count++];
    bool added = true;
    *s = *made;
    for (uint32_t i = s->first; added && i <= s->last; i++) {
        if (g->p->steps[i].act == PROGRAM_RECORD) continue;
        g->of_step[i] = (uint32_t)g->count;
        if (g->p->steps[i].act == PROGRAM_COPY) added = device_copies_add(&s->copies, g->p, i);
    }
    return added;
}

static bool find_stretches(device_graphs *g)
{
    bool added = true;
    for (uint32_t i = 0; added && i < g->p->step_count;) {
        stretch s;
        size_t room_bytes = 0;
        const size_t kernels = take_steps(g, &s, &room_bytes, i);
        if (kernels) take_last_copies(g, &s, &room_bytes);
        if (kernels >= SHORTEST) added = add_stretch(g, &s);
        i = s.last + 1;
    }
    return added;
}

pgy_status device_graphs_create(device_graphs **out, const program *p, pgy_error *err)
{
    device_graphs *g = mem_calloc(1, sizeof *g);
    if (g) {
        g->p = p;
        g->items = mem_calloc(p->step_count + 1, sizeof *g->items);
        g->of_step = mem_calloc(p->step_count + 1, sizeof *g->of_step);
        g->launches = mem_calloc(p->step_count + 1, sizeof *g->launches);
        g->recorded = mem_calloc(p->event_count + 1, sizeof *g->recorded);
    }
    if (!g || !g->items || !g->of_step || !g->launches || !g->recorded || !find_stretches(g)) {
        device_graphs_destroy(g);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    *out = g;
    return PGY_OK;
}

void device_graphs_destroy(device_graphs *g)
{
    if (!g) return;
    for (size_t i = 0; i < g->count; i++) {
        device_graph_destroy(g->items[i].graph);
        device_copies_deinit(&g->items[i].copies);
    }
    mem_free(g->items);
    mem_free(g->of_step);
    mem_free(g->recorded);
    mem_free((void *)g->launches);
    mem_free(g);
}

/* ---- Running -------------------------------------------------------------------------------- */

void device_graphs_add(device_graphs *g, size_t step, const launch *l)
{
    g->launches[step] = l;
}

void device_graphs_place(device_graphs *g, size_t step, void *const *addresses)
{
    if (g->of_step[step])
        device_copies_place(&g->items[g->of_step[step] - 1].copies, (uint32_t)step, addresses);
}

void device_graphs_start(device_graphs *g, bool watched)
{
    g->used = g->runs > 0 && !watched;
    g->runs += !watched;
    for (size_t i = 0; i < g->count; i++) g->items[i].owes = false; /* of a run that failed */
}

static pgy_status enqueue_all(const device_graphs *g, const stretch *s, device_stream *stream,
                              pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (uint32_t i = s->first; !st && i <= s->last; i++)
        if (g->launches[i])
            st = launch_enqueue(g->launches[i], stream, err);
        else if (g->of_step[i])
            st = device_copies_enqueue(&s->copies, i, stream, err);
    return st;
}

/* A stretch that cannot be captured is enqueued step by step, as in the first run. */
static void capture(stretch *s, const device_graphs *g, device_stream *stream)
{
    pgy_error why = {0};
    pgy_status st = device_copies_open(&s->copies, stream, &why);
    if (!st) st = device_graph_begin(stream, &why);
    if (!st) {
        st = enqueue_all(g, s, stream, &why);
        const pgy_status end = device_graph_end(&s->graph, stream, st ? NULL : &why);
        if (!st) st = end;
    }
    s->refused = st != PGY_OK;
    if (st && s->graph) {
        device_graph_destroy(s->graph);
        s->graph = NULL;
    }
    if (st) LOG(VERBOSE, "Steps %u to %u are enqueued one by one: %s", s->first, s->last, why.text);
}

/* Inputs must not come to a room that the last launch still reads. */
static pgy_status launch_stretch(stretch *s, device_stream *stream, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (s->busy && s->copies.count) st = device_stream_synchronize(stream, err);
    if (st) return st;
    device_copies_bring(&s->copies);
    s->busy = true;
    st = device_graph_launch(s->graph, stream, err);
    s->owes = !st && s->copies.goes_out;
    return st;
}

pgy_status device_graphs_step(bool *done, device_graphs *g, size_t step, device_stream *stream,
                              pgy_error *err)
{
    stretch *s = g->of_step[step] ? &g->items[g->of_step[step] - 1] : NULL;
    *done = false;
    if (!s || !g->used) return PGY_OK;
    if (step == s->first && !s->graph && !s->refused) capture(s, g, stream);
    *done = s->graph != NULL;
    return *done && step == s->first ? launch_stretch(s, stream, err) : PGY_OK;
}

/* ---- Waiting -------------------------------------------------------------------------------- */

void device_graphs_record(device_graphs *g, uint32_t event, size_t step)
{
    g->recorded[event] = (uint32_t)step;
}

/* A stretch is launched as a whole by its first step, before all that is recorded behind that. */
static bool is_before(const device_graphs *g, const stretch *s, uint32_t event)
{
    return s->busy && g->recorded[event] > s->first;
}

void device_graphs_expect(device_graphs *g, uint32_t event)
{
    for (stretch *s = g->items; s < g->items + g->count; s++)
        if (is_before(g, s, event) && s->owes) device_copies_ready(&s->copies);
}

void device_graphs_arrive(device_graphs *g, uint32_t event)
{
    for (stretch *s = g->items; s < g->items + g->count; s++) {
        if (!is_before(g, s, event)) continue;
        if (s->owes) device_copies_take(&s->copies);
        s->busy = s->owes = false;
    }
}
