/* SPDX-License-Identifier: Apache-2.0 */
/* pgy QLinearLayerNormalization, which the engine's passes make: LayerNormalization over the last
 * axis of a quantised tensor, quantised again. With R it is that of the QLinearAdd of com.microsoft
 * of X and R. */
#include <math.h>

#include "ops/class_integer.h"

enum { X, X_SCALE, X_ZERO, GAIN, BIAS, Y_SCALE, Y_ZERO, R, R_SCALE, R_ZERO, SUM_SCALE, SUM_ZERO };

static const op_attr_def ATTRS[] = {
    {"epsilon", OP_ATTR_FLOAT, false, "1e-05"},
    {0},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const pgy_status st = rank_check(c, X, 1, PGY_MAX_RANK, err);
    if (st) return st;
    op_set_like(c, 0, X);
    c->outputs[0].dtype = c->inputs[Y_ZERO].dtype;
    c->outputs[0].elements = NULL;
    c->outputs[0].element_count = 0;
    return PGY_OK;
}

static pgy_status check(const op_eval *c, int64_t *length, pgy_error *err)
{
    pgy_status st = inputs_check(c, "IFIFfFIififi", err);
    const int32_t rank = st ? 0 : in_rank(c, X);
    *length = rank > 0 ? in_shape(c, X)[rank - 1] : 1;
    for (size_t i = X_SCALE; !st && i <= SUM_ZERO; i++) {
        const bool row = i == GAIN || i == BIAS;
        const size_t wanted = row ? (size_t)*length : i == R ? in_count(c, X) : 1;
        if (i > Y_ZERO && !op_has_value(c, R)) break;
        if (i == BIAS && !op_has_value(c, i)) continue;
        if (!op_has_value(c, i) || in_count(c, i) != wanted)
            st = op_error(c->node, err, PGY_E_SHAPE, "input %zu must have %zu elements", i, wanted);
    }
    return st;
}

static double number_at(const op_eval *c, size_t i, size_t at)
{
    return (double)(in_i64(c, i)[at] - in_i64(c, i + 2)[0]) * in_f64(c, i + 1)[0];
}

/* The number that is normalised. */
static double sum_at(const op_eval *c, size_t at)
{
    if (!op_has_value(c, R)) return number_at(c, X, at);
    const double scale = in_f64(c, SUM_SCALE)[0], sum = number_at(c, X, at) + number_at(c, R, at);
    const int64_t zero = in_i64(c, SUM_ZERO)[0];
    return (double)(integer_quantize(sum / scale, zero, c->inputs[X].dtype) - zero) * scale;
}

static void normalise(op_eval *c, size_t first, size_t length)
{
    const double epsilon = op_attr_float(c->node, "epsilon", 1e-5);
    const double count = (double)length, scale = in_f64(c, Y_SCALE)[0];
    const double *gain = in_f64(c, GAIN), *bias = op_has_value(c, BIAS) ? in_f64(c, BIAS) : NULL;
    double mean = 0, variance = 0;
    for (size_t i = 0; i < length; i++) mean += sum_at(c, first + i) / count;
    for (size_t i = 0; i < length; i++) variance += pow(sum_at(c, first + i) - mean, 2) / count;
    for (size_t i = 0; i < length; i++) {
        const double y = (sum_at(c, first + i) - mean) / sqrt(variance + epsilon) * gain[i] +
                         (bias ? bias[i] : 0);
        out_i64(c, 0)[first + i] =
            integer_quantize(y / scale, in_i64(c, Y_ZERO)[0], c->outputs[0].dtype);
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    int64_t length;
    const pgy_status st = check(c, &length, err);
    for (size_t i = 0; !st && length && i < out_count(c, 0); i += (size_t)length)
        normalise(c, i, (size_t)length);
    return st;
}

const op_def OP_pgy_qlinear_layer_normalization[] = {
    {"QLinearLayerNormalization", "pgy", 1, 0, 7, 12, 1, 1, 0, ATTRS, "int8 uint8", infer, eval,
     NULL,
     .signature = "T1 = int8 uint8; T2 = int8 uint8; X:T1, X_scale:float32, X_zero_point:T1, "
                  "gain:float32, ?bias:float32, Y_scale:float32, Y_zero_point:T2, ?R:T1, "
                  "?R_scale:float32, ?R_zero_point:T1, ?sum_scale:float32, ?sum_zero_point:T1 -> "
                  "Y:T2"},
    {NULL},
};
