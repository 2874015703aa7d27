/* SPDX-License-Identifier: Apache-2.0 */
/* DistCollective: TensorRT's node for a collective of several ranks, which work along axis 0. The
 * definition meets the other ranks where they are threads of this process. */
#include "base/cancel.h"
#include "ops/class_collective.h"
#include "ops/rule.h"

static const op_attr_def ATTRS[] = {
    {"collective_operation", OP_ATTR_STRING, true, NULL,
     "all_reduce all_gather reduce_scatter broadcast reduce gather scatter all_to_all"},
    {"reduce_op", OP_ATTR_STRING, false, "none", "sum prod min max avg none"},
    {"group_size", OP_ATTR_INT, false, "0", NULL, "0..64"},
    {"root", OP_ATTR_INT, false, "-1", NULL, "-1..63"},
    {"nb_rank", OP_ATTR_INT, false, "1", NULL, "1..64"},
    {"groups", OP_ATTR_INTS, false, NULL, NULL, "0..63"},
    {0},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    collective k;
    const op_value *x = &c->inputs[0];
    pgy_status st = collective_read(&k, c->node, err);
    if (st) return st;
    if (x->dtype == PGY_BOOL && collective_reduces(k.operation))
        return op_error(c->node, err, PGY_E_TYPE, "%s of bool; expected numbers",
                        collective_name(k.operation));
    if (x->rank < 0 || (!collective_multiplies(k.operation) && !collective_divides(k.operation))) {
        op_set_output(c, 0, x->dtype, x->rank, x->dims);
        return PGY_OK;
    }
    if (!x->rank)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "%s works along axis 0, but the input is a scalar",
                        collective_name(k.operation));
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    const dim ranks = dim_const(k.ranks);
    if (collective_divides(k.operation) && dim_is_const(dims[0]) && dims[0].value % k.ranks)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "%s: axis 0 is %lld, which %u ranks cannot divide",
                        collective_name(k.operation), (long long)dims[0].value, k.ranks);
    if (collective_multiplies(k.operation)) dims[0] = dim_mul(c->dims, dims[0], ranks);
    if (collective_shrinks(k.operation)) dims[0] = dim_div_floor(c->dims, dims[0], ranks);
    op_set_output(c, 0, x->dtype, x->rank, dims);
    return PGY_OK;
}

#define REDUCE(type, result)                                                           \
    static void reduce_##type(void *out, const void *const *data, const collective *c, \
                              uint64_t from, uint64_t count)                           \
    {                                                                                  \
        result *y = out;                                                               \
        for (uint64_t i = 0; i < count; i++) {                                         \
            result v = ((const result *)data[0])[from + i];                            \
            for (uint32_t r = 1; r < c->ranks; r++) {                                  \
                const result x = ((const result *)data[r])[from + i];                  \
                switch (c->reduction) {                                                \
                case COLLECTIVE_PROD: v = JOIN_PROD(v, x); break;                      \
                case COLLECTIVE_MIN: v = x < v || x != x ? x : v; break;               \
                case COLLECTIVE_MAX: v = x > v || x != x ? x : v; break;               \
                default: v = JOIN_SUM(v, x); break;                                    \
                }                                                                      \
            }                                                                          \
            y[i] = c->reduction == COLLECTIVE_AVG ? v / (result)c->ranks : v;          \
        }                                                                              \
    }
#define JOIN_PROD(a, b) ((a) * (b))
#define JOIN_SUM(a, b) ((a) + (b))
REDUCE(f64, double)
REDUCE(u64, uint64_t)
#undef JOIN_PROD
#undef JOIN_SUM
#define JOIN_PROD(a, b) ((int64_t)((uint64_t)(a) * (uint64_t)(b)))
#define JOIN_SUM(a, b) ((int64_t)((uint64_t)(a) + (uint64_t)(b)))
REDUCE(i64, int64_t)

static pgy_status eval(op_eval *c, pgy_error *err)
{
    collective k;
    pgy_error why = {0};
    const op_tensor *x = &c->inputs[0];
    pgy_status st = collective_read(&k, c->node, err);
    if (st) return st;
    const pgy_dtype held = pgy_tensor_dtype(x->value);
    k.type = (uint32_t)x->dtype;
    k.count = pgy_tensor_count(x->value);
    st = collective_run(&k, pgy_tensor_data(c->outputs[0].value), pgy_tensor_data(x->value),
                        pgy_dtype_describe(held)->bits / 8,
                        held == PGY_F64   ? reduce_f64
                        : held == PGY_U64 ? reduce_u64
                                          : reduce_i64,
                        &why);
    return st == PGY_OK || st == PGY_E_CANCELLED ? cancel_check(err)
                                                 : op_error(c->node, err, st, "%s", why.text);
}

const op_def OP_dist_collective[] = {
    {.name = "DistCollective",
     .domain = "",
     .since = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .flags = OP_RANDOM | OP_FILLS, /* not folded: other ranks take part */
     .attrs = ATTRS,
     .types = TYPES_N12 " bool",
     .infer = infer,
     .eval = eval,
     .flops = rule_no_flops},
    {0},
};
