/* SPDX-License-Identifier: Apache-2.0 */
/* Times of layers, from a loop of their own. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/json.h"
#include "base/sized.h"
#include "base/system.h"
#include "perf/perf.h"

struct pgy_perf_profile {
    pgy_perf_layer *layers;
    size_t count, layer_capacity;
    double *times; /* run after run, `count` each */
    size_t time_count, time_capacity;
    size_t runs;
    pgy_perf_layer total;
    bool failed; /* out of memory, or the layers changed */
};

/* ---- Recording ------------------------------------------------------------------------------ */

static bool add_layer(pgy_perf_profile *p, const char *name)
{
    if (!mem_grow((void **)&p->layers, &p->layer_capacity, p->count + 1, sizeof *p->layers))
        return false;
    char *copy = mem_strdup(name);
    if (!copy) return false;
    p->layers[p->count++] = (pgy_perf_layer){.name = copy};
    return true;
}

/* The first run names the layers; later runs must have the same ones. */
static void note_layer(void *user, const char *name, double ms)
{
    pgy_perf_profile *p = user;
    if (p->failed) return;
    const bool room =
        mem_grow((void **)&p->times, &p->time_capacity, p->time_count + 1, sizeof *p->times);
    if (!room || (!p->runs && !add_layer(p, name)) ||
        (p->runs && p->time_count >= (p->runs + 1) * p->count)) {
        p->failed = true;
        return;
    }
    p->times[p->time_count++] = ms;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static pgy_status summarize(pgy_perf_profile *p, pgy_error *err)
{
    double *column = mem_calloc(p->runs + 1, sizeof *column);
    double *sums = mem_calloc(p->runs + 1, sizeof *sums);
    const double n = p->runs ? (double)p->runs : 1;
    for (size_t k = 0; column && sums && k < p->count; k++) {
        pgy_perf_layer *l = &p->layers[k];
        for (size_t r = 0; r < p->runs; r++) {
            column[r] = p->times[r * p->count + k];
            l->total_ms += column[r];
            sums[r] += column[r];
        }
        qsort(column, p->runs, sizeof *column, ascending);
        l->average_ms = l->total_ms / n;
        l->median_ms = perf_median(column, p->runs);
        p->total.total_ms += l->total_ms;
    }
    if (sums) qsort(sums, p->runs, sizeof *sums, ascending);
    p->total.name = "Total";
    p->total.average_ms = p->total.total_ms / n;
    p->total.median_ms = sums ? perf_median(sums, p->runs) : 0;
    p->total.percent = 100;
    for (size_t k = 0; k < p->count; k++)
        if (p->total.total_ms > 0)
            p->layers[k].percent = p->layers[k].total_ms / p->total.total_ms * 100;
    const bool ok = column && sums;
    mem_free(column);
    mem_free(sums);
    return ok ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static pgy_status run_profiled(pgy_perf_profile *p, perf_lane *lane, const pgy_perf_options *o,
                               pgy_error *err)
{
    const pgy_profiler profiler = {.size = sizeof profiler, .user = p, .layer = note_layer};
    const int64_t begin = clock_ns();
    perf_lane_copy_in(lane);
    pgy_status st = pgy_context_execute(perf_lane_context(lane), err); /* a warm-up */
    if (!st) st = pgy_context_set_profiler(perf_lane_context(lane), &profiler, true, err);
    while (!st && ((int64_t)p->runs < o->iterations ||
                   (double)(clock_ns() - begin) < o->duration_s * 1e9)) {
        st = cancel_check(err);
        if (!st) st = pgy_context_execute(perf_lane_context(lane), err);
        if (!st && (p->failed || p->time_count != (p->runs + 1) * p->count))
            st = pgy_error_set(err, PGY_E_MEMORY, "the times of run %zu could not be recorded",
                               p->runs);
        p->runs += !st;
    }
    return st;
}

pgy_status pgy_perf_profile_layers(pgy_perf_profile **out, pgy_engine *engine,
                                   const pgy_tensor_map *feed, const pgy_perf_options *options,
                                   pgy_error *err)
{
    pgy_perf_options o = pgy_perf_options_default();
    perf_lane *lane = NULL;
    pgy_status st = SIZED_TAKE(pgy_perf_options, &o, options, err);
    if (st) return st;
    pgy_perf_profile *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    st = perf_lane_create(&lane, engine, feed, &o, err);
    if (!st) st = run_profiled(p, lane, &o, err);
    if (!st) st = summarize(p, err);
    perf_lane_destroy(lane);
    if (st)
        pgy_perf_profile_destroy(p);
    else
        *out = p;
    return st;
}

void pgy_perf_profile_destroy(pgy_perf_profile *p)
{
    if (!p) return;
    for (size_t i = 0; i < p->count; i++) mem_free((char *)p->layers[i].name);
    mem_free(p->layers);
    mem_free(p->times);
    mem_free(p);
}

size_t pgy_perf_profile_runs(const pgy_perf_profile *p)
{
    return p->runs;
}

size_t pgy_perf_profile_count(const pgy_perf_profile *p)
{
    return p->count;
}

const pgy_perf_layer *pgy_perf_profile_at(const pgy_perf_profile *p, size_t i)
{
    return &p->layers[i];
}

pgy_perf_layer pgy_perf_profile_total(const pgy_perf_profile *p)
{
    return p->total;
}

/* ---- The table and the file ----------------------------------------------------------------- */

static void print_row(str *out, const pgy_perf_layer *l)
{
    str_printf(out, "%12.2f %12.4f %12.4f %8.1f   %s\n", l->total_ms, l->average_ms, l->median_ms,
               l->percent, l->name);
}

pgy_status pgy_perf_profile_text(char **out, const pgy_perf_profile *p, pgy_error *err)
{
    str text = {0};
    str_printf(&text, "=== Profile (%zu iterations ) ===\n", p->runs);
    str_printf(&text, "%12s %12s %12s %8s   %s\n", "Time(ms)", "Avg.(ms)", "Median(ms)", "Time(%)",
               "Layer");
    for (size_t i = 0; i < p->count; i++)
        if (p->layers[i].total_ms > 0) print_row(&text, &p->layers[i]);
    print_row(&text, &p->total);
    const pgy_status st = str_give(out, &text, err);
    str_deinit(&text);
    return st;
}

static pgy_status write_profile(json_writer *w, const void *user, pgy_error *err)
{
    const pgy_perf_profile *p = user;
    (void)err;
    json_begin_array(w);
    json_begin_object(w);
    json_put_uint(w, "count", p->runs);
    json_end_object(w);
    for (size_t i = 0; i < p->count; i++) {
        json_begin_object(w);
        json_put_text(w, "name", p->layers[i].name);
        json_put_real(w, "timeMs", p->layers[i].total_ms);
        json_put_real(w, "averageMs", p->layers[i].average_ms);
        json_put_real(w, "medianMs", p->layers[i].median_ms);
        json_put_real(w, "percentage", p->layers[i].percent);
        json_end_object(w);
    }
    json_end_array(w);
    return PGY_OK;
}

pgy_status pgy_perf_profile_save(const char *path, const pgy_perf_profile *p, pgy_error *err)
{
    return json_save(path, write_profile, p, err);
}
