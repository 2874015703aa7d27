/* SPDX-License-Identifier: Apache-2.0 */
/* Trilu: the upper or lower triangle of the last two axes, shifted by k diagonals; the rest is
 * zero. */
#include <string.h>

#include "ops/move.h"
#include "ops/rule.h"

static const op_attr_def ATTRS[] = {
    {"upper", OP_ATTR_INT, false, "1"},
    {0},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    if (x->rank >= 0 && x->rank < 2)
        return op_error(c->node, err, PGY_E_SHAPE, "the input has rank %d, but needs 2 or more",
                        x->rank);
    op_set_like(c, 0, 0);
    return PGY_OK;
}

static size_t clamp(int64_t v, size_t most)
{
    return v < 0 ? 0 : (uint64_t)v > most ? most : (size_t)v;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x, *y;
    const int64_t *given = NULL;
    size_t count = 0;
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (!st) st = rule_eval_list(c, NULL, 1, &given, &count, err);
    if (st) return st;
    if (given && count != 1)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "input 1 (k) has %zu elements, but must have one", count);
    const size_t rank = pgy_tensor_rank(x), bytes = move_size(pgy_tensor_dtype(x));
    const size_t rows = (size_t)pgy_tensor_shape(x)[rank - 2],
                 columns = (size_t)pgy_tensor_shape(x)[rank - 1];
    const size_t lines = columns ? pgy_tensor_count(x) / columns : 0;
    const bool upper = op_attr_int(c->node, "upper", 1) != 0;
    const int64_t bound = (int64_t)1 << 48;
    int64_t k = given ? *given : 0;
    k = k < -bound ? -bound : k > bound ? bound : k;
    char *to = pgy_tensor_data(y);
    const char *from = pgy_tensor_data(x);
    for (size_t i = 0; i < lines; i++) {
        const int64_t diagonal = (int64_t)(i % rows) + k;
        const size_t begin = upper ? clamp(diagonal, columns) : 0;
        const size_t end = upper ? columns : clamp(diagonal + 1, columns);
        const size_t at = (i * columns + begin) * bytes;
        memcpy(to + at, from + at, (end - begin) * bytes); /* outputs begin as zeros */
    }
    return move_own(y, err);
}

const op_def OP_trilu[] = {
    RULE_ROW("Trilu", 14, 1, 2, ATTRS, infer, eval),
    {0},
};
