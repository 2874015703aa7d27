/* SPDX-License-Identifier: Apache-2.0 */
/* pgy Lookup, which the engine's passes make: a function of one byte as a table. Entry i is the
 * result for byte i; for int8 these are 0 to 127, then -128 to -1. */
#include "ops/class_check.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    pgy_status st = rank_check(c, 1, 1, 1, err);
    if (!st) st = dim_check(c, 1, 0, dim_const(256), "the number of bytes", err);
    if (st) return st;
    op_set_like(c, 0, 0);
    c->outputs[0].dtype = c->inputs[1].dtype;
    c->outputs[0].elements = NULL;
    c->outputs[0].element_count = 0;
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const pgy_status st = inputs_check(c, "II", err);
    if (st) return st;
    const int64_t *x = in_i64(c, 0), *table = in_i64(c, 1);
    int64_t *y = out_i64(c, 0);
    for (size_t i = 0; i < out_count(c, 0); i++) y[i] = table[(uint64_t)x[i] & 255];
    return PGY_OK;
}

const op_def OP_pgy_lookup[] = {
    {"Lookup", "pgy", 1, 0, 2, 2, 1, 1, 0, NULL, "int8 uint8", infer, eval, NULL,
     .signature = "T1 = int8 uint8; T2 = int8 uint8; X:T1, table:T2 -> Y:T2"},
    {NULL},
};
