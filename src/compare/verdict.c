/* SPDX-License-Identifier: Apache-2.0 */
/* Containers of verdicts: lists by output name, and per comparison function the pairs and
 * iterations they belong to. Pairs are kept by position, so that two comparisons of runners with
 * equal names never share an entry. Each entry is its own allocation, so that pointers to entries
 * stay valid while more are added. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "compare/compare.h"
#include "compare/judge.h"

struct pgy_verdicts {
    pgy_verdict *items;
    size_t count, capacity;
};

/* Counts of the iterations whose verdicts were dropped. */
typedef struct forgotten_iterations {
    size_t total, passed;
    size_t passed_jointly; /* in every function */
    bool any_output;       /* something was compared */
} forgotten_iterations;

typedef struct pair_entry {
    char *first, *second;
    pgy_verdicts **iterations;
    size_t count, capacity;
    forgotten_iterations forgotten;
} pair_entry;

struct pgy_accuracy {
    pgy_compare_kind kind;
    bool average;
    pair_entry *pairs;
    size_t count, capacity;
};

struct pgy_accuracy_results {
    pgy_accuracy **functions;
    size_t count, capacity;
    strvec failures;
};

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while keeping verdicts");
}

/* ---- Lists of verdicts
 * ---------------------------------------------------------------------------- */

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

static pgy_verdict *find(const pgy_verdicts *v, const char *output)
{
    for (size_t i = 0; i < v->count; i++)
        if (!strcmp(v->items[i].output, output)) return &v->items[i];
    return NULL;
}

/* Starts with room for one item: most models have one output, and there may be a list per
 * iteration. */
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
    pgy_verdict *there = find(v, verdict->output);
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
    if (!output) return pgy_error_set(err, PGY_E_ARGUMENT, "a verdict needs the name of an output");
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

/* ---- One comparison function
 * ----------------------------------------------------------------------- */

static void accuracy_destroy(pgy_accuracy *a)
{
    if (!a) return;
    for (size_t i = 0; i < a->count; i++) {
        pair_entry *p = &a->pairs[i];
        for (size_t k = 0; k < p->count; k++) verdicts_destroy(p->iterations[k]);
        mem_free(p->iterations);
        mem_free(p->first);
        mem_free(p->second);
    }
    mem_free(a->pairs);
    mem_free(a);
}

pgy_status accuracy_add_pair(size_t *pair, pgy_accuracy *a, const char *first, const char *second,
                             pgy_error *err)
{
    pair_entry p = {.first = mem_strdup(first), .second = mem_strdup(second)};
    if (!p.first || !p.second ||
        !mem_grow((void **)&a->pairs, &a->capacity, a->count + 1, sizeof *a->pairs)) {
        mem_free(p.first);
        mem_free(p.second);
        return no_memory(err);
    }
    a->pairs[a->count] = p;
    *pair = a->count++;
    return PGY_OK;
}

pgy_status accuracy_add_iteration(pgy_verdicts **out, pgy_accuracy *a, size_t pair, pgy_error *err)
{
    pair_entry *p = &a->pairs[pair];
    pgy_verdicts *v = NULL;
    if (!mem_grow((void **)&p->iterations, &p->capacity, p->count + 1, sizeof *p->iterations))
        return no_memory(err);
    pgy_status st = verdicts_create(&v, err);
    if (st) return st;
    p->iterations[p->count++] = v;
    *out = v;
    return PGY_OK;
}

void accuracy_forget_iteration(pgy_accuracy_results *r, size_t pair)
{
    bool jointly = true;
    for (size_t f = 0; f < r->count; f++) {
        const pair_entry *p = &r->functions[f]->pairs[pair];
        jointly &= verdicts_all_passed(p->iterations[p->count - 1]);
    }
    for (size_t f = 0; f < r->count; f++) {
        pair_entry *p = &r->functions[f]->pairs[pair];
        pgy_verdicts *v = p->iterations[--p->count];
        p->forgotten.total++;
        p->forgotten.passed += verdicts_all_passed(v);
        p->forgotten.passed_jointly += jointly;
        p->forgotten.any_output |= v->count > 0;
        verdicts_destroy(v);
    }
}

pgy_compare_kind pgy_accuracy_kind(const pgy_accuracy *a)
{
    return a->kind;
}

bool pgy_accuracy_is_average(const pgy_accuracy *a)
{
    return a->average;
}

size_t pgy_accuracy_pair_count(const pgy_accuracy *a)
{
    return a->count;
}

void pgy_accuracy_pair(const pgy_accuracy *a, size_t pair, const char **first, const char **second)
{
    *first = a->pairs[pair].first;
    *second = a->pairs[pair].second;
}

size_t pgy_accuracy_iteration_count(const pgy_accuracy *a, size_t pair)
{
    return a->pairs[pair].count;
}

const pgy_verdicts *pgy_accuracy_at(const pgy_accuracy *a, size_t pair, size_t iteration)
{
    return a->pairs[pair].iterations[iteration];
}

