/* SPDX-License-Identifier: Apache-2.0 */
/* Computes nodes that only change the shape (a view: nothing is copied) or the order of their
 * input, without the detour through the storage types, which would cost eight bytes per element. */
#include <string.h>

#include "ops/move.h"
#include "transform/fold.h"

static const char *const VIEWS[] = {"Reshape", "Squeeze", "Unsqueeze", "Flatten"};

bool fold_is_view(const pgy_node *n)
{
    for (size_t i = 0; i < sizeof VIEWS / sizeof *VIEWS; i++)
        if (node_is(n, VIEWS[i])) return true;
    return false;
}

static bool known_shape(int64_t *shape, size_t *rank, const pgy_value *v)
{
    const op_value *known = fold_known(v);
    if (known->rank < 0 || known->rank > PGY_MAX_RANK) return false;
    for (int32_t i = 0; i < known->rank; i++) {
        if (!dim_is_const(known->dims[i]) || known->dims[i].value < 0) return false;
        shape[i] = known->dims[i].value;
    }
    *rank = (size_t)known->rank;
    return true;
}

bool fold_permutation(size_t *perm, const pgy_node *n, size_t rank)
{
    bool seen[PGY_MAX_RANK] = {0};
    const pgy_onnx_attribute *a = node_attribute(n, "perm");
    for (size_t i = 0; i < rank; i++) perm[i] = rank - 1 - i;
    if (!a) return true;
    if (a->int_count != rank) return false;
    for (size_t i = 0; i < rank; i++) {
        const int64_t axis = a->ints[i];
        if (axis < 0 || axis >= (int64_t)rank || seen[axis]) return false;
        seen[axis] = true;
        perm[i] = (size_t)axis;
    }
    return true;
}

static pgy_status transpose(pgy_tensor **out, const pgy_node *n, const pgy_tensor *x,
                            pgy_error *err)
{
    size_t perm[PGY_MAX_RANK];
    int64_t shape[PGY_MAX_RANK];
    ptrdiff_t strides[PGY_MAX_RANK];
    move_box box;
    pgy_tensor *y = NULL;
    const size_t rank = pgy_tensor_rank(x), bits = pgy_dtype_describe(pgy_tensor_dtype(x))->bits;
    if (rank > PGY_MAX_RANK || bits == 0 || bits % 8 || pgy_tensor_dtype(x) == PGY_STRING ||
        !fold_permutation(perm, n, rank))
        return PGY_OK;
    for (size_t i = 0; i < rank; i++) shape[i] = pgy_tensor_shape(x)[perm[i]];
    const pgy_status st = pgy_tensor_create(&y, pgy_tensor_dtype(x), rank, shape, err);
    if (st) return st;
    move_strides(strides, rank, pgy_tensor_shape(x));
    move_box_init(&box, rank, shape);
    for (size_t i = 0; i < rank; i++) box.from[i] = strides[perm[i]];
    if (pgy_tensor_count(x)) move_copy(pgy_tensor_data(y), pgy_tensor_data(x), bits / 8, &box);
    *out = y;
    return PGY_OK;
}

pgy_status fold_move(pgy_tensor **out, bool *shared, pgy_node *n, pgy_tensor *input, pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK];
    size_t rank, count;
    *out = NULL;
    *shared = false;
    if (n->output_count != 1) return PGY_OK;
    if (node_is(n, "Transpose")) return transpose(out, n, input, err);
    if (node_is(n, "Identity")) {
        *shared = true;
        *out = pgy_tensor_retain(input);
        return PGY_OK;
    }
    if (!fold_is_view(n) || !known_shape(shape, &rank, n->outputs[0]) ||
        pgy_shape_count(&count, rank, shape, NULL) || count != pgy_tensor_count(input))
        return PGY_OK;
    *shared = true;
    return pgy_tensor_reshape(out, input, rank, shape, err);
}
