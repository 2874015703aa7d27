/* SPDX-License-Identifier: Apache-2.0 */
/* Joins the iterations of several files, one after the other, into one file. */
#include <polygraphy/saved.h>

#include <string.h>

#include "base/log.h"
#include "base/str.h"

static const char LOG_PATH[] = "tools/data/subtool/concat.py";

/* ---- Names that change ---------------------------------------------------------------------- */

static void warn_names(strvec *first, const pgy_tensor_map *m)
{
    if (!first->count) {
        for (size_t i = 0; i < pgy_tensor_map_count(m); i++)
            if (!strvec_push(first, pgy_tensor_map_name(m, i))) return;
        return;
    }
    bool same = first->count == pgy_tensor_map_count(m);
    for (size_t i = 0; same && i < first->count; i++)
        same = pgy_tensor_map_find(m, first->items[i]) != NULL;
    if (!same) LOG_ONCE(WARNING, "The names of the tensors differ between iterations");
}

/* ---- Inputs --------------------------------------------------------------------------------- */

static pgy_status concat_inputs(const char *path, const char *const *paths, size_t count,
                                pgy_error *err)
{
    pgy_data_loader *loader = NULL;
    pgy_feed_writer *writer = NULL;
    pgy_tensor_map *feed = NULL;
    strvec names = {0};
    size_t iterations = 0;
    pgy_status st = pgy_file_loader_create(&loader, paths, count, err);
    if (!st) st = pgy_feed_writer_create(&writer, path, err);
    for (; !st; iterations++) {
        st = pgy_data_loader_next(&feed, loader, err);
        if (st || !feed) break;
        warn_names(&names, feed);
        st = pgy_feed_writer_add(writer, feed, err);
        pgy_tensor_map_destroy(feed);
    }
    if (!st) LOG(INFO, "Saving input file containing %zu iteration(s) to %s", iterations, path);
    if (!st) st = pgy_feed_writer_finish(writer, err);
    pgy_feed_writer_destroy(writer);
    pgy_data_loader_destroy(loader);
    strvec_deinit(&names);
    return st;
}

/* ---- Outputs -------------------------------------------------------------------------------- */

/* The k-th runner with this name, so that equal names within one file stay apart. */
static pgy_status runner_for(size_t *out, pgy_results *all, const char *name, size_t k,
                             pgy_error *err)
{
    for (size_t i = 0; i < pgy_results_runner_count(all); i++) {
        if (strcmp(pgy_results_runner_name(all, i), name)) continue;
        if (k-- == 0) {
            *out = i;
            return PGY_OK;
        }
    }
    return pgy_results_add_runner(all, name, out, err);
}

static size_t equal_before(const pgy_results *r, size_t i)
{
    size_t n = 0;
    for (size_t k = 0; k < i; k++)
        n += strcmp(pgy_results_runner_name(r, k), pgy_results_runner_name(r, i)) == 0;
    return n;
}

static pgy_status append_file(pgy_results *all, const char *path, strvec *names, pgy_error *err)
{
    pgy_results *r = NULL;
    pgy_status st = pgy_results_load(&r, path, err);
    for (size_t i = 0; !st && i < pgy_results_runner_count(r); i++) {
        size_t runner;
        st = runner_for(&runner, all, pgy_results_runner_name(r, i), equal_before(r, i), err);
        for (size_t k = 0; !st && k < pgy_results_iteration_count(r, i); k++) {
            const pgy_iteration *it = pgy_results_at(r, i, k);
            warn_names(names, it->outputs);
            st = pgy_results_add(all, runner, it->outputs, it->runtime_s, err);
        }
    }
    pgy_results_destroy(r);
    return st;
}

/* A comparison of a file with uneven runners fails later, so this warns when the file is written.
 */
static void warn_uneven(const pgy_results *all)
{
    size_t most = 0;
    for (size_t i = 0; i < pgy_results_runner_count(all); i++)
        if (pgy_results_iteration_count(all, i) > most) most = pgy_results_iteration_count(all, i);
    for (size_t i = 0; i < pgy_results_runner_count(all); i++)
        if (pgy_results_iteration_count(all, i) < most)
            LOG(WARNING, "Runner '%s' has %zu iteration(s), but other runners have %zu",
                pgy_results_runner_name(all, i), pgy_results_iteration_count(all, i), most);
}

static pgy_status concat_outputs(const char *path, const char *const *paths, size_t count,
                                 pgy_error *err)
{
    pgy_results *all = NULL;
    strvec names = {0};
    pgy_status st = pgy_results_create(&all, err);
    for (size_t i = 0; !st && i < count; i++) st = append_file(all, paths[i], &names, err);
    if (!st) warn_uneven(all);
    if (!st) LOG(INFO, "Saving output file containing concatenated iteration(s) to %s", path);
    if (!st) st = pgy_results_save(all, path, err);
    pgy_results_destroy(all);
    strvec_deinit(&names);
    return st;
}

pgy_status pgy_saved_concat(const char *path, const char *const *paths, size_t count,
                            pgy_error *err)
{
    size_t inputs = 0, outputs = 0;
    for (size_t i = 0; i < count; i++) {
        pgy_saved_kind kind;
        pgy_status st = pgy_saved_kind_of(&kind, paths[i], err);
        if (st) return st;
        if (kind == PGY_SAVED_ACCURACY)
            return pgy_error_set(err, PGY_E_FORMAT,
                                 "%s: found accuracy results; expected inputs or outputs",
                                 paths[i]);
        ++*(kind == PGY_SAVED_RESULTS ? &outputs : &inputs);
        if (inputs && outputs)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "%s contains %s, but the files before it contain %s; only files "
                                 "of one kind can be concatenated",
                                 paths[i], kind == PGY_SAVED_RESULTS ? "outputs" : "inputs",
                                 kind == PGY_SAVED_RESULTS ? "inputs" : "outputs");
    }
    return outputs ? concat_outputs(path, paths, count, err)
                   : concat_inputs(path, paths, count, err);
}
