/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft.nchwc ReorderOutput: converts the first channels of a blocked image to row-major or
 * channels-last layout. See class_nchwc.h. */
#include "ops/class_nchwc.h"
#include "ops/move.h"

static const op_attr_def ATTRS[] = {
    NCHWC_BLOCK_ATTR,
    {"channels", OP_ATTR_INT, true, NULL, NULL, "1.."},
    {"channels_last", OP_ATTR_INT, false, "0", NULL, "0..1"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    const bool last = op_attr_int(c->node, "channels_last", 0) != 0;
    const int64_t channels = op_attr_int(c->node, "channels", 0);
    size_t block = 0;
    pgy_status st = nchwc_block(&block, c->node, err);
    if (st) return st;
    if (x->rank < 0) {
        op_set_unknown(c, 0, x->dtype, -1, "the rank of the image is not known");
        return PGY_OK;
    }
    if (x->rank < 3 || (dim_is_const(x->dims[1]) &&
                        (x->dims[1].value < channels || x->dims[1].value % (int64_t)block)))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "cannot take %lld channels in blocks of %zu from an image of rank %d with "
                        "%lld channels",
                        (long long)channels, block, (int)x->rank,
                        (long long)(x->rank > 1 ? x->dims[1].value : 0));
    dim *dims = op_dims(c, (size_t)x->rank);
    if (!dims) return rule_no_memory(c->node, err);
    for (int32_t d = 0; d < x->rank; d++)
        dims[d] = x->dims[last && d > 0 && d + 1 < x->rank ? d + 1 : d];
    dims[last ? x->rank - 1 : 1] = dim_const(channels);
    op_set_output(c, 0, x->dtype, x->rank, dims);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    size_t block = 0;
    const bool last = op_attr_int(c->node, "channels_last", 0) != 0;
    const size_t channels = (size_t)op_attr_int(c->node, "channels", 0);
    pgy_status st = inputs_check(c, "F", err);
    if (!st) st = nchwc_block(&block, c->node, err);
    if (st) return st;
    const int64_t *shape = in_shape(c, 0);
    const size_t batch = (size_t)shape[0], padded = (size_t)shape[1];
    const size_t plane = move_product(shape, 2, in_rank(c, 0));
    const double *x = in_f64(c, 0);
    double *y = out_f64(c, 0);
    for (size_t i = 0; i < batch; i++)
        for (size_t k = 0; k < channels; k++)
            for (size_t s = 0; s < plane; s++)
                y[last ? (i * plane + s) * channels + k : (i * channels + k) * plane + s] =
                    x[((i * padded + k / block * block) * plane) + s * block + k % block];
    return PGY_OK;
}

const op_def OP_nchwc_reorder_output[] = {
    {"ReorderOutput", NCHWC_DOMAIN, 1, 0, 1, 1, 1, 1, 0, ATTRS, "float32", infer, eval, NULL,
     .signature = "T = float32; X:T -> Y:T"},
    {NULL},
};
