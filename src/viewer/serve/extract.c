/* SPDX-License-Identifier: Apache-2.0 */
/* Extracts a part of a model for a page, as `surgeon extract` does with types from the model. */
#include "viewer/serve/extract.h"

#include <polygraphy/gs.h>

#include "base/alloc.h"
#include "base/printable.h"

/* Types and shapes of the tensors where the part is cut are those that inference finds. */
static pgy_status import(pgy_gs_graph **out, pgy_model *model, pgy_error *err)
{
    pgy_graph *graph = NULL;
    pgy_model *inferred = NULL;
    pgy_error ignored = {0};
    pgy_status st = pgy_graph_import(&graph, model, &ignored);
    if (!st) st = pgy_graph_infer_shapes(graph, NULL, &ignored);
    if (!st) st = pgy_graph_export(&inferred, graph, &ignored);
    pgy_graph_destroy(graph);
    st = pgy_gs_import(out, st ? model : inferred, err);
    pgy_model_destroy(inferred);
    return st;
}

static pgy_status set_ends(pgy_gs_graph *g, const strvec *names, bool are_outputs, pgy_error *err)
{
    if (!names->count) return PGY_OK;
    pgy_gs_tensor **list = mem_calloc(names->count, sizeof(pgy_gs_tensor *));
    if (!list) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while a model is cut");
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < names->count && !st; i++) {
        st = pgy_gs_get_tensor(&list[i], g, names->items[i], err);
        if (!st && !are_outputs) pgy_gs_clear_producers(list[i]);
    }
    if (!st)
        st = are_outputs ? pgy_gs_set_graph_outputs(g, list, names->count, err)
                         : pgy_gs_set_graph_inputs(g, list, names->count, err);
    mem_free(list);
    return st;
}

static bool is_input(const pgy_gs_graph *g, const pgy_gs_tensor *t)
{
    for (size_t i = 0; i < g->input_count; i++)
        if (g->inputs[i] == t) return true;
    return false;
}

/* A tensor that the part reads must be made in it or be an input. */
static pgy_status check_defined(const pgy_gs_graph *g, pgy_error *err)
{
    pgy_gs_tensor_list all = {0};
    pgy_status st = pgy_gs_tensors(&all, g, false, err);
    for (size_t i = 0; i < all.count && !st; i++) {
        const pgy_gs_tensor *t = all.items[i];
        if (t->kind == PGY_GS_VARIABLE && !t->producer_count && t->consumer_count &&
            !is_input(g, t))
            st =
                pgy_error_set(err, PGY_E_ARGUMENT, "the part reads '%s', too: add it to its inputs",
                              printable_name(t->name));
    }
    pgy_gs_tensor_list_free(&all);
    return st;
}

pgy_status model_part(void **out, size_t *size_bytes, pgy_model *model, const strvec *inputs,
                      const strvec *outputs, pgy_error *err)
{
    static const pgy_gs_export_options LOOSE = {.size = sizeof LOOSE, .no_type_check = true};
    pgy_gs_graph *g = NULL;
    pgy_model *part = NULL;
    pgy_status st = import(&g, model, err);
    if (!st) st = set_ends(g, inputs, false, err);
    if (!st) st = set_ends(g, outputs, true, err);
    if (!st) st = pgy_gs_cleanup(g, NULL, err);
    if (!st) st = check_defined(g, err);
    if (!st) st = pgy_gs_export(&part, g, &LOOSE, err);
    if (!st) st = pgy_model_serialize(out, size_bytes, part, err);
    pgy_model_destroy(part);
    pgy_gs_destroy(g);
    return st;
}
