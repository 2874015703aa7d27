/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the models of `where`. */
#include "cli/groups/where_model.h"

#include "base/log.h"
#include "cli/groups/model.h"

static const char LOG_PATH[] = "cli/groups/where_model.c";

static pgy_status convert(pgy_model **model, const args *line, pgy_error *err)
{
    pgy_loader *loader = NULL;
    pgy_model *half = NULL;
    pgy_status st = pgy_loader_from_model(&loader, *model, err);
    if (!st) st = model_loader_half(&loader, line, err);
    if (!st) st = pgy_loader_call(&half, loader, err);
    pgy_loader_destroy(loader);
    pgy_model_destroy(*model);
    *model = half;
    return st;
}

pgy_status where_model_load(pgy_model **out, const char *path, const args *line, pgy_error *err)
{
    const onnx_load_args *read = ARGS_OF(line, onnx_load_args);
    const pgy_model_load_options o = {.size = sizeof o,
                                      .external_data_dir = read->external_data_dir,
                                      .ignore_external_data = read->ignore_external_data,
                                      .allow_outside = read->allow_outside};
    LOG(INFO, "Loading model: %s", path);
    const pgy_status st = pgy_model_load(out, path, &o, err);
    return st || (!read->fp16 && !read->bf16) ? st : convert(out, line, err);
}
