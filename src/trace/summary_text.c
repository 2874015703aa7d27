/* SPDX-License-Identifier: Apache-2.0 */
/* Summaries as text and as JSON. */
#include <math.h>
#include <string.h>

#include "base/printable.h"
#include "base/sized.h"
#include "trace/summary.h"

enum { OPS_SHOWN = 10, GAPS_SHOWN = 5 };

/* What is missing in the file. */
static void put_gaps(str *out, const pgy_trace_summary *s)
{
    const double unmatched = s->unmatched_begins + s->unmatched_ends;
    if (s->dropped > 0)
        str_printf(out, "\n    The recording lost %.0f events, so sums are too small", s->dropped);
    if (unmatched > 0)
        str_printf(out,
                   "\n    %.0f begin%s without an end and %.0f end%s without a begin are left out; "
                   "the first is %s",
                   s->unmatched_begins, s->unmatched_begins == 1 ? "" : "s", s->unmatched_ends,
                   s->unmatched_ends == 1 ? "" : "s",
                   printable_name(s->unmatched_first ? s->unmatched_first : "unknown"));
    if (s->is_cut_off)
        str_append(out, "\n    The file has no end: what recorded it may have stopped early");
    if (s->is_default_category && strcmp(s->category, "layer"))
        str_printf(out,
                   "\n    The file has no layers (NVTX ranges around work of a device); these are "
                   "the slices of '%s'",
                   s->category);
}

static void put_head(str *out, const pgy_trace_summary *s)
{
    str_printf(out,
               "==== Timeline ====\n%s | %s | %zu events\n    Slices:", printable_name(s->name),
               s->source, s->event_count);
    for (size_t i = 0; i < s->category_count && i < TRACE_SHOWN; i++) {
        const pgy_trace_category *c = &s->categories[i];
        str_printf(out, "%s %zu %s", i ? "," : "", c->count,
                   *c->name ? printable_name(c->name) : "without category");
    }
    if (s->overhead_ns >= 0)
        str_printf(out, "\n    Recording a slice took %.0f ns, which its neighbours contain",
                   s->overhead_ns);
    put_gaps(out, s);
}

static void put_runs(str *out, const pgy_trace_process *p)
{
    const pgy_trace_times *r = &p->runs;
    str_printf(out, "\n\n---- %s ----", printable_name(p->name));
    if (r->calls)
        str_printf(out, "\n    %zu run%s: median %.3f us, mean %.3f us, min %.3f us, max %.3f us",
                   r->calls, r->calls == 1 ? "" : "s", r->median_us, r->mean_us, r->min_us,
                   r->max_us);
    if (p->warm_up_runs)
        str_printf(out, "\n    %zu warm-up run%s left out", p->warm_up_runs,
                   p->warm_up_runs == 1 ? " is" : "s are");
}

static void put_cover(str *out, const pgy_trace_process *p, const char *category)
{
    const double whole = p->runs_with_layers ? p->run_us : p->wall_us;
    const double percent = whole > 0 ? 100 / whole : 0;
    if (!p->layer_count) {
        str_printf(out, "\n    There are no slices of the category '%s'", printable_name(category));
        return;
    }
    if (p->has_sums_only) {
        str_append(out,
                   "\n    The file has sums of all calls, so wall and idle time are not known");
        return;
    }
    if (p->runs_with_layers)
        str_printf(out, "\n    Wall %.3f us; the %zu run%s with slices of '%s' take %.3f us",
                   p->wall_us, p->runs_with_layers, p->runs_with_layers == 1 ? "" : "s",
                   printable_name(category), p->run_us);
    else
        str_printf(out, "\n    Wall %.3f us", p->wall_us);
    str_printf(out, ": busy %.3f us (%.1f %%), idle %.3f us (%.1f %%)", p->busy_us,
               p->busy_us * percent, p->idle_us, p->idle_us * percent);
}

static void put_table(str *out, const char *title, const pgy_trace_times *items, size_t count,
                      size_t shown, const char *more)
{
    if (!count) return;
    str_printf(out, "\n\n    %10s %6s %7s %10s %10s %10s %10s %10s %10s  %s", "Total us", "Share",
               "Calls", "Mean us", "Median us", "p90 us", "p99 us", "Min us", "Max us", title);
    for (size_t i = 0; i < count && i < shown; i++) {
        const pgy_trace_times *t = &items[i];
        str_printf(out, "\n    %10.3f %4.1f %% %7zu ", t->total_us, t->share * 100, t->calls);
        trace_put_us(out, 10, t->mean_us);
        trace_put_us(out, 10, t->median_us);
        trace_put_us(out, 10, t->p90_us);
        trace_put_us(out, 10, t->p99_us);
        trace_put_us(out, 10, t->min_us);
        trace_put_us(out, 10, t->max_us);
        str_append_char(out, ' ');
        trace_put_name(out, t);
    }
    if (count > shown) str_printf(out, "\n    ... %zu more%s", count - shown, more);
}

