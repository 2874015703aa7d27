/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, shows and saves models for the subtools of `surgeon`. */
#include "cli/surgeon.h"

#include <polygraphy/describe.h>
#include <polygraphy/transform.h>

#include <string.h>

#include "base/log.h"
#include "cli/groups/data.h"
#include "cli/groups/model.h"

static const char LOG_PATH[] = "tools/surgeon/subtool/base.py";

pgy_status surgeon_show(const char *title, pgy_model *model, pgy_error *err)
{
    char *text = NULL;
    if (!LOG_IS_ON(INFO)) return PGY_OK;
    const pgy_status st = pgy_model_text(&text, model, NULL, err);
    if (st) return st;
    const char *body = strchr(text, '\n'); /* behind the heading */
    LOG(INFO, "%s%s\n", title, body ? body : "");
    pgy_text_free(text);
    return PGY_OK;
}

pgy_status surgeon_read(pgy_model **out, args *line, pgy_error *err)
{
    pgy_loader *loader = NULL;
    pgy_status st = model_loader(&loader, line, err);
    if (!st) st = pgy_loader_call(out, loader, err);
    pgy_loader_destroy(loader);
    return st;
}

pgy_status surgeon_load(pgy_model **out, args *line, pgy_error *err)
{
    pgy_model *model = NULL;
    pgy_status st = surgeon_read(&model, line, err);
    if (!st) st = surgeon_show("Original Model:", model, err);
    if (!st) {
        *out = model;
        model = NULL;
    }
    pgy_model_destroy(model);
    return st;
}

pgy_status surgeon_save(pgy_model *model, args *line, const char *path, bool external,
                        pgy_error *err)
{
    const onnx_save_args *s = ARGS_OF(line, onnx_save_args);
    pgy_model_save_options o = pgy_model_save_options_default();
    o.external_data = external;
    const bool by_line = !external || s->external.given;
    const pgy_status st = model_save(model, line, path, by_line ? NULL : &o, err);
    return st ? st : surgeon_show("New Model:", model, err);
}

pgy_status surgeon_record(pgy_tensor_map **out, pgy_model *model, pgy_record_options options,
                          const pgy_metadata *shapes, const args *line, pgy_error *err)
{
    options.size = sizeof options;
    pgy_status st = data_loader_create(&options.data, line, shapes, err);
    if (!st) st = pgy_record(out, model, &options, err);
    pgy_data_loader_destroy(options.data);
    return st;
}

bool surgeon_is_in(pgy_gs_tensor *const *list, size_t count, const pgy_gs_tensor *t)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == t) return true;
    return false;
}

pgy_status surgeon_override_shapes(pgy_graph *graph, const pgy_metadata *shapes, pgy_error *err)
{
    pgy_status st = pgy_graph_override_shapes(graph, shapes, err);
    /* Remove former producers of tensors that are inputs now: they would have no output. */
    if (!st) st = pgy_graph_remove_unused(graph, err);
    pgy_metadata *inputs = NULL;
    char *text = NULL;
    if (!st) st = pgy_metadata_create(&inputs, err);
    for (size_t i = 0; !st && i < graph->input_count; i++) {
        const pgy_value *v = graph->inputs[i];
        int64_t shape[PGY_MAX_RANK];
        const char *names[PGY_MAX_RANK];
        for (int32_t d = 0; d < v->rank && d < PGY_MAX_RANK; d++) {
            shape[d] = v->dims[d].value;
            names[d] = v->dims[d].text;
        }
        const pgy_tensor_info info = {.name = v->name,
                                      .dtype = v->dtype,
                                      .rank = v->rank,
                                      .shape = shape,
                                      .dim_names = names};
        st = pgy_metadata_set(inputs, &info, err);
    }
    if (!st) st = pgy_metadata_text(&text, inputs, err);
    if (!st) LOG(INFO, "Overriding input shapes to:\n%s", text);
    pgy_text_free(text);
    pgy_metadata_destroy(inputs);
    return st;
}

void surgeon_show_feed(const pgy_tensor_map *feed, void *user)
{
    pgy_metadata *inputs = NULL;
    char *text = NULL;
    (void)user;
    if (!pgy_metadata_from_map(&inputs, feed, NULL) && !pgy_metadata_text(&text, inputs, NULL))
        pgy_log_write(PGY_LOG_INFO, "tools/args/backend/onnx/loader.py", __LINE__,
                      "Running fallback shape inference using input metadata:\n%s", text);
    pgy_text_free(text);
    pgy_metadata_destroy(inputs);
}
