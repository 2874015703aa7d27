/* SPDX-License-Identifier: Apache-2.0 */
/* Records the tensors at the borders of a cut with a runtime. */
#include <polygraphy/record.h>

#include <string.h>

#include "base/alloc.h"
#include "base/sized.h"

static bool is_model_input(const pgy_onnx_graph *g, const char *name)
{
    for (size_t i = 0; i < g->input_count; i++)
        if (!strcmp(g->inputs[i]->name, name)) return true;
    return false;
}

/* A tensor, or the elements of a sequence: name[0], name[1]... */
static pgy_status pick_one(pgy_tensor_map *out, const pgy_tensor_map *all, const char *name,
                           pgy_error *err)
{
    const size_t size = strlen(name);
    pgy_tensor *t = pgy_tensor_map_find(all, name);
    bool found = t;
    pgy_status st = t ? pgy_tensor_map_set(out, name, t, err) : PGY_OK;
    for (size_t i = 0; !t && !st && i < pgy_tensor_map_count(all); i++) {
        const char *element = pgy_tensor_map_name(all, i);
        if (strncmp(element, name, size) || element[size] != '[') continue;
        found = true;
        st = pgy_tensor_map_set(out, element, pgy_tensor_map_at(all, i), err);
    }
    return st || found
               ? st
               : pgy_error_set(err, PGY_E_NOT_FOUND, "the run did not return tensor '%s'", name);
}

static pgy_status pick(pgy_tensor_map **out, const pgy_tensor_map *all, const char *const *names,
                       size_t count, pgy_error *err)
{
    pgy_tensor_map *map = NULL;
    pgy_status st = pgy_tensor_map_create(&map, err);
    for (size_t i = 0; !st && i < count; i++) st = pick_one(map, all, names[i], err);
    if (st)
        pgy_tensor_map_destroy(map);
    else
        *out = map;
    return st;
}

pgy_status pgy_record_cut(pgy_tensor_map **inputs, pgy_tensor_map **outputs, const pgy_cut *cut,
                          const pgy_record_options *options, pgy_error *err)
{
    size_t input_count, output_count;
    pgy_model *model = pgy_cut_source(cut);
    const char *const *before = pgy_cut_inputs(cut, &input_count);
    const char *const *after = pgy_cut_outputs(cut, &output_count);
    pgy_record_options o = {0};
    pgy_tensor_map *all = NULL, *in = NULL, *out = NULL;
    if (!pgy_cut_is_top(cut))
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "a runtime does not return values inside subgraphs; use "
                             "pgy_cut_record, which records them by the reference");
    pgy_status st = SIZED_TAKE(pgy_record_options, &o, options, err);
    if (st) return st;
    const char **names = mem_calloc(input_count + output_count + 1, sizeof *names);
    if (!names) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    o.size = sizeof o;
    o.all = false;
    o.names = names;
    o.name_count = 0;
    for (size_t i = 0; i < input_count; i++)
        if (!is_model_input(pgy_model_proto(model)->graph, before[i]))
            names[o.name_count++] = before[i];
    for (size_t i = 0; i < output_count; i++) names[o.name_count++] = after[i];
    st = pgy_record(&all, model, &o, err);
    if (!st) st = pick(&in, all, before, input_count, err);
    if (!st) st = pick(&out, all, after, output_count, err);
    if (!st) {
        *inputs = in;
        *outputs = out;
        in = out = NULL;
    }
    pgy_tensor_map_destroy(in);
    pgy_tensor_map_destroy(out);
    pgy_tensor_map_destroy(all);
    mem_free(names);
    return st;
}
