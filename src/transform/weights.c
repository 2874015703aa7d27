/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a copy of a model with other weights. Only the protobuf messages around the weights are
 * copied; all others are shared with the source model. */
#include "transform/weights.h"

#include <string.h>

#include "graph/graph.h"

enum { DOC_STRING = 12, PRODUCER_NAME = 2, PRODUCER_VERSION = 3, MODEL_DOC_STRING = 6 };

static uint64_t bit(unsigned field)
{
    return (uint64_t)1 << field;
}

pgy_status weight_edit_init(weight_edit *e, pgy_model *from, pgy_error *err)
{
    weight_edit made = {.from = from ? pgy_model_proto(from) : NULL};
    if (!made.from || !made.from->graph)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the model is NULL or has no graph");
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

bool weight_is_stripped(const pgy_onnx_tensor *t)
{
    return strstr(t->doc_string, STRIPPED_MARK) != NULL;
}
