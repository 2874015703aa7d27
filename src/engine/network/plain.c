/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise layers, and those that only pass on elements: constants, casts, activations, unary
 * and binary operations, scales, selections. */
#include "engine/network/network.h"

pgy_status pgy_network_add_constant(pgy_layer **out, pgy_network *net, pgy_tensor *t,
                                    pgy_error *err)
{
    builder b = build_start(net, PGY_LAYER_CONSTANT, err);
    if (!t) build_fail(&b, PGY_E_ARGUMENT, "the tensor must not be NULL");
    pgy_value *v = b.status ? NULL : build_tensor(&b, t, b.box->layer.name);
    build_output(&b, v);
    return build_finish(&b, out);
}

pgy_status pgy_network_add_identity(pgy_layer **out, pgy_network *net, pgy_value *input,
                                    pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_IDENTITY, input, err);
    build_output(&b, build_emit(&b, "Identity", 1, input));
    return build_finish(&b, out);
}

pgy_status pgy_network_add_cast(pgy_layer **out, pgy_network *net, pgy_value *input, pgy_dtype to,
                                pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_CAST, input, err);
    pgy_value *v = build_emit(&b, "Cast", 1, input);
    build_output(&b, build_int(&b, v, "to", pgy_dtype_describe(to)->onnx));
    return build_finish(&b, out);
}

pgy_status pgy_network_add_shape(pgy_layer **out, pgy_network *net, pgy_value *input,
                                 pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_SHAPE, input, err);
    build_output(&b, build_emit(&b, "Shape", 1, input));
    return build_finish(&b, out);
}

/* ---- Activations ---------------------------------------------------------------------------- */

/* The attributes that an activation's alpha and beta become; NULL: the operator has none. */
static const struct {
    const char *op, *alpha, *beta;
} ACTIVATIONS[] = {
    [PGY_ACTIVATION_RELU] = {"Relu", NULL, NULL},
    [PGY_ACTIVATION_SIGMOID] = {"Sigmoid", NULL, NULL},
    [PGY_ACTIVATION_TANH] = {"Tanh", NULL, NULL},
    [PGY_ACTIVATION_LEAKY_RELU] = {"LeakyRelu", "alpha", NULL},
    [PGY_ACTIVATION_ELU] = {"Elu", "alpha", NULL},
    [PGY_ACTIVATION_SELU] = {"Selu", "alpha", "gamma"},
    [PGY_ACTIVATION_SOFTSIGN] = {"Softsign", NULL, NULL},
    [PGY_ACTIVATION_SOFTPLUS] = {"Softplus", NULL, NULL},
    [PGY_ACTIVATION_CLIP] = {"Clip", NULL, NULL},
    [PGY_ACTIVATION_HARD_SIGMOID] = {"HardSigmoid", "alpha", "beta"},
    [PGY_ACTIVATION_SCALED_TANH] = {"Tanh", NULL, NULL},
    [PGY_ACTIVATION_THRESHOLDED_RELU] = {"ThresholdedRelu", "alpha", NULL},
    [PGY_ACTIVATION_GELU_ERF] = {"Gelu", NULL, NULL},
    [PGY_ACTIVATION_GELU_TANH] = {"Gelu", NULL, NULL},
};

static pgy_value *times(builder *b, pgy_value *x, double factor)
{
    return factor == 1 ? x : build_emit(b, "Mul", 2, x, build_number(b, build_dtype(b, x), factor));
}

/* alpha op(beta x) */
static pgy_value *scaled(builder *b, const char *op, pgy_value *x, double alpha, double beta)
{
    return times(b, build_emit(b, op, 1, times(b, x, beta)), alpha);
}

