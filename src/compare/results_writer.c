/* SPDX-License-Identifier: Apache-2.0 */
/* Writes results as iterations arrive, without keeping them. A folder gets one file per iteration.
 * A single file is ordered by runner: the first runner's iterations go directly into it, those of
 * the other runners into temporary parts that are appended at the end. */
#include "base/alloc.h"
#include "base/log.h"
#include "compare/results.h"

static const char LOG_PATH[] = "json/serde.py";

typedef struct results_part {
    char *runner;
    char *path; /* temporary file; NULL for the first runner, which is written directly to the
                   result */
    json_output out;
} results_part;

struct pgy_results_writer {
    char *path;
    bool folder;
    size_t count;
    pgy_status broken; /* why an iteration could not be added completely */
    json_output single;
    results_part *parts; /* indexed by runner */
    size_t part_count, part_capacity;
};

/* ---- Life ---- */

static pgy_status open_single(pgy_results_writer *w, pgy_error *err)
{
    pgy_status st = json_output_open(&w->single, w->path, err);
    if (!st) results_json_begin(w->single.json);
    return st;
}

pgy_status pgy_results_writer_create(pgy_results_writer **out, const char *path, pgy_error *err)
{
    pgy_results_writer *w = mem_calloc(1, sizeof *w);
    if (!w) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    w->path = mem_strdup(path);
    w->folder = path_means_folder(path);
    LOG(INFO, "Saving inference results to a %s: %s",
        w->folder ? "directory of per-iteration files" : "single file", path);
    pgy_status st = w->path ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) st = w->folder ? numbered_folder_prepare(path, err) : open_single(w, err);
    if (st) {
        pgy_results_writer_destroy(w);
        return st;
    }
    *out = w;
    return PGY_OK;
}

static void part_deinit(results_part *p)
{
    json_output_close(&p->out);
    file_temp_release(p->path);
    mem_free(p->runner);
}

void pgy_results_writer_destroy(pgy_results_writer *w)
{
    if (!w) return;
    for (size_t i = 0; i < w->part_count; i++) part_deinit(&w->parts[i]);
    mem_free(w->parts);
    json_output_close(&w->single);
    mem_free(w->path);
    mem_free(w);
}

/* ---- Adding ---- */

static pgy_status open_part(results_part *p, pgy_error *err)
{
    pgy_status st = file_temp_path(&p->path, ".json", err);
    if (!st) st = file_writer_create_temp(&p->out.file, p->path, err);
    if (!st) st = json_writer_create_file(&p->out.json, p->out.file, err);
    if (!st) json_begin_part(p->out.json, RESULTS_JSON_DEPTH);
    return st;
}

static pgy_status add_runner(pgy_results_writer *w, const char *name, pgy_error *err)
{
    results_part p = {.runner = mem_strdup(name)};
    pgy_status st = p.runner ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st && w->part_count == 0)
        results_json_begin_runner(w->single.json, name);
    else if (!st)
        st = open_part(&p, err);
    if (!st &&
        !mem_grow((void **)&w->parts, &w->part_capacity, w->part_count + 1, sizeof *w->parts))
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (st) {
        part_deinit(&p);
        return st;
    }
    w->parts[w->part_count++] = p;
    return PGY_OK;
}

/* Runners are matched by position, so that equal names stay apart. */
static pgy_status add_to_single(pgy_results_writer *w, const pgy_results *r, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < r->count; i++) {
        if (i == w->part_count) st = add_runner(w, r->runners[i].name, err);
        for (size_t k = 0; !st && k < r->runners[i].count; k++)
            st = results_json_write_iteration(i ? w->parts[i].out.json : w->single.json,
                                              &r->runners[i].iterations[k], err);
    }
    return st;
}

static pgy_status add_file(pgy_results_writer *w, const pgy_results *r, pgy_error *err)
{
    char *path = numbered_path(w->path, w->count);
    if (!path) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    LOG(INFO, "Saving inference results to %s", path);
    pgy_status st = results_json_save(r, path, err);
    mem_free(path);
    return st;
}

pgy_status pgy_results_writer_add(pgy_results_writer *w, const pgy_results *iteration,
                                  pgy_error *err)
{
    pgy_status st = (w->folder ? add_file : add_to_single)(w, iteration, err);
    if (st)
        w->broken = st;
    else
        w->count++;
    return st;
}

/* ---- The end ---- */

/* Appends a part to the single file and removes the part. */
static pgy_status insert_part(pgy_results_writer *w, results_part *p, pgy_error *err)
{
    file_map map = {.fd = -1};
    json_end_part(p->out.json);
    pgy_status st = json_output_commit(&p->out, err);
    json_output_close(&p->out);
    if (!st) st = file_map_open(&map, p->path, err);
    if (st) return st;
    results_json_begin_runner(w->single.json, p->runner);
    json_insert(w->single.json, &map);
    results_json_end_runner(w->single.json);
    file_map_close(&map);
    file_temp_release(p->path);
    p->path = NULL;
    return PGY_OK;
}

pgy_status pgy_results_writer_finish(pgy_results_writer *w, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (w->folder) return PGY_OK;
    if (w->broken)
        return pgy_error_set(err, w->broken,
                             "%s was not written, because adding iteration %zu failed", w->path,
                             w->count);
    LOG(INFO, "Saving inference results to %s", w->path);
    if (w->part_count) results_json_end_runner(w->single.json);
    for (size_t i = 1; !st && i < w->part_count; i++) st = insert_part(w, &w->parts[i], err);
    if (st) return st;
    results_json_end(w->single.json);
    return json_output_commit(&w->single, err);
}
