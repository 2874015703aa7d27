/* SPDX-License-Identifier: Apache-2.0 */
/* The slices of a timeline. Of very many, those of the first, the last and the slowest run of each
 * process are kept. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "viewer/sources/trace_file.h"

enum { SLICE_LIMIT = 200000 };

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a timeline");
}

/* ---- Runs that are kept --------------------------------------------------------------------- */

typedef struct kept_runs {
    bool any;
    int64_t process, first, last, slowest, longest_ns;
} kept_runs;

typedef struct run_choice {
    kept_runs *items;
    size_t count, capacity;
} run_choice;

static kept_runs *runs_of(run_choice *c, int64_t process)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->items[i].process == process) return &c->items[i];
    if (!mem_grow((void **)&c->items, &c->capacity, c->count + 1, sizeof *c->items)) return NULL;
    c->items[c->count] = (kept_runs){.process = process, .longest_ns = -1};
    return &c->items[c->count++];
}

static bool is_iteration(const pgy_trace_event *e)
{
    return e->kind == PGY_TRACE_SLICE && strcmp(e->category, "iteration") == 0;
}

/* Looks at the slices of the runs themselves, without those that warm up. */
static bool choose_runs(run_choice *c, const pgy_trace *t)
{
    for (size_t i = 0; i < pgy_trace_event_count(t); i++) {
        const pgy_trace_event e = pgy_trace_event_at(t, i);
        if (!is_iteration(&e) || !e.has_run || e.is_warm_up) continue;
        kept_runs *k = runs_of(c, pgy_trace_row_at(t, e.row)->process);
        if (!k) return false;
        if (!k->any || e.run < k->first) k->first = e.run;
        if (!k->any || e.run > k->last) k->last = e.run;
        if (e.duration_ns > k->longest_ns) k->slowest = e.run, k->longest_ns = e.duration_ns;
        k->any = true;
    }
    return true;
}

/* Slices of processes without runs of their own, such as devices, go by the runs of the first. */
static bool is_kept(const run_choice *c, const pgy_trace *t, const pgy_trace_event *e)
{
    if (!e->has_run || is_iteration(e)) return true;
    const int64_t process = pgy_trace_row_at(t, e->row)->process;
    const kept_runs *k = c->count ? &c->items[0] : NULL;
    for (size_t i = 0; i < c->count; i++)
        if (c->items[i].process == process) k = &c->items[i];
    return !k || e->run == k->first || e->run == k->last || e->run == k->slowest;
}

/* ---- Slices --------------------------------------------------------------------------------- */

static const char *kept_text(view_trace_run *run, const char *text)
{
    trace_name *known = strmap_get(&run->names, text);
    if (known) return known->text;
    known = arena_alloc(&run->file.results->memory, sizeof *known);
    if (!known) return NULL;
    *known = (trace_name){view_text(run->file.results, text), VIEW_NONE};
    return known->text && strmap_put(&run->names, text, known) ? known->text : NULL;
}

/* Rows of a second timeline stand below those of the first. */
static pgy_status add_rows(uint32_t **rows, view_trace_run *run, pgy_error *err)
{
    const size_t count = pgy_trace_row_count(run->trace);
    pgy_status st = PGY_OK;
    *rows = mem_calloc(count + 1, sizeof **rows);
    if (!*rows) return no_memory(err);
    for (size_t i = 0; i < count && !st; i++) {
        const pgy_trace_row *from = pgy_trace_row_at(run->trace, i);
        str process = {0};
        str_printf(&process, "%s%s", run->is_second ? "B: " : "", from->process_name);
        if (!*from->process_name) str_printf(&process, "process %lld", (long long)from->process);
        str name = {0};
        str_append(&name, from->name);
        if (!*from->name) str_printf(&name, "thread %lld", (long long)from->thread);
        st = process.failed || name.failed
                 ? no_memory(err)
                 : view_timeline_row(&(*rows)[i], run->file.results, str_text(&process),
                                     str_text(&name), err);
        str_deinit(&process);
        str_deinit(&name);
    }
    return st;
}

static pgy_status add_slice(view_trace_run *run, const uint32_t *rows, const pgy_trace_event *e,
                            pgy_error *err)
{
    const view_slice s = {.row = rows[e->row],
                          .node = trace_node(run, e->name),
                          .run = e->has_run ? e->run : -1,
                          .start_us = (double)e->start_ns / 1e3,
                          .duration_us = (double)e->duration_ns / 1e3,
                          .name = kept_text(run, e->name),
                          .category = kept_text(run, e->category)};
    if (!s.name || !s.category) return no_memory(err);
    return view_timeline_slice(run->file.results, &s, err);
}

