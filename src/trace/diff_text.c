/* SPDX-License-Identifier: Apache-2.0 */
/* Two timelines side by side, as text and as JSON. */
#include <string.h>

#include "base/printable.h"
#include "base/sized.h"
#include "trace/summary.h"

static const char *const VERDICTS[] = {
    [PGY_TRACE_NO_DIFFERENCE] = "no difference shown",
    [PGY_TRACE_SLOWER] = "slower",
    [PGY_TRACE_FASTER] = "faster",
    [PGY_TRACE_TOO_FEW] = "too few runs",
};
enum { OPS_SHOWN = 10 };

static void put_side(str *out, char side, const pgy_trace_summary *s, const pgy_trace_process *p)
{
    str_printf(out, "\n%c: %s | %s | %s | %zu run%s", side, printable_name(s->name), s->source,
               printable_name(p->name), p->runs.calls, p->runs.calls == 1 ? "" : "s");
    if (p->warm_up_runs) str_printf(out, ", %zu for warm-up left out", p->warm_up_runs);
    if (s->dropped > 0) str_printf(out, ", lost %.0f events", s->dropped);
}

static void put_row(str *out, const pgy_trace_diff_row *r)
{
    str_printf(out, "\n    %11.3f %11.3f %11.3f ", r->a_us, r->b_us,
               trace_per_run(r->b) - trace_per_run(r->a));
    if (r->ratio > 0)
        str_printf(out, "%7.3f ", r->ratio);
    else
        str_printf(out, "%7s ", "-");
    str_printf(out, "%8.2g  %-19s  ", r->p, VERDICTS[r->verdict]);
    trace_put_name(out, r->a);
    if (strcmp(r->a->op, r->b->op)) str_printf(out, ", in B [%s]", printable_name(r->b->op));
}

static void put_table(str *out, const char *title, const pgy_trace_diff_row *rows, size_t count,
                      size_t shown, const char *more)
{
    if (!count) return;
    str_printf(out, "\n\n    %11s %11s %11s %7s %8s  %-19s  %s", "A median us", "B median us",
               "B - A us", "B / A", "p", "B is", title);
    for (size_t i = 0; i < count && i < shown; i++) put_row(out, &rows[i]);
    if (count > shown) str_printf(out, "\n    ... %zu more%s", count - shown, more);
}

static void put_rest(str *out, char side, const pgy_trace_times *const *items, size_t count,
                     size_t shown, const char *more)
{
    if (!count) return;
    str_printf(out, "\n\n---- %zu Only in %c ----", count, side);
    for (size_t i = 0; i < count && i < shown; i++) {
        str_printf(out, "\n    %11.3f us per run  ", trace_per_run(items[i]));
        trace_put_name(out, items[i]);
    }
    if (count > shown) str_printf(out, "\n    ... %zu more%s", count - shown, more);
}

pgy_status pgy_trace_diff_text(char **out, const pgy_trace_diff *d,
                               const pgy_trace_report_options *options, pgy_error *err)
{
    pgy_trace_report_options o = {.size = sizeof o};
    str text = {0};
    pgy_status st = SIZED_TAKE(pgy_trace_report_options, &o, options, err);
    if (st) return st;
    if (!o.more) o.more = "";
    const size_t shown = o.all ? SIZE_MAX : TRACE_SHOWN;
    str_append(&text, "==== Two Timelines ====");
    put_side(&text, 'A', d->a, d->process_a);
    put_side(&text, 'B', d->b, d->process_b);
    if (d->has_runs) put_table(&text, "Runs", &d->runs, 1, shown, o.more);
    put_table(&text, "Name [Op]", d->layers, d->layer_count, shown, o.more);
    put_table(&text, "Op", d->ops, d->op_count, o.all ? SIZE_MAX : OPS_SHOWN, o.more);
    if (d->process_a->has_sums_only || d->process_b->has_sums_only)
        str_append(&text,
                   "\n\n    A file has sums instead of single runs: times are of a call, and "
                   "no difference can be judged");
    str_append(&text,
               "\n\n    Medians and B - A are per run; p tells of these two recordings. Record "
               "both again, in turn, before you trust a small difference");
    put_rest(&text, 'A', d->only_a, d->only_a_count, shown, o.more);
    put_rest(&text, 'B', d->only_b, d->only_b_count, shown, o.more);
    st = str_give(out, &text, err);
    str_deinit(&text);
    return st;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void row_json(json_writer *w, const pgy_trace_diff_row *r)
{
    json_begin_object(w);
    json_put_text(w, "name", r->a->name);
    json_put_real(w, "ratio", r->ratio);
    json_put_real(w, "p", r->p);
    json_put_text(w, "verdict", VERDICTS[r->verdict]);
    json_put_uint(w, "a_samples", r->a->sample_count);
    json_put_uint(w, "b_samples", r->b->sample_count);
    json_key(w, "a");
    trace_times_json(w, r->a);
    json_key(w, "b");
    trace_times_json(w, r->b);
    json_end_object(w);
}

static void rows_json(json_writer *w, const char *key, const pgy_trace_diff_row *rows, size_t count)
{
    json_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; i < count; i++) row_json(w, &rows[i]);
    json_end_array(w);
}

static void rest_json(json_writer *w, const char *key, const pgy_trace_times *const *items,
                      size_t count)
{
    json_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; i < count; i++) trace_times_json(w, items[i]);
    json_end_array(w);
}

static void side_json(json_writer *w, const char *key, const pgy_trace_summary *s,
                      const pgy_trace_process *p)
{
    json_key(w, key);
    json_begin_object(w);
    json_put_text(w, "name", s->name);
    json_put_text(w, "source", s->source);
    json_put_text(w, "process", p->name);
    json_put_uint(w, "runs", p->runs.calls);
    json_end_object(w);
}

static pgy_status write_document(json_writer *w, const void *user, pgy_error *err)
{
    const pgy_trace_diff *d = user;
    (void)err;
    json_begin_object(w);
    json_put_int(w, "diff_version", 1);
    side_json(w, "a", d->a, d->process_a);
    side_json(w, "b", d->b, d->process_b);
    rows_json(w, "runs", &d->runs, d->has_runs);
    rows_json(w, "layers", d->layers, d->layer_count);
    rows_json(w, "ops", d->ops, d->op_count);
    rest_json(w, "only_a", d->only_a, d->only_a_count);
    rest_json(w, "only_b", d->only_b, d->only_b_count);
    json_end_object(w);
    return PGY_OK;
}

pgy_status pgy_trace_diff_save(const char *path, const pgy_trace_diff *d, pgy_error *err)
{
    return json_save(path, write_document, d, err);
}
