/* SPDX-License-Identifier: Apache-2.0 */
/* Records tensors with a runtime: a runner of the model with these tensors as outputs infers once.
 */
#include <polygraphy/loader.h>
#include <polygraphy/record.h>

#include <string.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/sized.h"
#include "base/str.h"
#include "evaluate/interface.h"

static const char LOG_PATH[] = "inspect/record.c";

static pgy_status make_runner(pgy_runner **out, pgy_model *model, const pgy_record_options *request,
                              const char *backend, pgy_error *err)
{
    const pgy_output_selection outputs = {.size = sizeof outputs,
                                          .names = request->names,
                                          .name_count = request->name_count,
                                          .mark_all = request->all};
    const pgy_backend *found = pgy_backend_find(backend);
    pgy_loader *loader = NULL;
    pgy_model_source source = {0};
    pgy_runner *runner = NULL;
    if (!found) return pgy_error_set(err, PGY_E_NOT_FOUND, "backend '%s' does not exist", backend);
    pgy_status st = pgy_loader_from_model(&loader, model, err);
    if (!st && (request->name_count || request->all))
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

/* Escapes names as patterns that match only themselves, because names may contain wildcard
 * characters. */
static pgy_status quote_names(const char ***out, const pgy_record_options *request, arena *a,
                              pgy_error *err)
{
    const char **list = arena_alloc_array(a, request->name_count + 1, sizeof *list);
    bool failed = !list;
    for (size_t i = 0; !failed && i < request->name_count; i++) {
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

static pgy_status find_runner(pgy_runner **out, pgy_model *model, const pgy_record_options *request,
                              pgy_error *err)
{
    static const char *const BACKENDS[] = {"onnxrt", "opref"};
    if (request->backend) return make_runner(out, model, request, request->backend, err);
    for (size_t i = 0; i < sizeof BACKENDS / sizeof *BACKENDS; i++) {
        if (!make_runner(out, model, request, BACKENDS[i], err)) return PGY_OK;
        LOG(VERBOSE, "Runtime %s cannot run the model: %s", BACKENDS[i], err ? err->text : "");
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

/* The next map for these inputs: from the loader, or generated with the given shapes. */
static pgy_status next_feed(pgy_tensor_map **out, pgy_data_loader *data, const pgy_metadata *shapes,
                            const pgy_metadata *inputs, pgy_error *err)
{
    pgy_random_options o = pgy_random_options_default();
    pgy_data_loader *generator = NULL;
    pgy_tensor_map *feed = NULL;
    o.inputs = shapes;
    pgy_status st = data ? PGY_OK : pgy_random_loader_create(&generator, &o, err);
    if (!data) data = generator;
    if (!st) st = pgy_data_loader_set_metadata(data, inputs, err);
    if (!st) st = pgy_data_loader_next(&feed, data, err);
    if (!st && !feed) st = pgy_error_set(err, PGY_E_ARGUMENT, "the data loader has no input data");
    if (!st) *out = feed;
    pgy_data_loader_destroy(generator);
    return st;
}

static pgy_status infer_once(pgy_tensor_map **out, pgy_runner *runner, const pgy_record_options *o,
                             pgy_error *err)
{
    const pgy_metadata *inputs = NULL;
    pgy_tensor_map *feed = NULL, *results = NULL, *all = NULL;
    pgy_status st = pgy_runner_inputs(&inputs, runner, err);
    if (!st) st = next_feed(&feed, o->data, o->inputs, inputs, err);
    if (!st && o->before_run) o->before_run(feed, o->user);
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
    return st;
}

/* ---- Inputs only ---------------------------------------------------------------------------- */

static bool is_input(const pgy_graph *g, const char *name)
{
    for (size_t i = 0; i < g->input_count; i++)
        if (strcmp(g->inputs[i]->name, name) == 0) return true;
    return false;
}

/* The values of inputs need no runtime. *out stays NULL if another tensor is wanted. */
static pgy_status record_inputs(pgy_tensor_map **out, pgy_model *model, const pgy_record_options *o,
                                pgy_error *err)
{
    pgy_graph *graph = NULL;
    pgy_metadata *inputs = NULL;
    bool all = o->name_count && !o->all;
    if (!all) return PGY_OK;
    pgy_status st = pgy_graph_import(&graph, model, err);
    for (size_t i = 0; !st && all && i < o->name_count; i++) all = is_input(graph, o->names[i]);
    if (!st && all) st = interface_describe_tensors(&inputs, graph, err);
    if (!st && all) st = next_feed(out, o->data, o->inputs, inputs, err);
    if (!st && all && o->before_run) o->before_run(*out, o->user);
    pgy_metadata_destroy(inputs);
    pgy_graph_destroy(graph);
    return st;
}

/* ---- Recording ------------------------------------------------------------------------------ */

pgy_status pgy_record(pgy_tensor_map **out, pgy_model *model, const pgy_record_options *options,
                      pgy_error *err)
{
    pgy_record_options o = {0};
    pgy_error why = {0};
    pgy_runner *runner = NULL;
    arena memory = {0};
    pgy_status st = SIZED_TAKE(pgy_record_options, &o, options, err);
    if (st) return st;
    pgy_tensor_map *feed = NULL;
    st = record_inputs(&feed, model, &o, err);
    if (feed) *out = feed;
    if (st || feed) return st;
    pgy_record_options quoted = o;
    st = quote_names((const char ***)&quoted.names, &o, &memory, &why);
    if (!st) st = find_runner(&runner, model, &quoted, &why);
    if (st) pgy_error_set(err, st, "%s", why.text);
    if (!st) st = infer_once(out, runner, &o, err);
    pgy_runner_destroy(runner);
    arena_deinit(&memory);
    return st;
}

/* ---- A feed alone --------------------------------------------------------------------------- */

pgy_status pgy_record_feed(pgy_tensor_map **out, pgy_model *model, pgy_data_loader *data,
                           pgy_error *err)
{
    pgy_graph *graph = NULL;
    pgy_metadata *inputs = NULL;
    pgy_status st = pgy_graph_import(&graph, model, err);
    if (!st) st = interface_describe_tensors(&inputs, graph, err);
    if (!st) st = next_feed(out, data, NULL, inputs, err);
    pgy_metadata_destroy(inputs);
    pgy_graph_destroy(graph);
    return st;
}
