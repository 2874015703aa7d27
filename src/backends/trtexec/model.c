/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and outputs are read from the model by this library, because trtexec does not tell them.
 */
#include "backends/trtexec/model.h"

#include <stdio.h>
#include <string.h>

#include <polygraphy/engine.h>
#include <polygraphy/graph.h>

#include "base/alloc.h"
#include "base/file.h"
#include "evaluate/interface.h"

/* NVIDIA's plans begin with "ftrt" or "ptrt"; other files are plans if their names say so. */
static bool path_is_plan(const char *path)
{
    char magic[4] = "";
    if (pgy_plan_is_plan(path) || str_ends_with(path, ".plan") || str_ends_with(path, ".engine"))
        return true;
    FILE *file = fopen(path, "re");
    const bool read = file && fread(magic, 1, sizeof magic, file) == sizeof magic;
    if (file) fclose(file);
    return read && (!memcmp(magic, "ftrt", 4) || !memcmp(magic, "ptrt", 4));
}

static pgy_status copy_metadata(pgy_metadata **out, const pgy_metadata *from, pgy_error *err)
{
    pgy_status st = pgy_metadata_create(out, err);
    for (size_t i = 0; !st && i < pgy_metadata_count(from); i++)
        st = pgy_metadata_set(*out, pgy_metadata_at(from, i), err);
    return st;
}

/* Only our own plans can be read; of others, inputs and outputs stay unknown. */
static pgy_status describe_plan(trtexec_model *m, pgy_error *err)
{
    pgy_engine *engine = NULL;
    if (!pgy_plan_is_plan(m->path)) return PGY_OK;
    pgy_status st = pgy_engine_open(&engine, m->path, err);
    if (!st) st = copy_metadata(&m->inputs, pgy_engine_inputs(engine), err);
    if (!st) st = copy_metadata(&m->outputs, pgy_engine_outputs(engine), err);
    pgy_engine_release(engine);
    return st;
}

static pgy_status open_model(pgy_model **out, const pgy_backend_model *source, pgy_error *err)
{
    if (source->model) {
        *out = pgy_model_retain(source->model);
        return PGY_OK;
    }
    if (source->path) return pgy_model_load(out, source->path, NULL, err);
    return pgy_model_parse(out, source->data, source->data_size, true, NULL, err);
}

static pgy_status describe_graph(trtexec_model *m, pgy_model *model, pgy_error *err)
{
    pgy_graph *graph = NULL;
    pgy_status st = pgy_graph_import(&graph, model, err);
    if (!st) st = pgy_metadata_create(&m->inputs, err);
    if (!st) st = pgy_metadata_create(&m->outputs, err);
    if (!st) st = interface_describe_all(m->inputs, graph->inputs, graph->input_count, err);
    if (!st) st = interface_describe_all(m->outputs, graph->outputs, graph->output_count, err);
    pgy_graph_destroy(graph);
    return st;
}

static pgy_status describe_model(trtexec_model *m, const pgy_backend_model *source, pgy_error *err)
{
    pgy_model *model = NULL;
    pgy_status st = open_model(&model, source, err);
    if (!st) st = describe_graph(m, model, err);
    if (!st && !source->path && !source->data) st = pgy_model_save(model, m->path, NULL, err);
    pgy_model_destroy(model);
    return st;
}

static pgy_status check_inputs(const trtexec_model *m, pgy_error *err)
{
    for (size_t i = 0; m->inputs && i < pgy_metadata_count(m->inputs); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(m->inputs, i);
        if (info->form != PGY_FORM_TENSOR || info->dtype == PGY_STRING)
            return pgy_error_set(err, PGY_E_UNSUPPORTED,
                                 "input '%s' is not a tensor of numbers, which trtexec needs",
                                 info->name);
    }
    return PGY_OK;
}

/* A model that is only in memory becomes a file. */
pgy_status trtexec_model_open(trtexec_model *m, const pgy_backend_model *source, const char *folder,
                              pgy_error *err)
{
    pgy_status st = PGY_OK;
    m->path = source->path ? mem_strdup(source->path) : path_join(folder, "model.onnx");
    if (!m->path) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    m->is_plan = !source->model && source->path && path_is_plan(source->path);
    if (!source->path && source->data)
        st = file_write_all(m->path, source->data, source->data_size, err);
    if (!st) st = m->is_plan ? describe_plan(m, err) : describe_model(m, source, err);
    return st ? st : check_inputs(m, err);
}

void trtexec_model_close(trtexec_model *m)
{
    mem_free(m->path);
    pgy_metadata_destroy(m->inputs);
    pgy_metadata_destroy(m->outputs);
    *m = (trtexec_model){0};
}
