/* SPDX-License-Identifier: Apache-2.0 */
/* What a search found: the Pareto front of time, loss and size, and a table. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/printable.h"
#include "perf/route.h"

bool route_passed(const pgy_route_result *r)
{
    return !r->crash && !r->error[0] && !r->accuracy_failed && !isnan(r->gpu_time_ms);
}

/* ---- The front ------------------------------------------------------------------------------ */

/* A loss that is not known counts as equal to all others. */
static double loss_of(const pgy_route_result *r)
{
    return isnan(r->loss) ? 0 : r->loss;
}

static bool dominates(const pgy_route_result *a, const pgy_route_result *b)
{
    if (!route_passed(a) || a->gpu_time_ms > b->gpu_time_ms || loss_of(a) > loss_of(b) ||
        a->plan_bytes > b->plan_bytes)
        return false;
    return a->gpu_time_ms < b->gpu_time_ms || loss_of(a) < loss_of(b) ||
           a->plan_bytes < b->plan_bytes;
}

void route_mark_front(pgy_route_result *results, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        results[i].on_front = route_passed(&results[i]);
        for (size_t k = 0; k < count && results[i].on_front; k++)
            results[i].on_front = !dominates(&results[k], &results[i]);
    }
}

const pgy_route_result *route_fastest(const pgy_route_result *results, size_t count)
{
    const pgy_route_result *best = NULL;
    for (size_t i = 0; i < count; i++)
        if (route_passed(&results[i]) && (!best || results[i].gpu_time_ms < best->gpu_time_ms))
            best = &results[i];
    return best;
}

/* ---- The table ------------------------------------------------------------------------------ */

/* Routes that passed by time, then the others by their number. */
static int by_time(const void *a, const void *b)
{
    const pgy_route_result *x = *(const pgy_route_result *const *)a;
    const pgy_route_result *y = *(const pgy_route_result *const *)b;
    const bool good_x = route_passed(x), good_y = route_passed(y);
    if (good_x != good_y) return good_y - good_x;
    if (good_x && x->gpu_time_ms != y->gpu_time_ms) return x->gpu_time_ms < y->gpu_time_ms ? -1 : 1;
    return (x->iteration > y->iteration) - (x->iteration < y->iteration);
}

static void append_figures(str *out, const pgy_route_result *r, const pgy_route_result *baseline)
{
    if (isnan(r->gpu_time_ms))
        str_printf(out, " %12s", "-");
    else
        str_printf(out, " %12.6g", r->gpu_time_ms);
    if (!baseline || isnan(r->gpu_time_ms) || !(baseline->gpu_time_ms > 0))
        str_printf(out, " %9s", "-");
    else
        str_printf(out, " %+8.1f%%", (r->gpu_time_ms / baseline->gpu_time_ms - 1) * 100);
    if (r->loss_count)
        str_printf(out, " %12.4g", r->loss);
    else
        str_printf(out, " %12s", "-");
    if (r->plan_bytes)
        str_printf(out, " %10.1f", (double)r->plan_bytes / 1024);
    else
        str_printf(out, " %10s", "-");
}

/* The knobs of a route whose values differ from those of the baseline. Routes of one search name
 * the same knobs in the same order. */
static void append_changes(str *out, const char *route, const char *baseline)
{
    size_t count = 0;
    for (const char *at = route, *base = baseline; *at;) {
        const size_t size = strcspn(at, " "), base_size = strcspn(base, " ");
        if (!span_equal((span){at, size}, (span){base, base_size})) {
            if (count++) str_append_char(out, ' ');
            str_append_printable(out, at, size, "");
        }
        at += size + (at[size] == ' ');
        base += base_size + (base[base_size] == ' ');
    }
    if (!count) str_append(out, "the baseline");
}

static void append_row(str *out, const pgy_route_search *s, const pgy_route_result *r,
                       const pgy_route_result *baseline)
{
    str_printf(out, "%c %5zu", r->on_front ? '*' : ' ', r->iteration);
    append_figures(out, r, baseline);
    str_append(out, "  ");
    append_changes(out, r->route, s->cache.header.baseline);
    if (r->crash)
        str_append(out, "  CRASH: ");
    else if (r->error[0])
        str_append(out, "  FAILED: ");
    else if (r->accuracy_failed)
        str_append(out, "  FAILED: the loss is too large");
    str_append_printable(out, r->error, strlen(r->error), "");
    str_append_char(out, '\n');
}

static void append_table(str *out, const pgy_route_search *s, const pgy_route_result **rows,
                         const pgy_route_result *baseline)
{
    str_printf(out, "  %5s %12s %9s %9s %2s %10s  %s\n", "iter", "GPU time ms", "change", "loss",
               route_loss_name(s->options.loss), "plan KiB", "changes");
    for (size_t i = 0; i < s->cache.count; i++) append_row(out, s, rows[i], baseline);
}

/* ---- Sentences ------------------------------------------------------------------------------ */

static void append_fastest(str *out, const pgy_route_result *best, const pgy_route_result *baseline)
{
    str_printf(out, "Fastest route: iteration %zu, '", best->iteration);
    str_append_printable(out, best->route, strlen(best->route), "");
    str_append_char(out, '\'');
    if (!baseline) {
        str_append(out, "; the baseline failed.\n");
    } else if (best == baseline) {
        str_append(out, ", which is the baseline: no other route is faster.\n");
    } else {
        str_printf(out, ", takes %.1f %% less time than the baseline.\n",
                   (1 - best->gpu_time_ms / baseline->gpu_time_ms) * 100);
        str_append(out, "Each route was measured once; 'polygraphy bench' compares two plans with "
                        "an interval.\n");
    }
}

static void append_sentences(str *out, const pgy_route_search *s, const pgy_route_result *baseline)
{
    const pgy_route_result *best = route_fastest(s->cache.results, s->cache.count);
    size_t failed = 0;
    for (size_t i = 0; i < s->cache.count; i++) failed += !route_passed(&s->cache.results[i]);
    str_append(out, "The baseline is '");
    str_append_printable(out, s->cache.header.baseline, strlen(s->cache.header.baseline), "");
    str_append(out, "'.\n* on the Pareto front: no other route is at least as good in time, loss "
                    "and size, and better in one.\n");
    str_printf(out, "The loss compares outputs with %s.\n",
               s->options.has_references ? "the references" : "those of the baseline");
    if (best)
        append_fastest(out, best, baseline);
    else
        str_append(out, "No route gave an engine that passes.\n");
    if (failed) str_printf(out, "%zu of %zu routes failed.\n", failed, s->cache.count);
    if (s->left) str_printf(out, "%zu routes were not tried.\n", s->left);
}

pgy_status pgy_route_search_text(char **out, const pgy_route_search *s, pgy_error *err)
{
    const size_t count = s->cache.count;
    const pgy_route_result **rows = mem_calloc(count + 1, sizeof *rows);
    const pgy_route_result *baseline = NULL;
    str text = {0};
    if (!rows) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for the table of routes");
    for (size_t i = 0; i < count; i++) {
        rows[i] = &s->cache.results[i];
        if (!rows[i]->iteration && route_passed(rows[i])) baseline = rows[i];
    }
    qsort(rows, count, sizeof *rows, by_time);
    append_table(&text, s, rows, baseline);
    append_sentences(&text, s, baseline);
    mem_free(rows);
    return str_give(out, &text, err);
}
