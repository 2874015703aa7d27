/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft BiasDropout: data + bias + residual. It drops nothing, because training is not
 * supported; the mask is all true. The bias runs along the last axis or has the shape of the
 * data. */
#include <string.h>

#include "ops/class_check.h"

enum { DATA, BIAS, RESIDUAL, RATIO, TRAINING };

static const op_attr_def ATTRS[] = {
    {"seed", OP_ATTR_INT, false, NULL},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[DATA];
    op_set_like(c, 0, DATA);
    output_set(c, 1, PGY_BOOL, x->rank, x->dims);
    return x->rank < 0 ? PGY_OK : rank_check(c, RESIDUAL, x->rank, x->rank, err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const size_t rank = in_rank(c, DATA), count = in_count(c, DATA), biases = in_count(c, BIAS);
    pgy_status st = inputs_check(c, "FFffb", err);
    if (st) return st;
    const size_t width = rank ? (size_t)in_shape(c, DATA)[rank - 1] : 1;
    const uint8_t *training = in_data(c, TRAINING);
    if (training && in_count(c, TRAINING) && training[0] && op_eval_scalar(c, RATIO, 0.5) != 0)
        return op_error(c->node, err, PGY_E_UNSUPPORTED,
                        "training_mode = true with a ratio other than 0 is not supported");
    if ((biases != width && biases != count) ||
        (in_f64(c, RESIDUAL) && in_count(c, RESIDUAL) != count))
        return op_error(
            c->node, err, PGY_E_SHAPE,
            "the bias or the residual has another number of elements than the data needs");
    for (size_t i = 0; i < count; i++) {
        out_f64(c, 0)[i] = in_f64(c, DATA)[i] + in_f64(c, BIAS)[i % biases];
        if (in_f64(c, RESIDUAL)) out_f64(c, 0)[i] += in_f64(c, RESIDUAL)[i];
    }
    if (out_data(c, 1)) memset(out_data(c, 1), 1, count);
    return PGY_OK;
}

const op_def OP_bias_dropout[] = {
    {"BiasDropout", "com.microsoft", 1, 0, 2, 5, 1, 2, 0, ATTRS, TYPES_F4, infer, eval, NULL,
     .signature = "T = float16 float32 float64 bfloat16; T1 = float16 float32 float64 bfloat16; "
                  "T2 = bool; data:T, bias:T, ?residual:T, ?ratio:T1, ?training_mode:T2 -> "
                  "output:T, ?mask:T2"},
    {NULL},
};
