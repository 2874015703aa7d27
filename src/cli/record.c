/* SPDX-License-Identifier: Apache-2.0 */
/* A runner of the model with other outputs, which infers once. */
#include "cli/record.h"

#include <polygraphy/loader.h>

#include <string.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/groups/data.h"

static const char LOG_PATH[] = "tools/args/backend/onnx/loader.py";

static pgy_status make_runner(pgy_runner **out, pgy_model *model, const record_request *request,
                              const char *backend, pgy_error *err)
{
    const pgy_output_selection outputs = {.size = sizeof outputs,
                                          .names = request->names,
                                          .name_count = request->count,
                                          .mark_all = request->all};
    const pgy_backend *found = pgy_backend_find(backend);
    pgy_loader *loader = NULL;
    pgy_model_source source = {0};
    pgy_runner *runner = NULL;
    if (!found) return pgy_error_set(err, PGY_E_NOT_FOUND, "there is no backend '%s'", backend);
    pgy_status st = pgy_loader_from_model(&loader, model, err);
    if (!st && (request->count || request->all))
        st = pgy_loader_select_outputs(&loader, &outputs, err);
    if (st) {
        pgy_loader_destroy(loader);
        return st;
    }
    st = pgy_loader_source(&source, loader, err);
    if (!st) st = pgy_runner_create(&runner, found, &source, NULL, NULL, err);
    if (!st) st = pgy_runner_activate(runner, err);
    if (st)
        pgy_runner_destroy(runner);
    else
        *out = runner;
    return st;
}

/* Names as patterns that meet nothing else: some hold what wildcards are made of. */
static pgy_status quote_names(const char ***out, const record_request *request, arena *a,
                              pgy_error *err)
{
    const char **list = arena_alloc_array(a, request->count + 1, sizeof *list);
    bool failed = !list;
    for (size_t i = 0; !failed && i < request->count; i++) {
        str text = {0};
        for (const char *p = request->names[i]; *p; p++)
            str_printf(&text, strchr("*?[", *p) ? "[%c]" : "%c", *p);
        list[i] = arena_strdup(a, str_text(&text));
        failed = text.failed || !list[i];
        str_deinit(&text);
    }
    if (failed) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    *out = list;
    return PGY_OK;
}

static pgy_status find_runner(pgy_runner **out, pgy_model *model, const record_request *request,
                              pgy_error *err)
{
    static const char *const BACKENDS[] = {"onnxrt", "opref"};
    if (request->backend) return make_runner(out, model, request, request->backend, err);
    for (size_t i = 0; i < sizeof BACKENDS / sizeof *BACKENDS; i++) {
        if (!make_runner(out, model, request, BACKENDS[i], err)) return PGY_OK;
        LOG(VERBOSE, "%s cannot run the model: %s", BACKENDS[i], err ? err->text : "");
    }
    return PGY_E_UNSUPPORTED;
}

static pgy_status add_all(pgy_tensor_map *to, const pgy_tensor_map *from, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_tensor_map_count(from); i++)
        st = pgy_tensor_map_set(to, pgy_tensor_map_name(from, i), pgy_tensor_map_at(from, i), err);
    return st;
}

static pgy_status first_feed(pgy_tensor_map **out, pgy_data_loader *data, pgy_runner *runner,
                             pgy_error *err)
{
    const pgy_metadata *inputs = NULL;
    pgy_status st = pgy_runner_inputs(&inputs, runner, err);
    if (!st) st = pgy_data_loader_set_metadata(data, inputs, err);
    if (!st) st = pgy_data_loader_next(out, data, err);
    if (!st && !*out) st = pgy_error_set(err, PGY_E_ARGUMENT, "there is no input data");
    return st;
}

static pgy_status show_feed(const char *title, const pgy_tensor_map *feed, pgy_error *err)
{
    pgy_metadata *inputs = NULL;
    char *text = NULL;
    pgy_status st = pgy_metadata_from_map(&inputs, feed, err);
    if (!st) st = pgy_metadata_text(&text, inputs, err);
    if (!st) LOG(INFO, "%s:\n%s", title, text);
    pgy_text_free(text);
    pgy_metadata_destroy(inputs);
    return st;
}

pgy_status record_tensors(pgy_tensor_map **out, pgy_model *model, const record_request *request,
                          const args *line, pgy_error *err)
{
    pgy_error why = {0};
    pgy_runner *runner = NULL;
    pgy_data_loader *data = NULL;
    pgy_tensor_map *feed = NULL, *results = NULL, *all = NULL;
    arena memory = {0};
    record_request quoted = *request;
    pgy_status st = quote_names((const char ***)&quoted.names, request, &memory, &why);
    if (!st) st = find_runner(&runner, model, &quoted, &why);
    if (st) pgy_error_set(err, st, "%s", why.text);
    if (!st) st = data_loader_create(&data, line, request->shapes, err);
    if (!st) st = first_feed(&feed, data, runner, err);
    if (!st && request->announce) st = show_feed(request->announce, feed, err);
    if (!st) st = pgy_runner_infer(&results, runner, feed, err);
    if (!st) st = pgy_tensor_map_create(&all, err);
    if (!st) st = add_all(all, feed, err);
    if (!st) st = add_all(all, results, err);
    if (!st) {
        *out = all;
        all = NULL;
    }
    pgy_tensor_map_destroy(all);
    pgy_tensor_map_destroy(results);
    pgy_tensor_map_destroy(feed);
    pgy_data_loader_destroy(data);
    pgy_runner_destroy(runner);
    arena_deinit(&memory);
    return st;
}
