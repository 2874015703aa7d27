/* SPDX-License-Identifier: Apache-2.0 */
/* The report for readers: a table of sides, what disturbed, and verdicts. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "perf/bench.h"

enum { SPARKLINE = 24 };

/* ---- Table ---------------------------------------------------------------------------------- */

/* Columns that only some measurements have. */
typedef struct optional_columns {
    bool error, cpu_joules, gpu_joules;
} optional_columns;

static void append_number(str *out, double v)
{
    if (v < 0 || isnan(v))
        str_append(out, "          -");
    else
        str_printf(out, " %10.5g", v);
}

void bench_append_error(str *out, const pgy_bench *b, size_t side)
{
    pgy_bench_accuracy a;
    const bool checked = pgy_bench_check(&a, b, side);
    if (checked && a.measured)
        str_printf(out, " %10.5g", a.error);
    else
        str_printf(out, " %10s", checked ? "?" : "-");
}

static void append_heads(str *out, size_t width, const optional_columns *c)
{
    static const char *const HEADS[] = {"median ms", "from",  "to",     "p50",       "p90",
                                        "p99",       "p99.9", "runs/s", "first run", "load ms"};
    str_printf(out, "    %-*s", (int)width, "");
    for (size_t i = 0; i < sizeof HEADS / sizeof *HEADS; i++) str_printf(out, " %10s", HEADS[i]);
    if (c->cpu_joules) str_printf(out, " %10s", "CPU J/run");
    if (c->gpu_joules) str_printf(out, " %10s", "GPU J/run");
    if (c->error) str_printf(out, " %10s", "error");
    str_append(out, "  peak memory  slices\n");
}

static void append_peak(str *out, int64_t bytes)
{
    str text = {0};
    if (bytes < 0)
        str_append_char(&text, '-');
    else
        str_append_bytes(&text, (uint64_t)bytes);
    str_printf(out, "  %-11s", str_text(&text));
    out->failed = out->failed || text.failed;
    str_deinit(&text);
}

static void append_row(str *out, const pgy_bench *b, size_t i, size_t width,
                       const pgy_bench_figures *f, const optional_columns *c)
{
    const double times[] = {f->median_ms, f->low_ms, f->high_ms, f->p50_ms,
                            f->p90_ms,    f->p99_ms, f->p999_ms};
    str_printf(out, "    %-*s", (int)width, b->sides[i].name);
    for (size_t k = 0; k < sizeof times / sizeof *times; k++) append_number(out, times[k]);
    str_printf(out, " %10.1f", f->throughput);
    append_number(out, f->first_run_ms);
    append_number(out, f->load_ms);
    if (c->cpu_joules) append_number(out, f->cpu_joules);
    if (c->gpu_joules) append_number(out, f->gpu_joules);
    if (c->error) bench_append_error(out, b, i);
    append_peak(out, f->peak_bytes);
    str_append(out, "  ");
    bench_append_sparkline(out, &b->sides[i], SPARKLINE);
    str_append_char(out, '\n');
}

static pgy_status append_table(str *out, const pgy_bench *b, pgy_error *err)
{
    size_t width = 4;
    optional_columns c = {0};
    pgy_bench_accuracy a;
    pgy_bench_figures *f = mem_calloc(b->count, sizeof *f);
    pgy_status st = f ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; !st && i < b->count; i++) {
        if (strlen(b->sides[i].name) > width) width = strlen(b->sides[i].name);
        st = pgy_bench_summarize(&f[i], b, i, err);
        c.error |= pgy_bench_check(&a, b, i);
        c.cpu_joules |= f[i].cpu_joules >= 0;
        c.gpu_joules |= f[i].gpu_joules >= 0;
    }
    if (!st) append_heads(out, width, &c);
    for (size_t i = 0; !st && i < b->count; i++) append_row(out, b, i, width, &f[i], &c);
    mem_free(f);
    return st;
}

/* ---- The machine ---------------------------------------------------------------------------- */

static double greatest_load(const pgy_bench *b)
{
    double most = -1;
    for (size_t i = 0; i < b->count; i++)
        for (size_t k = 0; k < b->sides[i].count; k++)
            if (b->sides[i].slices[k].others > most) most = b->sides[i].slices[k].others;
    return most;
}

