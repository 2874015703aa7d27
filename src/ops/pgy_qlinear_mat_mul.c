/* SPDX-License-Identifier: Apache-2.0 */
/* pgy QLinearMatMul, which the engine's passes make: ONNX's QLinearMatMul, with transB of B whose
 * last two axes are exchanged. With R, Y is the QLinearAdd of com.microsoft of that result and R,
 * of the scale and zero point of the sum; R has the shape of Y, or is a row for all of its rows. The
 * bytes of a sum may pass through a table, as pgy:Lookup has it.
 * With `parts`, the columns of a matrix B are several products side by side: scales and zero points
 * of Y, of a row R and of the sum have an element for each. */
#include "ops/class_integer.h"
#include "ops/class_matmul.h"

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, Y_SCALE, Y_ZERO, MATMUL_INPUTS };
enum { R = 8, R_SCALE, R_ZERO, SUM_SCALE, SUM_ZERO, INPUTS, TABLE = INPUTS, BYTES = 256 };

static const op_attr_def ATTRS[] = {
    {"parts", OP_ATTR_INT, false, "1", NULL, "1.."},
    {"transB", OP_ATTR_INT, false, "0", NULL, "0..1"},
    {0},
};

static bool is_turned(const op_node *n)
{
    return op_attr_int(n, "transB", 0) != 0;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *b = &c->inputs[B];
    op_value values[MATMUL_INPUTS];
    op_infer inner = *c;
    for (size_t i = 0; i < MATMUL_INPUTS; i++) values[i] = c->inputs[i];
    if (is_turned(c->node) && b->rank >= 0) {
        const size_t rank = (size_t)b->rank;
        dim *dims = arena_alloc_array(c->memory, rank, sizeof *dims);
        if (rank < 2) return op_error(c->node, err, PGY_E_SHAPE, "input 3 must be a matrix");
        if (!dims) return rule_no_memory(c->node, err);
        for (size_t d = 0; d < rank; d++) dims[d] = b->dims[d];
        dims[rank - 2] = b->dims[rank - 1];
        dims[rank - 1] = b->dims[rank - 2];
        values[B].dims = dims;
    }
    inner.inputs = values;
    const pgy_status st = b->rank < 0 && is_turned(c->node)
                              ? PGY_OK
                              : matmul_infer(&inner, A, B, c->inputs[Y_ZERO].dtype, err);
    c->outputs[0].dtype = c->inputs[Y_ZERO].dtype;
    if (c->node->input_count > TABLE) {
        pgy_status bad = rank_check(c, TABLE, 1, 1, err);
        if (!bad) bad = dim_check(c, TABLE, 0, dim_const(BYTES), "the number of bytes", err);
        if (bad) return bad;
    }
    c->why = inner.why;
    return st;
}

/* Exchanges the last two axes. */
static pgy_status turn(pgy_tensor **out, const op_eval *c, pgy_error *err)
{
    const int32_t rank = in_rank(c, B);
    int64_t shape[PGY_MAX_RANK];
    const int64_t *x = in_i64(c, B);
    if (rank < 2) return op_error(c->node, err, PGY_E_SHAPE, "input 3 must be a matrix");
    for (int32_t d = 0; d < rank; d++) shape[d] = in_shape(c, B)[d];
    const size_t rows = (size_t)shape[rank - 2], columns = (size_t)shape[rank - 1];
    shape[rank - 2] = (int64_t)columns;
    shape[rank - 1] = (int64_t)rows;
    const pgy_status st = pgy_tensor_create(out, PGY_I64, (size_t)rank, shape, err);
    for (size_t i = 0; !st && i < in_count(c, B); i++) {
        const size_t matrix = i / (rows * columns), at = i % (rows * columns);
        op_i64(*out)[matrix * rows * columns + at % columns * rows + at / columns] = x[i];
    }
    return st;
}

static pgy_status add(op_eval *c, pgy_error *err)
{
    const size_t count = out_count(c, 0), have = in_count(c, R);
    const pgy_status st = inputs_check(c, "IFIIFIFIIFIFI", err);
    const int32_t rank = st ? 0 : out_rank(c, 0);
    if (st) return st;
    if (have != count && !(rank && have == (size_t)out_shape(c, 0)[rank - 1]))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "input %d (R) has %zu elements, but the product gives %zu", R, have, count);
    return integer_add(c, Y_SCALE, R, err);
}

static pgy_status look_up(op_eval *c, pgy_error *err)
{
    if (!op_has_value(c, TABLE) || in_count(c, TABLE) != BYTES)
        return op_error(c->node, err, PGY_E_SHAPE, "input %d must have %d elements", TABLE, BYTES);
    const int64_t *table = in_i64(c, TABLE);
    int64_t *y = out_i64(c, 0);
    for (size_t i = 0; i < out_count(c, 0); i++) y[i] = table[(uint64_t)y[i] & (BYTES - 1)];
    return PGY_OK;
}

