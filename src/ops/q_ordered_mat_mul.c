/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QOrderedMatMul: Y = A B of row-major and column-major int8, scaled, plus a bias
 * that is given in units of Y, plus C. */
#include "ops/class_ordered.h"
#include "ops/class_rows.h"

enum { A, A_SCALE, B, B_SCALE, Y_SCALE, BIAS, C, C_SCALE };

static const op_attr_def ATTRS[] = {
    ORDERED_ATTR("order_A", true),
    ORDERED_ATTR("order_B", true),
    ORDERED_ATTR("order_Y", true),
    {NULL},
};

static const ordered_rule ORDERS[] = {
    {"order_A", ORDERED_ROW}, {"order_B", ORDERED_COL}, {"order_Y", ORDERED_ROW}};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *a = &c->inputs[A], *b = &c->inputs[B];
    pgy_status st = ordered_check(c->node, ORDERS, sizeof ORDERS / sizeof *ORDERS, err);
    if (!st) st = rank_check(c, A, 2, 3, err);
    if (!st) st = rank_check(c, B, 2, 3, err);
    if (!st) st = rank_check(c, C, 2, 3, err);
    if (!st) st = rank_check(c, BIAS, 1, 1, err);
    if (!st && op_has_input(c, C) != op_has_input(c, C_SCALE))
        st = op_error(c->node, err, PGY_E_ARGUMENT,
                      "C and scale_C must both be given or both be omitted");
    if (st) return st;
    if (!rank_known(c, A) || !rank_known(c, B)) {
        op_set_unknown(c, 0, PGY_I8, -1, "the shapes of A and B are not known");
        return PGY_OK;
    }
    const size_t last = (size_t)a->rank - 1;
    st = dim_check(c, B, (size_t)b->rank - 2, a->dims[last], "the columns of A", err);
    dim *dims = rule_copy_dims(c, a);
    if (st || !dims) return st ? st : rule_no_memory(c->node, err);
    dims[last] = b->dims[b->rank - 1];
    if (rank_known(c, BIAS)) st = dim_check(c, BIAS, 0, dims[last], "the columns of B", err);
    for (size_t d = 0; !st && rank_known(c, C) && d < 2; d++)
        st = dim_check(c, C, (size_t)c->inputs[C].rank - 1 - d, dims[last - d], "that of Y", err);
    op_set_output(c, 0, PGY_I8, a->rank, dims);
    return st;
}

typedef struct product {
    const op_eval *c;
    ordered_matrix a, b, y;
    size_t b_batch, c_batch; /* 1 or y.batch */
    double a_scale, y_scale, c_scale;
} product;

static pgy_status check_batch(const op_eval *c, size_t input, size_t *batch, size_t wanted,
                              pgy_error *err)
{
    if (!in_i64(c, input)) return PGY_OK;
    *batch = ordered_matrix_of(in_shape(c, input), in_rank(c, input)).batch;
    if (*batch == 1 || *batch == wanted) return PGY_OK;
    return op_error(c->node, err, PGY_E_SHAPE,
                    "input %zu has %zu matrices, but must have 1 or, as A, %zu", input, *batch,
                    wanted);
}

static pgy_status prepare(product *p, const op_eval *c, pgy_error *err)
{
    *p = (product){.c = c, .c_batch = 1};
    p->a = ordered_matrix_of(in_shape(c, A), in_rank(c, A));
    p->b = ordered_matrix_of(in_shape(c, B), in_rank(c, B));
    p->y = (ordered_matrix){p->a.batch, p->a.rows, p->b.columns};
    pgy_status st = ordered_scale(&p->a_scale, c, A_SCALE, err);
    if (!st) st = ordered_scale(&p->y_scale, c, Y_SCALE, err);
    if (!st && in_f64(c, C_SCALE)) st = ordered_scale(&p->c_scale, c, C_SCALE, err);
    if (!st) st = ordered_scales(c, B_SCALE, p->b.columns, err);
    if (!st) st = check_batch(c, B, &p->b_batch, p->y.batch, err);
    return st ? st : check_batch(c, C, &p->c_batch, p->y.batch, err);
}

static int64_t dot(const int64_t *a, const int64_t *b, size_t count)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

static void run(size_t begin, size_t end, void *user)
{
    const product *p = user;
    const op_eval *c = p->c;
    const size_t k = p->a.columns, columns = p->y.columns;
    for (size_t line = begin; line < end; line++) {
        const size_t batch = line / p->y.rows, row = line % p->y.rows;
        const int64_t *a = in_i64(c, A) + line * k;
        const int64_t *b = in_i64(c, B) + (p->b_batch == 1 ? 0 : batch) * k * columns;
        for (size_t j = 0; j < columns; j++) {
            double y = (double)dot(a, b + j * k, k) * p->a_scale * ordered_scale_at(c, B_SCALE, j) /
                       p->y_scale;
            if (in_f64(c, BIAS)) y += in_f64(c, BIAS)[j];
            if (in_i64(c, C)) {
                const size_t at = ((p->c_batch == 1 ? 0 : batch) * p->y.rows + row) * columns + j;
                y += (double)in_i64(c, C)[at] * p->c_scale / p->y_scale;
            }
            out_i64(c, 0)[line * columns + j] = ordered_byte(y);
        }
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    product p;
    pgy_status st = inputs_check(c, "IFIFFfif", err);
    if (!st) st = prepare(&p, c, err);
    if (!st) rows_run(p.y.batch * p.y.rows, 2 * p.a.columns * p.y.columns, run, &p);
    return st;
}

const op_def OP_q_ordered_mat_mul[] = {
    {"QOrderedMatMul", "com.microsoft", 1, 0, 5, 8, 1, 1, 0, ATTRS, "int8", infer, eval, NULL,
     .signature =
         "Q = int8; S = float32; A:Q, scale_A:S, B:Q, scale_B:S, scale_Y:S, ?bias:S, ?C:Q, "
         "?scale_C:S -> Y:Q"},
    {NULL},
};
