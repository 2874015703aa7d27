/* SPDX-License-Identifier: Apache-2.0 */
/* Words of --trt-outputs-by-type: TensorRT's layer types, or operators of the model. */
#include <string.h>

#include <polygraphy/describe.h>
#include <polygraphy/onnx.h>

#include "cli/groups/trt.h"

static size_t find_layer(const char *word)
{
    size_t i = 0;
    while (i < pgy_trt_layer_count() && !str_equal_nocase(pgy_trt_layer_at(i)->name, word)) i++;
    return i;
}

static pgy_status unknown(const char *word, pgy_error *err)
{
    str near = {0};
    for (size_t i = 0; i < pgy_trt_layer_count(); i++)
        if (str_contains_nocase(pgy_trt_layer_at(i)->name, word) ||
            str_distance(pgy_trt_layer_at(i)->name, word) < 4)
            str_printf(&near, "%s%s", near.size ? ", " : "; similar: ", pgy_trt_layer_at(i)->name);
    const pgy_status st = pgy_error_set(
        err, PGY_E_ARGUMENT,
        "--trt-outputs-by-type: '%s' is neither a layer type nor an operator of the model%s", word,
        str_text(&near));
    str_deinit(&near);
    return st;
}

/* Adds the operators of the model's nodes that the word selects. */
static pgy_status add_word(strvec *out, const char *word, const pgy_onnx_graph *g, pgy_error *err)
{
    const size_t layer = find_layer(word);
    bool found = layer < pgy_trt_layer_count();
    for (size_t i = 0; i < g->node_count; i++) {
        const char *op = g->nodes[i]->op_type;
        const bool same = str_equal_nocase(op, word);
        if (!same &&
            (layer == pgy_trt_layer_count() || !pgy_trt_layer_has(pgy_trt_layer_at(layer), op)))
            continue;
        found = true;
        if (!strvec_contains(out, op) && !strvec_push(out, op))
            return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    return found ? PGY_OK : unknown(word, err);
}

pgy_status trt_layer_operators(strvec *out, const pgy_text_list *words, const char *path,
                               pgy_error *err)
{
    const pgy_model_load_options structure = {.size = sizeof structure,
                                              .ignore_external_data = true};
    pgy_model *model = NULL;
    pgy_status st = pgy_model_load(&model, path, &structure, err);
    const pgy_onnx_graph *g = st ? NULL : pgy_model_proto(model)->graph;
    for (size_t i = 0; !st && g && i < words->count; i++)
        st = add_word(out, words->items[i], g, err);
    if (!st && !out->count)
        st = pgy_error_set(err, PGY_E_NOT_FOUND,
                           "--trt-outputs-by-type: the model has no layer of these types");
    pgy_model_destroy(model);
    return st;
}
