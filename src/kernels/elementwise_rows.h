/* SPDX-License-Identifier: Apache-2.0 */
/* The table of elementwise operators: one row for each loop. */
#ifndef KERNELS_ELEMENTWISE_ROWS_H
#define KERNELS_ELEMENTWISE_ROWS_H

#include "kernels/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/shared_params.h"

/* Sets p->args, and p->w.operands if the loop reads fewer inputs than the problem has. Returns
 * false if this row does not fit the problem. */
typedef bool (*elementwise_read)(elementwise_params *p, const kernel_problem *u);

typedef struct elementwise_row {
    const char *ops;   /* names separated by spaces */
    int in, out;       /* types; 0: `read` checks them */
    uint32_t operands; /* number of operands that the loop reads */
    elementwise_read read;
    double ns; /* for an element, with AVX-512 */
} elementwise_row;

extern const elementwise_row elementwise_rows[]; /* ELEMENTWISE_COUNT of them */

/* Returns the row for the problem and sets its parameters; NULL: there is none. */
const elementwise_row *elementwise_find_row(elementwise_params *p, const kernel_problem *u);
/* Bytes of an element of operand i: those of the row's type, or those that its function checks. */
uint32_t elementwise_item_of(const elementwise_row *r, uint32_t i);

#endif
