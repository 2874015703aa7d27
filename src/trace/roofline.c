/* SPDX-License-Identifier: Apache-2.0 */
/* Layers beside the peaks of the machine: how near they come to the arithmetic and to the memory
 * that it has. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "trace/summary.h"

static const double FAR = 0.5; /* below this share of both peaks */

/* ---- One layer ------------------------------------------------------------------------------- */

static bool is_on_host(const pgy_trace_times *t)
{
    return !*t->device || !strcmp(t->device, "host");
}

/* The probe multiplies float32, in which the engine also computes the 16-bit types. */
static bool computes_in_float32(const char *type)
{
    static const char *const TYPES[] = {"", "float32", "float16", "bfloat16"};
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (!strcmp(type, TYPES[i])) return true;
    return false;
}

static pgy_trace_roof look_at(const pgy_trace_times *t, const pgy_machine_peaks *peaks)
{
    const double calls = (double)t->calls;
    pgy_trace_roof r = {.layer = t, .us = t->same_work ? t->median_us : t->mean_us};
    if (!(r.us > 0) || !(calls > 0)) return r;
    r.gflops = t->flops / calls / r.us / 1e3;
    r.gb_per_s = t->bytes / calls / r.us / 1e3;
    if (t->flops > 0 && t->bytes > 0) r.intensity = t->flops / t->bytes;
    if (!is_on_host(t)) return r;
    if (computes_in_float32(t->type)) r.of_compute = r.gflops / peaks->gflops;
    r.of_memory = r.gb_per_s / peaks->gb_per_s;
    const double nearer = fmax(r.of_compute, r.of_memory);
    const bool hides_compute = t->flops > 0 && !(r.of_compute > 0);
    if (!(nearer > 0) || (hides_compute && nearer < FAR)) return r;
    r.bound = r.of_compute > r.of_memory ? PGY_TRACE_BOUND_COMPUTE : PGY_TRACE_BOUND_MEMORY;
    r.is_far = nearer < FAR;
    r.lost_us = r.us * calls * fmax(0, 1 - nearer);
    return r;
}

static int rank_of(const pgy_trace_roof *r)
{
    return r->bound == PGY_TRACE_BOUND_UNKNOWN ? 2 : r->is_far ? 0 : 1;
}

static int by_distance(const void *a, const void *b)
{
    const pgy_trace_roof *x = a, *y = b;
    const int ranks = rank_of(x) - rank_of(y);
    if (ranks) return ranks;
    if (x->lost_us != y->lost_us) return x->lost_us < y->lost_us ? 1 : -1;
    if (x->layer->total_us != y->layer->total_us)
        return x->layer->total_us < y->layer->total_us ? 1 : -1;
    return strcmp(x->layer->name, y->layer->name);
}

/* ---- The machine ----------------------------------------------------------------------------- */

static bool is_same(const pgy_trace *t, const char *fact, const char *json)
{
    const char *value = pgy_trace_fact(t, fact);
    return !value || !strcmp(value, json);
}

/* Layers can only be judged by the peaks of the machine that ran them. */
static pgy_status compare_machines(pgy_trace_summary *s, const pgy_trace *t, pgy_error *err)
{
    str cpu = {0}, processor = {0}, count = {0};
    if (!*s->peaks.cpu) return PGY_OK;
    trace_text(&cpu, s->peaks.cpu);
    trace_text(&processor, s->peaks.processor);
    str_printf(&count, "%zu", s->peaks.threads);
    const bool is_known = pgy_trace_fact(t, "processors") != NULL;
    const bool same = is_same(t, "cpu", str_text(&cpu)) &&
                      is_same(t, "processor", str_text(&processor)) &&
                      is_same(t, "processors", str_text(&count));
    if (!is_known)
        s->other_machine = "the file does not tell on which machine it was recorded";
    else if (!same)
        s->other_machine = "the recording was made on another machine, or with other instructions "
                           "or another number of threads";
    const bool failed = cpu.failed || processor.failed || count.failed;
    str_deinit(&cpu);
    str_deinit(&processor);
    str_deinit(&count);
    return failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory for a summary") : PGY_OK;
}

pgy_status trace_find_roofs(pgy_trace_summary *s, const pgy_trace *t, pgy_error *err)
{
    if (!(s->peaks.gflops > 0) || !(s->peaks.gb_per_s > 0))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "peaks of %g GFLOP/s and %g GB/s; both must be "
                             "greater than 0",
                             s->peaks.gflops, s->peaks.gb_per_s);
    for (size_t i = 0; i < s->process_count; i++) {
        pgy_trace_process *p = &s->processes[i];
        pgy_trace_roof *roofs = arena_alloc_array(&s->memory, p->layer_count + 1, sizeof *roofs);
        if (!roofs) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a summary");
        for (size_t k = 0; k < p->layer_count; k++) roofs[k] = look_at(&p->layers[k], &s->peaks);
        if (p->layer_count) qsort(roofs, p->layer_count, sizeof *roofs, by_distance);
        p->roofs = roofs;
        p->roof_count = p->layer_count;
    }
    return compare_machines(s, t, err);
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void put_rate(str *out, int width, double value)
{
    if (value > 0)
        str_printf(out, "%*.2f ", width, value);
    else
        str_printf(out, "%*s ", width, "-");
}