pgy_status pgy_trace_summary_text(char **out, const pgy_trace_summary *s,
                                  const pgy_trace_report_options *options, pgy_error *err)
{
    pgy_trace_report_options o = {.size = sizeof o};
    str text = {0};
    const pgy_status st = SIZED_TAKE(pgy_trace_report_options, &o, options, err);
    if (st) return st;
    if (!o.more) o.more = "";
    put_head(&text, s);
    for (size_t i = 0; i < s->process_count; i++) {
        const pgy_trace_process *p = &s->processes[i];
        put_runs(&text, p);
        put_cover(&text, p, s->category);
        put_table(&text, "Name [Op]", p->layers, p->layer_count, o.all ? SIZE_MAX : TRACE_SHOWN,
                  o.more);
        trace_put_gaps(&text, s, p, o.all ? SIZE_MAX : GAPS_SHOWN, o.more);
        if (s->has_peaks) trace_put_roofs(&text, s, p, o.all ? SIZE_MAX : TRACE_SHOWN, o.more);
        put_table(&text, "Op", p->ops, p->op_count, o.all ? SIZE_MAX : OPS_SHOWN, o.more);
    }
    const pgy_status made = str_give(out, &text, err);
    str_deinit(&text);
    return made;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void list_json(json_writer *w, const char *key, const pgy_trace_times *items, size_t count)
{
    json_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; i < count; i++) trace_times_json(w, &items[i]);
    json_end_array(w);
}

static void process_json(json_writer *w, const pgy_trace_process *p)
{
    json_begin_object(w);
    json_put_text(w, "name", p->name);
    json_put_int(w, "pid", p->id);
    json_put_uint(w, "warm_up_runs_left_out", p->warm_up_runs);
    json_put_uint(w, "runs_with_layers", p->runs_with_layers);
    json_put_real(w, "wall_us", p->wall_us);
    json_put_real(w, "run_us", p->run_us);
    json_put_real(w, "busy_us", p->busy_us);
    json_put_real(w, "idle_us", p->idle_us);
    if (p->runs.calls) {
        json_key(w, "runs");
        trace_times_json(w, &p->runs);
    } else {
        json_put_null(w, "runs");
    }
    list_json(w, "layers", p->layers, p->layer_count);
    list_json(w, "ops", p->ops, p->op_count);
    trace_gaps_json(w, p);
    if (p->roofs) trace_roofs_json(w, p);
    json_end_object(w);
}

static void peaks_json(json_writer *w, const pgy_trace_summary *s)
{
    json_key(w, "peaks");
    json_begin_object(w);
    json_put_real(w, "gflops_per_s", s->peaks.gflops);
    json_put_real(w, "gb_per_s", s->peaks.gb_per_s);
    json_put_uint(w, "threads", s->peaks.threads);
    json_put_text(w, "cpu", s->peaks.cpu);
    json_put_text(w, "processor", s->peaks.processor);
    json_put_text(w, "other_machine", s->other_machine);
    json_end_object(w);
}

static void summary_json(json_writer *w, const pgy_trace_summary *s)
{
    json_begin_object(w);
    json_put_text(w, "name", s->name);
    json_put_text(w, "source", s->source);
    json_put_text(w, "category", s->category);
    json_put_uint(w, "events", s->event_count);
    if (s->overhead_ns >= 0)
        json_put_real(w, "overhead_ns_per_slice", s->overhead_ns);
    else
        json_put_null(w, "overhead_ns_per_slice");
    json_put_real(w, "dropped_events", s->dropped);
    json_put_real(w, "unmatched_begins", s->unmatched_begins);
    json_put_real(w, "unmatched_ends", s->unmatched_ends);
    json_put_bool(w, "is_cut_off", s->is_cut_off);
    if (s->has_peaks) peaks_json(w, s);
    json_key(w, "categories");
    json_begin_array(w);
    for (size_t i = 0; i < s->category_count; i++) {
        json_begin_object(w);
        json_put_text(w, "name", s->categories[i].name);
        json_put_uint(w, "count", s->categories[i].count);
        json_put_real(w, "total_us", s->categories[i].total_us);
        json_end_object(w);
    }
    json_end_array(w);
    json_key(w, "processes");
    json_begin_array(w);
    for (size_t i = 0; i < s->process_count; i++) process_json(w, &s->processes[i]);
    json_end_array(w);
    json_end_object(w);
}

typedef struct summary_document {
    const pgy_trace_summary *const *items;
    size_t count;
} summary_document;

static pgy_status write_document(json_writer *w, const void *user, pgy_error *err)
{
    const summary_document *d = user;
    (void)err;
    json_begin_object(w);
    json_put_int(w, "summary_version", 1);
    json_key(w, "timelines");
    json_begin_array(w);
    for (size_t i = 0; i < d->count; i++) summary_json(w, d->items[i]);
    json_end_array(w);
    json_end_object(w);
    return PGY_OK;
}

pgy_status pgy_trace_summary_save(const char *path, const pgy_trace_summary *const *items,
                                  size_t count, pgy_error *err)
{
    const summary_document d = {items, count};
    return json_save(path, write_document, &d, err);
}