void bench_append_machine(str *out, const bench_machine *m)
{
    str_printf(out, "Processor: %s", m->processor && *m->processor ? m->processor : "unknown");
    if (m->processors > 0) str_printf(out, ", %lld used", (long long)m->processors);
    if (m->mhz_before > 0 && m->mhz_after > 0)
        str_printf(out, ", %.0f MHz before and %.0f MHz after", m->mhz_before, m->mhz_after);
    str_printf(out, ", governor %s\n", m->governor && *m->governor ? m->governor : "unknown");
    if (m->throttled > 0)
        str_printf(out, "The processor was throttled %lld times while measuring.\n",
                   (long long)m->throttled);
    if (m->energy && *m->energy) str_printf(out, "Energy: %s\n", m->energy);
}

static void append_disturbed(str *out, const pgy_bench *b, const bench_rounds *r)
{
    const double most = greatest_load(b);
    size_t bad = 0;
    for (size_t k = 0; k < r->total; k++) {
        bool disturbed = false;
        for (size_t i = 0; i < b->count; i++) disturbed |= b->sides[i].slices[k].disturbed;
        bad += disturbed;
    }
    if (most < 0 && !bad) {
        str_printf(out,
                   "Rounds: %zu. Slices are too short to tell whether other processes disturbed "
                   "them.\n",
                   r->total);
        return;
    }
    str_printf(out, "Rounds: %zu, of which other processes disturbed %zu", r->total, bad);
    if (most >= 0) str_printf(out, " (they used up to %.2f processors)", most);
    str_append(out, !bad     ? ".\n"
                    : r->all ? "; too few are left without these, so they count, too.\n"
                             : "; these are left out.\n");
}

/* ---- Verdicts ------------------------------------------------------------------------------- */

void bench_append_verdict(str *out, const pgy_bench_verdict *v, const char *name, const char *other)
{
    if (v->outcome == PGY_BENCH_NO_DIFFERENCE)
        str_printf(out, "'%s' against '%s': no difference shown", name, other);
    else
        str_printf(out, "'%s' is %s than '%s'", name, pgy_bench_outcome_name(v->outcome), other);
    str_printf(out, ": %+.2f %% of time (%+.2f %% to %+.2f %%)", v->effect * 100, v->low * 100,
               v->high * 100);
}

pgy_status pgy_bench_verdict_text(char **out, const pgy_bench_verdict *v, const char *name,
                                  const char *other, pgy_error *err)
{
    str text = {0};
    bench_append_verdict(&text, v, name, other);
    return str_give(out, &text, err);
}

static void append_needed(str *out, const pgy_bench_verdict *v, const pgy_bench_options *o)
{
    if (v->pairs < BENCH_LEAST)
        str_printf(out, "    %zu pairs of slices are too few; a verdict needs %d\n", v->pairs,
                   BENCH_LEAST);
    else if (v->needed_s <= o->duration_s)
        str_printf(out, "    %.3g s show a difference of 2 %%\n", v->needed_s);
    else
        str_printf(out, "    to see a difference of 2 %%, measure %.3g s\n", v->needed_s);
}

pgy_status pgy_bench_text(char **out, const pgy_bench *b, pgy_error *err)
{
    str text = {0};
    bench_rounds r = {0};
    pgy_status st = bench_rounds_find(&r, b, err);
    if (!st) st = append_table(&text, b, err);
    if (!st) {
        bench_append_machine(&text, &b->machine);
        append_disturbed(&text, b, &r);
    }
    for (size_t i = 1; !st && i < b->count; i++) {
        pgy_bench_verdict v;
        st = pgy_bench_judge(&v, b, i, 0, err);
        if (st) break;
        bench_append_verdict(&text, &v, b->sides[i].name, b->sides[0].name);
        str_append_char(&text, '\n');
        append_needed(&text, &v, &b->options);
    }
    if (!st && text.size) text.data[--text.size] = 0; /* the last end of line */
    if (!st) st = str_give(out, &text, err);
    bench_rounds_deinit(&r);
    str_deinit(&text);
    return st;
}
