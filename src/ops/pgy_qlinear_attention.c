/* SPDX-License-Identifier: Apache-2.0 */
/* pgy QLinearAttention, which the engine's passes make: attention between Q/DQ whose query, key and
 * value lie side by side in the last axis of one quantised tensor [batch, rows, 3 * num_heads *
 * size], each with its own scale and zero point. Scores, their sum with a mask [batch or 1, 1, 1,
 * rows], shares (Softmax) and result are quantised as QLinearMatMul, QLinearAdd and QLinearSoftmax
 * do it. The bytes of scores are read by a scale of their own, which has the factor of attention.
 */
#include <math.h>

#include "ops/class_integer.h"

enum { X, Q_SCALE, K_SCALE = 3, V_SCALE = 5, SCORE_SCALE = 7 };
enum { READ_SCALE = 9, SHARE_SCALE = 11, Y_SCALE = 13 };
enum { MASK = 15, MASK_SCALE, SUM_SCALE = 18, INPUTS = 20, PARTS = 3 };

static const op_attr_def ATTRS[] = {
    {"num_heads", OP_ATTR_INT, true, NULL, NULL, "1.."},
    {0},
};

/* What the definition reads of one node. */
typedef struct problem {
    op_eval *c;
    int64_t batch, rows, heads, size;
    const int64_t *x;
    int64_t zeros[PARTS]; /* of query, key and value */
    pgy_dtype type;
    double *row; /* of scores and shares */
} problem;

static pgy_status refuse(const op_node *n, long long width, pgy_error *err)
{
    return op_error(n, err, PGY_E_SHAPE,
                    "input 0 has %lld columns, which query, key and value of %lld heads cannot "
                    "share",
                    width, (long long)op_attr_int(n, "num_heads", 0));
}

static bool divides(const op_node *n, int64_t width)
{
    const int64_t heads = op_attr_int(n, "num_heads", 0);
    return heads > 0 && heads <= INT32_MAX && width % (PARTS * heads) == 0;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[X];
    const pgy_status st = rank_check(c, X, 3, 3, err);
    if (st) return st;
    if (x->rank < 0 || !dim_is_const(x->dims[2])) {
        op_set_unknown(c, 0, c->inputs[Y_SCALE + 1].dtype, 3,
                       "the columns of input 0 are not known");
        return PGY_OK;
    }
    if (!divides(c->node, x->dims[2].value)) return refuse(c->node, x->dims[2].value, err);
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    dims[2] = dim_const(x->dims[2].value / PARTS);
    c->outputs[0] = (op_value){.dtype = c->inputs[Y_SCALE + 1].dtype, .rank = 3, .dims = dims};
    return PGY_OK;
}

static pgy_status check(problem *p, op_eval *c, pgy_error *err)
{
    pgy_status st = inputs_check(c, "IFIFIFIFIFIFIFIififi", err);
    if (st) return st;
    const int64_t *shape = in_shape(c, X);
    if (in_rank(c, X) != 3 || !divides(c->node, shape[2]))
        return refuse(c->node, in_rank(c, X) == 3 ? (long long)shape[2] : 0, err);
    *p = (problem){.c = c,
                   .batch = shape[0],
                   .rows = shape[1],
                   .heads = op_attr_int(c->node, "num_heads", 0),
                   .x = in_i64(c, X),
                   .type = c->inputs[X].dtype};
    p->size = shape[2] / PARTS / p->heads;
    const bool masked = c->node->input_count > MASK && op_has_value(c, MASK);
    const size_t rows = (size_t)p->rows, all = (size_t)p->batch * rows;
    for (size_t i = Q_SCALE; !st && i < (masked ? INPUTS : MASK); i++) {
        const size_t have = op_has_value(c, i) ? in_count(c, i) : 0;
        if (i == MASK ? have != rows && have != all : have != 1)
            st = op_error(c->node, err, PGY_E_SHAPE, "input %zu has %zu elements", i, have);
    }
    return st;
}

static double scale_at(const problem *p, size_t i)
{
    return in_f64(p->c, i)[0];
}

static int64_t zero_at(const problem *p, size_t i)
{
    return in_i64(p->c, i + 1)[0];
}