static pgy_value *activation(builder *b, pgy_value *x, pgy_activation_type type, double alpha,
                             double beta)
{
    if (type == PGY_ACTIVATION_SOFTPLUS || type == PGY_ACTIVATION_SCALED_TANH)
        return scaled(b, ACTIVATIONS[type].op, x, alpha, beta);
    if (type == PGY_ACTIVATION_CLIP)
        return build_emit(b, "Clip", 3, x, build_number(b, build_dtype(b, x), alpha),
                          build_number(b, build_dtype(b, x), beta));
    pgy_value *y = build_emit(b, ACTIVATIONS[type].op, 1, x);
    if (ACTIVATIONS[type].alpha) build_float(b, y, ACTIVATIONS[type].alpha, alpha);
    if (ACTIVATIONS[type].beta) build_float(b, y, ACTIVATIONS[type].beta, beta);
    if (type == PGY_ACTIVATION_GELU_TANH) build_text(b, y, "approximate", "tanh");
    return y;
}

pgy_status pgy_network_add_activation(pgy_layer **out, pgy_network *net, pgy_value *input,
                                      pgy_activation_type type, double alpha, double beta,
                                      pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_ACTIVATION, input, err);
    if ((size_t)type >= sizeof ACTIVATIONS / sizeof *ACTIVATIONS)
        build_fail(&b, PGY_E_ARGUMENT, "%d is not an activation", (int)type);
    else
        build_output(&b, activation(&b, input, type, alpha, beta));
    return build_finish(&b, out);
}

/* ---- Operations ----------------------------------------------------------------------------- */

static const char *const UNARY[] = {
    [PGY_UNARY_EXP] = "Exp",          [PGY_UNARY_LOG] = "Log",     [PGY_UNARY_SQRT] = "Sqrt",
    [PGY_UNARY_RECIP] = "Reciprocal", [PGY_UNARY_ABS] = "Abs",     [PGY_UNARY_NEG] = "Neg",
    [PGY_UNARY_SIN] = "Sin",          [PGY_UNARY_COS] = "Cos",     [PGY_UNARY_TAN] = "Tan",
    [PGY_UNARY_SINH] = "Sinh",        [PGY_UNARY_COSH] = "Cosh",   [PGY_UNARY_ASIN] = "Asin",
    [PGY_UNARY_ACOS] = "Acos",        [PGY_UNARY_ATAN] = "Atan",   [PGY_UNARY_ASINH] = "Asinh",
    [PGY_UNARY_ACOSH] = "Acosh",      [PGY_UNARY_ATANH] = "Atanh", [PGY_UNARY_CEIL] = "Ceil",
    [PGY_UNARY_FLOOR] = "Floor",      [PGY_UNARY_ERF] = "Erf",     [PGY_UNARY_NOT] = "Not",
    [PGY_UNARY_SIGN] = "Sign",        [PGY_UNARY_ROUND] = "Round", [PGY_UNARY_ISINF] = "IsInf",
    [PGY_UNARY_ISNAN] = "IsNaN",
};

pgy_status pgy_network_add_unary(pgy_layer **out, pgy_network *net, pgy_value *input,
                                 pgy_unary_operation operation, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_UNARY, input, err);
    if ((size_t)operation >= sizeof UNARY / sizeof *UNARY)
        build_fail(&b, PGY_E_ARGUMENT, "%d is not a unary operation", (int)operation);
    else
        build_output(&b, build_emit(&b, UNARY[operation], 1, input));
    return build_finish(&b, out);
}

static const char *const ELEMENTWISE[] = {
    [PGY_ELEMENTWISE_SUM] = "Add",         [PGY_ELEMENTWISE_PROD] = "Mul",
    [PGY_ELEMENTWISE_MAX] = "Max",         [PGY_ELEMENTWISE_MIN] = "Min",
    [PGY_ELEMENTWISE_SUB] = "Sub",         [PGY_ELEMENTWISE_DIV] = "Div",
    [PGY_ELEMENTWISE_POW] = "Pow",         [PGY_ELEMENTWISE_FLOOR_DIV] = "Div",
    [PGY_ELEMENTWISE_AND] = "And",         [PGY_ELEMENTWISE_OR] = "Or",
    [PGY_ELEMENTWISE_XOR] = "Xor",         [PGY_ELEMENTWISE_EQUAL] = "Equal",
    [PGY_ELEMENTWISE_GREATER] = "Greater", [PGY_ELEMENTWISE_LESS] = "Less",
};

