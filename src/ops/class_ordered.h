/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by ONNX Runtime's operators on int8 matrices in the memory orders of cublasLt. A tensor of
 * such an operator keeps its shape; the order says where an element of the last two axes lies. */
#ifndef OPS_CLASS_ORDERED_H
#define OPS_CLASS_ORDERED_H

#include "ops/class_check.h"

/* The numbers are those of cublasLtOrder_t and of the attributes. */
typedef enum ordered_order {
    ORDERED_COL,
    ORDERED_ROW,
    ORDERED_COL32, /* groups of 32 columns, row by row */
    /* tiles of 32 columns and 8 rows; even rows come first, and 4 columns of 4 rows lie together */
    ORDERED_COL4_4R2_8C,
    ORDERED_COL32_2R_4R4 /* tiles of 32 columns and 32 rows, whose rows are permuted */
} ordered_order;

#define ORDERED_ATTR(name, needed)                                                     \
    {                                                                                  \
        name, OP_ATTR_INT, needed, (needed) ? NULL : "1", NULL, "0..4" /* row-major */ \
    }

/* Checks that each attribute has the only order that the operator's definition takes. */
typedef struct ordered_rule {
    const char *attr;
    ordered_order only;
} ordered_rule;
pgy_status ordered_check(const op_node *n, const ordered_rule *rules, size_t count,
                         pgy_error *err) PGY_MUST_CHECK;

/* Matrices on the last two axes of a tensor; a vector is one row. */
typedef struct ordered_matrix {
    size_t batch, rows, columns;
} ordered_matrix;
ordered_matrix ordered_matrix_of(const int64_t *shape, size_t rank);
/* Checks that the rows and columns of input 0 fill the tiles of an order. */
pgy_status ordered_fits(const op_eval *c, const ordered_matrix *m, ordered_order order,
                        pgy_error *err) PGY_MUST_CHECK;
/* The place of an element in its matrix. */
size_t ordered_place(ordered_order order, const ordered_matrix *m, size_t row, size_t column);

/* The single element of input i, which must be a positive and finite scale. */
pgy_status ordered_scale(double *out, const op_eval *c, size_t i, pgy_error *err) PGY_MUST_CHECK;
/* Element i of an input with one scale, or with one for each column. */
double ordered_scale_at(const op_eval *c, size_t input, size_t i);
/* Checks an input with one scale, or with one for each of `columns`. */
pgy_status ordered_scales(const op_eval *c, size_t input, size_t columns,
                          pgy_error *err) PGY_MUST_CHECK;
/* x rounded to a whole number, halves to even, within int8 */
int64_t ordered_byte(double x);

#endif
