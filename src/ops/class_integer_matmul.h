/* SPDX-License-Identifier: Apache-2.0 */
/* A product of 8-bit matrices that is scaled to floats. */
#ifndef OPS_CLASS_INTEGER_MATMUL_H
#define OPS_CLASS_INTEGER_MATMUL_H

#include "ops/class_integer.h"
#include "ops/class_matmul.h"

/* Output 0 = a * b * (a_scale * scale of b) + bias. `a` has the shape of input 0 and its zero point
 * is subtracted already; b, b_scale, b_zero and bias are indices of the node's inputs. */
typedef struct integer_matmul {
    const double *a;
    double a_scale;
    size_t b, b_scale, b_zero, bias;
} integer_matmul;
pgy_status integer_matmul_run(op_eval *c, const integer_matmul *m, pgy_error *err) PGY_MUST_CHECK;

#endif
