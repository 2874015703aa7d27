/* SPDX-License-Identifier: Apache-2.0 */
/* ArrayFeatureExtractor: takes elements of the last axis at given positions; a vector gives a
 * row. */
#include <inttypes.h>
#include <string.h>

#include "ops/class_check.h"
#include "ops/move.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0], *y = &c->inputs[1];
    dim count;
    const pgy_status st = rank_check(c, 0, 1, PGY_MAX_RANK, err);
    if (st) return st;
    if (x->rank < 0) {
        op_set_unknown(c, 0, x->dtype, -1, "the rank of the input is not known");
        return PGY_OK;
    }
    if (!rule_count(c, &count, y->rank, y->dims))
        count = dim_unknown(c->dims, "the shape of the positions is not known");
    const int32_t rank = x->rank > 1 ? x->rank : 2;
    dim *dims = op_dims(c, (size_t)rank);
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = dim_const(1);
    for (int32_t i = 0; i + 1 < x->rank; i++) dims[i] = x->dims[i];
    dims[rank - 1] = count;
    op_set_output(c, 0, x->dtype, rank, dims);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *out;
    pgy_status st = inputs_check(c, "!I", err);
    if (!st) st = rule_output(c, 0, &out, err);
    if (st) return st;
    const size_t bytes = move_size(pgy_tensor_dtype(out));
    const size_t length = (size_t)in_shape(c, 0)[in_rank(c, 0) - 1], picks = in_count(c, 1);
    const size_t rows = picks ? out_count(c, 0) / picks : 0;
    const int64_t *at = in_i64(c, 1);
    const char *x = in_data(c, 0);
    char *y = out_data(c, 0);
    for (size_t i = 0; i < picks; i++)
        if (at[i] < 0 || (uint64_t)at[i] >= length)
            return op_error(c->node, err, PGY_E_ARGUMENT,
                            "input 1 has position %" PRId64 ", which is not in [0, %zu)", at[i],
                            length);
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < picks; i++)
            memcpy(y + (row * picks + i) * bytes, x + (row * length + (size_t)at[i]) * bytes,
                   bytes);
    return move_own(out, err);
}

const op_def OP_array_feature_extractor[] = {
    {"ArrayFeatureExtractor", "ai.onnx.ml", 1, 0, 2, 2, 1, 1, 0, NULL,
     "float32 float64 int64 int32 string", infer, eval, rule_no_flops,
     .signature = "T = float32 float64 int64 int32 string; X:T, Y:int64 -> Z:T"},
    {NULL},
};
