/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/class_ordered.h"

#include <math.h>

#include "ops/class_integer.h"

static const struct {
    const char *name;
    size_t rows, columns; /* of a tile */
} ORDERS[] = {[ORDERED_COL] = {"column-major", 1, 1},
              [ORDERED_ROW] = {"row-major", 1, 1},
              [ORDERED_COL32] = {"COL32", 1, 32},
              [ORDERED_COL4_4R2_8C] = {"COL4_4R2_8C", 8, 32},
              [ORDERED_COL32_2R_4R4] = {"COL32_2R_4R4", 32, 32}};

pgy_status ordered_check(const op_node *n, const ordered_rule *rules, size_t count, pgy_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const int64_t given = op_attr_int(n, rules[i].attr, rules[i].only);
        if (given != (int64_t)rules[i].only)
            return op_error(n, err, PGY_E_UNSUPPORTED,
                            "attribute %s is %lld, but the operator is defined for %d (%s) only",
                            rules[i].attr, (long long)given, (int)rules[i].only,
                            ORDERS[rules[i].only].name);
    }
    return PGY_OK;
}

ordered_matrix ordered_matrix_of(const int64_t *shape, size_t rank)
{
    ordered_matrix m = {1, rank > 1 ? (size_t)shape[rank - 2] : 1,
                        rank > 0 ? (size_t)shape[rank - 1] : 1};
    for (size_t i = 0; i + 2 < rank; i++) m.batch *= (size_t)shape[i];
    return m;
}

pgy_status ordered_fits(const op_eval *c, const ordered_matrix *m, ordered_order order,
                        pgy_error *err)
{
    if (m->rows % ORDERS[order].rows == 0 && m->columns % ORDERS[order].columns == 0) return PGY_OK;
    return op_error(c->node, err, PGY_E_SHAPE,
                    "a matrix of %zu rows and %zu columns does not fill the tiles of order %s, "
                    "which have %zu and %zu",
                    m->rows, m->columns, ORDERS[order].name, ORDERS[order].rows,
                    ORDERS[order].columns);
}

size_t ordered_place(ordered_order order, const ordered_matrix *m, size_t row, size_t column)
{
    const size_t group = column / 32 * 32 * m->rows, in = column % 32;
    switch (order) {
    case ORDERED_COL: return column * m->rows + row;
    case ORDERED_ROW: break;
    case ORDERED_COL32: return group + row * 32 + in;
    case ORDERED_COL4_4R2_8C:
        return group + row / 8 * 8 * 32 + row % 2 * 4 * 32 + in / 4 * 16 + row % 8 / 2 * 4 + in % 4;
    case ORDERED_COL32_2R_4R4:
        return group + row / 32 * 32 * 32 + ((row % 8 / 2 * 4 + row % 32 / 8) * 2 + row % 2) * 32 +
               in;
    }
    return row * m->columns + column;
}

pgy_status ordered_scale(double *out, const op_eval *c, size_t i, pgy_error *err)
{
    if (in_count(c, i) != 1)
        return op_error(c->node, err, PGY_E_SHAPE, "input %zu has %zu elements, but must have 1", i,
                        in_count(c, i));
    *out = in_f64(c, i)[0];
    if (*out > 0 && isfinite(*out)) return PGY_OK;
    return op_error(c->node, err, PGY_E_ARGUMENT,
                    "input %zu is %g, but a scale must be positive and finite", i, *out);
}

pgy_status ordered_scales(const op_eval *c, size_t input, size_t columns, pgy_error *err)
{
    if (in_count(c, input) == 1 || (in_rank(c, input) == 1 && in_count(c, input) == columns))
        return PGY_OK;
    return op_error(c->node, err, PGY_E_SHAPE, "input %zu has %zu elements, but must have 1 or %zu",
                    input, in_count(c, input), columns);
}

double ordered_scale_at(const op_eval *c, size_t input, size_t i)
{
    return in_f64(c, input)[in_count(c, input) == 1 ? 0 : i];
}

int64_t ordered_byte(double x)
{
    return integer_quantize(x, 0, PGY_I8);
}
