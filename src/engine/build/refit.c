/* SPDX-License-Identifier: Apache-2.0 */
/* A refitter holds the engine's original model and a list of replaced weights. The new model shares
 * all other messages with the original. */
#include <polygraphy/refit.h>

#include <string.h>

#include "base/alloc.h"
#include "base/suggest.h"
#include "engine/build/engine.h"
#include "engine/plan/weights.h"

struct pgy_refitter {
    engine *engine;
    pgy_model *model;
    const pgy_onnx_graph *graph;
    pgy_metadata *weights;
    strmap places;    /* maps a weight's name to its index + 1 */
    pgy_tensor **set; /* indexed by weight: its new elements; NULL: unchanged */
    size_t count;
    uint64_t hash; /* hash of the file that all weights come from; 0: not from a single file */
};

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while refitting");
}

void pgy_refitter_destroy(pgy_refitter *r)
{
    if (!r) return;
    for (size_t i = 0; r->set && i < r->count; i++) pgy_tensor_release(r->set[i]);
    mem_free(r->set);
    strmap_deinit(&r->places);
    pgy_metadata_destroy(r->weights);
    pgy_model_destroy(r->model);
    engine_release(r->engine);
    mem_free(r);
}

static pgy_status list_weights(pgy_refitter *r, pgy_error *err)
{
    r->graph = pgy_model_proto(r->model)->graph;
    r->count = r->graph->initializer_count;
    r->set = mem_calloc(r->count + 1, sizeof *r->set);
    if (!r->set) return no_memory(err);
    pgy_status st = pgy_metadata_create(&r->weights, err);
    for (size_t i = 0; !st && i < r->count; i++) {
        const pgy_onnx_tensor *t = r->graph->initializers[i];
        pgy_tensor_info info = {0};
        st = pgy_onnx_tensor_info(&info, t, err);
        if (!st) st = pgy_metadata_set(r->weights, &info, err);
        if (!st && !strmap_put(&r->places, t->name, (void *)(uintptr_t)(i + 1)))
            st = no_memory(err);
    }
    return st;
}

pgy_status pgy_refitter_create(pgy_refitter **out, pgy_engine *e, pgy_error *err)
{
    if (!out || !e)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out' and the engine must not be NULL");
    pgy_refitter *r = mem_calloc(1, sizeof *r);
    if (!r) return no_memory(err);
    r->engine = engine_retain(e);
    pgy_status st = engine_original(&r->model, e, err);
    if (!st) st = list_weights(r, err);
    if (st)
        pgy_refitter_destroy(r);
    else
        *out = r;
    return st;
}

size_t pgy_refitter_weight_count(const pgy_refitter *r)
{
    return r->count;
}

const pgy_tensor_info *pgy_refitter_weight_at(const pgy_refitter *r, size_t i)
{
    return i < r->count ? pgy_metadata_at(r->weights, i) : NULL;
}

bool pgy_refitter_is_missing(const pgy_refitter *r, size_t i)
{
    uint64_t hash;
    return i < r->count && !r->set[i] && plan_weight_is_left_out(r->graph->initializers[i], &hash);
}

size_t pgy_refitter_missing_count(const pgy_refitter *r)
{
    size_t count = 0;
    for (size_t i = 0; i < r->count; i++) count += pgy_refitter_is_missing(r, i);
    return count;
}

/* The index of a weight; PGY_E_NOT_FOUND suggests similar names. */
static pgy_status find(size_t *out, const pgy_refitter *r, const char *name, pgy_error *err)
{
    const uintptr_t place = name ? (uintptr_t)strmap_get(&r->places, name) : 0;
    suggestions near = {.wanted = name ? name : ""};
    str text = {0};
    if (place) {
        *out = place - 1;
        return PGY_OK;
    }
    for (size_t i = 0; i < r->count; i++) suggest_offer(&near, r->graph->initializers[i]->name);
    suggest_append(&text, &near);
    const pgy_status st = pgy_error_set(err, PGY_E_NOT_FOUND, "the engine has no weight '%s'%s",
                                        near.wanted, str_text(&text));
    str_deinit(&text);
    return st;
}

