/* SPDX-License-Identifier: Apache-2.0 */
/* StringConcat: concatenates the texts of two inputs, which broadcast. */
#include "ops/class_norm.h"
#include "ops/class_text.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    return op_infer_broadcast(c, PGY_STRING, err);
}

/* The axes of the output, and by how many elements each input moves along them. Axes that both
 * inputs go through alike are one, so most pairs of texts have a single axis. */
typedef struct axes {
    size_t rank; /* at least 1 */
    size_t size[PGY_MAX_RANK], a[PGY_MAX_RANK], b[PGY_MAX_RANK];
} axes;

static void add_axis(axes *x, size_t size, size_t a, size_t b)
{
    const size_t last = x->rank - 1;
    if (size == 1) return;
    if (x->rank && x->a[last] == a * size && x->b[last] == b * size) {
        x->size[last] *= size;
        x->a[last] = a;
        x->b[last] = b;
        return;
    }
    x->size[x->rank] = size;
    x->a[x->rank] = a;
    x->b[x->rank++] = b;
}

static pgy_status read_axes(axes *x, const op_eval *c, pgy_error *err)
{
    const int64_t *shape = out_shape(c, 0);
    const size_t rank = out_rank(c, 0);
    size_t a[PGY_MAX_RANK], b[PGY_MAX_RANK];
    pgy_status st = norm_broadcast(a, c, 0, shape, rank, err);
    if (!st) st = norm_broadcast(b, c, 1, shape, rank, err);
    for (size_t d = 0; !st && d < rank; d++) add_axis(x, (size_t)shape[d], a[d], b[d]);
    if (!x->rank) *x = (axes){.rank = 1, .size = {1}};
    return st;
}

/* Offsets in both inputs of the first element of a row, which runs along the last axis. */
static void row_begin(size_t *a, size_t *b, const axes *x, size_t row)
{
    *a = *b = 0;
    for (size_t d = x->rank - 1; d-- > 0; row /= x->size[d]) {
        *a += row % x->size[d] * x->a[d];
        *b += row % x->size[d] * x->b[d];
    }
}

typedef struct joiner {
    axes axes;
    const pgy_string *a, *b;
    size_t rows, columns;
} joiner;

static bool count_bytes(size_t *bytes, const joiner *j)
{
    const size_t last = j->axes.rank - 1, to_a = j->axes.a[last], to_b = j->axes.b[last];
    bool fits = true;
    for (size_t row = 0; fits && row < j->rows; row++) {
        size_t a, b;
        row_begin(&a, &b, &j->axes, row);
        for (size_t i = 0; fits && i < j->columns; i++, a += to_a, b += to_b)
            fits = text_count(bytes, j->a[a].size) && text_count(bytes, j->b[b].size);
    }
    return fits;
}

static void join(pgy_string *y, char *at, const joiner *j)
{
    const size_t last = j->axes.rank - 1, to_a = j->axes.a[last], to_b = j->axes.b[last];
    for (size_t row = 0; row < j->rows; row++) {
        size_t a, b;
        row_begin(&a, &b, &j->axes, row);
        for (size_t i = 0; i < j->columns; i++, a += to_a, b += to_b) {
            const pgy_string first = j->a[a], second = j->b[b];
            *y++ = (pgy_string){at, first.size + second.size};
            at = text_copy(text_copy(at, first.data, first.size), second.data, second.size) + 1;
        }
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    joiner j = {.a = in_data(c, 0), .b = in_data(c, 1)};
    size_t bytes = 0;
    char *room;
    pgy_tensor *y;
    pgy_status st = inputs_check(c, "!S", err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (!st && pgy_tensor_dtype(c->inputs[0].value) != PGY_STRING)
        st = op_error(c->node, err, PGY_E_TYPE, "input 0 must hold strings");
    if (!st) st = read_axes(&j.axes, c, err);
    if (st) return st;
    j.columns = j.axes.size[j.axes.rank - 1];
    j.rows = j.columns ? out_count(c, 0) / j.columns : 0;
    if (!count_bytes(&bytes, &j))
        return op_error(c->node, err, PGY_E_MEMORY, "the texts are too long");
    st = text_room(&room, c, 0, bytes, err);
    if (!st) join(out_data(c, 0), room, &j);
    return st;
}

const op_def OP_string_concat[] = {
    {"StringConcat", "", 20, 0, 2, 2, 1, 1, OP_SAME_TYPES, NULL, "string", infer, eval, NULL},
    {NULL},
};