/* Subtracts the remainder of integers, which has the divisor's sign, first: then the division is
 * exact. */
static pgy_value *floor_div(builder *b, pgy_value *x, pgy_value *y)
{
    if (pgy_dtype_is_float(build_dtype(b, x)))
        return build_emit(b, "Floor", 1, build_emit(b, "Div", 2, x, y));
    return build_emit(b, "Div", 2, build_emit(b, "Sub", 2, x, build_emit(b, "Mod", 2, x, y)), y);
}

pgy_status pgy_network_add_elementwise(pgy_layer **out, pgy_network *net, pgy_value *a,
                                       pgy_value *b_input, pgy_elementwise_operation operation,
                                       pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_ELEMENTWISE, a, err);
    build_input(&b, b_input, "the second input");
    if ((size_t)operation >= sizeof ELEMENTWISE / sizeof *ELEMENTWISE)
        build_fail(&b, PGY_E_ARGUMENT, "%d is not an elementwise operation", (int)operation);
    else if (operation == PGY_ELEMENTWISE_FLOOR_DIV)
        build_output(&b, floor_div(&b, a, b_input));
    else
        build_output(&b, build_emit(&b, ELEMENTWISE[operation], 2, a, b_input));
    return build_finish(&b, out);
}

pgy_status pgy_network_add_parametric_relu(pgy_layer **out, pgy_network *net, pgy_value *input,
                                           pgy_value *slopes, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_PARAMETRIC_RELU, input, err);
    build_input(&b, slopes, "the slopes");
    build_output(&b, build_emit(&b, "PRelu", 2, input, slopes));
    return build_finish(&b, out);
}

pgy_status pgy_network_add_select(pgy_layer **out, pgy_network *net, pgy_value *condition,
                                  pgy_value *a, pgy_value *b_input, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_SELECT, condition, err);
    build_input(&b, a, "the operand for true");
    build_input(&b, b_input, "the operand for false");
    build_output(&b, build_emit(&b, "Where", 3, condition, a, b_input));
    return build_finish(&b, out);
}

/* ---- Scale ---------------------------------------------------------------------------------- */

/* Reshapes one weight for each channel so that they broadcast along the channel axis. */
static pgy_value *aligned(builder *b, pgy_value *weights, const pgy_scale *p, int32_t rank)
{
    if (!weights || p->mode == PGY_SCALE_ELEMENTWISE) return weights;
    if (p->mode == PGY_SCALE_UNIFORM) return build_scalar(b, weights);
    const int32_t axis = build_axis(b, p->channel_axis ? p->channel_axis : 1, rank);
    int64_t dims[PGY_MAX_RANK];
    if (build_rank(b, weights) != 1)
        build_fail(b, PGY_E_SHAPE, "the weights for each channel have rank %d; expected 1",
                   weights->rank);
    for (int32_t i = 0; i < rank; i++) dims[i] = 1;
    dims[axis] = -1;
    return b->status ? NULL : build_reshape(b, weights, dims + axis, (size_t)(rank - axis));
}

pgy_status pgy_network_add_scale(pgy_layer **out, pgy_network *net, pgy_value *input,
                                 const pgy_scale *p, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_SCALE, input, err);
    if (!p || !(p->shift || p->scale || p->power))
        build_fail(&b, PGY_E_ARGUMENT, "scale, shift and power are all missing");
    if (b.status) return build_finish(&b, out);
    build_optional(&b, p->shift);
    build_optional(&b, p->scale);
    build_optional(&b, p->power);
    const int32_t rank = build_rank(&b, input);
    pgy_value *x = input;
    if (p->scale) x = build_emit(&b, "Mul", 2, x, aligned(&b, p->scale, p, rank));
    if (p->shift) x = build_emit(&b, "Add", 2, x, aligned(&b, p->shift, p, rank));
    if (p->power) x = build_emit(&b, "Pow", 2, x, aligned(&b, p->power, p, rank));
    build_output(&b, x);
    return build_finish(&b, out);
}
