/* SPDX-License-Identifier: Apache-2.0 */
/* pgy EmbeddingBag, which the engine's passes make: the sum, mean or maximum of rows of a table
 * [length, width] for each bag of indices. Without offsets, each row of `indices` is a bag. With
 * offsets, bag i is indices[offsets[i]:offsets[i + 1]], as Slice takes these bounds. `weights`, one
 * for each index, multiply the rows. Only the indices of bags are read. A bag without elements
 * gives what the Reduce operator gives: 0, NaN or -inf.
 *
 * empty_is_zero: a bag whose offsets are equal is zeros.
 * last_to_end: the last bag reaches to the last index. "max" takes these rows, too; "mean" only
 * counts them, and divides by 1 if there are none. So does the exporter of torch.dynamo. */
#include <math.h>

#include "base/cancel.h"
#include "ops/class_bag.h"
#include "ops/class_check.h"
#include "ops/class_rows.h"
#include "ops/gemm.h"
#include "ops/rule.h"

static const op_attr_def ATTRS[] = {
    {"empty_is_zero", OP_ATTR_INT, false, "0", NULL, "0..1"},
    {"keepdims", OP_ATTR_INT, false, "0", NULL, "0..1"},
    {"last_to_end", OP_ATTR_INT, false, "0", NULL, "0..1"},
    {"mode", OP_ATTR_STRING, false, "sum", "sum mean max"},
    {NULL},
};

static pgy_status check_weights(op_infer *c, pgy_error *err)
{
    const op_value *w = &c->inputs[BAG_WEIGHTS], *indices = &c->inputs[BAG_INDICES];
    dim has, wanted;
    if (!op_has_input(c, BAG_WEIGHTS) || !rule_count(c, &has, w->rank, w->dims) ||
        !rule_count(c, &wanted, indices->rank, indices->dims) || !dim_differ(has, wanted))
        return PGY_OK;
    return op_error(c->node, err, PGY_E_SHAPE,
                    "the weights must have one element for each of the indices");
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *table = &c->inputs[BAG_TABLE], *indices = &c->inputs[BAG_INDICES];
    const op_value *offsets = &c->inputs[BAG_OFFSETS];
    const bool by_offsets = op_has_input(c, BAG_OFFSETS);
    pgy_status st = rank_check(c, BAG_TABLE, 2, 2, err);
    if (!st) st = rank_check(c, BAG_INDICES, 1, PGY_MAX_RANK - 1, err);
    if (!st && by_offsets) st = rank_check(c, BAG_OFFSETS, 1, 1, err);
    if (!st) st = check_weights(c, err);
    if (st) return st;
    if (table->rank < 0 || indices->rank < 0 || (by_offsets && offsets->rank < 0)) {
        op_set_unknown(c, 0, table->dtype, -1, "the rank of an input is not known");
        return PGY_OK;
    }
    dim *dims = op_dims(c, (size_t)indices->rank + 2);
    if (!dims) return rule_no_memory(c->node, err);
    int32_t rank = 0;
    if (by_offsets) {
        const dim zero = dim_const(0);
        if (dim_equal(offsets->dims[0], zero))
            return op_error(c->node, err, PGY_E_SHAPE, "the offsets must not be empty");
        dims[rank++] = dim_sub(c->dims, offsets->dims[0], dim_const(1));
    } else {
        for (int32_t d = 0; d + 1 < indices->rank; d++) dims[rank++] = indices->dims[d];
        if (op_attr_int(c->node, "keepdims", 0)) dims[rank++] = dim_const(1);
    }
    dims[rank++] = table->dims[1];
    op_set_output(c, 0, table->dtype, rank, dims);
    return PGY_OK;
}

typedef struct job {
    bag_rules rules;
    const void *table;
    bool narrow; /* the table is float32 */
    const int64_t *indices, *offsets;
    const double *weights;
    size_t bags, count, length, width, each; /* each: elements of a bag without offsets */
    double *y;
} job;

static double table_at(const job *j, size_t i)
{
    double x;
    if (!j->narrow) return ((const double *)j->table)[i];
    gemm_widen(&x, (const float *)j->table + i, 1);
    return x;
}

