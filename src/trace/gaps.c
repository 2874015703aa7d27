/* SPDX-License-Identifier: Apache-2.0 */
/* Gaps between the layers of a run: time in which a thread, or a device, waited for the next one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/printable.h"
#include "trace/summary_sums.h"

static const size_t NONE = SIZE_MAX;

/* ---- Collecting ------------------------------------------------------------------------------ */

static bool add_gap(summer *m, const slice *before, const slice *after)
{
    gap_list *l = &m->gaps;
    const char *a = m->layers[before->layer].name, *b = m->layers[after->layer].name;
    const double us = (double)(after->start - before->end) / 1e3;
    str key = {0};
    str_printf(&key, "%zu%c%s%c%s", after->process, 1, a, 1, b);
    uintptr_t found = key.failed ? 0 : (uintptr_t)strmap_get(&l->known, str_text(&key));
    if (!found && !key.failed &&
        mem_grow((void **)&l->items, &l->capacity, l->count + 1, sizeof *l->items) &&
        mem_grow((void **)&l->process, &l->process_capacity, l->count + 1, sizeof *l->process) &&
        strmap_put(&l->known, str_text(&key), (void *)(uintptr_t)(l->count + 1))) {
        l->items[l->count] = (pgy_trace_gap){.before = a, .after = b};
        l->process[l->count] = after->process;
        found = ++l->count;
    }
    str_deinit(&key);
    if (!found) return false;
    pgy_trace_gap *g = &l->items[found - 1];
    g->count++;
    g->total_us += us;
    if (us > g->max_us) g->max_us = us;
    return true;
}

bool summary_note_gap(summer *m, size_t index, size_t row)
{
    const slice *s = &m->slices[index];
    const size_t last = m->lasts[row];
    if (s->parent != NONE) return true;
    m->lasts[row] = index;
    if (last == NONE) return true;
    const slice *before = &m->slices[last];
    const bool same_run = before->has_run == s->has_run && before->run == s->run;
    const double us = (double)(s->start - before->end) / 1e3;
    return !same_run || us < m->s->gap_us || add_gap(m, before, s);
}

static int by_total(const void *a, const void *b)
{
    const pgy_trace_gap *x = a, *y = b;
    if (x->total_us != y->total_us) return x->total_us < y->total_us ? 1 : -1;
    const int order = strcmp(x->before, y->before);
    return order ? order : strcmp(x->after, y->after);
}

pgy_status summary_share_gaps(summer *m)
{
    const gap_list *l = &m->gaps;
    pgy_trace_process *processes = m->s->processes;
    for (size_t k = 0; k < l->count; k++) processes[l->process[k]].gap_count++;
    for (size_t i = 0; i < m->s->process_count; i++) {
        const size_t bytes = sizeof *processes->gaps;
        processes[i].gaps = arena_alloc_array(&m->s->memory, processes[i].gap_count + 1, bytes);
        if (!processes[i].gaps) return summary_no_memory(m->err);
        processes[i].gap_count = 0;
    }
    for (size_t k = 0; k < l->count; k++) {
        pgy_trace_process *p = &processes[l->process[k]];
        ((pgy_trace_gap *)p->gaps)[p->gap_count++] = l->items[k];
    }
    for (size_t i = 0; i < m->s->process_count; i++)
        if (processes[i].gap_count)
            qsort((void *)processes[i].gaps, processes[i].gap_count, sizeof *processes->gaps,
                  by_total);
    return PGY_OK;
}

/* ---- Reports --------------------------------------------------------------------------------- */

void trace_put_gaps(str *out, const pgy_trace_summary *s, const pgy_trace_process *p, size_t shown,
                    const char *more)
{
    if (!p->gap_count) return;
    str_printf(out,
               "\n\n    Gaps of at least %.3g us between slices of a run\n    %10s %7s %10s  %s",
               s->gap_us, "Total us", "Count", "Max us", "Between");
    for (size_t i = 0; i < p->gap_count && i < shown; i++) {
        const pgy_trace_gap *g = &p->gaps[i];
        str_printf(out, "\n    %10.3f %7zu %10.3f  %s", g->total_us, g->count, g->max_us,
                   printable_name(g->before));
        str_printf(out, " | %s", printable_name(g->after));
    }
    if (p->gap_count > shown) str_printf(out, "\n    ... %zu more%s", p->gap_count - shown, more);
}

void trace_gaps_json(json_writer *w, const pgy_trace_process *p)
{
    json_key(w, "gaps");
    json_begin_array(w);
    for (size_t i = 0; i < p->gap_count; i++) {
        json_begin_object(w);
        json_put_text(w, "before", p->gaps[i].before);
        json_put_text(w, "after", p->gaps[i].after);
        json_put_uint(w, "count", p->gaps[i].count);
        json_put_real(w, "total_us", p->gaps[i].total_us);
        json_put_real(w, "max_us", p->gaps[i].max_us);
        json_end_object(w);
    }
    json_end_array(w);
}
