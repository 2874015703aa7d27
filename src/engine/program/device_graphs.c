/* SPDX-License-Identifier: Apache-2.0 */
/* A stretch is a sequence of steps that run kernels of one device on operands at fixed addresses,
 * so it can be captured as a device graph. All device memory has fixed addresses; copies from and
 * to the caller's memory stay outside. */
#include "engine/program/device_graphs.h"

#include "base/alloc.h"
#include "base/log.h"

static const char LOG_PATH[] = "engine/program/device_graphs.c";

enum { SHORTEST = 2 }; /* fewest steps that are worth a graph */

typedef struct stretch {
    uint32_t first, last;
    device_graph *graph; /* NULL: not captured so far */
    bool refused;        /* the device could not capture it */
} stretch;

struct device_graphs {
    const program *p;
    stretch *items;
    uint32_t *of_step; /* indexed by step: index + 1 of its stretch; 0: none */
    size_t count;
    const launch **launches;
    size_t runs; /* number of runs started so far */
    bool used;   /* the current run uses graphs */
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

static void find_stretches(device_graphs *g)
{
    const program *p = g->p;
    for (uint32_t i = 0; i < p->step_count;) {
        uint32_t end = i;
        while (end < p->step_count && can_capture(p, &p->steps[end]) &&
               p->steps[end].space == p->steps[i].space)
            end++;
        if (end - i >= SHORTEST) {
            g->items[g->count++] = (stretch){.first = i, .last = end - 1};
            for (uint32_t k = i; k < end; k++) g->of_step[k] = (uint32_t)g->count;
        }
        i = end > i ? end : i + 1;
    }
}

pgy_status device_graphs_create(device_graphs **out, const program *p, pgy_error *err)
{
    device_graphs *g = mem_calloc(1, sizeof *g);
    if (g) {
        g->p = p;
        g->items = mem_calloc(p->step_count + 1, sizeof *g->items);
        g->of_step = mem_calloc(p->step_count + 1, sizeof *g->of_step);
        g->launches = mem_calloc(p->step_count + 1, sizeof *g->launches);
    }
    if (!g || !g->items || !g->of_step || !g->launches) {
        device_graphs_destroy(g);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    find_stretches(g);
    *out = g;
    return PGY_OK;
}

void device_graphs_destroy(device_graphs *g)
{
    if (!g) return;
    for (size_t i = 0; i < g->count; i++) device_graph_destroy(g->items[i].graph);
    mem_free(g->items);
    mem_free(g->of_step);
    mem_free((void *)g->launches);
    mem_free(g);
}

/* ---- Running -------------------------------------------------------------------------------- */

void device_graphs_add(device_graphs *g, size_t step, const launch *l)
{
    g->launches[step] = l;
}

void device_graphs_start(device_graphs *g, bool watched)
{
    g->used = g->runs > 0 && !watched;
    g->runs += !watched;
}

static pgy_status enqueue_all(const device_graphs *g, const stretch *s, device_stream *stream,
                              pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (uint32_t i = s->first; !st && i <= s->last; i++)
        st = launch_enqueue(g->launches[i], stream, err);
    return st;
}

/* A stretch that cannot be captured is enqueued step by step, as in the first run. */
static void capture(stretch *s, const device_graphs *g, device_stream *stream)
{
    pgy_error why = {0};
    pgy_status st = device_graph_begin(stream, &why);
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

pgy_status device_graphs_step(bool *done, device_graphs *g, size_t step, device_stream *stream,
                              pgy_error *err)
{
    stretch *s = g->of_step[step] ? &g->items[g->of_step[step] - 1] : NULL;
    *done = false;
    if (!s || !g->used) return PGY_OK;
    if (step == s->first && !s->graph && !s->refused) capture(s, g, stream);
    *done = s->graph != NULL;
    return *done && step == s->first ? device_graph_launch(s->graph, stream, err) : PGY_OK;
}
