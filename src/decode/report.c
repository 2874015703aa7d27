/* SPDX-License-Identifier: Apache-2.0 */
/* The report: the verdict, and what it holds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "decode/decode.h"

static pgy_status out_of_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

const char *decode_report_keep(pgy_decode_report *r, const char *name)
{
    strmap_entry *found = strmap_find(&r->tensors, name);
    if (!found && strmap_put(&r->tensors, name, NULL)) found = strmap_find(&r->tensors, name);
    return found ? found->key : NULL;
}

void pgy_decode_report_destroy(pgy_decode_report *r)
{
    if (!r) return;
    arena_deinit(&r->memory);
    strmap_deinit(&r->tensors);
    strvec_deinit(&r->names);
    strvec_deinit(&r->patterns);
    strvec_deinit(&r->failures);
    str_deinit(&r->reason);
    prompt_deinit(&r->prompt);
    mem_free(r->steps);
    mem_free(r->comparisons);
    mem_free(r->choices);
    mem_free(r->times_ns);
    mem_free(r->preparations_ns);
    mem_free(r->kept_counts);
    mem_free(r);
}

/* ---- The verdict ------------------------------------------------------------------------------
 */

static size_t differing(const pgy_decode_report *r, size_t pair)
{
    size_t n = 0;
    for (size_t i = 0; i < r->step_count; i++) {
        const pgy_decode_comparison *c = pgy_decode_report_at(r, pair, i);
        n += c->compared && c->differs;
    }
    return n;
}

static void judge_pair(pgy_decode_report *r, size_t pair)
{
    const pgy_decode_comparison *first = pgy_decode_report_first(r, pair);
    size_t step, row;
    if (first && !r->reason.size)
        str_printf(&r->reason, "%zu of %zu steps of %s differ from %s, the first is step %zu",
                   differing(r, pair), r->step_count, r->names.items[pair + 1], r->names.items[0],
                   first->step);
    if (first) r->failed = true;
    if (!r->free_running || !pgy_decode_report_parting(&step, &row, r, pair)) return;
    r->failed = true;
    if (!r->reason.size)
        str_printf(&r->reason, "the texts of %s and %s part after step %zu", r->names.items[0],
                   r->names.items[pair + 1], step);
}

pgy_status decode_report_conclude(pgy_decode_report *r, pgy_error *err)
{
    if (r->failures.count) {
        r->failed = true;
        str_append(&r->reason, r->failures.items[0]);
    }
    for (size_t i = 0; i + 1 < r->names.count; i++) judge_pair(r, i);
    return r->reason.failed ? out_of_memory(err) : PGY_OK;
}

bool pgy_decode_report_passed(const pgy_decode_report *r)
{
    return !r->failed;
}

const char *pgy_decode_report_reason(const pgy_decode_report *r)
{
    return str_text(&r->reason);
}

size_t pgy_decode_report_failure_count(const pgy_decode_report *r)
{
    return r->failures.count;
}

const char *pgy_decode_report_failure(const pgy_decode_report *r, size_t i)
{
    return i < r->failures.count ? r->failures.items[i] : NULL;
}

/* ---- What it holds ----------------------------------------------------------------------------
 */

size_t pgy_decode_report_runner_count(const pgy_decode_report *r)
{
    return r->names.count;
}

const char *pgy_decode_report_runner_name(const pgy_decode_report *r, size_t runner)
{
    return runner < r->names.count ? r->names.items[runner] : NULL;
}

size_t pgy_decode_report_step_count(const pgy_decode_report *r)
{
    return r->step_count;
}

const pgy_decode_step *pgy_decode_report_step(const pgy_decode_report *r, size_t step)
{
    return step < r->step_count ? &r->steps[step] : NULL;
}

const pgy_decode_comparison *pgy_decode_report_at(const pgy_decode_report *r, size_t pair,
                                                  size_t step)
{
    const bool known = step < r->step_count && r->names.count && pair < r->names.count - 1;
    return known ? &r->comparisons[pair * r->step_limit + step] : NULL;
}

const pgy_decode_comparison *pgy_decode_report_first(const pgy_decode_report *r, size_t pair)
{
    for (size_t i = 0; i < r->step_count; i++) {
        const pgy_decode_comparison *c = pgy_decode_report_at(r, pair, i);
        if (c && c->compared && c->differs) return c;
    }
    return NULL;
}

