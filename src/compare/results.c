/* SPDX-License-Identifier: Apache-2.0 */
/* The container of inference results: runners in order (names may repeat), each with its
 * iterations. Outputs are shared, and swapped to disk above the swap threshold. */
#include "compare/results.h"

#include <math.h>

#include "base/alloc.h"
#include "base/log.h"
#include "compare/judge.h"

static const char LOG_PATH[] = "comparator/struct.py";

static const uint64_t ADVISE_SWAP_BYTES = (uint64_t)1 << 30;

pgy_status pgy_results_create(pgy_results **out, pgy_error *err)
{
    pgy_results *r = mem_calloc(1, sizeof *r);
    if (!r) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for results");
    *out = r;
    return PGY_OK;
}

static void iteration_deinit(pgy_iteration *it)
{
    mem_free(it->runner_name);
    pgy_tensor_map_destroy(it->outputs);
}

static void runner_deinit(runner_results *r)
{
    for (size_t i = 0; i < r->count; i++) iteration_deinit(&r->iterations[i]);
    mem_free(r->iterations);
    mem_free(r->name);
}

void pgy_results_destroy(pgy_results *r)
{
    if (!r) return;
    for (size_t i = 0; i < r->count; i++) runner_deinit(&r->runners[i]);
    mem_free(r->runners);
    mem_free(r);
}

size_t pgy_results_runner_count(const pgy_results *r)
{
    return r->count;
}

const char *pgy_results_runner_name(const pgy_results *r, size_t runner)
{
    return r->runners[runner].name;
}

size_t pgy_results_iteration_count(const pgy_results *r, size_t runner)
{
    return r->runners[runner].count;
}

const pgy_iteration *pgy_results_at(const pgy_results *r, size_t runner, size_t iteration)
{
    return &r->runners[runner].iterations[iteration];
}

pgy_iteration *results_mutable_at(pgy_results *r, size_t runner, size_t iteration)
{
    return &r->runners[runner].iterations[iteration];
}

pgy_status pgy_results_add_runner(pgy_results *r, const char *name, size_t *index, pgy_error *err)
{
    char *copy = mem_strdup(name);
    if (!copy || !mem_grow((void **)&r->runners, &r->capacity, r->count + 1, sizeof *r->runners)) {
        mem_free(copy);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for results of '%s'", name);
    }
    r->runners[r->count] = (runner_results){.name = copy};
    if (index) *index = r->count;
    r->count++;
    return PGY_OK;
}

/* Swaps big outputs to disk. Without a swap threshold it only advises to set one when outputs are
 * huge. */
static pgy_status swap_outputs(pgy_tensor_map *outputs, pgy_error *err)
{
    int64_t threshold;
    uint64_t total = 0;
    pgy_status st = pgy_swap_threshold_mb(&threshold, err);
    for (size_t i = 0; !st && i < pgy_tensor_map_count(outputs); i++) {
        pgy_tensor *t = pgy_tensor_map_at(outputs, i);
        uint64_t size = pgy_tensor_size_bytes(t);
        total += size;
        if (threshold >= 0 && size > (uint64_t)threshold << 20) st = pgy_tensor_swap_out(t, err);
    }
    if (!st && threshold < 0 && total >= ADVISE_SWAP_BYTES)
        LOG_ONCE(
            WARNING,
            "The outputs of one iteration are %.1f GiB. Set POLYGRAPHY_ARRAY_SWAP_THRESHOLD_MB to "
            "keep large arrays on disk instead of in memory.",
            (double)total / (double)ADVISE_SWAP_BYTES);
    return st;
}

pgy_status results_adopt(pgy_results *r, size_t runner, const char *name, pgy_tensor_map *outputs,
                         double runtime_s, pgy_error *err)
{
    runner_results *entry = &r->runners[runner];
    char *copy = mem_strdup(name);
    pgy_status st = swap_outputs(outputs, err);
    if (!st && (!copy || !mem_grow((void **)&entry->iterations, &entry->capacity, entry->count + 1,
                                   sizeof *entry->iterations)))
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory for results of '%s'", name);
    if (st) {
        mem_free(copy);
        pgy_tensor_map_destroy(outputs);
        return st;
    }
    entry->iterations[entry->count++] = (pgy_iteration){copy, outputs, runtime_s};
    return PGY_OK;
}

pgy_status pgy_results_add(pgy_results *r, size_t runner, const pgy_tensor_map *outputs,
                           double runtime_s, pgy_error *err)
{
    pgy_tensor_map *copy = NULL;
    pgy_status st = pgy_tensor_map_copy(&copy, outputs, err);
    return st ? st : results_adopt(r, runner, r->runners[runner].name, copy, runtime_s, err);
}

pgy_status results_append(pgy_results *r, pgy_results *more, pgy_error *err)
{
    if (!mem_grow((void **)&r->runners, &r->capacity, r->count + more->count, sizeof *r->runners))
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for results");
    for (size_t i = 0; i < more->count; i++) r->runners[r->count++] = more->runners[i];
    more->count = 0;
    return PGY_OK;
}