/* Averages that cannot be formed count as one output that failed. */
static void average_stats(const pgy_accuracy *a, size_t pair, size_t *passed, size_t *total)
{
    pgy_verdicts *means = NULL;
    *passed = 0;
    *total = 1;
    if (verdicts_create(&means, NULL)) return;
    if (!accuracy_average(means, a, pair, NULL)) {
        *total = means->count;
        for (size_t i = 0; i < means->count; i++) *passed += means->items[i].passed;
    }
    verdicts_destroy(means);
}

void pgy_accuracy_stats(const pgy_accuracy *a, size_t pair, size_t *passed, size_t *total)
{
    if (a->average) {
        average_stats(a, pair, passed, total);
        return;
    }
    const pair_entry *p = &a->pairs[pair];
    *passed = p->forgotten.passed;
    *total = p->forgotten.total + p->count;
    for (size_t i = 0; i < p->count; i++) *passed += verdicts_all_passed(p->iterations[i]);
}

bool pgy_accuracy_passed(const pgy_accuracy *a)
{
    for (size_t i = 0; i < a->count; i++) {
        size_t passed, total;
        pgy_accuracy_stats(a, i, &passed, &total);
        if (passed != total) return false;
    }
    return true;
}

/* ---- All functions
 * --------------------------------------------------------------------------------- */

pgy_status accuracy_results_create(pgy_accuracy_results **out, pgy_error *err)
{
    pgy_accuracy_results *r = mem_calloc(1, sizeof *r);
    if (!r) return no_memory(err);
    *out = r;
    return PGY_OK;
}

void pgy_accuracy_results_destroy(pgy_accuracy_results *r)
{
    if (!r) return;
    for (size_t i = 0; i < r->count; i++) accuracy_destroy(r->functions[i]);
    mem_free(r->functions);
    strvec_deinit(&r->failures);
    mem_free(r);
}

pgy_status accuracy_add(pgy_accuracy **out, pgy_accuracy_results *r, pgy_compare_kind kind,
                        bool average, pgy_error *err)
{
    pgy_accuracy *a = mem_calloc(1, sizeof *a);
    if (!a || !mem_grow((void **)&r->functions, &r->capacity, r->count + 1, sizeof *r->functions)) {
        mem_free(a);
        return no_memory(err);
    }
    a->kind = kind;
    a->average = average;
    r->functions[r->count++] = a;
    *out = a;
    return PGY_OK;
}

size_t pgy_accuracy_results_count(const pgy_accuracy_results *r)
{
    return r->count;
}

const pgy_accuracy *pgy_accuracy_results_at(const pgy_accuracy_results *r, size_t i)
{
    return r->functions[i];
}

static bool holds_verdicts(const pgy_accuracy *a)
{
    for (size_t i = 0; i < a->count; i++) {
        const pair_entry *p = &a->pairs[i];
        if (p->forgotten.any_output) return true;
        for (size_t k = 0; k < p->count; k++)
            if (p->iterations[k]->count) return true;
    }
    return false;
}

void accuracy_joint_stats(const pgy_accuracy_results *r, size_t pair, size_t *passed, size_t *total)
{
    const pair_entry *first = &r->functions[0]->pairs[pair];
    *passed = first->forgotten.passed_jointly;
    *total = first->forgotten.total + first->count;
    for (size_t i = 0; i < first->count; i++) {
        bool good = true;
        for (size_t f = 0; f < r->count; f++) {
            const pair_entry *p = &r->functions[f]->pairs[pair];
            if (i < p->count) good &= verdicts_all_passed(p->iterations[i]);
        }
        *passed += good;
    }
}

pgy_status accuracy_expect_all(const pgy_accuracy_results *r, pgy_error *err)
{
    for (size_t f = 0; f < r->count; f++)
        for (size_t i = 0; i < r->functions[f]->count; i++)
            if (r->functions[f]->pairs[i].forgotten.total)
                return pgy_error_set(err, PGY_E_ARGUMENT,
                                     "the verdicts on %zu iteration(s) of %s vs. %s were only "
                                     "counted, not kept (keep_verdicts)",
                                     r->functions[f]->pairs[i].forgotten.total,
                                     r->functions[f]->pairs[i].first,
                                     r->functions[f]->pairs[i].second);
    return PGY_OK;
}

bool accuracy_add_failure(pgy_accuracy_results *r, const char *text)
{
    return strvec_push(&r->failures, text);
}

size_t pgy_accuracy_results_failure_count(const pgy_accuracy_results *r)
{
    return r->failures.count;
}

const char *pgy_accuracy_results_failure(const pgy_accuracy_results *r, size_t i)
{
    return r->failures.items[i];
}

bool pgy_accuracy_results_verdicts_passed(const pgy_accuracy_results *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (!pgy_accuracy_passed(r->functions[i])) return false;
    return true;
}

/* Results without any comparison do not pass. */
bool pgy_accuracy_results_passed(const pgy_accuracy_results *r)
{
    bool compared = false;
    for (size_t i = 0; i < r->count; i++) compared |= holds_verdicts(r->functions[i]);
    return compared && !r->failures.count && pgy_accuracy_results_verdicts_passed(r);
}