typedef struct slice_counts {
    size_t all, chosen, added;
    bool is_thinned; /* runs were left out */
} slice_counts;

static void count_slices(slice_counts *n, const run_choice *c, const pgy_trace *t)
{
    for (size_t i = 0; i < pgy_trace_event_count(t); i++) {
        const pgy_trace_event e = pgy_trace_event_at(t, i);
        if (e.kind != PGY_TRACE_SLICE) continue;
        n->all++;
        n->chosen += is_kept(c, t, &e);
    }
    n->is_thinned = n->all > SLICE_LIMIT && n->chosen < n->all;
}

static pgy_status add_slices(slice_counts *n, view_trace_run *run, const run_choice *c,
                             const uint32_t *rows, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < pgy_trace_event_count(run->trace) && !st; i++) {
        const pgy_trace_event e = pgy_trace_event_at(run->trace, i);
        if (e.kind != PGY_TRACE_SLICE || n->added == SLICE_LIMIT) continue;
        if (n->is_thinned && !is_kept(c, run->trace, &e)) continue;
        n->added++;
        st = add_slice(run, rows, &e, err);
        if (!st) st = cancel_check(err);
    }
    return st;
}

static pgy_status add_note(view_trace_run *run, const slice_counts *n, pgy_error *err)
{
    view_timeline *t = &run->file.results->timeline;
    if (n->added == n->all) return PGY_OK;
    const char *before = t->note ? t->note : "";
    t->note =
        arena_printf(&run->file.results->memory, "%s%s%s: %zu of %zu slices are shown%s%s.", before,
                     *before ? " " : "", path_basename(run->file.path), n->added, n->all,
                     n->is_thinned ? ", those of the first, the last and the slowest run"
                                   : ", the earliest ones",
                     n->is_thinned && n->chosen > n->added ? ", the earliest ones of them" : "");
    return t->note ? PGY_OK : no_memory(err);
}

/* ---- Sums ----------------------------------------------------------------------------------- */

/* Layers of which only sums are known stand one behind the other. */
static pgy_status lay_end_to_end(view_trace_run *run, pgy_error *err)
{
    double at = 0;
    size_t place = 0;
    uint32_t row;
    const pgy_trace_process *p = trace_process(run->summary, &place);
    if (!p || !p->has_sums_only) return PGY_OK;
    str process = {0};
    str_printf(&process, "%s%s", run->is_second ? "B: " : "", p->name);
    pgy_status st = view_timeline_row(&row, run->file.results, str_text(&process), "layers", err);
    str_deinit(&process);
    for (size_t i = 0; i < p->layer_count && !st && i < SLICE_LIMIT; i++) {
        const pgy_trace_times *t = &p->layers[i];
        const view_slice s = {.row = row,
                              .node = trace_node(run, t->name),
                              .run = -1,
                              .start_us = at,
                              .duration_us = isnan(t->median_us) ? t->mean_us : t->median_us,
                              .name = kept_text(run, t->name),
                              .category = kept_text(run, "layer")};
        if (!s.name || !s.category) return no_memory(err);
        if (!isfinite(s.duration_us)) continue;
        at += s.duration_us;
        st = view_timeline_slice(run->file.results, &s, err);
    }
    run->file.results->timeline.is_synthetic = true;
    return st;
}

pgy_status trace_add_timeline(view_trace_run *run, pgy_error *err)
{
    view_timeline *t = &run->file.results->timeline;
    run_choice choice = {0};
    slice_counts counts = {0};
    uint32_t *rows = NULL;
    if (!t->source) t->source = view_text(run->file.results, pgy_trace_source(run->trace));
    if (!t->source) return no_memory(err);
    if (!pgy_trace_event_count(run->trace)) return lay_end_to_end(run, err);
    pgy_status st = choose_runs(&choice, run->trace) ? PGY_OK : no_memory(err);
    if (!st) st = add_rows(&rows, run, err);
    if (!st) {
        count_slices(&counts, &choice, run->trace);
        st = add_slices(&counts, run, &choice, rows, err);
    }
    if (!st) st = add_note(run, &counts, err);
    mem_free(choice.items);
    mem_free(rows);
    return st;
}
