/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QOrderedGelu: GELU, by erf, of scaled int8. The order is of no account, but it must
 * be one for both. */
#include <math.h>

#include "ops/class_ordered.h"

static const op_attr_def ATTRS[] = {
    ORDERED_ATTR("order_X", false),
    ORDERED_ATTR("order_Y", false),
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const int64_t x = op_attr_int(c->node, "order_X", ORDERED_ROW);
    const int64_t y = op_attr_int(c->node, "order_Y", x);
    if (x != y)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "order_X is %lld and order_Y is %lld, but they must be equal", (long long)x,
                        (long long)y);
    op_set_like(c, 0, 0);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    double from, to;
    int64_t table[256];
    pgy_status st = inputs_check(c, "IFF", err);
    if (!st) st = ordered_scale(&from, c, 1, err);
    if (!st) st = ordered_scale(&to, c, 2, err);
    if (st) return st;
    for (int i = 0; i < 256; i++) {
        const double x = (i - 128) * from;
        table[i] = ordered_byte(0.5 * x * (1 + erf(x * 0.70710678118654752440)) / to);
    }
    for (size_t i = 0; i < in_count(c, 0); i++) out_i64(c, 0)[i] = table[in_i64(c, 0)[i] + 128];
    return PGY_OK;
}

const op_def OP_q_ordered_gelu[] = {
    {"QOrderedGelu", "com.microsoft", 1, 0, 3, 3, 1, 1, 0, ATTRS, "int8", infer, eval, NULL,
     .signature = "Q = int8; S = float32; X:Q, scale_X:S, scale_Y:S -> Y:Q"},
    {NULL},
};