pgy_status pgy_refitter_weights(pgy_tensor **out, pgy_refitter *r, const char *name, pgy_error *err)
{
    size_t i = 0;
    if (!out || !r)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out' and the refitter must not be NULL");
    const pgy_status st = find(&i, r, name, err);
    if (st) return st;
    if (r->set[i]) {
        *out = pgy_tensor_retain(r->set[i]);
        return PGY_OK;
    }
    if (pgy_refitter_is_missing(r, i))
        return pgy_error_set(err, PGY_E_NOT_FOUND,
                             "weight '%s' was stripped from the plan; set it before you read it",
                             name);
    return pgy_onnx_tensor_load(out, r->model, r->graph->initializers[i], err);
}

static void put_shape(str *out, size_t rank, const int64_t *shape)
{
    str_append(out, "[");
    for (size_t i = 0; i < rank; i++) str_printf(out, "%s%lld", i ? ", " : "", (long long)shape[i]);
    str_append(out, "]");
}

static pgy_status check(const pgy_refitter *r, size_t i, const pgy_tensor *t, pgy_error *err)
{
    const pgy_tensor_info *wanted = pgy_metadata_at(r->weights, i);
    const size_t rank = pgy_tensor_rank(t);
    const int64_t *shape = pgy_tensor_shape(t);
    if (pgy_tensor_dtype(t) != wanted->dtype)
        return pgy_error_set(err, PGY_E_TYPE, "weight '%s' is %s in the engine, but %s was given",
                             wanted->name, pgy_dtype_name(wanted->dtype),
                             pgy_dtype_name(pgy_tensor_dtype(t)));
    if (rank == (size_t)wanted->rank &&
        (!rank || memcmp(shape, wanted->shape, rank * sizeof *shape) == 0))
        return PGY_OK;
    str has = {0}, given = {0};
    put_shape(&has, (size_t)wanted->rank, wanted->shape);
    put_shape(&given, rank, shape);
    const pgy_status st =
        pgy_error_set(err, PGY_E_SHAPE, "weight '%s' has shape %s in the engine, but %s was given",
                      wanted->name, str_text(&has), str_text(&given));
    str_deinit(&has);
    str_deinit(&given);
    return st;
}

pgy_status pgy_refitter_set_weights(pgy_refitter *r, const char *name, pgy_tensor *t,
                                    pgy_error *err)
{
    pgy_tensor *resident = NULL;
    size_t i = 0;
    if (!r || !t)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the refitter and the weights must not be NULL");
    pgy_status st = find(&i, r, name, err);
    if (!st) st = check(r, i, t, err);
    if (!st) st = pgy_tensor_load(&resident, t, err);
    if (st) return st;
    pgy_tensor_release(r->set[i]);
    r->set[i] = resident;
    r->hash = 0;
    return PGY_OK;
}

/* ---- From a model --------------------------------------------------------------------------- */

static bool same_names(const char *const *a, size_t a_count, const char *const *b, size_t b_count)
{
    if (a_count != b_count) return false;
    for (size_t i = 0; i < a_count; i++)
        if (strcmp(a[i], b[i]) != 0) return false;
    return true;
}

static bool same_node(const pgy_onnx_node *a, const pgy_onnx_node *b)
{
    return strcmp(a->op_type, b->op_type) == 0 && strcmp(a->domain, b->domain) == 0 &&
           same_names(a->inputs, a->input_count, b->inputs, b->input_count) &&
           same_names(a->outputs, a->output_count, b->outputs, b->output_count);
}

/* Has graph g the same nodes as the engine's model? Attributes are not compared. */
static pgy_status compare(const pgy_refitter *r, const pgy_onnx_graph *g, pgy_error *err)
{
    if (g->node_count != r->graph->node_count)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "the model has %zu nodes, but the engine was built from a model with "
                             "%zu: refit from the same model with other weights",
                             g->node_count, r->graph->node_count);
    for (size_t i = 0; i < g->node_count; i++)
        if (!same_node(g->nodes[i], r->graph->nodes[i]))
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "node %zu of the model is %s '%s', but the engine was built from "
                                 "a model with %s '%s' there, or its inputs and outputs differ: "
                                 "refit from the same model with other weights",
                                 i, g->nodes[i]->op_type, g->nodes[i]->name,
                                 r->graph->nodes[i]->op_type, r->graph->nodes[i]->name);
    return PGY_OK;
}

