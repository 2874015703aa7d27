/* SPDX-License-Identifier: Apache-2.0 */
/* Bernoulli: 1 with the probability that the input gives, else 0; see class_random.h. */
#include "base/alloc.h"
#include "ops/class_random.h"

static const op_attr_def ATTRS[] = {
    {"dtype", OP_ATTR_INT, false, NULL},
    {"seed", OP_ATTR_FLOAT, false, NULL},
    {0},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    pgy_dtype dtype;
    const pgy_status st = random_type(&dtype, c->node, c->inputs[0].dtype, err);
    if (st) return st;
    if (dtype == PGY_STRING)
        return op_error(c->node, err, PGY_E_TYPE,
                        "attribute dtype asks for strings; the output must be numeric or bool");
    op_set_like(c, 0, 0);
    c->outputs[0].dtype = dtype;
    return PGY_OK;
}

static void store(pgy_tensor *y, size_t i, bool one)
{
    switch (pgy_tensor_dtype(y)) {
    case PGY_F64: op_f64(y)[i] = one; break;
    case PGY_C128: op_f64(y)[2 * i] = one; break;
    case PGY_BOOL: ((uint8_t *)pgy_tensor_data(y))[i] = one; break;
    default: op_i64(y)[i] = one; break;
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    mt19937 *g = NULL;
    pgy_tensor *y;
    pgy_status st = inputs_check(c, "F", err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (!st) st = random_create(&g, c, err);
    if (st) return st;
    const double *p = in_f64(c, 0);
    for (size_t i = 0; i < in_count(c, 0); i++) store(y, i, mt19937_double(g) < p[i]);
    mem_free(g);
    return PGY_OK;
}

#define ROW(version, words)                                                                     \
    {                                                                                           \
        .name = "Bernoulli", .domain = "", .since = version, .min_inputs = 1, .max_inputs = 1,  \
        .min_outputs = 1, .max_outputs = 1, .flags = OP_RANDOM, .attrs = ATTRS, .types = words, \
        .infer = infer, .eval = eval                                                            \
    }
const op_def OP_bernoulli[] = {ROW(15, TYPES_F3), ROW(22, TYPES_F4), {0}};