static void add_row(const job *j, double *y, size_t at, size_t row)
{
    const double weight = j->weights ? j->weights[at] : 1;
    for (size_t i = 0; i < j->width; i++) {
        const double x = table_at(j, row * j->width + i) * weight;
        if (j->rules.mode != BAG_MAX)
            y[i] += x;
        else if (x > y[i] || isnan(x))
            y[i] = x;
    }
}

static bag_range range_of(const job *j, size_t bag)
{
    const int64_t each = (int64_t)j->each;
    if (j->offsets)
        return bag_between(j->rules, (int64_t)j->count, j->offsets[bag], j->offsets[bag + 1],
                           bag + 1 == j->bags);
    return (bag_range){.first = (int64_t)bag * each, .count = each, .divisor = each};
}

static void run(size_t begin, size_t end, void *user)
{
    const job *j = user;
    for (size_t bag = begin; bag < end && !cancel_requested(); bag++) {
        const bag_range b = range_of(j, bag);
        double *y = j->y + bag * j->width;
        for (size_t i = 0; i < j->width; i++)
            y[i] = j->rules.mode == BAG_MAX && !b.zero ? -INFINITY : 0;
        if (b.zero) continue;
        for (int64_t k = 0; k < b.count; k++) {
            size_t row = 0;
            (void)rule_index(&row, j->indices[b.first + k], j->length);
            add_row(j, y, (size_t)(b.first + k), row);
        }
        for (size_t i = 0; j->rules.mode == BAG_MEAN && i < j->width; i++)
            y[i] /= (double)b.divisor;
    }
}

static pgy_status check_indices(const op_eval *c, const job *j, pgy_error *err)
{
    size_t unused;
    for (size_t bag = 0; bag < j->bags && !cancel_requested(); bag++) {
        const bag_range b = range_of(j, bag);
        for (int64_t k = 0; !b.zero && k < b.count; k++)
            if (!rule_index(&unused, j->indices[b.first + k], j->length))
                return op_error(c->node, err, PGY_E_SHAPE, "index %lld is not in [-%zu, %zu)",
                                (long long)j->indices[b.first + k], j->length, j->length);
    }
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *table;
    size_t offset_count = 0;
    job j = {.rules = bag_rules_of(c->node)};
    pgy_status st = inputs_check(c, "WIif", err);
    if (!st) st = rule_input(c, BAG_TABLE, &table, err);
    if (!st) st = op_eval_ints(c, BAG_INDICES, &j.indices, &j.count, err);
    if (!st && op_has_value(c, BAG_OFFSETS))
        st = op_eval_ints(c, BAG_OFFSETS, &j.offsets, &offset_count, err);
    if (st) return st;
    j.table = pgy_tensor_data(table);
    j.narrow = pgy_tensor_dtype(table) == PGY_F32;
    j.length = (size_t)pgy_tensor_shape(table)[0];
    j.width = (size_t)pgy_tensor_shape(table)[1];
    j.weights = in_f64(c, BAG_WEIGHTS);
    j.each = (size_t)in_shape(c, BAG_INDICES)[in_rank(c, BAG_INDICES) - 1];
    j.y = out_f64(c, 0);
    if (!out_count(c, 0)) return PGY_OK;
    j.bags = out_count(c, 0) / j.width;
    if (j.weights && in_count(c, BAG_WEIGHTS) != j.count)
        return op_error(c->node, err, PGY_E_SHAPE, "there are %zu weights for %zu indices",
                        in_count(c, BAG_WEIGHTS), j.count);
    st = check_indices(c, &j, err);
    if (st) return st;
    rows_run(j.bags, j.count / j.bags * j.width * 2, run, &j);
    return cancel_check(err);
}

static double flops(const op_infer *c)
{
    const double adds = dims_product(&c->inputs[BAG_INDICES]);
    const double width = (double)c->inputs[BAG_TABLE].dims[1].value;
    return adds * width * (op_has_input(c, BAG_WEIGHTS) ? 2 : 1);
}

const op_def OP_pgy_embedding_bag[] = {
    {"EmbeddingBag", "pgy", 1, 0, 2, 4, 1, 1, 0, ATTRS, TYPES_F4, infer, eval, flops,
     .signature = "T = float16 float32 float64 bfloat16; I = int32 int64; O = int32 int64; "
                  "table:T, indices:I, ?offsets:O, ?weights:T -> Y:T",
     .narrow_inputs = 1 << BAG_TABLE},
    {NULL},
};
