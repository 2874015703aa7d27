/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that combine many elements: reductions, softmax, top-k, cumulative sums, normalisation,
 * products. */

#include "engine/network/network.h"

static const char *const REDUCTIONS[] = {
    [PGY_REDUCE_SUM] = "ReduceSum",  [PGY_REDUCE_PROD] = "ReduceProd",
    [PGY_REDUCE_MAX] = "ReduceMax",  [PGY_REDUCE_MIN] = "ReduceMin",
    [PGY_REDUCE_AVG] = "ReduceMean",
};

static pgy_value *reduce(builder *b, const char *op, pgy_value *x, const int64_t *axes,
                         size_t count, bool keep_dims)
{
    pgy_value *y = build_emit(b, op, 2, x, build_vector(b, axes, count));
    return build_int(b, y, "keepdims", keep_dims);
}

pgy_status pgy_network_add_reduce(pgy_layer **out, pgy_network *net, pgy_value *input,
                                  pgy_reduce_operation operation, uint32_t mask, bool keep_dims,
                                  pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_REDUCE, input, err);
    int64_t axes[32];
    const size_t count = build_mask_axes(&b, axes, mask, build_rank(&b, input));
    if ((size_t)operation >= sizeof REDUCTIONS / sizeof *REDUCTIONS)
        build_fail(&b, PGY_E_ARGUMENT, "%d is not a reduction", (int)operation);
    else if (count == 0)
        build_fail(&b, PGY_E_ARGUMENT, "no axes are given");
    else
        build_output(&b, reduce(&b, REDUCTIONS[operation], input, axes, count, keep_dims));
    return build_finish(&b, out);
}

pgy_status pgy_network_add_softmax(pgy_layer **out, pgy_network *net, pgy_value *input,
                                   uint32_t axes, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_SOFTMAX, input, err);
    const int32_t rank = build_rank(&b, input), usual = rank > 3 ? rank - 3 : 0;
    const int32_t axis = axes ? build_mask_axis(&b, axes, rank) : usual;
    build_output(&b, build_int(&b, build_emit(&b, "Softmax", 1, input), "axis", axis));
    return build_finish(&b, out);
}

/* ---- Top-k ---------------------------------------------------------------------------------- */

static void check_indices(builder *b, pgy_dtype dtype)
{
    if (dtype != PGY_I32 && dtype != PGY_I64)
        build_fail(b, PGY_E_TYPE, "the type for indices is %s; expected int32 or int64",
                   pgy_dtype_name(dtype));
}

static pgy_status topk(builder *b, pgy_layer **out, pgy_value *input, pgy_value *k,
                       pgy_topk_operation operation, uint32_t axes, pgy_dtype indices_type)
{
    const int32_t axis = build_mask_axis(b, axes, build_rank(b, input));
    check_indices(b, indices_type);
    if ((size_t)operation > PGY_TOPK_MIN)
        build_fail(b, PGY_E_ARGUMENT, "%d is not a top-k operation", (int)operation);
    pgy_node *n = build_node(b, "TopK", (pgy_value *[]){input, k}, 2, 2);
    if (n) {
        build_int(b, n->outputs[0], "axis", axis);
        build_int(b, n->outputs[0], "largest", operation == PGY_TOPK_MAX);
        build_output(b, n->outputs[0]);
        build_output(b, build_cast(b, n->outputs[1], indices_type));
    }
    return build_finish(b, out);
}

pgy_status pgy_network_add_topk(pgy_layer **out, pgy_network *net, pgy_value *input,
                                pgy_topk_operation operation, int64_t k, uint32_t axes,
                                pgy_dtype indices_type, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_TOPK, input, err);
    if (k < 0) build_fail(&b, PGY_E_ARGUMENT, "k is %lld; expected at least 0", (long long)k);
    return topk(&b, out, input, build_vector(&b, &k, 1), operation, axes, indices_type);
}

pgy_status pgy_network_add_topk_of(pgy_layer **out, pgy_network *net, pgy_value *input,
                                   pgy_topk_operation operation, pgy_value *k, uint32_t axes,
                                   pgy_dtype indices_type, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_TOPK, input, err);
    const int64_t one = 1;
    build_input(&b, k, "k");
    pgy_value *vector = build_cast(&b, build_reshape(&b, k, &one, 1), PGY_I64);
    return topk(&b, out, input, vector, operation, axes, indices_type);
}

pgy_status pgy_network_add_cumulative(pgy_layer **out, pgy_network *net, pgy_value *input,
                                      int32_t axis, pgy_cumulative_operation operation,
                                      bool exclusive, bool reverse, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_CUMULATIVE, input, err);
    const int32_t at = build_axis(&b, axis, build_rank(&b, input));
    if (operation != PGY_CUMULATIVE_SUM)
        build_fail(&b, PGY_E_ARGUMENT, "%d is not a cumulative operation", (int)operation);
    pgy_value *y = build_emit(&b, "CumSum", 2, input, build_index(&b, at));
    build_int(&b, y, "exclusive", exclusive);
    build_output(&b, build_int(&b, y, "reverse", reverse));
    return build_finish(&b, out);
}

/* ---- Normalisation -------------------------------------------------------------------------- */

