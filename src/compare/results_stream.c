/* SPDX-License-Identifier: Apache-2.0 */
/* Reads results with only one iteration in memory, and loads and saves whole results, as a file or
 * a folder. The writer is in results_writer.c. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "compare/judge.h"
#include "compare/results.h"

static const char LOG_PATH[] = "json/serde.py";

/* ---- Reader ---- */

struct pgy_results_reader {
    char *path;
    strvec files; /* names of the files, if `path` is a folder */
    size_t next_file;
    bool folder, open;
    json_file file;
    const json_value **positions; /* indexed by runner: its next iteration */
    const char **names;
    size_t runner_count;
};

static pgy_status open_file(pgy_results_reader *r, const char *path, pgy_error *err)
{
    LOG(INFO, "Loading inference results from %s", path);
    pgy_status st = json_file_open(&r->file, path, err);
    if (st) return st;
    r->open = true;
    st = results_json_expect(&r->file, err);
    if (st) return st;
    const json_value *lst = json_get(r->file.root, "lst");
    r->runner_count = lst->count;
    r->positions = arena_alloc_array(&r->file.memory, lst->count + 1, sizeof *r->positions);
    r->names = arena_alloc_array(&r->file.memory, lst->count + 1, sizeof *r->names);
    if (!r->positions || !r->names)
        return pgy_error_set(err, PGY_E_MEMORY, "%s: out of memory", path);
    size_t i = 0;
    for (const json_value *e = lst->first; !st && e; e = e->next, i++) {
        const json_value *iterations;
        st = results_json_runner(&r->names[i], &iterations, e, &r->file, err);
        if (!st) r->positions[i] = iterations->first;
    }
    return st;
}

static void close_file(pgy_results_reader *r)
{
    if (r->open) json_file_close(&r->file);
    r->open = false;
}

pgy_status pgy_results_reader_open(pgy_results_reader **out, const char *path, pgy_error *err)
{
    pgy_results_reader *r = mem_calloc(1, sizeof *r);
    if (!r) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    r->file.map.fd = -1;
    r->path = mem_strdup(path);
    r->folder = file_is_dir(path);
    pgy_status st = r->path ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st && r->folder) st = file_list_dir(&r->files, path, ".json", err);
    if (!st && !r->folder) st = open_file(r, path, err);
    if (st) {
        pgy_results_reader_close(r);
        return st;
    }
    *out = r;
    return PGY_OK;
}

/* Takes the next iteration of every runner. Runners that have ended are added without an iteration,
 * so that positions stay. *any: some runner had an iteration. */
static pgy_status take_iteration(pgy_results **out, bool *any, pgy_results_reader *r,
                                 pgy_error *err)
{
    pgy_results *results = NULL;
    pgy_status st = pgy_results_create(&results, err);
    *any = false;
    for (size_t i = 0; !st && i < r->runner_count; i++) {
        size_t runner;
        const json_value *v = r->positions[i];
        st = pgy_results_add_runner(results, r->names[i], &runner, err);
        if (!v) continue;
        if (!st) st = results_json_iteration(results, runner, v, &r->file, err);
        r->positions[i] = v->next;
        *any = true;
    }
    if (st || !*any) {
        pgy_results_destroy(results);
        return st;
    }
    *out = results;
    return PGY_OK;
}

pgy_status pgy_results_reader_next(pgy_results **out, pgy_results_reader *r, pgy_error *err)
{
    *out = NULL;
    for (;;) {
        bool any = false;
        if (r->open) {
            pgy_status st = take_iteration(out, &any, r, err);
            if (st || any) return st;
            close_file(r);
        }
        if (r->next_file >= r->files.count) return PGY_OK;
        char *path = path_join(r->path, r->files.items[r->next_file++]);
        pgy_status st =
            path ? open_file(r, path, err) : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        mem_free(path);
        if (st) return st;
    }
}

void pgy_results_reader_close(pgy_results_reader *r)
{
    if (!r) return;
    close_file(r);
    strvec_deinit(&r->files);
    mem_free(r->path);
    mem_free(r);
}

/* ---- Whole ---- */

/* Finds the runner of `all` that runner `name` of an iteration continues: the first one from `next`
 * on, because equal names stay apart. Only the first iteration may add runners. A runner may not
 * skip an iteration: its later iterations would move to the wrong position. */
