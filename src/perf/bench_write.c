/* SPDX-License-Identifier: Apache-2.0 */
/* Measurements as JSON and CSV. docs/bench.md describes both. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "perf/bench.h"
#include "perf/perf.h"

typedef struct derived {
    const pgy_bench *b;
    pgy_bench_figures *figures;
    pgy_bench_verdict *verdicts; /* of each side against the first */
} derived;

static void put_real_or_null(json_writer *w, const char *key, double v)
{
    if (v < 0)
        json_put_null(w, key);
    else
        json_put_real(w, key, v);
}

static void put_int_or_null(json_writer *w, const char *key, int64_t v)
{
    if (v < 0)
        json_put_null(w, key);
    else
        json_put_int(w, key, v);
}

static void write_options(json_writer *w, const pgy_bench_options *o)
{
    json_key(w, "options");
    json_begin_object(w);
    json_put_real(w, "duration_s", o->duration_s);
    json_put_uint(w, "slices", o->slices);
    json_put_uint(w, "seed", o->seed);
    json_put_real(w, "warm_up_ms", o->warm_up_ms);
    json_put_real(w, "confidence", o->confidence);
    json_put_real(w, "least_effect", o->least_effect);
    json_end_object(w);
}

static void write_machine(json_writer *w, const bench_machine *m)
{
    json_key(w, "machine");
    json_begin_object(w);
    json_put_text(w, "processor", m->processor ? m->processor : "");
    put_int_or_null(w, "processors", m->processors);
    json_put_text(w, "governor", m->governor ? m->governor : "");
    put_real_or_null(w, "mhz_before", m->mhz_before);
    put_real_or_null(w, "mhz_after", m->mhz_after);
    put_int_or_null(w, "throttled", m->throttled);
    json_put_text(w, "flags", m->flags ? m->flags : "");
    json_put_text(w, "energy", m->energy ? m->energy : "");
    json_end_object(w);
}

static void write_figures(json_writer *w, const pgy_bench_figures *f)
{
    json_key(w, "figures");
    json_begin_object(w);
    json_put_real(w, "median_ms", f->median_ms);
    json_put_real(w, "low_ms", f->low_ms);
    json_put_real(w, "high_ms", f->high_ms);
    json_put_real(w, "p50_ms", f->p50_ms);
    json_put_real(w, "p90_ms", f->p90_ms);
    json_put_real(w, "p99_ms", f->p99_ms);
    json_put_real(w, "p99.9_ms", f->p999_ms);
    json_put_real(w, "throughput", f->throughput);
    put_real_or_null(w, "cpu_joules", f->cpu_joules);
    put_real_or_null(w, "gpu_joules", f->gpu_joules);
    json_put_uint(w, "runs", f->runs);
    json_put_uint(w, "slices", f->slices);
    json_put_uint(w, "disturbed", f->disturbed);
    json_put_bool(w, "counts_disturbed", f->counts_disturbed);
    json_end_object(w);
}

static void write_verdict(json_writer *w, const derived *d, size_t i)
{
    const pgy_bench_verdict *v = &d->verdicts[i];
    json_key(w, "verdict");
    json_begin_object(w);
    json_put_text(w, "against", d->b->sides[0].name);
    json_put_text(w, "outcome", pgy_bench_outcome_name(v->outcome));
    json_put_real(w, "effect", v->effect);
    json_put_real(w, "low", v->low);
    json_put_real(w, "high", v->high);
    json_put_uint(w, "pairs", v->pairs);
    put_real_or_null(w, "needed_s", v->needed_s);
    json_end_object(w);
}

static void write_slice(json_writer *w, const bench_slice *s)
{
    json_begin_object(w);
    json_put_uint(w, "place", s->place);
    json_put_bool(w, "disturbed", s->disturbed);
    put_real_or_null(w, "others", s->others);
    json_put_uint(w, "runs", s->runs);
    json_put_int(w, "total_ns", s->total_ns);
    put_real_or_null(w, "cpu_joules", s->joules.cpu);
    put_real_or_null(w, "gpu_joules", s->joules.gpu);
    json_put_ints(w, "times_ns", s->times_ns, s->count);
    json_end_object(w);
}

