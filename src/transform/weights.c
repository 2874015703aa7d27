/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a model with other weights: the enclosing messages are copied, all others are shared with
 * the source model. Pruning, the simplest such change, is here, too. */
#include "transform/weights.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "graph/graph.h"

static const char LOG_PATH[] = "tools/sparse.py";

enum { DOC_STRING = 12, PRODUCER_NAME = 2, PRODUCER_VERSION = 3, MODEL_DOC_STRING = 6 };

static uint64_t bit(unsigned field)
{
    return (uint64_t)1 << field;
}

pgy_status weight_edit_init(weight_edit *e, pgy_model *from, pgy_error *err)
{
    weight_edit made = {.from = from ? pgy_model_proto(from) : NULL};
    if (!made.from || !made.from->graph)
        return pgy_error_set(err, PGY_E_ARGUMENT, "there is no model with a graph to change");
    const size_t count = made.from->graph->initializer_count;
    pgy_status st = pgy_model_create(&made.model, err);
    if (!st) st = pgy_model_keep(made.model, from, err);
    if (!st) {
        made.initializers = pgy_model_alloc(made.model, count + 1, sizeof *made.initializers);
        if (!made.initializers) st = graph_no_memory(err);
    }
    if (st) {
        pgy_model_destroy(made.model);
        return st;
    }
    for (size_t i = 0; i < count; i++) made.initializers[i] = made.from->graph->initializers[i];
    *e = made;
    return PGY_OK;
}

void weight_edit_deinit(weight_edit *e)
{
    pgy_model_destroy(e->model);
}

pgy_status weight_edit_finish(pgy_model **out, weight_edit *e, const weight_edit_texts *texts,
                              pgy_error *err)
{
    pgy_onnx_model *model = pgy_model_alloc(e->model, 1, sizeof *model);
    pgy_onnx_graph *graph = pgy_model_alloc(e->model, 1, sizeof *graph);
    if (!model || !graph) return graph_no_memory(err);
    *graph = *e->from->graph;
    graph->message.raw = (pgy_bytes){0};
    graph->initializers = (pgy_onnx_tensor *const *)e->initializers;
    *model = *e->from;
    model->message.raw = (pgy_bytes){0};
    model->graph = graph;
    if (texts->producer) {
        model->producer_name = texts->producer;
        model->producer_version = "";
        model->message.present |= bit(PRODUCER_NAME);
        model->message.present &= ~bit(PRODUCER_VERSION);
    }
    if (texts->doc_string) {
        model->doc_string = pgy_model_strdup(e->model, texts->doc_string);
        if (!model->doc_string) return graph_no_memory(err);
        model->message.present &= ~bit(MODEL_DOC_STRING);
    }
    pgy_model_set_proto(e->model, model);
    *out = e->model;
    e->model = NULL;
    return PGY_OK;
}

size_t weight_edit_find(const weight_edit *e, const pgy_onnx_tensor *t)
{
    const pgy_onnx_graph *g = e->from->graph;
    for (size_t i = 0; i < g->initializer_count; i++)
        if (g->initializers[i] == t) return i;
    return SIZE_MAX;
}

pgy_onnx_tensor *weight_with_doc(pgy_model *m, const pgy_onnx_tensor *like, const char *doc)
{
    pgy_onnx_tensor *t = pgy_model_alloc(m, 1, sizeof *t);
    if (!t) return NULL;
    *t = *like;
    t->message.raw = (pgy_bytes){0};
    t->doc_string = pgy_model_strdup(m, doc);
    t->message.present &= ~bit(DOC_STRING);
    return t->doc_string ? t : NULL;
}

/* ---- Pruning -------------------------------------------------------------------------------- */

static pgy_status prune_weight(weight_edit *e, const pgy_sparse_weight *w, pgy_error *err)
{
    const pgy_onnx_tensor *t = w->value->initializer;
    const size_t place = weight_edit_find(e, t);
    pgy_onnx_tensor *made = NULL;
    if (weight_is_stripped(t))
        return pgy_error_set(err, PGY_E_FORMAT,
                             "weight '%s' is stripped: it has no elements to be pruned; use "
                             "weight-reconstruct",
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
    if (!out || !m) return pgy_error_set(err, PGY_E_ARGUMENT, "no model to prune");
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
