/* SPDX-License-Identifier: Apache-2.0 */
/* Merges several files of inputs and outputs into one input file, iteration by iteration. Each
 * iteration has its own map (the original shares one map among all new iterations). */
#include <polygraphy/saved.h>

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"

static const char LOG_PATH[] = "tools/data/subtool/merge.py";

typedef struct feed_list {
    pgy_tensor_map **maps;
    size_t count, capacity;
    const char *advice; /* for warnings: which command joins iterations without overwriting */
} feed_list;

static void feed_list_deinit(feed_list *l)
{
    for (size_t i = 0; i < l->count; i++) pgy_tensor_map_destroy(l->maps[i]);
    mem_free(l->maps);
}

/* Logs one warning for all names, and each name at VERBOSE. */
static void warn_overwritten(const char *name, const char *advice)
{
    LOG_ONCE(WARNING,
             "Some inputs are in several files; those of the last file are used. To concatenate "
             "iterations, use '%s'",
             advice);
    LOG(VERBOSE, "Overwriting input '%s'", name);
}

/* Puts every tensor of `from` into iteration i of the list, which grows as needed. */
static pgy_status merge_into(feed_list *l, size_t i, const pgy_tensor_map *from, pgy_error *err)
{
    if (i == l->count) {
        if (!mem_grow((void **)&l->maps, &l->capacity, i + 1, sizeof *l->maps))
            return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        pgy_status st = pgy_tensor_map_create(&l->maps[i], err);
        if (st) return st;
        l->count++;
    }
    pgy_status st = PGY_OK;
    for (size_t k = 0; !st && k < pgy_tensor_map_count(from); k++) {
        const char *name = pgy_tensor_map_name(from, k);
        if (pgy_tensor_map_find(l->maps[i], name)) warn_overwritten(name, l->advice);
        st = pgy_tensor_map_set(l->maps[i], name, pgy_tensor_map_at(from, k), err);
    }
    return st;
}

static pgy_status merge_results(feed_list *l, const char *path, size_t *count, pgy_error *err)
{
    pgy_results *r = NULL;
    pgy_status st = pgy_results_load(&r, path, err);
    *count = 0;
    for (size_t i = 0; !st && i < pgy_results_runner_count(r); i++) {
        size_t n = pgy_results_iteration_count(r, i);
        for (size_t k = 0; !st && k < n; k++)
            st = merge_into(l, k, pgy_results_at(r, i, k)->outputs, err);
        if (n > *count) *count = n;
    }
    for (size_t i = 0; !st && i < pgy_results_runner_count(r); i++)
        if (pgy_results_iteration_count(r, i) < *count)
            LOG(WARNING,
                "%s: runner '%s' has %zu iteration(s), but other runners have %zu; the iterations "
                "that it lacks get no tensors from it",
                path, pgy_results_runner_name(r, i), pgy_results_iteration_count(r, i), *count);
    pgy_results_destroy(r);
    return st;
}

static pgy_status merge_inputs(feed_list *l, const char *path, size_t *count, pgy_error *err)
{
    pgy_data_loader *loader = NULL;
    pgy_tensor_map *feed = NULL;
    pgy_status st = pgy_file_loader_create(&loader, &path, 1, err);
    for (*count = 0; !st; ++*count) {
        st = pgy_data_loader_next(&feed, loader, err);
        if (st || !feed) break;
        st = merge_into(l, *count, feed, err);
        pgy_tensor_map_destroy(feed);
    }
    pgy_data_loader_destroy(loader);
    return st;
}

pgy_status pgy_saved_merge(const char *path, const char *const *paths, size_t path_count,
                           const char *advice, pgy_error *err)
{
    feed_list list = {.advice = advice ? advice : "pgy_saved_concat"};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < path_count; i++) {
        pgy_saved_kind kind;
        size_t count = 0, before = list.count;
        const char *from = paths[i];
        st = pgy_saved_kind_of(&kind, from, err);
        if (!st && kind == PGY_SAVED_ACCURACY)
            st = pgy_error_set(err, PGY_E_FORMAT,
                               "%s: found accuracy results; expected inputs or outputs", from);
        else if (!st)
            st = kind == PGY_SAVED_RESULTS ? merge_results(&list, from, &count, err)
                                           : merge_inputs(&list, from, &count, err);
        if (!st && i && count != before)
            LOG(WARNING,
                "%s has %zu iteration(s), but the files before it have %zu; iterations that a file "
                "lacks get no tensors from it",
                from, count, before);
    }
    if (!st) {
        LOG(INFO, "Saving input file containing %zu iteration(s) to %s", list.count, path);
        st = pgy_feeds_save(path, (const pgy_tensor_map *const *)list.maps, list.count, err);
    }
    feed_list_deinit(&list);
    return st;
}
