/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a sparse initializer dense when its elements are read. Its INT64 indices give the position
 * of each stored element, as a linear index or as a row of coordinates. */
#include "gs/graph/sparse.h"

#include <string.h>

typedef struct scatter_args {
    const pgy_onnx_sparse_tensor *sparse;
    const char *name;
    pgy_tensor *values, *indices, *dense;
} scatter_args;

static pgy_status refuse(const scatter_args *x, pgy_error *err, const char *what)
{
    return pgy_error_set(err, PGY_E_FORMAT, "sparse weight '%.200s': %s", x->name, what);
}

/* The linear index of stored element i in the dense tensor; false: it is out of range. */
static bool place_of(size_t *out, const scatter_args *x, size_t i, bool linear)
{
    const int64_t *indices = pgy_tensor_data(x->indices);
    const size_t rank = x->sparse->dim_count;
    size_t at = 0;
    if (linear) {
        *out = (size_t)indices[i];
        return indices[i] >= 0 && (uint64_t)indices[i] < pgy_tensor_count(x->dense);
    }
    for (size_t k = 0; k < rank; k++) {
        const int64_t index = indices[i * rank + k];
        if (index < 0 || index >= x->sparse->dims[k]) return false;
        at = at * (size_t)x->sparse->dims[k] + (size_t)index;
    }
    *out = at;
    return true;
}

static pgy_status scatter(const scatter_args *x, pgy_error *err)
{
    const pgy_dtype dtype = pgy_tensor_dtype(x->values);
    const size_t count = pgy_tensor_count(x->values), item = pgy_dtype_describe(dtype)->bits / 8;
    const size_t index_rank = pgy_tensor_rank(x->indices);
    const bool linear = index_rank == 1;
    const int64_t *shape = pgy_tensor_shape(x->indices);
    if (pgy_tensor_dtype(x->indices) != PGY_I64) return refuse(x, err, "its indices are not int64");
    if (index_rank < 1 || index_rank > 2 || (size_t)shape[0] != count ||
        (!linear && (size_t)shape[1] != x->sparse->dim_count))
        return refuse(x, err, "the shape of its indices does not match its values");
    if (item == 0 || dtype == PGY_STRING)
        return refuse(x, err, "its element type is not supported");
    const char *from = pgy_tensor_data(x->values);
    char *to = pgy_tensor_data(x->dense);
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        if (!place_of(&at, x, i, linear)) return refuse(x, err, "an index is out of range");
        memcpy(to + at * item, from + i * item, item);
    }
    return PGY_OK;
}

pgy_status gs_sparse_load(pgy_tensor **out, pgy_model *m, const pgy_onnx_sparse_tensor *sparse,
                          pgy_error *err)
{
    scatter_args x = {.sparse = sparse, .name = sparse->values ? sparse->values->name : ""};
    if (!sparse->values || !sparse->indices) return refuse(&x, err, "it has no values or indices");
    pgy_status st = pgy_onnx_tensor_load(&x.values, m, sparse->values, err);
    if (!st) st = pgy_onnx_tensor_load(&x.indices, m, sparse->indices, err);
    if (!st)
        st = pgy_tensor_create(&x.dense, pgy_tensor_dtype(x.values), sparse->dim_count,
                               sparse->dims, err);
    if (!st) st = scatter(&x, err);
    if (st) goto done;
    *out = x.dense;
    x.dense = NULL;
done:
    pgy_tensor_release(x.values);
    pgy_tensor_release(x.indices);
    pgy_tensor_release(x.dense);
    return st;
}
