/* SPDX-License-Identifier: Apache-2.0 */
/* One JSON file with everything that a measurement says, and the comparison with such a file. The
 * times of runs are kept in slices of consecutive runs: runs of one slice share the state of the
 * machine, so slices, not runs, are compared. */
#include <stdio.h>
#include <string.h>

#include "base/sized.h"
#include "base/system.h"
#include "perf/perf.h"

static const char FORMAT[] = "trtexec-report";
enum { VERSION = 1, MOST_SLICES = 40, LEAST_SLICES = 8, MOST_KEPT = 1000 };

static const double PERCENTILES[] = {90, 95, 99};
static const struct {
    const char *name;
    pgy_perf_metric metric;
} METRICS[] = {{"Latency", PGY_PERF_LATENCY},
               {"Enqueue Time", PGY_PERF_ENQUEUE},
               {"H2D Latency", PGY_PERF_H2D},
               {"Compute Time", PGY_PERF_COMPUTE},
               {"D2H Latency", PGY_PERF_D2H}};

typedef struct summary_source {
    const pgy_perf_trace *t;
    pgy_perf_summary s;
    bool with_runs;
} summary_source;

/* ---- Writing -------------------------------------------------------------------------------- */

static pgy_status write_metric(json_writer *w, const summary_source *from, size_t m, pgy_error *err)
{
    pgy_perf_stats stats;
    pgy_status st = pgy_perf_summarize(&stats, from->t, METRICS[m].metric, err);
    if (st) return st;
    json_key(w, METRICS[m].name);
    json_begin_object(w);
    json_put_real(w, "min_ms", stats.min);
    json_put_real(w, "max_ms", stats.max);
    json_put_real(w, "mean_ms", stats.mean);
    json_put_real(w, "median_ms", stats.median);
    json_put_real(w, "variance_percent", stats.variance_percent);
    json_key(w, "percentiles_ms");
    json_begin_object(w);
    for (size_t i = 0; !st && i < from->s.percentile_count && from->t->count; i++) {
        char name[32];
        double value = 0;
        snprintf(name, sizeof name, "%g", from->s.percentiles[i]);
        st = pgy_perf_percentile(&value, from->t, METRICS[m].metric, from->s.percentiles[i], false,
                                 err);
        json_put_real(w, name, value);
    }
    json_end_object(w);
    json_end_object(w);
    return st;
}

static pgy_status write_warnings(json_writer *w, const summary_source *from, pgy_error *err)
{
    char *text = NULL;
    const pgy_status st = pgy_perf_warnings(&text, from->t, from->s.streams, err);
    if (st) return st;
    json_key(w, "warnings");
    json_begin_array(w);
    for (const char *at = text; *at;) {
        const size_t size = strcspn(at, "\n");
        json_text_n(w, at, size);
        at += size + (at[size] == '\n');
    }
    json_end_array(w);
    pgy_text_free(text);
    return PGY_OK;
}

static void write_layers(json_writer *w, const pgy_perf_profile *p)
{
    json_key(w, "layers");
    json_begin_array(w);
    for (size_t i = 0; i < pgy_perf_profile_count(p); i++) {
        const pgy_perf_layer *l = pgy_perf_profile_at(p, i);
        json_begin_object(w);
        json_put_text(w, "name", l->name);
        json_put_real(w, "average_ms", l->average_ms);
        json_put_real(w, "median_ms", l->median_ms);
        json_put_real(w, "percentage", l->percent);
        json_end_object(w);
    }
    json_end_array(w);
}

static int64_t latency_ns(const pgy_perf_trace *t, size_t run)
{
    const double ns = pgy_perf_time(&t->runs[run], PGY_PERF_LATENCY) * 1e6;
    return ns < 1 ? 1 : (int64_t)(ns + 0.5);
}

static size_t slice_count(const pgy_perf_trace *t)
{
    return t->count < MOST_SLICES ? t->count : MOST_SLICES;
}

