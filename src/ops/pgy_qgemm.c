/* SPDX-License-Identifier: Apache-2.0 */
/* pgy QGemm, which the engine's passes make: QGemm of com.microsoft whose bytes pass through a
 * table, as pgy:Lookup has it. */
#include "ops/class_check.h"

enum { Y_ZERO = 8, TABLE, BYTES = 256 };

static const op_attr_def ATTRS[] = {
    {"alpha", OP_ATTR_FLOAT, false, "1"},
    {"transA", OP_ATTR_INT, false, "0", NULL, "0..1"},
    {"transB", OP_ATTR_INT, false, "0", NULL, "0..1"},
    {0},
};

static op_node plain(const op_node *n)
{
    op_node of = *n;
    of.def = op_find("com.microsoft", "QGemm", 1);
    of.input_count = TABLE;
    return of;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_node of = plain(c->node);
    op_infer inner = *c;
    pgy_status st = rank_check(c, TABLE, 1, 1, err);
    if (!st) st = dim_check(c, TABLE, 0, dim_const(BYTES), "the number of bytes", err);
    if (st) return st;
    inner.node = &of;
    st = of.def->infer(&inner, err);
    c->why = inner.why;
    c->outputs[0].dtype = c->inputs[TABLE].dtype;
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const op_node of = plain(c->node);
    op_eval inner = *c;
    inner.node = &of;
    pgy_status st = of.def->eval(&inner, err);
    if (st) return st;
    if (!op_has_value(c, TABLE) || in_count(c, TABLE) != BYTES)
        return op_error(c->node, err, PGY_E_SHAPE, "input %d must have %d elements", TABLE, BYTES);
    const int64_t *table = in_i64(c, TABLE);
    int64_t *y = out_i64(c, 0);
    for (size_t i = 0; i < out_count(c, 0); i++) y[i] = table[(uint64_t)y[i] & (BYTES - 1)];
    return PGY_OK;
}

const op_def OP_pgy_qgemm[] = {
    {"QGemm", "pgy", 1, 0, 10, 10, 1, 1, 0, ATTRS, "int8 uint8", infer, eval, NULL,
     .signature = "TA = int8 uint8; TB = int8 uint8; TY = int8 uint8; A:TA, a_scale:float32, "
                  "a_zero_point:TA, B:TB, b_scale:float32, b_zero_point:TB, ?C:int32, "
                  "y_scale:float32, y_zero_point:TY, table:TY -> Y:TY"},
    {NULL},
};