int64_t pgy_decode_report_choice(const pgy_decode_report *r, size_t runner, size_t row, size_t step)
{
    if (runner >= r->names.count || row >= r->batch || step >= r->step_count) return -1;
    return r->choices[(runner * r->step_limit + step) * r->batch + row];
}

bool pgy_decode_report_parting(size_t *step, size_t *row, const pgy_decode_report *r, size_t pair)
{
    if (!r->names.count || pair >= r->names.count - 1) return false;
    for (size_t i = 0; i < r->step_count; i++)
        for (size_t k = 0; k < r->batch; k++) {
            if (pgy_decode_report_choice(r, 0, k, i) == pgy_decode_report_choice(r, pair + 1, k, i))
                continue;
            *step = i;
            if (row) *row = k;
            return true;
        }
    return false;
}

size_t pgy_decode_report_batch(const pgy_decode_report *r)
{
    return r->batch;
}

const int64_t *pgy_decode_report_prompt(size_t *count, const pgy_decode_report *r, size_t row)
{
    *count = row < r->batch ? r->prompt.length : 0;
    return row < r->batch ? prompt_row(&r->prompt, row) : NULL;
}

int64_t pgy_decode_report_time_ns(const pgy_decode_report *r, size_t runner, size_t step)
{
    if (runner >= r->names.count || step >= r->step_count) return -1;
    return r->times_ns[runner * r->step_limit + step];
}

int64_t pgy_decode_report_preparation_ns(const pgy_decode_report *r, size_t runner, size_t step)
{
    if (runner >= r->names.count || step >= r->step_count) return -1;
    return r->preparations_ns[runner * r->step_limit + step];
}

/* ---- Latency ----------------------------------------------------------------------------------
 */

static int compare_times(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Interpolates between the two nearest times, as NumPy does. */
static double percentile(const int64_t *sorted, size_t count, double share)
{
    const double at = share * (double)(count - 1);
    const size_t low = (size_t)at;
    const size_t high = low + 1 < count ? low + 1 : low;
    const double below = (double)sorted[low], above = (double)sorted[high];
    return (below + (above - below) * (at - (double)low)) / 1e6;
}

pgy_status latency_compute(pgy_decode_latency *out, const int64_t *times_ns, size_t count,
                           pgy_error *err)
{
    pgy_decode_latency l = {.prefill_ms = NAN};
    if (count) l.prefill_ms = (double)times_ns[0] / 1e6;
    if (count < 2) {
        *out = l;
        return PGY_OK;
    }
    l.count = count - 1;
    int64_t *sorted = mem_calloc(l.count, sizeof *sorted);
    if (!sorted) return out_of_memory(err);
    memcpy(sorted, times_ns + 1, l.count * sizeof *sorted);
    qsort(sorted, l.count, sizeof *sorted, compare_times);
    for (size_t i = 0; i < l.count; i++) l.total_ms += (double)sorted[i] / 1e6;
    l.mean_ms = l.total_ms / (double)l.count;
    l.min_ms = percentile(sorted, l.count, 0);
    l.median_ms = percentile(sorted, l.count, 0.5);
    l.p90_ms = percentile(sorted, l.count, 0.9);
    l.p95_ms = percentile(sorted, l.count, 0.95);
    l.p99_ms = percentile(sorted, l.count, 0.99);
    l.max_ms = percentile(sorted, l.count, 1);
    mem_free(sorted);
    *out = l;
    return PGY_OK;
}

size_t pgy_decode_report_cache_count(const pgy_decode_report *r)
{
    return r->cache_count;
}

size_t pgy_decode_report_kept_caches(const pgy_decode_report *r, size_t runner)
{
    return runner < r->names.count ? r->kept_counts[runner] : 0;
}

pgy_status pgy_decode_report_latency(pgy_decode_latency *out, const pgy_decode_report *r,
                                     size_t runner, pgy_error *err)
{
    if (runner >= r->names.count)
        return pgy_error_set(err, PGY_E_ARGUMENT, "runner %zu does not exist: there are %zu",
                             runner, r->names.count);
    return latency_compute(out, r->times_ns + runner * r->step_limit, r->step_count, err);
}
