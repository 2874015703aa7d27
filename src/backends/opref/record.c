/* SPDX-License-Identifier: Apache-2.0 */
/* A record is one map of tensors: the outputs of the first runner in a results file, or one
 * iteration of a file in any input format. */
#include "backends/opref/record.h"

#include <string.h>

#include <polygraphy/data.h>

#include "base/log.h"
#include "data/array_json.h"
#include "data/feeds.h"

static const char LOG_PATH[] = "backends/opref/record.c";

static pgy_status wrong_count(const char *path, size_t count, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "opref.opref_substitute: '%s' has %zu iterations; expected one, since the "
                         "outputs replace nodes for one set of inputs",
                         path, count);
}

/* ---- Results -------------------------------------------------------------------------------- */

/* The iterations of the first runner in {"lst": [[runner, [iteration, ...]], ...]}; NULL for other
 * JSON. */
static const json_value *first_iterations(const json_value *root)
{
    const json_value *lst = json_get(root, "lst");
    const json_value *entry = lst && lst->type == JSON_ARRAY ? lst->first : NULL;
    if (!entry || entry->type != JSON_ARRAY || entry->count != 2) return NULL;
    return entry->first->next->type == JSON_ARRAY ? entry->first->next : NULL;
}

static pgy_status read_results(pgy_tensor_map **out, const json_file *file, pgy_error *err)
{
    const json_value *iterations = first_iterations(file->root);
    if (!iterations)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "opref.opref_substitute: '%s' has no results of a runner", file->path);
    if (iterations->count != 1) return wrong_count(file->path, iterations->count, err);
    const json_value *outputs = json_get(iterations->first, "outputs");
    if (!outputs || outputs->type != JSON_OBJECT)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "opref.opref_substitute: the first iteration in '%s' has no outputs",
                             file->path);
    return named_arrays_read(out, outputs, file, file->path, "output", err);
}

/* ---- Inputs --------------------------------------------------------------------------------- */

static pgy_status read_inputs(pgy_tensor_map **out, const char *path, pgy_error *err)
{
    pgy_data_loader *loader = NULL;
    pgy_tensor_map *first = NULL, *second = NULL;
    pgy_status st = pgy_file_loader_create(&loader, &path, 1, err);
    if (!st) st = pgy_data_loader_next(&first, loader, err);
    if (!st && !first) st = wrong_count(path, 0, err);
    if (!st) st = pgy_data_loader_next(&second, loader, err);
    if (!st && second) st = wrong_count(path, 2, err);
    if (!st) {
        *out = first;
        first = NULL;
    }
    pgy_tensor_map_destroy(first);
    pgy_tensor_map_destroy(second);
    pgy_data_loader_destroy(loader);
    return st;
}

pgy_status record_load(record *r, const char *path, pgy_error *err)
{
    json_file file = {0};
    const char *dot = strrchr(path, '.');
    pgy_status st = PGY_OK;
    bool results = false;
    if (dot && !strcmp(dot, ".json")) {
        st = json_file_open(&file, path, err);
        const char *class =
            st || file.root->type != JSON_OBJECT ? NULL : typed_json_class(file.root);
        results = class && !strcmp(class, "RunResults");
        if (results) st = read_results(&r->tensors, &file, err);
        json_file_close(&file);
    }
    if (!st && !results) st = read_inputs(&r->tensors, path, err);
    if (!st)
        LOG(INFO, "Loaded recorded outputs of unknown operators from %s: %zu tensors", path,
            pgy_tensor_map_count(r->tensors));
    return st;
}

void record_deinit(record *r)
{
    pgy_tensor_map_destroy(r->tensors);
    *r = (record){0};
}

/* ---- Use ------------------------------------------------------------------------------------ */

static uint64_t hash_feed(const pgy_tensor_map *feed)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < pgy_tensor_map_count(feed); i++) {
        const pgy_tensor *t = pgy_tensor_map_at(feed, i);
        const bool text = pgy_tensor_dtype(t) == PGY_STRING;
        const span name = span_of(pgy_tensor_map_name(feed, i));
        const span bytes = {text ? NULL : pgy_tensor_data(t), text ? 0 : pgy_tensor_size_bytes(t)};
        hash = hash * 0x9e3779b97f4a7c15u + (span_hash(name) ^ span_hash(bytes));
    }
    return hash;
}

pgy_status record_join(pgy_tensor_map **out, record *r, const pgy_tensor_map *feed, pgy_error *err)
{
    pgy_tensor_map *joined = NULL;
    const uint64_t hash = hash_feed(feed);
    if (r->started && r->inputs != hash)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "the outputs in opref.opref_substitute were recorded for one set of "
                             "inputs, but this iteration has other inputs: run one iteration only");
    pgy_status st = pgy_tensor_map_copy(&joined, feed, err);
    for (size_t i = 0; !st && i < pgy_tensor_map_count(r->tensors); i++) {
        const char *name = pgy_tensor_map_name(r->tensors, i);
        if (!pgy_tensor_map_find(feed, name))
            st = pgy_tensor_map_set(joined, name, pgy_tensor_map_at(r->tensors, i), err);
    }
    if (st) {
        pgy_tensor_map_destroy(joined);
        return st;
    }
    r->started = true;
    r->inputs = hash;
    *out = joined;
    return PGY_OK;
}
