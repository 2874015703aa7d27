/* SPDX-License-Identifier: Apache-2.0 */
/* pgy GatherMatMul, which the engine's passes make: each vector times the matrix of a table
 * [length, rows, columns] that its index names, as the layers of mixtures of experts are exported.
 * Y[t] = A[t] * table[indices[t]] for A [count, 1, rows]; with `column`, Y[t] =
 * table[indices[t]] * A[t] for A [count, columns, 1]. `indices` has `count` elements, which may
 * count from the end of the table. One vector serves all indices, and one index all vectors, as
 * MatMul broadcasts. */
#include "base/cancel.h"
#include "ops/class_check.h"
#include "ops/gemm.h"
#include "ops/rule.h"

enum { A, TABLE, INDICES };

static const op_attr_def ATTRS[] = {
    {"column", OP_ATTR_INT, false, "0", NULL, "0..1"},
    {NULL},
};

/* `axis`: that of the vectors in A and in Y. */
static pgy_status check_sizes(op_infer *c, int32_t axis, pgy_error *err)
{
    const op_value *a = &c->inputs[A], *table = &c->inputs[TABLE];
    if (dim_differ(a->dims[axis], table->dims[3 - axis]))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the vectors and the matrices of the table differ in length");
    if (dim_differ(a->dims[3 - axis], dim_const(1)))
        return op_error(c->node, err, PGY_E_SHAPE, "axis %d of the vectors must have size 1",
                        (int)(3 - axis));
    return PGY_OK;
}

/* The number of products. */
static pgy_status infer_count(op_infer *c, dim *out, pgy_error *err)
{
    const op_value *a = &c->inputs[A], *indices = &c->inputs[INDICES];
    const op_value vectors = {.rank = 1, .dims = a->dims};
    op_value list = {.rank = 1, .dims = out};
    const dim *dims;
    int32_t rank;
    (void)rule_count(c, out, indices->rank, indices->dims); /* the rank is known */
    const pgy_status st = op_broadcast(c, &rank, &dims, (const op_value[]){vectors, list}, 2, err);
    if (!st) *out = dims[0];
    return st;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *a = &c->inputs[A], *table = &c->inputs[TABLE];
    const int32_t axis = op_attr_int(c->node, "column", 0) ? 1 : 2;
    pgy_status st = rank_check(c, A, 3, 3, err);
    if (!st) st = rank_check(c, TABLE, 3, 3, err);
    if (st) return st;
    if (a->rank < 0 || table->rank < 0 || c->inputs[INDICES].rank < 0) {
        op_set_unknown(c, 0, a->dtype, -1, "the rank of an input is not known");
        return PGY_OK;
    }
    st = check_sizes(c, axis, err);
    if (st) return st;
    dim *dims = op_dims(c, 3);
    if (!dims) return rule_no_memory(c->node, err);
    st = infer_count(c, &dims[0], err);
    if (st) return st;
    dims[axis] = table->dims[axis];
    dims[3 - axis] = dim_const(1);
    op_set_output(c, 0, a->dtype, 3, dims);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *table;
    const int64_t *indices;
    size_t count;
    pgy_status st = inputs_check(c, "fWI", err);
    if (!st) st = rule_input(c, TABLE, &table, err);
    if (!st) st = op_eval_ints(c, INDICES, &indices, &count, err);
    if (st || !out_count(c, 0)) return st;
    const bool column = op_attr_int(c->node, "column", 0) != 0;
    const bool single = pgy_tensor_dtype(table) == PGY_F32;
    const int64_t *shape = pgy_tensor_shape(table);
    const size_t rows = (size_t)shape[1], columns = (size_t)shape[2];
    const size_t n = column ? rows : columns, k = column ? columns : rows;
    const size_t products = out_count(c, 0) / n, vectors = in_count(c, A) / k;
    if ((count != products && count != 1) || (vectors != products && vectors != 1))
        return op_error(c->node, err, PGY_E_SHAPE, "there are %zu indices for %zu vectors", count,
                        vectors);
    for (size_t t = 0; !st && t < products; t++) {
        size_t at;
        const int64_t index = indices[count == 1 ? 0 : t];
        if (!rule_index(&at, index, (size_t)shape[0]))
            return op_error(c->node, err, PGY_E_SHAPE, "index %lld is not in [-%lld, %lld)",
                            (long long)index, (long long)shape[0], (long long)shape[0]);
        const char *matrix = (const char *)pgy_tensor_data(table) +
                             at * rows * columns * (single ? sizeof(float) : sizeof(double));
        const gemm_call call = {
            .m = 1,
            .n = n,
            .k = k,
            .a = {in_f64(c, A) + (vectors == 1 ? 0 : t * k), false, (int64_t)k, 1},
            .b = {matrix, single, column ? 1 : (int64_t)n, column ? (int64_t)k : 1},
            .c = out_f64(c, 0) + t * n,
            .ldc = n};
        st = gemm_run(&call, err);
        if (!st) st = cancel_check(err);
    }
    return st;
}

static double flops(const op_infer *c)
{
    const int32_t along = op_attr_int(c->node, "column", 0) ? 2 : 1; /* axis of the sum */
    return 2 * dims_product(&c->outputs[0]) * (double)c->inputs[TABLE].dims[along].value;
}

const op_def OP_pgy_gather_mat_mul[] = {
    {"GatherMatMul", "pgy", 1, 0, 3, 3, 1, 1, 0, ATTRS, TYPES_F4, infer, eval, flops,
     .signature = "T = float16 float32 float64 bfloat16; I = int32 int64; "
                  "A:T, table:T, indices:I -> Y:T",
     .narrow_inputs = 1 << TABLE},
    {NULL},
};