static void put_share(str *out, double share)
{
    if (share > 0)
        str_printf(out, "%6.1f %% ", share * 100);
    else
        str_printf(out, "%8s ", "-");
}

static void put_row(str *out, const pgy_trace_roof *r)
{
    static const char *const BOUNDS[] = {[PGY_TRACE_BOUND_UNKNOWN] = "-",
                                         [PGY_TRACE_BOUND_COMPUTE] = "compute",
                                         [PGY_TRACE_BOUND_MEMORY] = "memory"};
    str_printf(out, "\n    %10.3f %10.3f ", r->lost_us, r->us);
    put_rate(out, 9, r->gflops);
    put_share(out, r->of_compute);
    put_rate(out, 8, r->gb_per_s);
    put_share(out, r->of_memory);
    put_rate(out, 8, r->intensity);
    if (r->layer->threads)
        str_printf(out, "%7lld ", (long long)r->layer->threads);
    else
        str_printf(out, "%7s ", "-");
    str_printf(out, "%-8s  ", BOUNDS[r->bound]);
    trace_put_name(out, r->layer);
}

static void put_unknown(str *out, const pgy_trace_roof *r)
{
    const pgy_trace_times *t = r->layer;
    str_printf(out, "\n    %10.3f us in all  ", t->total_us);
    trace_put_name(out, t);
    if (!(t->flops > 0) && !(t->bytes > 0))
        str_append(out, ": the file does not tell its operations and bytes");
    else if (!is_on_host(t))
        str_printf(out, ": the peaks of device '%s' are not known", printable_name(t->device));
    else if (!(r->us > 0))
        str_append(out, ": its time is 0");
    else
        str_printf(out, ": the peak for %s is not known", printable_name(t->type));
}

typedef struct group {
    const char *title;
    int rank;
} group;

static void put_group(str *out, const group *g, const pgy_trace_process *p, size_t shown,
                      const char *more)
{
    size_t count = 0;
    for (size_t i = 0; i < p->roof_count; i++) {
        if (rank_of(&p->roofs[i]) != g->rank) continue;
        if (!count) str_printf(out, "\n    %s:", g->title);
        if (count++ >= shown) continue;
        if (g->rank == 2)
            put_unknown(out, &p->roofs[i]);
        else
            put_row(out, &p->roofs[i]);
    }
    if (count > shown) str_printf(out, "\n    ... %zu more%s", count - shown, more);
}

void trace_put_roofs(str *out, const pgy_trace_summary *s, const pgy_trace_process *p, size_t shown,
                     const char *more)
{
    static const group GROUPS[] = {
        {"Far from both peaks, below 50 %", 0}, {"Near a peak", 1}, {"Not judged", 2}};
    const pgy_machine_peaks *k = &s->peaks;
    if (!p->roof_count) return;
    if (*k->cpu)
        str_printf(out, "\n\n    Peaks of this machine (%s, %s, %zu thread%s):",
                   printable_name(k->processor), k->cpu, k->threads, k->threads == 1 ? "" : "s");
    else
        str_append(out, "\n\n    Peaks as given:");
    str_printf(out, " %.1f GFLOP/s in float32, %.1f GB/s; they meet at %.1f FLOP/B", k->gflops,
               k->gb_per_s, k->gflops / k->gb_per_s);
    if (k->is_disturbed)
        str_append(out, "\n    Other programs used the processors during the probe, so the peak of "
                        "memory may be too low; measure again when they rest");
    if (s->other_machine) str_printf(out, "\n    Do not trust the shares: %s", s->other_machine);
    str_printf(out, "\n    %10s %10s %9s %8s %8s %8s %8s %7s %-8s  %s", "Lost us", "Call us",
               "GFLOP/s", "of peak", "GB/s", "of peak", "FLOP/B", "Threads", "Bound by",
               "Name [Op]");
    for (size_t i = 0; i < sizeof GROUPS / sizeof *GROUPS; i++)
        put_group(out, &GROUPS[i], p, shown, more);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_or_null(json_writer *w, const char *key, double value)
{
    if (value > 0)
        json_put_real(w, key, value);
    else
        json_put_null(w, key);
}

void trace_roofs_json(json_writer *w, const pgy_trace_process *p)
{
    static const char *const BOUNDS[] = {[PGY_TRACE_BOUND_UNKNOWN] = NULL,
                                         [PGY_TRACE_BOUND_COMPUTE] = "compute",
                                         [PGY_TRACE_BOUND_MEMORY] = "memory"};
    json_key(w, "roofline");
    json_begin_array(w);
    for (size_t i = 0; i < p->roof_count; i++) {
        const pgy_trace_roof *r = &p->roofs[i];
        json_begin_object(w);
        json_put_text(w, "name", r->layer->name);
        json_put_text(w, "op", r->layer->op);
        json_put_real(w, "us", r->us);
        put_or_null(w, "gflops_per_s", r->gflops);
        put_or_null(w, "gb_per_s", r->gb_per_s);
        put_or_null(w, "intensity", r->intensity);
        put_or_null(w, "of_compute_peak", r->of_compute);
        put_or_null(w, "of_memory_peak", r->of_memory);
        json_put_real(w, "lost_us", r->lost_us);
        json_put_bool(w, "is_far", r->is_far);
        json_put_text(w, "bound", BOUNDS[r->bound]);
        json_end_object(w);
    }
    json_end_array(w);
}
