/* SPDX-License-Identifier: Apache-2.0 */
/* Clip: values limited to [min, max], from attributes (version 6) or scalar inputs; where min >
 * max, max wins; NaN stays. */
#include <math.h>

#include "ops/class_unary.h"

#define LIMITED(x, low, high) \
    ((x) < (low) ? ((low) > (high) ? (high) : (low)) : (x) > (high) ? (high) : (x))
#define F(x) LIMITED(x, p[0], p[1])
#define NAME clip_f64
#include "ops/unary_loop.inc"

#define F(x) LIMITED(x, p[0], p[1])
#define NAME clip_i64
#define T int64_t
#define P int64_t
#include "ops/unary_loop.inc"

#define F(x) LIMITED(x, p[0], p[1])
#define NAME clip_u64
#define T uint64_t
#define P uint64_t
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = clip_f64, .i64 = clip_i64, .u64 = clip_u64};
static const op_attr_def ATTRS[] = {
    {"min", OP_ATTR_FLOAT, false, "-3.402823466e+38"},
    {"max", OP_ATTR_FLOAT, false, "3.402823466e+38"},
    {0},
};

static pgy_status check_limit(const op_infer *c, size_t input, pgy_error *err)
{
    if (!op_has_input(c, input)) return PGY_OK;
    const op_value *v = &c->inputs[input];
    const bool several = v->rank > 1 || (v->rank == 1 && dim_differ(v->dims[0], dim_const(1)));
    if (several)
        return op_error(c->node, err, PGY_E_SHAPE, "input %zu must be a scalar, but has rank %d",
                        input, v->rank);
    return rule_same_type(c, 0, input, err);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    pgy_status st = check_limit(c, 1, err);
    if (!st) st = check_limit(c, 2, err);
    return st ? st : unary_infer(c, err);
}

static pgy_status eval_attributes(op_eval *c, pgy_error *err)
{
    const double limits[] = {op_attr_float(c->node, "min", -INFINITY),
                             op_attr_float(c->node, "max", INFINITY)};
    pgy_tensor *x;
    pgy_status st = rule_input(c, 0, &x, err);
    if (st) return st;
    if (pgy_tensor_dtype(x) != PGY_F64)
        return op_error(c->node, err, PGY_E_TYPE, "input 0 must be a float tensor");
    return unary_run(c, clip_f64, limits, err);
}

/* Reads a limit (min or max) if the input is present; else *limit keeps its default. Every numeric
 * storage type has 8 bytes, so *limit takes the bits. */
static pgy_status read_limit(const op_eval *c, size_t input, pgy_dtype storage, uint64_t *limit,
                             pgy_error *err)
{
    if (!op_has_value(c, input)) return PGY_OK;
    pgy_tensor *t;
    pgy_status st = rule_input(c, input, &t, err);
    if (st) return st;
    if (pgy_tensor_count(t) != 1 || pgy_tensor_dtype(t) != storage)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "input %zu must be one number of the type of input 0", input);
    *limit = *(const uint64_t *)pgy_tensor_data(t);
    return PGY_OK;
}

static pgy_status eval_inputs(op_eval *c, pgy_error *err)
{
    static const double floats[] = {-INFINITY, INFINITY};
    static const int64_t ints[] = {INT64_MIN, INT64_MAX};
    static const uint64_t naturals[] = {0, UINT64_MAX};
    union {
        double f[2];
        int64_t i[2];
        uint64_t u[2];
    } limits;
    pgy_tensor *x;
    pgy_status st = rule_input(c, 0, &x, err);
    if (st) return st;
    const pgy_dtype storage = pgy_tensor_dtype(x);
    unary_loop loop = unary_choose(&SPEC, storage);
    if (!loop)
        return op_error(c->node, err, PGY_E_TYPE, "type %s is not supported",
                        pgy_dtype_name(c->inputs[0].dtype));
    for (size_t k = 0; k < 2; k++) {
        if (storage == PGY_F64)
            limits.f[k] = floats[k];
        else if (storage == PGY_I64)
            limits.i[k] = ints[k];
        else
            limits.u[k] = naturals[k];
        st = read_limit(c, k + 1, storage, &limits.u[k], err);
        if (st) return st;
    }
    return unary_run(c, loop, &limits, err);
}

#define ROW_INPUTS(version, accepted)                                                             \
    {                                                                                             \
        .name = "Clip", .domain = "", .since = version, .min_inputs = 1, .max_inputs = 3,         \
        .min_outputs = 1, .max_outputs = 1, .flags = OP_FILLS, .types = accepted, .infer = infer, \
        .eval = eval_inputs, .user_data = &SPEC                                                   \
    }

const op_def OP_clip[] = {
    {.name = "Clip",
     .domain = "",
     .since = 6,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .attrs = ATTRS,
     .types = TYPES_F3,
     .infer = unary_infer,
     .eval = eval_attributes,
     .user_data = &SPEC},
    ROW_INPUTS(11, TYPES_F3),
    ROW_INPUTS(12, TYPES_N11),
    ROW_INPUTS(13, TYPES_N12),
    {0},
};