/* Element i of row `row` of a head's query (part 0), key or value, without its zero point. */
static int64_t part_at(const problem *p, int64_t part, int64_t batch, int64_t head, int64_t row,
                       int64_t i)
{
    const int64_t at = (((batch * p->rows + row) * PARTS + part) * p->heads + head) * p->size + i;
    return p->x[at] - p->zeros[part];
}

static double score(const problem *p, int64_t batch, int64_t head, int64_t row, int64_t key)
{
    double sum = 0;
    for (int64_t i = 0; i < p->size; i++)
        sum += (double)(part_at(p, 0, batch, head, row, i) * part_at(p, 1, batch, head, key, i));
    const double scale = scale_at(p, Q_SCALE) * scale_at(p, K_SCALE) / scale_at(p, SCORE_SCALE);
    const int64_t made = integer_quantize(sum * scale, zero_at(p, SCORE_SCALE), p->type);
    const double own = (double)(made - zero_at(p, READ_SCALE)) * scale_at(p, READ_SCALE);
    if (p->c->node->input_count <= MASK || !op_has_value(p->c, MASK)) return own;
    const size_t have = in_count(p->c, MASK), at = (size_t)(batch * p->rows + key) % have;
    const double added =
        own + (double)(in_i64(p->c, MASK)[at] - zero_at(p, MASK_SCALE)) * scale_at(p, MASK_SCALE);
    const int64_t end = zero_at(p, SUM_SCALE);
    return (double)(integer_quantize(added / scale_at(p, SUM_SCALE), end, p->type) - end) *
           scale_at(p, SUM_SCALE);
}

/* Softmax of the scores of a row, as numbers of steps. */
static void find_shares(const problem *p, int64_t batch, int64_t head, int64_t row)
{
    double most = -INFINITY, sum = 0;
    for (int64_t k = 0; k < p->rows; k++) {
        p->row[k] = score(p, batch, head, row, k);
        most = fmax(most, p->row[k]);
    }
    for (int64_t k = 0; k < p->rows; k++) sum += p->row[k] = exp(p->row[k] - most);
    const int64_t zero = zero_at(p, SHARE_SCALE);
    for (int64_t k = 0; k < p->rows; k++)
        p->row[k] =
            (double)(integer_quantize(p->row[k] / sum / scale_at(p, SHARE_SCALE), zero, p->type) -
                     zero);
}

static void find_row(const problem *p, int64_t batch, int64_t head, int64_t row)
{
    const double scale = scale_at(p, SHARE_SCALE) * scale_at(p, V_SCALE) / scale_at(p, Y_SCALE);
    int64_t *y = out_i64(p->c, 0) + ((batch * p->rows + row) * p->heads + head) * p->size;
    find_shares(p, batch, head, row);
    for (int64_t i = 0; i < p->size; i++) {
        double sum = 0;
        for (int64_t k = 0; k < p->rows; k++)
            sum += p->row[k] * (double)part_at(p, 2, batch, head, k, i);
        y[i] = integer_quantize(sum * scale, zero_at(p, Y_SCALE), p->c->outputs[0].dtype);
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    problem p;
    pgy_status st = check(&p, c, err);
    if (!st) st = workspace_alloc((void **)&p.row, c, (size_t)p.rows, sizeof *p.row, err);
    if (st) return st;
    for (size_t i = 0; i < PARTS; i++) p.zeros[i] = zero_at(&p, Q_SCALE + 2 * i);
    for (int64_t b = 0; b < p.batch; b++)
        for (int64_t h = 0; h < p.heads; h++)
            for (int64_t r = 0; r < p.rows; r++) find_row(&p, b, h, r);
    mem_free(p.row);
    return PGY_OK;
}

const op_def OP_pgy_qlinear_attention[] = {
    {"QLinearAttention", "pgy", 1, 0, 15, INPUTS, 1, 1, 0, ATTRS, "int8 uint8", infer, eval, NULL,
     .signature = "T = int8 uint8; X:T, q_scale:float32, q_zero_point:T, k_scale:float32, "
                  "k_zero_point:T, v_scale:float32, v_zero_point:T, score_scale:float32, "
                  "score_zero_point:T, read_scale:float32, read_zero_point:T, share_scale:float32, "
                  "share_zero_point:T, y_scale:float32, "
                  "y_zero_point:T, ?mask:T, ?mask_scale:float32, ?mask_zero_point:T, "
                  "?sum_scale:float32, ?sum_zero_point:T -> Y:T"},
    {NULL},
};
