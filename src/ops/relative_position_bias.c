/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft RelativePositionBias: the bias of T5 for scores [1, heads, queries, keys]. The
 * distance of key and query selects a bucket: each small distance has its own, larger ones share
 * buckets by their logarithm. The table is declared [buckets, heads], but its elements are stored
 * head by head. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/class_check.h"

enum { TABLE, QUERIES, KEYS };

static const op_attr_def ATTRS[] = {
    {"is_bidirectional", OP_ATTR_INT, false, "0"},
    {"max_distance", OP_ATTR_INT, true, NULL},
    {NULL},
};

static pgy_status length_of(dim *out, op_infer *c, size_t input, pgy_error *err)
{
    const dim *values;
    size_t count;
    *out = dim_unknown(c->dims, "a sequence length is not known");
    if (!op_input_ints(c, input, &values, &count)) return PGY_OK;
    if (count != 1 || (dim_is_const(values[0]) && values[0].value < 0))
        return op_error(c->node, err, PGY_E_ARGUMENT, "input %zu must be one length of 0 or more",
                        input);
    *out = values[0];
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *table = &c->inputs[TABLE];
    dim queries, keys;
    pgy_status st = rank_check(c, TABLE, 2, 2, err);
    if (!st) st = length_of(&queries, c, QUERIES, err);
    if (!st) st = length_of(&keys, c, KEYS, err);
    if (st) return st;
    dim *out = op_dims(c, 4);
    if (!out) return rule_no_memory(c->node, err);
    const dim heads = table->rank == 2
                          ? table->dims[1]
                          : dim_unknown(c->dims, "the shape of the table is not known");
    memcpy(out, (dim[]){dim_const(1), heads, queries, keys}, 4 * sizeof *out);
    op_set_output(c, 0, table->dtype, 4, out);
    return PGY_OK;
}

static size_t bucket_of(int64_t ahead, size_t buckets, bool both, double most)
{
    size_t first = 0;
    uint64_t distance = ahead < 0 ? (uint64_t)-ahead : 0;
    if (both) {
        buckets /= 2;
        if (ahead > 0) {
            first = buckets;
            distance = (uint64_t)ahead;
        }
    }
    const size_t exact = buckets / 2;
    if (distance < exact) return first + distance;
    if (!exact) return first;
    const double part = log((double)distance / (double)exact) / log(most / (double)exact);
    const double place = (double)exact + floor(part * (double)(buckets - exact));
    return first + (place >= 0 && place < (double)buckets ? (size_t)place : buckets - 1);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const op_node *n = c->node;
    const bool both = op_attr_int(n, "is_bidirectional", 0) != 0;
    const int64_t most = op_attr_int(n, "max_distance", 0);
    pgy_status st = inputs_check(c, "FII", err);
    if (st || !out_count(c, 0)) return st;
    const size_t buckets = (size_t)in_shape(c, TABLE)[0];
    if (buckets < (both ? 2 : 1) || most < 1)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "the table has %zu buckets and attribute max_distance is %" PRId64
                        "; each direction needs a bucket, and the distance must be positive",
                        buckets, most);
    const size_t keys = (size_t)out_shape(c, 0)[3], queries = (size_t)out_shape(c, 0)[2];
    for (size_t i = 0; i < out_count(c, 0); i++) {
        const int64_t ahead = (int64_t)(i % keys) - (int64_t)(i / keys % queries);
        const size_t head = i / keys / queries;
        out_f64(c, 0)[i] =
            in_f64(c, TABLE)[head * buckets + bucket_of(ahead, buckets, both, (double)most)];
    }
    return PGY_OK;
}

const op_def OP_relative_position_bias[] = {
    {"RelativePositionBias", "com.microsoft", 1, 0, 3, 3, 1, 1, 0, ATTRS, TYPES_F4, infer, eval,
     NULL,
     .signature = "T = float16 float32 float64 bfloat16; U = int64; bias_table:T, query_length:U, "
                  "key_length:U -> output:T"},
    {NULL},
};
