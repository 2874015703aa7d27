/* SPDX-License-Identifier: Apache-2.0 */
/* PRelu: negative values are scaled by a slope that broadcasts to the input's shape; the input
 * itself does not broadcast. */
#include "ops/class_binary.h"

#define NAME prelu_f64
#define F(a, b) ((a) < 0 ? (a) * (b) : (a))
#include "ops/binary_loop.inc"

#define NAME prelu_i64
#define T int64_t
#define F(a, b) ((a) < 0 ? (int64_t)((uint64_t)(a) * (uint64_t)(b)) : (a))
#include "ops/binary_loop.inc"

#define NAME prelu_u64
#define T uint64_t
#define F(a, b) ((void)(b), (a))
#include "ops/binary_loop.inc"

static const binary_spec SPEC = {.f64 = prelu_f64, .i64 = prelu_i64, .u64 = prelu_u64};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    pgy_status st = binary_infer(c, err);
    if (st) return st;
    const op_value *x = &c->inputs[0], *y = &c->outputs[0];
    bool widened = x->rank >= 0 && y->rank > x->rank;
    for (int32_t i = 0; i < y->rank && !widened && x->rank >= 0; i++)
        widened = dim_differ(x->dims[i], y->dims[i]);
    if (widened)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the slope's shape does not broadcast to the input's");
    op_set_like(c, 0, 0);
    return PGY_OK;
}

#define ROW(version, accepted)                                                             \
    {                                                                                      \
        .name = "PRelu", .domain = "", .since = version, .min_inputs = 2, .max_inputs = 2, \
        .min_outputs = 1, .max_outputs = 1, .types = accepted, .infer = infer,             \
        .eval = binary_eval, .user_data = &SPEC                                            \
    }

const op_def OP_prelu[] = {
    ROW(7, TYPES_F3),
    ROW(9, TYPES_F3 " " TYPES_WIDE),
    ROW(16, TYPES_F4 " " TYPES_WIDE),
    {0},
};