static void write_accuracy(json_writer *w, const bench_accuracy *a)
{
    if (!a->reference) return;
    json_key(w, "accuracy");
    json_begin_object(w);
    json_put_text(w, "reference", a->reference);
    put_real_or_null(w, "error", a->measured ? a->error : -1);
    put_real_or_null(w, "relative_error",
                     a->measured && isfinite(a->relative_error) ? a->relative_error : -1);
    json_put_bool(w, "passed", a->measured && !a->reason);
    json_put_text(w, "reason", a->reason ? a->reason : "");
    json_end_object(w);
}

static void write_side(json_writer *w, const derived *d, size_t i)
{
    const bench_side *s = &d->b->sides[i];
    json_begin_object(w);
    json_put_text(w, "name", s->name);
    put_real_or_null(w, "load_ms", s->load_ms);
    put_real_or_null(w, "first_run_ms", s->first_run_ms);
    put_int_or_null(w, "peak_bytes", s->peak_bytes);
    write_accuracy(w, &s->accuracy);
    write_figures(w, &d->figures[i]);
    if (i) write_verdict(w, d, i);
    json_key(w, "slices");
    json_begin_array(w);
    for (size_t k = 0; k < s->count; k++) write_slice(w, &s->slices[k]);
    json_end_array(w);
    json_end_object(w);
}

static void write_all(json_writer *w, const derived *d)
{
    json_begin_object(w);
    json_put_text(w, "format", "polygraphy-bench");
    json_put_int(w, "version", 1);
    write_options(w, &d->b->options);
    write_machine(w, &d->b->machine);
    json_key(w, "sides");
    json_begin_array(w);
    for (size_t i = 0; i < d->b->count; i++) write_side(w, d, i);
    json_end_array(w);
    json_end_object(w);
}

pgy_status bench_write(json_writer *w, const void *user, pgy_error *err)
{
    derived d = {.b = user};
    d.figures = mem_calloc(d.b->count, sizeof *d.figures);
    d.verdicts = mem_calloc(d.b->count, sizeof *d.verdicts);
    pgy_status st =
        d.figures && d.verdicts ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; !st && i < d.b->count; i++) {
        st = pgy_bench_summarize(&d.figures[i], d.b, i, err);
        if (!st && i) st = pgy_bench_judge(&d.verdicts[i], d.b, i, 0, err);
    }
    if (!st) write_all(w, &d);
    mem_free(d.verdicts);
    mem_free(d.figures);
    return st;
}

pgy_status pgy_bench_save(const char *path, const pgy_bench *b, pgy_error *err)
{
    return json_save(path, bench_write, b, err);
}

/* ---- CSV ------------------------------------------------------------------------------------ */

static void append_quoted(str *out, const char *text)
{
    str_append_char(out, '"');
    for (; *text; text++) {
        if (*text == '"') str_append_char(out, '"');
        str_append_char(out, *text);
    }
    str_append_char(out, '"');
}

static double percentile_ms(const bench_slice *s, double p)
{
    return (double)s->times_ns[perf_percentile_index(s->count, p, false)] / 1e6;
}

static void append_slice(str *out, const bench_side *side, size_t round)
{
    const bench_slice *s = &side->slices[round];
    append_quoted(out, side->name);
    str_printf(out, ",%zu,%zu,%d,", round, s->place, s->disturbed);
    if (s->others >= 0) str_printf(out, "%.3f", s->others);
    str_printf(out, ",%llu,%.6f,%.6f,%.6f,%.6f\r\n", (unsigned long long)s->runs,
               bench_slice_centre(s) / 1e6, percentile_ms(s, 90), percentile_ms(s, 99),
               (double)s->times_ns[s->count - 1] / 1e6);
}

pgy_status pgy_bench_save_csv(const char *path, const pgy_bench *b, pgy_error *err)
{
    str out = {0};
    str_append(&out, "side,round,place,disturbed,others,runs,centre_ms,p90_ms,p99_ms,max_ms\r\n");
    for (size_t i = 0; i < b->count; i++)
        for (size_t k = 0; k < b->sides[i].count; k++) append_slice(&out, &b->sides[i], k);
    pgy_status st = out.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory") : PGY_OK;
    if (!st) st = file_write_all(path, str_text(&out), out.size, err);
    str_deinit(&out);
    return st;
}
