/* SPDX-License-Identifier: Apache-2.0 */
/* Prunes the weights that can be 2:4 sparse. */
#include "base/log.h"
#include "graph/graph.h"
#include "transform/weights.h"

static const char LOG_PATH[] = "tools/sparse.py";

static pgy_status prune_weight(weight_edit *e, const pgy_sparse_weight *w, pgy_error *err)
{
    const pgy_onnx_tensor *t = w->value->initializer;
    const size_t place = weight_edit_find(e, t);
    pgy_onnx_tensor *made = NULL;
    if (weight_is_stripped(t))
        return pgy_error_set(err, PGY_E_FORMAT,
                             "cannot prune weight '%s': it was stripped and has no elements; use "
                             "weight-reconstruct first",
                             w->value->name);
    if (place == SIZE_MAX) return graph_no_memory(err);
    const pgy_status st = sparse_weight_pruned(&made, e->model, t, w->axis, err);
    if (!st) e->initializers[place] = made;
    return st;
}

pgy_status pgy_model_prune(pgy_model **out, pgy_model *m, pgy_error *err)
{
    weight_edit e = {0};
    pgy_graph *graph = NULL;
    const pgy_sparse_weight *weights = NULL;
    size_t count = 0;
    if (!out || !m) return pgy_error_set(err, PGY_E_ARGUMENT, "'out' and 'm' must not be NULL");
    pgy_status st = pgy_graph_import(&graph, m, err);
    if (!st) st = sparse_weights_find(&weights, &count, graph, NULL, err);
    if (!st) st = weight_edit_init(&e, m, err);
    if (!st) LOG(START, "Pruning %zu tensors.", count);
    for (size_t i = 0; !st && i < count; i++) st = prune_weight(&e, &weights[i], err);
    if (!st) {
        LOG(FINISH, "Finished pruning %zu tensors. ", count);
        if (count) LOG(INFO, "Replacing weights to build new model object...");
        const weight_edit_texts texts = {.producer = count ? "polygraphy surgeon prune" : NULL};
        st = weight_edit_finish(out, &e, &texts, err);
    }
    weight_edit_deinit(&e);
    pgy_graph_destroy(graph);
    return st;
}
