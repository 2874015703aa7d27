/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of verdicts by output name, and the judging of one verdict. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "compare/compare.h"
#include "compare/judge.h"

struct pgy_verdicts {
    pgy_verdict *items;
    size_t count, capacity;
};

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while keeping verdicts");
}

pgy_status verdicts_create(pgy_verdicts **out, pgy_error *err)
{
    pgy_verdicts *v = mem_calloc(1, sizeof *v);
    if (!v) return no_memory(err);
    *out = v;
    return PGY_OK;
}

void verdicts_destroy(pgy_verdicts *v)
{
    if (!v) return;
    for (size_t i = 0; i < v->count; i++) mem_free(v->items[i].output);
    mem_free(v->items);
    mem_free(v);
}

pgy_verdict *verdicts_find(const pgy_verdicts *v, const char *output)
{
    for (size_t i = 0; i < v->count; i++)
        if (!strcmp(v->items[i].output, output)) return &v->items[i];
    return NULL;
}

/* Starts with room for one verdict: most models have one output, and each iteration may have a
 * list. */
static bool make_room(pgy_verdicts *v)
{
    if (v->count < v->capacity) return true;
    size_t larger = v->capacity ? v->capacity * 2 : 1;
    pgy_verdict *items = mem_realloc_array(v->items, larger, sizeof *items);
    if (!items) return false;
    v->items = items;
    v->capacity = larger;
    return true;
}

pgy_status verdicts_put(pgy_verdicts *v, const pgy_verdict *verdict, pgy_error *err)
{
    pgy_verdict *there = verdicts_find(v, verdict->output);
    if (there) {
        char *name = there->output;
        *there = *verdict;
        there->output = name;
        return PGY_OK;
    }
    char *name = mem_strdup(verdict->output);
    if (!name || !make_room(v)) {
        mem_free(name);
        return no_memory(err);
    }
    v->items[v->count] = *verdict;
    v->items[v->count++].output = name;
    return PGY_OK;
}

size_t pgy_verdicts_count(const pgy_verdicts *v)
{
    return v->count;
}

const pgy_verdict *pgy_verdicts_at(const pgy_verdicts *v, size_t i)
{
    return &v->items[i];
}

pgy_status pgy_verdicts_set(pgy_verdicts *v, const char *output, bool passed, pgy_error *err)
{
    if (!output)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'output' of a verdict must not be NULL");
    pgy_verdict verdict = {
        .output = (char *)output, .kind = PGY_COMPARE_CALLBACK, .passed = passed, .verified = true};
    return verdicts_put(v, &verdict, err);
}

bool verdicts_all_passed(const pgy_verdicts *v)
{
    for (size_t i = 0; i < v->count; i++)
        if (!v->items[i].passed) return false;
    return true;
}

static bool exceeds(double value, pgy_number tolerance)
{
    return isnan(value) || value > tolerance.real;
}

void verdict_judge(pgy_verdict *v)
{
    if (!v->has_metrics || v->kind == PGY_COMPARE_INDICES || v->kind == PGY_COMPARE_CALLBACK)
        return;
    if (v->kind != PGY_COMPARE_SIMPLE) {
        bool more = compare_kind_find(v->kind)->more_is_better;
        v->passed =
            v->verified && (more ? v->metric >= v->threshold.real : v->metric <= v->threshold.real);
        return;
    }
    const double absolute[] = {0, v->max_absdiff, v->mean_absdiff, v->median_absdiff,
                               v->quantile_absdiff};
    const double relative[] = {0, v->max_reldiff, v->mean_reldiff, v->median_reldiff,
                               v->quantile_reldiff};
    if (v->stat == PGY_STAT_ELEMWISE) return;
    v->passed = !(exceeds(absolute[v->stat], v->atol) && exceeds(relative[v->stat], v->rtol));
}
