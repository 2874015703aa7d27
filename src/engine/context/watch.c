/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks of profiled and debugged runs: the profiler gets the times of all layers after the run,
 * the listener sees debug tensors as they are computed. A tensor in a blocked layout is copied to
 * row-major order for it, so that the program runs as without listener. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/sized.h"
#include "base/tracer.h"
#include "engine/build/debug.h"
#include "engine/context/state.h"

static const char LOG_PATH[] = "engine/context/watch.c";

void context_watch_deinit(context *c)
{
    arena_deinit(&c->times.memory);
    mem_free(c->times.items);
    strmap_deinit(&c->hidden);
    strmap_deinit(&c->traced);
}

/* ---- Times ---------------------------------------------------------------------------------- */

pgy_status pgy_context_set_profiler(pgy_context *c, const pgy_profiler *profiler, bool emit,
                                    pgy_error *err)
{
    pgy_profiler taken = {.size = sizeof taken};
    const pgy_status st = SIZED_TAKE(pgy_profiler, &taken, profiler, err);
    if (st) return st;
    c->has_profiler = profiler != NULL;
    c->emits = emit;
    c->profiler = taken;
    return PGY_OK;
}

static void forget_times(layer_times *t)
{
    arena_deinit(&t->memory);
    t->count = 0;
    t->of_steps = NULL;
    t->complete = false;
}

static void add_time(layer_times *t, const char *name, int64_t ns)
{
    const char *copy = arena_strdup(&t->memory, name);
    if (copy && mem_grow((void **)&t->items, &t->capacity, t->count + 1, sizeof *t->items))
        t->items[t->count++] = (layer_time){.name = copy, .ns = ns};
    else
        LOG(WARNING, "Out of memory: the profile lacks the time of layer '%s'", name);
}

static void tell_times(const context *c)
{
    const layer_times *t = &c->times;
    int64_t sum = 0;
    for (size_t i = 0; i < t->count; i++) {
        sum += t->items[i].ns;
        if (c->profiler.layer)
            c->profiler.layer(c->profiler.user, t->items[i].name, (double)t->items[i].ns * 1e-6);
    }
    if (c->profiler.run)
        c->profiler.run(c->profiler.user, (double)t->whole_ns * 1e-6, (double)sum * 1e-6);
}

/* Collects the times of layers: a program has written them by step, interpreted nodes have added
 * theirs already. */
void context_report(context *c, const program *p, pgy_status st, int64_t whole_ns)
{
    layer_times *t = &c->times;
    if (st) {
        forget_times(t);
        return;
    }
    for (size_t i = 0; p && t->of_steps && i < p->step_count; i++)
        add_time(t, p->steps[i].label, t->of_steps[i]);
    t->whole_ns = whole_ns;
    t->complete = true;
    if (c->emits) tell_times(c);
}

pgy_status pgy_context_report_profile(pgy_context *c, pgy_error *err)
{
    if (!c->has_profiler || !c->times.complete)
        return pgy_error_set(err, PGY_E_NOT_FOUND,
                             c->has_profiler
                                 ? "the profiler has no times yet: no run finished since it was set"
                                 : "the context has no profiler: set one before the run");
    tell_times(c);
    return PGY_OK;
}

/* ---- Values --------------------------------------------------------------------------------- */

pgy_status pgy_context_set_debug_listener(pgy_context *c, const pgy_debug_listener *listener,
                                          pgy_error *err)
{
    pgy_debug_listener taken = {.size = sizeof taken};
    const pgy_status st = SIZED_TAKE(pgy_debug_listener, &taken, listener, err);
    if (st) return st;
    c->has_listener = taken.tensor != NULL;
    c->listener = taken;
    return PGY_OK;
}

pgy_status pgy_context_set_debug(pgy_context *c, const char *name, bool on, pgy_error *err)
{
    if (!name) {
        strmap_deinit(&c->hidden);
        if (on || strmap_put(&c->hidden, "*", c)) return PGY_OK;
        return context_no_memory(err);
    }
    if (!debug_is_marked(engine_config(c->engine), name))
        return pgy_error_set(err, PGY_E_NOT_FOUND,
                             "tensor '%s' is not marked as a debug tensor of the engine", name);
    return strmap_put(&c->hidden, name, on ? NULL : c) ? PGY_OK : context_no_memory(err);
}

static bool is_hidden(const context *c, const char *name)
{
    const strmap_entry *own = strmap_find(&c->hidden, name);
    return own ? own->value != NULL : strmap_has(&c->hidden, "*");
}

static bool show_value(context *c, const char *name, pgy_dtype dtype, size_t rank,
                       const int64_t *shape, const void *data)
{
    return c->listener.tensor(c->listener.user, name,
                              pgy_view_of((void *)data, dtype, rank, shape));
}

static bool show_blocked(context *c, const program_tensor *t, const void *data)
{
    void *rows = debug_in_rows(t, data);
    if (!rows) {
        LOG(WARNING, "Out of memory: debug tensor '%s' is not reported", t->name);
        return true;
    }
    const bool goes_on = show_value(c, t->name, t->dtype, (size_t)t->rank, t->shape, rows);
    mem_free(rows);
    return goes_on;
}

static bool show_mark(void *user, const program *p, const program_mark *m, const void *data)
{
    context *c = user;
    const program_tensor *t = &p->tensors[m->tensor];
    if (is_hidden(c, t->name)) return true;
    if (t->layout != KERNEL_LINEAR) return show_blocked(c, t, data);
    return show_value(c, t->name, t->dtype, (size_t)t->rank, t->shape, data);
}

const program_watch *context_watch(program_watch *w, context *c, const program *p)
{
    const bool shows = c->has_listener && p->mark_count;
    if (!c->has_profiler && !shows) return NULL;
    *w = (program_watch){.user = c, .show = shows ? show_mark : NULL};
    if (c->has_profiler) {
        forget_times(&c->times);
        c->times.of_steps = arena_alloc_array(&c->times.memory, p->step_count, sizeof(int64_t));
        w->times = c->times.of_steps;
    }
    return w;
}

/* ---- Of flows ------------------------------------------------------------------------------- */

static void time_node(void *user, const pgy_node *n, const char *label, int64_t ns)
{
    context *c = user;
    if (n && tracer_is_on()) context_trace_node(c, n, ns);
    if (c->has_profiler) add_time(&c->times, label, ns);
}

/* The marks of a segment have the names that the configuration marks, or, in bodies, those that it
 * might mean: the path decides. */
static bool show_named(void *user, const char *name, const program_tensor *t, const void *data)
{
    context *c = user;
    if (!debug_is_marked(engine_config(c->engine), name) || is_hidden(c, name)) return true;
    if (t->layout == KERNEL_LINEAR)
        return show_value(c, name, t->dtype, (size_t)t->rank, t->shape, data);
    program_tensor named = *t;
    named.name = name;
    return show_blocked(c, &named, data);
}

const flow_watch *context_watch_nodes(flow_watch *w, context *c, bool whole)
{
    const bool shows = c->has_listener && debug_is_on(engine_config(c->engine));
    const bool times = whole && (c->has_profiler || tracer_is_on());
    if (!times && !shows) return NULL;
    if (times && c->has_profiler) forget_times(&c->times);
    *w = (flow_watch){
        .user = c, .time = times ? time_node : NULL, .show = shows ? show_named : NULL};
    return w;
}
