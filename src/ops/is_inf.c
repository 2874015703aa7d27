/* SPDX-License-Identifier: Apache-2.0 */
/* IsInf: which elements are infinite; attributes can exclude either sign. */
#include <math.h>

#include "ops/class_unary.h"

#define NAME any_f64
#define OUT uint8_t
#define F(x) (isinf(x) != 0)
#include "ops/unary_loop.inc"

#define NAME positive_f64
#define OUT uint8_t
#define F(x) ((x) == INFINITY)
#include "ops/unary_loop.inc"

#define NAME negative_f64
#define OUT uint8_t
#define F(x) ((x) == -INFINITY)
#include "ops/unary_loop.inc"

#define NAME never_f64
#define OUT uint8_t
#define F(x) ((x) != (x) && false)
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = any_f64, .predicate = true};
static const op_attr_def ATTRS[] = {
    {"detect_negative", OP_ATTR_INT, false, "1"},
    {"detect_positive", OP_ATTR_INT, false, "1"},
    {0},
};

static pgy_status eval(op_eval *c, pgy_error *err)
{
    static const unary_loop LOOPS[] = {never_f64, positive_f64, negative_f64, any_f64};
    const bool negative = op_attr_int(c->node, "detect_negative", 1) != 0;
    const bool positive = op_attr_int(c->node, "detect_positive", 1) != 0;
    pgy_tensor *x;
    pgy_status st = rule_input(c, 0, &x, err);
    if (st) return st;
    if (pgy_tensor_dtype(x) != PGY_F64)
        return op_error(c->node, err, PGY_E_TYPE, "input 0 must be a float tensor");
    return unary_run(c, LOOPS[2 * negative + positive], NULL, err);
}

#define ROW(version, accepted)                                                             \
    {                                                                                      \
        .name = "IsInf", .domain = "", .since = version, .min_inputs = 1, .max_inputs = 1, \
        .min_outputs = 1, .max_outputs = 1, .attrs = ATTRS, .types = accepted,             \
        .infer = unary_infer, .eval = eval, .user_data = &SPEC                             \
    }

const op_def OP_is_inf[] = {
    ROW(10, "float32 float64"),
    ROW(20, TYPES_F8),
    {0},
};