static pgy_value *normalise(builder *b, pgy_value *x, const int64_t *axes, size_t count,
                            double epsilon)
{
    const pgy_dtype dtype = build_dtype(b, x);
    pgy_value *centred = build_emit(b, "Sub", 2, x, reduce(b, "ReduceMean", x, axes, count, true));
    pgy_value *squares = build_emit(b, "Mul", 2, centred, centred);
    pgy_value *variance = reduce(b, "ReduceMean", squares, axes, count, true);
    variance = build_emit(b, "Add", 2, variance, build_number(b, dtype, epsilon));
    return build_emit(b, "Div", 2, centred, build_emit(b, "Sqrt", 1, variance));
}

/* Normalises each group of channels with its spatial axes as one row. */
static pgy_value *normalise_groups(builder *b, pgy_value *x, int64_t groups, double epsilon)
{
    const int64_t dims[3] = {0, groups, -1}, axis = 2;
    const int64_t channels = build_size(b, x, 1);
    if (!b->status && channels >= 0 && channels % groups)
        build_fail(b, PGY_E_SHAPE, "%lld channels cannot be divided into %lld groups",
                   (long long)channels, (long long)groups);
    pgy_value *rows = build_reshape(b, x, dims, 3);
    rows = normalise(b, rows, &axis, 1, epsilon);
    return build_emit(b, "Reshape", 2, rows, build_emit(b, "Shape", 1, x));
}

pgy_status pgy_network_add_normalization(pgy_layer **out, pgy_network *net, pgy_value *input,
                                         const pgy_normalization *p, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_NORMALIZATION, input, err);
    int64_t axes[32];
    if (!p) build_fail(&b, PGY_E_ARGUMENT, "the parameters must not be NULL");
    if (b.status) return build_finish(&b, out);
    build_optional(&b, p->scale);
    build_optional(&b, p->bias);
    const int32_t rank = build_rank(&b, input);
    const size_t count = build_mask_axes(&b, axes, p->axes, rank);
    const double epsilon = p->epsilon != 0 ? p->epsilon : 1e-5;
    if (count == 0 || (p->groups > 1 && (rank < 3 || (p->axes & 3))))
        build_fail(&b, PGY_E_ARGUMENT,
                   "the bit mask of axes is 0x%x; expected at least one axis, and with groups the "
                   "spatial axes only",
                   p->axes);
    if (p->groups > 1 && !b.status && count != (size_t)rank - 2)
        build_fail(&b, PGY_E_UNSUPPORTED,
                   "with groups, the axes must be all spatial axes, but the bit mask is 0x%x",
                   p->axes);
    pgy_value *y = p->groups > 1 ? normalise_groups(&b, input, p->groups, epsilon)
                                 : normalise(&b, input, axes, count, epsilon);
    if (p->scale) y = build_emit(&b, "Mul", 2, y, p->scale);
    if (p->bias) y = build_emit(&b, "Add", 2, y, p->bias);
    build_output(&b, y);
    return build_finish(&b, out);
}

/* ---- Products ------------------------------------------------------------------------------- */

static pgy_value *operand(builder *b, pgy_value *x, pgy_matrix_operation is, bool left)
{
    const int32_t rank = build_rank(b, x);
    int64_t perm[PGY_MAX_RANK];
    if (b->status || is == PGY_MATRIX_NONE) return x;
    if (is == PGY_MATRIX_VECTOR) return build_unsqueeze(b, x, left ? -2 : -1);
    if (rank < 2 || is != PGY_MATRIX_TRANSPOSE) {
        build_fail(b, PGY_E_SHAPE, "an operand of rank %d does not fit matrix operation %d", rank,
                   (int)is);
        return NULL;
    }
    for (int32_t i = 0; i < rank; i++) perm[i] = i;
    perm[rank - 2] = rank - 1;
    perm[rank - 1] = rank - 2;
    return build_transpose(b, x, perm, rank);
}

pgy_status pgy_network_add_matrix_multiply(pgy_layer **out, pgy_network *net, pgy_value *a,
                                           pgy_matrix_operation a_is, pgy_value *b_input,
                                           pgy_matrix_operation b_is, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_MATRIX_MULTIPLY, a, err);
    build_input(&b, b_input, "the second operand");
    pgy_value *left = operand(&b, a, a_is, true), *right = operand(&b, b_input, b_is, false);
    pgy_value *y = build_emit(&b, "MatMul", 2, left, right);
    if (b_is == PGY_MATRIX_VECTOR) y = build_squeeze(&b, y, -1);
    if (a_is == PGY_MATRIX_VECTOR) y = build_squeeze(&b, y, b_is == PGY_MATRIX_VECTOR ? -1 : -2);
    build_output(&b, y);
    return build_finish(&b, out);
}

pgy_status pgy_network_add_einsum(pgy_layer **out, pgy_network *net, pgy_value *const *inputs,
                                  size_t count, const char *equation, pgy_error *err)
{
    builder b = build_start(net, PGY_LAYER_EINSUM, err);
    if (count == 0 || !inputs || !equation)
        build_fail(&b, PGY_E_ARGUMENT, "the inputs or the equation are missing");
    build_list(&b, inputs, count);
    pgy_value *y = b.status ? NULL : build_emit_list(&b, "Einsum", inputs, count);
    build_output(&b, build_text(&b, y, "equation", equation));
    return build_finish(&b, out);
}