static pgy_status find_joined(size_t *out, pgy_results *all, size_t next, const char *name,
                              size_t iteration, bool has_any, pgy_error *err)
{
    for (size_t i = next; i < all->count; i++) {
        if (strcmp(all->runners[i].name, name) != 0) continue;
        *out = i;
        if (!has_any || all->runners[i].count == iteration) return PGY_OK;
        return pgy_error_set(err, PGY_E_FORMAT,
                             "iteration %zu of runner '%s' is missing, but later iterations exist",
                             all->runners[i].count, name);
    }
    if (iteration == 0) return pgy_results_add_runner(all, name, out, err);
    return pgy_error_set(err, PGY_E_FORMAT,
                         "iteration %zu has runner '%s' where earlier iterations have another "
                         "runner; every iteration must have the same runners in the same order",
                         iteration, name);
}

static pgy_status join(pgy_results *all, pgy_results *part, size_t iteration, pgy_error *err)
{
    size_t next = 0;
    for (size_t i = 0; i < part->count; i++) {
        runner_results *from = &part->runners[i];
        size_t runner = 0;
        pgy_status st =
            find_joined(&runner, all, next, from->name, iteration, from->count > 0, err);
        next = runner + 1;
        for (size_t k = 0; !st && k < from->count; k++) {
            pgy_iteration *it = &from->iterations[k];
            pgy_tensor_map *outputs = it->outputs;
            it->outputs = NULL;
            st = results_adopt(all, runner, it->runner_name, outputs, it->runtime_s, err);
        }
        if (st) return st;
    }
    return PGY_OK;
}

static pgy_status load_folder(pgy_results **out, const char *path, pgy_error *err)
{
    pgy_results_reader *reader = NULL;
    pgy_results *all = NULL, *part = NULL;
    pgy_status st = pgy_results_create(&all, err);
    if (!st) st = pgy_results_reader_open(&reader, path, err);
    for (size_t iteration = 0; !st; iteration++) {
        st = pgy_results_reader_next(&part, reader, err);
        if (st || !part) break;
        st = join(all, part, iteration, err);
        if (st) pgy_error_prefix(err, st, "%s: ", path);
        pgy_results_destroy(part);
    }
    pgy_results_reader_close(reader);
    if (st) {
        pgy_results_destroy(all);
        return st;
    }
    *out = all;
    return PGY_OK;
}

pgy_status pgy_results_load(pgy_results **out, const char *path, pgy_error *err)
{
    if (file_is_dir(path)) return load_folder(out, path, err);
    LOG(INFO, "Loading inference results from %s", path);
    return results_json_load(out, path, err);
}

/* Adds an iteration under its own runner name; the tensors are shared. */
static pgy_status share(pgy_results *to, size_t runner, const pgy_iteration *it, pgy_error *err)
{
    pgy_tensor_map *outputs = NULL;
    pgy_status st = pgy_tensor_map_copy(&outputs, it->outputs, err);
    return st ? st : results_adopt(to, runner, it->runner_name, outputs, it->runtime_s, err);
}

/* Takes the k-th iteration of every runner. Runners that have ended are included without an
 * iteration. */
static pgy_status slice(pgy_results **out, const pgy_results *r, size_t k, pgy_error *err)
{
    pgy_results *part = NULL;
    pgy_status st = pgy_results_create(&part, err);
    for (size_t i = 0; !st && i < r->count; i++) {
        size_t runner;
        st = pgy_results_add_runner(part, r->runners[i].name, &runner, err);
        if (!st && k < r->runners[i].count)
            st = share(part, runner, &r->runners[i].iterations[k], err);
    }
    if (st)
        pgy_results_destroy(part);
    else
        *out = part;
    return st;
}

static size_t most_iterations(const pgy_results *r)
{
    size_t most = 0;
    for (size_t i = 0; i < r->count; i++)
        if (r->runners[i].count > most) most = r->runners[i].count;
    return most;
}

pgy_status pgy_results_save(const pgy_results *r, const char *path, pgy_error *err)
{
    if (!path_means_folder(path)) {
        LOG(INFO, "Saving inference results to %s", path);
        return results_json_save(r, path, err);
    }
    pgy_results_writer *w = NULL;
    pgy_status st = pgy_results_writer_create(&w, path, err);
    for (size_t k = 0; !st && k < most_iterations(r); k++) {
        pgy_results *part = NULL;
        st = slice(&part, r, k, err);
        if (!st) st = pgy_results_writer_add(w, part, err);
        pgy_results_destroy(part);
    }
    if (!st) st = pgy_results_writer_finish(w, err);
    pgy_results_writer_destroy(w);
    return st;
}