pgy_status pgy_refitter_set_model(pgy_refitter *r, pgy_model *model, pgy_error *err)
{
    strmap given = {0};
    if (!r || !model)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the refitter and the model must not be NULL");
    const pgy_onnx_graph *g = pgy_model_proto(model)->graph;
    pgy_status st =
        g ? compare(r, g, err) : pgy_error_set(err, PGY_E_FORMAT, "the model has no graph");
    for (size_t i = 0; !st && i < g->initializer_count; i++)
        if (!strmap_put(&given, g->initializers[i]->name, g->initializers[i])) st = no_memory(err);
    for (size_t i = 0; !st && i < r->count; i++) {
        const char *name = r->graph->initializers[i]->name;
        const pgy_onnx_tensor *from = strmap_get(&given, name);
        pgy_tensor *t = NULL;
        st = from ? pgy_onnx_tensor_load(&t, model, from, err)
                  : pgy_error_set(err, PGY_E_NOT_FOUND,
                                  "the model has no weight '%s', which the engine needs", name);
        if (!st) st = pgy_refitter_set_weights(r, name, t, err);
        pgy_tensor_release(t);
    }
    if (!st) r->hash = engine_hash_model(model);
    strmap_deinit(&given);
    return st;
}

/* ---- Doing it ------------------------------------------------------------------------------- */

static pgy_status tell_missing(const pgy_refitter *r, pgy_error *err)
{
    enum { LISTED = 4 };
    str names = {0};
    const size_t count = pgy_refitter_missing_count(r);
    size_t listed = 0;
    for (size_t i = 0; i < r->count && listed < LISTED; i++)
        if (pgy_refitter_is_missing(r, i))
            str_printf(&names, "%s'%s'", listed++ ? ", " : "", r->graph->initializers[i]->name);
    const pgy_status st =
        pgy_error_set(err, PGY_E_NOT_FOUND, "%zu stripped weight(s) are not set yet: %s%s", count,
                      str_text(&names), count > listed ? " ..." : "");
    str_deinit(&names);
    return st;
}

/* Makes a graph with the weights that were set; model `made` retains what the graph refers to. */
static pgy_status make_graph(pgy_onnx_graph **out, pgy_model *made, const pgy_refitter *r,
                             pgy_error *err)
{
    pgy_onnx_graph *g = pgy_model_alloc(made, 1, sizeof *g);
    pgy_onnx_tensor **list = pgy_model_alloc(made, r->count + 1, sizeof *list);
    if (!g || !list) return no_memory(err);
    for (size_t i = 0; i < r->count; i++) {
        const char *name = r->graph->initializers[i]->name;
        list[i] = r->graph->initializers[i];
        if (!r->set[i]) continue;
        const pgy_status st = pgy_model_tensor(&list[i], made, name, r->set[i], err);
        if (st) return st;
    }
    *g = *r->graph;
    g->initializers = list;
    g->message.raw = (pgy_bytes){0};
    *out = g;
    return PGY_OK;
}

static pgy_status make_model(pgy_model **out, const pgy_refitter *r, pgy_error *err)
{
    pgy_model *made = NULL;
    pgy_status st = pgy_model_create(&made, err);
    if (st) return st;
    pgy_onnx_model *proto = pgy_model_alloc(made, 1, sizeof *proto);
    st = proto ? pgy_model_keep(made, r->model, err) : no_memory(err);
    if (!st) {
        *proto = *pgy_model_proto(r->model);
        proto->message.raw = (pgy_bytes){0};
        st = make_graph(&proto->graph, made, r, err);
    }
    if (st) {
        pgy_model_destroy(made);
        return st;
    }
    pgy_model_set_proto(made, proto);
    *out = made;
    return PGY_OK;
}

pgy_status pgy_refitter_refit(pgy_refitter *r, pgy_error *err)
{
    pgy_model *model = NULL;
    if (!r) return pgy_error_set(err, PGY_E_ARGUMENT, "the refitter must not be NULL");
    if (pgy_refitter_missing_count(r)) return tell_missing(r, err);
    pgy_status st = make_model(&model, r, err);
    if (!st) st = engine_refit(r->engine, model, r->hash, err);
    pgy_model_destroy(model);
    return st;
}
