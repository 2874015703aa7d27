/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft.nchwc ReorderInput: converts an image to the blocked layout and pads the last block
 * with zeros. See class_nchwc.h. */
#include "ops/class_nchwc.h"
#include "ops/move.h"

static const op_attr_def ATTRS[] = {
    NCHWC_BLOCK_ATTR,
    {"channels_last", OP_ATTR_INT, false, "0", NULL, "0..1"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    const bool last = op_attr_int(c->node, "channels_last", 0) != 0;
    size_t block = 0;
    pgy_status st = nchwc_block(&block, c->node, err);
    if (st) return st;
    if (x->rank < 0) {
        op_set_unknown(c, 0, x->dtype, -1, "the rank of the image is not known");
        return PGY_OK;
    }
    if (x->rank < 3)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the image has rank %d, but must have rank 3 or more", (int)x->rank);
    dim *dims = op_dims(c, (size_t)x->rank);
    if (!dims) return rule_no_memory(c->node, err);
    const dim b = dim_const((int64_t)block), channels = x->dims[last ? x->rank - 1 : 1];
    for (int32_t d = 0; d < x->rank; d++) dims[d] = x->dims[d > 1 && last ? d - 1 : d];
    dims[1] = dim_mul(c->dims, dim_div_ceil(c->dims, channels, b), b);
    op_set_output(c, 0, x->dtype, x->rank, dims);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    size_t block = 0;
    const bool last = op_attr_int(c->node, "channels_last", 0) != 0;
    pgy_status st = inputs_check(c, "F", err);
    if (!st) st = nchwc_block(&block, c->node, err);
    if (st) return st;
    const size_t rank = in_rank(c, 0);
    const int64_t *shape = in_shape(c, 0);
    const size_t batch = (size_t)shape[0], channels = (size_t)shape[last ? rank - 1 : 1];
    const size_t plane = last ? move_product(shape, 1, rank - 1) : move_product(shape, 2, rank);
    const size_t padded = (size_t)out_shape(c, 0)[1];
    const double *x = in_f64(c, 0);
    double *y = out_f64(c, 0);
    for (size_t i = 0; i < batch; i++)
        for (size_t k = 0; k < channels; k++)
            for (size_t s = 0; s < plane; s++)
                y[((i * padded + k / block * block) * plane) + s * block + k % block] =
                    x[last ? (i * plane + s) * channels + k : (i * channels + k) * plane + s];
    return PGY_OK;
}

const op_def OP_nchwc_reorder_input[] = {
    {"ReorderInput", NCHWC_DOMAIN, 1, 0, 1, 1, 1, 1, 0, ATTRS, "float32", infer, eval, NULL,
     .signature = "T = float32; X:T -> Y:T"},
    {NULL},
};