/* ---- Products side by side ------------------------------------------------------------------ */

static pgy_status check_parts(const op_eval *c, size_t parts, pgy_error *err)
{
    const pgy_status st = inputs_check(c, "IFIIFIFIIFIFI", err);
    if (st) return st;
    const int32_t rank = in_rank(c, B);
    const size_t columns = rank == 2 ? (size_t)in_shape(c, B)[1] : 0;
    if (c->node->input_count != INPUTS || is_turned(c->node) || !columns || columns % parts)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "input 3 must be a matrix whose columns %zu parts share", parts);
    const size_t wanted[INPUTS] = {
        [A_SCALE] = 1,       [A_ZERO] = 1,       [B_ZERO] = 1,       [Y_SCALE] = parts,
        [Y_ZERO] = parts,    [R] = columns,      [R_SCALE] = parts,  [R_ZERO] = parts,
        [SUM_SCALE] = parts, [SUM_ZERO] = parts, [B_SCALE] = columns};
    for (size_t i = 0; i < INPUTS; i++)
        if (wanted[i] && in_count(c, i) != wanted[i])
            return op_error(c->node, err, PGY_E_SHAPE, "input %zu must have %zu elements", i,
                            wanted[i]);
    return PGY_OK;
}

static int64_t element_of(const op_eval *c, int64_t sum, size_t column, size_t part)
{
    const pgy_dtype type = c->outputs[0].dtype;
    const double y_scale = in_f64(c, Y_SCALE)[part],
                 scale = in_f64(c, A_SCALE)[0] * in_f64(c, B_SCALE)[column] / y_scale;
    const int64_t zero = in_i64(c, Y_ZERO)[part];
    const int64_t made = integer_quantize((double)sum * scale, zero, type);
    const double added =
        (double)(made - zero) * y_scale +
        (double)(in_i64(c, R)[column] - in_i64(c, R_ZERO)[part]) * in_f64(c, R_SCALE)[part];
    return integer_quantize(added / in_f64(c, SUM_SCALE)[part], in_i64(c, SUM_ZERO)[part], type);
}

static pgy_status eval_parts(op_eval *c, size_t parts, pgy_error *err)
{
    const pgy_status st = check_parts(c, parts, err);
    if (st) return st;
    const size_t depth = (size_t)in_shape(c, B)[0], columns = (size_t)in_shape(c, B)[1];
    const int64_t *a = in_i64(c, A), *b = in_i64(c, B);
    const int64_t a_zero = in_i64(c, A_ZERO)[0], b_zero = in_i64(c, B_ZERO)[0];
    for (size_t i = 0; i < out_count(c, 0); i++) {
        const size_t row = i / columns, column = i % columns;
        int64_t sum = 0;
        for (size_t k = 0; k < depth; k++)
            sum += (a[row * depth + k] - a_zero) * (b[k * columns + column] - b_zero);
        out_i64(c, 0)[i] = element_of(c, sum, column, column / (columns / parts));
    }
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const int64_t parts = op_attr_int(c->node, "parts", 1);
    if (parts > 1) return eval_parts(c, (size_t)parts, err);
    op_tensor inputs[MATMUL_INPUTS];
    op_node node = *c->node;
    op_eval inner = *c;
    pgy_tensor *turned = NULL;
    pgy_status st = inputs_check(c, "I", err);
    node.input_count = MATMUL_INPUTS;
    for (size_t i = 0; i < MATMUL_INPUTS; i++) inputs[i] = c->inputs[i];
    if (!st && is_turned(c->node)) {
        st = turn(&turned, c, err);
        inputs[B].value = turned;
    }
    inner.node = &node;
    inner.inputs = inputs;
    if (!st) st = op_find("", "QLinearMatMul", 21)->eval(&inner, err);
    pgy_tensor_release(turned);
    if (!st && c->node->input_count > R) st = add(c, err);
    return st || c->node->input_count <= TABLE ? st : look_up(c, err);
}

const op_def OP_pgy_qlinear_mat_mul[] = {
    {"QLinearMatMul", "pgy", 1, 0, 8, 14, 1, 1, 0, ATTRS, "int8 uint8", infer, eval, NULL,
     .signature = "T1 = int8 uint8; T2 = int8 uint8; T3 = int8 uint8; a:T1, a_scale:float32, "
                  "a_zero_point:T1, b:T2, b_scale:float32, b_zero_point:T2, y_scale:float32, "
                  "y_zero_point:T3, ?R:T3, ?R_scale:float32, ?R_zero_point:T3, "
                  "?sum_scale:float32, ?sum_zero_point:T3, ?table:T3 -> y:T3"},
    {NULL},
};