/* The times of slice k, at most MOST_KEPT, spread evenly. Returns their number. */
static size_t slice_times(int64_t times[MOST_KEPT], const pgy_perf_trace *t, size_t k)
{
    const size_t slices = slice_count(t), begin = k * t->count / slices;
    const size_t count = (k + 1) * t->count / slices - begin;
    const size_t kept = count < MOST_KEPT ? count : MOST_KEPT;
    for (size_t i = 0; i < kept; i++) times[i] = latency_ns(t, begin + i * count / kept);
    return kept;
}

static void write_slices(json_writer *w, const pgy_perf_trace *t)
{
    int64_t times[MOST_KEPT];
    json_key(w, "latency_slices_ns");
    json_begin_array(w);
    for (size_t k = 0; k < slice_count(t); k++) {
        const size_t count = slice_times(times, t, k);
        json_begin_array(w);
        for (size_t i = 0; i < count; i++) json_int(w, times[i]);
        json_end_array(w);
    }
    json_end_array(w);
}

static pgy_status write_summary(json_writer *w, const void *user, pgy_error *err)
{
    const summary_source *from = user;
    const pgy_perf_summary *s = &from->s;
    pgy_status st = PGY_OK;
    json_begin_object(w);
    json_put_text(w, "format", FORMAT);
    json_put_int(w, "version", VERSION);
    json_put_text(w, "library", pgy_version());
    json_put_text(w, "command_line", s->command_line);
    json_put_text(w, "processor", cpu_level_name(cpu_features()));
    json_put_uint(w, "processors", cpu_count());
    json_put_real(w, "engine_s", s->engine_s);
    json_put_uint(w, "plan_bytes", s->plan_bytes);
    json_put_uint(w, "streams", s->streams);
    json_put_uint(w, "warm_up_queries", from->t->warm_up_count);
    json_put_uint(w, "queries", from->t->count);
    json_put_real(w, "preparation_ms", from->t->preparation_ms);
    json_put_uint(w, "queries_with_preparation", from->t->prepared_count);
    json_put_real(w, "throughput_qps", pgy_perf_throughput(from->t));
    json_put_real(w, "wall_s", pgy_perf_wall_ms(from->t) / 1000);
    json_key(w, "metrics");
    json_begin_object(w);
    for (size_t m = 0; !st && m < sizeof METRICS / sizeof *METRICS; m++)
        st = write_metric(w, from, m, err);
    json_end_object(w);
    if (!st) st = write_warnings(w, from, err);
    if (!st && s->profile) write_layers(w, s->profile);
    if (!st && from->with_runs) write_slices(w, from->t);
    json_end_object(w);
    return st;
}

static pgy_status make_source(summary_source *out, const pgy_perf_trace *t,
                              const pgy_perf_summary *s, bool with_runs, pgy_error *err)
{
    *out = (summary_source){.t = t, .s = {.size = sizeof out->s}, .with_runs = with_runs};
    const pgy_status st = SIZED_TAKE(pgy_perf_summary, &out->s, s, err);
    if (!out->s.percentiles) {
        out->s.percentiles = PERCENTILES;
        out->s.percentile_count = sizeof PERCENTILES / sizeof *PERCENTILES;
    }
    if (!out->s.streams) out->s.streams = 1;
    return st;
}

pgy_status pgy_perf_summary_save(const char *path, const pgy_perf_trace *t,
                                 const pgy_perf_summary *summary, pgy_error *err)
{
    summary_source from;
    const pgy_status st = make_source(&from, t, summary, true, err);
    return st ? st : json_save(path, write_summary, &from, err);
}

pgy_status pgy_perf_summary_text(char **out, const pgy_perf_trace *t,
                                 const pgy_perf_summary *summary, pgy_error *err)
{
    summary_source from;
    const pgy_status st = make_source(&from, t, summary, false, err);
    return st ? st : json_to_text(out, write_summary, &from, err);
}

