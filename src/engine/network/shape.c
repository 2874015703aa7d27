/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that change shapes: shuffle, squeeze, unsqueeze, concatenation, and fill, which makes
 * tensors from a shape alone. */
#include <string.h>

#include "engine/network/network.h"

/* ---- Shuffle -------------------------------------------------------------------------------- */

static pgy_value *transpose(builder *b, pgy_value *x, const int32_t *order)
{
    const int32_t rank = build_rank(b, x);
    int64_t perm[PGY_MAX_RANK];
    uint64_t seen = 0;
    if (b->status || !order) return x;
    for (int32_t i = 0; i < rank; i++) {
        if (order[i] < 0 || order[i] >= rank || (seen >> order[i] & 1)) {
            build_fail(b, PGY_E_SHAPE,
                       "entry %d of the transpose order is %d: the order must name each of the %d "
                       "axes once",
                       i, order[i], rank);
            return NULL;
        }
        seen |= (uint64_t)1 << order[i];
        perm[i] = order[i];
    }
    return build_transpose(b, x, perm, rank);
}

pgy_status pgy_network_add_shuffle(pgy_layer **out, pgy_network *net, pgy_value *input,
                                   const pgy_shuffle *p, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_SHUFFLE, input, err);
    if (!p || (p->reshape && p->reshape_to))
        build_fail(&b, PGY_E_ARGUMENT, "%s",
                   p ? "both reshape and reshape_to are given; expected one at most"
                     : "the parameters must not be NULL");
    if (b.status) return build_finish(&b, out);
    build_optional(&b, p->reshape_to);
    pgy_value *x = transpose(&b, input, p->first_transpose);
    pgy_value *shape = p->reshape ? build_vector(&b, p->reshape, p->reshape_rank) : p->reshape_to;
    if (shape) x = build_emit(&b, "Reshape", 2, x, shape);
    if (shape && p->zero_is_size) build_int(&b, x, "allowzero", 1);
    x = transpose(&b, x, p->second_transpose);
    if (x == input) x = build_emit(&b, "Identity", 1, x);
    build_output(&b, x);
    return build_finish(&b, out);
}

static pgy_status squeeze(pgy_layer **out, pgy_network *net, pgy_layer_type type, const char *op,
                          pgy_value *input, size_t count, const int64_t *axes, pgy_error *err)
{
    builder b = build_with(net, type, input, err);
    if (count == 0 || !axes) build_fail(&b, PGY_E_ARGUMENT, "no axes are given");
    build_output(&b, build_emit(&b, op, 2, input, build_vector(&b, axes, count)));
    return build_finish(&b, out);
}

pgy_status pgy_network_add_squeeze(pgy_layer **out, pgy_network *net, pgy_value *input,
                                   size_t count, const int64_t *axes, pgy_error *err)
{
    return squeeze(out, net, PGY_LAYER_SQUEEZE, "Squeeze", input, count, axes, err);
}

pgy_status pgy_network_add_unsqueeze(pgy_layer **out, pgy_network *net, pgy_value *input,
                                     size_t count, const int64_t *axes, pgy_error *err)
{
    return squeeze(out, net, PGY_LAYER_UNSQUEEZE, "Unsqueeze", input, count, axes, err);
}

pgy_status pgy_network_add_concatenation(pgy_layer **out, pgy_network *net,
                                         pgy_value *const *inputs, size_t count, int32_t axis,
                                         pgy_error *err)
{
    builder b = build_start(net, PGY_LAYER_CONCATENATION, err);
    if (count == 0 || !inputs) build_fail(&b, PGY_E_ARGUMENT, "the layer has no inputs");
    build_list(&b, inputs, count);
    pgy_value *y = b.status ? NULL : build_emit_list(&b, "Concat", inputs, count);
    build_output(&b, build_int(&b, y, "axis", axis));
    return build_finish(&b, out);
}

/* ---- Fill ----------------------------------------------------------------------------------- */

