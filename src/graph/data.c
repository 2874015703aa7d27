/* SPDX-License-Identifier: Apache-2.0 */
/* Elements that are known before a run: those of weights, sparse weights (made dense) and Constant
 * nodes. */
#include <string.h>

#include "graph/graph.h"

static pgy_status sparse_error(const pgy_value *v, pgy_error *err, const char *what)
{
    return pgy_error_set(err, PGY_E_FORMAT, "sparse initializer '%s': %s", v->name, what);
}

/* Finds the position of non-zero element i in the dense array: indices are linear (rank 1) or rows
 * of coordinates. */
static bool place(size_t *out, const pgy_onnx_sparse_tensor *sparse, const int64_t *indices,
                  size_t i, bool linear, size_t count)
{
    size_t at = 0;
    if (linear) {
        if (indices[i] < 0 || (uint64_t)indices[i] >= count) return false;
        *out = (size_t)indices[i];
        return true;
    }
    for (size_t d = 0; d < sparse->dim_count; d++) {
        const int64_t k = indices[i * sparse->dim_count + d];
        if (k < 0 || k >= sparse->dims[d]) return false;
        at = at * (size_t)sparse->dims[d] + (size_t)k;
    }
    *out = at;
    return true;
}

static pgy_status scatter(pgy_tensor *dense, const pgy_value *v, const pgy_tensor *values,
                          const pgy_tensor *indices, pgy_error *err)
{
    const size_t count = pgy_tensor_count(values), item = pgy_dtype_describe(v->dtype)->bits / 8;
    const bool linear = pgy_tensor_rank(indices) == 1;
    const size_t wanted = linear ? count : count * v->sparse->dim_count;
    if (pgy_tensor_dtype(indices) != PGY_I64 || pgy_tensor_count(indices) != wanted)
        return sparse_error(
            v, err, "its indices must be int64: one per value, or one per value and dimension");
    if (item == 0 || v->dtype == PGY_STRING)
        return sparse_error(v, err, "its element type is not supported");
    for (size_t i = 0; i < count; i++) {
        size_t at;
        if (!place(&at, v->sparse, pgy_tensor_data(indices), i, linear, pgy_tensor_count(dense)))
            return sparse_error(v, err, "an index is out of range");
        memcpy((char *)pgy_tensor_data(dense) + at * item,
               (const char *)pgy_tensor_data(values) + i * item, item);
    }
    return PGY_OK;
}

static pgy_status densify(pgy_tensor **out, pgy_value *v, pgy_error *err)
{
    pgy_tensor *values = NULL, *indices = NULL, *dense = NULL;
    pgy_model *model = v->graph->model;
    pgy_status st = PGY_E_FORMAT;
    if (!v->sparse->indices) {
        sparse_error(v, err, "it has no indices");
        goto done;
    }
    st = pgy_onnx_tensor_load(&values, model, v->sparse->values, err);
    if (!st) st = pgy_onnx_tensor_load(&indices, model, v->sparse->indices, err);
    if (!st)
        st = pgy_tensor_create(&dense, pgy_tensor_dtype(values), v->sparse->dim_count,
                               v->sparse->dims, err);
    if (!st) st = scatter(dense, v, values, indices, err);
    if (st) goto done;
    *out = dense;
    dense = NULL;
done:
    pgy_tensor_release(values);
    pgy_tensor_release(indices);
    pgy_tensor_release(dense);
    return st;
}

/* Runs a Constant that has no `value` tensor but value_int, value_floats or another attribute. */
static pgy_status run_constant(pgy_tensor **out, pgy_node *n, pgy_error *err)
{
    const bool wanted = true;
    op_tensor result = {0};
    pgy_status st = node_prepare(n, err);
    const node_box *box = node_box_of(n);
    if (st) return st;
    if (!box->def) return node_error(n, err, PGY_E_UNSUPPORTED, "this operator is unknown");
    const op_node node = node_op(n);
    const op_host host = {0};
    st = op_check_node(&node, err);
    if (!st) st = op_run(&node, NULL, &result, &wanted, &host, err);
    if (!st) st = op_from_storage(out, result.value, result.dtype, err);
    op_tensor_release(&result);
    return st;
}

pgy_status pgy_graph_value_data(pgy_tensor **out, pgy_value *v, pgy_error *err)
{
    if (!v) return pgy_error_set(err, PGY_E_ARGUMENT, "'v' must not be NULL");
    if (v->initializer) return pgy_onnx_tensor_load(out, v->graph->model, v->initializer, err);
    if (v->sparse) return densify(out, v, err);
    const pgy_onnx_tensor *t = v->producer ? node_constant(v->producer) : NULL;
    if (t) return pgy_onnx_tensor_load(out, v->graph->model, t, err);
    pgy_node *n = v->producer;
    if (n && n->input_count == 0 && n->output_count == 1 && node_is(n, "Constant"))
        return run_constant(out, n, err);
    return pgy_error_set(err, PGY_E_NOT_FOUND, "value '%s' has no stored elements", v->name);
}
