/* SPDX-License-Identifier: Apache-2.0 */
/* A model file is run by the reference backend: parsed, imported, planned, inferred, and executed
 * on inputs of small made-up shapes. It must give outputs or an error, within limits of memory and
 * steps that stand for those of the machine and the patience of its user. */
#include <stddef.h>
#include <stdint.h>

#include "evaluate/execute.h"

enum { MAX_INPUT_ELEMENTS = 4096, MAX_BYTES = 1 << 18, MAX_STEPS = 400 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Values 0, 1, 2, ...: valid as indices and shapes as often as not. */
static pgy_status fill(pgy_tensor *t)
{
    pgy_tensor *counted = NULL;
    const int64_t count = (int64_t)pgy_tensor_count(t);
    if (pgy_tensor_dtype(t) == PGY_STRING) return PGY_OK;
    pgy_status st = pgy_tensor_create(&counted, PGY_I64, 1, &count, NULL);
    if (st) return st;
    for (int64_t i = 0; i < count; i++) ((int64_t *)pgy_tensor_data(counted))[i] = i % 7;
    st = pgy_view_convert(pgy_view_of(pgy_tensor_data(t), pgy_tensor_dtype(t), 1, &count),
                          pgy_tensor_view(counted), true, NULL);
    pgy_tensor_release(counted);
    return st;
}

static pgy_status add_input(pgy_tensor_map *feed, const pgy_value *v, pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK];
    size_t count = 0;
    pgy_tensor *t = NULL;
    if (v->rank < 0 || v->rank > PGY_MAX_RANK || v->dtype == PGY_DTYPE_NONE)
        return pgy_error_set(err, PGY_E_UNSUPPORTED, "input '%s' cannot be made", v->name);
    for (int32_t d = 0; d < v->rank; d++) shape[d] = v->dims[d].value < 0 ? 2 : v->dims[d].value;
    pgy_status st = pgy_shape_count(&count, (size_t)v->rank, shape, err);
    if (!st && count > MAX_INPUT_ELEMENTS)
        st = pgy_error_set(err, PGY_E_UNSUPPORTED, "input '%s' is large", v->name);
    if (!st) st = pgy_tensor_create(&t, v->dtype, (size_t)v->rank, shape, err);
    if (!st) st = fill(t);
    if (!st) st = pgy_tensor_map_set(feed, v->name, t, err);
    pgy_tensor_release(t);
    return st;
}

static pgy_status run(pgy_graph *g, graph_plan *plan, pgy_error *err)
{
    const execute_limits limits = {.max_bytes = MAX_BYTES, .max_steps = MAX_STEPS};
    pgy_tensor_map *feed = NULL, *out = NULL;
    pgy_status st = plan_build(plan, g, err);
    if (!st) st = pgy_graph_infer_shapes(g, NULL, err);
    if (!st) st = pgy_tensor_map_create(&feed, err);
    if (!st) st = pgy_tensor_map_create(&out, err);
    for (size_t i = 0; !st && i < g->input_count; i++) st = add_input(feed, g->inputs[i], err);
    if (!st) st = execute_graph(plan, g, feed, out, false, &limits, err);
    pgy_tensor_map_destroy(feed);
    pgy_tensor_map_destroy(out);
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pgy_model *model = NULL;
    pgy_graph *g = NULL;
    graph_plan plan = {0};
    pgy_error err = {0};
    pgy_status st = pgy_model_parse(&model, data, size, true, NULL, &err);
    if (!st) st = pgy_graph_import(&g, model, &err);
    if (!st) st = run(g, &plan, &err);
    if (st && !err.text[0]) __builtin_trap();
    pgy_graph_destroy(g);
    graph_plan_deinit(&plan);
    pgy_model_destroy(model);
    return 0;
}