/* The shape of the filled tensor, as a tensor. */
static pgy_value *shape_of(builder *b, const pgy_fill *p)
{
    return p->shape ? p->shape : build_vector(b, p->dims, p->rank);
}

static pgy_value *random_fill(builder *b, const pgy_fill *p, pgy_dtype dtype)
{
    const bool normal = p->operation == PGY_FILL_RANDOM_NORMAL;
    pgy_value *y;
    if (p->shape) {
        y = build_emit(b, "ConstantOfShape", 1, p->shape);
        y = build_emit(b, normal ? "RandomNormalLike" : "RandomUniformLike", 1, y);
    } else {
        y = build_emit(b, normal ? "RandomNormal" : "RandomUniform", 0);
        build_ints(b, y, "shape", p->dims, p->rank);
    }
    build_int(b, y, "dtype", pgy_dtype_describe(dtype)->onnx);
    build_float(b, y, normal ? "mean" : "low", p->alpha);
    build_float(b, y, normal ? "scale" : "high", p->beta ? p->beta[0] : 1);
    if (p->has_seed) build_float(b, y, "seed", p->seed);
    return y;
}

/* A fill with alpha + the sum over all axes of index * beta. */
static pgy_value *linspace(builder *b, const pgy_fill *p, pgy_dtype dtype)
{
    pgy_value *shape = shape_of(b, p);
    pgy_value *alpha =
        p->alpha_at ? build_scalar(b, p->alpha_at) : build_number(b, dtype, p->alpha);
    pgy_value *y = build_emit(b, "Expand", 2, alpha, shape);
    const int64_t rank = p->shape ? build_size(b, p->shape, 0) : (int64_t)p->rank;
    if (!b->status && (rank < 0 || rank > PGY_MAX_RANK))
        build_fail(b, PGY_E_SHAPE,
                   "the number of elements of the shape tensor is unknown, so the rank of the "
                   "output is unknown, too");
    for (int64_t i = 0; !b->status && i < rank; i++) {
        int64_t dims[PGY_MAX_RANK];
        for (int64_t k = 0; k < rank; k++) dims[k] = 1;
        dims[i] = -1;
        pgy_value *size = p->shape ? build_element(b, shape, i) : build_index(b, p->dims[i]);
        pgy_value *steps = build_emit(b, "Range", 3, build_index(b, 0), size, build_index(b, 1));
        pgy_value *beta = p->beta_at ? build_element(b, p->beta_at, i)
                                     : build_number(b, dtype, p->beta ? p->beta[i] : 1);
        steps = build_emit(b, "Mul", 2, build_cast(b, steps, dtype), beta);
        y = build_emit(b, "Add", 2, y, build_reshape(b, steps, dims + i, (size_t)(rank - i)));
    }
    return y;
}

pgy_status pgy_network_add_fill(pgy_layer **out, pgy_network *net, const pgy_fill *p,
                                pgy_error *err)
{
    builder b = build_start(net, PGY_LAYER_FILL, err);
    if (!p || (!p->shape && p->rank && !p->dims) || (p && p->rank > PGY_MAX_RANK))
        build_fail(&b, PGY_E_ARGUMENT, "the shape to fill is missing, or its rank is too high");
    if (b.status) return build_finish(&b, out);
    build_optional(&b, p->shape);
    build_optional(&b, p->alpha_at);
    build_optional(&b, p->beta_at);
    const pgy_dtype dtype = p->dtype ? p->dtype : PGY_F32;
    if ((size_t)p->operation > PGY_FILL_RANDOM_NORMAL)
        build_fail(&b, PGY_E_ARGUMENT, "%d is not a fill operation", (int)p->operation);
    else if (p->operation == PGY_FILL_LINSPACE)
        build_output(&b, linspace(&b, p, dtype));
    else if (p->alpha_at || p->beta_at)
        build_fail(&b, PGY_E_UNSUPPORTED,
                   "for random numbers, alpha and beta must be constants, not tensors");
    else
        build_output(&b, random_fill(&b, p, dtype));
    return build_finish(&b, out);
}
