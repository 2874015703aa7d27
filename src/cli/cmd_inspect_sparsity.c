/* SPDX-License-Identifier: Apache-2.0 */
/* inspect sparsity: lists the weights with the 2:4 pattern that sparse tensor cores need. */
#include <polygraphy/weights.h>

#include "base/log.h"
#include "base/printable.h"
#include "cli/groups/model.h"

static const char LOG_PATH[] = "tools/sparse.py";

static const option_group *const GROUPS[] = {&GROUP_LOGGING, &GROUP_MODEL_FILE, &GROUP_ONNX_READ,
                                             NULL};

static pgy_status check_weight(const pgy_sparse_weight *w, pgy_error *err)
{
    bool is_sparse = false;
    const pgy_status st = pgy_sparse_weight_holds(&is_sparse, w, err);
    if (st) return st;
    if (is_sparse)
        LOG(INFO, "Found sparse tensor: %s", printable_name(w->value->name));
    else
        LOG(WARNING, "Found non-sparse tensor: %s", printable_name(w->value->name));
    return PGY_OK;
}

static pgy_status check_all(pgy_graph *graph, pgy_error *err)
{
    const pgy_sparse_weight *weights;
    size_t count;
    pgy_status st = pgy_graph_sparse_weights(&weights, &count, graph, err);
    if (!st) LOG(INFO, "Checking the sparsity pattern of %zu tensors.", count);
    for (size_t i = 0; !st && i < count; i++) st = check_weight(&weights[i], err);
    if (!st) LOG(INFO, "Finished checking %zu tensors. ", count);
    return st;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    (void)passed;
    pgy_loader *loader = NULL;
    pgy_model *model = NULL;
    pgy_graph *graph = NULL;
    pgy_status st = model_loader(&loader, line, err);
    if (!st) st = pgy_loader_call(&model, loader, err);
    if (!st) st = pgy_graph_import(&graph, model, err);
    if (!st) st = check_all(graph, err);
    pgy_graph_destroy(graph);
    pgy_model_destroy(model);
    pgy_loader_destroy(loader);
    return st;
}

const command COMMAND_inspect_sparsity = {
    .tool = "inspect",
    .subtool = "sparsity",
    .summary = "Show which weights have 2:4 structured sparsity.",
    .description =
        "Show which weights of Conv, Gemm and MatMul nodes have 2:4 structured sparsity: at least "
        "two zeros in every four neighbours along the reduction axis.",
    .groups = GROUPS,
    .frames = true,
    .run = run,
};