/* ---- Comparing ------------------------------------------------------------------------------ */

static pgy_status bench_of_trace(pgy_bench **out, const pgy_perf_trace *t, pgy_error *err)
{
    static const char *const NAME = "latency";
    int64_t times[MOST_KEPT];
    if (t->count < LEAST_SLICES)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "%zu runs are too few to compare; measure at least %d", t->count,
                             LEAST_SLICES);
    pgy_status st = pgy_bench_create(out, &NAME, 1, NULL, err);
    for (size_t k = 0; !st && k < slice_count(t); k++)
        st = pgy_bench_add(*out, 0, times, slice_times(times, t, k), false, err);
    return st;
}

static pgy_status read_slice(pgy_bench *b, const json_value *slice, const char *path, arena *a,
                             pgy_error *err)
{
    int64_t *times = arena_alloc_array(a, slice->count + 1, sizeof *times);
    size_t count = 0;
    if (!times) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (const json_value *v = slice->first; v; v = v->next) {
        if (v->type != JSON_INT || v->integer < 1)
            return pgy_error_set(err, PGY_E_FORMAT,
                                 "%s: line %u: expected a time in ns, an integer of at least 1",
                                 path, v->line);
        times[count++] = v->integer;
    }
    if (slice->type != JSON_ARRAY || !count)
        return pgy_error_set(err, PGY_E_FORMAT, "%s: line %u: expected a list of times", path,
                             slice->line);
    return pgy_bench_add(b, 0, times, count, false, err);
}

static pgy_status read_slices(pgy_bench **out, const json_value *root, const char *path, arena *a,
                              pgy_error *err)
{
    static const char *const NAME = "latency";
    const json_value *format = json_get(root, "format"), *version = json_get(root, "version");
    const json_value *slices = json_get(root, "latency_slices_ns");
    if (!format || format->type != JSON_STRING || !span_equals(format->raw, FORMAT) || !version ||
        version->type != JSON_INT || version->integer != VERSION)
        return pgy_error_set(err, PGY_E_FORMAT, "%s is no report of version %d (--report=FILE)",
                             path, VERSION);
    if (!slices || slices->type != JSON_ARRAY || slices->count < LEAST_SLICES ||
        slices->count > MOST_SLICES)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "%s: 'latency_slices_ns' is no list of %d to %d "
                             "slices, so there is nothing to compare with",
                             path, LEAST_SLICES, MOST_SLICES);
    pgy_status st = pgy_bench_create(out, &NAME, 1, NULL, err);
    for (const json_value *v = slices->first; !st && v; v = v->next)
        st = read_slice(*out, v, path, a, err);
    return st;
}

pgy_status perf_summary_parse(pgy_bench **out, span text, const char *path, pgy_error *err)
{
    arena memory = {0};
    json_value *root = NULL;
    pgy_bench *b = NULL;
    pgy_status st = json_parse(&root, text.data, text.size, &memory, err);
    if (st)
        pgy_error_prefix(err, st, "%s: ", path);
    else
        st = read_slices(&b, root, path, &memory, err);
    arena_deinit(&memory);
    if (st)
        pgy_bench_destroy(b);
    else
        *out = b;
    return st;
}

pgy_status pgy_perf_summary_compare(pgy_bench_verdict *out, const pgy_perf_trace *now,
                                    const char *path, pgy_error *err)
{
    pgy_bench *old = NULL, *new = NULL;
    str text = {0};
    pgy_status st = file_read(&text, path, err);
    if (!st) st = perf_summary_parse(&old, (span){str_text(&text), text.size}, path, err);
    if (!st) st = bench_of_trace(&new, now, err);
    if (!st) st = pgy_bench_compare(out, new, 0, old, 0, err);
    pgy_bench_destroy(old);
    pgy_bench_destroy(new);
    str_deinit(&text);
    return st;
}
