/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts of comparison functions, by the pairs and iterations they belong to, and over the means
 * of all iterations. Pairs are kept by position, so that two comparisons of runners with equal
 * names never share an entry. Each list of verdicts is its own allocation, so that pointers to
 * lists stay valid while more are added. */
#include <string.h>

#include "base/alloc.h"
#include "compare/compare.h"
#include "compare/judge.h"

/* Counts of the iterations whose verdicts were dropped. */
typedef struct forgotten_iterations {
    size_t total, passed;
    size_t passed_jointly; /* iterations that passed in every comparison function */
    bool any_output;       /* at least one output was compared */
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

/* ---- One comparison function ---------------------------------------------------------------- */

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
        p->forgotten.any_output |= pgy_verdicts_count(v) > 0;
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

/* ---- Means of all iterations ---------------------------------------------------------------- */

#define METRICS 9

/* Lists all numbers of a verdict in a fixed order. */
static void list_metrics(double *to[METRICS], pgy_verdict *v)
{
    double *all[METRICS] = {&v->max_absdiff,      &v->max_reldiff,      &v->mean_absdiff,
                            &v->mean_reldiff,     &v->median_absdiff,   &v->median_reldiff,
                            &v->quantile_absdiff, &v->quantile_reldiff, &v->metric};
    memcpy(to, all, sizeof all);
}

static pgy_status average_output(pgy_verdict *mean, const pgy_accuracy *a, size_t pair,
                                 const char *output, pgy_error *err)
{
    double *to[METRICS], *from[METRICS], sums[METRICS] = {0};
    size_t count = 0;
    for (size_t i = 0; i < pgy_accuracy_iteration_count(a, pair); i++) {
        const pgy_verdict *v = verdicts_find(pgy_accuracy_at(a, pair, i), output);
        if (!v) continue;
        pgy_verdict copy = *v;
        if (!v->has_metrics)
            return pgy_error_set(
                err, PGY_E_ARGUMENT,
                "Output: %s | Cannot compute an averaged comparison because at least one iteration "
                "produced no comparable metrics (e.g. a shape mismatch). Re-run without "
                "check_average "
                "to see the per-iteration results.",
                output);
        if (v->kind == PGY_COMPARE_SIMPLE && v->stat == PGY_STAT_ELEMWISE)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "Output: %s | Cannot average an 'elemwise' comparison: it is a "
                                 "per-element check with "
                                 "no scalar statistic. Choose max, mean, median, or quantile.",
                                 output);
        list_metrics(from, &copy);
        for (size_t m = 0; m < METRICS; m++) sums[m] += *from[m];
        if (!count++) *mean = *v;
        mean->verified &= v->verified;
        mean->passed &= v->passed;
    }
    list_metrics(to, mean);
    for (size_t m = 0; m < METRICS; m++) *to[m] = sums[m] / (double)count;
    verdict_judge(mean);
    return PGY_OK;
}

pgy_status accuracy_average(pgy_verdicts *out, const pgy_accuracy *a, size_t pair, pgy_error *err)
{
    for (size_t i = 0; i < pgy_accuracy_iteration_count(a, pair); i++) {
        const pgy_verdicts *list = pgy_accuracy_at(a, pair, i);
        for (size_t k = 0; k < pgy_verdicts_count(list); k++) {
            const char *output = pgy_verdicts_at(list, k)->output;
            pgy_verdict mean;
            if (verdicts_find(out, output)) continue;
            pgy_status st = average_output(&mean, a, pair, output, err);
            if (!st) st = verdicts_put(out, &mean, err);
            if (st) return st;
        }
    }
    return PGY_OK;
}

/* ---- Whether it passed ---------------------------------------------------------------------- */

/* Averages that cannot be formed count as one output that failed. */
static void average_stats(const pgy_accuracy *a, size_t pair, size_t *passed, size_t *total)
{
    pgy_verdicts *means = NULL;
    *passed = 0;
    *total = 1;
    if (verdicts_create(&means, NULL)) return;
    if (!accuracy_average(means, a, pair, NULL)) {
        *total = pgy_verdicts_count(means);
        for (size_t i = 0; i < *total; i++) *passed += pgy_verdicts_at(means, i)->passed;
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

/* ---- All functions -------------------------------------------------------------------------- */

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
            if (pgy_verdicts_count(p->iterations[k])) return true;
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
                                     "the verdicts on %zu iteration(s) of %s vs. %s were counted, "
                                     "but not kept: set run.keep_verdicts",
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
