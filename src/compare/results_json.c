/* SPDX-License-Identifier: Apache-2.0 */
/* RunResults as JSON: writes the same bytes as the original, and reads all that the original reads.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "compare/results.h"
#include "data/array_json.h"

/* ---- Reading ---- */

static pgy_status bad_place(const json_file *f, const json_value *v, const char *what,
                            pgy_error *err)
{
    return pgy_error_set(err, PGY_E_FORMAT, "%s: line %u column %u: %s", f->path, v ? v->line : 1,
                         v ? v->column : 1, what);
}

pgy_status results_json_expect(const json_file *file, pgy_error *err)
{
    pgy_status st = typed_json_expect(file->root, "RunResults", file->path, err);
    if (st) return st;
    const json_value *lst = json_get(file->root, "lst");
    if (!lst || lst->type != JSON_ARRAY)
        return bad_place(file, file->root, "expected a list 'lst' in RunResults", err);
    return PGY_OK;
}

pgy_status results_json_runner(const char **name, const json_value **iterations,
                               const json_value *entry, json_file *file, pgy_error *err)
{
    const json_value *first = entry->type == JSON_ARRAY && entry->count == 2 ? entry->first : NULL;
    if (!first || first->type != JSON_STRING || first->next->type != JSON_ARRAY)
        return bad_place(file, entry, "expected [runner name, [iterations]]", err);
    *name = json_string(first, &file->memory, NULL);
    if (!*name) return pgy_error_set(err, PGY_E_MEMORY, "%s: out of memory", file->path);
    *iterations = first->next;
    return PGY_OK;
}

pgy_status results_json_iteration(pgy_results *r, size_t runner, const json_value *v,
                                  json_file *file, pgy_error *err)
{
    pgy_status st = typed_json_expect(v, "IterationResult", file->path, err);
    if (st) return st;
    const json_value *outputs = json_get(v, "outputs"), *runtime = json_get(v, "runtime"),
                     *name = json_get(v, "runner_name");
    if (!outputs || outputs->type != JSON_OBJECT || !runtime || !name || name->type != JSON_STRING)
        return bad_place(
            file, v, "expected 'outputs', 'runtime' and 'runner_name' in an IterationResult", err);
    bool number = runtime->type == JSON_REAL || runtime->type == JSON_INT;
    if (!number && runtime->type != JSON_NULL)
        return bad_place(file, runtime, "'runtime' is neither a number nor null", err);
    const char *runner_name = json_string(name, &file->memory, NULL);
    if (!runner_name) return pgy_error_set(err, PGY_E_MEMORY, "%s: out of memory", file->path);
    str where = {0};
    pgy_tensor_map *map = NULL;
    str_printf(&where, "%s: %s: iteration %zu", file->path, pgy_results_runner_name(r, runner),
               pgy_results_iteration_count(r, runner));
    st = named_arrays_read(&map, outputs, file, str_text(&where), "output", err);
    str_deinit(&where);
    return st ? st : results_adopt(r, runner, runner_name, map, number ? runtime->real : NAN, err);
}

pgy_status results_json_read(pgy_results **out, json_file *file, pgy_error *err)
{
    pgy_results *r = NULL;
    pgy_status st = results_json_expect(file, err);
    if (!st) st = pgy_results_create(&r, err);
    const json_value *lst = json_get(file->root, "lst");
    for (const json_value *e = st ? NULL : lst->first; !st && e; e = e->next) {
        const char *name;
        const json_value *iterations;
        size_t runner;
        st = results_json_runner(&name, &iterations, e, file, err);
        if (!st) st = pgy_results_add_runner(r, name, &runner, err);
        for (const json_value *v = st ? NULL : iterations->first; !st && v; v = v->next)
            st = results_json_iteration(r, runner, v, file, err);
    }
    if (st) {
        pgy_results_destroy(r);
        return st;
    }
    *out = r;
    return PGY_OK;
}

pgy_status results_json_load(pgy_results **out, const char *path, pgy_error *err)
{
    json_file file;
    pgy_status st = json_file_open(&file, path, err);
    if (st) return st;
    st = results_json_read(out, &file, err);
    json_file_close(&file);
    return st;
}

/* ---- Writing ---- */

static pgy_status write_output(json_writer *w, const pgy_iteration *it, size_t i, pgy_error *err)
{
    pgy_tensor *t = NULL;
    json_key(w, pgy_tensor_map_name(it->outputs, i));
    pgy_status st = pgy_tensor_load(&t, pgy_tensor_map_at(it->outputs, i), err);
    if (!st) st = lazy_array_json_write(w, pgy_tensor_view(t), err);
    pgy_tensor_release(t);
    return st ? pgy_error_prefix(err, st, "%s: output '%s': ", it->runner_name,
                                 pgy_tensor_map_name(it->outputs, i))
              : PGY_OK;
}

pgy_status results_json_write_iteration(json_writer *w, const pgy_iteration *it, pgy_error *err)
{
    pgy_status st = PGY_OK;
    json_begin_object(w);
    json_key(w, "outputs");
    json_begin_object(w);
    for (size_t i = 0; !st && i < pgy_tensor_map_count(it->outputs); i++)
        st = write_output(w, it, i, err);
    if (st) return st;
    json_end_object(w);
    json_key(w, "runtime");
    if (isnan(it->runtime_s))
        json_null(w);
    else
        json_real(w, it->runtime_s);
    json_put_text(w, "runner_name", it->runner_name);
    json_put_text(w, "polygraphy_class", "IterationResult");
    json_end_object(w);
    return PGY_OK;
}

void results_json_begin(json_writer *w)
{
    json_begin_object(w);
    json_key(w, "lst");
    json_begin_array(w);
}

void results_json_begin_runner(json_writer *w, const char *name)
{
    json_begin_array(w);
    json_text(w, name);
    json_begin_array(w);
}

void results_json_end_runner(json_writer *w)
{
    json_end_array(w);
    json_end_array(w);
}

void results_json_end(json_writer *w)
{
    json_end_array(w);
    json_put_text(w, "polygraphy_class", "RunResults");
    json_end_object(w);
}

static pgy_status write_results(json_writer *w, const pgy_results *r, pgy_error *err)
{
    results_json_begin(w);
    for (size_t i = 0; i < r->count; i++) {
        results_json_begin_runner(w, r->runners[i].name);
        for (size_t k = 0; k < r->runners[i].count; k++) {
            pgy_status st = results_json_write_iteration(w, &r->runners[i].iterations[k], err);
            if (st) return st;
        }
        results_json_end_runner(w);
    }
    results_json_end(w);
    return PGY_OK;
}

pgy_status results_json_save(const pgy_results *r, const char *path, pgy_error *err)
{
    json_output file = {0};
    pgy_status st = json_output_open(&file, path, err);
    if (!st) st = write_results(file.json, r, err);
    if (!st) st = json_output_commit(&file, err);
    json_output_close(&file);
    return st;
}
